/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * script_run.h - runs a trace, given as text, with --check under a policy that is a function of the test
 *
 * Jobs and their ends are recorded. A test may change the configuration, read the result before its names are freed, or replace
 * jobs_run().
 */
#ifndef ORR_TESTS_SCRIPT_RUN_H
#define ORR_TESTS_SCRIPT_RUN_H

#include "base/param.h"
#include "jobs/world.h"
#include "tests/tap.h"
#include "traces/trace.h"

#include <stdlib.h>
#include <unistd.h>

static void (*act)(struct orr_jobs *w, double now);
static orr_job job[8]; /* by number */
static uint32_t n_jobs, evicted;
static struct orr_error err;
static unsigned flags;
static char ends[256]; /* "NUMBER:TIME " for each end of a job; "!" marks a job that did not complete */

/* Hooks of a test; NULL: none. */
static void (*adjust)(struct jobs_config *c);
static void (*inspect)(const struct run_result *r);
static int (*runner)(const struct jobs_config *c, const struct orr_policy *p, struct run_result *r, struct jobs_blocks *blocks);

static void *create(struct orr_jobs *w, const struct orr_args *args, struct orr_error *e)
{
	(void)w, (void)args, (void)e;
	n_jobs = evicted = 0;
	ends[0] = '\0';
	return &n_jobs;
}

static void destroy(void *self)
{
	(void)self;
}

static void arrive(void *self, struct orr_jobs *w, orr_job j)
{
	(void)self, (void)w;
	job[n_jobs++ % 8] = j;
}

static void finish(void *self, struct orr_jobs *w, orr_job j, enum orr_job_end how)
{
	size_t n = strlen(ends);
	(void)self;
	snprintf(ends + n, sizeof ends - n, "%llu%c%g ", (unsigned long long)orr_job_number(w, j), how == ORR_END_COMPLETED ? ':' : '!',
		(double)orr_now(w) / 1e9);
}

static void evict(void *self, struct orr_jobs *w, orr_job j)
{
	(void)self, (void)w, (void)j;
	evicted++;
}

static void schedule(void *self, struct orr_jobs *w)
{
	(void)self;
	act(w, (double)orr_now(w) / 1e9);
}

static const struct orr_param no_params[] = { ORR_PARAM_END };
static const struct orr_jobs_ops ops = {
	.create = create, .destroy = destroy, .arrive = arrive, .finish = finish, .evict = evict, .schedule = schedule
};

/* Returns the result, which the caller frees, or NULL with err filled in. settings: "name=value name=value" of jobs_options. */
static struct run_result *go(
	void (*what)(struct orr_jobs *, double), const char *csv, const char *nodes, const char *settings, double until_s)
{
	static struct jobs_blocks blocks;
	const struct orr_policy policy = { ORR_ABI_VERSION, sizeof policy, "script", "of a test", "jobs", flags, no_params, &ops,
		sizeof ops };
	char path[] = "/tmp/orrery-script.XXXXXX", text[256], *save = NULL;
	int fd = mkstemp(path);
	FILE *f = fdopen(fd, "w");
	fputs(csv, f);
	fclose(f);
	err = (struct orr_error){ 0 };
	struct run_result *r = result_new();
	struct orr_args *options = args_new(jobs_options, "jobs", &err);
	struct cluster *c = cluster_load(nodes, &err);
	struct jobset *jobs = jobset_load(path, "orrery", NULL, 1, &err);
	unlink(path);
	snprintf(text, sizeof text, "%s", settings);
	for (char *pair = strtok_r(text, " ", &save); pair; pair = strtok_r(NULL, " ", &save))
		args_set_pair(options, pair, &err);
	struct jobs_config config = { .jobs = jobs,
		.cluster = c,
		.placement = placement_find("consolidate"),
		.options = options,
		.until_ns = until_s > 0 ? (int64_t)(until_s * 1e9) : ORR_NEVER,
		.check = true,
		.record_jobs = true,
		.max_rows = 100000,
		.policy_timeout_s = 60 };
	act = what;
	if (adjust)
		adjust(&config);
	bool is_good = c && jobs && !err.code;
	if (is_good)
		is_good = runner ? !runner(&config, &policy, r, &blocks) : !jobs_run(&config, &policy, NULL, "script", r, &blocks, &err);
	if (is_good && inspect)
		inspect(r);
	for (size_t i = 0; i < r->n_jobs; i++)
		r->jobs[i].job_id = r->jobs[i].user = r->jobs[i].queue = r->jobs[i].model = NULL;
	jobset_free(jobs);
	cluster_free(c);
	args_free(options);
	if (is_good)
		return r;
	result_free(r);
	return NULL;
}

__attribute__((unused)) static void expect(const struct run_result *r, const char *name, double want)
{
	const struct metric *m = r ? result_find(r, name) : NULL;
	double got = m ? m->value : NAN;
	ok(isnan(want) ? isnan(got) : fabs(got - want) <= 1e-9 * fmax(1, fabs(want)), "%s is %.10g (%.10g)", name, want, got);
}

__attribute__((unused)) static void start_all(struct orr_jobs *w, double now)
{
	(void)now;
	for (orr_job j = orr_job_first(w), next; j; j = next) {
		next = orr_job_next(w, j);
		if (!orr_job_is_running(w, j))
			orr_try_start(w, j);
	}
}

#endif
