/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * param.h - parameters declared as data
 *
 * A policy (or a trace reader, or a generator) declares a table of parameters;
 * the command line prints it, checks what the user sets against it, and hands
 * the values over as a struct orr_args. Nobody parses strings by hand.
 *
 *	static const struct orr_param params[] = {
 *		ORR_PARAM_LIST("limits", "3250s,7200s", "attained service at which a job moves down"),
 *		ORR_PARAM_BOOL("promote", false, "return a job that waited long to the first queue"),
 *		ORR_PARAM_END
 *	};
 *
 * Texts: a time is a number with a unit (ns us ms s m h d; no unit means
 * seconds) up to the 146 years that the clock has; a list is such numbers with commas between them; a choice is one
 * of the words in `choices`, which are separated by '|'; a file is read when the value is
 * set, and a run goes by its contents, not by its name (gzip and zstd are taken off).
 */
#ifndef ORRERY_PARAM_H
#define ORRERY_PARAM_H

#include <orrery/api.h>

#ifdef __cplusplus
extern "C" {
#endif

enum orr_param_kind {
	ORR_KIND_END,
	ORR_KIND_BOOL,
	ORR_KIND_INT,
	ORR_KIND_REAL,
	ORR_KIND_TIME,
	ORR_KIND_CHOICE,
	ORR_KIND_TEXT,
	ORR_KIND_LIST,
	ORR_KIND_FILE
};

struct orr_param {
	const char *name;
	enum orr_param_kind kind;
	const char *def;     /* the default, as the user would write it */
	const char *choices; /* CHOICE: the words. FILE: the ending that tells a file from a text, or NULL: any name but "" */
	double min, max;     /* bounds of numbers, inclusive; times in seconds */
	const char *doc;     /* one line */
};

/* clang-format off */
#define ORR_PARAM_BOOL(name, def, doc) { name, ORR_KIND_BOOL, (def) ? "true" : "false", NULL, 0, 1, doc }
#define ORR_PARAM_INT(name, def, min, max, doc) { name, ORR_KIND_INT, def, NULL, min, max, doc }
#define ORR_PARAM_REAL(name, def, min, max, doc) { name, ORR_KIND_REAL, def, NULL, min, max, doc }
#define ORR_PARAM_TIME(name, def, doc) { name, ORR_KIND_TIME, def, NULL, 0, 4.6e9, doc }
#define ORR_PARAM_CHOICE(name, def, choices, doc) { name, ORR_KIND_CHOICE, def, choices, 0, 0, doc }
#define ORR_PARAM_TEXT(name, def, doc) { name, ORR_KIND_TEXT, def, NULL, 0, 0, doc }
#define ORR_PARAM_LIST(name, def, doc) { name, ORR_KIND_LIST, def, NULL, -9e18, 9e18, doc }
#define ORR_PARAM_FILE(name, doc) { name, ORR_KIND_FILE, "", NULL, 0, 0, doc }
/* A text, which is the name of a file if it ends as told (".json"). */
#define ORR_PARAM_TEXT_OR_FILE(name, def, ending, doc) { name, ORR_KIND_FILE, def, ending, 0, 0, doc }
#define ORR_PARAM_END { NULL, ORR_KIND_END, NULL, NULL, 0, 0, NULL }
/* clang-format on */

/* The values of one table, checked. Asking for a name that is not in the table
 * is a mistake of the program: the value returned is 0, "" or an empty list. */
struct orr_args;

ORR_API bool orr_arg_bool(const struct orr_args *a, const char *name);
ORR_API int64_t orr_arg_int(const struct orr_args *a, const char *name);
ORR_API double orr_arg_real(const struct orr_args *a, const char *name);
ORR_API int64_t orr_arg_time_ns(const struct orr_args *a, const char *name);
/* The text of a CHOICE or TEXT, the name of a FILE; valid as long as the args are. */
ORR_API const char *orr_arg_text(const struct orr_args *a, const char *name);
/* The contents of a FILE, *n bytes and a NUL; NULL if none is named. Valid as long as the args are. */
ORR_API const char *orr_arg_file(const struct orr_args *a, const char *name, size_t *n);
/* The numbers of a LIST (times in seconds); *n is their count. */
ORR_API const double *orr_arg_list(const struct orr_args *a, const char *name, size_t *n);

/* For messages that end in "did you mean": the candidate nearest to name by edit distance, NULL if none is near
 * (a third of the letters). The list ends with NULL. */
ORR_API const char *orr_nearest_name(const char *name, const char *const *candidates);

#ifdef __cplusplus
}
#endif
#endif
