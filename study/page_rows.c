/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Figures and the table of the rows of runs. */
#include "study/page_parts.h"

#include "base/mem.h"
#include "plots/figure_data.h"
#include "plots/html.h"
#include "plots/svg.h"
#include "results/recorded.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CURVE = 250, STEPS = 500, GANTT_JOBS = 25, MOST_SERIES = 7, MOST_SPANS = 5000, MOST_LANES = 24 };

void page_put_number(struct sbuf *out, double v)
{
	if (!isfinite(v))
		return;
	if (fabs(v) >= 1000 && fabs(v) < 1e15)
		sbuf_printf(out, "%.0f", v);
	else
		sbuf_printf(out, "%.4g", v);
}

struct rows_view {
	struct sbuf *out;
	const struct run_result *const *run;
	const char *const *name;
	size_t n;
};

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

/* ---- distributions ---- */

/* A time of each row, s; infinite: the row counts, but has no time, as its job is not completed; NaN: the row does not count. */
static double job_completion(const struct run_result *r, size_t i)
{
	return r->jobs[i].status != JOB_COMPLETED ? INFINITY : (double)(r->jobs[i].end_ns - r->jobs[i].submit_ns) / 1e9;
}

static double job_wait(const struct run_result *r, size_t i)
{
	return r->jobs[i].status != JOB_COMPLETED ? INFINITY : (double)r->jobs[i].wait_ns / 1e9;
}

static double request_completion(const struct run_result *r, size_t i)
{
	const struct request_row *q = &r->requests[i];
	return q->status != REQUEST_COMPLETED ? INFINITY : q->completed_s - q->arrival_s;
}

static double request_first_token(const struct run_result *r, size_t i)
{
	const struct request_row *q = &r->requests[i];
	return !q->output_tokens ? NAN : isnan(q->first_token_s) ? INFINITY : q->first_token_s - q->arrival_s;
}

static size_t count_jobs(const struct run_result *r)
{
	return r->n_jobs;
}

static size_t count_requests(const struct run_result *r)
{
	return r->n_requests;
}

static const struct distribution {
	const char *title, *x_label, *y_label;
	size_t (*count)(const struct run_result *r);
	double (*value)(const struct run_result *r, size_t i);
	enum report_kind kind;
} distributions[] = {
	{ "Distribution of job completion times", "job completion time", "share of jobs", count_jobs, job_completion, REPORT_TIME },
	{ "Distribution of waiting times", "wait", "share of jobs", count_jobs, job_wait, REPORT_TIME },
	{ "Distribution of end-to-end times", "end-to-end time", "share of requests", count_requests, request_completion,
		REPORT_SHORT_TIME },
	{ "Distribution of times to the first token", "time to first token", "share of requests", count_requests, request_first_token,
		REPORT_SHORT_TIME },
};

/* Returns the sorted values of a run; *n: their number, out of *of rows. */
static double *sorted(const struct distribution *d, const struct run_result *r, size_t *n, size_t *of)
{
	size_t rows = d->count(r);
	double *v = mem_zalloc(rows + 1, sizeof *v);
	*n = *of = 0;
	for (size_t i = 0; i < rows; i++) {
		double x = d->value(r, i);
		*of += isnan(x) ? 0 : 1;
		if (isfinite(x))
			v[(*n)++] = x;
	}
	qsort(v, *n, sizeof *v, by_value);
	return v;
}

/* Returns the distribution function at about CURVE quantiles. */
static struct chart_point *curve(const double *v, size_t n, size_t of, double unit, size_t *points)
{
	struct chart_point *p = mem_zalloc(CURVE + 2, sizeof *p);
	*points = 0;
	for (size_t k = 0; n && k <= CURVE; k++) {
		size_t i = (n - 1) * k / CURVE;
		if (k && i == (n - 1) * (k - 1) / CURVE)
			continue;
		p[(*points)++] = (struct chart_point){ v[i] / unit, (double)(i + 1) / (double)of, NAN, NAN };
	}
	return p;
}

static void put_distribution(const struct rows_view *w, const struct distribution *d)
{
	struct chart_series *series = mem_zalloc(w->n, sizeof *series);
	struct chart_point **point = mem_zalloc(w->n, sizeof *point);
	double **v = mem_zalloc(w->n, sizeof *v), median = INFINITY, high = 0;
	size_t *n = mem_zalloc(w->n, sizeof *n), *of = mem_zalloc(w->n, sizeof *of), most = 0;
	bool has_zeros = false;
	for (size_t i = 0; i < w->n; i++) {
		v[i] = sorted(d, w->run[i], &n[i], &of[i]);
		most += n[i];
		size_t zeros = 0;
		while (zeros < n[i] && !(v[i][zeros] > 0))
			zeros++;
		has_zeros |= zeros > 0;
		if (zeros < n[i]) /* of the positive values, which a logarithmic axis shows */
			median = fmin(median, v[i][(zeros + n[i]) / 2]);
		if (n[i])
			high = fmax(high, v[i][n[i] - 1]);
	}
	struct report_scale unit = report_scale_for(d->kind, isfinite(median) ? median : high);
	struct sbuf label = { 0 };
	page_put_title(&label, d->x_label, unit.unit);
	struct chart c = { .kind = CHART_CDF, .x_label = sbuf_text(&label), .y_label = d->y_label, .series = series, .n_series = w->n };
	c.log_x = isfinite(median) && high / median > 20;
	for (size_t i = 0; i < w->n; i++) {
		series[i].label = w->name[i];
		point[i] = curve(v[i], n[i], of[i], unit.divisor, &series[i].n);
		series[i].point = point[i];
	}
	struct sbuf title = { 0 };
	sbuf_printf(&title, "%s%s", d->title, c.log_x && has_zeros ? "; those of 0 lie left of the axis" : "");
	if (most)
		svg_lines(w->out, sbuf_text(&title), &c);
	sbuf_free(&title);
	for (size_t i = 0; i < w->n; i++) {
		mem_free(point[i]);
		mem_free(v[i]);
	}
	sbuf_free(&label);
	mem_free(n);
	mem_free(of);
	mem_free(v);
	mem_free(point);
	mem_free(series);
}

/* ---- series over time ---- */

static const struct series *series_named(const struct run_result *r, const char *name)
{
	for (size_t i = 0; i < r->n_series; i++)
		if (!strcmp(r->series[i].name, name))
			return &r->series[i];
	return NULL;
}

/* Returns at most STEPS means over equal intervals, with the same integral. */
static struct chart_point *thin(const struct series *s, double unit_ns, size_t *points)
{
	struct chart_point *p = mem_zalloc(s->n < STEPS ? s->n + 1 : STEPS + 1, sizeof *p);
	*points = 0;
	if (s->n <= STEPS) {
		for (size_t i = 0; i < s->n; i++)
			p[(*points)++] = (struct chart_point){ (double)s->time_ns[i] / unit_ns, s->value[i], NAN, NAN };
		return p;
	}
	double begin = (double)s->time_ns[0], width = ((double)s->time_ns[s->n - 1] - begin) / STEPS;
	size_t at = 0;
	for (size_t k = 0; k < STEPS; k++) {
		double from = begin + width * (double)k, to = from + width, sum = 0, t = from;
		while (at + 1 < s->n && (double)s->time_ns[at + 1] <= from)
			at++;
		for (size_t i = at; i < s->n && t < to; i++) {
			double end = i + 1 < s->n ? fmin((double)s->time_ns[i + 1], to) : to;
			if (end <= t)
				continue;
			sum += s->value[i] * (end - t);
			t = end;
		}
		p[(*points)++] = (struct chart_point){ from / unit_ns, sum / width, NAN, NAN };
	}
	return p;
}

/* Series whose axis counts something else, one per second. */
static const struct counted {
	const char *name, *title, *unit, *x_label;
} counted[] = {
	{ "best_iteration_s", "best iteration", "s", "evaluations" },
	{ "stage_first_layer", "first layer", "", "GPUs of the stages, in model order" },
	{ "stage_last_layer", "last layer", "", "GPUs of the stages, in model order" },
};

static const struct counted *counted_as(const char *name)
{
	for (size_t i = 0; i < sizeof counted / sizeof *counted; i++)
		if (!strcmp(counted[i].name, name))
			return &counted[i];
	return NULL;
}

/* Appends the name of a series as words. */
static void put_words(struct sbuf *out, const char *name)
{
	for (const char *t = name; *t; t++)
		if (t != name && !strncmp(t - 1, "_gpus", 5)) {
			sbuf_puts(out, "GPUs");
			t += 3;
		} else {
			sbuf_putc(out, *t == '_' ? ' ' : *t);
		}
}

static void put_series(const struct rows_view *w, const char *name)
{
	const struct counted *of = counted_as(name);
	struct chart_series series[MOST_SERIES];
	struct chart_point *point[MOST_SERIES];
	struct chart c = { .kind = CHART_TIMELINE, .series = series };
	double end_s = 0;
	for (size_t i = 0; i < w->n; i++) {
		const struct series *s = series_named(w->run[i], name);
		if (s && s->n)
			end_s = fmax(end_s, (double)s->time_ns[s->n - 1] / 1e9);
	}
	struct report_scale unit = of ? (struct report_scale){ "", 1 } : report_scale_for(REPORT_TIME, end_s);
	for (size_t i = 0; i < w->n && c.n_series < MOST_SERIES; i++) {
		const struct series *s = series_named(w->run[i], name);
		if (!s || !s->n)
			continue;
		struct chart_series *one = &series[c.n_series];
		*one = (struct chart_series){ .label = w->name[i] };
		point[c.n_series] = thin(s, unit.divisor * 1e9, &one->n);
		one->point = point[c.n_series++];
	}
	struct sbuf label = { 0 }, title = { 0 }, caption = { 0 };
	page_put_title(&label, of ? of->x_label : "time", unit.unit);
	if (of)
		page_put_title(&title, of->title, of->unit);
	else
		put_words(&title, name);
	c.x_label = sbuf_text(&label);
	c.y_label = sbuf_text(&title);
	sbuf_printf(&caption, "%s over %s", of ? of->title : sbuf_text(&title), of ? of->x_label : "time");
	svg_lines(w->out, sbuf_text(&caption), &c);
	for (size_t i = 0; i < c.n_series; i++)
		mem_free(point[i]);
	sbuf_free(&caption);
	sbuf_free(&title);
	sbuf_free(&label);
}

static void put_all_series(const struct rows_view *w)
{
	enum { MOST_NAMES = 8 };
	const char *seen[MOST_NAMES];
	size_t n = 0;
	for (size_t i = 0; i < w->n; i++)
		for (size_t k = 0; k < w->run[i]->n_series; k++) {
			const char *name = w->run[i]->series[k].name;
			size_t j = 0;
			while (j < n && strcmp(seen[j], name) != 0)
				j++;
			if (j < n || n == MOST_NAMES || !strncmp(name, "replications:", 13))
				continue;
			seen[n++] = name;
			put_series(w, name);
		}
}

/* ---- Gantt ---- */

struct gantt {
	const struct run_result *r;
	const struct job_row **job;
	size_t n;
	struct svg_bar *bar;
	size_t n_bars, cap_bars;
	int64_t last_ns;
	double unit_ns;
};

enum { RUNNING, WITH_PAUSES };

static void add_bar(struct gantt *g, int64_t from, int64_t to, size_t row, size_t kind, bool is_line)
{
	if (to <= from)
		return;
	MEM_GROW(g->bar, g->n_bars, g->cap_bars);
	g->bar[g->n_bars++] = (struct svg_bar){ (double)from / g->unit_ns, (double)to / g->unit_ns, row, kind, is_line };
}

/* Adds the periods in which a job runs, from events. Returns false if the run keeps no events of the job. */
static bool follow_events(struct gantt *g, size_t row)
{
	int64_t since = -1;
	bool has_any = false;
	for (size_t i = 0; i < g->r->n_events; i++) {
		const struct event_row *e = &g->r->events[i];
		if (e->subject != g->job[row]->number)
			continue;
		if (!strcmp(e->kind, "start")) {
			has_any = true;
			since = since < 0 ? e->time_ns : since;
		} else if (since >= 0 && (!strcmp(e->kind, "stop") || !strcmp(e->kind, "finish") || !strcmp(e->kind, "kill") ||
						 !strcmp(e->kind, "evict"))) {
			add_bar(g, since, e->time_ns, row, RUNNING, false);
			since = -1;
		}
	}
	if (since >= 0)
		add_bar(g, since, g->last_ns, row, RUNNING, false);
	return has_any;
}

static void add_job(struct gantt *g, size_t row)
{
	const struct job_row *j = g->job[row];
	int64_t end = j->end_ns >= 0 ? j->end_ns : g->last_ns;
	add_bar(g, j->submit_ns, end, row, RUNNING, true);
	if (j->start_ns >= 0 && !follow_events(g, row))
		add_bar(g, j->start_ns, end, row, j->run_ns >= 0 && j->run_ns < end - j->start_ns ? WITH_PAUSES : RUNNING, false);
}

static void put_gantt(const struct rows_view *w, size_t which)
{
	static const char *const kinds[] = { "running", "from first start to end, with pauses" };
	const struct run_result *r = w->run[which];
	struct gantt g = { .r = r };
	char *name[GANTT_JOBS];
	int64_t first_ns = INT64_MAX;
	g.job = figure_jobs_waited(r, GANTT_JOBS, false, &g.n);
	for (size_t i = 0; i < r->n_jobs; i++)
		g.last_ns = r->jobs[i].end_ns > g.last_ns ? r->jobs[i].end_ns : g.last_ns;
	for (size_t i = 0; i < g.n; i++)
		first_ns = g.job[i]->submit_ns < first_ns ? g.job[i]->submit_ns : first_ns;
	struct report_scale unit = report_scale_for(REPORT_TIME, g.n ? (double)(g.last_ns - first_ns) / 1e9 : 1);
	g.unit_ns = unit.divisor * 1e9;
	bool has_pauses = false;
	for (size_t i = 0; i < g.n; i++) {
		struct sbuf text = { 0 };
		if (g.job[i]->job_id)
			sbuf_puts(&text, g.job[i]->job_id);
		else
			sbuf_printf(&text, "%" PRIu64, g.job[i]->number);
		sbuf_printf(&text, " (%u)", g.job[i]->gpus);
		name[i] = sbuf_steal(&text);
		add_job(&g, i);
	}
	for (size_t i = 0; i < g.n_bars; i++)
		has_pauses |= g.bar[i].kind == WITH_PAUSES;
	struct sbuf label = { 0 }, title = { 0 };
	page_put_title(&label, "time", unit.unit);
	sbuf_printf(&title, "Jobs that waited longest under %s: job (GPUs); dashed: waiting", w->name[which]);
	struct svg_rows rows = { (const char *const *)name, g.n, g.bar, g.n_bars, kinds, has_pauses ? 2 : 1, sbuf_text(&label) };
	svg_gantt(w->out, sbuf_text(&title), &rows);
	for (size_t i = 0; i < g.n; i++)
		mem_free(name[i]);
	mem_free(g.job);
	sbuf_free(&title);
	sbuf_free(&label);
	mem_free(g.bar);
}

/* ---- spans ---- */

struct lanes {
	uint32_t device[MOST_LANES], stream[MOST_LANES];
	char *name[MOST_LANES];
	size_t n;
};

static const char *endpoint_name(const struct run_result *r, uint32_t device)
{
	for (size_t i = 0; i < r->n_endpoints; i++)
		if (r->endpoints[i].device == device)
			return r->endpoints[i].name;
	return NULL;
}

/* Returns the lane of a span; MOST_LANES: there are more lanes than are shown. */
static size_t lane_of(struct lanes *l, const struct run_result *r, const struct span_row *s)
{
	size_t k = 0;
	while (k < l->n && (l->device[k] != s->device || l->stream[k] != s->stream))
		k++;
	if (k < l->n || k == MOST_LANES)
		return k;
	struct sbuf text = { 0 };
	const char *name = endpoint_name(r, s->device);
	if (name)
		sbuf_puts(&text, name);
	else
		sbuf_printf(&text, "device %u", s->device);
	sbuf_printf(&text, ", stream %u", s->stream);
	l->device[k] = s->device;
	l->stream[k] = s->stream;
	l->name[k] = sbuf_steal(&text);
	l->n++;
	return k;
}

/* Kinds of spans of all runs, which have one colour in all figures. */
struct kinds {
	const char *name[MOST_SERIES];
	size_t n;
};

/* Returns the index of a kind; kinds past the last share its colour. */
static size_t kind_of(struct kinds *l, const char *kind)
{
	size_t k = 0;
	while (k < l->n && strcmp(l->name[k], kind) != 0)
		k++;
	if (k < l->n)
		return k;
	if (l->n == MOST_SERIES) {
		l->name[MOST_SERIES - 1] = "other";
		return MOST_SERIES - 1;
	}
	l->name[l->n++] = kind;
	return k;
}

/* Sets place[k] to the row of lane k: by device, then stream. */
static void place_lanes(const struct lanes *l, size_t *place)
{
	for (size_t k = 0; k < l->n; k++) {
		place[k] = 0;
		for (size_t i = 0; i < l->n; i++)
			place[k] += l->device[i] != l->device[k] ? l->device[i] < l->device[k] : l->stream[i] < l->stream[k];
	}
}

static void put_spans(struct sbuf *out, const struct run_result *r, const char *run_name, struct kinds *kinds)
{
	struct lanes l = { .n = 0 };
	struct svg_bar *bar = mem_zalloc(MOST_SPANS, sizeof *bar);
	size_t n = 0;
	double from = INFINITY, to = -INFINITY;
	for (size_t i = 0; i < r->n_spans && n < MOST_SPANS; i++) {
		const struct span_row *s = &r->spans[i];
		size_t lane = lane_of(&l, r, s);
		if (lane == MOST_LANES)
			continue;
		from = fmin(from, s->start_s);
		to = fmax(to, s->end_s);
		bar[n++] = (struct svg_bar){ s->start_s, s->end_s, lane, kind_of(kinds, s->kind), false };
	}
	struct report_scale unit = report_scale_for(REPORT_SHORT_TIME, n ? to - from : 1);
	size_t place[MOST_LANES];
	place_lanes(&l, place);
	for (size_t i = 0; i < n; i++) {
		bar[i].from = (bar[i].from - from) / unit.divisor;
		bar[i].to = (bar[i].to - from) / unit.divisor;
		bar[i].row = place[bar[i].row];
	}
	const char *name[MOST_LANES];
	for (size_t i = 0; i < l.n; i++)
		name[place[i]] = l.name[i];
	struct sbuf label = { 0 }, title = { 0 };
	page_put_title(&label, "time since the first operation shown", unit.unit);
	sbuf_printf(&title, "Operations of devices under %s, last iterations", run_name);
	struct svg_rows rows = { name, l.n, bar, n, kinds->name, kinds->n, sbuf_text(&label) };
	svg_gantt(out, sbuf_text(&title), &rows);
	for (size_t i = 0; i < l.n; i++)
		mem_free(l.name[i]);
	sbuf_free(&title);
	sbuf_free(&label);
	mem_free(bar);
}

void page_spans(struct sbuf *out, const struct run_result *r, const char *name)
{
	struct kinds kinds = { .n = 0 };
	put_spans(out, r, name, &kinds);
}

/* ---- instances ---- */

static void put_nodes(const struct rows_view *w, size_t which)
{
	static const char *const label[] = { "live", "ready", "in use" };
	const struct run_result *r = w->run[which];
	struct series s[3];
	struct chart_series series[3];
	struct chart_point *point[3];
	if (r->n_nodes < 2)
		return;
	struct report_scale unit = report_scale_for(REPORT_TIME, (double)result_nodes_end_ns(r) / 1e9);
	for (size_t k = 0; k < 3; k++) {
		s[k] = (struct series){ .n = r->n_nodes, .time_ns = mem_zalloc(r->n_nodes, 8), .value = mem_zalloc(r->n_nodes, 8) };
		for (size_t i = 0; i < r->n_nodes; i++) {
			const struct node_row *n = &r->nodes[i];
			s[k].time_ns[i] = n->time_ns;
			s[k].value[i] = k == 0 ? n->live : k == 1 ? n->ready : n->in_use;
		}
		series[k] = (struct chart_series){ .label = label[k] };
		point[k] = thin(&s[k], unit.divisor * 1e9, &series[k].n);
		series[k].point = point[k];
	}
	struct sbuf x = { 0 }, title = { 0 };
	page_put_title(&x, "time", unit.unit);
	sbuf_printf(&title, "Instances under %s", w->name[which]);
	struct chart c = { .kind = CHART_TIMELINE, .x_label = sbuf_text(&x), .y_label = "instances", .series = series, .n_series = 3 };
	svg_lines(w->out, sbuf_text(&title), &c);
	for (size_t k = 0; k < 3; k++) {
		mem_free(point[k]);
		mem_free(s[k].time_ns);
		mem_free(s[k].value);
	}
	sbuf_free(&title);
	sbuf_free(&x);
}

/* ---- the table ---- */

static void put_seconds_cell(struct html_table *t, double s)
{
	struct sbuf b = { 0 };
	page_put_number(&b, s);
	html_table_cell(t, sbuf_text(&b));
	sbuf_free(&b);
}

static void put_count_cell(struct html_table *t, uint64_t n)
{
	struct sbuf b = { 0 };
	sbuf_printf(&b, "%" PRIu64, n);
	html_table_cell(t, sbuf_text(&b));
	sbuf_free(&b);
}

static void put_job(struct html_table *t, const char *name, const struct job_row *j)
{
	html_table_cell(t, name);
	if (j->job_id)
		html_table_cell(t, j->job_id);
	else
		put_count_cell(t, j->number);
	put_count_cell(t, j->gpus);
	put_seconds_cell(t, (double)j->submit_ns / 1e9);
	put_seconds_cell(t, j->wait_ns < 0 ? NAN : (double)j->wait_ns / 1e9);
	put_seconds_cell(t, j->run_ns < 0 ? NAN : (double)j->run_ns / 1e9);
	put_seconds_cell(t, j->end_ns < 0 ? NAN : (double)(j->end_ns - j->submit_ns) / 1e9);
	put_count_cell(t, j->preemptions);
	html_table_cell(t, j->user);
}

static void put_job_table(const struct rows_view *w, size_t most_rows)
{
	struct html_table t = { .caption = "Jobs that waited longest" };
	html_table_column(&t, "policy", false, false);
	html_table_column(&t, "job", false, false);
	html_table_column(&t, "GPUs", true, false);
	html_table_column(&t, "submitted (s)", true, false);
	html_table_column(&t, "wait (s)", true, false);
	html_table_column(&t, "running (s)", true, false);
	html_table_column(&t, "JCT (s)", true, false);
	html_table_column(&t, "preemptions", true, false);
	html_table_column(&t, "user", false, false);
	for (size_t i = 0; i < w->n; i++) {
		const struct job_row **job = figure_jobs_by_wait(w->run[i]);
		for (size_t k = 0; k < w->run[i]->n_jobs && k < most_rows / w->n; k++)
			put_job(&t, w->name[i], job[k]);
		mem_free(job);
	}
	html_table_put(w->out, &t);
}

static int by_end_to_end(const void *a, const void *b)
{
	const struct request_row *x = *(const struct request_row *const *)a, *y = *(const struct request_row *const *)b;
	double p = x->completed_s - x->arrival_s, q = y->completed_s - y->arrival_s;
	if (isnan(p) != isnan(q))
		return isnan(p) ? 1 : -1;
	return p != q && !isnan(p) ? (p < q ? 1 : -1) : (x->number > y->number) - (x->number < y->number);
}

static void put_request(struct html_table *t, const char *name, const struct request_row *q)
{
	html_table_cell(t, name);
	if (q->request_id)
		html_table_cell(t, q->request_id);
	else
		put_count_cell(t, q->number);
	html_table_cell(t, q->model);
	put_seconds_cell(t, q->arrival_s);
	put_seconds_cell(t, q->queue_s);
	put_seconds_cell(t, q->first_token_s - q->arrival_s);
	put_seconds_cell(t, q->completed_s - q->arrival_s);
	put_count_cell(t, q->prompt_tokens);
	put_count_cell(t, q->output_tokens);
}

static void put_request_table(const struct rows_view *w, size_t most_rows)
{
	struct html_table t = { .caption = "Requests with the longest end-to-end times" };
	html_table_column(&t, "policy", false, false);
	html_table_column(&t, "request", false, false);
	html_table_column(&t, "model", false, false);
	html_table_column(&t, "arrival (s)", true, false);
	html_table_column(&t, "in the queue (s)", true, false);
	html_table_column(&t, "TTFT (s)", true, false);
	html_table_column(&t, "end to end (s)", true, false);
	html_table_column(&t, "prompt tokens", true, false);
	html_table_column(&t, "output tokens", true, false);
	for (size_t i = 0; i < w->n; i++) {
		const struct run_result *r = w->run[i];
		const struct request_row **q = mem_zalloc(r->n_requests + 1, sizeof *q);
		for (size_t k = 0; k < r->n_requests; k++)
			q[k] = &r->requests[k];
		qsort(q, r->n_requests, sizeof *q, by_end_to_end);
		for (size_t k = 0; k < r->n_requests && k < most_rows / w->n; k++)
			put_request(&t, w->name[i], q[k]);
		mem_free(q);
	}
	html_table_put(w->out, &t);
}

/* Adds the recorded waits of a trace and those of the runs, if it records waits. */
static void put_recorded_table(const struct rows_view *w)
{
	struct run_result **run = mem_zalloc(w->n + 1, sizeof *run);
	for (size_t i = 0; i < w->n; i++) {
		struct recorded_waits waits = recorded_of(w->run[i]);
		run[i] = result_new();
		run[i]->label = mem_strdup(w->name[i]);
		recorded_metrics(run[i], &waits);
	}
	struct grid g = recorded_grid((const struct run_result *const *)run, w->n, false);
	struct html_table t = { .caption = "Recorded and simulated waits" };
	for (size_t k = 0; k < g.columns; k++)
		html_table_column(&t, *grid_cell(&g, 0, k), !g.is_text[k], false);
	for (size_t i = 1; i < g.rows; i++)
		for (size_t k = 0; k < g.columns; k++)
			html_table_cell(&t, *grid_cell(&g, i, k));
	if (g.rows)
		html_table_put(w->out, &t);
	grid_free(&g);
	for (size_t i = 0; i < w->n; i++)
		result_free(run[i]);
	mem_free(run);
}

/* ---- all ---- */

bool page_rows(struct sbuf *out, const struct run_result *const *runs, const char *const *name, size_t n, size_t most_rows)
{
	struct rows_view w = { out, runs, name, n };
	struct kinds kinds = { .n = 0 };
	size_t jobs = 0, requests = 0, before;
	for (size_t i = 0; i < n; i++) {
		jobs += runs[i]->n_jobs;
		requests += runs[i]->n_requests;
	}
	sbuf_puts(out, "<div class=\"plots\">\n");
	before = out->len;
	for (size_t k = 0; k < sizeof distributions / sizeof *distributions; k++)
		put_distribution(&w, &distributions[k]);
	put_all_series(&w);
	for (size_t i = 0; i < n; i++) {
		put_gantt(&w, i);
		put_spans(out, runs[i], name[i], &kinds);
		put_nodes(&w, i);
	}
	bool has_any = out->len > before || jobs || requests;
	sbuf_puts(out, "</div>\n");
	if (jobs) {
		put_recorded_table(&w);
		put_job_table(&w, most_rows);
	}
	if (requests)
		put_request_table(&w, most_rows);
	return has_any;
}
