/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * jobs_study.h - a scenario of the jobs world carried out: its policies in parallel on
 * one trace, runs stored or reused, results reported
 */
#ifndef ORR_CLI_JOBS_STUDY_H
#define ORR_CLI_JOBS_STUDY_H

#include "cli/scenario.h"

struct study_output {
	const char *db, *out_dir; /* NULL: none */
	bool json, check, quiet, fresh;
	bool no_figures;
	int threads; /* 0: as many as there are */
};

int jobs_study(const cJSON *scenario, const struct study_output *o, struct orr_error *err);

#endif
