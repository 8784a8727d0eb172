/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * find_rate.h - orrery serve --find-rate: the largest rate of arrivals at which enough requests keep to an SLO
 *
 * The arrival times of one and the same trace (or of one and the same random numbers) are divided by a factor, so
 * every policy and every factor sees the same requests. A request keeps to the SLO if it is completed within its
 * limits of time to the first token (from arrival), time per further token ((end - first) / (n - 1)) and time from
 * arrival to completion; one that is refused, shed or never ends does not.
 *
 * Invariant of the bisection: the share at factor `low` is enough, that at `high` is not; it ends when high / low is
 * below 1 + FIND_RATE_STEP. Where the share is not falling in the factor, this is one of several such places.
 */
#ifndef ORR_SERVE_FIND_RATE_H
#define ORR_SERVE_FIND_RATE_H

#include "results/result.h"
#include "world/scenario.h"

#define FIND_RATE_STEP 0.004

/* Limits in seconds; INFINITY: none. */
struct slo {
	double ttft_s, tpot_s, e2e_s;
};
/* "ttft=1s,tpot=100ms,e2e=30s", or some of these. */
int slo_parse(const char *text, struct slo *out, struct orr_error *err);
/* Share of the rows that keep to it; NAN without rows. */
double slo_attainment(const struct slo *s, const struct request_row *rows, size_t n);

struct rate_found {
	double factor, rate, attainment;            /* the largest that was enough; factor 0: none was */
	double above, above_rate, above_attainment; /* the least that was not; INFINITY: none was found */
	uint32_t runs;
};
/* The share at a factor, and requests per second there. Non-zero: *err is filled in. */
typedef int (*rate_try)(void *ctx, double factor, double *attainment, double *rate, struct orr_error *err);
int rate_search(rate_try try, void *ctx, double enough, struct rate_found *out, struct orr_error *err);

/* For each policy of an open serving scenario; the results, as text or JSON, are added to out. attainment NULL: 0.9. */
int find_rate(const struct scenario *s, const char *slo, const char *attainment, struct sbuf *out, struct orr_error *err);

#endif
