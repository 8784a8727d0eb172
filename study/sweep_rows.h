/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * sweep_rows.h - the rows of a study, in constant memory
 *
 * Rows are written to a spool (base/spool.h) and read in the order of the study: of the task, then of the value of the search, then of the
 * policies. Rows of listed points are added in this order. Only a study with searches keeps an index, of 32 bytes per row.
 *
 * Invariant: what is kept in memory depends on the numbers of axes, metrics, worlds, searches and failures, not on the number of rows.
 */
#ifndef ORR_STUDY_SWEEP_ROWS_H
#define ORR_STUDY_SWEEP_ROWS_H

#include "base/spool.h"
#include "results/report_text.h"
#include "study/figures.h"

/* A run that ended or failed. Texts are valid until the next row is read. */
struct sweep_row {
	size_t task;
	const struct book_run *run;
	const char **value;        /* by axis of the study; NULL: the run has no such axis */
	const char *label, *world; /* world NULL: the run failed */
	char hash[65];             /* "": the run failed */
	const char *error;         /* NULL: the run did not fail */
	int64_t tries;             /* number of tries of a run that failed */
	bool is_oracle;            /* the policy used information that real ones lack */
	double searched;           /* value of the search's axis; NAN: no search */
	int64_t number;            /* number of the run in the database; 0: none */
	struct metric *metric;     /* names of struct sweep_name */
	size_t n_metrics;
};

/* A metric of the study. */
struct sweep_name {
	char *name;
	bool is_kept;                       /* some row that is kept has it */
	const struct report_column *column; /* of the first row whose world has such a column; NULL: none; after sweep_end() */
	struct report_range range;          /* of its values */
	const char *world;                  /* world for which may_show is known; NULL: none */
	bool may_show;
};

struct sweep_answer {
	size_t task;
	const struct book_run *run;
	struct search_answer found;
	size_t grid;
	struct sweep_row *row; /* first row of the task; after sweep_end() */
};

struct sweep_rows {
	struct spool *spool;
	size_t n, n_failed, n_axes;
	size_t n_imprecise;        /* rows whose replications ended at their limit */
	struct sweep_place *place; /* index of the rows; NULL: they are in order */
	size_t cap;
	struct sweep_answer *answer;
	size_t n_answers, cap_answers;
	bool has_axis[BOOK_MAX_AXES], has_number; /* some row has a value of the axis, or a number */
	struct strtab *text;                      /* worlds */
	struct sweep_name *name;
	size_t n_names, cap_names, last_name;
	char *record; /* the row that is being written */
	size_t cap_record;
	bool keeps_all;       /* keeps all metrics of a row; false: only the metrics of the table */
	bool keeps_none;      /* only counts rows, and notes names of metrics */
	struct orr_error err; /* the first error of the spool */
};

/* Add a row for a run at the bound axes. Errors are kept in w->err. */
void sweep_add_row(struct sweep_rows *w, const struct book *b, const struct book_run *run, size_t task, const struct run_result *r);
void sweep_add_failure(struct sweep_rows *w, const struct book *b, const struct book_run *run, size_t task, const char *label,
	const char *error, int64_t tries);
void sweep_add_answer(struct sweep_rows *w, size_t task, const struct book_run *run, struct search_answer found, size_t grid);
/* Returns whether any row has the metric. */
bool sweep_knows(const struct sweep_rows *w, const char *metric);
/* Orders the rows, sets their numbers in the database (NULL: none), and sums up their columns. */
int sweep_end(struct sweep_rows *w, const char *db, struct orr_error *err);
void sweep_free_rows(struct sweep_rows *w);

/* Reads the rows in order, after sweep_end(). A cursor of zeros with `w` set is before the first row. */
struct sweep_cursor {
	struct sweep_rows *w;
	size_t next, at; /* number of the next row, and its place in the spool if there is no index */
	char *record;
	size_t cap;
	struct sweep_row row;
};
/* Returns the next row, valid until the next call; NULL: after the last row, or on an error, which is in w->err. */
const struct sweep_row *sweep_next(struct sweep_cursor *c);
void sweep_rewind(struct sweep_cursor *c);
void sweep_free_cursor(struct sweep_cursor *c);

#endif
