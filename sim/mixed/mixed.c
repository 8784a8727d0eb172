/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "mixed/mixed.h"

#include "base/mem.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { PRIO_NODE = 1, PRIO_UNTIL = 255 };
enum account { BY_JOBS, BY_SERVE, IDLE, ACCOUNTS };

__extension__ typedef __int128 gpu_ns;

struct mixed {
	const struct mixed_config *config;
	struct engine *engine;
	struct pool *pool;
	struct orr_jobs *jobs;
	struct orr_serve *serve;
	struct failure_run *failures;
	bool failure_pending;
	uint32_t nodes_down;
	/* what replicas hold */
	int64_t serve_milli;
	uint32_t serve_gpus[CLUSTER_MAX_TYPES];
	struct pool_alloc *held;
	size_t n_held, cap_held;
	uint64_t reclaimed;
	bool has_served;     /* no request is left, and replicas have gone */
	bool is_serve_short; /* a replica found no room */
	uint32_t seen_free;  /* GPUs that were free when it was last told */
	/* accounts, up to account_ns */
	gpu_ns account[CLUSTER_MAX_TYPES][ACCOUNTS];
	int64_t account_ns;
	struct orr_error error;
};

/* ---- GPUs for replicas ---- */

static bool take(void *ctx, const struct pool_request *r, struct pool_alloc *out)
{
	struct mixed *m = ctx;
	bool fits = pool_take(m->pool, r, out);
	if (!fits && m->config->serve_first && jobs_reclaim(m->jobs, r)) {
		m->reclaimed++;
		fits = pool_take(m->pool, r, out);
	}
	m->is_serve_short |= !fits;
	if (!fits)
		return false;
	m->serve_milli += INT64_C(1000) * out->gpus;
	m->serve_gpus[out->type] += out->gpus;
	MEM_GROW(m->held, m->n_held, m->cap_held);
	m->held[m->n_held++] = *out;
	jobs_capacity(m->jobs);
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
	m->serve_milli -= INT64_C(1000) * a->gpus;
	m->serve_gpus[a->type] -= a->gpus;
	for (size_t i = 0; i < m->n_held; i++)
		if (is_same(&m->held[i], a)) {
			m->held[i] = m->held[--m->n_held];
			break;
		}
	pool_give(m->pool, a);
	jobs_capacity(m->jobs);
}

/* ---- nodes ---- */

static void on_node(struct engine *e, void *ctx, uint64_t subject, uint64_t arg);

static void next_failure(struct mixed *m)
{
	int64_t t;
	uint32_t node;
	bool fails;
	m->failure_pending = m->failures && failure_run_next(m->failures, &t, &node, &fails);
	if (m->failure_pending)
		eng_at(m->engine, t, PRIO_NODE, on_node, m, node, fails);
}

static void on_node(struct engine *e, void *ctx, uint64_t subject, uint64_t arg)
{
	(void)e;
	struct mixed *m = ctx;
	uint32_t node = (uint32_t)subject;
	if (arg) {
		serve_node(m->serve, node, false);
		jobs_node(m->jobs, node, false);
		pool_node_down(m->pool, node);
		m->nodes_down++;
	} else {
		pool_node_up(m->pool, node);
		jobs_node(m->jobs, node, true);
		serve_node(m->serve, node, true);
		m->nodes_down--;
	}
	next_failure(m);
}

/* ---- accounts ---- */

static void account_until(struct mixed *m, int64_t t)
{
	gpu_ns dt = t - m->account_ns;
	m->account_ns = t;
	for (uint32_t i = 0; i < m->config->cluster->n_types && dt; i++) {
		uint32_t up = m->pool->total[i], idle = m->pool->free[i], serve = m->serve_gpus[i];
		m->account[i][IDLE] += dt * idle;
		m->account[i][BY_SERVE] += dt * serve;
		m->account[i][BY_JOBS] += dt * (up - idle - serve);
	}
}

static void check_pool(struct mixed *m)
{
	size_t n;
	const struct pool_alloc **all = jobs_allocs(m->jobs, &n);
	all = mem_realloc(all, n + m->n_held + 1, sizeof *all);
	for (size_t i = 0; i < m->n_held; i++)
		all[n++] = &m->held[i];
	const char *wrong = pool_check(m->pool, all, n);
	mem_free(all);
	if (wrong)
		orr_fail(&m->error, ORR_EFAIL, "conservation at %.9f s: %s", (double)eng_now(m->engine) / 1e9, wrong);
}

/* ---- the clock ---- */

static bool is_over(const struct mixed *m)
{
	return m->error.code || (jobs_is_over(m->jobs) && serve_is_over(m->serve));
}

/* Jobs that ended have left GPUs that a replica waits for. */
static void offer_to_serve(struct mixed *m)
{
	if (m->is_serve_short && m->pool->free_gpus > m->seen_free) {
		m->is_serve_short = false;
		serve_capacity(m->serve);
	}
	m->seen_free = m->pool->free_gpus;
}

static void instant(struct mixed *m, int64_t now)
{
	int64_t t;
	bool is_due = true;
	account_until(m, now);
	jobs_begin_instant(m->jobs, now);
	while (is_due && !is_over(m)) {
		while (eng_next_time(m->engine, &t) && t == now) {
			eng_step(m->engine);
			jobs_after_event(m->jobs);
		}
		offer_to_serve(m);
		is_due = serve_instant(m->serve);
		is_due |= jobs_decide(m->jobs);
		is_due |= eng_next_time(m->engine, &t) && t == now;
	}
	jobs_end_instant(m->jobs);
	if (m->config->check)
		check_pool(m);
	if (!m->error.code && !m->has_served && serve_is_over(m->serve)) {
		m->has_served = true;
		serve_leave(m->serve); /* the service ends with its last request */
	}
}

static void on_until(struct engine *e, void *ctx, uint64_t subject, uint64_t arg)
{
	(void)e, (void)ctx, (void)subject, (void)arg;
}

/* Jobs wait and nothing but nodes that fail or timers of a fleet at rest lies ahead. */
static bool is_stuck(const struct mixed *m)
{
	return serve_is_over(m->serve) && jobs_runs_nothing(m->jobs) && !m->nodes_down;
}

static void loop(struct mixed *m)
{
	int64_t t;
	serve_instant(m->serve); /* replicas that are there from the start */
	while (!is_over(m)) {
		if (is_stuck(m) && !jobs_is_over(m->jobs) && eng_pending(m->engine) == m->failure_pending) {
			jobs_starving(m->jobs);
			break;
		}
		if (!eng_next_time(m->engine, &t))
			break;
		if (t > m->config->until_ns) {
			eng_at(m->engine, m->config->until_ns, PRIO_UNTIL, on_until, NULL, 0, 0);
			eng_step(m->engine);
			account_until(m, m->config->until_ns);
			jobs_begin_instant(m->jobs, m->config->until_ns);
			break;
		}
		instant(m, t);
	}
}

/* ---- results ---- */

static void put_accounts(const struct mixed *m, struct run_result *r)
{
	static const char *const names[ACCOUNTS] = { "jobs_gpu_hours", "serve_gpu_hours", "idle_gpu_hours" };
	static const char *const usd_names[ACCOUNTS] = { "jobs_usd", "serve_usd", "idle_usd" };
	const struct cluster *c = m->config->cluster;
	double usd = 0, hours = 0;
	for (int a = 0; a < ACCOUNTS; a++) {
		double sum = 0, cost = 0;
		for (uint32_t i = 0; i < c->n_types; i++) {
			double h = (double)m->account[i][a] / 3.6e12;
			sum += h;
			cost += m->config->usd_per_gpu_hour ? h * m->config->usd_per_gpu_hour[i] : NAN;
		}
		result_metric(r, names[a], sum, NAN, NAN);
		if (!isnan(cost))
			result_metric(r, usd_names[a], cost, NAN, NAN);
		hours += sum;
		usd += cost;
	}
	result_metric(r, "gpu_hours", hours, NAN, NAN);
	if (!isnan(usd))
		result_metric(r, "usd", usd, NAN, NAN);
	result_metric(r, "reclaims", (double)m->reclaimed, NAN, NAN);
}

static void finish(struct mixed *m, struct run_result *result, struct run_result *of_jobs, struct run_result *of_serve,
	struct orr_error *err)
{
	struct orr_error e[2] = { { 0 }, { 0 } };
	jobs_end(m->jobs, &e[0]);
	serve_end(m->serve, &e[1]);
	for (int i = 0; i < 2 && !m->error.code; i++)
		if (e[i].code)
			m->error = e[i];
	if (m->error.code) {
		*err = m->error;
		return;
	}
	put_accounts(m, result);
	result_take(result, of_serve, "serve.");
	result_take(result, of_jobs, "jobs.");
}

static void begin(struct mixed *m, const char *label, struct run_result *of_jobs, struct run_result *of_serve, struct jobs_blocks *blocks)
{
	const struct mixed_config *c = m->config;
	struct jobs_host jobs_host = { m->engine, m->pool, &m->serve_milli };
	struct serve_host serve_host = { .engine = m->engine, .pool = m->pool, .take = take, .give = give, .ctx = m };
	/* Replicas first: they are there when the first job comes; they ask jobs for room, so the jobs world must be. */
	m->jobs = jobs_begin(&c->jobs, &jobs_host, c->jobs_policy, c->jobs_args, label, of_jobs, blocks);
	m->serve = serve_begin(&c->serve, &serve_host, c->serve_policy, c->serve_args, label, of_serve, &m->error);
	if (c->failures)
		m->failures = failure_run_new(c->failures, c->cluster, c->seed);
	next_failure(m);
}

int mixed_run(const struct mixed_config *c, const char *label, struct run_result *result, struct orr_error *err)
{
	struct mixed *m = mem_zalloc(1, sizeof *m);
	struct run_result *of_jobs = result_new(), *of_serve = result_new();
	struct jobs_blocks *blocks = mem_zalloc(1, sizeof *blocks);
	m->config = c;
	m->engine = eng_new();
	m->pool = pool_new(c->cluster, c->placement);
	begin(m, label, of_jobs, of_serve, blocks);
	if (m->serve) {
		loop(m);
		finish(m, result, of_jobs, of_serve, err);
	} else {
		struct orr_error ignored = { 0 };
		jobs_end(m->jobs, &ignored);
		*err = m->error;
	}
	int rc = m->error.code;
	failure_run_free(m->failures);
	pool_free(m->pool);
	eng_free(m->engine);
	mem_free(m->held);
	mem_free(m);
	mem_free(blocks);
	result_free(of_jobs);
	result_free(of_serve);
	return rc;
}
