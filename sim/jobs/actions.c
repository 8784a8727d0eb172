/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Actions of a policy (orrery/jobs.h). An invalid action ends the run with an error. */
#include "jobs/world.h"

#include "base/mem.h"
#include "base/num.h"
#include "jobs/bill.h"
#include "jobs/causes.h"
#include "jobs/life.h"

/* Returns the job if the policy may act now and the job has this state; else fails the run and returns NULL. */
static struct job *acting_on(struct orr_jobs *w, orr_job j, enum orr_job_state state, const char *action)
{
	if (w->error.code)
		return NULL;
	struct job *job = job_of(w, j);
	if (!job || job->state == ORR_JOB_ENDED) {
		world_fail(w, ORR_EFAIL, job, "%s of a job that has ended or never existed (handle %llx): expected a live job", action,
			(unsigned long long)j);
		return NULL;
	}
	if (!w->policy.is_acting) {
		world_fail(w, ORR_EFAIL, job, "%s: expected a call in schedule()", action);
		return NULL;
	}
	if (job->state != state) {
		world_fail(w, ORR_EFAIL, job, "%s of a job that %s", action,
			job->state == ORR_JOB_RUNNING ? "runs already: expected a waiting job" : "does not run: expected a running job");
		return NULL;
	}
	w->policy.last_acted = j;
	watch_job(w->policy.watch, job->number);
	return job;
}

static struct pool_request request_of(const struct orr_jobs *w, const struct job *job, uint32_t gpus)
{
	struct pool_request r = w->shapes.shape[job->shape].request;
	if (gpus != r.gpus && r.gpus) {
		r.cpu_milli = pool_part(r.cpu_milli, gpus, r.gpus);
		r.mem_mib = pool_part(r.mem_mib, gpus, r.gpus);
		r.gpus = gpus;
		r.gpu_milli = 1000;
	}
	return r;
}

static void set_rate(struct orr_jobs *w, struct job *job, uint32_t gpus)
{
	/* The rate of a job that trains is set at the end of the instant, when all running jobs are known. */
	if (job->adapt != NONE)
		job->work.rate = adapt_rate(w, job) * rate_on_type(w, job, job->alloc.type);
	else
		job->work.rate = job->training != NONE ? 1 : rate_on_type(w, job, job->alloc.type) * rate_at_size(w, job, gpus);
}

/* Counts a job for which no single GPU type has enough free GPUs, although all types together have enough. */
static void note_split(struct orr_jobs *w, struct job *job, const struct pool_request *r)
{
	bool has_choice = r->types & (r->types - 1);
	uint64_t free = 0;
	for (uint32_t t = 0; has_choice && !job->was_split && t < w->config->cluster->n_types; t++) {
		has_choice = !(r->types >> t & 1) || w->pool->free[t] < r->gpus;
		free += r->types >> t & 1 ? w->pool->free[t] : 0;
	}
	if (!has_choice || job->was_split || free < r->gpus)
		return;
	job->was_split = true;
	w->totals.split++;
}

/* Takes GPUs by the placement rule. Tries the types in the order of rates_order() and takes the first with room. */
static bool take_gpus(struct orr_jobs *w, struct job *job, const struct pool_request *r)
{
	uint32_t type[CLUSTER_MAX_TYPES];
	if (!w->options.is_fastest_first || !(r->types & (r->types - 1)) || w->config->placement->spans_types_by_score)
		return pool_take(w->pool, r, &job->alloc);
	uint32_t n = rates_order(w, job, type);
	for (uint32_t i = 0; i < n; i++) {
		struct pool_request one = *r;
		one.types &= UINT64_C(1) << type[i];
		if (one.types && pool_take(w->pool, &one, &job->alloc))
			return true;
	}
	return false;
}

static bool start_as(struct orr_jobs *w, struct job *job, const struct pool_request *r)
{
	if (!take_gpus(w, job, r)) {
		note_split(w, job, r);
		return false;
	}
	set_rate(w, job, r->gpus);
	life_start(w, job);
	return true;
}

bool orr_try_start(struct orr_jobs *w, orr_job j)
{
	struct job *job = acting_on(w, j, ORR_JOB_WAITING, "start");
	return job && start_as(w, job, &w->shapes.shape[job->shape].request);
}

bool orr_try_start_on_type(struct orr_jobs *w, orr_job j, uint32_t gpu_type)
{
	struct job *job = acting_on(w, j, ORR_JOB_WAITING, "start");
	if (!job)
		return false;
	if (gpu_type >= w->config->cluster->n_types) {
		world_fail(w, ORR_EFAIL, job, "start on GPU type %u: expected a number below %u", gpu_type, w->config->cluster->n_types);
		return false;
	}
	struct pool_request r = w->shapes.shape[job->shape].request;
	r.types &= UINT64_C(1) << gpu_type;
	return r.types && start_as(w, job, &r);
}

bool orr_try_start_sized(struct orr_jobs *w, orr_job j, uint32_t gpus)
{
	struct job *job = acting_on(w, j, ORR_JOB_WAITING, "start");
	if (!job)
		return false;
	if (!(rate_at_size(w, job, gpus) > 0)) {
		world_fail(w, ORR_EFAIL, job, "start on %u GPUs: expected a size that the job offers", gpus);
		return false;
	}
	struct pool_request r = request_of(w, job, gpus);
	return start_as(w, job, &r);
}

void orr_start_at(struct orr_jobs *w, orr_job j, const uint32_t *node, const uint32_t *gpus, size_t n)
{
	struct job *job = acting_on(w, j, ORR_JOB_WAITING, "start");
	if (!job)
		return;
	uint64_t sum = 0;
	for (size_t i = 0; i < n; i++)
		sum += gpus[i];
	if (sum != job->gpus && (sum > UINT32_MAX || !(rate_at_size(w, job, (uint32_t)sum) > 0))) {
		world_fail(
			w, ORR_EFAIL, job, "start on %llu GPUs: expected %u, the request of the job", (unsigned long long)sum, job->gpus);
		return;
	}
	struct pool_request r = request_of(w, job, (uint32_t)sum);
	const char *wrong = pool_take_at(w->pool, &r, node, gpus, n, &job->alloc);
	if (wrong) {
		world_fail(w, ORR_EFAIL, job, "start: %s", wrong);
		return;
	}
	set_rate(w, job, r.gpus);
	life_start(w, job);
}

void orr_stop_with_cost(struct orr_jobs *w, orr_job j, int64_t cost_ns)
{
	struct job *job = acting_on(w, j, ORR_JOB_RUNNING, "stop");
	if (!job)
		return;
	if (cost_ns < 0) {
		world_fail(w, ORR_EFAIL, job, "stop with a negative cost: expected a cost of at least 0");
		return;
	}
	job->preemptions++;
	w->totals.preemptions++;
	life_stop(w, job, num_add_sat(cost_ns, w->options.preempt_cost), "stop");
}

void orr_stop(struct orr_jobs *w, orr_job j)
{
	orr_stop_with_cost(w, j, 0);
}

void orr_kill(struct orr_jobs *w, orr_job j)
{
	struct job *job = job_of(w, j);
	if (!job || job->state != ORR_JOB_RUNNING)
		job = acting_on(w, j, ORR_JOB_WAITING, "kill");
	else
		job = acting_on(w, j, ORR_JOB_RUNNING, "kill");
	if (job)
		life_end(w, job, ORR_END_KILLED);
}

void orr_add_work(struct orr_jobs *w, orr_job j, int64_t work_ns)
{
	struct job *job = acting_on(w, j, ORR_JOB_WAITING, "adding work");
	if (!job)
		return;
	if (work_ns < 0) {
		world_fail(w, ORR_EFAIL, job, "negative extra work: expected work of at least 0");
		return;
	}
	job->work.left = num_add_sat(job->work.left, work_ns);
	job->work.asked = num_add_sat(job->work.asked, work_ns);
	bill_owe(w, job, work_ns);
	causes_adds_work(w, job, work_ns);
}

bool orr_resize(struct orr_jobs *w, orr_job j, uint32_t gpus)
{
	struct job *job = acting_on(w, j, ORR_JOB_RUNNING, "resize");
	if (!job)
		return false;
	if (!(rate_at_size(w, job, gpus) > 0)) {
		world_fail(w, ORR_EFAIL, job, "resize to %u GPUs: expected a size that the job offers", gpus);
		return false;
	}
	if (gpus == job->held)
		return true;
	/* Number of whole GPUs of the job's type that the job holds or that are free. */
	struct pool_request r = request_of(w, job, gpus);
	struct pool_alloc *held = &job->alloc;
	r.types = UINT64_C(1) << job->alloc.type;
	if (!pool_fits_without(w->pool, &r, &held, 1))
		return false;
	life_stop(w, job, w->options.preempt_cost, "stop");
	return start_as(w, job, &r);
}

void orr_give_up(struct orr_jobs *w, orr_job j, const char *message)
{
	world_fail(w, ORR_EFAIL, job_of(w, j), "%s", message);
}

static void on_timer(struct engine *e, void *ctx, uint64_t subject, uint64_t arg)
{
	(void)e, (void)subject, (void)arg;
	((struct orr_jobs *)ctx)->policy.is_due = true;
}

void orr_timer(struct orr_jobs *w, int64_t at_ns)
{
	if (at_ns != ORR_NEVER && !w->error.code)
		eng_at(w->engine, at_ns, PRIO_TIMER, on_timer, w, 0, 0);
}

bool orr_fits(struct orr_jobs *w, orr_job j)
{
	const struct job *job = job_of(w, j);
	return job && pool_fits(w->pool, &w->shapes.shape[job->shape].request);
}

bool orr_fits_without(struct orr_jobs *w, orr_job j, uint32_t gpu_type, const orr_job *stopped, size_t n)
{
	const struct job *job = job_of(w, j);
	if (!job)
		return false;
	struct pool_request r = w->shapes.shape[job->shape].request;
	if (gpu_type < w->config->cluster->n_types)
		r.types &= UINT64_C(1) << gpu_type;
	struct pool_alloc **given = mem_alloc((n + 1) * sizeof *given);
	size_t kept = 0;
	for (size_t i = 0; i < n; i++) {
		struct job *x = job_of(w, stopped[i]);
		if (!x || x->state != ORR_JOB_RUNNING || x->is_given)
			continue;
		x->is_given = true;
		given[kept++] = &x->alloc;
	}
	bool fits = pool_fits_without(w->pool, &r, given, kept);
	for (size_t i = 0; i < n; i++) {
		struct job *x = job_of(w, stopped[i]);
		if (x)
			x->is_given = false;
	}
	mem_free(given);
	return fits;
}
