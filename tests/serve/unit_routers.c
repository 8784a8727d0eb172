/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Routers: their rules on cases computed by hand (sglang, conductor, dynamo), and their choices in runs against a scan of the state.
 */
#include "policies/serve/routers/conductor_rule.h"
#include "policies/serve/routers/dynamo_cost.h"
#include "policies/serve/routers/sglang_tree.h"
#include "policies/serve/routers/shares.h"
#include "tests/serve/fleet_run.h"

#include <stdlib.h>

extern const struct orr_policy orr_policy_serve_vllm, orr_policy_serve_fifo;

/* ---- SGLang's rule ---- */

static void fill(uint64_t *text, uint64_t symbol, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		text[i] = symbol;
}

static void check_sglang_rule(void)
{
	static const uint32_t order[] = { 0, 1 };
	uint64_t text[1000];
	/* Loads 20 and 0 are uneven with abs 5, rel 2: the smallest load wins, regardless of the text. */
	struct sglang_tree *t = sglang_tree_new(2);
	struct sglang_rule rule = { .threshold = .3, .abs = 5, .rel = 2 };
	fill(text, 7, 10);
	sglang_insert(t, text, 10, 0);
	ok(sglang_choose(t, &rule, text, 10, order, 2, (uint64_t[]){ 20, 0 }) == 1,
		"R3: uneven loads: the least load, even for a cached text");
	sglang_tree_free(t);
	/* A miss; loads 50 and 0 are even with abs 100; trees of 5 and 1000 symbols. */
	for (int by_size = 0; by_size < 2; by_size++) {
		t = sglang_tree_new(2);
		rule = (struct sglang_rule){ .threshold = .3, .abs = 100, .rel = 1.5, .by_size = by_size };
		fill(text, 1, 5);
		sglang_insert(t, text, 5, 0);
		fill(text, 2, 1000);
		sglang_insert(t, text, 1000, 1);
		ok(sglang_tree_size(t, 0) == 5 && sglang_tree_size(t, 1) == 1000, "trees of 5 and 1000 symbols");
		fill(text, 3, 10);
		uint32_t want = by_size ? 0 : 1;
		ok(sglang_choose(t, &rule, text, 10, order, 2, (uint64_t[]){ 50, 0 }) == want, "R4: a miss goes to worker %u (%s)", want,
			by_size ? "v0.1" : "v0.3");
		sglang_tree_free(t);
	}
	/* 3 of 10 symbols are not more than the threshold .3; 4 of 10 are. */
	t = sglang_tree_new(2);
	rule = (struct sglang_rule){ .threshold = .3, .abs = 100, .rel = 1.5 };
	fill(text, 1, 20);
	sglang_insert(t, text, 20, 1);
	uint64_t other[10] = { 1, 1, 1, 9, 9, 9, 9, 9, 9, 9 };
	ok(sglang_choose(t, &rule, other, 10, order, 2, (uint64_t[]){ 0, 0 }) == 0, "a rate equal to the threshold is a miss");
	uint64_t longer[10] = { 1, 1, 1, 1, 8, 8, 8, 8, 8, 8 };
	ok(sglang_choose(t, &rule, longer, 10, order, 2, (uint64_t[]){ 0, 0 }) == 1, "a partly matched node counts");
	ok(sglang_choose(t, &rule, other, 0, order, 2, (uint64_t[]){ 1, 0 }) == 1, "an empty text is a miss");
	sglang_tree_free(t);
}

/* The tree against a list of all texts: sizes, and the deepest owner, over random texts of few symbols. */
static void check_sglang_naive(void)
{
	enum { TEXTS = 400, LONGEST = 12, WORKERS = 4 };
	static uint64_t text[TEXTS][LONGEST];
	static uint32_t length[TEXTS], worker[TEXTS], order[WORKERS] = { 2, 0, 3, 1 };
	struct sglang_tree *t = sglang_tree_new(WORKERS);
	struct sglang_rule rule = { .threshold = .5, .abs = 1e9, .rel = 1.5 };
	uint64_t load[WORKERS] = { 0 };
	unsigned wrong_choice = 0, wrong_size = 0, hits = 0;
	uint32_t seed = 12345;
	for (uint32_t i = 0; i < TEXTS; i++) {
		length[i] = 1 + (seed = seed * 1664525 + 1013904223) / (UINT32_MAX / LONGEST + 1);
		for (uint32_t k = 0; k < length[i]; k++)
			text[i][k] = (seed = seed * 1664525 + 1013904223) >> 30;
		load[i % WORKERS] += i % 3;
		/* The longest common prefix with any earlier text, and the workers of the texts that have it. */
		uint32_t best = 0;
		bool owns[WORKERS] = { false };
		for (uint32_t j = 0; j < i; j++) {
			uint32_t k = 0;
			while (k < length[i] && k < length[j] && text[j][k] == text[i][k])
				k++;
			if (k > best) {
				best = k;
				memset(owns, 0, sizeof owns);
			}
			if (k == best)
				owns[worker[j]] = true;
		}
		uint32_t want = UINT32_MAX, least = order[0];
		for (uint32_t k = 0; k < WORKERS; k++) {
			if (want == UINT32_MAX && owns[order[k]])
				want = order[k];
			if (load[order[k]] < load[least])
				least = order[k];
		}
		bool is_hit = (double)best / length[i] > rule.threshold;
		hits += is_hit;
		worker[i] = sglang_choose(t, &rule, text[i], length[i], order, WORKERS, load);
		wrong_choice += worker[i] != (is_hit ? want : least);
		/* A worker's tree has as many symbols as its texts have distinct prefixes. */
		uint64_t size = 0;
		for (uint32_t j = 0; j <= i; j++)
			for (uint32_t n = 1; worker[j] == worker[i] && n <= length[j]; n++) {
				bool is_new = true;
				for (uint32_t m = 0; m < j && is_new; m++)
					is_new =
						worker[m] != worker[i] || length[m] < n || memcmp(text[m], text[j], n * sizeof **text) != 0;
				size += is_new;
			}
		wrong_size += sglang_tree_size(t, worker[i]) != size;
	}
	ok(!wrong_choice && hits > TEXTS / 4 && hits < TEXTS, "choices equal those of a list of all texts (%u hits, %u differ)", hits,
		wrong_choice);
	ok(!wrong_size, "sizes of trees equal the numbers of distinct prefixes (%u differ)", wrong_size);
	sglang_forget(t, 2);
	ok(sglang_tree_size(t, 2) == 0 && sglang_tree_size(t, 0) > 0, "a worker that is gone owns nothing, the others keep theirs");
	sglang_evict(t, 10);
	ok(sglang_tree_size(t, 0) <= 10 && sglang_tree_size(t, 1) <= 10 && sglang_tree_size(t, 3) <= 10, "eviction down to 10 symbols");
	sglang_tree_free(t);
}

/* The least recently used leaf goes first: texts 1111, 1122, 3333; the first is used again. */
static void check_sglang_eviction(void)
{
	struct sglang_tree *t = sglang_tree_new(1);
	struct sglang_rule rule = { .threshold = .9, .abs = 1e9, .rel = 1.5 };
	uint64_t a[] = { 1, 1, 1, 1 }, b[] = { 1, 1, 2, 2 }, c[] = { 3, 3, 3, 3 }, load = 0;
	uint32_t only = 0;
	sglang_insert(t, a, 4, 0);
	sglang_insert(t, b, 4, 0);
	sglang_insert(t, c, 4, 0);
	sglang_choose(t, &rule, a, 4, &only, 1, &load);
	ok(sglang_tree_size(t, 0) == 10, "10 symbols: 11, 11, 22, 3333");
	sglang_evict(t, 8);
	ok(sglang_tree_size(t, 0) == 8, "the leaf 22 goes first");
	sglang_evict(t, 7);
	ok(sglang_tree_size(t, 0) == 4, "then 3333; the text used last stays");
	sglang_insert(t, c, 4, 0);
	ok(sglang_tree_size(t, 0) == 8, "an evicted text is inserted again");
	sglang_tree_free(t);
}

static void check_shares(void)
{
	enum { KEYS = 300 };
	static uint32_t want[KEYS][3];
	struct shares s = { 0 };
	uint32_t seed = 7;
	unsigned wrong = 0, present = 0;
	for (int i = 0; i < 20000; i++) {
		uint32_t key = (seed = seed * 1664525 + 1013904223) % KEYS, of = (seed >> 16) % 3,
			 count = (seed >> 24) % 2 ? seed >> 28 : 0;
		want[key][of] = count;
		shares_set(&s, key, of, count);
		for (uint32_t k = 0; i % 500 == 499 && k < KEYS * 3; k++)
			wrong += shares_get(&s, k / 3, k % 3) != want[k / 3][k % 3];
	}
	for (uint32_t k = 0; k < KEYS * 3; k++)
		present += want[k / 3][k % 3] > 0;
	ok(!wrong && s.n == present, "the table of counts equals an array (%u wrong)", wrong);
	shares_free(&s);
}

/* ---- Mooncake's Conductor ---- */

/* Mooncake's equation 1 for LLaMA3-70B (l = 80, d = 8192, a = 4, b = 22), at 2.496e15 flop/s. */
static double flops(double n)
{
	return 80 * (4 * n * n * 8192 + 22 * n * 8192.0 * 8192);
}

static double prefill_s(void *ctx, uint32_t i, double length, double prefix)
{
	(void)ctx, (void)i;
	return (flops(length) - flops(prefix)) / 2.496e15;
}

static double transfer_s(void *ctx, uint32_t i, double tokens)
{
	(void)ctx, (void)i;
	return tokens * 327680 / 10e9;
}

static void check_conductor_rule(void)
{
	static const struct {
		double threshold, ttft[4];
		uint32_t chosen;
	} want[] = { { 1.2, { 3.281926058, .916143786, .550361514, .549034922 }, 3 },
		{ 1.5, { 3.281926058, .916143786, .550361514, .609673804 }, 2 },
		{ 3, { 3.281926058, 1.028611360, .550361514, .609673804 }, 2 } };
	struct conductor_times times = { NULL, prefill_s, transfer_s };
	for (int i = 0; i < 3; i++) {
		struct conductor_instance v[4] = { { .prefix = 8192, .queue_s = 3 }, { .prefix = 4096, .queue_s = .5 }, { 0 },
			{ .prefix = 6144, .queue_s = .2 } };
		double best, worst = 0;
		uint32_t p = conductor_choose(v, 4, 12288, want[i].threshold, &times, &best);
		for (int k = 0; k < 4; k++)
			worst = fmax(worst, fabs(v[k].ttft_s - want[i].ttft[k]));
		ok(p == want[i].chosen && worst <= 1e-9 && best == 8192, "R5 to R7: threshold %g: instance %u, TTFT within %.2g s",
			want[i].threshold, p, worst);
	}
}

/* ---- Dynamo's cost ---- */

static void check_dynamo_cost(void)
{
	/* The example of the documents: blocks to compute 8, 5, 2; active blocks 10, 5, 9. */
	static const double prefill[] = { 8, 5, 2 }, decode[] = { 10, 5, 9 };
	double cost[3], chance[3];
	for (int i = 0; i < 3; i++) {
		struct dynamo_load x = { .active_blocks = decode[i] };
		cost[i] = dynamo_cost(&x, 1, prefill[i] * 16, 0, 16);
	}
	ok(cost[0] == 18 && cost[1] == 10 && cost[2] == 11, "R8: the documents' example: 18, 10, 11");
	dynamo_chances(cost, 3, .5, chance);
	ok(fabs(chance[0] - .070703063) < 1e-9 && fabs(chance[1] - .522428900) < 1e-9 && fabs(chance[2] - .406868037) < 1e-9,
		"R9: at temperature .5: %.9f, %.9f, %.9f", chance[0], chance[1], chance[2]);
	dynamo_chances((double[]){ 4, 4 }, 2, .5, chance);
	ok(chance[0] == .5 && chance[1] == .5, "equal costs: uniform");
	/* A prompt of 1000 tokens, 62 full blocks of 16; overlap, active prefill tokens, active blocks, own blocks active. */
	static const struct dynamo_load y[] = { { .overlap = 0, .active_tokens = 0, .active_blocks = 100, .active_own = 0 },
		{ .overlap = 40, .active_tokens = 0, .active_blocks = 130, .active_own = 40 },
		{ .overlap = 62, .active_tokens = 2000, .active_blocks = 150, .active_own = 62 },
		{ .overlap = 20, .active_tokens = 512, .active_blocks = 60, .active_own = 0 } };
	static const struct {
		double weight, cost[4];
	} want[] = { { 1, { 224.5, 174.5, 275.5, 196.5 } }, { .5, { 193.25, 163.25, 212.75, 159.25 } }, { 4, { 412, 242, 652, 420 } } };
	for (int i = 0; i < 3; i++) {
		bool good = true;
		for (int k = 0; k < 4; k++)
			good &= dynamo_cost(&y[k], want[i].weight, 1000, 62, 16) == want[i].cost[k];
		ok(good, "R10 to R12: weight %g: four costs", want[i].weight);
	}
}

/* ---- runs ---- */

/* An iteration takes 10 ms and 0.1 ms per token. */
#define LLM                                                                                                                  \
	"{\"name\": \"l\", \"title\": \"t\", \"source\": \"made up for the test\", \"kind\": \"llm\", \"weight_bytes\": 0, " \
	"\"kv_bytes_per_token\": 1000, \"longest\": 100000, "                                                                \
	"\"closed\": {\"constant_ms\": 10, \"token_ms\": 0.1, \"context_ms\": 0, \"pair_ms\": 0}}"

static struct fleet_case fleet(const char *requests, uint32_t replicas, const char *options)
{
	return (struct fleet_case){ .requests = requests,
		.models = { LLM },
		.deployment = { { .replicas = replicas, .model = UINT32_MAX, .tp = 1, .pp = 1, .kv_blocks = 400 } },
		.cluster = "6x1",
		.policy = &orr_policy_serve_vllm,
		.options = options,
		.seed = 4,
		.max_rows = 100000 };
}

/* Checks the replicas of the requests of a run. */
static struct run_result *expect(const char *rows, uint32_t replicas, const char *options, const uint32_t *want, size_t n, const char *what)
{
	struct fleet_case c = fleet(rows, replicas, options);
	struct run_result *r = fleet_must_run(&c, what);
	bool good = r && r->n_requests == n;
	for (size_t i = 0; good && i < n; i++)
		good = r->requests[i].replica == want[i];
	for (size_t i = 0; r && !good && i < r->n_requests; i++)
		printf("# %zu: replica %u\n", i, r->requests[i].replica);
	ok(good, "%s", what);
	return r;
}

#define ROW(ms, length, hashes) \
	"{\"timestamp\": " #ms ", \"input_length\": " #length ", \"output_length\": 2, \"hash_ids\": [" hashes "]}\n"

static void check_runs(void)
{
	/* Two prompts fill both replicas. The third is cached on replica 1; under lor replica 0 has no queue either. */
	static const char rows[] = ROW(0, 1024, "1, 2") ROW(10, 1024, "3, 4") ROW(5000, 1536, "3, 4, 5") ROW(10000, 1536, "1, 2, 6");
	result_free(expect(rows, 2, "router=prefix-aware prefix_cache=true kv_block=512", (uint32_t[]){ 0, 1, 1, 0 }, 4, "prefix-aware"));
	result_free(expect(rows, 2, "router=sglang prefix_cache=true kv_block=512", (uint32_t[]){ 0, 1, 1, 0 }, 4, "sglang"));
	/* The first tie is broken at random. */
	struct fleet_case c = fleet(rows, 2, "router=dynamo prefix_cache=true kv_block=512");
	struct run_result *r = fleet_must_run(&c, "dynamo");
	const struct request_row *q = r ? r->requests : NULL;
	ok(q && q[0].replica + q[1].replica == 1 && q[2].replica == q[1].replica && q[3].replica == q[0].replica,
		"dynamo: the second prompt avoids the active one, later ones follow the caches");
	result_free(r);
	result_free(expect(rows, 2, "router=round-robin prefix_cache=true kv_block=512", (uint32_t[]){ 0, 1, 0, 1 }, 4, "round-robin"));
	/* SGLang guesses: without a cache it still routes by its tree. */
	result_free(expect(rows, 2, "router=sglang kv_block=512", (uint32_t[]){ 0, 1, 1, 0 }, 4, "sglang without a prefix cache"));
	/* Four equal prompts at once. Bounded load 1: at most ceil(live / 2) on a replica. */
	static const char burst[] = ROW(0, 1024, "1, 2") ROW(5000, 1536, "1, 2, 3") ROW(5000, 1536, "1, 2, 4") ROW(5000, 1536, "1, 2, 5");
	result_free(expect(burst, 2, "router=prefix-aware prefix_cache=true kv_block=512", (uint32_t[]){ 0, 0, 0, 0 }, 4,
		"prefix-aware sends all to the cache"));
	result_free(expect(burst, 2, "router=prefix-aware:load_factor=1 prefix_cache=true kv_block=512", (uint32_t[]){ 0, 0, 1, 0 }, 4,
		"prefix-aware with bounded load"));
	/* Sessions stay where they began; a request without one goes to the shortest queue. */
	static const char sessions[] = "arrival_s,prompt_tokens,output_tokens,session\n0,100,200,1\n0,100,200,2\n0,100,200,3\n"
				       "0.01,100,2,2\n0.02,100,2,1\n0.03,100,2,0\n0.04,100,2,3\n";
	result_free(expect(sessions, 3, "router=session-affinity", (uint32_t[]){ 0, 1, 2, 1, 0, 2, 2 }, 7, "session-affinity"));
	/* Residents do not count for lor, so all requests that find an empty queue go to replica 0. */
	static const char apart[] = "arrival_s,prompt_tokens,output_tokens\n0,100,200\n0.1,100,200\n0.2,100,200\n0.2,100,200\n";
	result_free(expect(apart, 2, "router=lor", (uint32_t[]){ 0, 0, 0, 1 }, 4, "lor counts waiting requests"));
	result_free(expect(apart, 2, "router=least-outstanding:of=waiting", (uint32_t[]){ 0, 0, 0, 1 }, 4, "least-outstanding:of=waiting"));
	result_free(
		expect(apart, 2, "router=least-outstanding:of=requests", (uint32_t[]){ 0, 1, 0, 1 }, 4, "least-outstanding:of=requests"));
	static const char sizes[] = "arrival_s,prompt_tokens,output_tokens\n0,900,200\n0.1,100,200\n0.2,100,200\n0.3,100,200\n";
	result_free(expect(sizes, 2, "router=least-outstanding", (uint32_t[]){ 0, 1, 1, 1 }, 4, "least-outstanding counts tokens"));
}

/*
 * Replica 0 has the first 1024 tokens of request 2 in its cache and computes request 1 for 410 ms when request 2 arrives, so the prefix is
 * copied to replica 1.
 */
static void check_conductor_runs(void)
{
	static const char rows[] = ROW(0, 1024, "1, 2") ROW(1000, 4000, "7") ROW(1010, 1536, "1, 2, 3");
	struct run_result *r = expect(rows, 2, "router=conductor prefix_cache=true kv_block=512 kv_Bps=1e9", (uint32_t[]){ 0, 0, 1 }, 3,
		"conductor: a prefix is copied to the replica without a queue");
	ok(fleet_metric(r, "prefix_copies") == 1 && fleet_metric(r, "prefix_tokens_copied") == 1024, "one copy of 1024 tokens");
	/* It starts when the copy has arrived, 1024 x 1000 B / 1e9 B/s = 1.024 ms later, and processes the 512 tokens left in 61.2 ms. */
	near_to(r ? r->requests[2].first_token_s : 0, 1.010 + .001024 + .0612, 1e-9, "the copy comes before the prompt");
	result_free(r);
	/* The ratio of 1024 to 0 tokens is infinite. At 4e6 B/s the copy takes 256 ms, less than the queue of 400 ms; at 1e6 B/s, longer.
	 */
	r = expect(rows, 2, "router=conductor:threshold=1e9 prefix_cache=true kv_block=512 kv_Bps=4e6", (uint32_t[]){ 0, 0, 1 }, 3,
		"conductor: a large threshold");
	ok(fleet_metric(r, "prefix_copies") == 1, "a prefix of 0 has an infinite ratio");
	result_free(r);
	result_free(expect(rows, 2, "router=conductor prefix_cache=true kv_block=512 kv_Bps=1e6", (uint32_t[]){ 0, 0, 0 }, 3,
		"conductor: a slow copy is not worth it"));
}

/* The limit is a TTFT of 225 ms. A prompt of 1,000 tokens takes 110 ms, so the third of three at one instant is predicted to take 330 ms.
 */
static void check_rejection(void)
{
	static const char rows[] = "arrival_s,prompt_tokens,output_tokens\n0,1000,2\n0,1000,2\n0,1000,2\n5,1000,2\n";
	struct fleet_case c = fleet(rows, 1, "router=conductor slo_ttft=225ms");
	struct run_result *r = fleet_must_run(&c, "early rejection");
	ok(fleet_metric(r, "requests_completed") == 3 && fleet_metric(r, "shed_policy") == 1 && r && r->requests[2].status == REQUEST_SHED,
		"conductor sheds a request that will miss serve.slo_ttft");
	result_free(r);
	c.options = "router=conductor:early_rejection=false slo_ttft=225ms";
	r = fleet_must_run(&c, "no early rejection");
	ok(fleet_metric(r, "requests_completed") == 4, "early_rejection=false serves all");
	result_free(r);
	c.options = "router=conductor slo_tpot=5ms";
	r = fleet_must_run(&c, "time between tokens");
	ok(fleet_metric(r, "shed_policy") == 4, "a limit below the time of an iteration sheds all requests");
	result_free(r);
}

/* All routers on a trace with failures: --check holds the state to its laws, and every run is the same twice. */
static void check_all(void)
{
	static const char *const routers[] = { "auto", "jsq", "round-robin", "random", "power-of-two", "least-outstanding",
		"least-outstanding:of=waiting", "lor", "prefix-aware", "prefix-aware:load_factor=1.1", "session-affinity",
		"sglang:rule=v0.1", "sglang:max_tree_size=3,eviction_interval=1s", "dynamo", "dynamo:temperature=.7", "conductor" };
	enum { ROWS = 400 };
	static char rows[ROWS * 200];
	size_t at = 0;
	uint32_t seed = 99;
	for (int i = 0; i < ROWS; i++) {
		uint32_t a = (seed = seed * 1664525 + 1013904223) >> 29, b = seed >> 26;
		at += (size_t)snprintf(rows + at, sizeof rows - at,
			"{\"timestamp\": %d, \"input_length\": 1536, \"output_length\": %u, \"hash_ids\": [%u, %u, %u]}\n", i * 40,
			1 + (seed >> 20) % 90, a, 100 + a * 64 + b, 10000 + (uint32_t)i);
	}
	for (size_t i = 0; i < sizeof routers / sizeof *routers; i++) {
		char options[200];
		double mean[2];
		snprintf(options, sizeof options, "router=%s prefix_cache=true kv_block=128 start_up=200ms notice=100ms", routers[i]);
		struct fleet_case c = fleet(rows, 4, options);
		c.mtbf_s = 15;
		c.mttr_s = 3;
		for (int k = 0; k < 2; k++) {
			struct run_result *r = fleet_must_run(&c, routers[i]);
			mean[k] = fleet_metric(r, "completion_mean");
			ok(fleet_metric(r, "requests_completed") == ROWS && fleet_metric(r, "restarts") > 0,
				"%s: all complete, with failures", routers[i]);
			result_free(r);
		}
		ok(mean[0] == mean[1] && mean[0] > 0, "%s: the same run twice", routers[i]);
	}
}

int main(void)
{
	check_sglang_rule();
	check_sglang_naive();
	check_sglang_eviction();
	check_shares();
	check_conductor_rule();
	check_dynamo_cost();
	check_runs();
	check_conductor_runs();
	check_rejection();
	check_all();
	return done();
}
