/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * inputs.h - keys that scenarios of several worlds have: options of a trace, failures, when to stop, what to keep
 *
 *	{ "trace_options": {"NAME": VALUE}, "failures": {"trace", "mtbf", "mttr"}, "until": "30d", "record": "all" }
 */
#ifndef ORR_CLI_INPUTS_H
#define ORR_CLI_INPUTS_H

#include "study/scenario.h"
#include "cluster/failures.h"

enum { INPUTS_MOST_OPTIONS = 64 };

/* "name=value" texts, NULL-terminated, freed by inputs_options_free(). */
int inputs_trace_options(const cJSON *o, char *options[INPUTS_MOST_OPTIONS + 1], struct orr_error *err);
void inputs_options_free(char *options[INPUTS_MOST_OPTIONS + 1]);

extern const struct orr_param inputs_failure_params[];
/* *args has to be freed in any case; *out is NULL where nodes never fail. */
int inputs_failures(const cJSON *o, const struct cluster *c, struct orr_args **args, struct failures **out, struct orr_error *err);

/* ORR_NEVER where the scenario says nothing. */
int inputs_until(const cJSON *o, int64_t *out_ns, struct orr_error *err);
void inputs_add_until(cJSON *o, int64_t until_ns);

enum scenario_record { RECORD_SUMMARY, RECORD_SAMPLE, RECORD_ALL };
int inputs_record(const cJSON *o, enum scenario_record *out, struct orr_error *err);
const char *inputs_record_name(enum scenario_record r);

/* The text at key, or def, as a number within bounds. where: before the key in messages ("", "deployments[0]."). */
int inputs_int(
	const cJSON *o, const char *where, const char *key, int64_t def, int64_t low, int64_t high, int64_t *out, struct orr_error *err);

#endif
