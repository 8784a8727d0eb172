/* SPDX-License-Identifier: GPL-3.0-or-later */
/* catalogue.h - finds a JSON text by name: a file if the name ends in .json, else an embedded file */
#ifndef ORR_HWMODEL_CATALOGUE_H
#define ORR_HWMODEL_CATALOGUE_H

#include <orrery/api.h>

#include "base/bytes.h"
#include "hwmodel/embedded.h"

struct catalogue_text {
	const char *path; /* for messages */
	const char *text;
	size_t n;
	char *owned;                /* text read from a file; NULL: the text is embedded */
	char hash[BYTES_HASH_SIZE]; /* SHA-256 of the file on disk (compressed or not); "" for an embedded text */
};

/* Opens the text of a name. `what` and `list` appear in the message about an unknown name: "no served model ..; orrery model list
 * --served shows all". */
int catalogue_open(const struct embedded_file *files, const char *what, const char *list, const char *name_or_file, size_t max_bytes,
	struct catalogue_text *out, struct orr_error *err);
void catalogue_close(struct catalogue_text *t);

#endif
