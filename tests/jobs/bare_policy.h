/* SPDX-License-Identifier: GPL-3.0-or-later */
/* bare_policy.h - the calls of a jobs policy without state, for tests whose policy has only a schedule() (included once by each) */
#ifndef ORR_TESTS_BARE_POLICY_H
#define ORR_TESTS_BARE_POLICY_H

#include <orrery/jobs.h>

static void *bare_create(struct orr_jobs *w, const struct orr_args *args, struct orr_error *e)
{
	static int self;
	(void)w, (void)args, (void)e;
	return &self;
}

static void bare_destroy(void *self)
{
	(void)self;
}

/* For arrive and evict. */
static void bare_job(void *self, struct orr_jobs *w, orr_job j)
{
	(void)self, (void)w, (void)j;
}

static void bare_finish(void *self, struct orr_jobs *w, orr_job j, enum orr_job_end how)
{
	(void)self, (void)w, (void)j, (void)how;
}

#define BARE_POLICY .create = bare_create, .destroy = bare_destroy, .arrive = bare_job, .finish = bare_finish

#endif
