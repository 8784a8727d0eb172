/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * lists.h - compact storage of tables with many rows: a row of `stored` holds many rows of the table as JSON
 *
 * SQLite spends far more on a table row than on an entry of a list. So tables of key LISTED are stored in lists, and the table
 * itself is a view over them (SQLite's json_each()). All rows of a list have the same first column, the entity. `lowest` and `highest`
 * bound the second column, the subject, so that a reader of one subject skips most lists. Begin and end are next, then texts.
 *
 * A list is the JSON array [unit,[text,..],[subject,first,base,[end,text,..],..],..]. Each array after the texts is a sequence of rows of
 * one subject, each of which begins where the one before it ends. `first` is the position of the first row in the list, `base` its begin.
 * Ends are relative to the base; times are in multiples of `unit` ns. Texts of rows are indexes, from 0, or null; those at the end of a row
 * are left out if null. A list of schema 7, or one converted from an older schema, is the array [[subject,begin,length,text,..],..] of
 * rows. A file may have both.
 *
 * Invariant: the lists of a run in order of `position`, the position of their first row, give its rows in order.
 */
#ifndef ORR_RESULTS_LISTS_H
#define ORR_RESULTS_LISTS_H

#include "results/columns.h"
#include "results/db.h"

/* Appends CREATE TABLE for the lists. */
void lists_create(struct sbuf *sql, const struct row_table *t);
/* Columns from this one on are texts; those before it are entity, subject, begin and end. */
enum { LISTS_TEXTS_FROM = 4, LISTS_MOST_TEXTS = 4 };

/* Appends the view of a table: a SELECT of run, position and the columns of the table. It needs only functions of SQLite. */
void lists_view(struct sbuf *sql, const struct row_table *t);
/* Sets *has to whether the file has the lists; a file of schema 6 or older has a table with the rows instead. */
int lists_exist(const struct store *s, const struct row_table *t, int64_t *has, struct orr_error *err);
/* Appends statements that store the rows of temp.old_TABLE as lists, as lists_write() would, and remove temp.old_TABLE. */
void lists_convert(struct sbuf *sql, const struct row_table *t);
/* A list as it is stored. */
struct stored_list {
	int64_t position, lowest, highest;
	const char *group, *list;
	size_t len; /* of `list` */
};
/* Stores the parts of a run, the only table in lists, and calls each() with every list in order of position. The caller holds an open
 * transaction. */
int lists_write(struct store *s, const struct row_table *t, const struct run_result *r, int64_t run,
	void (*each)(void *ctx, const struct row_table *t, const struct stored_list *list), void *ctx, struct orr_error *err);

/* ---- reading (lists_read.c) ---- */

/* Adds the functions that lists_select() needs to a connection. */
int lists_add_reader(const struct store *s);
/* Appends a SELECT as lists_view() has it, without a WHERE, for connections of orrery. The lists are `l`. */
void lists_select(struct sbuf *sql, const struct row_table *t);
/* As db_select_rows(), also for tables in lists. */
int lists_select_rows(const struct store *s, const struct row_table *t, const char *doing, sqlite3_stmt **st, struct orr_error *err);

#endif
