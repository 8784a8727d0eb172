/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * derive.h - step times of an elastic job in each shape, from the step world
 *
 * For each shape (pipelines, depth) in the bounds of struct elastic_step, runs the step policy bamboo on that many nodes of one
 * GPU on one switch. There are three runs: without redundancy, with redundancy, and with one node computing two stages. Shapes
 * are left out if the model cannot be cut accordingly, if a pipeline would have no micro-batch, or if they exceed the GPUs'
 * memory. If the REDUNDANT or DEGRADED step alone exceeds the memory, its step time is 0. The result does not depend on the
 * number of threads. Failover and the redundant share are defined in docs/models/step-bamboo.md#elastic-jobs.
 */
#ifndef ORR_SPOT_DERIVE_H
#define ORR_SPOT_DERIVE_H

#include <orrery/policy.h>

#include "hwmodel/elastic.h"

/* Measurements of one kind of run (ELASTIC_PLAIN, ..); for ELASTIC_DEGRADED, means over the lost stages. */
struct derive_kind {
	double step_s;
	double bubble;     /* share of the nodes' time without an op: waiting for other nodes or messages */
	double redundant;  /* share of the nodes' time in FRC, BRC and updates of replicas */
	double peak_bytes; /* largest number of bytes on a node */
	double sent_bytes; /* bytes sent by all nodes in a step */
};
struct derive_row {
	uint32_t pipelines, depth;
	struct derive_kind kind[ELASTIC_KINDS];
	double failover_s;
	double activation_bytes; /* bytes of a sample's activations, mean over the cuts; 0 unless the shape has one pipeline and
				  * several stages */
};
struct derive_report {
	struct derive_row *row; /* rows by pipelines, then depth; includes shapes that do not fit into memory */
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
