/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Experiments of the fact sheets on disaggregation (D9, D10, D12, D13) and routing (R14). Mooncake's shapes: LLaMA3-70B, l = 80, d = 8192,
 * 8 query heads per KV head, 2 bytes; a = 4, b = 22 (FAST 2025, equations 1 and 2). D13 and R14 are orders: the trace is made up.
 */
#include "base/mem.h"
#include "base/sbuf.h"
#include "hwmodel/kv_reuse.h"
#include "serve/lane.h"
#include "tests/serve/llm_run.h"
#include "tests/tap.h"

extern const struct orr_policy orr_policy_serve_vllm;

static void closed_forms(void)
{
	static const struct kv_shape llama = { .layers = 80, .hidden = 8192, .group = 8, .element_bytes = 2, .a = 4, .b = 22 };
	ok(kv_reuse_least_Bps(&llama, 8192, 8 * 312e12) == 5859375000.0, "D9: loading 8,192 tokens pays from 5,859,375,000 B/s on (%.17g)",
		kv_reuse_least_Bps(&llama, 8192, 8 * 312e12));
	ok(kv_reuse_flops(&llama, 8192) == 1143492092887040.0, "D10: flops of 8,192 tokens");
	ok(kv_reuse_bytes(&llama, 8192) == 2684354560.0, "D10: bytes of their cache");
	near_to(.1 * kv_part_left(.1, .2, 80), .00125, 1e-12, "D12: exposed part of a short transfer");
	near_to(.5 * kv_part_left(.5, .2, 80), .3025, 1e-12, "D12: exposed part of a long transfer");
}

/* 60 documents of 20 blocks, asked about in turn with one new block; then again in another order. */
static char *documents(void)
{
	enum { DOCUMENTS = 60, ROUNDS = 8, BLOCKS = 20 };
	struct sbuf b = { 0 };
	for (int i = 0; i < DOCUMENTS * ROUNDS; i++) {
		int document = i < DOCUMENTS ? i : (i * 7919 + i / DOCUMENTS * 31) % DOCUMENTS;
		sbuf_printf(
			&b, "{\"timestamp\": %d, \"input_length\": %d, \"output_length\": 2, \"hash_ids\": [", i * 95, (BLOCKS + 1) * 16);
		for (int k = 0; k < BLOCKS; k++)
			sbuf_printf(&b, "%d, ", 100 * (document + 1) + k);
		sbuf_printf(&b, "%d]}\n", 1000000 + i);
	}
	return sbuf_steal(&b);
}

static const char model[] = "{\"name\":\"m\",\"source\":\"made up\",\"kind\":\"llm\",\"weight_bytes\":1,\"kv_bytes_per_token\":1000,"
			    "\"closed\":{\"constant_ms\":5,\"token_ms\":1,\"context_ms\":0,\"pair_ms\":0}}";

/* Runs the documents on four replicas under a router. */
static void run(const char *rows, const char *router, double *ttft, double *hits)
{
	struct orr_error err = { 0 };
	struct reqset *set = llm_hashed_requests(rows, 16, &err);
	char options[200];
	snprintf(options, sizeof options, "prefix_cache=true kv_Bps=1e9 router=%s", router);
	struct llm_run x = {
		.requests = set, .model = model, .replicas = 4, .kv_blocks = 420, .policy = &orr_policy_serve_vllm, .options = options
	};
	struct run_result *r = set ? llm_serve(&x, &err) : NULL;
	if (!r)
		printf("# %s\n", err.text);
	*ttft = r ? llm_metric(r, "ttft_mean") : NAN;
	*hits = r ? llm_metric(r, "prefix_hit_share") : NAN;
	result_free(r);
	reqset_free(set);
}

static void orders(void)
{
	static const char *const routers[] = { "random", "jsq", "prefix-aware", "conductor", "sglang", "round-robin" };
	enum { RANDOM, LOAD, LOCAL, GLOBAL, SGLANG, IN_TURN, ALL };
	double ttft[ALL], hits[ALL];
	char *rows = documents();
	for (int i = 0; i < ALL; i++) {
		run(rows, routers[i], &ttft[i], &hits[i]);
		printf("# %-12s TTFT %.4f s, tokens from the cache %.3f\n", routers[i], ttft[i], hits[i]);
	}
	mem_free(rows);
	ok(ttft[RANDOM] > ttft[LOAD] && ttft[LOAD] > ttft[LOCAL] && ttft[LOCAL] > ttft[GLOBAL],
		"D13: TTFT: random > load > local cache > global cache");
	ok(hits[SGLANG] > hits[LOAD] * 1.2 && hits[SGLANG] > hits[IN_TURN] * 1.2 && fabs(hits[LOAD] - hits[IN_TURN]) < .1,
		"R14: share from the cache: cache-aware > least load, about as round robin");
}

int main(void)
{
	closed_forms();
	orders();
	return done();
}
