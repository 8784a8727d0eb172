/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "jobs/world.h"

#include "base/hash.h"
#include "base/mem.h"

#include <string.h>

uint32_t slot_new(struct orr_jobs *w)
{
	uint32_t slot;
	if (w->n_free) {
		slot = w->free_slots[--w->n_free];
	} else {
		MEM_GROW(w->job, w->n_jobs, w->cap_jobs);
		slot = w->n_jobs++;
		w->job[slot].generation = 0;
	}
	uint32_t generation = w->job[slot].generation + 1;
	w->job[slot] = (struct job){ .generation = generation ? generation : 1,
		.state = ORR_JOB_WAITING,
		.first_start = -1,
		.last_start = -1,
		.rate = 1,
		.prev = w->last_live,
		.next = NONE,
		.running_at = NONE,
		.last_node = NONE,
		.training = NONE };
	if (w->last_live == NONE)
		w->first_live = slot;
	else
		w->job[w->last_live].next = slot;
	w->last_live = slot;
	return slot;
}

void slot_release_ended(struct orr_jobs *w)
{
	w->n_told = 0;
	while (w->n_ended) {
		uint32_t slot = w->ended[--w->n_ended];
		struct job *job = &w->job[slot];
		if (job->prev == NONE)
			w->first_live = job->next;
		else
			w->job[job->prev].next = job->next;
		if (job->next == NONE)
			w->last_live = job->prev;
		else
			w->job[job->next].prev = job->prev;
		job->generation++; /* the handle is of no live job from now on */
		MEM_GROW(w->free_slots, w->n_free, w->cap_free);
		w->free_slots[w->n_free++] = slot;
	}
}

/* ---- shapes: equal requests have equal numbers ---- */

static uint32_t hash_request(const struct pool_request *r)
{
	uint64_t h = hash_mix(r->gpus * HASH_GOLDEN ^ r->gpu_milli);
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
	uint32_t slots = w->shape_mask ? (w->shape_mask + 1) * 2 : 64;
	mem_free(w->shape_slot);
	w->shape_slot = mem_zalloc(slots, sizeof *w->shape_slot);
	w->shape_mask = slots - 1;
	for (uint32_t i = 0; i < w->n_shapes; i++) {
		uint32_t at = hash_request(&w->shape[i].request) & w->shape_mask;
		while (w->shape_slot[at])
			at = (at + 1) & w->shape_mask;
		w->shape_slot[at] = i + 1;
	}
}

uint32_t shape_of(struct orr_jobs *w, const struct pool_request *r)
{
	if (w->n_shapes * 2 >= w->shape_mask)
		grow_shapes(w);
	uint32_t at = hash_request(r) & w->shape_mask;
	for (; w->shape_slot[at]; at = (at + 1) & w->shape_mask)
		if (is_same(&w->shape[w->shape_slot[at] - 1].request, r))
			return w->shape_slot[at] - 1;
	if (w->n_shapes == w->cap_shapes) {
		w->cap_shapes = w->cap_shapes ? w->cap_shapes * 2 : 32;
		w->shape = mem_realloc(w->shape, w->cap_shapes, sizeof *w->shape);
		w->waiting_of = mem_realloc(w->waiting_of, w->cap_shapes, sizeof *w->waiting_of);
	}
	w->waiting_of[w->n_shapes] = 0;
	w->shape[w->n_shapes] = (struct shape){ *r, pool_could_ever_fit(w->config->cluster, w->config->placement, r) };
	w->shape_slot[at] = ++w->n_shapes;
	return w->n_shapes - 1;
}

void slots_free(struct orr_jobs *w)
{
	for (uint32_t i = 0; i < w->n_running; i++)
		pool_give(w->pool, &w->job[w->running[i]].alloc);
	mem_free(w->job);
	mem_free(w->free_slots);
	mem_free(w->running);
	mem_free(w->ended);
	mem_free(w->shape);
	mem_free(w->shape_slot);
	mem_free(w->waiting_of);
}
