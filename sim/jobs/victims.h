/* SPDX-License-Identifier: GPL-3.0-or-later */
/* victims.h - the choice of running jobs that make room for a request: the fewest that suffice, latest start first */
#ifndef ORR_JOBS_VICTIMS_H
#define ORR_JOBS_VICTIMS_H

#include "jobs/job.h"

struct victim {
	int64_t started;
	uint64_t number;
	uint32_t slot;
	bool is_spared; /* the others suffice */
};

void victims_sort(struct victim *v, uint32_t n);
/* Returns the running jobs on GPUs of a suitable type, latest start first, except those that is_exempt() names. Of jobs that share GPUs,
 * the one that holds them stands for all. The caller frees the list with mem_free(). */
struct victim *victims_of(
	const struct orr_jobs *w, uint64_t types, bool (*is_exempt)(const struct job *job, const void *ctx), const void *ctx, uint32_t *n);
/* Returns the first `most` of them. */
struct victim *victims_latest(struct orr_jobs *w, uint64_t types, bool (*is_exempt)(const struct job *job, const void *ctx),
	const void *ctx, uint32_t most, uint32_t *n);
/* --check: returns what is wrong with victims_latest(), or NULL. */
const char *victims_check(struct orr_jobs *w);
/* Returns the smallest number, at least `from`, of leading victims that make room; 0: all n do not. */
uint32_t victims_shortest(const struct orr_jobs *w, const struct pool_request *r, const struct victim *v, uint32_t n, uint32_t from);
/* Spares the victim if the others of the first n suffice. */
void victims_spare(const struct orr_jobs *w, const struct pool_request *r, struct victim *v, uint32_t n, uint32_t i);

#endif
