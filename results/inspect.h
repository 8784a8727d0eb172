/* SPDX-License-Identifier: GPL-3.0-or-later */
/* inspect.h - contents of a database, checks for damage, differences between two databases */
#ifndef ORR_RESULTS_INSPECT_H
#define ORR_RESULTS_INSPECT_H

#include "results/store.h"

struct store_info {
	int schema;                /* version of the file's schema */
	int64_t runs, bases;       /* bases: base scenarios; 0 up to schema 5 */
	int64_t bytes, free_bytes; /* size of the database, and size of the free pages, which store_vacuum() releases */
};
int store_info(struct store *s, struct store_info *out, struct orr_error *err);

/*
 * Looks for damage: SQLite's integrity check, the checksum of each run, rows of missing runs. Passes each finding to the caller, as a line
 * that names the table and, if known, the run. *n: number of findings. Returns an error only if the check itself is impossible.
 */
int store_check(struct store *s, void (*tell)(void *ctx, const char *finding), void *ctx, size_t *n, struct orr_error *err);

/* Removes base scenarios without runs, and rebuilds the file without free pages. */
int store_vacuum(struct store *s, struct orr_error *err);

/* A run that only one of two databases has, or whose contents differ between them. */
struct diff_run {
	int64_t run[2]; /* numbers in the two databases; 0: missing */
	char *label, *hash, *seed_text;
	char *tables;        /* names of the tables that differ, separated by ", "; NULL: only one database has the run */
	bool is_other_build; /* the scenario and the label are equal, but the hashes differ: inputs, version or sources of the program have
				changed */
};

struct diff {
	struct diff_run *run; /* runs only in the first, runs only in the second, then differing runs, each in order of the runs */
	size_t n, n_same;     /* n_same: runs with equal contents */
};
/*
 * Compares the runs of two databases: by hash and label, and the others by scenario and label. Contents are compared by checksums, computed
 * from the rows. Free *out with diff_free().
 */
int store_diff(struct store *a, struct store *b, struct diff *out, struct orr_error *err);
void diff_free(struct diff *d);

#endif
