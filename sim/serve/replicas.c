/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The life of a replica: starting, up, draining, off. */
#include "serve/answers.h"
#include "serve/due.h"
#include "serve/explain.h"
#include "serve/fleet.h"
#include "serve/guard.h"
#include "serve/lane.h"
#include "serve/memory.h"
#include "serve/metrics.h"
#include "serve/route.h"
#include "serve/runs.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- start ---- */

static void settle_size(struct orr_serve *w, uint32_t replica)
{
	struct replica *r = &w->replica[replica];
	const struct device *device =
		w->config->device && r->gpu_type < w->config->cluster->n_types ? w->config->device[r->gpu_type] : NULL;
	r->memory = device ? device->memory_bytes * r->gpus : INFINITY;
}

/* Makes the lane of a language model, and records the size of its cache. */
static bool make_lane(struct orr_serve *w, uint32_t replica)
{
	struct replica *r = &w->replica[replica];
	if (r->model == NONE || w->config->model[r->model]->kind != SERVED_LLM)
		return true;
	struct orr_error err = { 0 };
	r->lane = lane_new(w, replica, &err);
	if (!r->lane) {
		serve_fail(w, err.code ? err.code : ORR_EINPUT, NULL, "replica %u: %s", replica,
			err.text[0] ? err.text : "its lane cannot be created");
		return false;
	}
	struct fleet_part *p = &w->fleet->part[r->deployment];
	double tokens = (double)r->lane->total * r->lane->block_tokens;
	p->kv_tokens = isnan(p->kv_tokens) || tokens > p->kv_tokens ? tokens : p->kv_tokens;
	return true;
}

static bool is_present(uint8_t state)
{
	return state == REPLICA_STARTING || state == REPLICA_UP;
}

static void put_in(struct bitset *b, uint32_t i, bool is_member)
{
	if (is_member)
		bitset_add(b, i);
	else
		bitset_remove(b, i);
}

static void set_state(struct orr_serve *w, uint32_t replica, enum replica_state state)
{
	struct fleet *f = w->fleet;
	struct replica *r = &w->replica[replica];
	struct fleet_part *p = &f->part[r->deployment];
	p->present += is_present((uint8_t)state);
	p->present -= is_present(r->state);
	r->state = (uint8_t)state;
	put_in(&f->off, replica, state == REPLICA_OFF);
	put_in(&f->revivable, replica, state == REPLICA_DRAINING && !f->more[replica].is_doomed);
}

static void open_to_requests(struct orr_serve *w, uint32_t replica)
{
	group_add(w, replica);
	due_event(w, replica, ORR_REPLICA_UP);
	replica_dirty(w, replica);
	requests_release_held(w);
}

static void join(struct orr_serve *w, uint32_t replica)
{
	struct replica *r = &w->replica[replica];
	set_state(w, replica, REPLICA_UP);
	r->up_since_s = serve_clock_s(w);
	serve_metrics_replica(w, replica, REPLICA_UP);
	serve_metrics_fleet(w, 0, (int64_t)r->gpus);
	settle_size(w, replica);
	if (!make_lane(w, replica))
		return;
	loading_begin(w, replica);
	bitset_add(w->idle, replica);
	w->blocks_freed = true;
	open_to_requests(w, replica);
}

static void on_ready(struct engine *e, void *ctx, uint64_t subject, uint64_t arg)
{
	(void)e, (void)arg;
	struct orr_serve *w = ctx;
	serve_happen(w, serve_clock_s(w));
	if (w->replica[subject].state == REPLICA_STARTING)
		join(w, (uint32_t)subject);
}

bool replica_start(struct orr_serve *w, uint32_t replica, int64_t delay_ns)
{
	struct replica *r = &w->replica[replica];
	if (!gpus_take(w, replica))
		return false;
	set_state(w, replica, REPLICA_STARTING);
	w->fleet->more[replica].is_doomed = false;
	w->fleet->more[replica].why = 0;
	if (delay_ns)
		r->ready = eng_at(w->host.engine, eng_now(w->host.engine) + delay_ns, PRIO_REPLICA, on_ready, w, replica, 0);
	else
		join(w, replica);
	return true;
}

/* ---- loss ---- */

static int by_number(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;
	return (x[0] > y[0]) - (x[0] < y[0]);
}

/* Appends the requests of the runs in the list, as requests_of(). Those of parts stay in their other runs. */
static uint64_t *add_members(const struct orr_serve *w, const struct run_list *l, uint64_t *found, uint32_t *n, uint32_t *cap)
{
	for (uint32_t x = l->first; x != NONE; x = w->run[x].next) {
		for (uint32_t i = 0; i < w->run[x].n && !w->run[x].is_part; i++) {
			const struct req *q = req_of(w, w->run[x].handle[i]);
			MEM_GROW(found, 2 * *n + 1, *cap);
			found[2 * *n] = q->number;
			found[2 * (*n)++ + 1] = req_slot(w, q);
		}
	}
	return found;
}

/* Returns the live requests that are on the replica or in its runs, as pairs (number, slot) in order of arrival; the caller
 * frees them. */
static uint64_t *requests_of(const struct orr_serve *w, uint32_t replica, uint32_t *n)
{
	uint64_t *found = NULL;
	uint32_t cap = 0, kept = 0;
	*n = 0;
	for (uint32_t i = w->replica[replica].first_on; i != NONE; i = w->req[i].on_next) {
		MEM_GROW(found, 2 * *n + 1, cap);
		found[2 * *n] = w->req[i].number;
		found[2 * (*n)++ + 1] = i;
	}
	const struct run_list *lists[] = { &w->replica[replica].runs, &w->replica[replica].sending, &w->replica[replica].waiting,
		&w->replica[replica].later };
	for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
		found = add_members(w, lists[i], found, n, &cap);
	if (*n)
		qsort(found, *n, 2 * sizeof *found, by_number);
	for (uint32_t i = 0; i < *n; i++)
		if (!i || found[2 * i + 1] != found[2 * kept - 1])
			memmove(&found[2 * kept++], &found[2 * i], 2 * sizeof *found);
	*n = kept;
	return found;
}

/* Removes a request from a lost replica: it waits again, without progress. */
static void throw_off(struct orr_serve *w, struct req *q)
{
	uint32_t lost = 0;
	if (q->state == ORR_REQ_ENDED)
		return;
	if (w->config->model[q->model]->kind == SERVED_LLM) {
		struct lane *l = lane_of(w, q);
		if (l && q->state == ORR_REQ_RESIDENT) {
			lane_depart(w, l, q);
			kv_give(w, l, q);
		} else if (q->state == ORR_REQ_MOVING) {
			moves_drop(w, q);
		}
		lost = q->done;
		q->prompt = q->prompt_asked;
		q->done = q->outputs = q->next_tokens = 0;
		q->first_token_s = q->last_token_s = NAN;
		q->is_paused = q->is_swapped = false;
	}
	explain_evicted(w, q, lost);
	req_unlist(w, q);
	runs_detach(w, q);
	guard_forget(w, q);
	if (q->state != ORR_REQ_WAITING)
		req_waits(w, q);
	q->state = ORR_REQ_WAITING;
	explain_waits(w, q);
	answers_forget(w, q);
	q->restarts++;
}

/* Keeps the request until replicas_place_thrown(). */
static void keep_thrown(struct orr_serve *w, struct req *q)
{
	struct fleet *f = w->fleet;
	req_set_replica(w, q, NONE);
	MEM_GROW(f->thrown, f->n_thrown, f->cap_thrown);
	f->thrown[f->n_thrown++] = req_handle(w, req_slot(w, q));
}

/* Ends the running iteration and the transfers to the replica, and counts the use of its cache. */
static void lose_lane(struct orr_serve *w, struct lane *l)
{
	struct req *q;
	lane_abandon(w, l);
	for (uint32_t i = 0; (q = moves_to(w, l->replica, &i)) != NULL;) {
		throw_off(w, q);
		keep_thrown(w, q);
	}
	w->replica[l->replica].kv_use_s += kv_use_s(l, serve_clock_s(w));
}

void replica_leave(struct orr_serve *w, uint32_t replica)
{
	struct replica *r = &w->replica[replica];
	uint8_t was = r->state;
	if (was == REPLICA_OFF)
		return;
	serve_metrics_memory(w, replica);
	group_remove(w, replica);
	replica_set_busy(w, replica, false);
	bitset_remove(w->idle, replica);
	set_state(w, replica, REPLICA_OFF);
	eng_cancel(w->host.engine, r->ready);
	uint32_t n;
	uint64_t *thrown = requests_of(w, replica, &n);
	for (uint32_t i = 0; i < n; i++)
		throw_off(w, &w->req[thrown[2 * i + 1]]);
	if (was != REPLICA_STARTING) {
		r->up_s += serve_clock_s(w) - r->up_since_s;
		serve_metrics_fleet(w, 0, -(int64_t)r->gpus);
		runs_lost(w, replica);
		if (r->lane)
			lose_lane(w, r->lane);
		lane_free(r->lane);
		r->lane = NULL;
		due_event(w, replica, ORR_REPLICA_DOWN);
	}
	w->blocks_freed = true; /* requests that wait for a decode replica look again */
	gpus_give(w, replica);
	for (uint32_t i = 0; i < n; i++)
		keep_thrown(w, &w->req[thrown[2 * i + 1]]);
	mem_free(thrown);
}

void replicas_place_thrown(struct orr_serve *w)
{
	struct fleet *f = w->fleet;
	for (uint32_t i = 0; i < f->n_thrown && !w->error.code; i++) {
		struct req *q = req_of(w, f->thrown[i]);
		if (q && q->state == ORR_REQ_WAITING && q->replica == NONE)
			request_place(w, q);
	}
	f->n_thrown = 0;
}

/* ---- draining ---- */

void replica_close(struct orr_serve *w, uint32_t replica)
{
	group_remove(w, replica);
	bitset_remove(w->idle, replica);
	set_state(w, replica, REPLICA_DRAINING);
}

void replica_stops(struct orr_serve *w, uint32_t replica, enum replica_stop why)
{
	uint8_t *now = &w->fleet->more[replica].why;
	*now = why > *now ? (uint8_t)why : *now;
}

void replica_drain(struct orr_serve *w, uint32_t replica, bool is_doomed)
{
	struct replica *r = &w->replica[replica];
	w->fleet->more[replica].is_doomed |= is_doomed;
	if (is_doomed)
		bitset_remove(&w->fleet->revivable, replica);
	replica_stops(w, replica, is_doomed ? STOP_NOTICE : STOP_SCALED);
	if (r->state == REPLICA_STARTING) {
		replica_leave(w, replica);
	} else if (r->state == REPLICA_UP) {
		replica_close(w, replica);
		due_event(w, replica, ORR_REPLICA_DRAINING);
		replica_dirty(w, replica);
	}
	replica_leave_if_empty(w, replica);
}

void replica_undrain(struct orr_serve *w, uint32_t replica)
{
	set_state(w, replica, REPLICA_UP);
	w->fleet->more[replica].why = 0;
	if (!w->fleet->more[replica].is_busy)
		bitset_add(w->idle, replica);
	open_to_requests(w, replica);
}

/* ---- beginning and end ---- */

static int settle_part(struct orr_serve *w, uint32_t d)
{
	const struct serve_deployment *x = &w->config->deployment[d];
	struct fleet_part *p = &w->fleet->part[d];
	p->model = x->model == NONE && w->config->n_models == 1 ? 0 : x->model;
	p->is_scaled = x->most != 0;
	p->least = p->is_scaled ? x->least : x->replicas;
	p->most = p->is_scaled ? x->most : x->replicas;
	p->wanted = x->replicas < p->least ? p->least : x->replicas > p->most ? p->most : x->replicas;
	/* During a notice a replica and its replacement exist at the same time. */
	p->slots = orr_arg_time_ns(w->config->options, "notice") ? 2 * p->most : p->most;
	p->first = d ? p[-1].first + p[-1].slots : 0;
	p->kv_tokens = NAN;
	if (!x->tp || !x->pp || p->least > p->most)
		return orr_fail(&w->error, ORR_EINPUT, "deployment %u: %s", d,
			p->least > p->most ? "expected \"least\" to be at most \"most\"" : "expected tp and pp of at least 1");
	if (p->model != NONE && p->model >= w->config->n_models)
		return orr_fail(
			&w->error, ORR_EINPUT, "deployment %u: model %u: expected a number below %u", d, p->model, w->config->n_models);
	for (uint32_t m = 0; p->model == NONE && m < w->config->n_models; m++)
		if (w->config->model[m]->kind == SERVED_LLM)
			return orr_fail(&w->error, ORR_EINPUT,
				"deployment %u serves any model: expected \"model\", because %s is a language model and requires its own "
				"replicas",
				d, w->config->model[m]->name);
	return 0;
}

static void settle_slots(struct orr_serve *w)
{
	const struct fleet_part *last = &w->fleet->part[w->config->n_deployments - 1];
	w->n_replicas = last->first + last->slots;
	w->replica = mem_zalloc_large((size_t)w->n_replicas + 1, sizeof *w->replica);
	w->fleet->more = mem_zalloc_large((size_t)w->n_replicas + 1, sizeof *w->fleet->more);
	w->idle = mem_zalloc(1, sizeof *w->idle);
	bitset_init(w->idle, w->n_replicas ? w->n_replicas : 1);
	bitset_init(&w->fleet->off, w->n_replicas ? w->n_replicas : 1);
	bitset_init(&w->fleet->revivable, w->n_replicas ? w->n_replicas : 1);
	for (uint32_t d = 0; d < w->config->n_deployments; d++) {
		const struct fleet_part *p = &w->fleet->part[d];
		for (uint32_t i = p->first; i < p->first + p->slots; i++) {
			struct replica *r = &w->replica[i];
			r->deployment = d;
			r->model = p->model;
			r->first_on = NONE;
			bitset_add(&w->fleet->off, i);
			r->role = w->config->deployment[d].role;
			r->runs = r->sending = r->waiting = r->later = (struct run_list){ NONE, NONE, 0 };
		}
	}
}

void replicas_begin(struct orr_serve *w)
{
	struct fleet *f = w->fleet = mem_zalloc(1, sizeof *f);
	f->part = mem_zalloc((size_t)w->config->n_deployments + 1, sizeof *f->part);
	for (uint32_t d = 0; d < w->config->n_deployments && !w->error.code; d++)
		settle_part(w, d);
	if (w->error.code)
		return;
	if (w->config->n_deployments)
		settle_slots(w);
	if (!w->n_replicas) {
		orr_fail(&w->error, ORR_EINPUT, "no deployment has a replica: expected at least one replica");
		return;
	}
	groups_begin(w);
}

void replicas_free(struct orr_serve *w)
{
	struct fleet *f = w->fleet;
	if (!f)
		return;
	for (uint32_t i = 0; w->replica && i < w->n_replicas; i++) {
		struct replica *r = &w->replica[i];
		lane_free(r->lane);
		if (r->has_alloc) /* the host's give() is not called, because the host may be partly freed */
			pool_give(w->host.pool, &r->alloc);
	}
	groups_free(w);
	if (w->idle)
		bitset_free(w->idle);
	mem_free(w->idle);
	if (f->off.size) {
		bitset_free(&f->off);
		bitset_free(&f->revivable);
	}
	mem_free(w->replica);
	mem_free(w->lane);
	mem_free(f->more);
	mem_free(f->part);
	mem_free(f->held);
	mem_free(f->thrown);
	mem_free(f);
	w->idle = NULL;
	w->replica = NULL;
	w->fleet = NULL;
}
