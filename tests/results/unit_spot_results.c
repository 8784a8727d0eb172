/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Results of the spot world: version 4 of the database schema, its views, LABEL.nodes.csv and LABEL.accounts.csv, and the data of its
 * charts.
 */
#include "results/report.h"
#include "results/store.h"

#include "base/mem.h"
#include "base/sbuf.h"
#include "plots/chart.h"
#include "tests/results/sample_run.h"
#include "tests/tap.h"

#include <math.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <unistd.h>

static char dir[] = "/tmp/orrery-spot-results.XXXXXX";

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
	r->world = mem_strdup("spot");
	r->rows_total = n;
	sample_add_spot(r, n);
	return r;
}

/* Runs the SQL text. Returns the first column of its first row as text. */
static void ask(const char *path, const char *query, const char *want, const char *what)
{
	sqlite3 *db;
	sqlite3_stmt *st = NULL;
	sqlite3_open(path, &db);
	int rc = sqlite3_prepare_v2(db, query, -1, &st, NULL);
	if (!rc)
		rc = sqlite3_step(st);
	if (want)
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
	char first[65], second[65], third[65];
	const char *path = in_dir("rows.db");
	struct run_result *a = sample("a", 25), *b = sample("b", 9), *back = NULL;
	struct store *s = store_open(path, NULL, &err);
	ok(s && !store_write(s, a, &err) && !store_write(s, b, &err), "runs with instances and accounts are stored");
	ok(!store_read(s, a->hash, "a", &back, &err) && back && same_run(a, back) && back->n_nodes == 25,
		"instances and accounts are read back bit for bit");
	result_free(back);
	a->nodes[24].usd += 1e-12;
	ok(!store_read(s, b->hash, "b", &back, &err) && back && !same_run(a, back) && same_run(b, back),
		"the instances and accounts of each run are kept apart");
	result_free(back);
	store_replace_existing(s, true);
	a->n_nodes = 3;
	a->n_accounts = 2;
	ok(!store_write(s, a, &err) && !store_read(s, a->hash, "a", &back, &err) && back && same_run(a, back),
		"a run with instances and accounts is replaced");
	result_free(back);
	ok(!store_read(s, b->hash, "b", &back, &err) && back && same_run(b, back), "replacing a run leaves the rows of other runs");
	result_free(back);
	store_close(s, &err);
	digest(path, first);
	ask(path, "UPDATE nodes SET ready = ready + 1 WHERE run = 2 AND position = 1", NULL, NULL);
	digest(path, second);
	ask(path, "UPDATE nodes SET ready = ready - 1 WHERE run = 2 AND position = 1", NULL, NULL);
	digest(path, third);
	ok(strlen(first) == 64 && !*second && !strcmp(first, third), "the checksum of a run covers instances");
	ask(path, "UPDATE accounts SET usd = usd + 1e-9 WHERE run = 2 AND position = 1", NULL, NULL);
	digest(path, second);
	ok(!*second, "the checksum of a run covers accounts");
	/* Row 4 of the sample is at 6 s; its third account has 1/3 h. */
	ask(path, "SELECT time_s || ' ' || live || ' ' || in_use FROM nodes_s WHERE label = 'b' AND position = 4", "6.0 7 4",
		"nodes_s is in seconds");
	ask(path, "SELECT printf('%.6f %.1f', node_h, usd) FROM accounts_h WHERE label = 'b' AND account = 'idle'", "0.333333 7.0",
		"accounts_h in hours");
	result_free(a);
	result_free(b);
}

static void take(void)
{
	struct run_result *whole = result_new(), *part = sample("part", 4);
	size_t metrics = part->n_metrics;
	result_take(whole, part, "spot.");
	result_free(part);
	ok(whole->n_metrics == metrics && whole->n_nodes == 4 && whole->nodes[3].live == 6,
		"the instances of a part become rows of the whole");
	same_text(whole->accounts[2].account, "idle", "the accounts of a part become rows of the whole, and their names remain valid");
	result_free(whole);
}

static char *contents(const char *name)
{
	struct sbuf b = { 0 };
	FILE *f = fopen(in_dir(name), "rb");
	for (int c; f && (c = getc(f)) != EOF;)
		sbuf_putc(&b, (char)c);
	if (f)
		fclose(f);
	return sbuf_steal(&b);
}

static void csv(void)
{
	struct orr_error err = { 0 };
	struct run_result *r = sample("a", 3);
	const struct run_result *const runs[] = { r };
	size_t n_series = r->n_series;
	r->n_series = 0;
	ok(!report_out_dir(dir, runs, 1, &err), "CSV files are written");
	r->n_series = n_series;
	char *nodes = contents("a.nodes.csv"), *accounts = contents("a.accounts.csv");
	same_text(nodes,
		"time_s,live,ready,in_use,usd\n0.000000000,3,2,0,0\n1.500000000,4,3,1,0.33333333333333331\n3.000000000,5,4,2,0."
		"66666666666666663\n",
		"LABEL.nodes.csv has the instances at each time");
	same_text(accounts,
		"account,node_s,usd\nuseful,3600,7\n\"with \"\"quotes\"\", and a comma\",1800,0.10000000000000001\nidle,1200,7\n",
		"LABEL.accounts.csv has the accounts, quoted where required");
	ok(access(in_dir("a.iterations.csv"), F_OK) == 0 && access(in_dir("a.jobs.csv"), F_OK) != 0,
		"steps are written, and no files of other worlds");
	mem_free(nodes);
	mem_free(accounts);
	result_free(r);
}

/* Prints the table: shares in per cent, ratios to the first run. */
static void table(void)
{
	struct run_result *r[2] = { result_new(), result_new() };
	const struct run_result *const runs[] = { r[0], r[1] };
	struct sbuf out = { 0 };
	for (int i = 0; i < 2; i++) {
		r[i]->label = mem_strdup(i ? "second" : "first");
		r[i]->world = mem_strdup("spot");
		result_metric(r[i], "samples_per_s", i ? 30 : 60, NAN, NAN);
		result_metric(r[i], "useful_part", 0.25, 0.24, 0.26);
		result_metric(r[i], "is_complete", i ? 0.5 : 1, NAN, NAN);
	}
	result_metric(r[1], "replications", 8, NAN, NAN);
	result_metric(r[1], "ratio_samples_per_s", 2, 1.6, 2.5);
	result_metric(r[1], "ratio_value", 4, NAN, NAN);
	report_table(&out, runs, 2, NULL, (struct report_style){ 0 });
	same_text(sbuf_text(&out),
		"policy  samples/s    useful\n"
		"first          60  25 ± 1 %\n"
		"second         30  25 ± 1 %\n"
		"\nagainst first:\n"
		"  second  throughput 0.500 [0.400, 0.625]  value 0.250\n"
		"second: the job is not complete in 4 of 8 replications\n",
		"a table of the spot world");
	sbuf_free(&out);
	result_free(r[0]);
	result_free(r[1]);
}

/* A piece begins where the piece below ends; NaN has zero height. */
static void stacked(void)
{
	static const struct chart_point useful[] = { { 0, 2, NAN, NAN }, { 0, 5, NAN, NAN } },
					idle[] = { { 0, 1, NAN, NAN }, { 0, NAN, NAN, NAN } },
					wasted[] = { { 0, 0.5, NAN, NAN }, { 0, 1, NAN, NAN } };
	static const char *const names[] = { "a", "b" };
	const struct chart_series series[] = { { "useful", useful, 2, false }, { "idle", idle, 2, false }, { "wasted", wasted, 2, false } };
	struct chart c = { .file = "x",
		.kind = CHART_STACKED,
		.x_label = "",
		.y_label = "h",
		.y_min = NAN,
		.y_max = NAN,
		.category = names,
		.n_categories = 2,
		.series = series,
		.n_series = 3 };
	struct album a = { 0 };
	struct orr_error err = { 0 };
	ok(!chart_add(&a, &c, &err), "a stack is drawn");
	ok(strstr(sbuf_text(&a.script),
		   "$data << EOD\n1 2 0 2 \n2 5 0 5 \n\n\n1 1 2 3 \n2 NaN 5 5 \n\n\n1 0.5 3 3.5 \n2 1 5 6 \n\n\nEOD\n") != NULL,
		"position, size, from and to of each piece");
	album_free(&a);
}

int main(void)
{
	if (!mkdtemp(dir))
		return 1;
	rows();
	take();
	csv();
	table();
	stacked();
	char command[160];
	snprintf(command, sizeof command, "rm -rf %s", dir);
	return done() || system(command);
}
