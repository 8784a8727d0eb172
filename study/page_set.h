/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * page_set.h - the runs of one world of a database, or of one run of a book, and the axes in which their scenarios differ
 *
 * An axis is a path of the scenario whose value differs between runs. The seed is no axis: runs that differ in the seed alone are
 * replications of one point. Values under "policy" are an axis if they differ between runs of one label.
 */
#ifndef ORR_STUDY_PAGE_SET_H
#define ORR_STUDY_PAGE_SET_H

#include "results/form.h"
#include "results/report_text.h"
#include "results/store.h"

#include <cjson/cJSON.h>

enum { PAGE_AXES = 8 };

struct page_run {
	const struct stored_run *stored;
	struct run_result *r; /* metrics and notes */
	cJSON *scenario;
	char *name;              /* label, with "(oracle)" */
	size_t label;            /* index among the set's labels */
	size_t value[PAGE_AXES]; /* index of the value on each axis; SIZE_MAX: none */
};

struct page_axis {
	char *path, *title; /* title: path in words, with the common parts of all values */
	char **text;        /* distinct values in order */
	double *number;     /* numbers of the values, if is_number */
	size_t n;
	bool is_number;
};

struct page_set {
	const char *world;
	const char *name; /* name of the book's run that these runs belong to; NULL: no book, or none */
	struct page_run *run;
	size_t n, cap;
	const char **label; /* names in order of first use */
	size_t n_labels, cap_labels;
	struct page_axis axis[PAGE_AXES];
	size_t n_axes, n_left_out; /* left out: axes beyond PAGE_AXES */
	bool has_seeds;
	size_t *order, n_points; /* runs in order of label and values, so that a point's runs are adjacent */
	size_t *point;           /* n_points + 1 indices into order */
};

/* Adds a run, which the set then owns except for `stored`. */
void page_set_add(struct page_set *s, const struct stored_run *stored, struct run_result *r);
/* Finds axes and points; call it once after the last run. */
void page_set_arrange(struct page_set *s);
void page_set_free(struct page_set *s);

/* Sets *unit to the unit that the column has in the printed table. Returns false if no run has a value. */
bool page_set_scale(const struct page_set *s, const struct report_column *c, struct report_scale *unit);
/* Returns the metric at a point: of its run, or the mean over its replications. */
struct interval page_set_value(const struct page_set *s, size_t point, const char *metric);
/* Appends the column's title with the unit. */
void page_put_title(struct sbuf *out, const char *title, const char *unit);

#endif
