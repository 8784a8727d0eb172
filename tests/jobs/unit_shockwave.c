/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The market of shockwave against solutions found without a linear program: two jobs in closed form; and on random problems the objective
 * against the best over a search of H, in which rounds are dealt to the steepest chords (docs/models/jobs-fair.md#shockwave).
 */
#include "policies/jobs/shockwave_plan.h"

#include "base/rng.h"
#include "tests/tap.h"

#include <math.h>

enum { MOST = 6, PROBLEMS = 300, STEPS = 60 };

/* One GPU, equal weights, no makespan. d/dn of log(n r / T + o) is 1 / (n + o T / r). At the maximum both are equal, so
 * n0 - n1 = o (T1 - T0) / r with n0 + n1 = W. */
static void two_jobs(void)
{
	static const struct {
		double t0, t1, offset;
	} of[] = { { 4000, 4000, 1 }, { 3000, 3600, 1 }, { 3000, 5000, 0.5 }, { 9000, 3000, 0.25 } };
	enum { WINDOW = 20, PIECES = 50 };
	for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
		struct shockwave_market m = {
			.gpus = 1, .round_s = 120, .offset = of[i].offset, .lambda = 0, .window = WINDOW, .pieces = PIECES
		};
		struct shockwave_job job[2] = { { 1, of[i].t0, of[i].t0, 1, -1 }, { 1, of[i].t1, of[i].t1, 1, -1 } };
		struct orr_error err = { 0 };
		ok(!shockwave_plan(&m, job, 2, &err), "two jobs of %g and %g s: solved", of[i].t0, of[i].t1);
		double want = WINDOW / 2.0 + of[i].offset * (of[i].t1 - of[i].t0) / m.round_s / 2;
		want = fmax(0, fmin(WINDOW, want));
		ok(fabs(job[0].rounds - want) <= (double)WINDOW / PIECES + 1e-9 && fabs(job[0].rounds + job[1].rounds - WINDOW) < 1e-6,
			"rounds %g and %g: %g in closed form, within the length of a chord", job[0].rounds, job[1].rounds, want);
	}
}

static double most_rounds(const struct shockwave_market *m, const struct shockwave_job *x)
{
	return fmin(m->window, ceil(x->left_s / m->round_s));
}

/* Returns the chords' value of n rounds, without the weight. */
static double log_after(const struct shockwave_market *m, const struct shockwave_job *x, double n)
{
	double width = most_rounds(m, x) / m->pieces, at = floor(n / width + 1e-9), sum = 0;
	for (int end = 0; end < 2; end++) {
		double share = (x->alone_s - x->left_s + (at + end) * width * m->round_s) / x->alone_s, part = n / width - at;
		sum += (end ? part : 1 - part) * log(fmin(1, share) + m->offset);
	}
	return sum;
}

/* H for these rounds. */
static double horizon(const struct shockwave_market *m, const struct shockwave_job *x, size_t n, const double *rounds)
{
	double longest = 0, sum = 0;
	for (size_t i = 0; i < n; i++) {
		longest = fmax(longest, x[i].left_s / m->round_s - rounds[i]);
		sum += x[i].gpus * (x[i].left_s / m->round_s - rounds[i]);
	}
	return fmax(longest, sum / m->gpus);
}

static double objective(const struct shockwave_market *m, const struct shockwave_job *x, size_t n, const double *rounds)
{
	static const double none[MOST];
	double sum = 0, weights = 0;
	for (size_t i = 0; i < n; i++) {
		sum += x[i].weight * log_after(m, &x[i], rounds[i]);
		weights += x[i].weight;
	}
	return sum / weights - m->lambda * fmax(0, horizon(m, x, n, rounds)) / horizon(m, x, n, none);
}

/* Computes the best rounds if each job gets at least its rounds left minus h. The other rounds go, piece by piece, to the job whose next
 * piece gains most per GPU. Returns false if there are not enough GPUs. */
static bool deal(const struct shockwave_market *m, const struct shockwave_job *x, size_t n, double h, double *rounds)
{
	double room = m->gpus * m->window;
	for (size_t i = 0; i < n; i++) {
		rounds[i] = fmax(0, x[i].left_s / m->round_s - h);
		if (rounds[i] > most_rounds(m, &x[i]) + 1e-12)
			return false;
		room -= x[i].gpus * rounds[i];
	}
	if (room < -1e-12)
		return false;
	for (;;) {
		size_t best = n;
		double gain = -1, step = 0;
		for (size_t i = 0; i < n; i++) {
			double width = most_rounds(m, &x[i]) / m->pieces, end = width * (floor(rounds[i] / width + 1e-7) + 1);
			if (rounds[i] >= most_rounds(m, &x[i]) - 1e-6 * width)
				continue;
			double g =
				x[i].weight * (log_after(m, &x[i], end) - log_after(m, &x[i], rounds[i])) / (end - rounds[i]) / x[i].gpus;
			if (g > gain) {
				gain = g;
				best = i;
				step = end - rounds[i];
			}
		}
		if (best == n || room <= 1e-12)
			return true;
		step = fmin(step, room / x[best].gpus);
		rounds[best] += step;
		room -= step * x[best].gpus;
	}
}

/* Returns the objective of the best rounds if at most this number of rounds (bound) is left of each job. The penalty uses the bound, not
 * the largest number of rounds left, so the result is concave in the bound. */
static double bounded(const struct shockwave_market *m, const struct shockwave_job *x, size_t n, double bound)
{
	double rounds[MOST], sum = 0, weights = 0, gpu_rounds = 0;
	if (!deal(m, x, n, bound, rounds))
		return -INFINITY;
	for (size_t i = 0; i < n; i++) {
		sum += x[i].weight * log_after(m, &x[i], rounds[i]);
		weights += x[i].weight;
		gpu_rounds += x[i].gpus * (x[i].left_s / m->round_s - rounds[i]);
	}
	return sum / weights - m->lambda * fmax(bound, gpu_rounds / m->gpus) / horizon(m, x, n, (const double[MOST]){ 0 });
}

static double best_by_search(const struct shockwave_market *m, const struct shockwave_job *x, size_t n)
{
	double rounds[MOST] = { 0 }, low = 0, top = horizon(m, x, n, rounds), high = top;
	for (int i = 0; i < STEPS; i++) { /* infeasible bounds are below feasible ones */
		double middle = (low + high) / 2;
		if (deal(m, x, n, middle, rounds))
			high = middle;
		else
			low = middle;
	}
	low = high;
	high = top;
	for (int i = 0; i < 2 * STEPS; i++) {
		double a = low + (high - low) / 3, b = high - (high - low) / 3;
		if (bounded(m, x, n, a) < bounded(m, x, n, b))
			low = a;
		else
			high = b;
	}
	return fmax(bounded(m, x, n, low), bounded(m, x, n, high));
}

static void random_problems(void)
{
	int equal = 0, valid = 0, bound = 0;
	struct rng r;
	rng_init(&r, 1, "markets", 0);
	for (int k = 0; k < PROBLEMS; k++) {
		size_t n = 1 + rng_below(&r, MOST);
		struct shockwave_market m = { .gpus = 1 + (double)rng_below(&r, 8),
			.round_s = 120,
			.offset = 0.05 + rng_uniform(&r),
			.lambda = k % 3 ? exp(6 * rng_uniform(&r) - 2) : 0,
			.window = 1 + (int)rng_below(&r, 20),
			.pieces = 1 + (int)rng_below(&r, 6) };
		struct shockwave_job x[MOST];
		double rounds[MOST], gpus = 0;
		bool is_valid = true;
		for (size_t i = 0; i < n; i++) {
			double alone = 30 + 6000 * rng_uniform(&r);
			x[i] = (struct shockwave_job){ 1 + (double)rng_below(&r, (uint64_t)m.gpus), alone,
				alone * (0.05 + 0.95 * rng_uniform(&r)), exp(-8 * rng_uniform(&r)), -1 };
		}
		struct orr_error err = { 0 };
		is_valid = !shockwave_plan(&m, x, n, &err);
		for (size_t i = 0; i < n; i++) {
			rounds[i] = x[i].rounds;
			gpus += x[i].gpus * rounds[i];
			is_valid &= rounds[i] >= -1e-9 && rounds[i] <= most_rounds(&m, &x[i]) + 1e-9;
		}
		is_valid &= gpus <= m.gpus * m.window + 1e-6;
		valid += is_valid;
		bound += gpus > m.gpus * m.window - 1e-6;
		double ours = objective(&m, x, n, rounds), best = best_by_search(&m, x, n);
		equal += fabs(ours - best) <= 1e-6 * (1 + fabs(best));
		if (fabs(ours - best) > 1e-6 * (1 + fabs(best)))
			printf("# problem %d: %.9g by the program, %.9g by the search\n", k, ours, best);
	}
	ok(valid == PROBLEMS, "the rounds of each plan are possible (%d of %d)", valid, PROBLEMS);
	ok(equal == PROBLEMS, "the objective is the best (%d of %d)", equal, PROBLEMS);
	ok(bound > PROBLEMS / 4 && bound < PROBLEMS, "GPUs are scarce in %d of them", bound);
}

int main(void)
{
	two_jobs();
	random_problems();
	return done();
}
