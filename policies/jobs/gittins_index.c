/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "gittins_index.h"

#include <orrery/api.h>

#include <stdlib.h>

void gittins_free(struct gittins_table *t)
{
	orr_free(t->s);
	orr_free(t->sum);
	orr_free(t->next);
}

void gittins_add(struct gittins_table *t, double service)
{
	if (t->n == t->cap) {
		t->cap = t->cap ? t->cap * 2 : 64;
		t->s = orr_realloc(t->s, t->cap, sizeof *t->s);
		t->sum = orr_realloc(t->sum, t->cap + 1, sizeof *t->sum);
		t->next = orr_realloc(t->next, t->cap, sizeof *t->next);
	}
	t->s[t->n++] = service;
}

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return x < y ? -1 : x > y;
}

/* Returns the number of values <= x. */
static size_t count(const struct gittins_table *t, double x)
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

struct point {
	double h, f; /* h: n H(x); f: n F(x) */
};

static struct point point_at(const struct gittins_table *t, double x, size_t n_below)
{
	return (struct point){ t->sum[n_below] + (double)(t->built - n_below) * x, (double)n_below };
}

static struct point corner(const struct gittins_table *t, size_t k)
{
	return point_at(t, t->s[k], k + 1);
}

/* Returns whether the slope from a to c is at least that from a to b. */
static bool is_steeper(struct point a, struct point b, struct point c)
{
	return (c.f - a.f) * (b.h - a.h) >= (b.f - a.f) * (c.h - a.h);
}

/* Returns the corner that is steepest from a, starting at corner k along the hull. */
static size_t tangent(const struct gittins_table *t, struct point a, size_t k)
{
	while (k + 1 < t->built && is_steeper(a, corner(t, k), corner(t, t->next[k])))
		k = t->next[k];
	return k;
}

void gittins_build(struct gittins_table *t)
{
	t->built = t->n;
	if (!t->n)
		return;
	qsort(t->s, t->n, sizeof *t->s, ascending);
	t->sum[0] = 0;
	for (size_t k = 0; k < t->n; k++)
		t->sum[k + 1] = t->sum[k] + t->s[k];
	for (size_t k = t->n - 1; k-- > 0;)
		t->next[k] = tangent(t, corner(t, k), k + 1);
}

static double slope(struct point a, struct point b)
{
	return b.h > a.h ? (b.f - a.f) / (b.h - a.h) : 0;
}

double gittins_index_fixed(const struct gittins_table *t, double age, double d)
{
	if (!t->built)
		return 0;
	return slope(point_at(t, age, count(t, age)), point_at(t, age + d, count(t, age + d)));
}

double gittins_index(const struct gittins_table *t, double age, double least)
{
	if (!t->built)
		return 0;
	struct point a = point_at(t, age, count(t, age));
	size_t from = count(t, age + least);
	double best = slope(a, point_at(t, age + least, from));
	if (from == t->built)
		return best;
	double at_corner = slope(a, corner(t, tangent(t, a, from)));
	return at_corner > best ? at_corner : best;
}
