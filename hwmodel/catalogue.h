/* SPDX-License-Identifier: GPL-3.0-or-later */
/* catalogue.h - a text by the name of a file that ends in .json, or by a name of a list that the program carries */
#ifndef ORR_HWMODEL_CATALOGUE_H
#define ORR_HWMODEL_CATALOGUE_H

#include <orrery/api.h>

#include "base/bytes.h"
#include "hwmodel/embedded.h"

struct catalogue_text {
	const char *path; /* for messages */
	const char *text;
	size_t n;
	char *owned;                /* a file's text; NULL: the program's */
	char hash[BYTES_HASH_SIZE]; /* of a file, packed or not; "" else */
};

/* what and list are for the message on a name that there is not: "no served model ..; orrery model list --served shows all". */
int catalogue_open(const struct embedded_file *files, const char *what, const char *list, const char *name_or_file, size_t max_bytes,
	struct catalogue_text *out, struct orr_error *err);
void catalogue_close(struct catalogue_text *t);

#endif
