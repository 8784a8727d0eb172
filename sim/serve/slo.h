/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * slo.h - limits of latencies, and how many requests of a run keep them (--find-rate, --find-replicas)
 *
 * A request meets the SLO if it completes within its limits of TTFT (from arrival), TPOT (as serve.tbt defines it) and time from arrival
 * to completion; refused, shed and unfinished requests do not.
 */
#ifndef ORR_SERVE_SLO_H
#define ORR_SERVE_SLO_H

#include "base/sbuf.h"
#include "results/result.h"
#include "serve/requests.h"

/* Limits in seconds; INFINITY: none. */
struct slo {
	double ttft_s, tpot_s, e2e_s;
	enum serve_tbt tbt; /* definition of TPOT */
};
/* Parses one or more of "ttft=1s,tpot=100ms,e2e=30s", with the default of serve.tbt. flag: its name, for messages. */
int slo_parse(const char *flag, const char *text, struct slo *out, struct orr_error *err);
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
/* Returns the time from the first to the last arrival, divided by the mean latency of the completed requests; NAN: none completed. */
double slo_arrivals_span(const struct request_row *rows, size_t n);
/* Returns the cause of the bound: the limit that most requests miss, "ttft", "tpot" or "e2e", or "refused" if more requests were
 * refused or shed. Requests of slo_never() count only if no limit is missed. NULL: no request misses a limit. */
const char *slo_bound(const struct slo_misses *m);
/* Returns the share of the requests that are refused at any rate: because of their size, or because no replica serves their model. */
double slo_never(const struct slo_misses *m);

/* ---- output ---- */

/* Appends "key": v and `end`; null unless v is finite. */
void slo_put_number(struct sbuf *b, const char *key, double v, const char *end);
/* Append the cause of a bound, slo_bound() or "refused"; NULL: none. As text: "bound by ttft: completed requests keep ttft 88.2 %, tpot
 * 99.8 %; refused 1 % (context 1 %)". As JSON: the key "bound", and keys that begin with `side`, such as "above_ttft_attainment". */
void slo_put_bound(struct sbuf *b, const struct slo *slo, const struct slo_misses *m, const char *bound);
void slo_put_bound_json(struct sbuf *b, const struct slo *slo, const struct slo_misses *m, const char *bound, const char *side);

#endif
