/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * store.h - the database of runs (SQLite; schema in docs/reference/schema.md)
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

/* A run of that hash and label that is already there stays as it is. */
int store_write(struct store *s, const struct run_result *r, struct orr_error *err);
/* *out is NULL if there is no run of that hash and label. */
int store_read(struct store *s, const char *hash, const char *label, struct run_result **out, struct orr_error *err);
/* The same for a run by its number, as store_list() and the database have it. */
int store_read_run(struct store *s, int64_t run, struct run_result **out, struct orr_error *err);

/* true (--fresh): from now on store_write() replaces a run of the same hash and
 * label, inside its transaction. */
void store_replace_existing(struct store *s, bool replace);
/* How long to wait for another process that is writing; 30 s if not set. */
void store_set_patience(struct store *s, int ms);

/* What is there, in order of run; free with store_list_free(). */
struct stored_run {
	int64_t run;
	char *hash, *label, *policy, *world, *seed_text, *version, *created_at;
	bool is_oracle;
	uint64_t rows_total;
};
int store_list(struct store *s, struct stored_run **out, size_t *n, struct orr_error *err);
void store_list_free(struct stored_run *list, size_t n);

/* 64 hex digits over all runs in canonical order; leaves out wall time, host,
 * thread count and row ids. */
int store_digest(struct store *s, char out[65], struct orr_error *err);

#endif
