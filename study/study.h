/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * study.h - a study: every policy of every scenario is a run; runs execute in parallel, are stored in order or read from the
 * database, and are reported
 *
 * Invariant: stored and reported values depend only on the scenarios, not on the number of threads.
 */
#ifndef ORR_STUDY_STUDY_H
#define ORR_STUDY_STUDY_H

#include "results/report_compare.h"
#include "world/scenario.h"

/* Runs one scenario from beginning to end, with results on standard output. If a policy fails, the results of the others are still
 * printed. */
int study_run(const cJSON *scenario, const struct world_output *o, struct orr_error *err);

/* ---- several scenarios; the caller gets the results ---- */

struct study;
struct failed_runs; /* results/failed.h */
struct pace;        /* study/pace.h */
struct study *study_new(const struct world_output *o);
/* Adds a scenario, and checks it before any run starts. where (NULL: none) precedes the message of a run that fails. */
int study_add(struct study *s, const cJSON *scenario, const char *where, struct orr_error *err);
/* Adds n scenarios in this order; the study's threads check them. *failed: the first with an error; those after it are not added. */
int study_add_all(struct study *s, const cJSON *const *scenario, const char *const *where, size_t n, size_t *failed, struct orr_error *err);
/* Reuses also the runs of another database, which is only read. A missing file is not an error. The caller keeps the name until
 * study_carry_out() returns. */
void study_reuse_from(struct study *s, const char *db);
/* Fails the runs that failed earlier with their errors, without running them. The caller keeps f until study_carry_out() returns. Needs a
 * database; runs that are repeated (--fresh) are not skipped. */
void study_skip_failures(struct study *s, const struct failed_runs *f);
/* Learns lengths of runs together with other studies; the caller keeps the pace. */
void study_learn(struct study *s, struct pace *pace);
/* Calls ended() when a run is done or taken from the database, never twice at the same time. */
void study_watch(struct study *s, void (*ended)(void *ctx, bool has_failed), void *ctx);
/* Stores runs in *kept; opens it if it is NULL and there is a database. The caller closes it, after its last study. */
struct store;
void study_keep_store(struct study *s, struct store **kept);
/* Executes all runs; call it once. what: text of the progress bar. If a run fails, the results of the others are kept and stored,
 * and its error is that of the study. */
int study_carry_out(struct study *s, const char *what, struct orr_error *err);
/* Runs that a caller finds in a database: by hash and label or, if the program has changed since, by text and label. find() returns the
 * number of the run; 0: none. */
struct study_source {
	struct store *store;
	int64_t (*find)(void *ctx, const char *hash, const char *text, const char *label);
	void *ctx;
};
/* Takes all runs from a database instead of study_carry_out(). *missing: number of runs that it lacks; unless it is 0, the study has no
 * results. */
int study_take(struct study *s, const struct study_source *from, size_t *missing, struct orr_error *err);
/* Returns the number in that database of a policy's run of scenario k; 0: none. */
int64_t study_number(const struct study *s, size_t k, size_t policy);
/* Returns the runs of scenario k without an error, in the order of its policies; valid until study_free(). */
struct run_result *const *study_results(const struct study *s, size_t k, size_t *n);
/* Returns the comparisons of these runs over replications (study/compare.h); NULL before study_carry_out(). */
const struct report_comparisons *study_comparisons(const struct study *s, size_t k);
/* Returns whether all runs have ended, some perhaps with errors, so that there are results. */
bool study_has_ended(const struct study *s);
/* Returns the number of runs that were taken from the database; study_say_reused() prints it for one or more studies. */
size_t study_reused(const struct study *s);
size_t study_runs(const struct study *s);
void study_say_reused(const struct world_output *o, size_t reused, size_t runs);
/* Returns the number of policies of scenario k, and the error of the run of one of them; NULL: none. *label: its label. */
size_t study_policies(const struct study *s, size_t k);
const struct orr_error *study_error(const struct study *s, size_t k, size_t policy, const char **label);
/* Returns whether the error of a run came from the database: the run ended, but could not be stored. */
bool study_is_lost(const struct study *s, size_t k, size_t policy);
/* Returns the hash and the label by which the database knows a run; valid until the next study_add(). */
const char *study_key(const struct study *s, size_t k, size_t policy, const char **label);
/* Counts the runs of all scenarios, and those that the database has, with the sum of their wall times. Runs nothing. */
int study_count(struct study *s, size_t *runs, size_t *known, double *wall_s, struct orr_error *err);
void study_free(struct study *s);

#endif
