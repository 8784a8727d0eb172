/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "mixed/world.h"

#include "base/mem.h"

#include <math.h>
#include <string.h>

/* ---- GPUs for replicas ---- */

static bool reclaim(struct mixed *m, const struct pool_request *r)
{
	uint32_t jobs = m->config->serve_first && m->jobs ? jobs_reclaim(m->jobs, r, m->failures || m->capacity ? &m->doomed : NULL) : 0;
	m->jobs_reclaimed += jobs;
	m->reclaims += jobs > 0;
	return jobs > 0;
}

static bool take(void *ctx, const struct pool_request *r, struct pool_alloc *out)
{
	struct mixed *m = ctx;
	if (!pool_take(m->pool, r, out) && !(reclaim(m, r) && pool_take(m->pool, r, out))) {
		m->is_serve_short = true;
		return false;
	}
	m->holding.others_milli += INT64_C(1000) * out->gpus;
	m->holding.serve[out->type] += out->gpus;
	MEM_GROW(m->held, m->n_held, m->cap_held);
	MEM_GROW(m->hold, m->n_held, m->cap_hold);
	if (m->jobs) {
		m->hold[m->n_held] = jobs_others_take(m->jobs, out, "replicas");
		jobs_capacity(m->jobs);
	}
	m->held[m->n_held++] = *out;
	return true;
}

static bool is_same(const struct pool_alloc *a, const struct pool_alloc *b)
{
	if (a->n != b->n || a->type != b->type || a->gpus != b->gpus)
		return false;
	return a->n == 1 ? a->one.node == b->one.node : a->many == b->many;
}

static void give(void *ctx, struct pool_alloc *a)
{
	struct mixed *m = ctx;
	m->holding.others_milli -= INT64_C(1000) * a->gpus;
	m->holding.serve[a->type] -= a->gpus;
	for (size_t i = 0; i < m->n_held; i++)
		if (is_same(&m->held[i], a)) {
			if (m->jobs)
				jobs_others_give(m->jobs, a, m->hold[i]);
			m->held[i] = m->held[--m->n_held];
			m->hold[i] = m->hold[m->n_held];
			break;
		}
	pool_give(m->pool, a);
	m->given++;
	nodes_fence(m);
	if (m->jobs)
		jobs_capacity(m->jobs);
}

/* ---- instants ---- */

static uint64_t given(const struct mixed *m)
{
	return m->given + (m->jobs ? jobs_given(m->jobs) : 0);
}

/* Returns whether a replica waits for GPUs and GPUs were released since its last attempt. */
static bool has_offer(const struct mixed *m)
{
	return m->is_serve_short && given(m) != m->seen_given;
}

static void offer(struct mixed *m)
{
	m->seen_given = given(m);
	m->is_serve_short = false;
	serve_capacity(m->serve);
}

/* Returns whether neither jobs nor waiting replicas act before the next event. */
static bool is_quiet(void *ctx)
{
	const struct mixed *m = ctx;
	return !(m->jobs && !m->jobs_are_over && jobs_is_due(m->jobs)) && !has_offer(m);
}

static bool has_failed(const struct mixed *m)
{
	return m->error.code || (m->jobs && jobs_has_failed(m->jobs)) || (m->serve && serve_has_failed(m->serve));
}

static bool is_due_at(const struct mixed *m, int64_t now)
{
	int64_t t;
	return eng_next_time(m->engine, &t) && t == now;
}

static void events_of(struct mixed *m, int64_t now)
{
	while (is_due_at(m, now) && !has_failed(m)) {
		eng_step(m->engine);
		if (m->jobs)
			jobs_after_event(m->jobs);
	}
	if (m->n_fences || m->nodes_away)
		nodes_fence(m);
}

/* Ends the service after its last request and releases its GPUs. */
static void leave_if_over(struct mixed *m)
{
	if (!serve_is_over(m->serve) || has_failed(m))
		return;
	m->serve_has_left = true;
	m->is_serve_short = false;
	serve_leave(m->serve);
}

/* Offers free GPUs to waiting replicas, then to jobs. */
static bool decide(struct mixed *m)
{
	bool is_due = false;
	if (m->serve && !m->serve_has_left) {
		if (has_offer(m))
			offer(m);
		is_due |= serve_instant(m->serve);
		if (!is_due)
			leave_if_over(m);
	}
	if (m->jobs && !m->jobs_are_over) {
		m->jobs_touched |= jobs_is_due(m->jobs);
		is_due |= m->jobs_touched && jobs_decide(m->jobs);
	}
	return is_due || has_offer(m) || is_due_at(m, eng_now(m->engine));
}

/* Checks the pool if it has changed. */
static void check_pool(struct mixed *m)
{
	size_t n = 0;
	if (m->checked_pool == m->pool->changes)
		return;
	m->checked_pool = m->pool->changes;
	const struct pool_alloc **all = m->jobs ? jobs_allocs(m->jobs, &n) : NULL;
	all = mem_realloc(all, n + m->n_held + m->n_fences + 1, sizeof *all);
	for (size_t i = 0; i < m->n_held; i++)
		all[n++] = &m->held[i];
	for (size_t i = 0; i < m->n_fences; i++)
		all[n++] = &m->fence[i].alloc;
	const char *wrong = pool_check(m->pool, all, n);
	mem_free(all);
	if (wrong)
		orr_fail(&m->error, ORR_EFAIL, "conservation at %.9f s: %s", (double)eng_now(m->engine) / 1e9, wrong);
}

static void instant(struct mixed *m, int64_t now)
{
	accounts_until(&m->accounts, now, &m->holding);
	if (m->jobs)
		jobs_begin_instant(m->jobs, now);
	m->jobs_touched = false;
	do
		events_of(m, now);
	while (!has_failed(m) && decide(m));
	if (m->jobs_touched)
		jobs_end_instant(m->jobs);
	if (m->config->check && !has_failed(m))
		check_pool(m);
	m->jobs_are_over = m->jobs && jobs_is_over(m->jobs);
}

/* ---- the loop ---- */

static bool is_over(const struct mixed *m)
{
	bool jobs_are_over = !m->jobs || jobs_is_over(m->jobs), serve_is_over_too = !m->serve || serve_is_over(m->serve);
	return has_failed(m) || (jobs_are_over && serve_is_over_too);
}

/* Returns whether jobs or replicas wait and no pending event lets them start. */
static bool is_starving(const struct mixed *m)
{
	uint64_t idle = nodes_background(m) + (m->serve ? serve_background(m->serve) : 0);
	return !m->nodes_away && eng_pending(m->engine) == idle;
}

/* Returns whether the run goes on. */
static bool starving(struct mixed *m)
{
	if (m->serve && !serve_is_over(m->serve))
		return serve_starving(m->serve);
	jobs_starving(m->jobs);
	return false;
}

/* Returns whether only jobs are left, and they wait for ever. */
static bool is_futile(struct mixed *m)
{
	return m->jobs && (!m->serve || serve_is_over(m->serve)) && jobs_is_futile(m->jobs, nodes_background(m), m->nodes_away);
}

static void report_progress(const struct mixed *m, uint64_t *steps)
{
	const struct mixed_config *c = m->config;
	if (!c->progress || ++*steps & 4095)
		return;
	double jobs = m->jobs ? jobs_part_done(m->jobs) : 1, serve = m->serve ? serve_part_done(m->serve) : 1;
	c->progress(c->progress_ctx, jobs < serve ? jobs : serve);
}

static void on_until(struct engine *e, void *ctx, uint64_t subject, uint64_t arg)
{
	(void)e, (void)ctx, (void)subject, (void)arg;
}

/* Advances the clock to the end of the run; all pending events are later. */
static void stop_at(struct mixed *m, int64_t t)
{
	eng_at(m->engine, t, PRIO_UNTIL, on_until, NULL, 0, 0);
	eng_step(m->engine);
	accounts_until(&m->accounts, t, &m->holding);
	if (m->jobs)
		jobs_begin_instant(m->jobs, t);
}

static void loop(struct mixed *m)
{
	int64_t t;
	uint64_t steps = 0;
	if (m->serve)
		leave_if_over(m); /* a trace without requests */
	m->jobs_are_over = m->jobs && jobs_is_over(m->jobs);
	while (!is_over(m)) {
		if (is_starving(m) && !starving(m))
			break;
		if (!eng_next_time(m->engine, &t) || is_futile(m))
			break; /* waiting jobs or replicas need nodes that never return */
		if (t > INT64_MAX / 2) {
			orr_fail(&m->error, ORR_EFAIL, "the run has not ended after 146 years, the limit of the clock: expected --until");
			break;
		}
		if (t > m->config->until_ns) {
			stop_at(m, m->config->until_ns);
			break;
		}
		instant(m, t);
		report_progress(m, &steps);
	}
}

/* ---- results ---- */

/* Merges events by time. Node events, which both worlds record, appear once. */
static void merge_events(struct run_result *r, struct run_result *of_jobs, struct run_result *of_serve)
{
	size_t n = 0, i = 0, k = 0;
	struct event_row *all = mem_zalloc(of_jobs->n_events + of_serve->n_events + 1, sizeof *all);
	while (i < of_jobs->n_events || k < of_serve->n_events) {
		bool is_serve =
			i == of_jobs->n_events || (k < of_serve->n_events && of_serve->events[k].time_ns < of_jobs->events[i].time_ns);
		struct event_row e = is_serve ? of_serve->events[k++] : of_jobs->events[i++];
		if (is_serve && (!strcmp(e.kind, "node-fail") || !strcmp(e.kind, "node-repair")))
			continue;
		e.kind = result_text(r, e.kind);
		e.detail = result_text(r, e.detail);
		all[n++] = e;
	}
	mem_free(r->events);
	r->events = all;
	r->n_events = n;
	r->cap_events = n;
	of_jobs->n_events = of_serve->n_events = 0;
}

static void put_capacity(struct mixed *m, struct run_result *r)
{
	struct capacity_bill b;
	if (!m->capacity)
		return;
	capacity_bill(m->capacity, &b);
	result_metric(r, "node_hours", ledger_hours((double)b.all.ns), NAN, NAN);
	result_metric(r, "starting_hours", ledger_hours((double)b.starting.ns), NAN, NAN);
	result_metric(r, "capacity_usd", ledger_usd((double)b.all.amount), NAN, NAN);
	result_metric(r, "instances", (double)b.offered, NAN, NAN);
	result_metric(r, "instances_unused", (double)b.unused, NAN, NAN);
	result_metric(r, "nodes_noticed", (double)b.noticed, NAN, NAN);
	result_metric(r, "nodes_lost", (double)b.lost, NAN, NAN);
}

static void put_results(struct mixed *m, struct run_result *r)
{
	put_capacity(m, r);
	accounts_put(&m->accounts, m->config->cluster->n_types, m->config->usd_per_gpu_hour, r);
	if (m->config->serve_first) {
		result_metric(r, "reclaims", (double)m->reclaims, NAN, NAN);
		result_metric(r, "jobs_reclaimed", (double)m->jobs_reclaimed, NAN, NAN);
	}
	if (m->jobs && m->serve)
		merge_events(r, m->of_jobs, m->of_serve);
	if (m->serve)
		result_take(r, m->of_serve, "serve.");
	if (m->jobs)
		result_take(r, m->of_jobs, "jobs.");
}

static void finish(struct mixed *m, struct run_result *result, struct orr_error *err)
{
	struct orr_error e[2] = { { 0 }, { 0 } };
	bool has_jobs = m->jobs, has_serve = m->serve;
	accounts_end(&m->accounts);
	if (has_serve)
		serve_end(m->serve, &e[0]);
	if (has_jobs)
		jobs_end(m->jobs, &e[1]);
	for (int i = 0; i < 2 && !m->error.code; i++)
		if (e[i].code)
			m->error = e[i];
	if (!m->error.code && m->config->check) {
		const char *wrong = accounts_check(
			&m->accounts, m->config->cluster->n_types, has_jobs ? m->of_jobs : NULL, has_serve ? m->of_serve : NULL);
		if (wrong)
			orr_fail(&m->error, ORR_EFAIL, "conservation: %s", wrong);
	}
	if (m->error.code)
		*err = m->error;
	else
		put_results(m, result);
}

/* ---- making and freeing a run ---- */

static void begin(struct mixed *m, const char *label)
{
	const struct mixed_config *c = m->config;
	struct jobs_host jobs_host = { m->engine, m->pool, &m->holding.others_milli };
	struct serve_host serve_host = { .engine = m->engine, .pool = m->pool, .take = take, .give = give, .is_quiet = is_quiet, .ctx = m };
	nodes_lend(m);
	/* The jobs world is created first, because replicas, which start before the first job arrives, can reclaim GPUs from jobs. */
	if (c->jobs_policy)
		m->jobs = jobs_begin(&c->jobs, &jobs_host, c->jobs_policy, c->jobs_args, label, m->of_jobs, m->blocks);
	if (c->serve_policy)
		m->serve = serve_begin(&c->serve, &serve_host, c->serve_policy, c->serve_args, label, m->of_serve, &m->error);
	nodes_begin(m);
}

static struct mixed *mixed_new(const struct mixed_config *c)
{
	struct mixed *m = mem_zalloc(1, sizeof *m);
	m->config = c;
	m->engine = eng_new();
	m->pool = pool_new(c->cluster, c->placement);
	if (c->compare)
		pool_compare(m->pool, c->compare);
	m->holding.pool = m->pool;
	m->of_jobs = result_new();
	m->of_serve = result_new();
	m->blocks = mem_zalloc(1, sizeof *m->blocks);
	bitset_init(&m->doomed, c->cluster->n_nodes ? c->cluster->n_nodes : 1);
	accounts_begin(&m->accounts);
	return m;
}

static void mixed_free(struct mixed *m)
{
	nodes_free(m);
	pool_free(m->pool);
	eng_free(m->engine);
	result_free(m->of_jobs);
	result_free(m->of_serve);
	mem_free(m->blocks);
	mem_free(m->held);
	mem_free(m->hold);
	mem_free(m);
}

int mixed_run(const struct mixed_config *c, const char *label, struct run_result *result, struct orr_error *err)
{
	struct mixed *m = mixed_new(c);
	begin(m, label);
	if (!m->error.code)
		loop(m);
	finish(m, result, err);
	int rc = m->error.code;
	mixed_free(m);
	return rc;
}
