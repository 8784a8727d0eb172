/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The step world as a study has it: policies on one model, cluster and network. */
#include "study/cost_samples.h"
#include "study/study.h"

#include "base/mem.h"
#include "base/sbuf.h"
#include "learn/train.h"
#include "results/outfile.h"
#include "step/trace_event.h"

#include <stdio.h>
#include <string.h>

/* The last so many simulated iterations are drawn. */
enum { SPANS = 2 };

struct step_study {
	struct step_scenario s;
	const struct study_output *o;
	const struct cost *cost[CLUSTER_MAX_TYPES];
	const struct device *device[CLUSTER_MAX_TYPES];
	struct step_config config;
	struct step_result *result; /* by policy: kept for the timeline alone */
};

static void configure(struct step_study *t)
{
	for (uint32_t i = 0; i < CLUSTER_MAX_TYPES; i++) {
		t->cost[i] = t->s.cost[i];
		t->device[i] = t->s.set.device[i];
	}
	t->config = (struct step_config){ .cluster = t->s.base.cluster,
		.topo = t->s.set.topo,
		.dnn = t->s.dnn,
		.cost = t->cost,
		.device = t->device,
		.options = t->s.set.options,
		.batch = t->s.set.batch,
		.precision = t->s.set.precision,
		.seed = t->s.base.seed,
		.policy_timeout_s = t->s.base.policy_timeout_s,
		.check = t->o->check,
		.spans = t->o->db || t->o->out_dir || t->o->timeline ? SPANS : 0 };
}

static void close_step(void *world)
{
	struct step_study *t = world;
	for (size_t i = 0; t->result && i < t->s.base.n_policies; i++)
		step_result_free(&t->result[i]);
	mem_free(t->result);
	step_scenario_free(&t->s);
	mem_free(t);
}

static void *open_step(const cJSON *scenario, const struct study_output *o, struct scenario **base, struct orr_error *err)
{
	struct step_study *t = mem_zalloc(1, sizeof *t);
	t->o = o;
	*base = &t->s.base;
	if (step_scenario_resolve(scenario, &t->s, err)) {
		close_step(t);
		return NULL;
	}
	t->result = mem_zalloc(t->s.base.n_policies, sizeof *t->result);
	configure(t);
	return t;
}

/* The same schedule applied to SGD. */
static void learn(const struct step_study *t, const struct scenario_policy *p, struct run_result *r, struct orr_error *err)
{
	struct train_config config = { .step = &t->config, .options = t->s.learn, .threads = t->o->threads };
	struct train_result result = { 0 };
	if (!train_run(&config, p->entry.policy, p->args, p->label, &result, err))
		train_metrics(&result, r);
	train_result_free(&result);
}

static void run_step(void *world, size_t i, struct run_result *r, study_progress progress, void *ctx, struct orr_error *err)
{
	struct step_study *t = world;
	const struct scenario_policy *p = &t->s.base.policy[i];
	struct step_result *result = &t->result[i];
	(void)progress, (void)ctx;
	if (!step_run(&t->config, p->entry.policy, p->args, p->label, result, err)) {
		if (t->s.set.cost_samples)
			cost_samples_say(t->s.set.cost_samples, result->cost_source, sizeof result->cost_source);
		step_metrics(result, r);
		if (t->s.set.cost_samples)
			cost_samples_step(&t->s, &t->config, p, t->o->threads, r, err);
	}
	if (!err->code && t->s.learn)
		learn(t, p, r, err);
	if (!t->o->timeline)
		step_result_free(result);
}

/* FILE, whatever folder it names. */
static int write_timeline(const struct step_study *t, struct orr_error *err)
{
	const char *path = t->o->timeline, *slash = strrchr(path, '/');
	char *dir = slash ? mem_strndup(path, (size_t)(slash - path) + 1) : mem_strdup(".");
	struct sbuf text = { 0 };
	struct outfile f;
	trace_event_open(&text);
	for (size_t i = 0; i < t->s.base.n_policies; i++)
		trace_event_add(&text, &t->result[i], t->s.base.policy[i].label, (uint32_t)i);
	trace_event_close(&text);
	int rc = outfile_open(&f, dir, slash ? slash + 1 : path, "", err);
	if (!rc) {
		fwrite(text.text, 1, text.len, f.file);
		rc = outfile_close(&f, false, err);
	}
	sbuf_free(&text);
	mem_free(dir);
	return rc;
}

static int finish_step(void *world, struct run_result *const *runs, size_t n, struct orr_error *err)
{
	const struct step_study *t = world;
	for (size_t i = 0; i < n && !t->o->quiet && (t->o->db || t->o->out_dir); i++)
		if (runs[i]->n_iterations < runs[i]->rows_total)
			fprintf(stderr, "orrery: %s: rows of the first %zu of %llu iterations are kept; means are of all\n", runs[i]->label,
				runs[i]->n_iterations, (unsigned long long)runs[i]->rows_total);
	return t->o->timeline ? write_timeline(t, err) : ORR_OK;
}

static char *show_step(const cJSON *scenario, struct orr_error *err)
{
	struct step_scenario s;
	char *text = step_scenario_resolve(scenario, &s, err) ? NULL : scenario_show(&s.base);
	step_scenario_free(&s);
	return text;
}

const struct study_world study_step_world = { .name = "step",
	.kind = "step",
	.source = "model",
	.show = show_step,
	.open = open_step,
	.run = run_step,
	.reused = NULL,
	.finish = finish_step,
	.close = close_step };
