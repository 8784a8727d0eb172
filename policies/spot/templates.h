/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * templates.h - Oobleck's plans: how so many nodes form pipelines of the depths for which there are templates
 *
 * A template is a pipeline of one depth; pipelines of several depths work together on one global batch, each on the share that it
 * gets done in the same time. With D pipelines, one of depth d does 1/(D T(D, d)) of the batch per second, T being the job's step
 * time with D pipelines of that depth: so a step of depths d_1..d_D takes D / sum 1/T(D, d_i), which is T(D, d) if all are alike.
 * A plan is the fastest one of at least so many pipelines on at most n nodes, found by dynamic programming over pipelines and
 * nodes, exactly; of equals the one of fewer pipelines, then of fewer nodes. Step times of more than 64 pipelines, or deeper than
 * 256, are left aside.
 *
 * Source: Jang et al., "Oobleck", SOSP 2023 (templates; the rule for shares is its batch distribution, in the limit of many
 * micro-batches).
 */
#ifndef ORR_SPOT_TEMPLATES_H
#define ORR_SPOT_TEMPLATES_H

#include <orrery/spot.h>

struct plan {
	uint32_t pipelines, nodes; /* 0: there is none */
	int64_t step_ns;
	uint32_t depth; /* the deepest one's */
};

struct templates {
	uint32_t min_depth, max_depth, max_pipelines, replicas;
	double *rate; /* [D - 1][depth - min_depth]: 1/T(D, depth), 0 none */
	/* For 0..n nodes, once reckoned: */
	struct plan *plan;
	uint32_t n;
	uint16_t *choice; /* [D (D - 1) / 2 + k - 1][nodes]: depth of the k-th of D pipelines; 0: can't be */
};

/* Depths from..to of those that the job has (0: no bound); 0 on success. A job without step times has no templates: max_depth is 0. */
int templates_init(struct templates *t, struct orr_spot *w, uint32_t from, uint32_t to, uint32_t replicas, struct orr_error *err);
void templates_free(struct templates *t);
struct plan templates_plan(struct templates *t, uint32_t nodes);
/* The depths of its pipelines, deepest first: plan->pipelines of them. */
void templates_depths(const struct templates *t, const struct plan *plan, uint32_t *depth);

#endif
