/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A replica that serves a language model: its life and its residents. */
#include "serve/explain.h"
#include "serve/group.h"
#include "serve/lane.h"
#include "serve/metrics.h"
#include "serve/speculate.h"
#include "serve/stages.h"

#include "base/mem.h"
#include "hwmodel/device.h"

#include <math.h>

/* ---- life ---- */

static struct served_on *place_model(
	const struct orr_serve *w, const struct replica *r, const struct group_net *group, struct orr_error *err)
{
	const struct serve_config *c = w->config;
	const struct serve_deployment *d = &c->deployment[r->deployment];
	const struct device *device = c->device && r->gpu_type < c->cluster->n_types ? c->device[r->gpu_type] : NULL;
	struct served_place p = { .device = device,
		.profile = c->profile && r->gpu_type < c->cluster->n_types ? c->profile[r->gpu_type] : NULL,
		.tp = d->tp,
		.pp = d->pp,
		.precision = c->precision,
		.kv_reads = serve_kv_reads(c->options),
		.host = serve_engine_host(c->options),
		.net = group_net_served(group) };
	if (device) {
		p.tp_Bps = p.pp_Bps = device->link_Bps;
		p.tp_latency_s = p.pp_latency_s = device->link_latency_s;
	}
	return served_on_new(c->model[r->model], &p, err);
}

/* Returns the place of the times shared by all replicas of a deployment on GPUs of one type. */
static struct served_on **shared_times(struct orr_serve *w, const struct replica *r)
{
	size_t types = (size_t)w->config->cluster->n_types + 1, type = r->gpu_type < types ? r->gpu_type : types - 1;
	if (!w->on)
		w->on = mem_zalloc(types * w->config->n_deployments + 1, sizeof *w->on);
	return &w->on[types * r->deployment + type];
}

/* Returns the times of a replica's iterations. They depend on its GPUs' places only if its messages leave a node. */
static struct served_on *times_of(struct orr_serve *w, const struct replica *r, const struct group_net *group, struct orr_error *err)
{
	if (group)
		return place_model(w, r, group, err);
	struct served_on **on = shared_times(w, r);
	if (!*on)
		*on = place_model(w, r, NULL, err);
	return *on;
}

void lanes_free_times(struct orr_serve *w)
{
	size_t n = w->on ? ((size_t)w->config->cluster->n_types + 1) * w->config->n_deployments : 0;
	for (size_t i = 0; i < n; i++)
		served_on_free(w->on[i]);
	mem_free(w->on);
}

struct lane *lane_new(struct orr_serve *w, uint32_t replica, struct orr_error *err)
{
	const struct replica *r = &w->replica[replica];
	struct group_net *group = group_net_new(w, replica, err);
	struct served_on *on = err->code ? NULL : times_of(w, r, group, err);
	if (!on) {
		group_net_free(group);
		return NULL;
	}
	if (!w->lane)
		w->lane = mem_zalloc_large(w->n_replicas, sizeof *w->lane);
	struct lane *l = &w->lane[replica];
	*l = (struct lane){ 0 };
	l->speculates = w->set->speculation->most;
	l->replica = replica;
	l->model = w->config->model[r->model];
	l->on = on;
	l->group = group;
	l->first = l->last = NONE;
	l->again_ns = -1;
	l->end_s = -1;
	l->counted_s = r->up_since_s;
	l->plan_most = 1;
	l->overlaps = w->set->kv_overlap;
	l->has_tiers = w->tiers;
	if (!kv_open(w, l, r->deployment, err)) {
		lane_free(l);
		return NULL;
	}
	decodes_init(l);
	l->hands_off = r->role == ORR_ROLE_PREFILL && (w->policy->flags & ORR_SERVE_HANDS_OFF);
	bool is_by_stage = w->policy->flags & ORR_SERVE_BY_STAGE;
	uint32_t pp = w->config->deployment[r->deployment].pp;
	if (is_by_stage || (w->set->pipeline == PIPELINE_MICRO_BATCHES && pp > 1))
		stages_open(l, pp, is_by_stage);
	if (l->stages && w->set->speculation->most) {
		lane_free(l);
		orr_fail(err, ORR_EINPUT,
			"serve.draft_tokens: the policy starts work by pipeline stage, which is not speculative: expected 0");
		return NULL;
	}
	return l;
}

void lane_free(struct lane *l)
{
	if (!l)
		return;
	decodes_free(l);
	stages_free(l->stages);
	prefix_free(l->prefix);
	if (l->group)
		served_on_free(l->on); /* else shared */
	group_net_free(l->group);
	mem_free(l->list);
}

/* ---- checks at the start of actions ---- */

struct lane *lane_at(struct orr_serve *w, uint32_t replica, const char *what)
{
	struct lane *l = lane_on(w, replica);
	if (!l && replica >= w->n_replicas)
		serve_fail(w, ORR_EFAIL, NULL, "%s on replica %u: expected a number below %u", what, replica, w->n_replicas);
	else if (!l)
		serve_fail(
			w, ORR_EFAIL, NULL, "%s on replica %u: expected a replica that is up and serves a language model", what, replica);
	return l;
}

struct req *lane_actor(struct orr_serve *w, orr_req r, enum orr_req_state state, const char *what)
{
	struct req *q = req_actor(w, r, state, what);
	if (!q)
		return NULL;
	if (q->replica == NONE) {
		serve_fail(w, ORR_EFAIL, q, "%s: this request is on no replica: expected a request on a replica", what);
		return NULL;
	}
	return lane_at(w, q->replica, what) ? q : NULL;
}

/* ---- residents ---- */

static void append(struct orr_serve *w, struct lane *l, struct req *q)
{
	uint32_t slot = req_slot(w, q);
	q->res_prev = l->last;
	q->res_next = NONE;
	if (l->last == NONE)
		l->first = slot;
	else
		w->req[l->last].res_next = slot;
	l->last = slot;
	l->n++;
}

static void detach(struct orr_serve *w, struct lane *l, struct req *q)
{
	if (q->res_prev == NONE)
		l->first = q->res_next;
	else
		w->req[q->res_prev].res_next = q->res_next;
	if (q->res_next == NONE)
		l->last = q->res_prev;
	else
		w->req[q->res_next].res_prev = q->res_prev;
	q->res_prev = q->res_next = NONE;
	l->n--;
}

/* Removes the prompt of the request from the next iteration. */
static void unlist(struct lane *l, struct req *q, uint32_t slot)
{
	q->next_tokens = 0;
	uint32_t kept = 0;
	for (uint32_t i = 0; i < l->n_list; i++)
		if (l->list[i] != slot)
			l->list[kept++] = l->list[i];
	l->n_list = kept;
}

void lane_depart(struct orr_serve *w, struct lane *l, struct req *q)
{
	if (q->heap_at != NONE)
		decodes_leave(w, l, q);
	else if (l->stages)
		stages_leave(w, l->stages, q);
	if (q->next_tokens)
		unlist(l, q, req_slot(w, q));
	detach(w, l, q);
	q->is_paused = false;
}

void lane_count_messages(struct orr_serve *w, struct lane *l, const struct llm_load *x)
{
	const struct orr_error *e = group_net_error(l->group);
	l->network_bytes = served_network_bytes(l->on, x);
	w->metrics->has_groups = true;
	w->metrics->group_bytes += l->network_bytes;
	if (e->code)
		serve_fail(w, e->code, NULL, "messages of replica %u: %s", l->replica, e->text);
}

void lane_settle(const struct orr_serve *w, struct req *q)
{
	const struct lane *l = q->heap_at == NONE ? NULL : lane_seen(w, q->replica);
	if (l)
		decodes_settle(l, q);
}

/* Makes all tokens done part of the prompt again. */
static void restart(struct req *q)
{
	if (q->done > q->prompt)
		q->prompt = q->done;
	q->done = 0;
	q->is_swapped = false;
}

/* Records that q lacks blocks, and which resident holds the most. */
static void name_holder(struct orr_serve *w, const struct lane *l, const struct req *q, uint32_t tokens, uint32_t keep_free)
{
	const struct req *most = NULL;
	uint64_t held = 0;
	if (!explain_lacks_blocks(w, l, q, kv_blocks_for(l, tokens > q->done ? tokens : q->done) + keep_free))
		return;
	for (uint32_t slot = l->first; slot != NONE; slot = w->req[slot].res_next) {
		struct req now = w->req[slot];
		if (now.heap_at != NONE)
			decodes_settle(l, &now);
		if (!most || kv_holds(l, &now) > held) {
			most = &w->req[slot];
			held = kv_holds(l, &now);
		}
	}
	explain_holder(w, l, most, held);
}

bool orr_admit(struct orr_serve *w, orr_req r, uint32_t tokens, uint32_t keep_free)
{
	struct req *q = lane_actor(w, r, ORR_REQ_WAITING, "orr_admit()");
	if (!q)
		return false;
	struct lane *l = lane_of(w, q);
	if (q->model != w->replica[q->replica].model) {
		serve_fail(w, ORR_EFAIL, q, "orr_admit(): replica %u serves model %s: expected a replica of model %s", q->replica,
			l->model->name, w->config->model[q->model]->name);
		return false;
	}
	if (q->done && q->kv_at != q->replica) { /* another replica holds the tokens of the request */
		explain_evicted(w, q, q->done);
		restart(q);
		explain_waits(w, q);
	}
	bool is_new = !q->done;
	if (!kv_take(w, l, q, tokens, keep_free)) {
		if (w->explain)
			name_holder(w, l, q, tokens, keep_free);
		return false;
	}
	if (is_new)
		serve_metrics_looked_up(w, q->prompt, q->done);
	if (q->is_swapped)
		l->copy_s += (double)q->done * l->model->kv_bytes / w->set->swap_Bps;
	q->is_swapped = false;
	q->state = ORR_REQ_RESIDENT;
	req_waits_no_more(w, q);
	append(w, l, q);
	explain_admitted(w, q);
	if (q->done > q->prompt && l->stages)
		stages_join(w, l, q);
	else if (q->done > q->prompt)
		decodes_join(w, l, q);
	return true;
}

bool orr_kv_grow(struct orr_serve *w, orr_req r, uint32_t tokens, uint32_t keep_free)
{
	struct req *q = lane_actor(w, r, ORR_REQ_RESIDENT, "orr_kv_grow()");
	if (!q)
		return false;
	struct lane *l = lane_of(w, q);
	uint32_t has = orr_kv_held(w, r), wants = kv_blocks_for(l, tokens);
	if (wants <= has)
		return true;
	if ((uint64_t)(wants - has) + keep_free > l->avail)
		return false;
	decodes_hold(w, l, q, wants - has);
	kv_spend(w, l, wants - has);
	return true;
}

void orr_evict(struct orr_serve *w, orr_req r, enum orr_evict_how how)
{
	struct req *q = lane_actor(w, r, ORR_REQ_RESIDENT, "orr_evict()");
	if (!q)
		return;
	struct lane *l = lane_of(w, q);
	if (lane_is_in_flight(l, q)) {
		serve_fail(w, ORR_EFAIL, q, "orr_evict(): the request is in the current iteration: expected a request outside it");
		return;
	}
	lane_depart(w, l, q);
	kv_give(w, l, q);
	explain_evicted(w, q, how == ORR_EVICT_SWAP ? 0 : q->done);
	if (how == ORR_EVICT_SWAP && q->done) {
		l->copy_s += (double)q->done * l->model->kv_bytes / w->set->swap_Bps;
		q->is_swapped = true;
		w->metrics->swaps++;
		q->kv_at = q->replica;
	} else {
		restart(q);
	}
	q->preemptions++;
	q->state = ORR_REQ_WAITING;
	req_waits(w, q);
	explain_waits(w, q);
}

void orr_pause(struct orr_serve *w, orr_req r)
{
	struct req *q = lane_actor(w, r, ORR_REQ_RESIDENT, "orr_pause()");
	if (!q)
		return;
	struct lane *l = lane_of(w, q);
	if (q->heap_at == NONE)
		serve_fail(w, ORR_EFAIL, q, "orr_pause(): the request %s: expected one that decodes",
			q->is_paused ? "is paused already" : "has not finished its prompt");
	else if (l->is_flying)
		serve_fail(w, ORR_EFAIL, q, "orr_pause(): an iteration runs on replica %u: expected a call between iterations", q->replica);
	else {
		decodes_leave(w, l, q);
		q->is_paused = true;
		explain_paused(w, q);
	}
}

void orr_resume(struct orr_serve *w, orr_req r)
{
	struct req *q = lane_actor(w, r, ORR_REQ_RESIDENT, "orr_resume()");
	if (!q)
		return;
	struct lane *l = lane_of(w, q);
	if (!q->is_paused)
		serve_fail(w, ORR_EFAIL, q, "orr_resume(): the request is not paused: expected a paused request");
	else if (l->is_flying)
		serve_fail(
			w, ORR_EFAIL, q, "orr_resume(): an iteration runs on replica %u: expected a call between iterations", q->replica);
	else {
		q->is_paused = false;
		decodes_join(w, l, q);
	}
}

/* ---- queries of policies ---- */

bool orr_is_decoding(const struct orr_serve *w, orr_req r)
{
	const struct req *q = req_of(w, r);
	return q && (q->heap_at != NONE || stages_is_decoding(w, q));
}

orr_req orr_resident_first(const struct orr_serve *w, uint32_t replica)
{
	const struct lane *l = lane_seen(w, replica);
	return l && l->first != NONE ? req_handle(w, l->first) : 0;
}

orr_req orr_resident_next(const struct orr_serve *w, orr_req r)
{
	const struct req *q = req_of(w, r);
	return q && q->state == ORR_REQ_RESIDENT && q->res_next != NONE ? req_handle(w, q->res_next) : 0;
}

uint32_t orr_residents(const struct orr_serve *w, uint32_t replica)
{
	const struct lane *l = lane_seen(w, replica);
	return l ? l->n : 0;
}

uint32_t orr_decodes(const struct orr_serve *w, uint32_t replica)
{
	const struct lane *l = lane_seen(w, replica);
	return !l ? 0 : l->stages ? l->stages->decodes : l->ends.n;
}
