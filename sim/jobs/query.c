/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Queries of a policy (orrery/jobs.h). */
#include "jobs/world.h"

#include "base/num.h"
#include "jobs/bill.h"
#include "jobs/flows.h"
#include "jobs/group.h"
#include "jobs/quota.h"
#include "jobs/quota_view.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

int64_t orr_now(const struct orr_jobs *w)
{
	return eng_now(w->engine);
}

static int64_t attained(const struct orr_jobs *w, const struct job *job)
{
	return job->state == ORR_JOB_RUNNING ? job->attained + (eng_now(w->engine) - job->last_start) : job->attained;
}

bool orr_job_get(const struct orr_jobs *w, orr_job j, struct orr_job_info *out)
{
	const struct job *job = job_of(w, j);
	if (!job)
		return false;
	const struct pool_request *r = job_request(w, job);
	timeline_sum gpu_milli_ns = job->gpu_milli_ns;
	if (job->state == ORR_JOB_RUNNING)
		gpu_milli_ns += (timeline_sum)(uint64_t)(eng_now(w->engine) - job->booked_from) * (uint64_t)job->milli;
	*out = (struct orr_job_info){ .number = job->number,
		.state = job->state,
		.submit_ns = job->submit,
		.limit_ns = job->limit,
		.started_ns = job->last_start,
		.attained_ns = attained(w, job),
		.attained_gpu_s = (double)gpu_milli_ns / 1e12,
		.priority = job->priority,
		.gpus = job_request(w, job)->gpus,
		.gpus_held = job->held,
		.gpu_milli = r->gpu_milli,
		.cpu_milli = r->cpu_milli,
		.mem_mib = r->mem_mib,
		.gpu_types = r->types,
		.gpu_type = job->state == ORR_JOB_RUNNING ? job->alloc.type : CLUSTER_NO_TYPE,
		.shape = job->shape,
		.user = job->user,
		.queue = job->queue,
		.model = job->model,
		.deadline_ns = job->deadline,
		.preemptions = job->preemptions,
		.is_elastic = job->speedup != 0 || job->is_linear || job->adapt != NONE };
	return true;
}

uint32_t orr_job_gpus(const struct orr_jobs *w, orr_job j)
{
	const struct job *job = job_of(w, j);
	return job ? job_request(w, job)->gpus : 0;
}

uint32_t orr_job_shape(const struct orr_jobs *w, orr_job j)
{
	const struct job *job = job_of(w, j);
	return job ? job->shape : 0;
}

int64_t orr_job_submit_ns(const struct orr_jobs *w, orr_job j)
{
	const struct job *job = job_of(w, j);
	return job ? job->submit : 0;
}

uint64_t orr_job_number(const struct orr_jobs *w, orr_job j)
{
	const struct job *job = job_of(w, j);
	return job ? job->number : 0;
}

bool orr_job_is_running(const struct orr_jobs *w, orr_job j)
{
	const struct job *job = job_of(w, j);
	return job && job->state == ORR_JOB_RUNNING;
}

int64_t orr_job_attained_ns(const struct orr_jobs *w, orr_job j)
{
	const struct job *job = job_of(w, j);
	return job ? attained(w, job) : 0;
}

const char *orr_job_name(const struct orr_jobs *w, orr_job j)
{
	const struct job *job = job_of(w, j);
	if (job && job->branch)
		return job->branch->run->flow->op[job->stage].name;
	return job && job->id ? strtab_text(w->strings, job->id) : "";
}

const char *orr_name(const struct orr_jobs *w, uint32_t number)
{
	return strtab_text(w->strings, number);
}

/* ---- true durations, for policies that declare ORR_NEEDS_ORACLE ---- */

static const struct job *truth_about(struct orr_jobs *w, orr_job j)
{
	const struct job *job = job_of(w, j);
	if (!(w->policy.declared->flags & ORR_NEEDS_ORACLE)) {
		world_fail(w, ORR_EFAIL, job, "the policy reads a true duration: expected a policy that declares ORR_NEEDS_ORACLE");
		return NULL;
	}
	return job;
}

static int64_t work_left(const struct orr_jobs *w, const struct job *job)
{
	return job->work.left - (job->state == ORR_JOB_RUNNING ? work_done(w, job) : 0);
}

int64_t orr_job_remaining_ns(struct orr_jobs *w, orr_job j)
{
	const struct job *job = truth_about(w, j);
	return job ? work_left(w, job) : 0;
}

int64_t orr_job_duration_ns(struct orr_jobs *w, orr_job j)
{
	const struct job *job = truth_about(w, j);
	return job ? job->duration : 0;
}

double orr_job_iterations(struct orr_jobs *w, orr_job j)
{
	const struct job *job = job_of(w, j);
	return job ? job->iterations : 0;
}

int64_t orr_job_done_ns(const struct orr_jobs *w, orr_job j)
{
	const struct job *job = job_of(w, j);
	int64_t done = job ? job->duration - work_left(w, job) : 0;
	return done > 0 ? done : 0;
}

double orr_job_iterations_left(const struct orr_jobs *w, orr_job j)
{
	const struct job *job = job_of(w, j);
	if (!job || job->duration <= 0)
		return 0;
	int64_t left = work_left(w, job);
	/* Costs that were added to the work do not count as iterations. */
	return left < job->duration ? job->iterations * ((double)left / (double)job->duration) : job->iterations;
}

/* Returns the start cost of the present run, or an upper bound of that of the next run. */
static int64_t start_cost(const struct orr_jobs *w, const struct job *job)
{
	if (job->state == ORR_JOB_RUNNING)
		return job->start_cost;
	return num_add_sat(w->options.start_cost, job->has_run ? w->options.migrate_cost : 0);
}

static bool is_limited(const struct job *job, enum orr_estimate how)
{
	return how == ORR_ESTIMATE_LIMIT && job->limit >= 0;
}

static int64_t scale(int64_t ns, enum orr_estimate how, double factor)
{
	if (how == ORR_ESTIMATE_LIMIT || factor == 1)
		return ns; /* a double would round durations above 104 days */
	double scaled = (double)ns * factor;
	return scaled < 9e18 ? llrint(scaled) : INT64_MAX / 2;
}

/* Returns the user's limit, or an estimate of `work` from the truth. */
static int64_t estimate_of(struct orr_jobs *w, const struct job *job, int64_t work, enum orr_estimate how, double factor)
{
	if (is_limited(job, how))
		return job->limit;
	w->policy.saw_truth = true; /* the estimate is derived from the true duration */
	return scale(num_add_sat(work, start_cost(w, job)), how, factor);
}

int64_t orr_job_estimate_ns(struct orr_jobs *w, orr_job j, enum orr_estimate how, double factor)
{
	const struct job *job = job_of(w, j);
	return job ? estimate_of(w, job, job->duration, how, factor) : 0;
}

int64_t orr_job_estimate_run_ns(struct orr_jobs *w, orr_job j, enum orr_estimate how, double factor)
{
	const struct job *job = job_of(w, j);
	return job ? estimate_of(w, job, job->work.left, how, factor) : 0;
}

int64_t orr_job_estimate_start_ns(const struct orr_jobs *w, orr_job j, enum orr_estimate how, double factor)
{
	const struct job *job = job_of(w, j);
	return job && !is_limited(job, how) ? scale(start_cost(w, job), how, factor) : 0;
}

double orr_job_rate_on(const struct orr_jobs *w, orr_job j, uint32_t gpu_type)
{
	const struct job *job = job_of(w, j);
	if (!job || gpu_type >= w->config->cluster->n_types || !(w->shapes.shape[job->shape].request.types >> gpu_type & 1))
		return 0;
	double rate = rate_on_type(w, job, gpu_type);
	*w->use |= rate < 1 || rate > 1 ? JOBS_USED_SPEEDS : 0;
	return rate;
}

double orr_job_throughput(const struct orr_jobs *w, orr_job j, uint32_t gpu_type)
{
	return orr_job_rate_on(w, j, gpu_type) > 0 ? throughput_on_type(w, job_of(w, j), gpu_type) : 0;
}

double orr_job_rate_at(const struct orr_jobs *w, orr_job j, uint32_t gpus)
{
	const struct job *job = job_of(w, j);
	/* May run the step world, which changes no state visible to a policy. */
	return job ? rate_at_size((struct orr_jobs *)(uintptr_t)w, job, gpus) : 0;
}

double orr_job_goodput(const struct orr_jobs *w, orr_job j, uint32_t nodes, uint32_t gpus)
{
	const struct job *job = job_of(w, j);
	return job && job->adapt != NONE && gpus <= rates_gpu_limit(w, job) ? adapt_goodput(w, job, NONE, nodes, gpus) : 0;
}

double orr_job_goodput_on(const struct orr_jobs *w, orr_job j, uint32_t gpu_type, uint32_t nodes, uint32_t gpus)
{
	const struct job *job = job_of(w, j);
	if (!job || job->adapt == NONE || gpu_type >= w->config->cluster->n_types || gpus > rates_gpu_limit(w, job))
		return 0;
	double own = adapt_type_rate(w, job, gpu_type);
	return adapt_goodput(w, job, gpu_type, nodes, gpus) * (own > 0 ? 1 : rate_on_type(w, job, gpu_type));
}

uint32_t orr_job_most_gpus(const struct orr_jobs *w, orr_job j)
{
	const struct job *job = job_of(w, j);
	if (!job)
		return 0;
	uint32_t most = job->adapt != NONE ? adapt_most_gpus(w, job) : job->gpus, limit = rates_gpu_limit(w, job);
	return most < limit ? most : limit;
}

/* ---- jobs that share GPUs ---- */

size_t orr_job_mates(const struct orr_jobs *w, orr_job j, orr_job *mate, size_t most)
{
	struct job *job = job_of(w, j), *member[ORR_MOST_SHARING];
	uint32_t n = job && job->state == ORR_JOB_RUNNING ? group_of(w, job, member) - 1 : 0;
	for (uint32_t i = 0; i < n && i < most; i++)
		mate[i] = job_handle(w, slot_of(w, member[i + 1]));
	return n;
}

/* Looks up the jobs; returns false if one has ended or there are too many. */
static bool find_all(const struct orr_jobs *w, const orr_job *of, size_t n, struct job **job)
{
	bool is_good = n <= ORR_MOST_SHARING;
	for (size_t i = 0; is_good && i < n; i++)
		is_good = (job[i] = job_of(w, of[i])) != NULL;
	return is_good;
}

double orr_job_rate_beside(struct orr_jobs *w, orr_job j, const orr_job *others, size_t n, uint32_t gpu_type)
{
	struct job *job[ORR_MOST_SHARING + 1];
	w->totals.kept_apart |= n && w->bill;
	if (!(orr_job_rate_on(w, j, gpu_type) > 0) || n >= ORR_MOST_SHARING || !find_all(w, others, n, job + 1))
		return 0;
	job[0] = job_of(w, j);
	for (size_t i = 0; n && i <= n; i++)
		if (cannot_share(w, job[i]) || job[i]->gpus != job[0]->gpus)
			return 0;
	*w->use |= n ? JOBS_USED_INTERFERENCE : 0;
	return interference_rate(w, job, (uint32_t)n + 1, 0, gpu_type);
}

double orr_interleaved_iteration_s(struct orr_jobs *w, const orr_job *jobs, size_t n)
{
	struct job *job[ORR_MOST_SHARING];
	return n && find_all(w, jobs, n, job) ? interleaved_iteration_s(w, job, (uint32_t)n) : 0;
}

bool orr_job_stages(struct orr_jobs *w, orr_job j, double seconds[3])
{
	const struct job *job = job_of(w, j);
	const double *s = job ? stages_of(w, job) : NULL;
	if (s)
		memcpy(seconds, s, ITERATION_STAGES * sizeof *s);
	return s != NULL;
}

/* Returns the first live job from this slot on that the policy of the present call knows. */
static orr_job first_from(const struct orr_jobs *w, uint32_t slot)
{
	for (; slot != NONE; slot = w->slots.job[slot].next) {
		const struct job *job = &w->slots.job[slot];
		if (job->state != ORR_JOB_ENDED && !job->is_held && job->partition == w->policy.at)
			return job_handle(w, slot);
	}
	return 0;
}

orr_job orr_job_next(const struct orr_jobs *w, orr_job j)
{
	const struct job *job = job_of(w, j);
	return first_from(w, job ? job->next : NONE);
}

orr_job orr_job_first(const struct orr_jobs *w)
{
	return first_from(w, w->slots.first_live);
}

/* ---- capacity ---- */

/* The cluster as the policy of a partition sees it; NULL without partitions. Computing it changes no state that a policy sees. */
static const struct quota_view *view(const struct orr_jobs *w, bool nodes)
{
	struct orr_jobs *x = (struct orr_jobs *)(uintptr_t)w;
	return !w->quotas ? NULL : nodes ? quota_view_nodes(x) : quota_view_sums(x);
}

/* Returns the GPUs of a partition that are free, or all of them. With one GPU type, unless jobs may be stopped for it, they follow from
 * its sums alone. */
static uint32_t gpus_of_partition(const struct orr_jobs *w, bool all)
{
	const struct quotas *q = w->quotas;
	if (w->config->cluster->n_types > 1 || (q->borrows && q->reclaim == QUOTA_PREEMPT))
		return all ? view(w, false)->total_gpus : view(w, false)->free_gpus;
	int64_t room = quota_room(w, w->policy.at), free = room / 1000 < w->pool->free_gpus ? room / 1000 : w->pool->free_gpus;
	int64_t milli = 1000 * (int64_t)w->pool->total_gpus - w->pool->used_milli; /* with free parts of GPUs */
	milli = q->part[w->policy.at].used + (milli < room ? milli : room);
	return (uint32_t)(all ? (milli + 999) / 1000 : free);
}

uint32_t orr_gpu_types(const struct orr_jobs *w)
{
	return w->config->cluster->n_types;
}

const char *orr_gpu_type_name(const struct orr_jobs *w, uint32_t gpu_type)
{
	return gpu_type < w->config->cluster->n_types ? w->config->cluster->type_name[gpu_type] : "";
}

uint32_t orr_job_type_order(const struct orr_jobs *w, orr_job j, uint32_t *type, uint32_t most)
{
	uint32_t order[CLUSTER_MAX_TYPES];
	const struct job *job = job_of(w, j);
	uint32_t n = job ? rates_order(w, job, order) : 0;
	n = n < most ? n : most;
	memcpy(type, order, n * sizeof *type);
	return n;
}

uint32_t orr_total_gpus(const struct orr_jobs *w)
{
	return w->quotas ? gpus_of_partition(w, true) : w->pool->total_gpus;
}

uint32_t orr_free_gpus(const struct orr_jobs *w)
{
	return w->quotas ? gpus_of_partition(w, false) : w->pool->free_gpus;
}

uint32_t orr_total_gpus_of(const struct orr_jobs *w, uint32_t gpu_type)
{
	if (gpu_type >= w->config->cluster->n_types)
		return 0;
	if (w->quotas)
		return w->config->cluster->n_types == 1 ? gpus_of_partition(w, true) : view(w, false)->total_of[gpu_type];
	return w->pool->total[gpu_type];
}

uint32_t orr_free_gpus_of(const struct orr_jobs *w, uint32_t gpu_type)
{
	if (gpu_type >= w->config->cluster->n_types)
		return 0;
	if (w->quotas)
		return w->config->cluster->n_types == 1 ? gpus_of_partition(w, false) : view(w, false)->free_of[gpu_type];
	return w->pool->free[gpu_type];
}

uint32_t orr_nodes(const struct orr_jobs *w)
{
	return w->config->cluster->n_nodes;
}

static int64_t or_unlimited(int64_t v)
{
	return v < 0 ? INT64_MAX : v;
}

bool orr_node_get(const struct orr_jobs *w, uint32_t node, struct orr_node_info *out)
{
	if (node >= w->config->cluster->n_nodes)
		return false;
	const struct cluster_node *c = &w->config->cluster->node[node];
	const struct pool_node *s = &w->pool->node[node];
	*out = (struct orr_node_info){ .name = c->name,
		.is_up = s->is_up,
		.gpu_type = c->type,
		.gpus = c->gpus,
		.gpus_free = s->is_closed ? 0 : s->free_gpus,
		.cpu_milli = or_unlimited(c->cpu_milli),
		.cpu_milli_free = s->is_closed ? 0 : s->cpu_free,
		.mem_mib = or_unlimited(c->mem_mib),
		.mem_mib_free = s->is_closed ? 0 : s->mem_free,
		.rack = c->rack };
	const struct quota_view *v = view(w, true);
	if (v) {
		out->gpus = v->held[node] + v->free[node];
		out->gpus_free = v->free[node];
	}
	return true;
}

/* ---- lent nodes ---- */

int64_t orr_node_goes_ns(const struct orr_jobs *w, uint32_t node)
{
	bool is_lent = w->bill && node < w->config->cluster->n_nodes;
	return is_lent ? capacity_goes_ns(w->capacity, node) : ORR_NEVER;
}

uint32_t orr_going_gpus(const struct orr_jobs *w)
{
	return bill_going_gpus(w);
}

uint32_t orr_job_going_gpus(const struct orr_jobs *w, orr_job j)
{
	const struct job *job = job_of(w, j);
	uint32_t n = 0;
	if (!job || job->state != ORR_JOB_RUNNING || !bill_going_gpus(w))
		return 0;
	const struct pool_piece *x = pool_pieces(&job->alloc);
	for (uint32_t i = 0; i < job->alloc.n; i++)
		n += w->pool->node[x[i].node].is_closed ? x[i].gpus : 0;
	return n;
}

double orr_gpu_usd_per_hour(const struct orr_jobs *w, uint32_t gpu_type)
{
	return bill_usd_per_gpu_hour(w, gpu_type);
}
