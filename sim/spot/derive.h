/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * derive.h - what a step of an elastic job takes in each shape, from the step world
 *
 * For each (pipelines, depth) that struct elastic_step asks for, the step policy bamboo is run on as many nodes of one device
 * on one switch: without redundancy, with it, and with one stage doing the work of two. A shape is left out that the model
 * cannot be cut for, that leaves a pipeline without a micro-batch, or that does not fit into the devices' memory; its
 * REDUNDANT or DEGRADED step is 0 where only that does not fit. Deterministic, for any number of threads. docs/models.md,
 * "Elastic jobs", has the definitions of failover and of the redundant share.
 */
#ifndef ORR_SPOT_DERIVE_H
#define ORR_SPOT_DERIVE_H

#include <orrery/policy.h>

#include "hwmodel/elastic.h"

/* What the runs of one kind (ELASTIC_PLAIN, ..) say; means over the stages lost for ELASTIC_DEGRADED. */
struct derive_kind {
	double step_s;
	double bubble;     /* part of the nodes' time that no op ran in: waiting for other nodes or messages */
	double redundant;  /* part of the nodes' time: FRC, BRC and updates of replicas */
	double peak_bytes; /* of the fullest node */
};
struct derive_row {
	uint32_t pipelines, depth;
	struct derive_kind kind[ELASTIC_KINDS];
	double failover_s;
};
struct derive_report {
	struct derive_row *row; /* by pipelines, then depth; those left out for memory too, with what they would take */
	size_t n;
};

struct derive {
	const struct orr_policy *policy; /* the step policy "bamboo" */
	uint32_t threads;                /* 0: one */
	struct derive_report *report;    /* NULL: not wanted */
};

/* Fills in job->point, and state_bytes, parameters and on_demand_step_ns where the file does not say. A job that has no
 * struct elastic_step stays as it is. */
int elastic_derive(struct elastic *job, const struct derive *d, struct orr_error *err);
void derive_report_free(struct derive_report *r);

#endif
