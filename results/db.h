/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * db.h - the SQLite side of the store: opening, transactions, error texts
 *
 * Private to results/. Every error names the file and the remedy. The function that begins a transaction also ends it; on
 * failure it calls db_rollback().
 */
#ifndef ORR_RESULTS_DB_H
#define ORR_RESULTS_DB_H

#include <orrery/api.h>

#include "results/columns.h"

#include <sqlite3.h>

/* "orry" in ASCII: distinguishes databases of orrery from other SQLite databases */
enum { DB_APPLICATION_ID = 0x6f727279, DB_SCHEMA_VERSION = 8, DB_BUSY_MS = 30000, DB_LONG_ROWS = 1 << 16 };

/* Statements that a store prepares once. The last three kinds have one statement per table of rows. */
enum {
	DB_FIND_RUN,
	DB_INSERT_RUN,
	DB_INSERT_SCENARIO,
	DB_SET_CHECKSUM,
	DB_INSERT_SERIES,
	DB_INSERT_POINT,
	DB_READ_RUN,
	DB_READ_SERIES,
	DB_READ_POINTS,
	DB_MOST_TABLES = 32,
	DB_INSERT_ROWS = 9,
	DB_READ_ROWS = DB_INSERT_ROWS + DB_MOST_TABLES,
	DB_READ_LISTS = DB_READ_ROWS + DB_MOST_TABLES,
	DB_STATEMENTS = DB_READ_LISTS + DB_MOST_TABLES,
	DB_BASES = 8
};

/* jobs.key and requests.key = run << 32 | number. */
static inline int64_t db_row_key(int64_t run, uint64_t number)
{
	return (int64_t)((uint64_t)run << 32 | (number & UINT32_MAX));
}

/* A base scenario: the key and the text of a row of `scenarios`. */
struct db_base {
	int64_t key;
	char *text;
};

struct store {
	sqlite3 *db;
	sqlite3_stmt *statement[DB_STATEMENTS]; /* NULL: not yet prepared */
	struct db_base base[DB_BASES];          /* base scenarios that new runs may refer to */
	size_t n_bases, last_base;
	bool has_looked_for_bases;
	char *path;
	int busy_ms;
	bool is_readonly, replaces;
	size_t long_rows; /* runs with as many rows in one transaction are written without the write-ahead log */
	int version;      /* version of the file's schema; below DB_SCHEMA_VERSION only if the file is open for reading */
};

/* Turns the SQLite result code rc of an operation ("writing a run") into an error. Returns err->code. */
int db_fail(const struct store *s, int rc, const char *doing, struct orr_error *err);

/* Runs one or more statements that return no rows. */
int db_exec(const struct store *s, const char *sql, const char *doing, struct orr_error *err);
void db_rollback(const struct store *s);
/* Prepares a statement. The caller finalizes *out, which is NULL on failure. */
int db_prepare(const struct store *s, const char *sql, const char *doing, sqlite3_stmt **out, struct orr_error *err);
/* Sets *out to statement number `which` of the store, prepared once. The caller resets it and does not finalize it. */
int db_statement(struct store *s, int which, const char *sql, const char *doing, sqlite3_stmt **out, struct orr_error *err);
void db_finalize_statements(struct store *s);
/* Runs a statement that returns no rows and resets it. */
int db_run(const struct store *s, sqlite3_stmt *st, const char *doing, struct orr_error *err);
/* Returns SQLITE_ROW or SQLITE_DONE; for other values err is set. */
int db_step(const struct store *s, sqlite3_stmt *st, const char *doing, struct orr_error *err);
/* Reads the number that sql returns; 0 if it returns no row. */
int db_number(const struct store *s, const char *sql, int64_t *out, const char *doing, struct orr_error *err);

/* Switches between the write-ahead log and the rollback journal. Returns false, and changes nothing, if other connections prevent it. */
bool db_use_log(struct store *s, bool is_used);

/* Creates missing tables, adds missing columns to existing tables, recreates the views, and converts the tables of an older schema. */
int db_make_tables(struct store *s, struct orr_error *err);
/* Sets *has to 1 if the table has the column, else to 0. */
int db_has_column(const struct store *s, const char *table, const char *column, int64_t *has, struct orr_error *err);
/*
 * Returns whether the file lacks a table of rows, a column of it, or the table of failures because an earlier version of the
 * program created it.
 */
bool db_lacks_columns(const struct store *s);
/* Returns the expression for the whole scenario of a row r of `runs`. */
const char *db_scenario_sql(const struct store *s);
/* Adds the SQL functions that db_scenario_sql() uses to a connection. */
int db_add_functions(const struct store *s);
/* Prepares a statement that returns the stored columns of run ?1's rows, in order. Columns missing in the file are NULL. If the table is
 * missing, *st is NULL without an error. */
int db_select_rows(const struct store *s, const struct row_table *t, const char *doing, sqlite3_stmt **st, struct orr_error *err);

/* Binds text (NULL: no value). The text must stay valid until the statement is reset. */
void db_bind_text(sqlite3_stmt *st, int column, const char *text);
/* Returns a time in ns; NULL becomes -1 (never). */
int64_t db_column_time(sqlite3_stmt *st, int column);
/* Returns a double; NULL becomes NaN. */
double db_column_real(sqlite3_stmt *st, int column);

#endif
