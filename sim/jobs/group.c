/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "jobs/group.h"

#include "base/num.h"
#include "jobs/interference.h"
#include "jobs/tenants.h"
#include "jobs/world.h"

uint32_t group_of(const struct orr_jobs *w, struct job *job, struct job *member[ORR_MOST_SHARING])
{
	uint32_t n = 0;
	member[n++] = job;
	for (uint32_t i = job->mate; i != NONE && &w->slots.job[i] != job && n < ORR_MOST_SHARING; i = w->slots.job[i].mate)
		member[n++] = &w->slots.job[i];
	return n;
}

static void set_sharers(const struct orr_jobs *w, struct job *job, uint32_t n)
{
	struct job *member[ORR_MOST_SHARING];
	uint32_t of = group_of(w, job, member);
	for (uint32_t i = 0; i < of; i++)
		member[i]->sharers = n;
}

void group_join(struct orr_jobs *w, struct job *job, struct job *with)
{
	uint32_t n = with->sharers + 1;
	job->mate = with->mate == NONE ? slot_of(w, with) : with->mate;
	with->mate = slot_of(w, job);
	set_sharers(w, job, n);
}

void group_leave(struct orr_jobs *w, struct job *job)
{
	if (job->mate == NONE)
		return;
	struct job *next = &w->slots.job[job->mate], *last = next;
	while (last->mate != slot_of(w, job))
		last = &w->slots.job[last->mate];
	if (!job->alloc.is_beside)
		pool_pass(&job->alloc, &next->alloc);
	last->mate = last == next ? NONE : job->mate;
	set_sharers(w, next, job->sharers - 1);
	job->mate = NONE;
	job->sharers = 1;
}

double group_factor(struct orr_jobs *w, struct job *job)
{
	struct job *member[ORR_MOST_SHARING];
	if (job->sharers == 1)
		return job->slice;
	return interference_rate(w, member, group_of(w, job, member), 0, job->alloc.type) * job->slice;
}

void group_book(struct orr_jobs *w, struct job *job)
{
	int64_t now = eng_now(w->engine), begin = num_add_sat(job->last_start, job->start_cost);
	int64_t from = job->booked_from > begin ? job->booked_from : begin;
	job->progress_gpu_ns += now > from ? (double)(now - from) * (double)job->milli / 1000 : 0;
	timeline_sum milli_ns = (timeline_sum)(uint64_t)(now - job->booked_from) * (uint64_t)job->milli;
	job->gpu_milli_ns += milli_ns;
	if (job->user)
		tenants_hold(w, job, (double)milli_ns);
	w->totals.job_milli_ns += milli_ns;
	job->booked_from = now;
	job->milli = gpu_milli_of(job, job->held);
}

static bool has_same_pieces(const struct pool_alloc *a, const struct pool_alloc *b)
{
	if (a->n != b->n || a->gpus != b->gpus || a->type != b->type)
		return false;
	const struct pool_piece *x = pool_pieces(a), *y = pool_pieces(b);
	for (uint32_t i = 0; i < a->n; i++)
		if (x[i].node != y[i].node || x[i].gpus != y[i].gpus || x[i].slot != POOL_WHOLE || y[i].slot != POOL_WHOLE)
			return false;
	return true;
}

const char *group_check(const struct orr_jobs *w, struct job *job)
{
	struct job *member[ORR_MOST_SHARING];
	uint32_t n = group_of(w, job, member), holders = 0;
	int64_t milli = 0;
	if (n != job->sharers || (n == 1 && job->mate != NONE))
		return "a group of jobs that share GPUs is not a ring of its members";
	for (uint32_t i = 0; i < n; i++) {
		const struct job *x = member[i];
		holders += !x->alloc.is_beside;
		milli += x->milli;
		if (x->state != ORR_JOB_RUNNING || x->sharers != n || x->held != job->held)
			return "a member of a group does not run on the group's GPUs";
		if (n > 1 && !has_same_pieces(&x->alloc, &job->alloc))
			return "members of a group run on different GPUs";
		if (n > 1 && !(x->work.rate > 0))
			return "a member of a group makes no progress";
	}
	if (holders != 1)
		return "the GPUs of a group are held by several members or by none";
	if (n > 1 && milli != 1000 * (int64_t)job->held)
		return "the parts of the GPUs of a group do not sum to its GPUs";
	return n > 1 && exceeds_memory(w, member, n, job->alloc.type) ? "a group uses more memory than its GPUs have" : NULL;
}
