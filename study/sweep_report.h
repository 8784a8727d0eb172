/* SPDX-License-Identifier: GPL-3.0-or-later */
/* sweep_report.h - the rows of a study: kept, printed as a table or JSON, written as study.csv */
#ifndef ORR_STUDY_SWEEP_REPORT_H
#define ORR_STUDY_SWEEP_REPORT_H

#include "study/figures.h"
#include "base/search.h"

/* A run that ended or failed. */
struct sweep_row {
	size_t task, order; /* rows are in order of the task, then the value of the search, then the order of policies */
	const struct book_run *run;
	const char **value;        /* by axis of the study; NULL: the run has no such axis. Texts of sweep_rows.text, like the next two */
	const char *label, *world; /* world NULL: the run failed */
	char hash[65];             /* "": the run failed */
	char *error;               /* NULL: the run did not fail */
	int64_t tries;             /* number of tries of a run that failed */
	double searched;           /* value of the search's axis; NAN: no search */
	int64_t number;            /* number of the run in the database; 0: none */
	struct metric *metric;     /* names owned by struct sweep_rows */
	size_t n_metrics;
};

struct sweep_answer {
	size_t task;
	const struct book_run *run;
	struct search_answer found;
	size_t grid;
};

struct sweep_rows {
	struct sweep_row *row;
	size_t n, cap, n_failed;
	struct sweep_answer *answer;
	size_t n_answers, cap_answers;
	size_t n_axes;       /* metrics of the study */
	struct strtab *text; /* NULL: no row yet */
	char **name;         /* names of metrics */
	size_t n_names, cap_names;
	bool keeps_all; /* keeps all metrics of a row; false: only the metrics of the table, which saves memory in long studies */
};

/* Add a row for a run at the bound axes. */
void sweep_add_row(struct sweep_rows *w, const struct book *b, const struct book_run *run, size_t task, const struct run_result *r);
void sweep_add_failure(struct sweep_rows *w, const struct book *b, const struct book_run *run, size_t task, const char *label,
	const char *error, int64_t tries);
void sweep_add_answer(struct sweep_rows *w, size_t task, const struct book_run *run, struct search_answer found, size_t grid);
/* Returns whether any row has the metric. */
bool sweep_knows(const struct sweep_rows *w, const char *metric);
/* Orders the rows, and sets their numbers in the database (NULL: none). */
int sweep_number(struct sweep_rows *w, const char *db, struct orr_error *err);
/* Prints the table or JSON on standard output, answers and failures; writes out_dir/study.csv. */
int sweep_print(const struct sweep_rows *w, const struct book *b, const struct world_output *o, struct orr_error *err);
void sweep_free_rows(struct sweep_rows *w);

#endif
