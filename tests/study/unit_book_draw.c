/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Figures of scenario books: the data files, the variables of gnuplot's script, distribution functions, values over time, and
 * error messages. Expected values follow from docs/reference/books.md and the three jobs of book.h.
 */
#include "tests/plots/fake_gnuplot.h"
#include "tests/study/book.h"

#define RUNS                                                                                                                               \
	"'constants': {'two': 2}, 'axes': {'N': [1, 2, 3], 'order': [{'value': 'fifo', 'label': 'first in'}, 'sjf'], 'texta': ['x', 1], "  \
	"'textz': [1, 'x']},\n"                                                                                                            \
	"'runs': {'q': {'scenario': {'trace': '${dir}/three.csv', 'policies': ['fifo', 'sjf']}, 'axes': ['N'], 'where': 'N != 2', 'set': " \
	"{"                                                                                                                                \
	"'cluster': '${N}x1'}}"
#define SERVED                                                                                                                             \
	"'s': {'scenario': {'world': 'serve', 'trace': '${dir}/four.csv', 'models': ['${dir}/slow.json'], 'cluster': '1x1', 'policies': [" \
	"'fifo'], 'serve': {'queue_limit': 3}}},\n"                                                                                        \
	"'l': {'scenario': {'world': 'serve', 'trace': '${dir}/tokens.csv', 'models': ['llama2-7b'], 'cluster': '1x1:a100', 'policies': "  \
	"['vllm']}},\n"                                                                                                                    \
	"'many': {'scenario': {'world': 'serve', 'trace': 'poisson:rate=40,n=1000', 'models': ['${dir}/slow.json'], 'cluster': '1x1', "    \
	"'policies': ['fifo']}},\n"                                                                                                        \
	"'brief': {'scenario': {'world': 'serve', 'trace': '${dir}/four.csv', 'models': ['${dir}/slow.json'], 'cluster': '1x1', "          \
	"'policies': ['fifo'], 'record': 'summary'}},\n"                                                                                   \
	"'p': {'scenario': {'world': 'spot', 'trace': 'hazard:p=0.5,slots=100,length=24h', 'job': 'bamboo-bert', 'policies': ['bamboo']}}"

static const char charts[] =
	"{" RUNS "}, 'figures': [\n"
	" {'name': 'lines', 'kind': 'lines', 'x': {'axis': 'N', 'label': 'GPUs', 'log': true}, 'y': {'label': 'time', "
	"'min': 'two', 'max': 20},\n"
	"  'series': [{'label': '${order.label}', 'each': ['order'], 'y': '{q.${order}.makespan}'},\n"
	"   {'label': 'published \\'x\\'', 'y': 'N', 'low': 'N - 1', 'high': 'N + 0.5', 'marks': true}]},\n"
	" {'name': 'bars-${N}', 'kind': 'bars', 'each': ['N'], 'x': {'axis': 'order'}, 'series': [{'label': 'm', 'y': "
	"'{q.${order}.makespan} + N'}]},\n"
	" {'name': 'stack', 'kind': 'stacked', 'x': {'axis': 'N'}, 'y': {'log': true}, 'series': [{'label': 'a', 'y': "
	"'N'}, {'label': 'b', 'y': '2'}]},\n"
	" {'name': 'marks', 'kind': 'lines', 'x': {'axis': 'order', 'label': 'm'}, 'series': [{'label': '${N}', 'each': ['N'], 'x': 'two * "
	"N', "
	"'y': 'N + 0.5', 'marks': true}]},\n"
	" {'name': 'named', 'kind': 'lines', 'x': {'axis': 'order'}, 'series': [{'label': 'a', 'y': '1'}]},\n"
	" {'name': 'seconds', 'kind': 'timeline', 'x': {'unit': 's'}, 'series': [{'label': 'q', 'rows': 'q[N=1].fifo.queue_length'}]},\n"
	" {'name': 'days', 'kind': 'timeline', 'x': {'unit': 'd'}, 'series': [{'label': 'q', 'rows': 'q[N=1].fifo.queue_length'}]},\n"
	" {'name': 'first', 'kind': 'lines', 'x': {'axis': 'texta'}, 'series': [{'label': 'a', 'y': '1'}]},\n"
	" {'name': 'last', 'kind': 'lines', 'x': {'axis': 'textz'}, 'series': [{'label': 'a', 'y': '1'}]},\n"
	" {'name': 'hours', 'kind': 'timeline', 'series': [{'label': 'queue', 'rows': 'q[N=1].fifo.queue_length'}]},\n"
	" {'name': 'minutes', 'kind': 'timeline', 'x': {'unit': 'min', 'label': 't'}, 'series': [{'label': "
	"'${order}', 'each': ['order'], 'rows': "
	"'q[N=1].${order}.queue_length'}]},\n"
	" {'name': 'gone', 'kind': 'timeline', 'series': [{'label': 'g', 'rows': 'q[N=2].fifo.queue_length'}]}]}";

static void data_is(const char *name, const char *want)
{
	char *got = get_file(name), quoted[1200];
	size_t n = 0;
	for (; *want && n + 1 < sizeof quoted; want++)
		quoted[n++] = *want == '\'' ? '"' : *want;
	quoted[n] = '\0';
	same_text(got, quoted, name);
	mem_free(got);
}

/* Checks that each text is one or more lines of the script of the figure; NULL ends the list. */
static void script_has(const char *script, const char *file, const char *const *lines)
{
	char *part = script_of(script, file), line[200];
	bool good = part != NULL;
	for (size_t i = 0; good && lines[i]; i++) {
		snprintf(line, sizeof line, "\n%s\n", lines[i]);
		bool has = strstr(part, line) != NULL;
		if (!has)
			printf("# %s lacks %s\n", file, lines[i]);
		good &= has;
	}
	ok(good, "the script of %s", file);
	if (!good)
		printf("# %s\n", part ? part : "no script");
	mem_free(part);
}

static void test_data(void)
{
	data_is("o/lines.csv",
		"series,x,y,low,high\n'first in','1',16,,\n'first in','2',,,\n'first in','3',10,,\n'sjf','1',16,,\n'sjf','2',,,\n"
		"'sjf','3',10,,\n'published ''x''','1',1,0,1.5\n'published ''x''','2',2,1,2.5\n'published ''x''','3',3,2,3.5\n");
	data_is("o/bars-1.csv", "series,x,y,low,high\n'm','fifo',17,,\n'm','sjf',17,,\n");
	data_is("o/bars-2.csv", "series,x,y,low,high\n'm','fifo',,,\n'm','sjf',,,\n");
	data_is("o/bars-3.csv", "series,x,y,low,high\n'm','fifo',13,,\n'm','sjf',13,,\n");
	data_is("o/stack.csv", "series,x,y,low,high\n'a','1',1,,\n'a','2',2,,\n'a','3',3,,\n'b','1',2,,\n'b','2',2,,\n'b','3',2,,\n");
	data_is("o/marks.csv", "series,x,y,low,high\n'1',2,1.5,,\n'1',2,1.5,,\n'2',4,2.5,,\n'2',4,2.5,,\n'3',6,3.5,,\n'3',6,3.5,,\n");
	data_is("o/named.csv", "series,x,y,low,high\n'a','fifo',1,,\n'a','sjf',1,,\n");
	data_is("o/gone.csv", "series,x,y,low,high\n");
	data_is("o/first.csv", "series,x,y,low,high\n'a','x',1,,\n'a','1',1,,\n");
	char *got = get_file("o/seconds.csv");
	ok(got && strstr(got, "\"q\",10,1,,\n"), "time in seconds");
	mem_free(got);
	got = get_file("o/days.csv");
	ok(got && strstr(got, "\"q\",0.00011574074074074075,1,,\n"), "time in days"); /* 10 s / 86400 s per day */
	mem_free(got);
	got = get_file("o/minutes.csv");
	/* One job waits from 1 s on, two jobs from 2 s on. */
	ok(got && strstr(got, "\"fifo\",0,0,,\n\"fifo\",0.016666666666666666,1,,\n\"fifo\",0.033333333333333333,2,,\n"), "time in minutes");
	ok(got && strstr(got, "\"sjf\",0,0,,\n"), "a series per value of each");
	mem_free(got);
	got = get_file("o/hours.csv");
	ok(got && strstr(got, "\"queue\",0.0027777777777777779,1,,\n"),
		"hours without a unit: the tenth second"); /* 10 s / 3600 s per hour */
	mem_free(got);
}

static void test_script(void)
{
	char *script = get_file("bin/SCRIPT");
	script_has(script, "lines",
		(const char *const[]){ "x_label = 'GPUs'", "y_label = 'time'", "log_x = 1\nlog_y = 0", "categories = 0", "y_min = '2'",
			"y_max = '20'", "n = 3", "label[1] = 'first in'\nmarks[1] = 0", "label[3] = 'published \"x\"'\nmarks[3] = 1",
			"1 16 NaN NaN \n2 NaN NaN NaN \n3 10 NaN NaN ", "1 1 0 1.5 ", NULL });
	script_has(script, "bars-1",
		(const char *const[]){ "x_label = 'order'", "y_label = ''", "log_x = 0\nlog_y = 0", "categories = 2",
			"category[1] = 'first in'", "category[2] = 'sjf'", "y_min = '0'", "1 17 NaN NaN \n2 17 NaN NaN ", NULL });
	script_has(script, "stack",
		(const char *const[]){ "categories = 3", "category[3] = '3'", "log_x = 0\nlog_y = 1", "y_min = '*'\ny_max = '*'",
			"1 1 0 1 \n2 2 0 2 \n3 3 0 3 ", "1 2 1 3 \n2 2 2 4 \n3 2 3 5 ", NULL });
	script_has(script, "named", (const char *const[]){ "categories = 2", "category[1] = 'first in'", NULL });
	script_has(script, "hours", (const char *const[]){ "x_label = 'time (h)'", "y_label = ''", "categories = 0", NULL });
	script_has(script, "seconds", (const char *const[]){ "x_label = 'time (s)'", NULL });
	script_has(script, "days", (const char *const[]){ "x_label = 'time (d)'", NULL });
	script_has(script, "first", (const char *const[]){ "categories = 2", "category[1] = 'x'", "category[2] = '1'", NULL });
	script_has(script, "last", (const char *const[]){ "categories = 2", "category[1] = '1'", "category[2] = 'x'", NULL });
	script_has(script, "minutes", (const char *const[]){ "x_label = 't'", NULL });
	ok(script && !script_of(script, "gone") && !script_of(script, "bars-2"), "a figure without a point is not drawn");
	ok(script && !strstr(script, "set output 'bars.p"), "the name of a figure has the values of its axes");
	mem_free(script);
	char *file = get_file("o/lines.svg");
	ok(file != NULL, "images are written beside the data");
	mem_free(file);
}

/* ---- distribution functions and values over time ---- */

static struct book *b;

static const struct run_result *result(const char *text)
{
	struct orr_error err = { 0 };
	const struct run_result *r = NULL;
	const char *name;
	book_result(b, text, "here", &r, &name, &err);
	return r;
}

struct curve {
	struct chart_point *point;
	size_t n;
};

static struct curve distribution(const char *text)
{
	struct orr_error err = { 0 };
	struct curve c = { NULL, 0 };
	if (book_distribution(b, text, "here", &c.point, &c.n, &err))
		printf("# %s\n", err.text);
	return c;
}

/* Tests that the share of the values up to each point equals the share counted in the rows. */
static void test_shares(void)
{
	/* A replica takes 20 ms per request; the fourth request is rejected. */
	struct curve c = distribution("s.fifo.completion");
	bool good = c.n == 3;
	for (size_t k = 0; k < c.n; k++)
		good &= fabs(c.point[k].x - 0.02 * (double)(k + 1)) < 1e-9 && fabs(c.point[k].y - 0.25 * (double)(k + 1)) < 1e-12 &&
			isnan(c.point[k].low);
	ok(good, "completion times, as a share of all requests");
	mem_free(c.point);
	c = distribution("s.fifo.queue");
	ok(c.n == 3 && fabs(c.point[0].x) < 1e-9 && fabs(c.point[1].x - 0.02) < 1e-9 && fabs(c.point[2].x - 0.04) < 1e-9 &&
			c.point[2].y == 0.75,
		"times in the queue");
	mem_free(c.point);
	c = distribution("s.fifo.tpot");
	ok(c.n == 0, "requests without tokens have no time per token");
	mem_free(c.point);

	const struct run_result *r = result("l.vllm.ttft");
	double ttft[4], tpot[2];
	ok(r && r->n_requests == 4, "requests of 1, 2, 5 and 1 tokens, one of them refused or not");
	for (size_t i = 0, k = 0; r && i < 4; i++) {
		const struct request_row *q = &r->requests[i];
		ttft[i] = q->first_token_s - q->arrival_s;
		if (q->output_tokens > 1)
			tpot[k++] = (q->completed_s - q->first_token_s) / (q->output_tokens - 1);
	}
	c = distribution("l.vllm.ttft");
	good = c.n == 4;
	for (size_t k = 0; k < c.n; k++) {
		bool is_one = false;
		for (size_t i = 0; i < 4; i++)
			is_one |= c.point[k].x == ttft[i];
		good &= is_one && c.point[k].y == 0.25 * (double)(k + 1) && c.point[k].x > 0 && (!k || c.point[k].x >= c.point[k - 1].x);
	}
	ok(good, "times to the first token of all four, sorted");
	mem_free(c.point);
	c = distribution("l.vllm.tpot");
	ok(c.n == 2 && c.point[0].x == fmin(tpot[0], tpot[1]) && c.point[1].x == fmax(tpot[0], tpot[1]) && c.point[0].y == 0.5 &&
			c.point[1].y == 1,
		"time per further token of the two requests that have one");
	mem_free(c.point);
}

static int by_value(const void *x, const void *y)
{
	double v = *(const double *)x, w = *(const double *)y;
	return (v > w) - (v < w);
}

/* Tests that 400 of 1000 points are kept, evenly spaced from the first to the last. */
static void test_thinned_shares(void)
{
	const struct run_result *r = result("many.fifo.completion");
	double v[1000];
	struct curve c = distribution("many.fifo.completion");
	bool good = r && r->n_requests == 1000 && c.n == 400;
	for (size_t i = 0; good && i < 1000; i++)
		v[i] = r->requests[i].completed_s - r->requests[i].arrival_s;
	qsort(v, 1000, sizeof *v, by_value);
	for (size_t k = 0; good && k < c.n; k++) {
		size_t rank = k * 999 / 399;
		good &= c.point[k].x == v[rank] && fabs(c.point[k].y - (double)(rank + 1) / 1000) < 1e-12;
	}
	ok(good, "of many values, 400 are drawn, the smallest and the largest included");
	mem_free(c.point);
}

static double column_of(const struct node_row *x, size_t column)
{
	return column == 0 ? x->live : column == 1 ? x->ready : column == 2 ? x->in_use : x->usd;
}

static double mean_of(const struct run_result *r, size_t column, double from, double to)
{
	double area = 0;
	for (size_t i = 0; i < r->n_nodes; i++) {
		double begin = (double)r->nodes[i].time_ns / 1e9;
		double end = (double)(i + 1 < r->n_nodes ? r->nodes[i + 1].time_ns : result_nodes_end_ns(r)) / 1e9;
		begin = fmax(begin, from);
		end = fmin(end, to);
		area += end > begin ? (end - begin) * column_of(&r->nodes[i], column) : 0;
	}
	return area / (to - from);
}

static void test_over_time(void)
{
	static const char *const columns[] = { "live", "ready", "in_use", "usd" };
	const struct run_result *r = result("p.bamboo.live");
	double from = r ? (double)r->nodes[0].time_ns / 1e9 : 0, width = r ? ((double)result_nodes_end_ns(r) / 1e9 - from) / 350 : 1;
	for (size_t column = 0; column < 4; column++) {
		struct orr_error err = { 0 };
		struct curve c = { NULL, 0 };
		char text[40];
		snprintf(text, sizeof text, "p.bamboo.%s", columns[column]);
		bool good = r && r->n_nodes > 800 && !book_timeline(b, text, "here", 3600, &c.point, &c.n, &err) && c.n == 350;
		for (size_t k = 0; good && k < c.n; k++) {
			double t = from + (double)k * width, mean = mean_of(r, column, t, t + width);
			good &= fabs(c.point[k].x - t / 3600) < 1e-9 && fabs(c.point[k].y - mean) < 1e-6 * (1 + mean) &&
				isnan(c.point[k].low);
		}
		ok(good, "%s: of many rows of instances, means over 350 equal intervals are drawn", columns[column]);
		mem_free(c.point);
	}
}

static void test_row_refusals(void)
{
	static const struct {
		const char *text, *said;
		bool is_cdf;
	} wrong[] = {
		{ "s.fifo.complete",
			"here: s.fifo.complete: expected completion, ttft, tpot or queue, found \"complete\": did you mean \"completion\"?",
			true },
		{ "s.fifo.zzzzzzzz", "here: s.fifo.zzzzzzzz: expected completion, ttft, tpot or queue, found \"zzzzzzzz\"", true },
		{ "s.lifo.ttft", "here: {s.lifo.ttft}: expected the label of a policy of this run, found \"lifo\"", true },
		{ "brief.fifo.ttft",
			"here: brief.fifo.ttft: expected a run with rows of requests: a scenario of the serving world with \"record\": "
			"\"all\"",
			true },
		{ "q[N=1].fifo.live", "here: q[N=1].fifo.live: expected a run with rows of instances (\"record\": \"all\")", false },
		{ "q[N=1].fifo.queue_lenght",
			"here: q[N=1].fifo.queue_lenght: this run has no \"queue_lenght\" over time: did you mean \"queue_length\"?",
			false },
		{ "q[N=1].fifo.zzzzzzzzzzzz",
			"here: q[N=1].fifo.zzzzzzzzzzzz: this run has no \"zzzzzzzzzzzz\" over time: expected one of its series, such as "
			"\"utilisation\"",
			false },
		{ "p.bamboo.zzzzzzzzzzzz",
			"here: p.bamboo.zzzzzzzzzzzz: this run has no \"zzzzzzzzzzzz\" over time: expected one of its series, such as "
			"\"live\"",
			false },
	};
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		struct orr_error err = { 0 };
		struct curve c = { NULL, 0 };
		if (wrong[i].is_cdf)
			book_distribution(b, wrong[i].text, "here", &c.point, &c.n, &err);
		else
			book_timeline(b, wrong[i].text, "here", 1, &c.point, &c.n, &err);
		refusal(&err, wrong[i].said, wrong[i].text);
		ok(!c.point && !c.n, "%s: no points", wrong[i].text);
	}
	struct orr_error err = { 0 };
	struct curve c;
	ok(!book_timeline(b, "q[N=2].fifo.queue_length", "here", 1, &c.point, &c.n, &err) && !c.point && !c.n,
		"a point that was left out has none");
	ok(!book_distribution(b, "q[N=2].fifo.ttft", "here", &c.point, &c.n, &err) && !c.point && !c.n, "nor a distribution");
}

/* ---- refusals of figures ---- */

static void test_figure_refusals(void)
{
#define SERIES "'series': [{'label': 'a', 'y': '1'}]"
#define AXIS "'x': {'axis': 'N'}, "
	static const struct {
		const char *figures, *said;
	} wrong[] = {
		{ "{}", "$.figures: expected a list" },
		{ "[3]", "$.figures[0]: expected an object" },
		{ "[{'naam': 'f'}]", "$.figures[0]: unknown key \"naam\": did you mean \"name\"?" },
		{ "[{'name': 'f', 'kind': 'lines', " AXIS SERIES "}, {'zzzzzzz': 'f'}]",
			"$.figures[1]: unknown key \"zzzzzzz\": expected \"name\" or another known key" },
		{ "[{'kind': 'lines'}]", "$.figures[0]: \"name\": expected the name of a file without a suffix" },
		{ "[{'name': 'f'}]", "$.figures[0]: \"kind\": expected lines, bars, stacked, timeline, spans or cdf" },
		{ "[{'name': 'f', 'kind': 'line'}]", "$.figures[0]: \"kind\": expected lines, bars, stacked, timeline, spans or cdf" },
		{ "[{'name': '.f', 'kind': 'lines', " AXIS SERIES "}]",
			"$.figures[0]: \"name\": expected a file name of letters, digits and the characters . _ + = -, found \".f\"" },
		{ "[{'name': '-f', 'kind': 'lines', " AXIS SERIES "}]",
			"$.figures[0]: \"name\": expected a file name of letters, digits and the characters . _ + = -, found \"-f\"" },
		{ "[{'name': '', 'kind': 'lines', " AXIS SERIES "}]",
			"$.figures[0]: \"name\": expected a file name of letters, digits and the characters . _ + = -, found \"\"" },
		{ "[{'name': 'a b', 'kind': 'lines', " AXIS SERIES "}]",
			"$.figures[0]: \"name\": expected a file name of letters, digits and the characters . _ + = -, found \"a b\"" },
		{ "[{'name': 'f', 'kind': 'lines', " SERIES "}]", "$.figures[0]: expected an object" },
		{ "[{'name': 'f', 'kind': 'lines', 'x': {}, " SERIES "}]",
			"$.figures[0]: \"x\": \"axis\": expected the name of one of $.axes, found \"\"" },
		{ "[{'name': 'f', 'kind': 'bars', 'x': {'axis': 'M'}, " SERIES "}]",
			"$.figures[0]: \"x\": \"axis\": expected the name of one of $.axes, found \"M\"" },
		{ "[{'name': 'f', 'kind': 'bars', 'x': {'axis': 'N', 'unit': 'h'}, " SERIES "}]",
			"$.figures[0]: unknown key \"unit\": expected \"axis\" or another known key" },
		{ "[{'name': 'f', 'kind': 'timeline', 'x': {'axis': 'N'}, 'series': [{'rows': 'q.fifo.live'}]}]",
			"$.figures[0]: unknown key \"axis\": expected \"label\" or another known key" },
		{ "[{'name': 'f', 'kind': 'timeline', 'x': {'unit': 'w'}, 'series': [{'rows': 'q.fifo.live'}]}]",
			"$.figures[0]: \"x\": \"unit\": expected s, min, h or d, found \"w\"" },
		{ "[{'name': 'f', 'kind': 'bars', " AXIS "'y': {'mix': 2}, " SERIES "}]",
			"$.figures[0]: unknown key \"mix\": did you mean \"min\"?" },
		{ "[{'name': 'f', 'kind': 'bars', " AXIS "'y': {'max': 'tow'}, " SERIES "}]",
			"$.figures[0]: expression \"tow\": expected a known name at \"tow\"" },
		{ "[{'name': 'f', 'kind': 'bars', " AXIS "'y': {'min': true}, " SERIES "}]",
			"$.figures[0]: expected a number or an expression" },
		{ "[{'name': 'f', 'kind': 'bars', 'x': {'axis': 'N', 'label': '${z}'}, " SERIES "}]",
			"$.figures[0]: expression \"z\": expected a known name at \"z\"" },
		{ "[{'name': 'f', 'kind': 'bars', " AXIS "'y': {'label': '${z}'}, " SERIES "}]",
			"$.figures[0]: expression \"z\": expected a known name at \"z\"" },
		{ "[{'name': 'f-${z}', 'kind': 'bars', " AXIS SERIES "}]",
			"$.figures[0]: expression \"z\": expected a known name at \"z\"" },
		{ "[{'name': 'f', 'kind': 'bars', " AXIS "'series': []}]",
			"$.figures[0]: \"series\": expected a list of objects with \"label\" and \"y\"" },
		{ "[{'name': 'f', 'kind': 'bars', " AXIS "'series': [{'label': 'a'}]}]",
			"$.figures[0]: \"series\": \"y\": expected an expression" },
		{ "[{'name': 'f', 'kind': 'bars', " AXIS "'series': [{'label': '${z}', 'y': 1}]}]",
			"$.figures[0]: expression \"z\": expected a known name at \"z\"" },
		{ "[{'name': 'f', 'kind': 'bars', " AXIS "'series': [{'label': 'a', 'y': 1, 'low': 'z'}]}]",
			"$.figures[0]: expression \"z\": expected a known name at \"z\"" },
		{ "[{'name': 'f', 'kind': 'bars', " AXIS "'series': [{'label': 'a', 'y': 1, 'high': 'z'}]}]",
			"$.figures[0]: expression \"z\": expected a known name at \"z\"" },
		{ "[{'name': 'f', 'kind': 'bars', " AXIS "'series': [{'label': 'a', 'y': 1, 'rows': 'z'}]}]",
			"$.figures[0]: unknown key \"rows\": did you mean \"low\"?" },
		{ "[{'name': 'f', 'kind': 'bars', " AXIS "'series': [{'label': 'a', 'x': 1, 'y': 1}]}]",
			"$.figures[0]: unknown key \"x\": did you mean \"y\"?" },
		{ "[{'name': 'f', 'kind': 'lines', " AXIS "'series': [{'label': 'a', 'x': 1, 'y': 1}]}]",
			"$.figures[0]: \"series\": \"x\": expected also \"marks\": true, because lines follow the axis" },
		{ "[{'name': 'f', 'kind': 'lines', " AXIS
		  "'series': [{'label': 'a', 'x': 1, 'y': 1, 'marks': true}, {'label': 'b', 'y': 1}]}]",
			"$.figures[0]: \"series\": \"x\": expected an expression in every series, or in none" },
		{ "[{'name': 'f', 'kind': 'stacked', " AXIS "'series': [{'label': 'a', 'y': 1, 'low': 1}]}]",
			"$.figures[0]: unknown key \"low\": expected \"label\" or another known key" },
		{ "[{'name': 'f', 'kind': 'cdf', 'x': {'label': 's'}, 'series': [{'label': 'a', 'y': 1}]}]",
			"$.figures[0]: unknown key \"y\": expected \"label\" or another known key" },
		{ "[{'name': 'f', 'kind': 'cdf', 'x': {'label': 's'}, 'series': [{'label': 'a'}]}]",
			"$.figures[0]: \"series\": \"rows\": expected RUN.LABEL.COLUMN, such as \"conv.vllm.ttft\"" },
		{ "[{'name': 'f', 'kind': 'timeline', 'series': [{'label': 'a'}]}]",
			"$.figures[0]: \"series\": \"rows\": expected RUN.LABEL.COLUMN, such as \"day.bamboo.live\"" },
		{ "[{'name': 'f', 'kind': 'timeline', 'series': [{'label': '${z}', 'rows': 'q[N=1].fifo.utilisation'}]}]",
			"$.figures[0]: expression \"z\": expected a known name at \"z\"" },
		{ "[{'name': 'f', 'kind': 'bars', 'each': ['M'], " AXIS SERIES "}]",
			"$.figures[0]: \"each\": expected names of $.axes, found \"M\"" },
	};
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		struct orr_error err = { 0 };
		char text[2000];
		snprintf(text, sizeof text, "{" RUNS "}, 'figures': %s}", wrong[i].figures);
		struct book *book = book_ran(text, &err);
		if (book)
			book_draw(book, book_dir, true, &(struct look){ 0 }, &err);
		refusal(&err, wrong[i].said, wrong[i].figures);
		book_free(book);
	}
}

int main(void)
{
	struct orr_error err = { 0 };
	if (!books_begin())
		return 2;
	fake_gnuplot_install(book_dir);
	put_file("four.csv", "arrival_s,request_id\n0,a\n0,b\n0,c\n0,d\n", false);
	put_file("tokens.csv", "arrival_s,prompt_tokens,output_tokens\n0,100,1\n5,100,2\n10,400,5\n20,900,1\n", false);
	put_file("slow.json", "{'name': 'slow', 'source': 'made up', 'kind': 'table', 'batch': [1], 'latency_ms': [20]}", true);
	char out[320];
	snprintf(out, sizeof out, "%s/o", book_dir);
	mkdir(out, 0777);
	b = book_ran(charts, &err);
	ok(b && !book_draw(b, out, false, &(struct look){ 0 }, &err), "figures are drawn: %s", err.text);
	book_free(b);
	test_data();
	test_script();
	b = book_ran("{" RUNS ",\n" SERVED "}}", &err);
	if (ok(b != NULL, "runs with rows: %s", err.text)) {
		test_shares();
		test_thinned_shares();
		test_over_time();
		test_row_refusals();
	}
	book_free(b);
	test_figure_refusals();
	books_end();
	return done();
}
