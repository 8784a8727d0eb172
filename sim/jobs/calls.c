/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "jobs/calls.h"

#include "jobs/world.h"

enum { NO_JOB = -1 };

#define CALL(w, number, what, ...)                                                                   \
	do {                                                                                         \
		uint64_t call = watch_enter((w)->policy.watch, #what, eng_now((w)->engine), number); \
		(w)->policy.ops->what(__VA_ARGS__);                                                  \
		watch_leave((w)->policy.watch, call);                                                \
	} while (0)

void calls_create(struct orr_jobs *w, const struct orr_args *args)
{
	struct orr_error err = { 0 };
	uint64_t call = watch_enter(w->policy.watch, "create", 0, (uint64_t)NO_JOB);
	w->policy.self = w->policy.ops->create(w, args, &err);
	watch_leave(w->policy.watch, call);
	if (!w->policy.self)
		world_fail(w, err.code ? err.code : ORR_EINPUT, NULL, "%s",
			err.text[0] ? err.text : "create() returned NULL without an error message: expected an object, or *err filled in");
}

void calls_destroy(struct orr_jobs *w)
{
	if (w->policy.self)
		CALL(w, (uint64_t)NO_JOB, destroy, w->policy.self);
}

void tell_arrived(struct orr_jobs *w, const struct job *job)
{
	CALL(w, job->number, arrive, w->policy.self, w, job_handle(w, slot_of(w, job)));
}

void tell_evicted(struct orr_jobs *w, const struct job *job)
{
	uint64_t number = job->number;
	orr_job j = job_handle(w, slot_of(w, job));
	if (w->policy.ops->evict) {
		CALL(w, number, evict, w->policy.self, w, j);
	} else {
		CALL(w, number, finish, w->policy.self, w, j, ORR_END_NODE_FAILED);
		CALL(w, number, arrive, w->policy.self, w, j);
	}
}

void tell_ended(struct orr_jobs *w)
{
	while (w->slots.n_told < w->slots.n_ended) {
		uint32_t slot = w->slots.ended[w->slots.n_told++];
		const struct job *job = &w->slots.job[slot];
		CALL(w, job->number, finish, w->policy.self, w, job_handle(w, slot), (enum orr_job_end)job->how);
	}
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
	p->is_due = false;
	if (p->capacity_changed && p->ops->capacity)
		CALL(w, (uint64_t)NO_JOB, capacity, p->self, w);
	p->capacity_changed = false;
	p->is_acting = true;
	CALL(w, (uint64_t)NO_JOB, schedule, p->self, w);
	p->is_acting = false;
	if (w->config->check)
		check_state(w);
	return !w->is_over;
}
