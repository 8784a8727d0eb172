/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "jobs/world.h"

#include "base/hash.h"
#include "base/mem.h"
#include "base/num.h"
#include "jobs/bill.h"
#include "jobs/causes.h"
#include "jobs/decisions.h"
#include "jobs/flows.h"
#include "jobs/group.h"
#include "jobs/life.h"
#include "jobs/limits.h"
#include "jobs/places.h"
#include "jobs/quota.h"
#include "jobs/tenants.h"
#include "jobs/training.h"
#include "traces/status.h"

#include <math.h>

/* ---- arrival ---- */

static void fill_in(struct orr_jobs *w, struct job *job, const struct job_rec *r)
{
	job->number = r->number;
	job->submit = job->origin = r->submit_ns;
	job->gpus = r->gpus;
	job->limit = r->limit_ns;
	job->id = r->id;
	job->user = r->user;
	job->queue = r->queue;
	job->model = r->model;
	job->speedup = r->speedup;
	job->strategy = r->strategy;
	job->batch = r->batch;
	job->deadline = r->deadline_ns < 0 ? -1 : num_add_sat(r->submit_ns, r->deadline_ns);
	job->stages = r->stages;
	job->gpu_mem_mib = r->gpu_mem_mib;
	job->occupancy = (double)r->occupancy;
	job->priority = r->priority;
	job->iterations = r->iterations;
	job->recorded_wait = r->wait_ns;
	job->live_ns = w->totals.live_ns;
	job->recorded = (uint8_t)trace_status_of(r->status ? strtab_text(w->strings, r->status) : NULL);
	w->totals.recorded[job->recorded]++;
}

static void on_end(struct engine *e, void *ctx, uint64_t subject, uint64_t arg)
{
	(void)e, (void)arg;
	struct orr_jobs *w = ctx;
	life_end(w, &w->slots.job[subject], ORR_END_COMPLETED);
}

bool life_is_on(const struct job *job, uint32_t node)
{
	const struct pool_piece *x = pool_pieces(&job->alloc);
	for (uint32_t i = 0; i < job->alloc.n; i++)
		if (x[i].node == node)
			return true;
	return false;
}

bool life_is_unfit(const struct orr_jobs *w, const struct job_rec *r, uint32_t shape)
{
	const struct shape *s = &w->shapes.shape[shape];
	return !s->fits_ever || quota_excludes(w, s->partition, &s->request) || limits_exclude(w, r->user, &s->request);
}

uint32_t life_shape(struct orr_jobs *w, const struct job_rec *r)
{
	struct pool_request q = request_of_row(w, r), smaller = q;
	bool adapts = w->config->adapt && adapt_kind_of_row(w, r) != NONE;
	uint32_t partition = quota_partition(w, r), asked = shape_of(w, &q, partition, r->speedup || adapts);
	if (!life_is_unfit(w, r, asked) || r->strategy || !r->speedup || adapts || !speedup_load(w, r))
		return asked;
	const struct speedup *s = &w->speedups.of[r->speedup];
	for (uint32_t i = s->n; i-- > 0;) {
		if (s->size[i].gpus >= q.gpus)
			continue;
		smaller.gpus = s->size[i].gpus;
		smaller.cpu_milli = pool_part(q.cpu_milli, smaller.gpus, q.gpus);
		smaller.mem_mib = pool_part(q.mem_mib, smaller.gpus, q.gpus);
		uint32_t shape = shape_of(w, &smaller, partition, true);
		if (!life_is_unfit(w, r, shape))
			return shape;
	}
	return asked;
}

/* Fails the run because of a job that can never start. */
static void refuse(struct orr_jobs *w, const struct job_rec *r, uint32_t shape)
{
	world_fail(w, ORR_EINPUT, NULL,
		"job %llu requests %u GPU%s (%lld milli-cores, %lld MiB) and can never be placed on this cluster%s: expected a larger %s, "
		"or "
		"--drop-unfit, which omits such jobs",
		(unsigned long long)r->number, r->gpus, r->gpus == 1 ? "" : "s", (long long)r->cpu_milli, (long long)r->mem_mib,
		w->shapes.shape[shape].fits_ever ? " within its limits" : "", w->shapes.shape[shape].fits_ever ? "quota or limit" : "one");
}

void life_arrive(struct orr_jobs *w, const struct job_rec *r)
{
	bool is_good = true;
	uint32_t training = w->places ? training_of_row(w, r, &is_good) : NONE;
	int64_t work = is_good ? work_of(w, r) : -1;
	if (work < 0 || !speedup_load(w, r))
		return;
	uint32_t shape = life_shape(w, r);
	w->totals.arrived++;
	if (life_is_unfit(w, r, shape)) {
		if (!w->config->drop_unfit)
			refuse(w, r, shape);
		w->totals.refused++;
		return;
	}
	uint32_t slot = slot_new(w);
	struct job *job = &w->slots.job[slot];
	fill_in(w, job, r);
	job->shape = shape;
	job->partition = w->shapes.shape[shape].partition;
	job->training = training;
	job->adapt = w->config->adapt ? adapt_kind_of_row(w, r) : NONE;
	rates_arrive(w, job, r);
	job->duration = job->work.asked = job->work.left = work;
	w->totals.shrunk += job_request(w, job)->gpus < job->gpus;
	w->totals.deadlines += job->deadline >= 0;
	if (w->totals.arrived == 1)
		w->totals.priority = job->priority;
	w->totals.has_priorities |= job->priority != w->totals.priority;
	w->slots.live++;
	w->slots.waiting++;
	w->policy.is_due = true;
	if (w->causes)
		causes_arrives(w, job);
	if (job->user)
		tenants_arrive(w, job);
	if (w->totals.first_submit < 0)
		metrics_first(w, job->submit);
	w->totals.last_submit = job->submit;
	if (job->submit - w->totals.first_submit < w->config->warm_up.time_ns)
		w->totals.warm_jobs = job->number + 1;
}

/* ---- running ---- */

/* Equal for equal sets of nodes, regardless of their order and of the number of GPUs on each. */
static uint32_t hash_nodes(const struct pool_alloc *a)
{
	uint32_t h = 0;
	const struct pool_piece *x = pool_pieces(a);
	for (uint32_t i = 0; i < a->n; i++)
		h += (uint32_t)hash_mix(x[i].node + UINT64_C(1));
	return h == NONE ? 0 : h;
}

static void set_end(struct orr_jobs *w, struct job *job);

/*
 * Ends the present epoch of a job that adapts. The work of the epoch counts as done exactly, and the job chooses a batch for
 * the next epoch.
 */
static void on_epoch(struct engine *e, void *ctx, uint64_t subject, uint64_t arg)
{
	(void)e;
	struct orr_jobs *w = ctx;
	struct job *job = &w->slots.job[subject];
	job->work.piece_saved = work_saved(w, job);
	job->work.piece_done = job->work.left - (int64_t)arg;
	job->work.progress_from = eng_now(w->engine);
	if (!arg) {
		life_end(w, job, ORR_END_COMPLETED);
		return;
	}
	job->work.rate = adapt_rate(w, job) * rate_on_type(w, job, job->alloc.type);
	set_end(w, job);
}

static void set_end(struct orr_jobs *w, struct job *job)
{
	if (job->adapt != NONE) {
		int64_t left, at = adapt_epoch_end(w, job, &left);
		job->end = eng_at(w->engine, at, PRIO_END, on_epoch, w, slot_of(w, job), (uint64_t)left);
		return;
	}
	int64_t left = job->work.left - job->work.piece_done;
	double need = job->work.rate == 1 ? 0 : ceil((double)left / job->work.rate);
	int64_t span = job->work.rate == 1 ? left : need < 9e18 ? (int64_t)need : INT64_MAX;
	int64_t end = num_add_sat(job->work.progress_from, span);
	job->end = (struct eng_event){ 0, 0 };
	if (end > INT64_MAX / 2 && job->restarts)
		world_fail(w, ORR_EINPUT, job,
			"the job would end after 146 years, the end of the clock; it has lost work to node failures %u times: expected "
			"checkpoints "
			"(--set jobs.checkpoint=1h), fewer failures, --set jobs.on_failure=kill or --until",
			job->restarts);
	else if (end > INT64_MAX / 2)
		world_fail(w, ORR_EINPUT, job, "the job would end after 146 years, the end of the clock: expected an earlier end");
	else
		job->end = eng_at(w->engine, end, PRIO_END, on_end, w, slot_of(w, job), 0);
}

void life_start(struct orr_jobs *w, struct job *job)
{
	int64_t now = eng_now(w->engine);
	uint32_t nodes = hash_nodes(&job->alloc);
	job->held = 0;
	for (uint32_t i = 0; i < job->alloc.n; i++)
		job->held += pool_pieces(&job->alloc)[i].gpus;
	job->start_cost = w->options.start_cost;
	if (job->has_run && nodes != job->last_nodes) {
		job->migrations++;
		job->start_cost = num_add_sat(job->start_cost, w->options.migrate_cost);
	}
	job->last_nodes = nodes;
	if (job->branch)
		flows_started(w, job);
	job->has_run = true;
	job->state = ORR_JOB_RUNNING;
	job->work.was_scaled |= job->work.rate != 1 || job->adapt != NONE;
	w->totals.used |= job->work.rate != 1 ? JOBS_USED_SPEEDS : 0;
	job->last_start = job->booked_from = now;
	job->milli = gpu_milli_of(job, job->held);
	job->progress_gpu_ns = 0;
	if (job->first_start < 0)
		job->first_start = now;
	w->slots.waiting--;
	job->running_at = w->slots.n_running;
	MEM_GROW(w->slots.running, w->slots.n_running, w->slots.cap_running);
	w->slots.running[w->slots.n_running++] = slot_of(w, job);
	starts_add(w, job);
	if (w->quotas)
		quota_takes(w, job);
	job->work.progress_from = num_add_sat(now, job->start_cost);
	job->work.piece_done = job->work.piece_saved = 0;
	job->work.has_rate = job->training == NONE;
	if (w->places)
		places_take(w, job);
	if (w->bill)
		bill_start(w, job);
	if (w->causes)
		causes_starts(w, job);
	if (job->work.has_rate)
		set_end(w, job);
	if (w->decisions)
		decisions_start(w, job);
	if (!w->config->metrics_only)
		metrics_event(w, "start", job, NULL);
}

void life_rerate(struct orr_jobs *w, struct job *job, double rate)
{
	int64_t now = eng_now(w->engine);
	if (now > job->work.progress_from) {
		job->work.piece_saved = work_saved(w, job);
		job->work.piece_done = work_done(w, job);
		job->work.progress_from = now;
	}
	job->work.rate = rate;
	job->work.has_rate = true;
	job->work.was_scaled |= rate != 1;
	eng_cancel(w->engine, job->end);
	set_end(w, job);
}

void life_regroup(struct orr_jobs *w, struct job *job, const struct job *but)
{
	struct job *member[ORR_MOST_SHARING];
	uint32_t n = group_of(w, job, member);
	for (uint32_t i = 0; i < n; i++) {
		struct job *x = member[i];
		if (x == but)
			continue;
		group_book(w, x);
		life_rerate(w, x, rate_on_type(w, x, x->alloc.type) * rate_at_size(w, x, x->held) * group_factor(w, x));
	}
}

/* Releases the GPUs of a running job, and accounts for its time and its work, of which `kept` is not lost. The caller sets the new
 * state. Returns the GPU time of the work that is lost. */
static double leave_gpus(struct orr_jobs *w, struct job *job, int64_t done, int64_t kept)
{
	int64_t ran = eng_now(w->engine) - job->last_start;
	job->attained += ran;
	job->work.booked = num_add_sat(job->work.booked, done);
	job->work.overhead += ran < job->start_cost ? ran : job->start_cost;
	group_book(w, job);
	double lost = done > 0 ? job->progress_gpu_ns * ((double)(done - kept) / (double)done) : 0;
	job->kept_gpu_ns += job->progress_gpu_ns - lost;
	eng_cancel(w->engine, job->end);
	job->end = (struct eng_event){ 0, 0 };
	if (w->places)
		places_give(w, job);
	if (w->bill)
		bill_leave(w, job, done, kept);
	if (w->quotas)
		quota_gives(w, job);
	struct job *rest = job->mate == NONE ? NULL : &w->slots.job[job->mate];
	if (rest)
		group_leave(w, job);
	pool_give(w->pool, &job->alloc);
	w->slots.given++;
	job->held = 0;
	job->slice = 1;
	if (rest)
		life_regroup(w, rest, NULL);
	uint32_t last = w->slots.running[--w->slots.n_running];
	w->slots.running[job->running_at] = last;
	w->slots.job[last].running_at = job->running_at;
	job->running_at = NONE;
	return lost;
}

/* Limit on consecutive stops that gain no work while no running job has gained any. */
enum { MOST_FUTILE_STOPS = 100000 };

static bool has_progress(const struct orr_jobs *w)
{
	for (uint32_t slot = w->slots.first_live; slot != NONE; slot = w->slots.job[slot].next) {
		const struct job *job = &w->slots.job[slot];
		if (job->state == ORR_JOB_RUNNING && eng_now(w->engine) - job->last_start > job->start_cost)
			return true;
	}
	return false;
}

/* Fails a run whose jobs are stopped again and again before they have done any work. */
static void count_stop(struct orr_jobs *w, const struct job *job, int64_t gained)
{
	w->totals.futile_stops = gained > 0 ? 0 : w->totals.futile_stops + 1;
	if (w->totals.futile_stops <= MOST_FUTILE_STOPS)
		return;
	w->totals.futile_stops = 0;
	if (!has_progress(w))
		world_fail(w, ORR_EFAIL, job,
			"%d stops in a row, each before the job had done any work: expected starts and stops that cost less than the runs "
			"between them (jobs.start_cost, jobs.migrate_cost, jobs.preempt_cost), or longer rounds of the policy",
			MOST_FUTILE_STOPS);
}

void life_stop(struct orr_jobs *w, struct job *job, int64_t cost, const char *kind)
{
	metrics_event(w, kind, job, NULL);
	int64_t done = work_done(w, job);
	count_stop(w, job, done - cost);
	job->work.left = num_add_sat(job->work.left - done, cost);
	job->work.asked = num_add_sat(job->work.asked, cost);
	causes_leaves(w, job, done, done);
	leave_gpus(w, job, done, done);
	if (job->branch)
		flows_stopped(w, job);
	bill_owe(w, job, cost);
	causes_waits(w, job, cost, false);
	job->state = ORR_JOB_WAITING;
	w->slots.waiting++;
	quota_waits(w, job);
}

void life_evict(struct orr_jobs *w, struct job *job, const char *why)
{
	int64_t done = work_done(w, job), saved = work_saved(w, job);
	w->totals.used |= saved > 0 ? JOBS_USED_CHECKPOINT : 0;
	job->work.asked = num_add_sat(job->work.asked, done - saved);
	job->restarts++;
	w->totals.restarts++;
	metrics_event(w, "evict", job, why);
	job->work.left -= saved;
	causes_leaves(w, job, done, saved);
	w->totals.lost_gpu_ns += leave_gpus(w, job, done, saved);
	causes_waits(w, job, 0, true);
	if (job->branch)
		flows_stopped(w, job);
	job->state = ORR_JOB_WAITING;
	w->slots.waiting++;
	quota_waits(w, job);
	w->policy.is_due = true;
}

void life_end(struct orr_jobs *w, struct job *job, enum orr_job_end how)
{
	bool is_done = how == ORR_END_COMPLETED, was_waiting = job->state != ORR_JOB_RUNNING;
	if (job->state == ORR_JOB_RUNNING) {
		if (!w->config->metrics_only)
			metrics_event(w, is_done ? "finish" : "kill", job, NULL);
		int64_t done = work_done(w, job);
		job->work.left = is_done ? 0 : job->work.left - done;
		if (w->causes)
			causes_leaves(w, job, done, how == ORR_END_NODE_FAILED ? 0 : done);
		double lost = leave_gpus(w, job, done, is_done ? done : 0);
		w->totals.lost_gpu_ns += how == ORR_END_NODE_FAILED ? job->kept_gpu_ns + lost : 0;
	} else {
		w->slots.waiting--;
	}
	if (w->quotas)
		quota_forgets(w, job, was_waiting);
	if (w->limits)
		limits_end(w, job);
	job->state = ORR_JOB_ENDED;
	job->how = (uint8_t)how;
	w->slots.live--;
	w->policy.is_due = true;
	w->totals.last_end = eng_now(w->engine);
	if (w->bill)
		bill_ended(w, job, is_done);
	if (w->causes)
		causes_ends(w, job, was_waiting);
	if (job->user)
		tenants_end(w, job);
	metrics_job(w, job, is_done ? JOB_COMPLETED : how == ORR_END_NODE_FAILED ? JOB_FAILED : JOB_KILLED);
	MEM_GROW(w->slots.ended, w->slots.n_ended, w->slots.cap_ended);
	w->slots.ended[w->slots.n_ended++] = slot_of(w, job);
	if (job->branch)
		flows_ended(w, job);
}
