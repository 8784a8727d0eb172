/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * interference.h - the speed of jobs that share their GPUs, relative to their speed alone on GPUs of the type
 *
 * Models (--interference; docs/models/jobs-packing.md):
 *	table      pairs: the co-location rates of --throughputs
 *	stages     up to four jobs whose stages (storage, GPU, network) are interleaved; Zhao et al., "Muri", SIGCOMM 2022, and the
 *	           period that its simulator computes (Rivendile/Muri 4e69a78)
 *	occupancy  each job has the part of the GPU that it asks for; above 1 in total, all slow down equally
 *	slices     equal parts of the time
 *	auto       the first of these models for which all jobs of the group have data
 * Rates are 0 for groups that the model excludes: pairs that were not measured, unequal sizes, more memory than the GPU has.
 */
#ifndef ORR_JOBS_INTERFERENCE_H
#define ORR_JOBS_INTERFERENCE_H

#include "jobs/job.h"

enum interference { GPU_SHARING_AUTO, GPU_SHARING_TABLE, GPU_SHARING_STAGES, GPU_SHARING_OCCUPANCY, GPU_SHARING_SLICES };

enum { ITERATION_STAGES = 3, MOST_INTERLEAVED = 4 };

/* Stages of a text of the trace, s. */
struct stage_times {
	bool is_parsed;
	double s[ITERATION_STAGES];
};
struct stage_table {
	struct stage_times *of; /* [string number] */
	uint32_t n;
};

/* Returns the smallest steady period of n <= MOST_INTERLEAVED jobs over their orders, without the slowdown by their number. */
double interleave_s(const double (*stage)[ITERATION_STAGES], uint32_t n);

/* Returns the stages of a job, or NULL if they are unknown. */
const double *stages_of(struct orr_jobs *w, const struct job *job);
void stage_table_free(struct orr_jobs *w);
/* Returns the seconds in which each of n jobs makes one iteration; of one job, its iteration time alone. 0: unknown, or too many jobs. */
double interleaved_iteration_s(struct orr_jobs *w, struct job *const *job, uint32_t n);

/* Returns the rate of job[self] relative to its rate alone on this GPU type, while the n jobs share their GPUs. 0: they cannot. */
double interference_rate(struct orr_jobs *w, struct job *const *job, uint32_t n, uint32_t self, uint32_t type);
/* Returns why a job can never share its GPUs, or NULL. */
const char *cannot_share(const struct orr_jobs *w, const struct job *job);
/* Returns whether the memory that the jobs use together exceeds that of a GPU of this type. */
bool exceeds_memory(const struct orr_jobs *w, struct job *const *job, uint32_t n, uint32_t type);

#endif
