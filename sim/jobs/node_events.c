/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Node failures and repairs, and their effect on jobs. */
#include "jobs/node_events.h"

#include "base/mem.h"
#include "jobs/bill.h"
#include "jobs/causes.h"
#include "jobs/life.h"
#include "jobs/world.h"

#include <string.h>

static void add_cleared(struct node_events *n, const struct job *job, uint32_t slot)
{
	uint32_t at = n->n_cleared;
	while (at && job[n->cleared[at - 1]].number > job[slot].number)
		at--;
	if (at && n->cleared[at - 1] == slot)
		return;
	MEM_GROW(n->cleared, n->n_cleared, n->cap_cleared);
	memmove(n->cleared + at + 1, n->cleared + at, (n->n_cleared++ - at) * sizeof *n->cleared);
	n->cleared[at] = slot;
}

static void list_cleared(struct orr_jobs *w, uint32_t node)
{
	const uint32_t *slot = w->slots.running;
	uint32_t n = w->slots.n_running;
	bool is_exact = bill_jobs_on(w, node, &slot, &n);
	w->nodes.n_cleared = 0;
	for (uint32_t i = 0; i < n; i++)
		if (is_exact || life_is_on(&w->slots.job[slot[i]], node))
			add_cleared(&w->nodes, w->slots.job, slot[i]);
}

/* Evicts or ends the jobs on the node in order of submission, and notifies the policy of each. */
static void clear_node(struct orr_jobs *w, uint32_t node, const char *why)
{
	list_cleared(w, node);
	for (uint32_t i = 0; i < w->nodes.n_cleared; i++) {
		struct job *job = &w->slots.job[w->nodes.cleared[i]];
		if (w->options.on_failure == JOBS_KILL) {
			life_end(w, job, ORR_END_NODE_FAILED);
			tell_ended(w);
		} else {
			life_evict(w, job, why);
			tell_evicted(w, job);
		}
	}
}

void jobs_capacity(struct orr_jobs *w)
{
	w->policy.capacity_changed = w->policy.is_due = true;
}

void jobs_node(struct orr_jobs *w, uint32_t node, const char *why)
{
	metrics_node_event(w, why ? "node-fail" : "node-repair", node);
	w->nodes.going = why ? node : NONE;
	if (why)
		clear_node(w, node, why);
	w->nodes.going = NONE;
	causes_node(w, node, !why);
	w->nodes.n_down += why ? 1 : UINT32_MAX;
	jobs_capacity(w);
}

static void on_node(struct engine *e, void *ctx, uint64_t subject, uint64_t arg)
{
	(void)e;
	struct orr_jobs *w = ctx;
	uint32_t node = (uint32_t)subject;
	jobs_node(w, node, arg ? "node-failed" : NULL);
	if (arg)
		pool_node_down(w->pool, node);
	else
		pool_node_up(w->pool, node);
	node_events_next(w);
}

void node_events_next(struct orr_jobs *w)
{
	int64_t t;
	uint32_t node;
	bool fails;
	w->nodes.failure_pending = w->nodes.failures && failure_run_next(w->nodes.failures, &t, &node, &fails);
	if (w->nodes.failure_pending)
		eng_at(w->engine, t, PRIO_NODE, on_node, w, node, fails);
}

void node_events_free(struct orr_jobs *w)
{
	failure_run_free(w->nodes.failures);
	mem_free(w->nodes.cleared);
}
