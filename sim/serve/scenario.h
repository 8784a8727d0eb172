/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * scenario.h - a loaded scenario of the serving world
 *
 *	{ "world": "serve",
 *	  "trace": "FILE or generator", "format": "auto", "trace_options": {"NAME": VALUE}, "compress": 1,
 *	  "cluster", "placement": "consolidate", "network": "none",
 *	  "device", "profile": "auto", "precision": "fp16",
 *	  "models": ["NAME, FILE.json or NETWORK:KEY=VALUE,..", {..a served model..}],    (or "NAME,..")
 *	  "deployments": [{"model", "replicas", "tp": 1, "pp": 1, "role": "both", "gpu_types": "a100,h100",
 *	                   "kv_blocks": 0, "least", "most"}],
 *	  "replicas", "tp", "pp", "kv_blocks",    (override those of every deployment: set by flags)
 *	  "serve": {..options..}, "failures": {"trace", "mtbf", "mttr"}, "prices": "auto",
 *	  "policies", "seed", "replications": 1, "until", "record": "all", "policy_timeout" }
 */
#ifndef ORR_SERVE_SCENARIO_H
#define ORR_SERVE_SCENARIO_H

#include "serve/quality.h"
#include "serve/router.h"
#include "serve/serve.h"
#include "step/setting.h"
#include "world/inputs.h"
#include "world/world.h"

struct serve_prices {
	double usd_per_gpu_hour[CLUSTER_MAX_TYPES]; /* NAN: unknown */
	bool is_known;                              /* the price of at least one type is known */
	char *note;                                 /* sources of the prices that are the catalogue's; NULL: none are */
};

/* State of an open scenario; read-only, so that threads may share it. */
struct serve_state {
	struct setting set; /* precision, devices, profiles, network */
	struct reqset *requests;
	const struct placement *placement;
	struct served **model;
	uint32_t n_models;
	cJSON *models; /* models as given: names, files, objects */
	struct serve_deployment *deployment;
	uint32_t n_deployments;
	struct served **placed; /* tables of models by layers, as serve_config.placed */
	size_t n_placed;
	struct topo *default_topo; /* network of replicas on several nodes if the scenario names none; else NULL */
	struct failures *failures;
	struct orr_args *failure_options;
	struct serve_prices prices;
	struct router_choice router;
	struct quality *quality;   /* accuracy by answers (serve.quality); NULL: none */
	char *times_note;          /* source of the cost models */
	char *cache_note;          /* sizes of the KV caches of replicas; NULL: no language model */
	struct quantisation quant; /* formats of weights and KV caches */
	const struct device *device[CLUSTER_MAX_TYPES];
	const struct profile *profile[CLUSTER_MAX_TYPES];
	struct serve_config config;
	atomic_uint *used; /* inputs used, by policy: enum serve_use */
};

enum { SERVE_SAMPLE_ROWS = 10000 };

/* Loads inputs and fills in s->resolved. */
int serve_state_load(struct scenario *s, struct serve_state *t, struct orr_error *err);
void serve_state_free(struct serve_state *t);
/* Opens the trace again with arrival times divided by `factor` times the scenario's divisor; returns NULL on error. */
struct reqset *serve_state_trace(const struct scenario *s, double factor, struct orr_error *err);

/* ---- assumptions and remarks (effects.c, notes.c) ---- */

extern const struct world_effect serve_effects[];
unsigned serve_used(const struct scenario *s, size_t i);
void serve_note(const struct scenario *s, size_t i, struct run_result *r);

/* ---- deployments and prices (deploy.c) ---- */

/* JSON Schema of the key "deployments". */
extern const char serve_deployment_schema[];
/* Fills in the deployments. Models and cluster must be loaded. */
int serve_state_deploy(struct scenario *s, struct orr_error *err);
/* Checks that each deployment's model runs on each GPU type that it may get, and makes the tables of models by layers. times_note: source
 * of its cost models. */
int serve_state_try_models(struct scenario *s, struct orr_error *err);
cJSON *serve_state_deployments(const struct scenario *s);
/* Reads the key "prices" of o. device: by GPU type; NULL: the names of the types. */
int serve_prices_read(struct serve_prices *p, const cJSON *o, const struct cluster *c, struct device *const *device, struct orr_error *err);
void serve_prices_free(struct serve_prices *p);
/* Returns {"TYPE": USD} or "none". */
cJSON *serve_price_list(const struct serve_prices *p, const struct cluster *c);

#endif
