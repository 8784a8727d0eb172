/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "results/compare.h"

#include "base/mem.h"
#include "base/rng.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- Holm ---- */

struct ranked {
	double p;
	size_t index;
};

static int by_p(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;
	if (x->p < y->p || x->p > y->p)
		return x->p < y->p ? -1 : 1;
	return (x->index > y->index) - (x->index < y->index);
}

void compare_holm(const double *p, size_t n, double *adjusted)
{
	struct ranked *sorted = mem_zalloc(n + 1, sizeof *sorted);
	for (size_t i = 0; i < n; i++)
		sorted[i] = (struct ranked){ isnan(p[i]) ? 2 : p[i], i };
	qsort(sorted, n, sizeof *sorted, by_p);
	double least = 0;
	for (size_t i = 0; i < n; i++) {
		least = fmax(least, fmin((double)(n - i) * sorted[i].p, 1));
		adjusted[sorted[i].index] = isnan(p[sorted[i].index]) ? NAN : least;
	}
	mem_free(sorted);
}

/* ---- one pair ---- */

/* Returns the two-sided p-value of "the mean is 0". */
static double two_sided(const double *v, double *negative, size_t n, double (*above)(const double *v, size_t n))
{
	for (size_t k = 0; k < n; k++)
		negative[k] = -v[k];
	double p = above(v, n), q = above(negative, n);
	return isnan(p) || isnan(q) ? NAN : fmin(2 * fmin(p, q), 1);
}

double compare_equivalence(
	const double *a, const double *b, size_t n, double within, bool is_relative, double (*above)(const double *v, size_t n))
{
	double *below_high = mem_zalloc(n + 1, sizeof *below_high), *above_low = mem_zalloc(n + 1, sizeof *above_low);
	for (size_t k = 0; k < n; k++) {
		double bound = is_relative ? within * a[k] : within;
		below_high[k] = a[k] + bound - b[k];
		above_low[k] = b[k] - a[k] + bound;
	}
	double high = above(below_high, n), low = above(above_low, n);
	mem_free(below_high);
	mem_free(above_low);
	return isnan(high) || isnan(low) ? NAN : fmax(high, low);
}

/* The samples, without replications in which a policy has no value. */
struct samples {
	double **value;
	size_t n_policies, n;
};

/* Scratch space for one pair: differences, and the same with the other sign. */
struct work {
	double *d, *negative;
};

static bool is_zero(const double *d, size_t n)
{
	for (size_t k = 0; k < n; k++)
		if (d[k] != 0)
			return false;
	return true;
}

/* Equal differences other than 0 have no variance. Their p-value is that of the two-sided sign test. */
static double sign_test(size_t n)
{
	return fmin(ldexp(1, 1 - (int)(n < 1000 ? n : 1000)), 1);
}

static void test_pair(const struct samples *s, const struct compare_options *o, double level, struct work *w, struct compare_pair *p)
{
	const double *a = s->value[p->a], *b = s->value[p->b];
	size_t n = s->n;
	for (size_t k = 0; k < n; k++)
		w->d[k] = b[k] - a[k];
	p->difference = estimate_mean(w->d, n, ESTIMATE_REAL, level);
	p->p = two_sided(w->d, w->negative, n, estimate_p_above);
	p->p_t = two_sided(w->d, w->negative, n, estimate_student_above);
	p->p_equal = p->p_equal_t = NAN;
	if (o->within > 0) {
		p->p_equal = compare_equivalence(a, b, n, o->within, o->is_relative, estimate_p_above);
		p->p_equal_t = compare_equivalence(a, b, n, o->within, o->is_relative, estimate_student_above);
	}
	if (n < ESTIMATE_LEAST)
		p->p = p->p_t = p->p_equal_t = NAN;
	else if (is_zero(w->d, n))
		p->verdict = COMPARE_SAME;
	else if (!estimate_others(w->d, n, ESTIMATE_REAL))
		p->p = sign_test(n);
}

static enum compare_verdict verdict_of(const struct compare_pair *p, double error)
{
	bool is_other = p->p_holm <= error, is_equal = p->p_equal_holm <= error;
	if (p->verdict == COMPARE_SAME)
		return COMPARE_SAME;
	if (is_other || is_equal)
		return is_other && is_equal ? COMPARE_BOTH : is_other ? COMPARE_DIFFERENT : COMPARE_EQUAL;
	return isnan(p->p) ? COMPARE_NONE : COMPARE_NOT_SHOWN;
}

static void adjust(struct comparison *c)
{
	double *p = mem_zalloc(2 * c->n_pairs + 1, sizeof *p), *adjusted = p + c->n_pairs;
	for (size_t i = 0; i < c->n_pairs; i++)
		p[i] = c->pair[i].p;
	compare_holm(p, c->n_pairs, adjusted);
	for (size_t i = 0; i < c->n_pairs; i++)
		c->pair[i].p_holm = adjusted[i];
	for (size_t i = 0; i < c->n_pairs; i++)
		p[i] = c->pair[i].p_equal;
	compare_holm(p, c->n_pairs, adjusted);
	for (size_t i = 0; i < c->n_pairs; i++) {
		c->pair[i].p_equal_holm = adjusted[i];
		c->pair[i].verdict = verdict_of(&c->pair[i], 1 - c->options.level);
	}
	mem_free(p);
}

static void test_pairs(struct comparison *c, const struct samples *s)
{
	size_t firsts = c->options.family == COMPARE_FIRST ? 1 : s->n_policies - 1, n = 0;
	struct work w = { mem_zalloc(s->n + 1, sizeof(double)), mem_zalloc(s->n + 1, sizeof(double)) };
	c->n_pairs = c->options.family == COMPARE_FIRST ? s->n_policies - 1 : s->n_policies * (s->n_policies - 1) / 2;
	c->pair = mem_zalloc(c->n_pairs + 1, sizeof *c->pair);
	for (size_t a = 0; a < firsts; a++)
		for (size_t b = a + 1; b < s->n_policies; b++) {
			struct compare_pair *p = &c->pair[n++];
			*p = (struct compare_pair){ .a = a, .b = b };
			test_pair(s, &c->options, 1 - (1 - c->options.level) / (double)c->n_pairs, &w, p);
		}
	adjust(c);
	mem_free(w.d);
	mem_free(w.negative);
}

/* ---- ranks ---- */

static bool is_before(const struct comparison *c, size_t i, size_t j)
{
	double x = c->policy[i].mean, y = c->policy[j].mean;
	if (x < y || x > y)
		return c->options.is_larger_better ? x > y : x < y;
	return i < j;
}

static void sort_policies(struct comparison *c)
{
	for (size_t i = 0; i < c->n_policies; i++) {
		size_t k = i;
		for (; k && is_before(c, i, c->order[k - 1]); k--)
			c->order[k] = c->order[k - 1];
		c->order[k] = i;
	}
}

bool compare_is_different(const struct compare_pair *p)
{
	return p->verdict == COMPARE_DIFFERENT || p->verdict == COMPARE_BOTH;
}

/* The rank is at least 1 + the number of policies shown to be better, and at most the number of policies not shown to be worse. */
static void rank(struct comparison *c)
{
	for (size_t i = 0; i < c->n_policies; i++) {
		c->policy[i].rank_low = 1;
		c->policy[i].rank_high = c->n_policies;
	}
	for (size_t k = 0; k < c->n_pairs; k++) {
		const struct compare_pair *p = &c->pair[k];
		if (!compare_is_different(p))
			continue;
		bool is_b_better = c->options.is_larger_better ? p->difference.mean > 0 : p->difference.mean < 0;
		c->policy[is_b_better ? p->a : p->b].rank_low++;
		c->policy[is_b_better ? p->b : p->a].rank_high--;
	}
}

/* ---- the best ---- */

enum { RESAMPLES = 10000, MOST_VALUES = 2000 };

/* Returns the samples for the bootstrap: the values, or the sums of at most MOST_VALUES consecutive blocks, which keep it fast. */
static struct samples blocks_of(const struct samples *s)
{
	size_t width = (s->n + MOST_VALUES - 1) / MOST_VALUES;
	struct samples x = { mem_zalloc(s->n_policies, sizeof *x.value), s->n_policies, s->n / width };
	for (size_t i = 0; i < s->n_policies; i++) {
		x.value[i] = mem_zalloc(x.n + 1, sizeof **x.value);
		for (size_t k = 0; k < x.n * width; k++)
			x.value[i][k / width] += s->value[i][k];
	}
	return x;
}

static void samples_free(struct samples *s)
{
	for (size_t i = 0; i < s->n_policies; i++)
		mem_free(s->value[i]);
	mem_free(s->value);
}

/* Adds 1 to the count of the policy with the best sum; on ties each of the k best gets 1/k. */
static void add_best(struct comparison *c, const double *sum)
{
	double best = *sum;
	size_t having = 0;
	for (size_t i = 1; i < c->n_policies; i++)
		best = c->options.is_larger_better ? fmax(best, sum[i]) : fmin(best, sum[i]);
	for (size_t i = 0; i < c->n_policies; i++)
		having += sum[i] == best;
	for (size_t i = 0; i < c->n_policies; i++)
		c->policy[i].is_best += sum[i] == best ? 1.0 / (double)having : 0;
}

/* Draws whole replications with replacement, so that policies stay paired. */
static void bootstrap(struct comparison *c, const struct samples *s)
{
	struct samples x = blocks_of(s);
	struct rng rng;
	double *sum = mem_zalloc(c->n_policies, sizeof *sum);
	rng_init(&rng, 1, "compare", 0);
	for (int i = 0; i < RESAMPLES; i++) {
		memset(sum, 0, c->n_policies * sizeof *sum);
		for (size_t k = 0; k < x.n; k++) {
			size_t from = (size_t)rng_below(&rng, x.n);
			for (size_t p = 0; p < c->n_policies; p++)
				sum[p] += x.value[p][from];
		}
		add_best(c, sum);
	}
	for (size_t p = 0; p < c->n_policies; p++)
		c->policy[p].is_best /= RESAMPLES;
	mem_free(sum);
	samples_free(&x);
}

/* ---- comparison with the best ---- */

/* Fills in the one-sided bounds of the mean of i - j, with signs such that larger is better: below[i * n + j], above[..]. NAN: none. */
static void bound_pairs(const struct comparison *c, const struct samples *s, double *below, double *above)
{
	size_t n = c->n_policies;
	double *d = mem_zalloc(s->n + 1, sizeof *d), sense = c->options.is_larger_better ? 1 : -1;
	double level =
		1 - 2 * (1 - c->options.level) / (double)(n - 1); /* the probability of error is at most (1 - level) / 2 at each end */
	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < n; j++) {
			for (size_t k = 0; k < s->n; k++)
				d[k] = sense * (s->value[i][k] - s->value[j][k]);
			struct interval e = i == j ? (struct interval){ 0, 0, 0 } : estimate_mean(d, s->n, ESTIMATE_REAL, level);
			if (i != j && s->n >= ESTIMATE_LEAST && isnan(e.low) && !estimate_others(d, s->n, ESTIMATE_REAL))
				e.low = e.high = e.mean; /* the difference does not vary */
			below[i * n + j] = e.low;
			above[i * n + j] = e.high;
		}
	mem_free(d);
}

/* Hsu's upper end: the least upper bound of i - j over the others, at least 0. NAN if a bound is missing. */
static double upper_to_best(const double *above, size_t n, size_t i)
{
	double least = INFINITY;
	for (size_t j = 0; j < n; j++)
		if (j != i)
			least = isnan(above[i * n + j]) || isnan(least) ? NAN : fmin(least, above[i * n + j]);
	return isnan(least) ? NAN : fmax(least, 0);
}

/* Hsu's lower end: the least lower bound of i - j over the others that may be the best, at most 0; 0 if only i may be the best. */
static double lower_to_best(const struct comparison *c, const double *below, size_t i)
{
	double least = 0;
	for (size_t j = 0; j < c->n_policies; j++)
		if (j != i && c->policy[j].may_be_best)
			least = isnan(below[i * c->n_policies + j]) ? NAN : fmin(least, below[i * c->n_policies + j]);
	return least;
}

static double best_of_others(const struct comparison *c, size_t i)
{
	return c->policy[c->order[0] == i ? c->order[1] : c->order[0]].mean;
}

static void compare_with_best(struct comparison *c, const struct samples *s)
{
	size_t n = c->n_policies;
	double *below = mem_zalloc(n * n, sizeof *below), *above = mem_zalloc(n * n, sizeof *above);
	bound_pairs(c, s, below, above);
	for (size_t i = 0; i < n; i++) {
		struct compare_policy *p = &c->policy[i];
		p->to_best.high = upper_to_best(above, n, i);
		p->may_be_best = !(p->to_best.high <= 0);
	}
	for (size_t i = 0; i < n; i++) {
		struct compare_policy *p = &c->policy[i];
		double low = lower_to_best(c, below, i), high = p->to_best.high;
		bool is_larger = c->options.is_larger_better;
		p->to_best = (struct interval){ p->mean - best_of_others(c, i), is_larger ? low : 0 - high, is_larger ? high : 0 - low };
	}
	mem_free(below);
	mem_free(above);
}

/* ---- the comparison ---- */

static bool is_complete(const double *const *value, size_t n_policies, size_t k)
{
	for (size_t i = 0; i < n_policies; i++)
		if (!isfinite(value[i][k]))
			return false;
	return true;
}

static struct samples complete(const double *const *value, size_t n_policies, size_t n)
{
	struct samples s = { mem_zalloc(n_policies, sizeof *s.value), n_policies, 0 };
	for (size_t i = 0; i < n_policies; i++)
		s.value[i] = mem_zalloc(n + 1, sizeof **s.value);
	for (size_t k = 0; k < n; k++) {
		if (!is_complete(value, n_policies, k))
			continue;
		for (size_t i = 0; i < n_policies; i++)
			s.value[i][s.n] = value[i][k];
		s.n++;
	}
	return s;
}

static void add_means(struct comparison *c, const struct samples *s)
{
	for (size_t i = 0; i < c->n_policies; i++) {
		double sum = 0;
		for (size_t k = 0; k < s->n; k++)
			sum += s->value[i][k];
		c->policy[i] = (struct compare_policy){ .mean = s->n ? sum / (double)s->n : NAN, .to_best = { NAN, NAN, NAN } };
	}
}

bool compare_is_possible(const struct comparison *c)
{
	return c->n_values >= ESTIMATE_LEAST;
}

struct comparison *compare_new(const double *const *value, size_t n_policies, size_t n, const struct compare_options *o)
{
	struct comparison *c = mem_zalloc(1, sizeof *c);
	struct samples s = complete(value, n_policies, n);
	*c = (struct comparison){ .options = *o, .n_policies = n_policies, .n_values = s.n };
	c->policy = mem_zalloc(n_policies, sizeof *c->policy);
	c->order = mem_zalloc(n_policies, sizeof *c->order);
	add_means(c, &s);
	sort_policies(c);
	if (o->family != COMPARE_BEST)
		test_pairs(c, &s);
	if (compare_is_possible(c)) {
		bootstrap(c, &s);
		if (o->family == COMPARE_ALL)
			rank(c);
		if (o->family == COMPARE_BEST)
			compare_with_best(c, &s);
	}
	samples_free(&s);
	return c;
}

void compare_free(struct comparison *c)
{
	if (!c)
		return;
	mem_free(c->pair);
	mem_free(c->policy);
	mem_free(c->order);
	mem_free(c);
}

const struct compare_pair *compare_pair_of(const struct comparison *c, size_t i, size_t j)
{
	size_t a = i < j ? i : j, b = i < j ? j : i, before = a * (2 * c->n_policies - a - 1) / 2 + b - a - 1;
	return before < c->n_pairs ? &c->pair[before] : NULL; /* COMPARE_FIRST has only the pairs of the first policy, which come first */
}
