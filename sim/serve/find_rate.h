/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * find_rate.h - orrery serve --find-rate: the largest arrival rate at which enough requests meet an SLO
 *
 * Arrival times of one trace (or of common random numbers) are divided by a factor, so every policy and every factor sees the
 * same requests. A request meets the SLO if it completes within its limits of TTFT (from arrival), TPOT ((end - first) / (n -
 * 1)) and time from arrival to completion; refused, shed and unfinished requests do not.
 *
 * Invariant of the bisection: the share at factor `low` is sufficient, the share at `high` is not. The bisection ends when high
 * / low is below 1 + FIND_RATE_STEP. If the share does not fall monotonically with the factor, the result is one of several.
 */
#ifndef ORR_SERVE_FIND_RATE_H
#define ORR_SERVE_FIND_RATE_H

#include "results/result.h"
#include "serve/requests.h"
#include "world/scenario.h"

#define FIND_RATE_STEP 0.004

/* Limits in seconds; INFINITY: none. */
struct slo {
	double ttft_s, tpot_s, e2e_s;
};
/* Parses one or more of "ttft=1s,tpot=100ms,e2e=30s". */
int slo_parse(const char *text, struct slo *out, struct orr_error *err);
/* Returns the share of the rows that meet the SLO; NAN without rows. */
double slo_attainment(const struct slo *s, const struct request_row *rows, size_t n);

/* Numbers of requests, summed over replications: requests that miss a limit, by limit (one may miss several), and requests refused
 * or shed. */
struct slo_misses {
	double requests, completed;
	double ttft, tpot, e2e;      /* number of completed requests that miss this limit */
	double turned_away[REASONS]; /* number of refused or shed requests by enum req_reason */
};
/* Add to *sum: slo_count() from the rows of a run, slo_count_reasons() from its metrics of refused and shed requests. */
void slo_count(const struct slo *s, const struct request_row *rows, size_t n, struct slo_misses *sum);
void slo_count_reasons(const struct run_result *r, struct slo_misses *sum);
/* Returns the cause of the bound: the limit that most requests miss, "ttft", "tpot" or "e2e", or "refused" if more requests were
 * refused or shed. Requests of slo_never() count only if no limit is missed. NULL: no request misses a limit. */
const char *slo_bound(const struct slo_misses *m);
/* Returns the share of the requests that are refused at any rate: because of their size, or because no replica serves their model. */
double slo_never(const struct slo_misses *m);

struct rate_tried {
	double attainment, rate; /* rate: requests/s */
	struct slo_misses misses;
};
struct rate_found {
	double factor, rate, attainment;            /* largest factor with a sufficient share; factor 0: none */
	double above, above_rate, above_attainment; /* smallest factor with an insufficient share; INFINITY: none */
	struct slo_misses above_misses;
	bool is_never; /* the requests refused at any rate are too many, so no other rate was tried */
	uint32_t runs;
};
/* Runs at a factor. Returns non-zero with *err filled in on error. */
typedef int (*rate_try)(void *ctx, double factor, struct rate_tried *out, struct orr_error *err);
int rate_search(rate_try try, void *ctx, double enough, struct rate_found *out, struct orr_error *err);

/* Runs the search for each policy of an open scenario; appends the results to out, as text or JSON. attainment NULL: 0.9. */
int find_rate(const struct scenario *s, const char *slo, const char *attainment, struct sbuf *out, struct orr_error *err);

#endif
