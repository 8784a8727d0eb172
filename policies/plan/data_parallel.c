/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Data parallelism: one stage on all GPUs, with gradient accumulation if the batch does not fit.
 *
 * The policy's own cost model is that of DAPPLE's planner (github AlibabaPAI/DAPPLE; docs/models/plan.md). F, B: forward and
 * backward time of the global batch on one GPU; n: GPUs; AR: time of the all-reduce of all parameters:
 *
 *	none    (F + B)/n + AR
 *	bound   F/n + max(B/n, AR), the best case of overlap
 *	layers  the all-reduce of a layer begins after its backward pass; all-reduces run one at a time, in the order of the backward passes
 */
#include "chain.h"
#include "published.h"

#include <math.h>
#include <string.h>

static const struct orr_param params[] = { ORR_PARAM_CHOICE("overlap", "none", "none|bound|layers",
						   "own cost: overlap of the all-reduce with the backward pass"),
	PUBLISHED_PARAMS, ORR_PARAM_END };

static double layers_s(const struct chain *c, const struct published *u, const uint32_t *gpu, uint32_t n, double samples)
{
	double now = c->forward_s[c->n] * samples, free_s = 0;
	for (uint32_t i = c->n; i-- > 0;) {
		now += (c->backward_s[i + 1] - c->backward_s[i]) * samples;
		free_s = fmax(free_s, now) + published_all_reduce_s(u, gpu, n, c->grad_bytes[i + 1] - c->grad_bytes[i]);
	}
	return fmax(now, free_s);
}

static double own_s(struct orr_plan *p, const struct orr_args *args, const struct orr_plan_facts *f, const uint32_t *gpu)
{
	const char *overlap = orr_arg_text(args, "overlap");
	double share = f->global_batch / f->gpus, own;
	struct published u;
	struct chain c;
	published_new(&u, p, args);
	chain_load(&c, p, 0, share);
	double F = c.forward_s[c.n] * share, B = c.backward_s[c.n] * share;
	double AR = published_all_reduce_s(&u, gpu, f->gpus, c.grad_bytes[c.n]);
	own = !strcmp(overlap, "none") ? F + B + AR : !strcmp(overlap, "bound") ? F + fmax(B, AR) : layers_s(&c, &u, gpu, f->gpus, share);
	orr_plan_put(p, "all_reduce_s", AR);
	chain_free(&c);
	published_free(&u);
	return own;
}

static int search(struct orr_plan *p, const struct orr_args *args, struct orr_error *err)
{
	struct orr_plan_facts f;
	struct orr_plan_value v, best = { .iteration_s = INFINITY };
	double *micro, chosen = 0;
	(void)err;
	orr_plan_facts(p, &f);
	uint32_t *gpu = orr_alloc(f.gpus, sizeof *gpu), n = chain_micro_batches(&f, &micro);
	for (uint32_t g = 0; g < f.gpus; g++)
		gpu[g] = g;
	struct orr_plan_stage all = { .count = f.pieces, .gpu = gpu, .n_gpus = f.gpus };
	struct orr_plan_draft d = { .stages = 1, .stage = &all };
	for (uint32_t m = 0; m < n && orr_plan_goes_on(p); m++) {
		d.micro_batch = micro[m];
		orr_plan_evaluate(p, &d, &v);
		if (v.iteration_s < best.iteration_s) {
			best = v;
			chosen = micro[m];
		}
		orr_plan_progress(p, (m + 1.) / n);
	}
	d.micro_batch = chosen;
	if (chosen > 0)
		orr_plan_choose(p, &d, own_s(p, args, &f, gpu));
	orr_free(gpu);
	orr_free(micro);
	return 0;
}

static const struct orr_plan_ops ops = { .search = search };

ORR_POLICY_PLAN(data_parallel, "a copy of the model on every GPU", params, ops);
