/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * find_rate.h - orrery serve --find-rate: the largest arrival rate at which enough requests meet an SLO
 *
 * Arrival times of one trace (or of common random numbers) are divided by a factor, so every policy and every factor sees the same
 * requests.
 *
 * A sufficient factor whose double is not sufficient is found first. Between the two lies a grid of FIND_RATE_STEPS points at equal
 * ratios, and base/search.h finds the largest sufficient one of them: by bisection, with a check of points on both sides, and by a scan
 * of the points between if the share crosses the limit more than once.
 */
#ifndef ORR_SERVE_FIND_RATE_H
#define ORR_SERVE_FIND_RATE_H

#include "serve/slo_run.h"

/* Points per doubling: the answer is at most 2^(1 / FIND_RATE_STEPS) - 1, or 0.27 %, below the largest sufficient factor. */
#define FIND_RATE_STEPS 256

struct rate_found {
	double factor, rate, attainment;            /* largest factor with a sufficient share; factor 0: none */
	double arrivals_span;                       /* span of the arrivals at that factor, as in struct slo_tried */
	double above, above_rate, above_attainment; /* smallest factor with an insufficient share; INFINITY: none */
	struct slo_misses above_misses;
	double missed_rate; /* the lowest rate with an insufficient share, within the bracket that was searched; NAN: none */
	bool is_scanned;    /* the share crosses the limit more than once, so all points between the crossings were tried */
	bool is_never;      /* the requests refused at any rate are too many, so no other rate was tried */
	uint32_t runs;
};
/* Runs at a factor. Returns non-zero with *err filled in on error. */
typedef int (*rate_try)(void *ctx, double factor, struct slo_tried *out, struct orr_error *err);
int rate_search(rate_try try, void *ctx, double enough, struct rate_found *out, struct orr_error *err);

/* Runs the search for each policy of an open scenario; appends the results to out, as text or JSON. attainment NULL: 0.9. */
int find_rate(struct scenario *s, const char *slo, const char *attainment, struct sbuf *out, struct orr_error *err);

#endif
