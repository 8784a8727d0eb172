/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Work done by a running job. */
#include "jobs/world.h"

#include "base/num.h"

#include <math.h>

int64_t gpu_milli_of(const struct job *job, uint32_t held)
{
	if (job->sharers > 1) {
		int64_t part = 1000 * (int64_t)held / job->sharers;
		return job->alloc.is_beside ? part : 1000 * (int64_t)held - (job->sharers - 1) * part;
	}
	bool is_shared = job->gpus == 1 && job->alloc.n == 1 && job->alloc.one.slot != POOL_WHOLE && held == 1;
	return is_shared ? job->alloc.one.milli : 1000 * (int64_t)held;
}

double gpus_asked(const struct orr_jobs *w, const struct job *job)
{
	return (double)job->gpus * w->shapes.shape[job->shape].request.gpu_milli / 1000;
}

int64_t work_done(const struct orr_jobs *w, const struct job *job)
{
	int64_t ran = eng_now(w->engine) - job->work.progress_from;
	if (ran <= 0)
		return job->work.piece_done;
	/* At rate 1, the rate of most jobs, integer arithmetic is exact. */
	int64_t done = num_add_sat(job->work.piece_done, job->work.rate == 1 ? ran : llrint((double)ran * job->work.rate));
	return done < job->work.left ? done : job->work.left;
}

int64_t work_saved(const struct orr_jobs *w, const struct job *job)
{
	int64_t begin = num_add_sat(job->last_start, job->start_cost), ran = eng_now(w->engine) - begin;
	if (w->options.checkpoint <= 0 || ran < w->options.checkpoint)
		return 0;
	int64_t last = begin + ran / w->options.checkpoint * w->options.checkpoint;
	if (last < job->work.progress_from)
		return job->work.piece_saved;
	int64_t saved = num_add_sat(job->work.piece_done, llrint((double)(last - job->work.progress_from) * job->work.rate));
	int64_t done = work_done(w, job);
	return saved < done ? saved : done;
}
