/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * elastic.h - training jobs that run on changing numbers of nodes: step times of each shape
 *
 * An elastic job is a JSON file (docs/elastic-job.schema.json) or a name of the catalogue (hwmodel/elastic/NAME.json). Step
 * times by (pipelines, depth) are a table of the file, or are derived from the step world: struct elastic_step is the input of
 * sim/spot/derive.h, which fills in the table. The file also holds measured curves (over the number of nodes) and single
 * numbers for policies that were published with them. Times are ns, sizes bytes. A derived job is read-only and may be shared
 * by threads.
 */
#ifndef ORR_HWMODEL_ELASTIC_H
#define ORR_HWMODEL_ELASTIC_H

#include <orrery/api.h>

enum { ELASTIC_PLAIN, ELASTIC_REDUNDANT, ELASTIC_DEGRADED, ELASTIC_KINDS }; /* the same values as enum orr_step_kind */

struct elastic_point {
	uint32_t pipelines, depth;
	int64_t step_ns[ELASTIC_KINDS]; /* step time; 0: no such step. A table gives one time, for PLAIN and REDUNDANT */
	int64_t failover_ns;
	double redundant;        /* redundant share of the nodes' time in a redundant step */
	double activation_bytes; /* bytes of a sample's activations, mean over the cuts between stages; 0: unknown. Only in jobs with
				  * a struct elastic_step */
};
struct elastic_curve {
	char *name;
	uint32_t first, n; /* value[i] applies to first + i nodes */
	double *value;
};
struct elastic_figure {
	char *name;
	double value;
};
/* Input for step times from the step world: a DNN on nodes of one device each. */
struct elastic_step {
	char *model, *device, *precision;
	uint32_t batch, micro_batch; /* numbers of samples of a step, of a micro-batch */
	double node_Bps, latency_s;
	uint32_t max_pipelines, min_depth, max_depth, max_nodes; /* bounds of the shapes to derive */
	char *optimizer, *recompute;                             /* values of step.optimizer and of the pipeline policy's parameter
								  * recompute */
	char *cut, *redundancy; /* parameters of the step policy bamboo for all steps, and for redundant steps */
};

struct elastic {
	char *name, *title, *source;
	char hash[65];
	double samples_per_step, state_bytes, parameters;
	uint64_t steps;
	uint32_t depth, pipelines;
	uint32_t on_demand_nodes;
	int64_t on_demand_step_ns;
	struct elastic_point *point; /* points, sorted by pipelines, then depth */
	uint32_t n_points;
	struct elastic_curve *curve;
	uint32_t n_curves;
	struct elastic_figure *figure;
	uint32_t n_figures;
	struct elastic_step *step; /* data for derived step times; NULL: step times are not derived */
};

/* Loads a job. name_or_file: a file that ends in .json, or a name of the catalogue. Returns NULL on error. */
struct elastic *elastic_load(const char *name_or_file, struct orr_error *err);
struct elastic *elastic_parse(const char *path, const char *text, size_t n, struct orr_error *err);
void elastic_free(struct elastic *job);
/* Returns the number of nodes of the smallest shape (pipelines x depth) with a step time; 0: no step time yet. */
uint32_t elastic_least(const struct elastic *job);
const char *elastic_catalogue(size_t i); /* returns name i; NULL past the last */

#endif
