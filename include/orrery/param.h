/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * param.h - parameters declared as data
 *
 * A policy, a trace format or a generator declares a table of parameters. The program prints it, checks the user's settings
 * against it, and passes the values as a struct orr_args. Policies parse no strings.
 *
 *	static const struct orr_param params[] = {
 *		ORR_PARAM_LIST("limits", "3250s,7200s", "attained service at which a job moves down"),
 *		ORR_PARAM_BOOL("promote", false, "return a job that waited long to the first queue"),
 *		ORR_PARAM_END
 *	};
 *
 * Values as text: a time is a number with a unit (ns us ms s m h d; no unit means seconds), at most 146 years. A list is
 * numbers or times separated by commas. A choice is one of the words in `choices`, which are separated by '|'. A file is read,
 * and decompressed, when the value is set; the hash of a run covers the contents, not the name.
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
	const char *def;     /* default value, as the user would write it */
	const char *choices; /* CHOICE: the words. FILE: the suffix that marks a file name; NULL: every text except "" names a file */
	double min, max;     /* inclusive bounds of numbers; bounds of times are in seconds */
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
/* A parameter whose value is a text, or a file name if it has this suffix (".json"). */
#define ORR_PARAM_TEXT_OR_FILE(name, def, ending, doc) { name, ORR_KIND_FILE, def, ending, 0, 0, doc }
#define ORR_PARAM_END { NULL, ORR_KIND_END, NULL, NULL, 0, 0, NULL }
/* clang-format on */

/* The checked values of one table. For a name outside the table (a bug in the caller), the functions return 0, "" or an empty list. */
struct orr_args;

ORR_API bool orr_arg_bool(const struct orr_args *a, const char *name);
ORR_API int64_t orr_arg_int(const struct orr_args *a, const char *name);
ORR_API double orr_arg_real(const struct orr_args *a, const char *name);
ORR_API int64_t orr_arg_time_ns(const struct orr_args *a, const char *name);
/* Return the text of a CHOICE or TEXT, or the name of a FILE; valid as long as the args. */
ORR_API const char *orr_arg_text(const struct orr_args *a, const char *name);
/* Returns the contents of a FILE, *n bytes and a NUL; NULL: no file. Valid as long as the args. */
ORR_API const char *orr_arg_file(const struct orr_args *a, const char *name, size_t *n);
/* Returns the numbers of a LIST (times in seconds); *n is their count. */
ORR_API const double *orr_arg_list(const struct orr_args *a, const char *name, size_t *n);

/* Returns the candidate nearest to name by edit distance, for "did you mean"; NULL if the distance exceeds a third of the letters.
 * The list of candidates ends with NULL. */
ORR_API const char *orr_nearest_name(const char *name, const char *const *candidates);

#ifdef __cplusplus
}
#endif
#endif
