/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * merge.h - merges databases ("shards") that several processes wrote for one study
 *
 * Invariant: one transaction adds all missing runs, so a merge is complete or leaves the contents of the database unchanged. The
 * shards are opened for reading only. The digest of the result equals that of a database to which the same runs were written directly.
 */
#ifndef ORR_RESULTS_MERGE_H
#define ORR_RESULTS_MERGE_H

#include <orrery/api.h>

#include <stddef.h>

/* Identifies a run in a database. */
struct run_key {
	const char *hash, *label;
};

struct merge_count {
	size_t added, present; /* runs copied; runs that the database already had, or that an earlier shard had */
};

/* The order of the runs of a study, of any number: next() sets *out to the next run, valid until the next call, or its hash to NULL after
 * the last. Returns non-zero with *err filled in on error. */
struct run_order {
	int (*next)(void *ctx, struct run_key *out, struct orr_error *err);
	void *ctx;
};

/*
 * Adds the runs of the shards to the database `out`, which is created if it does not exist. New runs get the next run numbers:
 * first the runs of order[], in that order (n_order 0: no order), then the others by scenario, seed, label and hash. A run
 * whose hash and label are present is skipped. If its contents differ, the error names both files. vfs: as in store_open().
 * Errors: a shard that cannot be read, is damaged, belongs to another program or has another schema version; a full disk.
 */
int store_merge(const char *out, const char *vfs, const char *const *shard, size_t n_shards, const struct run_key *order, size_t n_order,
	struct merge_count *count, struct orr_error *err);
/* The same with an order of any length, which is kept in a temporary file. */
int store_merge_ordered(const char *out, const char *vfs, const char *const *shard, size_t n_shards, const struct run_order *order,
	struct merge_count *count, struct orr_error *err);

#endif
