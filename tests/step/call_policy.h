/* SPDX-License-Identifier: GPL-3.0-or-later */
/* call_policy.h - a step policy whose calls are functions of the test (included once by each) */
#ifndef ORR_TESTS_STEP_CALL_POLICY_H
#define ORR_TESTS_STEP_CALL_POLICY_H

#include "tests/step/step_fixture.h"

#include "base/mem.h"

static void (*create_now)(struct orr_step *s); /* NULL: no call */
static void (*build_now)(struct orr_step *s);
static void (*ended_now)(struct orr_step *s, orr_op op); /* NULL: the policy has no ended() */

static void *create(struct orr_step *s, const struct orr_args *a, struct orr_error *err)
{
	(void)a, (void)err;
	if (create_now)
		create_now(s);
	return mem_zalloc(1, 1);
}

static int build(void *self, struct orr_step *s, uint64_t k, struct orr_error *err)
{
	(void)self, (void)err, (void)k;
	build_now(s);
	return ORR_OK;
}

static void ended(void *self, struct orr_step *s, orr_op op, struct orr_error *err)
{
	(void)self, (void)err;
	ended_now(s, op);
}

/* Returns the policy that makes the calls set above. */
static const struct orr_policy *call_policy(void)
{
	static const struct orr_param no_params[] = { ORR_PARAM_END };
	static const struct orr_step_ops plain = { .create = create, .destroy = mem_free, .build = build };
	static const struct orr_step_ops reacting = { .create = create, .destroy = mem_free, .build = build, .ended = ended };
	static struct orr_policy policy = { ORR_ABI_VERSION, sizeof policy, "test", "", "step", 0, no_params, NULL, sizeof plain };
	policy.ops = ended_now ? &reacting : &plain;
	return &policy;
}

#endif
