/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/data_file.h"

#include "hwmodel/catalogue.h"

#include <stdio.h>

int data_file_put(const struct embedded_file *files, const char *what, const char *list, const char *name, struct orr_error *err)
{
	enum { MOST_BYTES = 64 << 20 };
	struct catalogue_text t;
	int rc = catalogue_open(files, what, list, name, MOST_BYTES, &t, err);
	if (rc)
		return rc;
	fwrite(t.text, 1, t.n, stdout);
	if (t.n && t.text[t.n - 1] != '\n')
		putchar('\n');
	catalogue_close(&t);
	return ORR_OK;
}
