/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "results/store.h"

#include "base/mem.h"
#include "base/sbuf.h"
#include "results/columns.h"
#include "results/db.h"
#include "results/digest.h"
#include "results/lists.h"
#include "results/scenarios.h"

#include "config.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const char doing[] = "storing a run";

enum { USUAL_CHECKSUM = 72 }; /* length of the checksum of a run with metrics and events, in bytes */

/* Shared state of the write_ functions: one transaction on one store. */
struct writer {
	struct store *s;
	const struct run_result *r;
	int64_t run;
	struct digest_sums sums;
	struct orr_error *err;
};

static int delete_run(struct writer *w, int64_t run)
{
	static const char doing_it[] = "replacing a run";
	static const char *const fixed[] = { "series", "series_points", "runs" };
	char sql[96];
	int code = ORR_OK;
	for (size_t i = 0; !code && i < n_row_tables; i++) {
		const struct row_table *t = &row_tables[i];
		if (t->key == KEY_PACKED)
			sqlite3_snprintf(sizeof sql, sql, "DELETE FROM %s WHERE key BETWEEN %lld AND %lld", t->name,
				(long long)db_row_key(run, 0), (long long)db_row_key(run, UINT32_MAX));
		else
			sqlite3_snprintf(sizeof sql, sql, "DELETE FROM %s WHERE run = %lld", t->stored, (long long)run);
		code = db_exec(w->s, sql, doing_it, w->err);
	}
	for (size_t i = 0; !code && i < sizeof fixed / sizeof *fixed; i++) {
		sqlite3_snprintf(sizeof sql, sql, "DELETE FROM %s WHERE run = %lld", fixed[i], (long long)run);
		code = db_exec(w->s, sql, doing_it, w->err);
	}
	return code;
}

static int write_run(struct writer *w)
{
	const struct run_result *r = w->r;
	sqlite3_stmt *st;
	struct sbuf overrides = { 0 };
	int64_t base;
	int code = scenarios_put(w->s, r->scenario ? r->scenario : "", &base, &overrides, w->err);
	if (!code)
		code = db_statement(w->s, DB_INSERT_RUN,
			"INSERT INTO runs(hash, label, policy, world, is_oracle, seed, version, rows_total, wall_s, cpu_s, host, "
			"created_at,"
			" base, overrides, checksum) VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,zeroblob(?))",
			doing, &st, w->err);
	if (code) {
		sbuf_free(&overrides);
		return code;
	}
	char host[256] = "", created[32] = "";
	gethostname(host, sizeof host - 1);
	time_t now = time(NULL);
	struct tm utc;
	strftime(created, sizeof created, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &utc));
	const char *texts[] = { r->hash, r->label, r->policy, r->world, NULL, r->seed_text, PACKAGE_VERSION };
	for (int i = 0; i < 7; i++)
		if (i != 4)
			db_bind_text(st, i + 1, texts[i] ? texts[i] : "");
	sqlite3_bind_int(st, 5, r->is_oracle);
	sqlite3_bind_int64(st, 8, (int64_t)r->rows_total);
	sqlite3_bind_double(st, 9, r->wall_s);
	sqlite3_bind_double(st, 10, r->cpu_s);
	db_bind_text(st, 11, host);
	db_bind_text(st, 12, created);
	sqlite3_bind_int64(st, 13, base);
	db_bind_text(st, 14, overrides.len ? sbuf_text(&overrides) : NULL);
	sqlite3_bind_int(st, 15, USUAL_CHECKSUM); /* the checksum replaces these bytes in place */
	code = db_run(w->s, st, doing, w->err);
	sbuf_free(&overrides);
	w->run = sqlite3_last_insert_rowid(w->s->db);
	return code;
}

static void bind_cell(sqlite3_stmt *st, int at, const struct column *c, const char *row)
{
	struct cell x = column_cell(c, row);
	if (x.kind == CELL_INTEGER)
		sqlite3_bind_int64(st, at, x.integer);
	else if (x.kind == CELL_REAL)
		sqlite3_bind_double(st, at, x.real);
	else
		db_bind_text(st, at, x.text);
}

/* Prepares "INSERT INTO t(key, ..) VALUES(?, ..)" for the key, then the stored columns except the number of a packed key. */
static int prepare_insert(struct writer *w, const struct row_table *t, sqlite3_stmt **st)
{
	*st = w->s->statement[DB_INSERT_ROWS + (t - row_tables)];
	if (*st)
		return ORR_OK;
	struct sbuf sql = { 0 };
	sbuf_printf(&sql, "INSERT INTO %s(%s", t->name, t->key == KEY_PACKED ? "key" : t->key == KEY_POSITION ? "run, position" : "run");
	int values = t->key == KEY_POSITION ? 2 : 1;
	for (size_t i = 0; i < t->n_columns; i++) {
		const struct column *c = &t->columns[i];
		if (!column_is_stored(c) || (t->key == KEY_PACKED && c->type == COLUMN_NUMBER))
			continue;
		sbuf_printf(&sql, ", %s", c->name);
		values++;
	}
	sbuf_puts(&sql, ") VALUES(?");
	for (int i = 1; i < values; i++)
		sbuf_puts(&sql, ",?");
	sbuf_putc(&sql, ')');
	int code = db_statement(w->s, DB_INSERT_ROWS + (int)(t - row_tables), sbuf_text(&sql), doing, st, w->err);
	sbuf_free(&sql);
	return code;
}

static int write_row(struct writer *w, const struct row_table *t, sqlite3_stmt *st, size_t i)
{
	const char *row = rows_get(t, w->r, i);
	int at = 1;
	uint64_t number = t->columns[0].type == COLUMN_NUMBER ? *(const uint64_t *)(const void *)(row + t->columns[0].at) : 0;
	if (t->key == KEY_PACKED && number > UINT32_MAX)
		return orr_fail(w->err, ORR_EFAIL, "%s: number %llu in %s: expected at most 2^32 %s in a run", w->s->path,
			(unsigned long long)number, t->name, t->name);
	sqlite3_bind_int64(st, at++, t->key == KEY_PACKED ? db_row_key(w->run, number) : w->run);
	if (t->key == KEY_POSITION)
		sqlite3_bind_int64(st, at++, (int64_t)i);
	for (size_t k = t->key == KEY_PACKED; k < t->n_columns; k++)
		if (column_is_stored(&t->columns[k]))
			bind_cell(st, at++, &t->columns[k], row);
	return db_run(w->s, st, doing, w->err);
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Adds rows to the checksum in order of their first column, a name: the rows begin with the pointers by which they are sorted. */
static void add_named(struct writer *w, const struct row_table *t, size_t n)
{
	const char **order = mem_alloc(n * 2 * sizeof *order);
	for (size_t i = 0; i < n; i++) {
		const char *row = rows_get(t, w->r, i);
		memcpy(&order[2 * i], row + t->columns[0].at, sizeof *order);
		order[2 * i + 1] = row;
	}
	qsort(order, n, 2 * sizeof *order, by_name);
	for (size_t i = 0; i < n; i++)
		digest_add_row(&w->sums, t, order[2 * i + 1]);
	mem_free(order);
}

/* Adds the rows of a table to its checksum if it is known in which order SQLite returns them. */
static void add_sums(struct writer *w, const struct row_table *t, size_t n)
{
	bool is_numbered = t->key == KEY_PACKED || (t->key == KEY_FIRST && t->columns[0].type == COLUMN_NUMBER);
	uint64_t last = 0;
	if (t->key == KEY_FIRST && t->columns[0].type == COLUMN_NAME)
		add_named(w, t, n);
	if (t->key == KEY_FIRST && !is_numbered)
		return;
	for (size_t i = 0; i < n; i++) {
		const char *row = rows_get(t, w->r, i);
		uint64_t number = is_numbered ? *(const uint64_t *)(const void *)(row + t->columns[0].at) : i;
		if (i && number <= last) {
			digest_forget(&w->sums, t);
			return;
		}
		last = number;
		digest_add_row(&w->sums, t, row);
	}
}

static int write_rows(struct writer *w, const struct row_table *t)
{
	size_t n = rows_count(t, w->r);
	sqlite3_stmt *st;
	if (n && t->key == KEY_LISTED)
		return lists_write(w->s, t, w->r, w->run, digest_add_list, &w->sums, w->err);
	int code = n ? prepare_insert(w, t, &st) : ORR_OK;
	if (code || !n)
		return code;
	for (size_t i = 0; !code && i < n; i++)
		code = write_row(w, t, st, i);
	if (!code)
		add_sums(w, t, n);
	return code;
}

static int write_points(struct writer *w, sqlite3_stmt *st, size_t number)
{
	const struct series *s = &w->r->series[number];
	int code = ORR_OK;
	sqlite3_bind_int64(st, 1, w->run);
	sqlite3_bind_int64(st, 2, (int64_t)number);
	for (size_t i = 0; !code && i < s->n; i++) {
		sqlite3_bind_int64(st, 3, (int64_t)i);
		sqlite3_bind_int64(st, 4, s->time_ns[i]);
		sqlite3_bind_double(st, 5, s->value[i]);
		digest_add_point(&w->sums, number, s->time_ns[i], s->value[i]);
		code = db_run(w->s, st, doing, w->err);
	}
	return code;
}

static int write_series(struct writer *w)
{
	sqlite3_stmt *names, *points = NULL;
	int code = db_statement(w->s, DB_INSERT_SERIES, "INSERT INTO series VALUES(?,?,?)", doing, &names, w->err);
	if (!code)
		code = db_statement(w->s, DB_INSERT_POINT, "INSERT INTO series_points VALUES(?,?,?,?,?)", doing, &points, w->err);
	for (size_t i = 0; !code && i < w->r->n_series; i++) {
		sqlite3_bind_int64(names, 1, w->run);
		sqlite3_bind_int64(names, 2, (int64_t)i);
		db_bind_text(names, 3, w->r->series[i].name);
		digest_add_series(&w->sums, w->r->series[i].name);
		code = db_run(w->s, names, doing, w->err);
		if (!code)
			code = write_points(w, points, i);
	}
	return code;
}

/* Writes the run. The caller holds an open transaction. */
static int write_all(struct writer *w)
{
	int64_t old;
	int code = store_find_run(w->s, w->r->hash ? w->r->hash : "", w->r->label ? w->r->label : "", &old, w->err);
	if (code || (old && !w->s->replaces))
		return code; /* equal hashes mean equal contents: keeps the stored run */
	if (old)
		code = delete_run(w, old);
	if (!code)
		code = write_run(w);
	for (size_t i = 0; !code && i < n_row_tables; i++)
		code = write_rows(w, &row_tables[i]);
	if (!code)
		code = write_series(w);
	if (!code)
		code = digest_set_checksum(w->s, w->run, w->r, &w->sums, w->err);
	digest_sums_free(&w->sums);
	return code;
}

static int write_runs(struct store *s, const struct run_result *const *r, size_t n, struct orr_error *err)
{
	int code = db_exec(s, "BEGIN IMMEDIATE", doing, err);
	if (code)
		return code;
	for (size_t i = 0; !code && i < n; i++)
		code = write_all(&(struct writer){ .s = s, .r = r[i], .err = err });
	if (!code)
		code = db_exec(s, "COMMIT", doing, err);
	if (code)
		db_rollback(s);
	return code;
}

/* The write-ahead log doubles the bytes that are written. A rollback journal has only the pages that change, so long runs, which mostly add
 * pages, use it if no other process has the database open. It takes more syncs, which short runs would notice. */
static bool is_long(const struct store *s, const struct run_result *const *r, size_t n)
{
	size_t rows = 0;
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < n_row_tables; k++)
			rows += rows_count(&row_tables[k], r[i]);
	return rows >= s->long_rows;
}

int store_write_all(struct store *s, const struct run_result *const *r, size_t n, struct orr_error *err)
{
	if (s->is_readonly)
		return db_fail(s, SQLITE_READONLY, doing, err);
	bool has_journal = is_long(s, r, n) && db_use_log(s, false);
	int code = write_runs(s, r, n, err);
	if (has_journal)
		db_use_log(s, true);
	return code;
}

int store_write(struct store *s, const struct run_result *r, struct orr_error *err)
{
	return store_write_all(s, &r, 1, err);
}
