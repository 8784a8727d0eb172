/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The closed form on devices of two types, with updates, and with sharded optimizer state. The slowest device of a stage determines the
 * time of the stage; the smallest memory determines what fits. The cluster has two nodes; links have 1 GB/s and no latency.
 */
#include "tests/plan/search_run.h"
#include "tests/tap.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

ORR_POLICY_PLAN(typed, "plans of the test", params, ops);

static const char *network = "star:bw=1GBps,lat=0,gpu_bw=10GBps,gpu_lat=0", *profile = "none";

static void run(const char *cluster, void (*s)(struct orr_plan *), const char *step)
{
	struct sbuf text = { 0 };
	sbuf_printf(&text,
		"{\"world\":\"plan\",\"model\":\"gpt:hidden=64,layers=4,heads=4,seq=16,vocab=100\",\"cluster\":\"%s\",\"network\":\"%s\","
		"\"global_batch\":16,\"policies\":[\"straight\"],\"plan\":{\"checked\":0},\"profile\":\"%s\",\"step\":{%s}}",
		cluster, network, profile, step);
	run_search(&text, &orr_policy_plan_typed, s);
	ok(!said.code, "%s: %s", cluster, said.code ? said.text : "runs");
	result_free(result);
	result = NULL;
}

static struct orr_plan_cost cost_of(const struct orr_plan *p, uint32_t type, double samples, uint32_t shards)
{
	struct orr_plan_terms t = { .samples = samples, .shards = shards };
	struct orr_plan_cost c;
	orr_plan_cost(p, type, 0, UINT32_MAX, &t, &c);
	return c;
}

static struct orr_plan_value value_of(struct orr_plan *p, struct orr_plan_stage x, double micro, bool zero)
{
	struct orr_plan_facts f;
	struct orr_plan_value v;
	orr_plan_facts(p, &f);
	x.count = f.pieces;
	orr_plan_evaluate(p, &(struct orr_plan_draft){ .stages = 1, .stage = &x, .micro_batch = micro, .zero = zero }, &v);
	return v;
}

/* Tests a V100 and a P100 on separate nodes, as GPUs 0 and 1 and in reverse. */
static void two_types(struct orr_plan *p)
{
	static const uint32_t gpu[] = { 0, 1 };
	struct orr_plan_gpu g[2];
	struct orr_plan_facts f;
	orr_plan_facts(p, &f);
	orr_plan_gpu(p, 0, &g[0]);
	orr_plan_gpu(p, 1, &g[1]);
	ok(f.types == 2 && g[0].type == 0 && g[1].type == 1 && g[1].node == 1, "two types");
	struct orr_plan_cost a = cost_of(p, 0, 16, 1), b = cost_of(p, 1, 16, 1);
	ok(fabs(a.forward_s / b.forward_s - 1) > 0.05, "of different speed");
	for (uint32_t i = 0; i < 2; i++) {
		const struct orr_plan_cost *c = i ? &b : &a;
		near_to(value_of(p, (struct orr_plan_stage){ .gpu = gpu + i, .n_gpus = 1 }, 16, false).iteration_s /
				(c->forward_s + c->backward_s),
			1, 1e-9, "each GPU alone has its own speed");
	}
	/* Two replicas have 8 samples each. The time is that of the slower forward and the slower backward pass, then the all-reduce
	 * of all gradients. */
	a = cost_of(p, 0, 8, 1);
	b = cost_of(p, 1, 8, 1);
	double work = fmax(a.forward_s, b.forward_s) + fmax(a.backward_s, b.backward_s);
	struct orr_plan_stage both = { .gpu = gpu, .n_gpus = 2 };
	near_to(value_of(p, both, 16, false).iteration_s / (work + a.params * 4 / 1e9), 1, 1e-9, "the slower replica determines the time");
	/* A group of two shards has all-reduces between the nodes. */
	a = cost_of(p, 0, 16, 2);
	b = cost_of(p, 1, 16, 2);
	work = fmax(a.forward_s, b.forward_s) + fmax(a.backward_s, b.backward_s) + (a.forward_sums + a.backward_sums) * a.sum_bytes / 1e9;
	both.shards = 2;
	near_to(value_of(p, both, 16, false).iteration_s / work, 1, 1e-9, "the slower shard determines the time");
	/* The GPUs get 3/4 and 1/4 of the samples. */
	static const double share[] = { 0.75, 0.25 };
	a = cost_of(p, 0, 12, 1);
	b = cost_of(p, 1, 4, 1);
	work = fmax(a.forward_s, b.forward_s) + fmax(a.backward_s, b.backward_s);
	both = (struct orr_plan_stage){ .gpu = gpu, .n_gpus = 2, .share = share };
	struct orr_plan_value v = value_of(p, both, 16, false);
	near_to(v.iteration_s / (work + a.params * 4 / 1e9), 1, 1e-9, "shares of 3/4 and 1/4");
	double first = (a.params * 8 + a.stored_bytes + a.working_bytes) / g[0].memory_bytes;
	double second = (b.params * 8 + b.stored_bytes + b.working_bytes) / g[1].memory_bytes;
	near_to(v.memory_share / fmax(first, second), 1, 1e-9, "the fullest memory");
}

/* Tests that updates follow the all-reduces. With sharded optimizer state, each replica updates one part and holds this part of
 * Adam's 8 bytes per parameter. */
static void updates(struct orr_plan *p)
{
	static const uint32_t gpu[] = { 0, 1 };
	struct orr_plan_gpu g;
	orr_plan_gpu(p, 0, &g);
	struct orr_plan_stage one = { .gpu = gpu, .n_gpus = 1 }, both = { .gpu = gpu, .n_gpus = 2 };
	struct orr_plan_cost c = cost_of(p, 0, 16, 1);
	double update_s = orr_plan_update_s(p, 0, c.params);
	ok(update_s > 0 && orr_plan_update_s(p, 1, c.params) == 0, "an update takes time; an unknown type has none");
	struct orr_plan_value v = value_of(p, one, 16, false);
	near_to(v.iteration_s / (c.forward_s + c.backward_s + update_s), 1, 1e-9, "one GPU: the work and the update");
	near_to(v.memory_share * g.memory_bytes / (c.params * 16 + c.stored_bytes + c.working_bytes), 1, 1e-9, "16 bytes per parameter");
	c = cost_of(p, 0, 8, 1);
	double work = c.forward_s + c.backward_s + c.params * 4 / 1e9;
	v = value_of(p, both, 16, false);
	near_to(v.iteration_s / (work + update_s), 1, 1e-9, "two replicas: both update everything");
	near_to(v.memory_share * g.memory_bytes / (c.params * 16 + c.stored_bytes + c.working_bytes), 1, 1e-9,
		"two replicas hold the whole optimizer state");
	v = value_of(p, both, 16, true);
	near_to(v.iteration_s / (work + orr_plan_update_s(p, 0, c.params / 2)), 1, 1e-9, "sharded state: each updates half");
	near_to(v.memory_share * g.memory_bytes / (c.params * 12 + c.stored_bytes + c.working_bytes), 1, 1e-9,
		"each of two replicas holds half of the 8 bytes");
}

/* ---- collectives by the executor's algorithm auto ---- */

static const uint32_t sixteen[] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 };

/* Tests nodes with eight NICs of 25 GB/s, of which collectives reach 0.96. An all-reduce moves 2 x 15/16 of the bytes, an eighth
 * through each ring. */
static void many_nics(struct orr_plan *p)
{
	struct orr_plan_cost c = cost_of(p, 0, 1, 1);
	struct orr_plan_value v = value_of(p, (struct orr_plan_stage){ .gpu = sixteen, .n_gpus = 16 }, 16, false);
	double sum_s = 2 * 15. / 16 * c.params * 4 / 8 / (0.96 * 25e9);
	near_to((v.iteration_s - c.forward_s - c.backward_s) / sum_s, 1, 1e-9, "a ring for each of eight NICs");
	/* Shards are inside each node; gradients are summed between the two nodes by eight rings of two, one per NIC. */
	c = cost_of(p, 0, 8, 4);
	v = value_of(p, (struct orr_plan_stage){ .gpu = sixteen, .n_gpus = 8, .shards = 4 }, 16, false);
	double pass = c.forward_s + c.backward_s + (c.forward_sums + c.backward_sums) * 2 * 3. / 4 * c.sum_bytes / 1e24;
	sum_s = 2 * 1. / 2 * c.params / 4 * 4 / 1e24;
	near_to(v.iteration_s / (pass + sum_s), 1, 1e-9, "four shards and two groups in a node");
}

/* The executor and the closed form use the measured law of the node. */
static void in_a_node(struct orr_plan *p)
{
	struct orr_plan_facts f;
	struct orr_plan_value v, x;
	orr_plan_facts(p, &f);
	struct orr_plan_stage s = { .count = f.pieces, .gpu = sixteen, .n_gpus = 8 };
	struct orr_plan_draft d = { .stages = 1, .stage = &s, .micro_batch = 16 };
	struct orr_plan_cost c = cost_of(p, 0, 2, 1);
	orr_plan_evaluate(p, &d, &v);
	orr_plan_execute(p, &d, &x);
	near_to(v.iteration_s / x.iteration_s, 1, 0.02, "eight GPUs of a node: the executor takes as long");
	double sum_s = orr_plan_all_reduce_s(p, sixteen, 8, c.params * 4, 1);
	near_to(v.iteration_s / (c.forward_s + c.backward_s + sum_s), 1, 1e-9, "the sum is the all-reduce of the node");
	/* 14 hops of 8 us over the links of the data sheet take longer than the start-up time of the measured law. */
	ok(sum_s > 10e-6 && sum_s < 14 * 8e-6, "by the measured law (%.3g s)", sum_s);
	double large = orr_plan_all_reduce_s(p, sixteen, 8, 1 << 30, 1);
	ok(fabs(large / 8159.5e-6 - 1) < 0.05, "1 GiB on 8 A100 behind a switch: measured 8159.5 us (superbenchmark), %.1f", large * 1e6);
}

/* ---- interleaving: GPU 0 has parts 0 and 2, GPU 1 parts 1 and 3 ---- */

static void interleaved(struct orr_plan *p)
{
	static const uint32_t gpu[] = { 0, 1 }, first[] = { 0, 2, 4, 6, 8 };
	struct orr_plan_stage x[4];
	struct orr_plan_gpu g;
	orr_plan_gpu(p, 0, &g);
	for (uint32_t i = 0; i < 4; i++)
		x[i] = (struct orr_plan_stage){ .first = first[i], .count = first[i + 1] - first[i], .gpu = gpu + i % 2, .n_gpus = 1 };
	/*
	 * Micro-batches of the two parts that a GPU holds at once, from the order of Megatron-LM written out by hand. With four
	 * micro-batches GPU 0 begins with 2 (S - i - 1) + (v - 1) S + 1 = 5 forward passes, 3 of part 0 and 2 of part 2; two passes
	 * later it holds 4 and 1. GPU 1 begins with 3 passes, and later holds 3 and 0. With as many micro-batches as stages, all 4
	 * forward passes are first.
	 */
	static const struct {
		double micro, flying[2][2][2]; /* by GPU: two sets that no other one exceeds */
	} known[] = { { 4, { { { 3, 2 }, { 4, 1 } }, { { 2, 1 }, { 3, 0 } } } }, { 8, { { { 2, 2 }, { 2, 2 } }, { { 2, 2 }, { 2, 2 } } } },
		{ 2, { { { 3, 2 }, { 4, 1 } }, { { 2, 1 }, { 3, 0 } } } } };
	for (int k = 0; k < 3; k++) {
		struct orr_plan_draft d = { .stages = 4, .stage = x, .micro_batch = known[k].micro, .interleave = 2 };
		struct orr_plan_terms t = { .samples = known[k].micro };
		struct orr_plan_value v, y;
		double most = 0;
		for (int at = 0; at < 2; at++) {
			struct orr_plan_cost a, b;
			orr_plan_cost(p, 0, x[at].first, x[at].count, &t, &a);
			orr_plan_cost(p, 0, x[at + 2].first, x[at + 2].count, &t, &b);
			for (int i = 0; i < 2; i++)
				most = fmax(most, (a.params + b.params) * 8 + known[k].flying[at][i][0] * a.stored_bytes +
							  known[k].flying[at][i][1] * b.stored_bytes +
							  fmax(a.working_bytes, b.working_bytes));
		}
		orr_plan_evaluate(p, &d, &v);
		near_to(v.memory_share * g.memory_bytes / most, 1, 1e-9, "memory of interleaved parts");
		orr_plan_execute(p, &d, &y);
		near_to(v.iteration_s / y.iteration_s, 1, 0.005, "the executor takes nearly as long");
	}
}

int main(void)
{
	run("1x1:v100,1x1:p100", two_types, "\"update_cost\":\"none\"");
	run("1x1:p100,1x1:v100", two_types, "\"update_cost\":\"none\"");
	run("2x1:v100", updates, "\"optimizer\":\"adam\"");
	run("2x1:v100", interleaved, "\"update_cost\":\"none\"");
	network = "star:bw=200Gbps,lat=0,nics=8,gpu_bw=1e15GBps,gpu_lat=0";
	run("2x8:a100", many_nics, "\"update_cost\":\"none\"");
	network = "star:bw=200Gbps";
	profile = "auto";
	run("1x8:a100-80g", in_a_node, "\"update_cost\":\"none\"");
	return done();
}
