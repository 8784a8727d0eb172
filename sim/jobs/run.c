/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One run: executes events, then notifies the policy, which decides, until no job is left. */
#include "base/mem.h"
#include "jobs/bill.h"
#include "jobs/depend.h"
#include "jobs/causes.h"
#include "jobs/decisions.h"
#include "jobs/tenants.h"
#include "jobs/flows.h"
#include "jobs/life.h"
#include "jobs/limits.h"
#include "jobs/notes.h"
#include "jobs/places.h"
#include "jobs/quota.h"
#include "jobs/world.h"

#include <stdio.h>
#include <string.h>

const struct orr_param jobs_options[] = { ORR_PARAM_TIME("start_cost", "0", "time at each start of a job before it makes progress"),
	ORR_PARAM_TIME("preempt_cost", "0", "work that a preemption adds to the job"),
	ORR_PARAM_TIME("migrate_cost", "0", "extra start cost of a job that restarts on other nodes"),
	ORR_PARAM_TIME("checkpoint", "0", "interval between checkpoints, which survive a node failure; 0: none"),
	ORR_PARAM_CHOICE("on_failure", "requeue", "requeue|kill", "effect of a node failure on its jobs"),
	ORR_PARAM_TEXT("reference_type", "",
		"GPU type of the recorded durations: a device or a type of the cluster; empty: durations hold on every type, and rates of "
		"--throughputs and of jobs that train are relative to the cluster's first type"),
	ORR_PARAM_CHOICE("type_order", "cluster", "cluster|fastest",
		"order in which a starting job tries GPU types: the cluster's order, or the fastest for the job first"),
	ORR_PARAM_INT("max_calls_per_instant", "1000", 1, 1e9, "limit on schedule() calls at one instant; above it the run fails"),
	ORR_PARAM_INT("sharing_most", "8", 2, 1000,
		"with --sharing simulated: largest simulated set of jobs that share links; larger sets use --sharing analytic"),
	ORR_PARAM_REAL(
		"sharing_tolerance", "0.01", 1e-9, 1, "rates of a simulated set are steady when their relative change is below this"),
	ORR_PARAM_INT("sharing_iterations", "64", 4, 1e6,
		"limit on iterations of the slowest job; a simulated set that reaches it counts as steady"),
	ORR_PARAM_INT("sharing_flows", "1000000", 1, 1e12,
		"limit on messages; a simulated set that reaches it counts as steady, or uses --sharing analytic if fewer than two "
		"iterations are "
		"complete"),
	ORR_PARAM_CHOICE("dependencies", "off", "off|on",
		"on: a job is submitted at the end of its preceding job plus the think time (SWF); off: as recorded"),
	ORR_PARAM_BOOL(
		"unshared", false, "each branch of a flow is a separate job that runs its own copy of the sources and of the prefix"),
	ORR_PARAM_REAL(
		"memory_bytes", "0", 0, 9e18, "memory of a node for data sets of flows, with --memory; 0: that of the cluster's nodes"),
	ORR_PARAM_REAL("disk_Bps", "0", 0, 1e18, "bytes per second of a node's disk, for data sets; 0: transfers take no time"),
	ORR_PARAM_BOOL("memory_reload", false, "a data set read from disk is moved back to memory"),
	ORR_PARAM_REAL("rho", "1", 0, 1e9, "--memory amm: cost of disk relative to memory"),
	ORR_PARAM_CHOICE("amm_recompute", "disk", "disk|code",
		"--memory amm: cost of making a data set again: by the part of its inputs that is on disk, or as the prototype computes "
		"it"),
	ORR_PARAM_CHOICE("amm_first_use", "counts", "counts|code",
		"--memory amm: whether the first use of a data set reduces its value (in the prototype it does not)"),
	ORR_PARAM_CHOICE("borrow", "off", "off|on", "on: a partition may use the idle quota of others (--partitions)"),
	ORR_PARAM_CHOICE("reclaim", "wait", "wait|preempt",
		"jobs.borrow=on: a job within its quota that lacks borrowed GPUs waits for the end of borrowing jobs, or stops them"),
	ORR_PARAM_INT("user_gpus", "0", 0, 1e9, "GPUs that the jobs of a user may use at once; 0: no limit"),
	ORR_PARAM_INT("user_jobs", "0", 0, 1e9, "jobs of a user that may run at once; 0: no limit"),
	ORR_PARAM_LIST("group_slowdown", "1.015,1.33,1.5,1.37",
		"--interference stages: measured factors on the period of 1, 2, .. jobs; relative to the first"),
	ORR_PARAM_INT("gantt", "200", 0, 1e6, "record the starts and stops of the first N jobs"),
	ORR_PARAM_REAL("warmup", "0", 0, 0.9, "share of jobs, counted from the first, excluded from means"),
	ORR_PARAM_REAL("ci_level", "0.95", 0.5, 0.999999, "level of confidence intervals"), ORR_PARAM_END };

/* ---- arrivals ---- */

static void on_arrival(struct engine *e, void *ctx, uint64_t subject, uint64_t arg);

static void next_arrival(struct orr_jobs *w)
{
	struct arrivals *a = &w->arrivals;
	a->has_next = jobcursor_next(a->cursor, &a->next);
	if (a->has_next && jobset_check_submit(w->config->jobs, &a->next, &w->error))
		w->is_over = true;
	else if (a->has_next)
		eng_at(w->engine, a->next.submit_ns, PRIO_ARRIVAL, on_arrival, w, 0, 0);
}

static void on_arrival(struct engine *e, void *ctx, uint64_t subject, uint64_t arg)
{
	(void)e, (void)subject, (void)arg;
	struct orr_jobs *w = ctx;
	uint64_t live = w->slots.live;
	if (w->arrivals.next.flow && w->flows) {
		flows_submit(w, &w->arrivals.next);
		next_arrival(w);
		return;
	}
	if (depend_holds(w, &w->arrivals.next)) {
		next_arrival(w);
		return;
	}
	life_arrive(w, &w->arrivals.next);
	if (w->error.code)
		w->is_over = true;
	else if (w->slots.live > live)
		calls_submit(w, &w->slots.job[w->slots.last_live]);
	else if (w->depend)
		depend_ended(w, w->arrivals.next.number);
	next_arrival(w);
}

/* ---- one instant ---- */

static bool is_due_now(struct orr_jobs *w)
{
	int64_t t;
	return eng_next_time(w->engine, &t) && t == eng_now(w->engine);
}

static void tell(struct orr_jobs *w)
{
	if (w->slots.n_told < w->slots.n_ended)
		tell_ended(w);
}

void jobs_after_event(struct orr_jobs *w)
{
	tell(w);
}

bool jobs_decide(struct orr_jobs *w)
{
	if (w->is_over || (w->policy.is_due && !calls_schedule(w)))
		return false;
	tell(w); /* reports jobs that the policy has killed; then schedule() is due again */
	if (w->places && !w->policy.is_due && !is_due_now(w))
		places_settle(w);
	return !w->is_over && (w->policy.is_due || is_due_now(w));
}

void jobs_begin_instant(struct orr_jobs *w, int64_t t)
{
	w->totals.live_ns += (timeline_sum)w->slots.live * (uint64_t)(t - w->measures.last_instant);
	w->measures.last_instant = t;
}

void jobs_end_instant(struct orr_jobs *w)
{
	if (w->slots.live || w->slots.n_ended) /* an instant in which all jobs are refused is not counted */
		metrics_state(w);
	if (w->decisions)
		decisions_instant(w);
	if (w->bill)
		bill_instant(w);
	if (w->causes)
		causes_instant(w);
	if (w->config->check)
		check_ended(w);
	if (w->flows)
		flows_end_instant(w);
	for (uint32_t i = 0; w->depend && i < w->slots.n_ended; i++)
		depend_ended(w, w->slots.job[w->slots.ended[i]].number);
	if (w->slots.n_ended)
		slot_release_ended(w);
}

/* Runs the events and then the policy, repeatedly while its actions cause events at this instant. */
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

/* ---- the loop ---- */

/* Returns whether jobs wait and only failures and repairs of nodes are pending. Returns false with lent nodes, because nodes may join or
 * prices may fall. Also returns false while nodes are down, because jobs may wait for a repair. */
static bool is_starving(const struct orr_jobs *w)
{
	return !w->bill && !w->arrivals.has_next && !w->slots.n_running && !w->nodes.n_down &&
	       eng_pending(w->engine) == w->nodes.failure_pending;
}

/* Returns the first job that waits, or NULL. */
static const struct job *first_waiting(const struct orr_jobs *w)
{
	uint32_t slot = w->slots.first_live;
	while (slot != NONE && w->slots.job[slot].state != ORR_JOB_WAITING)
		slot = w->slots.job[slot].next;
	return slot == NONE ? NULL : &w->slots.job[slot];
}

void jobs_starving(struct orr_jobs *w)
{
	world_fail(w, ORR_EFAIL, first_waiting(w),
		"%llu jobs wait, no job runs and no timer is set: expected the policy to start a job (this job is the first that waits)",
		(unsigned long long)w->slots.waiting);
}

/* Returns whether the nodes that are up, which are idle, could hold a job that waits. An elastic job may need one GPU. */
static bool has_room(const struct orr_jobs *w)
{
	for (uint32_t slot = w->slots.first_live; slot != NONE; slot = w->slots.job[slot].next) {
		const struct job *job = &w->slots.job[slot];
		bool is_elastic = job->speedup || job->is_linear || job->adapt != NONE;
		if (job->state != ORR_JOB_WAITING)
			continue;
		if (is_elastic ? w->pool->free_gpus > 0 : pool_fits(w->pool, &w->shapes.shape[job->shape].request))
			return true;
	}
	return false;
}

/* Limit on consecutive instants at which only the policy's timers are pending and no job runs. */
enum { MOST_FUTILE = 100000 };

bool jobs_is_futile(struct orr_jobs *w, uint64_t others, bool may_be_short)
{
	struct policy_calls *p = &w->policy;
	bool can_change = w->slots.n_running || w->arrivals.has_next || !p->timers || eng_pending(w->engine) != p->timers + others;
	p->futile = can_change ? 0 : p->futile + 1;
	if (may_be_short && p->futile == 1 && !has_room(w)) /* as for policies without timers */
		return true;
	if (p->futile > MOST_FUTILE && !may_be_short)
		world_fail(w, ORR_EFAIL, first_waiting(w),
			"%llu jobs wait, no job runs, and %d timers in a row have started none: expected the policy to start a job (this "
			"job is "
			"the first that waits)",
			(unsigned long long)w->slots.waiting, MOST_FUTILE);
	return p->futile > MOST_FUTILE;
}

double jobs_part_done(const struct orr_jobs *w)
{
	uint64_t n = jobset_count(w->config->jobs);
	return jobs_is_over(w) ? 1 : n && n != UINT64_MAX ? (double)(w->totals.arrived - w->slots.live) / (double)n : 0;
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
	return w->is_over || (!w->slots.live && !w->arrivals.has_next && !(w->depend && w->depend->n_held));
}

bool jobs_has_failed(const struct orr_jobs *w)
{
	return w->error.code != 0;
}

bool jobs_is_due(const struct orr_jobs *w)
{
	return w->policy.is_due || w->slots.n_told < w->slots.n_ended;
}

uint64_t jobs_given(const struct orr_jobs *w)
{
	return w->slots.given;
}

/* Limit on consecutive instants without running jobs or arrivals, for lent nodes that are added and removed endlessly. */
enum { MOST_IDLE = 1000000 };

static void loop(struct orr_jobs *w)
{
	int64_t t;
	uint64_t steps = 0, idle = 0;
	while (!jobs_is_over(w)) {
		idle = w->bill && !w->slots.n_running && !w->arrivals.has_next ? idle + 1 : 0;
		if (is_starving(w) || idle > MOST_IDLE) {
			jobs_starving(w);
			break;
		}
		/* With all nodes up, failures start no job. */
		if (!eng_next_time(w->engine, &t) || jobs_is_futile(w, w->nodes.n_down ? 0 : w->nodes.failure_pending, w->nodes.n_down))
			break; /* jobs wait for nodes that never return, or for lower prices */
		if (t > INT64_MAX / 2) {
			world_fail(w, ORR_EFAIL, NULL, "%llu jobs have not ended after 146 years, the end of the clock: expected --until",
				(unsigned long long)w->slots.live);
			break;
		}
		if (t > w->config->until_ns) {
			/* Moves the clock to the end of the run; all pending events are later. */
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

/* Gives the pool the popularity of requests in the trace, for placements that use it. */
static void set_mix(struct orr_jobs *w)
{
	if (!w->config->placement->spans_types_by_score || !jobset_is_loaded(w->config->jobs))
		return;
	uint64_t n = jobset_count(w->config->jobs);
	uint64_t *count = NULL;
	size_t cap = 0, known = 0;
	for (uint64_t i = 0; i < n; i++) {
		struct pool_request r = request_of_row(w, jobset_at(w->config->jobs, i));
		uint32_t s = shape_of(w, &r, 0, false);
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
		mix.shape[i] = w->shapes.shape[i].request;
		mix.share[i] = (double)count[i] / (double)n;
	}
	pool_set_mix(w->pool, &mix);
	mem_free(mix.shape);
	mem_free(mix.share);
	mem_free(count);
}

static void read_options(struct options *to, const struct orr_args *o)
{
	to->start_cost = orr_arg_time_ns(o, "start_cost");
	to->preempt_cost = orr_arg_time_ns(o, "preempt_cost");
	to->migrate_cost = orr_arg_time_ns(o, "migrate_cost");
	to->checkpoint = orr_arg_time_ns(o, "checkpoint");
	to->max_calls = orr_arg_int(o, "max_calls_per_instant");
	to->sharing_most = (uint32_t)orr_arg_int(o, "sharing_most");
	to->gantt = (uint64_t)orr_arg_int(o, "gantt");
	to->on_failure = strcmp(orr_arg_text(o, "on_failure"), "kill") ? JOBS_REQUEUE : JOBS_KILL;
	to->is_fastest_first = !strcmp(orr_arg_text(o, "type_order"), "fastest");
	snprintf(to->reference_type, sizeof to->reference_type, "%s", orr_arg_text(o, "reference_type"));
}

static struct orr_jobs *world_new(
	const struct jobs_config *c, const struct jobs_host *host, const struct orr_policy *policy, const char *label)
{
	struct orr_jobs *w = mem_zalloc(1, sizeof *w);
	w->config = c;
	w->label = label;
	w->policy = (struct policy_calls){ .declared = policy, .ops = policy ? policy->ops : NULL, .last_call = -1 };
	w->slots.first_live = w->slots.last_live = NONE;
	w->strings = jobset_strings(c->jobs);
	w->owns_host = !host;
	w->engine = host ? host->engine : eng_new();
	w->pool = host ? host->pool : pool_new(c->cluster, c->placement);
	if (!host && c->compare)
		pool_compare(w->pool, c->compare);
	w->use = &w->totals.used;
	w->others_milli = host ? host->others_milli : NULL;
	w->arrivals.cursor = jobset_open(c->jobs, c->replication);
	read_options(&w->options, c->options);
	quota_begin(w);
	limits_begin(w);
	places_begin(w);
	set_mix(w);
	return w;
}

static void world_free(struct orr_jobs *w)
{
	places_free(w);
	slots_free(w);
	rates_free(w);
	stage_table_free(w);
	metrics_free(w);
	node_events_free(w);
	bill_free(w);
	causes_free(w);
	tenants_free(w->tenants);
	quota_free(w);
	limits_free(w);
	flows_free(w);
	depend_free(w);
	jobcursor_close(w->arrivals.cursor);
	if (w->owns_host) {
		pool_free(w->pool);
		eng_free(w->engine);
	}
	watch_free(w->policy.watch);
	mem_free(w);
}

struct orr_jobs *jobs_begin(const struct jobs_config *c, const struct jobs_host *host, const struct orr_policy *policy,
	const struct orr_args *policy_args, const char *label, struct run_result *result, struct jobs_blocks *blocks)
{
	struct orr_jobs *w = world_new(c, host, policy, label);
	w->result = result;
	w->measures.blocks = blocks;
	w->policy.watch = watch_new(w->label, c->policy_timeout_s);
	if (c->failures && w->owns_host)
		w->nodes.failures = failure_run_new(c->failures, c->cluster, c->seed, c->replication);
	next_arrival(w);
	metrics_begin(w);
	flows_begin(w);
	depend_begin(w);
	node_events_next(w);
	if (c->capacity && w->owns_host)
		bill_begin(w);
	causes_begin(w);
	if (c->decisions && !(w->decisions = decisions_new(c->decisions, &w->error)))
		w->is_over = true;
	else
		calls_create(w, policy_args);
	return w;
}

int jobs_end(struct orr_jobs *w, struct orr_error *err)
{
	if (!w->error.code) {
		metrics_end(w);
		causes_end(w);
		bill_end(w);
		w->totals.used |= pool_has_differed(w->pool) ? JOBS_USED_PLACEMENT : 0;
		if (w->config->used)
			atomic_fetch_or(w->config->used, w->totals.used);
		notes_put(w);
	}
	if (!w->error.code && w->config->check)
		check_end(w);
	calls_destroy(w);
	w->result->is_oracle |= (w->policy.declared->flags & ORR_NEEDS_ORACLE) || w->policy.saw_truth;
	if (w->decisions && decisions_end(w->decisions, w->error.code, &w->error) && !w->error.code)
		w->error.code = ORR_EFAIL;
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

static void find_unfit_stages(struct orr_jobs *w, const struct job_rec *row, uint64_t *count, struct job_rec *first)
{
	const struct flow *f = w->config->flows->flow[row->flow - 1];
	for (uint32_t i = 0; i < f->n_ops; i++) {
		struct job_rec r = flow_rec(row, f, i, 0);
		struct pool_request q = request_of_row(w, &r);
		uint32_t shape = shape_of(w, &q, quota_partition(w, &r), false);
		if (f->op[i].kind == FLOW_WORK && life_is_unfit(w, &r, shape) && !(*count)++)
			*first = r;
	}
}

int jobs_find_unfit(const struct jobs_config *c, uint64_t *count, struct job_rec *first, struct orr_error *err)
{
	enum { MOST = 2000000 };
	*count = 0;
	struct orr_jobs *w = world_new(c, NULL, NULL, "");
	struct job_rec r;
	for (uint64_t i = 0; i < MOST && !w->error.code && jobcursor_next(w->arrivals.cursor, &r); i++) {
		if (r.flow && c->flows) {
			find_unfit_stages(w, &r, count, first);
			continue;
		}
		uint32_t shape = life_shape(w, &r);
		if (work_of(w, &r) < 0 || !speedup_load(w, &r) || !life_is_unfit(w, &r, shape)) {
			if (jobset_is_alike(c->jobs))
				break;
			continue;
		}
		if (!(*count)++)
			*first = r;
	}
	int rc = w->error.code;
	if (rc && err)
		*err = w->error;
	world_free(w);
	return rc;
}
