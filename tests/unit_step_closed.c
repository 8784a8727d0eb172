/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The executor with the policy megatron against hwmodel/llm_step.h, which has the same step in closed form: two
 * programs that share the cost of a layer and nothing else. Where nothing overlaps they must agree; where the pipeline has
 * unequal ends or sends while it computes, the closed form is the rougher of the two.
 */
#include "step_fixture.h"
#include "tap.h"

#include "hwmodel/llm_step.h"

/* One GPU a node, so that all messages see one bandwidth and no latency; enough of it to hide what sequence parallelism
 * gathers again behind the data gradients, as the closed form does where it can. */
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
		"dp_overlap=false %s", s.tp, s.pp, s.interleave, s.micro_batch, s.global_batch, recompute,
		s.sequence_parallel ? "true" : "false", extra);
	struct pair p = { NAN, NAN };
	if (!fixture_run(f, &orr_policy_megatron, text, &r, &e))
		p.graph = r.iteration_s;
	if (!llm_step_times(f->dnn, f->cost[0], &s, &t, &e)) {
		p.closed = t.total_s;
		if (s.pp > 1) /* the tied table's two ends, which the graph leaves out */
			p.closed -= llm_all_reduce_s(&s.pp_link, 2, (double)f->dnn->vocab * f->dnn->hidden / s.tp * s.gradient_bytes);
	}
	if (e.code)
		printf("# %s\n", e.text);
	step_result_free(&r);
	fixture_free(f);
	return p;
}

int main(void)
{
	static const char *const recompute[] = { "none", "selective", "full" };
	for (int i = 0; i < 6; i++) {
		struct llm_step s = { .tp = 4, .pp = 1, .dp = 2, .interleave = 1, .micro_batch = 2, .global_batch = 16,
			.recompute = (enum llm_recompute)(i % 3), .sequence_parallel = i >= 3 };
		struct pair p = both(&s, recompute[i % 3], "");
		printf("# tp=4 dp=2 recompute=%s%s: graph %.6f s, closed form %.6f s\n", recompute[i % 3], i < 3 ? "" : " sequence parallel",
			p.graph, p.closed);
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
		printf("# tp=%u pp=%u dp=%u interleave=%u: graph %.6f s, closed form %.6f s, %+.2f%%\n", grid[i].tp, grid[i].pp,
			grid[i].dp, grid[i].interleave, p.graph, p.closed, 100 * (p.graph / p.closed - 1));
		ok(fabs(p.graph / p.closed - 1) < 0.05, "with a pipeline they are within 5%%");
	}
	return done();
}
