/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A policy of the world of serving that misbehaves: see modes.h. */
#define _GNU_SOURCE
#include <orrery/serve.h>

#define MODES_FIELDS struct orr_fifo fifo;
#include "modes.h"

static void *create(struct orr_serve *w, const struct orr_args *args, struct orr_error *err)
{
	(void)w, (void)err;
	return begin(args);
}

static void destroy(void *self)
{
	struct state *s = self;
	bool again = is(s, "qfree2");
	if (!end(s))
		return;
	orr_free(s);
	if (again)
		orr_free(s);
}

static void arrive(void *self, struct orr_serve *w, orr_req r)
{
	struct state *s = self;
	within(s, "arrive");
	orr_fifo_push(w, &s->fifo, r);
	if (is(s, "add-twice"))
		orr_fifo_push(w, &s->fifo, r);
	uint32_t idle = orr_replica_idle_from(w, 0);
	if (idle != ORR_NO_REPLICA)
		orr_wake(w, idle);
}

static void finish(void *self, struct orr_serve *w, orr_req r, enum orr_req_end how)
{
	(void)w, (void)r, (void)how;
	within(self, "finish");
}

static void schedule(void *self, struct orr_serve *w, uint32_t replica)
{
	struct state *s = self;
	mislead(s, w);
	if (is(s, "getbad"))
		orr_req_model(w, (orr_req)-1);
	if (is(s, "qbad"))
		orr_fifo_remove(w, &s->fifo, (orr_req)12345678);
	if (is(s, "qnull"))
		orr_fifo_push(w, NULL, s->fifo.first);
	if (is(s, "fmt"))
		orr_run_start(w, replica, (const struct orr_batch *)(size_t)16);
	if (!s->fifo.n || !orr_replica_is_idle(w, replica))
		return;
	orr_req r = orr_fifo_pop(w, &s->fifo);
	struct orr_batch batch = { .model = orr_req_model(w, r), .req = &r, .n = 1, .samples = orr_req_samples(w, r) };
	orr_assign(w, r, replica);
	orr_run_start(w, replica, &batch);
}

static const struct orr_serve_ops ops = { .create = create, .destroy = destroy, .arrive = arrive, .finish = finish, .schedule = schedule };
ORR_POLICY_SERVE(evil, "misbehaves", params, ops);
