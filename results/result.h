/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * result.h - what one run of one policy leaves behind
 *
 * A struct run_result is filled in by a world, stored by store.h, and turned into
 * tables, CSV files and figures. Reading a stored run gives the same struct back,
 * so everything downstream is the same for a run that was reused.
 * Times of the jobs world are in ns from the trace's zero, -1 = never happened; those of the
 * step world are seconds (double) from the run's start.
 */
#ifndef ORR_RESULTS_RESULT_H
#define ORR_RESULTS_RESULT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum job_status { JOB_COMPLETED, JOB_KILLED, JOB_FAILED, JOB_UNFINISHED };

enum request_status { REQUEST_COMPLETED, REQUEST_REFUSED, REQUEST_SHED, REQUEST_UNFINISHED };

/*
 * The rows: struct job_row, metric, event_row, iteration_row, device_row, span_row, request_row, node_row and account_row.
 * columns.def lists their fields with units; texts are literals or owned by the result.
 */
#define ROW_NUMBER(name) uint64_t name;
#define ROW_ID(name) const char *name;
#define ROW_TEXT(name) const char *name;
#define ROW_NAME(name) const char *name;
#define ROW_TIME(name) int64_t name;
#define ROW_CLOCK(name) int64_t name;
#define ROW_COUNT(name) uint32_t name;
#define ROW_COUNT64(name) uint64_t name;
#define ROW_INDEX(name) uint32_t name;
#define ROW_REAL(name) double name;
#define ROW_SECONDS(name) double name;
#define ROW_JOB_STATUS(name) uint8_t name;     /* enum job_status */
#define ROW_REQUEST_STATUS(name) uint8_t name; /* enum request_status */
#define ROW_NOTHING(name)
#define ROW_DIFF(left, right) ROW_NOTHING
#define ROW_SQL(sql) ROW_NOTHING
/* clang-format off */
#define ROWS_OF(name, type, csv, unit, doc) ROW_##type(name)
#define JOB ROWS_OF
struct job_row {
#include "results/columns.def"
};
#define METRIC ROWS_OF
struct metric {
#include "results/columns.def"
};
#define EVENT ROWS_OF
struct event_row {
#include "results/columns.def"
};
#define ITERATION ROWS_OF
struct iteration_row {
#include "results/columns.def"
};
#define DEVICE ROWS_OF
struct device_row {
#include "results/columns.def"
};
#define SPAN ROWS_OF
struct span_row {
#include "results/columns.def"
};
#define REQUEST ROWS_OF
struct request_row {
#include "results/columns.def"
};
#define NODE ROWS_OF
struct node_row {
#include "results/columns.def"
};
#define ACCOUNT ROWS_OF
struct account_row {
#include "results/columns.def"
};
/* clang-format on */

/* A time series for figures: value holds from time[i] to time[i+1]. */
struct series {
	const char *name; /* "utilisation", "queue_length", ... */
	size_t n;
	int64_t *time_ns;
	double *value;
};

struct run_result {
	char *label, *policy; /* policy: registered name or path of the plugin */
	char *world;          /* "jobs", "step", "serve", "spot" */
	bool is_oracle;       /* the policy saw true durations */
	char *scenario;       /* resolved scenario, canonical JSON text */
	char *hash;           /* of scenario, contents of inputs and program version */
	char *seed_text;      /* the seed in decimal */
	double wall_s, cpu_s; /* not part of any digest */
	uint64_t rows_total;  /* jobs, iterations or requests; the rows may be a part of them */
			      /* The tables of columns.def: struct job_row *jobs; size_t n_jobs; and so on. */
#define TABLE(row, rows, key, digest, doc) \
	struct row *rows;                  \
	size_t n_##rows;
#include "results/columns.def"
	size_t cap_metrics; /* result_metric() makes the room */
	struct series *series;
	size_t n_series;
	void *strings; /* the arena that the texts above live in; see result.c */
};

/* The time up to which the last row of nodes holds: the end of the run, as far as is known. */
int64_t result_nodes_end_ns(const struct run_result *r);
struct run_result *result_new(void);
/* Frees rows, metrics, events and series with their arrays (all from mem_alloc). */
void result_free(struct run_result *r);
/* A copy of s that lives as long as r; NULL gives NULL. */
const char *result_text(struct run_result *r, const char *s);
void result_metric(struct run_result *r, const char *name, double value, double lo, double hi);
/* A line of text about the run, kept as an event at time 0: kind "choice", "cost-source", .. Texts that are empty
 * are left out. */
void result_note(struct run_result *r, const char *kind, const char *text);
/* The note of that kind, or NULL. */
const char *result_find_note(const struct run_result *r, const char *kind);
/* Rows, metrics, series and events of another result go over; metrics and series get the prefix. Rows of a kind
 * that r has already are left where they are. */
void result_take(struct run_result *r, struct run_result *from, const char *prefix);
/* The metric called name, or NULL. */
const struct metric *result_find(const struct run_result *r, const char *name);

#endif
