/* SPDX-License-Identifier: GPL-3.0-or-later */
/* members.h - lists of a policy's jobs, sorted by number, and the room of a node for a job */
#ifndef ORR_POLICIES_JOBS_MEMBERS_H
#define ORR_POLICIES_JOBS_MEMBERS_H

#include <orrery/jobs.h>

/* Returns the index of the first of n elements whose number is at least `number`; n: none. Elements have `stride` bytes and their number,
 * a uint64_t, at `offset`. O(log n). */
size_t members_find(const void *elements, size_t n, size_t stride, size_t offset, uint64_t number);

/* Returns how many of the node's free GPUs the job can use with the node's free CPUs and memory. */
uint32_t members_room(const struct orr_node_info *node, const struct orr_job_info *job);

#endif
