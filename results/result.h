/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * result.h - results of one run of one policy
 *
 * A world fills in a struct run_result; store.h stores it; tables, CSV files and figures are generated from it. Reading a
 * stored run gives an equal struct, so a reused run gives the same output. Times of the jobs world are ns from time 0 of the
 * trace; -1: never. Times of the step world are seconds (double) from the start of the run.
 */
#ifndef ORR_RESULTS_RESULT_H
#define ORR_RESULTS_RESULT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum job_status { JOB_COMPLETED, JOB_KILLED, JOB_FAILED, JOB_UNFINISHED };

enum request_status { REQUEST_COMPLETED, REQUEST_REFUSED, REQUEST_SHED, REQUEST_UNFINISHED };

/*
 * Row types: struct job_row, metric, event_row, iteration_row, device_row, span_row, request_row, replica_row, node_row,
 * account_row, part_row and rank_row. columns.def lists their fields with units; texts are literals or owned by the result.
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
#define ENDPOINT ROWS_OF
struct endpoint_row {
#include "results/columns.def"
};
#define REQUEST ROWS_OF
struct request_row {
#include "results/columns.def"
};
#define REPLICA ROWS_OF
struct replica_row {
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
#define PART ROWS_OF
struct part_row {
#include "results/columns.def"
};
#define RANK ROWS_OF
struct rank_row {
#include "results/columns.def"
};
/* clang-format on */

/* A time series for figures: value[i] holds from time[i] to time[i+1]. */
struct series {
	const char *name; /* "utilisation", "queue_length", ... */
	size_t n;
	int64_t *time_ns;
	double *value;
};

struct run_result {
	char *label, *policy; /* policy: registered name, or path of the plugin */
	char *world;          /* name of the world */
	bool is_oracle;       /* the policy sees true durations or the future */
	char *scenario;       /* resolved scenario as canonical JSON text */
	char *hash;           /* hash of the scenario, the contents of inputs, and the version and sources of the program */
	char *seed_text;      /* the seed in decimal */
	double wall_s, cpu_s; /* wall and CPU time, s; not part of any digest */
	uint64_t rows_total;  /* number of jobs, iterations or requests; the result may hold rows for only some of them */
			      /* The tables of columns.def: struct job_row *jobs; size_t n_jobs; and so on. */
#define TABLE(row, rows, key, digest, doc) \
	struct row *rows;                  \
	size_t n_##rows;
#include "results/columns.def"
	struct partlog **logs; /* the last of the parts, which are formed on demand (parts.h) */
	size_t n_logs;
	size_t cap_metrics, cap_events; /* capacities, grown by result_metric() and result_event() */
	struct series *series;
	size_t n_series;
	void *strings; /* arena of the texts above (result.c) */
};

/* Returns the time up to which the last row of nodes is valid: the end of the run, if known. */
int64_t result_nodes_end_ns(const struct run_result *r);
struct run_result *result_new(void);
/* Frees rows, metrics, events and series with their arrays (all from mem_alloc). */
void result_free(struct run_result *r);
/* Returns a copy of s that lives as long as r; NULL gives NULL. */
const char *result_text(struct run_result *r, const char *s);
void result_metric(struct run_result *r, const char *name, double value, double lo, double hi);
/* Adds an event. Its texts must be literals or owned by r. */
void result_event(struct run_result *r, struct event_row e);
/*
 * Adds a line of text about the run, as an event at time 0 with subject 0: kind "choice", "cost-source", .. A run may have
 * several notes of the kinds "assumption" (placement, costs, the reference of speeds) and "remark" (an input without effect);
 * tables print them last. Skips empty texts, and assumptions and remarks that the run already has.
 */
void result_note(struct run_result *r, const char *kind, const char *text);
/* Returns the first note of that kind, or NULL. */
const char *result_find_note(const struct run_result *r, const char *kind);
/* Returns note i of that kind, counted from 0, or NULL. Ignores events to which a policy or a world gave the same name. */
const char *result_note_at(const struct run_result *r, const char *kind, size_t i);
/* Frees everything but metrics and notes. */
void result_keep_metrics(struct run_result *r);
/* Moves rows, metrics, series and events of another result to r. The prefix is added to the names of metrics and series. Rows of
 * tables that r already has stay in `from`, except parts. */
void result_take(struct run_result *r, struct run_result *from, const char *prefix);
/* Returns the metric called name, or NULL. */
const struct metric *result_find(const struct run_result *r, const char *name);

#endif
