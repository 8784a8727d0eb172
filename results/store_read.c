/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "results/store.h"

#include "base/mem.h"
#include "results/columns.h"
#include "results/db.h"
#include "results/lists.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char doing[] = "reading a run";

/* State while one run is read. */
struct reader {
	const struct store *s;
	struct run_result *r;
	int64_t run;
	size_t cap; /* capacity of the array that is being filled */
	struct orr_error *err;
};

static const char *text_at(sqlite3_stmt *st, int column)
{
	return (const char *)sqlite3_column_text(st, column);
}

static char *copy_at(sqlite3_stmt *st, int column)
{
	const char *s = text_at(st, column);
	return mem_strdup(s ? s : "");
}

static void take_run(struct reader *d, sqlite3_stmt *st)
{
	struct run_result *r = d->r;
	r->hash = copy_at(st, 0);
	r->label = copy_at(st, 1);
	r->policy = copy_at(st, 2);
	r->world = copy_at(st, 3);
	r->is_oracle = sqlite3_column_int(st, 4) != 0;
	r->scenario = copy_at(st, 5);
	r->seed_text = copy_at(st, 6);
	r->rows_total = (uint64_t)sqlite3_column_int64(st, 7);
	r->wall_s = sqlite3_column_double(st, 8);
	r->cpu_s = sqlite3_column_double(st, 9);
}

static void take_cell(struct run_result *r, sqlite3_stmt *st, int at, const struct column *c, char *row)
{
	void *cell = row + c->at;
	switch (c->type) {
	case COLUMN_ID:
	case COLUMN_TEXT:
	case COLUMN_NAME: {
		const char *text = result_text(r, text_at(st, at));
		memcpy(cell, &text, sizeof text);
		break;
	}
	case COLUMN_TIME:
		*(int64_t *)cell = db_column_time(st, at);
		break;
	case COLUMN_NUMBER:
	case COLUMN_CLOCK:
	case COLUMN_COUNT64:
		*(int64_t *)cell = sqlite3_column_int64(st, at);
		break;
	case COLUMN_COUNT:
		*(uint32_t *)cell = (uint32_t)sqlite3_column_int64(st, at);
		break;
	case COLUMN_INDEX:
		*(uint32_t *)cell = sqlite3_column_type(st, at) == SQLITE_NULL ? UINT32_MAX : (uint32_t)sqlite3_column_int64(st, at);
		break;
	case COLUMN_REAL:
	case COLUMN_SECONDS:
		*(double *)cell = db_column_real(st, at);
		break;
	case COLUMN_JOB_STATUS:
	case COLUMN_REQUEST_STATUS:
		*(uint8_t *)cell = (uint8_t)sqlite3_column_int(st, at);
		break;
	case COLUMN_DIFF:
	case COLUMN_SQL:
		break;
	}
}

static int read_rows(struct reader *d, const struct row_table *t)
{
	sqlite3_stmt *st;
	int code = lists_select_rows(d->s, t, doing, &st, d->err);
	if (code || !st)
		return code; /* an older schema lacks this table */
	sqlite3_bind_int64(st, 1, d->run);
	char *rows = NULL;
	size_t n = 0, cap = 0;
	int rc;
	while ((rc = db_step(d->s, st, doing, d->err)) == SQLITE_ROW) {
		if (n == cap) {
			cap = cap ? cap * 2 : 16;
			rows = mem_realloc(rows, cap, t->row_size);
		}
		char *row = rows + n++ * t->row_size;
		memset(row, 0, t->row_size);
		int at = 0;
		for (size_t k = 0; k < t->n_columns; k++)
			if (column_is_stored(&t->columns[k]))
				take_cell(d->r, st, at++, &t->columns[k], row);
	}
	sqlite3_finalize(st);
	rows_set(t, d->r, rows, n);
	return rc == SQLITE_DONE ? ORR_OK : ORR_EFAIL;
}

static void take_series(struct reader *d, sqlite3_stmt *st)
{
	struct run_result *r = d->r;
	MEM_GROW(r->series, r->n_series, d->cap);
	r->series[r->n_series++] = (struct series){ .name = result_text(r, text_at(st, 0)) };
}

static void take_point(struct reader *d, sqlite3_stmt *st)
{
	int64_t number = sqlite3_column_int64(st, 0);
	if (number < 0 || (size_t)number >= d->r->n_series)
		return; /* a point without a series: the database was edited */
	struct series *s = &d->r->series[number];
	if (s->n == 0)
		d->cap = 0;
	if (s->n >= d->cap) {
		d->cap = d->cap ? d->cap * 2 : 64;
		s->time_ns = mem_realloc(s->time_ns, d->cap, sizeof *s->time_ns);
		s->value = mem_realloc(s->value, d->cap, sizeof *s->value);
	}
	s->time_ns[s->n] = sqlite3_column_int64(st, 1);
	s->value[s->n++] = db_column_real(st, 2);
}

static const struct part {
	const char *sql; /* query whose only parameter is the run; %s: the whole scenario */
	void (*take)(struct reader *, sqlite3_stmt *);
} parts[] = {
	{ "SELECT hash, label, policy, world, is_oracle, %s, seed, rows_total, wall_s, cpu_s"
	  " FROM runs r WHERE run = ?",
		take_run },
	{ "SELECT name FROM series WHERE run = ? ORDER BY series", take_series },
	{ "SELECT series, time_ns, value FROM series_points WHERE run = ? ORDER BY series, point", take_point },
};

static int read_part(struct reader *d, const struct part *p)
{
	sqlite3_stmt *st;
	char sql[320];
	snprintf(sql, sizeof sql, p->sql, p->take == take_run ? db_scenario_sql(d->s) : "");
	int code = db_prepare(d->s, sql, doing, &st, d->err);
	if (code)
		return code;
	d->cap = 0;
	sqlite3_bind_int64(st, 1, d->run);
	int rc;
	while ((rc = db_step(d->s, st, doing, d->err)) == SQLITE_ROW)
		p->take(d, st);
	sqlite3_finalize(st);
	return rc == SQLITE_DONE ? ORR_OK : ORR_EFAIL;
}

/* Reads a run. The caller holds an open transaction. */
static int read_run(struct store *s, int64_t run, struct run_result **out, struct orr_error *err)
{
	struct reader d = { .s = s, .r = result_new(), .run = run, .err = err };
	int code = ORR_OK;
	for (size_t i = 0; !code && i < sizeof parts / sizeof *parts; i++)
		code = read_part(&d, &parts[i]);
	for (size_t i = 0; !code && i < n_row_tables; i++)
		code = read_rows(&d, &row_tables[i]);
	d.r->cap_metrics = d.r->n_metrics;
	if (!code && d.r->hash) {
		*out = d.r;
		return ORR_OK;
	}
	result_free(d.r);
	return code;
}

int store_find_run(struct store *s, const char *hash, const char *label, int64_t *run, struct orr_error *err)
{
	sqlite3_stmt *st;
	int code = db_statement(s, DB_FIND_RUN, "SELECT run FROM runs WHERE hash = ? AND label = ?", doing, &st, err);
	*run = 0;
	if (code)
		return code;
	db_bind_text(st, 1, hash);
	db_bind_text(st, 2, label);
	int rc = db_step(s, st, doing, err);
	if (rc == SQLITE_ROW)
		*run = sqlite3_column_int64(st, 0);
	sqlite3_reset(st);
	return rc == SQLITE_ROW || rc == SQLITE_DONE ? ORR_OK : ORR_EFAIL;
}

static int find_and_read(struct store *s, const char *hash, const char *label, struct run_result **out, struct orr_error *err)
{
	int64_t run;
	int code = store_find_run(s, hash, label, &run, err);
	return code || !run ? code : read_run(s, run, out, err);
}

int store_read(struct store *s, const char *hash, const char *label, struct run_result **out, struct orr_error *err)
{
	*out = NULL;
	int code = db_exec(s, "BEGIN", doing, err);
	if (code)
		return code;
	code = find_and_read(s, hash, label, out, err);
	db_rollback(s); /* read-only transaction */
	return code;
}

int store_read_run(struct store *s, int64_t run, struct run_result **out, struct orr_error *err)
{
	*out = NULL;
	int code = db_exec(s, "BEGIN", doing, err);
	if (code)
		return code;
	code = read_run(s, run, out, err);
	db_rollback(s);
	return code;
}

static int read_notes(struct reader *d)
{
	sqlite3_stmt *st;
	int code = db_prepare(d->s,
		"SELECT kind, detail FROM events WHERE run = ? AND time_ns = 0 AND subject = 0 AND kind IN ('assumption', 'remark')"
		" ORDER BY position",
		doing, &st, d->err);
	if (code)
		return code;
	sqlite3_bind_int64(st, 1, d->run);
	int rc;
	while ((rc = db_step(d->s, st, doing, d->err)) == SQLITE_ROW)
		result_note(d->r, result_text(d->r, text_at(st, 0)), result_text(d->r, text_at(st, 1)));
	sqlite3_finalize(st);
	return rc == SQLITE_DONE ? ORR_OK : ORR_EFAIL;
}

int store_read_metrics(struct store *s, int64_t run, struct run_result **out, struct orr_error *err)
{
	struct reader d = { .s = s, .r = result_new(), .run = run, .err = err };
	*out = NULL;
	int code = read_part(&d, &parts[0]);
	for (size_t i = 0; !code && i < n_row_tables; i++)
		if (!strcmp(row_tables[i].name, "metrics"))
			code = read_rows(&d, &row_tables[i]);
	d.r->cap_metrics = d.r->n_metrics;
	if (!code)
		code = read_notes(&d);
	if (!code && d.r->hash) {
		*out = d.r;
		return ORR_OK;
	}
	result_free(d.r);
	return code;
}

int store_list(struct store *s, struct stored_run **out, size_t *n, struct orr_error *err)
{
	*out = NULL;
	*n = 0;
	sqlite3_stmt *st;
	int code = db_prepare(s,
		"SELECT run, hash, label, policy, world, is_oracle, seed, version, rows_total,"
		" created_at FROM runs ORDER BY run",
		"listing the runs", &st, err);
	if (code)
		return code;
	size_t cap = 0;
	int rc;
	while ((rc = db_step(s, st, "listing the runs", err)) == SQLITE_ROW) {
		MEM_GROW(*out, *n, cap);
		(*out)[(*n)++] = (struct stored_run){ .run = sqlite3_column_int64(st, 0),
			.hash = copy_at(st, 1),
			.label = copy_at(st, 2),
			.policy = copy_at(st, 3),
			.world = copy_at(st, 4),
			.is_oracle = sqlite3_column_int(st, 5) != 0,
			.seed_text = copy_at(st, 6),
			.version = copy_at(st, 7),
			.rows_total = (uint64_t)sqlite3_column_int64(st, 8),
			.created_at = copy_at(st, 9) };
	}
	sqlite3_finalize(st);
	if (rc == SQLITE_DONE)
		return ORR_OK;
	store_list_free(*out, *n);
	*out = NULL;
	*n = 0;
	return ORR_EFAIL;
}

void store_list_free(struct stored_run *list, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		mem_free(list[i].hash);
		mem_free(list[i].label);
		mem_free(list[i].policy);
		mem_free(list[i].world);
		mem_free(list[i].seed_text);
		mem_free(list[i].version);
		mem_free(list[i].created_at);
	}
	mem_free(list);
}
