/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * request.h - what the flags of jobs, step, serve, run and scenario come to: a scenario, and what
 * to do with its results
 */
#ifndef ORR_CLI_REQUEST_H
#define ORR_CLI_REQUEST_H

#include "cli/cli.h"
#include "study/study.h"

/* Whose flags are known; VERB: those that are no part of a scenario, of the world's own verb. */
enum { REQUEST_JOBS = 1, REQUEST_STEP = 2, REQUEST_ANY = 4, REQUEST_SERVE = 8, REQUEST_SPOT = 16, REQUEST_ALL = 31, REQUEST_VERB = 32 };

struct request {
	cJSON *scenario; /* what the flags set */
	struct study_output output;
	char **sets; /* --set, and flags that set an option of the world; applied last, in order */
	size_t n_sets, cap_sets;
	const char *file; /* --scenario */
	const char *find_rate, *attainment;
	const char *source; /* the one positional argument, or NULL */
};

/* To be freed on an error as well. */
int request_parse(int argc, char **argv, unsigned worlds, struct request *r, struct orr_error *err);
void request_free(struct request *r);

/* Sets one key of the scenario. */
void request_put(struct request *r, const char *key, const char *value);
/* Reads the scenario file under what the flags have set. */
int request_load_below(struct request *r, const char *path, struct orr_error *err);
int request_apply_sets(struct request *r, struct orr_error *err);
/* Of a verb that takes a TRACE: what it names, --scenario below the flags and --set are one scenario, of the world of that kind. */
int request_complete(struct request *r, const char *kind, struct orr_error *err);
/* After an error: "scenario: .." becomes "FILE: ..". */
void request_name_file(const struct request *r, struct orr_error *err);

/* -j N */
int request_threads(const char *text, int *out, struct orr_error *err);

#define REQUEST_COMMON_HELP                                                                     \
	"  --seed N             seed of every random stream (default 1)\n"                      \
	"  --db FILE            store the runs in this database; one that is there is reused\n" \
	"  --fresh              run again what the database has already\n"                      \
	"  --out DIR            write CSV files, summary.csv and figures (PDF, SVG, PNG)\n"     \
	"  --no-figures         with --out: no figures\n"                                       \
	"  --json               results as JSON on standard output\n"                           \
	"  --check              prove the conservation laws while running\n"                    \
	"  --policy-timeout S   longest time one call of a policy may take (default 60)\n"      \
	"  -j N                 policies run at once (default: all cores)\n"                    \
	"  -q                   errors only: no table, no progress, no remarks (--json still prints)\n"

#define REQUEST_JOBS_HELP                                               \
	"  --until TIME         stop the clock there (30d, 12h, ...)\n" \
	"  --record WHAT        rows kept: summary, sample or all (default: all, up to a million)\n"

#endif
