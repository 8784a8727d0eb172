/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "time_left.h"

#include <math.h>

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
	int64_t estimate = orr_job_estimate_ns(w, j, ORR_ESTIMATE_LIMIT, 1);
	int64_t work = estimate - orr_job_estimate_start_ns(w, j, ORR_ESTIMATE_LIMIT, 1);
	double left_s = (double)(work - orr_job_done_ns(w, j)) / 1e9;
	return orr_job_get(w, j, &info) && info.limit_ns >= 0 ? fmax(1, left_s) : left_s;
}

double time_at_rate_s(int64_t ns, int64_t start_ns, double rate)
{
	return rate == 1 ? (double)ns / 1e9 : (double)(ns - start_ns) / 1e9 / rate + (double)start_ns / 1e9;
}
