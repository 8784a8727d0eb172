/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * nexus_plan.h - squishy bin packing (Shen et al., "Nexus: A GPU Cluster Engine for Accelerating DNN-Based Video
 * Analysis", SOSP 2019, section 6.1, algorithm 1)
 *
 * A session is a model with a rate and an SLO. A node (GPU) runs a batch of each of its sessions once per duty cycle.
 * Invariants of a plan, except for sessions that no batch size serves in time (is_hopeless): on each node the latencies of
 * the batches sum to at most the duty cycle, each batch is at least rate x duty cycle, and latency + duty cycle is at most
 * the SLO. Rates in samples/s, times in s.
 */
#ifndef ORR_POLICIES_NEXUS_PLAN_H
#define ORR_POLICIES_NEXUS_PLAN_H

#include <stdbool.h>
#include <stdint.h>

struct nexus_session {
	double rate, slo_s;    /* slo_s may be INFINITY */
	const uint32_t *batch; /* sizes, ascending */
	const double *latency_s;
	uint32_t n_batches;
	bool is_hopeless; /* result of the planner */
};

struct nexus_part {
	uint32_t session, batch;
	double rate; /* rate served by this node */
};

struct nexus_node {
	struct nexus_part *part;
	uint32_t n_parts;
	double duty_s;
};

struct nexus_plan {
	struct nexus_node *node;
	uint32_t n, cap;
};

/* Makes a plan. Overwrites *out; free it with nexus_plan_free(). */
void nexus_plan(struct nexus_session *s, uint32_t n, struct nexus_plan *out);
void nexus_plan_free(struct nexus_plan *p);
/* Returns the largest batch that may wait for another of the same size: 2 L(b) <= SLO; 0: none. */
uint32_t nexus_saturating_batch(const struct nexus_session *s);
/* Returns the latency of the table's smallest size that holds the samples, or of the largest size. */
double nexus_latency(const struct nexus_session *s, uint32_t samples);

#endif
