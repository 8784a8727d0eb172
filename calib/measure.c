/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * `orrery calib run` as a standalone program, for a machine that has a GPU and a compiler but lacks the libraries of
 * orrery. calib/measure.sh builds it with one command.
 */
#include <orrery/api.h>

#include "base/mem.h"

#include <stdio.h>
#include <stdlib.h>

int calib_run(int argc, char **argv, struct orr_error *err);

static void out_of_memory(size_t wanted)
{
	fprintf(stderr, "measure: out of memory (%zu more bytes requested)\n", wanted);
	exit(ORR_EFAIL);
}

int main(int argc, char **argv)
{
	struct orr_error err = { 0 };
	mem_on_exhaustion(out_of_memory);
	int rc = calib_run(argc, argv, &err);
	if (rc && err.text[0])
		fprintf(stderr, "measure: %s\n", err.text);
	return rc;
}
