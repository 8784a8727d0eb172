/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * result.h - what one run of one policy leaves behind
 *
 * A struct run_result is filled in by a world, stored by store.h, and turned into
 * tables, CSV files and figures. Reading a stored run gives the same struct back,
 * so everything downstream is the same for a run that was reused.
 * All times in ns from the trace's zero; -1 = never happened.
 */
#ifndef ORR_RESULTS_RESULT_H
#define ORR_RESULTS_RESULT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum job_status { JOB_COMPLETED, JOB_KILLED, JOB_FAILED, JOB_UNFINISHED };

struct job_row {
	uint64_t number;      /* order of submission, 0.. */
	const char *job_id;   /* owned by the result; NULL: print number */
	const char *user, *queue, *model; /* likewise; NULL none */
	int64_t submit_ns, start_ns, end_ns;
	int64_t wait_ns;      /* time in the system not running: end - submit - time running */
	int64_t run_ns;       /* time running, all pieces */
	int64_t duration_ns;  /* what the trace says it needs */
	int64_t recorded_wait_ns; /* -1 none */
	uint32_t gpus;        /* asked for */
	uint32_t gpu_milli;
	uint32_t preemptions, migrations, restarts; /* restarts: after a node failed */
	uint8_t status;       /* enum job_status */
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

struct run_result {
	char *label, *policy; /* policy: registered name or path of the plugin */
	char *world;          /* "jobs" */
	bool is_oracle;       /* the policy saw true durations */
	char *scenario;       /* resolved scenario, canonical JSON text */
	char *hash;           /* of scenario, contents of inputs and program version */
	char *seed_text;      /* the seed in decimal */
	double wall_s, cpu_s; /* not part of any digest */
	uint64_t rows_total;  /* jobs simulated; n_jobs may be a sample of them */
	struct job_row *jobs;
	size_t n_jobs;
	struct metric *metrics;
	size_t n_metrics, cap_metrics; /* result_metric() makes the room */
	struct series *series;
	size_t n_series;
	struct event_row *events;
	size_t n_events;
	void *strings; /* the arena that the texts above live in; see result.c */
};

struct run_result *result_new(void);
/* Frees jobs, metrics, events and series with their arrays (all from mem_alloc). */
void result_free(struct run_result *r);
/* A copy of s that lives as long as r; NULL gives NULL. */
const char *result_text(struct run_result *r, const char *s);
void result_metric(struct run_result *r, const char *name, double value, double lo, double hi);
/* The metric called name, or NULL. */
const struct metric *result_find(const struct run_result *r, const char *name);

#endif
