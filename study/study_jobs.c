/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The jobs world as a study has it: policies on one trace, compared job by job. */
#include "study/cost_samples.h"
#include "study/study_jobs.h"

#include "base/mem.h"
#include "base/strtab.h"
#include "jobs/steprate.h"

#include <math.h>
#include <stdio.h>

enum { MAX_ROWS = 1000000, RESAMPLES = 1000 };

static void configure(struct jobs_study *t)
{
	const struct study_output *o = t->o;
	bool is_drawn = o->is_series && t->s.capacity.is_given; /* nodes over time */
	t->config = (struct jobs_config){ .jobs = t->s.jobs,
		.cluster = t->s.base.cluster,
		.placement = t->s.placement,
		.throughput = t->s.throughput,
		.failures = t->s.failures,
		.capacity = t->s.capacity.is_given ? &t->s.capacity.config : NULL,
		.rates = t->s.rates,
		.sharing = t->s.sharing,
		.options = t->s.options,
		.seed = t->s.base.seed,
		.until_ns = t->s.until_ns,
		.drop_unfit = t->s.drop_unfit,
		.check = o->check,
		.record_jobs = t->s.record != RECORD_SUMMARY && (o->db || o->out_dir || is_drawn),
		.max_rows = t->s.record == RECORD_SAMPLE ? 10000 : MAX_ROWS,
		.policy_timeout_s = t->s.base.policy_timeout_s };
	if (t->s.rates)
		steprate_check(t->s.rates, o->check);
}

static int refuse_unfit(const struct jobs_study *t, struct orr_error *err)
{
	uint64_t count;
	struct job_rec first;
	int rc = jobs_find_unfit(&t->config, &count, &first, err);
	if (rc || !count)
		return rc;
	if (t->s.drop_unfit) {
		if (!t->o->quiet)
			fprintf(stderr, "orrery: left out %llu jobs that can never be placed on this cluster\n", (unsigned long long)count);
		return ORR_OK;
	}
	char others[64] = "", line[24] = "", beside[64] = "", type[80] = "";
	if (count > 1)
		snprintf(others, sizeof others, ", and %llu others likewise", (unsigned long long)count - 1);
	if (first.line)
		snprintf(line, sizeof line, "%llu:", (unsigned long long)first.line);
	if (first.cpu_milli || first.mem_mib)
		snprintf(beside, sizeof beside, " (%.3g cores, %.4g GiB)", (double)first.cpu_milli / 1000, (double)first.mem_mib / 1024);
	if (first.gpu_types)
		snprintf(type, sizeof type, " of type %.64s", strtab_text(jobset_strings(t->s.jobs), first.gpu_types));
	return orr_fail(err, ORR_EINPUT,
		"%s:%s job %llu asks for %u GPUs%s%s and can never be placed on this cluster%s; give a "
		"larger --cluster, or --drop-unfit to leave such jobs out",
		jobset_source(t->s.jobs), line, (unsigned long long)first.number, first.gpus, type, beside, others);
}

/* A stored run has its rows; the blocks for paired differences come back from them, if
 * they are all there. */
static bool blocks_from_rows(const struct run_result *r, struct jobs_blocks *b)
{
	blocks_init(&b->jct);
	blocks_init(&b->wait);
	blocks_init(&b->slowdown);
	for (size_t i = 0; i < r->n_jobs; i++) {
		const struct job_row *j = &r->jobs[i];
		if (j->end_ns < 0)
			continue;
		blocks_add(&b->jct, j->number, (double)(j->end_ns - j->submit_ns) / 1e9);
		blocks_add(&b->wait, j->number, (double)j->wait_ns / 1e9);
	}
	return r->n_jobs == r->rows_total;
}

static void add_difference(struct run_result *r, const char *name, const struct blocks *a, const struct blocks *b, double level)
{
	struct interval i = blocks_paired(a, b, RESAMPLES, level, 1);
	result_metric(r, name, i.mean, i.low, i.high);
}

/* Paired with the first policy of this command; so not part of what is stored. */
static void add_differences(const struct jobs_study *t, struct run_result *const *runs, size_t n)
{
	double level = orr_arg_real(t->s.options, "ci_level");
	for (size_t i = 1; i < n; i++) {
		if (!t->has_blocks[i] || !t->has_blocks[0])
			continue;
		add_difference(runs[i], "jct_diff", &t->blocks[i].jct, &t->blocks[0].jct, level);
		add_difference(runs[i], "wait_diff", &t->blocks[i].wait, &t->blocks[0].wait, level);
	}
}

/* ---- what the study calls ---- */

void jobs_study_close(struct jobs_study *t)
{
	jobs_scenario_free(&t->s);
	mem_free(t->blocks);
	mem_free(t->has_blocks);
	mem_free(t);
}

static int prepare(struct jobs_study *t, const cJSON *scenario, struct orr_error *err)
{
	int rc = jobs_scenario_resolve(scenario, &t->s, err);
	if (rc)
		return rc;
	if (jobset_count(t->s.jobs) == UINT64_MAX && t->s.until_ns == ORR_NEVER)
		return orr_fail(
			err, ORR_EINPUT, "%s: this trace has no end; say how many jobs (n=..) or give --until", jobset_source(t->s.jobs));
	if (jobset_left_out(t->s.jobs) && !t->o->quiet)
		fprintf(stderr, "orrery: %s: rows left out: %llu ('orrery trace info' says which, 'trace list' the options)\n",
			jobset_source(t->s.jobs), (unsigned long long)jobset_left_out(t->s.jobs));
	if (t->s.capacity.is_given && !t->o->quiet)
		inputs_tell_repairs(t->s.capacity.set);
	configure(t);
	t->blocks = mem_zalloc(t->s.base.n_policies, sizeof *t->blocks);
	t->has_blocks = mem_zalloc(t->s.base.n_policies, sizeof *t->has_blocks);
	return refuse_unfit(t, err);
}

struct jobs_study *jobs_study_open(const cJSON *scenario, const struct study_output *o, struct orr_error *err)
{
	struct jobs_study *t = mem_zalloc(1, sizeof *t);
	t->o = o;
	int rc = o->timeline ? orr_fail(err, ORR_EINPUT, "--timeline: is for orrery step; --out draws the jobs of this world")
			     : prepare(t, scenario, err);
	if (!rc)
		return t;
	jobs_study_close(t);
	return NULL;
}

static void *open_jobs(const cJSON *scenario, const struct study_output *o, struct scenario **base, struct orr_error *err)
{
	struct jobs_study *t = jobs_study_open(scenario, o, err);
	if (t)
		*base = &t->s.base;
	return t;
}

static void close_jobs(void *world)
{
	jobs_study_close(world);
}

/* Everything again with the laws drawn: what the step world's times are worth in makespan and JCT. */
static int draw_costs(const struct jobs_study *t, const struct scenario_policy *p, struct run_result *r, struct orr_error *err)
{
	static const char *const names[] = { "jct_mean", "jct_p50", "jct_p99", "wait_mean", "makespan" };
	enum { NAMES = sizeof names / sizeof *names };
	uint32_t n = t->s.set.cost_samples;
	double *v = mem_zalloc((size_t)n * NAMES, sizeof *v);
	struct jobs_blocks *blocks = mem_zalloc(1, sizeof *blocks);
	int rc = ORR_OK;
	for (uint32_t k = 0; !rc && k < n; k++) {
		struct run_result *drawn = result_new();
		struct jobs_config config = t->config;
		config.rates = t->s.drawn[k];
		config.record_jobs = config.check = false;
		rc = jobs_run(&config, p->entry.policy, p->args, p->label, drawn, blocks, err);
		for (size_t i = 0; !rc && i < NAMES; i++) {
			const struct metric *m = result_find(drawn, names[i]);
			v[i * n + k] = m ? m->value : NAN;
		}
		result_free(drawn);
	}
	for (size_t i = 0; !rc && i < NAMES; i++)
		cost_samples_put(r, names[i], v + i * n, n);
	if (!rc)
		result_metric(r, "cost_samples", n, NAN, NAN);
	mem_free(blocks);
	mem_free(v);
	return rc;
}

static void note_source(const struct jobs_study *t, struct run_result *r)
{
	char *source = setting_source(&t->s.set, t->s.base.cluster), text[1024];
	snprintf(text, sizeof text, "%s", source);
	if (t->s.set.cost_samples)
		cost_samples_say(t->s.set.cost_samples, text, sizeof text);
	result_note(r, "cost-source", text);
	mem_free(source);
}

static void run_jobs(void *world, size_t i, struct run_result *r, study_progress progress, void *ctx, struct orr_error *err)
{
	struct jobs_study *t = world;
	const struct scenario_policy *p = &t->s.base.policy[i];
	struct jobs_config config = t->config;
	config.progress = progress;
	config.progress_ctx = ctx;
	int rc = jobs_run(&config, p->entry.policy, p->args, p->label, r, &t->blocks[i], err);
	t->has_blocks[i] = true;
	if (!rc && t->s.rates)
		note_source(t, r);
	if (!rc && t->s.set.cost_samples)
		draw_costs(t, p, r, err);
}

static void reused_jobs(void *world, size_t i, const struct run_result *r)
{
	struct jobs_study *t = world;
	t->has_blocks[i] = blocks_from_rows(r, &t->blocks[i]);
}

/* The runs of all policies together: what one finds out the others use. */
static void say_step_runs(const struct jobs_study *t)
{
	uint64_t alone, together, unsettled, by_law, outside;
	if (!t->s.rates || t->o->quiet || t->o->is_series)
		return;
	steprate_count(t->s.rates, &alone, &together, &unsettled);
	fprintf(stderr, "orrery: steps simulated of %llu shapes", (unsigned long long)alone);
	if (together)
		fprintf(stderr, " and %llu sets of jobs (%llu not settled)", (unsigned long long)together, (unsigned long long)unsettled);
	fputc('\n', stderr);
	steprate_outside(t->s.rates, &by_law, &outside);
	if (outside)
		fprintf(stderr, "orrery: outside the range of their profile's laws: %llu of %llu kernels\n", (unsigned long long)outside,
			(unsigned long long)by_law);
}

/* What the trace of instances does not say, of any policy's run. */
static void say_capacity(const struct jobs_study *t, struct run_result *const *runs, size_t n)
{
	double unused = 0, past = 0, instances = 0;
	for (size_t i = 0; i < n; i++) {
		const struct metric *u = result_find(runs[i], "instances_unused"), *p = result_find(runs[i], "past_capacity"),
				    *all = result_find(runs[i], "instances");
		if (u && p && all && (u->value > unused || p->value > past)) {
			unused = u->value > unused ? u->value : unused;
			instances = all->value > instances ? all->value : instances;
			past = p->value > past ? p->value : past;
		}
	}
	if (unused > 0)
		fprintf(stderr, "orrery: %.0f of %.0f instances never found a free node: the cluster has %u\n", unused, instances,
			t->s.base.cluster->n_nodes);
	if (past > 0)
		fprintf(stderr, "orrery: the trace of instances ends %.3g h before the last run: who was there then stays\n", past / 3600);
}

static int finish_jobs(void *world, struct run_result *const *runs, size_t n, struct orr_error *err)
{
	struct jobs_study *t = world;
	(void)err;
	add_differences(t, runs, n);
	say_step_runs(t);
	if (!t->o->quiet)
		say_capacity(t, runs, n);
	for (size_t i = 0; i < n && !t->o->quiet; i++)
		if (t->config.record_jobs && runs[i]->n_jobs < runs[i]->rows_total)
			fprintf(stderr, "orrery: %s: rows of %zu of %llu jobs are kept (a sample); means and quantiles are of all\n",
				runs[i]->label, runs[i]->n_jobs, (unsigned long long)runs[i]->rows_total);
	return ORR_OK;
}

static char *show_jobs(const cJSON *scenario, struct orr_error *err)
{
	struct jobs_scenario s;
	char *text = jobs_scenario_resolve(scenario, &s, err) ? NULL : scenario_show(&s.base);
	jobs_scenario_free(&s);
	return text;
}

const struct study_world study_jobs_world = { .name = "jobs",
	.kind = "jobs",
	.source = "trace",
	.show = show_jobs,
	.open = open_jobs,
	.run = run_jobs,
	.reused = reused_jobs,
	.finish = finish_jobs,
	.close = close_jobs };
