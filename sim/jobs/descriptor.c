/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The jobs world's descriptor: policies on one trace, compared job by job. */
#include "jobs/scenario.h"

#include "base/mem.h"
#include "base/strtab.h"
#include "base/utf8.h"
#include "jobs/adapt_belief.h"
#include "jobs/effects.h"
#include "jobs/steprate.h"
#include "jobs/type_speed.h"
#include "results/batches.h"
#include "results/recorded.h"
#include "traces/status.h"
#include "world/cost_samples.h"
#include "world/isolate.h"
#include "world/remarks.h"
#include "world/run.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MAX_ROWS = 1000000 };

static void configure(const struct scenario *s, struct jobs_state *t)
{
	const struct world_output *o = s->output;
	bool is_drawn = o->is_series && t->capacity.is_given; /* nodes over time are drawn */
	t->config = (struct jobs_config){ .jobs = t->jobs,
		.flows = t->unshared ? t->unshared : jobset_flows(t->jobs),
		.interference = (enum interference)orr_arg_int(s->keys, "interference"),
		.gpu_mem_mib = t->gpu_mem_mib,
		.partitions = t->partitions,
		.dependencies = !strcmp(orr_arg_text(s->options, "dependencies"), "on"),
		.memory = (enum dataset_rule)orr_arg_int(s->keys, "memory"),
		.cluster = s->cluster,
		.placement = t->placement,
		.compare = t->placement == placement_find("count") ? NULL : placement_find("count"),
		.throughput = t->throughput,
		.adapt = t->adapt,
		.failures = t->failures,
		.capacity = t->capacity.is_given ? &t->capacity.config : NULL,
		.speeds = t->speeds,
		.rates = t->rates,
		.sharing = t->sharing,
		.options = s->options,
		.seed = s->seed,
		.until_ns = s->until_ns,
		.warm_up = s->warm_up,
		.drop_unfit = orr_arg_bool(s->keys, "drop_unfit"),
		.completed_only = orr_arg_bool(s->keys, "completed_only"),
		.check = o->check,
		.metrics_only = s->record == RECORD_METRICS,
		.record_jobs = scenario_keeps_rows(s) && (o->db || o->out_dir || is_drawn || world_extra(o, "compare-recorded")),
		.explain = s->record == RECORD_EXPLAIN && o->db,
		.max_rows = s->record == RECORD_SAMPLE ? 10000 : MAX_ROWS,
		.policy_timeout_s = s->policy_timeout_s };
	if (t->rates)
		steprate_check(t->rates, o->check);
}

static int refuse_unfit(const struct scenario *s, const struct jobs_state *t, struct orr_error *err)
{
	uint64_t count;
	struct job_rec first;
	int rc = jobs_find_unfit(&t->config, &count, &first, err);
	if (rc || !count)
		return rc;
	if (t->config.drop_unfit) {
		if (!s->output->quiet)
			fprintf(stderr, "orrery: %llu job%s left out, because %s can never be placed on this cluster\n",
				(unsigned long long)count, count == 1 ? " is" : "s are", count == 1 ? "it" : "they");
		return ORR_OK;
	}
	char others[64] = "", line[24] = "", beside[64] = "", type[80] = "";
	const char *types = first.gpu_types ? strtab_text(jobset_strings(t->jobs), first.gpu_types) : NULL;
	bool has_limits = t->partitions || orr_arg_int(s->options, "user_gpus");
	if (count > 1)
		snprintf(others, sizeof others, ", and so do %llu others", (unsigned long long)count - 1);
	if (first.line)
		snprintf(line, sizeof line, "%llu:", (unsigned long long)first.line);
	if (first.cpu_milli || first.mem_mib)
		snprintf(beside, sizeof beside, " (%.3g cores, %.4g GiB)", (double)first.cpu_milli / 1000, (double)first.mem_mib / 1024);
	if (types)
		snprintf(type, sizeof type, " of type %.64s", types);
	if (types && !cluster_type_mask(t->config.cluster, types))
		return orr_fail(err, ORR_EINPUT,
			"%s:%s job %llu requests %u GPU%s%s, and this cluster has none of them%s: expected GPUs of that type (--cluster "
			"2x8:%.*s), trace_options.gpu_types=ignore to let jobs run on any type, or --drop-unfit, which omits such jobs",
			jobset_source(t->jobs), line, (unsigned long long)first.number, first.gpus, first.gpus == 1 ? "" : "s", type,
			others, (int)strcspn(types, "|"), types);
	return orr_fail(err, ORR_EINPUT,
		"%s:%s job %llu requests %u GPU%s%s%s and can never be placed on this cluster%s%s: expected a larger --cluster%s, "
		"%sor --drop-unfit, which omits such jobs",
		jobset_source(t->jobs), line, (unsigned long long)first.number, first.gpus, first.gpus == 1 ? "" : "s", type, beside,
		has_limits ? " within its limits" : "", others, has_limits ? ", quota or limit" : "",
		first.speedup ? "a smaller size in speedup, " : "");
}

/* Numbers of resampled jobs differ from those of the file, so the recorded status of a row is unknown. */
static bool knows_recorded(const struct jobs_state *t)
{
	return !t->config.completed_only || !jobset_blocks(t->jobs);
}

static bool is_in_means(const struct jobs_state *t, const struct job_row *row)
{
	if (row->status != JOB_COMPLETED || !t->config.completed_only || !jobset_is_loaded(t->jobs))
		return row->status == JOB_COMPLETED;
	uint32_t status = jobset_at(t->jobs, row->number)->status;
	return trace_status_of(status ? strtab_text(jobset_strings(t->jobs), status) : NULL) <= TRACE_STATUS_COMPLETED;
}

/* Rebuilds the blocks for paired differences from the rows of a stored run; returns false if only a sample of the rows is stored. */
static bool blocks_from_rows(const struct jobs_state *t, const struct run_result *r, struct jobs_blocks *b)
{
	if (!knows_recorded(t))
		return false;
	blocks_init(&b->jct);
	blocks_init(&b->wait);
	blocks_init(&b->slowdown);
	for (size_t i = 0; i < r->n_jobs; i++) {
		const struct job_row *j = &r->jobs[i];
		if (!is_in_means(t, j))
			continue;
		blocks_add(&b->jct, j->number, (double)(j->end_ns - j->submit_ns) / 1e9);
		blocks_add(&b->wait, j->number, (double)j->wait_ns / 1e9);
	}
	return r->n_jobs == r->rows_total;
}

/* base: name of the mean of b; NULL: not reported. */
static void add_difference(struct run_result *r, const char *name, const char *base, const struct blocks *a, const struct blocks *b,
	double warmup, double level)
{
	double mean;
	struct interval i = batches_paired(a, b, warmup, level, &mean);
	result_metric(r, name, i.mean, i.low, i.high);
	if (base)
		result_metric(r, base, mean, NAN, NAN);
}

static bool all_completed(const struct run_result *r)
{
	const struct metric *m = result_find(r, "jobs_completed");
	return m && m->value == (double)r->rows_total;
}

/* Fills the blocks of both runs from the jobs that completed in both; returns false if a run lacks rows of some jobs. */
static bool blocks_of_both(const struct jobs_state *t, const struct run_result *a, const struct run_result *b, struct jobs_blocks *of_a,
	struct jobs_blocks *of_b)
{
	if (a->n_jobs != a->rows_total || b->n_jobs != b->rows_total || !knows_recorded(t))
		return false;
	struct jobs_blocks *const of[] = { of_a, of_b };
	for (int k = 0; k < 2; k++) {
		blocks_init(&of[k]->jct);
		blocks_init(&of[k]->wait);
	}
	for (size_t i = 0, k = 0; i < a->n_jobs; i++) {
		while (k < b->n_jobs && b->jobs[k].number < a->jobs[i].number)
			k++;
		if (k == b->n_jobs || b->jobs[k].number != a->jobs[i].number)
			continue;
		const struct job_row *x = &a->jobs[i], *y = &b->jobs[k];
		if (!is_in_means(t, x) || !is_in_means(t, y))
			continue;
		blocks_add(&of_a->jct, x->number, (double)(x->end_ns - x->submit_ns) / 1e9);
		blocks_add(&of_b->jct, x->number, (double)(y->end_ns - y->submit_ns) / 1e9);
		blocks_add(&of_a->wait, x->number, (double)x->wait_ns / 1e9);
		blocks_add(&of_b->wait, x->number, (double)y->wait_ns / 1e9);
	}
	return true;
}

/* Adds the differences to the first policy of this command, over the jobs that completed in both, without the warm-up; they are not stored.
 * Without rows, it compares blocks of jobs (results/stats.h) and skips blocks with different numbers of completed jobs. */
static void add_differences(const struct scenario *s, struct run_result *const *runs, size_t n)
{
	const struct jobs_state *t = s->state;
	double level = scenario_level(s), warmup = orr_arg_real(t->config.options, "warmup");
	if (n < 2 || s->replications > 1 || s->warm_up.kind != WARMUP_NONE)
		return; /* two runs with different warm-up have no common jobs to pair */
	size_t first = scenario_policy_of(s, runs[0]);
	struct jobs_blocks *both = mem_zalloc(2, sizeof *both);
	for (size_t i = 1; i < n; i++) {
		size_t other = scenario_policy_of(s, runs[i]);
		if (!t->blocks[other] || !t->blocks[first])
			continue;
		const struct jobs_blocks *x = t->blocks[other], *y = t->blocks[first];
		if (!(all_completed(runs[i]) && all_completed(runs[0])) && blocks_of_both(t, runs[i], runs[0], &both[0], &both[1])) {
			x = &both[0];
			y = &both[1];
		}
		add_difference(runs[i], "jct_diff", "base_jct_diff", &x->jct, &y->jct, warmup, level);
		add_difference(runs[i], "wait_diff", NULL, &x->wait, &y->wait, warmup, level);
	}
	mem_free(both);
}

/* ---- the functions of the descriptor ---- */

static void close_jobs(struct scenario *s)
{
	jobs_state_free(s->state);
}

static int open_jobs(struct scenario *s, struct orr_error *err)
{
	struct jobs_state *t = s->state = mem_zalloc(1, sizeof *t);
	bool is_quiet = s->output->quiet;
	int rc = jobs_state_load(s, t, err);
	if (rc || s->output->is_shown)
		return rc;
	if (jobset_count(t->jobs) == UINT64_MAX && s->until_ns == ORR_NEVER)
		return orr_fail(
			err, ORR_EINPUT, "%s: this trace has no end: expected a number of jobs (n=..) or --until", jobset_source(t->jobs));
	if (jobset_left_out(t->jobs) && !is_quiet)
		fprintf(stderr, "orrery: %s: rows left out: %llu ('orrery trace info' lists them, 'trace list' the options)\n",
			utf8_shown(jobset_source(t->jobs)), (unsigned long long)jobset_left_out(t->jobs));
	const char *first;
	uint64_t repaired = jobset_repaired(t->jobs, &first);
	if (repaired && !is_quiet)
		inputs_tell_repaired(jobset_source(t->jobs), repaired, first);
	if (t->capacity.is_given && !is_quiet)
		inputs_tell_repairs(t->capacity.set);
	configure(s, t);
	t->n_blocks = s->n_policies;
	t->blocks = mem_zalloc(t->n_blocks, sizeof *t->blocks);
	t->used = mem_zalloc(s->n_policies, sizeof *t->used);
	return refuse_unfit(s, t, err);
}

/* Repeats the run with drawn laws. The intervals of makespan and JCT result from uncertain times of the step world and uncertain speeds by
 * GPU type. */
static int draw_costs(const struct jobs_state *t, const struct scenario_policy *p, struct run_result *r, struct orr_error *err)
{
	static const char *const names[] = { "jct_mean", "jct_p50", "jct_p99", "wait_mean", "makespan" };
	enum { NAMES = sizeof names / sizeof *names };
	uint32_t n = t->set.cost_samples;
	double *v = mem_zalloc((size_t)n * NAMES, sizeof *v);
	struct jobs_blocks *blocks = mem_zalloc(1, sizeof *blocks);
	int rc = ORR_OK;
	for (uint32_t k = 0; !rc && k < n; k++) {
		struct run_result *drawn = result_new();
		struct jobs_config config = t->config;
		config.rates = t->drawn ? t->drawn[k] : NULL;
		config.draw = t->speed_draw ? t->speed_draw[k] : NULL;
		config.record_jobs = config.explain = config.check = false;
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

static void note_source(const struct scenario *s, const struct jobs_state *t, struct run_result *r)
{
	char *source = setting_source(&t->set, s->cluster), text[1024];
	snprintf(text, sizeof text, "%s", source);
	if (t->set.cost_samples)
		cost_samples_say(t->set.cost_samples, text, sizeof text);
	result_note(r, "cost-source", text);
	mem_free(source);
}

static void note_draws(const struct jobs_state *t, struct run_result *r)
{
	char text[200];
	snprintf(text, sizeof text,
		"intervals of JCT, wait and makespan: %u draws of the laws of step times and, for each job, of a model of its class",
		t->set.cost_samples);
	result_note(r, "assumption", text);
}

static bool are_jobs_random(const struct scenario *s)
{
	const struct jobs_state *t = s->state;
	return !jobset_is_loaded(t->jobs) || orr_arg_int(s->keys, "belief") == ADAPT_PROFILES_WRONG || jobset_blocks(t->jobs) ||
	       failures_are_random(t->failures) || inputs_capacity_is_random(&t->capacity);
}

static double size_of_jobs(const struct scenario *s)
{
	uint64_t n = jobset_count(((const struct jobs_state *)s->state)->jobs);
	return n == UINT64_MAX ? 0 : (double)n;
}

static void note_jobs(const struct scenario *s, size_t i, struct run_result *r)
{
	jobs_note_effects(s, i, r);
	remark_warm_up(s, r);
	inputs_note_resample(s, jobset_blocks(((const struct jobs_state *)s->state)->jobs), "jobs", r);
}

static int run_jobs(
	struct scenario *s, size_t i, uint32_t k, struct run_result *r, world_progress progress, void *ctx, struct orr_error *err)
{
	struct jobs_state *t = s->state;
	const struct scenario_policy *p = &s->policy[i];
	if (s->record == RECORD_EXPLAIN && !s->output->db)
		return orr_fail(err, ORR_EINPUT,
			"record: the parts of times are stored in a database: expected --db FILE together with --record explain");
	struct jobs_config config = t->config;
	struct capacity_config capacity = t->capacity.config;
	struct jobs_blocks *blocks = mem_alloc(sizeof *blocks);
	config.progress = progress;
	config.progress_ctx = ctx;
	config.used = &t->used[i];
	config.replication = capacity.replication = k;
	config.record_jobs &= !k;
	config.explain &= !k;
	config.decisions = world_extra(s->output, "decisions");
	if (config.capacity)
		config.capacity = &capacity;
	int rc = jobs_run(&config, p->entry.policy, p->args, p->label, r, blocks, err);
	if (!k && s->n_policies > 1)
		t->blocks[i] = blocks; /* the blocks give the differences between policies */
	else
		mem_free(blocks);
	if (!rc && t->rates)
		note_source(s, t, r);
	if (!rc && t->speed_draw && t->set.cost_samples)
		note_draws(t, r);
	bool has_draws = t->set.cost_samples && (t->drawn || t->speed_draw);
	return !rc && has_draws && !k ? draw_costs(t, p, r, err) : rc;
}

/* What a run leaves in the state. The counts are those of say_step_runs(). */
struct left_by_run {
	unsigned used;
	bool has_blocks;
	uint64_t count[STEP_COUNTS];
};

static void give_jobs(const struct scenario *s, size_t i, struct sbuf *out)
{
	const struct jobs_state *t = s->state;
	const struct jobs_blocks *blocks = t->blocks[i];
	struct left_by_run left;
	memset(&left, 0, sizeof left);
	left.used = atomic_load(&t->used[i]);
	left.has_blocks = blocks != NULL;
	if (t->rates) {
		steprate_count(t->rates, &left.count[0], &left.count[1], &left.count[2]);
		steprate_outside(t->rates, &left.count[3], &left.count[4]);
	}
	sbuf_add(out, (const char *)&left, sizeof left);
	if (blocks)
		sbuf_add(out, (const char *)blocks, sizeof *blocks);
}

static bool take_jobs(struct scenario *s, size_t i, const char *bytes, size_t n)
{
	struct jobs_state *t = s->state;
	struct left_by_run left;
	if (n < sizeof left)
		return false;
	memcpy(&left, bytes, sizeof left);
	if (n != sizeof left + (left.has_blocks ? sizeof *t->blocks[i] : 0))
		return false;
	atomic_fetch_or(&t->used[i], left.used);
	for (int k = 0; k < STEP_COUNTS; k++)
		atomic_fetch_add(&t->step_count[k], left.count[k]);
	if (left.has_blocks) {
		t->blocks[i] = mem_alloc(sizeof *t->blocks[i]);
		memcpy(t->blocks[i], bytes + sizeof left, sizeof *t->blocks[i]);
	}
	return true;
}

static void reused_jobs(struct scenario *s, size_t i, const struct run_result *r)
{
	struct jobs_state *t = s->state;
	struct jobs_blocks *blocks = mem_alloc(sizeof *blocks);
	if (blocks_from_rows(t, r, blocks))
		t->blocks[i] = blocks;
	else
		mem_free(blocks);
}

/* Prints the counts over all policies, because they share the cached rates. Runs in separate processes have their own rates. */
static void say_step_runs(const struct scenario *s)
{
	const struct jobs_state *t = s->state;
	uint64_t alone, together, unsettled, by_law, outside;
	if (!t->rates || s->output->quiet || s->output->is_series)
		return;
	steprate_count(t->rates, &alone, &together, &unsettled);
	alone += t->step_count[0];
	together += t->step_count[1];
	unsettled += t->step_count[2];
	fprintf(stderr, "orrery: step times simulated for %llu distinct placements", (unsigned long long)alone);
	if (together)
		fprintf(stderr, " and %llu sets of jobs (%llu not in steady state)", (unsigned long long)together,
			(unsigned long long)unsettled);
	fputc('\n', stderr);
	steprate_outside(t->rates, &by_law, &outside);
	by_law += t->step_count[3];
	outside += t->step_count[4];
	if (outside)
		fprintf(stderr, "orrery: outside the range of their profile's laws: %llu of %llu kernels\n", (unsigned long long)outside,
			(unsigned long long)by_law);
}

/* Reports instances that found no node, and runs that last longer than the trace of instances. */
static void say_capacity(const struct scenario *s, struct run_result *const *runs, size_t n)
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
			s->cluster->n_nodes);
	if (past > 0)
		fprintf(stderr, "orrery: the trace of instances ends %.3g h before the last run: instances present at its end remain\n",
			past / 3600);
}

/* --compare-recorded: adds the metrics of recorded and simulated waits, which are not stored. */
static int add_recorded(struct run_result *const *runs, size_t n, struct orr_error *err)
{
	size_t rows = 0, known = 0;
	for (size_t i = 0; i < n; i++) {
		struct recorded_waits w = recorded_of(runs[i]);
		recorded_metrics(runs[i], &w);
		rows += runs[i]->n_jobs;
		known += w.jobs;
	}
	if (known)
		return ORR_OK;
	return orr_fail(err, ORR_EINPUT,
		rows ? "--compare-recorded: the trace records no wait of a completed job: expected a trace with start times or waits"
		     : "--compare-recorded: the runs have no rows of jobs: expected --record all");
}

static int finish_jobs(struct scenario *s, struct run_result *const *runs, size_t n, struct orr_error *err)
{
	if (world_extra(s->output, "compare-recorded") && add_recorded(runs, n, err))
		return err->code;
	add_differences(s, runs, n);
	say_step_runs(s);
	if (!s->output->quiet)
		say_capacity(s, runs, n);
	return ORR_OK;
}

/* ---- the descriptor ---- */

#define ORR_BUILTIN_POLICY(ident) extern const struct orr_policy orr_policy_##ident;
#include "policies/jobs/policies.def"
#undef ORR_BUILTIN_POLICY
#define ORR_BUILTIN_POLICY(ident) &orr_policy_##ident,
static const struct orr_policy *const policies[] = {
#include "policies/jobs/policies.def"
	NULL
};

static const struct world_function functions[] = { WORLD_FUNCTION(orr_jobs_ops, create), WORLD_FUNCTION(orr_jobs_ops, destroy),
	WORLD_FUNCTION(orr_jobs_ops, arrive), WORLD_FUNCTION(orr_jobs_ops, finish), WORLD_FUNCTION(orr_jobs_ops, schedule), { NULL, 0 } };

extern const struct embedded_file jobs_template[];

/* clang-format off */
static const struct orr_param keys[] = {
	ORR_PARAM_TEXT("trace", "", "a file (gzip and zstd are decompressed), - for standard input, or a generator: NAME[:param=value,..]"),
	ORR_PARAM_TEXT("format", "auto", "auto, a format ('orrery trace list' shows all) or, as scenario show prints it, the name of a generator"),
	INPUTS_KEY_RESAMPLE,
	SCENARIO_KEY_CLUSTER,
	SCENARIO_KEY_PLACEMENT("count"),
	ORR_PARAM_TEXT("throughputs", "", "rates by GPU type and job type, Gavel's JSON"),
	ORR_PARAM_TEXT("applications", "", "goodput models of jobs that adapt their batch, by the name of the model"),
	ORR_PARAM_TEXT("noise", "", "statistics of the gradient, and progress, of these applications by epoch\nand batch size"),
	ORR_PARAM_TEXT("step_times", "", "measured step times of these applications by GPUs per node and batch; empty: the fitted model"),
	ORR_PARAM_CHOICE("batches", "adapt", "adapt|fixed", "batch of jobs that adapt: the best on their GPUs, or that of the trace"),
	ORR_PARAM_CHOICE("epoch_ends", "exact", "exact|seconds", "ends of epochs of jobs that adapt: exact, or in whole seconds as in Pollux's simulator"),
	ORR_PARAM_TEXT("partitions", "", "GPU quota of each queue (NAME=GPUS,.. or a CSV file with partition and gpus; * is all other queues); empty: none"),
	ORR_PARAM_CHOICE("interference", "auto", "auto|table|stages|occupancy|slices",
		"speed of jobs that share GPUs: from --throughputs, from their stages, from their occupancy, equal slices of time, or the first "
		"of these that has data"),
	ORR_PARAM_CHOICE("belief", "known", "known|learned|wrong", "step times that jobs which adapt assume: those of the model, learned while they run, or wrong by belief_error"),
	ORR_PARAM_REAL("belief_error", "0", 0, 3, "belief=wrong: standard deviation of the logarithm of each parameter's factor"),
	ORR_PARAM_CHOICE("memory", "none", "none|amm|lru|touch-count",
		"rule that selects data sets of flows to spill to disk; none: unlimited memory"),
	ORR_PARAM_CHOICE("sharing", "analytic", "off|analytic|simulated", "method by which jobs that name a strategy share links"),
	SETTING_KEYS("fp32"),
	SCENARIO_KEY_UNTIL,
	SCENARIO_KEY_WARM_UP,
	ORR_PARAM_BOOL("drop_unfit", false, "leave out jobs that can never be placed"),
	ORR_PARAM_BOOL("completed_only", false, "exclude jobs that the trace records as failed, killed or not ended from all means"),
	SCENARIO_KEY_RECORD,
	ORR_PARAM_END
};
static const struct world_object objects[] = {
	{ "trace_options", NULL, "parameters of the format (docs/traces.md)", NULL },
	{ "failures", inputs_failure_params, "node failures and repairs", NULL },
	{ "capacity", inputs_capacity_params, "lent nodes; excludes failures", NULL },
	SETTING_OBJECTS, { NULL, NULL, NULL, NULL }
};
static const char *const shown[] = { "trace_sha256", "cluster_sha256", "throughputs_sha256", "applications_sha256", "noise_sha256", "step_times_sha256", "partitions_sha256", "failures_sha256", "capacity_sha256",
	"capacity_prices_sha256", SETTING_SHOWN, "step_inputs", "speed_devices",
	"speed_profiles", "jobs_files_sha256", NULL };
static const struct world_input inputs[] = {
	{ "trace", NULL }, { "cluster", NULL }, { "throughputs", NULL }, { "applications", NULL }, { "noise", NULL }, { "step_times", NULL }, { "partitions", NULL },
	{ "network", NULL }, { "device", NULL },
	{ "failures.trace", NULL }, { "capacity.trace", "capacity_sha256" }, { "capacity.prices", "capacity_prices_sha256" },
	{ NULL, NULL }
};
static void put_formats(struct sbuf *out)
{
	trace_format_names(TRACE_JOBS, out);
}
static const struct world_flag flags[] = {
	{ "format", "F", WORLD_FLAG_KEY, "format", NULL, NULL, put_formats },
	{ "map", "LIST", WORLD_FLAG_KEY, "trace_options.map", NULL,
		"columns of any CSV or TSV, OURS=THEIRS,..: submit=created_at,gpus=n\n(the error about an unknown file suggests a list)" },
	{ "repair", NULL, WORLD_FLAG_KEY, "trace_options.repair", "all",
		"leave wrong rows of the trace out and count them; without it they\nare errors" },
	{ "resample", "BLOCK", WORLD_FLAG_KEY, "resample", NULL,
		"draw blocks of the trace file with replacement, of length day, hour or a\ntime such as 10m; each replication draws different blocks" },
	{ "cluster", "C", WORLD_FLAG_KEY, "cluster", NULL, "NODESxGPUS:TYPE[:speed=X][:cpus=N][:mem=GIB][:racks=N],.. or a CSV or JSON file" },
	{ "placement", "P", WORLD_FLAG_KEY, "placement", NULL, "count, consolidate, spread, best-fit, topology or fgd" },
	{ "partitions", "P", WORLD_FLAG_KEY, "partitions", NULL,
		"GPU quota of each queue of the trace: NAME=GPUS,.. (* is all other queues) or\na CSV file with the columns partition and gpus (--set jobs.borrow=on,\nreclaim=preempt; limits per user: user_gpus=N, user_jobs=N)" },
	{ "interference", "MODEL", WORLD_FLAG_KEY, "interference", NULL,
		"speed of jobs that share GPUs: table, stages, occupancy or slices;\ndefault: the first of these that has data" },
	{ "memory", "RULE", WORLD_FLAG_KEY, "memory", NULL, "rule that spills data sets of flows to disk: amm, lru, touch-count or none" },
	{ "throughputs", "FILE", WORLD_FLAG_KEY, "throughputs", NULL, "rates by GPU type and job type (Gavel's JSON)" },
	{ "applications", "FILE", WORLD_FLAG_KEY, "applications", NULL,
		"goodput models of jobs that adapt their batch (orrery goodput), by the\nname of the model" },
	{ "noise", "FILE", WORLD_FLAG_KEY, "noise", NULL, "statistics of the gradient, and progress, of these applications by epoch\nand batch size" },
	{ "step-times", "FILE", WORLD_FLAG_KEY, "step_times", NULL, "measured step times of these applications; default: the fitted model" },
	{ "network", "N", WORLD_FLAG_KEY, "network", NULL,
		"network of jobs that name a strategy (docs/traces.md): as in orrery step, star,\nracks, leaf-spine, fat-tree, .. with options, or a JSON file" },
	{ "sharing", "WHAT", WORLD_FLAG_KEY, "sharing", NULL,
		"method by which jobs that name a strategy share links: off,\nanalytic (default) or simulated" },
	{ "batch", "N", WORLD_FLAG_KEY, "batch", NULL, "samples per GPU and iteration of jobs that name a strategy, if the\ntrace states none" },
	{ "precision", "P", WORLD_FLAG_KEY, "precision", NULL, "fp32, tf32, fp16, bf16 or fp8" },
	{ "device", "NAME", WORLD_FLAG_KEY, "device", NULL, "device of every GPU, overriding its type: a name or a file" },
	{ "profile", "P", WORLD_FLAG_KEY, "profile", NULL, "fitted laws of kernel times: auto (default), none, a name or a file" },
	{ "cost-samples", "N", WORLD_FLAG_KEY, "cost_samples", NULL,
		"draw the profile's laws N times, for intervals of makespan, JCT and waits" },
	{ "failures", "FILE", WORLD_FLAG_OBJECT, "failures.trace", NULL, "node failures and repairs: time_s,node,event" },
	{ "capacity", "SOURCE", WORLD_FLAG_OBJECT, "capacity.trace", NULL,
		"a node is up while an instance of this trace or generator is available\n(--set capacity.startup=.., notice, price, prices, options)" },
	{ "drop-unfit", NULL, WORLD_FLAG_KEY, "drop_unfit", "true", "leave out jobs that can never be placed, instead of an error" },
	{ "completed-only", NULL, WORLD_FLAG_KEY, "completed_only", "true",
		"exclude jobs that the trace records as failed, killed or not ended from\nall means; they still use GPUs" },
	{ "compare-recorded", NULL, WORLD_FLAG_EXTRA, NULL, "yes", "compare the waits that the trace records with those of each policy" },
	{ "decisions", "FILE", WORLD_FLAG_EXTRA, NULL, NULL, "write the decisions of the policy, which the policy replay reads" },
	SCENARIO_FLAG_WARM_UP,
	{ "until", "TIME", WORLD_FLAG_KEY, "until", NULL, "end of the simulation (30d, 12h, ...)" },
	{ "record", "WHAT", WORLD_FLAG_KEY, "record", NULL, "rows kept: metrics, summary, sample, all (default: up to a million) or explain" },
	{ NULL, NULL, 0, NULL, NULL, NULL }
};
/* clang-format on */

static const struct report_file files[] = { { "jobs", false }, { "nodes", true }, { "accounts", true }, { NULL, false } };

/* Columns of the table, in order. docs/reference/schema.md defines the metrics. */
static const struct report_column columns[] = {
	{ "jct_mean", "JCT mean", REPORT_TIME, NULL, true },
	{ "jct_p50", "JCT median", REPORT_TIME, NULL },
	{ "jct_p99", "JCT p99", REPORT_TIME, NULL },
	{ "wait_mean", "wait mean", REPORT_TIME, NULL, true },
	{ "wait_p99", "wait p99", REPORT_TIME, NULL },
	{ "slowdown_mean", "slowdown", REPORT_NUMBER, NULL },
	{ "makespan", "makespan", REPORT_TIME, NULL },
	{ "utilisation", "utilisation", REPORT_FRACTION, NULL },
	{ "useful_part", "useful", REPORT_FRACTION, NULL },
	{ "wasted_part", "wasted", REPORT_FRACTION, NULL },
	{ "idle_part", "idle", REPORT_FRACTION, NULL },
	{ "preemptions", "preemptions", REPORT_NUMBER, NULL },
	{ "deadlines_met", "deadlines met", REPORT_FRACTION, NULL },
	{ "flow_time_mean", "flow time", REPORT_TIME, NULL },
	{ "work_saved", "work saved", REPORT_FRACTION, NULL },
	{ "sets_spilled", "spilled", REPORT_NUMBER, NULL },
	{ "usd", "USD", REPORT_NUMBER, NULL },
	{ NULL, NULL, REPORT_NUMBER, NULL },
};

const struct world world_jobs = { .name = "jobs",
	.doc = "replay a trace of cluster jobs under several policies",
	.policies = policies,
	.ops_size = sizeof(struct orr_jobs_ops),
	.functions = functions,
	.oracle = "true durations",
	.template = jobs_template,
	.example = "jobs philly-like --cluster 64x8 --policy fifo",
	.keys = keys,
	.objects = objects,
	.options = jobs_options,
	.shown = shown,
	.inputs = inputs,
	.usage = "orrery jobs TRACE --cluster SPEC|FILE --policy A[,B..] [OPTIONS]",
	.about = "Replays a trace of cluster jobs under each policy and compares them.",
	.source = "TRACE",
	.source_hint = "a file, or a generator such as philly-like",
	.source_doc = "a file (gzip and zstd too, - is standard input) or a generator:\n"
		      "philly-like, openb-like, lublin, tiresias-like, poisson:rate=..,n=..",
	.flags = flags,
	.examples = "Example: three policies on a synthetic month, with a database and figures:\n"
		    "  orrery jobs philly-like --cluster 64x8:v100 --policy fifo,srtf,las --db runs.db --out out\n",
	.form = { .columns = columns, .files = files, .counted = "jobs" },
	.effects = jobs_effects,
	.used = jobs_used,
	.note = note_jobs,
	.open = open_jobs,
	.is_random = are_jobs_random,
	.size = size_of_jobs,
	.run = run_jobs,
	.give = give_jobs,
	.take = take_jobs,
	.reused = reused_jobs,
	.finish = finish_jobs,
	.close = close_jobs };
