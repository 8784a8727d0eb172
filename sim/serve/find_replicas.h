/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * find_replicas.h - orrery serve --find-replicas: the smallest fleet at which enough requests meet an SLO, and its cost
 *
 * The share of requests within an SLO need not rise with the number of replicas (routers, caches of prefixes, batches that wait until they
 * are full), so the numbers are tried one by one from 1 on, not by bisection. Numbers above the answer are tried too, to notice a share
 * that falls again.
 */
#ifndef ORR_SERVE_FIND_REPLICAS_H
#define ORR_SERVE_FIND_REPLICAS_H

#include "serve/slo_run.h"

/* Numbers of replicas tried above the answer. */
#define FIND_REPLICAS_ABOVE 2

struct fleet_found {
	uint32_t replicas, most;    /* replicas: the smallest sufficient number, 0: none up to `most` */
	struct slo_tried at, below; /* below: with one replica less; valid if replicas > 1. Without an answer: with `most` replicas */
	uint32_t missing[FIND_REPLICAS_ABOVE]; /* larger numbers with an insufficient share */
	uint32_t n_missing, runs;
	bool is_never; /* the requests refused with any number of replicas are too many, so only one was tried */
};
/* Runs with a number of replicas. Returns non-zero with *err filled in on error. */
typedef int (*fleet_try)(void *ctx, uint32_t replicas, struct slo_tried *out, struct orr_error *err);
int fleet_search(fleet_try try, void *ctx, uint32_t most, double enough, struct fleet_found *out, struct orr_error *err);

/* Runs the search for each policy of an open scenario, up to the replicas of its deployment; appends the results to out, as text or JSON.
 * attainment NULL: 0.9. Several deployments: find_fleet.h. Errors: ORR_EINPUT: an autoscaler, or settings that slo_check_scenario()
 * refuses. */
int find_replicas(struct scenario *s, const char *slo, const char *attainment, struct sbuf *out, struct orr_error *err);

#endif
