/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * outfile.h - writes a text file atomically
 *
 * The text goes to a temporary file beside the target, which outfile_close() renames. outfile_close() also reports the first
 * failure of a write, so writers need not check each line.
 */
#ifndef ORR_RESULTS_OUTFILE_H
#define ORR_RESULTS_OUTFILE_H

#include <orrery/api.h>

#include <stdio.h>

struct outfile {
	FILE *file; /* stream to print to; NULL only if outfile_open() failed */
	char *path, *draft;
};

/* Opens DIR/NAMESUFFIX, such as ("out", "fifo", ".jobs.csv"). */
int outfile_open(struct outfile *f, const char *dir, const char *name, const char *suffix, struct orr_error *err);
/* Closes the file and frees f in any case. If has_failed or on an error, the target is unchanged. */
int outfile_close(struct outfile *f, bool has_failed, struct orr_error *err);

/* Creates a directory with its parents; an existing one is no error. */
int outfile_make_dir(const char *dir, struct orr_error *err);

#endif
