/* SPDX-License-Identifier: GPL-3.0-or-later */
/* calls.h - the policy of a run: its object, and the calls to it */
#ifndef ORR_JOBS_CALLS_H
#define ORR_JOBS_CALLS_H

#include <orrery/jobs.h>

#include "engine/watch.h"
#include "jobs/job.h"

struct policy_calls {
	const struct orr_policy *declared;
	const struct orr_jobs_ops *ops;
	void **self;    /* objects that create() returned: one, or one for each partition */
	uint32_t n, at; /* number of objects; index of the object that is being called */
	struct watch *watch;
	bool is_due;           /* schedule() is due */
	uint32_t timers;       /* number of pending timers */
	uint32_t futile;       /* number of instants in a row at which only timers could start a job, and none did */
	bool is_acting;        /* inside schedule() */
	bool capacity_changed; /* capacity() is due before schedule() */
	bool saw_truth;        /* the policy used true durations: the run is marked oracle */
	int64_t calls_now;     /* number of schedule() calls at this instant */
	int64_t last_call;
	orr_job last_acted; /* job of the policy's last action, for messages */
};

void calls_create(struct orr_jobs *w, const struct orr_args *args);
void calls_destroy(struct orr_jobs *w);
/* Tells the policy of a job that arrived, unless a limit of its user holds it back. */
void calls_submit(struct orr_jobs *w, struct job *job);
void tell_evicted(struct orr_jobs *w, const struct job *job);
/* Reports the jobs that ended since the last call. */
void tell_ended(struct orr_jobs *w);
/* Calls schedule(), preceded by capacity() if capacity changed. Returns false if the run is over. */
bool calls_schedule(struct orr_jobs *w);

#endif
