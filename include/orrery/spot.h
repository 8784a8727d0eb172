/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * spot.h - the spot world as a policy sees it: one elastic job on instances that come and go, and the bill
 *
 * Instances are offered and taken away by a trace or a random process. An offer that is taken becomes an instance: it
 * starts (spot.startup), is ready, may be given notice (spot.notice), and is gone. On-demand instances are there for as
 * long as they are wanted, at their price. The job runs steps over `pipelines` x `depth` stages; a ready instance owns
 * the stages that it is given by orr_layout() or orr_own().
 *
 * Steps: orr_steps_run() begins a run of steps of equal length, one after the other. The world advances those between two
 * events in one go; steps() is told when a run has come to its end. A step counts when it is done; or, after
 * orr_steps_are_provisional(), when it has been committed (orr_commit(): a checkpoint is safe); orr_lose() takes back what
 * was not. The job is over when all of its steps count.
 *
 * Every second of every instance is in exactly one account (enum orr_account): owners' time is that of the step in
 * flight, split into useful and redundant when it counts and wasted when it is lost; while no step is in flight it goes
 * to the account named by orr_pause_as().
 *
 * At each instant, in this order, the world tells: instance() for each offer taken, instance and notice that came, each
 * that went, each that got ready (simultaneous ones in the trace's order), timer() by rank, steps(); and then decide(),
 * once. Actions are allowed in all of them and take effect at once; what they make due at this instant is told before decide()
 * is called again. At the end of an instant each stage of the layout must have a live owner if a step is in flight.
 *
 * A policy sees what is there now, not future removals: orr_spot_future() and orr_inst_true_end() are for policies
 * that declare the oracle. An impossible action (a dead instance, two owners) ends the run with an error that names policy, instance and
 * time; after it every action is refused, so a policy need not check. Handles carry a generation: that of an instance
 * that is gone is refused, except while instance(.., ORR_INST_GONE) is told.
 *
 * Times: int64_t ns, exact. Money: USD; prices USD per hour of an instance.
 */
#ifndef ORRERY_SPOT_H
#define ORRERY_SPOT_H

#include <orrery/policy.h>

#ifdef __cplusplus
extern "C" {
#endif

struct orr_spot;           /* the world */
typedef uint64_t orr_inst; /* an instance; 0 is none */
#define ORR_ANY_ZONE UINT32_MAX
#define ORR_WANT_ALL UINT32_MAX

ORR_API int64_t orr_spot_now(const struct orr_spot *w);

/* ---- instances ---- */

struct orr_inst_info {
	uint64_t number; /* 0, 1, ... in order of being taken */
	bool is_ready, is_on_demand;
	uint32_t zone, type;
	int64_t since_ns;    /* taken */
	int64_t ready_ns;    /* when it got or will get ready */
	int64_t goes_ns;     /* noticed: when it will be gone; else ORR_NEVER */
	double usd_per_hour; /* now */
	uint32_t stages;     /* that it owns */
};
/* False: no such live instance. */
ORR_API bool orr_inst_get(const struct orr_spot *w, orr_inst i, struct orr_inst_info *out);
/* Its name in the trace ("od3" of on-demand ones), in buf; returns buf. */
ORR_API const char *orr_inst_name(const struct orr_spot *w, orr_inst i, char *buf, size_t size);
ORR_API bool orr_inst_is_live(const struct orr_spot *w, orr_inst i);
ORR_API bool orr_inst_is_ready(const struct orr_spot *w, orr_inst i);
ORR_API bool orr_inst_is_noticed(const struct orr_spot *w, orr_inst i);
ORR_API uint32_t orr_inst_zone(const struct orr_spot *w, orr_inst i);
/* A small number that no other live instance has, for arrays of the policy; below orr_inst_slots(), which can grow. */
static inline uint32_t orr_inst_slot(orr_inst i)
{
	return (uint32_t)i - 1;
}
ORR_API uint32_t orr_inst_slots(const struct orr_spot *w);
/* Live ones in order of being taken. */
ORR_API orr_inst orr_inst_first(const struct orr_spot *w);
ORR_API orr_inst orr_inst_next(const struct orr_spot *w, orr_inst i);
/* Up to cap of those that are ready, in that order; how many there are. */
ORR_API uint32_t orr_inst_ready_list(const struct orr_spot *w, orr_inst *out, uint32_t cap);
ORR_API uint32_t orr_inst_live(const struct orr_spot *w); /* starting and ready */
ORR_API uint32_t orr_inst_ready(const struct orr_spot *w);
/* A number of the policy's own, kept with the instance; 0 at first. */
ORR_API uint64_t orr_inst_mark(const struct orr_spot *w, orr_inst i);
ORR_API void orr_inst_set_mark(struct orr_spot *w, orr_inst i, uint64_t mark);

/* ---- capacity ---- */

ORR_API uint32_t orr_zones(const struct orr_spot *w); /* at least 1 */
ORR_API const char *orr_zone_name(const struct orr_spot *w, uint32_t zone);
/* A standing request, at first spot.target of any zone (ORR_WANT_ALL unless set): offers are taken as they come while fewer spot instances
 * are live (in the zone). A smaller number gives nothing back: orr_release() does. */
ORR_API void orr_want(struct orr_spot *w, uint32_t zone, uint32_t n);
/* Takes up to n offers now; how many were granted (none left, quota). They are told by instance() within this instant. */
ORR_API uint32_t orr_request(struct orr_spot *w, uint32_t zone, uint32_t n);
/* Offers that nobody has taken: what a probe finds now. */
ORR_API uint32_t orr_offers(const struct orr_spot *w, uint32_t zone);
/* On-demand instances: granted within spot.on_demand_quota. */
ORR_API uint32_t orr_request_on_demand(struct orr_spot *w, uint32_t zone, uint32_t n);
/* Gives an instance back; its stages lose their owner. instance() is not called for it. */
ORR_API void orr_release(struct orr_spot *w, orr_inst i);
/* Of the type that came last in the zone; before any came, of the first that will. */
ORR_API double orr_spot_price(const struct orr_spot *w, uint32_t zone);
ORR_API double orr_on_demand_price(const struct orr_spot *w, uint32_t zone);
ORR_API int64_t orr_startup_time(const struct orr_spot *w, bool is_on_demand);
/* How long before it goes an instance is noticed; 0: not at all. */
ORR_API int64_t orr_notice_time(const struct orr_spot *w);

/* ---- the job ---- */

struct orr_elastic_info {
	const char *name; /* valid during the run */
	double samples_per_step;
	uint64_t steps;            /* of the whole job; 0: as many as there is time for */
	int64_t deadline_ns;       /* spot.deadline; ORR_NEVER */
	uint32_t depth, pipelines; /* as its file suggests; 0: not said */
	double state_bytes;        /* parameters, optimiser: what a checkpoint holds; 0: not said */
	double parameters;
	uint32_t on_demand_nodes; /* the baseline's; 0: not said */
	int64_t on_demand_step_ns;
};
ORR_API void orr_elastic_get(const struct orr_spot *w, struct orr_elastic_info *out);

enum orr_step_kind {
	ORR_STEP_PLAIN,     /* nothing redundant is computed */
	ORR_STEP_REDUNDANT, /* each stage computes its successor's forward pass too */
	ORR_STEP_DEGRADED   /* the same while one pipeline has a stage that does the work of two */
};
/* A step of so many pipelines of that depth; 0: the job has none such (too little memory, not measured). */
ORR_API int64_t orr_step_time(const struct orr_spot *w, uint32_t pipelines, uint32_t depth, enum orr_step_kind kind);
/* Share of the owners' time that is redundant in such a step; what a loss in the midst of one costs (detection, swapping in,
 * backward passes anew); 0 where the job does not say. */
ORR_API double orr_step_redundant(const struct orr_spot *w, uint32_t pipelines, uint32_t depth);
ORR_API int64_t orr_step_failover(const struct orr_spot *w, uint32_t pipelines, uint32_t depth);
/* All (pipelines, depth) of which it has a time, by pipelines, then depth. False past the last. */
ORR_API bool orr_step_point(const struct orr_spot *w, size_t i, uint32_t *pipelines, uint32_t *depth);
/* Numbers of the job's file by name: a figure; a curve over the number of nodes, at its ends beyond them. NAN: it has none. */
ORR_API double orr_figure(const struct orr_spot *w, const char *name);
ORR_API int orr_curve_find(const struct orr_spot *w, const char *name); /* -1: none */
ORR_API double orr_curve_at(const struct orr_spot *w, int curve, uint32_t nodes);
ORR_API void orr_curve_range(const struct orr_spot *w, int curve, uint32_t *first, uint32_t *last);
/* Seconds to write (or read) the job's state with so many nodes: spot.storage_Bps, spot.node_Bps, spot.storage_latency. */
ORR_API int64_t orr_checkpoint_time(const struct orr_spot *w, uint32_t nodes);

/* ---- who does what ---- */

/* The stages of the job from now on; owner[d * depth + s], ready and live each; an instance may own several. (0, 0, NULL): none.
 * A step in flight must have been stopped, unless its flags say ORR_STEPS_ORPHANED. */
ORR_API void orr_layout(struct orr_spot *w, uint32_t pipelines, uint32_t depth, const orr_inst *owner);
/* A stage that lost its owner gets another. */
ORR_API void orr_own(struct orr_spot *w, uint32_t pipeline, uint32_t stage, orr_inst i);
/* A stage's live owner leaves it; to somebody else, if `to` is not 0. */
ORR_API void orr_disown(struct orr_spot *w, uint32_t pipeline, uint32_t stage, orr_inst to);
/* The stages of this pipeline are no more; its owners stand by. */
ORR_API void orr_drop_pipeline(struct orr_spot *w, uint32_t pipeline);
/* 0: none. While GONE is told: none any more. */
ORR_API orr_inst orr_owner(const struct orr_spot *w, uint32_t pipeline, uint32_t stage);
ORR_API void orr_shape(const struct orr_spot *w, uint32_t *pipelines, uint32_t *depth);
ORR_API uint32_t orr_ownerless(const struct orr_spot *w); /* stages without a live owner */

/* ---- steps ---- */

enum orr_steps_flag {
	ORR_STEPS_ORPHANED = 1 /* go on without owners, as the rules of some published simulators have it; counted and told */
};
struct orr_steps {
	int64_t step_ns;     /* each, > 0 */
	double samples;      /* each; 0: the job's */
	uint64_t most;       /* so many; 0: until the job is over or orr_steps_stop() */
	double redundant;    /* share of the owners' time, 0..1 */
	double egress_bytes; /* each: sent between zones */
	unsigned flags;
};
/* The first step starts now. None may be in flight. */
ORR_API void orr_steps_run(struct orr_spot *w, const struct orr_steps *s);
/* The step in flight is lost, as is what its owners did for it. Nothing in flight: nothing happens. */
ORR_API void orr_steps_stop(struct orr_spot *w);
/* The step in flight is the last of its run: steps() will be told when it is done. */
ORR_API void orr_steps_last(struct orr_spot *w);
/* The step in flight takes longer by so much. */
ORR_API void orr_steps_stretch(struct orr_spot *w, int64_t by_ns);
/* The step in flight is of so many samples (fewer when a lost worker's are dropped). */
ORR_API void orr_steps_samples(struct orr_spot *w, double samples);
/* Each step after the one in flight takes so long. */
ORR_API void orr_steps_pace(struct orr_spot *w, int64_t step_ns);
/* Is a step in flight; when it began and will end. The pointers may be NULL. */
ORR_API bool orr_steps_in_flight(const struct orr_spot *w, int64_t *began_ns, int64_t *ends_ns);
/* Steps that were done and not lost since; of them those that may yet be lost. */
ORR_API uint64_t orr_steps_done(const struct orr_spot *w);
ORR_API uint64_t orr_steps_uncommitted(const struct orr_spot *w);

/* In create(): steps count once they are committed. */
ORR_API void orr_steps_are_provisional(struct orr_spot *w);
/* The first n uncommitted steps are safe; the last n are lost. */
ORR_API void orr_commit(struct orr_spot *w, uint64_t n);
ORR_API void orr_lose(struct orr_spot *w, uint64_t n);

/* ---- accounts ---- */

enum orr_account {
	ORR_USEFUL,      /* steps that count */
	ORR_REDUNDANT,   /* the redundant part of them */
	ORR_WASTED,      /* steps that were lost, whole or in part */
	ORR_CHECKPOINT,  /* standing still to write one */
	ORR_RESTART,     /* from a checkpoint, after a failure */
	ORR_RECONFIGURE, /* rendezvous, new pipelines, migration, failover */
	ORR_STARTING,    /* instances that are not ready yet */
	ORR_IDLE,        /* ready, without a stage, or with nothing to do */
	ORR_TIME_ACCOUNTS,
	/* Of money alone. */
	ORR_ROUNDING = ORR_TIME_ACCOUNTS, /* begun hours that were paid whole (spot.billing=hour) */
	ORR_EGRESS,                       /* between zones */
	ORR_ACCOUNTS
};
/* Where owners' time goes while no step is in flight, from now on; ORR_IDLE at first. CHECKPOINT, RESTART, RECONFIGURE, IDLE. */
ORR_API void orr_pause_as(struct orr_spot *w, enum orr_account account);
/* Bytes sent now from one zone to another (spot.egress_usd_per_GB). */
ORR_API void orr_egress(struct orr_spot *w, double bytes);

/* ---- timers, chance, reports ---- */

/* timer() with that tag at at_ns (>= now); among those of one instant by rank 0..7, then first made. */
ORR_API uint64_t orr_spot_timer(struct orr_spot *w, int64_t at_ns, uint32_t rank, uint64_t tag);
ORR_API void orr_spot_cancel(struct orr_spot *w, uint64_t timer); /* one that has happened: nothing */
ORR_API double orr_spot_uniform(struct orr_spot *w);              /* [0,1), from the policy's own stream */
/* Adds to a sum of the policy's own, reported as a metric of this name ("fatal"); appears from the first call on, so add 0 in create(). */
ORR_API void orr_spot_count(struct orr_spot *w, const char *name, double amount);
/* Sets a metric of the policy's own. */
ORR_API void orr_spot_report(struct orr_spot *w, const char *name, double value);
/* A mark in the run's events ("layout", "fatal", ..); nothing where events are not kept. */
ORR_API void orr_spot_event(struct orr_spot *w, const char *kind, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* Ends the run with a message of the policy's own: at 0, before any step, the input is to blame (exit code 2), later it failed (1); or
 * ends it well, the job as far as it came. */
ORR_API void orr_spot_give_up(struct orr_spot *w, const char *message);
ORR_API void orr_spot_end(struct orr_spot *w);

/* ---- the future: for policies that declare the oracle ---- */

struct orr_future {
	int64_t t_ns;
	uint32_t zone;
	int32_t change; /* of the number offered: 1 or -1 */
};
/* What comes after now, up to and including until_ns, in order: fills in up to cap; how many there are. */
ORR_API size_t orr_spot_future(struct orr_spot *w, int64_t until_ns, struct orr_future *out, size_t cap);
/* When a live spot instance will be gone; ORR_NEVER: not before the end. */
ORR_API int64_t orr_inst_true_end(struct orr_spot *w, orr_inst i);
/* When an offer of the zone that would be taken now would end; ORR_NEVER likewise; now if there is none. */
ORR_API int64_t orr_offer_true_end(struct orr_spot *w, uint32_t zone);

/* ---- what a policy gives ---- */

enum orr_inst_event {
	ORR_INST_ADDED, /* taken; it starts */
	ORR_INST_READY,
	ORR_INST_NOTICE, /* goes_ns is set */
	ORR_INST_GONE    /* taken away; its stages have no owner any more */
};
struct orr_spot_ops {
	/* The object; NULL with *err filled in if the parameters make no sense. Job and zones are there; no instance is. */
	void *(*create)(struct orr_spot *w, const struct orr_args *args, struct orr_error *err);
	void (*destroy)(void *self);
	/* The others may be NULL: not interested. */
	void (*instance)(void *self, struct orr_spot *w, orr_inst i, enum orr_inst_event event);
	void (*timer)(void *self, struct orr_spot *w, uint64_t tag);
	/* A run of steps has come to its end (most, orr_steps_last(), or all steps of the job are done but not committed). */
	void (*steps)(void *self, struct orr_spot *w);
	/* Something happened at this instant (also: offers or prices changed, the run begins) and all of it has been told. */
	void (*decide)(void *self, struct orr_spot *w);
	/* The run ends now. orr_spot_count(), orr_spot_report() and orr_lose() still work; nothing else does anything. */
	void (*end)(void *self, struct orr_spot *w);
};

/* A policy of this world: see policy.h. ORR_NEEDS_ORACLE: sees removals to come. ORR_MAY_ORACLE: the same with some parameters. */
#define ORR_POLICY_SPOT_FLAGS(ident, doc, flags, params, ops) \
	ORR_POLICY_DECLARE(spot_##ident, ident, doc, "spot", flags, params, struct orr_spot_ops, ops)
#define ORR_POLICY_SPOT(ident, doc, params, ops) ORR_POLICY_SPOT_FLAGS(ident, doc, 0u, params, ops)

#ifdef __cplusplus
}
#endif
#endif
