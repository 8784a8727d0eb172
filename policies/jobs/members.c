/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "members.h"

#include <string.h>

size_t members_find(const void *elements, size_t n, size_t stride, size_t offset, uint64_t number)
{
	size_t low = 0, high = n;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		uint64_t at;
		memcpy(&at, (const char *)elements + middle * stride + offset, sizeof at);
		if (at < number)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Returns the GPUs for which `free` of a resource suffices, of which the job needs `needs` on all its GPUs. */
static uint32_t limit(uint32_t gpus, int64_t free, int64_t needs, uint32_t of)
{
	double most = needs > 0 ? (double)free * of / (double)needs : gpus;
	return most < gpus ? (uint32_t)most : gpus;
}

uint32_t members_room(const struct orr_node_info *node, const struct orr_job_info *job)
{
	return limit(limit(node->gpus_free, node->cpu_milli_free, job->cpu_milli, job->gpus), node->mem_mib_free, job->mem_mib, job->gpus);
}
