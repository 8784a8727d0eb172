/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * gcn_drive.h - a small scheduler of the tasks of a graph neural network, for tests of sim/learn
 *
 * Each chunk runs its chain of tasks independently. A chunk draws a mean task time between 0.5 and 1.5. Its tasks take this time, or an
 * exponential time with this mean, so chunks drift apart. A chunk starts epoch e (0, 1, ..) once every chunk has ended epoch e - S - 1.
 * Epoch 0 is synchronous; with GCN_SYNCHRONOUS all epochs are. In a synchronous epoch, all chunks end a task before any chunk begins
 * the next one.
 */
#ifndef ORR_TESTS_GCN_DRIVE_H
#define ORR_TESTS_GCN_DRIVE_H

#include "tests/learn/learn_drive.h"

#include <math.h>
#include <string.h>

enum { GCN_SYNCHRONOUS = -1, GCN_TASKS = 11 };

static const struct gcn_step {
	enum orr_update_kind kind;
	uint32_t layer;
	bool is_backward;
} gcn_chain[GCN_TASKS] = { { ORR_GATHER, 0, false }, { ORR_APPLY_VERTEX, 0, false }, { ORR_SCATTER, 0, false }, { ORR_GATHER, 1, false },
	{ ORR_APPLY_VERTEX, 1, false }, { ORR_APPLY_VERTEX, 1, true }, { ORR_WEIGHT_GRADIENT, 1, true }, { ORR_SCATTER, 1, true },
	{ ORR_GATHER, 1, true }, { ORR_APPLY_VERTEX, 0, true }, { ORR_WEIGHT_GRADIENT, 0, true } };

struct gcn_drive {
	struct learn *l;
	uint32_t chunks, servers, weight_servers; /* chunk c is on server c mod servers */
	int bound;                                /* staleness bound S, or GCN_SYNCHRONOUS */
	uint32_t epochs;
	bool is_even; /* flag: all tasks of a chunk take the same time */
	/* Called when a task starts or ends; may be NULL. */
	void (*told)(void *ctx, bool is_end, uint32_t chunk, uint64_t epoch, int task);
	void *ctx;
	uint32_t most_apart; /* result: largest difference between the current epochs of two chunks */
};

struct gcn_chunk_run {
	double mean, end; /* end: end of the running task; INFINITY: none */
	uint64_t epoch;   /* epoch of the next task, or of the current one */
	int task;
};

static void gcn_tell(struct gcn_drive *d, double t, bool is_end, uint32_t chunk, const struct gcn_chunk_run *r)
{
	const struct gcn_step *s = &gcn_chain[r->task];
	struct orr_update u = { .kind = s->kind,
		.layer = s->layer,
		.is_backward = s->is_backward,
		.chunk = chunk,
		.chunks = d->chunks,
		.worker = chunk % d->servers,
		.slice = chunk % d->weight_servers,
		.slices = d->weight_servers };
	for (uint32_t c = u.slice; c < d->chunks; c += d->weight_servers)
		u.window++;
	uint64_t op = (r->epoch + 1) << 32 | (chunk * GCN_TASKS + (uint32_t)r->task);
	if (is_end)
		drive_check(learn_end(d->l, t, op, u.worker, &drive_error));
	else
		drive_check(learn_begin(d->l, t, op, &u, 1, &u.worker, 1, &drive_error));
	if (d->told)
		d->told(d->ctx, is_end, chunk, r->epoch, r->task);
}

static bool gcn_may_start(const struct gcn_drive *d, const struct gcn_chunk_run *run, uint32_t c)
{
	bool is_synchronous = d->bound == GCN_SYNCHRONOUS || !run[c].epoch;
	for (uint32_t i = 0; i < d->chunks; i++) {
		if (run[i].epoch + (is_synchronous ? 0 : (uint64_t)d->bound) < run[c].epoch)
			return false;
		if (is_synchronous && run[i].epoch == run[c].epoch && run[i].task < run[c].task)
			return false;
	}
	return run[c].epoch < d->epochs;
}

static void gcn_drive_run(struct gcn_drive *d, uint64_t seed)
{
	struct gcn_chunk_run *run = calloc(d->chunks, sizeof *run);
	struct rng r;
	double t = 0;
	rng_init(&r, seed, "test.chunks", 0);
	for (uint32_t c = 0; c < d->chunks; c++)
		run[c] = (struct gcn_chunk_run){ .mean = 0.5 + rng_uniform(&r), .end = INFINITY };
	for (;;) {
		uint64_t lowest = UINT64_MAX, highest = 0;
		uint32_t first = 0;
		for (uint32_t c = 0; c < d->chunks; c++)
			if (!isfinite(run[c].end) && gcn_may_start(d, run, c)) {
				run[c].end = t + (d->is_even ? run[c].mean : rng_exponential(&r, run[c].mean));
				gcn_tell(d, t, false, c, &run[c]);
			}
		for (uint32_t c = 0; c < d->chunks; c++) {
			bool is_over = run[c].epoch == d->epochs;
			first = run[c].end < run[first].end ? c : first;
			lowest = !is_over && run[c].epoch < lowest ? run[c].epoch : lowest;
			highest = isfinite(run[c].end) && run[c].epoch > highest ? run[c].epoch : highest;
		}
		if (!isfinite(run[first].end))
			break;
		d->most_apart = highest > lowest && highest - lowest > d->most_apart ? (uint32_t)(highest - lowest) : d->most_apart;
		t = run[first].end;
		run[first].end = INFINITY;
		gcn_tell(d, t, true, first, &run[first]);
		if (++run[first].task == GCN_TASKS) {
			run[first].task = 0;
			run[first].epoch++;
		}
	}
	learn_finish(d->l);
	free(run);
}

#endif
