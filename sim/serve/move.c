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
	uint32_t slot, from, to;
	struct eng_event event; /* without a topology */
	double end_s;
	uint32_t *flow, n_flows; /* flows with a topology; UINT32_MAX: the flow has ended */
	uint32_t left;           /* number of flows that have not ended */
};

struct moves {
	struct move *v;
	uint32_t n, cap, *free, n_free, cap_free;
	uint32_t turn;          /* replica at which round robin continues */
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
	kv_give(lane_on(w, x.from), q);
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

/* Cancels a transfer and frees its blocks. */
static void give_up(struct orr_serve *w, uint32_t number)
{
	struct moves *m = w->moves;
	struct move *x = &m->v[number];
	struct lane *l = lane_on(w, x->from);
	count_end(w, x, &w->metrics->kv_dropped);
	for (uint32_t i = 0; i < x->n_flows; i++)
		if (x->flow[i] != UINT32_MAX)
			flownet_cancel(m->net, x->flow[i]);
	if (!m->net)
		eng_cancel(w->host.engine, x->event);
	if (l)
		kv_give(l, &w->req[x->slot]);
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

/*
 * Returns the share of the cache that remains to be sent when the prompt's last iteration, of prompt_s, has ended. With
 * serve.kv_overlap each layer is sent as soon as it is computed; L equal layers take whole_s in total. The last layer arrives
 * at prompt_s / L + (L - 1) max(prompt_s, whole_s) / L + whole_s / L.
 */
static double part_left(double whole_s, double prompt_s, uint32_t layers)
{
	if (layers < 2 || !(whole_s > 0))
		return 1;
	double n = layers;
	return whole_s <= prompt_s ? 1 / n : (whole_s - prompt_s * (n - 1) / n) / whole_s;
}

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
		double left = prompt_s > 0 && hops ? part_left(bytes / n / topo_bandwidth(topo, src, dst), prompt_s, model->layers) : 1;
		x->flow[i] = flownet_start(m->net, bytes / n * left, w->set->kv_latency_s, route, hops, (uint64_t)number << 32 | i);
	}
	await_net(w);
}

static void start_move(struct orr_serve *w, struct req *q, uint32_t to, double prompt_s)
{
	struct moves *m = moves_of(w);
	struct lane *l = lane_of(w, q);
	bool is_fifo = w->set->kv_link == KV_LINK_FIFO;
	/* The last output has no entry in the cache yet; independent transfers count one for it, as splitwise-sim does. */
	double bytes = (double)(q->done - (is_fifo && q->done > q->prompt)) * l->model->kv_bytes;
	uint32_t number;
	if (m->n_free) {
		number = m->free[--m->n_free];
	} else {
		MEM_GROW(m->v, m->n, m->cap);
		number = m->n++;
	}
	struct move *x = &m->v[number];
	*x = (struct move){ .is_live = true, .bytes = bytes, .slot = req_slot(w, q), .from = q->replica, .to = to };
	q->move = number;
	w->replica[to].lane->incoming++;
	l->outgoing++;
	w->metrics->kv_sent += bytes;
	w->metrics->kv_moving += bytes;
	if (m->net) {
		start_flows(w, x, number, bytes, prompt_s);
		return;
	}
	double whole_s = bytes / w->set->kv_Bps;
	double own_s = whole_s * (prompt_s > 0 ? part_left(whole_s, prompt_s, l->model->layers) : 1), from_s = w->now_s;
	if (is_fifo)
		l->link_free_s = from_s = fmax(from_s, l->link_free_s) + own_s;
	x->end_s = is_fifo ? from_s + w->set->kv_latency_s : w->now_s + w->set->kv_latency_s + own_s;
	w->metrics->kv_wait_s += x->end_s - w->now_s;
	x->event = eng_at(w->host.engine, serve_ns(x->end_s), PRIO_MOVE, on_arrived, w, number, 0);
}

static void send(struct orr_serve *w, struct lane *l, struct req *q, uint32_t replica)
{
	lane_depart(w, l, q);
	w->metrics->kv_transfers++;
	q->state = ORR_REQ_MOVING;
	explain_moves(w, q);
	/* The iteration that ended now contained the prompt, or the last part of it. */
	bool is_fresh = w->set->kv_overlap && q->last_token_s == l->end_s && q->first_token_s == q->last_token_s;
	start_move(w, q, replica, is_fresh ? l->end_s - l->start_s : 0);
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
	send(w, l, q, replica);
}

/* ---- requests that leave by themselves ---- */

static bool takes_decodes(const struct orr_serve *w, uint32_t replica, uint32_t model)
{
	const struct replica *r = &w->replica[replica];
	return r->state == REPLICA_UP && r->role != ORR_ROLE_PREFILL && r->lane && (r->model == model || r->model == NONE);
}

/* Returns the replica to which serve.decode_router sends a request; NONE: no replica that decodes is up. */
static uint32_t pick_decode(struct orr_serve *w, uint32_t model)
{
	uint32_t best = NONE, *turn = &moves_of(w)->turn;
	uint64_t least = UINT64_MAX;
	for (uint32_t k = 0; k < w->n_replicas; k++) {
		uint32_t i = w->set->decode_router == DECODE_ROUND_ROBIN ? (*turn + k) % w->n_replicas : k;
		if (!takes_decodes(w, i, model))
			continue;
		if (w->set->decode_router == DECODE_ROUND_ROBIN) {
			*turn = i + 1;
			return i;
		}
		bool all = w->set->decode_router == DECODE_FEWEST_REQUESTS;
		uint64_t load = (uint64_t)w->replica[i].lane->incoming + (all ? w->replica[i].routed : orr_replica_waiting(w, i));
		if (load < least) {
			least = load;
			best = i;
		}
	}
	return best;
}

bool moves_hand_off(struct orr_serve *w, struct lane *l, struct req *q)
{
	uint32_t to = pick_decode(w, w->replica[l->replica].model);
	if (to != NONE)
		send(w, l, q, to);
	return to != NONE;
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
