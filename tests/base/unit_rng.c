/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/rng.h"

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_randist.h>
#include <stdlib.h>

#include "tests/tap.h"

/* Expected: the authors' reference xoshiro256plusplus.c from the state 1, 2, 3, 4
 * (also the test vector of the Rust crate rand_xoshiro). */
static void reference_vector(void)
{
	static const uint64_t want[] = { UINT64_C(41943041), UINT64_C(58720359), UINT64_C(3588806011781223), UINT64_C(3591011842654386),
		UINT64_C(9228616714210784205), UINT64_C(9973669472204895162), UINT64_C(14011001112246962877),
		UINT64_C(12406186145184390807), UINT64_C(15849039046786891736), UINT64_C(10450023813501588000) };
	struct rng r;
	rng_init(&r, 0, "", 0);
	for (uint64_t i = 0; i < 4; i++)
		r.s[i] = i + 1;
	bool is_same = true;
	for (size_t i = 0; i < sizeof want / sizeof *want; i++)
		is_same = is_same && rng_u64(&r) == want[i];
	ok(is_same, "xoshiro256++ gives the numbers of the reference");
}

/* Expected: SplitMix64 from 1234567, from the reference splitmix64.c. The first output
 * after gsl_rng_set() shows the seeded state. */
static void seeding(void)
{
	struct rng r, by_hand;
	rng_init(&r, 0, "", 0);
	rng_init(&by_hand, 0, "", 0);
	gsl_rng_set(rng_gsl(&r), 1234567);
	static const uint64_t splitmix[4] = { UINT64_C(6457827717110365317), UINT64_C(3203168211198807973), UINT64_C(9817491932198370423),
		UINT64_C(4593380528125082431) };
	memcpy(by_hand.s, splitmix, sizeof splitmix);
	ok(rng_u64(&r) == rng_u64(&by_hand), "gsl_rng_set() seeds by SplitMix64");
}

static void streams(void)
{
	struct rng a, b;
	rng_init(&a, 7, "arrivals", 3);
	rng_init(&b, 7, "arrivals", 3);
	ok(rng_u64(&a) == rng_u64(&b), "a stream is a function of seed, name and index");
	static const struct {
		uint64_t seed, index;
		const char *name, *what;
	} others[] = { { 8, 3, "arrivals", "seed" }, { 7, 4, "arrivals", "index" }, { 7, 3, "preemption", "name" },
		{ 3, 7, "arrivals", "exchanging seed and index gives another stream" } };
	for (size_t k = 0; k < sizeof others / sizeof *others; k++) {
		int equal_bits = 0;
		rng_init(&a, 7, "arrivals", 3);
		rng_init(&b, others[k].seed, others[k].name, others[k].index);
		for (int i = 0; i < 1000; i++)
			equal_bits += 64 - __builtin_popcountll(rng_u64(&a) ^ rng_u64(&b));
		/* Two unrelated streams agree in half of the 64000 bits: 32000, within 5 standard deviations of 126.5. */
		ok(equal_bits > 31367 && equal_bits < 32633, "another %s gives an unrelated stream", others[k].what);
	}
}

/* Replications use consecutive indices: the correlation of their uniforms is
 * 0 +- 5/sqrt(n). */
static void neighbours(void)
{
	enum { PAIRS = 200, N = 1000 };
	double sum = 0;
	for (uint64_t k = 0; k < PAIRS; k++) {
		struct rng a, b;
		rng_init(&a, 1, "replica", k);
		rng_init(&b, 1, "replica", k + 1);
		for (int i = 0; i < N; i++)
			sum += (rng_uniform(&a) - 0.5) * (rng_uniform(&b) - 0.5) * 12;
	}
	double correlation = sum / (PAIRS * N);
	ok(fabs(correlation) < 5 / sqrt(PAIRS * N), "streams of neighbouring indices are uncorrelated (%.5f)", correlation);
}

/* Tests that the first outputs over many indices are uniform: chi-squared over 256 bins, with a probability of 1e-6 on each side. */
static void first_outputs(void)
{
	enum { BINS = 256, N = 100000 };
	int bin[BINS] = { 0 };
	for (uint64_t k = 0; k < N; k++) {
		struct rng r;
		rng_init(&r, 42, "first", k);
		bin[rng_u64(&r) >> 56]++;
	}
	double chi2 = 0, want = (double)N / BINS;
	for (int i = 0; i < BINS; i++)
		chi2 += (bin[i] - want) * (bin[i] - want) / want;
	ok(chi2 > gsl_cdf_chisq_Pinv(1e-6, BINS - 1) && chi2 < gsl_cdf_chisq_Qinv(1e-6, BINS - 1),
		"the first outputs of 100000 streams are uniform (chi-squared %.1f)", chi2);
}

/* Expected: the moments of each distribution; tolerance 5 standard errors. */
static void moments(const char *what, double (*draw)(struct rng *), double mean, double variance, double fourth_moment)
{
	enum { N = 1000000 };
	struct rng r;
	rng_init(&r, 5, what, 0);
	double sum = 0, squares = 0;
	for (int i = 0; i < N; i++) {
		double x = draw(&r);
		sum += x;
		squares += (x - mean) * (x - mean);
	}
	double mean_error = 5 * sqrt(variance / N);
	double variance_error = 5 * sqrt((fourth_moment - variance * variance) / N);
	ok(fabs(sum / N - mean) < mean_error, "mean of %s: %.5f", what, sum / N);
	ok(fabs(squares / N - variance) < variance_error, "variance of %s: %.5f", what, squares / N);
}

static double exponential(struct rng *r)
{
	return rng_exponential(r, 2);
}

static double gsl_exponential(struct rng *r)
{
	return gsl_ran_exponential(rng_gsl(r), 2);
}

static double gsl_normal(struct rng *r)
{
	return gsl_ran_gaussian_ziggurat(rng_gsl(r), 1);
}

static double gsl_poisson(struct rng *r)
{
	return gsl_ran_poisson(rng_gsl(r), 4);
}

static double gsl_die(struct rng *r)
{
	return (double)gsl_rng_uniform_int(rng_gsl(r), 6);
}

static double below_six(struct rng *r)
{
	return (double)rng_below(r, 6);
}

static void ranges(void)
{
	struct rng r;
	rng_init(&r, 1, "ranges", 0);
	bool is_inside = true;
	for (int i = 0; i < 100000; i++) {
		double u = rng_uniform(&r), p = rng_uniform_pos(&r);
		is_inside = is_inside && u >= 0 && u < 1 && p > 0 && p < 1 && rng_below(&r, 3) < 3;
	}
	ok(is_inside, "draws lie in their ranges");
	ok(rng_below(&r, 1) == 0, "the only draw below 1 is 0");
	/* The smallest output of the generator is 0: rotl(s[0] + s[3]) + s[0] with s[0] = s[3] = 0. */
	memset(r.s, 0, sizeof r.s);
	r.s[1] = 1;
	ok(rng_uniform_pos(&r) > 0, "the smallest positive uniform is not 0");
	/* The largest output of the generator has all bits set: s[0] = 2^64 - 1 and s[3] = 1 give rotl(0) + s[0]. */
	r.s[0] = UINT64_MAX;
	r.s[3] = 1;
	struct rng copy = r;
	ok(rng_u64(&copy) == UINT64_MAX && rng_uniform_pos(&r) < 1, "the largest positive uniform is not 1");
	r.s[0] = UINT64_MAX;
	r.s[3] = 1;
	ok(rng_uniform(&r) < 1, "the largest uniform is not 1");
}

/* For n = 3 * 2^62, a plain 64-bit modulo would draw the lower third of the range twice as often. The lower half has probability 1/2;
 * the tolerance is 5 standard deviations of 1e5 draws. */
static void no_bias(void)
{
	struct rng r;
	rng_init(&r, 1, "bias", 0);
	const uint64_t n = UINT64_C(3) << 62;
	int low = 0;
	for (int i = 0; i < 100000; i++)
		low += rng_below(&r, n) < n / 2;
	ok(abs(low - 50000) < 5 * 158, "large ranges are drawn without bias (%d of 100000)", low);
	/* For n = 3/4 * 2^64, scaling without rejection would draw one in three numbers twice as often. Each residue modulo 3 has
	 * probability 1/3; the tolerance is 5 standard deviations of 149. */
	int residue[3] = { 0 };
	for (int i = 0; i < 100000; i++)
		residue[rng_below(&r, n) % 3]++;
	ok(abs(residue[0] - 33333) < 5 * 149 && abs(residue[1] - 33333) < 5 * 149,
		"neighbouring values of a large range are equally likely (%d, %d, %d)", residue[0], residue[1], residue[2]);
}

int main(void)
{
	reference_vector();
	seeding();
	streams();
	neighbours();
	first_outputs();
	moments("rng_exponential", exponential, 2, 4, 9 * 16);
	moments("gsl_ran_exponential", gsl_exponential, 2, 4, 9 * 16);
	moments("gsl_ran_gaussian_ziggurat", gsl_normal, 0, 1, 3);
	moments("gsl_ran_poisson", gsl_poisson, 4, 4, 4 * (1 + 3 * 4));
	moments("gsl_rng_uniform_int", gsl_die, 2.5, 35.0 / 12, 14.729167);
	moments("rng_below", below_six, 2.5, 35.0 / 12, 14.729167);
	moments("rng_uniform", rng_uniform, 0.5, 1.0 / 12, 1.0 / 80);
	ranges();
	no_bias();
	return done();
}
