/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One run: events happen, the policy is told and asked, until nothing is left to do. */
#include "jobs/world.h"

#include "base/mem.h"
#include "jobs/bill.h"

#include <stdio.h>
#include <string.h>

const struct orr_param jobs_options[] = { ORR_PARAM_TIME("start_cost", "0", "time at each start of a job before it makes progress"),
	ORR_PARAM_TIME("preempt_cost", "0", "work that a preemption adds to the job"),
	ORR_PARAM_TIME("migrate_cost", "0", "start cost more where a job restarts on other nodes than before"),
	ORR_PARAM_TIME("checkpoint", "0", "interval of checkpoints that survive a node failure; 0: back to the last start"),
	ORR_PARAM_CHOICE("on_failure", "requeue", "requeue|kill", "what a node failure does to its jobs"),
	ORR_PARAM_TEXT("reference_type", "", "GPU type that iterations are turned into time on (default: the cluster's first)"),
	ORR_PARAM_INT("max_calls_per_instant", "1000", 1, 1e9, "schedule() calls at one instant before the run ends"),
	ORR_PARAM_INT(
		"sharing_most", "8", 2, 1000, "with --sharing simulated: larger sets of jobs that share links are slowed by arithmetic"),
	ORR_PARAM_REAL("sharing_tolerance", "0.01", 1e-9, 1, "rates of such a set have settled when they change by less than this part"),
	ORR_PARAM_INT("sharing_iterations", "64", 4, 1e6, "iterations of its slowest job after which it is taken to have settled"),
	ORR_PARAM_INT("sharing_flows", "1000000", 1, 1e12,
		"messages after which likewise; a set that has not got through two iterations by then is slowed by arithmetic"),
	ORR_PARAM_INT("gantt", "200", 0, 1e6, "record the starts and stops of the first N jobs"),
	ORR_PARAM_REAL("warmup", "0", 0, 0.9, "first part of the jobs left out of means"),
	ORR_PARAM_REAL("ci_level", "0.95", 0.5, 0.999999, "level of confidence intervals"), ORR_PARAM_END };

enum { NO_JOB = -1 };

/* ---- calling the policy ---- */

#define CALL(w, number, what, ...)                                            \
	do {                                                                  \
		watch_enter((w)->watch, #what, eng_now((w)->engine), number); \
		(w)->ops->what(__VA_ARGS__);                                  \
		watch_leave((w)->watch);                                      \
	} while (0)

void tell_evicted(struct orr_jobs *w, struct job *job)
{
	orr_job j = job_handle(w, slot_of(w, job));
	if (w->ops->evict) {
		CALL(w, job->number, evict, w->self, w, j);
	} else {
		CALL(w, job->number, finish, w->self, w, j, ORR_END_NODE_FAILED);
		CALL(w, job->number, arrive, w->self, w, j);
	}
}

/* The policy decides; false if the run is over. */
static bool schedule(struct orr_jobs *w)
{
	int64_t now = eng_now(w->engine);
	w->calls_now = w->last_call == now ? w->calls_now + 1 : 1;
	w->last_call = now;
	if (w->calls_now > w->max_calls) {
		world_fail(w, ORR_EFAIL, job_of(w, w->last_acted),
			"schedule() was called %lld times at this instant without an end to it "
			"(jobs.max_calls_per_instant)",
			(long long)w->max_calls);
		return false;
	}
	w->is_changed = false;
	if (w->capacity_changed && w->ops->capacity)
		CALL(w, (uint64_t)NO_JOB, capacity, w->self, w);
	w->capacity_changed = false;
	w->is_acting = true;
	CALL(w, (uint64_t)NO_JOB, schedule, w->self, w);
	w->is_acting = false;
	if (w->config->check)
		check_state(w);
	return !w->is_over;
}

/* ---- arrivals ---- */

static void on_arrival(struct engine *e, void *ctx, uint64_t subject, uint64_t arg);

static void next_arrival(struct orr_jobs *w)
{
	w->has_next = jobcursor_next(w->cursor, &w->next_rec);
	if (w->has_next)
		eng_at(w->engine, w->next_rec.submit_ns, PRIO_ARRIVAL, on_arrival, w, 0, 0);
}

static void on_arrival(struct engine *e, void *ctx, uint64_t subject, uint64_t arg)
{
	(void)e, (void)subject, (void)arg;
	struct orr_jobs *w = ctx;
	uint64_t live = w->live;
	life_arrive(w, &w->next_rec);
	if (w->error.code)
		w->is_over = true;
	else if (w->live > live)
		CALL(w, w->next_rec.number, arrive, w->self, w, job_handle(w, w->last_live));
	next_arrival(w);
}

/* ---- ends: life.c ends the job, the policy is told afterwards ---- */

static void tell_ended(struct orr_jobs *w)
{
	while (w->n_told < w->n_ended) {
		uint32_t slot = w->ended[w->n_told++];
		CALL(w, w->job[slot].number, finish, w->self, w, job_handle(w, slot), (enum orr_job_end)w->job[slot].how);
	}
}

/* ---- nodes ---- */

static void on_node(struct engine *e, void *ctx, uint64_t subject, uint64_t arg);

static void next_failure(struct orr_jobs *w)
{
	int64_t t;
	uint32_t node;
	bool fails;
	w->failure_pending = w->failures && failure_run_next(w->failures, &t, &node, &fails);
	if (w->failure_pending)
		eng_at(w->engine, t, PRIO_NODE, on_node, w, node, fails);
}

static bool is_on(const struct job *job, uint32_t node)
{
	const struct pool_piece *x = pool_pieces(&job->alloc);
	for (uint32_t i = 0; i < job->alloc.n; i++)
		if (x[i].node == node)
			return true;
	return false;
}

static void add_on_node(struct orr_jobs *w, uint32_t slot)
{
	uint32_t at = w->n_on_node;
	while (at && w->job[w->on_node[at - 1]].number > w->job[slot].number)
		at--;
	if (at && w->on_node[at - 1] == slot)
		return;
	MEM_GROW(w->on_node, w->n_on_node, w->cap_on_node);
	memmove(w->on_node + at + 1, w->on_node + at, (w->n_on_node++ - at) * sizeof *w->on_node);
	w->on_node[at] = slot;
}

static void list_on_node(struct orr_jobs *w, uint32_t node)
{
	const uint32_t *slot = w->running;
	uint32_t n = w->n_running;
	bool is_exact = bill_jobs_on(w, node, &slot, &n);
	w->n_on_node = 0;
	for (uint32_t i = 0; i < n; i++)
		if (is_exact || is_on(&w->job[slot[i]], node))
			add_on_node(w, slot[i]);
}

/* Jobs on the node, in order of submission: told to the policy in that order. */
static void clear_node(struct orr_jobs *w, uint32_t node)
{
	list_on_node(w, node);
	for (uint32_t i = 0; i < w->n_on_node; i++) {
		struct job *job = &w->job[w->on_node[i]];
		if (w->on_failure == JOBS_KILL) {
			life_end(w, job, ORR_END_NODE_FAILED);
			tell_ended(w);
		} else {
			life_evict(w, job);
			tell_evicted(w, job);
		}
	}
}

void jobs_node(struct orr_jobs *w, uint32_t node, bool is_up)
{
	metrics_node_event(w, is_up ? "node-repair" : "node-fail", node);
	if (!is_up)
		clear_node(w, node);
	w->nodes_down += is_up ? UINT32_MAX : 1;
	jobs_capacity(w);
}

void jobs_capacity(struct orr_jobs *w)
{
	w->capacity_changed = w->is_changed = true;
}

static void on_node(struct engine *e, void *ctx, uint64_t subject, uint64_t arg)
{
	(void)e;
	struct orr_jobs *w = ctx;
	uint32_t node = (uint32_t)subject;
	jobs_node(w, node, !arg);
	if (arg)
		pool_node_down(w->pool, node);
	else
		pool_node_up(w->pool, node);
	next_failure(w);
}

/* ---- the loop ---- */

static bool is_due_now(struct orr_jobs *w)
{
	int64_t t;
	return eng_next_time(w->engine, &t) && t == eng_now(w->engine);
}

void jobs_after_event(struct orr_jobs *w)
{
	tell_ended(w);
}

bool jobs_decide(struct orr_jobs *w)
{
	if (w->is_over || (w->is_changed && !schedule(w)))
		return false;
	tell_ended(w); /* those that the policy killed: it is called again */
	if (!w->is_changed && !is_due_now(w))
		places_settle(w);
	return !w->is_over && (w->is_changed || is_due_now(w));
}

void jobs_begin_instant(struct orr_jobs *w, int64_t t)
{
	w->totals.live_ns += (timeline_sum)w->live * (uint64_t)(t - w->last_instant);
	w->last_instant = t;
}

void jobs_end_instant(struct orr_jobs *w)
{
	if (w->live || w->n_ended) /* an instant of refused jobs alone does not count */
		metrics_state(w);
	bill_instant(w);
	if (w->config->check)
		check_ended(w);
	slot_release_ended(w);
}

/* Everything of one instant: events, then the policy, and again while that makes events now. */
static void instant(struct orr_jobs *w, int64_t now)
{
	int64_t t;
	jobs_begin_instant(w, now);
	do {
		while (!w->is_over && eng_next_time(w->engine, &t) && t == now) {
			eng_step(w->engine);
			jobs_after_event(w);
		}
	} while (jobs_decide(w));
	jobs_end_instant(w);
}

/* Jobs wait, and nothing but failures and repairs of nodes lies ahead. Nodes that are lent may yet become more, or cheaper; and where no
 * more is known of them, jobs that nobody starts may be waiting for that. */
static bool is_starving(const struct orr_jobs *w)
{
	return !w->bill && !w->has_next && !w->n_running && !w->nodes_down && eng_pending(w->engine) == w->failure_pending;
}

static void starving(struct orr_jobs *w)
{
	uint32_t slot = w->first_live;
	while (slot != NONE && w->job[slot].state != ORR_JOB_WAITING)
		slot = w->job[slot].next;
	world_fail(w, ORR_EFAIL, slot == NONE ? NULL : &w->job[slot],
		"%llu jobs wait, nothing runs, and no timer is set: the policy starts none of them (this is the first)",
		(unsigned long long)w->waiting);
}

double jobs_part_done(const struct orr_jobs *w)
{
	uint64_t n = jobset_count(w->config->jobs);
	return jobs_is_over(w) ? 1 : n && n != UINT64_MAX ? (double)(w->totals.arrived - w->live) / (double)n : 0;
}

static void report_progress(struct orr_jobs *w, uint64_t *steps)
{
	if (w->config->progress && !(++*steps & 4095))
		w->config->progress(w->config->progress_ctx, jobs_part_done(w));
}

static void on_until(struct engine *e, void *ctx, uint64_t subject, uint64_t arg)
{
	(void)e, (void)ctx, (void)subject, (void)arg;
}

bool jobs_is_over(const struct orr_jobs *w)
{
	return w->is_over || (!w->live && !w->has_next);
}

bool jobs_has_failed(const struct orr_jobs *w)
{
	return w->error.code != 0;
}

bool jobs_is_due(const struct orr_jobs *w)
{
	return w->is_changed || w->n_told < w->n_ended;
}

uint64_t jobs_given(const struct orr_jobs *w)
{
	return w->given;
}

void jobs_starving(struct orr_jobs *w)
{
	starving(w);
}

/* Instants in a row with nothing to do but wait, while nodes come and go without end. */
enum { MOST_IDLE = 1000000 };

static void loop(struct orr_jobs *w)
{
	int64_t t;
	uint64_t steps = 0, idle = 0;
	while (!jobs_is_over(w)) {
		idle = w->bill && !w->n_running && !w->has_next ? idle + 1 : 0;
		if (is_starving(w) || idle > MOST_IDLE) {
			starving(w);
			break;
		}
		if (!eng_next_time(w->engine, &t))
			break; /* what waits needs nodes that never come back, or lower prices */
		if (t > INT64_MAX / 2) {
			world_fail(w, ORR_EFAIL, NULL,
				"the clock ends after 146 years and %llu jobs have not (--until sets "
				"an earlier end)",
				(unsigned long long)w->live);
			break;
		}
		if (t > w->config->until_ns) {
			/* The clock reaches the end of the run and nothing else happens: what is
			 * pending lies later. */
			eng_at(w->engine, w->config->until_ns, PRIO_UNTIL, on_until, NULL, 0, 0);
			eng_step(w->engine);
			jobs_begin_instant(w, w->config->until_ns);
			break;
		}
		instant(w, t);
		report_progress(w, &steps);
	}
}

/* ---- making and freeing a run ---- */

/* The popularity of requests in the trace, for placements that want it. */
static void set_mix(struct orr_jobs *w)
{
	if (!w->config->placement->spans_types_by_score || !jobset_is_loaded(w->config->jobs))
		return;
	uint64_t n = jobset_count(w->config->jobs);
	uint64_t *count = NULL;
	size_t cap = 0, known = 0;
	for (uint64_t i = 0; i < n; i++) {
		const struct job_rec *r = jobset_at(w->config->jobs, i);
		struct pool_request q = { r->gpus, r->gpus == 1 && r->gpu_milli < 1000 ? r->gpu_milli : 1000, r->cpu_milli, r->mem_mib,
			r->gpus ? runnable_types(w, r) : 0 };
		uint32_t s = shape_of(w, &q);
		while (known <= s) {
			MEM_GROW(count, known, cap);
			count[known++] = 0;
		}
		count[s]++;
	}
	struct pool_mix mix = { .n = known };
	mix.shape = mem_alloc((known + 1) * sizeof *mix.shape);
	mix.share = mem_alloc((known + 1) * sizeof *mix.share);
	for (size_t i = 0; i < known; i++) {
		mix.shape[i] = w->shape[i].request;
		mix.share[i] = (double)count[i] / (double)n;
	}
	pool_set_mix(w->pool, &mix);
	mem_free(mix.shape);
	mem_free(mix.share);
	mem_free(count);
}

static void read_options(struct orr_jobs *w)
{
	const struct orr_args *o = w->config->options;
	w->start_cost = orr_arg_time_ns(o, "start_cost");
	w->preempt_cost = orr_arg_time_ns(o, "preempt_cost");
	w->migrate_cost = orr_arg_time_ns(o, "migrate_cost");
	w->checkpoint = orr_arg_time_ns(o, "checkpoint");
	w->max_calls = orr_arg_int(o, "max_calls_per_instant");
	w->sharing_most = (uint32_t)orr_arg_int(o, "sharing_most");
	w->gantt = (uint64_t)orr_arg_int(o, "gantt");
	w->on_failure = strcmp(orr_arg_text(o, "on_failure"), "kill") ? JOBS_REQUEUE : JOBS_KILL;
	snprintf(w->reference_type, sizeof w->reference_type, "%s", orr_arg_text(o, "reference_type"));
}

static struct orr_jobs *world_new(
	const struct jobs_config *c, const struct jobs_host *host, const struct orr_policy *policy, const char *label)
{
	struct orr_jobs *w = mem_zalloc(1, sizeof *w);
	w->config = c;
	w->policy = policy;
	w->ops = policy ? policy->ops : NULL;
	w->label = label;
	w->first_live = w->last_live = NONE;
	w->last_call = -1;
	w->strings = jobset_strings(c->jobs);
	w->owns_host = !host;
	w->engine = host ? host->engine : eng_new();
	w->pool = host ? host->pool : pool_new(c->cluster, c->placement);
	w->others_milli = host ? host->others_milli : NULL;
	w->cursor = jobset_open(c->jobs);
	read_options(w);
	places_begin(w);
	set_mix(w);
	return w;
}

static void world_free(struct orr_jobs *w)
{
	places_free(w);
	slots_free(w);
	rates_free(w);
	metrics_free(w);
	failure_run_free(w->failures);
	bill_free(w);
	mem_free(w->on_node);
	jobcursor_close(w->cursor);
	if (w->owns_host) {
		pool_free(w->pool);
		eng_free(w->engine);
	}
	watch_free(w->watch);
	mem_free(w);
}

struct orr_jobs *jobs_begin(const struct jobs_config *c, const struct jobs_host *host, const struct orr_policy *policy,
	const struct orr_args *policy_args, const char *label, struct run_result *result, struct jobs_blocks *blocks)
{
	struct orr_jobs *w = world_new(c, host, policy, label);
	w->result = result;
	w->blocks = blocks;
	w->watch = watch_new(w->label, c->policy_timeout_s);
	if (c->failures && w->owns_host)
		w->failures = failure_run_new(c->failures, c->cluster, c->seed);
	next_arrival(w);
	metrics_begin(w);
	next_failure(w);
	if (c->capacity && w->owns_host)
		bill_begin(w);
	struct orr_error err = { 0 };
	watch_enter(w->watch, "create", 0, (uint64_t)NO_JOB);
	w->self = w->ops->create(w, policy_args, &err);
	watch_leave(w->watch);
	if (!w->self)
		world_fail(w, err.code ? err.code : ORR_EINPUT, NULL, "%s",
			err.text[0] ? err.text : "create() returned nothing and gave no reason");
	return w;
}

int jobs_end(struct orr_jobs *w, struct orr_error *err)
{
	if (!w->error.code)
		metrics_end(w);
	if (!w->error.code && w->config->check)
		check_end(w);
	if (w->self) {
		watch_enter(w->watch, "destroy", eng_now(w->engine), (uint64_t)NO_JOB);
		w->ops->destroy(w->self);
		watch_leave(w->watch);
	}
	w->result->is_oracle |= (w->policy->flags & ORR_NEEDS_ORACLE) || w->saw_truth;
	int rc = w->error.code;
	if (rc && err)
		*err = w->error;
	world_free(w);
	return rc;
}

int jobs_run(const struct jobs_config *c, const struct orr_policy *policy, const struct orr_args *policy_args, const char *label,
	struct run_result *result, struct jobs_blocks *blocks, struct orr_error *err)
{
	struct orr_jobs *w = jobs_begin(c, NULL, policy, policy_args, label, result, blocks);
	if (!w->error.code)
		loop(w);
	return jobs_end(w, err);
}

int jobs_find_unfit(const struct jobs_config *c, uint64_t *count, struct job_rec *first, struct orr_error *err)
{
	enum { MOST = 2000000 };
	*count = 0;
	struct orr_jobs *w = world_new(c, NULL, NULL, "");
	struct job_rec r;
	for (uint64_t i = 0; i < MOST && !w->error.code && jobcursor_next(w->cursor, &r); i++) {
		struct pool_request q = { r.gpus, r.gpus == 1 && r.gpu_milli < 1000 ? r.gpu_milli : 1000, r.cpu_milli, r.mem_mib,
			r.gpus ? runnable_types(w, &r) : 0 };
		uint32_t shape = shape_of(w, &q); /* may move w->shape */
		if (work_of(w, &r) < 0 || !speedup_load(w, &r) || w->shape[shape].fits_ever)
			continue;
		if (!(*count)++)
			*first = r;
	}
	int rc = w->error.code;
	if (rc && err)
		*err = w->error;
	world_free(w);
	return rc;
}
