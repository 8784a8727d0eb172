/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Costs and placements of DAPPLE's published planner (published.h). */
#include "published.h"

#include <math.h>
#include <string.h>

void published_new(struct published *c, const struct orr_plan *p, const struct orr_args *args)
{
	struct orr_plan_facts f;
	orr_plan_facts(p, &f);
	*c = (struct published){ .p = p,
		.nvlink_Bps = orr_arg_real(args, "nvlink_Bps"),
		.ethernet_Bps = orr_arg_real(args, "ethernet_Bps"),
		.nccl_Bps = orr_arg_real(args, "nccl_Bps"),
		.gpus = f.gpus,
		.machines = f.nodes };
	c->machine = orr_alloc(f.gpus, sizeof *c->machine);
	for (uint32_t g = 0; g < f.gpus; g++) {
		struct orr_plan_gpu gpu;
		orr_plan_gpu(p, g, &gpu);
		c->machine[g] = gpu.node;
	}
}

void published_free(struct published *c)
{
	orr_free(c->machine);
}

static bool is_inside(const struct published *c, const uint32_t *gpu, uint32_t n)
{
	for (uint32_t i = 1; i < n; i++)
		if (c->machine[gpu[i]] != c->machine[gpu[0]])
			return false;
	return true;
}

/* Inside a machine, floor(n/2) links carry data at the same time. */
double published_all_reduce_s(const struct published *c, const uint32_t *gpu, uint32_t n, double bytes)
{
	if (n < 2)
		return 0;
	double share = 2 * (n - 1.) / n * bytes;
	uint32_t links = n / 2;
	return is_inside(c, gpu, n) ? share / c->nvlink_Bps / links : share / c->nccl_Bps;
}

double published_transfer_s(
	const struct published *c, const uint32_t *from, uint32_t n_from, const uint32_t *to, uint32_t n_to, double bytes)
{
	uint32_t outside = 0;
	for (uint32_t i = 0; i < n_from; i++)
		outside += c->machine[from[i]] != c->machine[to[0]];
	if (!is_inside(c, to, n_to))
		return bytes / c->nccl_Bps;
	return outside ? bytes / n_from * outside / c->ethernet_Bps : bytes / c->nvlink_Bps;
}

/* ---- placements ---- */

/* Takes free GPUs in order from machines that are unused (fresh) or partly used (append). */
static uint32_t take_in_order(const struct published *c, bool is_fresh, uint32_t n, const bool *is_used, uint32_t *out)
{
	uint32_t taken = 0;
	for (uint32_t g = 0, end; g < c->gpus && taken < n; g = end) {
		bool is_any_used = false;
		for (end = g; end < c->gpus && c->machine[end] == c->machine[g]; end++)
			is_any_used |= is_used[end];
		for (uint32_t k = g; k < end && taken < n && is_any_used != is_fresh; k++)
			if (!is_used[k])
				out[taken++] = k;
	}
	return taken;
}

static uint32_t take_scattered(const struct published *c, uint32_t n, const bool *is_used, uint32_t *out)
{
	uint32_t taken = 0, *next = orr_alloc(c->machines, sizeof *next);
	bool is_going = true;
	while (taken < n && is_going) {
		is_going = false;
		for (uint32_t m = 0; m < c->machines && taken < n; m++) {
			while (next[m] < c->gpus && (c->machine[next[m]] != m || is_used[next[m]]))
				next[m]++;
			if (next[m] == c->gpus)
				continue;
			out[taken++] = next[m]++;
			is_going = true;
		}
	}
	orr_free(next);
	return taken;
}

bool published_place(const struct published *c, enum published_place how, uint32_t n, bool *is_used, uint32_t *out)
{
	uint32_t taken = how == PLACE_SCATTER ? take_scattered(c, n, is_used, out) : take_in_order(c, how == PLACE_FRESH, n, is_used, out);
	for (uint32_t i = 0; taken == n && i < n; i++)
		is_used[out[i]] = true;
	return taken == n;
}
