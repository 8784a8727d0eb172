/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Earliest deadline first, preemptive: at each change the jobs with the earliest deadlines run, each on the GPUs that it requests, or on
 * those of its sizes with the greatest rate (largest). A job that does not fit is passed over, or stops the rest (strict). The baseline of
 * elasticflow in tests/jobs/deadlines.sh.
 */
#include <orrery/jobs.h>

#include <stdlib.h>

static const struct orr_param params[] = { ORR_PARAM_BOOL("largest", false, "jobs run on the size with the greatest rate"),
	ORR_PARAM_BOOL("strict", false, "a job that does not fit lets no later one run"), ORR_PARAM_END };

struct edf {
	bool is_largest, is_strict;
	struct orr_job_info *info;
	orr_job *job;
	size_t *order, n, cap_info, cap_job, cap_order;
};

static void *create(struct orr_jobs *w, const struct orr_args *args, struct orr_error *err)
{
	struct edf *e = orr_alloc(1, sizeof *e);
	(void)w, (void)err;
	e->is_largest = orr_arg_bool(args, "largest");
	e->is_strict = orr_arg_bool(args, "strict");
	return e;
}

static void destroy(void *self)
{
	struct edf *e = self;
	orr_free(e->info);
	orr_free(e->job);
	orr_free(e->order);
	orr_free(e);
}

static void arrive(void *self, struct orr_jobs *w, orr_job j)
{
	(void)self, (void)w, (void)j; /* orr_job_first() lists the live jobs */
}

static void finish(void *self, struct orr_jobs *w, orr_job j, enum orr_job_end how)
{
	(void)self, (void)w, (void)j, (void)how;
}

static int64_t due(const struct orr_job_info *x)
{
	return x->deadline_ns < 0 ? INT64_MAX : x->deadline_ns;
}

/* Returns the number of GPUs on which the job is to run. */
static uint32_t size_of(const struct edf *e, struct orr_jobs *w, orr_job j, uint32_t requested)
{
	uint32_t best = requested, total = orr_total_gpus(w);
	for (uint32_t g = 1; e->is_largest && g <= total; g *= 2)
		best = orr_job_rate_at(w, j, g) > orr_job_rate_at(w, j, best) ? g : best;
	return best;
}

static void insert(struct edf *e, struct orr_jobs *w, orr_job j)
{
	size_t cap = e->cap_info, n = e->n;
	ORR_GROW(e->info, n, cap);
	e->cap_info = cap;
	ORR_GROW(e->job, n, e->cap_job);
	ORR_GROW(e->order, n, e->cap_order);
	orr_job_get(w, j, &e->info[n]);
	e->job[n] = j;
	size_t at = e->n++;
	for (; at && due(&e->info[e->order[at - 1]]) > due(&e->info[n]); at--)
		e->order[at] = e->order[at - 1];
	e->order[at] = n;
}

static void schedule(void *self, struct orr_jobs *w)
{
	struct edf *e = self;
	uint32_t left = orr_total_gpus(w);
	e->n = 0;
	for (orr_job j = orr_job_first(w); j; j = orr_job_next(w, j))
		insert(e, w, j);
	for (size_t i = 0; i < e->n; i++) {
		struct orr_job_info *x = &e->info[e->order[i]];
		uint32_t size = size_of(e, w, e->job[e->order[i]], x->gpus);
		bool runs_so = x->state == ORR_JOB_RUNNING && x->gpus_held == size;
		x->gpus = size <= left ? size : 0; /* 0: waits */
		left = x->gpus ? left - size : e->is_strict ? 0 : left;
		if (x->state == ORR_JOB_RUNNING && (!x->gpus || !runs_so))
			orr_stop(w, e->job[e->order[i]]);
	}
	for (size_t i = 0; i < e->n; i++)
		if (e->info[e->order[i]].gpus && !orr_job_is_running(w, e->job[e->order[i]]))
			orr_try_start_sized(w, e->job[e->order[i]], e->info[e->order[i]].gpus);
}

static const struct orr_jobs_ops ops = { .create = create, .destroy = destroy, .arrive = arrive, .finish = finish, .schedule = schedule };

ORR_POLICY_JOBS(edf, "earliest deadline first", params, ops);
