/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "study/study_serve.h"

#include "base/mem.h"
#include "study/replications.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MAX_ROWS = 1000000, SAMPLE_ROWS = 10000, RESAMPLES = 1000 };

/* ---- from the scenario to a run ---- */

static void configure(struct serve_study *t)
{
	const struct serve_scenario *s = &t->s;
	const struct study_output *o = t->o;
	for (uint32_t i = 0; i < CLUSTER_MAX_TYPES; i++) {
		t->device[i] = s->set.device[i];
		t->profile[i] = s->set.profile[i];
	}
	/* Rows are also what two policies are compared by, and what figures may be of. */
	bool wants_rows = o->db || o->out_dir || o->is_series || s->base.n_policies > 1;
	t->config = (struct serve_config){ .requests = s->requests,
		.cluster = s->base.cluster,
		.placement = s->placement,
		.topo = s->set.topo,
		.model = s->model,
		.n_models = s->n_models,
		.device = t->device,
		.profile = t->profile,
		.precision = s->set.precision,
		.deployment = s->deployment,
		.n_deployments = s->n_deployments,
		.failures = s->failures,
		.options = s->options,
		.usd_per_gpu_hour = s->has_prices ? s->usd_per_gpu_hour : NULL,
		.seed = s->base.seed,
		.until_ns = s->until_ns,
		.check = o->check,
		.record_requests = s->record != RECORD_SUMMARY && wants_rows,
		.max_rows = s->record == RECORD_SAMPLE ? SAMPLE_ROWS : MAX_ROWS,
		.policy_timeout_s = s->base.policy_timeout_s };
}

static int check_end(const struct serve_scenario *s, struct orr_error *err)
{
	if (reqset_count(s->requests) != UINT64_MAX || s->until_ns != ORR_NEVER)
		return ORR_OK;
	return orr_fail(
		err, ORR_EINPUT, "%.200s: this trace has no end; say how many requests (n=..) or give --until", reqset_source(s->requests));
}

struct serve_study *serve_study_open(const cJSON *scenario, const struct study_output *o, struct orr_error *err)
{
	struct serve_study *t = mem_zalloc(1, sizeof *t);
	t->o = o;
	int rc = o->timeline ? orr_fail(err, ORR_EINPUT, "--timeline: is for orrery step; --out draws the requests of this world")
			     : serve_scenario_resolve(scenario, &t->s, err);
	if (!rc)
		rc = check_end(&t->s, err);
	if (rc) {
		serve_study_close(t);
		return NULL;
	}
	configure(t);
	return t;
}

void serve_study_close(struct serve_study *t)
{
	serve_scenario_free(&t->s);
	mem_free(t);
}

int serve_study_at(
	const struct serve_study *t, size_t i, uint32_t k, double factor, uint64_t rows, struct run_result *r, struct orr_error *err)
{
	const struct scenario_policy *p = &t->s.base.policy[i];
	struct serve_config config = t->config;
	struct reqset *trace = serve_scenario_trace(&t->s, factor, err);
	if (!trace)
		return err->code;
	config.requests = trace;
	config.replication = k;
	config.record_requests = true;
	config.max_rows = rows;
	int rc = serve_run(&config, p->entry.policy, p->args, p->label, r, err);
	reqset_free(trace);
	return rc;
}

/* ---- replications ---- */

/* Progress of one of n. */
struct part {
	study_progress progress;
	void *ctx;
	uint32_t k, n;
};

static void report_part(void *ctx, double done)
{
	const struct part *p = ctx;
	p->progress(p->ctx, (p->k + done) / p->n);
}

/* Replication k of policy p, metrics alone. */
static void run_further(
	const struct serve_study *t, const struct scenario_policy *p, uint32_t k, struct replications *all, struct orr_error *err)
{
	struct serve_config config = t->config;
	struct run_result *r = result_new();
	config.replication = k;
	config.record_requests = false;
	if (!serve_run(&config, p->entry.policy, p->args, p->label, r, err))
		replications_add(all, k, r);
	result_free(r);
}

/* Replications 1.. of a policy whose replication 0 is r. */
static int replicate(const struct serve_study *t, const struct scenario_policy *p, struct run_result *r, study_progress progress, void *ctx,
	struct orr_error *err)
{
	long n = t->s.replications, n_done = 1;
	struct replications *all = replications_new(t->s.replications);
	struct orr_error *e = mem_zalloc((size_t)n, sizeof *e);
	int rc = ORR_OK;
	replications_add(all, 0, r);
	/* Beside other policies, one thread. */
#pragma omp parallel for schedule(dynamic, 1) num_threads(study_threads(t->o))
	for (long k = 1; k < n; k++) {
		run_further(t, p, (uint32_t)k, all, &e[k]);
#pragma omp critical(orr_replications)
		{
			n_done++;
			if (progress)
				progress(ctx, (double)n_done / (double)n);
		}
	}
	for (long k = 1; k < n && !rc; k++)
		if (e[k].code)
			rc = orr_fail(err, e[k].code, "replication %ld: %s", k, e[k].text);
	if (!rc)
		replications_put(all, orr_arg_real(t->s.options, "ci_level"), r);
	mem_free(e);
	replications_free(all);
	return rc;
}

/* ---- what the study calls ---- */

static void *open_serve(const cJSON *scenario, const struct study_output *o, struct scenario **base, struct orr_error *err)
{
	struct serve_study *t = serve_study_open(scenario, o, err);
	if (t)
		*base = &t->s.base;
	return t;
}

static void close_serve(void *world)
{
	serve_study_close(world);
}

static void run_serve(void *world, size_t i, struct run_result *r, study_progress progress, void *ctx, struct orr_error *err)
{
	struct serve_study *t = world;
	const struct scenario_policy *p = &t->s.base.policy[i];
	struct serve_config config = t->config;
	struct part part = { progress, ctx, 0, t->s.replications };
	config.progress = progress ? report_part : NULL;
	config.progress_ctx = &part;
	int rc = serve_run(&config, p->entry.policy, p->args, p->label, r, err);
	if (!rc && t->s.replications > 1)
		rc = replicate(t, p, r, progress, ctx, err);
	if (!rc)
		result_note(r, "cost-source", t->s.times_note);
	if (!rc && t->s.price_note)
		result_note(r, "prices", t->s.price_note);
}

/* Request by request: how much longer each took than under the first policy. Not stored, as it depends on the command. */
static bool blocks_of(const struct run_result *r, struct blocks *b)
{
	blocks_init(b);
	for (size_t i = 0; i < r->n_requests; i++) {
		const struct request_row *q = &r->requests[i];
		if (q->status == REQUEST_COMPLETED)
			blocks_add(b, q->number, q->completed_s - q->arrival_s);
	}
	return r->n_requests == r->rows_total && r->n_requests;
}

static void add_differences(const struct serve_study *t, struct run_result *const *runs, size_t n)
{
	struct blocks *first = mem_zalloc(1, sizeof *first), *other = mem_zalloc(1, sizeof *other);
	bool is_there = n > 1 && t->s.replications == 1 && blocks_of(runs[0], first);
	for (size_t i = 1; is_there && i < n; i++) {
		if (!blocks_of(runs[i], other))
			continue;
		struct interval d = blocks_paired(other, first, RESAMPLES, orr_arg_real(t->s.options, "ci_level"), 1);
		result_metric(runs[i], "completion_diff", d.mean, d.low, d.high);
	}
	mem_free(first);
	mem_free(other);
}

static int finish_serve(void *world, struct run_result *const *runs, size_t n, struct orr_error *err)
{
	const struct serve_study *t = world;
	(void)err;
	add_differences(t, runs, n);
	if (t->s.replications > 1)
		replications_compare(runs, n, orr_arg_real(t->s.options, "ci_level"));
	if (t->o->quiet || !t->config.record_requests || !(t->o->db || t->o->out_dir))
		return ORR_OK;
	for (size_t i = 0; i < n; i++)
		if (runs[i]->n_requests < runs[i]->rows_total)
			fprintf(stderr, "orrery: %s: rows of %zu of %llu requests are kept (a sample); means and quantiles are of all\n",
				runs[i]->label, runs[i]->n_requests, (unsigned long long)runs[i]->rows_total);
	if (t->s.replications > 1)
		fprintf(stderr, "orrery: rows of requests are those of the first replication; metrics are of all\n");
	return ORR_OK;
}

static char *show_serve(const cJSON *scenario, struct orr_error *err)
{
	struct serve_scenario s;
	char *text = serve_scenario_resolve(scenario, &s, err) ? NULL : scenario_show(&s.base);
	serve_scenario_free(&s);
	return text;
}

const struct study_world study_serve_world = { .name = "serve",
	.kind = "serve",
	.source = "trace",
	.show = show_serve,
	.open = open_serve,
	.run = run_serve,
	.finish = finish_serve,
	.close = close_serve };
