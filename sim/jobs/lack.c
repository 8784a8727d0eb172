/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "jobs/lack.h"

#include "jobs/quota.h"
#include "jobs/world.h"

static uint32_t to_units(int64_t v, int64_t unit)
{
	int64_t n = (v + unit / 2) / unit;
	return n < 0 ? 0 : n > UINT32_MAX ? UINT32_MAX : (uint32_t)n;
}

enum lack lack_of(const struct orr_jobs *w, uint32_t shape, uint32_t *asked, uint32_t *free)
{
	const struct pool_request *r = &w->shapes.shape[shape].request;
	const struct pool *p = w->pool;
	*asked = r->gpus;
	*free = 0;
	for (uint32_t t = 0; t < w->config->cluster->n_types; t++)
		if (r->types >> t & 1 && p->free[t] > *free)
			*free = p->free[t];
	int64_t room = w->quotas ? quota_room(w, w->shapes.shape[shape].partition) : INT64_MAX;
	if (quota_request(r) > room) {
		*free = to_units(room - 499, 1000);
		return LACKS_QUOTA;
	}
	bool is_whole = r->gpus && r->gpu_milli == 1000;
	if (is_whole && *free < r->gpus)
		return LACKS_GPUS;
	if (pool_fits(w->pool, r))
		return FITS;
	if (r->cpu_milli > p->cpu_free) {
		*asked = to_units(r->cpu_milli, 1000);
		*free = to_units(p->cpu_free, 1000);
		return LACKS_CORES;
	}
	if (r->mem_mib > p->mem_free) {
		*asked = to_units(r->mem_mib, 1024);
		*free = to_units(p->mem_free, 1024);
		return LACKS_MEMORY;
	}
	return is_whole || !r->gpus || *free ? IS_FRAGMENTED : LACKS_GPUS;
}
