/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * scenario.h - the description of a run: one JSON object, from a file or from flags
 *
 * Flags and files describe the same object, `--set path=value` edits it, and scenario_open() turns it into checked values with
 * every default filled in: keys of all worlds, keys that its world declares, policies, cluster. Then the world reads its
 * inputs. Unknown keys are errors that name the nearest known key. docs/scenario.schema.json lists all keys.
 *
 * Invariant: after scenario_open() all fields except `state` are read-only, so threads may run policies in parallel.
 */
#ifndef ORR_WORLD_SCENARIO_H
#define ORR_WORLD_SCENARIO_H

#include "base/param.h"
#include "cluster/cluster.h"
#include "results/warmup.h"
#include "world/registry.h"
#include "world/world.h"

#include <cjson/cJSON.h>

struct scenario_policy {
	struct registry_entry entry;
	char *label, *spec;
	struct orr_args *args;
	bool is_isolated;                     /* the run loads another plugin in addition to the policy, so it needs a separate process */
	const struct scenario_policy *beside; /* in a world of parts: the second policy of a pair; else NULL */
};

/* RECORD_SUMMARY: no rows of jobs or requests; RECORD_METRICS: metrics and notes only; RECORD_EXPLAIN: RECORD_ALL and parts
 * (results/parts.h). */
enum scenario_record { RECORD_SUMMARY, RECORD_SAMPLE, RECORD_ALL, RECORD_METRICS, RECORD_EXPLAIN };

struct scenario {
	const struct world *world;
	const struct world_output *output;
	cJSON *given;             /* copy of the input, which the world may edit */
	struct orr_args *keys;    /* scalar keys: scenario_keys and world->keys */
	struct orr_args *options; /* values of world->options; NULL: the world has none */
	struct scenario_policy *policy;
	size_t n_policies;
	uint64_t seed;
	double policy_timeout_s;
	uint32_t replications;  /* number of replications; a limit if until_precision is above 0 */
	double until_precision; /* bound on the width of intervals (precision.h); 0: off */
	/* Values of the keys below, if the world declares them. */
	char *cluster_spec;
	struct cluster *cluster;      /* cluster; NULL: the world declares none */
	int64_t until_ns;             /* ORR_NEVER */
	struct warmup warm_up;        /* WARMUP_NONE */
	enum scenario_record record;  /* RECORD_ALL */
	cJSON *resolved;              /* scenario without policies: every default filled in, hashes of inputs */
	void *state;                  /* the world's */
	struct orr_param *key_table;  /* of keys */
	const struct scenario *whole; /* the scenario of the world of parts, in a part; else NULL */
};

/* With until_precision: the minimum number of replications, and the maximum if the scenario gives none (precision.h). */
enum { SCENARIO_LEAST_REPLICATIONS = 10, SCENARIO_MOST_REPLICATIONS = 1000, SCENARIO_MOST_POLICIES = 1000 };

/* Keys of every scenario: seed, replications, until_precision, precision_of, compare, equal_within, policy_timeout. "world" and "policies"
 * are not included. */
extern const struct orr_param scenario_keys[];

/* clang-format off */
/* For the keys of a world. */
#define SCENARIO_KEY_CLUSTER \
	ORR_PARAM_TEXT("cluster", "", "NODESxGPUS[:TYPE][:cpus=CORES][:mem=GIB][:racks=N],.. or a CSV or JSON file")
#define SCENARIO_KEY_PLACEMENT(def) \
	ORR_PARAM_CHOICE("placement", def, "count|consolidate|spread|best-fit|topology|fgd", "rule that chooses among free GPUs")
#define SCENARIO_KEY_UNTIL ORR_PARAM_TEXT("until", "", "time at which the simulation ends (30d, 12h); empty: at the end of the work")
#define SCENARIO_KEY_WARM_UP \
	ORR_PARAM_TEXT("warm_up", "none", "initial transient removed from means, quantiles and their intervals: none, mser5, or a time (2h)")
/* Parts of times: results/parts.h. */
#define SCENARIO_KEY_RECORD \
	ORR_PARAM_CHOICE("record", "all", "summary|sample|all|metrics|explain", \
		"rows that are kept; metrics: metrics and notes only; explain: all, and parts of times by cause")
#define SCENARIO_FLAG_WARM_UP \
	{ "warm-up", "WHAT", WORLD_FLAG_KEY, "warm_up", NULL, \
		"remove the initial transient from means, quantiles and their intervals:\nmser5, what arrives before a time (2h), or none (default)" }
/* clang-format on */

/* Returns whether the result has rows of jobs or requests (all of them or a sample). */
static inline bool scenario_keeps_rows(const struct scenario *s)
{
	return s->record != RECORD_SUMMARY && s->record != RECORD_METRICS;
}

/* Reads a scenario from a file; returns NULL on error. */
cJSON *scenario_read(const char *path, struct orr_error *err);
/* Sets one value: "jobs.start_cost=30s", "policy.srtf.rules=helios" or "seed=2". */
int scenario_set(cJSON *scenario, const char *pair, struct orr_error *err);
/* Sets *out to the world that the scenario names; the default world if it names none. */
int scenario_world(const cJSON *scenario, const struct world **out, struct orr_error *err);

/* Opens a scenario. Returns NULL if it is wrong or cannot be run. o must outlive it. */
struct scenario *scenario_open(const cJSON *scenario, const struct world_output *o, struct orr_error *err);
void scenario_close(struct scenario *s);

/* Returns whether replications of an open scenario differ: inputs or options are random, or a policy may draw (as any plugin may). */
bool scenario_is_random(const struct scenario *s);

/* Returns the canonical text of one policy's run, and its hash (over contents of inputs, parameters, the program's version and its
 * sources). Free the text with mem_free. */
char *scenario_text(const struct scenario *s, size_t policy, char hash[65]);
/* Returns the text of `scenario show`; free with mem_free. */
char *scenario_show(const struct scenario *s);

/* ---- for the worlds ---- */

/* Returns a JSON scalar as the text that the user could have given on the command line; NULL for other values. */
char *scenario_scalar(const cJSON *v);
/* Reads the scalar at key as such a text, or copies def (which may be NULL). */
int scenario_text_at(const cJSON *o, const char *key, const char *def, char **out, struct orr_error *err);
/* Checks keys. where: the path of o with a dot at the end, "deployments[0]."; "": the scenario. If no key is similar, the message
 * names the first of `known`. */
int scenario_check_keys_at(const cJSON *o, const char *where, const char *const *known, struct orr_error *err);
/* Returns the object at key as values of the table; NULL on error. */
struct orr_args *scenario_args_at(const cJSON *o, const char *key, const struct orr_param *table, const char *where, struct orr_error *err);
cJSON *scenario_args_json(const struct orr_args *a, const struct orr_param *table);
/* Returns the SHA-256 of each file that the values name, by the parameter's name; NULL if they name none. */
cJSON *scenario_files_json(const struct orr_args *a, const struct orr_param *table);
/* Adds the object of s->options to a resolved scenario, and the hashes of its files. */
void scenario_add_options(cJSON *o, const struct scenario *s);
void scenario_add_seed(cJSON *o, const struct scenario *s);
void scenario_add_until(cJSON *o, const struct scenario *s);
/* Adds warm_up unless it is none. */
void scenario_add_warm_up(cJSON *o, const struct scenario *s);
void scenario_add_record(cJSON *o, const struct scenario *s);

/* ---- entries of "policies" ---- */

/* Replaces entries that are texts, "las@b", by {"policy": "las", "label": "b"}. */
void scenario_spell_out_policies(cJSON *scenario);
/* In a world of parts, replaces {"policy": "fifo+vllm"} by {"policy": "fifo", PART: "vllm"}. */
void scenario_spell_out_pair(cJSON *entry, const struct world *w);

/* JSON keys of a policy in its entry: the first policy, or the second of a pair. */
struct scenario_policy_keys {
	char policy[32], set[40], plugin[48], files[48];
};
struct scenario_policy_keys scenario_policy_keys(const struct world *w, int part);

#endif
