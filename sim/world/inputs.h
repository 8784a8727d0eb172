/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * inputs.h - objects of scenarios of several worlds: options of a trace, failures
 *
 *	{ "trace_options": {"NAME": VALUE}, "failures": {"trace", "mtbf", "mttr", "types"} }
 */
#ifndef ORR_WORLD_INPUTS_H
#define ORR_WORLD_INPUTS_H

#include "cluster/failures.h"
#include "world/scenario.h"

enum { INPUTS_MOST_OPTIONS = 64 };

/* "name=value" texts, NULL-terminated, freed by inputs_options_free(). */
int inputs_trace_options(const cJSON *o, char *options[INPUTS_MOST_OPTIONS + 1], struct orr_error *err);
void inputs_options_free(char *options[INPUTS_MOST_OPTIONS + 1]);

extern const struct orr_param inputs_failure_params[];
/* The caller frees *args, on an error too. *out is NULL if nodes never fail. */
int inputs_failures(const cJSON *o, const struct cluster *c, struct orr_args **args, struct failures **out, struct orr_error *err);

/* The number at key, or def, within bounds. where: the path before the key in messages ("", "deployments[0]."). */
int inputs_int(
	const cJSON *o, const char *where, const char *key, int64_t def, int64_t low, int64_t high, int64_t *out, struct orr_error *err);

#endif
