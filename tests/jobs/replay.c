/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/jobs/replay.h"

#include "base/param.h"
#include "jobs/jobs.h"
#include "traces/trace.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct jobset *load(const char *csv, struct orr_error *err)
{
	char path[] = "/tmp/orrery-replay.XXXXXX";
	int fd = mkstemp(path);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "w");
	if (!f)
		return NULL;
	fputs(csv, f);
	fclose(f);
	struct jobset *jobs = jobset_load(path, "orrery", NULL, 1, err);
	unlink(path);
	return jobs;
}

static bool set_all(struct orr_args *args, const char *settings, struct orr_error *err)
{
	char text[512], *save = NULL;
	snprintf(text, sizeof text, "%s", settings);
	for (char *pair = strtok_r(text, " ", &save); pair; pair = strtok_r(NULL, " ", &save))
		if (args_set_pair(args, pair, err))
			return false;
	return true;
}

struct run_result *replay(const char *csv, const char *cluster, const char *placement, const struct orr_policy *policy,
	const char *settings, struct orr_error *err)
{
	static struct jobs_blocks blocks;
	struct run_result *r = result_new();
	struct orr_args *options = args_new(jobs_options, "jobs", err), *args = args_new(policy->params, "policy", err);
	struct cluster *c = cluster_load(cluster, err);
	struct jobset *jobs = load(csv, err);
	struct jobs_config config = { .jobs = jobs,
		.cluster = c,
		.placement = placement_find(placement),
		.options = options,
		.until_ns = ORR_NEVER,
		.check = true,
		.record_jobs = true,
		.max_rows = 100000,
		.policy_timeout_s = 60 };
	bool is_good = c && jobs && set_all(args, settings, err) && !jobs_run(&config, policy, args, "tested", r, &blocks, err);
	for (size_t i = 0; i < r->n_jobs; i++)
		r->jobs[i].job_id = r->jobs[i].user = r->jobs[i].queue = r->jobs[i].model = NULL;
	jobset_free(jobs);
	cluster_free(c);
	args_free(options);
	args_free(args);
	if (is_good)
		return r;
	result_free(r);
	return NULL;
}

bool replay_matches(const struct run_result *r, const double *start_s, const double *end_s, size_t n)
{
	bool is_good = r && r->n_jobs == n;
	for (size_t i = 0; r && i < r->n_jobs && i < n; i++) {
		double start = (double)r->jobs[i].start_ns / 1e9, end = (double)r->jobs[i].end_ns / 1e9;
		if (fabs(start - start_s[i]) < 1e-8 && fabs(end - end_s[i]) < 1e-8)
			continue;
		printf("# job %zu: %.9g to %.9g, expected %.9g to %.9g\n", i, start, end, start_s[i], end_s[i]);
		is_good = false;
	}
	return is_good;
}
