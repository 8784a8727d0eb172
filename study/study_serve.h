/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * study_serve.h - the serving world as a study has it: policies on one trace of requests
 *
 * Everything in it is made by serve_study_open() and read-only after, so that threads may run policies side by side.
 */
#ifndef ORR_CLI_STUDY_SERVE_H
#define ORR_CLI_STUDY_SERVE_H

#include "study/scenario_serve.h"
#include "study/study.h"

struct serve_study {
	struct serve_scenario s;
	const struct study_output *o;
	const struct device *device[CLUSTER_MAX_TYPES];
	const struct profile *profile[CLUSTER_MAX_TYPES];
	struct serve_config config;
};

/* NULL on error. o must outlive it. */
struct serve_study *serve_study_open(const cJSON *scenario, const struct study_output *o, struct orr_error *err);
void serve_study_close(struct serve_study *t);
/* Replication k of policy i with arrival times divided by factor, and up to `rows` rows of requests. */
int serve_study_at(
	const struct serve_study *t, size_t i, uint32_t k, double factor, uint64_t rows, struct run_result *r, struct orr_error *err);

#endif
