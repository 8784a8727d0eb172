/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Elastic averaging SGD, synchronous (S. Zhang, A. Choromanska, Y. LeCun, "Deep learning with elastic averaging SGD", NIPS
 * 2015, equations 3 to 5): p workers x_i, coupled to a centre Z by an elastic force,
 *
 *	x_i <- x_i - eta g_i - alpha (x_i - Z)		Z <- Z + alpha sum of (x_i - Z)
 *
 * with the x_i before the step on the right sides. They apply in every `sync_every`-th iteration; in the others, workers take
 * local steps. alpha = beta / p. Every GPU keeps a copy of the centre. The sum is an all-reduce, and the next iteration waits
 * for the new centre. With learn.momentum the local steps have heavy-ball momentum; the paper's EAMSGD has Nesterov's.
 */
#include "replicas.h"

#include <stdio.h>

static const struct orr_param params[] = { ORR_PARAM_REAL(
						   "beta", "0.9", 0, 2, "elastic force of all workers together: alpha is beta / workers"),
	ORR_PARAM_INT("sync_every", "10", 1, 1000000, "iterations from one exchange with the centre to the next (tau)"), ORR_PARAM_END };

struct easgd {
	struct replicas r;
	double alpha;
	uint64_t sync_every;
};

static void destroy(void *self)
{
	struct easgd *e = self;
	replicas_free(&e->r);
	orr_free(e);
}

static void *create(struct orr_step *s, const struct orr_args *args, struct orr_error *err)
{
	struct easgd *e = orr_alloc(1, sizeof *e);
	(void)err;
	replicas_init(&e->r, s, 0, true);
	chunks_by_params(&e->r.chunks, s, INFINITY, INFINITY);
	replicas_costs(&e->r, s);
	e->alpha = orr_arg_real(args, "beta") / e->r.n;
	e->sync_every = (uint64_t)orr_arg_int(args, "sync_every");
	replicas_hold(&e->r, s, 2, 1, 1);
	for (uint32_t i = 0; i < e->r.n; i++)
		orr_hold(s, e->r.device[i], ORR_MEMORY_BUFFERS, e->r.facts.params * e->r.facts.weight_bytes, "elastic difference");
	orr_step_period(s, (uint32_t)e->sync_every);
	return e;
}

/* Sums the elastic differences of all workers; every GPU adds the sum to its copy of the centre. */
static void exchange(struct easgd *e, struct orr_step *s)
{
	struct replicas *r = &e->r;
	struct orr_collective all = { .op = ORR_ALL_REDUCE, .bytes = r->facts.params * r->facts.weight_bytes };
	orr_op sum = r->n > 1 ? replicas_collective(r, s, &all) : 0;
	if (sum) {
		orr_on_stream(s, sum, 1);
		orr_updates(s, sum, &(struct orr_update){ .kind = ORR_APPLY_BASE });
	}
	for (uint32_t p = 0; p < r->positions; p++) {
		orr_after(s, sum, r->tail[p]);
		orr_op add = orr_compute(s, p, ORR_OTHER_WORK, orr_update_cost(s, r->device[p], r->facts.params));
		orr_after(s, add, sum ? sum : r->tail[p]);
		if (!sum)
			orr_updates(s, add, &(struct orr_update){ .kind = ORR_APPLY_BASE });
		r->tail[p] = add;
	}
}

static int build(void *self, struct orr_step *s, uint64_t iteration, struct orr_error *err)
{
	struct easgd *e = self;
	struct replicas *r = &e->r;
	bool meets = (iteration + 1) % e->sync_every == 0;
	(void)err;
	for (uint32_t p = 0; p < r->positions; p++) {
		orr_op backward;
		replicas_whole_backward(r, s, p, replicas_whole_forward(r, s, p), &backward);
		/* The difference is a copy and a scaled addition: six passes over the parameters, twice those of an update. */
		double update = orr_update_cost(s, r->device[p], r->facts.params);
		r->tail[p] = orr_compute(s, p, ORR_OPTIMIZER, meets ? 3 * update : update);
		orr_after(s, r->tail[p], backward);
		if (meets)
			orr_updates(s, r->tail[p], &(struct orr_update){ .kind = ORR_REMEMBER });
		orr_updates(s, r->tail[p], &(struct orr_update){ .kind = ORR_LOCAL_UPDATE });
		if (meets)
			orr_updates(s, r->tail[p], &(struct orr_update){ .kind = ORR_CORRECT, .scale = e->alpha });
	}
	if (meets)
		exchange(e, s);
	return 0;
}

static void describe(void *self, char *out, size_t size)
{
	const struct easgd *e = self;
	snprintf(out, size, "%u workers, alpha=%.4g, an exchange every %llu iterations", e->r.n, e->alpha,
		(unsigned long long)e->sync_every);
}

static const struct orr_step_ops ops = { .create = create, .destroy = destroy, .build = build, .describe = describe };

ORR_POLICY_STEP(easgd, "synchronous elastic averaging: local steps, pulled towards a centre (EASGD)", params, ops);
