/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Tests of the memory rules of data sets: case F3, where amm and lru differ, and random small flows. On the random flows each rule is
 * compared with an independent simulation and with the exhaustive optimum over all choices of spilled sets.
 */
#include "base/rng.h"
#include "tests/jobs/flow_run.h"

enum { SETS = 32, STAGES = 32 };

/* ---- model: flows of a prefix and branches of several stages ---- */

struct chain {
	uint32_t f, stages;
	int size[SETS]; /* sizes of the sets of the prefix, then of the stages of each branch */
	int score[8];
	int memory;
	bool is_incremental;
};

static char *json_of(const struct chain *c)
{
	struct sbuf s = { 0 };
	sbuf_printf(&s,
		"{\"operators\":[{\"name\":\"p\",\"work_s\":1,\"output_bytes\":%d},{\"name\":\"e\",\"inputs\":[\"p\"],\"explore\":%u}",
		c->size[0], c->f);
	for (uint32_t k = 0; k < c->stages; k++) {
		char input[16] = "e";
		if (k)
			snprintf(input, sizeof input, "b%u", k - 1);
		sbuf_printf(&s, ",{\"name\":\"b%u\",\"inputs\":[\"%s\"],\"work_s\":1,\"output_bytes\":[", k, input);
		for (uint32_t i = 0; i < c->f; i++)
			sbuf_printf(&s, "%s%d", i ? "," : "", c->size[1 + i * c->stages + k]);
		sbuf_puts(&s, "]");
		if (k + 1 == c->stages) {
			sbuf_puts(&s, ",\"score\":{\"values\":[");
			for (uint32_t i = 0; i < c->f; i++)
				sbuf_printf(&s, "%s%d", i ? "," : "", c->score[i]);
			sbuf_puts(&s, "]}");
		}
		sbuf_puts(&s, "}");
	}
	sbuf_printf(&s, ",{\"name\":\"c\",\"inputs\":[\"b%u\"],\"choose\":{\"keep\":1,\"incremental\":%s}}]}", c->stages - 1,
		c->is_incremental ? "true" : "false");
	char *text = mem_strdup(sbuf_text(&s));
	sbuf_free(&s);
	return text;
}

enum where { NOWHERE, MEMORY, DISK };
enum rule { OPTIMUM, AMM, LRU, TOUCHES };

struct state {
	enum where at[SETS];
	int uses[SETS], clock, touched[SETS], touches[SETS];
	int moved, best; /* moved: bytes moved so far; best: index of the branch kept so far, or -1 */
};

static int in_memory(const struct chain *c, const struct state *s)
{
	int sum = 0;
	for (uint32_t i = 0; i <= c->f * c->stages; i++)
		sum += s->at[i] == MEMORY ? c->size[i] : 0;
	return sum;
}

static double rank(const struct chain *c, const struct state *s, enum rule rule, uint32_t i)
{
	return rule == AMM ? (double)s->uses[i] * c->size[i] : rule == LRU ? s->touched[i] : s->touches[i];
}

static int simulate(const struct chain *c, struct state s, uint32_t stage, enum rule rule, int bound);

/* Claims the stage's output, with spills until it fits, then simulates the rest of the chain. Returns the bytes moved in total. */
static int claim(const struct chain *c, struct state s, uint32_t stage, enum rule rule, int bound)
{
	if (s.moved >= bound)
		return bound;
	uint32_t out = stage, n = c->f * c->stages;
	bool fits_at_all = c->size[out] <= c->memory;
	if (fits_at_all && in_memory(c, &s) + c->size[out] > c->memory) {
		int best = bound;
		uint32_t lowest = UINT32_MAX;
		for (uint32_t i = 0; i <= n; i++) {
			if (s.at[i] != MEMORY)
				continue;
			if (rule == OPTIMUM) {
				struct state t = s;
				t.at[i] = DISK;
				t.moved += c->size[i];
				int moved = claim(c, t, stage, rule, best);
				best = moved < best ? moved : best;
			} else if (lowest == UINT32_MAX || rank(c, &s, rule, i) <= rank(c, &s, rule, lowest)) {
				lowest = i; /* of equal sets, the set made later, which has the higher number */
			}
		}
		if (rule == OPTIMUM)
			return best;
		s.at[lowest] = DISK;
		s.moved += c->size[lowest];
		return claim(c, s, stage, rule, bound);
	}
	s.at[out] = fits_at_all ? MEMORY : DISK;
	s.moved += fits_at_all ? 0 : c->size[out];
	s.touched[out] = ++s.clock;
	s.uses[out] = out ? 1 : (int)c->f;
	if (stage) {
		uint32_t k = (stage - 1) % c->stages, in = k ? stage - 1 : 0;
		if (!--s.uses[in])
			s.at[in] = NOWHERE;
		if (k + 1 == c->stages) {
			int branch = (int)((stage - 1) / c->stages);
			bool wins = s.best < 0 || c->score[branch] > c->score[s.best];
			int loser = wins ? s.best : branch;
			if (loser >= 0 && c->is_incremental)
				s.at[1 + (uint32_t)loser * c->stages + c->stages - 1] = NOWHERE;
			s.best = wins ? branch : s.best;
		}
	}
	return simulate(c, s, stage + 1, rule, bound);
}

static int simulate(const struct chain *c, struct state s, uint32_t stage, enum rule rule, int bound)
{
	if (stage > c->f * c->stages)
		return s.moved < bound ? s.moved : bound;
	if (stage) {
		uint32_t in = (stage - 1) % c->stages ? stage - 1 : 0;
		s.touched[in] = ++s.clock;
		s.touches[in]++;
		s.moved += s.at[in] == DISK ? c->size[in] : 0;
	}
	return claim(c, s, stage, rule, bound);
}

static int model(const struct chain *c, enum rule rule)
{
	return simulate(c, (struct state){ .best = -1 }, 0, rule, 1 << 30);
}

static double moved(const struct run_result *r)
{
	return flow_metric(r, "bytes_spilled") + flow_metric(r, "bytes_from_disk");
}

static const enum dataset_rule rule_of[] = { DATASETS_NONE, DATASETS_AMM, DATASETS_LRU, DATASETS_TOUCH_COUNT };
static const char *const name_of[] = { "", "amm", "lru", "touch-count" };

static struct run_result *run(const struct chain *c, enum rule rule, const char *more)
{
	char options[200], *json = json_of(c);
	snprintf(options, sizeof options, "memory_bytes=%d disk_Bps=8 %s", c->memory, more);
	struct run_result *r = flow_run(json, "1x1", &orr_policy_mdf, rule_of[rule], false, options);
	mem_free(json);
	return r;
}

/* ---- F3 ---- */

static struct chain f3(uint32_t stages, int memory)
{
	struct chain c = { .f = 6, .stages = stages, .memory = memory, .is_incremental = true };
	for (int i = 0; i < SETS; i++)
		c.size[i] = 1;
	for (int i = 0; i < 6; i++)
		c.score[i] = i; /* the latest branch has the best score */
	return c;
}

static void exact(void)
{
	struct chain c = f3(2, 2);
	struct run_result *amm = run(&c, AMM, ""), *lru = run(&c, LRU, "");
	ok(flow_metric(amm, "sets_spilled") == 10 && flow_metric(amm, "sets_read_from_disk") == 0,
		"F3: amm never spills the prefix: 10 sets moved");
	ok(flow_metric(lru, "sets_spilled") == 6 && flow_metric(lru, "sets_read_from_disk") == 5,
		"F3: lru spills the prefix in the first branch and reads it 5 times: 11 sets moved");
	/* The chain has 13 stages of 1 s; each set moved takes 1/8 s. */
	near_to(flow_metric(amm, "flow_time_mean"), 13 + 10 / 8.0, 1e-12, "F3: transfers take bytes / disk_Bps (amm)");
	near_to(flow_metric(lru, "flow_time_mean"), 13 + 11 / 8.0, 1e-12, "F3: transfers take bytes / disk_Bps (lru)");
	result_free(amm);
	result_free(lru);
	static const struct {
		uint32_t stages;
		int memory;
	} same[] = { { 1, 2 }, { 2, 3 }, { 2, 4 } };
	for (size_t i = 0; i < 3; i++) {
		c = f3(same[i].stages, same[i].memory);
		amm = run(&c, AMM, "");
		lru = run(&c, LRU, "");
		ok(moved(amm) == moved(lru) && flow_metric(lru, "sets_read_from_disk") == 0,
			"%u stages a branch, memory %d: both move %g sets", same[i].stages, same[i].memory, moved(amm));
		result_free(amm);
		result_free(lru);
	}
	c = f3(2, 2);
	static const char *const others[] = { "memory_reload=true", "amm_first_use=code", "amm_recompute=code" };
	for (size_t i = 0; i < 3; i++) {
		amm = run(&c, AMM, others[i]);
		lru = run(&c, LRU, others[i]);
		printf("# F3 with %s: amm moves %g, lru %g\n", others[i], moved(amm), moved(lru));
		ok(moved(amm) <= moved(lru), "F3 with %s: amm moves at most as much", others[i]);
		result_free(amm);
		result_free(lru);
	}
}

/* ---- random flows ---- */

static void random_flows(void)
{
	enum { N = 300 };
	struct rng rng;
	int same[4] = { 0 }, above[4] = { 0 }, timed = 0;
	double ratio[4] = { 0 };
	int n_moved = 0;
	rng_init(&rng, 2, "datasets", 0);
	for (int i = 0; i < N; i++) {
		struct chain c = { .f = 2 + (uint32_t)rng_below(&rng, 3), .stages = 1 + (uint32_t)rng_below(&rng, 3) };
		c.is_incremental = rng_below(&rng, 3) > 0;
		for (int k = 0; k < SETS; k++)
			c.size[k] = 1 + (int)rng_below(&rng, 4);
		for (int k = 0; k < 8; k++)
			c.score[k] = (int)rng_below(&rng, 100) * 8 + k;
		c.memory = 3 + (int)rng_below(&rng, 6);
		int optimum = model(&c, OPTIMUM);
		n_moved += optimum > 0;
		for (enum rule rule = AMM; rule <= TOUCHES; rule++) {
			struct run_result *r = run(&c, rule, "");
			double got = moved(r);
			same[rule] += got == model(&c, rule);
			if (got != model(&c, rule))
				printf("# flow %d, %s: got %g, the test's model %d\n", i, name_of[rule], got, model(&c, rule));
			above[rule] += got >= optimum;
			ratio[rule] += optimum ? got / optimum : 0;
			timed += fabs(flow_metric(r, "flow_time_mean") - (1 + c.f * c.stages + got / 8)) < 1e-8;
			result_free(r);
		}
	}
	for (enum rule rule = AMM; rule <= TOUCHES; rule++) {
		ok(same[rule] == N, "%s moves what an independent simulation moves (%d of %d)", name_of[rule], same[rule], N);
		ok(above[rule] == N, "%s moves at least the exhaustive optimum", name_of[rule]);
		printf("# %s / optimum, mean of %d flows that must move something: %.3f\n", name_of[rule], n_moved, ratio[rule] / n_moved);
	}
	ok(timed == 3 * N, "run time is the work plus bytes moved / disk_Bps (%d)", timed);
}

int main(void)
{
	exact();
	random_flows();
	return done();
}
