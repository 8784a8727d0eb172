/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Comparison of policies over replications: adjusted p-values, equivalence, ranks, the best policy, and the error rates of 1,000
 * studies. Expected p-values: scipy 1.17.1 (ttest_rel, ttest_1samp) and statsmodels 0.15.0 (multipletests, ttost_paired).
 */
#include "results/compare.h"

#include "base/mem.h"
#include "base/rng.h"
#include "tests/tap.h"

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_randist.h>
#include <math.h>

enum { MOST = 8, N_MAX = 1000 };

/* ---- p-values ---- */

static void holm(void)
{
	const double p[] = { 0.01, 0.04, 0.03, 0.005, 0.5, 0.03 }, want[] = { 0.05, 0.12, 0.12, 0.03, 0.5, 0.12 };
	double got[6];
	bool good = true;
	compare_holm(p, 6, got);
	for (int i = 0; i < 6; i++)
		good &= fabs(got[i] - want[i]) <= 1e-9;
	ok(good, "Holm's adjusted p-values are those of statsmodels");
	const double with_none[] = { 0.01, NAN, 0.03 };
	compare_holm(with_none, 3, got);
	ok(fabs(got[0] - 0.03) < 1e-15 && isnan(got[1]) && fabs(got[2] - 0.06) < 1e-15, "a test without a p-value counts, and has none");
	compare_holm(p, 0, got);
}

/* Extra hours of sleep with two drugs (Student, The probable error of a mean, Biometrika 6, 1908). */
static const double drug_1[10] = { 0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0 },
		    drug_2[10] = { 1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4 };

static void student(void)
{
	double d[10], a[10], b[10];
	for (int k = 0; k < 10; k++) {
		d[k] = drug_2[k] - drug_1[k];
		a[k] = drug_1[k] + 10;
		b[k] = drug_2[k] + 10;
	}
	near_to(2 * estimate_student_above(d, 10), 0.0028328901973842728, 1e-9, "the paired t-test of Student's sleep data");
	near_to(compare_equivalence(drug_1, drug_2, 10, 1, false, estimate_student_above), 0.91494411455128866, 1e-9, "TOST, bound 1 h");
	near_to(compare_equivalence(drug_1, drug_2, 10, 2, false, estimate_student_above), 0.15415723566909739, 1e-9, "TOST, bound 2 h");
	near_to(compare_equivalence(drug_1, drug_2, 10, 3, false, estimate_student_above), 0.0026555702926586711, 1e-9, "TOST, bound 3 h");
	near_to(compare_equivalence(a, b, 10, 0.1, true, estimate_student_above), 0.87971486662948806, 1e-9, "TOST, relative bound 10 %");
	near_to(compare_equivalence(a, b, 10, 0.3, true, estimate_student_above), 0.0025890587836985904, 1e-9, "TOST, relative bound 30 %");
	const double same[10] = { 2, 2, 2, 2, 2, 2, 2, 2, 2, 2 };
	ok(isnan(estimate_student_above(same, 10)) && isnan(estimate_student_above(same, 1)), "no test of equal values or a single one");
}

/* The p-value of a mean is 1 - the level at which an end of the printed interval is 0. */
static void inversion(void)
{
	struct rng rng;
	rng_init(&rng, 3, "inversion", 0);
	double worst = 0;
	int n = 0;
	for (int i = 0; i < 200; i++) {
		double v[20], sense = i % 2 ? 1 : -1;
		for (int k = 0; k < 20; k++)
			v[k] = sense * (gsl_ran_lognormal(rng_gsl(&rng), 0, 1) - 0.6);
		double p = estimate_p_above(v, 20);
		if (p > 0.4)
			continue;
		struct interval at = estimate_mean(v, 20, ESTIMATE_REAL, 1 - 2 * p);
		worst = fmax(worst, fabs(at.low) / (at.high - at.low));
		n++;
	}
	ok(n > 50 && worst < 1e-9, "%d p-values: the interval of their level ends at 0 (within %.2g of its length)", n, worst);
}

/* ---- comparisons by hand ---- */

static struct comparison *compared(double v[MOST][N_MAX], size_t policies, size_t n, const struct compare_options *o)
{
	const double *value[MOST];
	for (size_t i = 0; i < policies; i++)
		value[i] = v[i];
	return compare_new(value, policies, n, o);
}

static const struct compare_options all = { .family = COMPARE_ALL, .level = 0.95 };

static double v[MOST][N_MAX];

/* Three policies: 1 and 2 differ by less than their noise, 0 is 10 above them. */
static void fill_three(struct rng *rng, size_t n)
{
	for (size_t k = 0; k < n; k++) {
		double common = 100 + 30 * rng_uniform(rng);
		v[0][k] = common + 10 + rng_uniform(rng);
		v[1][k] = common + rng_uniform(rng);
		v[2][k] = common + 0.01 + rng_uniform(rng);
	}
}

static void ranking(void)
{
	struct rng rng;
	rng_init(&rng, 1, "ranking", 0);
	fill_three(&rng, 20);
	struct comparison *c = compared(v, 3, 20, &all);
	ok(c->n_pairs == 3 && compare_pair_of(c, 2, 1)->a == 1 && compare_pair_of(c, 1, 2)->b == 2 &&
			compare_pair_of(c, 0, 2) == &c->pair[1],
		"three policies have three pairs");
	ok(compare_is_different(&c->pair[0]) && compare_is_different(&c->pair[1]) && c->pair[2].verdict == COMPARE_NOT_SHOWN,
		"common variation of 30 cancels: a difference of 10 is shown, one of 0.01 is not");
	ok(c->order[2] == 0 && c->policy[0].rank_low == 3 && c->policy[0].rank_high == 3, "the worst policy has rank 3");
	ok(c->policy[1].rank_low == 1 && c->policy[1].rank_high == 2 && c->policy[2].rank_low == 1 && c->policy[2].rank_high == 2,
		"the other two have ranks 1 to 2");
	ok(c->policy[0].is_best == 0 && fabs(c->policy[1].is_best + c->policy[2].is_best - 1) < 1e-12, "one of them is the best");
	ok(c->pair[0].difference.low < -10 && c->pair[0].difference.high > -10, "the interval contains the difference");
	compare_free(c);

	struct compare_options larger = all;
	larger.is_larger_better = true;
	c = compared(v, 3, 20, &larger);
	ok(c->order[0] == 0 && c->policy[0].rank_high == 1 && c->policy[0].is_best == 1, "where larger is better, it has rank 1");
	compare_free(c);

	struct compare_options first = all;
	first.family = COMPARE_FIRST;
	c = compared(v, 3, 20, &first);
	ok(c->n_pairs == 2 && c->pair[1].a == 0 && c->pair[1].b == 2 && !c->policy[0].rank_low && !compare_pair_of(c, 1, 2),
		"against the first: two pairs, no ranks");
	struct interval two = c->pair[0].difference;
	compare_free(c);
	double d[20];
	for (int k = 0; k < 20; k++)
		d[k] = v[1][k] - v[0][k];
	struct interval one = estimate_mean(d, 20, ESTIMATE_REAL, 0.975);
	ok(two.low == one.low && two.high == one.high, "two statements at 95 %% have intervals of 97.5 %%");
}

static void equivalence(void)
{
	struct rng rng;
	rng_init(&rng, 1, "ranking", 0);
	fill_three(&rng, 20);
	struct compare_options o = all;
	o.within = 2;
	struct comparison *c = compared(v, 3, 20, &o);
	ok(c->pair[2].verdict == COMPARE_EQUAL && c->pair[0].verdict == COMPARE_DIFFERENT, "within 2: equal, and different");
	compare_free(c);
	o.within = 12;
	c = compared(v, 3, 20, &o);
	ok(c->pair[0].verdict == COMPARE_BOTH, "within 12: different and equal");
	compare_free(c);
	o.within = 0.05;
	c = compared(v, 3, 20, &o);
	ok(c->pair[2].verdict == COMPARE_NOT_SHOWN && c->pair[2].p_equal_holm > 0.05, "within 0.05: nothing is shown");
	compare_free(c);
	o.within = 0.02;
	o.is_relative = true;
	c = compared(v, 3, 20, &o);
	ok(c->pair[2].verdict == COMPARE_EQUAL && c->pair[0].verdict == COMPARE_DIFFERENT, "within 2 %% of about 115");
	compare_free(c);
}

/* Differences without variance, rare differences, missing values, few replications. */
static void degenerate(void)
{
	for (size_t k = 0; k < 20; k++) {
		v[0][k] = (double)k;
		v[1][k] = (double)k;
		v[2][k] = (double)k + 1;
		v[3][k] = (double)k + (k < 2);
	}
	struct comparison *c = compared(v, 4, 20, &all);
	ok(compare_pair_of(c, 0, 1)->verdict == COMPARE_SAME, "equal policies are the same in each replication");
	ok(compare_pair_of(c, 0, 2)->verdict == COMPARE_DIFFERENT && fabs(compare_pair_of(c, 0, 2)->p - ldexp(1, -19)) < 1e-18,
		"a constant difference has the p-value of the sign test");
	ok(compare_pair_of(c, 0, 3)->verdict == COMPARE_NONE && isnan(compare_pair_of(c, 0, 3)->p_holm),
		"two differences of 20 give no test");
	ok(fabs(c->policy[0].is_best - c->policy[1].is_best) < 1e-12, "equal policies share the best place");
	compare_free(c);

	v[1][3] = NAN;
	c = compared(v, 3, 20, &all);
	ok(c->n_values == 19, "a replication without a value of one policy is excluded");
	compare_free(c);
	c = compared(v, 3, 10, &all);
	ok(c->n_values == 9 && !compare_is_possible(c) && isnan(c->pair[1].p) && isnan(c->pair[1].p_t) && !c->policy[0].rank_low &&
			isnan(c->pair[1].difference.low) && c->pair[1].difference.mean == 1,
		"nine replications give means, and no test");
	compare_free(c);
}

/* ---- probabilities ---- */

/* Of two policies with normal differences, mean m and error s, the bootstrap's share tends to Phi(m / s). */
static void best(void)
{
	struct rng rng;
	rng_init(&rng, 1, "best", 0);
	double sum = 0, squares = 0;
	for (size_t k = 0; k < N_MAX; k++) {
		v[0][k] = gsl_ran_gaussian(rng_gsl(&rng), 1);
		v[1][k] = v[0][k] + 0.02 + gsl_ran_gaussian(rng_gsl(&rng), 1);
		sum += v[1][k] - v[0][k];
		squares += pow(v[1][k] - v[0][k], 2);
	}
	double mean = sum / N_MAX, error = sqrt((squares / N_MAX - mean * mean) / N_MAX), want = gsl_cdf_ugaussian_P(mean / error);
	struct comparison *c = compared(v, 2, N_MAX, &all);
	ok(want > 0.1 && want < 0.9 && fabs(c->policy[0].is_best - want) < 0.02,
		"probability of being the best: %.3f, by the normal law %.3f", c->policy[0].is_best, want);
	compare_free(c);
}

/* Of 10 replications, policy 1 is better by 100 in one and worse by 1 in nine. It is the best of a resample that has this replication:
 * with probability 1 - 0.9^10. Policy 2 has the values of policy 1 and shares its places. */
static void best_by_hand(void)
{
	for (size_t k = 0; k < 10; k++) {
		v[0][k] = (double)k;
		v[1][k] = v[2][k] = (double)k + (k == 4 ? -100 : 1);
	}
	struct comparison *c = compared(v, 3, 10, &all);
	double want = (1 - pow(0.9, 10)) / 2;
	ok(fabs(c->policy[1].is_best - want) < 0.015 && c->policy[1].is_best == c->policy[2].is_best,
		"one replication decides: %.3f, %.3f by hand", c->policy[1].is_best, want);
	near_to(c->policy[0].is_best + 2 * c->policy[1].is_best, 1, 1e-9, "the shares add up to 1");
	compare_free(c);
}

/* Rates of errors over studies. */
struct rates {
	int n, family, uncovered, power, best_wrong;
};

/* Fills in n replications of `policies` policies: a common part, noise of standard deviation 1, and a shift of the last policy. */
static void fill_study(struct rng *rng, size_t policies, size_t n, double shift)
{
	for (size_t k = 0; k < n; k++) {
		double common = 20 + 5 * gsl_ran_gaussian(rng_gsl(rng), 1);
		for (size_t i = 0; i < policies; i++)
			v[i][k] = common + gsl_ran_gaussian(rng_gsl(rng), 1) + (i + 1 == policies ? shift : 0);
	}
}

static void count_pairs(struct rates *r, const struct comparison *c, double shift)
{
	bool has_error = false, is_uncovered = false;
	for (size_t i = 0; i < c->n_pairs; i++) {
		const struct compare_pair *p = &c->pair[i];
		double is = p->b + 1 == c->n_policies ? shift : 0;
		has_error |= is == 0 && compare_is_different(p);
		is_uncovered |= p->difference.low > is || p->difference.high < is;
		r->power += is != 0 && compare_is_different(p);
	}
	r->family += has_error;
	r->uncovered += is_uncovered;
}

static struct rates study(int studies, size_t policies, size_t n, double shift, enum compare_family family)
{
	struct rates r = { .n = studies };
	for (int i = 0; i < r.n; i++) {
		struct rng rng;
		struct compare_options o = { .family = family, .level = 0.95 };
		rng_init(&rng, 7, "study", (uint64_t)i);
		fill_study(&rng, policies, n, shift);
		struct comparison *c = compared(v, policies, n, &o);
		count_pairs(&r, c, shift);
		bool is_wrong = false;
		for (size_t k = 0; family == COMPARE_BEST && k < policies; k++) {
			double is = k + 1 == policies || policies == 1 ? shift : -fmin(shift, 0);
			is_wrong |= c->policy[k].to_best.low > is || c->policy[k].to_best.high < is;
		}
		r.best_wrong += is_wrong;
		compare_free(c);
	}
	return r;
}

/* Lower end of the 99 % interval of a share (Clopper and Pearson). */
static double low_of(int k, int n)
{
	return k ? gsl_cdf_beta_Pinv(0.005, k, n - k + 1) : 0;
}

static void families(void)
{
	struct rates r = study(1000, MOST, 10, 0, COMPARE_ALL);
	ok(low_of(r.family, r.n) <= 0.05, "8 equal policies, 10 replications: %d of %d studies show a difference", r.family, r.n);
	ok(low_of(r.uncovered, r.n) <= 0.05, "%d of them have an interval without the true difference", r.uncovered);
	/* A difference of 1.8 standard deviations of a policy's own noise is 1.27 of the paired difference. */
	r = study(200, MOST, 20, -1.8, COMPARE_ALL);
	ok(r.power >= 0.8 * (MOST - 1) * r.n,
		"one policy better by 1.27 standard deviations of a difference, 20 replications: %.1f %% of its pairs",
		100.0 * r.power / (MOST - 1) / r.n);
	ok(low_of(r.family, r.n) <= 0.05, "%d of %d studies show a difference between equal policies", r.family, r.n);
	r = study(200, MOST, 20, 0, COMPARE_FIRST);
	ok(low_of(r.family, r.n) <= 0.05, "against the first: %d of %d", r.family, r.n);
	r = study(200, MOST, 20, 0, COMPARE_BEST);
	ok(low_of(r.best_wrong, r.n) <= 0.05, "against the best, all equal: %d of %d have a wrong interval", r.best_wrong, r.n);
	r = study(200, MOST, 20, -0.5, COMPARE_BEST);
	ok(low_of(r.best_wrong, r.n) <= 0.05, "against the best, one better: %d of %d", r.best_wrong, r.n);
}

/* A difference at the bound is called equal in at most 5 % of the studies. */
static void false_equivalence(void)
{
	enum { STUDIES = 300 };
	int wrong = 0, right = 0;
	for (int i = 0; i < STUDIES; i++) {
		struct rng rng;
		struct compare_options o = { .family = COMPARE_ALL, .level = 0.95, .within = 0.1, .is_relative = true };
		rng_init(&rng, 7, "equal", (uint64_t)i);
		fill_study(&rng, 2, 20, 2); /* 10 % of 20 */
		struct comparison *c = compared(v, 2, 20, &o);
		wrong += c->pair[0].verdict == COMPARE_EQUAL || c->pair[0].verdict == COMPARE_BOTH;
		compare_free(c);
		fill_study(&rng, 2, 20, 0);
		c = compared(v, 2, 20, &o);
		right += c->pair[0].verdict == COMPARE_EQUAL;
		compare_free(c);
	}
	ok(low_of(wrong, STUDIES) <= 0.05, "a difference at the bound is called equal in %d of %d studies", wrong, STUDIES);
	ok(right >= 0.8 * STUDIES, "equal policies, bound of 1.4 standard deviations of a difference: %d of %d are called equal", right,
		STUDIES);
}

int main(void)
{
	holm();
	student();
	inversion();
	ranking();
	equivalence();
	degenerate();
	best();
	best_by_hand();
	families();
	false_equivalence();
	return done();
}
