/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "jobs/calls.h"

#include "base/mem.h"
#include "jobs/quota_view.h"
#include "jobs/causes.h"
#include "jobs/limits.h"
#include "jobs/quota_set.h"
#include "jobs/quota.h"
#include "jobs/world.h"

enum { NO_JOB = -1 };

#define CALL(w, object, number, what, ...)                                                           \
	do {                                                                                         \
		(w)->policy.at = object;                                                             \
		uint64_t call = watch_enter((w)->policy.watch, #what, eng_now((w)->engine), number); \
		(w)->policy.ops->what((w)->policy.self[object], __VA_ARGS__);                        \
		watch_leave((w)->policy.watch, call);                                                \
	} while (0)

void calls_create(struct orr_jobs *w, const struct orr_args *args)
{
	struct policy_calls *p = &w->policy;
	p->n = w->quotas ? w->quotas->set->n : 1;
	p->self = mem_zalloc(p->n, sizeof *p->self);
	for (p->at = 0; p->at < p->n && !w->error.code; p->at++) {
		struct orr_error err = { 0 };
		uint64_t call = watch_enter(p->watch, "create", 0, (uint64_t)NO_JOB);
		p->self[p->at] = p->ops->create(w, args, &err);
		watch_leave(p->watch, call);
		if (!p->self[p->at])
			world_fail(w, err.code ? err.code : ORR_EINPUT, NULL, "%s",
				err.text[0] ? err.text
					    : "create() returned NULL without an error message: expected an object, or *err filled in");
	}
	p->at = 0;
}

void calls_destroy(struct orr_jobs *w)
{
	for (uint32_t i = 0; i < w->policy.n; i++) {
		if (!w->policy.self[i])
			continue;
		uint64_t call = watch_enter(w->policy.watch, "destroy", eng_now(w->engine), (uint64_t)NO_JOB);
		w->policy.ops->destroy(w->policy.self[i]);
		watch_leave(w->policy.watch, call);
	}
	mem_free(w->policy.self);
}

static void tell_arrived(struct orr_jobs *w, const struct job *job)
{
	if (w->quotas)
		quota_knows(w, job);
	CALL(w, job->partition, job->number, arrive, w, job_handle(w, slot_of(w, job)));
}

void calls_submit(struct orr_jobs *w, struct job *job)
{
	if (!w->limits || limits_admit(w, job))
		tell_arrived(w, job);
}

static void set_due(struct orr_jobs *w, uint32_t object)
{
	if (w->quotas)
		w->quotas->part[object].is_due = true;
}

void tell_evicted(struct orr_jobs *w, const struct job *job)
{
	uint64_t number = job->number;
	uint32_t object = job->partition;
	set_due(w, object);
	orr_job j = job_handle(w, slot_of(w, job));
	if (w->policy.ops->evict) {
		CALL(w, object, number, evict, w, j);
	} else {
		CALL(w, object, number, finish, w, j, ORR_END_NODE_FAILED);
		CALL(w, object, number, arrive, w, j);
	}
}

void tell_ended(struct orr_jobs *w)
{
	while (w->slots.n_told < w->slots.n_ended) {
		uint32_t slot = w->slots.ended[w->slots.n_told++];
		const struct job *job = &w->slots.job[slot];
		if (job->is_held)
			continue;
		CALL(w, job->partition, job->number, finish, w, job_handle(w, slot), (enum orr_job_end)job->how);
		set_due(w, job->partition);
	}
}

/* Tells the policies of jobs that were stopped for another partition. Returns whether there were any. */
static bool tell_lost(struct orr_jobs *w)
{
	struct quotas *q = w->quotas;
	uint32_t n = q->n_lost;
	for (uint32_t i = 0; i < n; i++) {
		const struct job *job = job_of(w, q->lost[i]);
		if (job && job->state == ORR_JOB_WAITING)
			tell_evicted(w, job);
	}
	q->n_lost = 0;
	return n > 0;
}

/* Returns whether the policy of a partition has to be called: for its own jobs and timers, or because other GPUs are free for it. In the
 * second case sets *has_capacity. */
static bool is_part_due(struct orr_jobs *w, uint32_t object, bool *has_capacity)
{
	struct quota_part *part = &w->quotas->part[object];
	if (!part->live)
		return false;
	w->policy.at = object;
	uint64_t gpus = quota_digest(w, object, w->config->cluster->n_types > 1 ? quota_view_sums(w) : NULL);
	uint64_t of_others = w->slots.given - part->given;
	*has_capacity |= gpus != part->told || (part->is_blocked && of_others != part->told_of);
	part->told = gpus;
	part->told_of = of_others;
	bool is_due = part->is_due || *has_capacity;
	part->is_due = false;
	part->is_blocked &= !*has_capacity;
	return is_due;
}

/* Calls schedule() of one object. */
static void schedule(struct orr_jobs *w, uint32_t object, bool has_capacity)
{
	struct policy_calls *p = &w->policy;
	if (w->quotas && !is_part_due(w, object, &has_capacity))
		return;
	if (has_capacity && p->ops->capacity)
		CALL(w, object, (uint64_t)NO_JOB, capacity, w);
	p->is_acting = true;
	CALL(w, object, (uint64_t)NO_JOB, schedule, w);
	p->is_acting = false;
	p->is_due |= w->quotas && tell_lost(w);
}

bool calls_schedule(struct orr_jobs *w)
{
	struct policy_calls *p = &w->policy;
	int64_t now = eng_now(w->engine);
	p->calls_now = p->last_call == now ? p->calls_now + 1 : 1;
	p->last_call = now;
	if (p->calls_now > w->options.max_calls) {
		world_fail(w, ORR_EFAIL, job_of(w, p->last_acted),
			"schedule() still acts after %lld calls at this instant: expected at most jobs.max_calls_per_instant",
			(long long)w->options.max_calls);
		return false;
	}
	for (struct job *job; w->limits && (job = limits_next(w));) {
		causes_admitted(w, job);
		tell_arrived(w, job);
	}
	p->is_due = false;
	bool has_capacity = p->capacity_changed;
	uint64_t given = w->slots.given;
	p->capacity_changed = false;
	if (w->quotas)
		quota_sort(w);
	for (uint32_t i = 0; i < p->n && !w->is_over; i++)
		schedule(w, w->quotas ? w->quotas->order[i] : i, has_capacity);
	/* GPUs that one partition released may be useful to the partitions before it. */
	p->is_due |= p->n > 1 && w->slots.given != given && p->calls_now == 1;
	if (w->config->check)
		check_state(w);
	return !w->is_over;
}
