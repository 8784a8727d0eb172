/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How far searches are from the plan with the shortest iteration by the closed form, of all cuts and all numbers of GPUs per
 * stage, on random chains of measured layers and up to eight GPUs.
 */
#include "chains.h"

#include <orrery/plan.h>

#include "tests/tap.h"

#include <math.h>
#include <stdio.h>
#include <unistd.h>

struct all {
	struct orr_plan *p;
	struct orr_plan_facts f;
	struct orr_plan_stage stage[MOST_PIECES];
	uint32_t gpu[MOST_GPUS];
};

/* Evaluates all plans whose first stages are given: stages cover GPUs in order. */
static void try_all(struct all *a, uint32_t stages, uint32_t from, uint32_t used)
{
	struct orr_plan_value v;
	if (from == a->f.pieces) {
		if (used == a->f.gpus)
			orr_plan_evaluate(
				a->p, &(struct orr_plan_draft){ .stages = stages, .stage = a->stage, .micro_batch = a->f.micro_batch }, &v);
		return;
	}
	for (uint32_t to = from + 1; to <= a->f.pieces; to++)
		for (uint32_t n = 1; n <= a->f.gpus - used; n++) {
			a->stage[stages] = (struct orr_plan_stage){ .first = from, .count = to - from, .gpu = a->gpu + used, .n_gpus = n };
			try_all(a, stages + 1, to, used + n);
		}
}

static int search_all(struct orr_plan *p, const struct orr_args *args, struct orr_error *err)
{
	struct all a = { .p = p };
	(void)args, (void)err;
	orr_plan_facts(p, &a.f);
	for (uint32_t i = 0; i < a.f.gpus; i++)
		a.gpu[i] = i;
	try_all(&a, 0, 0, 0);
	return 0;
}

static const struct orr_param params[] = { ORR_PARAM_END };
static const struct orr_plan_ops ops = { .search = search_all };
ORR_POLICY_PLAN(all_plans, "all cuts and all numbers of GPUs per stage", params, ops);

static void check_distance(void)
{
	/* The bounds of the mean excess are those of docs/models/plan.md, "Searches compared". */
	static const struct {
		const char *name, *policy;
		double mean; /* largest mean excess */
	} of[] = {
		{ "mcmc", "\"mcmc\"", 0.001 },
		{ "dapple", "\"dapple\"", 0.8 },
		{ "dapple, general", "{\"policy\":\"dapple\",\"set\":{\"search\":\"general\"}}", 0.3 },
		{ "whale", "\"whale\"", 0.2 },
		{ "alpa", "\"alpa\"", 0.05 },
		{ "pipedream", "\"pipedream\"", 0.08 },
	};
	enum { SEARCHES = sizeof of / sizeof *of, SMALL = 60, SMALL_GPUS = 8 };
	struct rng r;
	double sum[SEARCHES] = { 0 }, most[SEARCHES] = { 0 }, least[SEARCHES] = { 0 };
	uint32_t n[SEARCHES] = { 0 }, equal[SEARCHES] = { 0 };
	rng_init(&r, 3, "chains", 0);
	for (int i = 0; i < SMALL;) {
		struct chain c;
		draw(&c, &r);
		if (c.gpus > SMALL_GPUS || c.gpus < 2 || c.n > 6)
			continue;
		i++;
		write_chain(&c);
		double best = planned_as(&c, "\"straight\"", "iteration_s", &orr_policy_plan_all_plans);
		for (uint32_t k = 0; k < SEARCHES; k++) {
			double excess = planned(&c, of[k].policy, "iteration_s") / best - 1;
			if (!isfinite(excess))
				continue;
			n[k]++;
			sum[k] += excess;
			most[k] = fmax(most[k], excess);
			least[k] = fmin(least[k], excess);
			equal[k] += fabs(excess) < 1e-9;
		}
	}
	for (uint32_t k = 0; k < SEARCHES; k++) {
		printf("# %-16s %2u chains: %2u optimal, excess %.1f %% (mean), %.1f to %.1f %%\n", of[k].name, n[k], equal[k],
			100 * sum[k] / n[k], 100 * least[k], 100 * most[k]);
		ok(n[k] > SMALL / 2 && sum[k] / n[k] <= of[k].mean, "%s: mean excess over the best plan at most %.1f %%", of[k].name,
			100 * of[k].mean);
	}
}

int main(void)
{
	int fd = mkstemps(path, 4);
	if (!ok(fd >= 0, "a temporary file"))
		return done();
	close(fd);
	check_distance();
	unlink(path);
	return done();
}
