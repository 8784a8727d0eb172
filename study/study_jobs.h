/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * study_jobs.h - the jobs world as a study has it: policies on one trace, compared job by job
 *
 * Everything but the blocks is made by jobs_study_open() and read-only after, so that threads may run policies side by side.
 */
#ifndef ORR_CLI_STUDY_JOBS_H
#define ORR_CLI_STUDY_JOBS_H

#include "study/scenario_jobs.h"
#include "study/study.h"

struct jobs_study {
	struct jobs_scenario s;
	const struct study_output *o;
	struct jobs_config config;
	struct jobs_blocks *blocks; /* by policy */
	bool *has_blocks;
};

/* NULL on error. o must outlive it. */
struct jobs_study *jobs_study_open(const cJSON *scenario, const struct study_output *o, struct orr_error *err);
void jobs_study_close(struct jobs_study *t);

#endif
