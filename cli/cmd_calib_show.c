/* SPDX-License-Identifier: GPL-3.0-or-later */
/* orrery calib list, show, diff, check */
#include "cli/cmd_calib.h"

#include "base/mem.h"
#include "calib/fit.h"
#include "calib/scale.h"
#include "cli/cli.h"
#include "plots/profile_figures.h"

#include <getopt.h>
#include <gsl/gsl_cdf.h>
#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics.h>
#include <math.h>
#include <string.h>

enum { NAME = 160 };

/* Writes "conv forward fp32 3x3 s1" or "collective all-reduce 8 ranks, 1 node, NVSwitch", truncated to the column. */
static void law_name(const struct law *l, char out[NAME])
{
	int n = snprintf(out, NAME, "%s%s%s%s%s%s%s", l->family, *l->op ? " " : "", l->op, *l->precision ? " " : "", l->precision,
		*l->variant ? " " : "", l->variant);
	if (l->ranks > 0 && n < NAME)
		snprintf(out + n, NAME - (size_t)n, ", %g on %g", l->ranks, l->nodes);
}

static const char *percent(double v, char out[16])
{
	if (isnan(v))
		strcpy(out, "-");
	else
		snprintf(out, 16, "%.3g", 100 * v);
	return out;
}

int calib_list(int argc, char **argv, struct orr_error *err)
{
	(void)argv;
	if (argc > 1)
		return orr_fail(err, ORR_EINPUT, "calib list: expected no arguments");
	const char *name;
	char e[16], m[16];

	printf("%-12s %-12s %5s %10s %8s  %s\n", "profile", "device", "laws", "median %", "mean %", "from");
	for (size_t i = 0; (name = profile_catalogue(i)); i++) {
		struct profile *p = profile_load(name, err);
		if (!p)
			return ORR_EFAIL;
		printf("%-12s %-12s %5zu %10s %8s  %s%s\n", p->name, p->device, p->n_laws, percent(profile_error(p), e),
			percent(profile_mean_error(p), m), !strcmp(p->backend, "scaled") ? "not measured, scaled: " : "", p->source);
		profile_free(p);
	}
	return ORR_OK;
}

/* ---- show ---- */

static double student(const struct law *l)
{
	uint32_t n_free = 0;
	for (uint32_t i = 0; i < l->n_params; i++)
		n_free += l->covariance[i][i] > 0;
	return l->points > n_free ? gsl_cdf_tdist_Pinv(0.975, l->points - n_free) : NAN;
}

static void show_law(const struct law *l)
{
	char name[NAME], a[16], b[16], c[16], d[16];
	double unit;
	const char *key;
	law_name(l, name);
	printf("\n%s\n  %s, %u points; error %s %% (mean %s %%), held out %s %% (mean %s %%)\n", name, law_form_name(l->form), l->points,
		percent(l->median_error, a), percent(l->mean_error, b), percent(l->held_out_median, c), percent(l->held_out_mean, d));
	for (uint32_t i = 0; (key = law_param_name(l->form, i, &unit)); i++) {
		double v = l->param[i] / unit, w = student(l) * sqrt(l->covariance[i][i]);
		if (isinf(v) || v == 0)
			printf("  %-16s %12s\n", key, "left out");
		else if (w > 0)
			printf("  %-16s %12.5g  [%.5g, %.5g]\n", key, v, v * exp(-w), v * exp(w));
		else
			printf("  %-16s %12.5g  fixed\n", key, v);
	}
	static const char *const features[LAW_FEATURES] = { "FLOPs", "bytes", "size" };
	for (int i = 0; i < LAW_FEATURES; i++)
		if (!isnan(l->from[i]))
			printf("  %-16s %12.5g to %.5g\n", features[i], l->from[i], l->to[i]);
	if (l->n_table)
		printf("  table of %u sizes\n", l->n_table);
}

static void show_head(const struct profile *p)
{
	char *summary = profile_summary(p), e[16], m[16];
	printf("%s: %s\ndevice %s, %s, %s\nsource: %s\n", p->name, p->title, p->device, p->backend, p->date, p->source);
	printf("error of its laws (held out where known), weighted by points: median %s %%, mean %s %%\n", percent(profile_error(p), e),
		percent(profile_mean_error(p), m));
	if (*p->note)
		printf("note: %s\n", p->note);
	if (!p->is_stable)
		puts("unstable: the device drifted by more than 3 % while it was measured");
	if (*p->environment)
		fputs(p->environment, stdout);
	mem_free(summary);
}

int calib_show(int argc, char **argv, struct orr_error *err)
{
	static const struct option longs[] = { { "out", required_argument, NULL, 'O' }, { NULL, 0, NULL, 0 } };
	const char *dir = NULL;
	int opt;
	optind = 1;
	opterr = 0;
	while ((opt = getopt_long(argc, argv, ":", longs, NULL)) != -1) {
		if (opt != 'O')
			return cli_bad_option(argc, argv, opt, longs, err);
		dir = optarg;
	}
	if (argc - optind != 1)
		return orr_fail(err, ORR_EINPUT, "calib show: expected the name of one profile; 'orrery calib --help' shows the forms");
	struct profile *p = profile_load(argv[optind], err);
	if (!p)
		return ORR_EINPUT;
	show_head(p);
	for (size_t i = 0; i < p->n_laws; i++)
		show_law(&p->law[i]);
	printf("\nSHA-256 %s\n", p->hash);
	struct device *d = calib_device(p);
	int rc = dir ? profile_figures(p, d, dir, err) : ORR_OK;
	device_free(d);
	profile_free(p);
	return rc;
}

/* ---- diff ---- */

static const struct law *same_law(const struct profile *p, const struct law *l)
{
	for (size_t i = 0; i < p->n_laws; i++) {
		const struct law *k = &p->law[i];
		if (!strcmp(k->family, l->family) && !strcmp(k->op, l->op) && !strcmp(k->precision, l->precision) &&
			!strcmp(k->variant, l->variant) && k->ranks == l->ranks && k->nodes == l->nodes)
			return k;
	}
	return NULL;
}

static void diff_law(const struct law *a, const struct law *b)
{
	double ratio[SCALE_POINTS];
	char name[NAME];
	uint32_t n = law_compare(a, b, ratio);
	law_name(a, name);
	gsl_sort(ratio, 1, n);
	if (!n)
		return;
	/* Held-out errors are of single points: a median difference above both errors is not noise. */
	double median = gsl_stats_median_from_sorted_data(ratio, 1, n), noise = fmax(a->sigma, b->sigma);
	printf("%-52.52s %8.3f %8.3f %8.3f  %s\n", name, ratio[0], median, ratio[n - 1], fabs(log(median)) > noise ? "differs" : "");
}

static void only_in(const struct profile *p, const struct profile *other)
{
	char name[NAME];
	for (size_t i = 0; i < p->n_laws; i++)
		if (!same_law(other, &p->law[i])) {
			law_name(&p->law[i], name);
			printf("only in %s: %s\n", p->name, name);
		}
}

int calib_diff(int argc, char **argv, struct orr_error *err)
{
	if (argc != 3 || argv[1][0] == '-' || argv[2][0] == '-')
		return orr_fail(err, ORR_EINPUT, "calib diff: expected the names of two profiles; 'orrery calib --help' shows the forms");
	struct profile *a = profile_load(argv[1], err), *b = a ? profile_load(argv[2], err) : NULL;
	if (b) {
		printf("%s (%s, %s) and %s (%s, %s)\n%-52s %8s %8s %8s\n", a->name, a->device, a->date, b->name, b->device, b->date,
			"time of the second profile / time of the first", "least", "median", "most");
		for (size_t i = 0; i < a->n_laws; i++) {
			const struct law *l = same_law(b, &a->law[i]);
			if (l)
				diff_law(&a->law[i], l);
		}
		only_in(a, b);
		only_in(b, a);
	}
	int rc = b ? ORR_OK : ORR_EINPUT;
	profile_free(a);
	profile_free(b);
	return rc;
}

/* ---- check ---- */

static int check_points(const struct profile *p, const char *path, struct orr_error *err)
{
	struct points x;
	int rc = points_read(path, &x, err);
	if (rc)
		return rc;
	double *predicted = mem_zalloc(x.n + 1, sizeof *predicted), *measured = mem_zalloc(x.n + 1, sizeof *measured);
	size_t n = 0, outside = 0;
	for (size_t i = 0; i < x.n; i++) {
		const struct point *q = &x.v[i];
		bool is_inside;
		const struct law *l = profile_law(p, q->family, q->op, q->precision, q->variant, q->ranks, q->nodes);
		if (!l || l->form == FORM_FACTOR)
			continue;
		predicted[n] = law_time(l, q->flops, q->bytes, q->size, &is_inside);
		measured[n++] = q->time_s;
		outside += !is_inside;
	}
	double mean, median, p90;
	fit_errors(predicted, measured, n, &mean, &median, &p90);
	printf("%zu of %zu points have a law, %zu of them lie outside its range\n", n, x.n, outside);
	if (n)
		printf("error: median %.3g %%, mean %.3g %%, 90 %% of them below %.3g %%\n", 100 * median, 100 * mean, 100 * p90);
	mem_free(predicted);
	mem_free(measured);
	points_free(&x);
	return n ? ORR_OK
		 : orr_fail(err, ORR_EINPUT, "%.300s: no point has a law in %.100s: expected points of kernels that the profile describes",
			   path, p->name);
}

int calib_check(int argc, char **argv, struct orr_error *err)
{
	static const struct option longs[] = { { "points", required_argument, NULL, 'p' }, { NULL, 0, NULL, 0 } };
	const char *points = NULL;
	int opt;
	optind = 1;
	opterr = 0;
	while ((opt = getopt_long(argc, argv, ":", longs, NULL)) != -1) {
		if (opt != 'p')
			return cli_bad_option(argc, argv, opt, longs, err);
		points = optarg;
	}
	if (argc - optind != 1)
		return orr_fail(err, ORR_EINPUT, "calib check: expected the name of one profile; 'orrery calib --help' shows the forms");
	struct profile *p = profile_load(argv[optind], err); /* refuses impossible values */
	if (!p)
		return ORR_EINPUT;
	struct device *d = calib_device(p);
	char *summary = profile_summary(p);
	printf("%s\n%zu laws; %s\n", summary, p->n_laws,
		d ? "all rates are possible according to the data sheet" : "this device has no data sheet for comparison");
	int rc = points ? check_points(p, points, err) : ORR_OK;
	mem_free(summary);
	device_free(d);
	profile_free(p);
	return rc;
}
