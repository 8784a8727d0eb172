/* SPDX-License-Identifier: GPL-3.0-or-later */
/* world.h - internal state of the jobs world, private to this folder; each part has a separate header */
#ifndef ORR_JOBS_WORLD_H
#define ORR_JOBS_WORLD_H

#include "jobs/adapt.h"
#include "jobs/calls.h"
#include "jobs/interference.h"
#include "jobs/jobs.h"
#include "jobs/metrics.h"
#include "jobs/node_events.h"
#include "jobs/rates.h"
#include "jobs/slots.h"
#include "jobs/starts.h"

/* Events of one instant happen in this order. */
enum { PRIO_END, PRIO_NODE, PRIO_ARRIVAL, PRIO_TIMER, PRIO_UNTIL };

struct arrivals {
	struct jobcursor *cursor;
	struct job_rec next;
	bool has_next;
};

/* jobs_options, resolved. */
struct options {
	int64_t start_cost, preempt_cost, migrate_cost, checkpoint;
	int64_t max_calls;
	enum jobs_on_failure on_failure;
	char reference_type[64];
	bool is_fastest_first; /* type_order=fastest */
	uint64_t gantt;
	uint32_t sharing_most;
};

struct depend;
struct flows;
struct places;
struct bill;
struct capacity;
struct causes;
struct decisions;
struct tenants;
struct quotas;
struct limits;

struct orr_jobs {
	const struct jobs_config *config;
	const char *label;
	const struct strtab *strings;
	struct options options;
	struct engine *engine;
	struct pool *pool;
	bool owns_host;              /* engine and pool belong to this run */
	const int64_t *others_milli; /* GPUs used by other worlds; NULL: no other world uses the pool */
	struct arrivals arrivals;
	struct slots slots;
	struct starts starts;
	struct shapes shapes;
	struct speedups speedups;
	struct class_models class_models;
	struct stage_table stage_table;
	struct adapt_kinds adapt_kinds;
	struct places *places; /* NULL: no job trains */
	struct depend *depend; /* NULL if jobs.dependencies is off */
	struct flows *flows;   /* NULL: the trace has no flows */
	struct policy_calls policy;
	struct node_events nodes;
	struct capacity *capacity;   /* lent nodes; NULL: all nodes are always present */
	struct bill *bill;           /* NULL with capacity */
	struct causes *causes;       /* NULL: the run records no parts */
	struct decisions *decisions; /* NULL: they are not recorded */
	struct tenants *tenants;     /* NULL until the first job arrives that has a user */
	struct quotas *quotas;       /* NULL without partitions */
	struct limits *limits;       /* limits per user; NULL: none */
	struct totals totals;
	unsigned *use; /* address of totals.used, which queries change too */
	struct measures measures;
	struct run_result *result;
	struct orr_error error;
	bool is_over; /* `until` was reached, or an error occurred */
};

static inline orr_job job_handle(const struct orr_jobs *w, uint32_t slot)
{
	return (uint64_t)w->slots.job[slot].generation << 32 | (slot + 1u);
}
/* Ends the run with an error if the handle is not 0, which means none. */
void world_refuse_handle(const struct orr_jobs *w, orr_job j);
/* Returns the live job of a handle, or NULL. */
static inline struct job *job_find(const struct orr_jobs *w, orr_job j)
{
	uint32_t slot = (uint32_t)j - 1u;
	if (slot >= w->slots.n || w->slots.job[slot].generation != j >> 32)
		return NULL;
	return &w->slots.job[slot];
}
/* The same. A handle that no job ever had ends the run. */
static inline struct job *job_of(const struct orr_jobs *w, orr_job j)
{
	struct job *job = job_find(w, j);
	if (!job && (uint32_t)j - 1u >= w->slots.n)
		world_refuse_handle(w, j);
	return job;
}
/* The request of a job: what a policy has to find for it. An elastic job whose request can never start has a smaller one than the trace. */
static inline const struct pool_request *job_request(const struct orr_jobs *w, const struct job *job)
{
	return &w->shapes.shape[job->shape].request;
}
static inline uint32_t slot_of(const struct orr_jobs *w, const struct job *job)
{
	return (uint32_t)(job - w->slots.job);
}

/* Ends the run with an error that names the policy, the job (may be NULL) and the time. Later errors are ignored. */
void world_fail(struct orr_jobs *w, int code, const struct job *job, const char *fmt, ...) __attribute__((format(printf, 4, 5)));

#endif
