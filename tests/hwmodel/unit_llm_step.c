/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The closed form of a transformer's step: identities, and measured steps of Megatron-LM on Selene with A100 80 GB (Korthikanti et al.,
 * Reducing Activation Recomputation in Large Transformer Models, 2022). The device's efficiencies come from other measurements
 * (hwmodel/devices/a100-80g.json).
 */
#include "tests/hwmodel/llm_step.h"

#include "tests/tap.h"

#include <stdlib.h>

struct row {
	const char *name;
	int hidden, layers, heads;
	uint32_t pp, interleave;
	double batch, micro_batch;
	double full_s, selective_s; /* measured */
};

static const struct row anchor[] = {
	{ "22B", 6144, 48, 64, 1, 1, 4, 4, 1.42, 1.10 },
	{ "175B", 12288, 96, 96, 8, 3, 64, 1, 18.13, 13.75 },
	{ "530B", 20480, 105, 128, 35, 3, 280, 1, 49.05, 37.83 },
	{ "1T", 25600, 128, 160, 64, 1, 512, 1, 94.42, 71.49 },
};

static double predict(const struct row *r, const struct device *dev, bool is_full, struct llm_times *t)
{
	struct orr_error err = { 0 };
	char spec[160];
	snprintf(spec, sizeof spec, "gpt:hidden=%d,layers=%d,heads=%d,seq=2048,vocab=51200", r->hidden, r->layers, r->heads);
	struct dnn *d = dnn_load(spec, &err);
	struct cost_options o = { .precision = PRECISION_FP16, .dropout = true };
	struct cost *c = d ? cost_new(d, dev, &o, &err) : NULL;
	struct llm_step s = { .tp = 8,
		.pp = r->pp,
		.dp = 1,
		.interleave = r->interleave,
		.micro_batch = r->micro_batch,
		.global_batch = r->batch,
		.recompute = is_full ? LLM_RECOMPUTE_FULL : LLM_RECOMPUTE_ATTENTION,
		.sequence_parallel = !is_full,
		.activation_bytes = 2,
		.gradient_bytes = 4,
		.state_bytes = 12,
		.tp_link = { dev->law_latency_s, dev->law_Bps, dev->law_sqrt_s },
		/* One 200 Gb/s HDR InfiniBand port per GPU (Selene). */
		.pp_link = { 20e-6, 25e9, 0 },
		.dp_link = { 20e-6, 25e9, 0 } };
	if (!c || llm_step_times(d, c, &s, t, &err)) {
		printf("# %s\n", err.text);
		t->total_s = NAN;
	}
	cost_free(c);
	dnn_free(d);
	return t->total_s;
}

static void check_anchor(void)
{
	struct orr_error err = { 0 };
	struct device *dev = device_load("a100-80g", &err);
	double sum = 0;
	int n = 0;
	for (size_t i = 0; dev && i < sizeof anchor / sizeof *anchor; i++)
		for (int is_full = 1; is_full >= 0; is_full--) {
			struct llm_times t = { 0 };
			double measured = is_full ? anchor[i].full_s : anchor[i].selective_s;
			double got = predict(&anchor[i], dev, is_full, &t);
			printf("# %-5s %-9s measured %6.2f s predicted %6.2f s error %+5.1f %%: forward %.2f backward %.2f recompute %.2f "
			       "tensor parallel %.2f pipeline %.2f tied table %.2f bubble %.2f update %.2f; %.0f TFLOP/s per GPU\n",
				anchor[i].name, is_full ? "full" : "selective", measured, got, 100 * (got / measured - 1), t.forward_s,
				t.backward_s, t.recompute_s, t.tp_s, t.pp_s, t.dp_s, t.bubble_s, t.update_s,
				t.model_flops / got / (8 * anchor[i].pp) / 1e12);
			ok(fabs(got / measured - 1) <= 0.15, "%s, %s recomputation: within 15 %%", anchor[i].name,
				is_full ? "full" : "selective");
			sum += fabs(got / measured - 1);
			n++;
		}
	printf("# mean absolute error %.2f %%\n", 100 * sum / n);
	ok(sum / n <= 0.10, "eight measured Megatron steps, 22B to 1T: mean error at most 10 %%");
	device_free(dev);
}

/* ---- identities ---- */

static const double h = 4096, seq = 2048;
static const struct llm_link no_link = { 0, INFINITY, 0 };

static struct llm_times times_of(const struct dnn *d, const struct cost *c, const struct llm_step *s)
{
	struct orr_error err = { 0 };
	struct llm_times t = { 0 };
	ok(!llm_step_times(d, c, s, &t, &err), "pp %u interleave %u %s", s->pp, s->interleave, err.text);
	return t;
}

/* Tests that the bubble is the time of (p-1) micro-batches of a stage, divided by the interleaving (Narayanan et al. 2021, 2.2). */
static void check_bubble(const struct dnn *d, const struct cost *c)
{
	struct llm_step s = { .tp = 1,
		.pp = 8,
		.dp = 1,
		.interleave = 1,
		.micro_batch = 1,
		.global_batch = 32,
		.activation_bytes = 2,
		.gradient_bytes = 4,
		.state_bytes = 12,
		.tp_link = no_link,
		.pp_link = no_link,
		.dp_link = no_link };
	struct llm_times a = times_of(d, c, &s);
	double micro = (a.forward_s + a.backward_s) / 32;
	printf("# bubble %.4f of a micro-batch's %.4f s\n", a.bubble_s, micro);
	ok(fabs(a.bubble_s / (7 * micro) - 1) < 0.01, "bubble: p - 1 micro-batches (the ends cost next to nothing here)");
	s.interleave = 2;
	struct llm_times b = times_of(d, c, &s);
	near_to(b.bubble_s / a.bubble_s, 0.5, 1e-12, "two chunks per device halve it");
	near_to(b.forward_s / a.forward_s, 1, 1e-12, "two chunks per device do not change the compute time");
	s.interleave = 1;
	s.global_batch = 64;
	struct llm_times e = times_of(d, c, &s);
	near_to(e.bubble_s / a.bubble_s, 1, 1e-12, "the bubble does not depend on the number of micro-batches");
	near_to(e.forward_s / a.forward_s, 2, 1e-12, "compute does");
	near_to(a.total_s, a.forward_s + a.backward_s + a.recompute_s + a.tp_s + a.pp_s + a.dp_s + a.bubble_s + a.update_s, 1e-12,
		"the parts sum to the total");
	s.pp = 1;
	ok(times_of(d, c, &s).bubble_s == 0, "one stage has no bubble");
	near_to(times_of(d, c, &s).model_flops, 64 * 3 * (16 * (24 * seq * h * h + 4 * seq * seq * h) + 2 * seq * h), 1e-9,
		"FLOPs of the model: 24 s h^2 + 4 s^2 h a layer and direction, three directions");
}

static void check_communication(const struct dnn *d, const struct cost *c)
{
	const struct llm_link link = { 10e-6, 100e9, 0 };
	struct llm_step s = { .tp = 4,
		.pp = 1,
		.dp = 8,
		.interleave = 1,
		.micro_batch = 2,
		.global_batch = 16,
		.activation_bytes = 2,
		.gradient_bytes = 4,
		.state_bytes = 12,
		.tp_link = link,
		.pp_link = link,
		.dp_link = link };
	struct llm_times a = times_of(d, c, &s);
	double hidden = 2 * seq * h * 2, reduce = 10e-6 + 1.5 * hidden / 100e9;
	near_to(1e3 * a.tp_s, 1e3 * (16 * 4 + 2) * reduce, 1e-9, "tensor parallel: four all-reduces a layer and one at each end");
	near_to(1e3 * a.dp_s, 1e3 * (10e-6 + 1.75 * d->params / 4 * 4 / 100e9), 1e-9, "data parallel: a ring over the gradients");
	s.recompute = LLM_RECOMPUTE_FULL;
	struct llm_times b = times_of(d, c, &s);
	near_to(1e3 * b.tp_s, 1e3 * (16 * 6 + 2) * reduce, 1e-9, "recomputation repeats the forward all-reduces");
	ok(b.recompute_s > 0.9 * b.forward_s && b.recompute_s < b.forward_s, "recomputation repeats the forward pass of the layers");
	s.recompute = LLM_RECOMPUTE_ATTENTION;
	s.sequence_parallel = true;
	struct llm_times e = times_of(d, c, &s);
	ok(e.recompute_s > 0 && e.recompute_s < 0.5 * b.recompute_s, "recomputing attention alone costs less");
	ok(e.forward_s < a.forward_s, "sequence parallelism divides the norms among the devices");
	near_to(llm_all_reduce_s(&link, 1, 1e9), 0, 0, "a group of one sends nothing");
	near_to(llm_all_gather_s(&link, 8, 8e9), 10e-6 + 0.07, 1e-12, "all-gather: (n-1)/n of the whole");
}

static void refuse(const struct dnn *d, const struct cost *c, struct llm_step s, const char *message)
{
	struct orr_error err = { 0 };
	struct llm_times t;
	ok(llm_step_times(d, c, &s, &t, &err) == ORR_EINPUT && strstr(err.text, message), "refused: %s", message);
}

/* Tests the work after the last backward pass without data parallelism: the all-reduce of a table that first and last stage share.
 * GPT has such a tied table, Llama has none. */
static void check_table(const struct device *dev)
{
	static const char *const models[] = { "gpt2-345m", "llama2-7b" };
	for (int i = 0; i < 2; i++) {
		struct orr_error err = { 0 };
		struct dnn *d = dnn_load(models[i], &err);
		struct cost *c = d ? cost_new(d, dev, &(struct cost_options){ .precision = PRECISION_FP16 }, &err) : NULL;
		struct llm_step s = { .tp = 1,
			.pp = 2,
			.dp = 1,
			.interleave = 1,
			.micro_batch = 1,
			.global_batch = 2,
			.activation_bytes = 2,
			.gradient_bytes = 2,
			.tp_link = no_link,
			.pp_link = { 0, 1e9, 0 },
			.dp_link = no_link };
		struct llm_times t = { 0 };
		bool is_good = c && !llm_step_times(d, c, &s, &t, &err);
		double table = is_good && !i ? (double)d->vocab * d->hidden * 2 / 1e9
					     : 0; /* an all-reduce moves 2 (n - 1) / n of the bytes, with n = 2 */
		ok(is_good && fabs(t.dp_s - table) <= 1e-12, "%s: %s (%s)", models[i],
			i ? "Llama's table is not shared between both ends" : "GPT's shared table is summed between both ends", err.text);
		cost_free(c);
		dnn_free(d);
	}
}

static void check_identities(void)
{
	struct orr_error err = { 0 };
	struct device *dev = device_load("a100", &err);
	struct dnn *d = dnn_load("gpt:hidden=4096,layers=16,heads=8,seq=2048,vocab=1,positions=0", &err);
	struct cost_options o = { .precision = PRECISION_BF16 };
	struct cost *c = dev && d ? cost_new(d, dev, &o, &err) : NULL;
	if (!ok(c != NULL, "a transformer of blocks and little else %s", err.text))
		return;
	check_table(dev);
	check_bubble(d, c);
	check_communication(d, c);
	struct llm_step s = { .tp = 1, .pp = 3, .dp = 1, .interleave = 1, .micro_batch = 1, .global_batch = 8 };
	refuse(d, c, s, "16 layers: expected a multiple of the 3 stages");
	s.pp = 2;
	s.tp = 16;
	refuse(d, c, s, "8 heads cannot be split over 16 devices");
	s.tp = 2;
	s.dp = 3;
	refuse(d, c, s, "not a whole number of micro-batches");
	cost_free(c);
	dnn_free(d);
	device_free(dev);
}

int main(void)
{
	check_identities();
	check_anchor();
	return done();
}
