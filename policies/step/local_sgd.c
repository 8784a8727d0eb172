/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Local SGD: every GPU takes H local optimizer steps, then all GPUs average their parameters (Lin, Stich, Patel, Jaggi,
 * "Don't Use Large Mini-Batches, Use Local SGD", ICLR 2020).
 *
 * Post-local SGD (section 3): H = 1 up to a given iteration. Hierarchical local SGD (appendix): the GPUs of a node average
 * every H steps, all GPUs every H x Hb steps. Communication does not overlap with computing, because a replica's parameters are
 * known only after its optimizer step.
 */
#include "replicas.h"

#include <stdio.h>

static const struct orr_param params[] = { ORR_PARAM_INT("local_steps", "8", 1, 1000000, "H: optimizer steps between two averages"),
	ORR_PARAM_INT("node_averages", "1", 1, 1000000, "Hb: every Hb-th average is over all GPUs, the others are inside the nodes"),
	ORR_PARAM_INT("post_local", "0", 0, 1000000000, "number of initial iterations with an average after every step"), ORR_PARAM_END };

struct local_sgd {
	struct replicas r;
	int64_t local_steps, node_averages, post_local;
	uint32_t per_node; /* number of GPUs per node; 0: it differs between nodes */
};

static void destroy(void *self)
{
	struct local_sgd *l = self;
	replicas_free(&l->r);
	orr_free(l);
}

static void *create(struct orr_step *s, const struct orr_args *args, struct orr_error *err)
{
	struct local_sgd *l = orr_alloc(1, sizeof *l);
	replicas_init(&l->r, s, 0, true);
	chunks_by_params(&l->r.chunks, s, INFINITY, INFINITY);
	replicas_costs(&l->r, s);
	l->local_steps = orr_arg_int(args, "local_steps");
	l->node_averages = orr_arg_int(args, "node_averages");
	l->post_local = orr_arg_int(args, "post_local");
	l->per_node = replicas_per_node(&l->r, s);
	if (l->node_averages > 1 && !l->per_node) {
		orr_fail(err, ORR_EINPUT, "node_averages: the nodes have different numbers of GPUs: expected 1");
		destroy(l);
		return NULL;
	}
	replicas_hold(&l->r, s, 1, 1, 1);
	int64_t period = l->local_steps * l->node_averages;
	orr_step_period(s, l->post_local || period > UINT32_MAX ? 0 : (uint32_t)period);
	return l;
}

/* Averages the parameters of all replicas, or of those of each node (on plain devices, one op per node). */
static orr_op average(const struct local_sgd *l, struct orr_step *s, uint32_t first, uint32_t size)
{
	const struct replicas *r = &l->r;
	struct orr_collective c = { .op = ORR_ALL_REDUCE, .bytes = r->facts.params * r->facts.weight_bytes };
	if (r->positions == 1)
		return orr_collective_lanes(s, 0, size, 1, &c);
	return orr_collective(s, &(struct orr_group){ r->device + first, size }, &c);
}

static int build(void *self, struct orr_step *s, uint64_t iteration, struct orr_error *err)
{
	struct local_sgd *l = self;
	struct replicas *r = &l->r;
	(void)err;
	for (uint32_t p = 0; p < r->positions; p++) {
		orr_op backward;
		replicas_whole_backward(r, s, p, replicas_whole_forward(r, s, p), &backward);
		r->tail[p] = orr_compute(s, p, ORR_OPTIMIZER, orr_update_cost(s, r->device[p], r->facts.params));
		orr_after(s, r->tail[p], backward);
		orr_updates(s, r->tail[p], &(struct orr_update){ .kind = ORR_LOCAL_UPDATE });
	}
	uint64_t steps = iteration < (uint64_t)l->post_local ? 1 : (uint64_t)l->local_steps;
	uint64_t done = iteration + 1 - (steps == 1 ? 0 : (uint64_t)l->post_local);
	if (r->n == 1 || done % steps)
		return 0;
	uint32_t size = done / steps % (uint64_t)l->node_averages ? l->per_node : r->n;
	if (size == 1)
		return 0;
	for (uint32_t first = 0; first < (r->positions == 1 ? 1 : r->n); first += size) {
		orr_op mean = average(l, s, first, size);
		orr_on_stream(s, mean, 1);
		orr_updates(s, mean, &(struct orr_update){ .kind = ORR_AVERAGE_PARAMETERS });
		for (uint32_t p = first; p < first + (r->positions == 1 ? 1 : size); p++) {
			orr_after(s, mean, r->tail[p]);
			r->tail[p] = mean;
		}
	}
	return 0;
}

static void describe(void *self, char *out, size_t size)
{
	const struct local_sgd *l = self;
	snprintf(out, size, "%u replicas, averaged every %lld steps", l->r.n, (long long)l->local_steps);
}

static const struct orr_step_ops ops = { .create = create, .destroy = destroy, .build = build, .describe = describe };

ORR_POLICY_STEP(local_sgd, "local SGD: local optimizer steps, then parameters are averaged", params, ops);
