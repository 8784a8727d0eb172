/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/search.h"

#include "base/mem.h"

#include <math.h>

enum { CHECKS = 4, MARGIN = 8 };

/* A value tried. Find: `at` is its index on the grid. Refine: its position on the axis, 0 to 1. */
struct tried {
	double at, result, low, high; /* low, high: interval of the result; NAN: none */
};

struct search {
	struct search_axis axis;
	bool is_refine;
	/* find */
	double tolerance, limit;
	bool is_below, is_scanned;
	size_t low, high, last; /* the limit holds at low and fails at high; last: index of the last grid point */
	/* refine */
	size_t start, most;
	/* all values tried, ascending */
	struct tried *tried;
	size_t n, cap;
	bool is_waiting; /* result at `next`, allocated in advance */
	double next;
};

/* ---- values ---- */

static double value_of(const struct search *s, double at)
{
	const struct search_axis *a = &s->axis;
	if (s->is_refine)
		return a->is_log ? a->from * pow(a->to / a->from, at) : a->from + at * (a->to - a->from);
	if (at == (double)s->last)
		return a->to;
	return a->is_log ? a->from * pow(1 + s->tolerance, at) : a->from + at * s->tolerance * (a->to - a->from);
}

static const struct tried *find(const struct search *s, double at)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->tried[i].at == at)
			return &s->tried[i];
	return NULL;
}

static bool holds(const struct search *s, const struct tried *t)
{
	return s->is_below ? t->result <= s->limit : t->result >= s->limit;
}

/* ---- find ---- */

/* Returns whether the limit holds at all points tried below `high` and fails at all others. */
static bool is_one_sided(const struct search *s)
{
	for (size_t i = 0; i < s->n; i++)
		if (holds(s, &s->tried[i]) != (s->tried[i].at < (double)s->high))
			return false;
	return true;
}

static bool check_next(const struct search *s, double *at)
{
	for (size_t k = 0, distance = 1; k < CHECKS; k++, distance *= 2) {
		*at = (double)s->high + (double)distance;
		if (*at <= (double)s->last && !find(s, *at))
			return true;
		*at = (double)s->low - (double)distance;
		if (s->low >= distance && !find(s, *at))
			return true;
	}
	return false;
}

static bool scan_next(const struct search *s, double *at)
{
	double first = (double)s->last, end = 0;
	for (size_t i = 0; i < s->n; i++) {
		if (holds(s, &s->tried[i]))
			end = s->tried[i].at;
		else if (s->tried[i].at < first)
			first = s->tried[i].at;
	}
	end = fmin(end + MARGIN, (double)s->last);
	for (*at = first; *at <= end; ++*at)
		if (!find(s, *at))
			return true;
	return false;
}

static bool find_next(struct search *s, double *at)
{
	const struct tried *first = find(s, 0), *end = find(s, (double)s->last);
	if (!first || !end) {
		*at = first ? (double)s->last : 0;
		return true;
	}
	if (!holds(s, first) || holds(s, end))
		return false;
	if (s->high - s->low > 1) {
		*at = (double)(s->low + (s->high - s->low) / 2);
		return true;
	}
	if (!s->is_scanned && is_one_sided(s) && check_next(s, at))
		return true;
	s->is_scanned |= !is_one_sided(s);
	return s->is_scanned && scan_next(s, at);
}

/* Narrows the bracket until it is one step wide. */
static void narrow(struct search *s, const struct tried *t)
{
	size_t at = (size_t)t->at;
	if (at <= s->low || at >= s->high)
		return;
	if (holds(s, t))
		s->low = at;
	else
		s->high = at;
}

/* ---- refine ---- */

/* Returns twice the area of the triangle that three neighbouring points form; results are scaled to 0..1. */
static double bend(const struct search *s, size_t i, double span)
{
	const struct tried *a = &s->tried[i - 1], *b = &s->tried[i], *c = &s->tried[i + 1];
	double area = (b->at - a->at) * (c->result - a->result) - (c->at - a->at) * (b->result - a->result);
	return isfinite(area) ? fabs(area) / span : 0;
}

static bool refine_next(const struct search *s, double *at)
{
	if (s->n < s->start) {
		*at = (double)s->n / (double)(s->start - 1);
		return true;
	}
	if (s->n >= s->most)
		return false;
	double low = INFINITY, high = -INFINITY, most = -1;
	for (size_t i = 0; i < s->n; i++) {
		low = fmin(low, s->tried[i].result);
		high = fmax(high, s->tried[i].result);
	}
	double span = high > low ? high - low : 1;
	for (size_t i = 1; i + 1 < s->n; i++) {
		double here = bend(s, i, span), left = s->tried[i].at - s->tried[i - 1].at, right = s->tried[i + 1].at - s->tried[i].at;
		if (here > most) {
			most = here;
			*at = left >= right ? s->tried[i].at - left / 2 : s->tried[i].at + right / 2;
		}
	}
	return true;
}

/* ---- the search ---- */

struct search *search_find(const struct search_axis *axis, double tolerance, double limit, bool is_below)
{
	struct search *s = mem_zalloc(1, sizeof *s);
	*s = (struct search){ .axis = *axis, .tolerance = tolerance, .limit = limit, .is_below = is_below };
	double steps = axis->is_log ? log(axis->to / axis->from) / log1p(tolerance) : 1 / tolerance;
	s->last = s->high = (size_t)fmax(1, ceil(steps - 1e-9));
	return s;
}

struct search *search_refine(const struct search_axis *axis, size_t start, size_t most)
{
	struct search *s = mem_zalloc(1, sizeof *s);
	*s = (struct search){ .axis = *axis, .is_refine = true, .start = start, .most = most };
	return s;
}

void search_free(struct search *s)
{
	if (!s)
		return;
	mem_free(s->tried);
	mem_free(s);
}

bool search_next(struct search *s, double *value)
{
	if (!s->is_waiting)
		s->is_waiting = s->is_refine ? refine_next(s, &s->next) : find_next(s, &s->next);
	if (s->is_waiting)
		*value = value_of(s, s->next);
	return s->is_waiting;
}

void search_put(struct search *s, double result)
{
	search_put_interval(s, result, NAN, NAN);
}

void search_put_interval(struct search *s, double result, double low, double high)
{
	struct tried t = { s->next, result, low, high };
	MEM_GROW(s->tried, s->n, s->cap);
	size_t i = s->n++;
	for (; i && s->tried[i - 1].at > t.at; i--)
		s->tried[i] = s->tried[i - 1];
	s->tried[i] = t;
	s->is_waiting = false;
	if (!s->is_refine)
		narrow(s, &t);
}

/* Returns whether the whole interval of a result meets the limit (keeps) or misses it (not keeps). */
static bool is_sure(const struct search *s, const struct tried *t, bool keeps)
{
	if (isnan(t->result))
		return !keeps;
	if (s->is_below)
		return keeps ? t->high <= s->limit : t->low > s->limit;
	return keeps ? t->low >= s->limit : t->high < s->limit;
}

static void put_interval(const struct search *s, struct search_answer *a)
{
	size_t low = 0, high = s->n;
	a->low = a->high = NAN;
	for (size_t i = 0; i < s->n; i++)
		if (!isnan(s->tried[i].result) && isnan(s->tried[i].low + s->tried[i].high))
			return;
	while (low < s->n && is_sure(s, &s->tried[low], true))
		low++;
	while (high > low && is_sure(s, &s->tried[high - 1], false))
		high--;
	a->low = low ? value_of(s, s->tried[low - 1].at) : s->axis.from;
	a->high = high < s->n ? value_of(s, s->tried[high].at) : s->axis.to;
}

struct search_answer search_answer(const struct search *s)
{
	struct search_answer a = { .value = NAN, .result = NAN, .above = NAN, .is_scanned = s->is_scanned, .tried = s->n };
	bool is_first_good = s->n && s->tried[0].at == 0 && holds(s, &s->tried[0]);
	for (size_t i = 0; i < s->n; i++) {
		const struct tried *t = &s->tried[i];
		if (holds(s, t)) {
			a.value = value_of(s, t->at);
			a.result = t->result;
		} else if (isnan(a.above)) {
			a.above = value_of(s, t->at);
		}
	}
	put_interval(s, &a);
	a.outcome = !is_first_good ? SEARCH_NONE : isnan(a.above) ? SEARCH_ALL : SEARCH_FOUND;
	return a;
}

size_t search_grid(const struct search *s)
{
	return s->last + 1;
}
