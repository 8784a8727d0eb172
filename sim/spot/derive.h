/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * derive.h - step times of an elastic job in each shape, from the step world
 *
 * For each shape (pipelines, depth) that struct elastic_step asks for, runs the step policy bamboo on that many nodes of one GPU on
 * one switch: without redundancy, with it, and with one stage doing the work of two. Shapes are left out if the model cannot be
 * cut so, if a pipeline would have no micro-batch, or if they exceed the GPUs' memory; if only the REDUNDANT or DEGRADED step
 * exceeds it, that step time is 0. The result does not depend on the number of threads. Failover and the redundant share are
 * defined in docs/models/step-bamboo.md#elastic-jobs.
 */
#ifndef ORR_SPOT_DERIVE_H
#define ORR_SPOT_DERIVE_H

#include <orrery/policy.h>

#include "hwmodel/elastic.h"

/* Measurements of one kind of run (ELASTIC_PLAIN, ..); for ELASTIC_DEGRADED means over the lost stages. */
struct derive_kind {
	double step_s;
	double bubble;     /* part of the nodes' time without an op: waiting for other nodes or messages */
	double redundant;  /* part of the nodes' time: FRC, BRC and updates of replicas */
	double peak_bytes; /* of the fullest node */
	double sent_bytes; /* of all nodes, in a step */
};
struct derive_row {
	uint32_t pipelines, depth;
	struct derive_kind kind[ELASTIC_KINDS];
	double failover_s;
	double activation_bytes; /* of a sample, mean over the cuts; only of a shape with one pipeline and several stages, else 0 */
};
struct derive_report {
	struct derive_row *row; /* by pipelines, then depth; with the shapes that exceed memory */
	size_t n;
};

struct derive {
	const struct orr_policy *policy; /* the step policy "bamboo" */
	uint32_t threads;                /* 0: one */
	struct derive_report *report;    /* may be NULL */
};

/* Fills in job->point, and state_bytes, parameters and on_demand_step_ns if the file lacks them. No-op for a job without a struct
 * elastic_step. */
int elastic_derive(struct elastic *job, const struct derive *d, struct orr_error *err);
void derive_report_free(struct derive_report *r);

#endif
