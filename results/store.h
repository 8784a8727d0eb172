/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * store.h - the database of runs (SQLite; schema in docs/reference/database.md)
 *
 * Invariant: a run is stored completely or not at all (one transaction), even if the process, the disk or the power fails. The
 * store uses WAL while it is open, except for long runs; store_close() checkpoints, after which the database is one file that can be
 * opened read-only. A struct store belongs to one thread at a time.
 */
#ifndef ORR_RESULTS_STORE_H
#define ORR_RESULTS_STORE_H

#include <orrery/api.h>

#include "results/result.h"

struct store;

/*
 * Opens or creates the database. A file of another program or of a newer schema is an error; it stays unchanged. vfs: SQLite
 * VFS, for tests that inject faults; NULL: the default.
 */
struct store *store_open(const char *path, const char *vfs, struct orr_error *err);
/* Opens for reading only; works in a read-only directory. */
struct store *store_open_readonly(const char *path, struct orr_error *err);
/* Closes and frees the store, also on error. */
int store_close(struct store *s, struct orr_error *err);

/* Stores a run. Keeps an existing run of the same hash and label unchanged. */
int store_write(struct store *s, const struct run_result *r, struct orr_error *err);
/* Stores runs in one transaction: all of them or, on failure, none. */
int store_write_all(struct store *s, const struct run_result *const *r, size_t n, struct orr_error *err);
/* Reads a run by hash and label; *out is NULL if the run is missing. */
int store_read(struct store *s, const char *hash, const char *label, struct run_result **out, struct orr_error *err);
/* Sets *run to the number of the run with this hash and label; 0: none. */
int store_find_run(struct store *s, const char *hash, const char *label, int64_t *run, struct orr_error *err);
/* Reads a run by its number in store_list() and in the database. */
int store_read_run(struct store *s, int64_t run, struct run_result **out, struct orr_error *err);

/* The same without rows and series: metrics, assumptions and remarks. Fast where a file has many runs. */
int store_read_metrics(struct store *s, int64_t run, struct run_result **out, struct orr_error *err);

/* Sets *has to whether a run has parts of an entity ("job", ..); false if the file has no table of parts. */
int store_has_parts(struct store *s, int64_t run, const char *entity, bool *has, struct orr_error *err);
/* Sets *number to the number of the job or request of that name in a run. table: "jobs" or "requests". -1: none. */
int store_find_subject(struct store *s, int64_t run, const char *table, const char *id, int64_t *number, struct orr_error *err);
/* Sets the wait and the run time of a job; *found false: the run has no such row. */
int store_read_job(struct store *s, int64_t run, uint64_t number, int64_t *wait_ns, int64_t *run_ns, bool *found, struct orr_error *err);
/* Sets into->parts, which must be empty, to the parts of a subject in order of time. The file must have a table of parts. */
int store_read_parts(struct store *s, int64_t run, const char *entity, uint64_t subject, struct run_result *into, struct orr_error *err);

/* Sets whether store_write() replaces a run of the same hash and label, inside its transaction (--fresh). */
void store_replace_existing(struct store *s, bool replace);

/* A stored run, in order of number; free the list with store_list_free(). */
struct stored_run {
	int64_t run;
	char *hash, *label, *policy, *world, *seed_text, *version, *created_at;
	bool is_oracle;
	uint64_t rows_total;
};
int store_list(struct store *s, struct stored_run **out, size_t *n, struct orr_error *err);
void store_list_free(struct stored_run *list, size_t n);

/* Computes the digest, 64 hex digits, of all runs in canonical order. Excludes wall time, host, thread count and row ids. Fails if the
 * contents of a run differ from its checksum. */
int store_digest(struct store *s, char out[65], struct orr_error *err);
/* As store_digest(), but fails for a database of more than 48 MiB, which takes seconds; the error names the command that prints it. */
int store_digest_if_small(struct store *s, char out[65], struct orr_error *err);

#endif
