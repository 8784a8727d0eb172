/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * spot.h - the interface between the spot world and a policy: one elastic job on preemptible instances, and their cost
 *
 * Instances: a trace or a random process offers instances and removes them. An accepted offer becomes an instance, which starts
 * (spot.startup), becomes ready, may be given notice (spot.notice), and ends. An on-demand instance lives until it is released,
 * at its own price. The job runs steps over `pipelines` x `depth` stages; orr_layout() and orr_own() give stages to ready
 * instances.
 *
 * Steps: orr_steps_run() begins a run of consecutive steps of equal length. The world advances all steps between two events at once, and
 * calls steps() at the end of the run. A step counts when it is done; after orr_steps_are_provisional(), when it has been committed
 * (orr_commit(): a checkpoint holds it). orr_lose() discards uncommitted steps. The job is over when all its steps count.
 *
 * Accounts: every second of every instance is in exactly one account (enum orr_account). Time of stage owners belongs to the
 * step in flight: useful and redundant if the step counts, wasted if it is lost. While no step is in flight, their time goes to
 * the account set by orr_pause_as().
 *
 * Order: at each instant the world calls instance() for each offer taken, each instance that joins or is given notice, each
 * that ends, and each that becomes ready (simultaneous events in the order of the trace). Then it calls timer() by rank,
 * steps(), and decide() once. All of them may act. Actions take effect at once; calls caused by actions at the same instant
 * precede the next decide(). At the end of an instant, each stage of the layout must have a live owner if a step is in flight.
 *
 * Limits: a policy sees the present, not future removals. orr_spot_future() and orr_inst_true_end() are for policies that declare
 * the oracle. An impossible action (an ended instance, two owners) ends the run with an error that names policy, instance and time;
 * every later action is refused, so a policy need not check. A handle carries a generation: the handle of an ended instance is
 * refused, except while instance(.., ORR_INST_GONE) runs.
 *
 * Units: times are int64_t ns, exact; money is in USD, prices in USD per hour of an instance.
 */
#ifndef ORRERY_SPOT_H
#define ORRERY_SPOT_H

#include <orrery/policy.h>

#ifdef __cplusplus
extern "C" {
#endif

struct orr_spot;           /* the world */
typedef uint64_t orr_inst; /* handle of an instance; 0: no instance */
#define ORR_ANY_ZONE UINT32_MAX
#define ORR_WANT_ALL UINT32_MAX

ORR_API int64_t orr_spot_now(const struct orr_spot *w);

/* ---- instances ---- */

struct orr_inst_info {
	uint64_t number; /* number of the instance: 0, 1, ... in order of acceptance */
	bool is_ready, is_on_demand;
	uint32_t zone, type;
	int64_t since_ns;    /* time at which the offer was taken */
	int64_t ready_ns;    /* time at which the instance became or will become ready */
	int64_t goes_ns;     /* time of the end announced by a notice, or ORR_NEVER */
	double usd_per_hour; /* current price */
	uint32_t stages;     /* number of stages that the instance owns */
};
/* Fills in *info; returns false if i is no live instance. */
ORR_API bool orr_inst_get(const struct orr_spot *w, orr_inst i, struct orr_inst_info *out);
/* Writes the instance's name in the trace ("od3" for on-demand) to buf; returns buf. */
ORR_API const char *orr_inst_name(const struct orr_spot *w, orr_inst i, char *buf, size_t size);
ORR_API bool orr_inst_is_live(const struct orr_spot *w, orr_inst i);
ORR_API bool orr_inst_is_ready(const struct orr_spot *w, orr_inst i);
/* Returns whether the instance was given notice. */
ORR_API bool orr_inst_is_noticed(const struct orr_spot *w, orr_inst i);
ORR_API uint32_t orr_inst_zone(const struct orr_spot *w, orr_inst i);
/* Returns an index for arrays of the policy: unique among live instances and below orr_inst_slots(), which can grow. */
static inline uint32_t orr_inst_slot(orr_inst i)
{
	return (uint32_t)i - 1;
}
ORR_API uint32_t orr_inst_slots(const struct orr_spot *w);
/* Iterate over live instances in the order in which they were taken. */
ORR_API orr_inst orr_inst_first(const struct orr_spot *w);
ORR_API orr_inst orr_inst_next(const struct orr_spot *w, orr_inst i);
/* Writes up to cap ready instances, in that order; returns the number of ready instances. */
ORR_API uint32_t orr_inst_ready_list(const struct orr_spot *w, orr_inst *out, uint32_t cap);
ORR_API uint32_t orr_inst_live(const struct orr_spot *w); /* number of instances that start or are ready */
ORR_API uint32_t orr_inst_ready(const struct orr_spot *w);
/* Returns a number that the policy stores with the instance; initially 0. */
ORR_API uint64_t orr_inst_mark(const struct orr_spot *w, orr_inst i);
ORR_API void orr_inst_set_mark(struct orr_spot *w, orr_inst i, uint64_t mark);

/* ---- capacity ---- */

ORR_API uint32_t orr_zones(const struct orr_spot *w); /* number of zones, at least 1 */
ORR_API const char *orr_zone_name(const struct orr_spot *w, uint32_t zone);
/* Sets a standing request: accepts new offers while fewer than n spot instances are live (in the zone). The initial request is
 * spot.target instances of any zone (default ORR_WANT_ALL). A smaller n releases nothing; orr_release() does. */
ORR_API void orr_want(struct orr_spot *w, uint32_t zone, uint32_t n);
/* Takes up to n offers now, limited by offers and quota. Returns the number taken. instance() follows within this instant. */
ORR_API uint32_t orr_request(struct orr_spot *w, uint32_t zone, uint32_t n);
/* Returns the number of offers not taken: the result of a probe now. */
ORR_API uint32_t orr_offers(const struct orr_spot *w, uint32_t zone);
/* Takes up to n on-demand instances, within spot.on_demand_quota; returns the number taken. */
ORR_API uint32_t orr_request_on_demand(struct orr_spot *w, uint32_t zone, uint32_t n);
/* Releases an instance: its stages lose their owner. instance() is not called for it. */
ORR_API void orr_release(struct orr_spot *w, orr_inst i);
/* Returns the price of the offer of the zone that orr_request() would take next. Without an offer, returns the price of the instance type
 * of the zone's latest instance; before the zone has an instance, of its first instance. */
ORR_API double orr_spot_price(const struct orr_spot *w, uint32_t zone);
ORR_API double orr_on_demand_price(const struct orr_spot *w, uint32_t zone);
ORR_API int64_t orr_startup_time(const struct orr_spot *w, bool is_on_demand);
/* Returns the time between the notice and the end of an instance; 0: no notice. */
ORR_API int64_t orr_notice_time(const struct orr_spot *w);

/* ---- the job ---- */

struct orr_elastic_info {
	const char *name; /* name of the job; valid during the run */
	double samples_per_step;
	uint64_t steps;            /* number of steps of the whole job; 0: unlimited */
	int64_t deadline_ns;       /* spot.deadline; ORR_NEVER */
	uint32_t depth, pipelines; /* default depth and number of pipelines in the job's file; 0: unknown */
	double state_bytes;        /* bytes of a checkpoint: parameters and optimizer state; 0: unknown */
	double parameters;
	uint32_t on_demand_nodes; /* number of nodes of the on-demand baseline; 0: unknown */
	int64_t on_demand_step_ns;
};
ORR_API void orr_elastic_get(const struct orr_spot *w, struct orr_elastic_info *out);

enum orr_step_kind {
	ORR_STEP_PLAIN,     /* no stage computes redundantly */
	ORR_STEP_REDUNDANT, /* each stage also computes the forward pass of its successor */
	ORR_STEP_DEGRADED   /* like ORR_STEP_REDUNDANT, while a node of one pipeline computes two stages */
};
/* Returns the step time with these pipelines of this depth; 0 if the job has no such step time (too little memory, or not measured). */
ORR_API int64_t orr_step_time(const struct orr_spot *w, uint32_t pipelines, uint32_t depth, enum orr_step_kind kind);
/* Return the redundant share of the owners' time in a redundant step, and the time that one loss costs during such a step
 * (detection, swapping in, repeated backward passes); 0: unknown. */
ORR_API double orr_step_redundant(const struct orr_spot *w, uint32_t pipelines, uint32_t depth);
ORR_API int64_t orr_step_failover(const struct orr_spot *w, uint32_t pipelines, uint32_t depth);
/* Sets *pipelines and *depth to the i-th pair that has a step time, ordered by pipelines, then depth. Returns false past the last pair. */
ORR_API bool orr_step_point(const struct orr_spot *w, size_t i, uint32_t *pipelines, uint32_t *depth);
/* Return values of the job's file by name: a number (key `figures`), or a curve over the number of nodes, constant beyond its ends.
 * NAN: none. */
ORR_API double orr_figure(const struct orr_spot *w, const char *name);
ORR_API int orr_curve_find(const struct orr_spot *w, const char *name); /* -1: none */
ORR_API double orr_curve_at(const struct orr_spot *w, int curve, uint32_t nodes);
ORR_API void orr_curve_range(const struct orr_spot *w, int curve, uint32_t *first, uint32_t *last);
/* Returns the time to write (or read) the job's state with this many nodes: spot.storage_Bps, spot.node_Bps, spot.storage_latency. */
ORR_API int64_t orr_checkpoint_time(const struct orr_spot *w, uint32_t nodes);

/* ---- stages and their owners ---- */

/* Sets the stages of the job: owner[d * depth + s] is a ready instance; an instance may own several. (0, 0, NULL): no stages. No
 * step may be in flight, unless its flags have ORR_STEPS_ORPHANED. */
ORR_API void orr_layout(struct orr_spot *w, uint32_t pipelines, uint32_t depth, const orr_inst *owner);
/* Gives a stage without an owner to instance i. */
ORR_API void orr_own(struct orr_spot *w, uint32_t pipeline, uint32_t stage, orr_inst i);
/* Removes a stage from its live owner. Assigns the stage to `to` unless `to` is 0. */
ORR_API void orr_disown(struct orr_spot *w, uint32_t pipeline, uint32_t stage, orr_inst to);
/* Removes a pipeline and its stages; its owners become idle. */
ORR_API void orr_drop_pipeline(struct orr_spot *w, uint32_t pipeline);
/* Returns the owner of a stage; 0: none. While ORR_INST_GONE is delivered, the ended instance owns nothing. */
ORR_API orr_inst orr_owner(const struct orr_spot *w, uint32_t pipeline, uint32_t stage);
ORR_API void orr_shape(const struct orr_spot *w, uint32_t *pipelines, uint32_t *depth);
ORR_API uint32_t orr_ownerless(const struct orr_spot *w); /* returns the number of stages without a live owner */

/* In create() only: a new owner copies the state of its stages from live instances that hold it, not from storage. Bytes between
 * zones are charged (spot.egress_usd_per_GB). successors: number of following stages of which an owner holds a redundant copy; stage
 * 0 follows the last stage. */
ORR_API void orr_state_from_peers(struct orr_spot *w, uint32_t successors);

/* ---- steps ---- */

enum orr_steps_flag {
	ORR_STEPS_ORPHANED = 1 /* steps continue without owners, as in some published simulators; metric orphaned_steps */
};
struct orr_steps {
	int64_t step_ns;     /* each, > 0 */
	double samples;      /* samples of each step; 0: as in the job */
	uint64_t most;       /* length of the run; 0: until the job is over or orr_steps_stop() */
	double redundant;    /* redundant share of the owners' time, 0..1 */
	double egress_bytes; /* bytes that each step sends between zones */
	unsigned flags;
};
/* Starts the first step now. No step may be in flight. */
ORR_API void orr_steps_run(struct orr_spot *w, const struct orr_steps *s);
/* Loses the step in flight and its owners' time. No-op if none is in flight. */
ORR_API void orr_steps_stop(struct orr_spot *w);
/* Makes the step in flight the last of its run: steps() is called at its end. */
ORR_API void orr_steps_last(struct orr_spot *w);
/* Lengthens the step in flight by by_ns. */
ORR_API void orr_steps_stretch(struct orr_spot *w, int64_t by_ns);
/* Sets the samples of the step in flight (fewer if those of a lost worker are dropped). */
ORR_API void orr_steps_samples(struct orr_spot *w, double samples);
/* Sets the length of each step after the one in flight. */
ORR_API void orr_steps_pace(struct orr_spot *w, int64_t step_ns);
/* Returns whether a step is in flight. Writes the times at which it began and will end; the pointers may be NULL. */
ORR_API bool orr_steps_in_flight(const struct orr_spot *w, int64_t *began_ns, int64_t *ends_ns);
/* Return the number of steps done and not lost since; the number of these that are not yet committed. */
ORR_API uint64_t orr_steps_done(const struct orr_spot *w);
ORR_API uint64_t orr_steps_uncommitted(const struct orr_spot *w);

/* In create() only: steps count only once they are committed. */
ORR_API void orr_steps_are_provisional(struct orr_spot *w);
/* orr_commit() commits the first n uncommitted steps; orr_lose() loses the last n. */
ORR_API void orr_commit(struct orr_spot *w, uint64_t n);
ORR_API void orr_lose(struct orr_spot *w, uint64_t n);

/* ---- accounts ---- */

enum orr_account {
	ORR_USEFUL,      /* steps that count */
	ORR_REDUNDANT,   /* redundant part of steps that count */
	ORR_WASTED,      /* time of lost steps, finished or not */
	ORR_CHECKPOINT,  /* training is paused while a checkpoint is written */
	ORR_RESTART,     /* time to resume from a checkpoint after a failure */
	ORR_RECONFIGURE, /* time of rendezvous, new pipelines, migration, failover */
	ORR_STARTING,    /* time of instances that are not ready yet */
	ORR_IDLE,        /* time of ready instances without a stage or without work */
	ORR_TIME_ACCOUNTS,
	/* Money alone: */
	ORR_ROUNDING = ORR_TIME_ACCOUNTS, /* unused rest of started hours (spot.billing=hour) */
	ORR_EGRESS,                       /* traffic between zones */
	ORR_ACCOUNTS
};
/* Sets the account of the owners' time while no step is in flight: CHECKPOINT, RESTART, RECONFIGURE or IDLE (initial value). */
ORR_API void orr_pause_as(struct orr_spot *w, enum orr_account account);
/* Charges for bytes sent from one zone to another (spot.egress_usd_per_GB). */
ORR_API void orr_egress(struct orr_spot *w, double bytes);

/* ---- timers, random numbers, reports ---- */

/* Requests a timer() call with this tag at at_ns (>= now). Simultaneous timers fire by rank 0..7, then in order of creation. */
ORR_API uint64_t orr_spot_timer(struct orr_spot *w, int64_t at_ns, uint32_t rank, uint64_t tag);
ORR_API void orr_spot_cancel(struct orr_spot *w, uint64_t timer); /* no-op if the timer has fired */
ORR_API double orr_spot_uniform(struct orr_spot *w);              /* returns a number in [0,1) from the policy's own random stream */
/* Adds to a counter, which is reported as the metric of this name ("fatal"). The metric exists from the first call on: add 0 in
 * create(). */
ORR_API void orr_spot_count(struct orr_spot *w, const char *name, double amount);
/* Sets a metric of the policy. */
ORR_API void orr_spot_report(struct orr_spot *w, const char *name, double value);
/* Adds a row ("layout", "fatal", ..) to the run's events; no-op if events are not recorded. */
ORR_API void orr_spot_event(struct orr_spot *w, const char *kind, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* orr_spot_give_up() ends the run with an error: exit code 2 (bad input) at time 0 before any step, else 1. orr_spot_end() ends it
 * without an error, with the steps done so far. */
ORR_API void orr_spot_give_up(struct orr_spot *w, const char *message);
ORR_API void orr_spot_end(struct orr_spot *w);

/* ---- the future, for policies that declare ORR_NEEDS_ORACLE or ORR_MAY_ORACLE ---- */

struct orr_future {
	int64_t t_ns;
	uint32_t zone;
	int32_t change; /* 1: an instance is offered; -1: an instance is removed */
};
/* Writes up to cap changes after now and at or before until_ns, in order of time; returns their number. Omits instances whose price is
 * above spot.max_price; with such a limit, price changes after now are an error. */
ORR_API size_t orr_spot_future(struct orr_spot *w, int64_t until_ns, struct orr_future *out, size_t cap);
/* Returns the time at which a live spot instance will end; ORR_NEVER: at the end of the trace the instance is still live. */
ORR_API int64_t orr_inst_true_end(struct orr_spot *w, orr_inst i);
/*
 * Returns the time at which the next offer of the zone would end if taken now. Returns ORR_NEVER if the offer has no end in the
 * trace, and the current time if the zone has no offer.
 */
ORR_API int64_t orr_offer_true_end(struct orr_spot *w, uint32_t zone);

/* ---- the functions of a policy ---- */

enum orr_inst_event {
	ORR_INST_ADDED, /* the instance was taken and starts */
	ORR_INST_READY,
	ORR_INST_NOTICE, /* goes_ns is set */
	ORR_INST_GONE    /* the instance was preempted: its stages have no owner */
};
struct orr_spot_ops {
	/* Returns the policy's object, or NULL with *err filled in if the parameters are invalid. Job and zones are known; no
	 * instance is live yet. */
	void *(*create)(struct orr_spot *w, const struct orr_args *args, struct orr_error *err);
	void (*destroy)(void *self);
	/* The functions below may be NULL. */
	void (*instance)(void *self, struct orr_spot *w, orr_inst i, enum orr_inst_event event);
	void (*timer)(void *self, struct orr_spot *w, uint64_t tag);
	/* A run of steps has ended: its length is reached, orr_steps_last() was called, or all steps of the job are done and some
	 * are uncommitted. */
	void (*steps)(void *self, struct orr_spot *w);
	/* Called after all events of an instant have been delivered. A change of offers or prices and the start of the run are
	 * events. */
	void (*decide)(void *self, struct orr_spot *w);
	/* The run ends. orr_spot_count(), orr_spot_report() and orr_lose() still work; other actions do nothing. */
	void (*end)(void *self, struct orr_spot *w);
};

/* Declares a policy of the spot world: see policy.h. ORR_NEEDS_ORACLE: sees future removals. ORR_MAY_ORACLE: only with some
 * parameters. */
#define ORR_POLICY_SPOT_FLAGS(ident, doc, flags, params, ops) \
	ORR_POLICY_DECLARE(spot_##ident, ident, doc, "spot", flags, params, struct orr_spot_ops, ops)
#define ORR_POLICY_SPOT(ident, doc, params, ops) ORR_POLICY_SPOT_FLAGS(ident, doc, 0u, params, ops)

#ifdef __cplusplus
}
#endif
#endif
