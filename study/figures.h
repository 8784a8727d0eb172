/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * figures.h - a scenario book: runs over axes, with their figures and tables
 *
 * docs/reference/books.md describes figures.json. A book is the checked contents of that file: its axes, its runs (a scenario,
 * the values set in it, and the axes over which it is repeated) and the rows of published.csv. Figures and tables stay JSON
 * until they are made.
 *
 * Invariant: an expression depends only on the book's constants, the bound axes, the names that their values define, and
 * results of runs. The order of evaluation has no effect.
 */
#ifndef ORR_CLI_FIGURES_H
#define ORR_CLI_FIGURES_H

#include "base/expr.h"
#include "base/search.h"
#include "study/study.h"
#include "plots/chart.h"
#include "results/report.h"

#include <stdio.h>

enum { BOOK_MAX_AXES = 32 };

/* "let": names that an axis value defines. */
struct book_let {
	char *name, *text; /* an expression */
};
struct book_value {
	char *text, *label;
	double number; /* NaN: a text */
	struct book_let *let;
	size_t n_lets;
};
/* The values of an axis: a list, a grid, or a range, whose values a sample or a search adds later. Only a list has texts in memory; those
 * of the others are made by book_value(). */
struct book_axis {
	char *name;
	struct book_value *value; /* the list; NULL: none */
	double *number;           /* values that were added to a range; NULL: none */
	double grid_n, step;      /* of a grid from range.from on; one of them is NAN. A grid has neither a list nor numbers */
	struct book_made *made;   /* the value that was made last; NULL: none */
	size_t n;
	bool is_range;
	struct search_axis range;
};

enum book_search_kind { BOOK_NO_SEARCH, BOOK_FIND, BOOK_REFINE };
/* How a run of a study chooses values of an axis from earlier results (base/search.h). */
struct book_search {
	enum book_search_kind kind;
	size_t axis, value; /* value: number of the value of the axis that the search runs next */
	char *metric;
	double limit, tolerance;
	bool is_below;
	size_t start, most;
};

/* The number of replications of each run. */
struct book_stop {
	const char *metric; /* a text of the book's json; NULL: no metric is given */
	double below;       /* relative half-width of the metric's interval; NAN: no width is given */
	double n;           /* replications, or their limit if `below` is given; NAN: not given */
};

struct book_run {
	char *name;
	cJSON *scenario;
	const cJSON *set; /* parameters in the book's json; may be NULL */
	char *where;      /* expression: points where it is 0 are left out; may be NULL */
	/* A dimension is an axis, or several whose values change together. Axis i is in dimension dim[i], whose point k has value
	 * offset[i] + k of the axis. */
	size_t axis[BOOK_MAX_AXES], n_axes, dim[BOOK_MAX_AXES], offset[BOOK_MAX_AXES], dim_n[BOOK_MAX_AXES], n_dims;
	size_t *part; /* of a book: number of the part of the study, by point (the last dimension varies fastest); SIZE_MAX: left out */
	size_t n_points;
	struct book_search search;
};

struct book_published {
	char *id, *what, *source;
	double value, low, high; /* NaN: not given */
};

/* A trace that is not shipped: a file, or the generator that is used if the file is missing. */
struct book_trace {
	char *name, *source;
	bool is_there;
};

struct book {
	char *dir, *path; /* folder of the book, and path of its figures.json or of the study */
	bool is_study;    /* a study for orrery sweep: more ways to give axes, no figures */
	cJSON *json;
	struct book_let *constant;
	size_t n_constants;
	struct book_trace *trace;
	size_t n_traces;
	struct book_axis axis[BOOK_MAX_AXES];
	size_t n_axes;
	size_t seed_axis; /* axis of the key `seeds`, which belongs to all runs; SIZE_MAX: none */
	struct book_stop stop;
	struct book_run *run;
	size_t n_runs;
	struct book_published *published;
	size_t n_published;
	size_t evaluations;          /* number of constants and axis values evaluated within the present expression */
	int depth;                   /* nested expressions */
	size_t bound[BOOK_MAX_AXES]; /* index of each axis's value; SIZE_MAX: none */
	struct world_output output;  /* options of the study */
	struct study *study;
	bool has_results; /* the runs have ended */
};

/* Appends the names of the installed books, in alphabetical order. */
struct sbuf;
void book_names(struct sbuf *out, const char *separator);
/* Returns the path of the figures.json of an installed book or of a folder; NULL: there is no such folder. The caller frees it. */
char *book_file(const char *name);
/* Opens a book. name: a folder's path (with a '/'), or a folder of scenarios/. Returns NULL on error. */
struct book *book_open(const char *name, struct orr_error *err);
/* Opens a study, a JSON file. */
struct book *book_open_study(const char *path, struct orr_error *err);
void book_free(struct book *b);

/* ---- the values of an axis (axis.c) ---- */

struct book_axis book_new_axis(const char *name);
/* Returns value i of an axis; valid until the next call for another value of the axis. */
const struct book_value *book_value(const struct book_axis *a, size_t i);
/* Returns whether all values are numbers whose labels are their texts. */
bool book_has_numbers(const struct book_axis *a);
void book_free_axis(struct book_axis *a);
/* Adds a number to the values of a range. */
void book_add_value(struct book_axis *a, double v);
/* Replaces value i, which book_add_value() added. */
void book_set_value(struct book_axis *a, size_t i, double v);
void book_free_lets(struct book_let *let, size_t n);

/* ---- axes and points (axes.c) ---- */

int book_read_axes(struct book *b, struct orr_error *err);
int book_read_lets(struct book *b, const cJSON *o, const char *where, struct book_let **out, size_t *n, struct orr_error *err);
/* Reads "stop". */
int book_read_stop(struct book *b, struct orr_error *err);
/* Sets the bound seed and the number of replications in a scenario. */
int book_apply_rules(const struct book *b, cJSON *scenario, const char *where, struct orr_error *err);
/* Reads "axes", "sample", "find" and "refine" of a run, and adds the axis of "seeds". */
int book_read_run_axes(struct book *b, const cJSON *run, const char *where, struct book_run *r, struct orr_error *err);
void book_free_searches(struct book_run *r);
/* Binds the run's axes to their values at a point; book_unbind() undoes it. */
void book_bind(struct book *b, const struct book_run *r, size_t point);
void book_unbind(struct book *b, const struct book_run *r);
/* Returns the point at which the run's axes, which are all bound, have their values; SIZE_MAX: none. */
size_t book_point(const struct book *b, const struct book_run *r);

/* ---- expressions and texts (figures_expr.c) ---- */

/* Evaluates v, a number or an expression. where: its JSON path, for messages. */
int book_number(struct book *b, const cJSON *v, const char *where, double *out, struct orr_error *err);
int book_expression(struct book *b, const char *text, const char *where, double *out, struct orr_error *err);
/* Replaces ${AXIS}, ${AXIS.label}, ${dir}, ${trace:NAME} and ${EXPRESSION}. Returns NULL on error; free with mem_free. */
char *book_text(struct book *b, const char *template, const char *where, struct orr_error *err);
size_t book_axis(const struct book *b, const char *name, size_t n); /* SIZE_MAX: none */
/* Parses "RUN[AXIS=VALUE,..].LABEL.NAME" without ${..}. Sets the result (NULL if that point was left out) and the start of NAME. */
int book_result(
	struct book *b, const char *text, const char *where, const struct run_result **out, const char **name, struct orr_error *err);
const struct book_published *book_find_published(const struct book *b, const char *id);

/* ---- traces that are not shipped (figures_traces.c) ---- */

int book_read_traces(struct book *b, struct orr_error *err);
void book_free_traces(struct book *b);
const struct book_trace *book_trace(const struct book *b, const char *name, size_t n); /* NULL: none */
/* Prints the names of missing traces, and their replacements, on standard error. */
void book_say_stand_ins(const struct book *b);

/* ---- runs and output ---- */

/* Makes the scenario of the run at the bound axes; *out is NULL if the run's "where" leaves the point out. */
int book_scenario(struct book *b, const struct book_run *r, const char *where, cJSON **out, struct orr_error *err);
/* A scenario and its place in the book, as book_describe_point() writes it. */
struct book_point {
	cJSON *scenario;
	char where[160];
};
/* Adds n scenarios to a study, as study_add_all() does; the error names the place. */
int book_add_scenarios(const struct book *b, struct study *study, const struct book_point *point, size_t n, struct orr_error *err);
/* Describes the values of the run's bound axes, "$.runs.NAME[A=1,B=2]", for messages. */
void book_describe_point(const struct book *b, const struct book_run *r, char *out, size_t size);
/* Executes all runs at all points. Uses db, fresh, check, threads and quiet of o. */
int book_run_all(struct book *b, const struct world_output *o, struct orr_error *err);
/* Takes all runs at all points from a database. *missing: number of runs that it lacks; unless it is 0, the book has no results. */
int book_take_all(struct book *b, const struct study_source *from, size_t *missing, struct orr_error *err);
/* Calls fn for each run that book_take_all() took, with the name of the book's run and the number in the database. */
void book_each_number(const struct book *b, void (*fn)(void *ctx, const char *run, int64_t number), void *ctx);
/* Returns the points of the distribution function of a column of a run's rows, "RUN[AXIS=VALUE,..].LABEL.COLUMN"; none if that point
 * was left out. Free with mem_free. */
int book_distribution(struct book *b, const char *text, const char *where, struct chart_point **out, size_t *n, struct orr_error *err);
/* Returns a quantity of a run over time. COLUMN is live, ready, in_use or usd of its instances, or a series; times are in units of
 * unit_s. */
int book_timeline(
	struct book *b, const char *text, const char *where, double unit_s, struct chart_point **out, size_t *n, struct orr_error *err);
/* Writes FILE.csv (out_dir NULL: not) and adds FILE to the album (NULL: none): the timeline of the run at "rows" of the figure. *shown:
 * that run; NULL: its point was left out. */
int book_spans(struct book *b, const cJSON *figure, const char *where, const char *file, const char *out_dir, struct album *album,
	const struct run_result **shown, struct orr_error *err);
/* Writes FILE.pdf, .svg, .png and .csv of each figure. */
int book_draw(struct book *b, const char *out_dir, bool no_figures, const struct look *look, struct orr_error *err);
/* Draws each figure with a function of the caller instead of gnuplot. chart: for lines, bars, curves and timelines; spans: for the
 * operations of a run. title: name of the figure, valid during the call. */
struct book_canvas {
	void (*chart)(void *ctx, const char *title, const struct chart *c);
	void (*spans)(void *ctx, const char *title, const struct run_result *r);
	void *ctx;
};
int book_draw_on(struct book *b, const struct book_canvas *canvas, struct orr_error *err);
/* Returns the table with whole texts and the sources, in *out; free it with grid_free(). It has one row if the book has no table. */
int book_table_grid(struct book *b, struct grid *out, struct orr_error *err);
/* Writes table.csv and table.txt; also appends the table to out in the given style. */
int book_tables(struct book *b, const char *out_dir, struct report_style style, struct sbuf *out, struct orr_error *err);

/* ---- for the files of the book ---- */

/* Sets the error "PATH: WHERE: " and the message; always returns ORR_EINPUT. */
int book_fail(const struct book *b, const char *where, struct orr_error *err, const char *fmt, ...) __attribute__((format(printf, 4, 5)));
/* Checks keys: unknown ones are errors. known ends with NULL. */
int book_check_keys(const struct book *b, const cJSON *o, const char *where, const char *const *known, struct orr_error *err);
/* Returns the text at key; NULL if the key is missing, or has another type (then *err is filled in). */
const char *book_string(const struct book *b, const cJSON *o, const char *key, const char *where, struct orr_error *err);

/* Calls fn for each combination of values of the axes named in the array `each` (NULL: once, with the axes bound now). Stops at the
 * first error. */
int book_each(struct book *b, const cJSON *each, const char *where, int (*fn)(struct book *b, void *ctx, struct orr_error *err), void *ctx,
	struct orr_error *err);

/* Write cells of a CSV file: a quoted text; a comma and a number with 17 digits (NaN: only the comma). */
void book_put_text(FILE *f, const char *s);
void book_put_real(FILE *f, double v);

#endif
