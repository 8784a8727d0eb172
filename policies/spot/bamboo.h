/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * bamboo.h - what bamboo.c (what happens) and bamboo_rules.c (settings, step times, when to regroup) share
 */
#ifndef ORR_SPOT_BAMBOO_H
#define ORR_SPOT_BAMBOO_H

#include "placement.h"
#include "rendezvous.h"

#include <orrery/spot.h>

#define MS INT64_C(1000000)

enum reconfigure { RECONFIGURE_SIMULATOR, RECONFIGURE_PAPER, RECONFIGURE_AGENT };

/* Time as the artifact's simulators book it: pauses when they start, steps when they are scheduled. */
struct book {
	double steps_ns, local_ns, global_ns, fallback_ns;
	uint64_t done_before, counted; /* of the run of steps that goes on */
	bool goes_on;
};

struct bamboo {
	struct rendezvous r;
	bool is_event, has_stale_steps, slows_for_any, rolls_back;
	enum reconfigure rule;
	enum placement placement;
	double slowdown, rho_frc, redundant;
	int64_t global_ns, restart_ns;        /* of a fatal failure: both */
	int64_t every_ns, pause_ns, write_ns; /* checkpoints: begun so often, standing still, until safe (0: what the state takes) */
	uint32_t depth, per_node, most;       /* stages, of them on one node, pipelines */
	int curve;                            /* samples/s by nodes; -1: step times by shape */
	double samples;
	uint64_t job_steps;

	int64_t step_ns; /* now; 0: never ran */
	bool is_laid_out, is_slow, is_restarting, is_pause_due, shadow_noticed;
	orr_inst *owner;
	uint32_t cap_owner;
	bool is_writing;
	uint64_t writing, checkpoint_timer; /* steps in the checkpoint that is not safe yet */
	int64_t began_write_ns;
	struct book book;
	struct {
		uint64_t fatal, takeovers, reconfigurations, checkpoints;
		int64_t failover_ns;
	} count;
};

/* As int() of a Python program has it. */
static inline int64_t whole_ms(double ms)
{
	return (int64_t)ms * MS;
}

extern const struct orr_param bamboo_settings[];
/* Fills in what is set before the first event. False: *err says what makes no sense. */
bool bamboo_read(struct bamboo *b, const struct orr_spot *w, const struct orr_args *args, struct orr_error *err);

/* A step of d pipelines now; 0: there is none. */
int64_t bamboo_step_time(const struct bamboo *b, const struct orr_spot *w, uint32_t d, enum orr_step_kind kind);
/* The most pipelines that so many nodes can run. */
uint32_t bamboo_pipelines(const struct bamboo *b, const struct orr_spot *w, uint32_t nodes);
bool bamboo_should_regroup(const struct bamboo *b, const struct orr_spot *w);

#endif
