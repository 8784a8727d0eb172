/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Metrics of a run; the formulas are in docs/models/jobs.md#figures-of-merit. */
#include "jobs/world.h"

#include "base/mem.h"
#include "base/sbuf.h"
#include "jobs/flows.h"
#include "jobs/places.h"
#include "jobs/quota.h"
#include "jobs/tenants.h"
#include "results/batches.h"
#include "results/summary.h"

#include <math.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>

/* Lower bound of the time alone in the bounded slowdown (Feitelson 2001). */
static const double slowdown_bound_s = 10;

static void begin_time(struct orr_jobs *w, int64_t start)
{
	timeline_begin(&w->measures.line->busy, start);
	timeline_begin(&w->measures.line->queue, start);
	timeline_begin(&w->measures.line->stranded, start);
	timeline_begin(&w->measures.line->fragmented, start);
	w->totals.last_end = w->measures.last_state = start;
}

void metrics_first(struct orr_jobs *w, int64_t submit_ns)
{
	if (submit_ns != w->measures.line->busy.start)
		begin_time(w, submit_ns);
	w->totals.first_submit = submit_ns;
}

void metrics_begin(struct orr_jobs *w)
{
	w->measures.line = mem_alloc(sizeof *w->measures.line);
	begin_time(w, w->arrivals.has_next ? w->arrivals.next.submit_ns : 0);
	w->totals.first_submit = -1;
	w->measures.jct = hist_new();
	w->measures.wait = hist_new();
	w->measures.slowdown = hist_new();
	blocks_init(&w->measures.blocks->jct);
	blocks_init(&w->measures.blocks->wait);
	blocks_init(&w->measures.blocks->slowdown);
	w->measures.row_stride = 1;
}

void metrics_state(struct orr_jobs *w)
{
	struct job_lines *line = w->measures.line;
	int64_t now = eng_now(w->engine);
	if (now < line->busy.start)
		return;
	w->measures.last_state = now;
	timeline_change(&line->busy, now, (uint64_t)(w->pool->used_milli - (w->others_milli ? *w->others_milli : 0)));
	timeline_change(&line->queue, now, w->slots.waiting);
	timeline_change(&line->stranded, now, w->slots.waiting ? w->pool->free_gpus : 0);
	if (w->flows)
		flows_state(w);
	/* Free GPUs and parts of GPUs on nodes that are partly in use. */
	timeline_change(
		&line->fragmented, now, 1000 * (uint64_t)(w->pool->total_gpus - w->pool->idle_gpus) - (uint64_t)w->pool->used_milli);
}

void metrics_settle(struct orr_jobs *w)
{
	struct timeline *line[] = { &w->measures.line->busy, &w->measures.line->queue, &w->measures.line->stranded,
		&w->measures.line->fragmented };
	for (size_t i = 0; i < sizeof line / sizeof *line; i++)
		timeline_set(line[i], w->measures.last_state, line[i]->value);
}

/* ---- jobs ---- */

/* Keeps every row until there are max_rows rows, then every second, fourth, ... by number. The choice of rows depends only on the
 * jobs. */
static void record(struct orr_jobs *w, const struct job *job, enum job_status how, int64_t end)
{
	struct run_result *r = w->result;
	if (!w->config->record_jobs || job->number % w->measures.row_stride)
		return;
	if (r->n_jobs >= w->config->max_rows) {
		size_t kept = 0;
		w->measures.row_stride *= 2;
		for (size_t i = 0; i < r->n_jobs; i++)
			if (!(r->jobs[i].number % w->measures.row_stride))
				r->jobs[kept++] = r->jobs[i];
		r->n_jobs = kept;
		if (job->number % w->measures.row_stride)
			return;
	}
	MEM_GROW(r->jobs, r->n_jobs, w->measures.cap_rows);
	char name[400];
	if (job->branch)
		flows_name(job, name, sizeof name);
	/* The jobset, which outlives the result, owns the names. */
	r->jobs[r->n_jobs++] = (struct job_row){ .number = job->number,
		.job_id = job->branch ? result_text(w->result, name)
			  : job->id   ? strtab_text(w->strings, job->id)
				      : NULL,
		.user = job->user ? strtab_text(w->strings, job->user) : NULL,
		.queue = job->queue ? strtab_text(w->strings, job->queue) : NULL,
		.model = job->model ? strtab_text(w->strings, job->model) : NULL,
		.submit_ns = job->origin,
		.start_ns = job->first_start,
		.end_ns = end,
		.wait_ns = (end < 0 ? eng_now(w->engine) : end) - job->submit - job->attained,
		.run_ns = job->attained,
		.duration_ns = job->duration,
		.recorded_wait_ns = job->recorded_wait,
		.gpus = job->gpus,
		.gpu_milli = w->shapes.shape[job->shape].request.gpu_milli,
		.preemptions = job->preemptions,
		.migrations = job->migrations,
		.restarts = job->restarts,
		.status = (uint8_t)how };
}

/* Measures finish-time fairness (Mahajan et al., "Themis", NSDI 2020, section 3): JCT over the time alone on 1/N of the cluster,
 * where N is the mean number of jobs present. run_s: running time at the mean speed of the cluster's GPUs. */
static void measure_fairness(struct orr_jobs *w, const struct job *job, double jct_s, double run_s)
{
	double present = jct_s > 0 ? (double)(w->totals.live_ns - job->live_ns) / 1e9 / jct_s : 1;
	double share = (double)w->config->cluster->gpus / (present > 1 ? present : 1);
	double alone = run_s * fmax(1, gpus_asked(w, job) / share);
	double rho = alone > 0 ? jct_s / alone : 1;
	w->totals.ftf_sum += rho;
	w->totals.ftf_n++;
	if (rho > w->totals.ftf_max)
		w->totals.ftf_max = rho;
}

/* Adds a completed job to the sums of the means. */
static void measure(struct orr_jobs *w, const struct job *job, int64_t end)
{
	double jct = (double)(end - job->origin) / 1e9, ready = (double)(end - job->submit) / 1e9;
	double wait = (double)(end - job->submit - job->attained) / 1e9;
	double alone = (double)job->duration / 1e9 / tenants_rate(w, job);
	double slowdown = fmax(1, ready / fmax(alone, slowdown_bound_s));
	hist_add_at(w->measures.jct, job->number, jct);
	hist_add_at(w->measures.wait, job->number, wait);
	hist_add_at(w->measures.slowdown, job->number, slowdown);
	blocks_add(&w->measures.blocks->jct, job->number, jct);
	blocks_add(&w->measures.blocks->wait, job->number, wait);
	blocks_add(&w->measures.blocks->slowdown, job->number, slowdown);
	w->totals.jain_sum += 1 / slowdown; /* 1 / slowdown is the speed relative to running alone */
	w->totals.jain_sum2 += 1 / (slowdown * slowdown);
	w->totals.jain_n++;
	measure_fairness(w, job, ready, alone);
	tenants_complete(w, ready, alone);
}

/* A job that was killed did less work than requested. The means exclude such jobs; otherwise policies that lose jobs early would appear
 * better. */
void metrics_job(struct orr_jobs *w, const struct job *job, enum job_status how)
{
	int64_t end = eng_now(w->engine);
	w->totals.completed += how == JOB_COMPLETED;
	w->totals.killed += how == JOB_KILLED;
	w->totals.failed += how == JOB_FAILED;
	w->totals.migrations += job->migrations;
	w->totals.deadlines_met += how == JOB_COMPLETED && job->deadline >= 0 && end <= job->deadline;
	if (how == JOB_COMPLETED && !(w->config->completed_only && job->recorded > TRACE_STATUS_COMPLETED))
		measure(w, job, end);
	record(w, job, how, end);
}

/* ---- events, for the Gantt chart and failures ---- */

static void add_event(struct orr_jobs *w, const char *kind, uint64_t subject, const char *detail)
{
	result_event(w->result,
		(struct event_row){
			.time_ns = eng_now(w->engine), .kind = kind, .subject = subject, .detail = result_text(w->result, detail) });
}

/* Returns whether the events of a job are recorded. */
static bool is_covered(struct orr_jobs *w, const struct job *job)
{
	bool is_in = job->number < w->options.gantt;
	w->totals.used |= is_in != (job->number < JOBS_GANTT) ? JOBS_USED_GANTT : 0;
	return is_in;
}

void metrics_event(struct orr_jobs *w, const char *kind, const struct job *job, const char *detail)
{
	if (w->config->metrics_only || !is_covered(w, job))
		return;
	struct sbuf places = { 0 };
	const struct pool_piece *x = pool_pieces(&job->alloc);
	for (uint32_t i = 0; !strcmp(kind, "start") && i < job->alloc.n && i < 64; i++)
		sbuf_printf(&places, "%s%s:%u", i ? "," : "", w->config->cluster->node[x[i].node].name, x[i].gpus);
	add_event(w, kind, job->number, places.len ? places.text : detail);
	sbuf_free(&places);
}

/* Limits events to a million: failures can be frequent. */
void metrics_node_event(struct orr_jobs *w, const char *kind, uint32_t node)
{
	/* Remarks need to know whether a node failed. */
	bool is_first_failure = !w->measures.has_failure && !strcmp(kind, "node-fail");
	w->measures.has_failure |= is_first_failure;
	if (w->result->n_events >= 1000000 || (w->config->metrics_only && !is_first_failure))
		return;
	add_event(w, kind, node, w->config->cluster->node[node].name);
}

/* ---- at the end ---- */

static void put(struct orr_jobs *w, const char *name, double value)
{
	summary_put(w->result, name, value);
}

static void put_mean(struct orr_jobs *w, const char *name, const struct blocks *b)
{
	double warmup = orr_arg_real(w->config->options, "warmup");
	summary_mean(w->result, name, b, warmup, w->measures.level);
	if (warmup > 0 && summary_depends_on_warmup(name, b, warmup, w->measures.level))
		w->totals.used |= JOBS_USED_WARMUP;
}

static void put_quantile(struct orr_jobs *w, const char *name, struct hist *h, double p)
{
	summary_quantile(w->result, name, h, p, w->measures.level);
}

static void put_timeline(struct orr_jobs *w, const char *name, const struct timeline *t, double scale)
{
	summary_timeline(w->result, name, t, scale, w->measures.level);
}

static void put_series(struct orr_jobs *w, const char *name, const struct timeline *t, double scale)
{
	if (!w->config->metrics_only)
		summary_series(w->result, name, t, scale);
}

static void put_counts(struct orr_jobs *w, uint64_t unfinished)
{
	const struct totals *t = &w->totals;
	put(w, "jobs", (double)t->arrived);
	put(w, "jobs_completed", (double)t->completed);
	put(w, "jobs_killed", (double)t->killed);
	put(w, "jobs_failed", (double)t->failed);
	put(w, "jobs_unfinished", (double)unfinished);
	put(w, "jobs_refused", (double)t->refused);
	if (t->recorded[TRACE_STATUS_NONE] < t->arrived - t->refused) {
		put(w, "recorded_failed", (double)t->recorded[TRACE_STATUS_FAILED]);
		put(w, "recorded_killed", (double)t->recorded[TRACE_STATUS_KILLED]);
		put(w, "recorded_other", (double)t->recorded[TRACE_STATUS_OTHER]);
	}
	if (t->deadlines) {
		put(w, "deadlines", (double)t->deadlines);
		put(w, "deadlines_met", (double)t->deadlines_met / (double)t->deadlines);
	}
	if (t->shared_starts)
		put(w, "shared_starts", (double)t->shared_starts);
	put(w, "preemptions", (double)t->preemptions);
	put(w, "migrations", (double)t->migrations);
	put(w, "restarts", (double)t->restarts);
	put(w, "lost_gpu_hours", t->lost_gpu_ns / 3.6e12);
	put(w, "events", (double)eng_happened(w->engine));
}

/* Adds the counts of jobs that train; none if no job does. */
static void put_training(struct orr_jobs *w)
{
	if (!w->places)
		return;
	double shapes, sets, rerated, largest;
	places_metrics(w, &shapes, &sets, &rerated, &largest);
	put(w, "step_shapes", shapes);
	put(w, "sharing_sets", sets);
	put(w, "sharing_changes", rerated);
	put(w, "sharing_largest", largest);
}

/* Records the jobs that wait or run at the end of the run; returns their number. */
static uint64_t record_unfinished(struct orr_jobs *w)
{
	uint64_t n = 0;
	for (uint32_t i = w->slots.first_live; i != NONE; i = w->slots.job[i].next) {
		struct job copy = w->slots.job[i];
		if (copy.state == ORR_JOB_ENDED)
			continue;
		if (copy.state == ORR_JOB_RUNNING) {
			int64_t ran = eng_now(w->engine) - copy.last_start;
			copy.attained += ran;
			w->totals.job_milli_ns += (timeline_sum)(uint64_t)(eng_now(w->engine) - copy.booked_from) * (uint64_t)copy.milli;
		}
		w->totals.migrations += copy.migrations;
		record(w, &copy, JOB_UNFINISHED, -1);
		n++;
	}
	return n;
}

static int by_number(const void *a, const void *b)
{
	const struct job_row *x = a, *y = b;
	return (x->number > y->number) - (x->number < y->number);
}

/* Waits determine the cut of all metrics, because they show a transient before other metrics do. */
static void remove_warm_up(struct orr_jobs *w)
{
	struct measures *m = &w->measures;
	const struct warmup *how = &w->config->warm_up;
	struct warmup_cut cut = warmup_find(how, m->wait, w->totals.warm_jobs);
	warmup_apply(&cut, &m->wait, &m->blocks->wait);
	warmup_apply(&cut, &m->jct, &m->blocks->jct);
	warmup_apply(&cut, &m->slowdown, &m->blocks->slowdown);
	warmup_put(how, &cut, w->result);
}

const struct job_row *metrics_row(const struct run_result *r, uint64_t number)
{
	struct job_row key = { .number = number };
	const struct job_row *row = number < r->n_jobs ? &r->jobs[number] : NULL; /* usual: the result has a row of each job */
	if (r->n_jobs && (!row || row->number != number))
		row = bsearch(&key, r->jobs, r->n_jobs, sizeof key, by_number);
	return row;
}

void metrics_end(struct orr_jobs *w)
{
	const struct totals *t = &w->totals;
	double gpus = w->config->cluster->gpus ? w->config->cluster->gpus : 1;
	if (w->slots.live || w->arrivals.has_next) /* the run was stopped; other runs end with the last job */
		metrics_state(w);
	metrics_settle(w);
	uint64_t unfinished = record_unfinished(w);
	if (w->result->n_jobs)
		qsort(w->result->jobs, w->result->n_jobs, sizeof *w->result->jobs, by_number);
	w->result->rows_total = t->arrived - t->refused;
	struct interval wait;
	remove_warm_up(w);
	w->measures.level = batches_level(&w->measures.blocks->wait, orr_arg_real(w->config->options, "ci_level"), &wait);
	put_mean(w, "jct_mean", &w->measures.blocks->jct);
	put_quantile(w, "jct_p50", w->measures.jct, 0.50);
	put_quantile(w, "jct_p95", w->measures.jct, 0.95);
	put_quantile(w, "jct_p99", w->measures.jct, 0.99);
	put(w, "jct_max", hist_max(w->measures.jct));
	if (orr_arg_real(w->config->options, "warmup") > 0)
		put_mean(w, "wait_mean", &w->measures.blocks->wait);
	else
		summary_interval(w->result, "wait_mean", wait, w->measures.level);
	put_quantile(w, "wait_p50", w->measures.wait, 0.50);
	put_quantile(w, "wait_p99", w->measures.wait, 0.99);
	put_mean(w, "slowdown_mean", &w->measures.blocks->slowdown);
	put_quantile(w, "slowdown_p99", w->measures.slowdown, 0.99);
	put(w, "makespan", t->first_submit < 0 ? 0 : (double)(t->last_end - t->first_submit) / 1e9);
	put_timeline(w, "utilisation", &w->measures.line->busy, 1 / (1000 * gpus));
	put(w, "gpu_hours", (double)w->measures.line->busy.total / 3.6e15);
	put_timeline(w, "queue_length_mean", &w->measures.line->queue, 1);
	put(w, "queue_length_max", (double)w->measures.line->queue.largest);
	put_timeline(w, "stranded_gpus", &w->measures.line->stranded, 1);
	put_timeline(w, "fragmentation", &w->measures.line->fragmented, 1 / (1000 * gpus));
	put(w, "jain_slowdown", t->jain_n ? t->jain_sum * t->jain_sum / ((double)t->jain_n * t->jain_sum2) : NAN);
	put(w, "ftf_mean", t->ftf_n ? t->ftf_sum / (double)t->ftf_n : NAN);
	put(w, "ftf_max", t->ftf_max);
	tenants_metrics(w);
	put_counts(w, unfinished);
	put_training(w);
	quota_metrics(w);
	if (w->flows)
		flows_metrics(w);
	put_series(w, "utilisation", &w->measures.line->busy, 1 / (1000 * gpus));
	put_series(w, "queue_length", &w->measures.line->queue, 1);
	put_series(w, "stranded_gpus", &w->measures.line->stranded, 1);
}

void metrics_free(struct orr_jobs *w)
{
	mem_free(w->measures.line);
	hist_free(w->measures.jct);
	hist_free(w->measures.wait);
	hist_free(w->measures.slowdown);
}
