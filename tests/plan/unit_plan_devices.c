/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The closed form on devices of two types, with updates, and with sharded optimizer state: the slowest device of a stage determines its
 * time, and the smallest memory what fits. Two nodes, links of 1 GB/s without latency.
 */
#include "base/sbuf.h"
#include "world/scenario.h"

#include <orrery/plan.h>

#include "tests/tap.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static void (*search_now)(struct orr_plan *p);

static int search(struct orr_plan *p, const struct orr_args *args, struct orr_error *err)
{
	(void)args, (void)err;
	search_now(p);
	return 0;
}

static const struct orr_param params[] = { ORR_PARAM_END };
static const struct orr_plan_ops ops = { .search = search };
ORR_POLICY_PLAN(typed, "plans of the test", params, ops);

static void run(const char *cluster, void (*s)(struct orr_plan *), const char *step)
{
	struct sbuf text = { 0 };
	struct orr_error err = { 0 };
	struct world_output o = { .quiet = true };
	struct run_result *r = result_new();
	search_now = s;
	sbuf_printf(&text,
		"{\"world\":\"plan\",\"model\":\"gpt:hidden=64,layers=4,heads=4,seq=16,vocab=100\",\"cluster\":\"%s\",\"network\":"
		"\"star:bw=1GBps,lat=0,gpu_bw=10GBps,gpu_lat=0\",\"global_batch\":16,\"policies\":[\"straight\"],\"plan\":{\"checked\":0},"
		"\"profile\":\"none\",\"step\":{%s}}",
		cluster, step);
	cJSON *j = cJSON_Parse(text.text);
	struct scenario *x = scenario_open(j, &o, &err);
	if (x) {
		x->policy[0].entry.policy = &orr_policy_plan_typed;
		x->world->run(x, 0, 0, r, NULL, NULL, &err);
	}
	ok(!err.code, "%s: %s", cluster, err.code ? err.text : "runs");
	scenario_close(x);
	result_free(r);
	cJSON_Delete(j);
	sbuf_free(&text);
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

/* GPU 0 a V100, GPU 1 a P100, each on its node; or the other way round. */
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
	/* Two replicas with 8 samples each: the slower forward and the slower backward pass, then the sum of all gradients. */
	a = cost_of(p, 0, 8, 1);
	b = cost_of(p, 1, 8, 1);
	double work = fmax(a.forward_s, b.forward_s) + fmax(a.backward_s, b.backward_s);
	struct orr_plan_stage both = { .gpu = gpu, .n_gpus = 2 };
	near_to(value_of(p, both, 16, false).iteration_s / (work + a.params * 4 / 1e9), 1, 1e-9, "the slower replica determines the time");
	/* A group of two shards: its all-reduces cross the nodes. */
	a = cost_of(p, 0, 16, 2);
	b = cost_of(p, 1, 16, 2);
	work = fmax(a.forward_s, b.forward_s) + fmax(a.backward_s, b.backward_s) + (a.forward_sums + a.backward_sums) * a.sum_bytes / 1e9;
	both.shards = 2;
	near_to(value_of(p, both, 16, false).iteration_s / work, 1, 1e-9, "the slower shard determines the time");
	/* Shares 3/4 and 1/4. */
	static const double share[] = { 0.75, 0.25 };
	a = cost_of(p, 0, 12, 1);
	b = cost_of(p, 1, 4, 1);
	work = fmax(a.forward_s, b.forward_s) + fmax(a.backward_s, b.backward_s);
	both = (struct orr_plan_stage){ .gpu = gpu, .n_gpus = 2, .share = share };
	struct orr_plan_value v = value_of(p, both, 16, false);
	near_to(v.iteration_s / (work + a.params * 4 / 1e9), 1, 1e-9, "shares of 3/4 and 1/4");
	double first = (a.params * 8 + a.stored_bytes + a.working_bytes) / g[0].memory_bytes;
	double second = (b.params * 8 + b.stored_bytes + b.working_bytes) / g[1].memory_bytes;
	near_to(v.memory_bytes / fmax(first, second), 1, 1e-9, "the fullest memory");
}

/* Updates follow the sums. Sharded state: each replica updates its part, and holds its part of Adam's 8 bytes. */
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
	near_to(v.memory_bytes * g.memory_bytes / (c.params * 16 + c.stored_bytes + c.working_bytes), 1, 1e-9, "16 bytes per parameter");
	c = cost_of(p, 0, 8, 1);
	double work = c.forward_s + c.backward_s + c.params * 4 / 1e9;
	v = value_of(p, both, 16, false);
	near_to(v.iteration_s / (work + update_s), 1, 1e-9, "two replicas: both update everything");
	near_to(v.memory_bytes * g.memory_bytes / (c.params * 16 + c.stored_bytes + c.working_bytes), 1, 1e-9, "and hold everything");
	v = value_of(p, both, 16, true);
	near_to(v.iteration_s / (work + orr_plan_update_s(p, 0, c.params / 2)), 1, 1e-9, "sharded state: each updates half");
	near_to(v.memory_bytes * g.memory_bytes / (c.params * 12 + c.stored_bytes + c.working_bytes), 1, 1e-9, "and holds half of 8 bytes");
}

int main(void)
{
	run("1x1:v100,1x1:p100", two_types, "\"update_cost\":\"none\"");
	run("1x1:p100,1x1:v100", two_types, "\"update_cost\":\"none\"");
	run("2x1:v100", updates, "\"optimizer\":\"adam\"");
	return done();
}
