/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Messages on the network of a replay.
 *
 * Unaware of congestion: a message takes floor(hops x latency + bytes / bandwidth).
 * Aware of it: it is stored and forwarded over links. A link sends one message at a time, first in, first out: it is free again after
 * floor(bytes / bandwidth), and the message is at the next end after floor(latency + bytes / bandwidth). Requests come in the order of
 * time, so the time at which a link is free describes its queue.
 */
#include "step/replay_state.h"

#include "base/mem.h"

#include <math.h>

static const struct astra_dimension *only(const struct replay *r)
{
	return &r->c->network->dim[0];
}

int64_t net_time(const struct replay *r, uint32_t from, uint32_t to, uint64_t bytes)
{
	const struct astra_dimension *d = only(r);
	double ns = (double)astra_hops(r->c->network, from, to) * d->latency_ns + (double)bytes / d->bytes_per_ns;
	return ns < (double)REPLAY_END ? (int64_t)ns : REPLAY_END;
}

/* ---- links ---- */

/* Ring: 2 i clockwise and 2 i + 1 the other way, from i. Switch: 2 i up and 2 i + 1 down. FullyConnected: i n + j. */
static uint64_t link_count(const struct replay *r)
{
	uint64_t n = r->n_ranks;
	return only(r)->topology == ASTRA_FULLY_CONNECTED ? n * n : 2 * n;
}

/* Returns the next link of the message and sets *next to its end. */
static uint32_t next_link(const struct replay *r, const struct message *m, uint32_t *next)
{
	uint32_t n = r->n_ranks, way;
	switch (only(r)->topology) {
	case ASTRA_SWITCH:
		*next = m->at == n ? m->to : n;
		return m->at == n ? 2 * m->to + 1 : 2 * m->at;
	case ASTRA_RING:
		way = (m->to + n - m->from) % n;
		if (way <= n - way) {
			*next = (m->at + 1) % n;
			return 2 * m->at;
		}
		*next = (m->at + n - 1) % n;
		return 2 * m->at + 1;
	default:
		*next = m->to;
		return m->at * n + m->to;
	}
}

void net_begin(struct replay *r)
{
	r->free_message = REPLAY_NONE;
	if (r->c->is_aware)
		r->link_free = mem_zalloc(link_count(r), sizeof *r->link_free);
}

void net_end(struct replay *r)
{
	mem_free(r->link_free);
	mem_free(r->message);
}

/* ---- messages ---- */

struct message *net_new(struct replay *r, uint32_t from, uint32_t to, uint64_t bytes)
{
	uint32_t i = r->free_message;
	if (i == REPLAY_NONE) {
		MEM_GROW(r->message, r->n_messages, r->cap_messages);
		i = r->n_messages++;
	} else {
		r->free_message = r->message[i].next;
	}
	r->message[i] =
		(struct message){ .bytes = bytes, .from = from, .to = to, .at = from, .instance = REPLAY_NONE, .next = REPLAY_NONE };
	r->rank[from].result->sent_bytes += (double)bytes;
	r->result->messages++;
	return &r->message[i];
}

static void release(struct replay *r, uint32_t i)
{
	r->message[i].next = r->free_message;
	r->free_message = i;
}

static void forward(struct engine *e, void *ctx, uint64_t subject, uint64_t arg);

/* Schedules the message's arrival at the next node of its route. */
static void go_on(struct replay *r, uint32_t i)
{
	struct message *m = &r->message[i];
	int64_t now = eng_now(r->engine), at;
	if (!r->c->is_aware) {
		m->at = m->to;
		at = now + net_time(r, m->from, m->to, m->bytes);
	} else {
		uint32_t next, link = next_link(r, m, &next);
		double serial = (double)m->bytes / only(r)->bytes_per_ns, whole = only(r)->latency_ns + serial;
		int64_t begin = r->link_free[link] > now ? r->link_free[link] : now;
		if (!(whole < (double)(REPLAY_END - begin)))
			whole = serial = (double)(REPLAY_END - begin);
		r->link_free[link] = begin + (int64_t)serial;
		at = begin + (int64_t)whole;
		m->at = next;
	}
	if (at >= REPLAY_END) {
		replay_fail(r, m->from, 0, "a message of %llu bytes would arrive after 2^62 ns: expected a faster network",
			(unsigned long long)m->bytes);
		return;
	}
	eng_at(r->engine, at, 0, forward, r, i, 0);
}

static void forward(struct engine *e, void *ctx, uint64_t subject, uint64_t arg)
{
	struct replay *r = ctx;
	uint32_t i = (uint32_t)subject;
	(void)e, (void)arg;
	if (r->message[i].at != r->message[i].to) {
		go_on(r, i);
		return;
	}
	struct message m = r->message[i];
	release(r, i);
	(m.instance == REPLAY_NONE ? r->node_arrived : r->coll_arrived)(r, &m);
}

void net_send(struct replay *r, struct message *m)
{
	go_on(r, (uint32_t)(m - r->message));
}

void net_arrive(struct replay *r, struct message *m)
{
	m->at = m->to;
	eng_at(r->engine, eng_now(r->engine), 0, forward, r, (uint32_t)(m - r->message), 0);
}
