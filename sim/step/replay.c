/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Nodes of a replay: readiness, slots, sends and receives.
 *
 * At time 0 and at every end of a node of a rank, a pass takes the rank's ready nodes by ascending id and starts each whose slot is free.
 */
#include "step/replay_state.h"

#include "base/hash.h"
#include "base/heap.h"
#include "base/mem.h"

#include <inttypes.h>
#include <math.h>

static inline bool is_lower(const void *ctx, const uint32_t *a, const uint32_t *b)
{
	(void)ctx;
	return *a < *b;
}
HEAP(heap, uint32_t, const void, is_lower, HEAP_UNTRACKED)

/* ---- ready nodes and slots ---- */

static enum slot slot_of(const struct chakra_node *v)
{
	if (v->slot)
		return v->slot == 1 ? SLOT_NONE : (enum slot)(SLOT_STREAM + v->slot - 2);
	if (v->is_host)
		return SLOT_HOST;
	switch (v->type) {
	case CHAKRA_COMPUTE:
		return SLOT_COMPUTE;
	case CHAKRA_RECEIVE:
	case CHAKRA_METADATA:
	case CHAKRA_INVALID:
		return SLOT_NONE;
	default:
		return SLOT_COMM;
	}
}

static void make_ready(struct rank_state *k, uint32_t node)
{
	if (k->in_pass) {
		MEM_GROW(k->freed, k->n_freed, k->cap_freed);
		k->freed[k->n_freed++] = node;
		return;
	}
	struct ready *q = &k->ready[slot_of(&k->trace->node[node])];
	MEM_GROW(q->node, q->n, q->cap);
	heap_up(NULL, q->node, q->n, node);
	q->n++;
}

static void free_children(struct rank_state *k, uint32_t node)
{
	const struct chakra_rank *t = k->trace;
	for (uint32_t j = t->node[node].first_child; j < t->node[node + 1].first_child; j++)
		if (!--k->waits[t->child[j]])
			make_ready(k, t->child[j]);
}

/* Takes the ready node of the lowest id whose slot is free; REPLAY_NONE: none. */
static uint32_t take_ready(struct rank_state *k, enum slot *slot)
{
	uint32_t best = REPLAY_NONE;
	for (int s = 0; s < k->slots; s++)
		if (k->ready[s].n && !k->is_busy[s] && k->ready[s].node[0] < best) {
			best = k->ready[s].node[0];
			*slot = (enum slot)s;
		}
	if (best == REPLAY_NONE)
		return best;
	struct ready *q = &k->ready[*slot];
	q->n--;
	if (q->n)
		heap_down(NULL, q->node, q->n, 0, q->node[q->n]);
	return best;
}

/* ---- sends and receives ---- */

static bool is_channel(const struct channel *x, uint64_t bytes, uint32_t from, uint32_t to, uint32_t tag)
{
	return x->bytes == bytes && x->from == from && x->to == to && x->tag == tag;
}

static uint32_t slot_hash(uint64_t bytes, uint32_t from, uint32_t to, uint32_t tag)
{
	return (uint32_t)hash_mix(hash_mix(bytes * HASH_GOLDEN + from) * HASH_GOLDEN + ((uint64_t)to << 32 | tag));
}

static void grow_channels(struct replay *r)
{
	struct channel *old = r->channel;
	uint32_t n = r->n_slots;
	r->n_slots = n ? 2 * n : 256;
	r->channel = mem_zalloc(r->n_slots, sizeof *r->channel);
	for (uint32_t i = 0; i < n; i++) {
		if (!old[i].is_used)
			continue;
		uint32_t at = slot_hash(old[i].bytes, old[i].from, old[i].to, old[i].tag) % r->n_slots;
		while (r->channel[at].is_used)
			at = (at + 1) % r->n_slots;
		r->channel[at] = old[i];
	}
	mem_free(old);
}

static struct channel *channel_of(struct replay *r, uint64_t bytes, uint32_t from, uint32_t to, uint32_t tag)
{
	if (2 * (uint64_t)r->n_channels >= r->n_slots)
		grow_channels(r);
	uint32_t at = slot_hash(bytes, from, to, tag) % r->n_slots;
	while (r->channel[at].is_used && !is_channel(&r->channel[at], bytes, from, to, tag))
		at = (at + 1) % r->n_slots;
	struct channel *x = &r->channel[at];
	if (!x->is_used) {
		*x = (struct channel){ bytes, from, to, tag, true, REPLAY_NONE, REPLAY_NONE, false };
		r->n_channels++;
	}
	return x;
}

static void queue_add(struct replay *r, struct channel *x, uint32_t node, bool is_receive)
{
	uint32_t i = r->free_entry;
	if (i == REPLAY_NONE) {
		MEM_GROW(r->entry, r->n_entries, r->cap_entries);
		i = r->n_entries++;
	} else {
		r->free_entry = r->entry[i].next;
	}
	r->entry[i] = (struct entry){ node, REPLAY_NONE };
	if (x->first == REPLAY_NONE)
		x->first = i;
	else
		r->entry[x->last].next = i;
	x->last = i;
	x->has_receives = is_receive;
}

/* Takes the first entry of the channel; returns its node. */
static uint32_t queue_take(struct replay *r, struct channel *x)
{
	uint32_t i = x->first, node = r->entry[i].node;
	x->first = r->entry[i].next;
	r->entry[i].next = r->free_entry;
	r->free_entry = i;
	return node;
}

static void end_node(struct replay *r, uint32_t rank, uint32_t node);

static void sent_arrived(struct replay *r, const struct message *m)
{
	const struct chakra_node *v = &r->rank[m->from].trace->node[m->chunk];
	struct channel *x = channel_of(r, m->bytes, m->from, m->to, v->tag);
	uint32_t receive = REPLAY_NONE;
	if (x->first != REPLAY_NONE && x->has_receives)
		receive = queue_take(r, x);
	else
		queue_add(r, x, m->chunk, false);
	end_node(r, m->from, m->chunk);
	if (receive != REPLAY_NONE)
		end_node(r, m->to, receive);
}

static void issue_receive(struct replay *r, uint32_t rank, uint32_t node)
{
	const struct chakra_node *v = &r->rank[rank].trace->node[node];
	struct channel *x = channel_of(r, v->bytes, v->peer, rank, v->tag);
	if (x->first == REPLAY_NONE || x->has_receives) {
		queue_add(r, x, node, true);
		return;
	}
	queue_take(r, x);
	replay_end_at(r, eng_now(r->engine), rank, node);
}

/* ---- nodes ---- */

static void pass(struct replay *r, uint32_t rank);

static void end_node(struct replay *r, uint32_t rank, uint32_t node)
{
	struct rank_state *k = &r->rank[rank];
	if (!k->trace->node[node].is_detached)
		k->result->finish_ns = eng_now(r->engine);
	k->is_busy[slot_of(&k->trace->node[node])] = false;
	k->in_flight--;
	k->ended++;
	free_children(k, node);
	pass(r, rank);
}

static void node_ends(struct engine *e, void *ctx, uint64_t subject, uint64_t arg)
{
	(void)e;
	end_node(ctx, (uint32_t)subject, (uint32_t)arg);
}

/* Returns the time of a node that computes or moves memory; -1: it ends at once. */
static int64_t work_ns(const struct replay *r, const struct chakra_node *v)
{
	const struct astra_system *s = r->c->system;
	bool is_compute = v->type == CHAKRA_COMPUTE;
	if (is_compute && s->has_roofline && !v->is_host) {
		if (!v->bytes || !v->num_ops)
			return -1;
		double ops = (double)v->num_ops, rate = fmin(ops / (double)v->bytes * s->memory_bytes_per_s, s->peak_ops_per_s);
		double ns = floor(ops / rate * 1e9);
		return ns < (double)REPLAY_END ? (int64_t)ns : REPLAY_END;
	}
	if (!is_compute && !v->duration_ns)
		return (int64_t)((double)v->bytes / s->memory_bytes_per_s * 1e9) + 1;
	return v->duration_ns ? (int64_t)v->duration_ns : 1;
}

static void issue_send(struct replay *r, uint32_t rank, uint32_t node)
{
	const struct chakra_node *v = &r->rank[rank].trace->node[node];
	struct message *m = net_new(r, rank, v->peer, v->bytes);
	m->chunk = node;
	if (v->is_instant)
		net_arrive(r, m);
	else
		net_send(r, m);
}

/* Starts a node, or ends it at once. */
static void start(struct replay *r, uint32_t rank, uint32_t node, enum slot slot)
{
	struct rank_state *k = &r->rank[rank];
	const struct chakra_node *v = &k->trace->node[node];
	bool is_work = v->type == CHAKRA_COMPUTE || v->type == CHAKRA_LOAD || v->type == CHAKRA_STORE;
	int64_t ns = is_work ? work_ns(r, v) : -1;
	if (v->type == CHAKRA_INVALID || v->type == CHAKRA_METADATA || (is_work && ns < 0)) {
		k->ended++;
		if (!v->is_detached)
			k->result->finish_ns = eng_now(r->engine);
		free_children(k, node);
		return;
	}
	k->in_flight++;
	k->is_busy[slot] = slot != SLOT_NONE;
	if (v->type == CHAKRA_COMPUTE && !v->is_host)
		k->result->compute_ns += ns;
	if (is_work && v->is_host)
		k->result->host_ns += ns;
	if (is_work)
		replay_end_at(r, ns < REPLAY_END ? eng_now(r->engine) + ns : REPLAY_END, rank, node);
	else if (v->type == CHAKRA_SEND)
		issue_send(r, rank, node);
	else if (v->type == CHAKRA_RECEIVE)
		issue_receive(r, rank, node);
	else
		coll_issue(r, rank, node);
}

/*
 * Starts every ready node whose slot is free. Nodes that become ready during this pass are considered in the next one: at the
 * rank's next end, or here if nothing of the rank is in flight.
 */
static void pass(struct replay *r, uint32_t rank)
{
	struct rank_state *k = &r->rank[rank];
	do {
		uint32_t node;
		enum slot slot = SLOT_NONE;
		k->in_pass = true;
		while (!r->err.code && (node = take_ready(k, &slot)) != REPLAY_NONE)
			start(r, rank, node, slot);
		k->in_pass = false;
		uint32_t n = k->n_freed;
		k->n_freed = 0;
		for (uint32_t i = 0; i < n; i++)
			make_ready(k, k->freed[i]);
		if (!n)
			break;
	} while (!k->in_flight && !r->err.code);
}

/* ---- the run ---- */

static void begin(struct replay *r)
{
	const struct chakra *t = r->c->trace;
	r->n_ranks = t->n_ranks;
	r->rank = mem_zalloc(t->n_ranks, sizeof *r->rank);
	r->result->rank = mem_zalloc(t->n_ranks, sizeof *r->result->rank);
	r->result->n = t->n_ranks;
	r->free_entry = REPLAY_NONE;
	r->by_messages = r->c->is_aware || r->c->by_messages;
	r->node_arrived = sent_arrived;
	r->node_ends = node_ends;
	for (uint32_t i = 0; i < t->n_ranks; i++) {
		struct rank_state *k = &r->rank[i];
		k->trace = &t->rank[i];
		k->result = &r->result->rank[i];
		k->waits = mem_alloc((k->trace->n + 1u) * sizeof *k->waits);
		k->slots = SLOT_STREAM;
		for (uint32_t j = 0; j < k->trace->n; j++)
			k->slots = k->trace->node[j].slot > 1 ? SLOTS : k->slots;
		for (uint32_t j = 0; j < k->trace->n; j++)
			if (!(k->waits[j] = k->trace->node[j].waits))
				make_ready(k, j);
	}
	net_begin(r);
	coll_begin(r);
}

/* Returns whether a rank has a send node for the receives of a channel. */
static bool has_send(const struct replay *r, const struct channel *x)
{
	const struct chakra_rank *t = x->from < r->n_ranks ? r->rank[x->from].trace : NULL;
	for (uint32_t i = 0; t && i < t->n; i++) {
		const struct chakra_node *v = &t->node[i];
		if (v->type == CHAKRA_SEND && v->peer == x->to && v->tag == x->tag && v->bytes == x->bytes)
			return true;
	}
	return false;
}

/* Fails with the reason why the rank never ends: a receive without a message, or a collective that another rank never begins. */
static void find_stuck(struct replay *r, uint32_t rank)
{
	const struct rank_state *k = &r->rank[rank];
	for (uint32_t s = 0; s < r->n_slots; s++) {
		const struct channel *x = &r->channel[s];
		if (!x->is_used || x->to != rank || x->first == REPLAY_NONE || !x->has_receives)
			continue;
		replay_fail(r, rank, r->entry[x->first].node,
			"waits forever for a message of rank %u (tag %u, %" PRIu64 " bytes): expected %s with comm_dst %u", x->from, x->tag,
			x->bytes, has_send(r, x) ? "no cycle of messages and dependencies before its send node" : "a send node there",
			rank);
		return;
	}
	for (uint32_t i = 0; i < r->n_instances; i++) {
		const struct instance *x = &r->instance[i];
		const struct chakra_group *g = &r->c->trace->group[x->group];
		for (uint32_t j = 0; x->begun < x->plan.n && j < g->n; j++)
			if (g->member[j] == rank && x->start[j] >= 0) {
				coll_stuck(r, rank, x->node[j]);
				return;
			}
	}
	(void)k;
}

static void check_end(struct replay *r)
{
	for (uint32_t i = 0; i < r->n_ranks && !r->err.code; i++)
		if (r->rank[i].ended < r->rank[i].trace->n)
			find_stuck(r, i);
	uint64_t ended = 0;
	for (uint32_t i = 0; i < r->n_ranks; i++)
		ended += r->rank[i].ended;
	if (!r->err.code && ended != r->c->trace->nodes)
		orr_fail(&r->err, ORR_EFAIL, "%.300s: %" PRIu64 " of %" PRIu64 " nodes have ended", r->c->trace->rank[0].path, ended,
			r->c->trace->nodes);
	for (uint32_t s = 0; s < r->n_slots; s++)
		for (uint32_t i = r->channel[s].is_used && !r->channel[s].has_receives ? r->channel[s].first : REPLAY_NONE;
			i != REPLAY_NONE; i = r->entry[i].next)
			r->result->unread++;
}

static void end(struct replay *r)
{
	for (uint32_t i = 0; i < r->n_ranks; i++) {
		mem_free(r->rank[i].waits);
		mem_free(r->rank[i].freed);
		mem_free(r->rank[i].member);
		for (int s = 0; s < SLOTS; s++)
			mem_free(r->rank[i].ready[s].node);
	}
	net_end(r);
	coll_free(r);
	mem_free(r->channel);
	mem_free(r->entry);
	mem_free(r->rank);
	eng_free(r->engine);
}

static int check_network(const struct replay_config *c, struct orr_error *err)
{
	const struct chakra *t = c->trace;
	if (c->network->npus != t->n_ranks)
		return orr_fail(err, ORR_EINPUT,
			"%.250s: the trace has %u ranks, and npus_count of the network gives %u NPUs: expected equal numbers",
			t->rank[0].path, t->n_ranks, c->network->npus);
	if (c->network->n > 1)
		return orr_fail(err, ORR_EINPUT, "npus_count: the network has %u dimensions: expected one", c->network->n);
	if (c->is_aware && c->network->dim[0].topology == ASTRA_FULLY_CONNECTED && t->n_ranks > 16384)
		return orr_fail(err, ORR_EINPUT, "topology FullyConnected of %u NPUs: expected at most 16384 with congestion", t->n_ranks);
	return ORR_OK;
}

int replay_run(const struct replay_config *c, struct replay_result *out, struct orr_error *err)
{
	struct replay r = { .c = c, .result = out };
	*out = (struct replay_result){ 0 };
	int rc = check_network(c, err);
	if (rc)
		return rc;
	r.engine = eng_new();
	begin(&r);
	for (uint32_t i = 0; i < r.n_ranks && !r.err.code; i++)
		pass(&r, i);
	while (!r.err.code && eng_step(r.engine))
		;
	if (!r.err.code)
		check_end(&r);
	if (r.err.code) {
		replay_result_free(out);
		orr_fail(err, r.err.code, "%s", r.err.text);
	}
	rc = r.err.code;
	end(&r);
	return rc;
}

void replay_result_free(struct replay_result *r)
{
	mem_free(r->rank);
	*r = (struct replay_result){ 0 };
}
