/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Routers of other programs, choice by choice: SGLang's cache-aware router (134 choices of the shipped binaries 0.3.2 and 0.1.9) and
 * Vidur's lor (2,000 requests on two replicas).
 */
#include "policies/serve/routers/sglang_tree.h"
#include "tests/serve/llm_run.h"
#include "tests/tap.h"

#include <stdlib.h>
#include <zlib.h>

extern const struct orr_policy orr_policy_serve_vllm;

static gzFile oracle(const char *path)
{
	const char *data = getenv("ORRERY_DATA_PATH");
	char name[1024];
	snprintf(name, sizeof name, "%s/oracles/%s", data ? data : ".", path);
	return gzopen(name, "r");
}

/* ---- SGLang ---- */

enum { WORKERS = 3, MOST_SYMBOLS = 100000 };

/* A run of the oracle's table: thresholds, and the order on ties, which the router takes from a hash map. */
static const struct peer_run {
	const char *name;
	struct sglang_rule rule;
	uint32_t order[WORKERS];
	unsigned steps, picked[WORKERS];
} peer_runs[] = { { "S1", { .3, 64, 1.5, false }, { 0, 1, 2 }, 11, { 11, 0, 0 } },
	{ "S2", { .3, 2, 1.5, false }, { 0, 2, 1 }, 12, { 6, 3, 3 } }, { "S3", { .3, 64, 1.5, false }, { 1, 0, 2 }, 60, { 0, 60, 0 } },
	{ "S4", { .1, 3, 1.2, false }, { 2, 0, 1 }, 40, { 12, 12, 16 } }, { "T1", { .3, 64, 1.5, true }, { 1, 2, 0 }, 11, { 6, 3, 2 } } };
enum { PEER_RUNS = sizeof peer_runs / sizeof *peer_runs };

/* Reads "97*300 48": 300 times symbol 97, then 48. */
static uint32_t read_text(const char *s, uint64_t *text)
{
	uint32_t n = 0;
	while (*s && *s != ',') {
		char *end;
		uint64_t symbol = strtoull(s, &end, 10), times = *end == '*' ? strtoull(end + 1, &end, 10) : 1;
		while (times-- && n < MOST_SYMBOLS)
			text[n++] = symbol;
		s = end + (*end == ' ');
	}
	return n;
}

struct replayed {
	struct sglang_tree *tree;
	uint64_t load[WORKERS];
	unsigned steps, differ, picked[WORKERS];
};

static void check_sglang(gzFile f)
{
	static char line[MOST_SYMBOLS * 8];
	static uint64_t text[MOST_SYMBOLS];
	struct replayed run[PEER_RUNS] = { 0 };
	for (int i = 0; i < PEER_RUNS; i++)
		run[i].tree = sglang_tree_new(WORKERS);
	while (gzgets(f, line, sizeof line)) {
		char name[8], action[16];
		int at = 0, i = 0;
		if (sscanf(line, "%7[^,],%*[^,],%15[^,],%n", name, action, &at) < 2 || !at)
			continue;
		while (i < PEER_RUNS && strcmp(name, peer_runs[i].name))
			i++;
		if (i == PEER_RUNS)
			continue;
		struct replayed *x = &run[i];
		uint32_t n = read_text(line + at, text), want = (uint32_t)atoi(strrchr(line, ',') + 1);
		uint32_t got = sglang_choose(x->tree, &peer_runs[i].rule, text, n, peer_runs[i].order, WORKERS, x->load);
		x->load[got] += !strcmp(action, "hold");
		x->picked[got]++;
		x->differ += got != want;
		x->steps++;
	}
	unsigned all = 0;
	for (int i = 0; i < PEER_RUNS; i++) {
		const struct peer_run *p = &peer_runs[i];
		ok(run[i].steps == p->steps && !run[i].differ && !memcmp(run[i].picked, p->picked, sizeof p->picked),
			"R1, R2: %s: %u choices, %u differ; %u, %u and %u per worker", p->name, run[i].steps, run[i].differ,
			run[i].picked[0], run[i].picked[1], run[i].picked[2]);
		all += run[i].steps;
		sglang_tree_free(run[i].tree);
	}
	ok(all == 134, "R1: %u choices in all", all);
}

/* ---- Vidur ---- */

static void check_lor(gzFile f, const struct reqset *requests)
{
	enum { REQUESTS = 2000 };
	struct orr_error err = { 0 };
	struct llm_run x = {
		.requests = requests, .kv_blocks = 30208, .replicas = 2, .policy = &orr_policy_serve_vllm, .options = "router=lor"
	};
	struct run_result *r = llm_serve(&x, &err);
	if (!ok(r && r->n_requests == REQUESTS, "lor: the run ends, with all requests %s", err.text))
		return;
	char line[400];
	double worst = 0;
	unsigned rows = 0, others = 0, first = 0;
	while (gzgets(f, line, sizeof line)) {
		double id, replica, token, end;
		if (sscanf(line, "%lf,%*f,%*f,%*f,%lf,%*f,%lf,%lf", &id, &replica, &token, &end) != 4)
			continue;
		const struct request_row *q = &r->requests[(size_t)id];
		rows++;
		others += q->replica != (uint32_t)replica;
		first += !q->replica;
		worst = fmax(worst, fmax(fabs(q->first_token_s - token), fabs(q->completed_s - end)));
	}
	ok(rows == REQUESTS && !others && first == 1832, "R13: lor: %u of %u requests go to replica 0; %u differ", first, rows, others);
	ok(worst <= 1e-9, "lor: every first token and completion within 1e-9 s (%.3g)", worst);
	result_free(r);
}

int main(void)
{
	gzFile choices = oracle("sglang-router/cases.csv.gz"), vidur = oracle("vidur-pp/vllm_r2_pp1_lor_s100.csv.gz");
	struct reqset *requests = llm_vidur_requests();
	if (choices)
		check_sglang(choices);
	else
		skip("no oracles/sglang-router under ORRERY_DATA_PATH: the comparison with SGLang's router was NOT made");
	if (vidur && requests)
		check_lor(vidur, requests);
	else
		skip("no oracles/vidur-pp under ORRERY_DATA_PATH: the comparison with Vidur's lor was NOT made");
	gzclose(choices);
	gzclose(vidur);
	reqset_free(requests);
	return done();
}
