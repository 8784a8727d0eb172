/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * share.h - the speeds of jobs that share links, by a formula
 *
 * A job is described by its use of each link when alone: the part of the time in which it sends over the link (busy), its rate
 * while it sends (peak), and the growth of its iteration when its messages take `stretch` times as long. While a job sends over
 * a link, each other job sends too with probability busy x stretch / (growth of its iteration): phases are assumed independent.
 * On links of many jobs, only mean and variance of the number of senders are used. Jobs that send at the same time share the
 * link max-min, one flow each. The stretch of a job is that of its slowest link; all stretches together are a fixed point.
 *
 * Exact for jobs that only send, over one link: 1/n of the rate each. Not modelled: synchronised phases of jobs, and shifted
 * phases that interleave (Rajasekaran et al., CASSINI, NSDI 2024). docs/models/jobs.md#rates-from-the-step-world.
 */
#ifndef ORR_JOBS_SHARE_H
#define ORR_JOBS_SHARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct share_use {
	uint32_t link;
	double busy, peak_Bps;
};

struct share_job {
	const struct share_use *use;
	uint32_t n;
};

struct share_problem {
	const struct share_job *job;
	uint32_t n_jobs, n_links;
	const double *capacity_Bps; /* by link */
	/* Returns the iteration time of the job relative to the time alone, if its messages take stretch >= 1 times as long. */
	double (*growth)(void *ctx, uint32_t job, double stretch);
	void *ctx;
};

/* Fills in speed[j]: the rate of job j relative to its rate alone, in (0, 1]. */
void share_solve(const struct share_problem *p, double *speed);

#endif
