/* SPDX-License-Identifier: GPL-3.0-or-later */
/* csv_rows.h - lines, fields and numbers of a CSV file that a policy replays. The text is cut in place. */
#ifndef ORR_POLICIES_CSV_ROWS_H
#define ORR_POLICIES_CSV_ROWS_H

#include <orrery/api.h>

#include <stdbool.h>

/* Splits off the next field of a line; returns NULL after the last. */
char *csv_field(char **rest);
/* Splits off the next line; returns NULL at the end. */
char *csv_line(char **rest);
/* Reads a finite number of at least 0. Returns false for any other text, for "" and for NULL. */
bool csv_number(const char *text, double *value);

#endif
