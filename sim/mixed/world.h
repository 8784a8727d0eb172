/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * world.h - the state of a run of several worlds on one clock, private to this folder
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
	struct orr_serve *serve; /* the serving world; NULL: none, or not begun yet */
	struct run_result *of_jobs, *of_serve;
	struct jobs_blocks *blocks;
	bool jobs_touched;  /* the jobs world was called at this instant, or is due */
	bool jobs_are_over; /* the jobs policy is no longer called */
	bool serve_has_left;

	/* replicas */
	struct pool_alloc *held; /* copies of the jobs' allocations */
	uint32_t *hold;          /* [held]: return value of jobs_others_take() */
	size_t n_held, cap_held, cap_hold;
	bool is_serve_short; /* a replica waits because no GPUs are free */
	uint64_t given;      /* number of times that replicas released GPUs */
	uint64_t seen_given; /* sum of `given` and jobs_given() at the last attempt to place replicas */
	uint64_t reclaims, jobs_reclaimed;

	/* nodes */
	struct failure_run *failures;
	struct capacity *capacity;
	struct bitset doomed; /* nodes that were given notice */
	uint32_t *notices;    /* number of announced failures and removals, by node */
	struct fence *fence;
	size_t n_fences, cap_fences;
	uint64_t fenced_pool; /* pool->changes when all free GPUs of doomed nodes were last fenced */
	uint32_t nodes_away;  /* number of nodes that are down or were given notice */
	int64_t notice_ns, row_ns;
	uint64_t rows_ahead;  /* number of rows that are known but have not happened yet */
	bool failure_pending; /* the event at which the next failure or repair becomes known is pending */

	uint64_t checked_pool; /* pool->changes at the last check */
	struct holding holding;
	struct accounts accounts;
	struct orr_error error;
};

/* ---- nodes.c ---- */
enum { PRIO_NODE = 1, PRIO_UNTIL = 255 };
void nodes_lend(struct mixed *m); /* called before the worlds begin, because nodes lent at time 0 are up then */
void nodes_begin(struct mixed *m);
void nodes_free(struct mixed *m);
/* Fences the GPUs that have become free on nodes given notice. */
void nodes_fence(struct mixed *m);
/* Returns the number of pending events. Without other events, no job or request progresses. */
uint64_t nodes_background(const struct mixed *m);

#endif
