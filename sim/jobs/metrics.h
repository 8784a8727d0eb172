/* SPDX-License-Identifier: GPL-3.0-or-later */
/* metrics.h - metrics of a run (metrics.c), and its conservation laws (check.c) */
#ifndef ORR_JOBS_METRICS_H
#define ORR_JOBS_METRICS_H

#include "jobs/job.h"
#include "results/result.h"
#include "results/stats.h"
#include "traces/status.h"

struct totals {
	uint64_t arrived, completed, killed, failed, refused;
	uint64_t preemptions, migrations, restarts;
	uint64_t deadlines, deadlines_met; /* accepted jobs with a deadline; of these, completed by then */
	uint32_t futile_stops;             /* in a row: stops of jobs that had done no work */
	uint64_t shared_starts;            /* starts on GPUs that another job held */
	int64_t first_submit, last_submit, last_end;
	timeline_sum job_milli_ns; /* time held x GPUs of jobs (1/1000) */
	double lost_gpu_ns;        /* GPU time of work that node failures undid */
	timeline_sum live_ns;      /* ns x jobs */
	double ftf_sum, ftf_max;   /* finish-time fairness */
	uint64_t ftf_n;
	double jain_sum, jain_sum2;
	uint64_t jain_n;
	uint64_t warm_jobs;                                 /* 1 + largest number of the jobs submitted before the time of warm_up */
	uint64_t by_goodput, untimed_starts;                /* jobs that adapt; pieces of their runs without a time in --step-times */
	uint64_t by_training, by_table, by_model, by_class; /* arrived jobs by the source of their speed (rates.h) */
	uint64_t recorded[TRACE_STATUSES];                  /* arrived jobs by recorded status */
	unsigned used;                                      /* enum jobs_use, step_use */
	uint64_t split;          /* number of jobs that could not start although enough GPUs were free on several types together */
	uint64_t shrunk;         /* arrived jobs whose request is smaller than that of the trace, see life_shape() */
	bool has_slower_first;   /* the types below are set */
	uint32_t slower, faster; /* types of the cluster in its order; an arrived job with a rate of its own is faster on the second */
	double priority;         /* of the job that arrived first */
	bool has_priorities;     /* another job has another priority */
	bool kept_apart;         /* the policy asked whether jobs on lent nodes may share GPUs */
};

/* Quantities over time. */
struct job_lines {
	struct timeline busy, queue, stranded, fragmented;
};

struct measures {
	struct job_lines *line; /* memory that is not zeroed: 64 KiB */
	struct hist *jct, *wait, *slowdown;
	struct jobs_blocks *blocks;
	size_t cap_rows;
	uint64_t row_stride; /* every row_stride-th job has a row */
	int64_t last_instant;
	int64_t last_state; /* of metrics_state() */
	bool has_failure;   /* a node failed */
	uint64_t checks;    /* number of checks of the state, under --check */
	double level;       /* level of intervals; NaN: the run has none */
};

void metrics_begin(struct orr_jobs *w);
void metrics_first(struct orr_jobs *w, int64_t submit_ns); /* called for the first job that is accepted */
void metrics_state(struct orr_jobs *w);                    /* called at the end of each instant */
void metrics_settle(struct orr_jobs *w);                   /* integrates all lines up to the last metrics_state() */
void metrics_job(struct orr_jobs *w, const struct job *job, enum job_status how);
/* Adds an event row. detail NULL: for a start, the text is the allocation; for other kinds it is empty. */
void metrics_event(struct orr_jobs *w, const char *kind, const struct job *job, const char *detail);
void metrics_node_event(struct orr_jobs *w, const char *kind, uint32_t node);
void metrics_end(struct orr_jobs *w);
/* Returns the row of a job after metrics_end(), which orders the rows; NULL: it has none. */
const struct job_row *metrics_row(const struct run_result *r, uint64_t number);
void metrics_free(struct orr_jobs *w);

/* ---- check.c: a violated law ends the run with an error ---- */
void check_state(struct orr_jobs *w);
void check_ended(struct orr_jobs *w); /* called before the slots of ended jobs are freed */
void check_end(struct orr_jobs *w);

#endif
