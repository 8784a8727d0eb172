/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * unit_llm_naive.c - policies of language models on random requests, compared with naive implementations that decide before each iteration
 *
 * An iteration of T tokens takes 10 + T ms. The naive implementations follow the rules at the top of each policy's file; they have no
 * repetition of iterations, and memory only for the policies that reserve it.
 */
#include "base/rng.h"
#include "tests/serve/serve_replay.h"
#include "tests/tap.h"

extern const struct orr_policy orr_policy_serve_vllm, orr_policy_serve_sarathi, orr_policy_serve_orca, orr_policy_serve_fastertransformer,
	orr_policy_serve_mlfq;

static struct orr_error err;

static const char model[] =
	"{\"name\": \"m\", \"source\": \"by hand\", \"kind\": \"llm\", \"weight_bytes\": 0, \"kv_bytes_per_token\": 1048576, "
	"\"closed\": {\"constant_ms\": 10, \"token_ms\": 1, \"context_ms\": 0, \"pair_ms\": 0}}";

enum { MOST = 24 };
enum rule { VLLM, SARATHI, ORCA, STATIC, MLFQ };

/* Times are in ms, sizes in tokens. */
struct load {
	int n, arrival[MOST], prompt[MOST], output[MOST], limit[MOST];
	int batch, tokens, memory, timeout, levels, quantum; /* settings */
};

struct request {
	int read, outputs, level, used; /* read: number of processed prompt tokens; used: part of the quantum that is used up, ms */
	bool has_run;                   /* flag: the request ran in the last iteration */
	double first, end;              /* ms; -1: never */
	bool is_resident, is_refused, has_joined;
};

struct naive {
	const struct load *l;
	enum rule rule;
	struct request r[MOST];
	int queue[MOST], n_queue; /* waiting requests; mlfq: all requests, in the order of their levels */
	int take[MOST];           /* prompt tokens of each request in the next iteration */
	bool decodes[MOST];
};

static bool is_over(const struct request *r)
{
	return r->is_refused || r->end >= 0;
}

static int residents(const struct naive *m)
{
	int n = 0;
	for (int i = 0; i < m->l->n; i++)
		n += m->r[i].is_resident;
	return n;
}

static bool is_decoding(const struct naive *m, int i)
{
	return m->r[i].is_resident && m->r[i].outputs > 0;
}

static int reserved(const struct load *l, int i)
{
	return l->prompt[i] + l->limit[i] - 1;
}

static int memory_left(const struct naive *m)
{
	int left = m->l->memory;
	for (int i = 0; i < m->l->n; i++)
		left -= m->r[i].is_resident ? reserved(m->l, i) : 0;
	return left;
}

static void dequeue(struct naive *m)
{
	for (int i = 1; i < m->n_queue; i++)
		m->queue[i - 1] = m->queue[i];
	m->n_queue--;
}

static void admit(struct naive *m, int tokens)
{
	int i = m->queue[0];
	m->r[i].is_resident = true;
	m->take[i] = tokens;
	dequeue(m);
}

static void decode_all(struct naive *m)
{
	for (int i = 0; i < m->l->n; i++)
		m->decodes[i] = is_decoding(m, i);
}

/* ---- the rules; each fills in take[] and decodes[] ---- */

/* vllm: takes prompts while they fit into a batch padded to its longest prompt; otherwise decodes. */
static void choose_vllm(struct naive *m)
{
	int n = 0, longest = 0;
	while (m->n_queue && residents(m) < m->l->batch) {
		int prompt = m->l->prompt[m->queue[0]];
		longest = prompt > longest ? prompt : longest;
		if ((n + 1) * longest > m->l->tokens)
			break;
		admit(m, prompt);
		n++;
	}
	if (!n)
		decode_all(m);
}

/* sarathi: takes decodes, then the rest of the started prompt, then new prompts, up to a number of tokens. */
static void choose_sarathi(struct naive *m)
{
	int used = 0;
	decode_all(m);
	for (int i = 0; i < m->l->n; i++)
		used += m->decodes[i];
	for (int i = 0; i < m->l->n && used < m->l->tokens; i++)
		if (m->r[i].is_resident && !m->r[i].outputs) {
			int left = m->l->prompt[i] - m->r[i].read;
			m->take[i] = left < m->l->tokens - used ? left : m->l->tokens - used;
			used += m->take[i];
		}
	while (m->n_queue && used < m->l->tokens && residents(m) < m->l->batch) {
		int left = m->l->prompt[m->queue[0]], n = left < m->l->tokens - used ? left : m->l->tokens - used;
		used += n;
		admit(m, n);
	}
}

static void choose_orca(struct naive *m)
{
	decode_all(m);
	while (m->n_queue && residents(m) < m->l->batch && reserved(m->l, m->queue[0]) <= memory_left(m))
		admit(m, m->l->prompt[m->queue[0]]);
}

/* Returns the time until which the policy waits for a full batch; 0: it runs now. */
static double choose_static(struct naive *m, double now)
{
	if (residents(m)) {
		decode_all(m);
		return 0;
	}
	if (m->n_queue && m->n_queue < m->l->batch && now < m->l->arrival[m->queue[0]] + m->l->timeout)
		return m->l->arrival[m->queue[0]] + m->l->timeout;
	while (m->n_queue && residents(m) < m->l->batch && reserved(m->l, m->queue[0]) <= memory_left(m))
		admit(m, m->l->prompt[m->queue[0]]);
	return 0;
}

/* Returns the quantum of a level, ms. The fraction of 0.3 ms avoids sums of whole milliseconds. */
static double quantum_of(const struct load *l, int level)
{
	return (l->quantum + 0.3) * (1 << level);
}

/* mlfq: takes the first requests by level, then by their order in the level. */
static void choose_mlfq(struct naive *m)
{
	int chosen = 0;
	for (int level = 0; level < m->l->levels; level++)
		for (int k = 0; k < m->n_queue && chosen < m->l->batch; k++) {
			struct request *r = &m->r[m->queue[k]];
			if (r->level != level)
				continue;
			chosen++;
			r->is_resident = true;
			m->decodes[m->queue[k]] = r->outputs > 0;
			m->take[m->queue[k]] = r->outputs ? 0 : m->l->prompt[m->queue[k]];
		}
}

/* mlfq: moves requests that have used up their quantum one level down, behind the others, starting with the last one of the batch. */
static void demote(struct naive *m, double took)
{
	for (int k = m->n_queue; k-- > 0;) {
		int i = m->queue[k];
		struct request *r = &m->r[i];
		if (!m->take[i] && !m->decodes[i])
			continue;
		r->used += (int)took;
		r->has_run = true;
	}
	int down[MOST], n = 0;
	for (int level = m->l->levels; level-- > 0;)
		for (int k = m->n_queue; k-- > 0;) {
			struct request *r = &m->r[m->queue[k]];
			if (r->has_run && r->level == level && r->used >= quantum_of(m->l, level) && level + 1 < m->l->levels &&
				!is_over(r))
				down[n++] = m->queue[k];
		}
	for (int d = 0; d < n; d++) {
		int k = 0;
		while (m->queue[k] != down[d])
			k++;
		for (; k + 1 < m->n_queue; k++)
			m->queue[k] = m->queue[k + 1];
		m->queue[m->n_queue - 1] = down[d];
		m->r[down[d]].level++;
		m->r[down[d]].used = 0;
	}
	for (int i = 0; i < m->l->n; i++)
		m->r[i].has_run = false;
}

static double choose(struct naive *m, double now)
{
	for (int i = 0; i < m->l->n; i++) {
		m->take[i] = 0;
		m->decodes[i] = false;
	}
	switch (m->rule) {
	case VLLM:
		choose_vllm(m);
		break;
	case SARATHI:
		choose_sarathi(m);
		break;
	case ORCA:
		choose_orca(m);
		break;
	case STATIC:
		return choose_static(m, now);
	case MLFQ:
		choose_mlfq(m);
		break;
	}
	return 0;
}

/* ---- the run ---- */

static void arrive(struct naive *m, double now)
{
	const struct load *l = m->l;
	for (int i = 0; i < l->n; i++) {
		struct request *r = &m->r[i];
		if (r->has_joined || l->arrival[i] > now + 1e-6)
			continue;
		r->has_joined = true;
		r->is_refused = (m->rule == VLLM && l->prompt[i] > l->tokens) ||
				((m->rule == ORCA || m->rule == STATIC) && reserved(l, i) > l->memory);
		if (r->is_refused)
			continue;
		while (r->level + 1 < l->levels && quantum_of(l, r->level) < 10 + l->prompt[i])
			r->level++;
		m->queue[m->n_queue++] = i;
	}
}

/* Ends an iteration. */
static void account(struct naive *m, double now)
{
	for (int i = 0; i < m->l->n; i++) {
		struct request *r = &m->r[i];
		r->read += m->take[i];
		if (m->take[i] && r->read == m->l->prompt[i]) {
			r->outputs = 1;
			r->first = now;
		} else if (m->decodes[i]) {
			r->outputs++;
		}
		if (r->outputs == m->l->output[i] && r->end < 0) {
			r->end = now;
			r->is_resident = false;
		}
	}
	if (m->rule != MLFQ)
		return;
	int kept = 0;
	for (int k = 0; k < m->n_queue; k++)
		if (!is_over(&m->r[m->queue[k]]))
			m->queue[kept++] = m->queue[k];
	m->n_queue = kept;
}

static void run_naive(struct naive *m)
{
	double now = 0, took = 0;
	for (int i = 0; i < m->l->n; i++)
		m->r[i] = (struct request){ .first = -1, .end = -1 };
	for (;;) {
		arrive(m, now); /* requests that have arrived precede requests that move down now */
		if (m->rule == MLFQ)
			demote(m, took);
		double wait = choose(m, now), next = wait > 0 ? wait : INFINITY;
		int tokens = 0;
		bool is_open = false;
		for (int i = 0; i < m->l->n; i++) {
			tokens += m->take[i] + m->decodes[i];
			is_open |= !is_over(&m->r[i]);
			if (!m->r[i].has_joined)
				next = fmin(next, m->l->arrival[i]);
		}
		if (!is_open)
			return;
		took = tokens ? 10 + tokens : 0;
		now = tokens ? now + took : next;
		if (tokens)
			account(m, now);
	}
}

/* ---- comparison ---- */

static struct rng rng;

static int between(int low, int high)
{
	return low + (int)rng_below(&rng, (uint64_t)(high - low + 1));
}

static void draw(struct load *l)
{
	*l = (struct load){ .n = between(1, MOST), .batch = between(1, 6), .tokens = between(8, 40), .levels = between(1, 4) };
	l->memory = between(30, 150);
	l->timeout = between(0, 1) ? 0 : between(1, 100);
	l->quantum = between(5, 60);
	int t = 0;
	for (int i = 0; i < l->n; i++) {
		t += between(0, 2) ? between(0, 40) : 0;
		l->arrival[i] = t;
		l->prompt[i] = between(1, 30);
		l->output[i] = between(1, 12);
		l->limit[i] = l->output[i] + (between(0, 1) ? between(0, 10) : 0);
	}
}

static bool agrees(const struct naive *m, const struct run_result *r)
{
	for (int i = 0; r && i < m->l->n; i++) {
		const struct request_row *q = &r->requests[i];
		const struct request *x = &m->r[i];
		bool good = x->is_refused ? q->status == REQUEST_REFUSED
					  : fabs(1e3 * q->completed_s - x->end) < 1e-6 && fabs(1e3 * q->first_token_s - x->first) < 1e-6;
		if (!good) {
			printf("# request %d: first token %.9g, end %.9g ms; naively %g, %g\n", i, 1e3 * q->first_token_s,
				1e3 * q->completed_s, x->first, x->end);
			return false;
		}
	}
	return r && r->n_requests == (size_t)m->l->n;
}

static bool compare(enum rule rule, const struct orr_policy *policy)
{
	static const char *const models[] = { model, NULL };
	struct load l;
	draw(&l);
	struct naive m = { .l = &l, .rule = rule };
	char rows[2000] = "arrival_s,prompt_tokens,output_tokens,max_output\n", set[200];
	for (int i = 0; i < l.n; i++)
		snprintf(rows + strlen(rows), sizeof rows - strlen(rows), "%d.%03d,%d,%d,%d\n", l.arrival[i] / 1000, l.arrival[i] % 1000,
			l.prompt[i], l.output[i], l.limit[i]);
	bool has_memory = rule == ORCA || rule == STATIC;
	snprintf(set, sizeof set, "max_batch=%d", l.batch);
	if (rule == VLLM || rule == SARATHI)
		snprintf(set + strlen(set), sizeof set - strlen(set), " %s=%d", rule == VLLM ? "max_tokens" : "chunk", l.tokens);
	if (rule == STATIC)
		snprintf(set + strlen(set), sizeof set - strlen(set), " timeout=%dms", l.timeout);
	if (rule == MLFQ)
		snprintf(set + strlen(set), sizeof set - strlen(set), " levels=%d quantum=%d.3ms", l.levels, l.quantum);
	struct serve_case c = { .requests = rows,
		.models = models,
		.memory_GiB = has_memory ? (l.memory + 0.5) / 1024 / 0.9 : 100,
		.policy = policy,
		.settings = set,
		.options = "kv_block=1" };
	run_naive(&m);
	struct run_result *r = serve_replay(&c, &err);
	bool good = agrees(&m, r);
	if (!good)
		printf("# %s; memory %d; %s\n%s", set, l.memory, r ? "" : err.text, rows);
	result_free(r);
	return good;
}

int main(void)
{
	static const struct orr_policy *const policy[] = { [VLLM] = &orr_policy_serve_vllm,
		[SARATHI] = &orr_policy_serve_sarathi,
		[ORCA] = &orr_policy_serve_orca,
		[STATIC] = &orr_policy_serve_fastertransformer,
		[MLFQ] = &orr_policy_serve_mlfq };
	enum { CASES = 150 };
	for (int rule = VLLM; rule <= MLFQ; rule++) {
		int good = 0;
		rng_init(&rng, 1, "llm", (uint64_t)rule);
		while (good < CASES && compare((enum rule)rule, policy[rule]))
			good++;
		ok(good == CASES, "%s agrees with its naive implementation on %d of %d workloads", policy[rule]->name, good, CASES);
	}
	return done();
}
