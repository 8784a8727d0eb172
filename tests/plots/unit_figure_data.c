/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Data of figures: distribution functions, values over time, Gantt charts and timelines, as gnuplot gets them. Expected blocks are made by
 * hand from a few rows; long curves are compared with sums over all rows.
 */
#include "plots/figure_data.h"

#include "base/mem.h"
#include "results/result.h"
#include "tests/tap.h"

#include <stdlib.h>

enum { S = 1000000000 };

static struct figure_span span;
static const int64_t s = S;

static void script_is(struct sbuf *script, const char *want, const char *what)
{
	same_text(sbuf_text(script), want, what);
	sbuf_free(script);
}

/* ---- distribution functions ---- */

static void test_jct(void)
{
	struct job_row jobs[] = { { .submit_ns = 0, .end_ns = 10 * s, .status = JOB_COMPLETED },
		{ .submit_ns = s, .end_ns = 6 * s, .status = JOB_KILLED }, { .submit_ns = 2 * s, .end_ns = -1, .status = JOB_UNFINISHED },
		{ .submit_ns = 0, .end_ns = 9 * s, .status = JOB_UNFINISHED } };
	struct job_row at_once[] = { { .submit_ns = 4 * s, .end_ns = 4 * s }, { .submit_ns = 0, .end_ns = 0 },
		{ .submit_ns = 0, .end_ns = 2 * s } };
	struct run_result a = { .label = (char[]){ "fifo" }, .jobs = jobs, .n_jobs = 4 },
			  b = { .label = (char[]){ "o'x" }, .is_oracle = true, .jobs = at_once, .n_jobs = 3 };
	struct run_result none = { .label = NULL };
	const struct run_result *runs[] = { &a, &none, &b };
	struct sbuf script = { 0 };
	/* Of four jobs one is completed, after 10 s; means have no killed jobs either. A job of 0 s is outside a log axis but counts in the
	 * shares. */
	ok(figure_data_jct(&script, runs, 3, &span), "jobs have a distribution");
	script_is(&script, "$data << EOD\n10 0\n10 0.25\n\n\nNaN NaN NaN\n\n\n2 0.666666667\n2 1\n\n\nEOD\n", "shares are of all jobs");
	ok(span.from == 2 && span.to == 10, "from the shortest to the longest time");
	sbuf_puts(&script, "before\n");
	ok(!figure_data_jct(&script, &runs[1], 1, &span) && script.len == 7, "without jobs nothing is added");
	sbuf_free(&script);
	b.n_jobs = 2;
	ok(!figure_data_jct(&script, &runs[2], 1, &span) && script.len == 0, "nor for jobs of 0 s alone");
	sbuf_free(&script);
}

static void test_requests(void)
{
	struct request_row q[] = {
		{ .arrival_s = 1, .first_token_s = 1.5, .completed_s = 3, .output_tokens = 4, .status = REQUEST_COMPLETED },
		{ .arrival_s = 2, .first_token_s = 2.25, .completed_s = NAN, .output_tokens = 1, .status = REQUEST_UNFINISHED },
		{ .arrival_s = 2, .first_token_s = NAN, .completed_s = NAN, .output_tokens = 9, .status = REQUEST_REFUSED },
		{ .arrival_s = 2, .first_token_s = NAN, .completed_s = 3, .output_tokens = 0, .status = REQUEST_COMPLETED }
	};
	struct run_result a = { .label = (char[]){ "a" }, .requests = q, .n_requests = 4 };
	const struct run_result *runs[] = { &a };
	struct sbuf script = { 0 };
	ok(figure_data_latency(&script, runs, 1, &span), "requests have latencies");
	script_is(&script, "$data << EOD\n1 0\n1 0.25\n2 0.5\n\n\nEOD\n", "of completed requests, as a share of all");
	ok(figure_data_ttft(&script, runs, 1, &span), "and times to the first token");
	script_is(&script, "$data << EOD\n0.25 0\n0.25 0.333333333\n0.5 0.666666667\n\n\nEOD\n", "as a share of requests with tokens");
	a.n_requests = 0;
	ok(!figure_data_latency(&script, runs, 1, &span) && !figure_data_ttft(&script, runs, 1, &span) && !script.len,
		"no requests, no data");
	sbuf_free(&script);
}

/* Tests jobs of 1, 2, .. n seconds in reverse order: the curve has 800 evenly spaced ranks, including the first and the last. */
static void test_long_distribution(size_t n)
{
	struct job_row *jobs = mem_zalloc(n, sizeof *jobs);
	struct run_result a = { .label = (char[]){ "a" }, .jobs = jobs, .n_jobs = n };
	const struct run_result *runs[] = { &a };
	struct sbuf script = { 0 };
	for (size_t i = 0; i < n; i++)
		jobs[i].end_ns = (int64_t)(n - i) * s;
	figure_data_jct(&script, runs, 1, &span);
	const char *text = sbuf_text(&script) + strlen("$data << EOD\n");
	size_t lines = 0;
	bool good = true;
	for (char *end; *text != '\n'; lines++, text = end + 1) {
		size_t k = lines ? lines - 1 : 0, rank = n <= 800 ? k : k * (n - 1) / 799;
		double t = strtod(text, &end), share = strtod(end, &end);
		good &= t == (double)(rank + 1) && fabs(share - (double)(lines ? rank + 1 : 0) / (double)n) < 1e-9;
	}
	ok(good && lines == (n < 800 ? n : 800) + 1, "%zu values are %zu lines", n, lines);
	sbuf_free(&script);
	mem_free(jobs);
}

/* ---- values over time ---- */

static void test_series(void)
{
	int64_t time[] = { 0, s, 299 * s }, one[] = { 0 };
	double value[] = { 1, 2.5, 3 }, zero[] = { 7 };
	struct series series[] = { { "other", 1, one, zero }, { "queue", 3, time, value } }, empty = { "queue", 0, NULL, NULL },
		      point = { "queue", 1, one, zero };
	struct run_result a = { .label = (char[]){ "a" }, .series = series, .n_series = 2 },
			  b = { .label = (char[]){ "b" }, .series = &empty, .n_series = 1 };
	struct run_result c = { .label = (char[]){ "c" }, .series = &point, .n_series = 1 };
	const struct run_result *runs[] = { &b, &a, &c };
	struct sbuf script = { 0 };
	ok(figure_data_series(&script, runs, 3, "queue", &span), "a series");
	script_is(&script, "$data << EOD\nNaN NaN NaN\n\n\n0 1\n1 2.5\n299 3\n\n\n0 7\n\n\nEOD\ntime_end = 299\n", "has a block per run");
	ok(!figure_data_series(&script, runs, 3, "loss", &span) && !figure_data_series(&script, &runs[2], 1, "queue", &span) && !script.len,
		"an unknown series, or one that ends at 0, has no data");
	static const struct {
		int64_t end_s;
		const char *unit;
		double end;
	} ends[] = { { 299, "s", 299 }, { 300, "min", 5 }, { 17999, "min", 17999 / 60. }, { 18000, "h", 5 },
		{ 431999, "h", 431999 / 3600. }, { 432000, "d", 5 }, { 4, "s", 4 } };
	for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
		char want[80];
		time[2] = ends[i].end_s * s;
		figure_data_series(&script, runs, 2, "queue", &span);
		snprintf(want, sizeof want, "EOD\ntime_end = %.9g\n", ends[i].end);
		ok(strstr(sbuf_text(&script), want) && !strcmp(span.unit, ends[i].unit), "an axis to %lld s is in %s: at least five units",
			(long long)ends[i].end_s, ends[i].unit);
		snprintf(want, sizeof want, "\n%.9g 3\n", ends[i].end);
		ok(strstr(sbuf_text(&script), want) != NULL, "and so are the points");
		sbuf_free(&script);
	}
}

/* Tests that more than 800 points become 350 means over equal intervals, which keep the integral. */
static void test_long_series(size_t n)
{
	int64_t *time = mem_zalloc(n, sizeof *time);
	double *value = mem_zalloc(n, sizeof *value);
	struct series series = { "queue", n, time, value };
	struct run_result a = { .label = (char[]){ "a" }, .series = &series, .n_series = 1 };
	const struct run_result *runs[] = { &a };
	struct sbuf script = { 0 };
	for (size_t i = 0; i < n; i++) {
		time[i] = (int64_t)(10 + i * i % 3 + 3 * i) * s; /* steps of 1 to 4 s */
		value[i] = (double)(i * 7 % 11);
	}
	figure_data_series(&script, runs, 1, "queue", &span);
	const char *text = sbuf_text(&script) + strlen("$data << EOD\n");
	size_t lines = 0;
	bool good = true;
	double from = (double)time[0] / 1e9, to = (double)time[n - 1] / 1e9, width = (to - from) / 350, last = NAN;
	double unit = to >= 18000 ? 3600 : 60;
	for (char *end; *text != '\n'; lines++, text = end + 1) {
		double t = strtod(text, &end), y = strtod(end, &end), area = 0, begin = from + (double)lines * width;
		if (n <= 800) {
			good &= fabs(t * unit - (double)time[lines] / 1e9) < 1e-5 && y == value[lines];
			continue;
		}
		for (size_t i = 0; i + 1 < n; i++) {
			double lo = fmax((double)time[i] / 1e9, begin), hi = fmin((double)time[i + 1] / 1e9, begin + width);
			area += hi > lo ? (hi - lo) * value[i] : 0;
		}
		good &= lines < 350 ? fabs(t * unit - begin) < 1e-4 && fabs(y - area / width) < 1e-6
				    : fabs(t * unit - to) < 1e-4 && y == last;
		last = y;
	}
	ok(good && lines == (n <= 800 ? n : 351), "%zu points are %zu lines", n, lines);
	sbuf_free(&script);
	mem_free(time);
	mem_free(value);
}

/* ---- Gantt charts ---- */

static void test_gantt(void)
{
	struct job_row jobs[] = { { .number = 0, .gpus = 1, .submit_ns = 0, .end_ns = 10 * s },
		{ .number = 1, .gpus = 16, .submit_ns = s, .end_ns = -1 },
		{ .number = 7, .job_id = "a%b", .gpus = 2, .submit_ns = 2 * s, .end_ns = 8 * s } };
	struct event_row events[] = { { .kind = "note", .subject = 1 }, { 0, "start", 0, NULL }, { 3 * s, "stop", 0, NULL },
		{ 4 * s, "start", 7, NULL }, { 5 * s, "start", 0, NULL }, { 6 * s, "start", 0, NULL }, { 6 * s, "stop", 1, NULL },
		{ 7 * s, "start", 99, NULL }, { 8 * s, "kill", 7, NULL }, { 9 * s, "start", 1, NULL }, { 10 * s, "finish", 0, NULL } };
	struct run_result r = { .label = (char[]){ "fifo" }, .jobs = jobs, .n_jobs = 3, .events = events, .n_events = 11 };
	struct sbuf script = { 0 };
	struct figure_rows rows;
	ok((rows = figure_data_gantt(&script, &r, 30)).rows == 3, "three jobs are drawn");
	/* Job 1 still runs when the last job ends. */
	script_is(&script,
		"$data << EOD\n0 10 1\n1 10 2\n2 8 3\n\n\n0 3 1\n4 8 3\n5 10 1\n9 10 2\n\n\nNaN NaN NaN\n\n\nEOD\ntime_start = 0\ntime_end "
		"= 10\njobs = 3\narray "
		"job[3]\njob[1] = '0'.' (1)'\njob[2] = '1'.' (16)'\njob[3] = 'a%%b'.' (2)'\n",
		"waits and running periods");
	ok(rows.name_length == 7 && !strcmp(rows.unit, "s") && rows.n == 2 && !strcmp(rows.key[0].label, "waiting") &&
			!strcmp(rows.key[1].label, "running"),
		"the legend has what is drawn");
	ok((rows = figure_data_gantt(&script, &r, 2)).rows == 2, "at most so many jobs");
	ok(strstr(sbuf_text(&script), "\n\n0 3 1\n5 10 1\n9 10 2\n\n\n") && rows.name_length == 6, "are rows");
	sbuf_free(&script);
	events[8].kind = "evict";
	jobs[0].end_ns = -1;
	jobs[0].submit_ns = jobs[0].start_ns = 5 * s / 2;
	jobs[1].job_id = "a name of sixteen";
	rows = figure_data_gantt(&script, &r, 3);
	/* The last end is at 8 s, the first submission at 1 s. Bars that begin later are omitted. */
	ok(strstr(sbuf_text(&script), "$data << EOD\n2.5 8 1\n1 8 2\n2 8 3\n\n\n") != NULL, "waits last until the end of the chart");
	ok(strstr(sbuf_text(&script), "time_start = 1\ntime_end = 8\n") &&
			strstr(sbuf_text(&script), "job[2] = 'a name of sixt…'.' (16)'\n") && rows.name_length == 19,
		"it begins with the first submission, and long names are cut");
	ok(strstr(sbuf_text(&script), "\n4 8 3\n") != NULL, "an eviction ends a period");
	sbuf_free(&script);
	jobs[2].end_ns = -1;
	ok((rows = figure_data_gantt(&script, &r, 3)).rows == 3 && strstr(sbuf_text(&script), "time_end = 10\n"),
		"if no job ended, the last event ends the chart");
	sbuf_free(&script);
	struct event_row once = { 5 * s, "start", 1, NULL };
	r.events = &once;
	r.n_events = 1;
	jobs[1].submit_ns = 0;
	ok((rows = figure_data_gantt(&script, &r, 2)).rows == 2 && strstr(sbuf_text(&script), "time_end = 5\n"),
		"even if it is the only one");
	sbuf_free(&script);
	r.events = events;
	r.n_events = 1;
	ok(!figure_data_gantt(&script, &r, 3).rows && !script.len, "notes alone are no chart");
	r.n_events = 11;
	r.n_jobs = 0;
	ok(!figure_data_gantt(&script, &r, 3).rows && !script.len, "nor is a run without jobs");
	r.n_jobs = 1;
	r.n_events = 2;
	ok(!figure_data_gantt(&script, &r, 3).rows && !script.len, "nor one that ends when it begins");
	sbuf_free(&script);
}

/* Tests that the jobs that waited longest are drawn, in order of their numbers, and jobs without events from start to end. */
static void test_longest_waits(void)
{
	struct job_row jobs[6];
	for (uint64_t i = 0; i < 6; i++) /* waits of 5, 0, 5, 0, 5 and 0 s */
		jobs[i] = (struct job_row){ .number = i,
			.gpus = 1,
			.submit_ns = 0,
			.wait_ns = i % 2 ? 0 : 5 * s,
			.start_ns = 5 * s,
			.run_ns = i == 4 ? 2 * s : 5 * s,
			.end_ns = 10 * s };
	struct event_row events[] = { { 5 * s, "start", 0, NULL }, { 10 * s, "finish", 0, NULL } };
	struct run_result r = { .label = (char[]){ "x" }, .jobs = jobs, .n_jobs = 6, .events = events, .n_events = 2 };
	struct sbuf script = { 0 };
	struct figure_rows rows;
	ok((rows = figure_data_gantt(&script, &r, 3)).rows == 3 && rows.n == 3, "three of six jobs are drawn");
	ok(strstr(sbuf_text(&script), "job[1] = '0'.' (1)'\njob[2] = '2'.' (1)'\njob[3] = '4'.' (1)'\n") != NULL,
		"those that waited longest, in order of their numbers");
	/* Job 2 ran all the time between start and end, job 4 did not. */
	ok(strstr(sbuf_text(&script), "\n\n5 10 1\n5 10 2\n\n\n5 10 3\n\n\nEOD\n") != NULL,
		"a job without events is drawn from its start to its end");
	sbuf_free(&script);
	size_t n;
	const struct job_row **job = figure_jobs_waited(&r, 4, false, &n);
	ok(n == 3 && job[2]->number == 4, "jobs that did not wait can be left out");
	mem_free(job);
	job = figure_jobs_waited(&r, 4, true, &n);
	ok(n == 4 && job[1]->number == 1, "or follow");
	mem_free(job);
}

/* Tests that each of the four kinds of events ends a running period. */
static void test_ends(void)
{
	static const char *const kinds[] = { "stop", "finish", "kill", "evict", "fail" };
	for (size_t i = 0; i < 5; i++) {
		struct job_row job = { .number = 3, .gpus = 1, .submit_ns = 0, .end_ns = 400 * s };
		struct event_row events[] = { { 0, "start", 3, NULL }, { 60 * s, kinds[i], 3, NULL } };
		struct run_result r = { .label = (char[]){ "x" }, .jobs = &job, .n_jobs = 1, .events = events, .n_events = 2 };
		struct sbuf script = { 0 };
		figure_data_gantt(&script, &r, 3);
		ok(strstr(sbuf_text(&script), i < 4 ? "\n0 1 1\n" : "\n0 6.66666667 1\n\n\nNaN NaN NaN\n\n\nEOD\ntime_start = 0\n") != NULL,
			"%s %s", kinds[i], i < 4 ? "ends a running period" : "does not");
		sbuf_free(&script);
	}
}

/* ---- timelines ---- */

static void test_timeline(void)
{
	struct span_row spans[] = { { .device = 5, .kind = "forward", .start_s = 1, .end_s = 3 },
		{ .device = 3, .kind = "backward", .start_s = 2, .end_s = 4 }, { .device = 1, .kind = "send", .start_s = 3, .end_s = 7 },
		{ .device = 9, .kind = "forward", .start_s = 0, .end_s = 30 }, { .device = 3, .kind = "codec", .start_s = 5, .end_s = 5 },
		{ .device = 5, .kind = "unheard", .start_s = 0.5, .end_s = 1 } };
	struct run_result r = { .label = (char[]){ "x" }, .spans = spans, .n_spans = 6 };
	struct sbuf script = { 0 };
	struct figure_rows rows = figure_data_timeline(&script, &r, 3);
	ok(rows.rows == 3 && rows.n == 3 && rows.name_length == 1 && !strcmp(rows.unit, "s") && !strcmp(rows.key[2].label, "messages"),
		"the three devices with the lowest numbers, three kinds");
	/* The time axis runs from 0.5 s, the first span of these devices, to 7 s. */
	script_is(&script,
		"$data << EOD\n0.5 2.5 2.62 3.14\n\n\n1.5 3.5 1.62 2.14\n\n\nNaN NaN NaN NaN\n\n\nNaN NaN NaN NaN\n\n\nNaN NaN NaN "
		"NaN\n\n\nNaN NaN NaN NaN\n\n\n"
		"2.5 6.5 1.18 1.38\n\n\nNaN NaN NaN NaN\n\n\nEOD\ntime_end = 6.5\nkinds = 8\narray hue[8]\nhue[1] = '#0072B2'\nhue[2] = "
		"'#D55E00'\nhue[3] = '#F0A070'\nhue[4] = '#009E73'\nhue[5] = '#CC79A7'\nhue[6] = '#777777'\nhue[7] = '#E69F00'\nhue[8] = "
		"'#56B4E9'\ndevices = 3\narray device[3]\n"
		"device[1] = '1'\ndevice[2] = '3'\ndevice[3] = '5'\n",
		"work above, messages below, rows in the order of devices");
	static const struct {
		double span_s;
		const char *unit;
	} units[] = { { 5, "s" }, { 4.9, "ms" }, { 0.005, "ms" }, { 0.0049, "us" } };
	for (size_t i = 0; i < 4; i++) {
		char want[80];
		struct span_row one = { .device = 0, .kind = "work", .start_s = 0, .end_s = units[i].span_s };
		struct run_result o = { .label = NULL, .spans = &one, .n_spans = 1 };
		snprintf(want, sizeof want, "time_end = %.9g\n",
			units[i].span_s * (*units[i].unit == 's'          ? 1
						  : *units[i].unit == 'm' ? 1e3
									  : 1e6));
		rows = figure_data_timeline(&script, &o, 16);
		ok(rows.rows == 1 && rows.n == 1 && strstr(sbuf_text(&script), want) && !strcmp(rows.unit, units[i].unit),
			"%g s are drawn in %s", units[i].span_s, units[i].unit);
		sbuf_free(&script);
	}
	struct endpoint_row names[] = { { 3, "pool" }, { 5, "ser'ver" }, { 9, "pool" } };
	r.endpoints = names;
	r.n_endpoints = 3;
	ok(figure_data_timeline(&script, &r, 3).rows == 3 &&
			strstr(sbuf_text(&script), "device[1] = '1'\ndevice[2] = 'pool'\ndevice[3] = 'ser'.\"'\".'ver'\n"),
		"devices of one name share a row");
	ok(strstr(sbuf_text(&script), "0 30 1.88 2.14\n") && strstr(sbuf_text(&script), "2 4 1.62 1.88\n"), "each in its own band");
	sbuf_free(&script);
	r.n_endpoints = 0;
	r.n_spans = 0;
	ok(!figure_data_timeline(&script, &r, 3).rows && !script.len, "no spans, no data");
	sbuf_free(&script);
}

/* Tests that at most 64 devices are drawn: the lowest of 100 that come in mixed order. */
static void test_many_devices(void)
{
	struct span_row spans[100];
	struct run_result r = { .label = (char[]){ "x" }, .spans = spans, .n_spans = 100 };
	struct sbuf script = { 0 };
	for (uint32_t i = 0; i < 100; i++)
		spans[i] = (struct span_row){ .device = i * 37 % 100, .kind = "work", .start_s = 0, .end_s = 1 };
	ok(figure_data_timeline(&script, &r, 1000).rows == 64, "64 devices at most");
	const char *text = sbuf_text(&script);
	ok(strstr(text, "\ndevice[1] = '0'\n") && strstr(text, "\ndevice[2] = '1'\n") && strstr(text, "\ndevice[64] = '63'\n"), "in order");
	sbuf_free(&script);
}

int main(void)
{
	test_jct();
	test_requests();
	test_long_distribution(7);
	test_long_distribution(800);
	test_long_distribution(801);
	test_long_distribution(2000);
	test_series();
	test_long_series(800);
	test_long_series(801);
	test_long_series(3000);
	test_gantt();
	test_longest_waits();
	test_ends();
	test_timeline();
	test_many_devices();
	return done();
}
