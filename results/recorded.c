/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "results/recorded.h"

#include "base/mem.h"
#include "results/report_text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- statistics ---- */

static int by_number(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static double quantile(const double *sorted, size_t n, double p)
{
	double at = (double)(n - 1) * p;
	size_t i = (size_t)at;
	return i + 1 < n ? sorted[i] + (at - (double)i) * (sorted[i + 1] - sorted[i]) : sorted[n - 1];
}

/* Sorts the values. */
static struct recorded_law law_of(double *v, size_t n)
{
	struct recorded_law l = { 0 };
	for (size_t i = 0; i < n; i++) {
		l.mean += v[i] / (double)n;
		l.minute += (v[i] <= 60) / (double)n;
	}
	qsort(v, n, sizeof *v, by_number);
	l.p50 = quantile(v, n, 0.5);
	l.p90 = quantile(v, n, 0.9);
	l.p99 = quantile(v, n, 0.99);
	l.max = v[n - 1];
	return l;
}

/* A value and its place in the list. */
struct placed {
	double value;
	size_t at;
};

static int by_value(const void *a, const void *b)
{
	const struct placed *x = a, *y = b;
	if (x->value != y->value)
		return x->value < y->value ? -1 : 1;
	return (x->at > y->at) - (x->at < y->at);
}

/* Sets rank[i] to the mean rank of the values equal to v[i]. */
static void rank_values(const double *v, size_t n, double *rank)
{
	struct placed *x = mem_alloc((n + 1) * sizeof *x);
	for (size_t i = 0; i < n; i++)
		x[i] = (struct placed){ v[i], i };
	qsort(x, n, sizeof *x, by_value);
	for (size_t i = 0, end; i < n; i = end) {
		for (end = i + 1; end < n && x[end].value == x[i].value;)
			end++;
		for (size_t k = i; k < end; k++)
			rank[x[k].at] = (double)(i + end - 1) / 2;
	}
	mem_free(x);
}

/* Returns Spearman's rank correlation; NAN if all values of a list are equal. */
static double rank_correlation(const double *a, const double *b, size_t n)
{
	double *ra = mem_alloc((n + 1) * sizeof *ra), *rb = mem_alloc((n + 1) * sizeof *rb);
	double mean = (double)(n - 1) / 2, ab = 0, aa = 0, bb = 0;
	rank_values(a, n, ra);
	rank_values(b, n, rb);
	for (size_t i = 0; i < n; i++) {
		ab += (ra[i] - mean) * (rb[i] - mean);
		aa += (ra[i] - mean) * (ra[i] - mean);
		bb += (rb[i] - mean) * (rb[i] - mean);
	}
	mem_free(ra);
	mem_free(rb);
	return aa > 0 && bb > 0 ? ab / sqrt(aa * bb) : NAN;
}

struct recorded_waits recorded_of(const struct run_result *r)
{
	struct recorded_waits w = { .rank = NAN };
	double *recorded = mem_alloc((r->n_jobs + 1) * sizeof *recorded), *simulated = mem_alloc((r->n_jobs + 1) * sizeof *simulated);
	for (size_t i = 0; i < r->n_jobs; i++) {
		const struct job_row *j = &r->jobs[i];
		if (j->status != JOB_COMPLETED || j->recorded_wait_ns < 0)
			continue;
		recorded[w.jobs] = (double)j->recorded_wait_ns / 1e9;
		simulated[w.jobs++] = (double)j->wait_ns / 1e9;
	}
	for (size_t i = 0; i < w.jobs; i++) {
		w.difference += (simulated[i] - recorded[i]) / (double)w.jobs;
		w.off += fabs(simulated[i] - recorded[i]) / (double)w.jobs;
	}
	if (w.jobs) {
		w.rank = rank_correlation(recorded, simulated, w.jobs);
		w.recorded = law_of(recorded, w.jobs);
		w.simulated = law_of(simulated, w.jobs);
	}
	mem_free(recorded);
	mem_free(simulated);
	return w;
}

/* ---- metrics ---- */

enum { LAWS = 6 };
static const struct column {
	const char *name, *title;
	enum report_kind kind;
} of_law[LAWS] = { { "mean", "wait mean", REPORT_TIME }, { "p50", "median", REPORT_TIME }, { "p90", "p90", REPORT_TIME },
	{ "p99", "p99", REPORT_TIME }, { "max", "max", REPORT_TIME }, { "minute", "within 1 min", REPORT_FRACTION } };
static const struct column of_pairs[] = { { "compared_wait_difference", "difference", REPORT_TIME },
	{ "compared_wait_off", "mean amount", REPORT_TIME }, { "compared_wait_rank", "rank correlation", REPORT_NUMBER } };
enum { PAIRS = sizeof of_pairs / sizeof *of_pairs };

static void put_law(struct run_result *r, const char *prefix, const struct recorded_law *l)
{
	const double v[LAWS] = { l->mean, l->p50, l->p90, l->p99, l->max, l->minute };
	for (size_t i = 0; i < LAWS; i++) {
		char name[48];
		snprintf(name, sizeof name, "%s_%s", prefix, of_law[i].name);
		result_metric(r, name, v[i], NAN, NAN);
	}
}

void recorded_metrics(struct run_result *r, const struct recorded_waits *w)
{
	if (!w->jobs)
		return;
	result_metric(r, "compared_jobs", (double)w->jobs, NAN, NAN);
	put_law(r, "recorded_wait", &w->recorded);
	put_law(r, "compared_wait", &w->simulated);
	result_metric(r, of_pairs[0].name, w->difference, NAN, NAN);
	result_metric(r, of_pairs[1].name, w->off, NAN, NAN);
	if (isfinite(w->rank))
		result_metric(r, of_pairs[2].name, w->rank, NAN, NAN);
}

/* ---- the table ---- */

/* Sets a column. m[0] is the recorded value; NULL: none. */
static void put_column(struct grid *g, size_t at, const struct column *c, const struct metric *const *m, bool has_units)
{
	struct sbuf b = { 0 };
	struct report_scale by = report_scale_of(c->kind, m, g->rows - 1);
	sbuf_puts(&b, c->title);
	if (!has_units && *by.unit)
		sbuf_printf(&b, " (%s)", by.unit);
	*grid_cell(g, 0, at) = sbuf_steal(&b);
	for (size_t i = 0; i + 1 < g->rows; i++) {
		report_put_metric(&b, m[i], c->kind, by, has_units);
		*grid_cell(g, i + 1, at) = sbuf_steal(&b);
	}
}

struct grid recorded_grid(const struct run_result *const *runs, size_t n, bool has_units)
{
	static const struct column jobs = { "compared_jobs", "jobs", REPORT_NUMBER };
	const struct run_result **with = mem_zalloc(n + 1, sizeof *with);
	size_t rows = 0;
	for (size_t i = 0; i < n; i++)
		if (result_find(runs[i], jobs.name))
			with[rows++] = runs[i];
	struct grid g = grid_new(rows ? rows + 2 : 0, rows ? 2 + LAWS + PAIRS : 0, 1);
	const struct metric **m = mem_zalloc(rows + 2, sizeof *m);
	for (size_t k = 0; rows && k < 1 + LAWS + PAIRS; k++) {
		const struct column *c = !k ? &jobs : k <= LAWS ? &of_law[k - 1] : &of_pairs[k - 1 - LAWS];
		for (size_t i = 0; i <= rows; i++) {
			char name[48];
			snprintf(name, sizeof name, "%s%s", k && k <= LAWS ? i ? "compared_wait_" : "recorded_wait_" : "", c->name);
			m[i] = i || k <= LAWS ? result_find(with[i ? i - 1 : 0], name) : NULL;
		}
		put_column(&g, k + 1, c, m, has_units);
	}
	if (rows) {
		g.is_text[0] = true;
		*grid_cell(&g, 0, 0) = mem_strdup("waits");
		*grid_cell(&g, 1, 0) = mem_strdup("recorded");
	}
	for (size_t i = 0; i < rows; i++)
		*grid_cell(&g, i + 2, 0) = report_name_of(with[i]);
	mem_free(m);
	mem_free(with);
	return g;
}
