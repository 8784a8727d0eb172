/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * An explicit graph: every iteration executes the ops of a JSON file (docs/graph.schema.json).
 *
 *	{ "groups": { "all": [0, 1, 2, 3] },
 *	  "ops": [
 *	    { "id": "f", "compute": { "device": 0, "layers": "all", "pass": "forward" }, "after_previous": ["u"] },
 *	    { "id": "b", "compute": { "device": 0, "layers": "all", "pass": "backward" }, "after": ["f"] },
 *	    .. ] }
 *
 * "after" names ops of the same iteration, "after_previous" ops of the previous one. An iteration waits for the previous one
 * only through "after_previous"; with "barrier": true, every op without "after" waits for all of it. Ops may be in any order.
 * Among ready ops the lowest priority number runs first, then the first in the file.
 */
#include "graph_read.h"

#include <stdio.h>

static const struct orr_param params[] = { ORR_PARAM_FILE("file", "the graph of an iteration, JSON (docs/graph.schema.json)"),
	ORR_PARAM_END };

struct explicit
{
	struct graph *graph;
	orr_op *now, *before; /* ops of this and of the previous iteration, by op of the graph */
	orr_op end;           /* barrier: end of the previous iteration */
	bool *is_waited_for;
};

static void destroy(void *self)
{
	struct explicit *x = self;
	graph_file_free(x->graph);
	orr_free(x->now);
	orr_free(x->before);
	orr_free(x->is_waited_for);
	orr_free(x);
}

/* Returns the time of the passes of an op, s. */
static double cost(const struct orr_step *s, const struct orr_step_facts *f, const struct graph_op *o)
{
	double sum = 0, batch = o->batch > 0 ? o->batch : f->batch;
	for (uint32_t i = 0; i < o->n_ranges; i++) {
		uint32_t first = o->range[i].first, count = o->range[i].count;
		if (o->pass == GRAPH_UPDATE)
			sum += orr_update_cost(s, o->device, orr_step_params(s, first, count) / o->shards);
		if (o->pass == GRAPH_FORWARD)
			sum += orr_cost(s, o->device, ORR_PASS_FORWARD, first, count, batch, o->shards);
		if (o->pass == GRAPH_BACKWARD || o->pass == GRAPH_BACKWARD_DATA)
			sum += orr_cost(s, o->device, ORR_PASS_BACKWARD_DATA, first, count, batch, o->shards);
		if (o->pass == GRAPH_BACKWARD || o->pass == GRAPH_BACKWARD_WEIGHT)
			sum += orr_cost(s, o->device, ORR_PASS_BACKWARD_WEIGHT, first, count, batch, o->shards);
	}
	return sum;
}

/* Sets the amounts of ops that are stated by layers. */
static void set_amounts(const struct orr_step *s, const struct orr_step_facts *f, struct graph *g)
{
	for (uint32_t i = 0; i < g->n; i++) {
		struct graph_op *o = &g->op[i];
		if (!o->n_ranges)
			continue;
		if (o->kind == GRAPH_COMPUTE)
			o->amount = cost(s, f, o);
		else
			o->amount = orr_step_params(s, o->range[0].first, o->range[0].count) * f->gradient_bytes;
	}
}

static struct graph *read_graph(struct orr_step *s, const struct orr_args *args, struct orr_error *err)
{
	struct orr_step_facts f;
	size_t n;
	const char *text = orr_arg_file(args, "file", &n);
	if (!text) {
		orr_fail(err, ORR_EINPUT, "file: expected the name of a graph, --set policy.graph.file=FILE.json (docs/graph.schema.json)");
		return NULL;
	}
	orr_step_facts(s, &f);
	const char **layer = orr_alloc(f.layers + 1u, sizeof *layer);
	double *layer_params = orr_alloc(f.layers + 1u, sizeof *layer_params);
	for (uint32_t i = 0; i < f.layers; i++) {
		struct orr_layer_info info;
		orr_step_layer(s, i, &info);
		layer[i] = info.name;
		layer_params[i] = info.params;
	}
	struct graph *g = graph_file_read(orr_arg_text(args, "file"), text, n,
		&(struct graph_facts){
			.gpus = f.gpus, .endpoints = f.gpus + f.nodes, .layers = f.layers, .layer = layer, .params = layer_params },
		err);
	orr_free(layer);
	orr_free(layer_params);
	if (g)
		set_amounts(s, &f, g);
	return g;
}

static void *create(struct orr_step *s, const struct orr_args *args, struct orr_error *err)
{
	struct explicit *x = orr_alloc(1, sizeof *x);
	if (!(x->graph = read_graph(s, args, err))) {
		destroy(x);
		return NULL;
	}
	const struct graph *g = x->graph;
	x->now = orr_alloc(g->n, sizeof *x->now);
	x->before = orr_alloc(g->n, sizeof *x->before);
	x->is_waited_for = orr_alloc(g->n, sizeof *x->is_waited_for);
	for (uint32_t i = 0; i < g->n; i++)
		for (uint32_t k = 0; k < g->op[i].n_after && !g->op[i].is_detached; k++)
			x->is_waited_for[g->op[i].after[k]] = true;
	for (uint32_t i = 0; i < g->n_holds; i++)
		orr_hold(s, g->holds[i].device, g->holds[i].kind, g->holds[i].bytes, "graph");
	if (g->samples > 0)
		orr_step_samples(s, g->samples);
	return x;
}

static orr_op make(const struct graph *g, struct orr_step *s, const struct graph_op *o)
{
	const struct graph_group *group = &g->group[o->group];
	struct orr_collective c = o->collective;
	orr_op op;
	switch (o->kind) {
	case GRAPH_COMPUTE:
		return orr_compute(s, o->device, o->work, o->amount);
	case GRAPH_TRANSFER:
		op = orr_transfer(s, o->device, o->peer, o->amount);
		if (o->n_ranges)
			orr_carries(s, op, o->range[0].first, o->range[0].count);
		return op;
	case GRAPH_COLLECTIVE:
		c.bytes = o->amount;
		if (o->n_ranges) {
			c.first_layer = o->range[0].first;
			c.n_layers = o->range[0].count;
		}
		return orr_collective(s, &(struct orr_group){ group->member, group->n }, &c);
	case GRAPH_DELAY:
		return orr_delay(s, o->amount);
	default:
		return orr_mark(s);
	}
}

static void dress(struct orr_step *s, const struct graph_op *o, orr_op op)
{
	if (o->stream)
		orr_on_stream(s, op, o->stream);
	if (o->priority)
		orr_priority(s, op, o->priority);
	if (o->is_detached)
		orr_detach(s, op);
	if (o->samples > 0)
		orr_counts(s, op, o->samples);
	for (uint32_t k = 0; k < o->n_takes; k++)
		orr_takes(s, op, o->takes[k].device, o->takes[k].bytes);
	for (uint32_t k = 0; k < o->n_gives; k++)
		orr_gives(s, op, o->gives[k].device, o->gives[k].bytes);
	orr_label(s, op, "%s", o->label ? o->label : o->id);
}

static int build(void *self, struct orr_step *s, uint64_t iteration, struct orr_error *err)
{
	struct explicit *x = self;
	const struct graph *g = x->graph;
	orr_op *last = x->now;
	(void)iteration, (void)err;
	x->now = x->before;
	x->before = last;
	for (uint32_t i = 0; i < g->n; i++) {
		const struct graph_op *o = &g->op[i];
		orr_op op = make(g, s, o);
		dress(s, o, op);
		for (uint32_t k = 0; k < o->n_after; k++)
			orr_after(s, op, x->now[o->after[k]]);
		for (uint32_t k = 0; k < o->n_previous; k++)
			orr_after(s, op, x->before[o->previous[k]]);
		if (g->is_barrier && !o->n_after)
			orr_after(s, op, x->end);
		x->now[i] = op;
	}
	if (!g->is_barrier)
		return ORR_OK;
	x->end = orr_mark(s);
	for (uint32_t i = 0; i < g->n; i++)
		if (!x->is_waited_for[i] && !g->op[i].is_detached)
			orr_after(s, x->end, x->now[i]);
	return ORR_OK;
}

static void describe(void *self, char *out, size_t size)
{
	const struct graph *g = ((const struct explicit *)self)->graph;
	uint32_t n[GRAPH_KINDS] = { 0 };
	for (uint32_t i = 0; i < g->n; i++)
		n[g->op[i].kind]++;
	snprintf(out, size, "%u ops: %u of compute, %u transfers, %u collectives%s", g->n, n[GRAPH_COMPUTE], n[GRAPH_TRANSFER],
		n[GRAPH_COLLECTIVE], g->is_barrier ? "; barrier" : "");
}

static const struct orr_step_ops ops = { .create = create, .destroy = destroy, .build = build, .describe = describe };

ORR_POLICY_STEP(graph, "an explicit graph of compute, transfers and collectives, from JSON", params, ops);
