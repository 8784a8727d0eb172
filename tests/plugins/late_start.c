/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Starts each job `delay` after its submission, in order; says=true: states the reason (tests/jobs/explain.sh). */
#include <orrery/jobs.h>

static const struct orr_param params[] = { ORR_PARAM_TIME("delay", "5s", "time from submission to start"),
	ORR_PARAM_BOOL("says", false, "state the reason"), ORR_PARAM_END };

struct late {
	struct orr_queue *waiting;
	int64_t delay;
	bool says;
};

static void *create(struct orr_jobs *w, const struct orr_args *args, struct orr_error *err)
{
	(void)err;
	struct late *s = orr_alloc(1, sizeof *s);
	s->waiting = orr_queue_new(w);
	s->delay = orr_arg_time_ns(args, "delay");
	s->says = orr_arg_bool(args, "says");
	return s;
}

static void destroy(void *self)
{
	orr_queue_free(((struct late *)self)->waiting);
	orr_free(self);
}

static void arrive(void *self, struct orr_jobs *w, orr_job j)
{
	struct late *s = self;
	orr_queue_add(s->waiting, j, orr_job_submit_ns(w, j), 0);
	orr_timer(w, orr_job_submit_ns(w, j) + s->delay);
}

static void finish(void *self, struct orr_jobs *w, orr_job j, enum orr_job_end how)
{
	(void)self, (void)w, (void)j, (void)how;
}

static void schedule(void *self, struct orr_jobs *w)
{
	struct late *s = self;
	orr_job j;
	while ((j = orr_queue_first(s->waiting)) && orr_job_submit_ns(w, j) + s->delay <= orr_now(w) && orr_try_start(w, j))
		orr_queue_remove(s->waiting, j);
	if (s->says)
		orr_why(w, ORR_WHY_HELD, 0, "delay");
}

static const struct orr_jobs_ops ops = { .create = create, .destroy = destroy, .arrive = arrive, .finish = finish, .schedule = schedule };

ORR_POLICY_JOBS(late_start, "starts each job some time after its submission", params, ops);
