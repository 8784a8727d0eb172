/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "time_left.h"

#include <math.h>

/* Returns the rate of a running job, relative to the requested GPUs alone. */
static double present_rate(struct orr_jobs *w, orr_job j, const struct orr_job_info *info)
{
	orr_job mate[ORR_MOST_SHARING];
	if (!info->gpus_held)
		return 1;
	size_t n = orr_job_mates(w, j, mate, ORR_MOST_SHARING);
	double rate = orr_job_rate_on(w, j, info->gpu_type);
	if (info->gpus_held != info->gpus)
		rate *= orr_job_rate_at(w, j, info->gpus_held);
	return n ? rate * orr_job_rate_beside(w, j, mate, n, info->gpu_type) : rate;
}

double rate_of_type(struct orr_jobs *w, orr_job j)
{
	struct orr_job_info info;
	double slowest = 0;
	if (!orr_job_get(w, j, &info) || !info.gpus)
		return 1;
	if (info.gpus_held)
		return orr_job_rate_on(w, j, info.gpu_type);
	for (uint32_t t = 0; t < orr_gpu_types(w); t++) {
		double rate = orr_job_rate_on(w, j, t);
		if (rate > 0 && (!(slowest > 0) || rate < slowest))
			slowest = rate;
	}
	return slowest > 0 ? slowest : 1;
}

double time_left_s(struct orr_jobs *w, orr_job j)
{
	double iterations = orr_job_iterations_left(w, j), alone_s = orr_interleaved_iteration_s(w, &j, 1);
	struct orr_job_info info;
	if (iterations > 0 && alone_s > 0)
		return iterations * alone_s;
	double left_s = (double)orr_job_estimate_run_ns(w, j, ORR_ESTIMATE_LIMIT, 1) / 1e9;
	if (!orr_job_get(w, j, &info))
		return left_s;
	if (info.limit_ns >= 0) /* the limit does not fall when a run ends */
		return fmax(1, left_s - (double)orr_job_done_ns(w, j) / 1e9);
	if (info.state != ORR_JOB_RUNNING)
		return left_s;
	return fmax(1, left_s - present_rate(w, j, &info) * (double)(orr_now(w) - info.started_ns) / 1e9);
}
