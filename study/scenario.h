/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * scenario.h - what a run is: one JSON object, from a file or from flags
 *
 * Flags and files come to the same object, `--set path=value` edits it, and the world that
 * it names (scenario_jobs.h, scenario_step.h, scenario_serve.h, scenario_spot.h) turns it into checked values with every default
 * filled in. Unknown keys are errors that name the nearest known one. The keys are those of
 * docs/scenario.schema.json. Common to all worlds are
 *
 *	{ "world": "jobs" (the default), "step", "serve", "spot" or "mixed",
 *	  "cluster": "SPEC or FILE",
 *	  "policies": ["fifo", "./mine.so@label", {"policy", "label", "set": {..}}],
 *	  "seed": 1, "policy_timeout": 60 }
 */
#ifndef ORR_CLI_SCENARIO_H
#define ORR_CLI_SCENARIO_H

#include "base/param.h"
#include "study/registry.h"
#include "cluster/cluster.h"

#include <cjson/cJSON.h>

struct scenario_policy {
	struct registry_entry entry;
	char *label, *spec;
	struct orr_args *args;
	const struct scenario_policy *beside; /* in a mixed world: the one for requests; else NULL */
};

/* Where a kind of policy stands for a world: the world of pairs of policies. */
#define SCENARIO_MIXED "mixed"

/* What every world has. */
struct scenario {
	char *cluster_spec;
	struct cluster *cluster;
	struct scenario_policy *policy;
	size_t n_policies;
	uint64_t seed;
	double policy_timeout_s;
	cJSON *resolved; /* without the policies: every default filled in, hashes of inputs */
};

/* From a file; NULL on error. */
cJSON *scenario_read(const char *path, struct orr_error *err);
/* "jobs.start_cost=30s", "policy.srtf.rules=helios", "seed=2". */
int scenario_set(cJSON *scenario, const char *pair, struct orr_error *err);
/* The kind of policies that the scenario's world takes; jobs where it names no world. */
int scenario_kind(const cJSON *scenario, const char **out, struct orr_error *err);

/* The canonical text of one policy's run and its hash (over contents of inputs, parameters
 * and the program's version). Free the text with mem_free. */
char *scenario_text(const struct scenario *s, size_t policy, char hash[65]);
/* Everything, for scenario show; free with mem_free. */
char *scenario_show(const struct scenario *s);
void scenario_free(struct scenario *s); /* what is in it */

/* ---- for the worlds ---- */

/* A JSON scalar as the text that the user could have given on the command line; NULL for anything else. */
char *scenario_scalar(const cJSON *v);
/* The scalar at key as such a text, or a copy of def (which may be NULL). */
int scenario_text_at(const cJSON *o, const char *key, const char *def, char **out, struct orr_error *err);
/* The first of known is the one that a message falls back to. */
int scenario_check_keys(const cJSON *o, const char *const *known, struct orr_error *err);
/* The same of an object inside; where: its path with a dot at the end, "deployments[0]." */
int scenario_check_keys_at(const cJSON *o, const char *where, const char *const *known, struct orr_error *err);
/* The object at key as values of the table; NULL on error. */
struct orr_args *scenario_args_at(const cJSON *o, const char *key, const struct orr_param *table, const char *where, struct orr_error *err);
int scenario_resolve_seed(const cJSON *o, struct scenario *s, struct orr_error *err); /* and policy_timeout */
/* Entries of "policies" that are texts, "las@b", become {"policy": "las", "label": "b"}; in a mixed world, where each is a pair,
 * {"policy": "fifo+vllm"} becomes {"policy": "fifo", "serve": "vllm"}. */
void scenario_spell_out_policies(cJSON *scenario);
void scenario_spell_out_pair(cJSON *entry);
int scenario_resolve_policies(cJSON *o, const char *kind, struct scenario *s, struct orr_error *err);
int scenario_resolve_cluster(const cJSON *o, struct scenario *s, struct orr_error *err);
cJSON *scenario_args_json(const struct orr_args *a, const struct orr_param *table);
/* The SHA-256 of each file that the values name, by the parameter's name; NULL if they name none. */
cJSON *scenario_files_json(const struct orr_args *a, const struct orr_param *table);
void scenario_add_seed(cJSON *o, const struct scenario *s);

#endif
