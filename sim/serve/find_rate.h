/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * find_rate.h - orrery serve --find-rate: the largest arrival rate at which enough requests meet an SLO
 *
 * Arrival times of one trace (or of common random numbers) are divided by a factor, so every policy and every factor sees the
 * same requests. A request meets the SLO if it completes within its limits of TTFT (from arrival), TPOT
 * ((end - first) / (n - 1)) and time from arrival to completion; a refused, shed or unfinished request does not.
 *
 * Invariant of the bisection: the share at factor `low` is enough, that at `high` is not; it ends when high / low is
 * below 1 + FIND_RATE_STEP. If the share does not fall monotonically with the factor, the result is one of several.
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
/* One or more of "ttft=1s,tpot=100ms,e2e=30s". */
int slo_parse(const char *text, struct slo *out, struct orr_error *err);
/* Share of the rows that meet the SLO; NAN without rows. */
double slo_attainment(const struct slo *s, const struct request_row *rows, size_t n);

struct rate_found {
	double factor, rate, attainment;            /* largest factor with a sufficient share; factor 0: none */
	double above, above_rate, above_attainment; /* least factor without; INFINITY: none */
	uint32_t runs;
};
/* Share and requests per second at a factor. Non-zero: *err is filled in. */
typedef int (*rate_try)(void *ctx, double factor, double *attainment, double *rate, struct orr_error *err);
int rate_search(rate_try try, void *ctx, double enough, struct rate_found *out, struct orr_error *err);

/* Runs the search for each policy of an open scenario; appends results to out, as text or JSON. attainment NULL: 0.9. */
int find_rate(const struct scenario *s, const char *slo, const char *attainment, struct sbuf *out, struct orr_error *err);

#endif
