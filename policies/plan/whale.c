/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Whale's hardware-aware load balance (Jia et al., "Whale: Efficient Giant Model Training over Heterogeneous GPUs", USENIX ATC 2022).
 *
 * Within a stage the share of a GPU in a micro-batch is proportional to its speed. While a GPU lacks memory, a quantum of
 * samples moves from the GPU with the fullest memory to the GPU with spare memory and the least load. Between stages, GPUs with
 * more memory are first, because early stages keep more activations; then the model is cut in proportion to the speed of the
 * stages.
 */
#include "chain.h"

#include <math.h>
#include <string.h>

static const struct orr_param params[] = { ORR_PARAM_INT("stages", "0", 0, 1e6,
						   "number of stages, with equal numbers of GPUs; 0: try every number"),
	ORR_PARAM_BOOL("balance", true, "shares in proportion to GPU speed; false: equal shares and an even cut"),
	ORR_PARAM_BOOL("memory_first", true, "order GPUs of the stages by memory, largest first; false: in the order of the cluster"),
	ORR_PARAM_REAL("quantum", "1", 1e-6, 1e9, "samples moved per iteration of the memory loop"), ORR_PARAM_END };

struct whale {
	struct orr_plan *p;
	struct orr_plan_facts f;
	bool is_balanced;
	double quantum;
	uint32_t *gpu, *first;
	double *speed, *share; /* values by position: speed, which is 1 / (time of the model), and share of its stage */
	struct orr_plan_stage *stage;
};

/* Orders GPUs by memory, larger first; ties in the order of the cluster. */
static void order_by_memory(struct whale *w)
{
	for (uint32_t i = 1; i < w->f.gpus; i++)
		for (uint32_t k = i; k; k--) {
			struct orr_plan_gpu a, b;
			orr_plan_gpu(w->p, w->gpu[k - 1], &a);
			orr_plan_gpu(w->p, w->gpu[k], &b);
			if (a.memory_bytes >= b.memory_bytes)
				break;
			uint32_t swap = w->gpu[k];
			w->gpu[k] = w->gpu[k - 1];
			w->gpu[k - 1] = swap;
		}
}

static void measure_speeds(struct whale *w)
{
	struct orr_plan_terms t = { .samples = w->f.global_batch / w->f.gpus, .shards = 1 };
	for (uint32_t i = 0; i < w->f.gpus; i++) {
		struct orr_plan_gpu g;
		struct orr_plan_cost c;
		orr_plan_gpu(w->p, w->gpu[i], &g);
		orr_plan_cost(w->p, g.type, 0, w->f.pieces, &t, &c);
		w->speed[i] = w->is_balanced ? 1 / (c.forward_s + c.backward_s) : 1;
	}
}

/* ---- memory loop ---- */

static double held(const struct whale *w, const struct orr_plan_stage *x, uint32_t k, double samples, uint32_t in_flight)
{
	struct orr_plan_gpu g;
	struct orr_plan_cost c;
	struct orr_plan_terms t = { .samples = samples, .shards = 1 };
	orr_plan_gpu(w->p, x->gpu[k], &g);
	orr_plan_cost(w->p, g.type, x->first, x->count, &t, &c);
	return (c.params * orr_plan_state_bytes(w->p, 1) + in_flight * c.stored_bytes + c.working_bytes) / g.memory_bytes;
}

/* Moves quanta until every GPU of the stage fits; gives up when no GPU has spare memory. */
static void fit_memory(struct whale *w, struct orr_plan_stage *x, double *share, const double *speed, double micro, uint32_t in_flight)
{
	double part = w->quantum / micro;
	for (uint32_t moves = 0; moves < 100000; moves++) {
		uint32_t fullest = 0, to = UINT32_MAX;
		double most = 0;
		for (uint32_t k = 0; k < x->n_gpus; k++) {
			double used = held(w, x, k, micro * share[k], in_flight);
			if (used > most) {
				most = used;
				fullest = k;
			}
		}
		if (most <= 1 || share[fullest] <= part)
			return;
		for (uint32_t k = 0; k < x->n_gpus; k++)
			if (k != fullest && held(w, x, k, micro * (share[k] + part), in_flight) <= 1 &&
				(to == UINT32_MAX || share[k] / speed[k] < share[to] / speed[to]))
				to = k;
		if (to == UINT32_MAX)
			return;
		share[fullest] -= part;
		share[to] += part;
	}
}

/* ---- plans ---- */

static void try_plan(struct whale *w, uint32_t stages, double micro)
{
	uint32_t per = w->f.gpus / stages;
	struct chain c;
	struct orr_plan_value v;
	double *sum = orr_alloc(w->f.pieces + 1, sizeof *sum), *scale = orr_alloc(stages, sizeof *scale);
	const double **at = orr_alloc(stages, sizeof *at);
	uint32_t m = (uint32_t)(w->f.global_batch / micro + 0.5);
	chain_load(&c, w->p, 0, micro / per);
	for (uint32_t i = 0; i <= w->f.pieces; i++)
		sum[i] = chain_time_s(&c, 0, i);
	for (uint32_t s = 0; s < stages; s++) {
		double total = 0;
		for (uint32_t k = 0; k < per; k++)
			total += w->speed[s * per + k];
		at[s] = sum;
		scale[s] = 1 / total;
		for (uint32_t k = 0; k < per; k++)
			w->share[s * per + k] = w->speed[s * per + k] / total;
	}
	chain_cut(w->f.pieces, stages, at, scale, w->first);
	for (uint32_t s = 0; s < stages; s++) {
		w->stage[s] = (struct orr_plan_stage){ .first = w->first[s],
			.count = w->first[s + 1] - w->first[s],
			.gpu = w->gpu + s * per,
			.n_gpus = per,
			.share = w->share + s * per };
		if (w->is_balanced)
			fit_memory(w, &w->stage[s], w->share + s * per, w->speed + s * per, micro, stages - s < m ? stages - s : m);
	}
	orr_plan_evaluate(w->p, &(struct orr_plan_draft){ .stages = stages, .stage = w->stage, .micro_batch = micro }, &v);
	chain_free(&c);
	orr_free(sum);
	orr_free(scale);
	orr_free(at);
}

static int search(struct orr_plan *p, const struct orr_args *args, struct orr_error *err)
{
	struct whale w = { .p = p, .is_balanced = orr_arg_bool(args, "balance"), .quantum = orr_arg_real(args, "quantum") };
	uint32_t only = (uint32_t)orr_arg_int(args, "stages");
	double *micro;
	orr_plan_facts(p, &w.f);
	uint32_t most = w.f.gpus < w.f.pieces ? w.f.gpus : w.f.pieces, n = chain_micro_batches(&w.f, &micro);
	if (only && (only > most || w.f.gpus % only)) {
		orr_free(micro);
		return orr_fail(err, ORR_EINPUT, "stages=%u: expected a divisor of the %u GPUs, at most %u", only, w.f.gpus, most);
	}
	w.gpu = orr_alloc(w.f.gpus, sizeof *w.gpu);
	w.first = orr_alloc(most + 1, sizeof *w.first);
	w.speed = orr_alloc(w.f.gpus, sizeof *w.speed);
	w.share = orr_alloc(w.f.gpus, sizeof *w.share);
	w.stage = orr_alloc(most, sizeof *w.stage);
	for (uint32_t g = 0; g < w.f.gpus; g++)
		w.gpu[g] = g;
	if (orr_arg_bool(args, "memory_first"))
		order_by_memory(&w);
	measure_speeds(&w);
	for (uint32_t s = only ? only : 1; s <= (only ? only : most); s++) {
		for (uint32_t i = 0; i < n && w.f.gpus % s == 0 && orr_plan_goes_on(p); i++)
			try_plan(&w, s, micro[i]);
		orr_plan_progress(p, (double)s / most);
	}
	orr_free(micro);
	orr_free(w.gpu);
	orr_free(w.first);
	orr_free(w.speed);
	orr_free(w.share);
	orr_free(w.stage);
	return 0;
}

static const struct orr_plan_ops ops = { .search = search };

ORR_POLICY_PLAN(whale, "work in proportion to GPU speed, moved away from GPUs that lack memory (Whale)", params, ops);
