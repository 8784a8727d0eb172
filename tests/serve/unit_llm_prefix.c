/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The prefix cache against a naive cache: a table, scanned on each use, with the number of users of each block and the time at
 * which the block lost its last user.
 *
 * A policy admits, splits and restarts requests at random, one iteration at a time, and compares free blocks, held blocks and
 * cached tokens of every request.
 */
#include "tests/serve/llm_run.h"
#include "tests/tap.h"

#include <stdlib.h>

enum { MOST_REQUESTS = 80, MOST_HASHES = 12, MOST_ENTRIES = 4000, HASH_TOKENS = 32, BLOCK = 16, EACH = HASH_TOKENS / BLOCK };

struct one {
	orr_req handle;
	bool has_come, has_ended, is_resident;
	uint32_t asked, prompt, done, outputs, output_asked, own, shared, next, n_hashes;
	uint64_t hash[MOST_HASHES];
};
struct entry {
	uint64_t hash, stamp; /* stamp: time at which the block lost its last user; 0: the block is outside the cache */
	uint32_t users;
	bool is_there;
};

static struct {
	struct one r[MOST_REQUESTS];
	uint32_t n, avail, total;
	struct entry e[MOST_ENTRIES];
	uint32_t n_entries;
	uint64_t stamp, compared, hits;
	bool runs;
	char wrong[200];
	uint64_t random;
} m;

static uint32_t below(uint32_t n)
{
	m.random = m.random * UINT64_C(6364136223846793005) + 1442695040888963407u;
	return (uint32_t)((m.random >> 33) % n);
}

static void wrong(const char *what, const struct one *q, uint32_t got, uint32_t want)
{
	if (!m.wrong[0])
		snprintf(m.wrong, sizeof m.wrong, "request %td: %s is %u; naively %u", q - m.r, what, got, want);
}

/* ---- the naive cache ---- */

static struct entry *find(uint64_t hash)
{
	for (uint32_t i = 0; i < m.n_entries; i++)
		if (m.e[i].is_there && m.e[i].hash == hash)
			return &m.e[i];
	return NULL;
}

static void add(uint64_t hash)
{
	uint32_t i = 0;
	while (i < m.n_entries && m.e[i].is_there)
		i++;
	m.n_entries += i == m.n_entries;
	m.e[i] = (struct entry){ .hash = hash, .users = 1, .is_there = true };
}

/* Removes blocks without users; these count as free. */
static void trim(void)
{
	for (;;) {
		struct entry *oldest = NULL;
		uint32_t unused = 0;
		for (uint32_t i = 0; i < m.n_entries; i++) {
			struct entry *e = &m.e[i];
			if (!e->is_there || e->users)
				continue;
			unused++;
			oldest = !oldest || e->stamp < oldest->stamp ? e : oldest;
		}
		if (unused * EACH <= m.avail)
			return;
		oldest->is_there = false;
	}
}

static uint32_t run_of(const struct one *q)
{
	uint32_t most = (q->prompt - 1) / HASH_TOKENS, n = 0;
	while (n < most && n < q->n_hashes && find(q->hash[n]))
		n++;
	return n;
}

static void give(struct one *q)
{
	m.avail += q->own;
	while (q->shared) {
		struct entry *e = find(q->hash[--q->shared]);
		if (--e->users)
			continue;
		e->stamp = ++m.stamp;
		m.avail += EACH;
	}
	q->own = 0;
	q->is_resident = false;
}

static void publish(struct one *q)
{
	uint32_t whole = (q->done < q->asked ? q->done : q->asked) / HASH_TOKENS;
	for (; q->shared < whole && q->shared < q->n_hashes; q->shared++) {
		struct entry *e = find(q->hash[q->shared]);
		q->own -= EACH;
		if (!e)
			add(q->hash[q->shared]);
		else if (e->users++)
			m.avail += EACH;
	}
}

static void land(void)
{
	m.runs = false;
	for (uint32_t i = 0; i < m.n; i++) {
		struct one *q = &m.r[i];
		if (!q->is_resident)
			continue;
		bool gets_token = q->next == UINT32_MAX;
		if (q->next && !gets_token) {
			q->done += q->next;
			publish(q);
			gets_token = q->done == q->prompt;
		}
		q->next = 0;
		q->done += gets_token;
		q->outputs += gets_token;
		q->has_ended = q->outputs == q->output_asked;
	}
	/* Within an iteration decodes end before prompts. Decodes end in order of request numbers, prompts in the order of listing. */
}

/* ---- the policy ---- */

static void compare(const struct orr_serve *w)
{
	if (orr_kv_free(w, 0) != m.avail)
		wrong("blocks free", m.r, orr_kv_free(w, 0), m.avail);
	for (uint32_t i = 0; i < m.n; i++) {
		const struct one *q = &m.r[i];
		if (!q->has_come || q->has_ended)
			continue;
		m.compared++;
		if (orr_kv_held(w, q->handle) != q->own + q->shared * EACH)
			wrong("blocks held", q, orr_kv_held(w, q->handle), q->own + q->shared * EACH);
		if (orr_req_done(w, q->handle) != q->done)
			wrong("tokens done", q, orr_req_done(w, q->handle), q->done);
		if (!q->is_resident && orr_prefix_cached(w, 0, q->handle) != run_of(q) * HASH_TOKENS)
			wrong("tokens cached", q, orr_prefix_cached(w, 0, q->handle), run_of(q) * HASH_TOKENS);
	}
}

static bool admit(struct orr_serve *w, struct one *q)
{
	uint32_t run = run_of(q), keep = orr_residents(w, 0) ? below(6) : 0, blocks = (q->prompt + BLOCK - 1) / BLOCK;
	uint32_t need = blocks - run * EACH;
	for (uint32_t i = 0; i < run; i++)
		need += find(q->hash[i])->users ? 0 : EACH;
	bool fits = need + keep <= m.avail;
	if (orr_admit(w, q->handle, q->prompt, keep) != fits)
		wrong("orr_admit()", q, !fits, fits);
	if (!fits)
		return false;
	for (uint32_t i = 0; i < run; i++)
		find(q->hash[i])->users++;
	q->own = blocks - run * EACH;
	q->shared = run;
	q->done = run * HASH_TOKENS;
	q->is_resident = true;
	m.hits += run;
	m.avail -= need;
	trim();
	return true;
}

static void restart(struct orr_serve *w, struct one *q)
{
	orr_evict(w, q->handle, ORR_EVICT_RESTART);
	give(q);
	q->prompt = q->done > q->prompt ? q->done : q->prompt;
	q->done = 0;
}

/* Decodes; while blocks are missing, the last resident restarts. */
static void decode(struct orr_serve *w)
{
	while (orr_decodes_need(w, 0) > m.avail)
		for (uint32_t i = m.n; i-- > 0;)
			if (m.r[i].is_resident) {
				restart(w, &m.r[i]);
				break;
			}
	for (uint32_t i = 0; i < m.n; i++) {
		struct one *q = &m.r[i];
		if (!q->is_resident || q->done <= q->prompt)
			continue;
		q->next = UINT32_MAX;
		if (q->done > (q->own + q->shared * EACH) * BLOCK) {
			q->own++;
			m.avail--;
		}
	}
	trim();
}

static void schedule(void *self, struct orr_serve *w, uint32_t replica)
{
	(void)self;
	if (!orr_replica_is_idle(w, replica))
		return;
	if (m.runs)
		land();
	compare(w);
	for (uint32_t i = 0; i < m.n; i++) {
		struct one *q = &m.r[i];
		if (!q->has_come || q->has_ended)
			continue;
		if (!q->is_resident && below(2))
			admit(w, q);
		else if (q->is_resident && !below(60))
			restart(w, q);
	}
	for (uint32_t i = 0; i < m.n && !orr_residents(w, 0); i++)
		if (m.r[i].has_come && !m.r[i].has_ended)
			admit(w, &m.r[i]);
	if (!orr_residents(w, 0))
		return;
	compare(w);
	decode(w);
	bool has_work = orr_decodes(w, 0) > 0;
	for (uint32_t i = 0; i < m.n; i++) {
		struct one *q = &m.r[i];
		if (!q->is_resident || q->done >= q->prompt)
			continue;
		q->next = below(3) ? q->prompt - q->done : 1 + below(q->prompt - q->done);
		orr_iter_prefill(w, q->handle, q->next);
		has_work = true;
	}
	if (!has_work)
		return;
	m.runs = true;
	orr_iter_run(w, 0, 1, 0, ORR_ITER_DECODE);
}

static void arrive(void *self, struct orr_serve *w, orr_req r)
{
	(void)self;
	m.r[orr_req_number(w, r)].handle = r;
	m.r[orr_req_number(w, r)].has_come = true;
}

static void finish(void *self, struct orr_serve *w, orr_req r, enum orr_req_end how)
{
	(void)self, (void)how;
	struct one *q = &m.r[orr_req_number(w, r)];
	if (m.runs)
		land();
	if (!q->has_ended)
		wrong("its end", q, 1, 0);
	give(q);
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
static const struct orr_policy policy = { ORR_ABI_VERSION, sizeof policy, "random", "acts at random", "serve", 0, params, &ops,
	sizeof ops };

/* ---- scenarios ---- */

/* Makes conversations: each request repeats the first blocks of an earlier request and adds its own blocks. */
static struct reqset *make_requests(uint64_t seed)
{
	static char text[MOST_REQUESTS * 400];
	memset(&m, 0, sizeof m);
	m.random = seed;
	m.n = MOST_REQUESTS;
	size_t at = 0;
	uint64_t next_hash = 0;
	int64_t ms = 0;
	for (uint32_t i = 0; i < m.n; i++) {
		struct one *q = &m.r[i];
		const struct one *before = i ? &m.r[below(i)] : NULL;
		uint32_t kept = before ? below(before->n_hashes + 1) : 0;
		q->n_hashes = kept + below(MOST_HASHES - kept + 1);
		q->n_hashes += !q->n_hashes;
		for (uint32_t k = 0; k < q->n_hashes; k++)
			q->hash[k] = k < kept ? before->hash[k] : next_hash++;
		q->asked = q->prompt = q->n_hashes * HASH_TOKENS - (below(2) ? below(HASH_TOKENS) : 0);
		q->output_asked = 1 + below(60);
		ms += below(150);
		at += (size_t)snprintf(text + at, sizeof text - at,
			"{\"timestamp\": %lld, \"input_length\": %u, \"output_length\": %u, \"hash_ids\": [", (long long)ms, q->prompt,
			q->output_asked);
		for (uint32_t k = 0; k < q->n_hashes; k++)
			at += (size_t)snprintf(text + at, sizeof text - at, "%s%llu", k ? ", " : "", (unsigned long long)q->hash[k]);
		at += (size_t)snprintf(text + at, sizeof text - at, "]}\n");
	}
	m.total = m.avail = (MOST_HASHES * HASH_TOKENS + 60) / BLOCK + 2 + below(60);
	struct orr_error err = { 0 };
	struct reqset *set = llm_hashed_requests(text, HASH_TOKENS, &err);
	if (!set)
		printf("# %s\n", err.text);
	return set;
}

int main(void)
{
	uint64_t seeds = getenv("ORR_SANITIZED") ? 10 : 80, good = 0, compared = 0, hits = 0;
	for (uint64_t seed = 1; seed <= seeds; seed++) {
		struct reqset *set = make_requests(seed);
		struct orr_error err = { 0 };
		struct run_result *r =
			!set ? NULL
			     : llm_serve(
				       &(struct llm_run){
					       .requests = set, .kv_blocks = m.total, .policy = &policy, .options = "prefix_cache=true" },
				       &err);
		bool is_good = r && !m.wrong[0] && llm_metric(r, "requests_completed") == m.n;
		if (!is_good)
			printf("# seed %llu: %s%s\n", (unsigned long long)seed, m.wrong, err.text);
		good += is_good;
		compared += m.compared;
		hits += m.hits;
		result_free(r);
		reqset_free(set);
	}
	ok(good == seeds, "the prefix cache equals the naive one at every call (%llu of %llu runs)", (unsigned long long)good,
		(unsigned long long)seeds);
	ok(hits > 20 * seeds && compared > 1000 * seeds, "%llu blocks found in the cache, %llu requests compared", (unsigned long long)hits,
		(unsigned long long)compared);
	struct orr_error err = { 0 };
	struct reqset *set = make_requests(1);
	struct run_result *r = llm_serve(
		&(struct llm_run){ .requests = set, .kv_blocks = 100, .policy = &policy, .options = "prefix_cache=true kv_block=12" },
		&err);
	same_text(r ? "no error" : err.text,
		"policy random: at 0.000000000 s: replica 0: serve.prefix_cache: a hash of the trace covers 32 tokens: expected a "
		"multiple of serve.kv_block=12",
		"a kv_block that does not divide the tokens per hash is refused");
	result_free(r);
	reqset_free(set);
	return done();
}
