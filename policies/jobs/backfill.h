/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * backfill.h - common part of the backfilling policies: the waiting jobs in order of submission, the running jobs in order of their
 * estimated ends, and the handling of jobs that run longer than their estimate
 *
 * The estimate of a running job is orr_job_estimate_run_ns(), of which all but the start cost is divided by its rate on the GPU type. For
 * a waiting job, the divisor is the lowest rate of the types that it may run on. If a job is still running at the end of its estimate,
 *
 *   overrun=kill    it is killed, as by a batch system at the user's limit;
 *   overrun=extend  its estimate grows by 1 min the first time, by 15 * 2^(i-2) min the i-th time (Tsafrir, Etsion and
 *                   Feitelson, "Backfilling Using System-Generated Predictions Rather than User Runtime Estimates", IEEE TPDS
 *                   18(6), 2007).
 *
 * Room is a count without nodes: GPUs (1/1000) per type, CPUs and memory of the whole cluster. The GPUs of a reservation may be
 * on nodes that the run's placement does not combine; the placement decides which jobs start now. No reservation is made on a
 * type where the placement would refuse the job on the empty cluster.
 *
 * Invariant: running[] ascends in (end, then order of start).
 */
#ifndef ORR_POLICIES_BACKFILL_H
#define ORR_POLICIES_BACKFILL_H

#include <orrery/jobs.h>

#define BACKFILL_PARAMS                                                                                                          \
	ORR_PARAM_CHOICE("estimate", "limit", "limit|exact",                                                                     \
		"source of run times: the user's limit (the true duration if a job has no limit), or always the true duration"), \
		ORR_PARAM_REAL("factor", "1", 1e-6, 1e6, "estimate=exact: factor on the true duration, to model an error"),      \
		ORR_PARAM_CHOICE("overrun", "extend", "kill|extend",                                                             \
			"action when a job exceeds its estimate: kill the job, or extend the estimate")

enum { BACKFILL_MAX_TYPES = 64 };
#define BACKFILL_NO_TYPE UINT32_MAX
#define BACKFILL_UNLIMITED (INT64_MAX / 4)

struct backfill_need {
	int64_t gpu_milli, cpu_milli, mem_mib;
};

/* Total or remaining capacity of the cluster. */
struct backfill_room {
	int64_t gpu_milli[BACKFILL_MAX_TYPES];
	int64_t cpu_milli, mem_mib;
};

struct backfill_running {
	int64_t end; /* estimated end */
	orr_job job;
	uint32_t type, overruns;
	struct backfill_need need;
};

/* GPU types on which a shape fits on the empty cluster. */
struct backfill_shape {
	bool is_known;
	uint64_t types;
};

struct backfill {
	struct orr_queue *waiting; /* waiting jobs; first key: submission; second key: longest estimate over the types of the job */
	struct backfill_running *running;
	size_t n, cap;
	struct backfill_shape *shape;
	size_t n_shapes;
	struct backfill_room used;
	int64_t cpu_milli, mem_mib; /* CPUs and memory of nodes that are up */
	uint32_t n_types;
	enum orr_estimate estimate;
	double factor;
	bool is_kill;
	int64_t next_timer; /* time of the earliest pending timer; ORR_NEVER: none */
};

/* Returns an object of `size` bytes that begins with a struct backfill. */
void *backfill_new(struct orr_jobs *w, size_t size, const struct orr_args *args);
void backfill_free(void *self);
/* Reads the capacity of the cluster again. */
void backfill_capacity(void *self, struct orr_jobs *w);

/* ---- needs and estimates ---- */
struct backfill_need backfill_need(const struct orr_job_info *i);
/* Returns the estimated run time on a type; BACKFILL_NO_TYPE: at rate 1. */
int64_t backfill_span(const struct backfill *b, struct orr_jobs *w, orr_job j, uint32_t type);
/* Returns the estimated run time on the slowest type that the job may run on. */
int64_t backfill_longest(const struct backfill *b, struct orr_jobs *w, orr_job j);
/* Returns the GPU types on which j may have a reservation. */
uint64_t backfill_types(struct backfill *b, struct orr_jobs *w, orr_job j, const struct orr_job_info *info);

/* ---- room ---- */
void backfill_room_now(const struct backfill *b, const struct orr_jobs *w, struct backfill_room *room);
/* Adds (sign 1) or subtracts (sign -1) the need of a job on that GPU type. */
void backfill_move(struct backfill_room *room, uint32_t type, const struct backfill_need *need, int sign);
bool backfill_has_room(const struct backfill_room *room, uint32_t type, const struct backfill_need *need);

/* ---- running jobs ---- */
/* Records a job that has just started; returns its estimated end. */
int64_t backfill_started(struct backfill *b, struct orr_jobs *w, orr_job j);
/* Removes a job. Returns true if it ran; *left is then the rest of its estimate. */
bool backfill_forget(struct backfill *b, struct orr_jobs *w, orr_job j, int64_t *left);
/* Kills or extends the running jobs that have reached their estimated ends. Returns true if there is such a job. */
bool backfill_overruns(struct backfill *b, struct orr_jobs *w);
/* Sets a timer for the next estimated end, if a job could start then. */
void backfill_set_timer(struct backfill *b, struct orr_jobs *w);

#endif
