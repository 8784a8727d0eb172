/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Evicts jobs to free GPUs for another world with priority over them. */
#include "jobs/world.h"

#include "base/mem.h"
#include "jobs/group.h"
#include "jobs/life.h"
#include "jobs/victims.h"

static bool is_on_any(const struct pool_alloc *a, const struct bitset *nodes)
{
	const struct pool_piece *x = pool_pieces(a);
	for (uint32_t i = 0; nodes && i < a->n; i++)
		if (bitset_has(nodes, x[i].node))
			return true;
	return false;
}

static bool is_exempt(const struct job *job, const void *nodes)
{
	return is_on_any(&job->alloc, nodes);
}

/* Returns the fewest jobs that make room, latest start first; *n 0: none do. Looks at a few jobs first, because these are mostly enough. */
static struct victim *shortest(struct orr_jobs *w, const struct pool_request *r, const struct bitset *but, uint32_t *n)
{
	for (uint32_t most = 8;; most *= 8) {
		uint32_t found;
		struct victim *c = victims_latest(w, r->types, is_exempt, but, most, &found);
		*n = victims_shortest(w, r, c, found, 0);
		if (*n || found < most)
			return c;
		mem_free(c);
	}
}

uint32_t jobs_reclaim(struct orr_jobs *w, const struct pool_request *r, const struct bitset *but)
{
	uint32_t n, taken = 0;
	struct victim *c = shortest(w, r, but, &n);
	for (uint32_t i = n; i-- > 0;)
		victims_spare(w, r, c, n, i);
	for (uint32_t i = 0; i < n; i++) {
		if (c[i].is_spared)
			continue;
		struct job *member[ORR_MOST_SHARING];
		for (uint32_t k = group_of(w, &w->slots.job[c[i].slot], member); k-- > 0; taken++) {
			life_evict(w, member[k], "reclaim");
			tell_evicted(w, member[k]);
		}
	}
	mem_free(c);
	return taken;
}
