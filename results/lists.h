/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * lists.h - compact storage of tables with many rows: a row of `stored` holds many rows of the table as JSON
 *
 * SQLite spends far more on a table row than on an entry of a list. So tables of key LISTED are stored in lists, and the table
 * itself is a view over them (SQLite's json_each()). A list is a JSON array of rows. A row is an array of its stored columns
 * except the first, in order; an interval is stored as begin and length, and trailing NULLs are left out. All rows of a list
 * have the same first column, the group. `lowest` and `highest` bound the second column, so that a reader of one subject skips
 * most lists.
 *
 * Invariant: the lists of a run in order of `position`, the position of their first row, give its rows in order.
 */
#ifndef ORR_RESULTS_LISTS_H
#define ORR_RESULTS_LISTS_H

#include "results/columns.h"
#include "results/db.h"

/* Appends CREATE TABLE for the lists. */
void lists_create(struct sbuf *sql, const struct row_table *t);
/* Appends a SELECT of run, position and the columns of the table from its lists, without a WHERE. The lists are `l`. */
void lists_select(struct sbuf *sql, const struct row_table *t);
/* Sets *has to whether the file has the lists; a file of schema 6 or older has a table with the rows instead. */
int lists_exist(const struct store *s, const struct row_table *t, int64_t *has, struct orr_error *err);
/* Appends statements that store the rows of temp.old_TABLE as lists, as lists_write() would, and remove temp.old_TABLE. */
void lists_convert(struct sbuf *sql, const struct row_table *t);
/* Stores the rows of a run. The caller holds an open transaction. */
int lists_write(struct store *s, const struct row_table *t, const struct run_result *r, int64_t run, struct orr_error *err);

#endif
