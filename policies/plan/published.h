/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * published.h - the communication costs of DAPPLE's published planner (github AlibabaPAI/DAPPLE, HPGO)
 *
 * Constants are parameters: bytes/s of a message inside a machine and between machines, and of an all-reduce between machines. A
 * machine is a node of the cluster.
 */
#ifndef ORR_POLICIES_PLAN_PUBLISHED_H
#define ORR_POLICIES_PLAN_PUBLISHED_H

#include <orrery/plan.h>

/* clang-format off */
#define PUBLISHED_PARAMS \
	ORR_PARAM_REAL("nvlink_Bps", "25e9", 1, 1e15, "cost model: a message inside a machine, bytes/s"), \
	ORR_PARAM_REAL("ethernet_Bps", "1e9", 1, 1e15, "cost model: a message between machines, bytes/s"), \
	ORR_PARAM_REAL("nccl_Bps", "3e9", 1, 1e15, "cost model: collectives between machines, bytes/s")
/* clang-format on */

struct published {
	const struct orr_plan *p;
	double nvlink_Bps, ethernet_Bps, nccl_Bps;
	uint32_t *machine; /* by GPU */
	uint32_t gpus, machines;
};

void published_new(struct published *c, const struct orr_plan *p, const struct orr_args *args);
void published_free(struct published *c);
/* Returns the time of an all-reduce over a group of GPUs. */
double published_all_reduce_s(const struct published *c, const uint32_t *gpu, uint32_t n, double bytes);
/* Returns the time of the messages of a cut. */
double published_transfer_s(
	const struct published *c, const uint32_t *from, uint32_t n_from, const uint32_t *to, uint32_t n_to, double bytes);

/* Places n GPUs. fresh: on unused machines; append: on machines in use; scatter: one from each machine in turn. Writes them to out
 * and marks them in is_used. Returns false, without effect, if fewer GPUs are free under this rule. */
enum published_place { PLACE_FRESH, PLACE_APPEND, PLACE_SCATTER, PLACES };
bool published_place(const struct published *c, enum published_place how, uint32_t n, bool *is_used, uint32_t *out);

#endif
