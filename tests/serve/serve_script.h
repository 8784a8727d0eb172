/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * serve_script.h - runs under a policy whose functions are defined by a test
 *
 * Only one script exists at a time: the state of the policy is the global `script`.
 */
#ifndef ORR_TESTS_SERVE_SCRIPT_H
#define ORR_TESTS_SERVE_SCRIPT_H

#include "tests/serve/serve_replay.h"

struct script {
	void (*arrive)(struct orr_serve *w, orr_req r);
	void (*finish)(struct orr_serve *w, orr_req r, enum orr_req_end how);
	void (*run_end)(struct orr_serve *w, orr_run run);
	void (*schedule)(struct orr_serve *w, uint32_t replica);
	/* Parameters of the case; zeros mean one replica with infinite memory. */
	uint32_t replicas;
	double memory_GiB, until_s;
	const char *const *models;
	unsigned policy_flags;
	/* state of the policy's functions */
	struct orr_fifo queue;
	orr_req req;
	orr_run run;
	int seen;
	char log[4000];
	struct orr_error error; /* error of the run */
};
extern struct script script;

void script_set(struct script s);
/* Runs one model, given as JSON, or script.models if NULL. Returns NULL and prints script.error if the run fails. */
struct run_result *script_run(const char *model, const char *requests, const char *options);
/* Runs the same case, which must fail, and returns its error. */
const char *script_error(const char *model, const char *requests, const char *options);

/* Ready-made functions. */
void script_push(struct orr_serve *w, orr_req r);
/* Starts the first request of the queue as a separate batch. Returns 0 if the queue is empty or the request does not fit. */
orr_run script_start_first(struct orr_serve *w, uint32_t replica);

#endif
