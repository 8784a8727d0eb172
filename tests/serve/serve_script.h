/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * serve_script.h - a policy that is made of a test's own functions, and runs under it
 *
 * One script at a time: the policy's state is the one struct script.
 */
#ifndef ORR_TESTS_SERVE_SCRIPT_H
#define ORR_TESTS_SERVE_SCRIPT_H

#include "tests/serve/serve_replay.h"

struct script {
	void (*arrive)(struct orr_serve *w, orr_req r);
	void (*finish)(struct orr_serve *w, orr_req r, enum orr_req_end how);
	void (*run_end)(struct orr_serve *w, orr_run run);
	void (*schedule)(struct orr_serve *w, uint32_t replica);
	/* the case; zero: one replica, memory without end */
	uint32_t replicas;
	double memory_GiB, until_s;
	const char *const *models;
	unsigned policy_flags;
	/* what its functions keep */
	struct orr_fifo queue;
	orr_req req;
	orr_run run;
	int seen;
	char log[4000];
	struct orr_error error; /* how the run ended */
};
extern struct script script;

void script_set(struct script s);
/* model: JSON of the only one, or NULL: script.models. NULL if the run failed: script.error. Prints the error. */
struct run_result *script_run(const char *model, const char *requests, const char *options);
/* The same where it is to fail. */
const char *script_error(const char *model, const char *requests, const char *options);

/* Ready-made functions. */
void script_push(struct orr_serve *w, orr_req r);
/* A batch of its own for the first of the queue; 0 if there is none or something runs but nothing else could. */
orr_run script_start_first(struct orr_serve *w, uint32_t replica);

#endif
