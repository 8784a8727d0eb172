/* SPDX-License-Identifier: GPL-3.0-or-later */
/* elastic_find.h - binary search in the points of an elastic job; fails unless they are sorted by pipelines, then depth */
#ifndef ORR_TESTS_HWMODEL_ELASTIC_FIND_H
#define ORR_TESTS_HWMODEL_ELASTIC_FIND_H

#include "hwmodel/elastic.h"

/* Returns NULL if the table has no such point. */
static inline const struct elastic_point *elastic_find(const struct elastic *job, uint32_t pipelines, uint32_t depth)
{
	uint32_t lo = 0, hi = job->n_points;
	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;
		const struct elastic_point *p = &job->point[mid];
		if (p->pipelines == pipelines && p->depth == depth)
			return p;
		if (p->pipelines < pipelines || (p->pipelines == pipelines && p->depth < depth))
			lo = mid + 1;
		else
			hi = mid;
	}
	return NULL;
}

#endif
