/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Costs of serving systems: experiments E1 to E13 of $ORRERY_DATA_PATH/papers/engine-costs.md, whose expected values were computed
 * apart from this program. E14: tests/serve/serve_published.sh.
 */
#include "hwmodel/engines.h"
#include "hwmodel/kv_reuse.h"
#include "hwmodel/profile.h"
#include "hwmodel/served_moe.h"
#include "tests/tap.h"

#include <math.h>

static struct quantisation in(enum precision p, enum number_format weights, enum number_format kv)
{
	struct quantisation q = quant_default;
	q.precision = p;
	q.weights = weights;
	q.kv = kv;
	return q;
}

static struct quantisation gpt_fast(enum number_format weights)
{
	struct quantisation q = in(PRECISION_BF16, weights, FORMAT_AUTO);
	q.group = 32;
	q.group_bits = 32;
	q.has_head = true;
	return q;
}

static struct served *model(const char *name, const struct quantisation *q)
{
	struct orr_error err = { 0 };
	struct served *m = served_load(name, &err);
	if (!m)
		printf("# %s\n", err.text);
	else
		served_set_precision(m, q);
	return m;
}

static double weights_of(const char *name, const struct quantisation *q)
{
	struct served *m = model(name, q);
	double bytes = m ? m->weight_bytes : NAN;
	served_free(m);
	return bytes;
}

static double kv_of(const char *name, enum number_format kv)
{
	struct quantisation q = in(PRECISION_FP16, FORMAT_AUTO, kv);
	struct served *m = model(name, &q);
	double bytes = m ? m->kv_bytes : NAN;
	served_free(m);
	return bytes;
}

static void check_table(void)
{
	static const struct {
		const char *name;
		double params, fp16, fp8, int4, kv16, kv8;
	} want[] = { { "llama2-7b", 6738415616, 13476831232, 7000825856, 3889307648, 524288, 262144 },
		{ "llama2-70b", 68976648192, 137953296384, 69502255104, 36613668864, 327680, 163840 },
		{ "llama3-8b", 8030261248, 16060522496, 9081200640, 5727854592, 131072, 65536 } };
	struct quantisation fp16 = quant_default, fp8 = in(PRECISION_FP8, FORMAT_AUTO, FORMAT_AUTO),
			    int8 = in(PRECISION_FP16, FORMAT_INT8, FORMAT_AUTO), int4 = in(PRECISION_FP16, FORMAT_INT4, FORMAT_AUTO);
	for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
		const char *n = want[i].name;
		ok(weights_of(n, &fp16) == 2 * want[i].params && weights_of(n, &fp16) == want[i].fp16 &&
				weights_of(n, &fp8) == want[i].fp8 && weights_of(n, &int8) == want[i].fp8 &&
				weights_of(n, &int4) == want[i].int4,
			"E1 %s: bytes of weights in fp16, fp8, int8 and int4", n);
		ok(kv_of(n, FORMAT_AUTO) == want[i].kv16 && kv_of(n, FORMAT_FP8) == want[i].kv8 && kv_of(n, FORMAT_INT8) == want[i].kv8 &&
				kv_of(n, FORMAT_INT4) == want[i].kv8 / 2,
			"E1 %s: bytes of a token of KV cache in 16, 8 and 4 bits", n);
	}
}

/* gpt-fast prints tokens/s and bytes/s; their ratio is the bytes that a token reads. */
static void check_ratios(void)
{
	static const struct {
		const char *name, *label;
		enum number_format weights;
		double per_s, GBps, most;
	} want[] = { { "llama2-70b", "70B int4", FORMAT_INT4, 25.25, 1097.66, 0.002 },
		{ "llama2-70b", "70B int8", FORMAT_INT8, 19.13, 1322.58, 0.013 },
		{ "llama2-7b", "7B int8", FORMAT_INT8, 155.58, 1069.20, 0.002 },
		{ "llama2-7b", "7B int4", FORMAT_INT4, 196.80, 862.69, 0.013 },
		{ "llama2-7b", "7B bf16", FORMAT_AUTO, 104.90, 1397.31, 0.013 } };
	for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
		struct quantisation q = gpt_fast(want[i].weights);
		double printed = want[i].GBps * 1e9 / want[i].per_s, bytes = weights_of(want[i].name, &q);
		ok(fabs(bytes / printed - 1) <= want[i].most, "E2 gpt-fast, %s: %.5g bytes per token, printed %.5g", want[i].label, bytes,
			printed);
	}
}

static void check_reads(void)
{
	struct quantisation fp16 = quant_default, fp8 = in(PRECISION_FP8, FORMAT_AUTO, FORMAT_AUTO),
			    int4 = in(PRECISION_FP16, FORMAT_INT4, FORMAT_AUTO);
	const double Bps = 2.039e12 * 0.85;
	near_to(1e3 * weights_of("llama2-7b", &fp16) / Bps, 7.775917394, 1e-8, "E3 fp16: time to read the weights, ms");
	near_to(1e3 * weights_of("llama2-7b", &fp8) / Bps, 4.039365234, 1e-8, "E3 fp8");
	near_to(1e3 * weights_of("llama2-7b", &int4) / Bps, 2.244068689, 1e-8, "E3 int4");
}

static double fits(const char *name, uint32_t tp, enum precision p, enum number_format kv)
{
	struct orr_error err = { 0 };
	struct quantisation q = in(p, FORMAT_AUTO, kv);
	struct served *m = model(name, &q);
	struct device *d = device_load("h100", &err);
	struct served_place place = { .device = d, .tp = tp, .pp = 1, .precision = p };
	struct served_on *x = m && d ? served_on_new(m, &place, &err) : NULL;
	double n = x ? served_kv_tokens(x, 0.9) : NAN;
	served_on_free(x);
	device_free(d);
	served_free(m);
	return n;
}

static void check_room(void)
{
	ok(fits("llama3-8b", 1, PRECISION_FP16, FORMAT_AUTO) == 467291 && fits("llama3-8b", 1, PRECISION_FP16, FORMAT_FP8) == 934583,
		"E4 tokens that fit, fp16 weights, KV cache in 16 and 8 bits");
	ok(fits("llama3-8b", 1, PRECISION_FP8, FORMAT_AUTO) == 520539 && fits("llama3-8b", 1, PRECISION_FP8, FORMAT_INT8) == 1041079,
		"E5 tokens that fit, fp8 weights");
	ok(fits("llama2-70b", 4, PRECISION_FP16, FORMAT_AUTO) == 522718 && fits("llama2-70b", 4, PRECISION_FP16, FORMAT_FP8) == 1045436 &&
			fits("llama2-70b", 4, PRECISION_FP8, FORMAT_AUTO) == 731614,
		"E6 tokens that fit with tensor parallelism of 4");
}

static void check_reloads(void)
{
	/* Llama-3 8B: 26 x 4096^2 FLOPs per token and layer are 2 x its linear weights. */
	struct kv_shape x = { .layers = 32, .hidden = 4096, .group = 4, .element_bytes = 2, .b = 26 };
	double bytes = kv_reuse_bytes(&x, 4096);
	ok(bytes == 4096 * kv_of("llama3-8b", FORMAT_AUTO) && kv_reuse_flops(&x, 1) == 2 * 6979321856., "bytes and FLOPs of a token");
	near_to(1e3 * bytes / 26.2387e9, 20.461033207, 1e-8, "E7 reload from the host's memory, ms");
	near_to(1e3 * bytes / 6.5e9, 82.595524923, 1e-8, "E7 from an NVMe disk");
	near_to(1e3 * bytes / 12.5e9, 42.949672960, 1e-8, "E7 over a network");
	near_to(kv_reuse_least_Bps(&x, 4096, 156e12), 131072. * 156e12 / 13958643712., 1e-6, "E8 rate above which a reload is faster");
	ok(fabs(kv_reuse_least_Bps(&x, 4096, 156e12) - 1464843750) < 1, "E8 in whole bytes/s");
}

/* Returns the error of the number of distinct experts that `tokens` tokens read. */
static double distinct_error(double experts, double top, double tokens, double expected)
{
	struct served_moe x = { .experts = experts, .top = top };
	return fabs(moe_distinct_experts(&x, tokens) / expected - 1);
}

static void check_experts(void)
{
	const double exact = 1e-14; /* a few units in the last place: the power is computed by logarithms */
	ok(distinct_error(8, 2, 1, 2) < exact && distinct_error(8, 2, 2, 3.5) < exact && distinct_error(8, 2, 4, 5.46875) < exact &&
			distinct_error(8, 2, 8, 7.1990966796875) < exact,
		"E10 distinct experts, 2 of 8");
	ok(distinct_error(256, 8, 1, 8) < 1e-10 && distinct_error(256, 8, 16, 101.962162321) < 1e-10 &&
			distinct_error(256, 8, 64, 222.442487686) < 1e-10,
		"E11 distinct experts, 8 of 256");
	struct served_moe mixtral = { .experts = 8, .top = 2 };
	double expert = 176160768, others = 46702792704. - 32 * 8 * expert - 32000. * 4096; /* without the token table */
	near_to(2 * (32 * moe_distinct_experts(&mixtral, 4) * expert + others), 64605396992, 1e-3,
		"E12 bytes that 4 tokens of Mixtral read");
}

static double host_ms(uint32_t steps, bool is_overlapped, bool has_prompts)
{
	struct served_host h = { .gpu_share = 0.38, .steps = steps, .is_overlapped = is_overlapped };
	return 1e3 * host_iteration_s(&h, 0, 0.010, 8, has_prompts);
}

static void check_host(void)
{
	near_to(host_ms(0, false, false), 26.315789474, 1e-8, "E9 serial: the GPU works for 38 % of the time, ms");
	near_to(host_ms(2, false, false), 18.157894737, 1e-8, "E9 2 steps");
	near_to(host_ms(4, false, false), 14.078947368, 1e-8, "E9 4 steps");
	near_to(host_ms(10, false, false), 11.631578947, 1e-8, "E9 10 steps");
	near_to(host_ms(10, false, true), 26.315789474, 1e-8, "an iteration with prompts has the whole time of the host");
	near_to(host_ms(0, true, false), 16.315789474, 1e-8, "overlap: the longer of both");
	near_to(host_ms(4, true, false), 10, 1e-8, "overlap and steps: the GPU is longer");
	struct served_host h = { .fixed_s = 0.002, .request_s = 0.0005 };
	near_to(1e3 * host_iteration_s(&h, 0.001, 0.010, 8, false), 10 + 1 + 2 + 4, 1e-12, "a constant and a time per request");
	h = (struct served_host){ .graphs = GRAPHS_DECODE, .kernel_s = 5e-6 };
	ok(host_gpu_s(&h, 0.001, 400, false) == 0.001 && host_gpu_s(&h, 0.001, 400, true) == 400 * 5e-6 &&
			host_gpu_s(&h, 0.003, 400, true) == 0.003,
		"launches of kernels outside a graph");
	h.graphs = GRAPHS_OFF;
	ok(host_gpu_s(&h, 0.001, 400, false) == 400 * 5e-6, "no graphs");
	h.graphs = GRAPHS_ALL;
	ok(host_gpu_s(&h, 0.001, 400, true) == 0.001, "graphs for all iterations");
}

/* Times of decodes after a prompt of 5 tokens, of 100 of 200 outputs. Published: 104.9, 155.58 and 196.8 tokens/s. */
static void check_decodes(void)
{
	struct orr_error err = { 0 };
	static const enum number_format formats[] = { FORMAT_AUTO, FORMAT_INT8, FORMAT_INT4 };
	static const double want[] = { 1, 1.48, 1.88 };
	double s[3];
	struct device *d = device_load("a100-80g", &err);
	struct profile *p = profile_load("a100-80g", &err);
	for (int i = 0; i < 3; i++) {
		struct quantisation q = gpt_fast(formats[i]);
		struct served *m = model("llama2-7b", &q);
		struct served_place place = { .device = d, .profile = p, .tp = 1, .pp = 1, .precision = PRECISION_BF16 };
		struct served_on *x = m ? served_on_new(m, &place, &err) : NULL;
		struct llm_load w = { .decodes = 1, .decode_context = 105 };
		s[i] = x ? served_iteration(x, &w) : NAN;
		ok(fabs(s[0] / s[i] / want[i] - 1) <= 0.10, "E13 %s: %.4g ms, %.3g times as fast as bf16, published %.3g",
			format_name(formats[i]), 1e3 * s[i], s[0] / s[i], want[i]);
		served_on_free(x);
		served_free(m);
	}
	profile_free(p);
	device_free(d);
}

int main(void)
{
	check_table();
	check_ratios();
	check_reads();
	check_room();
	check_reloads();
	check_experts();
	check_host();
	check_decodes();
	return done();
}
