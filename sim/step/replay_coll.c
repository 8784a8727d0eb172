/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Collectives of a replay.
 *
 * The k-th collective of a group on one rank belongs to the k-th on the others. Without congestion, the ends of all members follow from
 * their starts by a recurrence over the steps (solve()), computed when the last member starts: no member ends before that, because each
 * receives data of all. With congestion, each message is an event.
 */
#include "step/replay_state.h"

#include "base/mem.h"

#include <string.h>

/* Returns the collective's number among those with algorithms; -1: its duration is taken from the trace. */
static int algorithm_of(unsigned type)
{
	switch (type) {
	case CHAKRA_ALL_REDUCE:
		return ASTRA_ALL_REDUCE;
	case CHAKRA_ALL_GATHER:
		return ASTRA_ALL_GATHER;
	case CHAKRA_REDUCE_SCATTER:
	case CHAKRA_REDUCE_SCATTER_BLOCK:
		return ASTRA_REDUCE_SCATTER;
	case CHAKRA_ALL_TO_ALL:
		return ASTRA_ALL_TO_ALL;
	default:
		return -1;
	}
}

/* ---- instances ---- */

static const struct chakra_group *group_of(const struct replay *r, const struct instance *x)
{
	return &r->c->trace->group[x->group];
}

void coll_begin(struct replay *r)
{
	const struct chakra *t = r->c->trace;
	r->free_instance = REPLAY_NONE;
	r->group = mem_zalloc(t->n_groups, sizeof *r->group);
	for (uint32_t g = 0; g < t->n_groups; g++)
		for (uint32_t i = 0; i < t->group[g].n; i++)
			r->rank[t->group[g].member[i]].n_members++;
	for (uint32_t k = 0; k < r->n_ranks; k++) {
		r->rank[k].member = mem_zalloc(r->rank[k].n_members + 1u, sizeof *r->rank[k].member);
		r->rank[k].n_members = 0;
	}
	for (uint32_t g = 0; g < t->n_groups; g++)
		for (uint32_t i = 0; i < t->group[g].n; i++) {
			struct rank_state *k = &r->rank[t->group[g].member[i]];
			k->member[k->n_members++] = (struct membership){ .group = g, .position = i };
		}
}

void coll_free(struct replay *r)
{
	for (uint32_t i = 0; i < r->n_instances; i++) {
		struct instance *x = &r->instance[i];
		mem_free(x->start);
		mem_free(x->node);
		mem_free(x->progress);
		mem_free(x->arrived);
		mem_free(x->next_chunk);
		mem_free(x->left);
	}
	for (uint32_t g = 0; r->group && g < r->c->trace->n_groups; g++)
		mem_free(r->group[g].open);
	mem_free(r->group);
	mem_free(r->instance);
	mem_free(r->time);
}

static struct membership *membership_of(const struct rank_state *k, uint32_t group)
{
	uint32_t low = 0, high = k->n_members;
	while (high - low > 1) {
		uint32_t middle = low + (high - low) / 2;
		if (k->member[middle].group <= group)
			low = middle;
		else
			high = middle;
	}
	return &k->member[low];
}

/* Makes the arrays of an instance large enough and clears them. */
static void prepare(struct replay *r, struct instance *x)
{
	uint32_t n = x->plan.n;
	if (n > x->cap) {
		x->cap = n;
		x->start = mem_realloc(x->start, n, sizeof *x->start);
		x->node = mem_realloc(x->node, n, sizeof *x->node);
		x->next_chunk = mem_realloc(x->next_chunk, n, sizeof *x->next_chunk);
		x->left = mem_realloc(x->left, n, sizeof *x->left);
	}
	for (uint32_t i = 0; i < n; i++) {
		x->start[i] = -1;
		x->next_chunk[i] = 0;
		x->left[i] = x->plan.chunks;
	}
	if (!r->by_messages)
		return;
	size_t progress = (size_t)n * x->plan.chunks, arrived = progress * x->plan.steps;
	if (progress > x->cap_progress)
		x->progress = mem_realloc(x->progress, x->cap_progress = progress, sizeof *x->progress);
	if (arrived > x->cap_arrived)
		x->arrived = mem_realloc(x->arrived, x->cap_arrived = arrived, sizeof *x->arrived);
	if (progress)
		memset(x->progress, 0, progress * sizeof *x->progress);
	if (arrived)
		memset(x->arrived, 0, arrived * sizeof *x->arrived);
}

/* Opens the collective `number` of a group. Returns its index; REPLAY_NONE after an error. */
static uint32_t instance_new(struct replay *r, uint32_t rank, uint32_t node, uint64_t number)
{
	const struct chakra_node *v = &r->rank[rank].trace->node[node];
	uint32_t i = r->free_instance;
	if (i == REPLAY_NONE) {
		MEM_GROW(r->instance, r->n_instances, r->cap_instances);
		i = r->n_instances++;
		r->instance[i] = (struct instance){ 0 };
	} else {
		r->free_instance = r->instance[i].next_free;
	}
	struct instance *x = &r->instance[i];
	const char *why = replay_plan_new(
		r->c, (enum astra_collective)algorithm_of(v->collective), v->bytes, r->c->trace->group[v->group].n, &x->plan);
	if (why) {
		replay_fail(r, rank, node, "%s of %u ranks: %s", chakra_collective_name(v->collective), x->plan.n, why);
		return REPLAY_NONE;
	}
	x->group = v->group;
	x->number = number;
	x->type = v->collective;
	x->bytes = v->bytes;
	x->first_rank = rank;
	x->first_node = node;
	x->begun = x->ended = 0;
	prepare(r, x);
	return i;
}

/* Returns the place of collective `number` in the group's ring, which grows if some ranks run ahead. */
static uint32_t *place_of(struct group_state *g, uint64_t number)
{
	while (number - g->first >= g->cap) {
		uint32_t cap = g->cap ? 2 * g->cap : 4;
		uint32_t *open = mem_alloc(cap * sizeof *open);
		for (uint64_t k = g->first; k < g->last; k++)
			open[k % cap] = g->open[k % g->cap];
		mem_free(g->open);
		g->open = open;
		g->cap = cap;
	}
	for (; g->last <= number; g->last++)
		g->open[g->last % g->cap] = REPLAY_NONE;
	return &g->open[number % g->cap];
}

static void instance_close(struct replay *r, uint32_t i)
{
	struct instance *x = &r->instance[i];
	struct group_state *g = &r->group[x->group];
	g->open[x->number % g->cap] = REPLAY_NONE - 1; /* ended */
	while (g->first < g->last && g->open[g->first % g->cap] == REPLAY_NONE - 1)
		g->first++;
	x->next_free = r->free_instance;
	r->free_instance = i;
}

/* ---- without congestion: the recurrence ---- */

static inline int64_t later(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/* Sets in[i] to the arrival of the last message of the step at member i; out[i]: start of the sends of member i. way[i]: time of the
 * message that ring neighbour i - 1 sends to i, if its bytes are those of the step before (has_way). */
static void arrivals(
	const struct replay *r, const struct instance *x, const struct replay_step *s, const int64_t *out, const int64_t *way, int64_t *in)
{
	const uint32_t *member = group_of(r, x)->member, n = x->plan.n;
	if (x->plan.algorithm == ASTRA_RING_ALGORITHM) {
		in[0] = later(out[n - 1] + way[0], out[0]);
		for (uint32_t i = 1; i < n; i++)
			in[i] = later(out[i - 1] + way[i], out[i]);
		return;
	}
	for (uint32_t i = 0; i < n; i++)
		in[i] = out[i];
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t k = 0; k < s->peers; k++) {
			uint32_t to = replay_plan_peer(&x->plan, s, i, k);
			in[to] = later(in[to], out[i] + net_time(r, member[i], member[to], s->bytes));
		}
}

/* Sets way[i] for messages of `bytes` on the ring. */
static void ring_ways(const struct replay *r, const struct instance *x, uint64_t bytes, int64_t *way)
{
	const uint32_t *member = group_of(r, x)->member, n = x->plan.n;
	for (uint32_t i = 0; i < n; i++)
		way[i] = net_time(r, member[i ? i - 1 : n - 1], member[i], bytes);
}

/* Replaces the starts of a chunk by its ends. Returns false if a time is too late to be counted. */
static bool solve_chunk(struct replay *r, const struct instance *x, uint32_t chunk, int64_t *t, int64_t *in, int64_t *way)
{
	const struct replay_plan *p = &x->plan;
	int64_t delay = r->c->system->endpoint_delay_ns;
	uint64_t bytes = UINT64_MAX;
	for (uint32_t i = 0; i < p->n; i++)
		t[i] += delay;
	for (uint32_t k = 0; k < p->steps; k++) {
		struct replay_step s = replay_plan_step(p, chunk, k);
		if (p->algorithm == ASTRA_RING_ALGORITHM && s.bytes != bytes)
			ring_ways(r, x, bytes = s.bytes, way);
		arrivals(r, x, &s, t, way, in);
		int64_t after = delay + s.reduce_ns;
		for (uint32_t i = 0; i < p->n; i++)
			t[i] = in[i] + after;
		if (t[0] >= REPLAY_END || in[0] >= REPLAY_END)
			return false;
	}
	return true;
}

static void count_messages(struct replay *r, const struct instance *x)
{
	const uint32_t *member = group_of(r, x)->member;
	double sent = 0;
	for (uint32_t c = 0; c < x->plan.chunks; c++)
		for (uint32_t k = 0; k < x->plan.steps; k++) {
			struct replay_step s = replay_plan_step(&x->plan, c, k);
			sent += (double)s.bytes * s.peers;
			r->result->messages += (uint64_t)s.peers * x->plan.n;
		}
	for (uint32_t i = 0; i < x->plan.n; i++)
		r->rank[member[i]].result->sent_bytes += sent;
}

/* All members have begun: schedules their ends. */
static void solve(struct replay *r, uint32_t at)
{
	const struct instance *x = &r->instance[at];
	const uint32_t *member = group_of(r, x)->member;
	uint32_t n = x->plan.n, active = r->c->system->active_chunks < x->plan.chunks ? r->c->system->active_chunks : x->plan.chunks;
	size_t need = (size_t)n * (active + 3);
	if (need > r->cap_time)
		r->time = mem_realloc(r->time, r->cap_time = need, sizeof *r->time);
	int64_t *end = r->time + (size_t)n * active, *in = end + n, *way = in + n;
	for (uint32_t c = 0; c < active; c++)
		memcpy(r->time + (size_t)c * n, x->start, n * sizeof *x->start);
	memset(end, 0, n * sizeof *end);
	for (uint32_t c = 0; c < x->plan.chunks; c++) {
		int64_t *t = r->time + (size_t)(c % active) * n;
		if (!solve_chunk(r, x, c, t, in, way)) {
			replay_fail(r, x->first_rank, x->first_node, "the collective would end after 2^62 ns: expected a faster network");
			return;
		}
		for (uint32_t i = 0; i < n; i++)
			end[i] = later(end[i], t[i]);
	}
	count_messages(r, x);
	for (uint32_t i = 0; i < n; i++)
		replay_end_at(r, end[i], member[i], x->node[i]);
	instance_close(r, at);
}

/* ---- with congestion: messages ---- */

static void begin_chunk(struct replay *r, uint32_t at, uint32_t i);

static struct progress *progress_of(const struct instance *x, uint32_t i, uint32_t chunk)
{
	return &x->progress[(size_t)i * x->plan.chunks + chunk];
}
static uint32_t *arrived_of(const struct instance *x, uint32_t i, uint32_t chunk, uint32_t step)
{
	return &x->arrived[((size_t)i * x->plan.chunks + chunk) * x->plan.steps + step];
}

static void end_chunk(struct replay *r, uint32_t at, uint32_t i)
{
	struct instance *x = &r->instance[at];
	if (--x->left[i]) {
		begin_chunk(r, at, i);
		return;
	}
	replay_end_at(r, eng_now(r->engine), group_of(r, x)->member[i], x->node[i]);
	if (++x->ended == x->plan.n)
		instance_close(r, at);
}

/* Member and chunk of an event: arg. */
static void send_step(struct engine *e, void *ctx, uint64_t subject, uint64_t arg);

static void schedule(struct replay *r, int64_t t, uint32_t at, uint32_t i, uint32_t chunk)
{
	eng_at(r->engine, t, 0, send_step, r, at, (uint64_t)i << 32 | chunk);
}

/* Goes on to the next step if all messages of this one were sent and have arrived. */
static void try_step(struct replay *r, uint32_t at, uint32_t i, uint32_t chunk)
{
	const struct instance *x = &r->instance[at];
	struct progress *p = progress_of(x, i, chunk);
	if (!p->has_sent)
		return;
	struct replay_step s = replay_plan_step(&x->plan, chunk, p->step);
	if (*arrived_of(x, i, chunk, p->step) < s.peers)
		return;
	p->has_sent = false;
	p->step++;
	schedule(r, eng_now(r->engine) + r->c->system->endpoint_delay_ns + s.reduce_ns, at, i, chunk);
}

static void send_step(struct engine *e, void *ctx, uint64_t subject, uint64_t arg)
{
	struct replay *r = ctx;
	uint32_t at = (uint32_t)subject, i = (uint32_t)(arg >> 32), chunk = (uint32_t)arg;
	const struct instance *x = &r->instance[at];
	struct progress *p = progress_of(x, i, chunk);
	const uint32_t *member = group_of(r, x)->member;
	(void)e;
	if (p->step == x->plan.steps) {
		end_chunk(r, at, i);
		return;
	}
	struct replay_step s = replay_plan_step(&x->plan, chunk, p->step);
	for (uint32_t k = 0; k < s.peers && !r->err.code; k++) {
		uint32_t to = replay_plan_peer(&x->plan, &s, i, k);
		struct message *m = net_new(r, member[i], member[to], s.bytes);
		m->instance = at;
		m->member = to;
		m->chunk = chunk;
		m->step = p->step;
		net_send(r, m);
	}
	p->has_sent = true;
	try_step(r, at, i, chunk);
}

static void message_arrived(struct replay *r, const struct message *m)
{
	++*arrived_of(&r->instance[m->instance], m->member, m->chunk, m->step);
	try_step(r, m->instance, m->member, m->chunk);
}

/* Begins the next chunk of member i, if there is one. */
static void begin_chunk(struct replay *r, uint32_t at, uint32_t i)
{
	struct instance *x = &r->instance[at];
	if (x->next_chunk[i] < x->plan.chunks)
		schedule(r, eng_now(r->engine) + r->c->system->endpoint_delay_ns, at, i, x->next_chunk[i]++);
}

/* ---- nodes ---- */

static void replay_duration(struct replay *r, uint32_t rank, uint32_t node)
{
	uint64_t ns = r->rank[rank].trace->node[node].duration_ns;
	r->result->durations++;
	replay_end_at(r, eng_now(r->engine) + (ns ? (int64_t)ns : 1), rank, node);
}

void coll_issue(struct replay *r, uint32_t rank, uint32_t node)
{
	struct rank_state *k = &r->rank[rank];
	const struct chakra_node *v = &k->trace->node[node];
	if (algorithm_of(v->collective) < 0) {
		replay_duration(r, rank, node);
		return;
	}
	struct membership *m = membership_of(k, v->group);
	uint64_t number = m->issued++;
	uint32_t *place = place_of(&r->group[v->group], number);
	if (*place == REPLAY_NONE && (*place = instance_new(r, rank, node, number)) == REPLAY_NONE)
		return;
	uint32_t at = *place;
	struct instance *x = &r->instance[at];
	if (x->type != v->collective || x->bytes != v->bytes) {
		const struct rank_state *first = &r->rank[x->first_rank];
		replay_fail(r, rank, node,
			"%s of %llu bytes, collective %llu of its group, where node %llu of rank %u is %s of %llu bytes: expected the same "
			"collectives in the same order on all ranks",
			chakra_collective_name(v->collective), (unsigned long long)v->bytes, (unsigned long long)number,
			(unsigned long long)first->trace->node[x->first_node].id, x->first_rank, chakra_collective_name(x->type),
			(unsigned long long)x->bytes);
		return;
	}
	x->start[m->position] = eng_now(r->engine);
	x->node[m->position] = node;
	x->begun++;
	r->coll_arrived = message_arrived;
	if (!r->by_messages && x->begun == x->plan.n)
		solve(r, at);
	for (uint32_t c = 0; r->by_messages && c < r->c->system->active_chunks && c < x->plan.chunks; c++)
		begin_chunk(r, at, m->position);
}

void coll_stuck(struct replay *r, uint32_t rank, uint32_t node)
{
	const struct rank_state *k = &r->rank[rank];
	const struct chakra_node *v = &k->trace->node[node];
	const struct membership *m = membership_of(k, v->group);
	const struct group_state *g = &r->group[v->group];
	uint32_t at = m->issued && m->issued - 1 >= g->first ? g->open[(m->issued - 1) % g->cap] : REPLAY_NONE;
	for (uint32_t i = 0; at < r->n_instances && i < r->instance[at].plan.n; i++)
		if (r->instance[at].start[i] < 0) {
			replay_fail(r, rank, node,
				"waits forever: rank %u never begins this %s, collective %llu of its group: expected the same "
				"collectives in the same order on all ranks",
				group_of(r, &r->instance[at])->member[i], chakra_collective_name(v->collective),
				(unsigned long long)m->issued - 1);
			return;
		}
	replay_fail(r, rank, node, "the collective waits forever");
}
