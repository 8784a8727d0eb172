/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * elastic.h - training jobs that can run on changing numbers of nodes: what a step takes in each shape
 *
 * An elastic job is a JSON file (docs/elastic-job.schema.json) or the name of one that ships (hwmodel/elastic/NAME.json).
 * Step times by (pipelines, depth) are a table of the file, or are to be derived from the step world (struct elastic_step says of
 * what; sim/spot/derive.h does it and fills in the table). Curves over the number of nodes and single figures serve rules that
 * were published with such numbers. Times ns, sizes bytes. Does not change once made (and derived); may be shared by threads.
 */
#ifndef ORR_HWMODEL_ELASTIC_H
#define ORR_HWMODEL_ELASTIC_H

#include <orrery/api.h>

enum { ELASTIC_PLAIN, ELASTIC_REDUNDANT, ELASTIC_DEGRADED, ELASTIC_KINDS }; /* as enum orr_step_kind */

struct elastic_point {
	uint32_t pipelines, depth;
	int64_t step_ns[ELASTIC_KINDS]; /* 0: no such step. A table gives one number: of PLAIN and REDUNDANT */
	int64_t failover_ns;
	double redundant; /* share of the nodes' time in a redundant step */
};
struct elastic_curve {
	char *name;
	uint32_t first, n; /* value[i] is of first + i nodes */
	double *value;
};
struct elastic_figure {
	char *name;
	double value;
};
/* Step times from the step world: a DNN on nodes of one device each. */
struct elastic_step {
	char *model, *device, *precision;
	uint32_t batch, micro_batch; /* samples of a whole step; of one micro-batch */
	double node_Bps, latency_s;
	uint32_t max_pipelines, min_depth, max_depth, max_nodes; /* shapes to derive */
	char *optimizer, *recompute;                             /* as step.optimizer; as a pipeline policy's recompute */
	char *cut, *redundancy;                                  /* as the step policy bamboo has them: of all steps; of redundant ones */
};

struct elastic {
	char *name, *title, *source;
	char hash[65];
	double samples_per_step, state_bytes, parameters;
	uint64_t steps;
	uint32_t depth, pipelines;
	uint32_t on_demand_nodes;
	int64_t on_demand_step_ns;
	struct elastic_point *point; /* by pipelines, then depth */
	uint32_t n_points;
	struct elastic_curve *curve;
	uint32_t n_curves;
	struct elastic_figure *figure;
	uint32_t n_figures;
	struct elastic_step *step; /* NULL: the table is all */
};

/* A file that ends in .json, or a name of the catalogue. NULL on error. */
struct elastic *elastic_load(const char *name_or_file, struct orr_error *err);
struct elastic *elastic_parse(const char *path, const char *text, size_t n, struct orr_error *err);
void elastic_free(struct elastic *job);
const char *elastic_catalogue(size_t i); /* names that ship; NULL past the last */
/* NULL: no such point. */
const struct elastic_point *elastic_find(const struct elastic *job, uint32_t pipelines, uint32_t depth);

#endif
