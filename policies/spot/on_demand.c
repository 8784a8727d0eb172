/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * on_demand.c - the baseline: a fixed number of on-demand instances, which are never preempted
 *
 * The job starts when all of them are ready and runs at constant speed to its end. Parameters that are not set come from the job's
 * on-demand baseline, else from its fastest shape, else from the number of nodes with the highest throughput.
 */
#include <orrery/spot.h>

struct on_demand {
	uint32_t nodes, pipelines, depth;
	int64_t step_ns;
	bool asked, runs;
	orr_inst *owner;
};

static void destroy(void *self)
{
	struct on_demand *o = self;
	orr_free(o->owner);
	orr_free(o);
}

enum { MOST_NODES = 100000 };

/* Takes the fastest shape that matches the parameters (0: any); of equally fast shapes, the smallest. */
static void take_fastest(struct on_demand *o, const struct orr_spot *w, uint32_t nodes, uint32_t pipelines, uint32_t depth)
{
	uint32_t p, d;
	for (size_t i = 0; orr_step_point(w, i, &p, &d); i++) {
		int64_t step_ns = orr_step_time(w, p, d, ORR_STEP_PLAIN);
		if (!step_ns || (nodes && p * d > nodes) || (pipelines && p != pipelines) || (depth && d != depth))
			continue;
		if (o->step_ns && (step_ns > o->step_ns || (step_ns == o->step_ns && p * d >= o->nodes)))
			continue;
		*o = (struct on_demand){ .nodes = p * d, .pipelines = p, .depth = d, .step_ns = step_ns };
	}
}

/* Handles a job that has only a throughput curve: takes the given number of nodes, or the number with the highest throughput. */
static void take_from_curve(struct on_demand *o, const struct orr_spot *w, uint32_t told, int curve, double samples)
{
	uint32_t first, last, best = told;
	orr_curve_range(w, curve, &first, &last);
	for (uint32_t n = first; !told && n <= last; n++)
		if (!best || orr_curve_at(w, curve, n) > orr_curve_at(w, curve, best))
			best = n;
	if (best && orr_curve_at(w, curve, best) > 0)
		*o = (struct on_demand){ .nodes = best,
			.pipelines = 1,
			.depth = best,
			.step_ns = (int64_t)(samples / orr_curve_at(w, curve, best) * ORR_SECOND) };
}

/* Takes the given parameters, completed by the job's defaults, if they give a shape; else one pipeline of all nodes. */
static void take_told(struct on_demand *o, const struct orr_spot *w, const struct orr_elastic_info *job)
{
	if (!o->nodes && !o->pipelines && !o->depth)
		o->nodes = job->on_demand_nodes;
	if (!o->step_ns && o->nodes == job->on_demand_nodes)
		o->step_ns = job->on_demand_step_ns;
	if (!o->depth)
		o->depth = job->depth;
	if (!o->pipelines && o->depth && o->nodes)
		o->pipelines = o->nodes / o->depth;
	if (!o->pipelines)
		o->pipelines = job->pipelines;
	if (!o->nodes && (uint64_t)o->pipelines * o->depth <= MOST_NODES)
		o->nodes = o->pipelines * o->depth;
	bool is_shape = (uint64_t)o->pipelines * o->depth == o->nodes;
	if (!o->step_ns && is_shape)
		o->step_ns = orr_step_time(w, o->pipelines, o->depth, ORR_STEP_PLAIN);
	if (!is_shape) {
		o->pipelines = 1;
		o->depth = o->nodes;
	}
}

static bool choose(struct on_demand *o, struct orr_spot *w, const struct orr_args *args, struct orr_error *err)
{
	struct orr_elastic_info job;
	orr_elastic_get(w, &job);
	uint32_t nodes = (uint32_t)orr_arg_int(args, "nodes"), pipelines = (uint32_t)orr_arg_int(args, "pipelines"),
		 depth = (uint32_t)orr_arg_int(args, "depth");
	int curve = orr_curve_find(w, orr_arg_text(args, "curve"));
	*o = (struct on_demand){ .nodes = nodes, .pipelines = pipelines, .depth = depth, .step_ns = orr_arg_time_ns(args, "step") };
	take_told(o, w, &job);
	if (o->nodes && o->step_ns > 0)
		return true;
	*o = (struct on_demand){ 0 };
	take_fastest(o, w, nodes, pipelines, depth);
	if (!o->step_ns && curve >= 0 && !pipelines && !depth)
		take_from_curve(o, w, nodes, curve, job.samples_per_step);
	if (o->nodes && o->step_ns > 0)
		return true;
	orr_fail(err, ORR_EINPUT,
		"job %s has no step time%s: expected \"nodes\" and \"step\", or \"curve\" ('orrery model show %s --elastic' lists the "
		"tables of the job)",
		job.name, nodes || pipelines || depth ? " of this shape" : "", job.name);
	return false;
}

static void *create(struct orr_spot *w, const struct orr_args *args, struct orr_error *err)
{
	struct on_demand *o = orr_alloc(1, sizeof *o);
	if (!choose(o, w, args, err)) {
		destroy(o);
		return NULL;
	}
	o->owner = orr_alloc(o->nodes, sizeof *o->owner);
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
			orr_spot_give_up(w, "fewer on-demand instances than the job needs: expected a larger spot.on_demand_quota");
	}
	if (o->runs || orr_inst_ready(w) < o->nodes)
		return;
	o->runs = true;
	orr_inst_ready_list(w, o->owner, o->nodes);
	orr_layout(w, o->pipelines, o->depth, o->owner);
	orr_steps_run(w, &(struct orr_steps){ .step_ns = o->step_ns });
}

static const struct orr_param params[] = {
	ORR_PARAM_INT("nodes", "0", 0, MOST_NODES,
		"number of instances, or the limit for a shape; 0: the job's on-demand baseline, or pipelines x depth"),
	ORR_PARAM_INT("pipelines", "0", 0, MOST_NODES, "data-parallel pipelines; 0: as many as fit the nodes, or the job's default"),
	ORR_PARAM_INT("depth", "0", 0, MOST_NODES, "stages of each pipeline; 0: the job's default, or the depth of its fastest step"),
	ORR_PARAM_TIME("step", "0s", "step time; 0: the job's on-demand step time, or the plain step time of the shape"),
	ORR_PARAM_TEXT("curve", "oobleck", "curve of samples per second by nodes, for a job without step times; nodes=0 uses its maximum"),
	ORR_PARAM_END
};

static const struct orr_spot_ops ops = { .create = create, .destroy = destroy, .decide = decide };

ORR_POLICY_SPOT(on_demand, "a fixed number of on-demand instances, never interrupted", params, ops);
