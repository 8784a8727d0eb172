/* SPDX-License-Identifier: GPL-3.0-or-later */
/* --check: the conservation laws of the jobs world, checked at run time. */
#include "jobs/world.h"

#include "base/mem.h"
#include "jobs/bill.h"
#include "jobs/flows.h"
#include "jobs/group.h"
#include "jobs/limits.h"
#include "jobs/quota.h"
#include "jobs/quota_view.h"
#include "jobs/victims.h"

#include <stdlib.h>

static const char *wrong_lists(const struct orr_jobs *w)
{
	uint64_t live = 0, waiting = 0, running = 0;
	int64_t last = INT64_MIN;
	for (uint32_t i = w->slots.first_live; i != NONE; i = w->slots.job[i].next) {
		const struct job *job = &w->slots.job[i];
		if (job->submit < last)
			return "live jobs are not in order of submission";
		last = job->submit;
		if (job->state == ORR_JOB_ENDED)
			continue;
		live++;
		waiting += job->state == ORR_JOB_WAITING;
		running += job->state == ORR_JOB_RUNNING;
		if (job->state == ORR_JOB_WAITING && job->held)
			return "a waiting job holds GPUs";
		if (job->work.left < 0)
			return "a job has done more work than it requested";
	}
	if (live != w->slots.live || waiting != w->slots.waiting || running != w->slots.n_running)
		return "jobs are lost or duplicated";
	if (w->totals.arrived != w->totals.refused + w->totals.completed + w->totals.killed + w->totals.failed + live)
		return "the number of jobs that arrived is not the sum of refused, ended, waiting and running jobs";
	return NULL;
}

const struct pool_alloc **jobs_allocs(const struct orr_jobs *w, size_t *n)
{
	const struct pool_alloc **allocs = mem_alloc((w->slots.n_running + 1) * sizeof *allocs);
	for (uint32_t i = 0; i < w->slots.n_running; i++)
		allocs[i] = &w->slots.job[w->slots.running[i]].alloc;
	*n = w->slots.n_running;
	return allocs;
}

void check_state(struct orr_jobs *w)
{
	const char *wrong = NULL;
	if (w->owns_host) { /* otherwise only the pool's owner has all allocations */
		size_t n;
		const struct pool_alloc **allocs = jobs_allocs(w, &n);
		wrong = pool_check(w->pool, allocs, n);
		mem_free(allocs);
	}
	for (uint32_t i = 0; !wrong && i < w->slots.n_running; i++)
		wrong = group_check(w, &w->slots.job[w->slots.running[i]]);
	/* If many jobs wait, only some decisions check the list of live jobs. */
	if (!wrong && w->measures.checks++ % (w->slots.live / 1024 + 1) == 0) {
		wrong = wrong_lists(w);
		wrong = wrong ? wrong : victims_check(w);
	}
	if (!wrong && w->flows)
		flows_check(w, false);
	if (!wrong)
		wrong = quota_check(w);
	if (!wrong)
		wrong = quota_view_check(w);
	if (!wrong)
		wrong = limits_check(w);
	if (!wrong)
		wrong = bill_check(w, false);
	if (wrong)
		world_fail(w, ORR_EFAIL, NULL, "conservation: %s", wrong);
}

/* A completed job has done exactly the requested work, in ns, regardless of its rates. If its rate was always 1, its run time is that work
 * plus its start costs. */
static void check_work(struct orr_jobs *w, const struct job *job)
{
	if (job->how != ORR_END_COMPLETED)
		return;
	if (job->work.booked != job->work.asked)
		world_fail(w, ORR_EFAIL, job, "conservation: did %lld ns of work, requested %lld ns", (long long)job->work.booked,
			(long long)job->work.asked);
	if (!job->work.was_scaled && job->attained != job->work.asked + job->work.overhead)
		world_fail(w, ORR_EFAIL, job, "conservation: ran %lld ns, requested %lld ns plus %lld ns of start cost",
			(long long)job->attained, (long long)job->work.asked, (long long)job->work.overhead);
}

void check_ended(struct orr_jobs *w)
{
	for (uint32_t i = 0; i < w->slots.n_ended; i++)
		check_work(w, &w->slots.job[w->slots.ended[i]]);
}

void check_end(struct orr_jobs *w)
{
	const char *wrong = wrong_lists(w);
	if (!wrong)
		wrong = bill_check(w, true);
	if (wrong)
		world_fail(w, ORR_EFAIL, NULL, "conservation: %s", wrong);
	if (w->flows)
		flows_check(w, true);
	metrics_settle(w);
	if (w->measures.line->busy.total != w->totals.job_milli_ns)
		world_fail(w, ORR_EFAIL, NULL, "conservation: the integral of GPUs in use differs from the GPU-time of the jobs");
}
