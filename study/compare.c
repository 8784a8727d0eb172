/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "study/compare.h"

#include "base/mem.h"
#include "results/report.h"
#include "world/equal.h"
#include "world/replications.h"
#include "world/run.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static enum compare_family family_of(const struct scenario *s)
{
	const char *name = orr_arg_text(s->keys, "compare");
	for (enum compare_family f = COMPARE_ALL; f <= COMPARE_BEST; f++)
		if (!strcmp(name, report_family(f)))
			return f;
	return COMPARE_ALL;
}

/* Returns the values of a metric per replication, by run; NULL if a run lacks them or has another number of replications. */
static const double **values_of(const char *metric, struct run_result *const *runs, size_t n, size_t *replications)
{
	const double **value = mem_zalloc(n + 1, sizeof *value);
	for (size_t i = 0; i < n; i++) {
		const struct series *x = replications_series(runs[i], metric);
		if (!x || (i && x->n != *replications)) {
			mem_free(value);
			return NULL;
		}
		*replications = x->n;
		value[i] = x->value;
	}
	return value;
}

/* Adds metrics called WHAT_METRIC. */
static void put(struct run_result *r, const char *what, const char *metric, double value, double low, double high)
{
	char name[80];
	snprintf(name, sizeof name, "%s_%.60s", what, metric);
	result_metric(r, name, value, low, high);
}

static void put_ranking(const struct report_comparison *x, struct run_result *const *runs)
{
	for (size_t i = 0; i < x->c->n_policies; i++) {
		size_t k = x->c->order[i];
		const struct compare_policy *p = &x->c->policy[k];
		bool has_ranks = p->rank_low > 0;
		put(runs[k], "rank", x->metric, (double)i + 1, has_ranks ? (double)p->rank_low : NAN,
			has_ranks ? (double)p->rank_high : NAN);
		put(runs[k], "best", x->metric, p->is_best, NAN, NAN);
	}
}

static void compare(const struct scenario *s, const struct report_column *column, struct run_result *const *runs, size_t n,
	struct report_comparisons *all)
{
	size_t replications = 0;
	struct compare_options o = { .family = family_of(s), .is_larger_better = column->is_larger_better, .level = scenario_level(s) };
	bool is_named = equal_within_of(orr_arg_text(s->keys, "equal_within"), column, &o.within, &o.is_relative);
	/* Without a known sense a metric has no best policy. */
	if (!column->is_primary && (!is_named || o.family == COMPARE_BEST))
		return;
	const double **value = values_of(column->metric, runs, n, &replications);
	if (!value)
		return;
	struct comparison *c = compare_new(value, n, replications, &o);
	mem_free(value);
	if (!c->n_values) {
		compare_free(c);
		return;
	}
	all->item = mem_realloc(all->item, all->n + 1, sizeof *all->item);
	struct report_comparison *x = &all->item[all->n++];
	*x = (struct report_comparison){ mem_strdup(column->metric), column, column->is_primary, c };
	if (x->is_ranked && compare_is_possible(c))
		put_ranking(x, runs);
}

struct report_comparisons *compare_policies(const struct scenario *s, struct run_result *const *runs, size_t n)
{
	struct report_comparisons *all = mem_zalloc(1, sizeof *all);
	if (s->replications > 1 && n > 1)
		for (const struct report_column *c = s->world->form.columns; c && c->metric; c++)
			compare(s, c, runs, n, all);
	return all;
}
