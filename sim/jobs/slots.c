/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "jobs/world.h"

#include "base/hash.h"
#include "base/mem.h"

#include <string.h>

uint32_t slot_new(struct orr_jobs *w)
{
	uint32_t slot;
	if (w->slots.n_free) {
		slot = w->slots.free[--w->slots.n_free];
	} else {
		MEM_GROW(w->slots.job, w->slots.n, w->slots.cap);
		slot = w->slots.n++;
		w->slots.job[slot].generation = 0;
	}
	struct job *job = &w->slots.job[slot];
	uint32_t generation = job->generation + 1, prev = w->slots.last_live;
	*job = (struct job){ .generation = generation ? generation : 1,
		.state = ORR_JOB_WAITING,
		.first_start = -1,
		.last_start = -1,
		.work.rate = 1,
		.prev = prev,
		.next = NONE,
		.running_at = NONE,
		.last_nodes = NONE,
		.slice = 1,
		.sharers = 1,
		.mate = NONE,
		.training = NONE };
	if (w->slots.last_live == NONE)
		w->slots.first_live = slot;
	else
		w->slots.job[w->slots.last_live].next = slot;
	w->slots.last_live = slot;
	return slot;
}

void slot_release_ended(struct orr_jobs *w)
{
	w->slots.n_told = 0;
	while (w->slots.n_ended) {
		uint32_t slot = w->slots.ended[--w->slots.n_ended];
		struct job *job = &w->slots.job[slot];
		if (job->prev == NONE)
			w->slots.first_live = job->next;
		else
			w->slots.job[job->prev].next = job->next;
		if (job->next == NONE)
			w->slots.last_live = job->prev;
		else
			w->slots.job[job->next].prev = job->prev;
		job->generation++; /* handles of the ended job become invalid */
		MEM_GROW(w->slots.free, w->slots.n_free, w->slots.cap_free);
		w->slots.free[w->slots.n_free++] = slot;
	}
}

/* ---- shapes: equal requests of jobs that are equally rigid or elastic have equal numbers ---- */

static uint32_t hash_request(const struct pool_request *r, uint32_t partition, bool is_elastic)
{
	uint64_t h = hash_mix(r->gpus * HASH_GOLDEN ^ r->gpu_milli ^ (uint64_t)partition << 32 ^ (uint64_t)is_elastic << 31);
	h = hash_mix(h ^ (uint64_t)r->cpu_milli);
	h = hash_mix(h ^ (uint64_t)r->mem_mib);
	return (uint32_t)hash_mix(h ^ r->types);
}

static bool is_same(const struct pool_request *a, const struct pool_request *b)
{
	return a->gpus == b->gpus && a->gpu_milli == b->gpu_milli && a->cpu_milli == b->cpu_milli && a->mem_mib == b->mem_mib &&
	       a->types == b->types;
}

static void grow_shapes(struct orr_jobs *w)
{
	uint32_t slots = w->shapes.mask ? (w->shapes.mask + 1) * 2 : 64;
	mem_free(w->shapes.slot);
	w->shapes.slot = mem_zalloc(slots, sizeof *w->shapes.slot);
	w->shapes.mask = slots - 1;
	for (uint32_t i = 0; i < w->shapes.n; i++) {
		const struct shape *s = &w->shapes.shape[i];
		uint32_t at = hash_request(&s->request, s->partition, s->is_elastic) & w->shapes.mask;
		while (w->shapes.slot[at])
			at = (at + 1) & w->shapes.mask;
		w->shapes.slot[at] = i + 1;
	}
}

uint32_t shape_of(struct orr_jobs *w, const struct pool_request *r, uint32_t partition, bool is_elastic)
{
	const struct shape *last = w->shapes.n ? &w->shapes.shape[w->shapes.last] : NULL;
	if (last && last->partition == partition && last->is_elastic == is_elastic && is_same(&last->request, r))
		return w->shapes.last;
	if (w->shapes.n * 2 >= w->shapes.mask)
		grow_shapes(w);
	uint32_t at = hash_request(r, partition, is_elastic) & w->shapes.mask;
	for (; w->shapes.slot[at]; at = (at + 1) & w->shapes.mask) {
		const struct shape *s = &w->shapes.shape[w->shapes.slot[at] - 1];
		if (s->partition == partition && s->is_elastic == is_elastic && is_same(&s->request, r))
			return w->shapes.last = w->shapes.slot[at] - 1;
	}
	if (w->shapes.n == w->shapes.cap) {
		w->shapes.cap = w->shapes.cap ? w->shapes.cap * 2 : 32;
		w->shapes.shape = mem_realloc(w->shapes.shape, w->shapes.cap, sizeof *w->shapes.shape);
	}
	bool fits_ever = pool_could_ever_fit(w->config->cluster, w->config->placement, r);
	w->shapes.shape[w->shapes.n] = (struct shape){ *r, partition, is_elastic, fits_ever };
	w->shapes.slot[at] = ++w->shapes.n;
	return w->shapes.last = w->shapes.n - 1;
}

void slots_free(struct orr_jobs *w)
{
	for (uint32_t i = 0; i < w->slots.n_running; i++)
		pool_give(w->pool, &w->slots.job[w->slots.running[i]].alloc);
	mem_free(w->slots.job);
	mem_free(w->slots.free);
	mem_free(w->slots.running);
	mem_free(w->slots.ended);
	starts_free(&w->starts);
	mem_free(w->shapes.shape);
	mem_free(w->shapes.slot);
}
