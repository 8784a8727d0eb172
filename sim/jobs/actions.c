/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Actions of a policy (orrery/jobs.h). An invalid action ends the run with an error. */
#include "jobs/actions.h"
#include "jobs/world.h"

#include <stddef.h>

#include "base/mem.h"
#include "base/num.h"
#include "jobs/bill.h"
#include "jobs/borrow.h"
#include "jobs/causes.h"
#include "jobs/group.h"
#include "jobs/decisions.h"
#include "jobs/life.h"
#include "jobs/quota.h"

/* Returns the job if the policy may act now and the job has this state; else fails the run and returns NULL. */
static struct job *acting_on(struct orr_jobs *w, orr_job j, enum orr_job_state state, const char *action)
{
	if (w->error.code)
		return NULL;
	struct job *job = job_find(w, j);
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
		job->work.rate = job->training != NONE
					 ? 1
					 : rate_on_type(w, job, job->alloc.type) * rate_at_size(w, job, gpus) * group_factor(w, job);
}

/* Counts a job for which no single GPU type has enough free GPUs, although all types together have enough. */
static void note_split(struct orr_jobs *w, struct job *job, const struct pool_request *r)
{
	bool is_split = r->types & (r->types - 1);
	uint64_t free = 0;
	if (!is_split || job->was_split)
		return;
	for (uint32_t t = 0; is_split && t < w->config->cluster->n_types; t++) {
		is_split = !(r->types >> t & 1) || w->pool->free[t] < r->gpus;
		free += r->types >> t & 1 ? w->pool->free[t] : 0;
	}
	if (!is_split || free < r->gpus)
		return;
	job->was_split = true;
	w->totals.split++;
}

/* Takes free GPUs of the first type with room, in the order of rates_order(). */
static bool take_fastest(struct orr_jobs *w, const struct job *job, const struct pool_request *r, struct pool_alloc *out)
{
	uint32_t type[CLUSTER_MAX_TYPES];
	uint32_t n = rates_order(w, job, type);
	for (uint32_t i = 0; i < n; i++) {
		struct pool_request one = *r;
		one.types &= UINT64_C(1) << type[i];
		if (one.types && pool_take(w->pool, &one, out))
			return true;
	}
	return false;
}

/* Takes free GPUs by the placement rule. */
static bool take_free(struct orr_jobs *w, const struct job *job, const struct pool_request *r, struct pool_alloc *out)
{
	bool has_choice = r->types & (r->types - 1);
	w->totals.used |= has_choice && r->gpus ? JOBS_USED_TRIES : 0;
	if (has_choice && w->options.is_fastest_first && !w->config->placement->spans_types_by_score)
		return take_fastest(w, job, r, out);
	return pool_take(w->pool, r, out);
}

bool action_take(struct orr_jobs *w, const struct job *job, uint32_t gpus, uint32_t gpu_type, struct pool_alloc *out)
{
	struct pool_request r = request_of(w, job, gpus);
	if (gpus == job_request(w, job)->gpus && gpu_type != ORR_ANY_TYPE)
		r.types &= UINT64_C(1) << gpu_type;
	return (r.types || !r.gpus) && take_free(w, job, &r, out);
}

bool action_take_held(struct orr_jobs *w, const struct job *job, struct pool_alloc *out)
{
	const struct pool_piece *x = pool_pieces(&job->alloc);
	struct pool_request r = request_of(w, job, job->held);
	uint32_t *node = mem_alloc((2 * (size_t)job->alloc.n + 1) * sizeof *node), *gpus = node + job->alloc.n;
	for (uint32_t i = 0; i < job->alloc.n; i++) {
		node[i] = x[i].node;
		gpus[i] = x[i].gpus;
	}
	bool is_free = !pool_take_at(w->pool, &r, node, gpus, job->alloc.n, out);
	mem_free(node);
	return is_free;
}

/* Takes free GPUs, and GPUs that other partitions have borrowed, within the quota. */
static bool take_gpus(struct orr_jobs *w, struct job *job, const struct pool_request *r)
{
	if (!w->quotas)
		return take_free(w, job, r, &job->alloc);
	if (!quota_allows(w, job, r, 0))
		return false;
	if (!borrow_must_stop(w, r, 0) && take_free(w, job, r, &job->alloc))
		return true;
	return borrow_make_room(w, job, r) && take_free(w, job, r, &job->alloc);
}

static void start_taken(struct orr_jobs *w, struct job *job, const struct pool_request *r)
{
	set_rate(w, job, r->gpus);
	life_start(w, job);
}

static bool start_as(struct orr_jobs *w, struct job *job, const struct pool_request *r)
{
	if (!take_gpus(w, job, r)) {
		note_split(w, job, r);
		return false;
	}
	start_taken(w, job, r);
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

/* Starts a job on these nodes. Returns false if it cannot; may_lack: resources that are in use are not an error. */
static bool start_at(struct orr_jobs *w, orr_job j, const uint32_t *node, const uint32_t *gpus, size_t n, bool may_lack)
{
	struct job *job = acting_on(w, j, ORR_JOB_WAITING, "start");
	if (!job)
		return false;
	uint64_t sum = 0;
	for (size_t i = 0; i < n; i++)
		sum += gpus[i];
	if (sum != job_request(w, job)->gpus && (sum > UINT32_MAX || !(rate_at_size(w, job, (uint32_t)sum) > 0))) {
		world_fail(w, ORR_EFAIL, job, "start on %llu GPUs: expected %u, the request of the job", (unsigned long long)sum,
			job_request(w, job)->gpus);
		return false;
	}
	struct pool_request r = request_of(w, job, (uint32_t)sum);
	if (!quota_allows(w, job, &r, 0))
		return false;
	borrow_clear(w, job, &r, node, gpus, n);
	const char *wrong = pool_take_at(w->pool, &r, node, gpus, n, &job->alloc);
	if (wrong && !(may_lack && pool_is_lack(wrong)))
		world_fail(w, ORR_EFAIL, job, "start: %s", wrong);
	if (wrong)
		return false;
	set_rate(w, job, r.gpus);
	life_start(w, job);
	return true;
}

void orr_start_at(struct orr_jobs *w, orr_job j, const uint32_t *node, const uint32_t *gpus, size_t n)
{
	start_at(w, j, node, gpus, n, false);
}

bool orr_try_start_at(struct orr_jobs *w, orr_job j, const uint32_t *node, const uint32_t *gpus, size_t n)
{
	return start_at(w, j, node, gpus, n, true);
}

/* Returns why the job cannot share the GPUs of `with`, or NULL. */
static const char *wrong_beside(struct orr_jobs *w, struct job *job, struct job *with, const struct pool_request *r)
{
	struct job *member[ORR_MOST_SHARING + 1];
	const char *wrong = cannot_share(w, job);
	if (!wrong)
		wrong = cannot_share(w, with);
	if (wrong)
		return wrong;
	if (with->sharers >= ORR_MOST_SHARING)
		return "at most 8 jobs share GPUs";
	if (r->gpus != job_request(w, job)->gpus && !(rate_at_size(w, job, r->gpus) > 0))
		return "the job does not offer the number of GPUs of the other job";
	uint32_t n = group_of(w, with, member);
	member[n++] = job;
	if (exceeds_memory(w, member, n, with->alloc.type))
		return "the jobs together use more memory than their GPUs have";
	for (uint32_t i = 0; i < n; i++)
		if (!(interference_rate(w, member, n, i, with->alloc.type) > 0))
			return "the rates of these jobs on shared GPUs are unknown or 0: expected jobs that --interference can combine";
	return NULL;
}

void orr_start_beside(struct orr_jobs *w, orr_job j, orr_job other)
{
	struct job *with = acting_on(w, other, ORR_JOB_RUNNING, "sharing the GPUs");
	struct job *job = with ? acting_on(w, j, ORR_JOB_WAITING, "start") : NULL;
	if (!job)
		return;
	struct pool_request r = request_of(w, job, with->held);
	const char *wrong = wrong_beside(w, job, with, &r);
	if (!wrong)
		wrong = pool_take_beside(w->pool, &r, &with->alloc, &job->alloc);
	if (wrong) {
		world_fail(w, ORR_EFAIL, job, "start beside job %llu: %s", (unsigned long long)with->number, wrong);
		return;
	}
	group_join(w, job, with);
	w->totals.used |= JOBS_USED_INTERFERENCE;
	w->totals.shared_starts++;
	set_rate(w, job, r.gpus);
	life_start(w, job);
	life_regroup(w, with, job);
}

bool orr_fits_beside(struct orr_jobs *w, orr_job j, orr_job other)
{
	struct job *job = job_of(w, j), *with = job_of(w, other);
	if (!job || !with || with->state != ORR_JOB_RUNNING || job == with)
		return false;
	struct pool_request r = request_of(w, job, with->held);
	return !wrong_beside(w, job, with, &r) && pool_fits_beside(w->pool, &r, &with->alloc);
}

void orr_set_slice(struct orr_jobs *w, orr_job j, double part)
{
	struct job *job = acting_on(w, j, ORR_JOB_RUNNING, "a time slice");
	if (!job)
		return;
	const char *wrong = cannot_share(w, job);
	if (!wrong && !(part > 0 && part <= 1))
		wrong = "expected a part above 0, at most 1";
	if (wrong) {
		world_fail(w, ORR_EFAIL, job, "time slice %g: %s", part, wrong);
		return;
	}
	job->slice = part;
	life_rerate(w, job, rate_on_type(w, job, job->alloc.type) * rate_at_size(w, job, job->held) * group_factor(w, job));
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
	decisions_stop(w, job, cost_ns);
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
	if (!job)
		return;
	decisions_kill(w, job);
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
	decisions_work(w, job, work_ns);
	bill_owe(w, job, work_ns);
	causes_adds_work(w, job, work_ns);
}

void orr_set_left(struct orr_jobs *w, orr_job j, int64_t left_ns)
{
	struct job *job = acting_on(w, j, ORR_JOB_WAITING, "setting the work left");
	if (!job)
		return;
	if (left_ns < 0) {
		world_fail(w, ORR_EFAIL, job, "negative work left: expected work of at least 0");
		return;
	}
	job->work.asked = num_add_sat(job->work.asked, left_ns - job->work.left);
	job->work.left = left_ns;
	w->policy.saw_truth = true;
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
	if (job->sharers > 1) {
		world_fail(w, ORR_EFAIL, job, "resize of a job that shares its GPUs: expected a stop and a start");
		return false;
	}
	/* Number of whole GPUs of the job's type that the job holds or that are free. */
	struct pool_request r = request_of(w, job, gpus);
	struct pool_alloc *held = &job->alloc;
	r.types = UINT64_C(1) << job->alloc.type;
	if (!quota_allows(w, job, &r, quota_held(job)) || borrow_must_stop(w, &r, quota_held(job)) ||
		!pool_fits_without(w->pool, &r, &held, 1))
		return false;
	decisions_stop(w, job, 0);
	life_stop(w, job, w->options.preempt_cost, "stop");
	/* The quota was checked above. Now that the job has given up its GPUs, a partition above its quota could not start it again. */
	bool fits = take_free(w, job, &r, &job->alloc);
	if (fits)
		start_taken(w, job, &r);
	return fits;
}

void orr_give_up(struct orr_jobs *w, orr_job j, const char *message)
{
	world_fail(w, ORR_EFAIL, job_of(w, j), "%s", message);
}

static void on_timer(struct engine *e, void *ctx, uint64_t subject, uint64_t arg)
{
	(void)e, (void)arg;
	struct orr_jobs *w = ctx;
	w->policy.is_due = true;
	w->policy.timers--;
	if (w->quotas)
		w->quotas->part[subject].is_due = true;
}

void orr_timer(struct orr_jobs *w, int64_t at_ns)
{
	if (at_ns == ORR_NEVER || w->error.code)
		return;
	w->policy.timers++;
	eng_at(w->engine, at_ns, PRIO_TIMER, on_timer, w, w->policy.at, 0);
}

bool orr_fits(struct orr_jobs *w, orr_job j)
{
	const struct job *job = job_of(w, j);
	return job && borrow_fits(w, job, &w->shapes.shape[job->shape].request, NULL, 0, 0);
}

/* Leaves out jobs whose GPUs stay in use by others that share them. */
static void keep_shared(struct orr_jobs *w, const orr_job *stopped, size_t n, struct pool_alloc **given, size_t *kept)
{
	for (size_t i = 0; i < n; i++) {
		struct job *x = job_of(w, stopped[i]), *member[ORR_MOST_SHARING];
		if (!x || !x->is_given || x->sharers == 1 || x->alloc.is_beside)
			continue;
		bool is_free = true;
		for (uint32_t k = group_of(w, x, member); k-- > 0;)
			is_free &= member[k]->is_given;
		size_t at = 0;
		while (at < *kept && given[at] != &x->alloc)
			at++;
		if (!is_free && at < *kept)
			given[at] = given[--*kept];
	}
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
	keep_shared(w, stopped, n, given, &kept);
	int64_t freed = 0;
	for (size_t i = 0; i < kept; i++) /* allocations are members of jobs */
		freed += quota_held((const struct job *)((const char *)given[i] - offsetof(struct job, alloc)));
	bool fits = borrow_fits(w, job, &r, given, kept, freed);
	for (size_t i = 0; i < n; i++) {
		struct job *x = job_of(w, stopped[i]);
		if (x)
			x->is_given = false;
	}
	mem_free(given);
	return fits;
}
