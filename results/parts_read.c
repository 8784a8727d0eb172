/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "results/store.h"

#include "base/mem.h"
#include "results/db.h"
#include "results/lists.h"

#include <string.h>

static const char doing[] = "reading the parts of a run";

int store_has_parts(struct store *s, int64_t run, const char *entity, bool *has, struct orr_error *err)
{
	const struct row_table *t = row_table_find("parts");
	char sql[120];
	sqlite3_stmt *st;
	int64_t has_lists = 0, has_rows = 0;
	*has = false;
	int code = lists_exist(s, t, &has_lists, err);
	if (!code && !has_lists)
		code = db_has_column(s, t->name, "subject", &has_rows, err); /* databases of earlier versions lack the table */
	if (code || (!has_lists && !has_rows))
		return code;
	sqlite3_snprintf(sizeof sql, sql, "SELECT 1 FROM %s WHERE run = ?1 AND entity = ?2 LIMIT 1", has_lists ? t->stored : t->name);
	code = db_prepare(s, sql, doing, &st, err);
	if (code)
		return code;
	sqlite3_bind_int64(st, 1, run);
	db_bind_text(st, 2, entity);
	int rc = db_step(s, st, doing, err);
	*has = rc == SQLITE_ROW;
	sqlite3_finalize(st);
	return rc == SQLITE_ROW || rc == SQLITE_DONE ? ORR_OK : ORR_EFAIL;
}

int store_find_subject(struct store *s, int64_t run, const char *table, const char *id, int64_t *number, struct orr_error *err)
{
	char sql[200];
	sqlite3_stmt *st;
	sqlite3_snprintf(sizeof sql, sql,
		"SELECT number FROM %s WHERE key BETWEEN ?1 AND ?2 AND coalesce(%.*s_id, CAST(number AS TEXT)) = ?3", table,
		(int)strlen(table) - 1, table);
	*number = -1;
	int code = db_prepare(s, sql, doing, &st, err);
	if (code)
		return code;
	sqlite3_bind_int64(st, 1, db_row_key(run, 0));
	sqlite3_bind_int64(st, 2, db_row_key(run, UINT32_MAX));
	db_bind_text(st, 3, id);
	int rc = db_step(s, st, doing, err);
	if (rc == SQLITE_ROW)
		*number = sqlite3_column_int64(st, 0);
	sqlite3_finalize(st);
	return rc == SQLITE_ROW || rc == SQLITE_DONE ? ORR_OK : ORR_EFAIL;
}

static void take_row(struct run_result *r, size_t *cap, const char *entity, uint64_t subject, sqlite3_stmt *st)
{
	MEM_GROW(r->parts, r->n_parts, *cap);
	r->parts[r->n_parts++] = (struct part_row){ .entity = result_text(r, entity),
		.subject = subject,
		.begin_ns = sqlite3_column_int64(st, 0),
		.end_ns = sqlite3_column_int64(st, 1),
		.kind = result_text(r, (const char *)sqlite3_column_text(st, 2)),
		.cause = result_text(r, (const char *)sqlite3_column_text(st, 3)),
		.detail = result_text(r, (const char *)sqlite3_column_text(st, 4)) };
}

/* Prepares the statement that reads the parts of subject ?3 of run ?1 and entity ?2. */
static int prepare_parts(struct store *s, sqlite3_stmt **st, struct orr_error *err)
{
	const struct row_table *t = row_table_find("parts");
	struct sbuf sql = { 0 };
	int64_t has_lists;
	*st = NULL;
	int code = lists_exist(s, t, &has_lists, err);
	sbuf_puts(&sql, "SELECT begin_ns, end_ns, kind, cause, detail FROM ");
	if (!code && has_lists) {
		sbuf_putc(&sql, '(');
		lists_select(&sql, t);
		sbuf_puts(&sql, " WHERE l.run = ?1 AND l.entity = ?2 AND ?3 BETWEEN l.lowest AND l.highest) WHERE subject = ?3");
	} else {
		sbuf_printf(&sql, "%s WHERE run = ?1 AND entity = ?2 AND subject = ?3", t->name);
	}
	sbuf_puts(&sql, " ORDER BY position");
	if (!code)
		code = db_prepare(s, sbuf_text(&sql), doing, st, err);
	sbuf_free(&sql);
	return code;
}

int store_read_parts(struct store *s, int64_t run, const char *entity, uint64_t subject, struct run_result *into, struct orr_error *err)
{
	sqlite3_stmt *st;
	size_t cap = 0;
	int rc;
	int code = prepare_parts(s, &st, err);
	if (code)
		return code;
	sqlite3_bind_int64(st, 1, run);
	db_bind_text(st, 2, entity);
	sqlite3_bind_int64(st, 3, (int64_t)subject);
	while ((rc = db_step(s, st, doing, err)) == SQLITE_ROW)
		take_row(into, &cap, entity, subject, st);
	sqlite3_finalize(st);
	return rc == SQLITE_DONE ? ORR_OK : ORR_EFAIL;
}

int store_read_job(struct store *s, int64_t run, uint64_t number, int64_t *wait_ns, int64_t *run_ns, bool *found, struct orr_error *err)
{
	sqlite3_stmt *st;
	int code = db_prepare(s, "SELECT wait_ns, run_ns FROM jobs WHERE key = ?1", doing, &st, err);
	if (code)
		return code;
	sqlite3_bind_int64(st, 1, db_row_key(run, number));
	int rc = db_step(s, st, doing, err);
	*found = rc == SQLITE_ROW;
	*wait_ns = *found ? sqlite3_column_int64(st, 0) : 0;
	*run_ns = *found ? sqlite3_column_int64(st, 1) : 0;
	sqlite3_finalize(st);
	return rc == SQLITE_ROW || rc == SQLITE_DONE ? ORR_OK : ORR_EFAIL;
}
