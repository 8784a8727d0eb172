/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * compare_rates.c - error rates of comparisons over replications (docs/models/compare.md)
 *
 * A study has 8 policies with equal expected values. Value k of policy i is a common part + c_i (x - E x), x drawn from a law. Equal
 * c_i give symmetric differences; c_i = 0, 1, .., 7 give skewed ones. Lines: the share of studies that show a difference between equal
 * policies, by results/compare.h and by the paired t-test with Holm's adjustment; the share in which a simultaneous interval misses
 * its difference; the power for one better policy; and the coverage of the interval of a single mean difference.
 *
 * usage: compare_rates [STUDIES [rest]]   (default 1000; rest: without the first table, which takes a minute)
 */
#include "results/compare.h"

#include "base/mem.h"
#include "base/rng.h"

#include <gsl/gsl_randist.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { POLICIES = 8, MOST = 40, PAIRS = POLICIES * (POLICIES - 1) / 2 };
static const double level = 0.95;

static const char *const laws[] = { "normal", "exponential", "lognormal, sigma = 1" };
enum { LAWS = sizeof laws / sizeof *laws };

/* Returns a value of the law with mean 0. */
static double draw(struct rng *rng, int law)
{
	switch (law) {
	case 0:
		return gsl_ran_gaussian(rng_gsl(rng), 1);
	case 1:
		return rng_exponential(rng, 1) - 1;
	default:
		return gsl_ran_lognormal(rng_gsl(rng), 0, 1) - exp(0.5);
	}
}

/* Standard deviation of a value. */
static double spread(int law)
{
	return law < 2 ? 1 : sqrt((exp(1) - 1) * exp(1));
}

static double v[POLICIES][MOST];

static void fill(struct rng *rng, int law, bool is_skewed, size_t n, double shift)
{
	for (size_t k = 0; k < n; k++) {
		double common = 100 + 20 * gsl_ran_gaussian(rng_gsl(rng), 1);
		for (int i = 0; i < POLICIES; i++)
			v[i][k] = common + (is_skewed ? i : 1) * draw(rng, law) + (i == POLICIES - 1 ? shift : 0);
	}
}

/* Returns whether the paired t-test with Holm's adjustment shows a difference. */
static bool by_t(size_t n)
{
	double p[PAIRS], adjusted[PAIRS], d[MOST], minus[MOST], least = 1;
	size_t pair = 0;
	for (int i = 0; i < POLICIES; i++)
		for (int j = i + 1; j < POLICIES; j++) {
			for (size_t k = 0; k < n; k++) {
				d[k] = v[j][k] - v[i][k];
				minus[k] = -d[k];
			}
			p[pair++] = fmin(2 * fmin(estimate_student_above(d, n), estimate_student_above(minus, n)), 1);
		}
	compare_holm(p, PAIRS, adjusted);
	for (size_t i = 0; i < PAIRS; i++)
		least = fmin(least, adjusted[i]);
	return least <= 1 - level;
}

/* Prints a share with Wilson's 99 % interval. */
static void put_share(int k, int n)
{
	static const double z = 2.5758;
	double p = (double)k / n, u = z * z / n, middle = (p + u / 2) / (1 + u), half = sqrt(u * p * (1 - p) + u * u / 4) / (1 + u);
	printf(" %.1f %% [%.1f, %.1f] |", 100 * p, 100 * (middle - half), 100 * (middle + half));
}

static void errors(int law, bool is_skewed, size_t n, int studies)
{
	int wrong = 0, missed = 0, wrong_t = 0;
	for (int i = 0; i < studies; i++) {
		struct rng rng;
		struct compare_options o = { .family = COMPARE_ALL, .level = level };
		const double *value[POLICIES];
		rng_init(&rng, 5, "rates", (uint64_t)i);
		fill(&rng, law, is_skewed, n, 0);
		for (int k = 0; k < POLICIES; k++)
			value[k] = v[k];
		wrong_t += by_t(n);
		struct comparison *c = compare_new(value, POLICIES, n, &o);
		bool is_wrong = false, is_missed = false;
		for (size_t k = 0; k < c->n_pairs; k++) {
			is_wrong |= compare_is_different(&c->pair[k]);
			is_missed |= c->pair[k].difference.low > 0 || c->pair[k].difference.high < 0;
		}
		wrong += is_wrong;
		missed += is_missed;
		compare_free(c);
	}
	printf("| %s | %s | %zu |", laws[law], is_skewed ? "skewed" : "symmetric", n);
	if (n >= ESTIMATE_LEAST) {
		put_share(wrong, studies);
		put_share(missed, studies);
	} else {
		printf(" no comparison | no comparison |");
	}
	put_share(wrong_t, studies);
	puts("");
	fflush(stdout);
}

/* One policy is better by `effect` standard deviations of a paired difference. */
static void power(int law, size_t n, double effect, int studies)
{
	int shown = 0, all = 0;
	for (int i = 0; i < studies; i++) {
		struct rng rng;
		struct compare_options o = { .family = COMPARE_ALL, .level = level };
		const double *value[POLICIES];
		rng_init(&rng, 6, "power", (uint64_t)i);
		fill(&rng, law, false, n, -effect * sqrt(2) * spread(law));
		for (int k = 0; k < POLICIES; k++)
			value[k] = v[k];
		struct comparison *c = compare_new(value, POLICIES, n, &o);
		for (size_t k = 0; k < c->n_pairs; k++)
			if (c->pair[k].b == POLICIES - 1) {
				shown += compare_is_different(&c->pair[k]);
				all++;
			}
		compare_free(c);
	}
	printf("| %s | %zu | %.2f | %.1f %% |\n", laws[law], n, effect, 100.0 * shown / all);
	fflush(stdout);
}

/* Measures the coverage of two intervals for the mean of n values of a skewed law: the interval of estimate.h and Student's interval. */
static void coverage(int law, size_t n, int samples)
{
	int hold = 0, hold_t = 0;
	for (int i = 0; i < samples; i++) {
		struct rng rng;
		double x[MOST], minus[MOST];
		rng_init(&rng, 8, "coverage", (uint64_t)i);
		for (size_t k = 0; k < n; k++)
			minus[k] = -(x[k] = draw(&rng, law));
		struct interval e = estimate_mean(x, n, ESTIMATE_REAL, level);
		hold += e.low <= 0 && e.high >= 0;
		hold_t += fmin(estimate_student_above(x, n), estimate_student_above(minus, n)) >= (1 - level) / 2;
	}
	printf("| %s | %zu |", laws[law], n);
	if (n >= ESTIMATE_LEAST)
		put_share(hold, samples);
	else
		printf(" no interval |");
	put_share(hold_t, samples);
	puts("");
}

int main(int argc, char **argv)
{
	static const size_t sizes[] = { 5, 10, 20, 40 };
	int studies = argc > 1 ? atoi(argv[1]) : 1000;
	const char *what = argc > 2 ? argv[2] : "";
	if (studies < 10) {
		fputs("compare_rates: expected at least 10 studies\n", stderr);
		return 2;
	}
	printf("%d studies of %d equal policies, level %g; [99 %% interval of the share]\n", studies, POLICIES, level);
	puts("| law | differences | N | studies with a shown difference | with a missed one | by the paired t-test |\n| --- | --- | --: | "
	     "--- | --- | --- |");
	for (int law = 0; !*what && law < LAWS; law++)
		for (int skewed = 0; skewed < 2; skewed++)
			for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
				errors(law, skewed, sizes[k], studies);
	puts("\n| law | N | difference / its standard deviation | pairs shown |\n| --- | --: | --: | --- |");
	for (int law = 0; law < LAWS; law++) {
		power(law, 10, 2.2, studies);
		power(law, 20, 1.3, studies);
		power(law, 40, 0.8, studies);
	}
	puts("\n| law of the differences | N | interval | Student's |\n| --- | --: | --- | --- |");
	for (int law = 0; law < LAWS; law++)
		for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
			coverage(law, sizes[k], 20 * studies);
	return 0;
}
