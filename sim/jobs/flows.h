/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * flows.h - flows of a run: stages that wait for one another, branches, chooses, and the data sets between stages
 *
 * Order of events at one instant:
 *	1. Stages that end at the instant, one after another. For each: its output is finished; its inputs have one reader less, and those
 *	   without a reader left are freed; its score is known; if that finishes its branch, the choose is evaluated: losers are dropped
 *	   with their data sets, then, if the choose stops, the other branches are pruned; what waits for it becomes ready.
 *	2. Stages that became ready arrive, in the order in which they became ready.
 *	3. The policy decides. A stage that starts reads its inputs, then claims memory for its output, and pieces are spilled.
 *
 * A branch is a live combination of values of the explores around it; the root of a flow is one, too. A branch is freed at the end
 * of the instant in which it was dropped, so that finish() may still ask for a stage of it.
 */
#ifndef ORR_JOBS_FLOWS_H
#define ORR_JOBS_FLOWS_H

#include "cluster/datasets.h"
#include "jobs/job.h"
#include "results/stats.h"
#include "traces/flow.h"
#include "traces/trace.h"

struct flow_run;
struct flow_explore;

enum flow_item_state { FLOW_WAITS, FLOW_QUEUED, FLOW_LIVE, FLOW_DONE };

struct flow_item {
	uint32_t before;       /* items for which it waits */
	uint8_t state;         /* enum flow_item_state */
	uint32_t queued;       /* index in flows.ready, if FLOW_QUEUED */
	uint64_t set, scratch; /* output of the stage, and memory that it holds while it runs; DATASETS_NO_SET: none */
	orr_job job;
	double score;
	int64_t took;
	struct flow_explore *explore; /* state of an explore; kept when the branch is used again */
};

struct flow_branch {
	struct flow_run *run;
	struct flow_branch *parent, *prev, *next; /* sibling branches; next also links spare and dropped branches */
	uint32_t scope, index, left;              /* left: items that are not done */
	uint64_t path, base, id;                  /* base: position of its first stage in the flow */
	double score;
	bool is_finished, is_kept, is_dropped;
	uint64_t *imported; /* number of completed uses, by import */
	struct flow_item item[];
};

struct flow_explore {
	struct flow_branch *first, *last; /* live branches */
	uint32_t n_finished, n_pruned, n_kept, n_satisfied;
	struct flow_branch **kept; /* best first */
	double *score;             /* by value */
	uint8_t *state;            /* state by value: 1 finished, 2 pruned */
	uint32_t ahead, n_top;     /* of stop=improving: values before `ahead` are finished or pruned; the best of their scores */
	double *top;
	bool is_over;
};

struct flow_run {
	const struct flow *flow;
	struct job_rec row;
	struct flow_branch *root;
	uint64_t number, base;
	struct flow_branch **spare; /* operator + 1, by scope */
	struct flow_run *prev, *next;
	bool is_over;
};

struct flow_ready {
	struct flow_branch *branch; /* NULL: dropped */
	uint32_t op;
};

struct flows {
	const struct flowset *set;
	struct datasets *sets; /* NULL: no operator has an output */
	struct flow_run *first;
	struct flow_branch *dropped;
	struct flow_run *ended;
	struct flow_ready *ready;
	uint32_t n_ready, cap_ready;
	bool is_event_due;
	uint64_t next_number, next_base, next_id;
	/* options */
	double rho, disk_Bps;
	int recompute;
	/* totals */
	uint64_t submitted, completed, failed, stages_run, stages, branches_run, branches;
	double work_done, work_shared, work_unshared; /* GPU seconds */
	double time_sum, time_most;
	double regret_sum, kept_sum;
	uint64_t regrets;
	uint32_t branch_kept; /* of the last choose outside explores: position of its best branch */
	struct timeline memory;
	const char *wrong;
};

/* Does nothing unless the config has flows. */
void flows_begin(struct orr_jobs *w);
void flows_free(struct orr_jobs *w);
void flows_submit(struct orr_jobs *w, const struct job_rec *row);
/* Returns the request of an operator as a job. */
struct job_rec flow_rec(const struct job_rec *row, const struct flow *f, uint32_t op, uint64_t path);
/* Called for stages only, by life.c. */
void flows_started(struct orr_jobs *w, struct job *job);
void flows_stopped(struct orr_jobs *w, struct job *job);
void flows_ended(struct orr_jobs *w, struct job *job);
void flows_end_instant(struct orr_jobs *w);
/* Drops the branch, or fails the flow if it is a root. */
void flows_prune(struct orr_jobs *w, struct flow_branch *b);
void flows_state(struct orr_jobs *w); /* records a point of the memory series */
void flows_metrics(struct orr_jobs *w);
void flows_check(struct orr_jobs *w, bool is_end);
/* Writes the name of a stage, such as "train[3][17]", to out[]. */
void flows_name(const struct job *job, char *out, size_t size);
/* Calls f for each data set that a stage of `op` in branch b reads. */
void flows_each_input(const struct flow_branch *b, uint32_t op, void (*f)(void *ctx, uint64_t set), void *ctx);

/* ---- flow_sets.c, for flows.c ---- */
/* Counts n readers in branch b, which have completed, of an operator `up` branches above. import: of b, if up > 0. */
void flow_use(struct orr_jobs *w, const struct flow_branch *b, uint32_t op, uint32_t up, uint32_t import, uint64_t n);
/* Handles the end of a stage: finishes its output and counts the stage as a completed reader. */
void flow_finish_sets(struct orr_jobs *w, struct job *job);
void flow_drop_sets(struct orr_jobs *w, struct flow_item *x);

/* ---- scores.c ---- */
/* Returns the score that a stage gives; NAN and an error of the run if the score cannot be computed. */
double flow_score_of(struct orr_jobs *w, const struct flow_run *run, uint32_t op, uint64_t path);

#endif
