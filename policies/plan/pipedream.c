/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * PipeDream's planner (Narayanan et al., "PipeDream: Generalized Pipeline Parallelism for DNN Training", SOSP 2019, 3.1), flat: the
 * GPUs form one level, with the bandwidth between machines if there are several.
 *
 * A(j, m): the time per sample of the slowest stage of the best pipeline of pieces 0..j-1 on m GPUs.
 *
 *	A(j, m) = min over i < j, k < m of max(A(i, m - k), 2 a_i / bandwidth, T(i, j, k))
 *	T(i, j, k) = max(time of pieces i..j-1, 2 (k-1)/k gradients / bandwidth / samples) / k
 *
 * The published planner synchronises weights once per minibatch of a replica, so T compares the all-reduce of gradients with the
 * compute time of `sync_batch` samples. DAPPLE's published code has the same planner as its mode (a) for synchronous training.
 */
#include "chain.h"
#include "published.h"

#include <math.h>

static const struct orr_param params[] = { ORR_PARAM_REAL("sync_batch", "0", 0, 1e9,
						   "samples of a replica between two all-reduces of its gradients; 0: one micro-batch"),
	PUBLISHED_PARAMS, ORR_PARAM_END };

struct pipedream {
	struct orr_plan *p;
	struct orr_plan_facts f;
	struct chain c;
	double message_Bps, sum_Bps, sync;
	double *A;              /* A(j, m), [j * (gpus + 1) + m] */
	uint32_t *from, *count; /* last stage of A(j, m): its first piece and its number of GPUs */
};

static double stage_s(const struct pipedream *d, uint32_t i, uint32_t j, uint32_t k)
{
	double bytes = 2 * (k - 1.) / k * (d->c.grad_bytes[j] - d->c.grad_bytes[i]);
	return fmax(chain_time_s(&d->c, i, j), bytes / d->sum_Bps / d->sync) / k;
}

static void solve(struct pipedream *d)
{
	uint32_t N = d->f.gpus, w = N + 1;
	for (uint32_t j = 0; j <= d->c.n; j++)
		for (uint32_t m = 0; m <= N; m++) {
			double *best = &d->A[(size_t)j * w + m];
			*best = j || m ? INFINITY : 0;
			for (uint32_t i = 0; i < j; i++)
				for (uint32_t k = 1; k <= m; k++) {
					double before = d->A[(size_t)i * w + m - k],
					       cut = i ? 2 * d->c.out_bytes[i - 1] / d->message_Bps : 0;
					double longest = before < *best ? fmax(fmax(before, cut), stage_s(d, i, j, k)) : INFINITY;
					if (longest < *best) {
						*best = longest;
						d->from[(size_t)j * w + m] = i;
						d->count[(size_t)j * w + m] = k;
					}
				}
		}
}

static void choose(struct pipedream *d, double micro)
{
	uint32_t N = d->f.gpus, w = N + 1, stages = 0, at = 0, *gpu = orr_alloc(N, sizeof *gpu);
	for (uint32_t j = d->c.n, m = N; j; stages++) {
		size_t s = (size_t)j * w + m;
		j = d->from[s];
		m -= d->count[s];
	}
	struct orr_plan_stage *stage = orr_alloc(stages, sizeof *stage);
	for (uint32_t j = d->c.n, m = N, i = stages; j;) {
		size_t s = (size_t)j * w + m;
		stage[--i] = (struct orr_plan_stage){ .first = d->from[s], .count = j - d->from[s], .gpu = gpu, .n_gpus = d->count[s] };
		j = d->from[s];
		m -= stage[i].n_gpus;
	}
	for (uint32_t g = 0; g < N; g++)
		gpu[g] = g;
	for (uint32_t i = 0; i < stages; i++) {
		stage[i].gpu = gpu + at;
		at += stage[i].n_gpus;
	}
	struct orr_plan_draft draft = { .stages = stages, .stage = stage, .micro_batch = micro };
	struct orr_plan_value v;
	orr_plan_evaluate(d->p, &draft, &v);
	orr_free(stage);
	orr_free(gpu);
}

static bool has_machines(const struct published *u)
{
	return u->machines > 1;
}

static int search(struct orr_plan *p, const struct orr_args *args, struct orr_error *err)
{
	struct pipedream d = { .p = p };
	struct published u;
	double *micro, least = INFINITY;
	(void)err;
	orr_plan_facts(p, &d.f);
	published_new(&u, p, args);
	d.message_Bps = has_machines(&u) ? u.ethernet_Bps : u.nvlink_Bps;
	d.sum_Bps = has_machines(&u) ? u.nccl_Bps : u.nvlink_Bps;
	size_t cells = (size_t)(d.f.pieces + 1) * (d.f.gpus + 1);
	d.A = orr_alloc(cells, sizeof *d.A);
	d.from = orr_alloc(cells, sizeof *d.from);
	d.count = orr_alloc(cells, sizeof *d.count);
	uint32_t n = chain_micro_batches(&d.f, &micro);
	for (uint32_t i = 0; i < n && orr_plan_goes_on(p); i++) {
		chain_load(&d.c, p, 0, micro[i]);
		d.sync = orr_arg_real(args, "sync_batch") > 0 ? orr_arg_real(args, "sync_batch") : micro[i];
		solve(&d);
		least = fmin(least, d.A[cells - 1]);
		choose(&d, micro[i]);
		chain_free(&d.c);
		orr_plan_progress(p, (i + 1.) / n);
	}
	orr_plan_put(p, "slowest_stage_s", least);
	orr_free(d.A);
	orr_free(d.from);
	orr_free(d.count);
	orr_free(micro);
	published_free(&u);
	return 0;
}

static const struct orr_plan_ops ops = { .search = search };

ORR_POLICY_PLAN(pipedream, "the pipeline with the fastest bottleneck stage (PipeDream's planner)", params, ops);
