/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * late.h - the common part of the policies of Can't Be Late (Wu et al., NSDI 2024)
 *
 * One job with a deadline is idle, on spot, or on demand. C(0) is its whole work, R(0) the deadline. At t, the work C(t) and the time R(t)
 * = R(0) - t are left, and progress is C(0) - C(t). Each instance starts with a change-over d, which costs money and does no work (account
 * restart). Rules of all these policies:
 * - Exploitation: stay on spot until it is preempted.
 * - Safety net: if the job is not on spot and R < C + 2d, it runs on demand to the end.
 * - Release: unused instances are released. Each policy adds one function, the rule, called at each probe and when spot is lost.
 *
 * Several instances are a gang: all or none, in one zone; when one ends, the others are released. "Available" means enough offers for the
 * gang.
 *
 * The deadline is met if R(0) >= C(0) + 2d at the start. Here 2d means d_on_demand + max(d_spot + one step, probe); both d's include the
 * start-up time. An idle job probes again after `probe`, and a job on spot has lost at most d_spot and the step in flight, so R >= C +
 * d_on_demand when the job switches to on-demand. With probe <= d this is the paper's 2d plus one step.
 */
#ifndef ORR_POLICIES_SPOT_LATE_H
#define ORR_POLICIES_SPOT_LATE_H

#include <orrery/spot.h>

enum late_state { LATE_IDLE, LATE_SPOT, LATE_ON_DEMAND };

struct late {
	/* Returns the next state. Called when the job is not on spot and the safety net is not needed, or always if is_planned. */
	enum late_state (*rule)(struct late *l, struct orr_spot *w);
	void (*free)(struct late *l); /* frees the policy's own fields; may be NULL */
	bool is_planned;              /* only the rule decides: no probes, no safety net, no exploitation */
	/* the job */
	int64_t work_ns, deadline_ns, step_ns; /* C(0), R(0) */
	uint32_t pipelines, depth, nodes;
	/* options; change-overs include start-up times */
	int64_t probe_ns, spot_changeover_ns, on_demand_changeover_ns, restart_ns /* restart_ns: without start-up time */, reserve_ns;
	/* now */
	enum late_state state;
	uint32_t zone; /* zone in which spot was last available */
	orr_inst *member;
	uint32_t members, ready, awaited;
	bool is_lost, is_due; /* is_lost: a member of the gang has ended; is_due: the rule must be called */
	uint64_t start_timer, probe_timer;
	uint64_t steps_before;  /* number of steps done at the start of the current state */
	int64_t progress_ns[3]; /* by state */
	uint64_t changeovers;
};

#define LATE_PARAMS                                                                                                    \
	ORR_PARAM_TIME("changeover", "0.2h", "time from the instant at which an instance is ready to its first step"), \
		ORR_PARAM_TIME("probe", "10m", "interval at which the policy checks availability and progress"),       \
		ORR_PARAM_INT("nodes", "0", 0, 1e5, "number of instances, all or none; 0: the job's default")

/* Initialises a policy in create(). self begins with a struct late whose rule is set. Returns false with *err filled in on error; the
 * caller then calls late_destroy(). */
bool late_begin(struct late *l, struct orr_spot *w, const struct orr_args *args, struct orr_error *err);

/* Functions for struct orr_spot_ops. */
void late_destroy(void *self);
void late_instance(void *self, struct orr_spot *w, orr_inst i, enum orr_inst_event event);
void late_timer(void *self, struct orr_spot *w, uint64_t tag);
void late_decide(void *self, struct orr_spot *w);
void late_finish(void *self, struct orr_spot *w);
#define LATE_OPS(create)                                                                        \
	{                                                                                       \
		create, late_destroy, late_instance, late_timer, NULL, late_decide, late_finish \
	}

/* Return the work done and the work left, in whole steps: C(0) - C(t) and C(t). */
int64_t late_done(const struct late *l, const struct orr_spot *w);
int64_t late_left(const struct late *l, const struct orr_spot *w);
/* Returns whether a zone has enough offers for the gang; sets l->zone to the cheapest. */
bool late_is_available(struct late *l, const struct orr_spot *w);
/* Requests a call of the rule at at_ns. */
void late_wake(struct orr_spot *w, int64_t at_ns);
/* Rounds work up to whole steps. */
int64_t late_whole_steps(const struct late *l, double work_ns);

/* ---- greedy in slices ---- */

/* The time from start to the deadline, and the work left after work_before, in n equal slices. */
struct late_slices {
	int64_t start_ns, work_before_ns;
	uint32_t n;
	bool takes_surplus;      /* uses spot although the slice's share of the work is complete */
	int64_t on_demand_slice; /* index of the slice that used its safety net; -1: none */
};
enum late_state late_in_slices(struct late *l, struct orr_spot *w, struct late_slices *s);

#endif
