/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A policy of the world of spot capacity that misbehaves: see modes.h. */
#define _GNU_SOURCE
#include <orrery/spot.h>

#define MODES_FIELDS    \
	orr_inst owner; \
	bool is_up;
#include "modes.h"

static void *create(struct orr_spot *w, const struct orr_args *args, struct orr_error *err)
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

static void instance(void *self, struct orr_spot *w, orr_inst i, enum orr_inst_event event)
{
	struct state *s = self;
	(void)i;
	within(s, "arrive");
	if (event != ORR_INST_GONE || !s->is_up || !orr_ownerless(w))
		return;
	s->is_up = false;
	orr_steps_stop(w);
	orr_spot_count(w, "restarts", 1);
}

static void decide(void *self, struct orr_spot *w)
{
	struct state *s = self;
	struct orr_steps steps = { .step_ns = orr_step_time(w, 1, 1, ORR_STEP_PLAIN) };
	struct orr_inst_info info;
	mislead(s, w);
	if (is(s, "getbad"))
		orr_inst_get(w, (orr_inst)-1, &info);
	if (is(s, "qbad"))
		orr_layout(w, 1, 1, (const orr_inst[]){ 12345678 });
	if (is(s, "qnull"))
		orr_layout(w, 1, 1, NULL);
	if (is(s, "fmt"))
		orr_spot_event(w, "event", directives);
	if (s->is_up || !orr_inst_ready_list(w, &s->owner, 1))
		return;
	orr_layout(w, 1, 1, &s->owner);
	if (is(s, "add-twice"))
		orr_own(w, 0, 0, s->owner);
	orr_steps_run(w, &steps);
	s->is_up = true;
}

static void at_end(void *self, struct orr_spot *w)
{
	(void)w;
	within(self, "finish");
}

static const struct orr_spot_ops ops = { .create = create, .destroy = destroy, .instance = instance, .decide = decide, .end = at_end };
ORR_POLICY_SPOT(evil, "misbehaves", params, ops);
