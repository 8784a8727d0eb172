/* SPDX-License-Identifier: GPL-3.0-or-later */
/* --check: conservation laws of the serving world, checked at run time. */
#include "serve/dispatch.h"
#include "serve/fleet.h"
#include "serve/front.h"
#include "serve/lane.h"
#include "serve/memory.h"
#include "serve/metrics.h"
#include "serve/route.h"
#include "serve/runs.h"
#include "serve/stages.h"
#include "serve/tiers.h"

#include "base/mem.h"

#include <float.h>
#include <math.h>

static const double ROUNDING = 1e-9;

static void broken(struct orr_serve *w, const struct req *q, const char *law)
{
	if (law)
		serve_fail(w, ORR_EFAIL, q, "conservation: %s", law);
}

/* ---- requests ---- */

struct census {
	uint64_t live, waiting, routed;
	uint32_t *on; /* [replica] live requests */
};

static const char *wrong_state(const struct orr_serve *w, const struct req *q)
{
	bool is_llm = w->config->model[q->model]->kind == SERVED_LLM;
	switch ((enum orr_req_state)q->state) {
	case ORR_REQ_WAITING:
		return q->runs || q->silent           ? "a waiting request is in a run"
		       : q->kv_held && !q->is_swapped ? "a waiting request holds blocks of the KV cache"
						      : NULL;
	case ORR_REQ_RUNNING:
		return q->runs || q->silent ? NULL : "a running request is in no run";
	case ORR_REQ_RESIDENT:
		return !is_llm || q->replica == NONE ? "a resident request is on no replica of a language model" : NULL;
	case ORR_REQ_MOVING:
	case ORR_REQ_ENDED:
		return NULL;
	}
	return "a request is in an unknown state";
}

static void take_census(struct orr_serve *w, struct census *c)
{
	for (uint32_t i = 0; i < w->n_req && !w->error.code; i++) {
		const struct req *q = &w->req[i];
		if (q->state == ORR_REQ_ENDED)
			continue;
		c->live++;
		c->waiting += q->state == ORR_REQ_WAITING;
		if (q->replica != NONE) {
			c->routed++;
			c->on[q->replica]++;
		}
		broken(w, q, wrong_state(w, q));
	}
}

static const char *wrong_counts(const struct orr_serve *w, const struct census *c)
{
	const struct serve_metrics *m = w->metrics;
	if (c->live != w->live)
		return "requests are lost or duplicated";
	if (c->waiting != w->waiting)
		return "the count of waiting requests is incorrect";
	if (m->arrived != m->completed + m->refused + m->shed + m->unfinished + c->live)
		return "requests that arrived are neither live nor ended";
	if (c->routed != w->fleet->routed)
		return "the count of routed requests is incorrect";
	for (uint32_t i = 0; i < w->n_replicas; i++) {
		uint32_t listed = 0;
		for (uint32_t x = w->replica[i].first_on; x != NONE && listed < w->n_req; x = w->req[x].on_next)
			listed += w->req[x].replica == i;
		if (c->on[i] != w->replica[i].routed || c->on[i] != listed)
			return "the count of requests of a replica is incorrect";
	}
	return NULL;
}

static void check_requests(struct orr_serve *w)
{
	struct census c = { .on = mem_zalloc((size_t)w->n_replicas + 1, sizeof *c.on) };
	take_census(w, &c);
	broken(w, NULL, wrong_counts(w, &c));
	mem_free(c.on);
}

/* Checks the number of runs of each request. */
static void check_runs(struct orr_serve *w)
{
	uint32_t *runs = mem_zalloc((size_t)w->n_req + 1, sizeof *runs);
	for (uint32_t i = 0; i < w->n_run; i++) {
		const struct run *x = &w->run[i];
		if (!run_is_live(x))
			continue;
		for (uint32_t k = 0; k < x->n; k++) {
			const struct req *q = req_of(w, x->handle[k]);
			if (!q || q->state == ORR_REQ_ENDED)
				broken(w, q, "a run contains a request that has ended");
			else
				runs[req_slot(w, q)]++;
		}
	}
	for (uint32_t i = 0; i < w->n_req && !w->error.code; i++)
		if (w->req[i].state != ORR_REQ_ENDED && w->req[i].runs != runs[i])
			broken(w, &w->req[i], "the count of runs of a request is incorrect");
	mem_free(runs);
}

/* ---- replicas ---- */

static const char *wrong_replica(const struct orr_serve *w, uint32_t replica)
{
	const struct replica *r = &w->replica[replica];
	const struct fleet_replica *f = &w->fleet->more[replica];
	const struct lane *l = lane_seen(w, replica);
	uint32_t running = 0;
	if (r->has_alloc != (r->state != REPLICA_OFF))
		return "a replica is on without GPUs, or off with GPUs";
	if (r->has_alloc && r->alloc.gpus != r->gpus)
		return "the count of GPUs of a replica is incorrect";
	if (!replica_is_up(r))
		return r->routed || r->n_runs || r->n_reserved || r->sending.n || r->waiting.n || r->later.n || l
			       ? "a replica that is not up has work"
			       : NULL;
	for (uint32_t i = r->runs.first; i != NONE; i = w->run[i].next)
		running += w->run[i].state == RUN_RUNNING;
	if (running != r->n_runs)
		return "the count of runs of a replica is incorrect";
	if (f->is_busy != (r->n_runs || r->n_reserved || (l && l->is_flying)))
		return "a busy replica counts as idle, or an idle one as busy";
	if (bitset_has(w->idle, replica) != (r->state == REPLICA_UP && !f->is_busy))
		return "the set of idle replicas is incorrect";
	if (f->is_member != (r->state == REPLICA_UP && r->role != ORR_ROLE_DECODE))
		return "a replica that takes no requests is in a routing group, or one that takes requests is not";
	double up = replica_up_s(w, r);
	double busy = r->busy_s + (f->is_busy ? w->now_s - r->busy_since_s : 0);
	if (busy > up * (1 + ROUNDING) + 1e-8)
		return "a replica was busy for longer than it was up";
	if (memory_in_use(w, replica) > r->memory * (1 + ROUNDING))
		return "a replica uses more memory than it has";
	if (l && !(kv_in_use(l) <= 1 + ROUNDING))
		return "a replica uses more blocks of the KV cache than it has";
	const char *wrong = l ? kv_check(w, l, moves_held(w, replica)) : NULL;
	if (!wrong && l && l->stages)
		wrong = stages_check(w, l);
	return wrong || !l ? wrong : decodes_check(w, l);
}

/* Checks that the GPUs allocated from the pool are exactly those of replicas and the withheld ones. */
static const char *wrong_pool(const struct orr_serve *w)
{
	const struct fleet *f = w->fleet;
	const struct pool_alloc **a = mem_alloc(((size_t)w->n_replicas + f->n_limbo + 1) * sizeof *a);
	size_t n = 0;
	for (uint32_t i = 0; i < w->n_replicas; i++)
		if (w->replica[i].has_alloc)
			a[n++] = &w->replica[i].alloc;
	for (uint32_t i = 0; i < f->n_limbo; i++)
		a[n++] = &f->limbo[i];
	const char *wrong = pool_check(w->host.pool, a, n);
	mem_free(a);
	return wrong;
}

/* Returns whether the replica loads a model; it may be idle during the load. */
static bool is_loading(const struct orr_serve *w, uint32_t replica)
{
	const double *loaded_s = w->replica[replica].loaded_s;
	for (uint32_t m = 0; loaded_s && m < w->config->n_models; m++)
		if (loaded_s[m] > w->now_s)
			return true;
	return false;
}

/* Returns whether the policy could start the request on the replica. */
static bool could_start(const struct orr_serve *w, const struct req *q, uint32_t replica)
{
	const struct replica *r = &w->replica[replica];
	bool is_served = r->model == NONE || r->model == q->model;
	if (r->lane && (r->lane->outgoing || r->lane->set_aside))
		return false; /* a KV cache in flight holds blocks on this replica or on its destination */
	return is_served && !route_is_too_small(w, q, replica) && orr_replica_is_idle(w, replica) &&
	       (q->replica == replica || r->role != ORR_ROLE_DECODE) && !is_loading(w, replica);
}

/* Work-conserving: the policy never idles a replica that could start a waiting request. */
static const char *wrong_idling(const struct orr_serve *w)
{
	if (!(w->claims & ORR_WORK_CONSERVING) || !w->waiting || bitset_next(w->idle, 0) == BITSET_END)
		return NULL;
	for (uint32_t i = 0; i < w->n_req; i++) {
		const struct req *q = &w->req[i];
		if (q->state != ORR_REQ_WAITING || !q->is_known || q->is_copying)
			continue;
		uint32_t x = q->replica != NONE ? q->replica : bitset_next(w->idle, 0);
		for (; x != BITSET_END; x = q->replica != NONE ? BITSET_END : bitset_next(w->idle, x + 1))
			if (could_start(w, q, x))
				return "the policy claims to be work-conserving, but a replica idles while a request waits for it";
	}
	return NULL;
}

/* ---- at the end of an instant, and of the run ---- */

void check_serve_state(struct orr_serve *w)
{
	for (uint32_t i = 0; i < w->n_replicas && !w->error.code; i++)
		broken(w, NULL, wrong_replica(w, i));
	if (!w->error.code)
		check_requests(w);
	if (!w->error.code)
		check_runs(w);
	if (!w->error.code)
		broken(w, NULL, wrong_idling(w));
	if (!w->error.code)
		broken(w, NULL, front_verify(w));
	if (!w->error.code)
		broken(w, NULL, tiers_check(w));
	if (!w->error.code && w->owns_host)
		broken(w, NULL, wrong_pool(w));
}

/* Checks the state. Each instant adds credit, and a check spends its cost, O(requests + replicas), so that checks at most multiply
 * the time of a run by a constant. While the initial credit lasts, every instant is checked. */
void check_serve_instant(struct orr_serve *w)
{
	enum { AT_FIRST = 20000000, PER_INSTANT = 256, PER_REQUEST = 12, PER_REPLICA = 16 };
	struct serve_metrics *m = w->metrics;
	uint64_t cost = (uint64_t)PER_REQUEST * w->n_req + (uint64_t)PER_REPLICA * w->n_replicas;
	if (!m->check_credit)
		m->check_credit = AT_FIRST;
	m->check_credit += PER_INSTANT;
	if (m->check_credit <= cost) {
		broken(w, NULL, wrong_idling(w)); /* a policy may idle a replica for one instant */
		return;
	}
	m->check_credit -= cost;
	check_serve_state(w);
}

/* Bytes of KV caches that were sent have been received, dropped with a replica, or are in transit. */
static const char *wrong_transfers(const struct orr_serve *w)
{
	const struct serve_metrics *m = w->metrics;
	double ended = m->kv_received + m->kv_dropped, rounding = ROUNDING * m->kv_sent + 1;
	if (fabs(m->kv_sent - ended - m->kv_moving) > rounding)
		return "bytes of KV caches that were sent are neither received, dropped nor in transit";
	return !w->live && !m->unfinished && fabs(m->kv_moving) > rounding ? "bytes of KV caches are in transit, but no request is live"
									   : NULL;
}

/* Little's law, exact if the run ends empty: the time integral of requests in the system is the sum of their times. */
static const char *wrong_integral(const struct orr_serve *w)
{
	const struct serve_metrics *m = w->metrics;
	double over_time = (double)m->live.total / 1e9;
	double rounding = 1e-9 + 4 * DBL_EPSILON * w->now_s; /* rounding of the times of a request */
	if (fabs(over_time - m->sojourn_s) > 1e-6 * m->sojourn_s + rounding * ((double)m->arrived + 1))
		return "the time integral of requests in the system differs from the sum of their times";
	return NULL;
}

void check_serve_end(struct orr_serve *w)
{
	struct serve_metrics *m = w->metrics;
	double completed = 0;
	broken(w, NULL, wrong_transfers(w));
	if (m->has_begun)
		broken(w, NULL, wrong_integral(w));
	for (uint32_t i = 0; i < w->n_replicas; i++)
		completed += (double)w->replica[i].completed;
	if (m->speculated.accepted + m->speculated.rejected != m->speculated.drafted)
		broken(w, NULL, "accepted and rejected draft tokens do not sum to the drafted ones");
	if (completed > (double)m->completed)
		broken(w, NULL, "the sum of requests completed by replicas exceeds the number of completed requests");
	if (m->arrived != m->completed + m->refused + m->shed + m->unfinished)
		broken(w, NULL, "requests that arrived have not ended");
}
