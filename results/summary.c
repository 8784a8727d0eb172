/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "results/summary.h"

#include "base/mem.h"
#include "results/batches.h"

#include <math.h>

void summary_put(struct run_result *r, const char *name, double value)
{
	result_metric(r, name, value, NAN, NAN);
}

/* Adds one remark for all metrics of a run. */
static void put_interval(struct run_result *r, const char *name, struct interval i)
{
	result_metric(r, name, i.mean, i.low, i.high);
	if (isnan(i.low) && isfinite(i.mean))
		result_note(r, "remark", SUMMARY_NO_INTERVAL);
}

void summary_mean(struct run_result *r, const char *name, const struct blocks *b, double warmup, double level)
{
	put_interval(r, name, batches_mean(b, warmup, estimate_range_of(name), level));
}

void summary_interval(struct run_result *r, const char *name, struct interval mean, double level)
{
	if (isnan(level))
		mean.low = mean.high = NAN;
	put_interval(r, name, mean);
}

static bool is_other(double a, double b)
{
	return isnan(a) != isnan(b) || a < b || a > b;
}

bool summary_depends_on_warmup(const char *name, const struct blocks *b, double warmup, double level)
{
	struct interval with = batches_mean(b, warmup, estimate_range_of(name), level);
	struct interval plain = batches_mean(b, 0, estimate_range_of(name), level);
	return is_other(with.mean, plain.mean) || is_other(with.low, plain.low) || is_other(with.high, plain.high);
}

void summary_quantile(struct run_result *r, const char *name, struct hist *h, double p, double level)
{
	put_interval(r, name, batches_quantile(h, p, level));
}

void summary_timeline(struct run_result *r, const char *name, const struct timeline *t, double scale, double level)
{
	put_interval(r, name, batches_timeline(t, scale, estimate_range_of(name), level));
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
