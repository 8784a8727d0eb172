/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Times of iterations by layers. They are compared with sums over layer sizes on a device of round numbers, and kernel by kernel with
 * microsoft/vidur's tables (7d47513), to which the profiles were fitted. They must be monotone in each argument, and at most the
 * measurements of a whole serving system (Mutinifni/splitwise-sim, 8f99e7d).
 */
#include "calib/csv.h"
#include "hwmodel/profile.h"
#include "hwmodel/served_llm.h"

#include "base/rng.h"
#include "tests/tap.h"

#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>
#include <stdlib.h>
#include <unistd.h>

/* The device has 1000 TFLOP/s, 1 TB/s and launches of 1 us; its link has 100 GB/s and 5 us. */
static const char round_device[] = "{\"name\":\"round\",\"peak_tflops\":{\"fp16\":1000},\"vector_tflops\":1000,\"memory_GiB\":1,"
				   "\"memory_GBps\":1000,\"launch_us\":1,\"gemm_efficiency\":{\"fp16\":1},\"memory_efficiency\":1,\"link_"
				   "GBps\":100,\"link_latency_us\":5,"
				   "\"sources\":{\"all\":\"made up\"}}";

static const char tiny[] =
	"{\"name\":\"tiny\",\"source\":\"made up\",\"kind\":\"llm\","
	"\"layers\":{\"dnn\":\"llama:hidden=64,layers=2,heads=4,kv_heads=2,seq=32,vocab=100,ffn=96\",\"overhead_ms\":0.5}}";

static struct served *parse(const char *text)
{
	struct orr_error err = { 0 };
	struct served *m = served_parse("in", text, strlen(text), &err);
	if (!m)
		printf("# %s\n", err.text);
	return m;
}

static struct served_on *on(const struct served *m, const struct device *d, const struct profile *profile, uint32_t tp, uint32_t pp)
{
	struct orr_error err = { 0 };
	struct served_place p = { .device = d, .profile = profile, .tp = tp, .pp = pp, .precision = PRECISION_FP16 };
	struct served_on *x = served_on_new(m, &p, &err);
	if (!x)
		printf("# %s\n", err.text);
	return x;
}

/* ---- by hand ---- */

/* Returns the bytes that one GPU of tp = 2 moves for t tokens in one block, without attention. Every kernel is memory-bound. */
static double block_bytes(double t)
{
	double h = 64, qkv = 128, ffn = 96, tp = 2;
	double norms = 2 * 2 * h * t, products = (h * t + qkv * t / tp + qkv * h / tp) + (h * t / tp + h * t + h * h / tp) +
						 (h * t + 2 * ffn * t / tp + 2 * ffn * h / tp) + (ffn * t / tp + h * t + ffn * h / tp);
	double rope = 2 * 96 * t / tp, adds = 2 * 3 * h * t, act = 3 * ffn * t / tp, cache = 2 * 2 * 16 * t;
	return 2 * (norms + products + rope + adds + act + cache);
}

/* Returns the seconds of an all-reduce of t hidden states over 2 GPUs: they exchange all bytes in one message. */
static double reduce_s(double t)
{
	return 5e-6 + 64 * 2 * t / 100e9;
}

/* Four GPUs: two messages with all bytes; of many tokens, two with 3/4 of the bytes in each of two phases. Two blocks and the embedding
 * have five all-reduces. */
static void check_reduces(const struct served *m, const struct device *d)
{
	struct served_parts few, many;
	struct served_on *x = on(m, d, NULL, 4, 1);
	struct llm_load one = { .decodes = 1 }, prompt = { .prompts = 1, .prompt_tokens = 1000000, .prompt_pairs = 1e12 };
	if (!ok(x && served_iteration_parts(x, &one, &few) && served_iteration_parts(x, &prompt, &many), "four GPUs"))
		return;
	near_to(1e6 * few.collective, 1e6 * 5 * (2 * 5e-6 + 2 * 128 / 100e9), 1e-9, "all-reduces of few bytes: recursive doubling");
	near_to(1e6 * many.collective, 1e6 * 5 * (4 * 5e-6 + 1.5 * 128e6 / 100e9), 1e-9, "of many bytes: halving and doubling");
	served_on_free(x);
}

/* Returns the time of both ends of the model: the token table of t tokens (gathered, then all-reduced), and the last norm, output
 * layer, softmax and gather of scores of r tokens. */
static double ends_s(double t, double r)
{
	double bytes = 2 * (2 * 64 * t + 2 * 64 * t + (64 * r + 100 * r / 2 + 100 * 64 / 2) + 2 * 100 * r / 2);
	return bytes / 1e12 + 4e-6 + reduce_s(t) + 5e-6 + 100 * r * 2 / 2 / 100e9;
}

static double hidden_s(double t, double r)
{
	return 0.5e-3 + 2 * (block_bytes(t) / 1e12 + 11e-6 + 2 * reduce_s(t)) + ends_s(t, r);
}

static void check_by_hand(void)
{
	struct orr_error err = { 0 };
	struct device *d = device_parse("round", round_device, strlen(round_device), &err);
	struct served *m = d ? parse(tiny) : NULL;
	struct served_on *x = m ? on(m, d, NULL, 2, 1) : NULL, *two = m ? on(m, d, NULL, 2, 2) : NULL;
	if (!ok(x && two, "a small transformer on a device of round numbers %s", err.text))
		return;
	/* Each context token occupies 2 blocks x (key and value) x one head of 16 elements x 2 bytes on each GPU. */
	struct llm_load w = { .decodes = 3, .decode_context = 500 };
	near_to(1e6 * served_iteration(x, &w), 1e6 * (hidden_s(3, 3) + 2e-6 + 503 * 2 * 2 * 16 * 2 / 1e12), 1e-12, "three decodes");
	/* A prompt part of 20 tokens after 12 tokens has 20 x 32 pairs minus half of 20^2. A pair takes four FLOPs for each of 32
	 * elements in each of 2 blocks. */
	w = (struct llm_load){ .prompts = 1, .prompt_tokens = 20, .prompt_pairs = 640 };
	near_to(1e6 * served_iteration(x, &w), 1e6 * (hidden_s(20, 1) + 2e-6 + 440 * 2 * 4 * 32 / 1e15), 1e-12,
		"a chunk of a prompt: words for one token");
	w = (struct llm_load){ 3, 1, 20, 500, 640 };
	near_to(1e6 * served_iteration(x, &w), 1e6 * (hidden_s(23, 4) + 4e-6 + 503 * 128 / 1e12 + 440 * 256 / 1e15), 1e-12,
		"prompts and decodes in one iteration");
	/* The hop between the two stages carries 23 hidden states, half of each from either GPU; an all-gather follows. */
	double stage, whole = served_iteration_stage(two, &w, &stage), hop = 2 * (5e-6 + 23 * 64 * 2 / 2 / 100e9);
	near_to(1e6 * whole, 1e6 * (served_iteration(x, &w) + hop), 1e-12, "two stages: a hop more");
	ok(stage > whole / 2 && stage < whole, "the busiest stage is busy for more than half");
	double first = served_stage_s(two, &w, 0), last = served_stage_s(two, &w, 1);
	near_to(1e6 * (first + last), 1e6 * whole, 1e-12, "the stages sum to the iteration");
	near_to(1e6 * fmax(first, 0.5e-3 + last), 1e6 * stage, 1e-12, "the host's time is in the first stage");
	/* A device with one head of keys for two queries reads each key at most twice. */
	struct served_place twice = { .device = d, .tp = 2, .pp = 1, .precision = PRECISION_FP16, .kv_reads = 7 };
	struct served_on *again = served_on_new(m, &twice, &err);
	struct llm_load decodes = { .decodes = 3, .decode_context = 500 };
	ok(again != NULL, "reads of shared keys %s", err.text);
	near_to(1e6 * served_iteration(again, &decodes), 1e6 * (hidden_s(3, 3) + 2e-6 + 2 * 503 * 2 * 2 * 16 * 2 / 1e12), 1e-12,
		"keys that two queries share are read at most twice");
	served_on_free(again);
	struct served_parts p;
	ok(served_iteration_parts(two, &w, &p), "the form by layers reports its parts");
	near_to(p.linear + p.elementwise + p.collective + p.attention_prompt + p.attention_decode + p.head + p.hops + p.overhead, whole,
		1e-15, "the parts sum to the whole");
	near_to(m->kv_bytes, 2 * 2 * 2 * 16 * 2, 0, "bytes of a token in the KV cache");
	near_to(served_kv_tokens(x, 0.5), floor((1073741824.0 - m->weight_bytes) / 256), 0, "number of tokens that fit into memory");
	served_on_free(x);
	served_on_free(two);
	check_reduces(m, d);
	struct served_place bad = { .device = d, .tp = 8, .pp = 1, .precision = PRECISION_FP16 };
	ok(!served_on_new(m, &bad, &err) &&
			strstr(err.text, "4 heads (2 of keys and values) cannot be split over 8 GPUs: expected a common divisor"),
		"heads that cannot be split");
	bad = (struct served_place){ .device = d, .tp = 1, .pp = 3, .precision = PRECISION_FP16 };
	ok(!served_on_new(m, &bad, &err) && strstr(err.text, "2 layers: expected a multiple of the 3 stages"),
		"layers that do not divide evenly");
	bad = (struct served_place){ .device = d, .tp = 1, .pp = 1, .precision = PRECISION_FP8 };
	ok(!served_on_new(m, &bad, &err) && strstr(err.text, "expected fp16"), "a precision that the device lacks");
	bad = (struct served_place){ .tp = 1, .pp = 1 };
	ok(!served_on_new(m, &bad, &err) && strstr(err.text, "expected a device"), "no device");
	served_free(m);
	device_free(d);
}

/* Tests four GPUs with two copies of two heads of keys and values: a token takes twice the memory. */
static void check_copies(void)
{
	struct orr_error err = { 0 };
	struct device *d = device_parse("round", round_device, strlen(round_device), &err);
	struct served *m = parse(tiny);
	struct served_on *x = d && m ? on(m, d, NULL, 4, 1) : NULL;
	if (ok(x != NULL, "more GPUs than heads of keys and values"))
		near_to(served_kv_tokens(x, 1), floor((4 * 1073741824.0 - m->weight_bytes) / 512), 0, "each GPU holds a copy of one head");
	served_on_free(x);
	served_free(m);
	device_free(d);
}

/* Tests weights of one byte and a host on two GPUs. A GPU reads half of the weights: a byte less each, and an instruction of
 * the vector units, 2 FLOPs, per weight. */
static void check_formats(void)
{
	struct orr_error err = { 0 };
	struct device *d = device_parse("round", round_device, strlen(round_device), &err);
	struct served *m = d ? parse(tiny) : NULL;
	struct llm_load w = { .decodes = 3, .decode_context = 500 }, prompt = { .prompts = 2, .prompt_tokens = 20, .prompt_pairs = 200 };
	const double qkv = 64 * 128, out = 64 * 64, up = 64 * 192, down = 96 * 64, linear = qkv + out + up + down;
	double before = hidden_s(3, 3) + 2e-6 + 503 * 2 * 2 * 16 * 2 / 1e12;
	struct quantisation q = quant_default;
	q.weights = FORMAT_INT8;
	if (!ok(m != NULL, "weights in 8 bits"))
		return;
	served_set_precision(m, &q);
	near_to(m->weight_bytes, 2 * linear + 2 * (2 * 100 * 64 + 5 * 64), 0, "bytes: one per weight of a linear layer, two of the others");
	struct served_on *x = on(m, d, NULL, 2, 1);
	near_to(1e6 * served_iteration(x, &w), 1e6 * (before + 2 * linear / 2 * (2 / 1e15 - 1 / 1e12)), 1e-12,
		"less bytes, and conversions");
	served_on_free(x);
	q.weights = FORMAT_AUTO;
	served_set_precision(m, &q);
	struct served_place place = { .device = d, .tp = 2, .pp = 1, .precision = PRECISION_FP16 };
	place.host = (struct served_host){ .fixed_s = 0.001, .request_s = 0.0001, .steps = 4 };
	x = served_on_new(m, &place, &err);
	near_to(1e6 * served_iteration(x, &w), 1e6 * (before - 0.5e-3 + (0.5e-3 + 1e-3 + 3e-4) / 4), 1e-12,
		"a host called every 4 iterations");
	struct served_parts p;
	ok(served_iteration_parts(x, &w, &p), "parts");
	near_to(1e6 * p.overhead, 1e6 * (0.5e-3 + 1e-3 + 3e-4) / 4, 1e-9, "the part of the host");
	served_on_free(x);
	/* Per block: 10 layers, the cache, attention and 2 all-reduces; embedding, norm, output layer, softmax; 2 more messages. */
	place.host = (struct served_host){ .graphs = GRAPHS_DECODE, .kernel_s = 1e-3 };
	x = served_on_new(m, &place, &err);
	near_to(1e6 * served_iteration(x, &w), 1e6 * before, 1e-12, "a graph has no launches");
	near_to(1e3 * served_iteration(x, &prompt), 0.5 + 2 * 14 + 4 + 2, 1e-12, "launches of all kernels");
	served_on_free(x);
	served_free(m);
	device_free(d);
}

/* ---- monotonicity ---- */

static bool is_increasing(struct served_on *x, const struct llm_load *w, struct rng *r)
{
	struct llm_load more = *w;
	switch (rng_below(r, 5)) {
	case 0:
		more.decodes += 1 + (uint32_t)rng_below(r, 20);
		break;
	case 1:
		more.prompts += 1;
		break;
	case 2:
		more.prompt_tokens += 1 + (double)rng_below(r, 200);
		break;
	case 3:
		more.decode_context += 1 + (double)rng_below(r, 5000);
		break;
	default:
		more.prompt_pairs += 1 + (double)rng_below(r, 100000);
	}
	if (more.prompts && !(more.prompt_tokens > 0))
		return true;
	double stage, stage_more, s = served_iteration_stage(x, w, &stage), t = served_iteration_stage(x, &more, &stage_more);
	return t >= s && stage_more >= stage && s > 0 && stage <= s;
}

static struct llm_load any_load(struct rng *r)
{
	struct llm_load w = { .decodes = (uint32_t)rng_below(r, 200), .prompts = (uint32_t)rng_below(r, 4) };
	for (uint32_t i = 0; i < w.decodes; i++)
		w.decode_context += (double)rng_below(r, 4096);
	for (uint32_t i = 0; i < w.prompts; i++) {
		double n = 1 + (double)rng_below(r, 2048), done = (double)rng_below(r, 2048);
		w.prompt_tokens += n;
		w.prompt_pairs += n * (done + n);
	}
	w.decodes += !w.decodes && !w.prompts;
	return w;
}

/* Returns whether the stages are positive and sum to the iteration. */
static bool stages_sum(struct served_on *x, const struct llm_load *w, uint32_t pp)
{
	double sum = 0, least = INFINITY, whole = served_iteration(x, w);
	for (uint32_t i = 0; i < pp; i++) {
		double s = served_stage_s(x, w, i);
		sum += s;
		least = fmin(least, s);
	}
	return least > 0 && fabs(sum - whole) <= 1e-12 * whole;
}

static void check_increasing(void)
{
	static const char gpt3[] = "{\"name\":\"gpt3\",\"source\":\"made up\",\"kind\":\"llm\",\"layers\":{\"dnn\":\"gpt3_175b\"}}";
	static const struct {
		const char *model, *device;
		bool has_profile;
		uint32_t tp, pp;
	} cases[] = { { "llama2-70b", "a100-80g", true, 8, 1 }, { "llama2-70b", "h100", true, 4, 4 }, { "llama2-70b", "h100", false, 8, 1 },
		{ "llama2-7b", "a100-80g", true, 1, 1 }, { "llama2-13b", "l4", false, 2, 2 }, { "llama2-7b", "v100", true, 2, 1 },
		{ gpt3, "h100", true, 8, 2 } };
	int n = getenv("ORR_SANITIZED") ? 500 : 20000;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct orr_error err = { 0 };
		struct rng r;
		struct device *d = device_load(cases[i].device, &err);
		struct profile *p = cases[i].has_profile ? profile_load(cases[i].device, &err) : NULL;
		struct served *m = *cases[i].model == '{' ? parse(cases[i].model) : served_load(cases[i].model, &err);
		struct served_on *x = d && m ? on(m, d, p, cases[i].tp, cases[i].pp) : NULL;
		int bad = 0, uneven = 0;
		rng_init(&r, 1, "served", i);
		for (int k = 0; x && k < n; k++) {
			struct llm_load w = any_load(&r);
			uneven += !stages_sum(x, &w, cases[i].pp);
			bad += !is_increasing(x, &w, &r);
		}
		ok(x && !uneven, "%s in %u stages: the stages sum to the iteration (%d of %d do not)", m ? m->name : "?", cases[i].pp,
			uneven, n);
		ok(x && !bad, "%s on %u x %s%s: increasing in each argument (%d of %d are not) %s", m ? m->name : "?",
			cases[i].tp * cases[i].pp, cases[i].device, cases[i].has_profile ? " with a profile" : "", bad, n, err.text);
		served_on_free(x);
		served_free(m);
		profile_free(p);
		device_free(d);
	}
}

/* ---- vidur's tables ---- */

enum { MOST = 1000 };

static const char *const ops[][2] = { { "attn_pre_proj", "qkv" }, { "attn_post_proj", "attn_out" }, { "mlp_up_proj", "mlp_gate_up" },
	{ "mlp_down_proj", "mlp_down" }, { "add", "residual1" }, { "input_layernorm", "ln1" }, { "post_attention_layernorm", "ln2" },
	{ "mlp_act", "mlp_act" }, { "attn_rope", "rope" } };
enum { OPS = sizeof ops / sizeof *ops, PRODUCTS = 4 };

/* Returns the layer of the first block that corresponds to an operator of the table; UINT32_MAX: none. */
static uint32_t layer_of(const struct dnn *d, size_t op)
{
	for (uint32_t l = 0; l < d->n_layers; l++) {
		const char *dot = strrchr(d->layer[l].name, '.');
		if (d->layer[l].block == 0 && dot && !strcmp(dot + 1, ops[op][1]))
			return l;
	}
	return UINT32_MAX;
}

struct block {
	double tokens, measured, predicted;
	int seen; /* operators */
};

static struct block *block_at(struct block *b, size_t *n, double tokens)
{
	for (size_t i = 0; i < *n; i++)
		if (b[i].tokens == tokens)
			return &b[i];
	b[*n] = (struct block){ .tokens = tokens };
	return &b[(*n)++];
}

static double median(double *v, size_t n)
{
	gsl_sort(v, 1, n);
	return n ? gsl_stats_median_from_sorted_data(v, 1, n) : NAN;
}

/* Checks the errors of one device, by operator and of whole blocks (which have two residual additions). */
static void compare(const char *path, const char *device, struct served_on *x, const struct dnn *d)
{
	static double error[OPS][MOST], sums[MOST];
	size_t n[OPS] = { 0 }, n_blocks = 0;
	static struct block block[MOST];
	struct orr_error err = { 0 };
	struct csv c;
	if (csv_open_file(&c, path, &err)) {
		ok(false, "%s", err.text);
		csv_close(&c);
		return;
	}
	while (csv_next(&c, &err) == 1) {
		if (strcmp(csv_text(&c, "device"), device) || strcmp(csv_text(&c, "model"), "Llama-2-70b-hf") ||
			strcmp(csv_text(&c, "tp"), "8"))
			continue;
		double tokens = atof(csv_text(&c, "num_tokens")), measured = atof(csv_text(&c, "median_ms")) * 1e-3;
		for (size_t o = 0; o < OPS; o++) {
			if (strcmp(csv_text(&c, "op"), ops[o][0]))
				continue;
			double s = served_layers_layer_s(served_layers_of(x), layer_of(d, o), tokens);
			struct block *b = block_at(block, &n_blocks, tokens);
			int times = strcmp(ops[o][0], "add") ? 1 : 2;
			error[o][n[o]++] = fabs(s / measured - 1);
			b->measured += times * measured;
			b->predicted += times * s;
			b->seen++;
		}
	}
	csv_close(&c);
	for (size_t o = 0; o < OPS; o++)
		printf("# %s %-26s median error %4.1f %% of %zu\n", device, ops[o][0], 100 * median(error[o], n[o]), n[o]);
	size_t whole = 0;
	double worst = 0;
	for (size_t i = 0; i < n_blocks; i++)
		if (block[i].seen == OPS) {
			sums[whole] = fabs(block[i].predicted / block[i].measured - 1);
			worst = fmax(worst, sums[whole++]);
		}
	double products = 0;
	for (size_t o = 0; o < PRODUCTS; o++)
		products = fmax(products, median(error[o], n[o]));
	double middle = median(sums, whole);
	ok(whole >= 15 && products <= 0.15 && middle <= 0.10 && worst <= 0.20,
		"%s: Llama-2-70B, tp 8, %zu numbers of tokens: blocks %.1f %% off in the median (at most 10), %.1f %% at worst (at most "
		"20); products at most %.1f %%",
		device, whole, 100 * middle, 100 * worst, 100 * products);
}

static void check_vidur(void)
{
	static const char *const devices[][2] = { { "a100", "a100-80g" }, { "h100", "h100" } };
	char path[4096];
	snprintf(path, sizeof path, "%s/measured/vidur_mlp_ops.csv", getenv("ORRERY_DATA_PATH") ? getenv("ORRERY_DATA_PATH") : "");
	if (access(path, R_OK)) {
		skip("no vidur_mlp_ops.csv under ORRERY_DATA_PATH");
		return;
	}
	for (size_t i = 0; i < 2; i++) {
		struct orr_error err = { 0 };
		struct device *d = device_load(devices[i][1], &err);
		struct profile *p = profile_load(devices[i][1], &err);
		struct served *m = served_load("llama2-70b", &err);
		struct served_on *x = d && p && m ? on(m, d, p, 8, 1) : NULL;
		if (ok(x != NULL, "%s and its profile %s", devices[i][1], err.text))
			compare(path, devices[i][0], x, m->llm->dnn);
		served_on_free(x);
		served_free(m);
		profile_free(p);
		device_free(d);
	}
}

/* ---- a whole system ---- */

/* The times by layers include only GPU time. They may exceed the measurements by at most the 10 % error of the laws. */
static void check_splitwise_device(const char *path, const char *hardware, const char *device)
{
	struct orr_error err = { 0 };
	struct device *d = device_load(device, &err);
	struct profile *p = profile_load(device, &err);
	struct served *m = served_load("llama2-70b", &err);
	struct served_on *x = d && p && m ? on(m, d, p, 8, 1) : NULL;
	struct csv c;
	int rows = 0, above = 0;
	static double prompt[MOST], decode[MOST];
	if (csv_open_file(&c, path, &err) || !x) {
		ok(false, "%s", err.text);
		csv_close(&c);
		return;
	}
	while (csv_next(&c, &err) == 1 && rows < MOST) {
		if (strcmp(csv_text(&c, "model"), "llama2-70b") || strcmp(csv_text(&c, "hardware"), hardware) ||
			strcmp(csv_text(&c, "tensor_parallel"), "8"))
			continue;
		double size = atof(csv_text(&c, "prompt_size")), batch = atof(csv_text(&c, "batch_size")),
		       out = atof(csv_text(&c, "token_size"));
		struct llm_load in = { .prompts = (uint32_t)batch, .prompt_tokens = size * batch, .prompt_pairs = size * size * batch };
		struct llm_load next = { .decodes = (uint32_t)batch, .decode_context = (size + out / 2) * batch };
		prompt[rows] = 1e3 * served_iteration(x, &in) / atof(csv_text(&c, "prompt_time"));
		decode[rows] = 1e3 * served_iteration(x, &next) / atof(csv_text(&c, "token_time"));
		above += prompt[rows] > 1.1 || decode[rows] > 1.1;
		rows++;
	}
	csv_close(&c);
	double in = median(prompt, (size_t)rows), next = median(decode, (size_t)rows);
	ok(rows > 50 && !above,
		"%s: of %d measured times %d lie below the GPUs' own; these are %.2f of prompts' and %.2f of decodes' in the median",
		hardware, 2 * rows, above, in, next);
	served_on_free(x);
	served_free(m);
	profile_free(p);
	device_free(d);
}

static void check_splitwise(void)
{
	char path[4096];
	snprintf(
		path, sizeof path, "%s/oracles/splitwise-sim/perf_model.csv", getenv("ORRERY_DATA_PATH") ? getenv("ORRERY_DATA_PATH") : "");
	if (access(path, R_OK)) {
		skip("no perf_model.csv of splitwise-sim under ORRERY_DATA_PATH");
		return;
	}
	check_splitwise_device(path, "a100-80gb", "a100-80g");
	check_splitwise_device(path, "h100-80gb", "h100");
}

/* The law of products of the K80 was fitted to images per second, without a term for memory. A decode reads 1,235,746,816 weights of four
 * bytes, less the norms; the peak of the memory is 240 GB/s. */
static void check_least_read(void)
{
	struct orr_error err = { 0 };
	struct device *d = device_load("k80", &err);
	struct profile *p = profile_load("k80", &err);
	struct served *m = served_load("llama3.2-1b", &err);
	struct served_place place = { .device = d, .profile = p, .tp = 1, .pp = 1, .precision = PRECISION_FP32 };
	struct served_on *x = d && p && m ? served_on_new(m, &place, &err) : NULL;
	struct served_parts parts;
	struct llm_load one = { .decodes = 1 };
	if (!ok(x && served_iteration_parts(x, &one, &parts), "a K80 %s", err.text))
		return;
	near_to(parts.linear + parts.head, 1235.7e6 * 4 / 240e9, 1e-3, "a decode reads all weights at the peak of the memory");
	served_on_free(x);
	served_free(m);
	profile_free(p);
	device_free(d);
}

int main(void)
{
	check_least_read();
	check_by_hand();
	check_copies();
	check_formats();
	check_increasing();
	check_vidur();
	check_splitwise();
	return done();
}
