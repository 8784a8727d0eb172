/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * request.h - converts the flags of a world's verb, of run and of scenario to a scenario and output options
 */
#ifndef ORR_CLI_REQUEST_H
#define ORR_CLI_REQUEST_H

#include "cli/cli.h"
#include "study/study.h"

struct request {
	cJSON *scenario; /* values set by flags */
	struct world_output output;
	char **sets; /* values of --set, and of flags that set an option of an object; applied last, in order */
	size_t n_sets, cap_sets;
	struct world_extra *extra; /* of output */
	size_t cap_extras;
	const char *file;   /* --scenario */
	const char *source; /* the one positional argument, or NULL */
};

/* Parses flags. of: the world whose verb this is; NULL: flags of all worlds are known. Free the request, also on error. */
int request_parse(int argc, char **argv, const struct world *of, struct request *r, struct orr_error *err);
void request_free(struct request *r);

/* Sets one key of the scenario. */
void request_put(struct request *r, const char *key, const char *value);
/* Reads the scenario file; values set by flags take precedence. */
int request_load_below(struct request *r, const char *path, struct orr_error *err);
/* Like request_read(), for a parsed scenario, which the request then owns. */
void request_put_below(struct request *r, cJSON *scenario);
int request_apply_sets(struct request *r, struct orr_error *err);
/* Changes an error "scenario: .." to "FILE: ..". */
void request_name_file(const struct request *r, struct orr_error *err);

/* -j N */
int request_threads(const char *text, int *out, struct orr_error *err);

/* ---- help ---- */

/* Adds "  NAME ARG           DOC" to the help. doc may have several lines. name: "--seed", "-j", "TRACE". */
void request_put_option(struct sbuf *out, const char *name, const char *arg, const char *doc);
/* Adds the flags that every world has. */
void request_put_common(struct sbuf *out);

#endif
