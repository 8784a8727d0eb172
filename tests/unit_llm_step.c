/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The closed form of a transformer's step against measured ones: Megatron-LM on Selene, A100 80 GB
 * (Korthikanti et al., Reducing Activation Recomputation in Large Transformer Models, 2022, table 5).
 */
#include "hwmodel/llm_step.h"

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
	snprintf(spec, sizeof spec, "gpt:hidden=%d,layers=%d,heads=%d,seq=2048,vocab=51200,dropout=1", r->hidden, r->layers,
		r->heads);
	struct dnn *d = dnn_load(spec, &err);
	struct cost_options o = { .precision = PRECISION_FP16 };
	struct cost *c = d ? cost_new(d, dev, &o, &err) : NULL;
	struct llm_step s = { .tp = 8, .pp = r->pp, .dp = 1, .interleave = r->interleave, .micro_batch = r->micro_batch,
		.global_batch = r->batch, .recompute = is_full ? LLM_RECOMPUTE_FULL : LLM_RECOMPUTE_ATTENTION,
		.sequence_parallel = !is_full, .activation_bytes = 2, .gradient_bytes = 4, .state_bytes = 12,
		.tp_link = { dev->law_latency_s, dev->law_Bps, dev->law_sqrt_s },
		/* One 200 Gb/s HDR InfiniBand port per GPU (Selene). */
		.pp_link = { 20e-6, 25e9, 0 }, .dp_link = { 20e-6, 25e9, 0 } };
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
			printf("# %-5s %-9s measured %6.2f predicted %6.2f error %+5.1f %%  (fwd %.2f bwd %.2f rec %.2f tp %.2f pp %.2f dp %.3f bubble %.2f upd %.3f) %.0f TF/s\n",
				anchor[i].name, is_full ? "full" : "selective", measured, got, 100 * (got / measured - 1), t.forward_s,
				t.backward_s, t.recompute_s, t.tp_s, t.pp_s, t.dp_s, t.bubble_s, t.update_s,
				t.model_flops / got / (8 * anchor[i].pp) / 1e12);
			sum += fabs(got / measured - 1);
			n++;
		}
	printf("# mean absolute error %.2f %%\n", 100 * sum / n);
	ok(sum / n <= 0.10, "eight measured Megatron steps, 22B to 1T: mean error at most 10 %%");
	device_free(dev);
}

int main(void)
{
	check_anchor();
	return done();
}
