/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * gpu_budget.h - common part of the preemptive policies: counts of GPUs by type, and stopping of jobs to make room
 *
 * A pass first allocates a budget of GPUs per type, regardless of nodes. This determines the jobs that should run; the other
 * running jobs are victims. Then the pass places the chosen jobs. If a placement refuses one, victims are stopped, last first,
 * if this makes room.
 */
#ifndef ORR_POLICIES_GPU_BUDGET_H
#define ORR_POLICIES_GPU_BUDGET_H

#include <orrery/jobs.h>

struct gpu_budget {
	int64_t *left;  /* [type] 1/1000 GPU */
	int64_t *spare; /* part of `left` by type that no running job needs */
	uint32_t n_types;
	uint32_t *order; /* scratch: types in the order in which a job tries them */
	bool has_small;  /* some jobs request a part of a GPU, or none, and may fit in an empty budget */
};

/* Returns the GPUs that a job requests, 1/1000. */
int64_t requested_milli(const struct orr_jobs *w, orr_job j);

void gpu_budget_init(struct gpu_budget *b, const struct orr_jobs *w);
void gpu_budget_free(struct gpu_budget *b);
/* Registers the request of an arriving job. */
void gpu_budget_note(struct gpu_budget *b, const struct orr_jobs *w, orr_job j);
/* Resets the budget: all GPUs are unallocated and spare. */
void gpu_budget_begin(struct gpu_budget *b, const struct orr_jobs *w);
/* Allocates GPUs to a waiting job on the first type with enough GPUs, in the job's order of types. Prefers a type whose running jobs
 * keep their GPUs. Returns false if no type has enough. */
bool gpu_budget_draw(struct gpu_budget *b, const struct orr_jobs *w, orr_job j, uint64_t types, int64_t milli, uint32_t *type);
/* Inlined: called for each running job in each pass. */

/* Counts a job that runs on that type: its GPUs are not spare. */
static inline void gpu_budget_is_running(struct gpu_budget *b, uint32_t type, int64_t milli)
{
	if (type < b->n_types)
		b->spare[type] -= milli;
}

/* Allocates GPUs to a running job, on its own type; returns false if too few are left. */
static inline bool gpu_budget_hold(struct gpu_budget *b, uint32_t type, int64_t milli)
{
	if (!milli || type >= b->n_types)
		return true;
	if (b->left[type] >= milli) {
		b->left[type] -= milli;
		return true;
	}
	b->spare[type] += milli;
	return false;
}

static inline bool gpu_budget_any_left(const struct gpu_budget *b)
{
	for (uint32_t t = 0; t < b->n_types; t++)
		if (b->left[t] > 0)
			return true;
	return b->has_small;
}

struct victims {
	orr_job *job; /* jobs in the order of the pass */
	size_t n, cap;
	size_t left;      /* no job from this index on runs */
	size_t n_stopped; /* number of jobs stopped in this pass by victims_make_room() */
};

/* Returns the type on which to start a job: the type of its draw, or ORR_ANY_TYPE if there is no choice. */
uint32_t start_type(const struct gpu_budget *b, uint32_t drawn);
bool try_start_on(struct orr_jobs *w, orr_job j, uint32_t type);
/* Starts a job by stopping victims on that type. If that cannot make room, stops none and returns false. stop_cost may be NULL. */
bool victims_make_room(
	struct victims *v, struct orr_jobs *w, orr_job j, uint32_t type, int64_t (*stop_cost)(const struct orr_job_info *info));

#endif
