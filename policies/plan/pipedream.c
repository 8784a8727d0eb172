/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * PipeDream's planner (Narayanan et al., "PipeDream: Generalized Pipeline Parallelism for DNN Training", SOSP 2019, 3.1). Level 1
 * is the GPUs of a machine, level 2 the machines. On level k, m units (GPUs or machines) run pieces i..j-1 as a pipeline; its slowest
 * stage takes, per sample,
 *
 *	A_k(i, j, m) = min over i < s < j, 1 <= n < m of max(A_k(i, s, m - n), 2 a_s / bandwidth_k, T_k(s, j, n)), or T_k(i, j, m)
 *	T_k(i, j, m) = max(A_(k-1)(i, j, all units), 2 (m-1)/m gradients / bandwidth_k / samples) / m
 *
 * A_0 is the time of the pieces on one GPU. The published planner synchronises weights once per minibatch of a replica, so T compares
 * the all-reduce of gradients with the compute time of `sync_batch` samples. DAPPLE's published code has the same planner with one
 * level as its mode (a), for synchronous training (levels=flat).
 */
#include "chain.h"
#include "published.h"

#include <math.h>
#include <string.h>

static const struct orr_param params[] = { ORR_PARAM_REAL("sync_batch", "0", 0, 1e9,
						   "samples of a replica between two all-reduces of its gradients; 0: one micro-batch"),
	ORR_PARAM_CHOICE("levels", "auto", "auto|flat",
		"auto: GPUs of a machine, then machines, if machines have equal numbers of GPUs; flat: one level with the bandwidth "
		"between "
		"machines"),
	PUBLISHED_PARAMS, ORR_PARAM_END };

/* One level of the search. Cells [(i * (n + 1) + j) * (units + 1) + m]; only rows of the first pieces in use are filled. */
struct level {
	uint32_t units;
	double message_Bps, sum_Bps;
	const struct level *inner; /* NULL: a unit is a GPU */
	double *A;
	uint32_t *from, *count; /* last stage: its first piece and its number of units */
};

struct pipedream {
	struct orr_plan *p;
	struct orr_plan_facts f;
	struct chain c;
	double sync;
	uint32_t levels;
	struct level level[2]; /* the last one covers all GPUs */
	/* The plan. */
	uint32_t stages, used, *gpu, *member; /* gpu: of all stages; member: first GPUs of the machines that run the present stage */
	struct orr_plan_stage *stage;
};

static size_t cell(const struct pipedream *d, const struct level *l, uint32_t i, uint32_t j, uint32_t m)
{
	return ((size_t)i * (d->c.n + 1) + j) * (l->units + 1) + m;
}

/* T: the time per sample of one stage of pieces i..j-1, replicated on m units. */
static double stage_s(const struct pipedream *d, const struct level *l, uint32_t i, uint32_t j, uint32_t m)
{
	double bytes = 2 * (m - 1.) / m * (d->c.grad_bytes[j] - d->c.grad_bytes[i]);
	double unit_s = l->inner ? l->inner->A[cell(d, l->inner, i, j, l->inner->units)] : chain_time_s(&d->c, i, j);
	return fmax(unit_s, bytes / l->sum_Bps / d->sync) / m;
}

/* Returns the first piece of i..j whose prefix sum of times is at least `least`. */
static uint32_t find_piece(const struct pipedream *d, uint32_t i, uint32_t j, double least)
{
	while (i < j) {
		uint32_t mid = i + (j - i) / 2;
		if (chain_time_s(&d->c, 0, mid) >= least)
			j = mid;
		else
			i = mid + 1;
	}
	return i;
}

/*
 * Finds A(i, j, m). one: T(s, j, n), by s and n. x units take at least 1/x of the time of their pieces on one unit's GPUs, which bounds s
 * on both sides. The first of equal pipelines is kept: one stage, then in ascending order of s and n, as in the published code.
 */
static void solve_cell(const struct pipedream *d, struct level *l, uint32_t i, uint32_t j, uint32_t m, const double *one)
{
	uint32_t w = l->units + 1, gpus = l->inner ? l->inner->units : 1, from = i, count = m;
	double best = one[i * w + m], from_s = chain_time_s(&d->c, 0, i), to_s = chain_time_s(&d->c, 0, j);
	for (uint32_t n = 1; n < m; n++) {
		double unit_s = best * gpus * (1 + 1e-9);
		for (uint32_t s = find_piece(d, i + 1, j, to_s - n * unit_s); s < j; s++) {
			if (chain_time_s(&d->c, 0, s) > from_s + (m - n) * unit_s)
				break;
			double cut = 2 * d->c.out_bytes[s - 1] / l->message_Bps;
			double longest = fmax(fmax(l->A[cell(d, l, i, s, m - n)], cut), one[s * w + n]);
			if (longest < best || (longest <= best && from != i && s < from)) {
				best = longest;
				from = s;
				count = n;
			}
		}
	}
	size_t at = cell(d, l, i, j, m);
	l->A[at] = best;
	l->from[at] = from;
	l->count[at] = count;
}

static void solve(struct pipedream *d)
{
	for (uint32_t k = 0; k < d->levels; k++) {
		struct level *l = &d->level[k];
		double *one = orr_alloc((size_t)d->c.n * (l->units + 1), sizeof *one);
		for (uint32_t j = 1; j <= d->c.n; j++) {
			for (uint32_t s = 0; s < j; s++)
				for (uint32_t m = 1; m <= l->units; m++)
					one[s * (l->units + 1) + m] = stage_s(d, l, s, j, m);
			for (uint32_t i = 0; i < (k + 1 < d->levels ? j : 1); i++)
				for (uint32_t m = 1; m <= l->units; m++)
					solve_cell(d, l, i, j, m, one);
		}
		orr_free(one);
	}
}

/* ---- the plan ---- */

static void add_stage(struct pipedream *d, uint32_t i, uint32_t j, uint32_t machines, uint32_t first, uint32_t gpus)
{
	uint32_t *gpu = d->gpu + d->used;
	for (uint32_t k = 0; k < machines; k++)
		for (uint32_t g = 0; g < gpus; g++)
			gpu[k * gpus + g] = d->member[k] + first + g;
	d->used += machines * gpus;
	d->stage[d->stages++] = (struct orr_plan_stage){ .first = i, .count = j - i, .gpu = gpu, .n_gpus = machines * gpus };
}

/* Adds the pipeline of pieces i..j-1 on the first m GPUs of each of the present machines. */
static void add_inside(struct pipedream *d, const struct level *l, uint32_t i, uint32_t j, uint32_t m, uint32_t machines)
{
	while (j > i) {
		size_t at = cell(d, l, i, j, m);
		m -= l->count[at];
		add_stage(d, l->from[at], j, machines, m, l->count[at]);
		j = l->from[at];
	}
}

/* Stages are added from the last one to the first one, and then reversed. */
static void build(struct pipedream *d)
{
	const struct level *top = &d->level[d->levels - 1];
	d->stages = d->used = 0;
	if (!top->inner) {
		d->member[0] = 0;
		add_inside(d, top, 0, d->c.n, top->units, 1);
	} else
		for (uint32_t j = d->c.n, m = top->units; j;) {
			size_t at = cell(d, top, 0, j, m);
			uint32_t machines = top->count[at];
			m -= machines;
			for (uint32_t k = 0; k < machines; k++)
				d->member[k] = (m + k) * top->inner->units;
			add_inside(d, top->inner, top->from[at], j, top->inner->units, machines);
			j = top->from[at];
		}
	for (uint32_t i = 0; i < d->stages / 2; i++) {
		struct orr_plan_stage s = d->stage[i];
		d->stage[i] = d->stage[d->stages - 1 - i];
		d->stage[d->stages - 1 - i] = s;
	}
}

/* ---- the policy ---- */

/* Returns the number of GPUs of each machine; 0 if machines differ, or if their GPUs are not in order. */
static uint32_t gpus_of_machine(const struct published *u)
{
	uint32_t each = u->gpus / u->machines;
	for (uint32_t g = 0; g < u->gpus; g++)
		if (each * u->machines != u->gpus || u->machine[g] != u->machine[g / each * each] ||
			(g % each == 0 && g && u->machine[g] == u->machine[g - 1]))
			return 0;
	return each;
}

static void add_level(struct pipedream *d, uint32_t units, double message_Bps, double sum_Bps, bool is_top)
{
	struct level *l = &d->level[d->levels];
	size_t rows = is_top ? 1 : d->f.pieces, cells = rows * (d->f.pieces + 1) * (units + 1);
	*l = (struct level){ .units = units, .message_Bps = message_Bps, .sum_Bps = sum_Bps, .inner = d->levels ? l - 1 : NULL };
	l->A = orr_alloc(cells, sizeof *l->A);
	l->from = orr_alloc(cells, sizeof *l->from);
	l->count = orr_alloc(cells, sizeof *l->count);
	d->levels++;
}

static void prepare(struct pipedream *d, const struct published *u, bool is_flat)
{
	uint32_t each = u->machines > 1 && !is_flat ? gpus_of_machine(u) : 0;
	if (u->machines == 1)
		add_level(d, d->f.gpus, u->nvlink_Bps, u->nvlink_Bps, true);
	else if (each < 2)
		add_level(d, d->f.gpus, u->ethernet_Bps, u->nccl_Bps, true);
	else {
		add_level(d, each, u->nvlink_Bps, u->nvlink_Bps, false);
		add_level(d, u->machines, u->ethernet_Bps, u->nccl_Bps, true);
	}
	d->gpu = orr_alloc(d->f.gpus, sizeof *d->gpu);
	d->member = orr_alloc(u->machines, sizeof *d->member);
	d->stage = orr_alloc(d->f.pieces, sizeof *d->stage);
}

static void release(struct pipedream *d)
{
	for (uint32_t k = 0; k < d->levels; k++) {
		orr_free(d->level[k].A);
		orr_free(d->level[k].from);
		orr_free(d->level[k].count);
	}
	orr_free(d->gpu);
	orr_free(d->member);
	orr_free(d->stage);
}

static int search(struct orr_plan *p, const struct orr_args *args, struct orr_error *err)
{
	struct pipedream d = { .p = p };
	struct published u;
	double *micro, best_s = INFINITY, slowest_s = NAN; /* of the best plan: iteration time and slowest stage */
	(void)err;
	orr_plan_facts(p, &d.f);
	published_new(&u, p, args);
	prepare(&d, &u, !strcmp(orr_arg_text(args, "levels"), "flat"));
	uint32_t n = chain_micro_batches(&d.f, &micro);
	for (uint32_t i = 0; i < n && orr_plan_goes_on(p); i++) {
		const struct level *top = &d.level[d.levels - 1];
		struct orr_plan_value v;
		chain_load(&d.c, p, 0, micro[i]);
		d.sync = orr_arg_real(args, "sync_batch") > 0 ? orr_arg_real(args, "sync_batch") : micro[i];
		solve(&d);
		build(&d);
		orr_plan_evaluate(p, &(struct orr_plan_draft){ .stages = d.stages, .stage = d.stage, .micro_batch = micro[i] }, &v);
		if (v.iteration_s < best_s) {
			best_s = v.iteration_s;
			slowest_s = top->A[cell(&d, top, 0, d.c.n, top->units)];
		}
		chain_free(&d.c);
		orr_plan_progress(p, (i + 1.) / n);
	}
	orr_plan_put(p, "slowest_stage_s", slowest_s);
	release(&d);
	orr_free(micro);
	published_free(&u);
	return 0;
}

static const struct orr_plan_ops ops = { .search = search };

ORR_POLICY_PLAN(pipedream, "the pipeline with the fastest bottleneck stage (PipeDream's planner)", params, ops);
