/* SPDX-License-Identifier: GPL-3.0-or-later */
/* step_fixture.h - the inputs of one run of the step world, from three texts */
#ifndef ORR_TESTS_STEP_FIXTURE_H
#define ORR_TESTS_STEP_FIXTURE_H

#include "step/step.h"

struct fixture {
	struct cluster *cluster;
	struct topo *topo;
	struct dnn *dnn;
	struct device *device[CLUSTER_MAX_TYPES];
	struct cost *cost[CLUSTER_MAX_TYPES];
	struct orr_args *options;
	struct step_config config;
};

/* Ends the test program with a message on any error. */
struct fixture *fixture_new(const char *cluster, const char *network, const char *model, double batch);
void fixture_set(struct fixture *f, const char *pair); /* "iterations=5" */
void fixture_free(struct fixture *f);

/* Runs a policy with "name=value" settings, separated by blanks; returns the result code. */
int fixture_run(struct fixture *f, const struct orr_policy *p, const char *settings, struct step_result *out, struct orr_error *err);

#endif
