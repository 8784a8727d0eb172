/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Closed-loop clients, each of which waits for an answer before its next request (docs/models/serve.md#the-service).
 *
 * A conversation is a row of the trace or, with serve.sessions, the rows of one session in order. With serve.clients=N, each of
 * N users starts the next conversation at the end of its last one; else a conversation starts at the arrival time of its first
 * row. The think time is the time between an answer and the next request.
 */
#include "serve/clients.h"
#include "serve/requests.h"
#include "serve/route.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum sessions { SESSIONS_NONE, SESSIONS_REPLAY, SESSIONS_GROW };

/* The client that sent the request of a slot. */
struct sender {
	uint32_t user;    /* user that waits for the answer; NONE: only its session waits */
	uint32_t row;     /* row of the trace; NONE: no sessions */
	uint32_t context; /* number of tokens of earlier turns */
};

struct clients {
	uint32_t users;
	enum sessions sessions;
	double think_s;
	bool is_fixed;
	struct rng rng;
	struct sender *sender; /* [request slot] */
	uint32_t cap_sender;
	struct sender current; /* sender of the request that arrives now */
	/* sessions: rows by number */
	uint32_t n_rows, next_first;
	uint32_t *next_turn;     /* next row of the session, by row; NONE: no further row */
	uint64_t *is_later;      /* bit set by row: the row is not the first of its session */
	uint64_t left;           /* number of rows not sent yet */
	struct request_rec *own; /* rows of a generator; NULL: the rows of the loaded trace */
	uint64_t *own_block;     /* their hashes, one after the other; without sessions, those of the row to send */
	uint32_t cap_block;      /* without sessions: size of own_block */
};

static void on_turn(struct engine *e, void *ctx, uint64_t subject, uint64_t arg);
static void on_user(struct engine *e, void *ctx, uint64_t subject, uint64_t arg);
static void on_first(struct engine *e, void *ctx, uint64_t subject, uint64_t arg);

static int64_t thinking(struct orr_serve *w)
{
	struct clients *c = w->clients;
	double s = c->is_fixed || c->think_s <= 0 ? c->think_s : rng_exponential(&c->rng, c->think_s);
	return s < 4e9 ? serve_ns(s) : INT64_MAX / 4;
}

static void after_thought(struct orr_serve *w, double from_s, eng_fn fn, uint64_t subject, uint64_t arg)
{
	eng_at(w->host.engine, serve_ns(from_s) + thinking(w), PRIO_ARRIVAL, fn, w, subject, arg);
}

static void send(struct orr_serve *w, struct request_rec *rec, struct sender from)
{
	struct clients *c = w->clients;
	rec->arrival_ns = eng_now(w->host.engine);
	serve_happen(w, (double)rec->arrival_ns / 1e9);
	if (from.context) { /* the prompt repeats the earlier turns */
		uint64_t prompt = (uint64_t)rec->prompt_tokens + from.context;
		rec->prompt_tokens = prompt > REQUEST_MAX_TOKENS ? REQUEST_MAX_TOKENS : (uint32_t)prompt;
	}
	c->current = from;
	serve_arrive(w, rec);
}

/* ---- independent rows ---- */

static void send_row(struct orr_serve *w, uint32_t user)
{
	struct request_rec rec = w->next_rec;
	if (!w->has_next)
		return;
	rec.block = req_keep_blocks(w, rec.block, rec.n_blocks, &w->clients->own_block, &w->clients->cap_block);
	w->has_next = reqcursor_next(w->cursor, &w->next_rec);
	send(w, &rec, (struct sender){ .user = user, .row = NONE });
}

/* ---- sessions ---- */

static const struct request_rec *row_at(const struct orr_serve *w, uint64_t row)
{
	return w->clients->own ? &w->clients->own[row] : reqset_at(w->config->requests, row);
}

static bool is_later(const struct clients *c, uint32_t row)
{
	return c->is_later[row / 64] >> (row % 64) & 1;
}

static uint32_t next_first(struct clients *c)
{
	while (c->next_first < c->n_rows && is_later(c, c->next_first))
		c->next_first++;
	return c->next_first < c->n_rows ? c->next_first++ : NONE;
}

static void send_turn(struct orr_serve *w, struct sender from)
{
	struct clients *c = w->clients;
	struct request_rec rec = *row_at(w, from.row);
	w->has_next = --c->left > 0;
	send(w, &rec, from);
}

static void on_turn(struct engine *e, void *ctx, uint64_t subject, uint64_t arg)
{
	(void)e;
	struct orr_serve *w = ctx;
	if (!w->error.code)
		send_turn(w, (struct sender){ .user = (uint32_t)(subject >> 32), .row = (uint32_t)subject, .context = (uint32_t)arg });
}

static void await_first(struct orr_serve *w)
{
	uint32_t row = next_first(w->clients);
	if (row != NONE)
		eng_at(w->host.engine, row_at(w, row)->arrival_ns, PRIO_ARRIVAL, on_first, w, row, 0);
}

static void on_first(struct engine *e, void *ctx, uint64_t subject, uint64_t arg)
{
	(void)e, (void)arg;
	struct orr_serve *w = ctx;
	if (w->error.code)
		return;
	send_turn(w, (struct sender){ .user = NONE, .row = (uint32_t)subject });
	await_first(w);
}

/* Event: a user starts a conversation after its think time. */
static void on_user(struct engine *e, void *ctx, uint64_t subject, uint64_t arg)
{
	(void)e, (void)arg;
	struct orr_serve *w = ctx;
	if (w->error.code)
		return;
	if (w->clients->sessions == SESSIONS_NONE) {
		send_row(w, (uint32_t)subject);
		return;
	}
	uint32_t row = next_first(w->clients);
	if (row != NONE)
		send_turn(w, (struct sender){ .user = (uint32_t)subject, .row = row });
}

/* ---- answers ---- */

static void on_request(struct orr_serve *w, const struct req *q)
{
	struct clients *c = w->clients;
	uint32_t slot = req_slot(w, q);
	if (slot >= c->cap_sender) {
		uint32_t cap = slot < 32 ? 64 : slot * 2;
		c->sender = mem_realloc(c->sender, cap, sizeof *c->sender);
		c->cap_sender = cap;
	}
	c->sender[slot] = c->current;
}

/* Returns the number of tokens that the next turn repeats; a turn without an answer adds none. */
static uint32_t context_after(const struct clients *c, const struct req *q, const struct sender *s)
{
	if (c->sessions != SESSIONS_GROW || q->how != ORR_REQ_COMPLETED)
		return c->sessions == SESSIONS_GROW ? s->context : 0;
	uint64_t tokens = (uint64_t)q->prompt_asked + q->output_asked;
	return tokens > REQUEST_MAX_TOKENS ? REQUEST_MAX_TOKENS : (uint32_t)tokens;
}

static void on_request_end(struct orr_serve *w, const struct req *q, double at_s)
{
	struct clients *c = w->clients;
	struct sender s = c->sender[req_slot(w, q)];
	uint32_t next = c->sessions != SESSIONS_NONE && s.row != NONE ? c->next_turn[s.row] : NONE;
	if (next != NONE)
		after_thought(w, at_s, on_turn, (uint64_t)s.user << 32 | next, context_after(c, q, &s));
	else if (s.user != NONE && w->has_next)
		after_thought(w, at_s, on_user, s.user, 0);
}

/* ---- beginning and end ---- */

struct turn {
	uint64_t session;
	uint32_t row;
};

static int by_session(const void *a, const void *b)
{
	const struct turn *x = a, *y = b;
	if (x->session != y->session)
		return x->session < y->session ? -1 : 1;
	return (x->row > y->row) - (x->row < y->row);
}

/*
 * Generates up to n rows in advance, because a session may need its next row earlier than the generator reaches it. Returns
 * their number.
 */
static uint64_t keep_rows(struct orr_serve *w, uint64_t n)
{
	struct clients *c = w->clients;
	struct request_rec rec;
	size_t blocks = 0, cap = 0;
	uint64_t rows = 0;
	c->own = mem_alloc((n + 1) * sizeof *c->own);
	for (; rows < n && reqcursor_next(w->cursor, &rec); rows++) {
		while (blocks + rec.n_blocks > cap) {
			cap = cap ? 2 * cap : 1024;
			c->own_block = mem_realloc(c->own_block, cap, sizeof *c->own_block);
		}
		if (rec.n_blocks)
			memcpy(c->own_block + blocks, rec.block, rec.n_blocks * sizeof *rec.block);
		blocks += rec.n_blocks;
		c->own[rows] = rec;
	}
	const uint64_t *at = c->own_block;
	for (uint64_t i = 0; i < rows; i++) {
		c->own[i].block = at;
		at = at ? at + c->own[i].n_blocks : NULL;
	}
	return rows;
}

static bool index_sessions(struct orr_serve *w)
{
	struct clients *c = w->clients;
	const struct reqset *s = w->config->requests;
	uint64_t n = reqset_count(s);
	if (n >= NONE) {
		orr_fail(&w->error, ORR_EINPUT, "serve.sessions: %.200s: expected at most %u requests", reqset_source(s), NONE - 1);
		return false;
	}
	if (!reqset_is_loaded(s))
		n = keep_rows(w, n);
	c->n_rows = (uint32_t)n;
	c->left = n;
	c->next_turn = mem_alloc((n + 1) * sizeof *c->next_turn);
	c->is_later = mem_zalloc(n / 64 + 1, sizeof *c->is_later);
	struct turn *turn = mem_alloc((n + 1) * sizeof *turn);
	size_t m = 0;
	for (uint32_t i = 0; i < n; i++) {
		c->next_turn[i] = NONE;
		if (row_at(w, i)->session)
			turn[m++] = (struct turn){ row_at(w, i)->session, i };
	}
	qsort(turn, m, sizeof *turn, by_session);
	for (size_t i = 1; i < m; i++) {
		if (turn[i].session != turn[i - 1].session)
			continue;
		w->used |= SERVE_USED_SESSIONS;
		c->next_turn[turn[i - 1].row] = turn[i].row;
		c->is_later[turn[i].row / 64] |= UINT64_C(1) << (turn[i].row % 64);
	}
	mem_free(turn);
	w->has_next = n > 0;
	if (!m && c->own) {
		orr_fail(&w->error, ORR_EINPUT, "serve.sessions: %.200s has none: expected a trace with sessions, or the generator chat",
			reqset_source(s));
		return false;
	}
	return true;
}

bool clients_begin(struct orr_serve *w)
{
	const struct orr_args *o = w->config->options;
	const char *sessions = orr_arg_text(o, "sessions");
	uint32_t users = (uint32_t)orr_arg_int(o, "clients");
	enum sessions how = !strcmp(sessions, "replay") ? SESSIONS_REPLAY : !strcmp(sessions, "grow") ? SESSIONS_GROW : SESSIONS_NONE;
	if (!users && how == SESSIONS_NONE)
		return false;
	struct clients *c = w->clients = mem_zalloc(1, sizeof *c);
	w->on_request = on_request;
	w->on_request_end = on_request_end;
	c->users = users;
	c->sessions = how;
	c->think_s = (double)orr_arg_time_ns(o, "think") / 1e9;
	c->is_fixed = !strcmp(orr_arg_text(o, "think_law"), "fixed");
	rng_init(&c->rng, w->config->seed, "serve-think", w->config->replication);
	if (how != SESSIONS_NONE && !index_sessions(w))
		return true;
	if (how == SESSIONS_NONE)
		w->has_next = reqcursor_next(w->cursor, &w->next_rec);
	for (uint32_t i = 0; i < users; i++)
		after_thought(w, 0, on_user, i, 0);
	if (!users)
		await_first(w);
	return true;
}

void clients_free(struct orr_serve *w)
{
	struct clients *c = w->clients;
	if (!c)
		return;
	mem_free(c->sender);
	mem_free(c->next_turn);
	mem_free(c->is_later);
	mem_free(c->own);
	mem_free(c->own_block);
	mem_free(c);
	w->clients = NULL;
}
