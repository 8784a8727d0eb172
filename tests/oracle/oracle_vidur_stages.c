/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Comparison with Vidur (microsoft/vidur at 7d47513) with pipeline stages, several replicas and its routers: 12 runs of 2,000
 * requests of the Azure conversation trace. Times at which a request is scheduled (its first micro-batch is formed), has its first token
 * and is completed must be equal within 1e-9 s; replicas and numbers of restarts exactly. The peer's rules, batch cap and time of a
 * stage are stated in the README of the oracle.
 */
#include "base/bytes.h"
#include "base/mem.h"
#include "tests/serve/llm_run.h"
#include "tests/tap.h"

#include <stdlib.h>

extern const struct orr_policy orr_policy_serve_vllm, orr_policy_serve_sarathi;

enum { REQUESTS = 2000 };

/* A stage takes 1 + (4 + 0.05 T + 1e-4 C + 1e-6 P) / S ms and, except the last, 0.05 + 2e-4 T more. */
static const char model[] =
	"{\"name\":\"vidur-stages\",\"source\":\"microsoft/vidur\",\"kind\":\"llm\",\"weight_bytes\":16e9,\"kv_bytes_per_token\":131072,"
	"\"closed\":{\"constant_ms\":4,\"token_ms\":0.05,\"context_ms\":1e-4,\"pair_ms\":1e-6,\"stage_ms\":1,\"hop_ms\":0.05,"
	"\"hop_token_ms\":2e-4}}";

struct row {
	double scheduled_s, first_s, end_s;
	int replica, restarts;
};

struct oracle {
	const char *name, *policy;
	double scale;
	uint32_t stages, replicas, blocks;
	const char *router; /* round-robin, or one of this file */
	double micro_batches;
};

/* Numbers of micro-batches: README of the oracle. */
static const struct oracle runs[] = { { "vllm_r1_pp2", "vllm", 1, 2, 1, 67072, "round-robin", 71268 },
	{ "vllm_r1_pp4_s25", "vllm", .25, 4, 1, 30208, "round-robin", 21635 },
	{ "vllm_r1_pp2_s50_b400", "vllm", .5, 2, 1, 400, "round-robin", 236531 },
	{ "sarathi_r1_pp2_s50", "sarathi", .5, 2, 1, 30208, "round-robin", 25289 },
	{ "sarathi_r1_pp4_s30_b600", "sarathi", .3, 4, 1, 600, "round-robin", 292233 },
	{ "vllm_r2_pp1_lor_s100", "vllm", 1, 1, 2, 30208, "lor", 75227 }, { "vllm_r2_pp1_lor_s25", "vllm", .25, 1, 2, 30208, "lor", 9541 },
	{ "vllm_r2_pp1_rr_s25", "vllm", .25, 1, 2, 30208, "round-robin", 10076 },
	{ "vllm_r2_pp1_random_s25", "vllm", .25, 1, 2, 30208, "replay", 9914 },
	{ "vllm_r2_pp2_lor_s12", "vllm", .125, 2, 2, 30208, "lor", 12702 },
	{ "sarathi_r2_pp2_lor_s20", "sarathi", .2, 2, 2, 30208, "lor", 16343 },
	{ "sarathi_r2_pp4_rr_s20", "sarathi", .2, 4, 2, 30208, "round-robin", 34236 } };

static struct row expected[REQUESTS];

/* Reads the oracle's file; returns the number of rows. */
static size_t read_oracle(const char *name)
{
	const char *data = getenv("ORRERY_DATA_PATH");
	char path[1024];
	size_t n, rows = 0;
	struct orr_error err = { 0 };
	snprintf(path, sizeof path, "%s/oracles/vidur-pp/%s.csv.gz", data ? data : ".", name);
	char *text = bytes_read_file(path, 1 << 24, &n, NULL, &err);
	if (!text)
		return 0;
	char *save = NULL;
	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		struct row r;
		int id;
		if (sscanf(line, "%d,%*f,%*d,%*d,%d,%lf,%lf,%lf,%d", &id, &r.replica, &r.scheduled_s, &r.first_s, &r.end_s, &r.restarts) !=
			6)
			continue;
		if (id >= 0 && id < REQUESTS) {
			expected[id] = r;
			rows++;
		}
	}
	mem_free(text);
	return rows;
}

/* ---- the peer's routers, as rules of a policy ---- */

/* The fewest requests that wait on the replica, evicted ones included; residents do not count. */
static uint32_t route_lor(void *self, struct orr_serve *w, orr_req r)
{
	uint32_t best = 0, least = UINT32_MAX;
	(void)self, (void)r;
	for (uint32_t i = 0; i < orr_replicas(w); i++) {
		struct orr_replica_info x;
		orr_replica_get(w, i, &x);
		if (x.routed - x.residents < least) {
			least = x.routed - x.residents;
			best = i;
		}
	}
	return best;
}

/* The peer draws from Python's generator; the file gives its choices. */
static uint32_t route_replay(void *self, struct orr_serve *w, orr_req r)
{
	(void)self;
	return (uint32_t)expected[orr_req_number(w, r)].replica;
}

/* Returns the larger of two errors. A missing time (NAN) counts as the largest error. */
static double worse(double worst, double got, double want)
{
	double x = fabs(got - want);
	return isnan(x) ? INFINITY : x > worst ? x : worst;
}

static void compare(const struct oracle *o)
{
	struct orr_error err = { 0 };
	struct reqset *requests = llm_vidur_requests_at(o->scale);
	size_t rows = read_oracle(o->name);
	struct orr_policy policy = !strcmp(o->policy, "vllm") ? orr_policy_serve_vllm : orr_policy_serve_sarathi;
	struct orr_serve_ops ops = *(const struct orr_serve_ops *)policy.ops;
	bool by_rule = !strcmp(o->router, "round-robin");
	ops.route = !strcmp(o->router, "lor") ? route_lor : !strcmp(o->router, "replay") ? route_replay : NULL;
	policy.ops = &ops;
	struct run_result *r =
		llm_serve(&(struct llm_run){ .requests = requests,
				  .model = model,
				  .replicas = o->replicas,
				  .pp = o->stages,
				  .kv_blocks = o->blocks,
				  .policy = &policy,
				  .settings = "max_batch=128",
				  .options = by_rule ? "pipeline=micro-batches router=round-robin" : "pipeline=micro-batches" },
			&err);
	if (!ok(r && rows == REQUESTS && r->n_requests == REQUESTS, "%s: the run ends, with all requests", o->name)) {
		printf("# %s\n", err.text);
		result_free(r);
		reqset_free(requests);
		return;
	}
	double scheduled = 0, first = 0, end = 0;
	unsigned replicas = 0, restarts = 0;
	for (size_t i = 0; i < REQUESTS; i++) {
		const struct request_row *q = &r->requests[i];
		scheduled = worse(scheduled, q->arrival_s + q->queue_s, expected[i].scheduled_s);
		first = worse(first, q->first_token_s, expected[i].first_s);
		end = worse(end, q->completed_s, expected[i].end_s);
		replicas += (int)q->replica != expected[i].replica;
		restarts += (int)q->preemptions != expected[i].restarts;
	}
	printf("# %s: worst scheduled %.3g, first token %.3g, completion %.3g s; %.0f micro-batches\n", o->name, scheduled, first, end,
		llm_metric(r, "iterations"));
	ok(scheduled <= 1e-9 && first <= 1e-9 && end <= 1e-9, "D2: %s: every time within 1e-9 s", o->name);
	ok(!replicas && !restarts, "D2: %s: every request on the same replica, with the same restarts (%u and %u differ)", o->name,
		replicas, restarts);
	ok(llm_metric(r, "iterations") == o->micro_batches, "%s: %.0f micro-batches", o->name, o->micro_batches);
	result_free(r);
	reqset_free(requests);
}

int main(void)
{
	if (!read_oracle(runs[0].name)) {
		skip("no oracles/vidur-pp under ORRERY_DATA_PATH: the comparison with Vidur's pipelines was NOT made");
		return done();
	}
	for (size_t i = 0; i < sizeof runs / sizeof *runs; i++)
		compare(&runs[i]);
	return done();
}
