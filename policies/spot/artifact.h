/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * artifact.h - the part common to the Oobleck artifact's simulators of Varuna and of Oobleck
 *
 * It uses the event machine of rendezvous.h; every removal starts a rendezvous. The job needs 12 members to run. Its rate is a
 * curve over the number of members, constant beyond its ends; a step takes int(1000 * batch / samples per second) ms. The
 * artifact assigns no stages, so the layout here is one pipeline with as many stages as there are members, and each member owns
 * a stage.
 *
 * Two deviations are options: timers are never cancelled (rdv.keeps_timers), and steps of the old members continue until a timer fires
 * (steps_in_pause); then only the step in flight is lost.
 *
 * The artifact divides time differently from the world's accounts, so this module keeps separate accounts. The time of a step
 * is counted when it is scheduled, the time of a timer when it is started, and the cost of a removal (fallback) when it happens.
 * Its mean throughput is over the time from the end of the first rendezvous to the end of the last step.
 *
 * Source: SymbioticLab/Oobleck, branch sosp23-artifact.
 */
#ifndef ORR_SPOT_ARTIFACT_H
#define ORR_SPOT_ARTIFACT_H

#include "rendezvous.h"

/* Parameters that artifact_init() reads. */
#define ARTIFACT_PARAMS                                                                                             \
	ORR_PARAM_BOOL("compat_timers", true, "artifact: timers are never cancelled; a stale timer stops the job"), \
		ORR_PARAM_BOOL("steps_in_pause", true, "artifact: steps of the old members continue until a timer fires, and count")

struct artifact {
	struct rendezvous rdv;
	bool steps_in_pause;
	enum orr_account pause_account; /* account of the time while members gather */
	int curve;                      /* curve: samples per second by number of members */
	double batch;

	int64_t step_ns;           /* step time; 0: never run, or the job does not fit */
	bool has_run;              /* a run of steps is in flight */
	int64_t run_ns;            /* start of the current run, ns */
	uint64_t run_steps;        /* number of its steps that `steps` includes */
	uint64_t steps, lost;      /* number of completed steps, and of completed steps whose samples do not count */
	int64_t first_ns, last_ns; /* first_ns -1: no rendezvous has ended yet */
	double effective_s, rendezvous_s, checkpoint_s, fallback_s;
};

/* Reads the parameters. curve: name of the job's curve. Returns 0 on success. */
int artifact_init(struct artifact *a, struct orr_spot *w, const struct orr_args *args, const char *curve, struct orr_error *err);
void artifact_free(struct artifact *a);

/* Counts the steps completed since the last call and returns their number. */
uint64_t artifact_sync(struct artifact *a, struct orr_spot *w);
/* Starts a rendezvous of this length. Call artifact_sync() first. */
void artifact_gather(struct artifact *a, struct orr_spot *w, int64_t length_ns);
/* Handles a timer of the machine: the step in flight is lost, the members are laid out. Returns true if the job may run; step_ns is
 * then set (0: it does not fit). Call artifact_sync() first. */
bool artifact_fires(struct artifact *a, struct orr_spot *w, uint64_t tag);
/* Runs `most` steps; 0: until they are stopped. */
void artifact_run(struct artifact *a, struct orr_spot *w, uint64_t most);
/* Counts the steps before the end like artifact_sync(), then reports the artifact's metrics; for end(). */
uint64_t artifact_sync_end(struct artifact *a, struct orr_spot *w);
void artifact_report(struct artifact *a, struct orr_spot *w);

#endif
