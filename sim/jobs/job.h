/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * job.h - a live job: its request, its progress, and the GPUs on which it runs
 *
 * Work is counted in ns at rate 1. A run of a job is the time from a start to the next stop, eviction or end; a piece is a part
 * of a run at one rate.
 */
#ifndef ORR_JOBS_JOB_H
#define ORR_JOBS_JOB_H

#include <orrery/jobs.h>

#include "cluster/pool.h"
#include "engine/engine.h"
#include "jobs/adapt_belief.h"
#include "results/timeline.h"

#define NONE UINT32_MAX

struct flow_branch;
struct place;
struct steprate_value;

struct job_work {
	int64_t asked;
	int64_t left;     /* remaining work; of a running job, the remaining work at the start of its current run */
	int64_t booked;   /* work done in finished runs, lost work included */
	int64_t overhead; /* start costs paid in finished runs */
	double rate;      /* work per second from progress_from on */
	int64_t progress_from, piece_done, piece_saved; /* piece_done: work done in earlier pieces of this run; piece_saved: the part of
							   this work that the last checkpoint holds */
	bool has_rate;                                  /* false: places_settle() will set the rate and the end event */
	bool was_scaled;                                /* the job ran at a rate other than 1 */
};

/* The GPUs of a running job and, if it trains, its speed on them (places.h). */
struct job_seat {
	uint32_t *gpu, n_gpu; /* by number */
	struct place *place;  /* this and the following fields: for a job that trains */
	const struct steprate_value *alone;
	double alone_rate;
	double growth[4]; /* growth of its iteration when messages are stretched (sharing.c); 0: unknown */
	uint64_t mark;    /* mark of the settlement that last visited the job */
};

struct job {
	uint32_t generation;
	uint8_t state; /* enum orr_job_state */
	uint8_t how;   /* enum orr_job_end of an ended job */
	bool has_run;
	bool is_given;    /* inside orr_fits_without(): counted as stopped */
	uint8_t recorded; /* enum trace_status */
	bool was_split;   /* the job could not start although several types together had enough free GPUs */
	/* Values from the trace. */
	uint64_t number;
	uint32_t shape, gpus, id, user, queue, model, speedup;
	int64_t origin; /* submission of the flow, or of a job outside flows. JCT counts from this time, waits from submit */
	int64_t submit, limit, duration, recorded_wait;
	double priority, iterations;
	uint32_t adapt;              /* kind of a job that adapts its batch (adapt.h); NONE: it does not */
	struct adapt_seen seen;      /* points at which it has run */
	uint32_t training, strategy; /* training: NONE if the job does not train */
	uint32_t class_model;        /* of type_speed_of() */
	bool is_on_own_type;         /* the job accepts only one type, to which its duration refers if jobs.reference_type is not set */
	int64_t deadline;            /* latest acceptable end; -1: none */
	uint32_t stages;             /* text of its stages (interference.h); 0: unknown */
	uint32_t gpu_mem_mib;        /* memory used on each GPU; 0: unknown */
	double occupancy;            /* 0: unknown */
	double batch;                /* number of samples per GPU and iteration; 0: the default */
	uint32_t partition;          /* 0 without partitions */
	bool is_held;                /* by a limit of its user (limits.h): the policy does not know the job */
	uint32_t next_held;
	/* Totals so far. */
	struct job_work work;
	int64_t first_start, last_start, attained;
	int64_t start_cost;        /* start cost of the present run: no progress before it has passed */
	timeline_sum gpu_milli_ns; /* time in finished runs x GPUs held (1/1000) */
	double progress_gpu_ns;    /* GPU time of the last run after its start cost, up to booked_from */
	double kept_gpu_ns;        /* the same of earlier runs, of the work that was kept */
	timeline_sum live_ns;      /* integral over time of the number of live jobs, at the arrival of this job */
	uint32_t preemptions, migrations, restarts;
	/* fields of a stage of a flow */
	struct flow_branch *branch; /* NULL: no stage */
	uint32_t stage;             /* operator */
	bool is_linear;             /* the job runs on any number of GPUs, at a rate proportional to the number */
	double score;               /* once completed */
	uint32_t last_nodes;        /* hash of the nodes of the last run, to count migrations */
	/* Valid while the job runs. */
	uint32_t held;              /* number of GPUs that the job holds */
	int64_t booked_from, milli; /* its GPU time is booked up to this time; GPUs in use since then, 1/1000 */
	double slice;               /* part of its time that it runs (orr_set_slice()) */
	uint32_t sharers, mate;     /* number of jobs on its GPUs, itself included; slot of the next of them, in a ring (group.h) */
	struct pool_alloc alloc;
	struct job_seat seat;
	struct eng_event end;
	uint32_t prev, next;           /* links of the list of live jobs; NONE at its ends */
	uint32_t running_at;           /* index in slots.running; NONE: the job does not run */
	uint32_t started_at;           /* index in starts.slot */
	uint32_t part_prev, part_next; /* links of the list of its partition's running jobs (quota.h); NONE at its ends */
	uint32_t decision;             /* its row of this instant, if it has one (decisions.h) */
};

/* ---- progress.c ---- */
/* Returns the work done so far in the present run of a running job. */
int64_t work_done(const struct orr_jobs *w, const struct job *job);
/* Returns the work of the present run that its last checkpoint holds. Checkpoints are made at equal intervals of time, at any rate. */
int64_t work_saved(const struct orr_jobs *w, const struct job *job);
/* Returns the GPUs in use on `held` GPUs, 1/1000; for a shared GPU, the job's share of this GPU. Jobs that share whole GPUs have equal
 * parts of them; the one that holds them has the rest of the division. */
int64_t gpu_milli_of(const struct job *job, uint32_t held);
/* Returns the GPUs that the job requests; of a job on a part of a GPU, this part. */
double gpus_asked(const struct orr_jobs *w, const struct job *job);

#endif
