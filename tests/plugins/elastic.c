/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Starts elastic jobs on one GPU and, after six seconds, resizes them to four if they fit (tests/jobs/jobs_life.sh). */
#include <orrery/jobs.h>

static const struct orr_param params[] = { ORR_PARAM_END };

struct state {
	struct orr_queue *waiting;
};

static void *create(struct orr_jobs *w, const struct orr_args *args, struct orr_error *err)
{
	(void)args, (void)err;
	struct state *s = orr_alloc(1, sizeof *s);
	s->waiting = orr_queue_new(w);
	return s;
}

static void destroy(void *self)
{
	orr_queue_free(((struct state *)self)->waiting);
	orr_free(self);
}

static void arrive(void *self, struct orr_jobs *w, orr_job j)
{
	orr_queue_add(((struct state *)self)->waiting, j, (int64_t)orr_job_number(w, j), 0);
	orr_timer(w, orr_job_submit_ns(w, j) + 6 * ORR_SECOND);
}

static void finish(void *self, struct orr_jobs *w, orr_job j, enum orr_job_end how)
{
	(void)self, (void)w, (void)j, (void)how;
}

static void schedule(void *self, struct orr_jobs *w)
{
	struct state *s = self;
	struct orr_job_info info;
	for (orr_job j = orr_job_first(w); j; j = orr_job_next(w, j)) {
		if (!orr_job_get(w, j, &info))
			continue;
		if (info.state == ORR_JOB_RUNNING && info.is_elastic && info.gpus_held == 1 &&
			orr_now(w) == info.submit_ns + 6 * ORR_SECOND && orr_job_rate_at(w, j, 4) > 0)
			orr_resize(w, j, 4);
	}
	orr_job j;
	while ((j = orr_queue_first(s->waiting))) {
		bool is_started = orr_job_get(w, j, &info) && info.is_elastic ? orr_try_start_sized(w, j, 1) : orr_try_start(w, j);
		if (!is_started)
			break;
		orr_queue_remove(s->waiting, j);
	}
}

static const struct orr_jobs_ops ops = { .create = create, .destroy = destroy, .arrive = arrive, .finish = finish, .schedule = schedule };

ORR_POLICY_JOBS(elastic, "one GPU at first, four after six seconds", params, ops);
