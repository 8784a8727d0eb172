/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * store.h - the database of runs (SQLite; schema in docs/schema.md)
 *
 * Invariant: a run is there whole or not at all (one transaction), whatever
 * happens to the process, the disk or the power. WAL while the store is open;
 * store_close() checkpoints and goes back to one file that opens read-only.
 * One struct store belongs to one thread at a time.
 */
#ifndef ORR_RESULTS_STORE_H
#define ORR_RESULTS_STORE_H

#include <orrery/api.h>

#include "results/result.h"

struct store;

/* Opens or makes the database. A file that is not one of ours, or of a newer
 * schema, is an error and left alone. vfs NULL: the default (tests inject faults). */
struct store *store_open(const char *path, const char *vfs, struct orr_error *err);
/* For reading only; works in a directory that cannot be written. */
struct store *store_open_readonly(const char *path, struct orr_error *err);
/* Frees the store in any case. */
int store_close(struct store *s, struct orr_error *err);

int store_write(struct store *s, const struct run_result *r, struct orr_error *err);
/* *out is NULL if there is no run of that hash and label. */
int store_read(struct store *s, const char *hash, const char *label, struct run_result **out,
	struct orr_error *err);
/* Deletes the run of that hash and label, if there (--fresh), inside store_write's
 * transaction: the next store_write replaces it. */
void store_replace_existing(struct store *s, bool replace);

/* 64 hex digits over all runs in canonical order; leaves out wall time, host,
 * thread count and row ids. */
int store_digest(struct store *s, char out[65], struct orr_error *err);

#endif
