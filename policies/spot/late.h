/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * late.h - what the policies of Can't Be Late share (Wu et al., NSDI 2024)
 *
 * One job with a deadline is idle, on spot, or on demand. C(0): all of its work, R(0): the deadline; at t, C(t) is left to be done,
 * R(t) = R(0) - t is left to do it in, progress is C(0) - C(t). Each instance begins with a change-over d that is paid and does no work
 * (account restart). Rules of all of them:
 * - Exploitation: on spot until it is taken away.
 * - Safety net: not on spot and R < C + 2d: on demand, to the end.
 * - Thrifty: what is not used is given back.
 * The rest is one function per policy, the rule, asked at each probe and when spot is lost; in between nobody looks.
 *
 * Several instances are a gang: all of them or none, in one zone; when one goes the others are given back. "Available" means as many as
 * the gang has.
 *
 * So the deadline is kept whenever R(0) >= C(0) + 2d at the start: 2d stands for d_on_demand + max(d_spot + one step, probe), where
 * the d's have the start-up time in them. Who waits looks again after `probe`, and who was on spot has
 * lost at most d_spot and the step in flight, so R >= C + d_on_demand when on-demand is taken. With probe <= d it is the paper's 2d, and a
 * step.
 */
#ifndef ORR_POLICIES_SPOT_LATE_H
#define ORR_POLICIES_SPOT_LATE_H

#include <orrery/spot.h>

enum late_state { LATE_IDLE, LATE_SPOT, LATE_ON_DEMAND };

struct late {
	/* What to be from now on. Asked when the job is not on spot and the net is not needed; always, if is_planned. */
	enum late_state (*rule)(struct late *l, struct orr_spot *w);
	void (*free)(struct late *l); /* of what the policy has besides; may be NULL */
	bool is_planned;              /* the rule knows what it does: no probes, no net, no exploitation */
	/* the job */
	int64_t work_ns, deadline_ns, step_ns; /* C(0), R(0) */
	uint32_t pipelines, depth, nodes;
	/* options; with start-up times */
	int64_t probe_ns, spot_changeover_ns, on_demand_changeover_ns, restart_ns /* without */, reserve_ns;
	/* now */
	enum late_state state;
	uint32_t zone; /* where spot was found last */
	orr_inst *member;
	uint32_t members, ready, awaited;
	bool is_lost, is_due; /* a member went; the rule is to be asked */
	uint64_t start_timer, probe_timer;
	uint64_t steps_before;  /* done when this stint began */
	int64_t progress_ns[3]; /* by state */
	uint64_t changeovers;
};

#define LATE_PARAMS                                                                                                          \
	ORR_PARAM_TIME("changeover", "0.2h", "from an instance being ready to its first step"),                              \
		ORR_PARAM_TIME("probe", "10m", "how often the policy looks whether spot is available, and at its progress"), \
		ORR_PARAM_INT("nodes", "0", 0, 1e5, "instances, all or none; 0: as many as the job's file says")

/* create() of a policy whose object begins with a struct late that has its rule. False: *err says why; late_destroy() frees the object. */
bool late_begin(struct late *l, struct orr_spot *w, const struct orr_args *args, struct orr_error *err);

/* For struct orr_spot_ops. */
void late_destroy(void *self);
void late_instance(void *self, struct orr_spot *w, orr_inst i, enum orr_inst_event event);
void late_timer(void *self, struct orr_spot *w, uint64_t tag);
void late_decide(void *self, struct orr_spot *w);
void late_finish(void *self, struct orr_spot *w);
#define LATE_OPS(create)                                                                        \
	{                                                                                       \
		create, late_destroy, late_instance, late_timer, NULL, late_decide, late_finish \
	}

/* Work done in whole steps, and left: C(0) - C(t), C(t). */
int64_t late_done(const struct late *l, const struct orr_spot *w);
int64_t late_left(const struct late *l, const struct orr_spot *w);
/* Is there room for the gang on spot: in the cheapest zone that has it, l->zone from now on. */
bool late_is_available(struct late *l, const struct orr_spot *w);
/* Asks the rule at that time too. */
void late_wake(struct orr_spot *w, int64_t at_ns);
/* x of C(0) in whole steps, rounded up. */
int64_t late_whole_steps(const struct late *l, double work_ns);

/* ---- greedy in slices ---- */

/* The time from start to the deadline, and the work that is left when work_before is done, in n equal slices. */
struct late_slices {
	int64_t start_ns, work_before_ns;
	uint32_t n;
	bool takes_surplus;      /* spot is taken although the slice has its share */
	int64_t on_demand_slice; /* whose net has been needed; -1: none's */
};
enum late_state late_in_slices(struct late *l, struct orr_spot *w, struct late_slices *s);

#endif
