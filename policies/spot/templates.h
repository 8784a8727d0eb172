/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * templates.h - Oobleck's plans: how nodes form pipelines from templates of several depths
 *
 * A template is a pipeline of one depth. Pipelines of several depths share one global batch so that all finish at the same
 * time. With D pipelines, a pipeline of depth d processes 1/(D T(D, d)) of the batch per second; T(D, d) is the job's step time
 * with D pipelines of depth d. A step of depths d_1..d_D takes D / sum 1/T(D, d_i), which is T(D, d) if all are equal.
 *
 * The plan for n nodes is the fastest set of at least `replicas` pipelines on at most n nodes, found exactly by dynamic programming
 * over pipelines and nodes. Ties: fewer pipelines, then fewer nodes. Step times of more than 64 pipelines, or deeper than 256, are
 * ignored.
 *
 * Source: Jang et al., "Oobleck", SOSP 2023 (templates; the shares are the limit of its batch distribution for many micro-batches).
 */
#ifndef ORR_SPOT_TEMPLATES_H
#define ORR_SPOT_TEMPLATES_H

#include <orrery/spot.h>

struct plan {
	uint32_t pipelines, nodes; /* 0: no plan */
	int64_t step_ns;
	uint32_t depth; /* depth of the deepest pipeline */
};

struct templates {
	uint32_t min_depth, max_depth, max_pipelines, replicas;
	double *rate; /* rates 1/T(D, depth), [D - 1][depth - min_depth]; 0: none */
	/* Plans for 0..n nodes, as far as computed. */
	struct plan *plan;
	uint32_t n;
	uint16_t *choice; /* depth of the k-th of D pipelines, [D (D - 1) / 2 + k - 1][nodes]; 0: impossible */
};

/* Makes templates of the job's depths from..to (0: no bound). Returns 0 on success. A job without step times has no templates:
 * max_depth is 0. */
int templates_init(struct templates *t, struct orr_spot *w, uint32_t from, uint32_t to, uint32_t replicas, struct orr_error *err);
void templates_free(struct templates *t);
struct plan templates_plan(struct templates *t, uint32_t nodes);
/* Writes the depths of the plan's pipelines, deepest first. */
void templates_depths(const struct templates *t, const struct plan *plan, uint32_t *depth);

#endif
