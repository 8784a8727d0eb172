/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Admission: refuses, sheds or holds a request, or routes it to a replica. */
#include "serve/due.h"
#include "serve/explain.h"
#include "serve/fleet.h"
#include "serve/lane.h"
#include "serve/metrics.h"
#include "serve/requests.h"
#include "serve/route.h"
#include "serve/router.h"
#include "serve/runs.h"

#include "base/mem.h"

#include <math.h>

/* ---- whether a request can ever be served ---- */

/* Returns the memory of a replica of the deployment on the largest GPUs that it may get. */
static double largest_memory(const struct orr_serve *w, const struct serve_deployment *d)
{
	const struct serve_config *c = w->config;
	double most = 0;
	for (uint32_t t = 0; t < c->cluster->n_types; t++) {
		if (d->gpu_types && t < 64 && !(d->gpu_types >> t & 1))
			continue;
		if (!c->device || !c->device[t])
			return INFINITY;
		most = fmax(most, c->device[t]->memory_bytes * d->tp * d->pp);
	}
	return most > 0 ? most : INFINITY;
}

/* Returns the size of the smallest batch of the request: its own samples, or the next size of the table; 0: the table lacks both. */
static uint32_t smallest_batch(const struct served *m, const struct req *q)
{
	return served_has_batch(m, q->samples, q->prompt_asked) ? q->samples : served_batch_for(m, q->samples);
}

/* Returns the reason why the request fits on no replica that holds only the weights of its model; REASON_NONE: it fits on one. */
static enum req_reason table_refusal(const struct orr_serve *w, const struct req *q, const struct served *m)
{
	static const double rounding = 1e-9; /* as in memory.c */
	uint32_t size = smallest_batch(m, q);
	if (!size || !served_has_batch(m, size, q->prompt_asked))
		return REASON_BATCH;
	if (m->utilisation > w->set->utilisation_limit * (1 + rounding)) {
		w->metrics->used |= SERVE_USED_UTILISATION;
		return REASON_MEMORY;
	}
	struct served_memory x = served_memory_of(m, size);
	for (uint32_t d = 0; d < w->config->n_deployments; d++) {
		uint32_t model = w->fleet->part[d].model;
		if ((model == NONE || model == q->model) &&
			m->weight_bytes + fmax(x.before, x.peak) <= largest_memory(w, &w->config->deployment[d]) * (1 + rounding))
			return REASON_NONE;
	}
	return REASON_MEMORY;
}

/* Returns whether some replica has room for the prompt, and some for the whole request: all its tokens except the last, which no iteration
 * reads. keeps_roles: deployments have the roles of the scenario; else each may get any role. */
static bool has_room(const struct orr_serve *w, const struct req *q, bool keeps_roles)
{
	double prompt = q->prompt_asked, whole = (double)req_whole(q);
	bool prompt_fits = false, whole_fits = false;
	for (uint32_t d = 0; d < w->config->n_deployments; d++) {
		const struct fleet_part *p = &w->fleet->part[d];
		enum orr_replica_role role = keeps_roles ? w->config->deployment[d].role : ORR_ROLE_BOTH;
		if (p->model != q->model && p->model != NONE)
			continue;
		bool is_known = !isnan(p->kv_tokens);
		prompt_fits |= role != ORR_ROLE_DECODE && (!is_known || prompt <= p->kv_tokens);
		whole_fits |= role != ORR_ROLE_PREFILL && (!is_known || whole <= p->kv_tokens);
	}
	return prompt_fits && whole_fits;
}

/* Returns the reason why a language model can never serve the request. */
static enum req_reason llm_refusal(const struct orr_serve *w, const struct req *q, const struct served *m)
{
	if (m->longest && (double)req_whole(q) + 1 > m->longest)
		return REASON_CONTEXT;
	if (has_room(w, q, true))
		return REASON_NONE;
	if (!w->set->roles_adapt || !has_room(w, q, false))
		return REASON_KV;
	w->metrics->used |= SERVE_USED_ROLES;
	return REASON_NONE;
}

bool model_has_replicas(const struct orr_serve *w, uint32_t model)
{
	for (uint32_t d = 0; d < w->config->n_deployments; d++)
		if (w->fleet->part[d].model == model || w->fleet->part[d].model == NONE)
			return true;
	return false;
}

enum req_reason request_refusal(const struct orr_serve *w, const struct req *q)
{
	const struct served *m = w->config->model[q->model];
	if (!model_has_replicas(w, q->model))
		return REASON_NO_REPLICA;
	return m->kind == SERVED_TABLE ? table_refusal(w, q, m) : llm_refusal(w, q, m);
}

/* ---- deadlines ---- */

/* Returns the smallest latency of a batch over the devices that may run it; INFINITY: the table lacks it. */
static double fastest(const struct orr_serve *w, uint32_t model, uint32_t samples, uint32_t length)
{
	const struct serve_config *c = w->config;
	double least = fmin(INFINITY, served_latency(c->model[model], samples, length)); /* fmin() ignores NaN */
	for (size_t i = 0; c->placed && i < (size_t)c->n_deployments * c->cluster->n_types; i++) {
		const struct served *m = c->placed[i * c->n_models + model];
		least = m ? fmin(least, served_latency(m, samples, length)) : least;
	}
	return least;
}

/* Returns the time of an iteration of the prompt alone on the fastest candidate; 0: there is no candidate. */
static double shortest_prompt(const struct orr_serve *w, const struct req *q)
{
	uint32_t groups[] = { q->model, w->config->n_models }, n;
	double best = INFINITY;
	for (int k = 0; k < 2; k++) {
		const uint32_t *replica = group_kinds(w, &w->fleet->group[groups[k]], &n);
		for (uint32_t i = 0; i < n; i++)
			best = fmin(best, orr_iter_estimate(w, replica[i], 0, 0, q->prompt_asked, 0));
	}
	return isfinite(best) ? best : 0;
}

/* Returns the shortest possible time from start to end, as far as known at arrival. */
static double shortest_service(const struct orr_serve *w, const struct req *q)
{
	const struct served *m = w->config->model[q->model];
	if (m->kind == SERVED_TABLE) {
		double s = fastest(w, q->model, smallest_batch(m, q), q->prompt_asked);
		return isfinite(s) ? s : 0;
	}
	return shortest_prompt(w, q);
}

/* Returns whether run_end() is due for a run of the request. */
static bool has_untold_end(const struct orr_serve *w, orr_req r)
{
	for (uint32_t i = w->over_told; i < w->n_over; i++)
		for (uint32_t k = 0; k < w->run[w->over[i]].n; k++)
			if (w->run[w->over[i]].handle[k] == r)
				return true;
	return false;
}

/* Event of serve.shed=late: sheds the request if it still waits at its deadline. A request that has an answer of this instant may complete
 * in run_end(), so it is looked at again 1 ns later. */
static void on_late(struct engine *e, void *ctx, uint64_t subject, uint64_t arg)
{
	(void)arg;
	struct orr_serve *w = ctx;
	struct req *q = req_of(w, subject);
	if (!q || q->state != ORR_REQ_WAITING || w->error.code)
		return;
	if (has_untold_end(w, subject)) {
		eng_at(e, eng_now(e) + 1, PRIO_TIMER, on_late, w, subject, 0);
		return;
	}
	serve_happen(w, q->deadline_s);
	req_turn_away(w, q, ORR_REQ_SHED, REASON_DEADLINE, q->deadline_s);
}

/* Event of serve.shed=hopeless, 1 ns after the latest start that can meet the deadline: sheds the request if it has not started. */
static void on_hopeless(struct engine *e, void *ctx, uint64_t subject, uint64_t arg)
{
	(void)e, (void)arg;
	struct orr_serve *w = ctx;
	struct req *q = req_of(w, subject);
	if (!q || q->state != ORR_REQ_WAITING || !isnan(q->first_start_s) || w->error.code)
		return;
	serve_happen(w, serve_clock_s(w));
	req_turn_away(w, q, ORR_REQ_SHED, REASON_DEADLINE, w->now_s);
}

static void watch_deadline(struct orr_serve *w, const struct req *q)
{
	if (w->set->shed == SHED_NO || !(q->deadline_s < 4e9))
		return;
	orr_req r = req_handle(w, req_slot(w, q));
	if (w->set->shed == SHED_LATE)
		eng_at(w->host.engine, serve_ns(q->deadline_s), PRIO_TIMER, on_late, w, r, 0);
	else
		eng_at(w->host.engine, serve_ns(q->deadline_s - shortest_service(w, q)) + 1, PRIO_TIMER, on_hopeless, w, r, 0);
}

/* ---- placement ---- */

/* Returns the number of requests of the model on no replica, beyond the limit of the replicas that serve this model only. */
static uint64_t beyond_own(const struct orr_serve *w, uint32_t model)
{
	uint64_t own = group_count(w, model) ? w->fleet->group[model].n : 1, most = w->set->queue_limit * own;
	uint64_t n = w->fleet->unrouted[model];
	return n > most ? n - most : 0;
}

/* Returns whether the queue of the replica is full, or the policy's own queue (NONE), which has room for the limit of each replica. */
static bool is_full(const struct orr_serve *w, const struct req *q, uint32_t replica)
{
	uint64_t limit = w->set->queue_limit;
	if (limit == UINT64_MAX)
		return false;
	if (replica != NONE)
		return w->replica[replica].routed >= limit;
	uint64_t beyond = beyond_own(w, q->model), any = w->fleet->group[w->config->n_models].n; /* q is one of these requests */
	for (uint32_t m = 0; m < w->config->n_models && beyond && any; m++)
		beyond += m == q->model ? 0 : beyond_own(w, m);
	return beyond > limit * any;
}

/* Returns whether a deployment whose replicas can hold the request is about to get another replica: after a failure, or by autoscaling. */
static bool may_fit_later(const struct orr_serve *w, const struct req *q)
{
	for (uint32_t d = 0; d < w->config->n_deployments; d++) {
		const struct fleet_part *p = &w->fleet->part[d];
		enum orr_replica_role role = w->config->deployment[d].role;
		bool is_known = !isnan(p->kv_tokens), is_coming = p->present < p->wanted || (p->is_scaled && !p->present);
		if ((p->model != q->model && p->model != NONE) || role == ORR_ROLE_DECODE)
			continue;
		if (is_known && (double)route_tokens(q, role) > p->kv_tokens)
			continue;
		for (uint32_t i = p->first; i < p->first + p->slots && !is_coming; i++)
			is_coming = w->replica[i].state == REPLICA_STARTING;
		if (is_coming)
			return true;
	}
	return false;
}

/* Returns whether no replica was found and the policy will not assign one. */
static bool must_hold(const struct orr_serve *w, const struct req *q, uint32_t replica)
{
	return replica == NONE && (!router_is_auto(w) || !w->ops->route || !group_count(w, q->model));
}

/* Makes due replica() calls before route(). Returns whether the request still waits; replica() may have placed or ended it. */
static bool is_still_to_place(struct orr_serve *w, const struct req *q)
{
	if (w->n_event && w->ops->route && router_is_auto(w))
		due_tell_events(w);
	return !w->error.code && q->state == ORR_REQ_WAITING && q->replica == NONE;
}

/* Counts an unrouted request for autoscaling by rate, for all deployments that could serve it. Routing does not count it again. */
static void count_unrouted(struct orr_serve *w, struct req *q)
{
	for (uint32_t d = 0; d < w->config->n_deployments && !q->has_come; d++) {
		struct fleet_part *p = &w->fleet->part[d];
		p->came += (p->model == NONE || p->model == q->model) && w->config->deployment[d].role != ORR_ROLE_DECODE;
	}
	q->has_come = true;
}

static void keep_held(struct fleet *f, orr_req r)
{
	MEM_GROW(f->held, f->n_held, f->cap_held);
	f->held[f->n_held++] = r;
}

/* The request waits for a replica to come up; is_too_small: those that are up never hold it. */
static void hold(struct orr_serve *w, struct req *q, bool is_too_small)
{
	count_unrouted(w, q);
	keep_held(w->fleet, req_handle(w, req_slot(w, q)));
	if (is_too_small)
		explain_lacks_replica(w, q);
	else
		explain_waits(w, q);
	q->is_arriving = false;
}

static void place(struct orr_serve *w, struct req *q, bool is_new)
{
	struct fleet *f = w->fleet;
	f->same_ticks = 0; /* no tick has counted this request yet */
	if (!is_still_to_place(w, q))
		return;
	bool has_none = !group_count(w, q->model); /* the policy is not asked if no replica serves the model */
	uint32_t replica = has_none ? NONE : route_pick(w, q);
	if (w->error.code)
		return;
	if (replica == ORR_ROUTER_REJECTS) {
		route_reject(w, q);
		return;
	}
	bool is_too_small = replica != NONE && route_is_too_small(w, q, replica);
	if (is_too_small && (route_fits_now(w, q) || !may_fit_later(w, q))) {
		req_turn_away(w, q, ORR_REQ_REFUSED, REASON_KV, w->now_s);
		return;
	}
	replica = is_too_small ? NONE : replica;
	if (is_new && is_full(w, q, replica)) {
		req_turn_away(w, q, ORR_REQ_SHED, REASON_QUEUE_LIMIT, w->now_s);
		return;
	}
	if (is_too_small || must_hold(w, q, replica)) {
		hold(w, q, is_too_small);
		return;
	}
	if (replica != NONE)
		req_set_replica(w, q, replica);
	else
		count_unrouted(w, q);
	if (replica == NONE)
		explain_waits(w, q);
	if (!copy_start(w, q))
		due_arrival(w, q);
}

void serve_arrive(struct orr_serve *w, const struct request_rec *rec)
{
	struct req *q = req_new(w, rec);
	if (!q) {
		w->is_over = true;
		return;
	}
	enum req_reason why = request_refusal(w, q);
	if (why) {
		req_turn_away(w, q, ORR_REQ_REFUSED, why, q->arrival_s);
		return;
	}
	watch_deadline(w, q);
	place(w, q, true);
}

void request_place(struct orr_serve *w, struct req *q)
{
	place(w, q, false);
}

void requests_release_held(struct orr_serve *w)
{
	struct fleet *f = w->fleet;
	orr_req *held = f->held;
	uint32_t n = f->n_held;
	f->held = NULL; /* place() may hold a request again */
	f->n_held = f->cap_held = 0;
	for (uint32_t i = 0; i < n; i++) {
		struct req *q = req_of(w, held[i]);
		if (!q || q->state == ORR_REQ_ENDED)
			continue;
		if (group_count(w, q->model))
			place(w, q, false);
		else
			keep_held(f, held[i]);
	}
	mem_free(held);
}

/* Returns whether the request is held although replicas serve its model, because they are too small. */
static bool is_held_for_size(const struct orr_serve *w, const struct req *q)
{
	return q && q->state == ORR_REQ_WAITING && q->replica == NONE && group_count(w, q->model);
}

/* Event of requests_give_up_held(). */
static void on_give_up(struct engine *e, void *ctx, uint64_t subject, uint64_t arg)
{
	(void)e, (void)subject, (void)arg;
	struct orr_serve *w = ctx;
	serve_happen(w, serve_clock_s(w));
	for (uint32_t i = 0; i < w->fleet->n_held; i++) {
		struct req *q = req_of(w, w->fleet->held[i]);
		if (is_held_for_size(w, q))
			req_turn_away(w, q, ORR_REQ_REFUSED, REASON_KV, w->now_s);
	}
}

bool requests_give_up_held(struct orr_serve *w)
{
	for (uint32_t i = 0; i < w->fleet->n_held; i++) {
		if (!is_held_for_size(w, req_of(w, w->fleet->held[i])))
			continue;
		eng_at(w->host.engine, eng_now(w->host.engine), PRIO_REPLICA, on_give_up, w, 0, 0);
		return true;
	}
	return false;
}
