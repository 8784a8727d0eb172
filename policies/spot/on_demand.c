/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * on_demand.c - the baseline: a fixed number of on-demand instances, which nobody takes away
 *
 * The job begins when all of them are ready and runs at one pace to its end.
 */
#include <orrery/policy.h>

#include <stdlib.h>

struct on_demand {
	uint32_t nodes, pipelines, depth;
	int64_t step_ns;
	bool asked, runs;
	orr_inst *owner;
};

static void destroy(void *self)
{
	struct on_demand *o = self;
	free(o->owner);
	free(o);
}

/* The shape: what is told; else what the job suggests, if that has so many nodes; else one row of them. */
static bool choose(struct on_demand *o, struct orr_spot *w, const struct orr_args *args, struct orr_error *err)
{
	struct orr_elastic_info job;
	orr_elastic_get(w, &job);
	o->nodes = (uint32_t)orr_arg_int(args, "nodes");
	o->pipelines = (uint32_t)orr_arg_int(args, "pipelines");
	o->depth = (uint32_t)orr_arg_int(args, "depth");
	o->step_ns = orr_arg_time_ns(args, "step");
	bool is_told = o->nodes || o->pipelines || o->depth;
	if (!is_told)
		o->nodes = job.on_demand_nodes;
	if (!o->step_ns && o->nodes == job.on_demand_nodes)
		o->step_ns = job.on_demand_step_ns;
	if (!o->depth)
		o->depth = job.depth;
	if (!o->pipelines && o->depth && o->nodes)
		o->pipelines = o->nodes / o->depth;
	if (!o->pipelines)
		o->pipelines = job.pipelines;
	if (!o->nodes)
		o->nodes = o->pipelines * o->depth;
	if (!o->step_ns && o->pipelines * o->depth == o->nodes)
		o->step_ns = orr_step_time(w, o->pipelines, o->depth, ORR_STEP_PLAIN);
	if (o->pipelines * o->depth != o->nodes) {
		o->pipelines = 1;
		o->depth = o->nodes;
	}
	if (o->nodes && o->step_ns > 0)
		return true;
	orr_fail(err, ORR_EINPUT, "on-demand: job %s has no step time of %u pipelines of %u stages: set nodes and step, or pipelines and depth",
		job.name, o->pipelines, o->depth);
	return false;
}

static void *create(struct orr_spot *w, const struct orr_args *args, struct orr_error *err)
{
	struct on_demand *o = calloc(1, sizeof *o);
	if (!o) {
		orr_fail(err, ORR_EFAIL, "out of memory");
		return NULL;
	}
	if (!choose(o, w, args, err)) {
		destroy(o);
		return NULL;
	}
	o->owner = calloc(o->nodes, sizeof *o->owner);
	if (!o->owner) {
		orr_fail(err, ORR_EFAIL, "out of memory");
		destroy(o);
		return NULL;
	}
	orr_want(w, ORR_ANY_ZONE, 0);
	return o;
}

static uint32_t cheapest_zone(const struct orr_spot *w)
{
	uint32_t best = 0;
	for (uint32_t z = 1; z < orr_zones(w); z++)
		if (orr_on_demand_price(w, z) < orr_on_demand_price(w, best))
			best = z;
	return best;
}

static void decide(void *self, struct orr_spot *w)
{
	struct on_demand *o = self;
	if (!o->asked) {
		o->asked = true;
		if (orr_request_on_demand(w, cheapest_zone(w), o->nodes) < o->nodes)
			orr_spot_give_up(w, "on-demand: fewer instances were granted than the job needs (spot.on_demand_quota)");
	}
	if (o->runs || orr_inst_ready(w) < o->nodes)
		return;
	o->runs = true;
	orr_inst_ready_list(w, o->owner, o->nodes);
	orr_layout(w, o->pipelines, o->depth, o->owner);
	orr_steps_run(w, &(struct orr_steps){ .step_ns = o->step_ns });
}

static const struct orr_param params[] = { ORR_PARAM_INT("nodes", "0", 0, 100000, "instances; 0: as many as the job's on-demand run has, or pipelines x depth"),
	ORR_PARAM_INT("pipelines", "0", 0, 100000, "data-parallel pipelines; 0: as many as the nodes make, or the job's"),
	ORR_PARAM_INT("depth", "0", 0, 100000, "stages of each; 0: the job's"),
	ORR_PARAM_TIME("step", "0s", "step time; 0: the job's on demand, or of that shape with nothing redundant"), ORR_PARAM_END };

static const struct orr_spot_ops ops = { .size = sizeof ops, .create = create, .destroy = destroy, .decide = decide };

ORR_POLICY_SPOT(on_demand, "a fixed number of on-demand instances, never interrupted", params, ops);
