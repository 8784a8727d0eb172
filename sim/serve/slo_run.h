/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * slo_run.h - one policy of a scenario served at another rate or with another number of replicas, for --find-rate and --find-replicas
 */
#ifndef ORR_SERVE_SLO_RUN_H
#define ORR_SERVE_SLO_RUN_H

#include "serve/scenario.h"
#include "serve/slo.h"

struct slo_attempt {
	const struct scenario *scenario;
	size_t policy;
	struct slo slo;
	const char *flag; /* for messages, "find-rate" */
};

/* Means over the replications; misses are sums. */
struct slo_tried {
	double attainment, rate; /* rate: requests/s */
	struct slo_misses misses;
	double good_rate;              /* requests within the SLO per second of the run */
	double usd, gpu_hours;         /* usd: NAN without prices */
	double usd_per_million_tokens; /* NAN: no tokens, or no prices */
};

/* Serves the trace with its arrival times divided by `factor`. replicas: by deployment; NULL: as in the scenario. Nothing is stored.
 * Errors: those of a run; ORR_EINPUT: fewer than two requests, too many, or all at one time. */
int slo_run(const struct slo_attempt *a, double factor, const uint32_t *replicas, struct slo_tried *out, struct orr_error *err);

/* Parses the value of --attainment; NULL: 0.9. */
int slo_parse_share(const char *text, double *enough, struct orr_error *err);
/* Refuses settings with which a share of requests has no meaning: --until, closed-loop users. */
int slo_check_scenario(const struct scenario *s, const char *flag, struct orr_error *err);

#endif
