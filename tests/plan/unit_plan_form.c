/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Compares the closed form with the executor: time and memory of random plans, and of grids with shards, interleaving and recomputation. */
#include "base/mem.h"
#include "base/sbuf.h"
#include "world/scenario.h"

#include <orrery/plan.h>

#include "tests/tap.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PLANS = 40, MOST = 64 };

static struct {
	double error[6 * PLANS];
	int n, unfit;
	bool is_grid;
} seen;

static uint32_t below(struct orr_plan *p, uint32_t n)
{
	return (uint32_t)(orr_plan_uniform(p) * n);
}

static void compare(struct orr_plan *p, const struct orr_plan_draft *d)
{
	struct orr_plan_value closed, executed;
	orr_plan_evaluate(p, d, &closed);
	if (!closed.fits) {
		seen.unfit++;
		return;
	}
	orr_plan_execute(p, d, &executed);
	seen.error[seen.n] = closed.iteration_s / executed.iteration_s - 1;
	if (fabs(seen.error[seen.n]) > 0.1)
		printf("# %u stages, micro-batch %g, interleave %u: closed form %.6g s, executor %.6g s\n", d->stages, d->micro_batch,
			d->interleave, closed.iteration_s, executed.iteration_s);
	seen.n++;
}

/* Draws any number of stages, with any number of GPUs each, in the order of the cluster or reversed. */
static void draw_stages(struct orr_plan *p, const struct orr_plan_facts *f)
{
	uint32_t n = 1 + below(p, f->gpus < 6 ? f->gpus : 6), gpu[MOST], at = 0, first = 0;
	struct orr_plan_stage stage[MOST];
	bool is_reversed = below(p, 2);
	for (uint32_t g = 0; g < f->gpus; g++)
		gpu[g] = is_reversed ? f->gpus - 1 - g : g;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t left = n - 1 - i, pieces = left ? 1 + below(p, (f->pieces - first - left + 1) / 2) : f->pieces - first;
		uint32_t gpus = left ? 1 + below(p, f->gpus - at - left) : f->gpus - at;
		stage[i] = (struct orr_plan_stage){ .first = first, .count = pieces, .gpu = gpu + at, .n_gpus = gpus };
		first += pieces;
		at += gpus;
	}
	double micro = f->global_batch / (double)(1u << below(p, 5));
	compare(p, &(struct orr_plan_draft){ .stages = n, .stage = stage, .micro_batch = micro });
}

static void draw_grid(struct orr_plan *p, const struct orr_plan_facts *f)
{
	static const uint32_t two[] = { 1, 2, 4, 8 };
	uint32_t tp = two[below(p, 3)], pp = two[below(p, 3)], v = pp > 1 && below(p, 2) ? 2 : 1, gpu[MOST], parts = pp * v, first = 0;
	struct orr_plan_stage stage[MOST];
	for (uint32_t g = 0; g < f->gpus; g++)
		gpu[g] = g;
	uint32_t per = f->gpus / pp, dp = per / tp, m = pp * (1 + below(p, 4));
	for (uint32_t i = 0; i < parts; i++) {
		uint32_t end = i + 1 == parts ? f->pieces : (uint32_t)((uint64_t)f->blocks * (i + 1) / parts) + (f->pieces - f->blocks) / 2;
		stage[i] = (struct orr_plan_stage){ first, end - first, gpu + i % pp * per, per, tp, NULL };
		first = end;
	}
	compare(p, &(struct orr_plan_draft){ .stages = parts,
			   .stage = stage,
			   .micro_batch = f->global_batch / m,
			   .interleave = v,
			   .recompute = (enum orr_plan_recompute)below(p, 3),
			   .sequence_parallel = tp > 1 && below(p, 2),
			   .zero = dp > 1 && below(p, 2) });
}

static int search(struct orr_plan *p, const struct orr_args *args, struct orr_error *err)
{
	struct orr_plan_facts f;
	(void)args, (void)err;
	orr_plan_facts(p, &f);
	for (int i = 0; i < PLANS && orr_plan_goes_on(p); i++)
		if (seen.is_grid)
			draw_grid(p, &f);
		else
			draw_stages(p, &f);
	return 0;
}

static const struct orr_param params[] = { ORR_PARAM_END };
static const struct orr_plan_ops ops = { .search = search };
ORR_POLICY_PLAN(drawn, "random plans", params, ops);

/* Runs the policy above on a problem. Its errors are seen.error[from..seen.n-1]; bounds are given for their mean and maximum. */
static void check(const char *what, const char *problem, bool is_grid, double mean_most, double most)
{
	struct sbuf text = { 0 };
	struct orr_error err = { 0 };
	struct world_output o = { .quiet = true };
	struct run_result *r = result_new();
	int from = seen.n;
	double mean = 0, worst = 0;
	seen.is_grid = is_grid;
	sbuf_printf(&text, "{\"world\":\"plan\",%s,\"plan\":{\"checked\":0},\"policies\":[\"straight\"]}", problem);
	cJSON *j = cJSON_Parse(text.text);
	struct scenario *s = scenario_open(j, &o, &err);
	if (s)
		s->policy[0].entry.policy = &orr_policy_plan_drawn;
	if (!s || s->world->run(s, 0, 0, r, NULL, NULL, &err))
		printf("# %s\n", err.text);
	for (int i = from; i < seen.n; i++) {
		mean += fabs(seen.error[i]) / (seen.n - from);
		worst = fmax(worst, fabs(seen.error[i]));
	}
	printf("# %s: %d plans, %d do not fit: mean error %.2f %%, worst %.1f %%\n", what, seen.n - from, seen.unfit, 100 * mean,
		100 * worst);
	ok(!err.code && seen.n - from >= PLANS / 2, "%s: the executor runs the plans that fit", what);
	ok(mean <= mean_most && worst <= most, "%s: the mean error of the closed form is at most %g %%, the largest at most %g %%", what,
		100 * mean_most, 100 * most);
	scenario_close(s);
	result_free(r);
	cJSON_Delete(j);
	sbuf_free(&text);
}

int main(void)
{
	check("stages of a convolutional network",
		"\"model\":\"vgg16\",\"cluster\":\"2x4:v100\",\"network\":\"star:bw=25Gbps\",\"global_batch\":256", false, 0.03, 0.12);
	check("stages of a transformer on two types",
		"\"model\":\"gpt:hidden=512,layers=12,heads=8,seq=256,vocab=8000\",\"cluster\":\"1x4:v100,1x4:p100\",\"global_batch\":64",
		false, 0.03, 0.12);
	check("grids of a transformer",
		"\"model\":\"gpt:hidden=1024,layers=16,heads=16,seq=512,vocab=16000\",\"cluster\":\"4x8:a100\",\"network\":\"star:bw="
		"100Gbps\","
		"\"precision\":\"fp16\",\"global_batch\":1024,\"step\":{\"optimizer\":\"adam\"}",
		true, 0.03, 0.12);
	check("grids on a fat tree, where rings of several stages share links",
		"\"model\":\"gpt:hidden=1024,layers=16,heads=16,seq=512,vocab=16000\",\"cluster\":\"16x4:v100\",\"network\":\"fat-tree:k=6,"
		"bw="
		"25Gbps\","
		"\"precision\":\"fp16\",\"global_batch\":1024,\"step\":{\"optimizer\":\"adam\"}",
		true, 0.03, 0.12);
	check("stages on two nodes whose switches reduce, where all-reduces are trees",
		"\"model\":\"gpt:hidden=512,layers=12,heads=8,seq=512,vocab=16000\",\"cluster\":\"2x8:h100\",\"network\":\"star:bw="
		"100Gbps\","
		"\"precision\":\"fp16\",\"global_batch\":64",
		false, 0.03, 0.12);
	check("grids on two nodes whose switches reduce",
		"\"model\":\"gpt:hidden=1024,layers=16,heads=16,seq=512,vocab=16000\",\"cluster\":\"2x8:h100\",\"network\":\"star:bw="
		"100Gbps\","
		"\"precision\":\"fp16\",\"global_batch\":1024,\"step\":{\"optimizer\":\"adam\"}",
		true, 0.03, 0.12);
	return done();
}
