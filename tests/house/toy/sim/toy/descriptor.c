/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The toy world's descriptor: N items with random service times, one after the other. */
#include <orrery/toy.h>

#include "base/mem.h"
#include "base/rng.h"
#include "world/scenario.h"

#include <math.h>
#include <stdio.h>

static int open_toy(struct scenario *s, struct orr_error *err)
{
	cJSON *o = s->resolved = cJSON_CreateObject();
	(void)err;
	cJSON_AddStringToObject(o, "world", "toy");
	cJSON_AddStringToObject(o, "items", orr_arg_text(s->keys, "items"));
	cJSON_AddStringToObject(o, "note", orr_arg_text(s->keys, "note"));
	scenario_add_options(o, s);
	scenario_add_seed(o, s);
	return ORR_OK;
}

static int run_toy(
	struct scenario *s, size_t i, uint32_t k, struct run_result *r, world_progress progress, void *ctx, struct orr_error *err)
{
	const struct scenario_policy *p = &s->policy[i];
	const struct orr_toy_ops *ops = p->entry.policy->ops;
	uint64_t n = (uint64_t)orr_arg_int(s->keys, "items");
	double now_s = 0, mean_s = (double)orr_arg_time_ns(s->options, "mean") / 1e9;
	void *self = ops->create(p->args, err);
	struct rng random;
	(void)progress, (void)ctx;
	if (!self)
		return err->code;
	rng_init(&random, s->seed, "toy", k);
	r->iterations = mem_zalloc(n, sizeof *r->iterations);
	for (uint64_t j = 0; j < n; j++) {
		double start_s = now_s + ops->pause_s(self, j);
		now_s = start_s - mean_s * log1p(-rng_uniform(&random));
		r->iterations[r->n_iterations++] = (struct iteration_row){ j, start_s, now_s, 1 };
	}
	r->rows_total = n;
	result_metric(r, "makespan_s", now_s, NAN, NAN);
	result_metric(r, "toy_items", (double)n, NAN, NAN);
	ops->destroy(self);
	return ORR_OK;
}

static int finish_toy(struct scenario *s, struct run_result *const *runs, size_t n, struct orr_error *err)
{
	const char *path = world_extra(s->output, "list");
	FILE *f = path ? fopen(path, "w") : NULL;
	if (path && !f)
		return orr_fail(err, ORR_EFAIL, "%s: cannot be written", path);
	for (size_t i = 0; f && i < n; i++)
		fprintf(f, "%s\n", runs[i]->label);
	if (f)
		fclose(f);
	return ORR_OK;
}

static void close_toy(struct scenario *s)
{
	(void)s;
}

extern const struct orr_policy orr_policy_toy_steady;
static const struct orr_policy *const policies[] = { &orr_policy_toy_steady, NULL };
static const struct world_function functions[] = { WORLD_FUNCTION(orr_toy_ops, create), WORLD_FUNCTION(orr_toy_ops, destroy),
	WORLD_FUNCTION(orr_toy_ops, pause_s), { NULL, 0 } };
extern const struct embedded_file toy_template[];

static const struct orr_param keys[] = { ORR_PARAM_INT("items", "10", 1, 1e6, "how many"), ORR_PARAM_TEXT("note", "", "not in the hash"),
	ORR_PARAM_END };
static const struct orr_param options[] = { ORR_PARAM_TIME("mean", "1s", "service time"), ORR_PARAM_END };
static const struct world_input inputs[] = { { "note", NULL }, { NULL, NULL } };
static const struct world_flag flags[] = { { "note", "TEXT", WORLD_FLAG_KEY, "note", NULL, "anything" },
	{ "slow", NULL, WORLD_FLAG_KEY, "toy.mean", "1m", "a minute per item" },
	{ "list", "FILE", WORLD_FLAG_EXTRA, NULL, NULL, "write the labels to a file" }, { NULL, NULL, 0, NULL, NULL, NULL } };

static const struct report_file files[] = { { "iterations", false }, { NULL, false } };
static const struct report_column columns[] = { { "makespan_s", "time", REPORT_TIME, NULL }, { "toy_items", "toys", REPORT_NUMBER, NULL },
	{ NULL, NULL, REPORT_NUMBER, NULL } };

const struct world world_toy = { .name = "toy",
	.doc = "serve items one after the other",
	.policies = policies,
	.ops_size = sizeof(struct orr_toy_ops),
	.functions = functions,
	.oracle = "nothing",
	.template = toy_template,
	.example = "toy 50 --policy steady",
	.keys = keys,
	.options = options,
	.inputs = inputs,
	.usage = "orrery toy N --policy A[,B..] [OPTIONS]",
	.about = "Serves N items one after the other.",
	.source = "N",
	.source_hint = "a number",
	.source_doc = "how many items",
	.flags = flags,
	.examples = "Example:\n  orrery toy 50 --policy steady\n",
	.form = { .files = files, .counted = "iterations", .series_if_any = true, .columns = columns },
	.open = open_toy,
	.run = run_toy,
	.finish = finish_toy,
	.close = close_toy };
