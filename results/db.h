/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * db.h - the SQLite side of the store: opening, transactions, error texts
 *
 * Private to sim/results. Every failure becomes an error that names the file and
 * what to do. Whoever began a transaction ends it, on failure with db_rollback().
 */
#ifndef ORR_RESULTS_DB_H
#define ORR_RESULTS_DB_H

#include <orrery/api.h>

#include "results/columns.h"

#include <sqlite3.h>

/* "orry" in ASCII; tells our files from any other SQLite database. */
enum { DB_APPLICATION_ID = 0x6f727279, DB_SCHEMA_VERSION = 5, DB_BUSY_MS = 30000 };

/* jobs.key and requests.key = run << 32 | number. */
static inline int64_t db_row_key(int64_t run, uint64_t number)
{
	return (int64_t)((uint64_t)run << 32 | (number & UINT32_MAX));
}

struct store {
	sqlite3 *db;
	char *path;
	int busy_ms;
	bool is_readonly, replaces;
	int version; /* of its schema; older than ours only if the file is open for reading */
};

/* Turns the result code rc of something done to the store ("writing a run")
 * into an error; gives back err->code. */
int db_fail(const struct store *s, int rc, const char *doing, struct orr_error *err);

/* Runs one or several statements without results. */
int db_exec(const struct store *s, const char *sql, const char *doing, struct orr_error *err);
void db_rollback(const struct store *s);
/* The caller finalizes *out, which is NULL on failure. */
int db_prepare(const struct store *s, const char *sql, const char *doing, sqlite3_stmt **out, struct orr_error *err);
/* Steps a statement that gives no rows and makes it ready for the next values. */
int db_run(const struct store *s, sqlite3_stmt *st, const char *doing, struct orr_error *err);
/* SQLITE_ROW or SQLITE_DONE; anything else has filled in err. */
int db_step(const struct store *s, sqlite3_stmt *st, const char *doing, struct orr_error *err);
/* The one number that sql gives; 0 if none. */
int db_number(const struct store *s, const char *sql, int64_t *out, const char *doing, struct orr_error *err);

/* Makes the tables and views that the database lacks, adds columns to tables made before, and makes the views anew. */
int db_make_tables(const struct store *s, struct orr_error *err);
/* *has: 1 if the table has the column. */
int db_has_column(const struct store *s, const char *table, const char *column, int64_t *has, struct orr_error *err);
/* A statement that gives the stored columns of run ?1's rows in order; a column that the file lacks is NULL. *st is NULL without an
 * error if the file has no such table. */
int db_select_rows(const struct store *s, const struct row_table *t, const char *doing, sqlite3_stmt **st, struct orr_error *err);

/* Binds text (NULL: no value) that stays where it is until the statement is reset. */
void db_bind_text(sqlite3_stmt *st, int column, const char *text);
/* Times: -1, never, is no value. */
void db_bind_time(sqlite3_stmt *st, int column, int64_t t_ns);
int64_t db_column_time(sqlite3_stmt *st, int column);
/* Doubles: NaN is no value. */
double db_column_real(sqlite3_stmt *st, int column);

#endif
