/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Splitwise's servers: prompts run first, up to a token limit, decodes are preempted for an iteration to make room, and an arrival ends a
 * repetition of decodes (Patel et al., "Splitwise: Efficient generative LLM inference using phase splitting", ISCA 2024; rules of
 * Mutinifni/splitwise-sim 8f99e7d, instance `Splitwise`).
 *
 * A request is two tasks: its prompt (one iteration) and its decode (the rest of its output). A task reserves memory for all its tokens
 * when it starts, which takes the true output length, so runs are marked oracle. Replicas with the role prefill run prompts only and send
 * the request to a decode replica. They run the decode themselves if no replica takes it.
 */
#include <orrery/serve.h>

#include "kinds.h"

#include <string.h>

#define NONE UINT32_MAX
enum { STARVED = 4 };
enum kind { PROMPT, DECODE };
enum state { WAITING, RUNNING, PREEMPTED, OVER };

enum list_of { ALL, PROMPTS, PREEMPTIONS, LISTS };
struct link {
	uint32_t prev, next;
};
struct list {
	uint32_t first, last;
};

struct task {
	uint8_t state;
	uint32_t skips;  /* number of batches that left the task out, up to number `from` */
	uint64_t from;   /* value of server.begun from which skips are counted; UINT64_MAX: not counted now */
	uint64_t chosen; /* number of the last selection that contains the task */
};
struct entry {
	orr_req r;
	double arrival;
	uint32_t prompt, output, server;
	uint32_t blocks[2]; /* number of blocks reserved by each task */
	struct task task[2];
	struct link link[LISTS];
};

struct server {
	uint32_t *queue; /* Q: tasks outside the batch, as entry * 2 + kind */
	uint32_t n_queue, cap_queue;
	uint32_t *batch; /* B: tasks of the batch, in the same form */
	uint32_t n_batch, cap_batch;
	struct list list[LISTS];
	uint32_t weight; /* weight of the last selection */
	uint64_t begun;
	double outstanding; /* number of tokens, for the router */
	uint64_t requests;
	bool is_running, is_open; /* is_open: up and not draining */
	enum orr_replica_role role;
	uint32_t model; /* the only model that it serves; UINT32_MAX: any model */
};

struct splitwise {
	struct entry *entry;
	uint32_t n_entries, cap_entries, *free_entry, n_free, cap_free;
	struct server *server;
	uint32_t n_servers;
	uint32_t *pick; /* N: the next batch */
	uint32_t n_pick, cap_pick;
	uint64_t selection;
	uint32_t most, tokens;
	const char *router;
	uint32_t turn;
};

#define PUSH(v, n, cap, x)                 \
	do {                               \
		ORR_GROW((v), (n), (cap)); \
		(v)[(n)++] = (x);          \
	} while (0)

/* ---- lists ---- */

static void list_add(struct splitwise *s, struct server *v, enum list_of l, uint32_t e)
{
	struct list *x = &v->list[l];
	uint32_t after = x->last;
	/* Inserts in order of arrival; only requests from a prefill replica can be out of order. */
	while (l == ALL && after != NONE && s->entry[after].arrival > s->entry[e].arrival)
		after = s->entry[after].link[l].prev;
	uint32_t before = after == NONE ? x->first : s->entry[after].link[l].next;
	s->entry[e].link[l] = (struct link){ after, before };
	*(after == NONE ? &x->first : &s->entry[after].link[l].next) = e;
	*(before == NONE ? &x->last : &s->entry[before].link[l].prev) = e;
}

static void list_remove(struct splitwise *s, struct server *v, enum list_of l, uint32_t e)
{
	struct list *x = &v->list[l];
	struct link k = s->entry[e].link[l];
	*(k.prev == NONE ? &x->first : &s->entry[k.prev].link[l].next) = k.next;
	*(k.next == NONE ? &x->last : &s->entry[k.next].link[l].prev) = k.prev;
}

/* ---- tasks ---- */

static struct task *task_of(const struct splitwise *s, uint32_t id)
{
	return &s->entry[id / 2].task[id % 2];
}

static uint32_t weight_of(const struct splitwise *s, uint32_t id)
{
	return id % 2 == PROMPT ? s->entry[id / 2].prompt : 1;
}

/* Returns whether the cache can hold all tokens except the last, which no iteration reads; without the decode, the prompt. */
static bool could_hold(const struct orr_serve *w, uint32_t server, uint32_t prompt, uint32_t output, bool has_decode)
{
	return (uint64_t)prompt + (has_decode ? output - 1 : 0) <= (uint64_t)orr_kv_total(w, server) * orr_kv_block_tokens(w, server);
}

/* Returns the KV blocks that the task reserves: for the prompt and its first output, or for the other outputs. */
static uint32_t memory_of(const struct splitwise *s, uint32_t id)
{
	return s->entry[id / 2].blocks[id % 2];
}

static uint32_t head_of(const struct splitwise *s, uint32_t e)
{
	return e * 2 + (s->entry[e].task[PROMPT].state == OVER ? DECODE : PROMPT);
}

/* Returns the number of runs that started without the task while it was the first open task of its request. */
static uint64_t skips_of(const struct splitwise *s, const struct server *v, uint32_t id)
{
	const struct task *t = task_of(s, id);
	return t->skips + (t->from == UINT64_MAX ? 0 : v->begun - t->from);
}

static bool is_before(const struct splitwise *s, const struct server *v, uint32_t a, uint32_t b)
{
	uint64_t x = skips_of(s, v, a), y = skips_of(s, v, b);
	return x != y ? x < y : s->entry[a / 2].arrival < s->entry[b / 2].arrival;
}

/* Inserts by bisection into a list that is not resorted when skips grow: the resulting position follows the published rule. */
static void enqueue(const struct splitwise *s, struct server *v, uint32_t id)
{
	uint32_t lo = 0, hi = v->n_queue;
	while (lo < hi) {
		uint32_t mid = (lo + hi) / 2;
		if (is_before(s, v, id, v->queue[mid]))
			hi = mid;
		else
			lo = mid + 1;
	}
	PUSH(v->queue, v->n_queue, v->cap_queue, id);
	memmove(v->queue + lo + 1, v->queue + lo, (v->n_queue - 1 - lo) * sizeof *v->queue);
	v->queue[lo] = id;
}

static void remove_id(uint32_t *v, uint32_t *n, uint32_t id)
{
	uint32_t i = 0;
	while (i < *n && v[i] != id)
		i++;
	if (i < *n)
		memmove(v + i, v + i + 1, (--*n - i) * sizeof *v);
}

static void dequeue(struct server *v, uint32_t id)
{
	remove_id(v->queue, &v->n_queue, id);
}

/* ---- selection of the next batch ---- */

struct choice {
	uint32_t weight;
	uint64_t room;   /* KV blocks left */
	const char *why; /* the limit that ended the last search for tasks; NULL: no task was left */
};

/* Caps the reservation at the size of the cache: an accepted request fits (its last token needs no room). */
static uint32_t reservation(const struct orr_serve *w, uint32_t server, uint32_t tokens)
{
	uint64_t all = (uint64_t)orr_kv_total(w, server) * orr_kv_block_tokens(w, server);
	return tokens < all ? tokens : (uint32_t)all;
}

static bool is_chosen(const struct splitwise *s, uint32_t id)
{
	return task_of(s, id)->chosen == s->selection;
}

/* Returns whether the selection is complete before the task; c->why says which limit it has reached. */
static bool is_over(const struct splitwise *s, struct choice *c, uint32_t id)
{
	bool is_long = s->n_pick && (uint64_t)c->weight + weight_of(s, id) > s->tokens;
	if (s->n_pick == s->most || is_long)
		c->why = is_long ? "limit max_tokens" : "limit max_batch";
	return s->n_pick == s->most || is_long;
}

static bool fits(const struct splitwise *s, struct choice *c, uint32_t id)
{
	uint8_t state = task_of(s, id)->state;
	bool does = state == PREEMPTED || state == RUNNING || memory_of(s, id) <= c->room;
	if (!does)
		c->why = "memory reserved for residents";
	return does;
}

static void choose(struct splitwise *s, struct choice *c, uint32_t id)
{
	struct task *t = task_of(s, id);
	c->weight += weight_of(s, id);
	if (t->state == WAITING)
		c->room -= memory_of(s, id);
	t->chosen = s->selection;
	PUSH(s->pick, s->n_pick, s->cap_pick, id);
}

/* Chooses tasks that were left out of STARVED runs, from the front of the queue. */
static void choose_starved(struct splitwise *s, const struct server *v, struct choice *c)
{
	for (uint32_t i = 0; i < v->n_queue; i++) {
		uint32_t id = v->queue[i];
		if (skips_of(s, v, id) < STARVED || is_over(s, c, id))
			return;
		if (fits(s, c, id))
			choose(s, c, id);
	}
}

static void choose_from(struct splitwise *s, const struct server *v, enum list_of l, enum kind kind, struct choice *c)
{
	for (uint32_t e = v->list[l].first; e != NONE; e = s->entry[e].link[l].next) {
		uint32_t id = e * 2 + kind;
		if (is_over(s, c, id))
			return;
		if (is_chosen(s, id))
			continue;
		if (!fits(s, c, id))
			return;
		choose(s, c, id);
	}
}

static void choose_running(struct splitwise *s, const struct server *v, struct choice *c)
{
	for (uint32_t i = 0; i < v->n_batch; i++) {
		if (is_over(s, c, v->batch[i]))
			return;
		if (!is_chosen(s, v->batch[i]))
			choose(s, c, v->batch[i]);
	}
}

static void choose_heads(struct splitwise *s, const struct server *v, struct choice *c)
{
	for (uint32_t e = v->list[ALL].first; e != NONE; e = s->entry[e].link[ALL].next) {
		uint32_t id = head_of(s, e);
		if (is_chosen(s, id))
			continue;
		if (is_over(s, c, id) || !fits(s, c, id))
			return;
		choose(s, c, id);
	}
}

/* Chooses from all tasks. first: a task that precedes all other tasks; NONE: there is none. */
static void choose_all(struct splitwise *s, struct orr_serve *w, uint32_t server, uint32_t first)
{
	struct server *v = &s->server[server];
	struct choice c = { .room = orr_kv_free(w, server) };
	s->selection++;
	s->n_pick = 0;
	if (first != NONE)
		choose(s, &c, first);
	choose_starved(s, v, &c);
	choose_from(s, v, PROMPTS, PROMPT, &c);
	choose_from(s, v, PREEMPTIONS, DECODE, &c);
	choose_running(s, v, &c);
	choose_heads(s, v, &c);
	v->weight = c.weight;
	if (c.why)
		orr_serve_why(w, server, c.why);
}

/* ---- deadlock: prompts that hold all memory ---- */

static void set_blocks(const struct splitwise *s, const struct orr_serve *w, uint32_t e, bool is_moved)
{
	struct entry *x = &s->entry[e];
	uint32_t all = orr_kv_blocks(w, x->server, reservation(w, x->server, x->prompt + x->output));
	x->blocks[PROMPT] = is_moved ? 0 : orr_kv_blocks(w, x->server, reservation(w, x->server, x->prompt + 1));
	x->blocks[DECODE] = all - x->blocks[PROMPT];
}

/* Restarts a request whose decode waits for memory: it frees its blocks, and its outputs become part of its prompt. */
static void restart(struct splitwise *s, struct orr_serve *w, struct server *v, uint32_t e)
{
	struct entry *x = &s->entry[e];
	orr_evict(w, x->r, ORR_EVICT_RESTART);
	uint32_t given = orr_req_prompt(w, x->r) - x->prompt;
	x->prompt += given;
	x->output -= given;
	set_blocks(s, w, e, false);
	dequeue(v, e * 2 + DECODE);
	x->task[DECODE] = (struct task){ .state = WAITING, .from = UINT64_MAX };
	x->task[PROMPT] = (struct task){ .state = WAITING, .from = v->begun };
	v->outstanding += x->prompt;
	enqueue(s, v, e * 2 + PROMPT);
	if (v->role != ORR_ROLE_PREFILL)
		enqueue(s, v, e * 2 + DECODE);
	list_add(s, v, PROMPTS, e);
}

/*
 * Resolves a deadlock: no task fits and no task runs, because finished prompts hold the memory that their decodes wait for
 * (splitwise-sim has no rule for this and stops). Restarts the last requests until the decode of the first fits; returns that
 * task, or NONE.
 */
static uint32_t unlock(struct splitwise *s, struct orr_serve *w, uint32_t server)
{
	struct server *v = &s->server[server];
	uint32_t first = v->list[ALL].first, e = v->list[ALL].last;
	while (first != NONE && !orr_req_is_resident(w, s->entry[first].r))
		first = s->entry[first].link[ALL].next;
	if (first == NONE)
		return NONE;
	for (; e != first && memory_of(s, first * 2 + DECODE) > orr_kv_free(w, server); e = s->entry[e].link[ALL].prev)
		if (orr_req_is_resident(w, s->entry[e].r))
			restart(s, w, v, e);
	/* A prefill replica also keeps caches that are in transit. */
	return memory_of(s, first * 2 + DECODE) <= orr_kv_free(w, server) ? first * 2 + DECODE : NONE;
}

/* ---- a run ---- */

static void preempt_others(struct splitwise *s, struct orr_serve *w, struct server *v)
{
	uint32_t kept = 0;
	for (uint32_t i = 0; i < v->n_batch; i++) {
		uint32_t id = v->batch[i];
		if (is_chosen(s, id)) {
			v->batch[kept++] = id;
			continue;
		}
		struct task *t = task_of(s, id);
		t->state = PREEMPTED;
		t->from = v->begun;
		orr_pause(w, s->entry[id / 2].r);
		list_add(s, v, PREEMPTIONS, id / 2);
		enqueue(s, v, id);
	}
	v->n_batch = kept;
}

static void start_prompt(struct splitwise *s, struct orr_serve *w, struct server *v, uint32_t e)
{
	struct entry *x = &s->entry[e];
	list_remove(s, v, PROMPTS, e);
	orr_admit(w, x->r, reservation(w, x->server, x->prompt + 1), 0);
}

static void start_decode(struct splitwise *s, struct orr_serve *w, struct server *v, uint32_t e)
{
	struct entry *x = &s->entry[e];
	if (x->task[DECODE].state == PREEMPTED)
		list_remove(s, v, PREEMPTIONS, e);
	else if (orr_req_is_resident(w, x->r))
		orr_kv_grow(w, x->r, reservation(w, x->server, x->prompt + x->output), 0);
	else
		orr_admit(w, x->r, reservation(w, x->server, x->prompt + x->output), 0); /* moved from a prefill replica */
	if (!orr_is_decoding(w, x->r))
		orr_resume(w, x->r);
}

static void join(struct splitwise *s, struct orr_serve *w, struct server *v)
{
	for (uint32_t i = 0; i < s->n_pick; i++) {
		uint32_t id = s->pick[i];
		struct task *t = task_of(s, id);
		if (t->state == RUNNING)
			continue;
		dequeue(v, id);
		if (id % 2 == PROMPT)
			start_prompt(s, w, v, id / 2);
		else
			start_decode(s, w, v, id / 2);
		t->skips = (uint32_t)skips_of(s, v, id);
		t->from = UINT64_MAX;
		t->state = RUNNING;
		PUSH(v->batch, v->n_batch, v->cap_batch, id);
	}
}

static void begin(struct splitwise *s, struct orr_serve *w, uint32_t server)
{
	struct server *v = &s->server[server];
	bool has_prompt = false, has_decode = false;
	choose_all(s, w, server, NONE);
	if (!v->n_batch && !s->n_pick && v->list[ALL].first != NONE) {
		uint32_t first = unlock(s, w, server);
		if (first != NONE)
			choose_all(s, w, server, first);
	}
	preempt_others(s, w, v);
	join(s, w, v);
	v->begun++;
	v->is_running = v->n_batch > 0;
	if (!v->is_running)
		return;
	for (uint32_t i = 0; i < v->n_batch; i++) {
		const struct entry *e = &s->entry[v->batch[i] / 2];
		if (v->batch[i] % 2 == PROMPT)
			orr_iter_prefill(w, e->r, e->prompt - orr_req_done(w, e->r));
		*(v->batch[i] % 2 == PROMPT ? &has_prompt : &has_decode) = true;
	}
	orr_iter_run(w, server, has_prompt ? 1 : 0, 0, ORR_ITER_THROUGH | ORR_ITER_HOLD | (has_decode ? ORR_ITER_DECODE : 0u));
}

/* Ends the repetition with the running iteration if the next selection could take the new task. */
static void consider_cut(struct splitwise *s, struct orr_serve *w, uint32_t server, uint32_t id)
{
	struct server *v = &s->server[server];
	uint32_t decodes = 0;
	if (orr_replica_is_idle(w, server))
		return; /* the iteration ended in this instant */
	for (uint32_t i = 0; i < v->n_batch; i++)
		decodes += v->batch[i] % 2 == DECODE;
	uint64_t with = (uint64_t)v->weight + weight_of(s, id);
	bool is_prompt = id % 2 == PROMPT;
	if ((v->n_batch < s->most && with <= s->tokens) || (is_prompt && decodes && with - decodes <= s->tokens))
		orr_iter_cut(w, server);
}

static void task_arrives(struct splitwise *s, struct orr_serve *w, uint32_t server, uint32_t id)
{
	struct server *v = &s->server[server];
	enqueue(s, v, id);
	if (id % 2 == PROMPT)
		list_add(s, v, PROMPTS, id / 2);
	if (v->is_running)
		consider_cut(s, w, server, id);
	else if (memory_of(s, id) <= orr_kv_free(w, server))
		begin(s, w, server);
}

/* ---- requests ---- */

static uint32_t entry_new(struct splitwise *s)
{
	if (s->n_free)
		return s->free_entry[--s->n_free];
	ORR_GROW(s->entry, s->n_entries, s->cap_entries);
	return s->n_entries++;
}

static void arrive(void *self, struct orr_serve *w, orr_req r)
{
	struct splitwise *s = self;
	uint32_t server = orr_req_replica(w, r), done = orr_req_done(w, r), output = orr_req_true_output(w, r);
	bool decodes = server < s->n_servers && s->server[server].role != ORR_ROLE_PREFILL;
	if (server >= s->n_servers || !output)
		return;
	if (!could_hold(w, server, orr_req_prompt(w, r), output, decodes)) {
		s->server[server].outstanding -= done >= orr_req_prompt(w, r) ? 1 : orr_req_prompt(w, r) + 1.0;
		orr_refuse_because(w, r, ORR_REQ_REFUSED, "larger than the KV cache of its replica");
		return;
	}
	uint32_t e = entry_new(s);
	struct server *v = &s->server[server];
	bool is_moved = done >= orr_req_prompt(w, r);
	s->entry[e] = (struct entry){
		.r = r, .arrival = orr_req_arrival(w, r), .prompt = orr_req_prompt(w, r), .output = output, .server = server
	};
	struct entry *x = &s->entry[e];
	set_blocks(s, w, e, is_moved);
	x->task[PROMPT] = (struct task){ .state = is_moved ? OVER : WAITING, .from = is_moved ? UINT64_MAX : v->begun };
	x->task[DECODE] = (struct task){ .state = WAITING, .from = is_moved ? v->begun : UINT64_MAX };
	orr_req_set_mark(w, r, e + 1);
	list_add(s, v, ALL, e);
	v->requests++;
	if (!is_moved)
		task_arrives(s, w, server, e * 2 + PROMPT);
	if (decodes)
		task_arrives(s, w, server, e * 2 + DECODE);
}

/* Removes the request from its server and all lists. */
static void forget(struct splitwise *s, uint32_t e)
{
	struct server *v = &s->server[s->entry[e].server];
	struct task *t = s->entry[e].task;
	if (t[PROMPT].state == WAITING)
		list_remove(s, v, PROMPTS, e);
	if (t[DECODE].state == PREEMPTED)
		list_remove(s, v, PREEMPTIONS, e);
	for (uint32_t kind = PROMPT; kind <= DECODE; kind++) {
		if (t[kind].state == RUNNING)
			remove_id(v->batch, &v->n_batch, e * 2 + kind);
		else if (t[kind].state != OVER)
			dequeue(v, e * 2 + kind);
	}
	list_remove(s, v, ALL, e);
	v->requests--;
	PUSH(s->free_entry, s->n_free, s->cap_free, e);
}

static void finish(void *self, struct orr_serve *w, orr_req r, enum orr_req_end how)
{
	struct splitwise *s = self;
	uint64_t mark = orr_req_mark(w, r);
	(void)how;
	if (!mark)
		return;
	struct entry *x = &s->entry[mark - 1];
	s->server[x->server].outstanding -= x->task[PROMPT].state == OVER ? 1 : x->prompt + 1.0;
	forget(s, (uint32_t)(mark - 1));
}

static uint32_t least_loaded(const struct splitwise *s, const struct orr_serve *w, orr_req r, bool is_decode);

/* Ends the prompts of a run: their requests wait for their decode, here or on another replica. */
static void end_prompts(struct splitwise *s, struct orr_serve *w, uint32_t server)
{
	struct server *v = &s->server[server];
	uint32_t kept = 0, n = v->n_batch;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t id = v->batch[i];
		if (id % 2 == DECODE) {
			v->batch[i] = v->batch[kept];
			v->batch[kept++] = id;
			continue;
		}
		struct entry *x = &s->entry[id / 2];
		x->task[PROMPT].state = OVER;
		x->task[DECODE].from = v->begun;
		v->outstanding -= x->prompt;
	}
	/* From here on v->n_batch counts only decodes. A prefill replica moves its requests to decode replicas. */
	v->n_batch = kept;
	if (v->role != ORR_ROLE_PREFILL)
		return;
	for (uint32_t i = kept; i < n; i++) {
		uint32_t e = v->batch[i] / 2;
		orr_req r = s->entry[e].r;
		uint32_t to = least_loaded(s, w, r, true);
		if (to == ORR_NO_REPLICA && could_hold(w, server, s->entry[e].prompt, s->entry[e].output, true)) {
			enqueue(s, v, e * 2 + DECODE);
			continue;
		}
		v->outstanding -= 1;
		orr_req_set_mark(w, r, 0);
		forget(s, e);
		if (to != ORR_NO_REPLICA) {
			s->server[to].outstanding += 1;
			orr_move(w, r, to);
		} else {
			orr_serve_give_up(w, r, "no replica that is up can hold the request for its decode: expected a larger KV cache");
		}
	}
}

static void schedule(void *self, struct orr_serve *w, uint32_t server)
{
	struct splitwise *s = self;
	const struct server *v = &s->server[server];
	/* arrive() has handled arrivals; on a prefill replica, requests that leave free memory. */
	bool may_go_on = v->role == ORR_ROLE_PREFILL && v->n_queue;
	if (!orr_replica_is_idle(w, server) || (!v->is_running && !may_go_on))
		return;
	end_prompts(s, w, server);
	begin(s, w, server);
}

/* ---- routing ---- */

/* Returns whether the server takes requests for the model with one of the two tasks. */
static bool takes(const struct server *v, uint32_t model, bool is_decode)
{
	return v->is_open && v->role != (is_decode ? ORR_ROLE_PREFILL : ORR_ROLE_DECODE) && (v->model == UINT32_MAX || v->model == model);
}

/* Returns the replica with the least load among those whose cache can hold the request; ORR_NO_REPLICA: none is up. */
static uint32_t least_loaded(const struct splitwise *s, const struct orr_serve *w, orr_req r, bool is_decode)
{
	uint32_t best = ORR_NO_REPLICA;
	bool by_requests = !strcmp(s->router, "jsq");
	for (uint32_t i = 0; i < s->n_servers; i++) {
		const struct server *v = &s->server[i];
		if (!takes(v, orr_req_model(w, r), is_decode) || !orr_kv_can_hold(w, i, r))
			continue;
		const struct server *b = best == ORR_NO_REPLICA ? NULL : &s->server[best];
		if (!b || (by_requests ? v->requests < b->requests : v->outstanding < b->outstanding))
			best = i;
	}
	return best;
}

static uint32_t route(void *self, struct orr_serve *w, orr_req r)
{
	struct splitwise *s = self;
	uint32_t to = ORR_NO_REPLICA;
	if (!strcmp(s->router, "round-robin")) {
		for (uint32_t i = 0; i < s->n_servers && to == ORR_NO_REPLICA; i++) {
			uint32_t at = (s->turn + i) % s->n_servers;
			if (takes(&s->server[at], orr_req_model(w, r), false) && orr_kv_can_hold(w, at, r))
				to = at;
		}
		s->turn = to == ORR_NO_REPLICA ? s->turn : to + 1;
	} else {
		to = least_loaded(s, w, r, false);
	}
	if (to == ORR_NO_REPLICA)
		return ORR_ANY_REPLICA; /* none holds it now: the world refuses it, or it waits for a replica that will come up */
	s->server[to].outstanding += orr_req_prompt(w, r) + 1.0;
	return to;
}

/* ---- the policy ---- */

static void destroy(void *self)
{
	struct splitwise *s = self;
	for (uint32_t i = 0; i < s->n_servers; i++) {
		orr_free(s->server[i].queue);
		orr_free(s->server[i].batch);
	}
	orr_free(s->server);
	orr_free(s->entry);
	orr_free(s->free_entry);
	orr_free(s->pick);
	orr_free(s);
}

static void *create(struct orr_serve *w, const struct orr_args *args, struct orr_error *err)
{
	if (!serves_only(w, ORR_MODEL_LLM, err))
		return NULL;
	struct splitwise *s = orr_alloc(1, sizeof *s);
	s->n_servers = orr_replicas(w);
	s->server = orr_alloc(s->n_servers, sizeof *s->server);
	for (uint32_t i = 0; i < s->n_servers; i++) {
		struct orr_replica_info info;
		orr_replica_get(w, i, &info);
		s->server[i].role = info.role;
		s->server[i].model = info.model;
		s->server[i].is_open = info.is_up && !info.is_draining;
		for (int l = 0; l < LISTS; l++)
			s->server[i].list[l] = (struct list){ NONE, NONE };
	}
	s->most = (uint32_t)orr_arg_int(args, "max_batch");
	s->tokens = (uint32_t)orr_arg_int(args, "max_tokens");
	s->router = orr_arg_text(args, "router");
	return s;
}

/* Clears a lost server: its requests arrive again. */
static void clear(struct splitwise *s, struct orr_serve *w, struct server *v)
{
	for (uint32_t e = v->list[ALL].first; e != NONE; e = s->entry[e].link[ALL].next) {
		orr_req_set_mark(w, s->entry[e].r, 0);
		PUSH(s->free_entry, s->n_free, s->cap_free, e);
	}
	for (int l = 0; l < LISTS; l++)
		v->list[l] = (struct list){ NONE, NONE };
	v->n_queue = v->n_batch = 0;
	v->outstanding = 0;
	v->requests = 0;
	v->is_running = false;
}

static void replica(void *self, struct orr_serve *w, uint32_t server, enum orr_replica_event event)
{
	struct splitwise *s = self;
	s->server[server].is_open = event == ORR_REPLICA_UP;
	if (event == ORR_REPLICA_DOWN)
		clear(s, w, &s->server[server]);
}

static const struct orr_param params[] = { ORR_PARAM_INT("max_batch", "512", 1, 1e6, "largest number of tasks in an iteration"),
	ORR_PARAM_INT("max_tokens", "2048", 1, 1e9, "largest number of tokens in an iteration; a longer prompt runs alone"),
	ORR_PARAM_CHOICE("router", "token-jsq", "token-jsq|jsq|round-robin",
		"routing: to the replica with the fewest outstanding tokens (prompt + 1, reduced as tasks end), with the fewest requests, "
		"or round robin"),
	ORR_PARAM_END };

static const struct orr_serve_ops ops = {
	.create = create, .destroy = destroy, .route = route, .arrive = arrive, .finish = finish, .schedule = schedule, .replica = replica
};

ORR_POLICY_SERVE_FLAGS(splitwise, "prompts first up to a token limit, decodes preempted for an iteration (Splitwise)",
	ORR_NEEDS_ORACLE | ORR_SERVE_ROLES, params, ops);
