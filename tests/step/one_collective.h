/* SPDX-License-Identifier: GPL-3.0-or-later */
/* one_collective.h - the time of one collective in the step world, for unit tests of collectives (included once by each) */
#ifndef ORR_TESTS_STEP_ONE_COLLECTIVE_H
#define ORR_TESTS_STEP_ONE_COLLECTIVE_H

#include "tests/step/step_fixture.h"
#include "tests/tap.h"

#include "base/mem.h"
#include "hwmodel/profile.h"

#include <math.h>
#include <string.h>

static struct orr_collective what;
static uint32_t member[64], members;
static const struct profile *profile;                                    /* profile of the device, or NULL */
static void (*look)(const struct fixture *, const struct step_result *); /* called with the result and its use of links; NULL: no call */

static void *create(struct orr_step *s, const struct orr_args *a, struct orr_error *err)
{
	(void)s, (void)a, (void)err;
	return mem_zalloc(1, 1);
}

static int build(void *self, struct orr_step *s, uint64_t k, struct orr_error *err)
{
	static orr_op before;
	(void)self, (void)err;
	orr_op op = orr_collective(s, &(struct orr_group){ member, members }, &what);
	orr_after(s, op, k ? before : 0);
	before = op;
	return ORR_OK;
}

static const struct orr_param no_params[] = { ORR_PARAM_END };
static const struct orr_step_ops ops = { .create = create, .destroy = mem_free, .build = build };
static const struct orr_policy policy = { ORR_ABI_VERSION, sizeof policy, "one", "", "step", 0, no_params, &ops, sizeof ops };

/* Returns the seconds of one collective among n devices: every `stride`-th of the first n * stride. */
static double time_of(
	const char *cluster, const char *network, const char *set, enum orr_collective_op op, uint32_t n, uint32_t stride, double bytes)
{
	struct fixture *f = fixture_new(cluster, network, "lenet5", 1);
	struct step_result r;
	struct orr_error e = { 0 };
	if (profile) {
		struct cost_options o = { .precision = PRECISION_FP32, .profile = profile };
		cost_free(f->cost[0]);
		f->cost[0] = cost_new(f->dnn, f->device[0], &o, &e);
	}
	char *text = mem_strdup(set), *save = NULL;
	for (char *p = strtok_r(text, " ", &save); p; p = strtok_r(NULL, " ", &save))
		fixture_set(f, p);
	mem_free(text);
	what = (struct orr_collective){ .op = op, .bytes = bytes };
	members = n;
	for (uint32_t i = 0; i < n; i++)
		member[i] = i * stride;
	double s = NAN;
	f->config.link_use = look != NULL;
	if (fixture_run(f, &policy, "", &r, &e)) {
		printf("# %s\n", e.text);
	} else {
		s = r.iteration_s;
		if (look)
			look(f, &r);
		step_result_free(&r);
	}
	fixture_free(f);
	return s;
}

#endif
