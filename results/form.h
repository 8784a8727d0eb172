/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * form.h - the form of a world's reports: files, columns of the table, sentences
 *
 * Each world has one form. report_form_of() is defined outside results/, so that results/ names no world.
 */
#ifndef ORR_RESULTS_FORM_H
#define ORR_RESULTS_FORM_H

#include <stdbool.h>

enum report_kind { REPORT_TIME, REPORT_FRACTION, REPORT_NUMBER, REPORT_SHORT_TIME, REPORT_GIBIBYTES, REPORT_BYTES, REPORT_PRECISE };

/* A column of the table of runs: a metric that any run may have. */
struct report_column {
	const char *metric, *title;
	enum report_kind kind;
	const char *beside; /* metric that makes the column redundant: if both are equal in all runs, the column is left out */
	/* With replications, a report prints the differences of this metric to the first policy. --until-precision uses the first
	 * such column of a run. */
	bool is_primary;
	bool is_larger_better; /* primary column: larger values rank first */
};

/* A file of --out: LABEL.TABLE.csv. */
struct report_file {
	const char *table; /* of columns.def */
	bool if_paid;      /* true: written only if the run has accounts */
	bool if_any;       /* true: written only if the run has rows of the table */
};

struct report_form {
	const struct report_file *files; /* files; ends with an entry whose table is NULL */
	bool series_if_any;              /* LABEL.series.csv is written only if the run has series */
	bool has_marks;                  /* notes that the policy sets during a run are reported as events */
	const char *cost_title;          /* text before the source of times; NULL: the text "times of layers" */
	const char *oracle;              /* text for durations that the policy may see; NULL: the text "true durations" */
	/* Table whose rows run_result.rows_total counts, and metric of that number. A run of several worlds has the metric
	 * PART.counted if this world is a part. NULL: none. */
	const char *counted;
	const char *const *parts; /* names of the worlds that a run consists of, ending with NULL; NULL: one world */
	/*
	 * Table whose rows the printed table and JSON list by run, if a run has any: they replace the metrics in CSV and follow
	 * them in other formats. NULL: none.
	 */
	const char *listed;
	const struct report_column *columns; /* columns of the table of runs, in order; ends with a NULL metric; at most 64; may be
					      * NULL */
};

/* Returns the form of a world; NULL: unknown world. */
const struct report_form *report_form_of(const char *world);

#endif
