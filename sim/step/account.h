/* SPDX-License-Identifier: GPL-3.0-or-later */
/* account.h - accounts of time, memory and bytes: devices (account.c), links (use.c), compute times (source.c) */
#ifndef ORR_STEP_ACCOUNT_H
#define ORR_STEP_ACCOUNT_H

#include "step/graph.h"

/* Use of one device in one iteration. */
struct usage {
	double work[ORR_WORK_KINDS];
	double exposed, bubble, sent;
	double sent_alone; /* merged run: bytes of this device only; `sent` of lane 0's devices applies to each lane */
};

struct device_state {
	double busy_until; /* end of its last compute op */
	double static_bytes, dynamic_bytes, peak_bytes;
	double by_kind[ORR_MEMORY_KINDS];
	double first_s; /* start of its first compute op; NAN: none */
	char *what;     /* "stage 3" */
	char *name;     /* name of the device's row in timelines; NULL: the number of the device */
	double speed;
	bool is_used;
	/* Of the first iteration, with orr_step_stages(): start of the first op, end of the last op, and sum of the times of all ops.
	 * Updates are excluded. */
	double stage_from_s, stage_to_s, stage_busy_s;
};

/* ---- source.c ---- */
void source_begin(struct orr_step *s);
void source_free(struct orr_step *s);
/* Records a query of the policy for compute times. */
void source_asked(const struct orr_step *s, uint32_t device, double batch, uint32_t shards, bool is_sequence_parallel);
void source_result(const struct orr_step *s, struct step_result *out);

/* ---- facts.c ---- */
int facts_scale(struct orr_step *s); /* reads step.compute_s and step.fc_share */

/* ---- account.c ---- */
double stretch(struct orr_step *s, uint32_t device, uint64_t iteration, uint32_t op); /* returns the factor on seconds of an op's work */
int account_options(struct orr_step *s);
/* Counts the memory that an op takes at its start, or gives back at its end. account_start() and account_end() include it. */
void account_memory(struct orr_step *s, struct iteration *k, uint32_t i, bool takes);
int account_start(struct orr_step *s, struct iteration *k, uint32_t i);
void account_end(struct orr_step *s, struct iteration *k, uint32_t i);
/* In a steady state, counts the messages of an iteration that have not arrived: those of earlier iterations arrived in its time. */
void account_unended(struct orr_step *s, struct iteration *k);
void account_retire(struct orr_step *s, struct iteration *k);
void usage_add(struct usage *to, const struct usage *u, double times);
void account_measure(struct orr_step *s); /* measurement starts now */
/* The last iteration ends now, with a message or a chain of messages that began at comm_start_s, and no op is running. */
void account_last(struct orr_step *s, double comm_start_s);
void account_cut(struct orr_step *s); /* the run ends now, with ops that are running */
void account_stages(const struct orr_step *s, struct step_stages *out);
void account_result(struct orr_step *s, struct step_result *out);

/* ---- use.c ---- */
void use_begin(struct orr_step *s);
void use_pass(struct orr_step *s, double t); /* must be called before the clock moves to t */
void use_result(const struct orr_step *s, struct step_result *out);

#endif
