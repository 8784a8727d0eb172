/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * search.h - which values of an axis a search tries: a bisection to a limit, or points where a curve bends
 *
 * A search names the next value (search_next()), gets the result there (search_put()), and so on until it is done. It runs nothing itself
 * and has no randomness, so the values depend on the results alone.
 *
 * Find: the values are from, from + step, .. to, where step is `tolerance` times the range, or, on a logarithmic scale, from,
 * from (1 + tolerance), ..: the result is a point of that grid. The bisection assumes that the limit holds below one point and
 * fails above it. This assumption is checked at distances of 1, 2, 4 and 8 points on both sides. If it is wrong, the search
 * tries all points between the smallest one that misses the limit and the largest one that meets it, then larger points until 8
 * in a row miss it.
 *
 * Refine: `start` points at equal distances, then, one at a time, the middle of the longer of the two intervals beside the point where the
 * curve bends most. The bend at a point is the area of the triangle that it forms with its neighbours, both axes scaled to 0..1.
 */
#ifndef ORR_BASE_SEARCH_H
#define ORR_BASE_SEARCH_H

#include <stdbool.h>
#include <stddef.h>

struct search_axis {
	double from, to; /* from < to; logarithmic: from > 0 */
	bool is_log;
};

enum search_outcome {
	SEARCH_FOUND, /* the limit holds at `value` and fails at `above` */
	SEARCH_ALL,   /* the limit holds at all points tried, up to the end of the axis */
	SEARCH_NONE   /* the limit fails at the start of the axis */
};

struct search_answer {
	enum search_outcome outcome;
	double value, result; /* the largest value tried at which the limit holds, and the result there; NAN: none */
	double above;         /* the smallest value tried at which the limit fails; NAN: none */
	/* Interval of `value`. At all values tried up to `low` the whole interval of the result meets the limit, and at all values tried
	 * from `high` on the whole interval misses it. The start or the end of the axis if there is no such value. NAN: a result has no
	 * interval. */
	double low, high;
	bool is_scanned; /* the limit is crossed more than once, so the points between were tried (see above) */
	size_t tried;
};

struct search;
/* is_below: the limit holds if the result is at most `limit`; else if it is at least `limit`. A result that is NAN misses it. */
struct search *search_find(const struct search_axis *axis, double tolerance, double limit, bool is_below);
/* start: number of initial points, at least 3; most: maximum number of points. */
struct search *search_refine(const struct search_axis *axis, size_t start, size_t most);
void search_free(struct search *s);

/* Sets *value to the next value to try; returns false if the search is done. Further calls return the same value until search_put(). */
bool search_next(struct search *s, double *value);
void search_put(struct search *s, double result);
/* Like search_put(), with the interval of the result; NAN: none. */
void search_put_interval(struct search *s, double result, double low, double high);
/* Returns the answer of a completed search made by search_find(). */
struct search_answer search_answer(const struct search *s);

/* Returns the number of values that a scan of the same grid tries. */
size_t search_grid(const struct search *s);

#endif
