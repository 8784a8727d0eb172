/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * store.h - the database of runs (SQLite; schema in docs/reference/schema.md)
 *
 * Invariant: a run is stored completely or not at all (one transaction), whatever
 * happens to the process, the disk or the power. The store uses WAL while it is open;
 * store_close() checkpoints and returns to one file that opens read-only.
 * A struct store belongs to one thread at a time.
 */
#ifndef ORR_RESULTS_STORE_H
#define ORR_RESULTS_STORE_H

#include <orrery/api.h>

#include "results/result.h"

struct store;

/* Opens or creates the database. A file of another program, or of a newer
 * schema, is an error and stays unchanged. vfs NULL: the default (tests inject faults). */
struct store *store_open(const char *path, const char *vfs, struct orr_error *err);
/* Opens for reading only; works in a read-only directory. */
struct store *store_open_readonly(const char *path, struct orr_error *err);
/* Frees the store, also on error. */
int store_close(struct store *s, struct orr_error *err);

/* Stores a run. An existing run of the same hash and label stays unchanged. */
int store_write(struct store *s, const struct run_result *r, struct orr_error *err);
/* Reads a run; *out is NULL if no run has that hash and label. */
int store_read(struct store *s, const char *hash, const char *label, struct run_result **out, struct orr_error *err);
/* Same by the run's number in store_list() and in the database. */
int store_read_run(struct store *s, int64_t run, struct run_result **out, struct orr_error *err);

/* If true (--fresh), store_write() replaces a run of the same hash and
 * label, inside its transaction. */
void store_replace_existing(struct store *s, bool replace);

/* The stored runs in order of number; free with store_list_free(). */
struct stored_run {
	int64_t run;
	char *hash, *label, *policy, *world, *seed_text, *version, *created_at;
	bool is_oracle;
	uint64_t rows_total;
};
int store_list(struct store *s, struct stored_run **out, size_t *n, struct orr_error *err);
void store_list_free(struct stored_run *list, size_t n);

/* Computes 64 hex digits over all runs in canonical order; excludes wall time, host,
 * thread count and row ids. */
int store_digest(struct store *s, char out[65], struct orr_error *err);

#endif
