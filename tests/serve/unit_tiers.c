/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * KV caches in DRAM, SSD and a pool: times by hand; then conversations under short memory, where invariants hold under --check and more
 * tiers save more prompt tokens.
 *
 * By hand: an iteration takes 10 ms and 1 ms per token of a prompt or of a decode. A hash covers one block of 16 tokens, of 1,000 bytes
 * each, so a block takes 1 ms at 16e6 B/s. A replica has 8 blocks. Request A has hashes 1 to 4; B, of 7 blocks, pushes 4, 3 and 2 out of
 * the GPU (the end of a prompt first); C has the prompt of A. Of C's 64 tokens the first 48 can be shared.
 */
#include "base/mem.h"
#include "base/sbuf.h"
#include "tests/serve/llm_run.h"
#include "tests/tap.h"

extern const struct orr_policy orr_policy_serve_vllm, orr_policy_serve_sarathi, orr_policy_serve_orca, orr_policy_serve_distserve;

static const char model[] = "{\"name\":\"m\",\"source\":\"made up\",\"kind\":\"llm\",\"weight_bytes\":1,\"kv_bytes_per_token\":1000,"
			    "\"closed\":{\"constant_ms\":10,\"token_ms\":1,\"context_ms\":0,\"pair_ms\":0}}";

#define A(MS) "{\"timestamp\": " #MS ", \"input_length\": 64, \"output_length\": 1, \"hash_ids\": [1, 2, 3, 4]}\n"
#define B(MS) "{\"timestamp\": " #MS ", \"input_length\": 112, \"output_length\": 1, \"hash_ids\": [11, 12, 13, 14, 15, 16, 17]}\n"
#define D(MS) "{\"timestamp\": " #MS ", \"input_length\": 40, \"output_length\": 1, \"hash_ids\": [21, 22]}\n"

static struct run_result *serve(const char *rows, const char *options, struct llm_run x)
{
	struct orr_error err = { 0 };
	struct reqset *set = llm_hashed_requests(rows, 16, &err);
	char all[400];
	snprintf(all, sizeof all, "prefix_cache=true %s", options);
	x.requests = set;
	x.model = x.model ? x.model : model;
	x.policy = x.policy ? x.policy : &orr_policy_serve_vllm;
	x.settings = x.policy == &orr_policy_serve_vllm ? "watermark=0" : NULL;
	x.kv_blocks = x.kv_blocks ? x.kv_blocks : 8;
	x.options = all;
	struct run_result *r = set ? llm_serve(&x, &err) : NULL;
	if (!r)
		printf("# %s\n", err.text);
	reqset_free(set);
	return r;
}

/* Checks the time of the last request from its arrival to its end, ms. */
static void takes(double want_ms, const char *rows, const char *options, struct llm_run x, const char *what)
{
	struct run_result *r = serve(rows, options, x);
	const struct request_row *q = r && r->n_requests ? &r->requests[r->n_requests - 1] : NULL;
	near_to(q ? (q->completed_s - q->arrival_s) * 1e3 : NAN, want_ms, 1e-9, what);
	result_free(r);
}

static const struct llm_run plain;
static const char abc[] = A(0) B(1000) A(2000);

static void test_dram(void)
{
	takes(58, abc, "", plain, "without tiers one block is left: 48 tokens are computed");
	takes(28, abc, "kv_dram=1e9 kv_dram_Bps=16e6", plain, "two blocks are loaded in 2 ms, 16 tokens are computed");
	takes(28, abc, "kv_dram=1e9 kv_dram_Bps=16e6", (struct llm_run){ .policy = &orr_policy_serve_distserve },
		"the same for work that starts by stage");
	takes(58, abc, "kv_dram=1e9 kv_dram_Bps=16e6 kv_load=never", plain, "kv_load=never computes");
	takes(58, abc, "kv_dram=1e9 kv_dram_Bps=160e3", plain, "kv_load=cost computes what would take 200 ms to load");
	takes(226, abc, "kv_dram=1e9 kv_dram_Bps=160e3 kv_load=always", plain, "kv_load=always loads it");
	takes(58, abc, "kv_dram=15e3 kv_dram_Bps=16e6", plain, "a tier smaller than a block holds none");
	takes(28, abc, "kv_dram=1e9 kv_dram_Bps=16e6 kv_overlap=true", plain, "a model of unknown layers is loaded as a whole");
	struct run_result *r = serve(abc, "kv_dram=1e9 kv_dram_Bps=16e6", plain);
	ok(r && llm_metric(r, "kv_dram_tokens") == 32 && llm_metric(r, "kv_dram_read_bytes") == 32000 && llm_metric(r, "kv_loads") == 1,
		"two blocks were read");
	near_to(r ? llm_metric(r, "kv_load_mean") : NAN, .002, 1e-12, "mean time of a load");
	/* 4, 3 and 2; C's three own blocks push out three of B's. */
	ok(r && llm_metric(r, "kv_dram_written_bytes") >= 48000, "at least three blocks were written (%g)",
		llm_metric(r, "kv_dram_written_bytes"));
	result_free(r);
}

static void test_lower_tiers(void)
{
	/* DRAM of one block: 2 in DRAM, 3 and 4 on the SSD. */
	takes(30, abc, "kv_dram=16e3 kv_dram_Bps=16e6 kv_ssd=1e9 kv_ssd_Bps=4e6", plain, "the SSD needs 4 ms, the DRAM 1 ms meanwhile");
	takes(43, abc, "kv_dram=16e3 kv_dram_Bps=16e6 kv_ssd=1e9 kv_ssd_Bps=4e5", plain, "a slow SSD: one block is loaded, one computed");
	takes(58, abc, "kv_ssd=1e9 kv_ssd_Bps=4e5", plain, "SSD alone, slow: both are computed");
	/* 4 and 3 are written by 1.001 and 1.002 + .1 s: a write that takes .4 s ends after C arrives at 1.5. */
	takes(58, A(0) B(1000) A(1500), "kv_dram=1e9 kv_dram_Bps=40e3 kv_load=always", plain, "a block that is being written is not read");
	takes(28, abc, "kv_dram=32e3 kv_dram_Bps=16e6", plain, "DRAM of two blocks: 4 has left, which was written first");
}

static void test_pool(void)
{
	struct llm_run two = { .replicas = 2 };
	static const char twice[] = A(0) A(1000);
	takes(74, twice, "router=round-robin", two, "two replicas share nothing");
	takes(34, twice, "router=round-robin kv_pool=1e9 kv_pool_Bps=16e6 kv_pool_latency=5ms kv_write=through", two,
		"three blocks come from the pool in 8 ms");
	takes(74, twice, "router=round-robin kv_pool=1e9 kv_pool_Bps=16e6", two, "demote: the first replica still has them");
	struct serve_deployment d = { .replicas = 2, .tp = 1, .pp = 1, .kv_blocks = 8 };
	struct llm_run node = { .deployments = &d, .n_deployments = 1, .cluster = "1x2" }, nodes = node;
	nodes.cluster = "2x1";
	takes(29, twice, "router=round-robin kv_dram=1e9 kv_dram_Bps=16e6 kv_write=through", node, "replicas of one node share its DRAM");
	takes(74, twice, "router=round-robin kv_dram=1e9 kv_dram_Bps=16e6 kv_write=through", nodes, "those of two nodes do not");
	struct llm_run fails = { .failures = "time_s,node,event\n0.5,0,fail\n0.6,0,repair\n" };
	takes(74, twice, "kv_dram=1e9 kv_dram_Bps=16e6 kv_write=through", fails, "a node that fails loses its DRAM");
	takes(29, twice, "kv_dram=1e9 kv_pool=1e9 kv_pool_Bps=16e6 kv_write=through", fails, "the pool survives");
}

static void test_prefetch(void)
{
	/* D runs until 2.040 and pushes out hash 1 and two blocks of B. */
	static const char busy[] = A(0) B(1000) D(1990) A(2000);
	takes(69, busy, "kv_dram=1e9 kv_dram_Bps=16e6", plain, "three blocks are loaded after D");
	takes(66, busy, "kv_dram=1e9 kv_dram_Bps=16e6 kv_prefetch=true", plain, "kv_prefetch loads them meanwhile");
	takes(28, abc, "kv_dram=1e9 kv_dram_Bps=16e6 kv_prefetch=true", plain, "an idle replica waits for the load");
}

/* By hand: D takes six of eight blocks from 1.990 to 2.090. The first two blocks that are loaded for C meanwhile have room. */
static void test_prefetch_without_room(void)
{
	static const char busy[] = A(0) B(1000) "{\"timestamp\": 1990, \"input_length\": 90, \"output_length\": 1, "
						"\"hash_ids\": [31, 32, 33, 34, 35]}\n" A(2000);
	takes(117, busy, "kv_dram=1e9 kv_dram_Bps=16e6 kv_prefetch=true", plain,
		"the beginning of the prompt is kept: one block is loaded again, and 16 tokens are computed");
}

/* By hand: the load takes from 2.4 to 2.9. The node fails at 2.5, and its DRAM is lost. From 2.6 to 3.007 D restarts and takes seven blocks
 * or more. C waits from 2.6 on and is computed from 3.007 on. The policy learns of it once. */
static void test_load_that_is_lost(void)
{
	static const char rows[] = A(0) "{\"timestamp\": 1000, \"input_length\": 128, \"output_length\": 1, "
					"\"hash_ids\": [11, 12, 13, 14, 15, 16, 17, 18]}\n"
					"{\"timestamp\": 2300, \"input_length\": 100, \"output_length\": 28, "
					"\"hash_ids\": [31, 32, 33, 34, 35, 36]}\n" A(2400);
	takes(681, rows, "kv_dram=1e9 kv_dram_Bps=96e3 kv_load=always kv_prefetch=true",
		(struct llm_run){ .failures = "time_s,node,event\n2.5,0,fail\n2.6,0,repair\n" },
		"a load whose replica is lost ends nowhere");
}

/* ---- conversations ---- */

/* 40 conversations of five turns on two replicas of 64 blocks: turn k of conversation c repeats the blocks of the turns before. */
static char *conversations(void)
{
	struct sbuf b = { 0 };
	for (int turn = 0; turn < 5; turn++)
		for (int c = 0; c < 40; c++) {
			int blocks = 4 + 3 * turn;
			sbuf_printf(&b, "{\"timestamp\": %d, \"input_length\": %d, \"output_length\": %d, \"hash_ids\": [",
				(turn * 40 + c) * 300, blocks * 16 + 5, 3 + (c * 7 + turn) % 20);
			for (int k = 0; k < blocks; k++)
				sbuf_printf(&b, "%s%d", k ? ", " : "", k < 2 ? 1 + k : 1000 * (c + 1) + k);
			sbuf_puts(&b, "]}\n");
		}
	return sbuf_steal(&b);
}

static void test_conversations(void)
{
	static const char *const tiers[] = { "kv_load=cost", "kv_dram=2e6", "kv_dram=2e6 kv_ssd=4e6", "kv_dram=2e6 kv_ssd=4e6 kv_pool=1e9",
		"kv_dram=2e6 kv_ssd=4e6 kv_pool=1e9 kv_write=through" };
	static const struct orr_policy *const policies[] = { &orr_policy_serve_vllm, &orr_policy_serve_sarathi };
	char *rows = conversations();
	for (int p = 0; p < 2; p++) {
		double share[5], ttft[5];
		bool same = true, all = true;
		for (int i = 0; i < 5; i++) {
			struct llm_run x = { .replicas = 2, .kv_blocks = 64, .policy = policies[p] };
			for (int again = 0; again < 2; again++) {
				struct run_result *r = serve(rows, tiers[i], x);
				all &= r && llm_metric(r, "requests_completed") == 200;
				double t = r ? llm_metric(r, "ttft_mean") : NAN;
				same &= !again || t == ttft[i];
				ttft[i] = t;
				share[i] = r ? llm_metric(r, "prefix_hit_share") : NAN;
				result_free(r);
				x.is_quick = true;
			}
		}
		ok(all && same, "%s: all requests complete under --check, twice the same", policies[p]->name);
		ok(share[0] < share[1] && share[1] < share[2] && share[2] < share[3] && share[3] <= share[4] && ttft[4] < ttft[0],
			"%s: each tier saves more tokens: %.3f %.3f %.3f %.3f %.3f; TTFT %.1f to %.1f ms", policies[p]->name, share[0],
			share[1], share[2], share[3], share[4], ttft[0] * 1e3, ttft[4] * 1e3);
	}
	mem_free(rows);
}

int main(void)
{
	test_dram();
	test_lower_tiers();
	test_pool();
	test_prefetch();
	test_prefetch_without_room();
	test_load_that_is_lost();
	test_conversations();
	return done();
}
