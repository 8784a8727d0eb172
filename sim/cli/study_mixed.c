/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Jobs and serving on one cluster, as a study has them: pairs of policies. */
#include "cli/scenario_mixed.h"
#include "cli/study.h"
#include "cli/study_jobs.h"
#include "cli/study_serve.h"

#include "base/mem.h"
#include "mixed/mixed.h"

#include <stdio.h>

struct mixed_study {
	struct mixed_scenario m;
	struct jobs_study *jobs;
	struct serve_study *serve;
	const struct study_output *o;
};

static void close_mixed(void *world)
{
	struct mixed_study *t = world;
	mixed_scenario_free(&t->m);
	if (t->jobs)
		jobs_study_close(t->jobs);
	if (t->serve)
		serve_study_close(t->serve);
	mem_free(t);
}

static struct mixed_study *open_study(const cJSON *scenario, const struct study_output *o, struct orr_error *err)
{
	struct mixed_study *t = mem_zalloc(1, sizeof *t);
	t->o = o;
	int rc = mixed_scenario_resolve(scenario, &t->m, err);
	if (!rc && !(t->jobs = jobs_study_open(t->m.of_jobs, o, err)))
		rc = err->code;
	if (!rc && !(t->serve = serve_study_open(t->m.of_serve, o, err)))
		rc = err->code;
	if (!rc && t->serve->s.replications > 1)
		rc = orr_fail(err, ORR_EINPUT, "scenario: $.serve.replications: expected 1 in a mixed world; repeat it with other seeds");
	if (!rc) {
		mixed_scenario_join(&t->m, &t->jobs->s, &t->serve->s);
		return t;
	}
	close_mixed(t);
	return NULL;
}

static void *open_mixed(const cJSON *scenario, const struct study_output *o, struct scenario **base, struct orr_error *err)
{
	struct mixed_study *t = open_study(scenario, o, err);
	if (t)
		*base = &t->m.base;
	return t;
}

static void run_mixed(void *world, size_t i, struct run_result *r, study_progress progress, void *ctx, struct orr_error *err)
{
	struct mixed_study *t = world;
	const struct scenario_policy *jobs = &t->jobs->s.base.policy[i], *serve = &t->serve->s.base.policy[i];
	struct mixed_config c = { .jobs = t->jobs->config,
		.serve = t->serve->config,
		.jobs_policy = jobs->entry.policy,
		.serve_policy = serve->entry.policy,
		.jobs_args = jobs->args,
		.serve_args = serve->args,
		.cluster = t->m.base.cluster,
		.placement = t->jobs->s.placement,
		.failures = t->m.failures,
		.serve_first = t->m.serve_first,
		.usd_per_gpu_hour = t->serve->config.usd_per_gpu_hour,
		.seed = t->m.base.seed,
		.until_ns = t->m.until_ns,
		.check = t->o->check };
	c.progress = progress;
	c.progress_ctx = ctx;
	if (!mixed_run(&c, jobs->label, r, err) && t->serve->s.price_note)
		result_note(r, "prices", t->serve->s.price_note);
}

static int finish_mixed(void *world, struct run_result *const *runs, size_t n, struct orr_error *err)
{
	(void)world, (void)runs, (void)n, (void)err;
	return ORR_OK;
}

static char *show_mixed(const cJSON *scenario, struct orr_error *err)
{
	static const struct study_output quietly = { .quiet = true };
	struct mixed_study *t = open_study(scenario, &quietly, err);
	char *text = t ? scenario_show(&t->m.base) : NULL;
	if (t)
		close_mixed(t);
	return text;
}

const struct study_world study_mixed_world = { .name = "mixed",
	.kind = SCENARIO_MIXED,
	.source = "trace",
	.show = show_mixed,
	.open = open_mixed,
	.run = run_mixed,
	.finish = finish_mixed,
	.close = close_mixed };
