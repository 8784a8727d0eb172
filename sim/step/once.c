/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One collective or set of messages, run by the step world as in a training step. */
#include "step/once.h"

#include "step/world.h"

#include "base/mem.h"

#include <stddef.h>

/* The policy that builds the messages. Its functions get the address of its descriptor, from which they find the query, because both
 * are members of this struct. */
struct asking {
	struct orr_policy policy;
	const struct step_once *of;
};

static void *create(struct orr_step *s, const struct orr_args *args, struct orr_error *err)
{
	(void)args, (void)err;
	return (char *)(uintptr_t)s->policy - offsetof(struct asking, policy);
}

static void destroy(void *self)
{
	(void)self;
}

static int build(void *self, struct orr_step *s, uint64_t iteration, struct orr_error *err)
{
	const struct step_once *q = ((const struct asking *)self)->of;
	(void)iteration, (void)err;
	if (!q->to) {
		struct orr_collective c = { .op = q->op, .bytes = q->bytes };
		orr_collective(s, &(struct orr_group){ q->member, q->n }, &c);
		return ORR_OK;
	}
	for (uint32_t i = 0; i < q->n; i++)
		orr_transfer(s, q->member[i], q->to[i], q->bytes / q->n);
	return ORR_OK;
}

static const struct orr_param params[] = { ORR_PARAM_END };
static const struct orr_step_ops ops = { create, destroy, build, NULL };

/* Returns the bytes that leave the nodes of the members: those on the links out of their NICs, each link counted once. */
static double bytes_out(const struct step_once *q, const struct step_result *r)
{
	double sum = 0, seconds = r->iteration[0].end_s;
	uint32_t *seen = mem_alloc((q->n + 1) * sizeof *seen), n_seen = 0;
	for (uint32_t i = 0; i < q->n; i++) {
		uint32_t link = topo_nic(q->topo, q->member[i], true), k = 0;
		while (k < n_seen && seen[k] != link)
			k++;
		if (link == UINT32_MAX || k < n_seen || link >= r->n_links)
			continue;
		seen[n_seen++] = link;
		sum += r->link[link].bytes_per_s * seconds;
	}
	mem_free(seen);
	return sum;
}

int step_once(const struct step_once *q, double *seconds, double *network_bytes, struct orr_error *err)
{
	struct asking asking = { { ORR_ABI_VERSION, sizeof(struct orr_policy), "once", "one message", "step", 0, params, &ops, sizeof ops },
		q };
	struct orr_args *none = args_new(params, "once", err), *options = args_new(step_options, "step", err);
	struct step_result r = { 0 };
	struct step_config c = { .cluster = q->cluster,
		.topo = q->topo,
		.dnn = q->dnn,
		.cost = q->cost,
		.device = q->device,
		.options = options,
		.batch = 1,
		.precision = PRECISION_FP16,
		.link_use = network_bytes != NULL };
	int rc = none && options ? args_set(options, "iterations", "1", err) : ORR_EFAIL;
	if (!rc)
		rc = step_run(&c, &asking.policy, none, "once", &r, err);
	if (!rc && seconds)
		*seconds = r.iteration[0].end_s;
	if (!rc && network_bytes)
		*network_bytes = r.n_links ? bytes_out(q, &r) : 0;
	step_result_free(&r);
	args_free(options);
	args_free(none);
	return rc;
}
