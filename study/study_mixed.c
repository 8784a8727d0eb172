/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Jobs and serving on one cluster, as a study has them: pairs of policies. */
#include "study/scenario_mixed.h"
#include "study/study.h"
#include "study/study_jobs.h"
#include "study/study_serve.h"

#include "base/mem.h"
#include "mixed/mixed.h"

#include <string.h>

struct mixed_study {
	struct mixed_scenario m;
	struct jobs_study *jobs;   /* NULL: no such world */
	struct serve_study *serve; /* likewise */
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

/* What is wrong with a half is wrong at $.jobs or $.serve of the whole. */
static int blame(const char *half, struct orr_error *err)
{
	static const char before[] = "scenario: ";
	if (strncmp(err->text, before, sizeof before - 1) != 0)
		return err->code;
	struct orr_error inner = *err;
	const char *text = inner.text + sizeof before - 1;
	bool has_place = !strncmp(text, "$.", 2);
	return orr_fail(err, inner.code, "%s$.%s%s%s", before, half, has_place ? "." : ": ", has_place ? text + 2 : text);
}

static int open_halves(struct mixed_study *t, const cJSON *scenario, struct orr_error *err)
{
	if (t->m.of_jobs && !(t->jobs = jobs_study_open(t->m.of_jobs, t->o, err)))
		return blame("jobs", err);
	if (!t->m.of_serve)
		return mixed_scenario_prices(scenario, &t->m, err);
	if (!(t->serve = serve_study_open(t->m.of_serve, t->o, err)))
		return blame("serve", err);
	if (t->serve->s.replications > 1)
		return orr_fail(err, ORR_EINPUT, "scenario: $.serve.replications: expected 1 in a mixed world; repeat it with other seeds");
	return ORR_OK;
}

static struct mixed_study *open_study(const cJSON *scenario, const struct study_output *o, struct orr_error *err)
{
	struct mixed_study *t = mem_zalloc(1, sizeof *t);
	t->o = o;
	int rc = mixed_scenario_resolve(scenario, &t->m, err);
	if (!rc)
		rc = open_halves(t, scenario, err);
	if (!rc) {
		mixed_scenario_join(&t->m, t->jobs ? &t->jobs->s : NULL, t->serve ? &t->serve->s : NULL);
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

static void configure_halves(const struct mixed_study *t, size_t i, struct mixed_config *c)
{
	if (t->jobs) {
		const struct scenario_policy *p = &t->jobs->s.base.policy[i];
		c->jobs = t->jobs->config;
		c->jobs_policy = p->entry.policy;
		c->jobs_args = p->args;
		c->placement = t->jobs->s.placement;
	}
	if (t->serve) {
		const struct scenario_policy *p = &t->serve->s.base.policy[i];
		c->serve = t->serve->config;
		c->serve.failures = t->m.failures; /* they happen to the whole cluster; here they say that there are some */
		c->serve_policy = p->entry.policy;
		c->serve_args = p->args;
		c->placement = t->serve->s.placement;
	}
}

static void run_mixed(void *world, size_t i, struct run_result *r, study_progress progress, void *ctx, struct orr_error *err)
{
	struct mixed_study *t = world;
	const struct serve_scenario *priced = t->serve ? &t->serve->s : &t->m.priced;
	struct mixed_config c = { .cluster = t->m.base.cluster,
		.failures = t->m.failures,
		.capacity = t->m.capacity.is_given ? &t->m.capacity.config : NULL,
		.serve_first = t->m.serve_first,
		.usd_per_gpu_hour = priced->has_prices ? priced->usd_per_gpu_hour : NULL,
		.seed = t->m.base.seed,
		.until_ns = t->m.until_ns,
		.check = t->o->check,
		.progress = progress,
		.progress_ctx = ctx };
	configure_halves(t, i, &c);
	if (!mixed_run(&c, t->m.base.policy[i].label, r, err) && priced->price_note)
		result_note(r, "prices", priced->price_note);
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
