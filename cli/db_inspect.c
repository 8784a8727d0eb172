/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/db_inspect.h"

#include "base/mem.h"
#include "base/utf8.h"
#include "results/columns.h"
#include "results/failed.h"
#include "results/inspect.h"

#include <cjson/cJSON.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Prints a text that may contain control characters. */
static void print_text(const char *text)
{
	fputs(utf8_shown(text), stdout);
}

/* Prints a number in 16 columns, which stay empty without a value. */
static void print_real(double x)
{
	if (isnan(x))
		printf("%16s", "");
	else
		printf("%16.9g", x);
}

/* ---- show ---- */

static void print_path(const char *path, const cJSON *value)
{
	if (cJSON_IsObject(value) && value->child) {
		for (const cJSON *m = value->child; m; m = m->next) {
			struct sbuf longer = { 0 };
			sbuf_printf(&longer, "%s%s%s", path, *path ? "." : "", m->string);
			print_path(sbuf_text(&longer), m);
			sbuf_free(&longer);
		}
		return;
	}
	char *text = cJSON_IsString(value) && *value->valuestring ? NULL : cJSON_PrintUnformatted(value);
	printf("  %-28s ", utf8_shown(path));
	print_text(text ? text : value->valuestring);
	putchar('\n');
	cJSON_free(text);
}

static void print_scenario(const char *text)
{
	cJSON *o = cJSON_Parse(text);
	puts("\nscenario");
	if (o)
		print_path("", o);
	else {
		fputs("  ", stdout);
		print_text(text);
		putchar('\n');
	}
	cJSON_Delete(o);
}

static void print_metrics(const struct run_result *r)
{
	printf("\n%-28s %16s  %16s %16s\n", "metric", "value", "95 % from", "to");
	for (size_t i = 0; i < r->n_metrics; i++) {
		const struct metric *m = &r->metrics[i];
		printf("%-28s ", utf8_shown(m->name));
		print_real(m->value);
		if (!isnan(m->ci_low))
			printf("  %16.9g %16.9g", m->ci_low, m->ci_high);
		putchar('\n');
	}
}

/* Notes are events at time 0 with subject 0 and a text. */
static bool is_note(const struct event_row *e)
{
	return !e->time_ns && !e->subject && e->detail;
}

static void print_notes(const struct run_result *r)
{
	bool has_title = false;
	for (size_t i = 0; i < r->n_events; i++) {
		if (!is_note(&r->events[i]))
			continue;
		if (!has_title)
			puts("\nnotes");
		has_title = true;
		printf("  %-12s ", utf8_shown(r->events[i].kind));
		print_text(r->events[i].detail);
		putchar('\n');
	}
}

static void print_rows(const struct run_result *r)
{
	printf("rows      %" PRIu64 " simulated; stored:", r->rows_total);
	for (size_t i = 0; i < n_row_tables; i++)
		if (rows_count(&row_tables[i], r))
			printf(" %s %zu", row_tables[i].name, rows_count(&row_tables[i], r));
	size_t points = 0;
	for (size_t i = 0; i < r->n_series; i++)
		points += r->series[i].n;
	if (r->n_series)
		printf(" series %zu (%zu points)", r->n_series, points);
	putchar('\n');
}

static int show_run(struct store *s, const char *file, int64_t run, struct orr_error *err)
{
	struct run_result *r;
	int code = store_read_run(s, run, &r, err);
	if (code)
		return code;
	if (!r)
		return orr_fail(err, ORR_EINPUT, "%s: no run %" PRId64 ": expected a run that 'orrery db runs' lists", file, run);
	printf("run       %" PRId64 "\nlabel     %s\npolicy    ", run, utf8_shown(r->label));
	print_text(r->policy);
	printf("%s\nworld     %s\nseed      %s\nhash      %s\n", r->is_oracle ? " (oracle)" : "", utf8_shown(r->world),
		utf8_shown(r->seed_text), utf8_shown(r->hash));
	print_rows(r);
	printf("time      %.3g s wall, %.3g s CPU\n", r->wall_s, r->cpu_s);
	print_metrics(r);
	print_notes(r);
	print_scenario(r->scenario);
	result_free(r);
	return ORR_OK;
}

/* Runs of one world and label. */
struct group {
	const struct stored_run *first;
	size_t n;
	uint64_t rows;
};

static int by_world(const void *x, const void *y)
{
	const struct stored_run *a = x, *b = y;
	int order = strcmp(a->world, b->world);
	if (!order)
		order = strcmp(a->label, b->label);
	return order ? order : (a->run > b->run) - (a->run < b->run);
}

static void print_group(const struct group *g)
{
	printf("%-8s ", utf8_shown(g->first->world));
	printf("%-24s %10zu %14" PRIu64 "\n", utf8_shown(g->first->label), g->n, g->rows);
}

static int print_failures(struct store *s, struct orr_error *err)
{
	struct failed_runs f = { 0 };
	int code = failed_runs_read(s, &f, err);
	if (!code && f.n)
		printf("\nfailed runs, which orrery sweep repeats with --retry: %zu\n", f.n);
	for (size_t i = 0; i < f.n; i++) {
		printf("%s, %s: ", utf8_shown(f.list[i].point), utf8_shown(f.list[i].label));
		print_text(f.list[i].error);
		printf(f.list[i].tries > 1 ? " (%" PRId64 " tries)\n" : "\n", f.list[i].tries);
	}
	failed_runs_free(&f);
	return code;
}

static int show_file(struct store *s, const char *file, struct orr_error *err)
{
	struct store_info info;
	struct stored_run *list;
	size_t n;
	int code = store_info(s, &info, err);
	if (!code)
		code = store_list(s, &list, &n, err);
	if (code)
		return code;
	printf("file      %s\nschema    %d\nsize      %" PRId64 " bytes, of which %" PRId64 " are free\nruns      %" PRId64 "\n", file,
		info.schema, info.bytes, info.free_bytes, info.runs);
	if (info.bases)
		printf("scenarios %" PRId64 " base scenarios, to which the runs refer with overrides\n", info.bases);
	if (n) {
		qsort(list, n, sizeof *list, by_world);
		printf("\n%-8s %-24s %10s %14s\n", "world", "label", "runs", "rows");
	}
	struct group g = { 0 };
	for (size_t i = 0; i < n; i++) {
		if (g.first && (strcmp(list[i].world, g.first->world) != 0 || strcmp(list[i].label, g.first->label) != 0)) {
			print_group(&g);
			g = (struct group){ 0 };
		}
		g.first = g.first ? g.first : &list[i];
		g.n++;
		g.rows += list[i].rows_total;
	}
	if (g.first)
		print_group(&g);
	store_list_free(list, n);
	return print_failures(s, err);
}

int db_show(struct store *s, const char *file, int64_t run, struct orr_error *err)
{
	return run ? show_run(s, file, run, err) : show_file(s, file, err);
}

/* ---- check ---- */

static void print_finding(void *ctx, const char *finding)
{
	(void)ctx;
	print_text(finding);
	putchar('\n');
}

int db_check(struct store *s, const char *file, struct orr_error *err)
{
	struct store_info info = { 0 };
	struct orr_error ignored = { 0 };
	size_t n;
	int code = store_check(s, print_finding, NULL, &n, err);
	if (code)
		return code;
	if (n)
		return orr_fail(err, ORR_EFAIL,
			"%s: the database is damaged (%zu findings): expected an undamaged file ('sqlite3 FILE .recover' may recover some "
			"of the contents)",
			file, n);
	store_info(s, &info, &ignored);
	printf("%s: %" PRId64 " runs, no damage%s\n", file, info.runs,
		info.bases || !info.runs ? "" : "; a file of an older schema has no checksums");
	return ORR_OK;
}

/* ---- diff ---- */

/* A metric that differs between two runs. */
struct change {
	const char *name;
	double a, b; /* NaN: missing or undefined */
	double size; /* |b - a| relative to the larger of both; INFINITY: only one has the metric */
};

static int by_size(const void *x, const void *y)
{
	const struct change *a = x, *b = y;
	if (a->size != b->size)
		return a->size > b->size ? -1 : 1;
	return strcmp(a->name, b->name);
}

static bool same_real(double a, double b)
{
	return a == b || (isnan(a) && isnan(b));
}

static struct change change_of(const char *name, double a, double b)
{
	double largest = fmax(fabs(a), fabs(b));
	return (struct change){ name, a, b, isnan(a) || isnan(b) ? INFINITY : largest > 0 ? fabs(b - a) / largest : 0 };
}

static void print_change(const struct change *c)
{
	printf("    %-26s ", c->name);
	print_real(c->a);
	putchar(' ');
	print_real(c->b);
	if (isfinite(c->size))
		printf(" %+14.6g (%+.3g %%)", c->b - c->a, c->a != 0 ? 100 * (c->b - c->a) / fabs(c->a) : (double)INFINITY);
	putchar('\n');
}

static void print_changes(const struct run_result *a, const struct run_result *b)
{
	struct change *list = mem_zalloc(a->n_metrics + b->n_metrics + 1, sizeof *list);
	size_t n = 0, intervals = 0;
	for (size_t i = 0; i < a->n_metrics; i++) {
		const struct metric *x = &a->metrics[i], *y = result_find(b, x->name);
		if (!y || !same_real(x->value, y->value))
			list[n++] = change_of(x->name, x->value, y ? y->value : NAN);
		else
			intervals += !same_real(x->ci_low, y->ci_low) || !same_real(x->ci_high, y->ci_high);
	}
	for (size_t i = 0; i < b->n_metrics; i++)
		if (!result_find(a, b->metrics[i].name))
			list[n++] = change_of(b->metrics[i].name, NAN, b->metrics[i].value);
	if (n)
		qsort(list, n, sizeof *list, by_size);
	if (n)
		printf("    %-26s %16s %16s %14s\n", "metric", "A", "B", "B - A");
	for (size_t i = 0; i < n; i++)
		print_change(&list[i]);
	if (intervals)
		printf("    %zu metrics have equal values but different intervals\n", intervals);
	mem_free(list);
}

static int print_difference(struct store *a, struct store *b, const struct diff_run *d, struct orr_error *err)
{
	printf("run %" PRId64 " of A, run %" PRId64 " of B: ", d->run[0], d->run[1]);
	print_text(d->label);
	printf("%s: different %s\n", d->is_other_build ? " (same scenario, different hash)" : "", d->tables);
	if (!strstr(d->tables, "metrics"))
		return ORR_OK;
	struct run_result *x = NULL, *y = NULL;
	int code = store_read_run(a, d->run[0], &x, err);
	if (!code)
		code = store_read_run(b, d->run[1], &y, err);
	if (x && y)
		print_changes(x, y);
	result_free(x);
	result_free(y);
	return code;
}

static void print_only(const struct diff_run *d)
{
	printf("only in %c: run %" PRId64 ": ", d->run[0] ? 'A' : 'B', d->run[0] ? d->run[0] : d->run[1]);
	print_text(d->label);
	fputs(", seed ", stdout);
	print_text(d->seed_text);
	printf(", hash %.12s\n", utf8_shown(d->hash));
}

static int print_diff(struct store *a, struct store *b, const struct diff *d, struct orr_error *err)
{
	size_t n[3] = { 0 };
	int code = ORR_OK;
	for (size_t i = 0; !code && i < d->n; i++) {
		n[d->run[i].tables ? 2 : d->run[i].run[0] ? 0 : 1]++;
		if (d->run[i].tables)
			code = print_difference(a, b, &d->run[i], err);
		else
			print_only(&d->run[i]);
	}
	if (code)
		return code;
	printf("%zu runs are equal, %zu differ, %zu are only in A, %zu only in B\n", d->n_same, n[2], n[0], n[1]);
	return d->n ? orr_fail(err, ORR_EFAIL, "the databases differ: expected equal runs") : ORR_OK;
}

int db_diff(const char *file_a, const char *file_b, struct orr_error *err)
{
	struct store *a = store_open_readonly(file_a, err), *b = a ? store_open_readonly(file_b, err) : NULL;
	struct diff d = { 0 };
	int code = a && b ? store_diff(a, b, &d, err) : err->code;
	if (!code)
		code = print_diff(a, b, &d, err);
	diff_free(&d);
	store_close(a, NULL);
	store_close(b, NULL);
	return code;
}

/* ---- vacuum ---- */

static int64_t size_of(const char *file)
{
	struct stat st;
	return stat(file, &st) ? 0 : (int64_t)st.st_size;
}

int db_vacuum(const char *file, struct orr_error *err)
{
	struct store *s = store_open_readonly(file, err); /* a missing file must not be created */
	if (!s)
		return err->code;
	store_close(s, NULL);
	int64_t before = size_of(file);
	s = store_open(file, NULL, err);
	if (!s)
		return err->code;
	struct orr_error on_close = { 0 };
	int code = store_vacuum(s, err);
	int closed = store_close(s, code ? &on_close : err);
	if (!code && !closed)
		printf("%s: %" PRId64 " bytes before, %" PRId64 " after\n", file, before, size_of(file));
	return code ? code : closed;
}
