/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Node failures, removals and returns, for both worlds. A node that is given notice (serve.notice) is fenced: its replicas
 * drain, and neither world gets its free GPUs. Its jobs run until it is removed (a job that shares a GPU may still start
 * there).
 */
#include "mixed/world.h"

#include "base/mem.h"

enum node_event { NODE_REPAIR, NODE_FAIL, NODE_NOTICE };

/* ---- fences ---- */

static void fence_node(struct mixed *m, uint32_t node)
{
	uint32_t n = m->pool->node[node].free_gpus, type = m->config->cluster->node[node].type;
	struct pool_alloc a;
	struct pool_request r = { n, 1000, 0, 0, n ? UINT64_C(1) << type : 0 };
	if (!n || pool_take_at(m->pool, &r, &node, &n, 1, &a))
		return;
	MEM_GROW(m->fence, m->n_fences, m->cap_fences);
	m->fence[m->n_fences++] = (struct fence){ node, a };
	m->holding.fenced[type] += n;
	m->holding.others_milli += INT64_C(1000) * n;
}

void nodes_fence(struct mixed *m)
{
	if (m->pool->changes == m->fenced_pool)
		return; /* no GPU has become free */
	for (uint32_t i = bitset_next(&m->doomed, 0); i != BITSET_END; i = bitset_next(&m->doomed, i + 1))
		fence_node(m, i);
	m->fenced_pool = m->pool->changes;
}

static void open_fences(struct mixed *m, uint32_t node)
{
	size_t kept = 0;
	for (size_t i = 0; i < m->n_fences; i++) {
		struct fence *f = &m->fence[i];
		if (f->node != node) {
			m->fence[kept++] = *f;
			continue;
		}
		m->holding.fenced[f->alloc.type] -= f->alloc.gpus;
		m->holding.others_milli -= INT64_C(1000) * f->alloc.gpus;
		pool_give(m->pool, &f->alloc);
	}
	m->n_fences = kept;
}

/* ---- events of a node ---- */

static bool are_served(const struct mixed *m)
{
	return m->serve && !m->serve_has_left;
}

static void announce(struct mixed *m, uint32_t node)
{
	m->nodes_away += !m->notices[node]++;
	bitset_add(&m->doomed, node);
	if (are_served(m))
		serve_notice(m->serve, node);
	fence_node(m, node);
	if (m->jobs)
		jobs_capacity(m->jobs);
}

static void fail(struct mixed *m, uint32_t node)
{
	bool was_doomed = m->notices[node], goes_again = was_doomed && --m->notices[node];
	m->nodes_away -= was_doomed && !goes_again;
	bitset_remove(&m->doomed, node);
	if (are_served(m))
		serve_node(m->serve, node, false);
	if (m->jobs)
		jobs_node(m->jobs, node, was_doomed ? "notice" : m->capacity ? "preempted" : "node-failed");
	open_fences(m, node);
	pool_node_down(m->pool, node);
	m->nodes_away++;
	if (goes_again) /* the next failure of the node is already known */
		bitset_add(&m->doomed, node);
}

static void repair(struct mixed *m, uint32_t node)
{
	pool_node_up(m->pool, node);
	if (bitset_has(&m->doomed, node))
		fence_node(m, node);
	if (m->jobs)
		jobs_node(m->jobs, node, NULL);
	if (are_served(m))
		serve_node(m->serve, node, true);
	m->nodes_away--;
}

static void on_node(struct engine *e, void *ctx, uint64_t subject, uint64_t arg)
{
	(void)e;
	struct mixed *m = ctx;
	if (arg == NODE_NOTICE)
		announce(m, (uint32_t)subject);
	else if (arg == NODE_FAIL)
		fail(m, (uint32_t)subject);
	else
		repair(m, (uint32_t)subject);
	if (are_served(m))
		serve_capacity(m->serve); /* replacements of lost or draining replicas start on other nodes */
}

/* ---- rows of failures: each is known `notice` before it happens ---- */

static void on_row(struct engine *e, void *ctx, uint64_t subject, uint64_t arg)
{
	struct mixed *m = ctx;
	m->rows_ahead--;
	on_node(e, ctx, subject, arg);
}

static void on_row_known(struct engine *e, void *ctx, uint64_t subject, uint64_t arg);

static void next_row(struct mixed *m)
{
	int64_t t;
	uint32_t node;
	bool fails;
	m->failure_pending = m->failures && failure_run_next(m->failures, &t, &node, &fails);
	if (!m->failure_pending)
		return;
	int64_t known = t - m->notice_ns;
	m->row_ns = t;
	eng_at(m->engine, known > 0 ? known : 0, PRIO_NODE, on_row_known, m, node, fails ? NODE_FAIL : NODE_REPAIR);
}

static void on_row_known(struct engine *e, void *ctx, uint64_t subject, uint64_t arg)
{
	struct mixed *m = ctx;
	if (m->notice_ns && arg == NODE_FAIL)
		on_node(e, m, subject, NODE_NOTICE);
	if (m->row_ns > eng_now(e)) {
		m->rows_ahead++;
		eng_at(e, m->row_ns, PRIO_NODE, on_row, m, subject, arg);
	} else {
		on_node(e, m, subject, arg);
	}
	next_row(m);
}

uint64_t nodes_background(const struct mixed *m)
{
	return m->nodes_away ? 0 : m->failure_pending + m->rows_ahead + (m->capacity ? capacity_pending(m->capacity) : 0);
}

/* ---- lent nodes ---- */

static void on_capacity(void *ctx, uint32_t node, enum capacity_event what)
{
	static const enum node_event same[] = { [CAPACITY_UP] = NODE_REPAIR, [CAPACITY_NOTICE] = NODE_NOTICE, [CAPACITY_DOWN] = NODE_FAIL };
	struct mixed *m = ctx;
	if (what != CAPACITY_PRICE)
		on_node(m->engine, m, node, same[what]);
}

void nodes_lend(struct mixed *m)
{
	const struct mixed_config *c = m->config;
	struct capacity_host host = { m->engine, PRIO_NODE, on_capacity, m };
	if (!c->capacity)
		return;
	m->notices = mem_zalloc(c->cluster->n_nodes, sizeof *m->notices);
	m->nodes_away = c->cluster->n_nodes;
	for (uint32_t i = 0; i < c->cluster->n_nodes; i++)
		pool_node_down(m->pool, i);
	capacity_new(c->capacity, c->cluster, &host, &m->capacity);
}

void nodes_begin(struct mixed *m)
{
	const struct mixed_config *c = m->config;
	if (!c->failures)
		return;
	m->notice_ns = m->serve ? orr_arg_time_ns(c->serve.options, "notice") : 0;
	m->failures = failure_run_new(c->failures, c->cluster, c->seed, c->replication);
	m->notices = mem_zalloc(c->cluster->n_nodes, sizeof *m->notices);
	next_row(m);
}

void nodes_free(struct mixed *m)
{
	for (size_t i = 0; i < m->n_fences; i++)
		pool_give(m->pool, &m->fence[i].alloc);
	mem_free(m->fence);
	mem_free(m->notices);
	bitset_free(&m->doomed);
	failure_run_free(m->failures);
	capacity_free(m->capacity);
}
