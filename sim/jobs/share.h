/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * share.h - what jobs that share links leave each other, by arithmetic
 *
 * A job is known by how it uses each link when it is alone: the part of the time in which it
 * sends over it (busy) and its rate while it does (peak); and by how its iteration grows when
 * its messages take `stretch` times as long. While a job sends over a link, each other job is
 * sending too with probability busy x stretch / (growth of its iteration): phases are taken
 * as independent (on links of many jobs the number of senders by its mean and variance). Those that send at once share max-min, one flow
 * each. A job's stretch is that of the link that leaves it least; all stretches together are a fixed point.
 *
 * Exact where it can be: for jobs that do nothing but send over one link (1/n of the rate each). Not modelled: jobs
 * whose phases fall in step, or that are shifted so that they interleave (Rajasekaran et al., CASSINI, NSDI 2024).
 * docs/models.md, "Jobs: rates from the step world".
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
	/* Time of an iteration of the job over that alone, when its messages take stretch >= 1 times as long. */
	double (*growth)(void *ctx, uint32_t job, double stretch);
	void *ctx;
};

/* speed[j]: the job's rate over that alone, in (0, 1]. */
void share_solve(const struct share_problem *p, double *speed);

/* Of capacity, what a flow of the given demand gets beside k others of other_Bps each, max-min. */
double share_beside(double capacity_Bps, double demand_Bps, double k, double other_Bps);

#endif
