/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * bamboo.h - declarations for bamboo.c (events) and bamboo_rules.c (settings, step times, the rule for regrouping)
 */
#ifndef ORR_SPOT_BAMBOO_H
#define ORR_SPOT_BAMBOO_H

#include "placement.h"
#include "rendezvous.h"

#include <orrery/spot.h>

#define MS INT64_C(1000000)

enum reconfigure { RECONFIGURE_SIMULATOR, RECONFIGURE_PAPER, RECONFIGURE_AGENT };

/* The artifact's accounts: pauses are counted when they start, steps when they are scheduled. */
struct book {
	double steps_ns, local_ns, global_ns, fallback_ns;
	uint64_t done_before, counted; /* number of steps done before the current run of steps; number of its steps already counted */
	bool goes_on;                  /* a run of steps is in flight */
};

struct bamboo {
	struct rendezvous r;
	bool is_event, has_stale_steps, slows_for_any, rolls_back;
	enum reconfigure rule;
	enum placement placement;
	double slowdown, rho_frc, redundant;
	int64_t global_ns, restart_ns;        /* times of rendezvous and of restart; a fatal failure takes both */
	int64_t every_ns, pause_ns, write_ns; /* checkpoints: interval, pause, write time (0: derived from the size of the state) */
	bool is_sync;                         /* flag: training pauses during the whole write time */
	uint32_t depth, per_node, most;       /* numbers of stages of a pipeline, stages per node; largest number of pipelines */
	int curve;                            /* curve: samples/s by nodes; -1: step times by shape */
	double samples;
	uint64_t job_steps;

	int64_t step_ns; /* current step time; 0: never run */
	bool is_laid_out, is_slow, is_restarting, is_pause_due, shadow_noticed;
	orr_inst *owner;
	uint32_t cap_owner;
	bool is_writing;
	uint64_t writing, checkpoint_timer; /* writing: number of steps in the checkpoint that is being written */
	int64_t began_write_ns;
	struct book book;
	struct {
		uint64_t fatal, takeovers, reconfigurations, checkpoints;
		int64_t failover_ns;
	} count;
};

/* Truncates to whole ms, like int() in Python. */
static inline int64_t whole_ms(double ms)
{
	return (int64_t)ms * MS;
}

extern const struct orr_param bamboo_settings[];
/* Reads the settings. Returns false with *err filled in if they are invalid. */
bool bamboo_read(struct bamboo *b, const struct orr_spot *w, const struct orr_args *args, struct orr_error *err);

/* Returns the present step time of d pipelines; 0: unknown. */
int64_t bamboo_step_time(const struct bamboo *b, const struct orr_spot *w, uint32_t d, enum orr_step_kind kind);
/* Returns the largest number of pipelines that the nodes can run. */
uint32_t bamboo_pipelines(const struct bamboo *b, const struct orr_spot *w, uint32_t nodes);
/* Returns whether the reconfiguration rule requires new pipelines at the end of the step. */
bool bamboo_should_regroup(const struct bamboo *b, const struct orr_spot *w);

#endif
