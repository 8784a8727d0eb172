/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Compares searches with an enumeration of all cuts and all numbers of GPUs per stage, on random chains of measured layers. */
#include "chains.h"

#include <orrery/plan.h>

#include "tests/tap.h"

#include <math.h>
#include <stdio.h>
#include <unistd.h>

enum { CHAINS = 200 };

/* ---- PipeDream ---- */

static double sum(const double *v, uint32_t from, uint32_t to)
{
	double s = 0;
	for (uint32_t i = from; i < to; i++)
		s += v[i];
	return s;
}

/*
 * Returns the smallest possible time of the slowest stage when pieces from..end-1 are placed on all `left` units. longest: time of the
 * slowest stage so far. per_machine = 0: a unit is a GPU; else it is a machine, whose GPUs run every stage of machines as a separate
 * pipeline.
 */
static double brute_pipedream(
	const struct chain *c, uint32_t from, uint32_t end, uint32_t left, bool is_between, uint32_t per_machine, double longest)
{
	const double message = is_between ? 1e9 : 25e9, reduce = is_between ? 3e9 : 25e9;
	double best = INFINITY;
	if (from == end)
		return left ? INFINITY : longest;
	for (uint32_t to = from + 1; to <= end; to++)
		for (uint32_t k = 1; k <= left; k++) {
			double work = per_machine ? brute_pipedream(c, from, to, per_machine, false, 0, 0)
						  : (sum(c->fwd_ms, from, to) + sum(c->bwd_ms, from, to)) / 1e3 / 4;
			double sync = 2 * (k - 1.) / k * sum(c->param_bytes, from, to) / reduce / 16;
			double cut = longest > 0 ? 2 * c->out_bytes[from - 1] / 4 / message : 0;
			double most = fmax(longest, fmax(cut, fmax(work, sync) / k));
			best = fmin(best, brute_pipedream(c, to, end, left - k, is_between, per_machine, most));
		}
	return best;
}

static void check_pipedream(void)
{
	struct rng r;
	uint32_t equal = 0, equal_flat = 0, with_cut = 0, differ = 0;
	rng_init(&r, 1, "chains", 0);
	for (int i = 0; i < CHAINS; i++) {
		struct chain c;
		draw(&c, &r);
		write_chain(&c);
		uint32_t each = c.gpus / c.nodes;
		bool has_levels = c.nodes > 1 && each > 1;
		double flat = brute_pipedream(&c, 0, c.n, c.gpus, c.nodes > 1, 0, 0);
		double want = has_levels ? brute_pipedream(&c, 0, c.n, c.nodes, true, each, 0) : flat;
		equal += fabs(planned(&c, "\"pipedream\"", "slowest_stage_s") / want - 1) < 1e-12;
		equal_flat +=
			fabs(planned(&c, "{\"policy\":\"pipedream\",\"set\":{\"levels\":\"flat\"}}", "slowest_stage_s") / flat - 1) < 1e-12;
		with_cut += planned(&c, "\"pipedream\"", "plan_stages") > 1;
		differ += fabs(want / flat - 1) > 1e-6;
	}
	printf("# %u of %d chains are cut into several stages; on %u the optimum of two levels differs\n", with_cut, CHAINS, differ);
	ok(equal == CHAINS, "pipedream finds the optimum of its cost on %u of %d random chains of up to %d GPUs", equal, CHAINS, MOST_GPUS);
	ok(equal_flat == CHAINS, "with levels=flat too: %u of %d", equal_flat, CHAINS);
	ok(with_cut > CHAINS / 4, "more than a quarter of the plans have several stages");
	ok(differ > CHAINS / 5, "on more than a fifth of the chains two levels differ from one");
}

/*
 * ---- Alpa's stages: minimum of sum of t + (M - 1) x maximum of t over all cuts and all submeshes ----
 * With 1F1B, stage s of S (from 0) keeps min(S - s, M) micro-batches.
 */

struct brute {
	struct orr_plan *p;
	struct orr_plan_facts f;
	uint32_t per_node, gpu[MOST_GPUS];
	double m;
};

static bool is_mesh(const struct brute *b, uint32_t n)
{
	bool is_power = !(n & (n - 1));
	return n < b->per_node ? is_power && b->per_node % n == 0 : n % b->per_node == 0;
}

static double kept = INFINITY; /* largest number of micro-batches that count */

/* Returns INFINITY if the stage does not fit with `in_flight` micro-batches. */
static double stage_s(const struct brute *b, uint32_t from, uint32_t to, uint32_t n, double in_flight)
{
	struct orr_plan_terms t = { .samples = b->f.micro_batch / n };
	struct orr_plan_cost c;
	struct orr_plan_gpu g;
	orr_plan_cost(b->p, 0, from, to - from, &t, &c);
	orr_plan_gpu(b->p, 0, &g);
	if (c.params * orr_plan_state_bytes(b->p, 1) + in_flight * c.stored_bytes + c.working_bytes > g.memory_bytes)
		return INFINITY;
	return c.forward_s + c.backward_s + orr_plan_all_reduce_s(b->p, b->gpu, n, c.params * b->f.gradient_bytes, 1) / b->m;
}

/* Returns the minimum over plans of `stages` more stages. */
static double brute_alpa(const struct brute *b, uint32_t stages, uint32_t from, uint32_t left, double sum, double longest)
{
	double best = INFINITY;
	if (!stages)
		return left || from < b->f.pieces ? INFINITY : sum + (b->m - 1) * longest;
	for (uint32_t to = from + 1; to <= b->f.pieces; to++)
		for (uint32_t n = 1; n <= left; n++)
			if (is_mesh(b, n)) {
				double t = stage_s(b, from, to, n, fmin(fmin(stages, b->m), kept));
				best = fmin(best, brute_alpa(b, stages - 1, to, left - n, sum + t, fmax(longest, t)));
			}
	return best;
}

static int search_alpa(struct orr_plan *p, const struct orr_args *args, struct orr_error *err)
{
	struct brute b = { .p = p };
	struct orr_plan_value v;
	(void)args, (void)err;
	orr_plan_facts(p, &b.f);
	b.m = b.f.global_batch / b.f.micro_batch;
	for (uint32_t i = 0; i < b.f.gpus; i++) {
		struct orr_plan_gpu g;
		orr_plan_gpu(p, b.gpu[i] = i, &g);
		b.per_node += g.node == 0;
	}
	double best = INFINITY;
	for (uint32_t stages = 1; stages <= b.f.pieces; stages++)
		best = fmin(best, brute_alpa(&b, stages, 0, b.f.gpus, 0, 0));
	orr_plan_put(p, "stage_sum_s", best);
	struct orr_plan_stage all = { .count = b.f.pieces, .gpu = b.gpu, .n_gpus = b.f.gpus };
	orr_plan_evaluate(p, &(struct orr_plan_draft){ .stages = 1, .stage = &all, .micro_batch = b.f.micro_batch }, &v);
	return 0;
}

static const struct orr_param params[] = { ORR_PARAM_END };
static const struct orr_plan_ops ops = { .search = search_alpa };
ORR_POLICY_PLAN(brute_alpa, "all cuts and submeshes", params, ops);

static double optimum(const struct chain *c, double most_kept)
{
	kept = most_kept;
	return planned_as(c, "\"straight\"", "stage_sum_s", &orr_policy_plan_brute_alpa);
}

/* scale: factor of the bytes of outputs; of parameters it is scale / 100, at least 1. */
static void check_alpa(double scale, bool is_tight)
{
	struct rng r;
	uint32_t equal = 0, with_cut = 0, planless = 0, differ = 0;
	rng_init(&r, 2, "chains", 0);
	for (int i = 0; i < CHAINS; i++) {
		struct chain c;
		draw(&c, &r);
		for (uint32_t k = 0; k < c.n; k++) {
			c.out_bytes[k] *= scale;
			c.param_bytes[k] *= fmax(1, scale / 100);
		}
		write_chain(&c);
		double one = is_tight ? optimum(&c, 1) : NAN, want = optimum(&c, INFINITY), has = planned(&c, "\"alpa\"", "stage_sum_s");
		equal += isfinite(want) ? fabs(has / want - 1) < 1e-12 : isnan(has);
		planless += isfinite(want) ? 0 : 1;
		differ += one < want;
		with_cut += planned(&c, "\"alpa\"", "plan_stages") > 1;
	}
	printf("# %u of %d chains are cut into several stages; %u do not fit in memory; for %u one micro-batch in flight gives a shorter "
	       "time\n",
		with_cut, CHAINS, planless, differ);
	ok(equal == CHAINS, "alpa finds the optimum of its cost on %u of %d random chains of up to %d GPUs%s", equal, CHAINS, MOST_GPUS,
		is_tight ? " with little memory" : "");
	ok(with_cut > CHAINS / 4 && (!is_tight || differ > CHAINS / 10), "more than a quarter of the plans have several stages%s",
		is_tight ? ", and for a tenth the micro-batches in flight matter" : "");
}

int main(void)
{
	int fd = mkstemps(path, 4);
	if (!ok(fd >= 0, "a temporary file"))
		return done();
	close(fd);
	check_pipedream();
	check_alpa(1, false);
	check_alpa(400, true);
	unlink(path);
	return done();
}
