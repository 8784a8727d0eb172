/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Changes of the role of replicas under load (serve.roles=adaptive): docs/models/serve-disaggregation.md, "Changes of roles".
 *
 * A change concerns new work only: requests on the replica stay and are completed there, so none is lost or restarted.
 */
#include "serve/fleet.h"
#include "serve/lane.h"
#include "serve/metrics.h"
#include "serve/route.h"

#include <string.h>

/* The replicas of one role. */
struct side {
	uint32_t n;        /* replicas that are up */
	uint32_t lightest; /* the one with the fewest live requests, the first on ties */
	double waiting;    /* requests that wait, per replica */
	double kv;         /* mean share of KV blocks in use */
};

static struct side look(const struct orr_serve *w, enum orr_replica_role role)
{
	struct side s = { .lightest = NONE };
	for (uint32_t i = 0; i < w->n_replicas; i++) {
		const struct replica *r = &w->replica[i];
		const struct lane *l = lane_seen(w, i);
		if (r->state != REPLICA_UP || r->role != role || !l)
			continue;
		s.n++;
		s.waiting += (double)r->n_waiting + l->incoming;
		s.kv += kv_in_use(l);
		if (s.lightest == NONE || r->routed < w->replica[s.lightest].routed)
			s.lightest = i;
	}
	if (s.n) {
		s.waiting /= s.n;
		s.kv /= s.n;
	}
	return s;
}

static void change(struct orr_serve *w, uint32_t replica, enum orr_replica_role role)
{
	struct replica *r = &w->replica[replica];
	r->role = role;
	lane_on(w, replica)->hands_off = role == ORR_ROLE_PREFILL;
	if (role == ORR_ROLE_DECODE)
		group_remove(w, replica);
	else
		group_add(w, replica);
	w->metrics->role_changes++;
	w->blocks_freed = true; /* requests that wait for a decode replica look again */
}

/* Returns whether requests wait for a prefill replica, and only a change of roles can provide one. */
static bool lacks_prefill(const struct orr_serve *w)
{
	bool has_prefill = false, has_decode = false;
	for (uint32_t i = 0; w->fleet->n_held && i < w->n_replicas; i++) {
		bool is_up = w->replica[i].state == REPLICA_UP;
		has_prefill |= is_up && w->replica[i].role == ORR_ROLE_PREFILL;
		has_decode |= is_up && w->replica[i].role == ORR_ROLE_DECODE;
	}
	return has_decode && !has_prefill;
}

uint64_t roles_background(const struct orr_serve *w)
{
	return w->fleet->role_pending && !lacks_prefill(w);
}

/* Decides once per interval, for at most one replica. */
static void decide(struct orr_serve *w)
{
	const struct serve_settings *o = w->set;
	struct side p = look(w, ORR_ROLE_PREFILL), d = look(w, ORR_ROLE_DECODE);
	double held = d.n ? (double)moves_pending(w) / d.n : 0, decode = d.waiting + held;
	bool is_full = d.n && d.kv >= o->role_kv;
	if (lacks_prefill(w)) {
		change(w, d.lightest, ORR_ROLE_PREFILL);
		requests_release_held(w);
		return;
	}
	if (p.n && d.n > 1 && !is_full && p.waiting >= o->role_waiting && p.waiting > 2 * decode)
		change(w, d.lightest, ORR_ROLE_PREFILL);
	else if (d.n && p.n > 1 && (is_full || (decode >= o->role_waiting && decode > 2 * p.waiting)))
		change(w, p.lightest, ORR_ROLE_DECODE);
}

static void on_decision(struct engine *e, void *ctx, uint64_t subject, uint64_t arg)
{
	(void)subject, (void)arg;
	struct orr_serve *w = ctx;
	w->fleet->role_pending = false;
	if (w->is_over || (!w->live && !w->has_next) || w->error.code)
		return;
	serve_happen(w, serve_clock_s(w));
	decide(w);
	w->fleet->role_pending = true;
	eng_at(e, eng_now(e) + w->set->role_interval, PRIO_REPLICA, on_decision, w, 0, 0);
}

void roles_begin(struct orr_serve *w)
{
	if (!w->set->roles_adapt)
		return;
	bool has_prefill = false, has_decode = false;
	for (uint32_t d = 0; d < w->config->n_deployments; d++) {
		has_prefill |= w->config->deployment[d].role == ORR_ROLE_PREFILL;
		has_decode |= w->config->deployment[d].role == ORR_ROLE_DECODE;
	}
	if (!(w->policy->flags & ORR_SERVE_HANDS_OFF) || !has_prefill || !has_decode || w->config->n_models > 1) {
		orr_fail(&w->error, ORR_EINPUT, "serve.roles=adaptive: expected %s",
			!(w->policy->flags & ORR_SERVE_HANDS_OFF) ? "a policy that does not distinguish roles itself (ORR_SERVE_HANDS_OFF)"
			: w->config->n_models > 1                 ? "one model"
								  : "deployments with the roles prefill and decode");
		return;
	}
	if (!w->set->role_interval) {
		orr_fail(&w->error, ORR_EINPUT, "serve.role_interval: expected a time above 0 together with serve.roles=adaptive, found 0");
		return;
	}
	w->fleet->role_pending = true;
	eng_at(w->host.engine, eng_now(w->host.engine) + w->set->role_interval, PRIO_REPLICA, on_decision, w, 0, 0);
}
