/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "world/run.h"

#include "base/limits.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "results/columns.h"
#include "world/isolate.h"
#include "world/remarks.h"
#include "world/precision.h"
#include "world/replications.h"

#include <stdio.h>
#include <string.h>

double scenario_level(const struct scenario *s)
{
	for (const struct orr_param *p = s->world->options; p && p->name; p++)
		if (!strcmp(p->name, "ci_level"))
			return orr_arg_real(s->options, "ci_level");
	return 0.95;
}

struct run_result *scenario_result(const struct scenario *s, size_t policy, const char *text, const char *hash)
{
	const struct scenario_policy *p = &s->policy[policy];
	char seed[32];
	struct run_result *r = result_new();
	snprintf(seed, sizeof seed, "%llu", (unsigned long long)s->seed);
	r->label = mem_strdup(p->label);
	r->policy = mem_strdup(*p->entry.plugin_hash ? p->spec : p->entry.name);
	r->world = mem_strdup(s->world->name);
	r->scenario = mem_strdup(text);
	r->hash = mem_strdup(hash);
	r->seed_text = mem_strdup(seed);
	return r;
}

/* ---- one policy ---- */

struct trial {
	struct scenario *s;
	size_t policy;
	struct run_result *result;
	struct replications *all; /* sums over replications; NULL: a single run */
	struct orr_error err;     /* error of the first replication that failed */
	uint32_t failed;          /* its number */
	bool was_precise;         /* state of precision_next(), equal for all policies of a scenario */
};

struct trial *trial_new(struct scenario *s, size_t policy, struct run_result *r)
{
	struct trial *t = mem_zalloc(1, sizeof *t);
	*t = (struct trial){ .s = s, .policy = policy, .result = r, .all = s->replications > 1 ? replications_new() : NULL };
	return t;
}

void trial_free(struct trial *t)
{
	if (!t)
		return;
	replications_free(t->all);
	mem_free(t);
}

/* Returns whether replication k is needed. Replications after a failed one are not needed. */
static bool is_needed(const struct trial *t, uint32_t k)
{
	bool needed;
#pragma omp critical(orr_trial)
	needed = !t->err.code || k < t->failed;
	return needed;
}

static void keep_error(struct trial *t, uint32_t k, const struct orr_error *err)
{
#pragma omp critical(orr_trial)
	if (!t->err.code || k < t->failed) {
		t->failed = k;
		t->err = *err;
	}
}

double trial_run(struct trial *t, uint32_t k, world_progress progress, void *ctx)
{
	struct orr_error err = { 0 };
	double cpu_s = 0;
	if (!is_needed(t, k))
		return 0;
	struct run_result *r = k ? result_new() : t->result;
	char name[120];
	snprintf(name, sizeof name, "policy %.100s", t->s->policy ? t->s->policy[t->policy].label : "");
	limits_begin_input(name);
	bool is_isolated = t->s->policy && isolate_has(&t->s->policy[t->policy]);
	int rc = is_isolated ? isolate_run(t->s, t->policy, k, r, progress, ctx, &cpu_s, &err)
			     : t->s->world->run(t->s, t->policy, k, r, progress, ctx, &err);
	limits_begin_input("");
	if (rc)
		keep_error(t, k, &err);
	else if (t->all)
		replications_add(t->all, k, r);
	if (k)
		result_free(r);
	return cpu_s;
}

int trial_end(struct trial *t, struct orr_error *err)
{
	if (t->err.code && t->failed)
		return orr_fail(err, t->err.code, "replication %u: %s", t->failed, t->err.text);
	if (t->err.code)
		return orr_fail(err, t->err.code, "%s", t->err.text);
	if (t->all)
		replications_put(t->all, scenario_level(t->s), t->result);
	remarks_add(t->s, t->policy, t->result);
	if (t->s->record == RECORD_METRICS)
		result_keep_metrics(t->result);
	return ORR_OK;
}

static struct interval of_trial(const void *ctx, size_t i, const char *metric)
{
	struct trial *const *t = ctx;
	return replications_of(t[i]->all, metric, scenario_level(t[i]->s));
}

uint32_t trial_next(const struct scenario *s, struct trial *const *t, uint32_t n)
{
	bool was_precise = false;
	if (!(s->until_precision > 0))
		return s->replications;
	if (!n)
		return precision_next(s, 0, 0, of_trial, NULL, &was_precise);
	struct trial **good = mem_zalloc(s->n_policies + 1, sizeof *good);
	size_t n_good = 0;
	for (size_t i = 0; i < s->n_policies; i++)
		if (t[i] && !t[i]->err.code)
			good[n_good++] = t[i];
	was_precise = n_good && good[0]->was_precise;
	uint32_t next = n_good ? precision_next(s, n_good, n, of_trial, good, &was_precise) : n;
	for (size_t i = 0; i < n_good; i++)
		good[i]->was_precise = was_precise;
	mem_free(good);
	return next;
}

/* ---- all runs ---- */

static void say_rows(const struct scenario *s, struct run_result *const *runs, size_t n)
{
	const char *counted = s->world->form.counted;
	const struct row_table *rows = counted ? row_table_find(counted) : NULL;
	if (s->output->quiet || s->output->is_series || !(s->output->db || s->output->out_dir) || !scenario_keeps_rows(s))
		return;
	for (size_t i = 0; rows && i < n; i++)
		if (rows_count(rows, runs[i]) < runs[i]->rows_total)
			fprintf(stderr,
				"orrery: %s: rows of %zu of %llu %s are kept (a sample); means and quantiles are over all of them\n",
				utf8_shown(runs[i]->label), rows_count(rows, runs[i]), (unsigned long long)runs[i]->rows_total, counted);
	if (s->replications > 1)
		fprintf(stderr, "orrery: the rows are those of the first replication; metrics and accounts cover all replications\n");
}

size_t scenario_policy_of(const struct scenario *s, const struct run_result *r)
{
	size_t i = 0;
	while (i + 1 < s->n_policies && strcmp(s->policy[i].label, r->label) != 0)
		i++;
	return i;
}

int scenario_finish(struct scenario *s, struct run_result *const *runs, size_t n, struct orr_error *err)
{
	if (s->replications > 1)
		replications_compare(runs, n, scenario_level(s));
	int rc = s->world->finish ? s->world->finish(s, runs, n, err) : ORR_OK;
	say_rows(s, runs, n);
	return rc;
}
