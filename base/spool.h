/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * spool.h - bytes that are written once and read in order, in constant memory
 *
 * The first bytes stay in memory. When they exceed a limit, they move to a temporary file in the folder of $TMPDIR (default /var/tmp, else
 * /tmp), which has no name, so that nothing remains of it after the process.
 *
 * Invariant: after an error all further writes and reads fail with that error. A spool belongs to one thread at a time.
 */
#ifndef ORR_BASE_SPOOL_H
#define ORR_BASE_SPOOL_H

#include <orrery/api.h>

#include <stddef.h>

struct spool;

struct spool *spool_new(void);
void spool_free(struct spool *s); /* NULL is allowed */
/* Returns the number of bytes. */
size_t spool_size(const struct spool *s);
/* Appends n bytes. ORR_EFAIL: the file cannot be written. */
int spool_add(struct spool *s, const void *bytes, size_t n, struct orr_error *err);
/* Replaces n bytes from `at` on, which were written before. */
int spool_replace(struct spool *s, size_t at, const void *bytes, size_t n, struct orr_error *err);
/* Reads n bytes from `at` on, which were written before. Fast in ascending order. */
int spool_read(struct spool *s, size_t at, void *out, size_t n, struct orr_error *err);

#endif
