/* SPDX-License-Identifier: GPL-3.0-or-later */
/* make_store FILE SEED.. - stores the sample runs of these seeds, for command-line tests */
#include "results/store.h"

#include "tests/results/sample_run.h"

#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
	struct orr_error err = { 0 };
	if (argc < 2)
		return ORR_EINPUT;
	struct store *s = store_open(argv[1], NULL, &err);
	for (int i = 2; s && i < argc; i++) {
		char label[32];
		snprintf(label, sizeof label, "policy-%s", argv[i]);
		struct run_result *r = sample_run(label, 30, strtoull(argv[i], NULL, 10));
		store_write(s, r, &err);
		result_free(r);
	}
	store_close(s, &err);
	if (err.code)
		fprintf(stderr, "make_store: %s\n", err.text);
	return err.code;
}
