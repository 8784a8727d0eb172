/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Tables of scenario books: errors, bounds and closed forms in table.csv, the printed columns, and error messages of books, of
 * published.csv and of runs. Expected values follow from docs/reference/books.md and the three jobs of book.h.
 */
#include "tests/study/book.h"

#include <sys/stat.h>

#define RUNS                                                                                                                               \
	"'constants': {'two': 2}, 'axes': {'N': [1, 2, 3], 'what': ['here', 'gone']},\n"                                                   \
	"'traces': {'here': {'file': 'three.csv', 'otherwise': 'poisson:rate=1,n=9'}, 'gone': {'file': 'no/such.csv', 'otherwise': "       \
	"'poisson:rate=1,n=7'}},\n"                                                                                                        \
	"'runs': {'q': {'scenario': {'trace': '${dir}/three.csv', 'policies': ['fifo', 'sjf']}, 'axes': ['N'], 'where': 'N != 2', 'set': " \
	"{'cluster': '${N}x1'}}}"

static const char published[] = "id,what,value,low,high,source\n"
				"W-1,mean wait,8,5.5,6.5,\"a \"\"book\"\"\"\n"
				"W-2,mean wait,4,,,paper\n"
				"below,makespan,20,17,,paper\n"
				"above,makespan,10,,15,paper\n"
				"at-low,makespan,16,16,,paper\n"
				"at-high,makespan,16,,16,paper\n"
				"zero,wait,0,,,paper\n";

static const char rows[] =
	"{" RUNS ", 'table': [\n"
	" {'id': 'W-${N}', 'each': ['N'], 'where': 'N < 3', 'simulated': '{q.sjf.wait_mean}', 'closed': '6 * (1 + 1e-13)'},\n"
	" {'id': 'below', 'what': 'N of ${N + two}', 'each': ['N'], 'where': 'N == 1', 'simulated': '{q.fifo.makespan}', 'closed': 32},\n"
	" {'id': 'top', 'published': 'above', 'simulated': '{q[N=1].fifo.makespan}', 'closed': '16 * (1 + 1e-10)'},\n"
	" {'id': 'at-low', 'simulated': '{q[N=1].fifo.makespan}'}, {'id': 'at-high', 'simulated': '{q[N=1].fifo.makespan}'},\n"
	" {'id': 'zero', 'simulated': '{q[N=3].fifo.wait_mean}', 'closed': 0},\n"
	" {'id': 'missing-${N}', 'each': ['N'], 'where': '{q.fifo.wait_mean} > 1000', 'published': false, 'simulated': 1},\n"
	" {'id': 'own', 'what': '\xc3\xa4, text of exactly sixty-four characters: xxxxxxxxxxxxxxxxxxxxxx', 'published': false, "
	"'simulated': 2},\n"
	" {'id': 'own2', 'what': '\xc3\xa4, text of exactly sixty-four characters: xxxxxxxxxxxxxxxxxxxxxxy', 'published': false, "
	"'simulated': 2, 'closed': 4}]}";

/* Checks a line of table.csv after its first two cells. */
static void row_is(const char *csv, const char *start, const char *want)
{
	char begin[200], line[400] = "";
	snprintf(begin, sizeof begin, "\n%s,", start);
	const char *at = strstr(csv, begin);
	if (at)
		snprintf(line, sizeof line, "%.*s", (int)strcspn(at + strlen(begin), "\n"), at + strlen(begin));
	same_text(line, want, start);
}

static void test_rows(void)
{
	struct orr_error err = { 0 };
	struct sbuf text = { 0 };
	put_file("published.csv", published, false);
	struct book *b = book_ran(rows, &err);
	ok(b && !book_tables(b, book_dir, (struct report_style){ 0 }, &text, &err), "a table is made: %s", err.text);
	book_free(b);
	char *csv = get_file("table.csv"), *txt = get_file("table.txt");
	if (!csv || !txt)
		return;
	ok(!strncmp(csv, "id,what,published,low,high,closed,simulated,error,error_closed,within,source\n", 77), "table.csv has a head");
	/* The published value is 8 and the simulated one 6, so the error is -25 %. The closed form agrees up to rounding. */
	row_is(csv, "\"W-1\",\"mean wait\"", "8,5.5,6.5,6.0000000000005995,6,-0.25,0,yes,\"a \"\"book\"\"\"");
	row_is(csv, "\"W-2\",\"mean wait\"", "4,,,6.0000000000005995,,,,,\"paper\"");
	row_is(csv, "\"below\",\"N of 3\"", "20,17,,32,16,-0.19999999999999996,-0.5,no,\"paper\"");
	char *at = strstr(csv, "\"top\",\"makespan\",10,,15,");
	double closed = 0, off = 0;
	ok(at && sscanf(at, "\"top\",\"makespan\",10,,15,%lf,16,0.60000000000000009,%lf,no,", &closed, &off) == 2 &&
			fabs(off / -1e-10 - 1) < 1e-5,
		"an error of 1e-10 is no rounding; 16 is above 15");
	row_is(csv, "\"at-low\",\"makespan\"", "16,16,,,16,0,,yes,\"paper\"");
	row_is(csv, "\"at-high\",\"makespan\"", "16,,16,,16,0,,yes,\"paper\"");
	row_is(csv, "\"zero\",\"wait\"", "0,,,0,0,0,0,,\"paper\"");
	ok(!strstr(csv, "missing-"), "a row whose condition is 0 or missing is left out");
	ok(strstr(csv, "characters: xxxxxxxxxxxxxxxxxxxxxx\",,,,,2,,,,\"\"\n") != NULL, "a value that was not published");
	ok(strstr(csv, "characters: xxxxxxxxxxxxxxxxxxxxxxy\",,,,4,2,,-0.5,,\"\"\n") != NULL, "table.csv has the whole text");
	same_text(sbuf_text(&text), txt, "what is returned is table.txt");
	/* The expected layout was checked by eye: texts are left-aligned, numbers are right-aligned, and `no` marks violated bounds. */
	same_text(txt,
		"id       what                                                               published  simulated     error      bounds  "
		"closed form  deviation\n"
		"W-1      mean wait                                                                  8          6  -25.00 %  [5.5, 6.5]    "
		"        6        0 %\n"
		"W-2      mean wait                                                                  4          -         -           -    "
		"        6          -\n"
		"below    N of 3                                                                    20         16  -20.00 %  [17, -] no    "
		"       32      -50 %\n"
		"top      makespan                                                                  10         16  +60.00 %  [-, 15] no    "
		"       16   -1e-08 %\n"
		"at-low   makespan                                                                  16         16   +0.00 %     [16, -]    "
		"        -          -\n"
		"at-high  makespan                                                                  16         16   +0.00 %     [-, 16]    "
		"        -          -\n"
		"zero     wait                                                                       0          0   +0.00 %           -    "
		"        0        0 %\n"
		"own      \xc3\xa4, text of exactly sixty-four characters: xxxxxxxxxxxxxxxxxxxxxx           -          2         -         "
		"  -            -          -\n"
		"own2     \xc3\xa4, text of exactly sixty-four characters: xxxxxxxxxxxxxxxxxxxxxx…          -          2         -         "
		"  -            4      -50 %\n",
		"table.txt");
	mem_free(csv);
	mem_free(txt);
	sbuf_free(&text);
}

/* Tests that columns without values are omitted. */
static void test_columns(void)
{
	struct orr_error err = { 0 };
	struct sbuf text = { 0 };
	struct book *b = book_ran(
		"{" RUNS
		", 'table': [{'id': 'a', 'published': false, 'simulated': 2}, {'id': 'longer', 'published': false, 'simulated': 'N'}]}",
		&err);
	ok(b && book_tables(b, book_dir, (struct report_style){ 0 }, &text, &err) == ORR_EINPUT, "N has no value outside each");
	book_free(b);
	b = book_ran(
		"{" RUNS
		", 'table': [{'id': 'a', 'published': false, 'simulated': 2}, {'id': 'longer', 'published': false, 'simulated': 1e7}]}",
		&err);
	ok(b && !book_tables(b, book_dir, (struct report_style){ 0 }, &text, &err), "a table of values alone");
	same_text(sbuf_text(&text), "id      simulated\na               2\nlonger      1e+07\n", "has two columns");
	book_free(b);
	sbuf_free(&text);
	/* CSV and JSON have all columns and digits. */
	struct sbuf csv = { 0 }, json = { 0 };
	b = book_ran(
		"{" RUNS ", 'table': [{'id': 'a', 'published': false, 'simulated': '1234567.5', 'closed': 1e6}, {'id': 'W-2'}]}", &err);
	ok(b && !book_tables(b, book_dir, (struct report_style){ GRID_CSV, 0 }, &csv, &err), "a table as CSV");
	same_text(sbuf_text(&csv),
		"id,what,published,low,high,closed,simulated,error,error_closed,within,source\n"
		"a,,,,,1000000,1234567.5,,0.23456750000000004,,\nW-2,mean wait,4,,,,,,,,paper\n",
		"has the columns of table.csv");
	ok(b && !book_tables(b, book_dir, (struct report_style){ GRID_JSON, 0 }, &json, &err) &&
			strstr(sbuf_text(&json), "\"simulated\":\t1234567.5,") && strstr(sbuf_text(&json), "\"low\":\tnull,"),
		"and JSON numbers and null");
	book_free(b);
	sbuf_free(&csv);
	sbuf_free(&json);
	struct sbuf none = { 0 };
	b = book_ran("{" RUNS "}", &err);
	ok(b && !book_tables(b, book_dir, (struct report_style){ 0 }, &none, &err) && !none.len, "a book without a table prints none");
	book_free(b);
	sbuf_free(&none);
}

/* ---- refusals ---- */

#define SCENARIO "'scenario': {'cluster': '1x1', 'trace': '${dir}/three.csv', 'policies': ['fifo']}"

static void test_table_refusals(void)
{
	static const struct {
		const char *table, *said;
	} wrong[] = {
		{ "{}", "$.table: expected a list" },
		{ "[1]", "$.table[0]: expected an object" },
		{ "[{'id': 'W-1', 'simulated': 1}, {'idd': 'x'}]", "$.table[1]: unknown key \"idd\": did you mean \"id\"?" },
		{ "[{'simulated': 1}]", "$.table[0]: \"id\": expected a string" },
		{ "[{'id': 3}]", "$.table[0]: \"id\": expected a string" },
		{ "[{'id': '${z}'}]", "$.table[0]: expression \"z\": expected a known name at \"z\"" },
		{ "[{'id': 'X'}]", "$.table[0]: published.csv has no row \"X\": expected such a row, or \"published\": false" },
		{ "[{'id': 'W-1', 'published': 'Y-${two}'}]",
			"$.table[0]: published.csv has no row \"Y-2\": expected such a row, or \"published\": false" },
		{ "[{'id': 'W-1', 'published': '${z}'}]", "$.table[0]: expression \"z\": expected a known name at \"z\"" },
		{ "[{'id': 'W-1', 'what': '${z}'}]", "$.table[0]: expression \"z\": expected a known name at \"z\"" },
		{ "[{'id': 'W-1', 'where': 'z'}]", "$.table[0]: expression \"z\": expected a known name at \"z\"" },
		{ "[{'id': 'W-1', 'simulated': 'z'}]", "$.table[0]: expression \"z\": expected a known name at \"z\"" },
		{ "[{'id': 'W-1', 'closed': []}]", "$.table[0]: expected a number or an expression" },
		{ "[{'id': 'W-1', 'each': ['z']}]", "$.table[0]: \"each\": expected names of $.axes, found \"z\"" },
	};
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		struct orr_error err = { 0 };
		struct sbuf out = { 0 };
		char text[1500];
		snprintf(text, sizeof text, "{" RUNS ", 'table': %s}", wrong[i].table);
		struct book *b = book_ran(text, &err);
		if (b)
			book_tables(b, book_dir, (struct report_style){ 0 }, &out, &err);
		refusal(&err, wrong[i].said, wrong[i].table);
		ok(!out.len, "nothing is printed");
		book_free(b);
		sbuf_free(&out);
	}
}

static void test_book_refusals(void)
{
	static const struct {
		const char *json, *said;
	} wrong[] = {
		{ "{'titlo': 't'}", "$: unknown key \"titlo\": did you mean \"title\"?" },
		{ "{'constants': []}", "$.constants: expected an object whose keys are names and whose members are values" },
		{ "{'constants': {'a': 1, 'b': []}}", "$.constants: b: expected a number or an expression" },
		{ "{'traces': []}",
			"$.traces: expected an object whose keys are names and whose members are objects with \"file\" and \"otherwise\"" },
		{ "{'traces': {'t': 3}}", "$.traces.t: expected an object" },
		{ "{'traces': {'t': {'filo': 'x'}}}", "$.traces.t: unknown key \"filo\": did you mean \"file\"?" },
		{ "{'traces': {'t': {'file': 'x'}}}",
			"$.traces.t: expected \"file\", a path below $ORRERY_TRACE_PATH, and \"otherwise\", a generator" },
		{ "{'traces': {'t': {'otherwise': 'x'}}}",
			"$.traces.t: expected \"file\", a path below $ORRERY_TRACE_PATH, and \"otherwise\", a generator" },
		{ "{'axes': []}", "$.axes: expected an object whose keys are names of axes and whose members are lists of values" },
		{ "{'axes': {'N': []}}", "$.axes.N: expected a list of values" },
		{ "{'axes': {'N': 3}}", "$.axes.N: expected a list of values" },
		{ "{'axes': {'N': [1, []]}}", "$.axes.N: expected a number, a string or {\"value\", \"label\", \"let\"}" },
		{ "{'axes': {'N': [{'label': 'x'}]}}", "$.axes.N: expected a number, a string or {\"value\", \"label\", \"let\"}" },
		{ "{'axes': {'N': [{'value': 1, 'labelo': 'x'}]}}", "$.axes.N: unknown key \"labelo\": did you mean \"label\"?" },
		{ "{'axes': {'N': [{'value': 1, 'let': 3}]}}",
			"$.axes.N: expected an object whose keys are names and whose members are values" },
		{ "{'axes': {'N': [{'value': 1, 'let': {'a': {}}}]}}", "$.axes.N: a: expected a number or an expression" },
		{ "{'runs': []}", "$.runs: expected an object" },
		{ "{'runs': {'q': 1}}", "$.runs.q: expected an object" },
		{ "{'runs': {'q': {'scenaro': 1}}}", "$.runs.q: unknown key \"scenaro\": did you mean \"scenario\"?" },
		{ "{'runs': {'q': {}}}", "$.runs.q: \"scenario\": expected the name of a file in this folder, or a scenario as an object" },
		{ "{'runs': {'q': {'scenario': 1}}}",
			"$.runs.q: \"scenario\": expected the name of a file in this folder, or a scenario as an object" },
		{ "{'runs': {'q.r': {" SCENARIO "}}}", "$.runs.q.r: expected a name without the characters \".\", \"[\", \"{\" and \"}\"" },
		{ "{'runs': {'q[': {" SCENARIO "}}}", "$.runs.q[: expected a name without the characters \".\", \"[\", \"{\" and \"}\"" },
		{ "{'runs': {'': {" SCENARIO "}}}", "$.runs.: expected a name without the characters \".\", \"[\", \"{\" and \"}\"" },
		{ "{'runs': {'q': {" SCENARIO ", 'set': []}}}",
			"$.runs.q: \"set\": expected an object whose keys are paths and whose members are values, as for --set" },
		{ "{'runs': {'q': {" SCENARIO ", 'axes': 'N'}}}", "$.runs.q: \"axes\": expected a list of names" },
		{ "{'axes': {'N': [1]}, 'runs': {'q': {" SCENARIO ", 'axes': ['M']}}}",
			"$.runs.q: \"axes\": expected names of $.axes, found \"M\"" },
		{ "{'axes': {'N': [1]}, 'runs': {'q': {" SCENARIO ", 'axes': [1]}}}",
			"$.runs.q: \"axes\": expected names of $.axes, found \"\"" },
		{ "{'axes': {'N': [1]}, 'runs': {'q': {" SCENARIO ", 'axes': ['N', 'N']}}}",
			"$.runs.q: \"axes\": \"N\" is named twice: expected it once" },
		/* A book may have 10^5 points; 2 * 10^5 are refused. */
		{ "{'axes': {'a': [1,2,3,4,5,6,7,8,9,0], 'b': [1,2,3,4,5,6,7,8,9,0], 'c': [1,2,3,4,5,6,7,8,9,0], 'd': "
		  "[1,2,3,4,5,6,7,8,9,0], 'e': "
		  "[1,2,3,4,5,6,7,8,9,0], 'f': [1, 2]}, 'runs': {'q': {" SCENARIO ", 'axes': ['a','b','c','d','e','f']}}}",
			"$.runs.q: \"axes\": too many points: expected at most 100000" },
		{ "{'axes': {'N': [7, 8]}, 'runs': {'q': {" SCENARIO ", 'axes': ['N'], 'where': 'N == 8', 'set': {'cluster': []}}}}",
			"$.runs.q[N=8]: \"set\": \"cluster\": expected a string, a number, true or false" },
		{ "{'axes': {'N': [7, 8], 'M': ['x']}, 'runs': {'q': {" SCENARIO
		  ", 'axes': ['M', 'N'], 'set': {'cluster': '${8 - N}x1'}}}}",
			"$.runs.q[M=x,N=8]: cluster \"0x1\": expected 1 to 1048576 nodes, found \"0x1\" (a file of that name does not "
			"exist)" },
		{ "{'runs': {'q': {" SCENARIO ", 'where': 'z'}}}", "$.runs.q: expression \"z\": expected a known name at \"z\"" },
		{ "{'runs': {'q': {'scenario': {'cluster': '${z}'}}}}", "$.runs.q: expression \"z\": expected a known name at \"z\"" },
		{ "{'runs': {'q': {" SCENARIO ", 'set': {'seed': '${z}'}}}}",
			"$.runs.q: expression \"z\": expected a known name at \"z\"" },
		{ "{'runs': {'q': {" SCENARIO ", 'set': {'seeed': 3}}}}", "$.runs.q: unknown key \"seeed\": did you mean \"seed\"?" },
	};
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		struct orr_error err = { 0 };
		struct book *b = book_ran(wrong[i].json, &err);
		refusal(&err, wrong[i].said, wrong[i].json);
		book_free(b);
	}
}

/* Tests that 32 axes are accepted and 33 are refused. */
static void test_many_axes(void)
{
	for (int n = BOOK_MAX_AXES; n <= BOOK_MAX_AXES + 1; n++) {
		struct sbuf text = { 0 };
		struct orr_error err = { 0 };
		for (int i = 0; i < n; i++)
			sbuf_printf(&text, "%s'a%d': [%d]", i ? ", " : "{'axes': {", i, i);
		sbuf_puts(&text, "}}");
		struct book *b = book_ran(sbuf_text(&text), &err);
		if (n <= BOOK_MAX_AXES)
			ok(b && b->n_axes == (size_t)n, "%d axes", n);
		else
			refusal(&err, "$.axes.a32: too many axes: expected at most 32", "33 axes");
		book_free(b);
		sbuf_free(&text);
	}
}

static void test_published_refusals(void)
{
	static const struct {
		const char *csv, *said;
	} wrong[] = {
		{ "id,what,value,low,high,source\na,w,1,,,s\nb,w,1,,,s\na,w,2,,,s\n", "published.csv:4: " },
		{ "id,what,value,low,high,source\na,w,x,,,s\n", "published.csv:2: " },
		{ "id,what,value,low,high,source\na,w,1,x,,s\n", "published.csv:2: " },
		{ "id,what,value,low,high,source\na,w,1,,x,s\n", "published.csv:2: " },
		{ "id,what,value,low,high\na,w,1,,\n", "published.csv:1: " },
		{ "id,what,value,source,lov\na,w,1,s,2\n", "published.csv:1: " },
		{ "", "published.csv" },
	};
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		struct orr_error err = { 0 };
		put_file("published.csv", wrong[i].csv, false);
		struct book *b = book_ran("{" RUNS "}", &err);
		ok(!b && err.code == ORR_EINPUT && strstr(err.text, wrong[i].said), "published.csv: %s", err.text);
		book_free(b);
	}
	struct orr_error err = { 0 };
	put_file("published.csv", "id,what,value,source\na,w,1,s\n", false);
	struct book *b = book_ran("{" RUNS "}", &err);
	ok(b && b->n_published == 1 && isnan(b->published[0].low) && isnan(b->published[0].high) && b->published[0].value == 1,
		"bounds may be missing altogether");
	book_free(b);
	put_file("published.csv", published, false);
}

/* Tests that a trace is searched below ORRERY_TRACE_PATH first, then in traces/ below ORRERY_DATA_PATH. */
static void test_trace_places(void)
{
	char path[320];
	struct orr_error err = { 0 };
	snprintf(path, sizeof path, "%s/traces", book_dir);
	mkdir(path, 0777);
	put_file("traces/three.csv", "submit_s,duration_s,gpus\n0,1,1\n", false);
	put_file("traces/only.csv", "submit_s,duration_s,gpus\n0,1,1\n", false);
	setenv("ORRERY_DATA_PATH", book_dir, 1);
	static const char json[] =
		"{'traces': {'three': {'file': 'three.csv', 'otherwise': 'a'}, 'only': {'file': 'only.csv', 'otherwise': 'b'},"
		"'gone': {'file': 'gone.csv', 'otherwise': 'c'}}}";
	struct book *b = book_ran(json, &err);
	ok(b && b->n_traces == 3 && b->trace[0].is_there && b->trace[1].is_there && !b->trace[2].is_there, "files that exist");
	snprintf(path, sizeof path, "%s/three.csv", book_dir);
	same_text(b ? b->trace[0].source : "", path, "ORRERY_TRACE_PATH comes first");
	snprintf(path, sizeof path, "%s/traces/only.csv", book_dir);
	same_text(b ? b->trace[1].source : "", path, "then traces/ below ORRERY_DATA_PATH");
	same_text(b ? b->trace[2].source : "", "c", "a generator replaces a missing file");
	book_free(b);
	setenv("ORRERY_TRACE_PATH", "", 1);
	b = book_ran(json, &err);
	snprintf(path, sizeof path, "%s/traces/three.csv", book_dir);
	same_text(b ? b->trace[0].source : "", path, "an empty ORRERY_TRACE_PATH is none");
	book_free(b);
	setenv("ORRERY_TRACE_PATH", book_dir, 1);
}

/* Tests that trace_options belong to the format of the file, so a generator refuses them. */
static void test_dropped_options(void)
{
	static const struct {
		const char *trace, *said;
	} runs[] = { { "gone", "" }, { "here", "$.runs.o: trace format orrery: expected no parameters, found \"nosuch\"" } };
	for (size_t i = 0; i < 2; i++) {
		struct orr_error err = { 0 };
		char text[1500];
		snprintf(text, sizeof text,
			"{" RUNS ", 'o': {'scenario': {'cluster': '1x1', 'trace': '${trace:%s}', 'policies': ['fifo'], 'trace_options': "
			"{'nosuch': 1}}}}}",
			runs[i].trace);
		char *shut = strstr(text, "}}, 'o'");
		memcpy(shut, "},", 2);
		memmove(shut + 1, shut + 2, strlen(shut + 2) + 1);
		struct book *b = book_ran(text, &err);
		ok(!b == (i == 1) && strstr(err.text, runs[i].said), "options of a trace: %s", err.text);
		book_free(b);
	}
	static const char lent[] =
		"{'traces': {'t': {'file': 'three.csv', 'otherwise': 'x'}, 'c': {'file': 'gone.csv', 'otherwise': "
		"'hazard:p=0.1,length=4h'}},\n"
		"'runs': {'o': {'scenario': {'world': 'jobs', 'trace': '${trace:t}', 'policies': ['fifo'], 'cluster': '4x1', 'capacity': "
		"{'trace': '${trace:c}', "
		"'options': {'nosuch': 1}}}}}}";
	struct orr_error err = { 0 };
	struct book *b = book_ran(lent, &err);
	ok(b != NULL, "nor does a generator of capacity: %s", err.text);
	book_free(b);
}

/* Tests that books without a path are searched in scenarios/ of ORRERY_DATADIR, of the installation and of the sources. */
static void test_names(void)
{
	static const char *const files[] = { "scenarios/zoo/figures.json", "scenarios/ant/figures.json", "scenarios/bee/figures.json",
		"scenarios/a.txt" };
	struct orr_error err = { 0 };
	char path[400];
	static const char *const folders[] = { "scenarios", "scenarios/zoo", "scenarios/ant", "scenarios/bee" };
	for (size_t i = 0; i < 4; i++) {
		snprintf(path, sizeof path, "%s/%s", book_dir, folders[i]);
		mkdir(path, 0777);
	}
	for (size_t i = 0; i < 4; i++)
		put_file(files[i], "{}", false);
	setenv("ORRERY_DATADIR", book_dir, 1);
	struct book *b = book_open("ant", &err);
	snprintf(path, sizeof path, "%s/scenarios/ant", book_dir);
	same_text(b ? b->dir : err.text, path, "a book of ORRERY_DATADIR");
	book_free(b);
	ok(!book_open("nosuch", &err) && err.code == ORR_EINPUT, "an unknown book is refused");
	same_text(err.text,
		"figures: there is no scenario book \"nosuch\" with a figures.json: expected ant, bee, zoo, or a path such as ./mine",
		"with the names of the others in order");
	ok(!book_open("", &err) && err.code == ORR_EINPUT, "no name is refused");
	same_text(err.text, "figures: expected NAME: ant, bee, zoo, or a path such as ./mine", "likewise");
	snprintf(path, sizeof path, "%s/scenarios/bee///", book_dir);
	b = book_open(path, &err);
	path[strlen(path) - 3] = '\0';
	same_text(b ? b->dir : err.text, path, "slashes at the end of a path do not count");
	book_free(b);
	snprintf(path, sizeof path, "%s/nosuch", book_dir);
	ok(!book_open(path, &err) && strstr(err.text, "no scenario book"), "a path without figures.json is refused");
	unsetenv("ORRERY_DATADIR");
	b = book_open("spot-field", &err);
	ok(b && strstr(b->dir, "scenarios/spot-field") && b->n_runs > 0, "a book of the sources");
	book_free(b);
	if (!chdir(book_dir)) {
		put_file("figures.json", "{}", false);
		b = book_open(".", &err);
		same_text(b ? b->dir : err.text, ".", "the current folder is a path");
		book_free(b);
		b = book_open("./", &err);
		same_text(b ? b->dir : err.text, ".", "with or without a slash");
		book_free(b);
	}
}

int main(void)
{
	if (!books_begin())
		return 2;
	test_rows();
	test_columns();
	test_table_refusals();
	test_book_refusals();
	test_many_axes();
	test_published_refusals();
	test_trace_places();
	test_dropped_options();
	test_names();
	books_end();
	return done();
}
