/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A policy of the world of jobs that misbehaves: see modes.h. */
#define _GNU_SOURCE
#include <orrery/jobs.h>

#define MODES_FIELDS struct orr_queue *queue;
#include "modes.h"

static void *create(struct orr_jobs *w, const struct orr_args *args, struct orr_error *err)
{
	struct state *s = begin(args);
	(void)err;
	s->queue = orr_queue_new(w);
	return s;
}

static void destroy(void *self)
{
	struct state *s = self;
	if (!end(s))
		return;
	orr_queue_free(s->queue);
	if (is(s, "qfree2"))
		orr_queue_free(s->queue);
	orr_free(s);
}

static void arrive(void *self, struct orr_jobs *w, orr_job j)
{
	struct state *s = self;
	within(s, "arrive");
	orr_queue_add(s->queue, j, (int64_t)orr_job_number(w, j), 0);
	if (is(s, "add-twice"))
		orr_queue_add(s->queue, j, (int64_t)orr_job_number(w, j), 0);
}

static void finish(void *self, struct orr_jobs *w, orr_job j, enum orr_job_end how)
{
	struct state *s = self;
	(void)w, (void)how;
	within(s, "finish");
	orr_queue_remove(s->queue, j);
}

static void schedule(void *self, struct orr_jobs *w)
{
	struct state *s = self;
	mislead(s, w);
	if (is(s, "getbad"))
		orr_job_number(w, (orr_job)-1);
	if (is(s, "qbad"))
		orr_queue_remove(s->queue, (orr_job)12345678);
	if (is(s, "qnull"))
		orr_queue_add(NULL, 1, 0, 0);
	if (is(s, "fmt"))
		orr_give_up(w, 0, directives);
	for (orr_job j; (j = orr_queue_first(s->queue)) && orr_try_start(w, j);)
		orr_queue_remove(s->queue, j);
}

static const struct orr_jobs_ops ops = { .create = create, .destroy = destroy, .arrive = arrive, .finish = finish, .schedule = schedule };
ORR_POLICY_JOBS(evil, "misbehaves", params, ops);
