/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Quantities of a run over time: instances, and series. */
#include "study/figures.h"

#include "base/mem.h"
#include "base/param.h"

#include <math.h>
#include <string.h>

enum { MOST_POINTS = 800, BINS = 350 };

/* A step function: value i is valid from its time to the next one. */
struct steps {
	double *time_s, *value;
	size_t n;
};

static const char *const columns[] = { "live", "ready", "in_use", "usd", NULL };

static double column_of(const struct node_row *x, size_t column)
{
	const double values[] = { x->live, x->ready, x->in_use, x->usd };
	return values[column];
}

static struct steps steps_new(size_t n)
{
	return (struct steps){ mem_zalloc(n + 1, sizeof(double)), mem_zalloc(n + 1, sizeof(double)), n };
}

static struct steps of_nodes(const struct run_result *r, size_t column)
{
	struct steps s = steps_new(r->n_nodes + 1);
	for (size_t i = 0; i < s.n; i++) { /* repeats the last row at the end */
		bool is_end = i == r->n_nodes;
		s.time_s[i] = (double)(is_end ? result_nodes_end_ns(r) : r->nodes[i].time_ns) / 1e9;
		s.value[i] = column_of(&r->nodes[is_end ? i - 1 : i], column);
	}
	return s;
}

static struct steps of_series(const struct series *x)
{
	struct steps s = steps_new(x->n);
	for (size_t i = 0; i < s.n; i++) {
		s.time_s[i] = (double)x->time_ns[i] / 1e9;
		s.value[i] = x->value[i];
	}
	return s;
}

/* Returns all points, or means over equal intervals if their number exceeds the resolution of a printed column. */
static size_t thin(const struct steps *s, double unit_s, struct chart_point *out)
{
	double from = s->n ? s->time_s[0] : 0, width = s->n ? (s->time_s[s->n - 1] - from) / BINS : 0;
	if (s->n <= MOST_POINTS || !(width > 0)) {
		size_t n = s->n < MOST_POINTS ? s->n : MOST_POINTS;
		for (size_t i = 0; i < n; i++)
			out[i] = (struct chart_point){ s->time_s[i] / unit_s, s->value[i], NAN, NAN };
		return n;
	}
	for (size_t b = 0, i = 0; b < BINS; b++) {
		double t = from + (double)b * width, end = t + width, area = 0;
		out[b] = (struct chart_point){ t / unit_s, NAN, NAN, NAN };
		while (t < end) {
			while (i + 1 < s->n && s->time_s[i + 1] <= t)
				i++;
			double stop = i + 1 < s->n && s->time_s[i + 1] < end ? s->time_s[i + 1] : end;
			area += (stop - t) * s->value[i];
			t = stop;
		}
		out[b].y = area / width;
	}
	return BINS;
}

/* Returns the steps of that name; n is SIZE_MAX if it is unknown. */
static struct steps find(const struct run_result *r, const char *name)
{
	for (size_t c = 0; columns[c]; c++)
		if (!strcmp(columns[c], name) && r->n_nodes)
			return of_nodes(r, c);
	for (size_t i = 0; i < r->n_series; i++)
		if (!strcmp(r->series[i].name, name))
			return of_series(&r->series[i]);
	return (struct steps){ NULL, NULL, SIZE_MAX };
}

static int refuse(struct book *b, const struct run_result *r, const char *text, const char *name, const char *where, struct orr_error *err)
{
	enum { MOST = 60 };
	const char *names[MOST + 1] = { NULL };
	size_t n = 0;
	for (size_t c = 0; columns[c]; c++)
		if (!strcmp(columns[c], name))
			return book_fail(b, where, err, "%.80s: expected a run with rows of instances (\"record\": \"all\")", text);
	for (; r->n_nodes && columns[n]; n++)
		names[n] = columns[n];
	for (size_t i = 0; i < r->n_series && n < MOST; i++)
		names[n++] = r->series[i].name;
	const char *near = nearest_name(name, names);
	return book_fail(b, where, err, "%.80s: this run has no \"%.40s\" over time: %s\"%.60s\"%s", text, name,
		near       ? "did you mean "
		: names[0] ? "expected one of its series, such as "
			   : "expected a run that records ",
		near       ? near
		: names[0] ? names[0]
			   : name,
		near ? "?" : "");
}

int book_timeline(
	struct book *b, const char *text, const char *where, double unit_s, struct chart_point **out, size_t *n, struct orr_error *err)
{
	const struct run_result *r = NULL;
	const char *name = NULL;
	int rc = book_result(b, text, where, &r, &name, err);
	*out = NULL;
	*n = 0;
	if (rc || !r)
		return rc;
	struct steps s = find(r, name);
	if (s.n == SIZE_MAX)
		return refuse(b, r, text, name, where, err);
	*out = mem_zalloc(MOST_POINTS, sizeof **out);
	*n = thin(&s, unit_s, *out);
	mem_free(s.time_s);
	mem_free(s.value);
	return ORR_OK;
}
