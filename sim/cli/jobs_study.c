/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/jobs_study.h"

#include "base/mem.h"
#include "cli/progress.h"
#include "plots/figure.h"
#include "results/outfile.h"
#include "results/report.h"
#include "results/store.h"

#include <math.h>
#ifdef _OPENMP
#include <omp.h>
#endif
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

enum { MAX_ROWS = 1000000, RESAMPLES = 1000 };

struct one_run {
	struct run_result *result;
	struct jobs_blocks blocks;
	char hash[65];
	char *text;
	bool is_done, is_reused, has_blocks, is_stored;
	struct orr_error err;
};

struct study {
	struct jobs_scenario s;
	const struct study_output *o;
	struct jobs_config config;
	struct one_run *run;
	struct store *store;
	struct progress *progress;
	size_t n_stored; /* runs before this one are in the store */
	int threads;
};

/* ---- endings that cannot be unwound ---- */

static void end_on_timeout(const char *text)
{
	fprintf(stderr, "orrery: %s\n", text);
	_exit(ORR_EFAIL);
}

static void end_on_interrupt(int sig)
{
	static const char text[] = "\norrery: interrupted; runs that were finished are in the database\n";
	(void)sig;
	if (write(STDERR_FILENO, text, sizeof text - 1) < 0)
		_exit(ORR_EFAIL);
	_exit(ORR_EFAIL);
}

/* ---- one run ---- */

struct reporter {
	struct progress *progress;
	size_t part;
};

static void report(void *ctx, double done)
{
	const struct reporter *r = ctx;
	progress_report(r->progress, r->part, done);
}

static double clock_s(clockid_t id)
{
	struct timespec t;
	clock_gettime(id, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
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

static void carry_out(struct study *t, size_t i)
{
	struct one_run *x = &t->run[i];
	const struct scenario_policy *p = &t->s.policy[i];
	struct reporter reporter = { t->progress, i };
	struct jobs_config config = t->config;
	char seed[32];
	config.progress = t->progress ? report : NULL;
	config.progress_ctx = &reporter;
	double wall = clock_s(CLOCK_MONOTONIC), cpu = clock_s(CLOCK_THREAD_CPUTIME_ID);
	struct run_result *r = x->result = result_new();
	snprintf(seed, sizeof seed, "%llu", (unsigned long long)t->s.seed);
	r->label = mem_strdup(p->label);
	r->policy = mem_strdup(*p->entry.plugin_hash ? p->spec : p->entry.name);
	r->world = mem_strdup("jobs");
	r->scenario = mem_strdup(x->text);
	r->hash = mem_strdup(x->hash);
	r->seed_text = mem_strdup(seed);
	jobs_run(&config, p->entry.policy, p->args, p->label, r, &x->blocks, &x->err);
	r->wall_s = clock_s(CLOCK_MONOTONIC) - wall;
	r->cpu_s = clock_s(CLOCK_THREAD_CPUTIME_ID) - cpu;
	x->has_blocks = true;
	progress_report(t->progress, i, 1);
}

/* Stores finished runs as soon as all before them are stored: one order, whatever -j. */
static void store_finished(struct study *t)
{
	while (t->n_stored < t->s.n_policies && t->run[t->n_stored].is_done) {
		struct one_run *x = &t->run[t->n_stored++];
		if (t->store && !x->err.code && !x->is_reused)
			store_write(t->store, x->result, &x->err);
	}
}

static int reuse(struct study *t, size_t i, struct orr_error *err)
{
	struct one_run *x = &t->run[i];
	if (!t->store || t->o->fresh || t->o->check)
		return ORR_OK;
	int rc = store_read(t->store, x->hash, t->s.policy[i].label, &x->result, err);
	if (rc || !x->result)
		return rc;
	x->is_done = x->is_reused = true;
	x->has_blocks = blocks_from_rows(x->result, &x->blocks);
	return ORR_OK;
}

static void run_all(struct study *t)
{
	long n = (long)t->s.n_policies;
#pragma omp parallel for schedule(dynamic, 1) num_threads(t->threads)
	for (long i = 0; i < n; i++) {
		if (!t->run[i].is_reused)
			carry_out(t, (size_t)i);
#pragma omp critical(orr_store)
		{
			t->run[i].is_done = true; /* other threads read it, in here alone */
			store_finished(t);
		}
	}
}

/* ---- the study ---- */

static void configure(struct study *t)
{
	t->config = (struct jobs_config){ .jobs = t->s.jobs,
		.cluster = t->s.cluster,
		.placement = t->s.placement,
		.throughput = t->s.throughput,
		.failures = t->s.failures,
		.options = t->s.options,
		.seed = t->s.seed,
		.until_ns = t->s.until_ns,
		.drop_unfit = t->s.drop_unfit,
		.check = t->o->check,
		.record_jobs = t->s.record != RECORD_SUMMARY && (t->o->db || t->o->out_dir),
		.max_rows = t->s.record == RECORD_SAMPLE ? 10000 : MAX_ROWS,
		.policy_timeout_s = t->s.policy_timeout_s };
	t->threads = t->o->threads;
#ifdef _OPENMP
	if (!t->threads)
		t->threads = omp_get_max_threads();
#endif
	if (t->threads < 1)
		t->threads = 1;
}

static int refuse_unfit(const struct study *t, struct orr_error *err)
{
	uint64_t count;
	struct job_rec first;
	int rc = jobs_find_unfit(&t->config, &count, &first, err);
	if (rc || !count)
		return rc;
	if (t->s.drop_unfit) {
		if (!t->o->quiet)
			fprintf(stderr, "orrery: left out %llu jobs that can never be placed on this cluster\n",
				(unsigned long long)count);
		return ORR_OK;
	}
	char others[64] = "", line[24] = "", beside[64] = "", type[80] = "";
	if (count > 1)
		snprintf(others, sizeof others, ", and %llu others likewise", (unsigned long long)count - 1);
	if (first.line)
		snprintf(line, sizeof line, "%llu:", (unsigned long long)first.line);
	if (first.cpu_milli || first.mem_mib)
		snprintf(beside, sizeof beside, " (%.3g cores, %.4g GiB)", (double)first.cpu_milli / 1000,
			(double)first.mem_mib / 1024);
	if (first.gpu_types)
		snprintf(type, sizeof type, " of type %.64s", strtab_text(jobset_strings(t->s.jobs), first.gpu_types));
	return orr_fail(err, ORR_EINPUT,
		"%s:%s job %llu asks for %u GPUs%s%s and can never be placed on this cluster%s; give a "
		"larger --cluster, or --drop-unfit to leave such jobs out",
		jobset_source(t->s.jobs), line, (unsigned long long)first.number, first.gpus, type, beside, others);
}

static void add_difference(struct run_result *r, const char *name, const struct blocks *a, const struct blocks *b,
	double level)
{
	struct interval i = blocks_paired(a, b, RESAMPLES, level, 1);
	result_metric(r, name, i.mean, i.low, i.high);
}

/* Paired with the first policy of this command; so not part of what is stored. */
static void add_differences(struct study *t)
{
	const struct one_run *first = &t->run[0];
	double level = orr_arg_real(t->s.options, "ci_level");
	for (size_t i = 1; i < t->s.n_policies; i++) {
		struct one_run *x = &t->run[i];
		if (!x->has_blocks || !first->has_blocks)
			continue;
		add_difference(x->result, "jct_diff", &x->blocks.jct, &first->blocks.jct, level);
		add_difference(x->result, "wait_diff", &x->blocks.wait, &first->blocks.wait, level);
	}
}

static int terminal_width(void)
{
	struct winsize size;
	if (!isatty(STDOUT_FILENO) || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) || !size.ws_col)
		return 0;
	return size.ws_col;
}

static int show_results(struct study *t, const struct run_result *const *runs, struct orr_error *err)
{
	size_t n = t->s.n_policies;
	struct sbuf text = { 0 };
	if (t->o->json)
		report_json(&text, runs, n);
	else if (!t->o->quiet)
		report_table(&text, runs, n, terminal_width());
	fputs(sbuf_text(&text), stdout);
	sbuf_free(&text);
	if (fflush(stdout))
		return orr_fail(err, ORR_EFAIL, "standard output: cannot be written");
	if (!t->o->out_dir)
		return ORR_OK;
	int rc = report_out_dir(t->o->out_dir, runs, n, err);
	if (rc || t->o->no_figures)
		return rc;
	struct orr_error why = { 0 };
	if (figures_write(t->o->out_dir, runs, n, &why))
		fprintf(stderr, "orrery: no figures: %s\n", why.text);
	return ORR_OK;
}

static void say_what_is_left_out(const struct study *t)
{
	for (size_t i = 0; i < t->s.n_policies && !t->o->quiet; i++) {
		const struct run_result *r = t->run[i].result;
		if (t->config.record_jobs && r->n_jobs < r->rows_total)
			fprintf(stderr, "orrery: %s: rows of %zu of %llu jobs are kept (a sample); means and quantiles are of all\n",
				r->label, r->n_jobs, (unsigned long long)r->rows_total);
		if (t->run[i].is_reused)
			fprintf(stderr, "orrery: %s: taken from %s, where this run is already (--fresh repeats it)\n", r->label,
				t->o->db);
	}
}

static int first_error(const struct study *t, struct orr_error *err)
{
	for (size_t i = 0; i < t->s.n_policies; i++)
		if (t->run[i].err.code) {
			*err = t->run[i].err;
			return err->code;
		}
	return ORR_OK;
}

static int carry_out_all(struct study *t, struct orr_error *err)
{
	size_t n = t->s.n_policies;
	int rc = ORR_OK;
	t->run = mem_zalloc(n, sizeof *t->run);
	for (size_t i = 0; !rc && i < n; i++) {
		t->run[i].text = jobs_scenario_text(&t->s, i, t->run[i].hash);
		rc = reuse(t, i, err);
	}
	if (rc)
		return rc;
	char what[40];
	snprintf(what, sizeof what, n == 1 ? "%.30s" : "%.30s and others", t->s.policy[0].label);
	t->progress = progress_new(what, n, t->o->quiet);
	jobs_watchdog_start(end_on_timeout);
	run_all(t);
	jobs_watchdog_stop();
	progress_free(t->progress);
	return first_error(t, err);
}

static int finish(struct study *t, struct orr_error *err)
{
	const struct run_result **runs = mem_zalloc(t->s.n_policies, sizeof *runs);
	for (size_t i = 0; i < t->s.n_policies; i++)
		runs[i] = t->run[i].result;
	add_differences(t);
	say_what_is_left_out(t);
	int rc = show_results(t, runs, err);
	mem_free(runs);
	return rc;
}

int jobs_study(const cJSON *scenario, const struct study_output *o, struct orr_error *err)
{
	struct study t = { .o = o };
	int rc = jobs_scenario_resolve(scenario, &t.s, err);
	if (!rc && jobset_count(t.s.jobs) == UINT64_MAX && t.s.until_ns == ORR_NEVER)
		rc = orr_fail(err, ORR_EINPUT, "%s: this trace has no end; say how many jobs (n=..) or give --until",
			jobset_source(t.s.jobs));
	if (!rc && jobset_left_out(t.s.jobs) && !o->quiet)
		fprintf(stderr, "orrery: %s: rows left out: %llu ('orrery trace info' says which, 'trace list' the options)\n",
			jobset_source(t.s.jobs), (unsigned long long)jobset_left_out(t.s.jobs));
	if (!rc) {
		configure(&t);
		rc = refuse_unfit(&t, err);
	}
	/* Before hours of work, not after them. */
	if (!rc && o->out_dir)
		rc = outfile_make_dir(o->out_dir, err);
	if (!rc && o->db) {
		t.store = store_open(o->db, NULL, err);
		rc = t.store ? ORR_OK : err->code;
		if (t.store)
			store_replace_existing(t.store, o->fresh || o->check);
		signal(SIGINT, end_on_interrupt);
		signal(SIGTERM, end_on_interrupt);
	}
	if (!rc)
		rc = carry_out_all(&t, err);
	if (t.store) {
		struct orr_error on_close = { 0 };
		int closed = store_close(t.store, rc ? &on_close : err);
		rc = rc ? rc : closed;
	}
	if (!rc)
		rc = finish(&t, err);
	for (size_t i = 0; t.run && i < t.s.n_policies; i++) {
		result_free(t.run[i].result);
		mem_free(t.run[i].text);
	}
	mem_free(t.run);
	jobs_scenario_free(&t.s);
	return rc;
}
