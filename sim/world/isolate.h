/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * isolate.h - runs of plugins in separate processes
 *
 * A helper process is a copy of this one, made while no other thread works, so that no lock is held in it. For each run it
 * forks a child, which inherits all inputs in memory, loads the plugin and runs the whole replication. Shared memory returns
 * the results (results/pack.h) and the data of the world's state (world.give(), world.take()). A fault of the plugin, even a
 * crash, is an error of its run alone: other runs and the database are unaffected.
 *
 * The helper also checks the current call of the policy against the time limit, and kills the child if the limit is exceeded.
 */
#ifndef ORR_WORLD_ISOLATE_H
#define ORR_WORLD_ISOLATE_H

#include "world/scenario.h"

#include <stdatomic.h>
#include <string.h>

/* Returns whether the policy runs in a separate process. */
bool isolate_has(const struct scenario_policy *p);
/* Starts the helper, once all scenarios are open. Call it outside parallel regions, before other threads are started. */
int isolate_start(struct orr_error *err);
/* Ends the helper, and with it all children. No-op if it was not started. */
void isolate_stop(void);
/* Calls world.run() in a child. Safe in several threads. *cpu_s: CPU time of the child. */
int isolate_run(struct scenario *s, size_t i, uint32_t k, struct run_result *r, world_progress progress, void *ctx, double *cpu_s,
	struct orr_error *err);

/*
 * Does other work of policy i than a run, such as a search over many runs, in a child in which the plugin is loaded. in: n_in bytes, at
 * most ISOLATE_IN, of which the child gets a copy; pointers in it must be older than isolate_start(). out: n_out bytes that the work fills
 * in, all zero before. The work itself is done here if the policy needs no process.
 */
enum { ISOLATE_IN = 256 };
typedef int (*isolate_work)(struct scenario *s, size_t i, const void *in, void *out, struct orr_error *err);
int isolate_call(
	struct scenario *s, size_t i, isolate_work work, const void *in, size_t n_in, void *out, size_t n_out, struct orr_error *err);

/* Implementation of give() and take() for worlds whose state has bits of used inputs for each run (world.used()). */
static inline void isolate_give_bits(const atomic_uint *used, struct sbuf *out)
{
	unsigned bits = atomic_load(used);
	sbuf_add(out, (const char *)&bits, sizeof bits);
}
static inline bool isolate_take_bits(atomic_uint *used, const char *bytes, size_t n)
{
	unsigned bits;
	if (n != sizeof bits)
		return false;
	memcpy(&bits, bytes, sizeof bits);
	atomic_fetch_or(used, bits);
	return true;
}

#endif
