/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "plots/figure_data.h"

#include "base/mem.h"
#include "plots/gnuplot.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { POINTS_MAX = 800, BINS = 350 };

static const struct time_unit {
	const char *name;
	double ns;
} time_units[] = { { "s", 1e9 }, { "min", 60e9 }, { "h", 3600e9 }, { "d", 86400e9 } };

/* Returns the largest unit of which the span holds at least five. */
static const struct time_unit *unit_for(int64_t span_ns)
{
	size_t k = 3;
	while (k && (double)span_ns < 5 * time_units[k].ns)
		k--;
	return &time_units[k];
}

void figure_put_label(struct sbuf *b, const struct run_result *r)
{
	const char *label = r->label ? r->label : "";
	size_t n = strlen(label);
	sbuf_add(b, label, n < FIGURE_LABEL_BYTES ? n : FIGURE_LABEL_BYTES);
	sbuf_puts(b, n > FIGURE_LABEL_BYTES ? "." : "");
	sbuf_puts(b, r->is_oracle ? " (oracle)" : "");
}

/* Ends a data block. gnuplot counts blocks, so an empty one still needs a line. */
static void end_block(struct sbuf *b, bool is_empty)
{
	sbuf_puts(b, is_empty ? "NaN NaN NaN\n\n\n" : "\n\n");
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

/* ---- distribution functions ---- */

/* Returns the times of a run in seconds, unsorted: *n_out of them, out of *of rows. The caller frees the array. */
typedef double *(*times_of)(const struct run_result *r, size_t *n_out, size_t *of);

/* Returns the JCTs of completed jobs. */
static double *jct_times(const struct run_result *r, size_t *n_out, size_t *of)
{
	double *jct = mem_zalloc(r->n_jobs + 1, sizeof *jct);
	size_t n = 0;
	for (size_t i = 0; i < r->n_jobs; i++)
		if (r->jobs[i].status == JOB_COMPLETED)
			jct[n++] = (double)(r->jobs[i].end_ns - r->jobs[i].submit_ns) / 1e9;
	*n_out = n;
	*of = r->n_jobs;
	return jct;
}

static double *latency_times(const struct run_result *r, size_t *n_out, size_t *of)
{
	double *t = mem_zalloc(r->n_requests + 1, sizeof *t);
	size_t n = 0;
	for (size_t i = 0; i < r->n_requests; i++)
		if (r->requests[i].status == REQUEST_COMPLETED)
			t[n++] = r->requests[i].completed_s - r->requests[i].arrival_s;
	*n_out = n;
	*of = r->n_requests;
	return t;
}

/* Returns the times to first token of requests with tokens. */
static double *ttft_times(const struct run_result *r, size_t *n_out, size_t *of)
{
	double *t = mem_zalloc(r->n_requests + 1, sizeof *t);
	size_t n = 0;
	*of = 0;
	for (size_t i = 0; i < r->n_requests; i++) {
		const struct request_row *q = &r->requests[i];
		*of += q->output_tokens > 0;
		if (q->output_tokens && !isnan(q->first_token_s))
			t[n++] = q->first_token_s - q->arrival_s;
	}
	*n_out = n;
	return t;
}

static bool put_cdf(struct sbuf *b, const struct run_result *r, times_of times, struct figure_span *span)
{
	size_t n, of, last = 0;
	double *t = times(r, &n, &of);
	bool has_points = false;
	qsort(t, n, sizeof *t, by_value);
	for (size_t k = 0; k < POINTS_MAX && n; k++) {
		size_t rank = n <= POINTS_MAX ? k : k * (n - 1) / (POINTS_MAX - 1);
		if (rank >= n || (k && rank == last))
			break;
		last = rank;
		if (t[rank] <= 0)
			continue; /* zero has no place on a log axis, but counts in the shares that follow */
		if (!has_points)
			sbuf_printf(b, "%.9g %.9g\n", t[rank], (double)rank / (double)of);
		sbuf_printf(b, "%.9g %.9g\n", t[rank], (double)(rank + 1) / (double)of);
		has_points = true;
		span->from = fmin(span->from, t[rank]);
		span->to = fmax(span->to, t[rank]);
	}
	mem_free(t);
	end_block(b, !has_points);
	return has_points;
}

static bool put_cdfs(struct sbuf *script, const struct run_result *const *runs, size_t n, times_of times, struct figure_span *span)
{
	size_t start = script->len;
	bool has_any = false;
	*span = (struct figure_span){ INFINITY, 0, "s" };
	sbuf_puts(script, "$data << EOD\n");
	for (size_t i = 0; i < n; i++)
		has_any |= put_cdf(script, runs[i], times, span);
	sbuf_puts(script, "EOD\n");
	if (!has_any)
		script->len = start;
	return has_any;
}

bool figure_data_jct(struct sbuf *script, const struct run_result *const *runs, size_t n, struct figure_span *span)
{
	return put_cdfs(script, runs, n, jct_times, span);
}

bool figure_data_latency(struct sbuf *script, const struct run_result *const *runs, size_t n, struct figure_span *span)
{
	return put_cdfs(script, runs, n, latency_times, span);
}

bool figure_data_ttft(struct sbuf *script, const struct run_result *const *runs, size_t n, struct figure_span *span)
{
	return put_cdfs(script, runs, n, ttft_times, span);
}

/* ---- time series ---- */

static const struct series *find_series(const struct run_result *r, const char *name)
{
	for (size_t i = 0; i < r->n_series; i++)
		if (!strcmp(r->series[i].name, name) && r->series[i].n)
			return &r->series[i];
	return NULL;
}

/* Adds the means over BINS equal intervals from the first to the last time. */
static void put_thinned(struct sbuf *b, const struct series *s, double unit_ns)
{
	double area[BINS] = { 0 };
	double from = (double)s->time_ns[0], width = ((double)s->time_ns[s->n - 1] - from) / BINS;
	for (size_t i = 0; i + 1 < s->n; i++) {
		double t = ((double)s->time_ns[i] - from) / width, end = ((double)s->time_ns[i + 1] - from) / width;
		while (t < end) {
			size_t bin = t < BINS - 1 ? (size_t)t : BINS - 1;
			double stop = end < (double)(bin + 1) || bin == BINS - 1 ? end : (double)(bin + 1);
			area[bin] += (stop - t) * s->value[i];
			t = stop;
		}
	}
	for (size_t k = 0; k < BINS; k++)
		sbuf_printf(b, "%.9g %.9g\n", (from + (double)k * width) / unit_ns, area[k]);
	sbuf_printf(b, "%.9g %.9g\n", (double)s->time_ns[s->n - 1] / unit_ns, area[BINS - 1]);
}

static void put_series(struct sbuf *b, const struct series *s, double unit_ns)
{
	if (s && s->n > POINTS_MAX && s->time_ns[s->n - 1] > s->time_ns[0]) {
		put_thinned(b, s, unit_ns);
	} else {
		for (size_t i = 0; s && i < s->n; i++)
			sbuf_printf(b, "%.9g %.9g\n", (double)s->time_ns[i] / unit_ns, s->value[i]);
	}
	end_block(b, !s);
}

bool figure_data_series(struct sbuf *script, const struct run_result *const *runs, size_t n, const char *name, struct figure_span *span)
{
	int64_t end = 0;
	for (size_t i = 0; i < n; i++) {
		const struct series *s = find_series(runs[i], name);
		if (s && s->time_ns[s->n - 1] > end)
			end = s->time_ns[s->n - 1];
	}
	if (!end)
		return false;
	const struct time_unit *u = unit_for(end);
	sbuf_puts(script, "$data << EOD\n");
	for (size_t i = 0; i < n; i++)
		put_series(script, find_series(runs[i], name), u->ns);
	*span = (struct figure_span){ 0, (double)end / u->ns, u->name };
	sbuf_printf(script, "EOD\ntime_end = %.9g\n", span->to);
	return true;
}

/* ---- Gantt charts ---- */

/* The longest wait first. */
static int by_wait(const void *a, const void *b)
{
	const struct job_row *x = *(const struct job_row *const *)a, *y = *(const struct job_row *const *)b;
	return x->wait_ns != y->wait_ns ? (x->wait_ns < y->wait_ns ? 1 : -1) : (x->number > y->number) - (x->number < y->number);
}

static int by_number(const void *a, const void *b)
{
	const struct job_row *x = *(const struct job_row *const *)a, *y = *(const struct job_row *const *)b;
	return (x->number > y->number) - (x->number < y->number);
}

const struct job_row **figure_jobs_by_wait(const struct run_result *r)
{
	const struct job_row **job = mem_zalloc(r->n_jobs + 1, sizeof *job);
	for (size_t i = 0; i < r->n_jobs; i++)
		job[i] = &r->jobs[i];
	qsort(job, r->n_jobs, sizeof *job, by_wait);
	return job;
}

const struct job_row **figure_jobs_waited(const struct run_result *r, size_t most, bool all, size_t *n)
{
	const struct job_row **job = figure_jobs_by_wait(r);
	for (*n = 0; *n < r->n_jobs && *n < most && (all || job[*n]->wait_ns > 0);)
		++*n;
	qsort(job, *n, sizeof *job, by_number);
	return job;
}

/* A time interval of a job. WITH_PAUSES: from the first start to the end of a job that has no events and did not run all the time. */
enum bar_kind { WAITING, RUNNING, WITH_PAUSES, BAR_KINDS };

struct bar {
	int64_t from_ns, to_ns;
	size_t row;
	enum bar_kind kind;
};

struct gantt {
	const struct run_result *r;
	const struct job_row **job; /* job of each row, by number */
	size_t rows;
	struct bar *bar;
	size_t n_bars, cap_bars;
	int64_t *running_since; /* start of the present run of each row; -1: not running */
	bool *has_events;       /* whether a row has events */
};

static void add_bar(struct gantt *c, int64_t from_ns, int64_t to_ns, size_t row, enum bar_kind kind)
{
	if (to_ns <= from_ns)
		return;
	MEM_GROW(c->bar, c->n_bars, c->cap_bars);
	c->bar[c->n_bars++] = (struct bar){ from_ns, to_ns, row, kind };
}

/* Returns the row of a job; c->rows if it is not drawn. */
static size_t row_of(const struct gantt *c, uint64_t number)
{
	size_t k = 0;
	while (k < c->rows && c->job[k]->number != number)
		k++;
	return k;
}

static void follow_event(struct gantt *c, const struct event_row *e)
{
	static const char *const ends[] = { "stop", "finish", "kill", "evict" };
	bool is_end = false;
	for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
		is_end |= !strcmp(e->kind, ends[i]);
	if (!is_end && strcmp(e->kind, "start"))
		return;
	size_t row = row_of(c, e->subject);
	if (row == c->rows)
		return;
	c->has_events[row] = true;
	if (!is_end) {
		if (c->running_since[row] < 0)
			c->running_since[row] = e->time_ns;
	} else if (c->running_since[row] >= 0) {
		add_bar(c, c->running_since[row], e->time_ns, row, RUNNING);
		c->running_since[row] = -1;
	}
}

/* Collects the bars of all rows. Waiting is a line from submission to the end, under the bars. */
static void fill_chart(struct gantt *c, int64_t last_ns)
{
	for (size_t k = 0; k < c->rows; k++)
		c->running_since[k] = -1;
	for (size_t i = 0; i < c->r->n_events; i++)
		follow_event(c, &c->r->events[i]);
	for (size_t k = 0; k < c->rows; k++) {
		const struct job_row *j = c->job[k];
		int64_t end_ns = j->end_ns >= 0 ? j->end_ns : last_ns;
		if (c->running_since[k] >= 0)
			add_bar(c, c->running_since[k], last_ns, k, RUNNING);
		if (!c->has_events[k] && j->start_ns >= 0) /* a run keeps the events of its first jobs alone */
			add_bar(c, j->start_ns, end_ns, k, j->run_ns >= 0 && j->run_ns < end_ns - j->start_ns ? WITH_PAUSES : RUNNING);
		add_bar(c, j->submit_ns, end_ns, k, WAITING);
	}
}

/* Adds the block of a kind of bars; returns whether there are any. */
static bool put_bars(struct sbuf *b, const struct gantt *c, enum bar_kind kind, double unit_ns)
{
	bool is_empty = true;
	for (size_t i = 0; i < c->n_bars; i++) {
		const struct bar *x = &c->bar[i];
		if (x->kind != kind)
			continue;
		is_empty = false;
		sbuf_printf(b, "%.9g %.9g %zu\n", (double)x->from_ns / unit_ns, (double)x->to_ns / unit_ns, x->row + 1);
	}
	end_block(b, is_empty);
	return !is_empty;
}

/* Adds a name as the text of a tic. gnuplot treats it as a format: "%%" is a per cent sign. */
static void put_tic_name(struct sbuf *b, const char *name, size_t max_bytes)
{
	struct sbuf quoted = { 0 };
	gnuplot_quote(&quoted, name, max_bytes);
	for (const char *c = sbuf_text(&quoted); *c; c++)
		sbuf_puts(b, *c == '%' ? "%%" : (const char[]){ *c, '\0' });
	sbuf_free(&quoted);
}

/* Returns the characters of the longest name. */
static size_t put_row_names(struct sbuf *b, const struct gantt *c)
{
	enum { NAME_BYTES = 14 };
	size_t widest = 0;
	sbuf_printf(b, "jobs = %zu\narray job[%zu]\n", c->rows, c->rows);
	for (size_t k = 0; k < c->rows; k++) {
		const struct job_row *j = c->job[k];
		char number[24];
		snprintf(number, sizeof number, "%" PRIu64, j->number);
		sbuf_printf(b, "job[%zu] = ", k + 1);
		put_tic_name(b, j->job_id ? j->job_id : number, NAME_BYTES);
		sbuf_printf(b, ".' (%u)'\n", j->gpus);
		size_t len = strlen(j->job_id ? j->job_id : number);
		len = (len < NAME_BYTES ? len : NAME_BYTES) + (size_t)snprintf(NULL, 0, " (%u)", j->gpus);
		widest = len > widest ? len : widest;
	}
	return widest;
}

/* Events may be notes alone. */
static bool has_start(const struct run_result *r)
{
	for (size_t i = 0; i < r->n_events; i++)
		if (!strcmp(r->events[i].kind, "start"))
			return true;
	return false;
}

/* Finds the span of the chart: from the first submission to the last end of its jobs. If no job ended, the last event ends it. */
static bool find_span(const struct gantt *c, int64_t *first_ns, int64_t *last_ns)
{
	*first_ns = c->job[0]->submit_ns;
	*last_ns = 0;
	for (size_t k = 0; k < c->rows; k++) {
		*first_ns = c->job[k]->submit_ns < *first_ns ? c->job[k]->submit_ns : *first_ns;
		*last_ns = c->job[k]->end_ns > *last_ns ? c->job[k]->end_ns : *last_ns;
	}
	bool has_ended = *last_ns > 0;
	for (size_t i = 0; i < c->r->n_events && !has_ended; i++)
		*last_ns = c->r->events[i].time_ns > *last_ns ? c->r->events[i].time_ns : *last_ns;
	return *last_ns > *first_ns;
}

/* Adds the chart to the script; c->job is complete. */
static void put_chart(struct sbuf *script, struct gantt *c, int64_t first_ns, int64_t last_ns, struct figure_rows *out)
{
	static const struct chart_series key[BAR_KINDS] = { [WAITING] = { .label = "waiting", .colour = "#777777", .is_thin = true },
		[RUNNING] = { .label = "running", .colour = "#0072B2" },
		[WITH_PAUSES] = { .label = "from first start to end, with pauses", .colour = "#56B4E9" } };
	const struct time_unit *u = unit_for(last_ns - first_ns);
	c->running_since = mem_zalloc(c->rows, sizeof *c->running_since);
	c->has_events = mem_zalloc(c->rows, sizeof *c->has_events);
	fill_chart(c, last_ns);
	sbuf_puts(script, "$data << EOD\n");
	for (int kind = 0; kind < BAR_KINDS; kind++)
		if (put_bars(script, c, (enum bar_kind)kind, u->ns))
			out->key[out->n++] = key[kind];
	sbuf_printf(script, "EOD\ntime_start = %.9g\ntime_end = %.9g\n", (double)first_ns / u->ns, (double)last_ns / u->ns);
	out->unit = u->name;
	out->name_length = put_row_names(script, c);
	out->rows = c->rows;
	mem_free(c->bar);
	mem_free(c->running_since);
	mem_free(c->has_events);
}

struct figure_rows figure_data_gantt(struct sbuf *script, const struct run_result *r, size_t max_jobs)
{
	struct gantt c = { .r = r };
	struct figure_rows out = { 0 };
	int64_t first_ns, last_ns;
	if (!r->n_jobs || !max_jobs || !has_start(r))
		return out;
	c.job = figure_jobs_waited(r, max_jobs, true, &c.rows);
	if (find_span(&c, &first_ns, &last_ns))
		put_chart(script, &c, first_ns, last_ns, &out);
	mem_free(c.job);
	return out;
}
