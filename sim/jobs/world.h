/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * world.h - the inside of the jobs world, for the files of this folder alone
 *
 * Invariants: a job slot is live from arrival to the end of the instant in which the
 * job ended; its generation grows each time the slot is used again, so an old handle
 * is known as such. A running job has exactly one pending end event (one that trains gets it, with its rate,
 * at the end of the instant in which it started). Live jobs form
 * a list in order of submission.
 */
#ifndef ORR_JOBS_WORLD_H
#define ORR_JOBS_WORLD_H

#include "cluster/failures.h"
#include "engine/engine.h"
#include "engine/watch.h"
#include "jobs/jobs.h"
#include "jobs/steprate.h"
#include "results/timeline.h"

enum { PRIO_END, PRIO_NODE, PRIO_ARRIVAL, PRIO_TIMER, PRIO_UNTIL };

struct job {
	uint32_t generation;
	uint8_t state; /* enum orr_job_state */
	uint8_t how;   /* it ended: enum orr_job_end */
	bool has_run;
	bool was_scaled; /* ran at a rate other than 1 */
	bool is_given;   /* inside orr_fits_without(): counted as stopped */
	uint32_t shape;
	uint32_t gpus, held;
	uint64_t number;
	int64_t submit, first_start, last_start, attained;
	int64_t work_asked, work_left; /* at last_start if running */
	int64_t work_booked;           /* done in pieces that are over, lost work included */
	int64_t overhead;              /* start costs paid so far */
	int64_t start_cost;            /* of the present run: no progress before it is over */
	int64_t limit, duration;
	double rate;                                    /* since progress_from; what was done before in this run is piece_done */
	int64_t progress_from, piece_done, piece_saved; /* piece_saved: of piece_done, at the last checkpoint before */
	timeline_sum gpu_milli_ns;                      /* attained times GPUs (1/1000), pieces so far */
	struct eng_event end;
	struct pool_alloc alloc;
	uint32_t last_node; /* of the last run, for the migration count */
	uint32_t preemptions, migrations, restarts;
	uint32_t prev, next; /* live jobs; NONE */
	uint32_t running_at; /* index in w->running */
	uint32_t id, user, queue, model, speedup;
	double priority, iterations;
	int64_t recorded_wait;
	timeline_sum live_ns; /* integral of live jobs over time, at arrival */
	/* Training (places.h). */
	uint32_t training, strategy; /* training NONE: at the rate of the trace */
	double batch;
	bool has_rate;        /* else places_settle() gives it one, and its end event */
	uint32_t *gpu, n_gpu; /* while it runs: the GPUs it holds, by number */
	struct place *place;
	const struct steprate_value *alone;
	double alone_rate;
	double growth[4]; /* of its iteration when messages are stretched (sharing.c); 0 not known yet */
	uint64_t mark;
};

#define NONE UINT32_MAX

struct shape {
	struct pool_request request;
	bool fits_ever;
};

/* One size of an elastic job's speed-up table. */
struct speed {
	uint32_t gpus;
	double rate;
};
struct speedup {
	bool is_parsed;
	uint32_t n;
	struct speed *size; /* ascending */
};

struct totals {
	uint64_t arrived, completed, killed, failed, refused;
	uint64_t preemptions, migrations, restarts;
	int64_t first_submit, last_end;
	timeline_sum job_milli_ns; /* jobs' GPUs times time held */
	timeline_sum live_ns;      /* ns x jobs */
	int64_t live_since;
	double ftf_sum, ftf_max;
	uint64_t ftf_n;
	double jain_sum, jain_sum2;
	uint64_t jain_n;
};

struct places;
struct bill;
struct capacity;

struct orr_jobs {
	const struct jobs_config *config;
	const struct orr_policy *policy;
	const struct orr_jobs_ops *ops;
	const char *label;
	void *self; /* the policy's object */
	struct engine *engine;
	struct pool *pool;
	bool owns_host; /* engine and pool are its own */
	int64_t last_instant;
	const int64_t *others_milli; /* NULL: nobody else uses the pool */
	struct jobcursor *cursor;
	const struct strtab *strings;
	struct job_rec next_rec;
	bool has_next;

	struct job *job;
	uint32_t n_jobs, cap_jobs;
	uint32_t *free_slots;
	uint32_t n_free, cap_free;
	uint32_t first_live, last_live;
	uint64_t live, waiting;
	uint32_t *running;
	uint32_t n_running, cap_running;
	uint32_t *ended;                     /* slots to be freed at the end of this instant */
	uint32_t n_ended, cap_ended, n_told; /* the policy knows of the first n_told */
	uint32_t *on_node;                   /* while a node is cleared */
	uint32_t n_on_node, cap_on_node;

	struct shape *shape;
	uint32_t n_shapes, cap_shapes;
	uint32_t *shape_slot; /* hash: shape + 1 */
	uint32_t shape_mask;
	uint32_t *waiting_of;    /* [shape] */
	struct speedup *speedup; /* by string number */
	uint32_t n_speedup;

	/* the instant */
	bool is_changed; /* schedule() is due */
	bool is_acting;  /* inside schedule() */
	bool capacity_changed;
	int64_t calls_now; /* schedule() calls at this instant */
	int64_t last_call;
	orr_job last_acted; /* what the policy last acted on, for messages */
	uint64_t given;     /* how often a job has given GPUs back */
	uint64_t checks;    /* of the state, under --check */
	bool is_over;       /* until reached, or an error */
	bool saw_truth;     /* the policy used true durations: marked oracle */
	struct orr_error error;

	/* options, resolved */
	int64_t start_cost, preempt_cost, migrate_cost, checkpoint;
	int64_t max_calls;
	enum jobs_on_failure on_failure;
	char reference_type[64];
	uint64_t gantt;
	uint32_t sharing_most;
	struct places *places; /* NULL: no job trains */

	/* results */
	struct totals totals;
	struct timeline busy, queue, stranded, fragmented;
	struct hist *jct, *wait, *slowdown;
	struct jobs_blocks *blocks;
	struct run_result *result;
	size_t cap_rows, cap_events;
	uint64_t row_stride;
	struct failure_run *failures;
	struct capacity *capacity; /* NULL: nodes are not lent */
	struct bill *bill;
	uint32_t nodes_down;
	bool failure_pending; /* the next failure or repair is an event */
	struct watch *watch;
};

/* ---- slots and handles (slots.c) ---- */
static inline orr_job job_handle(const struct orr_jobs *w, uint32_t slot)
{
	return (uint64_t)w->job[slot].generation << 32 | (slot + 1u);
}
/* The live job of a handle, or NULL. */
static inline struct job *job_of(const struct orr_jobs *w, orr_job j)
{
	uint32_t slot = (uint32_t)j - 1u;
	if (slot >= w->n_jobs || w->job[slot].generation != j >> 32)
		return NULL;
	return &w->job[slot];
}
static inline uint32_t slot_of(const struct orr_jobs *w, const struct job *job)
{
	return (uint32_t)(job - w->job);
}
uint32_t slot_new(struct orr_jobs *w);
void slot_release_ended(struct orr_jobs *w); /* at the end of an instant */
uint32_t shape_of(struct orr_jobs *w, const struct pool_request *r);
void slots_free(struct orr_jobs *w);

/* ---- rates (rates.c) ---- */
/* Work of a job in ns at rate 1; -1 with w->error set if it cannot be known. */
int64_t work_of(struct orr_jobs *w, const struct job_rec *r);
double rate_on_type(const struct orr_jobs *w, const struct job *job, uint32_t type);
/* Iterations per second; the relative rate where they are not known. */
double throughput_on_type(const struct orr_jobs *w, const struct job *job, uint32_t type);
double rate_at_size(struct orr_jobs *w, const struct job *job, uint32_t gpus);
/* The types where the job's rate is known and positive. */
uint64_t runnable_types(struct orr_jobs *w, const struct job_rec *r);
bool speedup_load(struct orr_jobs *w, const struct job_rec *r);
void rates_free(struct orr_jobs *w);

/* ---- jobs that train (training.c, places.c, sharing.c) ---- */
uint32_t training_of_row(struct orr_jobs *w, const struct job_rec *r, bool *ok); /* NONE: it does not train */
double training_iteration_s(const struct orr_jobs *w, uint32_t training);
double training_rate_on(const struct orr_jobs *w, uint32_t training, uint32_t type);
double training_rate_at(struct orr_jobs *w, const struct job *job, uint32_t gpus);
uint64_t training_types(const struct orr_jobs *w, uint32_t training);
void places_begin(struct orr_jobs *w);
void places_free(struct orr_jobs *w);
void places_take(struct orr_jobs *w, struct job *job); /* job->alloc and held are set */
void places_give(struct orr_jobs *w, struct job *job);
void places_settle(struct orr_jobs *w);
void places_metrics(const struct orr_jobs *w, double *shapes, double *sets, double *rerated, double *largest);
/* speed[i] of set[i] over that alone; may change the order of the set. */
int sharing_speeds(struct orr_jobs *w, struct job **set, uint32_t n, double *speed);

/* ---- the life of a job (life.c) ---- */
void life_arrive(struct orr_jobs *w, const struct job_rec *r);
void life_start(struct orr_jobs *w, struct job *job); /* job->alloc and rate are set */
/* From now on; gives the job its end event. */
void life_rerate(struct orr_jobs *w, struct job *job, double rate);
void life_stop(struct orr_jobs *w, struct job *job, int64_t cost, const char *kind);
void life_end(struct orr_jobs *w, struct job *job, enum orr_job_end how);
void life_evict(struct orr_jobs *w, struct job *job);
/* Work done by now of the present run (the job runs). */
int64_t work_done(const struct orr_jobs *w, const struct job *job);
int64_t gpu_milli_of(const struct job *job, uint32_t held);

void tell_evicted(struct orr_jobs *w, struct job *job); /* run.c: the policy hears of it */

/* ---- errors: the first one ends the run ---- */
void world_fail(struct orr_jobs *w, int code, const struct job *job, const char *fmt, ...) __attribute__((format(printf, 4, 5)));

/* ---- measuring (metrics.c) ---- */
void metrics_begin(struct orr_jobs *w);
void metrics_first(struct orr_jobs *w, int64_t submit_ns); /* the first job that is not refused */
void metrics_state(struct orr_jobs *w);                    /* before anything that changes what is busy or waiting */
void metrics_job(struct orr_jobs *w, const struct job *job, enum job_status how);
void metrics_event(struct orr_jobs *w, const char *kind, const struct job *job);
void metrics_node_event(struct orr_jobs *w, const char *kind, uint32_t node);
void metrics_end(struct orr_jobs *w);
void metrics_free(struct orr_jobs *w);

/* ---- conservation (check.c) ---- */
void check_state(struct orr_jobs *w);
void check_ended(struct orr_jobs *w); /* before the slots of ended jobs are freed */
void check_end(struct orr_jobs *w);

#endif
