/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * world.h - the inside of several worlds on one clock, for the files of this folder alone
 *
 * mixed.c (GPUs for replicas, instants, results), nodes.c (nodes that go and come back), account.c (who held what).
 */
#ifndef ORR_MIXED_WORLD_H
#define ORR_MIXED_WORLD_H

#include "engine/engine.h"
#include "mixed/account.h"
#include "mixed/mixed.h"

/* GPUs of nodes that are about to go, kept from everybody until they have gone. */
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
	bool jobs_are_over; /* no decision is asked for any more */
	bool serve_has_left;

	/* replicas */
	struct pool_alloc *held; /* copies of what they hold */
	size_t n_held, cap_held;
	bool is_serve_short; /* a replica found no room */
	uint64_t given;      /* how often GPUs were given back, but for those of jobs_given() */
	uint64_t seen_given; /* the sum of both when replicas last looked for room */
	uint64_t reclaims, jobs_reclaimed;

	/* nodes */
	struct failure_run *failures;
	struct capacity *capacity;
	struct bitset doomed; /* about to go */
	uint32_t *notices;    /* [node] announced and not come yet */
	struct fence *fence;
	size_t n_fences, cap_fences;
	uint32_t nodes_away; /* down, or about to go */
	int64_t notice_ns, row_ns;
	uint64_t rows_ahead;  /* known and not happened */
	bool failure_pending; /* the next row becomes known in an event */

	struct holding holding;
	struct accounts accounts;
	struct orr_error error;
};

/* ---- nodes.c ---- */
enum { PRIO_NODE = 1, PRIO_UNTIL = 255 };
void nodes_lend(struct mixed *m); /* before there is any world: those that are lent at time 0 are up */
void nodes_begin(struct mixed *m);
void nodes_free(struct mixed *m);
/* What has become free on nodes that are about to go is kept from everybody. */
void nodes_fence(struct mixed *m);
/* Pending events that will not by themselves let anybody go on. */
uint64_t nodes_background(const struct mixed *m);

#endif
