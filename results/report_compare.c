/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "results/report_compare.h"

#include "base/mem.h"
#include "results/report_text.h"

#include <math.h>
#include <stdio.h>

void report_comparisons_free(struct report_comparisons *x)
{
	for (size_t i = 0; x && i < x->n; i++) {
		mem_free(x->item[i].metric);
		compare_free(x->item[i].c);
	}
	if (x)
		mem_free(x->item);
	mem_free(x);
}

const char *report_verdict(enum compare_verdict v)
{
	static const char *const words[] = { "not tested", "same", "not shown", "different", "equal", "different and equal" };
	return words[v];
}

const char *report_family(enum compare_family f)
{
	static const char *const words[] = { "all", "first", "best" };
	return words[f];
}

/* ---- differences ---- */

static void put_p(struct sbuf *out, double p)
{
	static const double least = 1e-4;
	if (p < least)
		sbuf_printf(out, "p < %g", least);
	else
		sbuf_printf(out, "p = %.2g", p);
}

static void put_bound(struct sbuf *out, const struct report_comparison *x)
{
	const struct compare_options *o = &x->c->options;
	if (o->is_relative) {
		sbuf_printf(out, "%.4g %%", 100 * o->within);
		return;
	}
	struct report_scale by = report_scale_for(x->column->kind, o->within);
	sbuf_printf(out, "%.4g%s%s", o->within / by.divisor, *by.unit ? " " : "", by.unit);
}

void report_put_verdict(struct sbuf *out, const struct report_comparison *x, const struct compare_pair *p)
{
	switch (p->verdict) {
	case COMPARE_NONE:
		if (compare_is_possible(x->c))
			sbuf_printf(out, "  no test: fewer than %d differences differ from the most frequent value", ESTIMATE_LEAST_OTHER);
		break;
	case COMPARE_SAME:
		sbuf_puts(out, "  equal in each replication");
		break;
	case COMPARE_NOT_SHOWN:
		sbuf_puts(out, "  no difference shown (");
		put_p(out, p->p_holm);
		sbuf_putc(out, ')');
		break;
	case COMPARE_DIFFERENT:
		sbuf_puts(out, "  ");
		put_p(out, p->p_holm);
		break;
	case COMPARE_EQUAL:
	case COMPARE_BOTH:
		sbuf_puts(out, "  shown equal within ");
		put_bound(out, x);
		sbuf_puts(out, " (");
		put_p(out, p->p_equal_holm);
		sbuf_putc(out, ')');
		if (p->verdict == COMPARE_BOTH) {
			sbuf_puts(out, ", and different (");
			put_p(out, p->p_holm);
			sbuf_putc(out, ')');
		}
		break;
	}
}

static void put_pair(struct sbuf *out, const struct report_comparison *x, const struct compare_pair *p, const char *name, size_t width)
{
	sbuf_puts(out, "  ");
	report_pad(out, name, width, false);
	report_put_difference(out, &p->difference, x->column->kind, x->c->policy[p->a].mean);
	report_put_verdict(out, x, p);
	sbuf_putc(out, '\n');
}

/* Appends the level at which several statements hold simultaneously. */
static void put_level(struct sbuf *out, const struct comparison *c, size_t n, const char *what)
{
	if (compare_is_possible(c) && n > 1)
		sbuf_printf(out, ", %.4g %% for all %zu %s together", 100 * c->options.level, n, what);
	sbuf_puts(out, ":\n");
}

static void put_against_first(struct sbuf *out, const struct report_comparison *x, const struct run_result *const *runs, size_t width)
{
	char title[160];
	snprintf(title, sizeof title, "%.60s against %%s, paired over %zu replications", x->column->title, x->c->n_values);
	report_put_title(out, title, runs[0]);
	put_level(out, x->c, x->c->n_pairs, "pairs");
	for (size_t i = 1; i < x->c->n_policies; i++) {
		char *name = report_name_of(runs[i]);
		put_pair(out, x, compare_pair_of(x->c, 0, i), name, width);
		mem_free(name);
	}
}

/* Largest number of listed pairs of policies without the first policy. */
enum { MOST_PAIRS = 10 };

/* Lists pairs of policies other than the first, if a bound of equality is given. */
static void put_other_pairs(struct sbuf *out, const struct report_comparison *x, const struct run_result *const *runs)
{
	size_t listed = 0, left = 0;
	for (size_t i = 0; x->c->options.within > 0 && i < x->c->n_pairs; i++) {
		const struct compare_pair *p = &x->c->pair[i];
		if (!p->a)
			continue;
		if (listed == MOST_PAIRS) {
			left++;
			continue;
		}
		char *a = report_name_of(runs[p->a]), *b = report_name_of(runs[p->b]);
		struct sbuf name = { 0 };
		sbuf_printf(&name, "%s against %s", b, a);
		put_pair(out, x, p, sbuf_text(&name), 0);
		sbuf_free(&name);
		mem_free(a);
		mem_free(b);
		listed++;
	}
	if (left)
		sbuf_printf(out, "  %zu more pairs: --json, or comparisons.csv of --out\n", left);
}

/* ---- ranking ---- */

static void put_share(struct sbuf *out, double share)
{
	if (share < 0.005)
		sbuf_puts(out, "< 0.01");
	else if (share > 0.995)
		sbuf_puts(out, "> 0.99");
	else
		sbuf_printf(out, "%.2f", share);
}

/* Returns the end of the longest group of policies, in order, from `from` on, in which no pair differs. */
static size_t group_end(const struct comparison *c, size_t from)
{
	for (size_t end = from + 1; end < c->n_policies; end++)
		for (size_t i = from; i < end; i++)
			if (compare_is_different(compare_pair_of(c, c->order[i], c->order[end])))
				return end;
	return c->n_policies;
}

/* Lists maximal groups of policies that are not told apart. */
static void put_groups(struct sbuf *out, const struct comparison *c, const struct run_result *const *runs)
{
	size_t last = 0;
	for (size_t i = 0; i < c->n_policies; i++) {
		size_t end = group_end(c, i);
		if (end == i + 1 || end <= last)
			continue;
		sbuf_puts(out, last ? "; " : "  not told apart: ");
		for (size_t k = i; k < end; k++) {
			char *name = report_name_of(runs[c->order[k]]);
			sbuf_printf(out, "%s%s", k > i ? ", " : "", name);
			mem_free(name);
		}
		last = end;
	}
	if (last)
		sbuf_putc(out, '\n');
}

static void put_rank(struct sbuf *out, const struct compare_policy *p)
{
	char text[64];
	if (p->rank_low == p->rank_high)
		snprintf(text, sizeof text, "%zu", p->rank_low);
	else
		snprintf(text, sizeof text, "%zu to %zu", p->rank_low, p->rank_high);
	report_pad(out, text, 8, false);
}

static void put_ranking(struct sbuf *out, const struct report_comparison *x, const struct run_result *const *runs, size_t width)
{
	const struct comparison *c = x->c;
	bool has_ranks = c->options.family == COMPARE_ALL;
	sbuf_printf(out, "%s by %s", has_ranks ? "rank" : "order", x->column->title);
	if (has_ranks)
		sbuf_printf(out, ", %.4g %% for all ranks together", 100 * c->options.level);
	sbuf_puts(out, "; probability of being the best (bootstrap):\n");
	for (size_t i = 0; i < c->n_policies; i++) {
		const struct compare_policy *p = &c->policy[c->order[i]];
		char *name = report_name_of(runs[c->order[i]]);
		sbuf_puts(out, "  ");
		report_pad(out, name, width, false);
		sbuf_puts(out, "  ");
		if (has_ranks)
			put_rank(out, p);
		put_share(out, p->is_best);
		sbuf_putc(out, '\n');
		mem_free(name);
	}
	if (has_ranks)
		put_groups(out, c, runs);
}

/* ---- the best ---- */

static void put_against_best(struct sbuf *out, const struct report_comparison *x, const struct run_result *const *runs, size_t width)
{
	const struct comparison *c = x->c;
	sbuf_printf(out, "\n%s against the best of the others, paired over %zu replications", x->column->title, c->n_values);
	put_level(out, c, c->n_policies, "policies");
	for (size_t i = 0; i < c->n_policies; i++) {
		const struct compare_policy *p = &c->policy[c->order[i]];
		char *name = report_name_of(runs[c->order[i]]);
		sbuf_puts(out, "  ");
		report_pad(out, name, width, false);
		report_put_difference(out, &p->to_best, x->column->kind, p->mean - p->to_best.mean);
		if (compare_is_possible(c))
			sbuf_puts(out, p->may_be_best ? "  may be the best" : "  not the best");
		sbuf_putc(out, '\n');
		mem_free(name);
	}
}

static void put_impossible(struct sbuf *out, const struct report_comparison *x)
{
	sbuf_printf(out, "no comparison by %s: %zu replications have a value of every policy; --replications %d gives one\n",
		x->column->title, x->c->n_values, ESTIMATE_LEAST);
}

/* Replications below which skewed differences raise the error rate of families beyond 1 - level (docs/models/compare.md). */
enum { ENOUGH = 20 };

static void put_caution(struct sbuf *out, const struct report_comparisons *x)
{
	for (size_t i = 0; x && i < x->n; i++) {
		const struct comparison *c = x->item[i].c;
		if (!compare_is_possible(c) || c->n_values >= ENOUGH || c->n_policies < 3)
			continue;
		sbuf_printf(out,
			"fewer than %d replications: if differences are skewed, more than %.4g %% of such comparisons have an error\n",
			ENOUGH, 100 * (1 - c->options.level));
		return;
	}
}

void report_put_comparisons(struct sbuf *out, const struct report_comparisons *x, const struct run_result *const *runs, size_t width)
{
	for (size_t i = 0; x && i < x->n; i++) {
		const struct report_comparison *m = &x->item[i];
		bool is_possible = compare_is_possible(m->c);
		if (m->c->options.family != COMPARE_BEST) {
			put_against_first(out, m, runs, width);
			put_other_pairs(out, m, runs);
		} else if (is_possible) {
			put_against_best(out, m, runs, width);
		}
		if (!is_possible)
			put_impossible(out, m);
		else if (m->is_ranked)
			put_ranking(out, m, runs, width);
	}
	put_caution(out, x);
}
