/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "results/summary.h"

#include "base/mem.h"

#include <gsl/gsl_cdf.h>
#include <math.h>

enum { BATCHES = 30 };

void summary_put(struct run_result *r, const char *name, double value)
{
	result_metric(r, name, value, NAN, NAN);
}

void summary_mean(struct run_result *r, const char *name, const struct blocks *b, double warmup, double level)
{
	struct interval i = blocks_mean(b, warmup, BATCHES, level);
	result_metric(r, name, i.mean, i.low, i.high);
}

void summary_quantile(struct run_result *r, const char *name, struct hist *h, double p, double level)
{
	double n = (double)hist_count(h);
	double half = gsl_cdf_ugaussian_Pinv(0.5 + level / 2) * sqrt(p * (1 - p) / n);
	double low = p - half >= 0 ? hist_quantile(h, p - half) : NAN;
	double high = p + half <= 1 ? hist_quantile(h, p + half) : NAN;
	result_metric(r, name, hist_quantile(h, p), low, high);
}

void summary_timeline(struct run_result *r, const char *name, const struct timeline *t, double scale, double level)
{
	struct blocks b;
	double span = (double)(t->last - t->start);
	blocks_init(&b);
	for (size_t i = 0; i < t->n; i++)
		blocks_add(&b, i, timeline_mean(t, i) * scale);
	struct interval i = blocks_mean(&b, 0, BATCHES, level);
	double mean = span > 0 ? (double)t->total / span * scale : 0;
	/* The last bucket may be partial: centre the interval on the exact mean. */
	result_metric(r, name, mean, mean - (i.mean - i.low), mean + (i.high - i.mean));
}

void summary_series(struct run_result *r, const char *name, const struct timeline *t, double scale)
{
	r->series = mem_realloc(r->series, r->n_series + 1, sizeof *r->series);
	struct series *s = &r->series[r->n_series++];
	*s = (struct series){ .name = name, .n = t->n };
	s->time_ns = mem_alloc((t->n + 1) * sizeof *s->time_ns);
	s->value = mem_alloc((t->n + 1) * sizeof *s->value);
	for (size_t i = 0; i < t->n; i++) {
		s->time_ns[i] = t->start + (int64_t)i * t->width;
		s->value[i] = timeline_mean(t, i) * scale;
	}
}
