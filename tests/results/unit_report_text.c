/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Numbers, units and intervals of printed tables, and the waits that a trace records. All expected texts and numbers are by hand. */
#include "results/recorded.h"
#include "results/report_text.h"

#include "base/mem.h"
#include "tests/tap.h"

/* ---- units ---- */

static void units(void)
{
	static const struct {
		enum report_kind kind;
		double value;
		const char *unit;
		double divisor;
	} cases[] = { { REPORT_TIME, 0, "s", 1 }, { REPORT_TIME, 119, "s", 1 }, { REPORT_TIME, -120, "min", 60 },
		{ REPORT_TIME, 7199, "min", 60 }, { REPORT_TIME, 7200, "h", 3600 }, { REPORT_TIME, 172799, "h", 3600 },
		{ REPORT_TIME, 172800, "d", 86400 }, { REPORT_SHORT_TIME, 0, "ms", 1e-3 }, { REPORT_SHORT_TIME, 9e-4, "us", 1e-6 },
		{ REPORT_SHORT_TIME, 1e-3, "ms", 1e-3 }, { REPORT_SHORT_TIME, -0.999, "ms", 1e-3 }, { REPORT_SHORT_TIME, 1, "s", 1 },
		{ REPORT_SHORT_TIME, 1e6, "s", 1 }, { REPORT_FRACTION, 0.3, "%", 0.01 }, { REPORT_GIBIBYTES, 5, "GiB", 1073741824 },
		{ REPORT_BYTES, 1073741824, "GiB", 1073741824 }, { REPORT_BYTES, 1073741823, "MiB", 1048576 },
		{ REPORT_BYTES, 1048576, "MiB", 1048576 }, { REPORT_BYTES, 1048575, "KiB", 1024 }, { REPORT_BYTES, 0, "KiB", 1024 },
		{ REPORT_NUMBER, 5000, "", 1 }, { REPORT_PRECISE, 5000, "", 1 } };
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct report_scale by = report_scale_for(cases[i].kind, cases[i].value);
		ok(!strcmp(by.unit, cases[i].unit) && by.divisor == cases[i].divisor, "unit of %g (kind %d): %s", cases[i].value,
			(int)cases[i].kind, cases[i].unit);
	}
}

/* A column has the unit of its largest value, unless its smallest value other than 0 is below a tenth of that unit. */
static void unit_of_a_column(void)
{
	static const struct {
		enum report_kind kind;
		double small, large;
		const char *unit;
	} cases[] = { { REPORT_TIME, 6, 300, "min" }, { REPORT_TIME, 5.9, 300, "s" }, { REPORT_TIME, 0, 300, "min" },
		{ REPORT_TIME, -300, 6, "min" }, { REPORT_TIME, NAN, 300, "min" }, { REPORT_TIME, 0.01, 300, "s" },
		{ REPORT_TIME, 360, 172800, "h" }, { REPORT_TIME, 359, 172800, "min" }, { REPORT_TIME, 5, 172800, "s" },
		{ REPORT_SHORT_TIME, 0.1, 2, "s" }, { REPORT_SHORT_TIME, 0.09, 2, "ms" }, { REPORT_SHORT_TIME, 9e-5, 2, "us" },
		{ REPORT_BYTES, 0x1p27, 0x1p30, "GiB" }, { REPORT_BYTES, 0x1p26, 0x1p30, "MiB" }, { REPORT_BYTES, 0x1p16, 0x1p30, "KiB" },
		{ REPORT_FRACTION, 1e-6, 1, "%" }, { REPORT_NUMBER, 1e-6, 1, "" } };
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct metric a = { "a", cases[i].small, NAN, NAN }, b = { "b", cases[i].large, NAN, NAN };
		const struct metric *m[] = { NULL, &a, &b };
		same_text(report_scale_of(cases[i].kind, m, 3).unit, cases[i].unit, "unit of a column");
	}
}

/* ---- values ---- */

static void metrics(void)
{
	static const struct {
		double value, low, high;
		enum report_kind kind;
		const char *text;
	} cases[] = {
		{ 10, 9, 11, REPORT_TIME, "10 ± 1 s" },
		{ 10, 9.5, 10.5, REPORT_TIME, "10 ± 0.5 s" }, /* without decimals, 0.5 would print as 0 */
		{ 10, 9.9, 10.1, REPORT_TIME, "10 ± 0.1 s" },
		{ 10, 9.96, 10.04, REPORT_TIME, "10 ± 0.04 s" },
		{ 10, 9.9994, 10.0006, REPORT_TIME, "10 ± 0.001 s" },
		{ 10, 9.9996, 10.0004, REPORT_TIME, "10 s" }, /* three decimals show nothing */
		{ 10, 10, 10, REPORT_TIME, "10 s" },
		{ 10, NAN, 11, REPORT_TIME, "10 s" },
		{ 10, 9, NAN, REPORT_TIME, "10 s" },
		{ 10, 9, 12, REPORT_TIME, "10 [9, 12] s" },
		{ 10, 9, 11.04, REPORT_TIME, "10 ± 1 s" },       /* 0.04 of 2.04 off the centre: below 2 % */
		{ 10, 9, 11.05, REPORT_TIME, "10 [9, 11.1] s" }, /* 0.05 of 2.05: above */
		{ 100.2, 100.1, 100.4, REPORT_TIME, "100 s" },   /* all three print alike */
		{ 100.2, 99.2, 100.4, REPORT_TIME, "100 [99.2, 100] s" },
		{ 100.2, 100.1, 102.4, REPORT_TIME, "100 [100, 102] s" },
		{ 120, 60, 180, REPORT_TIME, "2 ± 1 min" },
		{ 0.5, 0.4, 0.6, REPORT_FRACTION, "50 ± 10 %" },
		{ 0.123456, 0, 1, REPORT_PRECISE, "0.123" },
		{ 7, NAN, NAN, REPORT_NUMBER, "7" },
		{ NAN, NAN, NAN, REPORT_TIME, "-" },
	};
	struct sbuf b = { 0 };
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct metric m = { "m", cases[i].value, cases[i].low, cases[i].high };
		report_put_metric(&b, &m, cases[i].kind, report_scale_for(cases[i].kind, cases[i].value), true);
		same_text(sbuf_text(&b), cases[i].text, "a metric with interval and unit");
		sbuf_clear(&b);
	}
	report_put_metric(&b, NULL, REPORT_TIME, (struct report_scale){ "s", 1 }, true);
	report_put_metric(&b, &(struct metric){ "m", 3, NAN, NAN }, REPORT_TIME, (struct report_scale){ "s", 1 }, false);
	same_text(sbuf_text(&b), "-3", "a missing metric, and one without its unit");
	sbuf_free(&b);
}

static void differences(void)
{
	static const struct {
		struct interval d;
		double base;
		const char *text;
	} cases[] = { { { 5, -1, 11 }, 50, "  +5 s [-1, 11]  +10.0 %" }, { { -5, NAN, NAN }, 50, "  -5 s  -10.0 %" },
		{ { 0, -1, 1 }, 0, "  0 s [-1, 1]" }, { { -300, -360, -240 }, NAN, "  -5 min [-6, -4]" },
		{ { 5, 4, NAN }, -50, "  +5 s" } };
	struct sbuf b = { 0 };
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		report_put_difference(&b, &cases[i].d, REPORT_TIME, cases[i].base);
		same_text(sbuf_text(&b), cases[i].text, "a difference");
		sbuf_clear(&b);
	}
	sbuf_free(&b);
}

static void texts(void)
{
	struct run_result *r = result_new();
	struct sbuf b = { 0 };
	report_put_plain(&b, "a\x1f\x7f \xc2\xb1~");
	same_text(sbuf_text(&b), "a?? \xc2\xb1~", "control characters are replaced");
	ok(report_text_width("\xc2\xb1"
			     "1") == 2 &&
			report_text_width("") == 0,
		"the width is in code points");
	sbuf_clear(&b);
	report_pad(&b, "\xc2\xb1", 3, false);
	report_pad(&b, "ab", 3, true);
	report_pad(&b, "abcd", 3, true);
	same_text(sbuf_text(&b), "\xc2\xb1   ababcd", "texts are aligned, and not shortened");
	sbuf_clear(&b);
	r->label = mem_strdup("x\ny");
	r->is_oracle = true;
	report_put_title(&b, "against %s, here:", r);
	same_text(sbuf_text(&b), "\nagainst x?y (oracle), here:", "a title names the first run");
	sbuf_free(&b);
	result_free(r);
}

/* ---- formats and line breaks ---- */

static void formats(void)
{
	static const char *const names[] = { "text", "markdown", "latex", "csv", "json" };
	static const enum grid_format want[] = { GRID_TEXT, GRID_MARKDOWN, GRID_LATEX, GRID_CSV, GRID_JSON };
	struct orr_error err = { 0 };
	enum grid_format got;
	for (size_t i = 0; i < 5; i++)
		ok(!grid_format_named(names[i], &got, &err) && got == want[i], "format %s", names[i]);
	ok(grid_format_named("html", &got, &err) == ORR_EINPUT &&
			strstr(err.text, "--table html: expected text, markdown, latex, csv or json"),
		"another format is refused");
}

/* Continued lines are indented by two more characters, unless this takes half of the width. */
static void wrapped(void)
{
	static const struct {
		const char *text;
		size_t width;
		const char *want;
	} cases[] = { { "  aa bb cc\ndd\n", 8, "  aa bb\n  cc\ndd\n" }, { "  aa bb cc\ndd", 10, "  aa bb cc\ndd" },
		{ "  aa bb ccc", 10, "  aa bb\n    ccc" }, { "  aa bb ccc", 0, "  aa bb ccc" },
		{ "a \xc2\xb1\xc2\xb1 b", 6, "a \xc2\xb1\xc2\xb1 b" }, { "a \xc2\xb1\xc2\xb1 b", 5, "a \xc2\xb1\xc2\xb1\n  b" },
		{ "longer than", 4, "longer\n  than" }, { "", 4, "" } };
	struct sbuf b = { 0 };
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		grid_put_wrapped(&b, cases[i].text, cases[i].width);
		same_text(sbuf_text(&b), cases[i].want, "sentences with line breaks at blanks");
		sbuf_clear(&b);
	}
	sbuf_free(&b);
}

/* ---- recorded waits ---- */

static struct run_result *with_jobs(const double (*waits)[2], size_t n)
{
	struct run_result *r = result_new();
	r->n_jobs = n;
	r->jobs = mem_zalloc(n + 1, sizeof *r->jobs);
	for (size_t i = 0; i < n; i++) {
		r->jobs[i].recorded_wait_ns = waits[i][0] < 0 ? -1 : (int64_t)(waits[i][0] * 1e9);
		r->jobs[i].wait_ns = (int64_t)(waits[i][1] * 1e9);
	}
	return r;
}

/* Recorded: 10, 20, 20, 61 s; simulated: 0, 61, 30, 59 s. Ranks from 0: 0, 1.5, 1.5, 3 and 0, 3, 1, 2, of mean 1.5; the products of the
 * deviations are 2.25 + 0.75, the squares 4.5 and 5, so the correlation is 3 / sqrt(22.5). Quantiles are at the index 3 p. */
static void recorded(void)
{
	static const double waits[][2] = { { 10, 0 }, { -1, 1000 }, { 20, 61 }, { 20, 30 }, { 1, 1000 }, { 61, 59 } };
	struct run_result *r = with_jobs(waits, 6);
	r->jobs[4].status = JOB_FAILED;
	struct recorded_waits w = recorded_of(r);
	ok(w.jobs == 4, "jobs that completed and have a recorded wait");
	near_to(w.recorded.mean, 27.75, 1e-12, "mean of the recorded waits");
	near_to(w.recorded.p50, 20, 1e-12, "median");
	near_to(w.recorded.p90, 48.7, 1e-12, "90 %: at 2.7, between 20 and 61");
	near_to(w.recorded.p99, 59.77, 1e-12, "99 %: at 2.97");
	ok(w.recorded.max == 61 && w.recorded.minute == 0.75, "three of four wait at most a minute");
	near_to(w.simulated.mean, 37.5, 1e-12, "mean of the simulated waits");
	near_to(w.simulated.p50, 44.5, 1e-12, "median: between 30 and 59");
	near_to(w.simulated.p90, 60.4, 1e-12, "90 %: between 59 and 61");
	near_to(w.simulated.p99, 60.94, 1e-12, "99 %");
	ok(w.simulated.max == 61 && w.simulated.minute == 0.75, "one of four waits longer than a minute");
	near_to(w.difference, 9.75, 1e-12, "(-10 + 41 + 10 - 2) / 4");
	near_to(w.off, 15.75, 1e-12, "(10 + 41 + 10 + 2) / 4");
	near_to(w.rank, 3 / sqrt(22.5), 1e-12, "rank correlation with a tie");

	static const char *const want[3][11] = {
		{ "waits", "jobs", "wait mean (s)", "median (s)", "p90 (s)", "p99 (s)", "max (s)", "within 1 min (%)", "difference (s)",
			"mean amount (s)", "rank correlation" },
		{ "recorded", "4", "27.8", "20", "48.7", "59.8", "61", "75", "-", "-", "-" },
		{ "x", "4", "37.5", "44.5", "60.4", "60.9", "61", "75", "9.75", "15.8", "0.632" },
	};
	const struct run_result *runs[2];
	struct run_result *none = result_new();
	r->label = mem_strdup("x");
	recorded_metrics(r, &w);
	runs[0] = none;
	runs[1] = r;
	struct grid g = recorded_grid(runs, 2, false);
	ok(g.rows == 3 && g.columns == 11 && g.is_text[0] && !g.is_text[1], "a row of the trace and one of the run that has the metrics");
	for (size_t i = 0; i < 3 && g.rows == 3; i++)
		for (size_t k = 0; k < 11 && g.columns == 11; k++)
			same_text(*grid_cell(&g, i, k), want[i][k], want[0][k]);
	grid_free(&g);
	g = recorded_grid(runs, 2, true);
	same_text(*grid_cell(&g, 0, 2), "wait mean", "the unit is in the cells");
	same_text(*grid_cell(&g, 1, 2), "27.8 s", "instead of the title");
	grid_free(&g);
	g = recorded_grid(runs, 1, true);
	ok(!g.rows, "no table without such a run");
	grid_free(&g);
	result_free(r);
	result_free(none);
}

static void few_recorded(void)
{
	static const double equal[][2] = { { 5, 1 }, { 5, 2 } }, turned[][2] = { { 5, 1 }, { 5, 1 }, { 4, 3 } }, none[][2] = { { -1, 1 } };
	struct run_result *r = with_jobs(equal, 2);
	struct recorded_waits w = recorded_of(r);
	ok(w.jobs == 2 && isnan(w.rank), "equal waits have no rank correlation");
	recorded_metrics(r, &w);
	ok(result_find(r, "compared_wait_off") && !result_find(r, "compared_wait_rank"), "and no such metric");
	result_free(r);
	r = with_jobs(turned, 3);
	near_to(recorded_of(r).rank, -1, 1e-12, "the opposite order has the correlation -1");
	result_free(r);
	r = with_jobs(turned, 1);
	w = recorded_of(r);
	ok(w.jobs == 1 && w.recorded.p50 == 5 && w.recorded.p99 == 5 && w.recorded.max == 5 && isnan(w.rank), "one job");
	result_free(r);
	r = with_jobs(none, 1);
	w = recorded_of(r);
	ok(!w.jobs && isnan(w.rank) && w.off == 0 && w.recorded.mean == 0, "no recorded waits");
	recorded_metrics(r, &w);
	ok(!r->n_metrics, "no metrics of them");
	result_free(r);
}

int main(void)
{
	units();
	unit_of_a_column();
	metrics();
	differences();
	texts();
	formats();
	wrapped();
	recorded();
	few_recorded();
	return done();
}
