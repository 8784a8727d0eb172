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

struct job_row {
	uint64_t number;                  /* order of submission, 0.. */
	const char *job_id;               /* owned by the result; NULL: print number */
	const char *user, *queue, *model; /* likewise; NULL none */
	int64_t submit_ns, start_ns, end_ns;
	int64_t wait_ns;          /* time in the system not running: end - submit - time running */
	int64_t run_ns;           /* time running, all pieces */
	int64_t duration_ns;      /* what the trace says it needs */
	int64_t recorded_wait_ns; /* -1 none */
	uint32_t gpus;            /* asked for */
	uint32_t gpu_milli;
	uint32_t preemptions, migrations, restarts; /* restarts: after a node failed */
	uint8_t status;                             /* enum job_status */
};

/* One figure of merit; no interval: ci_low and ci_high are NaN. */
struct metric {
	const char *name; /* a literal, or owned by the result */
	double value, ci_low, ci_high;
};

/* A time series for figures: value holds from time[i] to time[i+1]. */
struct series {
	const char *name; /* "utilisation", "queue_length", ... */
	size_t n;
	int64_t *time_ns;
	double *value;
};

/* Things worth a mark: the runs of the first jobs (for a Gantt chart), failures. */
struct event_row {
	int64_t time_ns;
	const char *kind;   /* "start", "stop", "finish", "kill", "evict", "node-fail", "node-repair", ... */
	uint64_t subject;   /* job number or node number */
	const char *detail; /* "n3:4,n7:4"; may be NULL */
};

/* ---- rows of the step world ---- */

struct iteration_row {
	uint64_t number; /* 0.. */
	double start_s, end_s, samples;
};

/* What one device did in an iteration, on average; peak_memory_bytes: the most of all. */
struct device_row {
	uint32_t device, node; /* endpoints: GPUs first, then hosts */
	double compute_s, optimizer_s, codec_s, exposed_s, bubble_s, idle_s;
	double peak_memory_bytes, sent_bytes;
};

/* A busy interval of a device, for the figure of the timeline; the first devices and the last iterations alone. */
struct span_row {
	double start_s, end_s;
	uint64_t iteration;
	uint32_t device, stream;
	const char *kind;  /* "forward", "backward", "optimizer", ..; "send": a message */
	const char *label; /* may be NULL */
};

/* ---- rows of the serving world ---- */

enum request_status { REQUEST_COMPLETED, REQUEST_REFUSED, REQUEST_SHED, REQUEST_UNFINISHED };

struct request_row {
	uint64_t number;        /* order of arrival, 0.. */
	const char *request_id; /* owned by the result; NULL: print number */
	const char *model;
	double arrival_s, first_token_s, completed_s; /* NAN: never happened */
	double queue_s;                               /* from arrival to its first start; NAN: never started */
	uint32_t prompt_tokens, output_tokens;        /* as asked for; samples in prompt_tokens where the model has no tokens */
	uint32_t preemptions;
	uint32_t replica; /* that completed it; UINT32_MAX none */
	uint8_t status;   /* enum request_status */
};

/* ---- rows of the spot world (its steps are iteration_rows) ---- */

/* Instances from this time on. */
struct node_row {
	int64_t time_ns;
	uint32_t live, ready, in_use; /* in_use: own a stage */
	double usd;                   /* spent so far */
};
/* Where the instances' time and the money went. */
struct account_row {
	const char *account; /* "useful", "redundant", "wasted", .. a literal, or owned by the result */
	double node_s, usd;
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
	struct job_row *jobs;
	size_t n_jobs;
	struct metric *metrics;
	size_t n_metrics, cap_metrics; /* result_metric() makes the room */
	struct series *series;
	size_t n_series;
	struct event_row *events;
	size_t n_events;
	struct iteration_row *iterations;
	size_t n_iterations;
	struct device_row *devices;
	size_t n_devices;
	struct span_row *spans;
	size_t n_spans;
	struct request_row *requests;
	size_t n_requests;
	struct node_row *nodes;
	size_t n_nodes;
	struct account_row *accounts;
	size_t n_accounts;
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
