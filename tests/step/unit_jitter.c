/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Jitter and stragglers: n ranks compute K kernels of 1/K s each and wait for one another. The mean time of an iteration is the expected
 * maximum of n sums, computed here by quadrature: E max = integral of 1 - P(sum <= t)^n dt (order statistics).
 */
#include "tests/step/call_policy.h"
#include "tests/tap.h"

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_sf_gamma.h>
#include <stdlib.h>
#include <string.h>

static uint32_t ranks, kernels;
static orr_op tail;

static void build_ranks(struct orr_step *s)
{
	orr_op end[64];
	for (uint32_t r = 0; r < ranks; r++) {
		orr_op last = tail;
		for (uint32_t k = 0; k < kernels; k++) {
			orr_op op = orr_compute(s, r, ORR_FORWARD, 1.0 / kernels);
			orr_after(s, op, last);
			last = op;
		}
		end[r] = last;
	}
	tail = orr_mark(s);
	for (uint32_t r = 0; r < ranks; r++)
		orr_after(s, tail, end[r]);
}

/* Mean over iterations, which begin when all ranks have ended the one before. */
static double mean_s(uint32_t n, uint32_t k, const char *sets, unsigned iterations)
{
	char cluster[32], text[128], *save = NULL;
	struct step_result r = { 0 };
	struct orr_error e = { 0 };
	snprintf(cluster, sizeof cluster, "%ux8:v100", (n + 7) / 8);
	struct fixture *f = fixture_new(cluster, "star", "lenet5", 1);
	snprintf(text, sizeof text, "iterations=%u", iterations);
	fixture_set(f, text);
	snprintf(text, sizeof text, "%s", sets);
	for (char *s = strtok_r(text, " ", &save); s; s = strtok_r(NULL, " ", &save))
		fixture_set(f, s);
	ranks = n;
	kernels = k;
	tail = 0;
	build_now = build_ranks;
	int rc = fixture_run(f, call_policy(), "", &r, &e);
	double mean = rc ? NAN : r.iteration[r.n_iterations - 1].end_s / (double)r.n_iterations;
	if (rc)
		printf("# %s\n", e.text);
	step_result_free(&r);
	fixture_free(f);
	return mean;
}

/* P(sum of k factors / k <= t). lognormal: k is 1. */
static double below(const char *law, double x, uint32_t k, double t)
{
	if (!strcmp(law, "exponential")) /* 1 + x Gamma(k) / k */
		return t <= 1 ? 0 : gsl_sf_gamma_inc_P(k, (t - 1) * k / x);
	if (!strcmp(law, "uniform"))
		return fmin(fmax((t - 1) / (2 * x), 0), 1);
	return t <= 0 ? 0 : gsl_cdf_lognormal_P(t, 0, x);
}

static double expected_maximum(const char *law, double x, uint32_t k, uint32_t n)
{
	const double step = 1e-4;
	double sum = 0, p = 0;
	for (double t = step / 2; p < 1 - 1e-9 && t < 1e3; t += step) {
		p = pow(below(law, x, k, t), n);
		sum += (1 - p) * step;
	}
	return sum;
}

static void compare(const char *option, const char *law, double x, uint32_t k, uint32_t n)
{
	char sets[96];
	snprintf(sets, sizeof sets, "%s=%s %s_spread=%g", option, law, !strcmp(option, "jitter") ? "jitter" : "straggler", x);
	double want = expected_maximum(law, x, k, n), got = mean_s(n, k, sets, getenv("ORR_SANITIZED") ? 4000 : 8000);
	ok(fabs(got / want - 1) < 0.01, "%s, %u kernels, %u ranks: expected maximum %.4f s, mean %.4f s", sets, k, n, want, got);
}

int main(void)
{
	/* Exponential, one kernel: 1 + x (1 + 1/2 + .. + 1/n). */
	near_to(expected_maximum("exponential", 0.5, 1, 8), 1 + 0.5 * (761.0 / 280), 1e-6, "quadrature: the harmonic number of 8");
	for (uint32_t n = 1; n <= 64; n *= 4) {
		compare("jitter", "exponential", 0.3, 1, n);
		compare("jitter", "lognormal", 0.3, 1, n);
		compare("stragglers", "exponential", 0.3, 1, n);
		compare("stragglers", "lognormal", 0.3, 1, n);
	}
	compare("jitter", "uniform", 0.2, 1, 16);
	/* Kernels are independent: the sum of 10 spreads less. The straggler's factor is one for all kernels of an iteration. */
	compare("jitter", "exponential", 0.5, 10, 16);
	double one = mean_s(16, 1, "stragglers=exponential straggler_spread=0.5", 500),
	       ten = mean_s(16, 10, "stragglers=exponential straggler_spread=0.5", 500);
	near_to(ten, one, 1e-9, "a straggler slows all its kernels alike");
	/* Both together multiply. */
	double both = mean_s(1, 1, "jitter=exponential jitter_spread=1 stragglers=exponential straggler_spread=1", 8000);
	ok(fabs(both / 4 - 1) < 0.03, "jitter and stragglers multiply: mean %.3f of 2 x 2", both);
	near_to(mean_s(8, 10, "jitter=lognormal", 300), mean_s(8, 10, "jitter=lognormal exact=true merge=off", 300), 0, "no extrapolation");
	return done();
}
