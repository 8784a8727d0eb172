/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "world/replications.h"

#include "base/mem.h"
#include "results/estimate.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define PREFIX "replications:"

/* Metrics whose replications are kept. */
static const char *const kept[] = { "completion_mean", "completion_p50", "completion_p99", "sample_completion_mean", "ttft_mean",
	"ttft_p99", "tpot_mean", "tpot_p99", "duration", "throughput", "goodput", "attainment", "utilisation", "samples_per_s",
	"usd_per_hour", "value", "makespan_s", "usd" };
enum { KEPT = sizeof kept / sizeof *kept };

struct replications {
	uint32_t n;
	size_t n_metrics;
	double *value;            /* metric i of run k: [k * n_metrics + i]; NAN: missing */
	struct run_result *first; /* the names of the metrics */
};

struct replications *replications_new(uint32_t n)
{
	struct replications *x = mem_zalloc(1, sizeof *x);
	x->n = n;
	return x;
}

void replications_free(struct replications *x)
{
	if (!x)
		return;
	mem_free(x->value);
	result_free(x->first);
	mem_free(x);
}

/* The value in r of metric i of the first run. Its position is the same unless the policy reports different metrics. */
static double value_of(const struct replications *x, const struct run_result *r, size_t i)
{
	const char *name = x->first->metrics[i].name;
	if (i < r->n_metrics && !strcmp(r->metrics[i].name, name))
		return r->metrics[i].value;
	const struct metric *m = result_find(r, name);
	return m ? m->value : NAN;
}

void replications_add(struct replications *x, uint32_t k, const struct run_result *r)
{
	if (!x->first) {
		x->first = result_new();
		for (size_t i = 0; i < r->n_metrics; i++)
			result_metric(x->first, r->metrics[i].name, NAN, NAN, NAN);
		x->n_metrics = r->n_metrics;
		x->value = mem_zalloc(x->n * (r->n_metrics + 1), sizeof *x->value);
	}
	for (size_t i = 0; i < x->n_metrics; i++)
		x->value[k * x->n_metrics + i] = value_of(x, r, i);
}

struct interval replications_mean(const double *v, uint32_t n, double level)
{
	enum estimate_range range = ESTIMATE_NON_NEGATIVE;
	for (uint32_t k = 0; k < n; k++)
		if (v[k] < 0)
			range = ESTIMATE_REAL;
	return estimate_mean(v, n, range, level);
}

struct interval replications_ratio(const double *a, const double *b, uint32_t n, double level)
{
	return estimate_ratio(a, b, n, level);
}

static bool is_kept(const char *name)
{
	for (size_t i = 0; i < KEPT; i++)
		if (!strcmp(kept[i], name))
			return true;
	return false;
}

static void add_series(struct run_result *r, const char *name, const double *v, uint32_t n)
{
	char text[80];
	snprintf(text, sizeof text, PREFIX "%.60s", name);
	r->series = mem_realloc(r->series, r->n_series + 1, sizeof *r->series);
	struct series *s = &r->series[r->n_series++];
	*s = (struct series){ .name = result_text(r, text), .n = n };
	s->time_ns = mem_zalloc(n, sizeof *s->time_ns);
	s->value = mem_zalloc(n, sizeof *s->value);
	for (uint32_t k = 0; k < n; k++) {
		s->time_ns[k] = k * INT64_C(1000000000);
		s->value[k] = v[k];
	}
}

void replications_put(const struct replications *x, double level, struct run_result *r)
{
	double *all = mem_zalloc(x->n, sizeof *all), *there = mem_zalloc(x->n, sizeof *there);
	for (size_t i = 0; i < x->n_metrics; i++) {
		struct metric *m = &r->metrics[i];
		uint32_t n = 0;
		for (uint32_t k = 0; k < x->n; k++) {
			all[k] = x->value[k * x->n_metrics + i];
			if (isfinite(all[k]))
				there[n++] = all[k];
		}
		if (n) {
			struct interval mean = estimate_mean(there, n, estimate_range_of(m->name), level);
			m->value = mean.mean;
			m->ci_low = mean.low;
			m->ci_high = mean.high;
		}
		if (is_kept(m->name))
			add_series(r, m->name, all, x->n);
	}
	result_metric(r, "replications", x->n, NAN, NAN);
	mem_free(all);
	mem_free(there);
}

/* ---- two policies ---- */

static const struct series *find_series(const struct run_result *r, const char *name)
{
	for (size_t i = 0; i < r->n_series; i++)
		if (!strcmp(r->series[i].name, name))
			return &r->series[i];
	return NULL;
}

static void compare(const struct run_result *first, struct run_result *r, double level)
{
	char name[80];
	for (size_t i = 0; i < r->n_series; i++) {
		const struct series *b = &r->series[i], *a;
		if (strncmp(b->name, PREFIX, strlen(PREFIX)) != 0)
			continue;
		a = find_series(first, b->name);
		if (!a || a->n != b->n)
			continue;
		struct interval ratio = replications_ratio(a->value, b->value, (uint32_t)b->n, level);
		snprintf(name, sizeof name, "ratio_%.60s", b->name + strlen(PREFIX));
		if (isfinite(ratio.mean))
			result_metric(r, name, ratio.mean, ratio.low, ratio.high);
	}
}

void replications_compare(struct run_result *const *runs, size_t n, double level)
{
	for (size_t i = 1; i < n; i++)
		compare(runs[0], runs[i], level);
}
