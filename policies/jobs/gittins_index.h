/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * gittins_index.h - the Gittins index of an empirical distribution of service
 *
 * A job that has had service a and needs S in all (S from the distribution, known only to
 * exceed a) has the index (Gittins 1989; Aalto, Ayesta, Righter, "On the Gittins index in
 * the M/G/1 queue", Queueing Systems 63, 2009; in Tiresias, section 3.3):
 *
 *	            P(S - a <= D | S > a)         F(a + D) - F(a)
 *	G(a) = sup ------------------------ = sup -----------------,  H(x) = E min(S, x)
 *	        D  E[min(S - a, D) | S > a]       H(a + D) - H(a)
 *
 * the most completions per service that can be bought from here on. It is the steepest
 * slope from the point (H(a), F(a)) to a later point of the curve (H(x), F(x)); with F a
 * step function, to one of its corners. gittins_build() links the upper hull of the
 * corners from each one on, so an index costs O(log n + corners of that hull).
 *
 * Invariant after gittins_build(): s[] ascends; sum[k] is that of the first k; next[k] is
 * the corner after corner k on the upper hull of the corners k, k + 1, ..; corner k is the
 * point (n H, n F) just at s[k].
 */
#ifndef ORR_POLICIES_GITTINS_INDEX_H
#define ORR_POLICIES_GITTINS_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

struct gittins_table {
	double *s, *sum; /* values of service, and n + 1 sums */
	size_t *next;
	size_t n, built, cap; /* values; as of the last build */
};

static inline void gittins_free(struct gittins_table *t)
{
	free(t->s);
	free(t->sum);
	free(t->next);
}

/* False: out of memory. */
static inline bool gittins_add(struct gittins_table *t, double service)
{
	if (t->n == t->cap) {
		size_t cap = t->cap ? t->cap * 2 : 64;
		double *s = realloc(t->s, cap * sizeof *s);
		t->s = s ? s : t->s;
		double *sum = realloc(t->sum, (cap + 1) * sizeof *sum);
		t->sum = sum ? sum : t->sum;
		size_t *next = realloc(t->next, cap * sizeof *next);
		t->next = next ? next : t->next;
		if (!s || !sum || !next)
			return false;
		t->cap = cap;
	}
	t->s[t->n++] = service;
	return true;
}

static inline int gittins_compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return x < y ? -1 : x > y;
}

/* How many values are <= x. */
static inline size_t gittins_count(const struct gittins_table *t, double x)
{
	size_t low = 0, high = t->built;
	while (low < high) {
		size_t mid = low + (high - low) / 2;
		if (t->s[mid] <= x)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

struct gittins_point {
	double h, f; /* n H(x), n F(x) */
};

static inline struct gittins_point gittins_at(const struct gittins_table *t, double x, size_t count)
{
	return (struct gittins_point){ t->sum[count] + (double)(t->built - count) * x, (double)count };
}

static inline struct gittins_point gittins_corner(const struct gittins_table *t, size_t k)
{
	return gittins_at(t, t->s[k], k + 1);
}

/* Is c at least as steep from a as b is? */
static inline bool gittins_is_steeper(struct gittins_point a, struct gittins_point b, struct gittins_point c)
{
	return (c.f - a.f) * (b.h - a.h) >= (b.f - a.f) * (c.h - a.h);
}

/* From corner k along the hull to the one that is steepest from a. */
static inline size_t gittins_tangent(const struct gittins_table *t, struct gittins_point a, size_t k)
{
	while (k + 1 < t->built && gittins_is_steeper(a, gittins_corner(t, k), gittins_corner(t, t->next[k])))
		k = t->next[k];
	return k;
}

static inline void gittins_build(struct gittins_table *t)
{
	t->built = t->n;
	if (!t->n)
		return;
	qsort(t->s, t->n, sizeof *t->s, gittins_compare);
	t->sum[0] = 0;
	for (size_t k = 0; k < t->n; k++)
		t->sum[k + 1] = t->sum[k] + t->s[k];
	for (size_t k = t->n - 1; k-- > 0;)
		t->next[k] = gittins_tangent(t, gittins_corner(t, k), k + 1);
}

static inline double gittins_slope(struct gittins_point a, struct gittins_point b)
{
	return b.h > a.h ? (b.f - a.f) / (b.h - a.h) : 0;
}

/* With D fixed; 0 where no value is greater than the age. */
static inline double gittins_index_fixed(const struct gittins_table *t, double age, double d)
{
	if (!t->built)
		return 0;
	return gittins_slope(gittins_at(t, age, gittins_count(t, age)), gittins_at(t, age + d, gittins_count(t, age + d)));
}

/* The sup over D >= least (0: over all D); 0 where no value is greater than the age. */
static inline double gittins_index(const struct gittins_table *t, double age, double least)
{
	if (!t->built)
		return 0;
	struct gittins_point a = gittins_at(t, age, gittins_count(t, age));
	size_t from = gittins_count(t, age + least);
	double best = gittins_slope(a, gittins_at(t, age + least, from));
	if (from == t->built)
		return best;
	double slope = gittins_slope(a, gittins_corner(t, gittins_tangent(t, a, from)));
	return slope > best ? slope : best;
}

#endif
