/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Results of the serving world: version 3 of the database schema, its views, and LABEL.requests.csv. */
#include "results/report.h"
#include "results/store.h"

#include "base/mem.h"
#include "base/sbuf.h"
#include "plots/figure_data.h"
#include "tests/results/sample_run.h"
#include "tests/tap.h"

#include <math.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <unistd.h>

static char dir[] = "/tmp/orrery-serve-results.XXXXXX";

static const char *in_dir(const char *name)
{
	static char path[4][128];
	static int turn;
	turn = (turn + 1) % 4;
	snprintf(path[turn], sizeof path[turn], "%s/%s", dir, name);
	return path[turn];
}

static struct run_result *sample(const char *label, size_t n)
{
	struct run_result *r = sample_run(label, 0, n);
	mem_free(r->world);
	r->world = mem_strdup("serve");
	r->rows_total = n;
	sample_add_requests(r, n);
	return r;
}

static void sql(const char *path, const char *text)
{
	sqlite3 *db;
	char *why = NULL;
	if (sqlite3_open(path, &db) || sqlite3_exec(db, text, NULL, NULL, &why))
		printf("# %s\n", why ? why : "cannot open");
	sqlite3_free(why);
	sqlite3_close(db);
}

/* Checks that the first column of the first row equals `want` as text. */
static void ask(const char *path, const char *query, const char *want, const char *what)
{
	sqlite3 *db;
	sqlite3_stmt *st = NULL;
	sqlite3_open(path, &db);
	int rc = sqlite3_prepare_v2(db, query, -1, &st, NULL);
	if (!rc)
		rc = sqlite3_step(st);
	same_text(rc == SQLITE_ROW ? (const char *)sqlite3_column_text(st, 0) : sqlite3_errmsg(db), want, what);
	sqlite3_finalize(st);
	sqlite3_close(db);
}

static void digest(const char *path, char out[65])
{
	struct orr_error err = { 0 };
	struct store *s = store_open_readonly(path, &err);
	out[0] = '\0';
	if (!s || store_digest(s, out, &err))
		printf("# %s\n", err.text);
	store_close(s, &err);
}

static void rows(void)
{
	struct orr_error err = { 0 };
	char before[65], after[65];
	const char *path = in_dir("rows.db");
	struct run_result *a = sample("a", 25), *b = sample("b", 9), *back = NULL;
	struct store *s = store_open(path, NULL, &err);
	ok(s && !store_write(s, a, &err) && !store_write(s, b, &err), "runs with requests are stored");
	ok(!store_read(s, a->hash, "a", &back, &err) && back && same_run(a, back), "requests come back bit for bit");
	result_free(back);
	a->requests[0].queue_s += 1e-12;
	ok(!store_read(s, b->hash, "b", &back, &err) && back && !same_run(a, back) && same_run(b, back),
		"the requests of each run are kept apart");
	result_free(back);
	store_replace_existing(s, true);
	a->n_requests = 3;
	ok(!store_write(s, a, &err) && !store_read(s, a->hash, "a", &back, &err) && back && same_run(a, back),
		"a run with requests is replaced");
	result_free(back);
	ok(!store_read(s, b->hash, "b", &back, &err) && back && same_run(b, back), "replacing a run leaves the rows of other runs");
	result_free(back);
	store_close(s, &err);
	digest(path, before);
	sql(path, "UPDATE requests SET queue_s = queue_s + 1e-9 WHERE run = 2 AND number = 0");
	digest(path, after);
	ok(strcmp(before, after), "the digest covers requests");
	result_free(a);
	result_free(b);
}

/* Request 4 of the sample arrives at 4/7 s, has its first of 4 tokens 1 ns later and ends 1/3 s after its arrival. */
static void views(void)
{
	struct orr_error err = { 0 };
	const char *path = in_dir("views.db");
	struct run_result *a = sample("a", 9), *b = sample("b", 9);
	mem_free(b->hash);
	b->hash = mem_strdup("another");
	b->requests[4].completed_s += 0.5;
	struct store *s = store_open(path, NULL, &err);
	store_write(s, a, &err);
	store_write(s, b, &err);
	store_close(s, &err);
	ask(path, "SELECT printf('%.6f %.9f %.6f', e2e_s, ttft_s, tpot_s) FROM requests_s WHERE run = 1 AND number = 4",
		"0.333333 0.000000001 0.111111", "requests_s: end to end, first token, time per further token");
	ask(path, "SELECT group_concat(status) FROM (SELECT status FROM requests_s WHERE run = 1 ORDER BY number LIMIT 4)",
		"completed,refused,shed,unfinished", "requests_s: the status as a word");
	ask(path, "SELECT count(*) || ' ' || sum(replica IS NULL) FROM requests_s WHERE run = 1", "9 6", "a request without a replica");
	ask(path, "SELECT printf('%.6f', e2e_diff_s) FROM request_pairs WHERE run_a = 1 AND run_b = 2 AND number = 4", "0.500000",
		"request_pairs: the same request under two runs");
	result_free(a);
	result_free(b);
}

/* Opens files of schema versions 3, 2 and 1. */
static void older_file(void)
{
	static const char *const steps[] = { ("DROP VIEW nodes_s; DROP VIEW accounts_h; DROP TABLE nodes; DROP TABLE accounts; DROP VIEW "
					      "replicas_s; DROP TABLE replicas; PRAGMA user_version = 3"),
		"DROP VIEW requests_s; DROP VIEW request_pairs; DROP TABLE requests; PRAGMA user_version = 2",
		"DROP TABLE iterations; DROP TABLE devices; DROP TABLE spans; PRAGMA user_version = 1" };
	struct orr_error err = { 0 };
	char before[65], after[65];
	const char *path = in_dir("older.db");
	struct run_result *jobs = sample_run("jobs", 5, 3), *serve = sample("serve", 6), *back = NULL;
	struct store *s = store_open(path, NULL, &err);
	store_write(s, jobs, &err);
	store_close(s, &err);
	digest(path, before);
	for (int i = 0; i < 3; i++) {
		sql(path, steps[i]);
		digest(path, after);
		same_text(after, before,
			i == 0   ? "a file of the third schema has the same digest"
			: i == 1 ? "a file of the second schema has the same digest"
				 : "a file of the first schema has the same digest");
		s = store_open_readonly(path, &err);
		ok(s && !store_read_run(s, 1, &back, &err) && back && same_run(jobs, back), "a file of the first schema is read");
		result_free(back);
		store_close(s, &err);
	}
	s = store_open(path, NULL, &err);
	ok(s && !store_write(s, serve, &err) && !store_read(s, serve->hash, "serve", &back, &err) && back && same_run(serve, back),
		"new columns and tables are added when it is opened for writing");
	result_free(back);
	ok(s && !store_read(s, jobs->hash, "jobs", &back, &err) && back && same_run(jobs, back),
		"existing rows are kept when tables are added");
	result_free(back);
	store_close(s, &err);
	ask(path, "PRAGMA user_version", "8", "the schema version is then the current one");
	result_free(jobs);
	result_free(serve);
}

static void csv(void)
{
	struct orr_error err = { 0 };
	struct run_result *r = sample("a", 4);
	const struct run_result *const runs[] = { r };
	r->n_series = 0;
	ok(!report_out_dir(dir, runs, 1, &err), "CSV files are written");
	struct sbuf b = { 0 };
	FILE *f = fopen(in_dir("a.requests.csv"), "rb");
	for (int c; f && (c = getc(f)) != EOF;)
		sbuf_putc(&b, (char)c);
	if (f)
		fclose(f);
	/* Arrivals 0, 1/7, 2/7, 3/7 s; request 0 completes 1/3 s after its arrival. */
	same_text(sbuf_text(&b),
		"request_id,arrival_s,first_token_s,completed_s,queue_s,preemptions,model,prompt_tokens,output_tokens,status,replica\n"
		"0,0.000000000,0.000000001,0.333333333,0.000000000,0,,0,0,completed,0\n"
		"\"req \"\"1\"\", 1\",0.142857143,,,,1,llama-2-70b,100000001,1,refused,\n"
		"\"req \"\"2\"\", 1\",0.285714286,0.285714287,,,2,llama-2-70b,200000002,2,shed,\n"
		"3,0.428571429,,,,3,llama-2-70b,300000003,3,unfinished,\n",
		"LABEL.requests.csv: nine decimals, empty where it never happened");
	sbuf_free(&b);
	ok(access(in_dir("a.jobs.csv"), F_OK), "there is no file of jobs");
	unlink(in_dir("a.requests.csv"));
	unlink(in_dir("a.series.csv"));
	unlink(in_dir("summary.csv"));
	r->n_series = 3;
	result_free(r);
}

/* Tests curves of four requests, of which two (0 and 4) are completed, both 1/3 s after arrival. First tokens come 1 ns after arrival. */
static void curves(void)
{
	struct figure_span span;
	struct run_result *r = sample("a", 8), *none = sample_run("b", 3, 1);
	const struct run_result *const runs[] = { r }, *const jobs[] = { none };
	struct sbuf b = { 0 };
	ok(figure_data_latency(&b, runs, 1, &span) && strstr(sbuf_text(&b), "$data << EOD\n0.333333333 0\n0.333333333 0.125\n"
									    "0.333333333 0.25\n\n\nEOD\n"),
		"latency-cdf: shares are of all requests");
	sbuf_clear(&b);
	/* Requests 1 to 7 have outputs; requests 2, 4 and 6 have a first token. */
	ok(figure_data_ttft(&b, runs, 1, &span) && strstr(sbuf_text(&b), " 0.428571429\n\n\nEOD\n"),
		"ttft-cdf: shares are of the requests with tokens");
	sbuf_clear(&b);
	ok(!figure_data_latency(&b, jobs, 1, &span) && !figure_data_ttft(&b, jobs, 1, &span) && !b.len,
		"results of jobs have neither of these figures");
	sbuf_free(&b);
	result_free(r);
	result_free(none);
}

static void table(void)
{
	struct run_result *r = sample("one", 4), *s = sample("two", 4);
	const struct run_result *const runs[] = { r, s };
	struct sbuf b = { 0 };
	r->n_metrics = s->n_metrics = 0;
	for (int i = 0; i < 2; i++) {
		struct run_result *x = i ? s : r;
		x->is_oracle = false;
		result_metric(x, "requests_completed", 4, NAN, NAN);
		result_metric(x, "completion_mean", i ? 0.02 : 0.04, NAN, NAN);
		result_metric(x, "sample_completion_mean", i ? 0.02 : 0.03, NAN, NAN);
		result_metric(x, "throughput", 25, NAN, NAN);
		result_metric(x, "goodput", 25, NAN, NAN);
		result_metric(x, "requests_refused", i, NAN, NAN);
		result_note(x, "cost-source", "made up");
	}
	result_metric(s, "completion_diff", -0.02, -0.03, -0.01);
	result_metric(s, "base_completion_diff", 0.04, NAN, NAN);
	result_metric(s, "ratio_completion_mean", 2, 1.9, 2.1);
	report_table(&b, runs, 2, NULL, (struct report_style){ 0 });
	same_text(sbuf_text(&b),
		"policy  completed  requests/s  end-to-end mean  per sample\n"
		"one             4          25            40 ms       30 ms\n"
		"two             4          25            20 ms       20 ms\n"
		"\nmean end-to-end time against one, request by request:\n"
		"  two     -20 ms [-30, -10]  -50.0 %\n"
		"\nmean end-to-end time of one / that of each policy, over all replications:\n"
		"  two     2.000 [1.900, 2.100]\n"
		"two: requests not completed: refused 1\n"
		"times of models: made up\n",
		"the table: columns that repeat another are left out");
	sbuf_free(&b);
	result_free(r);
	result_free(s);
}

int main(void)
{
	if (!mkdtemp(dir))
		return 1;
	rows();
	views();
	older_file();
	csv();
	curves();
	table();
	unlink(in_dir("rows.db"));
	unlink(in_dir("views.db"));
	unlink(in_dir("older.db"));
	rmdir(dir);
	return done();
}
