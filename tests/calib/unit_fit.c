/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * unit_fit.c - fits recover the law of the points, with correct intervals
 *
 * Points are generated from a known law with seeded noise, so every expected value is the law's own. The 95 % intervals must
 * contain the true parameter in 90 to 98 % of all cases, pooled over a form's parameters and 200 seeds.
 */
#include "calib/fit.h"

#include "tests/tap.h"

#include "base/mem.h"

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_randist.h>
#include <stdlib.h>

enum { POINTS = 80, FEW = 10 };

static const struct law truth_roofline = { .form = FORM_ROOFLINE, .n_params = 4, .param = { 8e-6, 12e12, 6e11, 2.5 } };
static const struct law truth_line = { .form = FORM_LINE, .n_params = 2, .param = { 3e-6, 12e9 } };
static const struct law truth_cached = { .form = FORM_CACHED, .n_params = 4, .param = { 1e-6, 150e9, 35e9, 32e6 } };
static const struct law truth_envelope = { .form = FORM_ENVELOPE, .n_params = 6, .param = { 35e-6, 2e9, 70e-6, 20e9, 200e-6, 120e9 } };

static uint32_t seeds(void)
{
	const char *is_slow = getenv("ORR_SANITIZED");
	return is_slow && *is_slow == '1' ? 30 : 200;
}

/* Makes n sizes and shapes that determine every term. noise: standard deviation of log time; outliers: number of points with twice the
 * time. */
static void make(const struct law *truth, int n, uint64_t seed, double noise, double outliers, struct point *x, const struct point **list)
{
	gsl_rng *r = gsl_rng_alloc(gsl_rng_mt19937);
	gsl_rng_set(r, seed);
	for (int i = 0; i < n; i++) {
		x[i] = (struct point){ .low_s = NAN, .high_s = NAN, .cv = NAN };
		snprintf(x[i].family, sizeof x[i].family, "%s", truth->form == FORM_ROOFLINE ? "gemm" : "collective");
		if (truth->form == FORM_CACHED) {
			x[i].bytes = 16384 * pow(2, 15 * (i + gsl_rng_uniform(r)) / n);
		} else if (truth->form == FORM_ROOFLINE) {
			x[i].flops = 1e6 * pow(1e6, gsl_rng_uniform(r));
			x[i].bytes = x[i].flops / pow(1000, gsl_rng_uniform(r));
			x[i].d[0] = i;
		} else {
			x[i].size = 256 * pow(2, 22 * (i + gsl_rng_uniform(r)) / n);
		}
		double t = law_time(truth, x[i].flops, x[i].bytes, x[i].size, NULL), e = gsl_ran_gaussian(r, noise);
		x[i].time_s = t * exp(e) * (gsl_rng_uniform(r) < outliers ? 2 : 1);
		list[i] = &x[i];
	}
	gsl_rng_free(r);
}

/* ---- coverage ---- */

static void check_coverage(const struct law *truth, int n, const char *name, double noise, double outliers)
{
	static struct point x[POINTS];
	const struct point *list[POINTS];
	uint32_t inside = 0, asked = 0, left_out = 0, by_param[LAW_PARAMS] = { 0 };
	double t = gsl_cdf_tdist_Pinv(0.975, n - (int)truth->n_params);
	for (uint32_t seed = 1; seed <= seeds(); seed++) {
		struct law l;
		make(truth, n, seed, noise, outliers, x, list);
		if (fit_law(truth->form, list, (uint32_t)n, &l, NULL))
			continue;
		for (uint32_t k = 0; k < truth->n_params; k++) {
			double sd = sqrt(l.covariance[k][k]), off = fabs(log(l.param[k] / truth->param[k]));
			left_out += !(sd > 0);
			asked += sd > 0;
			inside += sd > 0 && off <= t * sd;
			by_param[k] += sd > 0 && off <= t * sd;
		}
		fit_law_free(&l);
	}
	double share = asked ? (double)inside / asked : 0, slack = seeds() < 200 ? 0.05 : 0; /* fewer seeds, wider bounds */
	printf("# %s:", name);
	for (uint32_t k = 0; k < truth->n_params; k++)
		printf(" %.1f", 100.0 * by_param[k] / seeds());
	printf(" %% by parameter, %u of %u not identified\n", left_out, left_out + asked);
	ok(share >= 0.90 - slack && share <= 0.98 + slack, "%s: true parameters lie in their 95 %% intervals in %.1f %% of %u cases", name,
		100 * share, asked);
	ok(left_out * 20 <= left_out + asked, "%s: nearly all parameters are identified", name);
}

/* ---- exactness ---- */

static void check_exact(const struct law *truth, const char *name)
{
	static struct point x[POINTS];
	const struct point *list[POINTS];
	struct law l;
	double worst = 0;
	make(truth, POINTS, 7, 0, 0, x, list);
	int rc = fit_law(truth->form, list, POINTS, &l, NULL);
	for (uint32_t k = 0; !rc && k < truth->n_params; k++)
		worst = fmax(worst, fabs(l.param[k] / truth->param[k] - 1));
	ok(!rc && worst < 1e-4 && l.mean_error < 1e-4, "%s: without noise the fit recovers the law (largest error of a parameter %.1e)",
		name, worst);
	fit_law_free(&l);
}

/* One point in ten takes three times as long. Such outliers would shift a mean; the fit must resist them. */
static void check_outliers(void)
{
	static struct point x[POINTS];
	const struct point *list[POINTS];
	struct law l;
	make(&truth_roofline, POINTS, 11, 0.02, 0, x, list);
	for (int i = 0; i < POINTS; i += 10)
		x[i].time_s *= 3;
	int rc = fit_law(FORM_ROOFLINE, list, POINTS, &l, NULL);
	ok(!rc && fabs(l.param[1] / 12e12 - 1) < 0.03 && fabs(l.param[2] / 6e11 - 1) < 0.03,
		"outliers do not change the fitted rates: %.2f TFLOP/s, %.0f GB/s", l.param[1] / 1e12, l.param[2] / 1e9);
	ok(!rc && l.sigma < 0.05 && l.median_error < 0.03 && l.p90_error > 0.1,
		"sigma and median error exclude the outliers, and the 90 %% error shows them");
	fit_law_free(&l);
}

/*
 * In a noisy run every interval is wide. A point with too few calls for an interval has twice the time; the fit must not treat it as
 * exact. Weights are relative, so uniformly wide intervals leave the law unchanged.
 */
static void check_intervals(void)
{
	static struct point x[POINTS];
	const struct point *list[POINTS];
	struct law l;
	make(&truth_roofline, POINTS, 17, 0.02, 0, x, list);
	for (int i = 0; i < POINTS; i++) {
		bool is_known = i % 8 != 0;
		x[i].low_s = is_known ? x[i].time_s / 2.5 : NAN;
		x[i].high_s = is_known ? x[i].time_s * 2.5 : NAN;
		x[i].time_s *= is_known ? 1 : 2;
	}
	int rc = fit_law(FORM_ROOFLINE, list, POINTS, &l, NULL);
	ok(!rc && fabs(l.param[0] / 8e-6 - 1) < 0.05 && fabs(l.param[1] / 12e12 - 1) < 0.03 && fabs(l.param[2] / 6e11 - 1) < 0.03,
		"points without an interval do not outweigh those with a wide one: %.2f us, %.2f TFLOP/s, %.0f GB/s", 1e6 * l.param[0],
		l.param[1] / 1e12, l.param[2] / 1e9);
	fit_law_free(&l);
}

/* Tests that the fitted law is independent of the order of the points. */
static void check_order(void)
{
	static struct point x[POINTS];
	const struct point *list[POINTS], *back[POINTS];
	struct law a, b;
	make(&truth_roofline, POINTS, 13, 0.08, 0.05, x, list);
	for (int i = 0; i < POINTS; i++)
		back[i] = list[POINTS - 1 - i];
	int rc = fit_law(FORM_ROOFLINE, list, POINTS, &a, NULL) + fit_law(FORM_ROOFLINE, back, POINTS, &b, NULL);
	double worst = 0;
	for (int k = 0; k < 4; k++)
		worst = fmax(worst, fabs(a.param[k] / b.param[k] - 1));
	ok(!rc && worst < 1e-3, "points in another order give the same law (%.1e)", worst);
	fit_law_free(&a);
	fit_law_free(&b);
}

/* Compute-bound kernels do not determine the memory rate; memory-bound kernels do not determine the FLOP rate. */
static void check_left_out(void)
{
	static struct point x[POINTS];
	const struct point *list[POINTS];
	struct law l;
	make(&truth_roofline, POINTS, 17, 0.02, 0, x, list);
	for (int i = 0; i < POINTS; i++) {
		x[i].bytes = x[i].flops / (1e4 * (1 + i % 7));
		x[i].time_s = (8e-6 + x[i].flops / 12e12) * exp(0.02 * sin(i));
	}
	int rc = fit_law(FORM_ROOFLINE, list, POINTS, &l, NULL);
	ok(!rc && fabs(l.param[1] / 12e12 - 1) < 0.02 && (isinf(l.param[1]) || isinf(l.param[2])),
		"a rate that no point determines is left out");
	fit_law_free(&l);
	for (int i = 0; i < POINTS; i++) {
		x[i].flops = 0;
		x[i].time_s = 2e-6 + x[i].bytes / 6e11;
	}
	rc = fit_law(FORM_ROOFLINE, list, POINTS, &l, NULL);
	ok(!rc && isinf(l.param[1]) && fabs(l.param[2] / 6e11 - 1) < 1e-3 && isnan(l.from[0]),
		"without FLOPs there is no FLOP rate, and no range of them");
	fit_law_free(&l);
}

/* ---- profiles ---- */

static char *as_text(const struct profile *p, size_t *n)
{
	char *text = NULL;
	FILE *f = open_memstream(&text, n);
	profile_write(p, f, NULL);
	fclose(f);
	return text;
}

static void add(struct points *p, const char *family, const char *op, const char *variant, double time_s)
{
	struct point x = { .time_s = time_s, .low_s = NAN, .high_s = NAN, .cv = NAN };
	snprintf(x.family, sizeof x.family, "%s", family);
	snprintf(x.op, sizeof x.op, "%s", op);
	snprintf(x.variant, sizeof x.variant, "%s", variant);
	points_add(p, &x);
}

static void check_profile(void)
{
	static struct point x[POINTS];
	const struct point *list[POINTS];
	struct points p = { 0 };
	struct orr_error err = { 0 };
	make(&truth_roofline, POINTS, 19, 0.03, 0, x, list);
	for (int i = 0; i < POINTS; i++) {
		snprintf(x[i].variant, sizeof x[i].variant, i % 2 ? "tn" : "nn");
		snprintf(x[i].precision, sizeof x[i].precision, "fp32");
		x[i].is_held_out = i % 8 == 0;
		points_add(&p, &x[i]);
	}
	add(&p, "interference", "gemm", "alone", 100e-6);
	add(&p, "interference", "gemm", "with-copy", 130e-6);
	add(&p, "launch", "single", "", 5e-6);
	for (int i = 0; i < 3; i++) { /* 4 us + bytes / 400 GB/s */
		add(&p, "memory", "copy", "", 4e-6 + 1e5 * pow(100, i) / 400e9);
		p.v[p.n - 1].bytes = 1e5 * pow(100, i);
	}
	const struct fit_options o = { .keep_points = true, .device = "nowhere", .source = "made up", .backend = "synthetic" };
	struct profile *a = fit_profile(&p, &o, &err), *b = fit_profile(&p, &o, &err);
	ok(a && b, "a profile is fitted%s%s", *err.text ? ": " : "", err.text);
	size_t n = 0, m = 0;
	char *one = as_text(a, &n), *two = as_text(b, &m);
	ok(n == m && !memcmp(one, two, n), "the same points give the same bytes");
	struct profile *read = profile_parse("fitted", one, n, &err);
	ok(read != NULL, "the written profile loads%s%s", *err.text ? ": " : "", err.text);
	const struct law *all = a ? profile_law(a, "gemm", "", "fp32", "", 0, 0) : NULL,
			 *nn = a ? profile_law(a, "gemm", "", "fp32", "nn", 0, 0) : NULL;
	ok(all && nn && all != nn && all->points == 70 && all->held_out == 10 && nn->held_out == 10 && nn->points == 30,
		"each variant has a law, and one law covers all; held-out points are not fitted");
	ok(all && all->held_out_median < 0.06 && all->n_points == POINTS, "held-out points test the law");
	const struct law *slow = a ? profile_law(a, "interference", "gemm", "", "with-copy", 0, 0) : NULL;
	ok(slow && fabs(slow->param[0] - 1.3) < 1e-6, "the law of interference is the slowdown 1.3: 130 us beside a copy, 100 us alone");
	const struct law *launch = a ? profile_law(a, "launch", "single", "", "", 0, 0) : NULL;
	ok(launch && fabs(law_time(launch, 0, 0, 0, NULL) - 5e-6) < 1e-12, "the law of a launch is a time");
	const struct law *copy = a ? profile_law(a, "memory", "copy", "", "", 0, 0) : NULL;
	ok(copy && fabs(copy->param[0] / 4e-6 - 1) < 0.01 && fabs(copy->param[2] / 400e9 - 1) < 0.01,
		"three sizes are enough for a memory-bound kernel");
	free(one);
	free(two);
	profile_free(read);
	profile_free(a);
	profile_free(b);
	points_free(&p);
}

int main(void)
{
	check_exact(&truth_roofline, "roofline");
	check_exact(&truth_line, "line");
	check_exact(&truth_cached, "cached");
	check_exact(&truth_envelope, "envelope");
	check_outliers();
	check_intervals();
	check_order();
	check_left_out();
	check_profile();
	check_coverage(&truth_roofline, POINTS, "roofline, 5 % noise", 0.05, 0);
	check_coverage(&truth_roofline, POINTS, "roofline, 5 % noise and outliers", 0.05, 0.03);
	check_coverage(&truth_line, POINTS, "line, 3 % noise", 0.03, 0);
	check_coverage(&truth_cached, POINTS, "cached, 3 % noise", 0.03, 0);
	check_coverage(&truth_envelope, POINTS, "envelope, 2 % noise", 0.02, 0);
	check_coverage(&truth_roofline, FEW, "roofline, 2 % noise, few points", 0.02, 0);
	check_coverage(&truth_line, FEW, "line, 3 % noise, few points", 0.03, 0);
	check_coverage(&truth_cached, FEW, "cached, 3 % noise, few points", 0.03, 0);
	return done();
}
