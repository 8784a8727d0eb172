/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * flows.h - flows of a run: stages with dependencies, branches, chooses, and the data sets between stages
 *
 * Order of events at one instant:
 *	1. Stages end, one after another. For each stage:
 *	   a. its output is finished; each of its inputs loses one reader, and inputs without readers are freed;
 *	   b. its score is known; if its branch has ended, the choose is evaluated;
 *	   c. losing branches are dropped with their data sets; if the choose stops, branches that have not ended are pruned;
 *	   d. stages for which this was the last input become ready.
 *	2. Ready stages arrive, in the order in which they became ready.
 *	3. The policy decides. A stage that starts reads its inputs, then claims memory for its output; pieces are spilled then.
 *
 * A branch is a live combination of values of its enclosing explores. The root of a flow is also a branch. A dropped branch is freed at
 * the end of the instant, because finish() may still query its stages.
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
	uint32_t before;       /* number of items that must end before this item starts */
	uint8_t state;         /* enum flow_item_state */
	uint32_t queued;       /* index in flows.ready, if FLOW_QUEUED */
	uint64_t set, scratch; /* output of the stage; scratch memory of the running stage; DATASETS_NO_SET: none */
	orr_job job;
	double score;
	int64_t took;                 /* running time of the stage, ns */
	struct flow_explore *explore; /* state of an explore; reused with the branch */
};

struct flow_branch {
	struct flow_run *run;
	struct flow_branch *parent, *prev, *next; /* sibling branches; next also links spare and dropped branches */
	uint32_t scope, index, left;              /* left: number of items that are not done */
	uint64_t path, base, id;                  /* base: position of the first stage of the branch in the flow */
	double score;
	bool is_finished, is_kept, is_dropped;
	uint64_t *imported; /* number of completed reads, by import */
	struct flow_item item[];
};

struct flow_explore {
	struct flow_branch *first, *last; /* live branches */
	uint32_t n_finished, n_pruned, n_kept, n_satisfied;
	struct flow_branch **kept; /* kept branches, best first */
	double *score;             /* [value] score of its branch */
	uint8_t *state;            /* [value] 1: finished; 2: pruned */
	uint32_t ahead, n_top;     /* stop=improving: number of leading values that are finished or pruned; size of top */
	double *top;               /* best scores of these values, best first */
	bool is_over;
};

struct flow_run {
	const struct flow *flow;
	struct job_rec row;
	struct flow_branch *root;
	uint64_t number, base;
	struct flow_branch **spare; /* [scope + 1] unused branches, for reuse */
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
	uint32_t branch_kept; /* index of the best branch of the last choose that lies outside all explores */
	struct timeline memory;
	const char *wrong;
};

/* Creates the state of flows. No-op if the config has no flows. */
void flows_begin(struct orr_jobs *w);
void flows_free(struct orr_jobs *w);
void flows_submit(struct orr_jobs *w, const struct job_rec *row);
/* Returns the job record of an operator in the branch with the number `path`. */
struct job_rec flow_rec(const struct job_rec *row, const struct flow *f, uint32_t op, uint64_t path);
/* Handle the start, preemption and end of a stage. Called by life.c. */
void flows_started(struct orr_jobs *w, struct job *job);
void flows_stopped(struct orr_jobs *w, struct job *job);
void flows_ended(struct orr_jobs *w, struct job *job);
void flows_end_instant(struct orr_jobs *w);
/* Prunes a branch. Fails the flow if the branch is its root. */
void flows_prune(struct orr_jobs *w, struct flow_branch *b);
void flows_state(struct orr_jobs *w); /* records a point of the memory series */
void flows_metrics(struct orr_jobs *w);
void flows_check(struct orr_jobs *w, bool is_end);
/* Writes the name of a stage, such as "train[3][17]", to out[]. */
void flows_name(const struct job *job, char *out, size_t size);
/* Calls f for each data set that a stage of `op` in branch b reads. */
void flows_each_input(const struct flow_branch *b, uint32_t op, void (*f)(void *ctx, uint64_t set), void *ctx);

/* ---- flow_sets.c, for flows.c ---- */
/* Counts n completed readers in branch b of an operator whose branch is `up` levels above. import: index of the operator in the imports of
 * b, if up > 0. */
void flow_use(struct orr_jobs *w, const struct flow_branch *b, uint32_t op, uint32_t up, uint32_t import, uint64_t n);
/* Handles the end of a stage: finishes its output and counts the stage as a completed reader. */
void flow_finish_sets(struct orr_jobs *w, struct job *job);
void flow_drop_sets(struct orr_jobs *w, struct flow_item *x);

/* ---- scores.c ---- */
/* Returns the score of a stage. Returns NAN and sets w->error if the score cannot be computed. */
double flow_score_of(struct orr_jobs *w, const struct flow_run *run, uint32_t op, uint64_t path);

#endif
