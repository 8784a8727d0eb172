/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Plan policy that makes the mistake named by its parameter. */
#include <orrery/plan.h>

#include <string.h>

static const struct orr_param params[] = {
	ORR_PARAM_CHOICE("fault", "none", "none|twice|left-out|memory|share|micro|nothing|error|silent|name|slow", "what it does wrong"),
	ORR_PARAM_END
};

static int search(struct orr_plan *p, const struct orr_args *args, struct orr_error *err)
{
	const char *fault = orr_arg_text(args, "fault");
	struct orr_plan_facts f;
	struct orr_plan_value v;
	orr_plan_facts(p, &f);
	uint32_t gpu[2] = { 0, strcmp(fault, "twice") ? 1 : 0 }, all = f.pieces, half = all / 2;
	double share[2] = { 0.5, 0.6 };
	struct orr_plan_stage stage[2] = { { 0, half, gpu, 1, 1, NULL }, { half, all - half, gpu + 1, 1, 1, NULL } };
	struct orr_plan_draft d = { .stages = 2, .stage = stage, .micro_batch = f.global_batch / 4 };
	if (!strcmp(fault, "left-out"))
		stage[1].first++, stage[1].count--;
	if (!strcmp(fault, "micro"))
		d.micro_batch = f.global_batch / 3.5;
	if (!strcmp(fault, "share")) {
		stage[0] = (struct orr_plan_stage){ 0, all, gpu, 2, 1, share };
		d.stages = 1;
	}
	if (!strcmp(fault, "error"))
		return orr_fail(err, ORR_EINPUT, "no search on Sundays");
	if (!strcmp(fault, "silent"))
		return 1;
	if (!strcmp(fault, "name"))
		orr_plan_put(p, "Own Metric", 1);
	while (!strcmp(fault, "slow") && orr_plan_goes_on(p))
		orr_plan_evaluate(p, &d, &v);
	if (!strcmp(fault, "memory"))
		orr_plan_choose(p, &d, 1);
	else if (strcmp(fault, "nothing") != 0)
		orr_plan_evaluate(p, &d, &v);
	return 0;
}

static const struct orr_plan_ops ops = { .search = search };

ORR_POLICY_PLAN(plan_hostile, "does one thing wrong", params, ops);
