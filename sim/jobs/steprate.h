/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * steprate.h - the training speed of jobs that name a model and a strategy, from memoised runs of the step world
 *
 * A question is (model, strategy, batch) on a place (shape.h), alone or together with others; its answer depends on nothing else. Answers
 * are cached. If several threads have the same question, one runs the step world and the others
 * wait, so the number of runs does not depend on the number of threads.
 *
 * Rates are samples/s, which are comparable between sizes of a job.
 */
#ifndef ORR_JOBS_STEPRATE_H
#define ORR_JOBS_STEPRATE_H

#include <orrery/policy.h>

#include "hwmodel/cost.h"
#include "jobs/shape.h"
#include "step/step.h"

struct steprate;
struct setting;

struct steprate_config {
	const struct cluster *cluster;
	const struct topo *topo;
	struct device *const *device;   /* devices by GPU type of the cluster */
	const struct orr_args *options; /* of step_options */
	struct cost_options costs;
	struct profile *const *profile; /* profiles by GPU type, for costs; NULL: data sheets only */
	enum precision precision;
	double batch; /* samples per GPU of jobs that state no batch */
	uint64_t seed;
	bool link_use;                        /* measure the use of links, for sharing */
	double tolerance;                     /* relative tolerance of the rates of a set, as in step.h */
	uint64_t most_iterations, most_flows; /* limits of the run of a set: step.h */
	/* Finds the step policy of that name or file; hash: SHA-256 of the file. */
	int (*find)(const char *name, const struct orr_policy **out, char hash[65], struct orr_error *err);
};

struct steprate_value {
	double samples_per_s;
	double samples;         /* per iteration */
	struct step_link *link; /* use of each link, by local number of the place; only with link_use */
	uint32_t n_links;
	/* samples/s of each member of a set; 0: the set is too large to simulate. */
	double *of;
	bool has_settled;
	unsigned used;                            /* enum step_use */
	uint64_t kernels_by_law, kernels_outside; /* alone: counts as in step_result */
	struct orr_error error;                   /* error; code 0: the value is valid */
};

/* Makes the rates; copies the config. Returns NULL if an option applies to a single job only. */
struct steprate *steprate_new(const struct steprate_config *c, struct orr_error *err);
void steprate_free(struct steprate *s);
/* Sets whether runs of the step world check their conservation laws. Call it before the first question. */
void steprate_check(struct steprate *s, bool check);
const struct ground *steprate_ground(const struct steprate *s);

/* Returns a number that identifies (model, strategy, batch); batch 0: the batch of the config. */
int steprate_class(struct steprate *s, const char *model, const char *strategy, double batch, uint32_t *out, struct orr_error *err);
/* Returns files of models and strategies, in order of first use: names and SHA-256; false past the last. */
bool steprate_input(const struct steprate *s, size_t i, const char **name, const char **hash);

/* Returns the speed of a job alone on the place. Every link that jobs can share (links of one GPU are private) has 1/stretch of its
 * capacity. */
const struct steprate_value *steprate_alone(struct steprate *s, uint32_t class, const struct place *p, double stretch);
/* Returns the speed on the reference place; NULL: the type has too few GPUs. */
const struct steprate_value *steprate_reference(struct steprate *s, uint32_t class, uint32_t gpus, uint32_t type);
/* A member of a set of concurrent jobs on n_links links in total, whose numbers in the topology are all[]. link: index in all[] of
 * each link of the member's place. */
struct steprate_member {
	uint32_t class;
	const struct place *place;
	const uint32_t *link;
	double start_s; /* start of the member; depends only on the earlier members and their rates alone */
};
const struct steprate_value *steprate_together(
	struct steprate *s, const struct steprate_member *m, uint32_t n, const uint32_t *all, uint32_t n_links);

/* Returns whether cost.NAME changes the time of any kernel of a model of the classes so far. */
bool steprate_costs_change(struct steprate *s, const struct setting *setting, const char *name);
/* Counts runs of the step world so far: of one job, of sets of jobs, and of sets whose rates did not settle. */
void steprate_count(struct steprate *s, uint64_t *alone, uint64_t *together, uint64_t *unsettled);
/* Counts kernels over the runs of one job: kernels timed by laws of a profile, and those of them outside the range of the law's fit. */
void steprate_outside(struct steprate *s, uint64_t *by_law, uint64_t *outside);

#endif
