/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * param.h - values checked against a table of parameters (see orrery/param.h)
 *
 * Invariant: a struct orr_args holds a value for each parameter of its table: the
 * default, until args_set() succeeds. Setting the same value in another spelling
 * ("3250" or "3250s") gives the same args_value().
 */
#ifndef ORR_BASE_PARAM_H
#define ORR_BASE_PARAM_H

#include <orrery/param.h>

#include "base/sbuf.h"

/*
 * Creates the values of a table, all at their defaults. `where`: the owner's name in messages, such as "policy las". The table
 * must outlive the args. Returns NULL if a default is invalid (possible in a plugin).
 */
struct orr_args *args_new(const struct orr_param *table, const char *where, struct orr_error *err);
void args_free(struct orr_args *a);
int args_set(struct orr_args *a, const char *name, const char *text, struct orr_error *err);
/* Sets a value from "name=text" in one string. */
int args_set_pair(struct orr_args *a, const char *pair, struct orr_error *err);
/* Sets the values of a list "name=text,name=text" with this separator. The list may end in a separator. */
int args_set_pairs(struct orr_args *a, const char *list, char separator, struct orr_error *err);
/* Returns the value of parameter i of the table as canonical text. */
const char *args_value(const struct orr_args *a, size_t i);
/* Returns the table given to args_new(). */
const struct orr_param *args_table(const struct orr_args *a);
/* Returns the SHA-256 of the file that parameter i names, as 64 hex digits; "": no file. */
const char *args_file_hash(const struct orr_args *a, size_t i);

static inline const char *nearest_name(const char *name, const char *const *candidates)
{
	return orr_nearest_name(name, candidates);
}

#endif
