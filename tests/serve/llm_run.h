/* SPDX-License-Identifier: GPL-3.0-or-later */
/* llm_run.h - a trace of requests served by a language model of the closed form, for tests and benchmarks */
#ifndef ORR_TESTS_LLM_RUN_H
#define ORR_TESTS_LLM_RUN_H

#include <orrery/serve.h>

#include "serve/serve.h"

#include <stdio.h>

/* An iteration takes 5 + 0.05 T + 1e-4 C + 1e-6 P ms, the model of the Vidur oracle. */
extern const char llm_vidur_model[];

struct llm_run {
	const struct reqset *requests;
	const char *model;  /* JSON, or a name of the catalogue; NULL: llm_vidur_model */
	const char *device; /* NULL: none */
	uint32_t replicas;  /* 0: one */
	uint32_t pp;        /* pipeline stages of a replica, one GPU each; 0: one */
	uint32_t kv_blocks;
	const struct serve_deployment *deployments; /* with `cluster`; replaces replicas, pp and kv_blocks; NULL: one */
	uint32_t n_deployments;
	const char *cluster;  /* cluster; NULL: one node of one GPU per replica */
	const char *topology; /* NULL: none */
	const struct orr_policy *policy;
	const char *settings; /* settings of the policy, "name=value name=value"; NULL: none */
	const char *options;  /* options of the world in the same form */
	const char *failures; /* time_s,node,event; NULL: none */
	bool is_quick;        /* no rows, no --check */
	bool explains;        /* records parts even if is_quick */
	bool is_guest;        /* run on a clock and a pool of the caller */
};

/* Returns NULL if the run failed; *err is then filled in. Rows have no model names. */
struct run_result *llm_serve(const struct llm_run *x, struct orr_error *err);
/* Reads requests from text (orrery's CSV or Vidur's). */
struct reqset *llm_requests(const char *text, struct orr_error *err);
/* Reads Mooncake's JSON lines, whose hashes cover block_tokens tokens each. */
struct reqset *llm_hashed_requests(const char *text, uint32_t tokens, struct orr_error *err);
/* Opens oracles/vidur/NAME under ORRERY_DATA_PATH. Returns NULL if the file does not exist. */
FILE *llm_oracle_file(const char *name);
/* Returns the oracle's 2,000 requests, or NULL if the file is missing. scale: factor of all arrival times. */
struct reqset *llm_vidur_requests(void);
struct reqset *llm_vidur_requests_at(double scale);
/* Functions and parameters of a policy whose state is in variables of the test. */
void *llm_no_state(struct orr_serve *w, const struct orr_args *args, struct orr_error *err);
void llm_no_end(void *self);
extern const struct orr_param llm_no_params[];
double llm_metric(const struct run_result *r, const char *name); /* NAN: none */

#endif
