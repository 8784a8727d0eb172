/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The program of sia (policies/jobs/sia_choose.h) against all its solutions: the least objective, the GPUs that exist, jobs that keep
 * theirs. And a backlog of equal jobs, whose optimum is known: as many jobs as possible, so the smallest first.
 */
#include "policies/jobs/sia_choose.h"

#include "base/rng.h"
#include "tests/tap.h"

#include <math.h>

enum { JOBS = 6, OPTIONS = 3, TYPES = 2, PROBLEMS = 400 };

struct solution {
	double objective, used[TYPES];
	bool is_allowed;
};

static struct solution evaluate(const struct sia_problem *p, const size_t *chosen)
{
	struct solution s = { .is_allowed = true };
	for (size_t j = 0; j < p->n_jobs; j++) {
		const struct sia_job *job = &p->job[j];
		s.objective += chosen[j] == SIZE_MAX ? p->lambda : job->option[chosen[j]].cost;
		s.is_allowed &= !job->is_pinned || chosen[j] == job->present;
		if (chosen[j] != SIZE_MAX)
			s.used[job->option[chosen[j]].type] += job->option[chosen[j]].gpus;
	}
	for (size_t t = 0; t < p->n_types; t++)
		s.is_allowed &= s.used[t] <= p->gpus_of_type[t];
	return s;
}

/* The least objective over all combinations of options. */
static double least(const struct sia_problem *p, size_t j, size_t *chosen)
{
	if (j == p->n_jobs) {
		struct solution s = evaluate(p, chosen);
		return s.is_allowed ? s.objective : INFINITY;
	}
	chosen[j] = SIZE_MAX;
	double best = least(p, j + 1, chosen);
	for (size_t i = 0; i < p->job[j].n; i++) {
		chosen[j] = i;
		best = fmin(best, least(p, j + 1, chosen));
	}
	return best;
}

/* Jobs of two kinds, so that some are equal; some have GPUs, and one of these may be pinned. */
static void draw(struct rng *rng, struct sia_problem *p, struct sia_option option[JOBS][OPTIONS])
{
	uint64_t kinds[2] = { rng_below(rng, 1000), rng_below(rng, 1000) };
	for (size_t j = 0; j < p->n_jobs; j++) {
		struct rng of;
		rng_init(&of, kinds[rng_below(rng, 2)], "kind", 0);
		p->job[j] = (struct sia_job){
			.option = option[j], .n = 1 + rng_below(&of, OPTIONS), .present = SIZE_MAX, .restart_factor = 0.7
		};
		for (size_t i = 0; i < p->job[j].n; i++)
			option[j][i] = (struct sia_option){ .type = (uint32_t)(rng_below(&of, p->n_types)),
				.gpus = 1u + (uint32_t)rng_below(&of, 3),
				.s = 1 + rng_uniform(&of) * 3 };
		if (!rng_below(rng, 3))
			p->job[j].present = rng_below(rng, p->job[j].n);
		p->job[j].is_pinned = !j && p->job[j].present != SIZE_MAX;
		sia_normalise(p, &p->job[j]);
		sia_costs(p, &p->job[j]);
	}
}

static void against_all_solutions(size_t n_types, bool is_rounded)
{
	const double gpus[TYPES] = { 5, 4 };
	struct sia_option option[JOBS][OPTIONS];
	struct sia_job job[JOBS];
	struct rng rng;
	size_t right = 0, allowed = 0;
	rng_init(&rng, 7, "problems", 0);
	for (size_t k = 0; k < PROBLEMS; k++) {
		struct sia_problem p = { .job = job,
			.n_jobs = 1 + rng_below(&rng, JOBS),
			.gpus_of_type = gpus,
			.n_types = n_types,
			.power = -0.5,
			.lambda = 1.1,
			.is_rounded = is_rounded };
		struct orr_error err = { 0 };
		size_t chosen[JOBS];
		double objective = NAN;
		draw(&rng, &p, option);
		int rc = sia_choose(&p, &objective, &err);
		for (size_t j = 0; j < p.n_jobs; j++)
			chosen[j] = job[j].chosen;
		struct solution s = evaluate(&p, chosen);
		allowed += !rc && s.is_allowed && fabs(s.objective - objective) < 1e-9;
		right += fabs(least(&p, 0, chosen) - objective) < 1e-6;
	}
	ok(allowed == PROBLEMS, "%zu of %d choices on %zu types use the GPUs that exist", allowed, PROBLEMS, n_types);
	ok(right == PROBLEMS, "%zu of %d objectives are the least of all", right, PROBLEMS);
}

/* 3,000 waiting jobs of 1, 2 and 3 GPUs, and 6 that run on 1 GPU, at equal costs, on 100 GPUs: 100 jobs on 1 GPU each. Those that run are
 * the last ones, and keep their GPUs; the others are the first of their size. */
static void backlog(void)
{
	enum { N = 3000 };
	static struct sia_option option[N];
	static struct sia_job job[N];
	const double gpus[1] = { 100 };
	struct sia_problem p = { .job = job, .n_jobs = N, .gpus_of_type = gpus, .n_types = 1, .power = -0.5, .lambda = 1.1 };
	struct orr_error err = { 0 };
	double objective = NAN;
	size_t kept = 0, first = 0, others = 0;
	for (size_t j = 0; j < N; j++) {
		option[j] = (struct sia_option){ .gpus = 1 + (uint32_t)j % 3, .s = 1 };
		job[j] = (struct sia_job){ .option = &option[j], .n = 1, .restart_factor = 1, .present = SIZE_MAX };
		if (j >= N - 18 && option[j].gpus == 1)
			job[j].present = 0;
		sia_normalise(&p, &job[j]);
		sia_costs(&p, &job[j]);
	}
	ok(!sia_choose(&p, &objective, &err), "a backlog of 3,000 jobs is solved: %s", err.text);
	for (size_t j = 0; j < N; j++)
		if (job[j].chosen != SIZE_MAX) {
			kept += job[j].present != SIZE_MAX;
			first += job[j].present == SIZE_MAX && option[j].gpus == 1 && j < 94 * 3;
			others += option[j].gpus > 1;
		}
	ok(fabs(objective - (100 * 1.0 + 2900 * 1.1)) < 1e-6, "objective %g: 100 jobs run", objective);
	ok(kept == 6 && first == 94 && !others, "%zu jobs keep their GPUs, %zu are the first to wait", kept, first);
}

int main(void)
{
	against_all_solutions(1, false);
	against_all_solutions(2, false);
	against_all_solutions(2, true);
	backlog();
	return done();
}
