/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * study.h - scenarios carried out: every policy of every scenario is a run, runs go on in
 * parallel, are stored in order or taken from the database, and reported
 *
 * Invariant: what is stored and what is reported depend on the scenarios alone, not on the
 * number of threads. A world is a struct study_world; the study knows nothing else of it.
 */
#ifndef ORR_CLI_STUDY_H
#define ORR_CLI_STUDY_H

#include "study/scenario.h"
#include "results/result.h"

struct study_output {
	const char *db, *out_dir; /* NULL: none */
	const char *timeline;     /* step world: Trace Event JSON goes there */
	bool json, check, quiet, fresh;
	bool exact; /* spot world: an event for each step */
	bool no_figures;
	bool is_series; /* of many scenarios: no remarks on what one of them cost */
	int threads;    /* 0: as many as there are */
};

/* How many threads that asks for. */
int study_threads(const struct study_output *o);

/* Called now and then with the part done, 0..1. */
typedef void (*study_progress)(void *ctx, double done);

struct study_world {
	const char *name;
	const char *kind;
	const char *source; /* the key of what it runs: "trace", "model" */
	/* What the scenario amounts to, every default filled in; from mem_alloc. NULL on error. */
	char *(*show)(const cJSON *scenario, struct orr_error *err);
	/* A scenario with all that its runs need, *base its common part, both until close(). NULL on error: the
	 * scenario is wrong, or cannot be run. Remarks go to standard error unless o->quiet. */
	void *(*open)(const cJSON *scenario, const struct study_output *o, struct scenario **base, struct orr_error *err);
	/* The run of policy i; threads run different i at once. The result has its labels already. */
	void (*run)(void *world, size_t i, struct run_result *r, study_progress progress, void *ctx, struct orr_error *err);
	/* Run i comes from the database. May be NULL. */
	void (*reused)(void *world, size_t i, const struct run_result *r);
	/* All runs are there: what is not stored with them (differences to the first), remarks, further files. */
	int (*finish)(void *world, struct run_result *const *runs, size_t n, struct orr_error *err);
	void (*close)(void *world);
};

extern const struct study_world study_jobs_world, study_step_world, study_serve_world, study_spot_world, study_mixed_world;
/* Of policies of that kind. */
const struct study_world *study_world(const char *kind);

/* One scenario from beginning to end, results on standard output. */
int study_run(const cJSON *scenario, const struct study_output *o, struct orr_error *err);

/* ---- several scenarios, results to the caller ---- */

struct study;
struct study *study_new(const struct study_output *o);
/* Refuses what is wrong before anything runs. where (NULL: nowhere) is put before the message of a run that fails. */
int study_add(struct study *s, const cJSON *scenario, const char *where, struct orr_error *err);
/* Once; what names the work for the progress bar. */
int study_carry_out(struct study *s, const char *what, struct orr_error *err);
/* The runs of scenario k, in the order of its policies; until study_free(). */
struct run_result *const *study_results(const struct study *s, size_t k, size_t *n);
void study_free(struct study *s);

#endif
