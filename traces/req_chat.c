/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * req_chat.c - conversations of several turns with shared prefixes of their prompts
 *
 * Conversations begin as a Poisson process of `rate` per second. The number of turns is geometric with mean `turns`. A conversation belongs
 * to one of `assistants`, drawn with equal probability, whose system prompt of `system` tokens begins every prompt. A turn adds `prompt`
 * tokens of the user and `output` tokens of the answer; its own prompt is the whole context: the system prompt, all earlier turns and its
 * new tokens. The next turn arrives an exponential time of mean `gap` after the last one. A conversation ends early if the next turn would
 * exceed `context` tokens.
 *
 * Each full block of `block_tokens` tokens of the prompt has a hash: blocks within the system prompt are those of the assistant, all
 * others are the conversation's. With history=no a prompt has the new tokens alone, the first one with the system prompt, for
 * closed loops (serve.sessions=grow), and no hashes.
 *
 * Streams: "request arrivals" draws beginnings and gaps, "request chats" assistants and numbers of turns, those of req_content.h the rest.
 */
#include "traces/req_content.h"

#include "base/hash.h"
#include "base/heap.h"
#include "base/mem.h"

#include <math.h>

/* A conversation that has a further turn. */
struct chat {
	int64_t at_ns; /* arrival of the next turn */
	uint64_t session;
	uint32_t assistant, context;    /* context: tokens before the next turn */
	uint32_t turns, prompt, output; /* turns: still to come, this one included; prompt, output: tokens of the next turn */
};

struct plan {
	double start_ns, gap_ns, last; /* mean times, ns; last: probability that a turn is the last one */
	uint32_t assistants, system, most, block_tokens;
	bool has_history;
	struct req_content content;
};

struct state {
	const struct plan *plan;
	struct rng times, chats;
	struct req_content_draw content;
	struct chat *chat; /* heap by arrival, then session */
	uint32_t n, cap;
	int64_t start_ns; /* beginning of the next conversation */
	uint64_t sessions, *block;
	size_t cap_blocks;
};

static bool is_before(const void *ctx, const struct chat *a, const struct chat *b)
{
	(void)ctx;
	return a->at_ns != b->at_ns ? a->at_ns < b->at_ns : a->session < b->session;
}
HEAP(chats, struct chat, const void, is_before, HEAP_UNTRACKED)

#define LATEST_NS INT64_C(4000000000000000000)

static int64_t later(int64_t from_ns, double by_ns)
{
	return by_ns < (double)(LATEST_NS - from_ns) ? from_ns + (int64_t)(by_ns + 0.5) : LATEST_NS;
}

/* Draws the next turn into x->prompt and x->output. */
static void draw_turn(struct state *s, struct chat *x, struct request_rec *row)
{
	req_content_draw(&s->content, row);
	x->prompt = row->prompt_tokens ? row->prompt_tokens : 1;
	x->output = row->output_tokens;
}

static void put_blocks(struct state *s, const struct chat *x, struct request_rec *row)
{
	const struct plan *p = s->plan;
	uint32_t n = row->prompt_tokens / p->block_tokens, shared = p->system / p->block_tokens;
	if (n > s->cap_blocks) {
		s->cap_blocks = 2 * (size_t)n;
		s->block = mem_realloc(s->block, s->cap_blocks, sizeof *s->block);
	}
	for (uint32_t i = 0; i < n; i++) {
		uint64_t owner = i < shared ? ((uint64_t)x->assistant << 1) + 1 : x->session << 1;
		s->block[i] = hash_mix(hash_mix(owner) + i) >> 1; /* below 2^63, as files have it */
	}
	row->block = s->block;
	row->n_blocks = n;
}

static void begin(struct state *s, struct chat *x)
{
	const struct plan *p = s->plan;
	*x = (struct chat){ .at_ns = s->start_ns, .session = ++s->sessions, .context = p->system };
	x->assistant = p->assistants > 1 ? (uint32_t)rng_below(&s->chats, p->assistants) : 0;
	double turns = p->last < 1 ? 1 + floor(log(rng_uniform_pos(&s->chats)) / log1p(-p->last)) : 1;
	x->turns = turns < 1e6 ? (uint32_t)turns : 1000000;
	s->start_ns = later(s->start_ns, rng_exponential(&s->times, p->start_ns));
}

/* Puts the conversation back if it has a further turn. */
static void go_on(struct state *s, struct chat x)
{
	const struct plan *p = s->plan;
	uint64_t context = (uint64_t)x.context + x.prompt + x.output;
	if (!--x.turns || context >= p->most)
		return;
	x.context = (uint32_t)context;
	x.at_ns = later(x.at_ns, rng_exponential(&s->times, p->gap_ns));
	MEM_GROW(s->chat, s->n, s->cap);
	chats_up(NULL, s->chat, s->n++, x);
}

static bool next_chat(void *state, struct request_rec *row)
{
	struct state *s = state;
	const struct plan *p = s->plan;
	for (;;) {
		struct chat x;
		bool is_new = !s->n || s->start_ns < s->chat[0].at_ns;
		if (is_new) {
			begin(s, &x);
		} else {
			x = s->chat[0];
			s->n--;
			if (s->n)
				chats_down(NULL, s->chat, s->n, 0, s->chat[s->n]);
		}
		draw_turn(s, &x, row);
		/* A turn that does not fit ends the conversation; a first turn is cut. */
		if ((uint64_t)x.context + x.prompt + x.output > p->most) {
			if (!is_new)
				continue;
			x.output = x.output < p->most / 2 ? x.output : p->most / 2;
			x.prompt = x.prompt < p->most - x.context - x.output ? x.prompt : p->most - x.context - x.output;
		}
		row->arrival_ns = x.at_ns;
		row->session = x.session;
		row->prompt_tokens = (p->has_history || is_new ? x.context : 0) + x.prompt;
		row->output_tokens = x.output;
		if (p->has_history)
			put_blocks(s, &x, row);
		go_on(s, x);
		return true;
	}
}

static void start(void *state, const void *plan, uint64_t seed, uint64_t index)
{
	struct state *s = state;
	s->plan = plan;
	rng_init(&s->times, seed, "request arrivals", index);
	rng_init(&s->chats, seed, "request chats", index);
	req_content_start(&s->content, &s->plan->content, seed, index);
	s->start_ns = later(0, rng_exponential(&s->times, s->plan->start_ns));
}

static void stop(void *state)
{
	struct state *s = state;
	mem_free(s->chat);
	mem_free(s->block);
}

static int make_plan(void *plan, const struct orr_args *args, struct rowset *set, struct orr_error *err)
{
	struct plan *p = plan;
	p->start_ns = 1e9 / orr_arg_real(args, "rate");
	p->gap_ns = (double)orr_arg_time_ns(args, "gap");
	p->last = 1 / orr_arg_real(args, "turns");
	p->assistants = (uint32_t)orr_arg_int(args, "assistants");
	p->system = (uint32_t)orr_arg_int(args, "system");
	p->most = (uint32_t)orr_arg_int(args, "context");
	p->block_tokens = (uint32_t)orr_arg_int(args, "block_tokens");
	p->has_history = orr_arg_bool(args, "history");
	if (p->system > p->most / 4)
		return orr_fail(err, ORR_EINPUT,
			"generator chat: system=%u of context=%u tokens: expected a system prompt of at most a quarter of the context",
			p->system, p->most);
	return req_content_plan(&p->content, "chat", args, set, err);
}

static void unplan(void *plan)
{
	req_content_free(&((struct plan *)plan)->content);
}

static uint32_t block_tokens(const void *plan)
{
	const struct plan *p = plan;
	return p->has_history ? p->block_tokens : 0;
}

static const struct orr_param params[] = { ORR_PARAM_REAL("rate", "1", 1e-9, 1e12, "conversations that begin per second"),
	ORR_PARAM_REAL("turns", "5", 1, 1e4, "mean number of turns of a conversation (geometric)"),
	ORR_PARAM_TIME("gap", "60s", "mean time between the arrivals of two turns (exponential)"),
	ORR_PARAM_INT("system", "500", 0, REQUEST_MAX_TOKENS, "tokens of the system prompt, which begins every prompt of an assistant"),
	ORR_PARAM_INT("assistants", "1", 1, 1e9, "number of different system prompts, drawn per conversation"),
	ORR_PARAM_INT(
		"context", "4096", 16, REQUEST_MAX_TOKENS, "a conversation ends before its prompt and output exceed this number of tokens"),
	ORR_PARAM_BOOL("history", true,
		"prompts repeat the earlier turns; false: new tokens alone (the first prompt has the system prompt), for "
		"serve.sessions=grow"),
	ORR_PARAM_INT(
		"block_tokens", "16", 1, REQUEST_MAX_TOKENS, "tokens of a block of the prompt; each full block has a hash (prefix cache)"),
	REQUEST_PARAM_N("10000"), REQUEST_PARAMS_CONTENT, ORR_PARAM_END };

const struct generator req_generator_chat = {
	.kind = TRACE_REQUESTS,
	.name = "chat",
	.doc = "conversations of several turns whose prompts share prefixes",
	.params = params,
	.plan_size = sizeof(struct plan),
	.state_size = sizeof(struct state),
	.make_plan = make_plan,
	.unplan = unplan,
	.start = start,
	.next_request = next_chat,
	.stop = stop,
	.block_tokens = block_tokens,
};
