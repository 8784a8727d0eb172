/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * embedded.h - data files embedded in the program
 *
 * hwmodel/embed.sh generates the lists at build time from the files in sources.mk, in their order there. Each list ends with a
 * NULL name. A name is the file's name without folder and ".json".
 */
#ifndef ORR_HWMODEL_EMBEDDED_H
#define ORR_HWMODEL_EMBEDDED_H

#include <stddef.h>

struct embedded_file {
	const char *name;
	const unsigned char *text; /* contents of n bytes */
	size_t n;
};

extern const struct embedded_file embedded_devices[];
extern const struct embedded_file embedded_models[];
extern const struct embedded_file embedded_steptimes[];
extern const struct embedded_file embedded_profiles[];
extern const struct embedded_file embedded_prices[];
extern const struct embedded_file embedded_served[];
extern const struct embedded_file embedded_elastic[];

#endif
