/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "world/precision.h"

#include "results/report.h"
#include "world/replications.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* The interval with the largest width relative to its mean. */
struct widest {
	double half; /* INFINITY: the metric has no value, or varies but has no interval */
	bool has_value;
	char metric[64];
	size_t policy;
};

/* Returns the relative half-width; 0 for values without variation, which have no interval. */
static double relative_half(const struct interval *i)
{
	if (!isfinite(i->mean))
		return INFINITY;
	if (isnan(i->low) || isnan(i->high))
		return 0;
	double half = (i->high - i->low) / 2;
	return half > 0 ? half / fabs(i->mean) : 0;
}

static void look_at(size_t runs, const char *metric, precision_interval interval, const void *ctx, struct widest *w)
{
	for (size_t p = 0; p < runs; p++) {
		struct interval i = interval(ctx, p, metric);
		double half = relative_half(&i);
		if (*w->metric && !(half > w->half))
			continue;
		*w = (struct widest){ .half = half, .has_value = isfinite(i.mean), .policy = p };
		snprintf(w->metric, sizeof w->metric, "%.60s", metric);
	}
}

static bool varies(size_t runs, const char *metric, precision_interval interval, const void *ctx)
{
	for (size_t p = 0; p < runs; p++) {
		struct interval i = interval(ctx, p, metric);
		if (!isnan(i.low) && !isnan(i.high))
			return true;
	}
	return false;
}

/* Returns the first primary column with an interval, else the first column with one; NULL: no column has a variance. */
static const char *first_column(const struct scenario *s, size_t runs, precision_interval interval, const void *ctx)
{
	for (int is_primary = 1; is_primary >= 0; is_primary--)
		for (const struct report_column *c = s->world->form.columns; c && c->metric; c++)
			if ((c->is_primary || !is_primary) && varies(runs, c->metric, interval, ctx))
				return c->metric;
	return NULL;
}

static struct widest find_widest(const struct scenario *s, size_t runs, precision_interval interval, const void *ctx)
{
	struct widest w = { .half = 0 };
	const char *names = orr_arg_text(s->keys, "precision_of"), *first = *names ? NULL : first_column(s, runs, interval, ctx);
	if (first)
		look_at(runs, first, interval, ctx, &w);
	for (const char *at = names; *at;) {
		char metric[64];
		size_t n = strcspn(at, ",");
		snprintf(metric, sizeof metric, "%.*s", (int)n, at);
		look_at(runs, metric, interval, ctx, &w);
		at += n + (at[n] == ',');
	}
	return w;
}

uint32_t precision_next(const struct scenario *s, size_t runs, uint32_t n, precision_interval interval, const void *ctx, bool *was_precise)
{
	uint32_t most = s->replications, next = n ? 2 * n : SCENARIO_LEAST_REPLICATIONS;
	bool was = *was_precise;
	*was_precise = n && find_widest(s, runs, interval, ctx).half <= s->until_precision;
	if (n >= most || (was && *was_precise))
		return n;
	return next < most ? next : most;
}

static struct interval of_result(const void *ctx, size_t i, const char *metric)
{
	struct run_result *const *runs = ctx;
	return replications_interval(runs[i], metric);
}

/* A run read from the database already has the remark. */
static bool has_remark(const struct run_result *r, const char *text)
{
	const char *note;
	for (size_t i = 0; (note = result_note_at(r, "remark", i)); i++)
		if (!strcmp(note, text))
			return true;
	return false;
}

static const char missed[] = "the limit; the precision was not reached";

bool precision_was_missed(const struct run_result *r)
{
	const char *note;
	for (size_t i = 0; (note = result_note_at(r, "remark", i)); i++)
		if (strstr(note, missed))
			return true;
	return false;
}

void precision_remark(const struct scenario *s, struct run_result *const *runs, size_t n)
{
	const struct metric *times = n ? result_find(runs[0], "replications") : NULL;
	struct widest w = find_widest(s, n, of_result, runs);
	char text[400], how[160] = "no column of the table has a variance";
	if (!times)
		return;
	if (*w.metric && isinf(w.half))
		snprintf(how, sizeof how, "%.60s of %.40s has no %s", w.metric, runs[w.policy]->label, w.has_value ? "interval" : "value");
	else if (*w.metric)
		snprintf(how, sizeof how, "the widest interval is %.60s of %.40s, ± %.3g %% of its mean", w.metric, runs[w.policy]->label,
			100 * w.half);
	bool is_missed = w.half > s->until_precision;
	snprintf(text, sizeof text, "%.0f replications%s%s: %s (until_precision %.4g %%)", times->value, is_missed ? ", " : "",
		is_missed ? missed : "", how, 100 * s->until_precision);
	for (size_t i = 0; i < n; i++)
		if (!has_remark(runs[i], text))
			result_note(runs[i], "remark", text);
}
