/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A policy of the world of training steps that misbehaves: see modes.h. */
#define _GNU_SOURCE
#include <orrery/step.h>

#define MODES_FIELDS orr_op op;
#include "modes.h"

static void *create(struct orr_step *w, const struct orr_args *args, struct orr_error *err)
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

static int build(void *self, struct orr_step *w, uint64_t iteration, struct orr_error *err)
{
	struct state *s = self;
	uint32_t gpu[] = { 0, is(s, "add-twice") ? 0 : 1 };
	struct orr_group pair = { gpu, 2 };
	struct orr_collective c = { .op = ORR_ALL_REDUCE, .bytes = 1e6 };
	(void)iteration, (void)err;
	within(s, "arrive");
	mislead(s, w);
	orr_op op = orr_compute(w, 0, ORR_FORWARD, 0.01), sum = orr_collective(w, &pair, &c);
	orr_after(w, op, s->op);
	orr_after(w, sum, op);
	if (is(s, "getbad"))
		orr_after(w, sum, (orr_op)-1);
	if (is(s, "qbad"))
		orr_on_stream(w, (orr_op)12345678, 1);
	if (is(s, "qnull"))
		orr_collective(w, NULL, &c);
	if (is(s, "fmt"))
		orr_label(w, op, directives);
	s->op = sum;
	return 0;
}

static void describe(void *self, char *out, size_t size)
{
	within(self, "finish");
	snprintf(out, size, "two GPUs");
}

static const struct orr_step_ops ops = { .create = create, .destroy = destroy, .build = build, .describe = describe };
ORR_POLICY_STEP(evil, "misbehaves", params, ops);
