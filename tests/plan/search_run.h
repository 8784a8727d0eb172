/* SPDX-License-Identifier: GPL-3.0-or-later */
/* search_run.h - a run of the plan world whose search is a function of the test */
#ifndef ORR_TESTS_PLAN_SEARCH_RUN_H
#define ORR_TESTS_PLAN_SEARCH_RUN_H

#include "base/sbuf.h"
#include "world/scenario.h"

#include <orrery/plan.h>

#include <math.h>

static void (*search_now)(struct orr_plan *p);
static int returned; /* return value of the search */

static int search(struct orr_plan *p, const struct orr_args *args, struct orr_error *err)
{
	(void)args, (void)err;
	search_now(p);
	return returned;
}

static const struct orr_param params[] = { ORR_PARAM_END };
static const struct orr_plan_ops ops = { .search = search };

static struct run_result *result;
static struct orr_error said;
static double told[16]; /* progress */
static int n_told;

static void on_progress(void *ctx, double done)
{
	(void)ctx;
	if (n_told < 16)
		told[n_told++] = done;
}

/* Runs `s` as the search of `policy` on a scenario; the result and the error are in `result` and `said`. Frees the text. */
static void run_search(struct sbuf *scenario, const struct orr_policy *policy, void (*s)(struct orr_plan *))
{
	struct world_output o = { .quiet = true };
	result_free(result);
	result = result_new();
	said = (struct orr_error){ 0 };
	search_now = s;
	n_told = 0;
	cJSON *j = cJSON_Parse(scenario->text);
	struct scenario *x = scenario_open(j, &o, &said);
	if (x) {
		x->policy[0].entry.policy = policy;
		x->world->run(x, 0, 0, result, on_progress, NULL, &said);
	}
	scenario_close(x);
	cJSON_Delete(j);
	sbuf_free(scenario);
}

static inline double metric(const char *name)
{
	const struct metric *m = result_find(result, name);
	return m ? m->value : NAN;
}

#endif
