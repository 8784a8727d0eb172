/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Mixture of experts: counts of parameters, bytes and distinct experts of published models (experiments MO1 to MO6 and MO8 of the fact
 * sheet on mixture of experts), and times of a small model by hand on a device without limits of memory.
 */
#include "base/rng.h"
#include "hwmodel/served_moe.h"
#include "tests/tap.h"

#include <stdlib.h>

/* Shapes of public configurations: DeepSeek-V3, Mixtral 8x7B, Qwen3-235B-A22B, Qwen3-30B-A3B. Attention: h nh d + 2 h kv d + nh d h, and 2
 * d for the norms of queries and keys of Qwen3. */
static const struct {
	const char *name;
	struct served_moe x;
	double total, active;
} models[] = { { "DeepSeek-V3",
		       { .layers = 61,
			       .dense_layers = 3,
			       .hidden = 7168,
			       .dense_width = 18432,
			       .vocabulary = 129280,
			       .attention_parameters = 187107328,
			       .experts = 256,
			       .top = 8,
			       .shared = 1,
			       .expert_width = 2048 },
		       671.026e9, 37.552e9 },
	{ "Mixtral 8x7B",
		{ .layers = 32,
			.hidden = 4096,
			.vocabulary = 32000,
			.attention_parameters = 41943040,
			.experts = 8,
			.top = 2,
			.expert_width = 14336 },
		46.703e9, 12.880e9 },
	{ "Qwen3-235B-A22B",
		{ .layers = 94,
			.hidden = 4096,
			.vocabulary = 151936,
			.attention_parameters = 71303168 + 256,
			.experts = 128,
			.top = 8,
			.expert_width = 1536 },
		235.094e9, 22.191e9 },
	{ "Qwen3-30B-A3B",
		{ .layers = 48,
			.hidden = 2048,
			.vocabulary = 151936,
			.attention_parameters = 18874368 + 256,
			.experts = 128,
			.top = 8,
			.expert_width = 768 },
		30.532e9, 3.353e9 } };

static void test_counts(void)
{
	for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
		double total = moe_parameters(&models[i].x), active = moe_active(&models[i].x);
		ok(fabs(total - models[i].total) < .6e6 && fabs(active - models[i].active) < .6e6, "MO1: %s: %.3f and %.3f G parameters",
			models[i].name, total / 1e9, active / 1e9);
	}
	near_to(moe_distinct_groups(128, 8, 4), 3.629, 3e-4, "MO2: nodes of a token: 4 of 4");
	near_to(moe_distinct_groups(256, 8, 8), 5.295, 2e-4, "MO2: 8 nodes without limit");
	near_to(moe_distinct_groups(256, 8, 16), 6.523, 2e-4, "MO2: 16 nodes");
	near_to(moe_distinct_groups(128, 8, 32), 7.359, 2e-4, "MO2: ranks of a token");
	near_to(4096 * moe_distinct_groups(256, 8, 4) * 7392 / 58e9, 4096 * 3.614 * 7392 / 58e9, 1e-3,
		"MO5: bytes of a dispatch to four nodes");
	near_to(608e9 / 86400 / 73.7e3 + 168e9 / 86400 / 14.8e3, 226.75, 2e-3, "MO6: nodes of the published fleet");
	near_to(226.75 * 8 * 24 * 2, 87072, 1e-12, "MO6: its cost of a day, USD");
}

/* Draws `top` different experts for each token. */
static void test_sampled(void)
{
	enum { EXPERTS = 256, TOP = 8, TOKENS = 100000, BATCH = 50 };
	struct rng r;
	rng_init(&r, 3, "moe", 0);
	static uint32_t chosen_at[EXPERTS], group_at[16];
	double groups = 0, experts = 0;
	static bool in_batch[EXPERTS];
	for (uint32_t t = 1; t <= TOKENS; t++) {
		for (int k = 0; k < TOP;) {
			uint32_t e = (uint32_t)rng_below(&r, EXPERTS);
			if (chosen_at[e] == t)
				continue;
			chosen_at[e] = t;
			k++;
			groups += group_at[e / 16] != t;
			group_at[e / 16] = t;
			in_batch[e] = true;
		}
		if (t % BATCH)
			continue;
		for (int e = 0; e < EXPERTS; e++)
			experts += in_batch[e];
		memset(in_batch, 0, sizeof in_batch);
	}
	near_to(groups / TOKENS, moe_distinct_groups(EXPERTS, TOP, 16), .01, "MO3: sampled groups of a token");
	near_to(experts / (TOKENS / BATCH), moe_distinct_experts(&models[0].x, BATCH), .01, "MO3: sampled experts of a batch");
	ok(moe_distinct_experts(&models[0].x, 1) > 7.99 && moe_distinct_experts(&models[0].x, 1) < 8.01 &&
			moe_distinct_experts(&models[0].x, 1e6) > 255.99,
		"one token chooses 8 experts, many choose all");
}

/* Published latencies of DeepEP's low-latency kernels: 128 tokens, 8 experts, 7,392 and 14,336 bytes, 40 GB/s between nodes of 8 GPUs. */
static void test_exchange(void)
{
	static const struct {
		double ranks, dispatch_us, combine_us;
	} want[] = { { 32, 155, 273 }, { 128, 192, 369 }, { 256, 194, 360 } };
	struct served_moe x = models[0].x;
	struct device d = { .link_Bps = 160e9 };
	x.alltoall_s = 10e-6;
	x.alltoall_Bps = 40e9;
	x.node_gpus = 8;
	for (int i = 0; i < 3; i++) {
		double dispatch = moe_exchange_s(&x, &d, 128, 7392, want[i].ranks) * 1e6;
		double combine = moe_exchange_s(&x, &d, 128, 14336, want[i].ranks) * 1e6;
		ok(fabs(dispatch / want[i].dispatch_us - 1) < .15 && fabs(combine / want[i].combine_us - 1) < .15,
			"MO4: EP %g: dispatch %.0f us (%.0f), combine %.0f us (%.0f)", want[i].ranks, dispatch, want[i].dispatch_us,
			combine, want[i].combine_us);
	}
	ok(moe_exchange_s(&x, &d, 128, 7392, 1) == 0, "one GPU exchanges nothing");
}

/* ---- a small model by hand ---- */

#define SMALL(MORE)                                                                                                      \
	"{\"name\":\"s\",\"source\":\"made up\",\"kind\":\"llm\",\"moe\":{\"layers\":2,\"hidden\":16,\"vocabulary\":32," \
	"\"attention_parameters\":1000,\"pair_flops\":10,\"kv_values\":8,\"experts\":4,\"top\":2,\"expert_width\":8,"    \
	"\"parameter_bytes\":2,\"alltoall_Bps\":1e9,\"alltoall_ms\":0" MORE "}}"

static double time_of(const char *text, uint32_t tp, const struct llm_load *w, struct orr_error *err)
{
	struct device *d = device_load("flat:flops=1e12", err);
	struct served *m = d ? served_parse("m.json", text, strlen(text), err) : NULL;
	struct served_place p = { .device = d, .tp = tp, .pp = 1 };
	struct served_on *x = m ? served_on_new(m, &p, err) : NULL;
	double s = x ? served_iteration(x, w) : NAN;
	if (!x)
		printf("# %s\n", err->text);
	served_on_free(x);
	served_free(m);
	device_free(d);
	return s;
}

static void test_by_hand(void)
{
	struct orr_error err = { 0 };
	struct llm_load prompt = { .prompts = 1, .prompt_tokens = 8, .prompt_pairs = 64 },
			decodes = { .decodes = 4, .decode_context = 100 };
	/* A layer: 2 x 1000 x 8 + 32 causal pairs x 10 = 16,320 of attention, 2 x 384 x 8 x 2 = 12,288 of experts; output layer 1,024. */
	near_to(time_of(SMALL(""), 1, &prompt, &err) * 1e12, 2 * (16320 + 12288) + 1024, 1e-9, "a prompt on one GPU");
	/* Four decodes: 2 x 1000 x 4 + 104 x 10; 2 x 384 x 4 x 2; output layer 4 x 1,024. */
	near_to(time_of(SMALL(""), 1, &decodes, &err) * 1e12, 2 * (8000 + 1040 + 6144) + 4096, 1e-9, "four decodes on one GPU");
	near_to(time_of(SMALL(",\"imbalance\":1.5"), 1, &decodes, &err) * 1e12, 2 * (8000 + 1040 + 9216) + 4096, 1e-9,
		"MO8: the busiest GPU takes 1.5 times the mean");
	/* Two GPUs: half of all; 2 tokens x 2 experts x 32 bytes x 1/2 at 1e9 B/s, there and back, in each layer: 2 x 2 x 64e-9 s. */
	double busy = (2 * (8000 + 1040 + 6144) + 4096) / 2.0 * 1e-12;
	near_to(time_of(SMALL(""), 2, &decodes, &err) * 1e9, (busy + 256e-9) * 1e9, 1e-9, "two GPUs exchange tokens");
	near_to(time_of(SMALL(",\"overlap\":\"two-batch\""), 2, &decodes, &err) * 1e9, (256e-9 + 2048e-12) * 1e9, 1e-9,
		"two batches: the exchange hides the rest, except the output layer");
	ok(isnan(time_of(SMALL(""), 3, &decodes, &err)) && strstr(err.text, "4 experts cannot be shared by 3 GPUs: expected a divisor"),
		"three GPUs are refused");
	err = (struct orr_error){ 0 };
	ok(isnan(time_of(SMALL(",\"attention\":\"mla\""), 1, &decodes, &err)) &&
			strstr(err.text, "m.json: $.moe.attention: expected \"dp\" or \"tp\""),
		"unknown attention is refused");
	err = (struct orr_error){ 0 };
	ok(isnan(time_of(SMALL(",\"shared\":-1"), 1, &decodes, &err)) && err.code == ORR_EINPUT, "a negative number is refused");
}

/* The time grows in each field of the load. */
static void test_monotonic(void)
{
	static const char v3[] = "{\"name\":\"v3\",\"source\":\"public "
				 "configuration\",\"kind\":\"llm\",\"moe\":{\"layers\":61,\"dense_layers\":3,\"hidden\":7168,"
				 "\"dense_width\":18432,\"vocabulary\":129280,\"attention_parameters\":187107328,\"pair_flops\":81920,"
				 "\"decode_pair_flops\":278528,"
				 "\"kv_values\":576,\"experts\":256,\"top\":8,\"shared\":1,\"expert_width\":2048,\"alltoall_Bps\":40e9}}";
	struct orr_error err = { 0 };
	struct device *d = device_load("h100", &err);
	struct served *m = served_parse("v3", v3, strlen(v3), &err);
	struct served_place p = { .device = d, .tp = 32, .pp = 1 };
	struct served_on *x = d && m ? served_on_new(m, &p, &err) : NULL;
	if (!ok(x, "the model is placed on 32 H100 %s", err.text))
		return;
	ok(fabs(m->kv_bytes - 70272) < 1 && fabs(m->weight_bytes / 671.026e9 - 1) < 1e-5, "bytes of cache and weights");
	double tokens = served_kv_tokens(x, .9);
	ok(tokens > 1e6 && tokens < 32 * 80e9 / 70272, "%.0f tokens of cache", tokens);
	unsigned wrong = 0;
	struct rng r;
	rng_init(&r, 5, "moe", 1);
	for (int i = 0; i < 20000; i++) {
		struct llm_load w = {
			.decodes = (uint32_t)rng_below(&r, 3000) + 1, .prompts = 1, .prompt_tokens = 1 + (double)rng_below(&r, 4000)
		};
		w.decode_context = w.decodes * (1 + (double)rng_below(&r, 5000));
		w.prompt_pairs = w.prompt_tokens * (w.prompt_tokens + (double)rng_below(&r, 5000));
		struct llm_load more[3] = { w, w, w };
		more[0].decodes++;
		more[1].decode_context += 100;
		more[2].prompt_pairs += 1000;
		for (int k = 0; k < 3; k++)
			wrong += !(served_iteration(x, &more[k]) >= served_iteration(x, &w));
	}
	ok(!wrong, "the time grows with the load (%u differ)", wrong);
	served_on_free(x);
	/* Hops between stages cross the device's link unless the place states another. */
	double s[2];
	for (int k = 0; k < 2; k++) {
		struct served_place stages = {
			.device = d, .tp = 1, .pp = 61, .pp_Bps = k ? d->link_Bps : 0, .pp_latency_s = k ? d->link_latency_s : 0
		};
		x = served_on_new(m, &stages, &err);
		s[k] = x ? served_iteration(x, &(struct llm_load){ .decodes = 4, .decode_context = 100 }) : NAN;
		served_on_free(x);
	}
	ok(s[0] == s[1] && s[0] < 1, "61 stages over the device's link: %g s", s[0]);
	served_free(m);
	device_free(d);
}

int main(void)
{
	test_counts();
	test_sampled();
	test_exchange();
	test_by_hand();
	test_monotonic();
	return done();
}
