/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * db_inspect.h - the verbs of orrery db that look into databases: show, check, diff, vacuum
 */
#ifndef ORR_CLI_DB_INSPECT_H
#define ORR_CLI_DB_INSPECT_H

#include "results/store.h"

/* Prints what the database contains; run > 0: the contents of this run. */
int db_show(struct store *s, const char *file, int64_t run, struct orr_error *err);
/* Prints all damage. Damage is an error. */
int db_check(struct store *s, const char *file, struct orr_error *err);
/* Prints the runs in which two files differ. A difference is an error. */
int db_diff(const char *file_a, const char *file_b, struct orr_error *err);
/* Removes unused pages, and prints the size before and after. */
int db_vacuum(const char *file, struct orr_error *err);

#endif
