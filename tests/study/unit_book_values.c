/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Expressions and texts of scenario books: names, results at bound and fixed axes, series, accounts, and error messages.
 * Expected values follow from docs/reference/books.md and from the three jobs of book.h.
 */
#include "tests/study/book.h"

static const char json[] =
	"{'constants': {'mu': 0.5, 'two': '1 + 1', 'four': 'two * two', 'loop': 'pool', 'pool': 'loop + 1'},\n"
	" 'traces': {'t': {'file': 'three.csv', 'otherwise': 'poisson:rate=1,n=9'}, 'gone': {'file': 'gone.csv', 'otherwise': "
	"'poisson:rate=1,n=4'}},\n"
	" 'axes': {'N': [1, 2, 3], 'order': [{'value': 'fifo', 'label': 'first in', 'let': {'k': 'N * 10', 'mu': 0.25}}, 'sjf'], 'h': [4, "
	"'5e0'],\n"
	"   'what': [{'value': 't', 'let': {'g': 0}}, {'value': 'gone', 'let': {'g': 'has_t'}}], 'account': ['useful', 'wasted', 'idle', "
	"'reconfigure']},\n"
	" 'runs': {'q': {'scenario': {'trace': '${trace:t}', 'policies': ['fifo', 'sjf']}, 'axes': ['N'], 'where': 'N != 2', 'set': "
	"{'cluster': '${N}x1'}},\n"
	"  'labels': {'scenario': {'cluster': '1x1', 'trace': '${trace:t}', 'policies': ['fifo@a', 'sjf@a.b']}},\n"
	"  'grid': {'scenario': {'cluster': '2x1', 'policies': ['fifo']}, 'axes': ['N', 'h'], 'where': 'N + h != 6',\n"
	"    'set': {'trace': 'poisson:rate=1,mean=1,n=${10 * N + h}'}},\n"
	"  'stand': {'scenario': {'cluster': '1x1', 'trace': '${trace:${what}}', 'policies': ['fifo'], 'trace_options': {'format': "
	"'helios'}}, 'axes': ['what'],\n"
	"    'where': 'has_t && !has_gone && g'},\n"
	"  'ten': {'scenario': {'cluster': '1x1', 'trace': 'poisson:rate=0.05,mean=10,n=20', 'policies': ['fifo'], 'replications': 10}},\n"
	"  'p': {'scenario': {'world': 'spot', 'trace': 'hazard:p=0.1,length=4h', 'job': 'bamboo-bert', 'policies': ['bamboo']}}}}";

static struct book *b;

static double value_of(const char *text)
{
	struct orr_error err = { 0 };
	double v = -77;
	if (book_expression(b, text, "here", &v, &err))
		printf("# %s: %s\n", text, err.text);
	return v;
}

static void bind(const char *axis, size_t i)
{
	b->bound[book_axis(b, axis, strlen(axis))] = i;
}

/* An expression and its value; NaN: no value. */
struct known {
	const char *text;
	double value;
};

static void check(const struct known *k, size_t n, const char *what)
{
	bool good = true;
	size_t bound[BOOK_MAX_AXES];
	memcpy(bound, b->bound, sizeof bound);
	for (size_t i = 0; i < n; i++) {
		double got = value_of(k[i].text);
		bool is_it = isnan(k[i].value) ? isnan(got) : fabs(got - k[i].value) <= 1e-9 * (1 + fabs(k[i].value));
		if (!is_it)
			printf("# %s: got %.12g, want %.12g\n", k[i].text, got, k[i].value);
		good &= is_it;
	}
	good &= !memcmp(bound, b->bound, sizeof bound);
	ok(good, "%s, and the axes stay bound as before", what);
}
#define CHECK(table, what) check(table, sizeof table / sizeof *table, what)

static void test_names(void)
{
	static const struct known unbound[] = { { "mu", 0.5 }, { "four", 4 }, { "four + two * mu", 5 }, { "has_t", 1 }, { "has_gone", 0 },
		{ "sum(N: N)", 6 }, { "max(h: h)", 5 }, { "argmax(N: -N)", 1 }, { "sum(order: 1)", 2 } };
	static const struct known bound[] = { { "mu", 0.25 }, { "k", 20 }, { "four * mu", 1 }, { "N", 2 }, { "max(N: k)", 30 } };
	static const struct known other[] = { { "mu", 0.5 }, { "N", 3 } };
	CHECK(unbound, "constants, traces and axes have values");
	bind("N", 1);
	bind("order", 0);
	CHECK(bound, "a name of let precedes a constant");
	bind("N", 2);
	bind("order", 1);
	CHECK(other, "and holds at its value of the axis alone");
	bind("N", SIZE_MAX);
	bind("order", SIZE_MAX);
}

static void test_results(void)
{
	static const struct known free[] = { { "{q[N=1].fifo.wait_mean}", 22 / 3. }, { "{q[N=1].sjf.wait_mean}", 6 },
		{ "{q[N=1].fifo.makespan}", 16 }, { "{q[N=3].fifo.makespan}", 10 }, { "{q[N=2].fifo.wait_mean}", NAN },
		{ "{q[N=9].fifo.wait_mean}", NAN }, { "{q[N=two+1].fifo.wait_mean}", 0 }, { "{q[N=1.0].fifo.jobs}", 3 },
		{ "mean(N: {q.fifo.wait_mean})", 11 / 3. }, /* the point N = 2 is omitted */
		{ "argmax(N: {q.fifo.wait_mean})", 1 }, { "argmin(N: {q.fifo.wait_mean})", 3 },
		{ "argmin(order: {q[N=1].${order}.wait_mean})", 1 }, { "{q[N=1].fifo.wait_mean} / {q[N=1].sjf.wait_mean}", 22 / 18. },
		{ "{published:W}", 7 }, { "{published:V}", NAN }, { "{q[N=1].fifo.wait_mean!low}", NAN } };
	static const struct known at[] = { { "{q[N=N-1].fifo.wait_mean}", 22 / 3. }, { "{q[N=N+1].fifo.wait_mean}", 0 },
		{ "{q[N=max(N-1,1)].fifo.wait_mean}", 22 / 3. }, { "{grid[N=min(N,3),h={q[N=max(N-1,1)].fifo.jobs}+2].fifo.jobs}", 25 },
		{ "{q.fifo.wait_mean} > 0", NAN }, { "{q.fifo.wait_mean} && 1", NAN }, { "{q.fifo.wait_mean}", NAN },
		{ "{q[N=${N - 1}].fifo.wait_mean} + N", 22 / 3. + 2 } };
	static const struct known labels[] = { { "{labels.a.wait_mean}", 22 / 3. }, { "{labels.a.b.wait_mean}", 6 } };
	static const struct known grid[] = { { "{grid[N=1,h=4].fifo.jobs}", 14 }, { "{grid[N=1,h=5].fifo.jobs}", NAN },
		{ "{grid[N=2,h=4].fifo.jobs}", NAN }, { "{grid[h=5,N=2].fifo.jobs}", 25 }, { "{grid[N=3,h=4].fifo.jobs}", 34 },
		{ "{grid[N=3,h=5e0].fifo.jobs}", 35 }, { "sum(N: sum(h: {grid.fifo.jobs}))", 14 + 25 + 34 + 35 },
		{ "{stand[what=gone].fifo.jobs}", 4 }, { "{stand[what=t].fifo.jobs}", NAN } };
	CHECK(free, "results at fixed axes");
	bind("N", 1);
	CHECK(at, "a fixed axis is relative to the bound one");
	bind("N", SIZE_MAX);
	CHECK(labels, "the longest label that fits names the policy");
	CHECK(grid, "points of two axes, some left out");
	double low = value_of("{ten.fifo.wait_mean!low}"), mean = value_of("{ten.fifo.wait_mean}"),
	       high = value_of("{ten.fifo.wait_mean!high}");
	ok(low < mean && mean < high, "!low and !high are the ends of the interval of the mean");
}

/* Tests a metric that exists at some points: it has no value at the other points. A metric that exists at no point is an error. Only
 * models of tokens have ttft_mean. */
static void test_absent_metric(void)
{
	static const char *const orders[] = { "'llama2-7b', 'slow.json'", "'slow.json', 'llama2-7b'",
		"'slow.json', 'llama2-7b', 'slow.json'" };
	put_file("slow.json", "{'name': 'slow', 'source': 'made up', 'kind': 'table', 'batch': [1], 'latency_ms': [20]}", true);
	put_file("two.csv", "arrival_s,prompt_tokens,output_tokens\n0,100,5\n5,100,2\n", false);
	for (size_t i = 0; i < 3; i++) {
		struct orr_error err = { 0 };
		char text[600];
		snprintf(text, sizeof text,
			"{'axes': {'m': [%s]}, 'runs': {'r': {'scenario': {'world': 'serve', 'trace': '${dir}/two.csv', 'models': "
			"['${m}'], 'cluster': '1x1:a100', "
			"'policies': ['fifo']}, 'axes': ['m']}}}",
			orders[i]);
		b = book_ran(text, &err);
		if (!ok(b != NULL, "models: %s", err.text))
			continue;
		static const struct known at[] = { { "{r[m=slow.json].fifo.ttft_mean}", NAN }, { "{r[m=llama2-7b].fifo.ttft_mean} > 0", 1 },
			{ "{r[m=slow.json].fifo.requests}", 2 } };
		CHECK(at, "a metric may be missing at a point");
		double v;
		err = (struct orr_error){ 0 };
		book_expression(b, "{r[m=slow.json].fifo.ttft_maen}", "here", &v, &err);
		refusal(&err, "here: {r.fifo.ttft_maen}: expected a metric of this run, found \"ttft_maen\"", "but not at all");
		book_free(b);
	}
}

/* Tests that conditions and settings of runs cannot use results, which do not exist before the runs. */
static void test_early(void)
{
#define RUN "'scenario': {'cluster': '1x1', 'trace': '${dir}/three.csv', 'policies': ['fifo']}"
	static const struct {
		const char *json, *said;
	} early[] = { { "{'runs': {'q': {" RUN ", 'where': '{q.fifo.jobs} > 0'}}}",
			      "$.runs.q: {q.fifo.jobs}: results are unknown before the runs: expected an expression without results" },
		{ "{'runs': {'q': {" RUN ", 'where': '{r.fifo.jobs}'}, 'r': {" RUN "}}}",
			"$.runs.q: {r.fifo.jobs}: results are unknown before the runs: expected an expression without results" },
		{ "{'runs': {'q': {" RUN "}, 'r': {" RUN ", 'set': {'seed': '${{q.fifo.jobs}}'}}}}",
			"$.runs.r: {q.fifo.jobs}: results are unknown before the runs: expected an expression without results" } };
	for (size_t i = 0; i < sizeof early / sizeof *early; i++) {
		struct orr_error err = { 0 };
		b = book_ran(early[i].json, &err);
		refusal(&err, early[i].said, early[i].json);
		book_free(b);
	}
}

/* Tests queue_length on one GPU under fifo: 1 from 1 s on, 2 from 2 s, 1 from 10 s, 0 from 15 s. */
static void test_series(void)
{
	static const struct known k[] = { { "{q[N=1].fifo.queue_length@0}", 0 }, { "{q[N=1].fifo.queue_length@1}", 1 },
		{ "{q[N=1].fifo.queue_length@1.5}", 1 }, { "{q[N=1].fifo.queue_length@4*two}", 2 }, { "{q[N=1].fifo.queue_length@9.9}", 2 },
		{ "{q[N=1].fifo.queue_length@10}", 1 }, { "{q[N=1].fifo.queue_length@15}", 0 }, { "{q[N=1].fifo.queue_length@-1}", NAN },
		{ "{q[N=1].fifo.queue_length@99}", NAN }, { "{q[N=1].fifo.utilisation@3}", 1 }, { "{q[N=3].fifo.utilisation@4}", 2 / 3. } };
	CHECK(k, "series at a time");
}

/* Tests that the accounts sum to the hours and the dollars of the run (docs/models/spot.md). */
static void test_accounts(void)
{
	static const struct known k[] = { { "{p.bamboo.usd:useful} - {p.bamboo.node_hours:useful}", 0 }, /* an instance costs 1 USD/h */
		{ "{p.bamboo.node_hours:useful} / {p.bamboo.node_hours} - {p.bamboo.useful_part}", 0 },
		{ "{p.bamboo.node_hours:idle} / {p.bamboo.node_hours} - {p.bamboo.idle_part}", 0 }, { "{p.bamboo.usd:wasted}", 0 },
		{ "sum(account: {p.bamboo.usd:${account}}) - {p.bamboo.usd}", 0 },
		{ "sum(account: {p.bamboo.node_hours:${account}}) - {p.bamboo.node_hours}", 0 } };
	CHECK(k, "accounts sum to the totals of the run");
	ok(value_of("{p.bamboo.usd:useful}") > 100, "and have the order of magnitude of 50 instances in half a day");
}

static void test_texts(void)
{
	static const struct {
		const char *text, *want;
	} texts[] = { { "", "" }, { "plain $ text} {N}", "plain $ text} {N}" }, { "${N}x1", "2x1" }, { "a${N}b${order}c", "a2bfifoc" },
		{ "${order.label} of ${N.label}", "first in of 2" }, { "${N / 2}", "1" }, { "${1 / 8} s", "0.125 s" }, { "${h}", "5e0" },
		{ "${h + 0}", "5" }, { "${trace:gone}", "poisson:rate=1,n=4" }, { "${trace:gone.note}", " (synthetic stand-in)" },
		{ "${trace:t.note}", "" }, { "${trace:${what}.note}", " (synthetic stand-in)" }, { "${{q[N=3].sjf.jobs} + 1}", "4" },
		{ "${k}", "20" }, { "${N", "${N" }, { "100%$", "100%$" } };
	bind("N", 1);
	bind("order", 0);
	bind("h", 1);
	bind("what", 1);
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		struct orr_error err = { 0 };
		char *got = book_text(b, texts[i].text, "here", &err);
		same_text(got ? got : err.text, texts[i].want, texts[i].text);
		mem_free(got);
	}
	struct orr_error err = { 0 };
	char *dir = book_text(b, "${dir}", "here", &err), *path = book_text(b, "${trace:t}", "here", &err), want[320];
	snprintf(want, sizeof want, "%s/three.csv", book_dir);
	same_text(dir, book_dir, "${dir} is the folder");
	same_text(path, want, "${trace:NAME} is the path of an existing file");
	mem_free(dir);
	mem_free(path);
	for (size_t i = 0; i < b->n_axes; i++)
		b->bound[i] = SIZE_MAX;
}

static void test_refusals(void)
{
	static const struct {
		const char *text, *said;
	} wrong[] = {
		{ "order", "expression \"order\": expected a known name at \"order\"" },
		{ "N", "expression \"N\": expected a known name at \"N\"" },
		{ "has_", "expression \"has_\": expected a known name at \"has_\"" },
		{ "has_x", "expression \"has_x\": expected a known name at \"has_x\"" },
		{ "sum(order: order)", "expression \"sum(order: order)\": expected a known name at \"order)\"" },
		{ "k", "expression \"k\": expected a known name at \"k\"" },
		{ "loop", "expression \"loop + 1\": expected a known name at \"loop + 1\"" },
		{ "{z.fifo.jobs}", "{z.fifo.jobs}: expected the name of a run, found \"z\"" },
		{ "{q.fifo.jobs}", "{q..}: axis \"N\" has no value here: expected {q[N=..]..}" },
		{ "{q[N=1.fifo.jobs}", "{[N=1.fifo.jobs}: expected a \"]\" that closes the \"[\"" },
		{ "{q[M=1].fifo.jobs}", "[M=1]: expected AXIS=VALUE with the name of one of $.axes" },
		{ "{q[N=1,M].fifo.jobs}", "[M]: expected AXIS=VALUE with the name of one of $.axes" },
		{ "{q[N=1]fifo.jobs}", "{qfifo.jobs}: expected {RUN.LABEL.METRIC}" },
		{ "{q[N=1].jobs}", "{q.jobs}: expected {RUN.LABEL.METRIC}" },
		{ "{q[N=1].lifo.jobs}", "{q.lifo.jobs}: expected the label of a policy of this run, found \"lifo\"" },
		{ "{q[N=1].fifo.jops}", "{q.fifo.jops}: expected a metric of this run, found \"jops\"" },
		{ "{q[N=1].fifo.queue@3}", "{..queue@3}: expected a series of this run, found \"queue\"" },
		{ "{q[N=1].fifo.usd:useful}", "{..usd:useful}: this run has no account \"useful\": expected a run with accounts" },
		{ "{p.bamboo.usd:usefulo}",
			"{..usd:usefulo}: this run has no account \"usefulo\": expected one of its accounts, such as useful" },
		{ "{p.bamboo.eur:useful}", "{..eur:useful}: expected node_hours:ACCOUNT or usd:ACCOUNT" },
	};
	static const struct {
		const char *text, *said;
	} texts[] = {
		{ "${N}", "${N}: expected an axis that has a value here" },
		{ "${order.label}", "${order.label}: expected an axis that has a value here" },
		{ "${trace:five}", "${trace:five}: expected the name of one of $.traces, or NAME.note" },
		{ "${trace:t.path}", "${trace:t.path}: expected the name of one of $.traces, or NAME.note" },
		{ "${trace:${what}}", "${what}: expected an axis that has a value here" },
		{ "${N.labelo}", "expression \"N.labelo\": expected a known name at \"N.labelo\"" },
	};
	char want[400];
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		struct orr_error err = { 0 };
		double v;
		book_expression(b, wrong[i].text, "here", &v, &err);
		snprintf(want, sizeof want, "here: %s", wrong[i].said);
		refusal(&err, want, wrong[i].text);
	}
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		struct orr_error err = { 0 };
		ok(!book_text(b, texts[i].text, "here", &err), "%s has no text", texts[i].text);
		snprintf(want, sizeof want, "here: %s", texts[i].said);
		refusal(&err, want, texts[i].text);
	}
}

/* ---- loops ---- */

struct visits {
	char text[200];
	int left; /* number of calls until the error */
};

static int visit(struct book *book, void *ctx, struct orr_error *err)
{
	struct visits *v = ctx;
	char *text = book_text(book, "${N}${order} ", "here", err);
	if (text)
		snprintf(v->text + strlen(v->text), sizeof v->text - strlen(v->text), "%s", text);
	mem_free(text);
	return v->left-- == 0 ? orr_fail(err, ORR_EINPUT, "enough") : text ? ORR_OK : ORR_EINPUT;
}

static void test_loops(void)
{
	static const struct {
		const char *each, *want;
		int left;
	} loops[] = { { "['N', 'order']", "1fifo 1sjf 2fifo 2sjf 3fifo 3sjf ", -1 },
		{ "['order', 'N']", "1fifo 2fifo 3fifo 1sjf 2sjf 3sjf ", -1 }, { "['N', 'order']", "1fifo 1sjf ", 1 } };
	for (size_t i = 0; i < sizeof loops / sizeof *loops; i++) {
		struct orr_error err = { 0 };
		struct visits v = { .left = loops[i].left };
		char text[60];
		snprintf(text, sizeof text, "%s", loops[i].each);
		for (char *s = text; *s; s++)
			*s = *s == '\'' ? '"' : *s;
		cJSON *each = cJSON_Parse(text);
		int rc = book_each(b, each, "here", visit, &v, &err);
		ok((rc != 0) == (loops[i].left >= 0), "a loop ends with the first error: %s", err.text);
		same_text(v.text, loops[i].want, "the last axis turns fastest");
		cJSON_Delete(each);
	}
	struct orr_error err = { 0 };
	struct visits v = { .left = -1 };
	bind("N", 2);
	bind("order", 1);
	ok(!book_each(b, NULL, "here", visit, &v, &err), "without axes");
	same_text(v.text, "3sjf ", "there is one call, at the bound values");
	cJSON *each = cJSON_Parse("[\"N\"]");
	v.text[0] = '\0';
	ok(!book_each(b, each, "here", visit, &v, &err) && b->bound[0] == 2, "a loop restores the bound value");
	same_text(v.text, "1sjf 2sjf 3sjf ", "and leaves the other axes");
	cJSON_Delete(each);
	each = cJSON_Parse("[\"M\"]");
	book_each(b, each, "here", visit, &v, &err);
	refusal(&err, "here: \"each\": expected names of $.axes, found \"M\"", "an unknown axis");
	cJSON_Delete(each);
	each = cJSON_Parse("[1]");
	book_each(b, each, "here", visit, &v, &err);
	refusal(&err, "here: \"each\": expected names of $.axes, found \"\"", "a number in place of an axis");
	cJSON_Delete(each);
	each = cJSON_Parse("\"N\"");
	book_each(b, each, "here", visit, &v, &err);
	refusal(&err, "here: \"each\": expected a list of names of $.axes", "a name in place of a list");
	cJSON_Delete(each);
}

static void test_numbers(void)
{
	struct orr_error err = { 0 };
	cJSON *number = cJSON_CreateNumber(2.5), *text = cJSON_CreateString("two / 4"), *other = cJSON_CreateTrue();
	double v = 0, w = 0, x;
	ok(!book_number(b, number, "here", &v, &err) && v == 2.5 && !book_number(b, text, "here", &w, &err) && w == 0.5,
		"a number or an expression");
	book_number(b, other, "here", &x, &err);
	refusal(&err, "here: expected a number or an expression", "a truth value");
	cJSON_Delete(number);
	cJSON_Delete(text);
	cJSON_Delete(other);
}

int main(void)
{
	struct orr_error err = { 0 };
	if (!books_begin())
		return 2;
	put_file("published.csv", "id,what,value,low,high,source\nW,wait,7,6,8,by hand\n", false);
	b = book_ran(json, &err);
	if (!ok(b != NULL, "the book is carried out: %s", err.text))
		return done();
	test_names();
	test_results();
	test_series();
	test_accounts();
	test_texts();
	test_refusals();
	test_loops();
	test_numbers();
	book_free(b);
	if (!chdir(book_dir))
		test_absent_metric();
	test_early();
	books_end();
	return done();
}
