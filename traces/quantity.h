/* SPDX-License-Identifier: GPL-3.0-or-later */
/* quantity.h - numbers with a suffix of size: "64G", "128Gi", "500m" */
#ifndef ORR_TRACES_QUANTITY_H
#define ORR_TRACES_QUANTITY_H

#include <stdbool.h>
#include <stddef.h>

enum quantity_kind {
	QUANTITY_SLURM,     /* K M G T P are powers of 1024 */
	QUANTITY_KUBERNETES /* k K M G T P are powers of 1000, Ki Mi Gi Ti Pi of 1024; m is 1/1000, u 1e-6, n 1e-9 */
};

/* Reads a number from 0 with an optional suffix. */
bool quantity(const char *s, size_t n, enum quantity_kind kind, double *out);

#endif
