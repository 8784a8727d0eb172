/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The executor with policy megatron against tests/hwmodel/llm_step.h, which computes the same step in closed form. The two share only
 * the cost of a layer. Without overlap they must agree. The closed form is less exact if the ends of a pipeline are unequal, or if a
 * stage sends while it computes.
 */
#include "tests/step/step_fixture.h"
#include "tests/tap.h"

#include "tests/hwmodel/llm_step.h"

#include <stdlib.h>

/* Each node has one GPU, so that all messages have one bandwidth and no latency. The bandwidth hides the gathers of sequence
 * parallelism behind the data gradients, as the closed form assumes. */
static const double Bps = 100e9;
static const char network[] = "star:bw=100GBps,lat=0";
static const char model[] = "gpt:hidden=1024,layers=16,heads=16,seq=512,vocab=8192";

extern const struct orr_policy orr_policy_megatron;

struct pair {
	double graph, closed;
};

static struct pair both(const struct llm_step *given, const char *recompute, const char *extra)
{
	char cluster[32], text[512];
	struct orr_error e = { 0 };
	struct step_result r;
	struct llm_times t;
	struct llm_step s = *given;
	snprintf(cluster, sizeof cluster, "%ux1:v100", s.tp * s.pp * s.dp);
	struct fixture *f = fixture_new(cluster, network, model, 1);
	fixture_set(f, "iterations=4");
	fixture_set(f, "ignore_memory=true");
	fixture_set(f, "optimizer=adam");
	s.activation_bytes = s.gradient_bytes = 4;
	s.state_bytes = 8;
	s.tp_link = s.pp_link = s.dp_link = (struct llm_link){ 0, Bps, 0 };
	snprintf(text, sizeof text,
		"tp=%u pp=%u interleave=%u micro_batch=%g global_batch=%g recompute=%s sequence_parallel=%s overlap_p2p=false "
		"dp_overlap=false %s",
		s.tp, s.pp, s.interleave, s.micro_batch, s.global_batch, recompute, s.sequence_parallel ? "true" : "false", extra);
	struct pair p = { NAN, NAN };
	if (!fixture_run(f, &orr_policy_megatron, text, &r, &e))
		p.graph = r.iteration_s;
	if (!llm_step_times(f->dnn, f->cost[0], &s, &t, &e))
		p.closed = t.total_s;
	if (e.code)
		printf("# %s\n", e.text);
	step_result_free(&r);
	fixture_free(f);
	return p;
}

/*
 * Measured steps of Megatron-LM on Selene, A100 80 GB, TP 8, sequence 2048 (Korthikanti et al., 2022, table 5). Compute times
 * come from the cost model. The rate of collectives comes from the device's file: bus bandwidth among 8, and the time of a
 * small all-reduce, 35 us for 14 messages. Each GPU has one 200 Gb/s port.
 */
struct measured {
	const char *name;
	int hidden, layers, heads, gpus, pp, interleave, batch, micro_batch;
	double full_s, selective_s;
};

static double step_s(const struct measured *m, const char *how)
{
	char cluster[32], spec[160], set[256];
	struct orr_error e = { 0 };
	struct step_result r;
	struct cost_options o = { .precision = PRECISION_FP16 };
	snprintf(cluster, sizeof cluster, "%dx8:a100-80g", m->gpus / 8);
	snprintf(spec, sizeof spec, "gpt:hidden=%d,layers=%d,heads=%d,seq=2048,vocab=51200,dropout=1", m->hidden, m->layers, m->heads);
	snprintf(set, sizeof set, "tp=8 pp=%d interleave=%d global_batch=%d micro_batch=%d %s", m->pp, m->interleave, m->batch,
		m->micro_batch, how);
	struct fixture *f = fixture_new(cluster, "star:bw=200Gbps,nics=8,gpu_bw=230GBps,gpu_lat=2.5us", spec, 1);
	cost_free(f->cost[0]);
	f->cost[0] = cost_new(f->dnn, f->device[0], &o, &e);
	f->config.precision = PRECISION_FP16;
	f->config.check = false;
	fixture_set(f, "optimizer=adam");
	fixture_set(f, "iterations=1");
	double s = f->cost[0] && !fixture_run(f, &orr_policy_megatron, set, &r, &e) ? r.iteration_s : NAN;
	if (e.code)
		printf("# %s\n", e.text);
	step_result_free(&r);
	fixture_free(f);
	return s;
}

static void test_measured(void)
{
	static const struct measured all[] = {
		{ "22B", 6144, 48, 64, 8, 1, 1, 4, 4, 1.42, 1.10 },
		{ "175B", 12288, 96, 96, 64, 8, 3, 64, 1, 18.13, 13.75 },
		{ "530B", 20480, 105, 128, 280, 35, 3, 280, 1, 49.05, 37.83 },
		{ "1T", 25600, 128, 160, 512, 64, 1, 512, 1, 94.42, 71.49 },
	};
	double sum = 0;
	/* The sanitizers are slow, so they omit the two largest models. */
	size_t n = getenv("ORR_SANITIZED") ? 2 : sizeof all / sizeof all[0];
	for (size_t i = 0; i < n; i++) {
		double full = step_s(&all[i], "recompute=full"), some = step_s(&all[i], "recompute=selective sequence_parallel=true");
		printf("# %-4s full recomputation %7.3f s, measured %6.2f, %+.1f%%; selective, sequence parallel %7.3f s, measured %6.2f, "
		       "%+.1f%%\n",
			all[i].name, full, all[i].full_s, 100 * (full / all[i].full_s - 1), some, all[i].selective_s,
			100 * (some / all[i].selective_s - 1));
		sum += fabs(full / all[i].full_s - 1) + fabs(some / all[i].selective_s - 1);
	}
	printf("# mean error %.1f%%\n", 100 * sum / (2 * (double)n));
	ok(sum / (2 * (double)n) <= 0.10, "measured steps, two each of %zu models, within 10%% on average", n);
}

int main(void)
{
	test_measured();
	static const char *const recompute[] = { "none", "selective", "full" };
	for (int i = 0; i < 6; i++) {
		struct llm_step s = { .tp = 4,
			.pp = 1,
			.dp = 2,
			.interleave = 1,
			.micro_batch = 2,
			.global_batch = 16,
			.recompute = (enum llm_recompute)(i % 3),
			.sequence_parallel = i >= 3 };
		struct pair p = both(&s, recompute[i % 3], "");
		printf("# tp=4 dp=2 recompute=%s%s: graph %.6f s, closed form %.6f s\n", recompute[i % 3],
			i < 3 ? "" : " sequence parallel", p.graph, p.closed);
		near_to(p.graph / p.closed, 1, 1e-9, "without a pipeline graph and closed form are the same");
	}
	static const struct llm_step grid[] = {
		{ .tp = 2, .pp = 4, .dp = 2, .interleave = 1, .micro_batch = 1, .global_batch = 32 },
		{ .tp = 1, .pp = 8, .dp = 1, .interleave = 1, .micro_batch = 1, .global_batch = 32 },
		{ .tp = 1, .pp = 4, .dp = 2, .interleave = 2, .micro_batch = 1, .global_batch = 32 },
		{ .tp = 2, .pp = 4, .dp = 1, .interleave = 1, .micro_batch = 2, .global_batch = 64, .sequence_parallel = true },
	};
	for (size_t i = 0; i < sizeof grid / sizeof grid[0]; i++) {
		struct pair p = both(&grid[i], "none", "");
		printf("# tp=%u pp=%u dp=%u interleave=%u: graph %.6f s, closed form %.6f s, %+.2f%%\n", grid[i].tp, grid[i].pp, grid[i].dp,
			grid[i].interleave, p.graph, p.closed, 100 * (p.graph / p.closed - 1));
		ok(fabs(p.graph / p.closed - 1) < 0.05, "with a pipeline they are within 5%%");
	}
	return done();
}
