/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * inputs.h - scenario objects shared by several worlds: trace options, failures
 *
 *	{ "trace_options": {"NAME": VALUE}, "failures": {"trace", "mtbf", "mttr", "types"} }
 */
#ifndef ORR_WORLD_INPUTS_H
#define ORR_WORLD_INPUTS_H

#include "cluster/failures.h"
#include "world/scenario.h"

enum { INPUTS_MOST_OPTIONS = 64 };

/* Sets options[] to "name=value" texts and a final NULL; inputs_options_free() frees them. */
int inputs_trace_options(const cJSON *o, char *options[INPUTS_MOST_OPTIONS + 1], struct orr_error *err);
void inputs_options_free(char *options[INPUTS_MOST_OPTIONS + 1]);

/* Reports on standard error the number of wrong rows of the trace that were left out; first: message of the first such row. */
void inputs_tell_repaired(const char *source, uint64_t rows, const char *first);

/* Declares the key `resample` of a world whose trace can be resampled. */
#define INPUTS_KEY_RESAMPLE            \
	ORR_PARAM_TEXT("resample", "", \
		"draw blocks of the trace file with replacement, each as long as a day, an hour or a time such as 6h; empty: off")
/* Reads the length of blocks in the key `resample`; 0: off. */
int inputs_resample(const struct scenario *s, int64_t *block_ns, struct orr_error *err);
/* Adds the key to a resolved scenario. */
void inputs_add_resample(cJSON *o, const struct scenario *s);
/* Adds a remark on a run of a resampled trace; blocks 0: no remark. what: "jobs". */
void inputs_note_resample(const struct scenario *s, uint64_t blocks, const char *what, struct run_result *r);

extern const struct orr_param inputs_failure_params[];
/* Reads failures. The caller frees *args, also on error. *out is NULL if nodes never fail. */
int inputs_failures(const cJSON *o, const struct cluster *c, struct orr_args **args, struct failures **out, struct orr_error *err);

/* Returns whether failures.types keeps nodes of some GPU type of the cluster from failing. */
bool inputs_spares_types(const struct scenario *s);

/* Reads the number at key, or def, within bounds. where: path before the key in messages ("", "deployments[0]."). */
int inputs_int(
	const cJSON *o, const char *where, const char *key, int64_t def, int64_t low, int64_t high, int64_t *out, struct orr_error *err);

#endif
