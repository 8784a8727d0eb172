/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * world.h - the state of a run of several worlds on one clock, for the files of this folder alone
 */
#ifndef ORR_MIXED_WORLD_H
#define ORR_MIXED_WORLD_H

#include "engine/engine.h"
#include "mixed/account.h"
#include "mixed/mixed.h"

/* Free GPUs of a node that was given notice: held so that no world takes them. */
struct fence {
	uint32_t node;
	struct pool_alloc alloc;
};

struct mixed {
	const struct mixed_config *config;
	struct engine *engine;
	struct pool *pool;
	struct orr_jobs *jobs;   /* NULL: no such world */
	struct orr_serve *serve; /* NULL: no such world, or it has not begun yet */
	struct run_result *of_jobs, *of_serve;
	struct jobs_blocks *blocks;
	bool jobs_touched;  /* at this instant */
	bool jobs_are_over; /* the policy of jobs is no longer called */
	bool serve_has_left;

	/* replicas */
	struct pool_alloc *held; /* copies of their allocations */
	size_t n_held, cap_held;
	bool is_serve_short; /* a replica waits because it found no room */
	uint64_t given;      /* number of times that replicas released GPUs */
	uint64_t seen_given; /* `given` and jobs_given() together when replicas last looked for room */
	uint64_t reclaims, jobs_reclaimed;

	/* nodes */
	struct failure_run *failures;
	struct capacity *capacity;
	struct bitset doomed; /* nodes that were given notice */
	uint32_t *notices;    /* [node] known ends in the future */
	struct fence *fence;
	size_t n_fences, cap_fences;
	uint32_t nodes_away; /* down, or given notice */
	int64_t notice_ns, row_ns;
	uint64_t rows_ahead;  /* known, not happened yet */
	bool failure_pending; /* an event will make the next row known */

	uint64_t checked_pool; /* pool->changes at the last check */
	struct holding holding;
	struct accounts accounts;
	struct orr_error error;
};

/* ---- nodes.c ---- */
enum { PRIO_NODE = 1, PRIO_UNTIL = 255 };
void nodes_lend(struct mixed *m); /* before the worlds begin: nodes lent at time 0 are up */
void nodes_begin(struct mixed *m);
void nodes_free(struct mixed *m);
/* Fences the GPUs that have become free on nodes that were given notice. */
void nodes_fence(struct mixed *m);
/* Number of pending events that alone make no job or request progress. */
uint64_t nodes_background(const struct mixed *m);

#endif
