/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * unit_laws.c - one law at a time, against closed forms: models and derivatives, errors, factors, tables, ranges, anchors,
 * cross-validation; then which laws a profile has for given points
 */
#include "calib/fit.h"
#include "calib/fit_nls.h"
#include "calib/fit_starts.h"

#include "tests/tap.h"

#include "base/mem.h"

#include <stdlib.h>

enum { MOST = 64 };

static struct point x[MOST];
static const struct point *list[MOST];

static void set(size_t i, double flops, double bytes, double size, double time_s)
{
	x[i] = (struct point){ .flops = flops, .bytes = bytes, .size = size, .time_s = time_s, .low_s = NAN, .high_s = NAN, .cv = NAN };
	list[i] = &x[i];
}

/* ---- models ---- */

static struct nls problem(enum profile_form form, size_t n, double (*features)[LAW_FEATURES], double *y, double *weight)
{
	for (size_t i = 0; i < n; i++) {
		features[i][0] = x[i].flops, features[i][1] = x[i].bytes, features[i][2] = x[i].size;
		y[i] = log(x[i].time_s);
		weight[i] = 1;
	}
	return (struct nls){ form, n, (const double(*)[LAW_FEATURES])features, y, weight };
}

/* Tests that the logarithm of each law equals that of law_time(), and that its derivatives equal difference quotients. */
static void check_models(void)
{
	static const struct law laws[] = {
		{ .form = FORM_ROOFLINE, .n_params = 4, .param = { 8e-6, 12e12, 6e11, 2.5 } },
		{ .form = FORM_ROOFLINE, .n_params = 4, .param = { 8e-6, INFINITY, 6e11, 1 } },
		{ .form = FORM_ROOFLINE, .n_params = 4, .param = { 8e-6, 12e12, INFINITY, 1 } },
		{ .form = FORM_LINE, .n_params = 2, .param = { 3e-6, 12e9 } },
		{ .form = FORM_CACHED, .n_params = 4, .param = { 1e-6, 150e9, 35e9, 32e6 } },
		{ .form = FORM_ENVELOPE, .n_params = 6, .param = { 35e-6, 2e9, 70e-6, 20e9, 200e-6, 120e9 } },
		{ .form = FORM_ENVELOPE, .n_params = 6, .param = { 35e-6, 2e9, 70e-6, INFINITY, INFINITY, INFINITY } },
	};
	double features[MOST][LAW_FEATURES], y[MOST], weight[MOST];
	for (size_t l = 0; l < sizeof laws / sizeof *laws; l++) {
		double theta[LAW_PARAMS], g[LAW_PARAMS], value = 0, slope = 0;
		for (size_t i = 0; i < 24; i++)
			set(i, i % 5 ? 1e6 * pow(2, (double)i) : 0, i % 7 ? 1e7 * pow(1.3, (double)i) : 0, 1e3 * pow(2, (double)i), 1);
		struct nls q = problem(laws[l].form, 24, features, y, weight);
		for (uint32_t k = 0; k < laws[l].n_params; k++)
			theta[k] = log(laws[l].param[k]);
		for (size_t i = 0; i < 24; i++) {
			double t = law_time(&laws[l], x[i].flops, x[i].bytes, x[i].size, NULL);
			value = fmax(value, fabs(nls_model(&q, theta, i, g) - log(t)));
			for (uint32_t k = 0; k < laws[l].n_params; k++) {
				double up[LAW_PARAMS], down[LAW_PARAMS];
				if (isinf(theta[k]))
					continue;
				memcpy(up, theta, sizeof up);
				memcpy(down, theta, sizeof down);
				up[k] += 1e-5, down[k] -= 1e-5;
				slope = fmax(slope, fabs((nls_model(&q, up, i, NULL) - nls_model(&q, down, i, NULL)) / 2e-5 - g[k]));
			}
		}
		ok(value < 1e-12, "%s %zu: the model is the law", law_form_name(laws[l].form), l);
		ok(slope < 1e-6, "%s %zu: its derivatives", law_form_name(laws[l].form), l);
	}
}

/* If the start-up time is the only parameter, every derivative is 1. Loss, scale and variance then have closed forms. */
static void check_sandwich(void)
{
	static const double times[] = { 1, 1.1, 0.9, 1.3, 2 };
	double features[MOST][LAW_FEATURES], y[MOST], weight[MOST], c = 0.1, loss = 0, slope = 0, meat = 0, sum = 0;
	for (size_t i = 0; i < 5; i++)
		set(i, 0, 0, 0, times[i]);
	struct nls q = problem(FORM_LINE, 5, features, y, weight);
	weight[3] = 0.5;
	struct nls_fit f = { .theta = { 0.02, INFINITY } };
	nls_descend(&q, &f, c, NLS_FULL);
	for (size_t i = 0; i < 5; i++)
		loss += weight[i] * c * c * log(1 + pow((0.02 - y[i]) / c, 2));
	ok(f.theta[0] == 0.02, "without free parameters the fit changes nothing");
	near_to(f.loss, loss, 1e-12, "Cauchy's loss");
	/* The absolute residuals are 0.020, 0.075, 0.125, 0.242 and 0.673. Their median is log(1 / 0.9) + 0.02 = 0.125. */
	near_to(f.sigma, 1.4826 * (0.02 - log(0.9)), 1e-12, "sigma from the median of the residuals");
	ok(nls_covariance(&q, &f, c) && f.covariance[0][0] == 0, "no free parameter: no variance");
	f.is_free[0] = true;
	nls_descend(&q, &f, c, NLS_FULL);
	double step = 0;
	for (size_t i = 0; i < 5; i++) {
		double r = f.theta[0] - y[i], u2 = r * r / (c * c);
		step += weight[i] * r / (1 + u2);
	}
	ok(fabs(step) < 1e-6, "at the minimum the weighted residuals add up to 0");
	double r[5], sorted[5];
	for (size_t i = 0; i < 5; i++)
		r[i] = sorted[i] = fabs(f.theta[0] - y[i]);
	for (size_t i = 0; i < 5; i++)
		for (size_t k = i + 1; k < 5; k++)
			if (sorted[k] < sorted[i]) {
				double t = sorted[i];
				sorted[i] = sorted[k];
				sorted[k] = t;
			}
	near_to(f.sigma, 1.4826 * sorted[2] * sqrt(5 / 4.0), 1e-12, "one parameter: sigma is enlarged by sqrt(5 / 4)");
	for (size_t i = 0; i < 5; i++) {
		double u2 = r[i] * r[i] / (c * c);
		slope += weight[i] * (1 - u2) / ((1 + u2) * (1 + u2));
		sum += weight[i];
	}
	slope = fmax(0.05, slope / sum);
	for (size_t i = 0; i < 5; i++) {
		double psi = weight[i] * r[i] / (1 + r[i] * r[i] / (c * c));
		meat += psi * psi / pow(1 - weight[i] / sum, 2);
	}
	ok(nls_covariance(&q, &f, c), "one parameter has a variance");
	near_to(f.covariance[0][0] / (meat / (sum * sum * slope * slope)), 1, 1e-9, "the sandwich of one parameter, with HC3 residuals");
	q.n = 1;
	ok(!nls_covariance(&q, &f, c), "one point does not determine the variance of one parameter");
}

/* Tests the starting points of the fits. Those of rooflines and lines lie around the fastest point and the highest rates; those of
 * envelopes are lines through the best partition. */
static void check_starts(void)
{
	double features[MOST][LAW_FEATURES], y[MOST], weight[MOST], start[MAX_STARTS][LAW_PARAMS];
	for (size_t i = 0; i < 20; i++)
		set(i, 1e9 * (double)(i + 1), 1e6, 1e6 * (double)(i + 1), 1e-3);
	struct nls q = problem(FORM_ROOFLINE, 20, features, y, weight);
	uint32_t n = fit_starts(&q, start), wrong = 0;
	for (uint32_t i = 0; i < n; i++) {
		/* The points have 1 to 20 TFLOP/s and 1 GB/s; the highest FLOP rate may be an outlier. */
		wrong += exp(start[i][0]) >= 1e-3 || exp(start[i][1]) < 19e12 * 1.05 || exp(start[i][1]) > 19e12 * 3 ||
			 exp(start[i][2]) < 1.05e9 || exp(start[i][2]) > 3e9 || exp(start[i][3]) < 0.99 || exp(start[i][3]) > 4.01;
		for (uint32_t k = 0; k < i; k++)
			wrong += !memcmp(start[i], start[k], 4 * sizeof(double));
	}
	ok(n == 16 && wrong == 0, "a roofline has 16 starts: times below the least, rates above the observed ones but the highest of 20");
	q = problem(FORM_LINE, 20, features, y, weight);
	n = fit_starts(&q, start);
	wrong = 0;
	for (uint32_t i = 0; i < n; i++)
		wrong += exp(start[i][0]) >= 1e-3 || exp(start[i][1]) < 19e9 * 1.05 || exp(start[i][1]) > 19e9 * 3;
	ok(n == 4 && wrong == 0, "a line has four");
	q = problem(FORM_CACHED, 20, features, y, weight);
	for (size_t i = 0; i < 20; i++)
		features[i][1] = 0; /* without bytes the law depends on the size: 1 to 20 MB */
	n = fit_starts(&q, start);
	wrong = 0;
	for (uint32_t i = 0; i < n; i++)
		wrong += exp(start[i][0]) >= 1e-3 || fabs(exp(start[i][1]) / 20e9 - 1) > 1e-9 || fabs(exp(start[i][2]) / 20e9 - 1) > 1e-9 ||
			 exp(start[i][3]) <= 1e6 || exp(start[i][3]) >= 20e6;
	ok(n == 16 && wrong == 0, "a cached law starts at the highest rate, that of the largest point, and caches in between");
	static const double t[] = { 35e-6, 70e-6, 200e-6 }, b[] = { 2e9, 20e9, 120e9 };
	for (size_t i = 0; i < 30; i++) {
		double size = 4e3 * pow(1.45, (double)i), least = INFINITY;
		for (int k = 0; k < 3; k++)
			least = fmin(least, t[k] + size / b[k]);
		set(i, 0, 0, size, least);
	}
	q = problem(FORM_ENVELOPE, 30, features, y, weight);
	n = fit_starts(&q, start);
	double worst = 0;
	for (int k = 0; k < 3; k++)
		worst = fmax(worst, fmax(fabs(exp(start[0][2 * k]) / t[k] - 1), fabs(exp(start[0][2 * k + 1]) / b[k] - 1)));
	ok(n == 16 && worst < 1e-6, "an envelope of three exact lines starts at them (%.1e)", worst);
	for (size_t i = 0; i < 12; i++)
		set(i, 0, 0, 1e3 * (double)(i + 1), i < 6 ? 1e-3 : 1e-3 + 1e-6 * (double)i);
	q = problem(FORM_ENVELOPE, 12, features, y, weight);
	n = fit_starts(&q, start);
	bool is_finite = n > 0;
	for (uint32_t i = 0; i < n; i++)
		for (int k = 0; k < LAW_PARAMS; k++)
			is_finite = is_finite && isfinite(start[i][k]);
	ok(is_finite, "points without a slope give finite starts");
}

/* ---- single laws ---- */

static void check_errors(void)
{
	static const double predicted[] = { 1.1, 0.8, 1.5, 1 }, measured[] = { 1, 1, 1, 1 };
	double mean, median, p90;
	fit_errors(predicted, measured, 4, &mean, &median, &p90);
	near_to(mean, 0.2, 1e-12, "mean of errors of 10, 20, 50 and 0 %");
	near_to(median, 0.15, 1e-12, "the median of the errors");
	near_to(p90, 0.2 + 0.7 * 0.3, 1e-12, "the 90th percentile of the errors");
	fit_errors(predicted, measured, 0, &mean, &median, &p90);
	ok(isnan(mean) && isnan(median) && isnan(p90), "no points have no error");
}

static void check_factor(void)
{
	struct law l;
	set(0, 1, 2, 3, 2);
	set(1, 1, 2, 3, 8);
	set(2, 1, 2, 3, 4);
	ok(!fit_law(FORM_FACTOR, list, 3, &l, NULL) && l.param[0] == 4 && l.n_params == 1 && l.points == 3, "a factor is the median");
	near_to(l.sigma, log(2), 1e-12, "the spread of a factor: standard deviation of 1, 2 and 3 times log 2");
	near_to(l.covariance[0][0], log(2) * log(2) / 3, 1e-12, "its variance");
	ok(isnan(l.from[0]) && isnan(l.from[1]) && isnan(l.to[2]), "a factor has no range");
	near_to(l.mean_error, (1 + 0.5 + 0) / 3, 1e-12, "the in-sample error of a factor");
	fit_law_free(&l);
	ok(!fit_law(FORM_FACTOR, list, 1, &l, NULL) && l.param[0] == 2 && l.sigma == 0 && l.covariance[0][0] == 0,
		"one point has no spread");
	fit_law_free(&l);
}

static void check_table(void)
{
	struct law l;
	struct orr_error err;
	static const double known[][2] = { { 20, 5 }, { 10, 3 }, { 10, 1 }, { 0, 7 }, { 10, 2 }, { 40, 9 }, { 40, 7 } };
	for (size_t i = 0; i < 7; i++)
		set(i, 0, 0, known[i][0], known[i][1]);
	ok(!fit_law(FORM_TABLE, list, 7, &l, NULL) && l.n_table == 3 && l.table_x[0] == 10 && l.table_y[0] == 2 && l.table_x[1] == 20 &&
			l.table_y[1] == 5 && l.table_x[2] == 40 && l.table_y[2] == 8,
		"a table has the median time of each size; points without a size are left out");
	ok(l.from[2] == 0 && l.to[2] == 40 && isnan(l.from[1]), "the range of a table is that of the sizes");
	fit_law_free(&l);
	for (size_t i = 0; i < 3; i++)
		set(i, 0, 1e6, 0, 1);
	ok(fit_law(FORM_TABLE, list, 3, &l, &err) == ORR_EINPUT &&
			strstr(err.text, "law of the form table: no point has a size: expected points with a size above 0"),
		"a table needs sizes");
	fit_law_free(&l);
}

static void check_least(void)
{
	static const struct {
		enum profile_form form;
		size_t least;
	} forms[] = { { FORM_ROOFLINE, 3 }, { FORM_LINE, 1 }, { FORM_ENVELOPE, 7 }, { FORM_CACHED, 6 } };
	for (size_t i = 0; i < MOST; i++)
		set(i, 1e9, 1e3 * pow(3, (double)(i % 20)), 1e3 * pow(3, (double)(i % 20)), 1e-6 * (double)(i + 1));
	for (size_t i = 0; i < 4; i++) {
		struct law l;
		struct orr_error err = { 0 };
		char want[60];
		int rc = fit_law(forms[i].form, list, forms[i].least - 1, &l, &err);
		fit_law_free(&l);
		snprintf(want, sizeof want,
			forms[i].least > 1 ? "expected at least %zu points, found %zu" : "a law: no points: expected at least one",
			forms[i].least, forms[i].least - 1);
		ok(rc == ORR_EINPUT && strstr(err.text, want), "%s: %s", law_form_name(forms[i].form), want);
		rc = fit_law(forms[i].form, list, forms[i].least, &l, &err);
		ok(!rc || strstr(err.text, "show no effect of a cache: expected sizes below and above the size of the cache"),
			"%zu points are enough", forms[i].least);
		fit_law_free(&l);
	}
}

/* 5 us + F / 10 TFLOP/s + B / 500 GB/s with exponents, and the fields of its law. */
static void check_ranges(void)
{
	struct law l;
	struct orr_error err;
	size_t n = 0;
	for (int i = 0; i < 6; i++)
		for (int k = 0; k < 4; k++, n++)
			set(n, 1e7 * pow(10, i), 1e6 * pow(10, k), 77, 5e-6 + hypot(1e7 * pow(10, i) / 1e13, 1e6 * pow(10, k) / 5e11));
	ok(!fit_law(FORM_ROOFLINE, list, n, &l, &err) && fabs(l.param[0] / 5e-6 - 1) < 1e-3 && fabs(l.param[1] / 1e13 - 1) < 1e-3 &&
			fabs(l.param[2] / 5e11 - 1) < 1e-3 && fabs(l.param[3] / 2 - 1) < 1e-2,
		"a roofline is recovered");
	ok(l.from[0] == 1e7 && l.to[0] == 1e12 && l.from[1] == 1e6 && l.to[1] == 1e9 && isnan(l.from[2]) && isnan(l.to[2]),
		"the range of a roofline has FLOPs and bytes");
	ok(l.n_anchors == 3 && l.anchor[0].feature[0] == 1e7 && l.anchor[0].feature[1] == 1e6 && l.anchor[2].feature[0] == 1e12 &&
			l.anchor[2].feature[1] == 1e9 && l.anchor[1].feature[2] == 77,
		"the anchors are the fastest, the median and the slowest point");
	bool is_law = true;
	for (uint32_t i = 0; i < l.n_anchors; i++)
		is_law = is_law && l.anchor[i].time_s == law_time(&l, l.anchor[i].feature[0], l.anchor[i].feature[1], 0, NULL);
	ok(is_law && l.points == n && isnan(l.held_out_mean), "the anchors have the times of the law");
	fit_law_free(&l);
	/* Four points are too few to fit the exponent, which is then 2. */
	static const size_t corners[] = { 0, 3, 20, 23 };
	const struct point *four[4];
	for (int i = 0; i < 4; i++)
		four[i] = &x[corners[i]];
	ok(!fit_law(FORM_ROOFLINE, four, 4, &l, &err) && l.param[3] == 2 && l.covariance[3][3] == 0, "four points: the exponent is 2");
	fit_law_free(&l);
	/* FLOPs proportional to the bytes do not determine a second term. */
	for (int i = 0; i < 12; i++)
		set((size_t)i, 4e3 * pow(4, i), 1e3 * pow(4, i), 0, 5e-6 + 1e3 * pow(4, i) / 5e11);
	ok(!fit_law(FORM_ROOFLINE, list, 12, &l, &err) && isinf(l.param[1]) && fabs(l.param[2] / 5e11 - 1) < 1e-3 && l.param[3] == 1 &&
			isnan(l.from[0]) && l.from[1] == 1e3,
		"FLOPs in proportion to the bytes: one rate");
	fit_law_free(&l);
	/* Points of one size determine a rate; points of size 0 determine a time. */
	for (size_t i = 0; i < 3; i++)
		set(i, 0, 0, 4e6, 2e-3);
	ok(!fit_law(FORM_LINE, list, 3, &l, &err) && l.param[0] == 0 && fabs(l.param[1] / 2e9 - 1) < 1e-5, "one size: a rate");
	ok(l.n_anchors == 1, "equal points give one anchor");
	fit_law_free(&l);
	for (size_t i = 0; i < 3; i++)
		set(i, 0, 0, 0, 2e-3);
	ok(!fit_law(FORM_LINE, list, 3, &l, &err) && fabs(l.param[0] / 2e-3 - 1) < 1e-5 && isinf(l.param[1]) && isnan(l.from[2]),
		"a size of 0: a time");
	fit_law_free(&l);
}

/* A copy has 150 GB/s in a cache of 32 MB and 35 GB/s beyond; the law depends on bytes or on the size. Points on a straight line give
 * a law without a cache. */
static void check_cached(void)
{
	const struct law truth = { .form = FORM_CACHED, .n_params = 4, .param = { 1e-6, 150e9, 35e9, 32e6 } };
	struct law l;
	struct orr_error err = { 0 };
	for (int by_size = 0; by_size < 2; by_size++) {
		for (size_t i = 0; i < 40; i++) {
			double b = 1e4 * pow(1.4, (double)i);
			set(i, 0, by_size ? 0 : b, by_size ? b : 0, law_time(&truth, 0, b, 0, NULL));
		}
		ok(!fit_law(FORM_CACHED, list, 40, &l, &err) && fabs(l.param[1] / 150e9 - 1) < 1e-3 && fabs(l.param[2] / 35e9 - 1) < 1e-3 &&
				fabs(l.param[3] / 32e6 - 1) < 1e-3 && l.from[by_size ? 2 : 1] == 1e4 && isnan(l.from[by_size ? 1 : 2]),
			"a cache is found by %s", by_size ? "size" : "bytes");
		fit_law_free(&l);
	}
	for (size_t i = 0; i < 40; i++)
		set(i, 0, 0, 1e4 * pow(1.4, (double)i), 1e-6 + 1e4 * pow(1.4, (double)i) / 1e11);
	ok(fit_law(FORM_CACHED, list, 40, &l, &err) == ORR_EINPUT &&
			strstr(err.text, "show no effect of a cache: expected sizes below and above the size of the cache"),
		"one rate shows no cache");
	fit_law_free(&l);
}

static void check_envelope(void)
{
	static const double t[] = { 35e-6, 70e-6, 200e-6 }, b[] = { 2e9, 20e9, 120e9 };
	struct law l;
	struct orr_error err = { 0 };
	for (size_t i = 0; i < 40; i++) {
		double size = 1e3 * pow(1.5, (double)i), least = INFINITY;
		for (int k = 0; k < 3; k++)
			least = fmin(least, t[k] + size / b[k]);
		set(i, 0, 0, size, least);
	}
	ok(!fit_law(FORM_ENVELOPE, list, 40, &l, &err) && l.n_anchors == 6, "three lines: three anchors more");
	/* Each line of the envelope has the least time at one of the anchors. */
	uint32_t seen[3] = { 0 };
	for (uint32_t i = 0; i < l.n_anchors; i++)
		for (uint32_t k = 0; k < 3; k++)
			seen[k] += fabs(l.param[2 * k] + l.anchor[i].feature[2] / l.param[2 * k + 1] - l.anchor[i].time_s) <=
				   1e-9 * l.anchor[i].time_s;
	ok(seen[0] && seen[1] && seen[2], "each line has an anchor");
	ok(l.param[0] < l.param[2] && l.param[2] < l.param[4], "lines are sorted by their start-up times");
	fit_law_free(&l);
	for (size_t i = 0; i < 40; i++)
		x[i].time_s = 35e-6 + x[i].size / 2e9;
	ok(!fit_law(FORM_ENVELOPE, list, 40, &l, &err) && fabs(l.param[0] / 35e-6 - 1) < 1e-3 && fabs(l.param[1] / 2e9 - 1) < 1e-3 &&
			l.mean_error < 1e-4,
		"one line is an envelope too");
	fit_law_free(&l);
}

/* A factor that is fitted without one group is the median of the other groups. */
static void check_folds(void)
{
	double predicted[MOST];
	struct orr_error err;
	static const double times[] = { 1, 4, 9 };
	for (size_t i = 0; i < 6; i++) {
		set(i, 1, 1, 1, times[i % 3]);
		x[i].d[1] = (double)(i % 3);
	}
	ok(!fit_cross_validate(FORM_FACTOR, list, 6, predicted, &err) && predicted[0] == 6 && predicted[1] == 3 && predicted[2] == 2 &&
			predicted[3] == 6,
		"points of one shape are left out together");
	for (size_t i = 0; i < 6; i++)
		set(i, i % 3 == 1 ? 2 : 1, i % 3 == 2 ? 2 : 1, 0, times[i % 3]);
	ok(!fit_cross_validate(FORM_FACTOR, list, 6, predicted, &err) && predicted[0] == 6 && predicted[1] == 3 && predicted[2] == 2 &&
			predicted[3] == 6,
		"without shapes, points of equal FLOPs and bytes are");
	for (size_t i = 0; i < 6; i++)
		snprintf(x[i].group, sizeof x[i].group, i < 3 ? "a" : "b");
	x[3].time_s = x[4].time_s = x[5].time_s = 7;
	ok(!fit_cross_validate(FORM_FACTOR, list, 6, predicted, &err) && predicted[0] == 7 && predicted[2] == 7 && predicted[5] == 4,
		"points of one group are left out together, whatever their shape");
	for (size_t i = 0; i < 6; i++)
		snprintf(x[i].group, sizeof x[i].group, "a");
	ok(fit_cross_validate(FORM_FACTOR, list, 6, predicted, &err) == ORR_EINPUT && strstr(err.text, "all points have one shape"),
		"one group cannot be tested");
	/* Twelve shapes in ten folds: the first and the eleventh share one. */
	for (size_t i = 0; i < 12; i++) {
		set(i, 1, 1, 10 + (double)i, i == 0 || i == 10 ? 100 : (double)i);
	}
	/* Without shapes 0 and 10, the shapes 1 to 9 and 11 are left. Their median lies between 5 and 6, at sqrt(30) in the logarithm. */
	ok(!fit_cross_validate(FORM_FACTOR, list, 12, predicted, &err) && fabs(predicted[0] - sqrt(30)) < 1e-4 &&
			predicted[0] == predicted[10],
		"ten folds");
}

/* ---- profiles ---- */

static struct points points;

/* Adds n points of 5 us + F / rate + B / 500 GB/s. */
static void add(const char *family, const char *op, const char *variant, bool is_cold, bool is_sustained, double rate, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		double flops = strcmp(family, "memory") ? 1e8 * pow(3, (double)i) : 0, bytes = 1e5 * pow(2, (double)(i * 5 % 7));
		struct point p = { .flops = flops,
			.bytes = bytes,
			.time_s = 5e-6 + flops / rate + bytes / 5e11,
			.low_s = NAN,
			.high_s = NAN,
			.cv = NAN,
			.is_cold = is_cold,
			.is_sustained = is_sustained,
			.d = { (double)i } };
		snprintf(p.family, sizeof p.family, "%s", family);
		snprintf(p.op, sizeof p.op, "%s", op);
		snprintf(p.precision, sizeof p.precision, "fp32");
		snprintf(p.variant, sizeof p.variant, "%s", variant);
		points_add(&points, &p);
	}
}

static const struct law *law_named(const struct profile *p, const char *family, const char *op, const char *variant)
{
	for (size_t i = 0; p && i < p->n_laws; i++)
		if (!strcmp(p->law[i].family, family) && !strcmp(p->law[i].op, op) && !strcmp(p->law[i].variant, variant))
			return &p->law[i];
	return NULL;
}

static struct profile *fitted(bool is_measured_here, bool keep_points)
{
	struct orr_error err = { 0 };
	const struct fit_options o = { .is_measured_here = is_measured_here, .keep_points = keep_points, .device = "v100" };
	struct profile *p = fit_profile(&points, &o, &err);
	if (!p)
		printf("# %s\n", err.text);
	return p;
}

static void check_groups(void)
{
	add("gemm", "", "nn", false, true, 1e13, 8);
	add("gemm", "", "nn", true, true, 9e12, 7);
	add("gemm", "", "nn", false, false, 8e12, 6);
	add("gemm", "", "tn", false, true, 7e12, 4);
	add("conv", "forward", "1x1", true, false, 1e13, 6);
	add("attention", "prefill", "fused", false, true, 1e13, 6);
	add("attention", "prefill", "unfused", false, true, 5e12, 6);
	add("interference", "gemm", "with-copy", false, true, 1e13, 1);
	struct profile *p = fitted(true, true);
	const struct law *nn = law_named(p, "gemm", "", "nn"), *cold = law_named(p, "gemm", "", "nn cold"),
			 *burst = law_named(p, "gemm", "", "nn burst"), *all = law_named(p, "gemm", "", "");
	ok(nn && nn->points == 8 && cold && cold->points == 7 && burst && burst->points == 6,
		"cold caches and bursts are separate variants");
	ok(all && all->points == 12 && all->n_points == 12, "the law of all variants has the warm, sustained points of each");
	ok(!law_named(p, "gemm", "", "tn") && p &&
			!strcmp(p->note, "too few points for a separate law: gemm fp32 tn, interference gemm fp32 with-copy"),
		"groups without a law are listed: %s", p ? p->note : "");
	ok(law_named(p, "conv", "forward", "1x1") && !law_named(p, "conv", "forward", ""),
		"without warm and sustained points the cold ones are the kernel's; one variant has no law of all");
	ok(law_named(p, "attention", "prefill", "fused") && law_named(p, "attention", "prefill", "unfused") &&
			!law_named(p, "attention", "prefill", ""),
		"fused and unfused attention are different kernels");
	ok(p && !strcmp(p->source, "not stated") && !strcmp(p->date, "not stated") && !strcmp(p->backend, "published") &&
			!strcmp(p->name, "v100") && strcmp(p->title, "v100") && p->is_stable && p->is_measured_here,
		"texts that are not stated have defaults; the title is the device's: %s", p ? p->title : "");
	ok(nn && nn->point[2].feature[0] == 9e8 && nn->point[2].time_s == points.v[2].time_s, "points are kept with features and time");
	profile_free(p);
	p = fitted(true, false);
	nn = law_named(p, "gemm", "", "nn");
	ok(nn && nn->n_points == 0 && !nn->point, "points are dropped unless requested");
	profile_free(p);
	points_free(&points);

	struct orr_error err = { 0 };
	add("gemm", "", "nn", false, true, 1e13, 4);
	ok(!fit_profile(&points, &(struct fit_options){ 0 }, &err) && strstr(err.text, "no group of points is large enough"),
		"four products are too few for any law");
	add("gemm", "", "nn", false, true, 1e13, 5);
	p = fitted(true, false);
	ok(p && p->n_laws == 1 && !*p->note, "five are enough");
	profile_free(p);
	points_free(&points);
	ok(!fit_profile(&points, &(struct fit_options){ 0 }, &err) && strstr(err.text, "nothing to fit: expected at least one point"),
		"no points, no laws");
	struct profile *begun = fit_begin(&(struct fit_options){ .device = "../v100", .note = "n", .title = "", .is_unstable = true });
	ok(!strcmp(begun->title, "../v100") && !strcmp(begun->note, "n") && !begun->is_stable,
		"a device that is a path has no title of its own");
	profile_free(begun);
}

/* Tests that a law of the size has the simplest form whose error is close to that of the best form. */
static void check_by_size(void)
{
	static const double t[] = { 35e-6, 70e-6, 200e-6 }, b[] = { 2e9, 20e9, 120e9 };
	static const struct {
		const char *family, *op, *what;
		int lines;
		bool is_cached, is_rough, is_here, keep;
		enum profile_form want;
	} known[] = {
		{ "copy", "h2d", "an exact line is a line, though a table would fit as well", 1, false, false, true, true, FORM_LINE },
		{ "collective", "all-reduce", "three lines are an envelope", 3, false, false, true, false, FORM_ENVELOPE },
		{ "copy", "d2d", "a copy inside the device shows its cache", 1, true, false, true, false, FORM_CACHED },
		{ "copy", "host", "so does one inside the host", 1, true, false, true, false, FORM_CACHED },
		{ "collective", "all-reduce", "steps that no line follows are a table", 1, false, true, true, true, FORM_TABLE },
	};
	const struct law truth = { .form = FORM_CACHED, .n_params = 4, .param = { 1e-6, 150e9, 35e9, 32e6 } };
	for (size_t k = 0; k < sizeof known / sizeof *known; k++) {
		for (size_t i = 0; i < 40; i++) {
			double size = 1e4 * pow(1.4, (double)i), least = INFINITY;
			for (int m = 0; m < known[k].lines; m++)
				least = fmin(least, t[m] + size / b[m]);
			least = known[k].is_cached ? law_time(&truth, 0, 0, size, NULL) : least;
			least *= known[k].is_rough ? (i % 10 < 5 ? 1 : 4) : 1;
			for (int twice = 0; twice < 2; twice++) {
				struct point p = { .size = size,
					.time_s = least,
					.low_s = NAN,
					.high_s = NAN,
					.cv = NAN,
					.d = { size },
					.is_held_out = twice && i % 4 == 1 };
				snprintf(p.family, sizeof p.family, "%s", known[k].family);
				snprintf(p.op, sizeof p.op, "%s", known[k].op);
				points_add(&points, &p);
			}
		}
		struct profile *p = fitted(known[k].is_here, known[k].keep);
		ok(p && p->n_laws == 1 && p->law[0].form == known[k].want, "%s: %s", known[k].what,
			p ? law_form_name(p->law[0].form) : "none");
		ok(p && p->law[0].held_out == 10 && p->law[0].points == 70 && p->law[0].held_out_mean < 0.01,
			"held-out points test the law");
		profile_free(p);
		if (known[k].is_cached) { /* in imported tables the contents of the cache are unknown */
			p = fitted(false, false);
			ok(p && p->law[0].form != FORM_CACHED, "points of unknown origin have no law of a cache");
			profile_free(p);
		}
		points_free(&points);
	}
	/* A memory-bound kernel has the same law as a function of bytes. */
	for (size_t i = 0; i < 40; i++) {
		double bytes = 1e4 * pow(1.4, (double)i);
		struct point p = { .bytes = bytes,
			.time_s = law_time(&truth, 0, bytes, 0, NULL),
			.low_s = NAN,
			.high_s = NAN,
			.cv = NAN,
			.d = { bytes } };
		snprintf(p.family, sizeof p.family, "memory");
		points_add(&points, &p);
	}
	for (int is_here = 0; is_here < 2; is_here++) {
		struct profile *p = fitted(is_here, false);
		ok(p && p->law[0].form == (is_here ? FORM_CACHED : FORM_ROOFLINE),
			"a memory-bound kernel has two rates only if measured here");
		ok(p && p->law[0].held_out == 40, "without held-out points the law is tested on each fold");
		profile_free(p);
	}
	points_free(&points);
}

int main(void)
{
	check_models();
	check_sandwich();
	check_starts();
	check_errors();
	check_factor();
	check_table();
	check_least();
	check_ranges();
	check_cached();
	check_envelope();
	check_folds();
	check_groups();
	check_by_size();
	return done();
}
