/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "results/db.h"

#include "base/sbuf.h"

#include "base/mem.h"
#include "results/overrides.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

/* Returns the errno of the failed open. SQLite first tries to open for writing, then for reading, and reports only the second error.
 * That error hides a directory that is not writable. */
static int open_errno(const struct store *s)
{
	int number = sqlite3_system_errno(s->db);
	if (number != ENOENT || s->is_readonly)
		return number;
	const char *slash = strrchr(s->path, '/');
	char *parent = slash ? mem_strndup(s->path, (size_t)(slash - s->path) + 1) : mem_strdup(".");
	bool is_there = access(parent, F_OK) == 0;
	mem_free(parent);
	return is_there ? EACCES : ENOENT;
}

static int fail_to_open(const struct store *s, const char *doing, struct orr_error *err)
{
	int number = open_errno(s);
	bool is_wrong_path = number == ENOENT || number == ENOTDIR || number == EISDIR || number == 0;
	return orr_fail(err, is_wrong_path ? ORR_EINPUT : ORR_EFAIL, "%s: %s: cannot open the file%s%s: %s", s->path, doing,
		number ? ": " : "", number ? strerror(number) : "",
		s->is_readonly ? "expected a database that orrery wrote" : "expected a file in an existing, writable directory");
}

int db_fail(const struct store *s, int rc, const char *doing, struct orr_error *err)
{
	switch (rc & 0xff) {
	case SQLITE_NOTADB:
		return orr_fail(err, ORR_EINPUT, "%s: not a database of orrery: expected another file name", s->path);
	case SQLITE_FULL:
		return orr_fail(
			err, ORR_EFAIL, "%s: %s: the disk is full: expected free space (stored runs are unchanged)", s->path, doing);
	case SQLITE_READONLY:
		return orr_fail(err, ORR_EFAIL, "%s: %s: expected a writable file in a writable directory", s->path, doing);
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		return orr_fail(err, ORR_EFAIL,
			"%s: %s: another process has locked the database for %.3g s: expected another file name, or a retry after that "
			"process ends",
			s->path, doing, s->busy_ms / 1e3);
	case SQLITE_CANTOPEN:
		return fail_to_open(s, doing, err);
	case SQLITE_IOERR:
		return orr_fail(err, ORR_EFAIL,
			"%s: %s: the disk reports an error (%s): expected a working disk (this run was not stored; earlier runs are "
			"unchanged)",
			s->path, doing, sqlite3_errstr(rc));
	case SQLITE_CORRUPT:
		return orr_fail(err, ORR_EFAIL,
			"%s: %s: the database is damaged (%s): expected an undamaged file ('sqlite3 FILE .recover' may recover some of the "
			"contents)",
			s->path, doing, sqlite3_errmsg(s->db));
	default:
		return orr_fail(err, ORR_EFAIL, "%s: %s: %s", s->path, doing, s->db ? sqlite3_errmsg(s->db) : sqlite3_errstr(rc));
	}
}

int db_exec(const struct store *s, const char *sql, const char *doing, struct orr_error *err)
{
	int rc = sqlite3_exec(s->db, sql, NULL, NULL, NULL);
	return rc ? db_fail(s, sqlite3_extended_errcode(s->db), doing, err) : ORR_OK;
}

void db_rollback(const struct store *s)
{
	sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL); /* SQLite may already have rolled back */
}

int db_prepare(const struct store *s, const char *sql, const char *doing, sqlite3_stmt **out, struct orr_error *err)
{
	*out = NULL;
	if (sqlite3_prepare_v2(s->db, sql, -1, out, NULL))
		return db_fail(s, sqlite3_extended_errcode(s->db), doing, err);
	return ORR_OK;
}

int db_statement(struct store *s, int which, const char *sql, const char *doing, sqlite3_stmt **out, struct orr_error *err)
{
	int code = s->statement[which] ? ORR_OK : db_prepare(s, sql, doing, &s->statement[which], err);
	*out = s->statement[which];
	return code;
}

void db_finalize_statements(struct store *s)
{
	for (size_t i = 0; i < DB_STATEMENTS; i++) {
		sqlite3_finalize(s->statement[i]);
		s->statement[i] = NULL;
	}
}

int db_step(const struct store *s, sqlite3_stmt *st, const char *doing, struct orr_error *err)
{
	int rc = sqlite3_step(st);
	if (rc != SQLITE_ROW && rc != SQLITE_DONE)
		db_fail(s, sqlite3_extended_errcode(s->db), doing, err);
	return rc;
}

int db_run(const struct store *s, sqlite3_stmt *st, const char *doing, struct orr_error *err)
{
	int code = ORR_OK;
	if (sqlite3_step(st) != SQLITE_DONE)
		code = db_fail(s, sqlite3_extended_errcode(s->db), doing, err);
	sqlite3_reset(st);
	return code;
}

int db_number(const struct store *s, const char *sql, int64_t *out, const char *doing, struct orr_error *err)
{
	sqlite3_stmt *st;
	int code = db_prepare(s, sql, doing, &st, err);
	if (code)
		return code;
	*out = 0;
	int rc = sqlite3_step(st);
	if (rc == SQLITE_ROW)
		*out = sqlite3_column_int64(st, 0);
	else if (rc != SQLITE_DONE)
		code = db_fail(s, sqlite3_extended_errcode(s->db), doing, err);
	sqlite3_finalize(st);
	return code;
}

int db_has_column(const struct store *s, const char *table, const char *column, int64_t *has, struct orr_error *err)
{
	char sql[256];
	sqlite3_snprintf(sizeof sql, sql, "SELECT count(*) FROM pragma_table_xinfo('%q') WHERE name = '%q'", table, column);
	return db_number(s, sql, has, "reading the list of tables", err);
}

bool db_lacks_columns(const struct store *s)
{
	struct sbuf sql = { 0 };
	int64_t has = 0;
	struct orr_error ignored = { 0 };
	bool lacks = db_has_column(s, "failures", "hash", &has, &ignored) || !has;
	for (size_t i = 0; i < n_row_tables && !lacks; i++) {
		const struct row_table *t = &row_tables[i];
		sqlite3_stmt *st = NULL;
		sbuf_clear(&sql);
		sbuf_puts(&sql, "SELECT 1");
		for (size_t k = 0; k < t->n_columns; k++)
			if (column_is_stored(&t->columns[k]))
				sbuf_printf(&sql, ", t.%s", t->columns[k].name);
		sbuf_printf(&sql, " FROM %s t", t->name);
		lacks = sqlite3_prepare_v2(s->db, sbuf_text(&sql), -1, &st, NULL) == SQLITE_ERROR;
		sqlite3_finalize(st);
		if (!lacks && t->key == KEY_LISTED)
			lacks = db_has_column(s, t->stored, "list", &has, &ignored) || !has;
	}
	sbuf_free(&sql);
	return lacks;
}

/* orr_scenario(run, text, overrides): the whole scenario of a run from its base and its overrides. */
static void whole_scenario(sqlite3_context *c, int n, sqlite3_value **value)
{
	(void)n;
	const char *text = (const char *)sqlite3_value_text(value[1]), *overrides = (const char *)sqlite3_value_text(value[2]);
	char why[128];
	if (!text) {
		sqlite3_snprintf(sizeof why, why, "run %lld refers to a base scenario that is missing: expected an undamaged file",
			(long long)sqlite3_value_int64(value[0]));
		sqlite3_result_error(c, why, -1);
		return;
	}
	if (!overrides) {
		sqlite3_result_value(c, value[1]);
		return;
	}
	struct sbuf whole = { 0 };
	if (overrides_apply(&whole, text, overrides)) {
		sqlite3_result_text(c, sbuf_text(&whole), (int)whole.len, SQLITE_TRANSIENT);
	} else {
		sqlite3_snprintf(sizeof why, why, "the overrides of run %lld are not a JSON object: expected an undamaged file",
			(long long)sqlite3_value_int64(value[0]));
		sqlite3_result_error(c, why, -1);
	}
	sbuf_free(&whole);
}

int db_add_functions(const struct store *s)
{
	return sqlite3_create_function(s->db, "orr_scenario", 3, SQLITE_UTF8 | SQLITE_DETERMINISTIC, NULL, whole_scenario, NULL, NULL);
}

const char *db_scenario_sql(const struct store *s)
{
	int64_t has = 0;
	struct orr_error ignored = { 0 };
	/* Up to schema 5 each run stored its whole scenario. */
	return !db_has_column(s, "runs", "base", &has, &ignored) && !has
		       ? "r.scenario"
		       : "orr_scenario(r.run, (SELECT text FROM scenarios WHERE base = r.base), r.overrides)";
}

int db_select_rows(const struct store *s, const struct row_table *t, const char *doing, sqlite3_stmt **st, struct orr_error *err)
{
	struct sbuf sql = { 0 };
	int64_t has = 0, any = 0;
	int code = ORR_OK;
	*st = NULL;
	for (size_t i = 0; !code && i < t->n_columns; i++) {
		const struct column *c = &t->columns[i];
		if (!column_is_stored(c))
			continue;
		code = db_has_column(s, t->name, c->name, &has, err);
		any |= has;
		sbuf_printf(&sql, has ? "%s%s" : "%sNULL AS %s", sql.len ? ", " : "SELECT ", c->name);
	}
	if (!code && t->key == KEY_PACKED)
		code = db_has_column(s, t->name, "key", &has, err); /* early files of schema 1 have columns run and number */
	bool is_packed = t->key == KEY_PACKED && has;
	sbuf_printf(&sql, " FROM %s WHERE %s", t->name,
		is_packed         ? "key BETWEEN ?1 << 32 AND (?1 << 32) + 4294967295 ORDER BY key"
		: has_position(t) ? "run = ?1 ORDER BY position"
				  : "run = ?1 ORDER BY ");
	if (!has_position(t) && !is_packed)
		sbuf_puts(&sql, t->columns[0].name);
	if (!code && any)
		code = db_prepare(s, sbuf_text(&sql), doing, st, err);
	sbuf_free(&sql);
	return code;
}

void db_bind_text(sqlite3_stmt *st, int column, const char *text)
{
	if (text)
		sqlite3_bind_text(st, column, text, -1, SQLITE_STATIC);
	else
		sqlite3_bind_null(st, column);
}

int64_t db_column_time(sqlite3_stmt *st, int column)
{
	return sqlite3_column_type(st, column) == SQLITE_NULL ? -1 : sqlite3_column_int64(st, column);
}

double db_column_real(sqlite3_stmt *st, int column)
{
	return sqlite3_column_type(st, column) == SQLITE_NULL ? NAN : sqlite3_column_double(st, column);
}
