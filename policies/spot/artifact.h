/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * artifact.h - what the Oobleck artifact's simulators of Varuna and of Oobleck have in common
 *
 * The event machine of rendezvous.h, where every removal starts a rendezvous. The job needs 12 members to run; how fast it then
 * runs is a curve in their number, held at its ends; a step takes int(1000 * batch / samples per second) ms. All members work, as the
 * layout of one pipeline as deep as there are members says: the artifact does not say who does what.
 *
 * Two quirks are options: timers are never cancelled (rdv.keeps_timers), and the steps of the old members go on until a timer
 * fires (steps_in_pause); the step in flight then is lost, nothing else.
 *
 * Book-keeping is the artifact's, in sums of the policy's own, as its shares of time are of other sums than the world's accounts:
 * each step's time when it is scheduled, each timer's when it is started, and what a removal is said to cost (fallback). Its average
 * throughput is from the end of the first rendezvous to that of the last step.
 *
 * Source: SymbioticLab/Oobleck, branch sosp23-artifact.
 */
#ifndef ORR_SPOT_ARTIFACT_H
#define ORR_SPOT_ARTIFACT_H

#include "rendezvous.h"

/* Parameters that artifact_init() reads. */
#define ARTIFACT_PARAMS                                                                                                   \
	ORR_PARAM_BOOL("compat_timers", true, "artifact: timers are never cancelled; one that fires late stops the job"), \
		ORR_PARAM_BOOL("steps_in_pause", true, "artifact: steps of the old members go on until a timer fires, and count")

struct artifact {
	struct rendezvous rdv;
	bool steps_in_pause;
	enum orr_account pause_account; /* while it gathers */
	int curve;                      /* samples per second by members */
	double batch;

	int64_t step_ns;           /* 0: it has never run, or does not fit */
	bool has_run;              /* a run of steps is under way */
	int64_t run_ns;            /* since then */
	uint64_t run_steps;        /* of it are in `steps` */
	uint64_t steps, lost;      /* completed; of them those that count no samples */
	int64_t first_ns, last_ns; /* first_ns -1: no rendezvous has come to an end */
	double effective_s, rendezvous_s, checkpoint_s, fallback_s;
};

/* curve: its name; 0 on success. */
int artifact_init(struct artifact *a, struct orr_spot *w, const struct orr_args *args, const char *curve, struct orr_error *err);
void artifact_free(struct artifact *a);

/* Steps that were completed since it was last asked. */
uint64_t artifact_sync(struct artifact *a, struct orr_spot *w);
/* A rendezvous that takes so long; artifact_sync() comes first. */
void artifact_gather(struct artifact *a, struct orr_spot *w, int64_t length_ns);
/* A timer of the machine: the step in flight is lost, the members are laid out. True: the job may run, step_ns is set; 0: it does
 * not fit. artifact_sync() comes first. */
bool artifact_fires(struct artifact *a, struct orr_spot *w, uint64_t tag);
/* Runs so many steps; 0: until it is stopped. */
void artifact_run(struct artifact *a, struct orr_spot *w, uint64_t most);
/* The step in flight is lost. artifact_sync() comes first. */
void artifact_stop(struct artifact *a, struct orr_spot *w);
/* In end(): steps likewise; then the artifact's figures. */
uint64_t artifact_sync_end(struct artifact *a, struct orr_spot *w);
void artifact_report(struct artifact *a, struct orr_spot *w);

#endif
