/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The spot world as a study has it: policies on one trace of instances that come and go. */
#include "study/inputs_capacity.h"
#include "study/replications.h"
#include "study/scenario_spot.h"
#include "study/study.h"

#include "base/mem.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MAX_ROWS = 1000000, SAMPLE_ROWS = 10000 };

/* Everything in it is made by open_spot() and read-only after, so that threads may run policies side by side. */
struct spot_study {
	struct spot_scenario s;
	const struct study_output *o;
	struct spot_config config;
};

/* ---- from the scenario to a run ---- */

static void configure(struct spot_study *t)
{
	const struct spot_scenario *s = &t->s;
	const struct study_output *o = t->o;
	bool wants_rows = s->record != RECORD_SUMMARY && (o->db || o->out_dir || o->is_series);
	t->config = (struct spot_config){ .capacity = s->capacity,
		.prices = s->prices,
		.job = s->job,
		.options = s->options,
		.seed = s->base.seed,
		.until_ns = s->until_ns,
		.exact = o->exact,
		.check = o->check,
		.record_iterations = wants_rows,
		.record_nodes = wants_rows,
		.max_rows = s->record == RECORD_SAMPLE ? SAMPLE_ROWS : MAX_ROWS,
		.policy_timeout_s = s->base.policy_timeout_s };
}

static int check_end(const struct spot_scenario *s, struct orr_error *err)
{
	if (spot_job_steps(s->job, s->options) || availset_has_end(s->capacity) || s->until_ns != ORR_NEVER)
		return ORR_OK;
	return orr_fail(err, ORR_EINPUT,
		"%.200s: neither this trace nor job %.80s has an end; say how long the trace is (length=..) or give --until",
		availset_source(s->capacity), s->job->name);
}

static void close_spot(void *world)
{
	struct spot_study *t = world;
	spot_scenario_free(&t->s);
	mem_free(t);
}

static void *open_spot(const cJSON *scenario, const struct study_output *o, struct scenario **base, struct orr_error *err)
{
	struct spot_study *t = mem_zalloc(1, sizeof *t);
	t->o = o;
	int rc = o->timeline ? orr_fail(err, ORR_EINPUT, "--timeline: is for orrery step; --out draws the instances of this world")
			     : spot_scenario_resolve(scenario, &t->s, err);
	if (!rc)
		rc = check_end(&t->s, err);
	if (rc) {
		close_spot(t);
		return NULL;
	}
	if (!o->quiet)
		inputs_tell_repairs(t->s.capacity);
	configure(t);
	*base = &t->s.base;
	return t;
}

/* ---- one run ---- */

/* Standing still, whatever for: one column of a table. */
static void add_paused(struct run_result *r)
{
	static const char *const parts[] = { "checkpoint_part", "restart_part", "reconfigure_part" };
	double sum = 0;
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
		const struct metric *m = result_find(r, parts[i]);
		sum += m ? m->value : NAN;
	}
	if (!isnan(sum))
		result_metric(r, "paused_part", sum, NAN, NAN);
}

static int run_one(const struct spot_config *c, const struct scenario_policy *p, struct run_result *r, struct orr_error *err)
{
	int rc = spot_run(c, p->entry.policy, p->args, p->label, r, err);
	if (!rc)
		add_paused(r);
	return rc;
}

/* ---- replications ---- */

/* Sums over replications of what each account got, in order of replications whatever the threads. */
struct accounts {
	size_t n;        /* of each */
	double (*of)[2]; /* node_s and usd of account a in replication k: [k * n + a] */
};

static void keep_accounts(struct accounts *all, uint32_t k, const struct run_result *r)
{
	for (size_t a = 0; a < all->n && a < r->n_accounts; a++) {
		all->of[k * all->n + a][0] = r->accounts[a].node_s;
		all->of[k * all->n + a][1] = r->accounts[a].usd;
	}
}

static void put_accounts(const struct accounts *all, uint32_t replications, struct run_result *r)
{
	for (size_t a = 0; a < all->n; a++) {
		double sum[2] = { 0, 0 };
		for (uint32_t k = 0; k < replications; k++)
			for (int i = 0; i < 2; i++)
				sum[i] += all->of[k * all->n + a][i];
		r->accounts[a].node_s = sum[0] / replications;
		r->accounts[a].usd = sum[1] / replications;
	}
}

/* Replication k of policy p, metrics and accounts alone. */
static void run_further(const struct spot_study *t, const struct scenario_policy *p, uint32_t k, struct replications *all,
	struct accounts *accounts, struct orr_error *err)
{
	struct spot_config config = t->config;
	struct run_result *r = result_new();
	config.replication = k;
	config.record_iterations = config.record_nodes = false;
	if (!run_one(&config, p, r, err)) {
		replications_add(all, k, r);
		keep_accounts(accounts, k, r);
	}
	result_free(r);
}

static int first_error(const struct orr_error *e, long n, struct orr_error *err)
{
	for (long k = 1; k < n; k++)
		if (e[k].code)
			return orr_fail(err, e[k].code, "replication %ld: %s", k, e[k].text);
	return ORR_OK;
}

/* Replications 1.. of a policy whose replication 0 is r. */
static int replicate(const struct spot_study *t, const struct scenario_policy *p, struct run_result *r, study_progress progress, void *ctx,
	struct orr_error *err)
{
	long n = t->s.replications, n_done = 1;
	struct replications *all = replications_new(t->s.replications);
	struct accounts accounts = { r->n_accounts, mem_zalloc(t->s.replications * (r->n_accounts + 1), sizeof *accounts.of) };
	struct orr_error *e = mem_zalloc((size_t)n, sizeof *e);
	replications_add(all, 0, r);
	keep_accounts(&accounts, 0, r);
	/* Beside other policies, one thread. */
#pragma omp parallel for schedule(dynamic, 8) num_threads(study_threads(t->o))
	for (long k = 1; k < n; k++) {
		run_further(t, p, (uint32_t)k, all, &accounts, &e[k]);
		if (!progress)
			continue;
#pragma omp critical(orr_replications)
		progress(ctx, (double)++n_done / (double)n);
	}
	int rc = first_error(e, n, err);
	if (!rc) {
		replications_put(all, orr_arg_real(t->s.options, "ci_level"), r);
		put_accounts(&accounts, t->s.replications, r);
	}
	mem_free(e);
	mem_free(accounts.of);
	replications_free(all);
	return rc;
}

/* Progress of the first of n. */
struct part {
	study_progress progress;
	void *ctx;
	uint32_t n;
};

static void report_part(void *ctx, double done)
{
	const struct part *p = ctx;
	p->progress(p->ctx, done / p->n);
}

static void run_spot(void *world, size_t i, struct run_result *r, study_progress progress, void *ctx, struct orr_error *err)
{
	struct spot_study *t = world;
	const struct scenario_policy *p = &t->s.base.policy[i];
	struct spot_config config = t->config;
	struct part part = { progress, ctx, t->s.replications };
	config.progress = progress ? report_part : NULL;
	config.progress_ctx = &part;
	int rc = run_one(&config, p, r, err);
	if (!rc && t->s.replications > 1)
		replicate(t, p, r, progress, ctx, err);
}

/* ---- what the study calls ---- */

/* Without replications, plain quotients stand where replications_compare() puts ratios with intervals. */
static void compare_plainly(struct run_result *const *runs, size_t n)
{
	static const char *const names[] = { "samples_per_s", "usd_per_hour", "value" };
	for (size_t i = 1; i < n; i++)
		for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
			const struct metric *first = result_find(runs[0], names[k]), *m = result_find(runs[i], names[k]);
			char name[40];
			snprintf(name, sizeof name, "ratio_%s", names[k]);
			if (first && m && m->value > 0)
				result_metric(runs[i], name, first->value / m->value, NAN, NAN);
		}
}

/* Past the end of a trace nothing comes or goes: whoever reads losses per hour should know. */
static void remark_on_end(const struct spot_study *t, struct run_result *const *runs, size_t n)
{
	int64_t end = availset_end_ns(t->config.capacity);
	for (size_t i = 0; i < n && end < ORR_NEVER && t->config.until_ns == ORR_NEVER; i++) {
		const struct metric *over = result_find(runs[i], "makespan_s"), *lost = result_find(runs[i], "preemptions");
		if (!over || !lost || !(lost->value > 0) || over->value * 1e9 <= (double)end * 1.001)
			continue;
		fprintf(stderr,
			"orrery: %s ended at %.4g h, the trace at %.4g h: who was there then stayed (--until sets an earlier end; a "
			"generator's length=0 has none)\n",
			runs[i]->label, over->value / 3600, (double)end / 3600e9);
		return;
	}
}

static int finish_spot(void *world, struct run_result *const *runs, size_t n, struct orr_error *err)
{
	const struct spot_study *t = world;
	(void)err;
	if (t->s.replications > 1)
		replications_compare(runs, n, orr_arg_real(t->s.options, "ci_level"));
	else
		compare_plainly(runs, n);
	if (!t->o->quiet && !t->o->is_series)
		remark_on_end(t, runs, n);
	if (t->s.replications > 1 && t->config.record_nodes && !t->o->quiet && (t->o->db || t->o->out_dir))
		fprintf(stderr, "orrery: rows of steps and nodes are those of the first replication; metrics and accounts are of all\n");
	return ORR_OK;
}

static char *show_spot(const cJSON *scenario, struct orr_error *err)
{
	struct spot_scenario s;
	char *text = spot_scenario_resolve(scenario, &s, err) ? NULL : scenario_show(&s.base);
	spot_scenario_free(&s);
	return text;
}

const struct study_world study_spot_world = { .name = "spot",
	.kind = "spot",
	.source = "trace",
	.show = show_spot,
	.open = open_spot,
	.run = run_spot,
	.finish = finish_spot,
	.close = close_spot };
