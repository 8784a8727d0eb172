/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * outfile.h - a text file that is there whole or as it was before
 *
 * Text goes to a file beside the target and takes its name in outfile_close(). The
 * first failure is kept and reported there, so writers need not check each line.
 */
#ifndef ORR_RESULTS_OUTFILE_H
#define ORR_RESULTS_OUTFILE_H

#include <orrery/api.h>

#include <stdio.h>

struct outfile {
	FILE *file; /* print to it; NULL only if outfile_open() failed */
	char *path, *draft;
};

/* DIR/NAME SUFFIX, e.g. ("out", "fifo", ".jobs.csv"). */
int outfile_open(struct outfile *f, const char *dir, const char *name, const char *suffix, struct orr_error *err);
/* Ends it in any case: with failed set, or on an error, the target stays as it was. */
int outfile_close(struct outfile *f, bool has_failed, struct orr_error *err);

/* mkdir -p */
int outfile_make_dir(const char *dir, struct orr_error *err);

#endif
