/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * form.h - how the runs of a world are reported: files, columns of the table, sentences
 *
 * Each world has one. A higher floor defines report_form_of(), so this room names no world.
 */
#ifndef ORR_RESULTS_FORM_H
#define ORR_RESULTS_FORM_H

#include <stdbool.h>

enum report_kind { REPORT_TIME, REPORT_FRACTION, REPORT_NUMBER, REPORT_SHORT_TIME, REPORT_GIBIBYTES, REPORT_BYTES, REPORT_PRECISE };

/* A column of the table of runs: a metric that every run may have. */
struct report_column {
	const char *metric, *title;
	enum report_kind kind;
	const char *beside; /* the column is left out if it equals this metric in all runs */
	/* With replications, the differences of this metric to the first policy are printed, and --until-precision uses the first
	 * such column of a run. */
	bool is_primary;
};

/* A file of --out: LABEL.TABLE.csv. */
struct report_file {
	const char *table; /* of columns.def */
	bool if_paid;      /* only if money was accounted for */
};

struct report_form {
	const struct report_file *files; /* ends with a NULL table */
	bool series_if_any;              /* LABEL.series.csv only if there are series */
	bool has_marks;                  /* events are marks that the policy sets at any time, not notes on the run */
	const char *cost_title;          /* before the source of times; NULL: "times of layers" */
	const char *oracle;              /* durations visible to the policy; NULL: true durations */
	/* The table whose rows run_result.rows_total counts, and the metric of that number: a run of several worlds has the metric
	 * PART.counted if this world is a part. NULL: none. */
	const char *counted;
	const char *const *parts;            /* names of the worlds that a run consists of; NULL: one. Ends with NULL */
	const struct report_column *columns; /* of the table of runs, in order; ends with a NULL metric; at most 64; may be NULL */
};

/* NULL: a world that is not known. */
const struct report_form *report_form_of(const char *world);

#endif
