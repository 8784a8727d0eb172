/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * outfile.h - writes files and standard output, with one check at the end
 *
 * A regular or new file is written under a unique temporary name beside it, synchronised and renamed, so readers and processes that
 * write the same file see one whole version. A symbolic link is followed and remains. A device, a FIFO and an open descriptor
 * (/dev/stdout, /dev/fd/N) are written directly. outfile_close() reports the first failure of a write, so writers need not check
 * each line. A signal that ends the program removes the temporary file (base/cleanup.h).
 */
#ifndef ORR_BASE_OUTFILE_H
#define ORR_BASE_OUTFILE_H

#include <orrery/api.h>

#include <stdio.h>

struct cleanup;
struct outfile {
	FILE *file;  /* stream to print to; NULL only if opening failed */
	char *path;  /* as given */
	char *final; /* after symbolic links */
	char *draft; /* NULL: final is written directly */
	struct cleanup *kept;
};

/* Opens a file for writing. ORR_EFAIL: the path cannot be written. */
int outfile_open_path(struct outfile *f, const char *path, struct orr_error *err);
/* Opens DIR/NAMESUFFIX, such as ("out", "fifo", ".jobs.csv"). */
int outfile_open(struct outfile *f, const char *dir, const char *name, const char *suffix, struct orr_error *err);
/* Closes the file and frees f in any case. If has_failed is true or an error occurs, an existing file is unchanged. */
int outfile_close(struct outfile *f, bool has_failed, struct orr_error *err);
/* Writes n bytes as the whole file. */
int outfile_put(const char *path, const char *text, size_t n, struct orr_error *err);

/* Creates a folder and its parents; existing folders are reused. */
int outfile_make_dir(const char *dir, struct orr_error *err);

/* Writes what standard output has buffered. ORR_EFAIL: this or an earlier write failed. */
int outfile_flush_stdout(struct orr_error *err);
/*
 * Opens descriptors 0 to 2 if they are closed, such that reads and writes of them fail. Otherwise a file opened later would get
 * one of these numbers, and messages would be written into it.
 */
void outfile_reserve_standard(void);

#endif
