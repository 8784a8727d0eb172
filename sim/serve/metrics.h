/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * metrics.h - what a run of the serving world counts (metrics.c) and what that comes to (measures.c)
 *
 * The formulas are in docs/models.md, "Serving: metrics, routing, scaling". A request costs two sums of blocks and two
 * counts in histograms; language models four of each.
 */
#ifndef ORR_SERVE_METRICS_H
#define ORR_SERVE_METRICS_H

#include "results/timeline.h"
#include "serve/world.h"

/* A quantity of each request. */
struct tally {
	struct hist *hist;
	struct blocks blocks; /* by number of the request */
};

struct model_sums {
	uint64_t completed, asked_slo, met_slo;
	double completion_s;
};

struct serve_metrics {
	bool has_begun; /* the first request has come */
	bool has_llm, has_slo;
	double begun_s, last_end_s;
	uint64_t arrived, completed, refused, shed, unfinished;
	uint64_t preemptions, restarts;
	uint64_t good;                          /* completed within all their limits */
	uint64_t asked_slo, met_slo;            /* of those that have ended: with a limit of some kind; of these, good ones */
	double completion_s, samples, sample_s; /* of completed ones */
	double output_tokens;
	struct tally completion, queue, ttft, tpot;
	struct blocks met;        /* 1 for each good one, 0 for each other, of those with a limit */
	double looked_up, cached; /* prompt tokens of requests that were admitted; found in a prefix cache */
	struct hist *gap;         /* NULL: none yet */
	struct model_sums *model;
	/* work */
	double iterations, prompt_processed, decoded, real, padded, lost_s;
	/* of the cache: integral of the part in use over time, by replica */
	double *kv_since_s, *kv_was, *kv_integral, *kv_span_s;
	/* of the memory of replicas that run tables: integrals over time of bytes in use and of bytes there are */
	double *memory_since_s;                        /* [replica]; NULL: devices are not known */
	double memory_used, memory_there, memory_most; /* most: part of a replica's */
	/* over time */
	uint64_t busy_gpus, up_gpus;
	struct timeline live, busy, up;
	double sojourn_s; /* of all that ended, for the check */
	uint64_t checks;
	/* rows */
	size_t cap_rows, cap_events;
	uint64_t row_stride;
};

void check_serve_completed(struct orr_serve *w, const struct req *q, double at_s); /* check.c */

#endif
