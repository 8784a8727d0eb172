/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "world/equal.h"

#include "base/num.h"
#include "results/report.h"

#include <stdio.h>
#include <string.h>

/* One entry of the list, not terminated; name of length 0: a bound without a name. */
struct entry {
	const char *name, *bound;
	size_t n_name, n_bound;
};

/* Reads the entry at text; returns the start of the next one, NULL at the end. */
static const char *next_entry(const char *text, struct entry *e)
{
	size_t n = strcspn(text, ",");
	const char *equals = memchr(text, '=', n);
	e->name = text;
	e->n_name = equals ? (size_t)(equals - text) : 0;
	e->bound = equals ? equals + 1 : text;
	e->n_bound = n - (size_t)(e->bound - text);
	return text[n] ? text + n + 1 : NULL;
}

static bool is_time(const struct report_column *c)
{
	return c->kind == REPORT_TIME || c->kind == REPORT_SHORT_TIME;
}

/* Reads a bound above 0. column: NULL if the bound applies to all primary columns. */
static bool read_bound(const struct entry *e, const struct report_column *column, double *bound, bool *is_relative)
{
	int64_t ns;
	*is_relative = e->n_bound && e->bound[e->n_bound - 1] == '%';
	if (num_real(e->bound, e->n_bound - *is_relative, bound)) {
		*bound *= *is_relative ? 0.01 : 1;
		return *bound > 0 && (!*is_relative || *bound < 1);
	}
	if (*is_relative || (column && !is_time(column)) || !num_duration_ns(e->bound, e->n_bound, &ns))
		return false;
	*bound = (double)ns / 1e9;
	return ns > 0;
}

/* Returns the column that an entry names; NULL: none. */
static const struct report_column *column_of(const struct world *w, const struct entry *e)
{
	char name[80];
	snprintf(name, sizeof name, "%.*s", (int)(e->n_name < 79 ? e->n_name : 79), e->name);
	return report_column_of(w->name, name);
}

/* Returns whether every primary column is a time, as a duration without a name requires. */
static bool fits_all(const struct world *w, const struct entry *e)
{
	double bound;
	bool is_relative;
	for (const struct report_column *c = w->form.columns; c && c->metric; c++)
		if (c->is_primary && !read_bound(e, c, &bound, &is_relative))
			return false;
	return true;
}

int equal_within_check(const struct world *w, const char *text, struct orr_error *err)
{
	struct entry e;
	double bound;
	bool is_relative;
	for (const char *at = *text ? text : NULL, *next; at; at = next) {
		next = next_entry(at, &e);
		const struct report_column *column = e.n_name ? column_of(w, &e) : NULL;
		if (e.n_name && !column)
			return orr_fail(err, ORR_EINPUT,
				"scenario: $.equal_within: expected a column of the table before the \"=\", found \"%.*s\"",
				(int)(e.n_name < 60 ? e.n_name : 60), e.name);
		if (!(e.n_name ? read_bound(&e, column, &bound, &is_relative) : fits_all(w, &e)))
			return orr_fail(err, ORR_EINPUT,
				"scenario: $.equal_within: expected a share below 100%% (2%%), a number above 0 in the unit of the metric, "
				"or a "
				"duration if the metric is a time (30s), found \"%.*s\"",
				(int)(e.n_bound < 60 ? e.n_bound : 60), e.bound);
	}
	return ORR_OK;
}

bool equal_within_of(const char *text, const struct report_column *column, double *bound, bool *is_relative)
{
	bool found = false;
	struct entry e;
	for (const char *at = *text ? text : NULL; at;) {
		at = next_entry(at, &e);
		bool is_named = e.n_name == strlen(column->metric) && !memcmp(e.name, column->metric, e.n_name);
		if (is_named || (!e.n_name && column->is_primary && !found))
			found = read_bound(&e, column, bound, is_relative);
		if (is_named)
			break;
	}
	return found;
}
