/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * scenario_serve.h - scenarios of the serving world
 *
 *	{ "world": "serve",
 *	  "trace": "FILE or generator", "format": "auto", "trace_options": {"NAME": VALUE}, "compress": 1,
 *	  "cluster", "placement": "consolidate", "network": "none",
 *	  "device", "profile": "auto", "precision": "fp16",
 *	  "models": ["NAME or FILE.json", {..a served model..}],    (or "NAME,..")
 *	  "deployments": [{"model", "replicas", "tp": 1, "pp": 1, "role": "both", "gpu_types": "a100,h100",
 *	                   "kv_blocks": 0, "least", "most"}],
 *	  "replicas", "tp", "pp", "kv_blocks",    (of every deployment, whatever it says itself: what the flags set)
 *	  "serve": {..options..}, "failures": {"trace", "mtbf", "mttr"}, "prices": "auto",
 *	  "policies", "seed", "replications": 1, "until", "record": "all", "policy_timeout" }
 */
#ifndef ORR_CLI_SCENARIO_SERVE_H
#define ORR_CLI_SCENARIO_SERVE_H

#include "study/inputs.h"
#include "study/setting.h"
#include "serve/serve.h"

struct serve_scenario {
	struct scenario base;
	struct setting set; /* precision, devices, profiles, network */
	char *source;       /* the trace */
	struct reqset *requests;
	double compress; /* arrivals were divided by it */
	const struct placement *placement;
	struct served **model;
	uint32_t n_models;
	cJSON *models; /* as given: names, files, objects */
	struct serve_deployment *deployment;
	uint32_t n_deployments;
	struct failures *failures;
	struct orr_args *options, *failure_options;
	double usd_per_gpu_hour[CLUSTER_MAX_TYPES]; /* NAN: not known */
	bool has_prices;
	char *price_note; /* where prices are from */
	char *times_note; /* where times of models are from */
	uint32_t replications;
	int64_t until_ns;
	enum scenario_record record;
};

/* Loads everything that the scenario names. To be freed on an error as well. */
int serve_scenario_resolve(const cJSON *scenario, struct serve_scenario *out, struct orr_error *err);
void serve_scenario_free(struct serve_scenario *s);

/* The trace of the scenario once more, with arrivals divided by `factor` times what the scenario says; NULL on error. */
struct reqset *serve_scenario_trace(const struct serve_scenario *s, double factor, struct orr_error *err);

/* ---- deployments and prices (scenario_deploy.c) ---- */

/* Each deployment's model can be on each type of GPU that it may get; s->times_note says what its times go by. */
int serve_scenario_try_models(struct serve_scenario *s, struct orr_error *err);
/* Fills in s->deployment; models and cluster are there. */
int serve_scenario_deploy(const cJSON *o, struct serve_scenario *s, struct orr_error *err);
cJSON *serve_scenario_deployments(const struct serve_scenario *s);
int serve_scenario_prices(const cJSON *o, struct serve_scenario *s, struct orr_error *err);
/* {"TYPE": USD} or "none". */
cJSON *serve_scenario_price_list(const struct serve_scenario *s);

#endif
