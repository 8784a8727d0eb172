/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Figures of runs and of profiles: the files of a result, bars of metrics and accounts, instances over time, and curves of a
 * profile's laws. A program in place of gnuplot keeps the script. Expected values are computed by hand from the rows and from
 * the equation of a roofline (hwmodel/profile.h).
 */
#include "plots/figure.h"
#include "plots/profile_figures.h"
#include "plots/spot_figures.h"
#include "tests/plots/fake_gnuplot.h"
#include "tests/tap.h"

#include <unistd.h>

static const int64_t s = 1000000000;
static char dir[256];

static char *script_text(void)
{
	char path[320];
	struct sbuf b = { 0 };
	snprintf(path, sizeof path, "%s/bin/SCRIPT", dir);
	FILE *f = fopen(path, "rb");
	for (int c; f && (c = getc(f)) != EOF;)
		sbuf_putc(&b, (char)c);
	if (f)
		fclose(f);
	unlink(path);
	return b.text ? sbuf_steal(&b) : mem_strdup("");
}

/* Returns the names of the figures in the order of the script, each followed by a blank. */
static char *names_in(const char *script)
{
	struct sbuf b = { 0 };
	for (const char *at = script; (at = strstr(at, "set output '")); at++) {
		const char *name = at + strlen("set output '");
		size_t n = strcspn(name, "'");
		if (n > 8 && !memcmp(name + n - 8, ".pdf.tmp", 8))
			sbuf_printf(&b, "%.*s ", (int)n - 8, name);
	}
	return b.text ? sbuf_steal(&b) : mem_strdup("");
}

static void has(const char *script, const char *file, const char *wanted)
{
	char *part = script_of(script, file);
	if (!ok(part && strstr(part, wanted), "%s has its data", file))
		printf("# lacks %s\n# %.1200s\n", wanted, part ? part : "no such figure");
	mem_free(part);
}

static char *write_figures(const struct run_result *const *runs, size_t n)
{
	struct orr_error err = { 0 };
	ok(!figures_write(dir, runs, n, &err), "figures are written: %s", err.text);
	return script_text();
}

/* ---- a run with all kinds of rows ---- */

static void test_all_files(void)
{
	static const char *const series_names[] = { "utilisation", "queue_length", "in_system", "samples_per_s", "loss", "accuracy" };
	int64_t time[] = { 0, 10 * s };
	double value[] = { 0.5, 1 };
	struct series series[6];
	for (size_t i = 0; i < 6; i++)
		series[i] = (struct series){ series_names[i], 2, time, value };
	struct job_row job = { .number = 0, .gpus = 1, .submit_ns = 0, .end_ns = 10 * s };
	struct event_row events[] = { { 2 * s, "start", 0, NULL }, { 10 * s, "finish", 0, NULL } };
	struct request_row request = {
		.arrival_s = 0, .first_token_s = 1, .completed_s = 2, .output_tokens = 3, .status = REQUEST_COMPLETED
	};
	struct span_row spans[] = { { .device = 0, .kind = "forward", .start_s = 0, .end_s = 1 },
		{ .device = 1, .kind = "backward", .start_s = 1, .end_s = 2 } };
	struct node_row nodes[] = { { 0, 4, 3, 2, 0 }, { 5 * s, 6, 5, 4, 1 } };
	struct account_row accounts[] = { { "useful", 3600, 2 } };
	struct metric metrics[] = { { "samples_per_s", 7, 6, 8.5 }, { "value", 0.25, NAN, NAN }, { "makespan_s", 8, NAN, NAN } };
	struct run_result a = { .label = (char[]){ "p/q" },
		.jobs = &job,
		.n_jobs = 1,
		.events = events,
		.n_events = 2,
		.requests = &request,
		.n_requests = 1,
		.spans = spans,
		.n_spans = 2,
		.nodes = nodes,
		.n_nodes = 2,
		.accounts = accounts,
		.n_accounts = 1,
		.metrics = metrics,
		.n_metrics = 3,
		.series = series,
		.n_series = 6 };
	struct run_result b = { .label = (char[]){ "bare" } };
	const struct run_result *runs[] = { &a, &b };
	char *script = write_figures(runs, 2), *names = names_in(script);
	same_text(names,
		"jct-cdf latency-cdf ttft-cdf utilisation queue-length in-system throughput-over-time loss accuracy throughput value "
		"node-hours "
		"dollars gantt-p_q "
		"timeline-p_q instances-p_q ",
		"each kind of data has its figures; a run without data has none of its own");
	static const struct {
		const char *file, *wanted;
	} data[] = { { "jct-cdf", "10 0\n10 1\n\n\nNaN NaN NaN\n" }, { "utilisation", "0 0.5\n10 1\n" }, { "latency-cdf", "2 0\n2 1\n" },
		{ "ttft-cdf", "1 0\n1 1\n" }, { "utilisation", "y_label = 'GPUs in use (%)'\n" },
		{ "queue-length", "y_label = 'waiting jobs'\n" }, { "in-system", "y_label = 'requests in system'\n" },
		{ "throughput-over-time", "y_label = 'samples/s'\n" }, { "loss", "y_label = 'loss'\n" },
		{ "accuracy", "y_label = 'accuracy'\n" }, { "throughput", "1 7 6 8.5 \n2 NaN NaN NaN \n" },
		{ "throughput", "y_label = 'samples/s'\n" }, { "throughput", "category[1] = 'p/q'\ncategory[2] = 'bare'\n" },
		{ "value", "1 0.25 NaN NaN \n2 NaN NaN NaN \n" }, { "value", "y_label = 'samples/s per USD/h'\n" },
		{ "value", "y_min = '0'\n" }, { "gantt-p_q", "0 10 1\n\n\n2 10 1\n" },
		/* Heights: so that the data have 0.61 of the figure, at most 2.6 in of plot, and 0.27 in of legend. Timeline: 0.33 in on
		 * the left, 0.1 in on the right, 0.42 in below. Gantt chart of "0 (1)": 0.62 in on the left. */
		{ "gantt-p_q", "size 3.50in,2.87in\n" }, { "timeline-p_q", "size 3.50in,2.27in\n" }, { "timeline-p_q", "devices = 2\n" },
		/* Curves extend to the makespan, 8 s, with the value of the last row. */
		{ "instances-p_q", "0 4\n5 6\n8 6\n\n\n0 3\n5 5\n8 5\n\n\n0 2\n5 4\n8 4\n" }, { "instances-p_q", "label[2] = 'ready'\n" },
		{ "instances-p_q", "key_places = 1\n" } };
	for (size_t i = 0; i < sizeof data / sizeof *data; i++)
		has(script, data[i].file, data[i].wanted);
	mem_free(script);
	mem_free(names);
	script = write_figures(&runs[1], 1);
	same_text(script, "", "a run without data has no figures");
	mem_free(script);
}

/* Tests the places of three labels on a page of 252 points, the second of which is the longest: 5 points at the left, 26 for the sample of
 * each, 5 for an "x" or "a", 35.2 for the mark of an oracle, and gaps of 9. Labels have at most 32 characters. */
static void test_legend(void)
{
	static const struct {
		size_t length, n;
		bool is_oracle;
		const char *place;
	} legends[] = { { 28, 3, false, "key_y[3] = 0\n" }, { 29, 3, false, "key_y[3] = 1\n" }, { 21, 3, true, "key_y[3] = 0\n" },
		{ 22, 3, true, "key_y[3] = 1\n" }, { 90, 2, false, "key_y[2] = 0\n" } };
	for (size_t i = 0; i < sizeof legends / sizeof *legends; i++) {
		char label[100] = "";
		memset(label, 'x', legends[i].length);
		struct job_row job = { .end_ns = 10 * s };
		struct run_result a = { .label = (char[]){ "a" }, .jobs = &job, .n_jobs = 1 },
				  b = { .label = label, .is_oracle = legends[i].is_oracle, .jobs = &job, .n_jobs = 1 };
		const struct run_result *runs[] = { &a, &b, &a };
		char *script = write_figures(runs, legends[i].n);
		has(script, "jct-cdf", legends[i].place);
		mem_free(script);
	}
}

/* The legend stands in rows beside the label of the run: on 252 points there is room for the first three kinds, then for the next three.
 * Widths in points: 5 at the left, 14 for "a" with its gap, 26 for each sample, 9 between entries, and 32, 41, 44, 40, 25, 21 and 43 for
 * the names. */
static void test_timeline_rows(void)
{
	static const char *const kinds[] = { "forward", "backward", "recompute", "optimizer", "codec", "work", "send" }, *const rows[] = {
		"key_rows = 1\n", "key_rows = 1\n", "key_rows = 1\n", "key_rows = 2\n", "key_rows = 2\n", "key_rows = 2\n", "key_rows = 3\n"
	};
	for (size_t n = 1; n <= 7; n++) {
		struct span_row spans[20];
		for (uint32_t i = 0; i < 20; i++)
			spans[i] = (struct span_row){ .device = i, .kind = kinds[i % n], .start_s = 0, .end_s = 1 };
		struct run_result a = { .label = (char[]){ "a" }, .spans = spans, .n_spans = 20 };
		const struct run_result *runs[] = { &a };
		char *script = write_figures(runs, 1);
		has(script, "timeline-a", rows[n - 1]);
		has(script, "timeline-a", "devices = 16\n");
		mem_free(script);
	}
	struct job_row jobs[40] = { { 0 } };
	struct event_row start = { 0, "start", 0, NULL };
	for (uint32_t i = 0; i < 40; i++)
		jobs[i] = (struct job_row){ .number = i, .end_ns = 5 * s };
	struct run_result a = { .label = (char[]){ "a" }, .jobs = jobs, .n_jobs = 40, .events = &start, .n_events = 1 };
	const struct run_result *runs[] = { &a };
	char *script = write_figures(runs, 1);
	has(script, "gantt-a", "jobs = 30\n");
	mem_free(script);
}

/* ---- accounts ---- */

static void test_accounts(void)
{
	struct account_row first[] = { { "useful", 3600, 2 }, { "wasted", 0, 0 }, { "idle", 7200, 0 }, { "egress", 0, 0.5 } };
	struct account_row second[] = { { "idle", 0, 0 }, { "useful", 1800, 1 }, { "wasted", 900, 0 }, { "other", 60, 1 } };
	struct run_result none = { .label = NULL }, a = { .label = (char[]){ "a" }, .accounts = first, .n_accounts = 4 };
	struct run_result b = { .label = (char[]){ "b" }, .accounts = second, .n_accounts = 4 };
	const struct run_result *runs[] = { &none, &a, &b };
	struct album album = { 0 };
	struct orr_error err = { 0 };
	ok(!spot_figures_shared(&album, runs, 3, &err) && album.n_files == 2, "two figures of accounts");
	/* Accounts are in the order of the first run that has accounts; accounts that are 0 in all runs are omitted. */
	has(sbuf_text(&album.script), "node-hours",
		"$data << EOD\n1 0 0 0 \n2 1 0 1 \n3 0.5 0 0.5 \n\n\n1 0 0 0 \n2 0 1 1 \n3 0.25 0.5 0.75 \n\n\n1 0 0 0 \n2 2 1 3 \n3 0 "
		"0.75 0.75 \n\n\nEOD\nn = 3\n");
	has(sbuf_text(&album.script), "node-hours",
		"label[1] = 'useful'\nmarks[1] = 0\nlabel[2] = 'wasted'\nmarks[2] = 0\nlabel[3] = 'idle'\n");
	has(sbuf_text(&album.script), "node-hours", "y_label = 'instance hours'\n");
	has(sbuf_text(&album.script), "dollars",
		"$data << EOD\n1 0 0 0 \n2 2 0 2 \n3 1 0 1 \n\n\n1 0 0 0 \n2 0.5 2 2.5 \n3 0 1 1 \n\n\nEOD\nn = 2\n");
	has(sbuf_text(&album.script), "dollars", "label[2] = 'egress'\n");
	has(sbuf_text(&album.script), "dollars", "y_label = 'USD'\n");
	has(sbuf_text(&album.script), "dollars", "category[1] = ''\ncategory[2] = 'a'\ncategory[3] = 'b'\n");
	album_free(&album);
	ok(!spot_figures_shared(&album, runs, 1, &err) && !album.n_files && !spot_figures_single(&album, &none, "x", &err) &&
			!album.n_files,
		"no accounts, no figures");
	album_free(&album);
}

/* ---- profiles ---- */

static char empty[1];

/* Returns t0 + ((flops / a)^p + (bytes / b)^p)^(1/p). */
static double roofline(const double *p, double flops, double bytes)
{
	return p[0] + pow(pow(flops / p[1], p[3]) + pow(bytes / p[2], p[3]), 1 / p[3]);
}

static struct law product(char *precision)
{
	static char gemm[] = "gemm", op[] = "nn";
	struct law l = { .family = gemm,
		.op = op,
		.precision = precision,
		.variant = empty,
		.form = FORM_ROOFLINE,
		.n_params = 4,
		.param = { 1e-5, 1e14, 1e12, 2 },
		.from = { 1e6, 1e5, NAN },
		.to = { 1e13, 1e10, NAN } };
	return l;
}

/* Reads n lines of two or four numbers and compares the first two with the function. */
static bool curve_is(const char *script, const char *file, size_t index, size_t n, void (*want)(size_t k, double *x, double *y))
{
	char *part = script_of(script, file), *at = part ? strstr(part, "$data << EOD\n") : NULL;
	at = at ? at + strlen("$data << EOD\n") : NULL;
	for (size_t i = 0; at && i < index; i++) {
		at = strstr(at, "\n\n\n");
		at = at ? at + 3 : NULL;
	}
	bool good = at != NULL;
	for (size_t k = 0; good && k < n; k++) {
		double x, y, wx, wy;
		int used = 0;
		good = sscanf(at, "%lf %lf%*[^\n]%n", &x, &y, &used) == 2;
		at += used + 1;
		want(k, &wx, &wy);
		if (fabs(x / wx - 1) > 1e-7 || fabs(y / wy - 1) > 1e-7) {
			printf("# point %zu: %.9g %.9g, want %.9g %.9g\n", k, x, y, wx, wy);
			good = false;
		}
	}
	good &= at && *at == '\n';
	mem_free(part);
	return good;
}

static const double param[] = { 1e-5, 1e14, 1e12, 2 };
static struct law_point points[3] = { { { 1e10, 1e7, 0 }, 2e-4, false }, { { 1e11, 2e7, 0 }, 1.5e-3, false },
	{ { 1e9, 1e8, 0 }, 1.5e-4, true } };

/* Computes 49 intensities from 1 to 10^4, evenly spaced on a log axis, and the law's value at its largest FLOPs. */
static void want_law(size_t k, double *x, double *y)
{
	*x = pow(10, 4 * (double)k / 48);
	*y = 1e13 / roofline(param, 1e13, 1e13 / *x) / 1e12;
}

static void want_sheet(size_t k, double *x, double *y)
{
	*x = pow(10, 4 * (double)k / 48);
	*y = fmin(125e12, *x * 0.9e12) / 1e12;
}

static void want_points(size_t k, double *x, double *y)
{
	*x = points[k].feature[0] / points[k].feature[1];
	*y = points[k].feature[0] / points[k].time_s / 1e12;
}

static void want_residuals(size_t k, double *x, double *y)
{
	*x = points[k].time_s * 1e6;
	*y = roofline(param, points[k].feature[0], points[k].feature[1]) / points[k].time_s;
}

static void test_profile(void)
{
	char fp16[] = "fp16", fp32[] = "fp32", name[] = "made", line[] = "copy", all[] = "all";
	struct law laws[4] = { product(fp16), product(fp32), product(fp16), product(fp16) };
	laws[0].point = points;
	laws[0].n_points = 3;
	laws[2].family = line; /* no product */
	laws[3].variant = all; /* a special case of the first */
	struct profile p = { .name = name, .device = name, .law = laws, .n_laws = 4 };
	struct device d = { .memory_Bps = 0.9e12 };
	struct orr_error err = { 0 };
	d.peak_flops[PRECISION_FP16] = 125e12; /* no peak of fp32 */
	ok(!profile_figures(&p, &d, dir, &err), "figures of a profile: %s", err.text);
	char *script = script_text(), *names = names_in(script);
	same_text(names, "roofline efficiency-fp16 efficiency-fp32 residuals ", "a map for each precision of products");
	has(script, "roofline",
		"n = 4\narray label[4]\narray marks[4]\nlabel[1] = 'law, fp16'\nmarks[1] = 0\nlabel[2] = 'data sheet, fp16'\nmarks[2] = "
		"0\nlabel[3] = 'measured, "
		"fp16'\nmarks[3] = 1\nlabel[4] = 'law, fp32'\nmarks[4] = 0\n");
	has(script, "roofline", "x_label = 'FLOPs per byte'\nlog_x = 1\nlog_y = 1\n");
	has(script, "roofline", "\ny_label = 'TFLOP/s'\n");
	ok(curve_is(script, "roofline", 0, 49, want_law), "the roof of the law");
	ok(curve_is(script, "roofline", 1, 49, want_sheet), "the roof of the data sheet");
	ok(curve_is(script, "roofline", 2, 3, want_points), "the measured points");
	ok(curve_is(script, "residuals", 0, 3, want_residuals), "law over measurement");
	has(script, "residuals", "n = 1\narray label[1]\narray marks[1]\nlabel[1] = 'gemm nn fp16");
	has(script, "residuals", "x_label = 'measured time (us)'\nlog_x = 1\nlog_y = 1\n");
	has(script, "residuals", "\ny_label = 'law / measured'\n");
	/* Products of m x k x m: 2-byte elements relative to the peak of the data sheet, 4-byte elements relative to the rate of the
	 * law. */
	bool good = true;
	for (int half = 0; half < 2; half++) {
		char *part = script_of(script, half ? "efficiency-fp32" : "efficiency-fp16"),
		     *at = part ? strstr(part, "$data << EOD\n") : NULL;
		at = at ? at + strlen("$data << EOD\n") : NULL;
		for (int i = 6; i <= 13; i++)
			for (int k = 6; at && k <= 13; k++) {
				double m = exp2(i), inner = exp2(k), flops = 2 * m * m * inner,
				       bytes = (half ? 4 : 2) * (m * m + 2 * m * inner), share;
				int gi, gk, used = 0;
				good &= sscanf(at, "%d %d %lf\n%n", &gi, &gk, &share, &used) == 3 && gi == i && gk == k &&
					fabs(share - flops / roofline(param, flops, bytes) / (half ? 1e14 : 125e12)) < 6e-5;
				at += used;
			}
		good &= at && !strncmp(at, "EOD\nx_min = y_min = 6\nx_max = y_max = 13\n", 39);
		mem_free(part);
	}
	ok(good, "efficiency by the size of a product");
	mem_free(script);
	mem_free(names);
	p.law = &laws[2];
	p.n_laws = 1;
	ok(profile_figures(&p, &d, dir, &err) == ORR_EINPUT, "a profile without products and points has no figures");
	same_text(err.text, "made: the profile gives no figures: expected a profile with GEMM laws or points", "which is reported");
	p.n_laws = 0;
	ok(profile_figures(&p, NULL, dir, &err) == ORR_EINPUT, "nor has an empty one");
	p.law = &laws[1];
	p.n_laws = 1;
	err = (struct orr_error){ 0 };
	ok(!profile_figures(&p, NULL, dir, &err), "without a data sheet: %s", err.text);
	script = script_text();
	names = names_in(script);
	same_text(names, "roofline efficiency-fp32 ", "there are the law alone and its efficiency");
	has(script, "roofline", "n = 1\n");
	mem_free(script);
	mem_free(names);
}

/* A factor has no times. Only some of many points are drawn, in at most 32 series. */
static void test_many_points(void)
{
	char fp16[] = "fp16", name[] = "made", other[] = "conv";
	static struct law_point many[1000];
	struct law laws[40];
	for (size_t i = 0; i < 1000; i++)
		many[i] = (struct law_point){ { 1e9 * (double)(i + 1), 1e7, 0 }, 1e-4, false };
	for (size_t i = 0; i < 40; i++) {
		laws[i] = product(fp16);
		laws[i].family = other;
		laws[i].point = many;
		laws[i].n_points = 1000;
	}
	laws[0].form = FORM_FACTOR;
	struct profile p = { .name = name, .device = name, .law = laws, .n_laws = 40 };
	struct orr_error err = { 0 };
	ok(!profile_figures(&p, NULL, dir, &err), "many points: %s", err.text);
	char *script = script_text(), *names = names_in(script);
	same_text(names, "residuals ", "have residuals alone");
	has(script, "residuals", "n = 32\n");
	char *part = script_of(script, "residuals"), *end = part ? strstr(part, "\n\n\n") : NULL;
	size_t lines = 0;
	for (char *at = part; end && at < end; at++)
		lines += *at == '\n';
	/* Every third of 1000 points is drawn: the 1st, the 4th, .. the 1000th. */
	ok(lines == 334, "every third of 1000 points is drawn, %zu lines with the head", lines);
	mem_free(part);
	mem_free(script);
	mem_free(names);
	p.n_laws = 1;
	ok(profile_figures(&p, NULL, dir, &err) == ORR_EINPUT, "a factor alone has none");
}

int main(void)
{
	const char *tmp = getenv("TMPDIR");
	snprintf(dir, sizeof dir, "%.200s/orrery-figures.XXXXXX", tmp && *tmp ? tmp : "/tmp");
	if (!mkdtemp(dir))
		return 2;
	fake_gnuplot_install(dir);
	test_all_files();
	test_legend();
	test_timeline_rows();
	test_accounts();
	test_profile();
	test_many_points();
	char clean[320];
	snprintf(clean, sizeof clean, "rm -r '%s'", dir);
	if (system(clean))
		printf("# %s remains\n", dir);
	return done();
}
