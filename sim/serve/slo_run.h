/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * slo_run.h - one policy of a scenario served at another rate or with another number of replicas, for --find-rate and --find-replicas
 */
#ifndef ORR_SERVE_SLO_RUN_H
#define ORR_SERVE_SLO_RUN_H

#include "serve/scenario.h"
#include "serve/slo.h"
#include "world/isolate.h"

/* Shorter traces get a remark: queues hardly build up while fewer mean latencies pass from the first to the last arrival. */
#define SLO_SPAN 10

struct slo_attempt {
	const struct scenario *scenario;
	size_t policy;
	struct slo slo;
	const char *flag; /* for messages, "find-rate" */
};

/* Means over the replications; misses are sums. */
struct slo_tried {
	double attainment, rate; /* rate: requests/s */
	double arrivals_span;    /* time from the first to the last arrival, in mean latencies of completed requests; NAN: none completed */
	struct slo_misses misses;
	double good_rate;              /* requests within the SLO per second of the run */
	double usd, gpu_hours;         /* usd: NAN without prices */
	double usd_per_million_tokens; /* NAN: no tokens, or no prices */
	/* Time before the first request and end of the run, of the first replication in which cost per token is that of a fleet that is
	 * idle at first; 0: none. */
	double begin_s, end_s;
};

/* Serves the trace with its arrival times divided by `factor`. replicas: by deployment; NULL: as in the scenario. Nothing is stored.
 * Errors: the errors of a run; ORR_EINPUT: fewer than two requests, too many, or all at one time. */
int slo_run(const struct slo_attempt *a, double factor, const uint32_t *replicas, struct slo_tried *out, struct orr_error *err);

/* The goal of a search. */
struct slo_search {
	struct slo slo;
	double enough;     /* share of the requests */
	const void *space; /* candidates, in the form that the search function expects; NULL: none */
};

/*
 * Does a search for each policy of the scenario, in parallel; those of plugins run in separate processes. search: reads a struct
 * slo_search and fills in a struct of `size` bytes. found[i * size]: of policy i. Fails with the error of the first policy that has one;
 * those without are in is_found.
 */
int slo_search_all(struct scenario *s, isolate_work search, const struct slo_search *in, void *found, size_t size, bool *is_found,
	struct orr_error *err);
/* Returns the index of the last policy with an answer; SIZE_MAX: none. */
size_t slo_last_found(const struct scenario *s, const bool *is_found);

/* Appends a line for the policy that says so if the cost per token is that of a fleet that is idle at first. */
void slo_put_begin(struct sbuf *b, const char *label, const struct slo_tried *t);

/* Appends a line for the policy if few mean latencies pass between the first and the last arrival, so that queues hardly build up.
 * answer: such as "with these replicas"; effect: of a longer trace. */
void slo_put_span(struct sbuf *b, const char *label, double arrivals_span, const char *answer, const char *effect);

/* Parses the value of --attainment; NULL: 0.9. */
int slo_parse_share(const char *text, double *enough, struct orr_error *err);
/* Refuses settings with which a share of requests has no meaning: --until, closed-loop users. */
int slo_check_scenario(const struct scenario *s, const char *flag, struct orr_error *err);

#endif
