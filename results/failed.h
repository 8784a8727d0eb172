/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * failed.h - runs of a study that failed: table `failures` of the database
 *
 * A failed run has no row in `runs`. Its failure is kept under the hash and label that the run would have, so that a resumed
 * study does not repeat it. Failures are not part of the digest. A failure whose run was stored later is resolved: it is not
 * listed, and store_forget_failures() deletes it. A study deletes failures of its points under other hashes.
 */
#ifndef ORR_RESULTS_FAILED_H
#define ORR_RESULTS_FAILED_H

#include "results/store.h"

struct failed_run {
	char *hash, *label;  /* hash of the run */
	char *point, *error; /* point: run and axes of the study, "r[load=2,nodes=8]" */
	int64_t tries;       /* how often the run was tried; 1 or more */
};

/* Failures without a stored run. */
struct failed_runs {
	struct failed_run *list; /* by hash, then label */
	size_t n, cap;
};

/*
 * Adds the failures of a database to *out. If both have a failure, the one with more tries is kept. A file without the table
 * has no failures.
 */
int failed_runs_read(struct store *s, struct failed_runs *out, struct orr_error *err);
/* Returns the failure of a run; NULL: none. */
const struct failed_run *failed_runs_find(const struct failed_runs *f, const char *hash, const char *label);
/* Adds a failure. An existing failure with at most as many tries gets the new point, error and tries. Copies the texts. */
void failed_runs_put(struct failed_runs *f, const struct failed_run *new);
void failed_runs_free(struct failed_runs *f);

/* Stores failures in one transaction, as failed_runs_put() does. */
int store_write_failures(struct store *s, const struct failed_run *list, size_t n, struct orr_error *err);
/* Like store_put_failures(), within a transaction of the caller. */
int store_put_failures(struct store *s, const struct failed_run *list, size_t n, struct orr_error *err);
/* Deletes failures whose run is stored. */
int store_forget_failures(struct store *s, struct orr_error *err);
/* Deletes the failure with this hash and label, if it exists. */
int store_delete_failure(struct store *s, const struct failed_run *f, struct orr_error *err);

#endif
