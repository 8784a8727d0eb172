/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Residents, blocks, iterations and their repetition against a naive model that processes each token of each decode separately.
 *
 * A policy acts at random: it admits, evicts in both ways, pauses, grows, splits prompts, and runs with any flags. At each call
 * it compares all values that the world reports, and the time of the call, with the naive model.
 */
#include "tests/serve/llm_run.h"
#include "tests/tap.h"

#include <stdlib.h>

enum { MOST_REQUESTS = 64, MOST_TIMERS = 256 };

/* ---- the naive model: one replica ---- */

struct one {
	orr_req handle;
	bool has_come, is_resident, is_paused, is_swapped, is_decoding, flies, has_ended;
	uint32_t prompt, done, outputs, asked, blocks, next;
	uint64_t preemptions;
	double arrival, end, first;
};

static struct {
	struct one r[MOST_REQUESTS];
	uint32_t n, total, free, tokens; /* total: number of blocks; tokens: tokens per block */
	bool runs, has_prompts, decodes;
	unsigned flags;
	uint64_t left;
	uint32_t keep;
	double start, end, copy_s;
	double timer[MOST_TIMERS];
	uint32_t n_timers;
	uint64_t compared;
	char wrong[300];
	uint64_t random;
} m;

static uint32_t below(uint32_t n)
{
	m.random = m.random * UINT64_C(6364136223846793005) + 1442695040888963407u;
	return (uint32_t)((m.random >> 33) % n);
}

static bool chance(double p)
{
	return below(1000000) < p * 1e6;
}

__attribute__((format(printf, 1, 2))) static void wrong(const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	if (!m.wrong[0])
		vsnprintf(m.wrong, sizeof m.wrong, fmt, ap);
	va_end(ap);
}

static uint32_t blocks_for(uint32_t tokens)
{
	return (tokens + m.tokens - 1) / m.tokens;
}

static uint32_t need(void)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < m.n; i++)
		n += m.r[i].is_decoding && m.r[i].done > m.r[i].blocks * m.tokens;
	return n;
}

/* Starts an iteration of 5 + 0.05 T + 1e-4 C + 1e-6 P ms, plus the swap time. */
static void begin(double at)
{
	double t = 0, c = 0, p = 0;
	for (uint32_t i = 0; i < m.n; i++) {
		struct one *q = &m.r[i];
		q->flies = m.decodes && q->is_decoding;
		if (q->flies && q->done > q->blocks * m.tokens) {
			q->blocks++;
			m.free--;
		}
		t += q->flies + q->next;
		c += q->flies ? q->done : 0;
		p += (double)q->next * (q->done + q->next);
	}
	m.start = at;
	m.end = at + ((5 + 0.05 * t + 1e-4 * c + 1e-6 * p) * 1e-3 + m.copy_s);
	m.copy_s = 0;
	m.runs = true;
}

static bool gets_token(struct one *q)
{
	q->done++;
	if (!q->outputs++)
		q->first = m.end;
	if (q->outputs < q->asked)
		return false;
	m.free += q->blocks;
	q->blocks = 0;
	q->is_resident = q->is_decoding = false;
	q->has_ended = true;
	q->end = m.end;
	return true;
}

/* Ends an iteration; returns whether a request has ended. */
static bool land(void)
{
	bool has_ended = false;
	for (uint32_t i = 0; i < m.n; i++) {
		struct one *q = &m.r[i];
		if (q->flies)
			has_ended |= gets_token(q);
		else if (q->next && (q->done += q->next) == q->prompt) {
			has_ended |= gets_token(q);
			q->is_paused = !q->has_ended && m.flags & ORR_ITER_HOLD;
			q->is_decoding = !q->has_ended && !q->is_paused;
		}
		q->flies = false;
		q->next = 0;
	}
	return has_ended;
}

/* Returns whether the time lies inside the iteration. The clock of the world counts ns, so an event in the ns in which an iteration
 * ends coincides with this end. */
static bool is_during(double at)
{
	return llrint(at * 1e9) > llrint(m.start * 1e9) && llrint(at * 1e9) <= llrint(m.end * 1e9);
}

static bool was_cut(void)
{
	for (uint32_t i = 0; i < m.n_timers; i++)
		if (is_during(m.timer[i]))
			return true;
	for (uint32_t i = 0; i < m.n && !(m.flags & ORR_ITER_THROUGH); i++)
		if (is_during(m.r[i].arrival))
			return true;
	return false;
}

static void until(double now)
{
	while (m.runs && m.end <= now) {
		bool has_ended = land(), is_last = m.has_prompts || !m.left, cut = was_cut();
		uint32_t decodes = 0;
		for (uint32_t i = 0; i < m.n; i++)
			decodes += m.r[i].is_decoding;
		m.runs = false;
		if (has_ended || is_last || cut || !decodes || need() + m.keep > m.free)
			return;
		m.left--;
		begin(m.end);
	}
}

/* ---- comparison ---- */

static void compare_one(const struct orr_serve *w, const struct one *q)
{
	struct orr_req_info i;
	if (!orr_req_get(w, q->handle, &i)) {
		wrong("a live request has no info");
		return;
	}
	if (i.done_tokens != q->done || i.prompt_tokens != q->prompt || i.outputs != q->outputs || i.preemptions != q->preemptions)
		wrong("%.9f: request %llu: done %u of %u, %u outputs, %u preemptions; naively %u of %u, %u, %llu", orr_serve_now(w),
			(unsigned long long)i.number, i.done_tokens, i.prompt_tokens, i.outputs, i.preemptions, q->done, q->prompt,
			q->outputs, (unsigned long long)q->preemptions);
	if (orr_kv_held(w, q->handle) != q->blocks)
		wrong("%.9f: request %llu holds %u blocks; naively %u", orr_serve_now(w), (unsigned long long)i.number,
			orr_kv_held(w, q->handle), q->blocks);
	if (orr_req_is_resident(w, q->handle) != q->is_resident || orr_is_decoding(w, q->handle) != q->is_decoding)
		wrong("%.9f: request %llu: the states differ", orr_serve_now(w), (unsigned long long)i.number);
}

static void compare(const struct orr_serve *w)
{
	uint32_t residents = 0, decodes = 0;
	until(orr_serve_now(w));
	m.compared++;
	for (uint32_t i = 0; i < m.n; i++) {
		residents += m.r[i].is_resident;
		decodes += m.r[i].is_decoding;
		if (m.r[i].has_come && !m.r[i].has_ended)
			compare_one(w, &m.r[i]);
	}
	bool is_idle = orr_replica_is_idle(w, 0);
	if (orr_kv_free(w, 0) != m.free || orr_residents(w, 0) != residents || orr_decodes(w, 0) != decodes || is_idle == m.runs)
		wrong("%.9f: %u free, %u residents, %u decodes, %s; naively %u, %u, %u, %s", orr_serve_now(w), orr_kv_free(w, 0),
			orr_residents(w, 0), orr_decodes(w, 0), is_idle ? "idle" : "runs", m.free, residents, decodes,
			m.runs ? "runs" : "idle");
	if (is_idle && orr_decodes_need(w, 0) != need())
		wrong("%.9f: decodes need %u blocks; naively %u", orr_serve_now(w), orr_decodes_need(w, 0), need());
}

/* ---- the policy that acts at random ---- */

static void try_admit(struct orr_serve *w, struct one *q, bool is_urgent)
{
	uint32_t content = q->done > q->prompt ? q->done - 1 : q->done, keep = is_urgent ? 0 : below(4);
	uint32_t tokens = (q->done ? q->done : q->prompt) + (is_urgent ? 0 : below(3 * m.tokens));
	uint32_t blocks = blocks_for(tokens > content ? tokens : content);
	bool fits = blocks + keep <= m.free;
	if (orr_admit(w, q->handle, tokens, keep) != fits)
		wrong("orr_admit() disagrees about the room");
	if (!fits)
		return;
	if (q->is_swapped)
		m.copy_s += q->done * 131072.0 / 16e9;
	q->is_swapped = false;
	q->is_resident = true;
	q->blocks = blocks;
	m.free -= blocks;
	q->is_decoding = q->done > q->prompt;
}

static void evict(struct orr_serve *w, struct one *q, bool swap)
{
	orr_evict(w, q->handle, swap ? ORR_EVICT_SWAP : ORR_EVICT_RESTART);
	m.free += q->blocks;
	q->blocks = 0;
	q->is_resident = q->is_decoding = q->is_paused = false;
	q->preemptions++;
	q->is_swapped = swap && q->done;
	if (q->is_swapped) {
		m.copy_s += q->done * 131072.0 / 16e9;
		return;
	}
	q->prompt = q->done > q->prompt ? q->done : q->prompt;
	q->done = 0;
}

static void grow(struct orr_serve *w, struct one *q)
{
	uint32_t tokens = q->done + below(4 * m.tokens), blocks = blocks_for(tokens), keep = below(3);
	bool fits = blocks <= q->blocks || blocks - q->blocks + keep <= m.free;
	if (orr_kv_grow(w, q->handle, tokens, keep) != fits)
		wrong("orr_kv_grow() disagrees about the room");
	if (fits && blocks > q->blocks) {
		m.free -= blocks - q->blocks;
		q->blocks = blocks;
	}
}

static void change_something(struct orr_serve *w, struct one *q, bool is_idle)
{
	if (!q->is_resident && chance(is_idle ? 0.5 : 0.1))
		try_admit(w, q, false);
	else if (q->is_resident && chance(0.03) && !(m.runs && (q->flies || q->next)))
		evict(w, q, chance(0.5));
	else if (q->is_resident && chance(0.1))
		grow(w, q);
	else if (is_idle && q->is_decoding && chance(0.05)) {
		orr_pause(w, q->handle);
		q->is_paused = true;
		q->is_decoding = false;
	} else if (is_idle && q->is_paused && chance(0.3)) {
		orr_resume(w, q->handle);
		q->is_paused = false;
		q->is_decoding = true;
	}
}

static uint32_t list_prompts(struct orr_serve *w)
{
	uint32_t listed = 0;
	for (uint32_t i = 0; i < m.n; i++) {
		struct one *q = &m.r[i];
		uint32_t room = q->blocks * m.tokens, most = (room < q->prompt ? room : q->prompt);
		if (!q->is_resident || q->done >= most || chance(0.3))
			continue;
		q->next = chance(0.5) ? most - q->done : 1 + below(most - q->done);
		orr_iter_prefill(w, q->handle, q->next);
		listed++;
	}
	return listed;
}

static void set_timer(struct orr_serve *w, double delay_s)
{
	double at = orr_serve_now(w) + delay_s;
	uint32_t kept = 0;
	for (uint32_t i = 0; i < m.n_timers; i++)
		if (m.timer[i] > orr_serve_now(w))
			m.timer[kept++] = m.timer[i];
	m.n_timers = kept;
	if (kept == MOST_TIMERS)
		return;
	m.timer[m.n_timers++] = at;
	orr_serve_timer(w, 0, at);
}

static void run(struct orr_serve *w)
{
	uint32_t listed = list_prompts(w), decodes = orr_decodes(w, 0);
	m.decodes = decodes && need() <= m.free && (chance(0.9) || !listed);
	if (!listed && !m.decodes) {
		set_timer(w, 0.0013);
		return;
	}
	m.flags = (m.decodes ? ORR_ITER_DECODE : 0u) | (chance(0.3) ? ORR_ITER_THROUGH : 0u) | (chance(0.2) ? ORR_ITER_HOLD : 0u);
	uint64_t most = chance(0.5) ? 0 : 1 + below(20);
	m.keep = below(4);
	m.has_prompts = listed > 0;
	m.left = most ? most - 1 : UINT64_MAX;
	orr_iter_run(w, 0, most, m.keep, m.flags);
	begin(orr_serve_now(w));
	if (chance(0.1))
		set_timer(w, (1 + below(1000)) * 1.0001e-4);
}

static void schedule(void *self, struct orr_serve *w, uint32_t replica)
{
	(void)self, (void)replica;
	compare(w);
	bool is_idle = orr_replica_is_idle(w, 0);
	for (uint32_t i = 0; i < m.n; i++)
		if (m.r[i].has_come && !m.r[i].has_ended)
			change_something(w, &m.r[i], is_idle);
	compare(w);
	for (uint32_t i = 0; i < m.n && !orr_residents(w, 0); i++)
		if (m.r[i].has_come && !m.r[i].has_ended)
			try_admit(w, &m.r[i], true);
	if (is_idle)
		run(w);
	compare(w);
}

static void arrive(void *self, struct orr_serve *w, orr_req r)
{
	(void)self;
	struct one *q = &m.r[orr_req_number(w, r)];
	until(orr_serve_now(w));
	q->handle = r;
	q->has_come = true;
}

static void finish(void *self, struct orr_serve *w, orr_req r, enum orr_req_end how)
{
	(void)self;
	const struct one *q = &m.r[orr_req_number(w, r)];
	until(orr_serve_now(w));
	if (how != ORR_REQ_COMPLETED || !q->has_ended || fabs(q->end - orr_serve_now(w)) > 1e-9)
		wrong("request %llu ends at %.12f; naively at %.12f", (unsigned long long)orr_req_number(w, r), orr_serve_now(w), q->end);
}

static void *create(struct orr_serve *w, const struct orr_args *args, struct orr_error *err)
{
	(void)w, (void)args, (void)err;
	return &m;
}

static void destroy(void *self)
{
	(void)self;
}

static const struct orr_param params[] = { ORR_PARAM_END };
static const struct orr_serve_ops ops = { .create = create, .destroy = destroy, .arrive = arrive, .finish = finish, .schedule = schedule };
static const struct orr_policy random_policy = { ORR_ABI_VERSION, sizeof random_policy, "random", "acts at random", "serve", 0, params,
	&ops };

/* ---- scenarios ---- */

static struct reqset *make_requests(uint64_t seed, uint32_t tokens, double gap_s)
{
	static char text[MOST_REQUESTS * 80];
	memset(&m, 0, sizeof m);
	m.random = seed;
	m.n = MOST_REQUESTS;
	m.tokens = tokens;
	size_t at = (size_t)snprintf(text, sizeof text, "arrival_s,prompt_tokens,output_tokens\n");
	int64_t now_ns = 0;
	uint32_t largest = 0;
	for (uint32_t i = 0; i < m.n; i++) {
		struct one *q = &m.r[i];
		now_ns += 1 + below((uint32_t)(2e9 * gap_s));
		q->prompt = 1 + below(chance(0.2) ? 300 : 60);
		q->asked = 1 + below(chance(0.2) ? 150 : 30);
		q->arrival = (double)now_ns / 1e9;
		largest = q->prompt + q->asked > largest ? q->prompt + q->asked : largest;
		at += (size_t)snprintf(text + at, sizeof text - at, "%.9f,%u,%u\n", q->arrival, q->prompt, q->asked);
	}
	m.total = m.free = blocks_for(largest) + 1 + below(60 / tokens + 3);
	struct orr_error err = { 0 };
	struct reqset *set = llm_requests(text, &err);
	if (!set)
		printf("# %s\n", err.text);
	return set;
}

static bool agrees(uint64_t seed, uint32_t tokens, double gap_s, uint64_t *compared)
{
	struct reqset *set = make_requests(seed, tokens, gap_s);
	char options[80];
	snprintf(options, sizeof options, "kv_block=%u", tokens);
	struct orr_error err = { 0 };
	struct run_result *r =
		!set ? NULL
		     : llm_serve(&(struct llm_run){ .requests = set, .kv_blocks = m.total, .policy = &random_policy, .options = options },
			       &err);
	bool good = r && !m.wrong[0] && r->n_requests == m.n;
	for (uint32_t i = 0; good && i < m.n; i++) {
		const struct request_row *row = &r->requests[i];
		good = fabs(row->completed_s - m.r[i].end) < 1e-9 && fabs(row->first_token_s - m.r[i].first) < 1e-9 &&
		       row->preemptions == m.r[i].preemptions;
	}
	if (!good)
		printf("# seed %llu, blocks of %u: %s%s\n", (unsigned long long)seed, tokens, m.wrong, err.text);
	*compared += m.compared;
	result_free(r);
	reqset_free(set);
	return good;
}

int main(void)
{
	uint64_t seeds = getenv("ORR_SANITIZED") ? 8 : 60, compared = 0;
	const uint32_t tokens[] = { 16, 1, 7 };
	const double gaps[] = { 0.05, 0.2, 0.01 };
	for (int i = 0; i < 3; i++) {
		uint64_t good = 0;
		for (uint64_t seed = 1; seed <= seeds; seed++)
			good += agrees(seed, tokens[i], gaps[i], &compared);
		ok(good == seeds, "random actions, blocks of %u: the world and the naive model agree at every call (%llu of %llu runs)",
			tokens[i], (unsigned long long)good, (unsigned long long)seeds);
	}
	ok(compared > 1000 * seeds, "%llu comparisons", (unsigned long long)compared);
	return done();
}
