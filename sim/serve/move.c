/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Transfer of KV caches between replicas. Without a topology each takes latency + bytes / serve.kv_Bps, regardless of the
 * number of transfers; with one, transfers are flows that share its links. Invariant: a request is ORR_REQ_MOVING exactly while
 * req.move is the number of a live move; until the move ends, its blocks stay allocated on the source replica.
 */
#include "serve/due.h"
#include "serve/explain.h"
#include "serve/group.h"
#include "serve/lane.h"
#include "serve/metrics.h"

#include "base/mem.h"
#include "net/flow.h"
#include "net/topology.h"

#include <math.h>

struct move {
	bool is_live;
	double bytes;
	uint32_t slot, from, to; /* to NONE: held, because no decode replica has room */
	uint32_t prev, next;     /* links of the list of held moves */
	struct eng_event event;  /* without a topology */
	double end_s;
	uint32_t *flow, n_flows; /* flows with a topology; UINT32_MAX: the flow has ended */
	uint32_t left;           /* number of flows that have not ended */
};

struct moves {
	struct move *v;
	uint32_t n, cap, *free, n_free, cap_free;
	uint32_t turn; /* replica at which round robin continues */
	uint32_t first_held, last_held, n_held;
	struct flownet *net;    /* NULL: no topology */
	uint32_t *first_gpu;    /* first GPU of each node */
	struct eng_event event; /* next end of a flow */
	bool is_awaited;
	bool has_ended; /* flag: some ended flows are not reported yet */
};

static struct moves *moves_of(struct orr_serve *w)
{
	if (w->moves)
		return w->moves;
	struct moves *m = w->moves = mem_zalloc(1, sizeof *m);
	m->first_held = m->last_held = NONE;
	const struct serve_config *c = w->config;
	if (!c->topo)
		return m;
	m->net = topo_flownet(c->topo, FLOW_MAX_MIN);
	m->first_gpu = mem_alloc((c->cluster->n_nodes + 1) * sizeof *m->first_gpu);
	uint32_t at = 0;
	for (uint32_t i = 0; i < c->cluster->n_nodes; i++) {
		m->first_gpu[i] = at;
		at += c->cluster->node[i].gpus;
	}
	return m;
}

void moves_free(struct orr_serve *w)
{
	struct moves *m = w->moves;
	if (!m)
		return;
	for (uint32_t i = 0; i < m->n; i++)
		mem_free(m->v[i].flow);
	flownet_free(m->net);
	mem_free(m->v);
	mem_free(m->free);
	mem_free(m->first_gpu);
	mem_free(m);
	w->moves = NULL;
}

uint64_t moves_held(const struct orr_serve *w, uint32_t replica)
{
	uint64_t blocks = 0;
	for (uint32_t i = 0; w->moves && i < w->moves->n; i++)
		if (w->moves->v[i].is_live && w->moves->v[i].from == replica)
			blocks += w->req[w->moves->v[i].slot].kv_held;
	return blocks;
}

/* ---- ends ---- */

static void release(struct moves *m, struct move *x)
{
	mem_free(x->flow);
	x->flow = NULL;
	x->n_flows = 0;
	x->is_live = false;
	MEM_GROW(m->free, m->n_free, m->cap_free);
	m->free[m->n_free++] = (uint32_t)(x - m->v);
}

/* Counts the end of a transfer: its bytes have been received or dropped. */
static void count_end(struct orr_serve *w, const struct move *x, double *bytes)
{
	struct lane *to = x->to < w->n_replicas ? w->replica[x->to].lane : NULL;
	struct lane *from = w->replica[x->from].lane;
	if (to)
		to->incoming--;
	if (from)
		from->outgoing--;
	w->metrics->kv_moving -= x->bytes;
	*bytes += x->bytes;
}

/* Handles the arrival of the cache: frees the blocks on the source replica; the request waits on the destination. */
static void arrived(struct orr_serve *w, uint32_t number, double at_s)
{
	struct move x = w->moves->v[number];
	struct req *q = &w->req[x.slot];
	serve_happen(w, at_s);
	count_end(w, &x, &w->metrics->kv_received);
	kv_give(w, lane_on(w, x.from), q);
	kv_unreserve(w, q);
	replica_dirty(w, x.from);
	release(w->moves, &w->moves->v[number]);
	q->state = ORR_REQ_WAITING;
	req_waits(w, q);
	q->kv_at = x.to;
	req_set_replica(w, q, x.to);
	lane_arrival(w, x.to);
	due_arrival(w, q);
	replica_dirty(w, x.to);
}

static void on_arrived(struct engine *e, void *ctx, uint64_t subject, uint64_t arg)
{
	(void)e, (void)arg;
	struct orr_serve *w = ctx;
	arrived(w, (uint32_t)subject, w->moves->v[subject].end_s);
}

static void await_net(struct orr_serve *w);

static void on_net(struct engine *e, void *ctx, uint64_t subject, uint64_t arg)
{
	(void)subject, (void)arg;
	struct orr_serve *w = ctx;
	struct moves *m = w->moves;
	double next;
	m->is_awaited = m->has_ended = false;
	/* Reports every end that rounds to this instant; otherwise eng_at() would schedule this event again forever. */
	while (serve_ns(next = flownet_next(m->net)) <= eng_now(e))
		flownet_advance(m->net, next);
	uint64_t tag;
	double finish_s;
	while (flownet_pop(m->net, &tag, &finish_s)) {
		struct move *x = &m->v[tag >> 32];
		x->flow[tag & UINT32_MAX] = UINT32_MAX;
		if (!--x->left)
			arrived(w, (uint32_t)(tag >> 32), finish_s);
	}
	await_net(w);
}

static void await_net(struct orr_serve *w)
{
	struct moves *m = w->moves;
	if (m->is_awaited)
		eng_cancel(w->host.engine, m->event);
	double next = m->has_ended ? w->now_s : flownet_next(m->net);
	m->is_awaited = next < INFINITY;
	if (m->is_awaited)
		m->event = eng_at(w->host.engine, serve_ns(next), PRIO_MOVE, on_net, w, 0, 0);
}

static void hold(struct moves *m, struct move *x)
{
	uint32_t number = (uint32_t)(x - m->v);
	x->prev = m->last_held;
	x->next = NONE;
	*(m->last_held == NONE ? &m->first_held : &m->v[m->last_held].next) = number;
	m->last_held = number;
	m->n_held++;
}

static void hold_no_more(struct moves *m, const struct move *x)
{
	*(x->prev == NONE ? &m->first_held : &m->v[x->prev].next) = x->next;
	*(x->next == NONE ? &m->last_held : &m->v[x->next].prev) = x->prev;
	m->n_held--;
}

/* Ends a move whose request is held; its blocks are free. */
static void let_go(struct orr_serve *w, struct move *x)
{
	struct lane *l = lane_on(w, x->from);
	hold_no_more(w->moves, x);
	if (l) {
		l->outgoing--;
		kv_give(w, l, &w->req[x->slot]);
	}
	release(w->moves, x);
}

/* Cancels a transfer and frees its blocks. */
static void give_up(struct orr_serve *w, uint32_t number)
{
	struct moves *m = w->moves;
	struct move *x = &m->v[number];
	struct lane *l = lane_on(w, x->from);
	kv_unreserve(w, &w->req[x->slot]);
	if (x->to == NONE) {
		let_go(w, x);
		return;
	}
	count_end(w, x, &w->metrics->kv_dropped);
	for (uint32_t i = 0; i < x->n_flows; i++)
		if (x->flow[i] != UINT32_MAX)
			flownet_cancel(m->net, x->flow[i]);
	if (!m->net)
		eng_cancel(w->host.engine, x->event);
	if (l)
		kv_give(w, l, &w->req[x->slot]);
	release(m, x);
	if (m->net)
		await_net(w);
}

void moves_drop(struct orr_serve *w, struct req *q)
{
	give_up(w, q->move);
	q->state = ORR_REQ_WAITING;
	req_waits(w, q);
}

struct req *moves_to(const struct orr_serve *w, uint32_t replica, uint32_t *at)
{
	for (; w->moves && *at < w->moves->n; ++*at)
		if (w->moves->v[*at].is_live && w->moves->v[*at].to == replica)
			return &w->req[w->moves->v[*at].slot];
	return NULL;
}

/* ---- starts ---- */

/* Returns the endpoint of GPU i of a replica. */
static uint32_t endpoint(const struct orr_serve *w, uint32_t replica, uint32_t i)
{
	uint32_t node, index = replica_gpu(w, replica, i, &node);
	return w->moves->first_gpu[node] + index;
}

/* Advances the network to now. An event of this instant reports flows that have ended since the last advance. */
static void catch_up(struct orr_serve *w)
{
	struct flownet *net = w->moves->net;
	for (double next; (next = flownet_next(net)) <= w->now_s; w->moves->has_ended = true)
		flownet_advance(net, next);
	if (flownet_now(net) < w->now_s)
		flownet_advance(net, w->now_s);
}

static void start_flows(struct orr_serve *w, struct move *x, uint32_t number, double bytes, double prompt_s)
{
	struct moves *m = w->moves;
	const struct topo *topo = w->config->topo;
	uint32_t a = w->replica[x->from].gpus, b = w->replica[x->to].gpus, n = a > b ? a : b;
	const struct served *model = w->replica[x->from].lane->model;
	catch_up(w);
	x->flow = mem_alloc(n * sizeof *x->flow);
	x->n_flows = x->left = n;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t src = endpoint(w, x->from, i % a), dst = endpoint(w, x->to, i % b), link[TOPO_MAX_HOPS];
		uint32_t hops = topo_route(topo, src, dst, w->req[x->slot].number, link);
		struct flow_hop route[TOPO_MAX_HOPS];
		for (uint32_t h = 0; h < hops; h++)
			route[h] = (struct flow_hop){ link[h], 1 };
		double left = prompt_s > 0 && hops ? kv_part_left(bytes / n / topo_bandwidth(topo, src, dst), prompt_s, model->layers) : 1;
		x->flow[i] = flownet_start(m->net, bytes / n * left, w->set->kv_latency_s, route, hops, (uint64_t)number << 32 | i);
	}
	await_net(w);
}

/* Returns a move of the request, which does not send anything yet. */
static struct move *new_move(struct orr_serve *w, struct req *q, uint32_t to)
{
	struct moves *m = moves_of(w);
	struct lane *l = lane_of(w, q);
	/* The last output has no entry in the cache yet; independent transfers count one for it, as splitwise-sim does. */
	double bytes = (double)(q->done - (w->set->kv_link == KV_LINK_FIFO && q->done > q->prompt)) * l->model->kv_bytes;
	uint32_t number;
	if (m->n_free) {
		number = m->free[--m->n_free];
	} else {
		MEM_GROW(m->v, m->n, m->cap);
		number = m->n++;
	}
	m->v[number] = (struct move){ .is_live = true, .bytes = bytes, .slot = req_slot(w, q), .from = q->replica, .to = to };
	q->move = number;
	l->outgoing++;
	return &m->v[number];
}

/* prompt_s: duration of the iteration that ended the prompt now, for serve.kv_overlap; 0: it ended earlier. */
static void launch(struct orr_serve *w, struct move *x, double prompt_s)
{
	struct moves *m = w->moves;
	struct lane *l = lane_on(w, x->from);
	uint32_t number = (uint32_t)(x - m->v);
	w->replica[x->to].lane->incoming++;
	w->metrics->kv_transfers++;
	w->metrics->kv_sent += x->bytes;
	w->metrics->kv_moving += x->bytes;
	if (m->net) {
		start_flows(w, x, number, x->bytes, prompt_s);
		return;
	}
	bool is_fifo = w->set->kv_link == KV_LINK_FIFO;
	double whole_s = x->bytes / w->set->kv_Bps;
	double own_s = whole_s * (prompt_s > 0 ? kv_part_left(whole_s, prompt_s, l->model->layers) : 1), from_s = w->now_s;
	if (is_fifo)
		l->link_free_s = from_s = fmax(from_s, l->link_free_s) + own_s;
	x->end_s = is_fifo ? from_s + w->set->kv_latency_s : w->now_s + w->set->kv_latency_s + own_s;
	const struct req *q = &w->req[x->slot];
	bool has_ended_prompt = q->done == q->prompt + 1; /* it has decoded nothing yet */
	w->metrics->kv_wait_s += x->end_s - (has_ended_prompt ? q->last_token_s : w->now_s);
	x->event = eng_at(w->host.engine, serve_ns(x->end_s), PRIO_MOVE, on_arrived, w, number, 0);
}

/* to NONE: the request is held. */
static void send(struct orr_serve *w, struct lane *l, struct req *q, uint32_t to)
{
	lane_depart(w, l, q);
	q->state = ORR_REQ_MOVING;
	explain_moves(w, q);
	/* The iteration that ended now contained the prompt, or the last part of it. */
	bool is_fresh = w->set->kv_overlap && q->last_token_s == l->end_s && q->first_token_s == q->last_token_s;
	struct move *x = new_move(w, q, to);
	if (to == NONE)
		hold(w->moves, x);
	else
		launch(w, x, is_fresh ? l->end_s - l->start_s : 0);
}

void orr_move(struct orr_serve *w, orr_req r, uint32_t replica)
{
	struct req *q = lane_actor(w, r, ORR_REQ_RESIDENT, "orr_move()");
	struct lane *to = q ? lane_at(w, replica, "orr_move()") : NULL;
	if (!to)
		return;
	struct lane *l = lane_of(w, q);
	if (replica == q->replica) {
		serve_fail(w, ORR_EFAIL, q, "orr_move(): the request is already on replica %u: expected another replica", replica);
		return;
	}
	if (to->model != l->model) {
		serve_fail(w, ORR_EFAIL, q, "orr_move(): replica %u serves model %s: expected a replica of model %s", replica,
			to->model->name, l->model->name);
		return;
	}
	if (lane_is_in_flight(l, q)) {
		serve_fail(w, ORR_EFAIL, q, "orr_move(): the request is in the current iteration: expected a request outside it");
		return;
	}
	if (kv_must_hold(w, replica, q, "orr_move()"))
		send(w, l, q, replica);
}

/* ---- requests that leave without an action of the policy ---- */

/* Returns whether the replica decodes requests of the model, and its cache can hold the whole request. */
static bool takes_decodes(const struct orr_serve *w, uint32_t replica, uint32_t model, const struct req *q)
{
	const struct replica *r = &w->replica[replica];
	return r->state == REPLICA_UP && r->role != ORR_ROLE_PREFILL && r->lane && (r->model == model || r->model == NONE) &&
	       kv_can_hold(r->lane, req_whole(q));
}

static bool has_decoder(const struct orr_serve *w, uint32_t model, const struct req *q)
{
	for (uint32_t i = 0; i < w->n_replicas; i++)
		if (takes_decodes(w, i, model, q))
			return true;
	return false;
}

/* Returns whether the lane has blocks for the tokens, and one more for each resident. */
static bool has_room(const struct lane *l, uint32_t tokens)
{
	return (uint64_t)kv_blocks_for(l, tokens) + l->n <= l->avail;
}

/* Returns the load that serve.decode_router compares. */
static double load_of(const struct orr_serve *w, uint32_t replica, uint32_t tokens)
{
	const struct lane *l = lane_seen(w, replica);
	double coming = l->incoming, waiting = orr_replica_waiting(w, replica);
	if (w->set->decode_router == DECODE_FEWEST_WAITING)
		return coming + waiting;
	if (w->set->decode_router == DECODE_FEWEST_REQUESTS)
		return coming + w->replica[replica].routed;
	double context = (double)(l->total - l->avail) * l->block_tokens + tokens;
	return orr_iter_estimate(w, replica, orr_decodes(w, replica) + (uint32_t)(coming + waiting) + 1, context, 0, 0);
}

/* Returns the replica to which serve.decode_router sends a request; NONE: no replica that decodes is up, or has room. */
static uint32_t pick_decode(struct orr_serve *w, uint32_t model, const struct req *q)
{
	uint32_t best = NONE, tokens = q->done, *turn = &moves_of(w)->turn;
	double least = INFINITY;
	for (uint32_t k = 0; k < w->n_replicas; k++) {
		bool in_turn = w->set->decode_router == DECODE_ROUND_ROBIN;
		uint32_t i = in_turn ? (*turn + k) % w->n_replicas : k;
		if (!takes_decodes(w, i, model, q))
			continue;
		if (w->set->decode_reserves && !has_room(lane_seen(w, i), tokens)) {
			w->used |= SERVE_USED_DECODE_ROOM;
			continue;
		}
		if (in_turn) {
			*turn = i + 1;
			return i;
		}
		double load = load_of(w, i, tokens);
		if (load < least) {
			least = load;
			best = i;
		}
	}
	return best;
}

static void reserve(struct orr_serve *w, struct req *q, uint32_t to)
{
	struct lane *l = lane_on(w, to);
	if (w->set->decode_reserves)
		kv_reserve(w, l, q, kv_blocks_for(l, q->done));
}

bool moves_hand_off(struct orr_serve *w, struct lane *l, struct req *q)
{
	uint32_t model = w->replica[l->replica].model;
	bool waits = w->set->decode_reserves && moves_of(w)->n_held; /* first come, first served */
	uint32_t to = waits ? NONE : pick_decode(w, model, q);
	if (to == NONE && !(w->set->decode_reserves && has_decoder(w, model, q)))
		return false;
	if (to != NONE)
		reserve(w, q, to);
	send(w, l, q, to);
	w->blocks_freed |= waits; /* the first one that is held may be of another model */
	return true;
}

uint32_t moves_pending(const struct orr_serve *w)
{
	return w->moves ? w->moves->n_held : 0;
}

/* The request waits on its prefill replica, because no replica decodes any more. */
static void stay(struct orr_serve *w, struct move *x)
{
	struct req *q = &w->req[x->slot];
	uint32_t from = x->from;
	let_go(w, x);
	q->state = ORR_REQ_WAITING;
	q->kv_at = from;
	req_waits(w, q);
	lane_arrival(w, from);
	due_arrival(w, q);
	replica_dirty(w, from);
}

void moves_retry(struct orr_serve *w)
{
	struct moves *m = w->moves;
	w->blocks_freed = false;
	uint64_t full = 0; /* models for which no replica has room */
	for (uint32_t i = m ? m->first_held : NONE, next; i != NONE; i = next) {
		struct move *x = &m->v[i];
		struct req *q = &w->req[x->slot];
		next = x->next;
		if (full >> (q->model % 64) & 1)
			continue;
		uint32_t to = pick_decode(w, q->model, q);
		if (to == NONE && has_decoder(w, q->model, q)) {
			full |= UINT64_C(1) << (q->model % 64);
			if (w->config->n_models == 1)
				return;
			continue;
		}
		if (to == NONE) {
			stay(w, x);
			continue;
		}
		hold_no_more(m, x);
		x->to = to;
		reserve(w, q, to);
		launch(w, x, 0);
	}
}

uint32_t orr_replica_incoming(const struct orr_serve *w, uint32_t replica)
{
	const struct lane *l = replica < w->n_replicas ? w->replica[replica].lane : NULL;
	return l ? l->incoming : 0;
}

uint32_t orr_replica_waiting(const struct orr_serve *w, uint32_t replica)
{
	const struct lane *l = replica < w->n_replicas ? w->replica[replica].lane : NULL;
	return l ? w->replica[replica].routed - l->n - l->outgoing : 0;
}
