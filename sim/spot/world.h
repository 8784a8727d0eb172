/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * world.h - the state of one run of the spot world, private to this folder
 *
 * Time: the engine holds only the policy's timers. The state holds the next row of the trace, the next instance to become
 * ready, and the end of a run of steps. Before the first event of an instant, accounts and steps are advanced to it, except
 * that a step which ends at this instant ends last. So a change takes effect from its instant on.
 *
 * Files, bottom first: sources.mk.
 */
#ifndef ORR_SPOT_WORLD_H
#define ORR_SPOT_WORLD_H

#include "base/rng.h"
#include "cluster/source.h"
#include "engine/engine.h"
#include "engine/watch.h"
#include "spot/instances.h"
#include "spot/speeds.h"
#include "spot/steps.h"

enum { RANKS = 8 }; /* number of ranks of timers: their priorities in the engine */

struct stage {
	uint32_t owner; /* slot */
	uint32_t next;  /* next stage of the same owner */
};

struct tally {
	char *name;
	double value;
};

struct spot_parts; /* spot_parts.h */

struct orr_spot {
	const struct spot_config *config;
	const struct orr_policy *policy;
	const struct orr_spot_ops *ops;
	const char *label;
	void *self;
	struct engine *engine;
	struct watch *watch;
	struct rng policy_rng;
	struct run_result *result;
	struct orr_error error;
	int64_t now, until;
	bool is_ending; /* in end(): orr_lose() still works */
	bool is_acting, is_noticing, is_over, is_complete, saw_future, has_happened;
	bool may_see;                  /* the policy declares the oracle and may see the future */
	uint32_t quiet;                /* number of instants since an event other than a timer */
	int64_t patience, progress_ns; /* longest time without progress; time at which the number of steps done last grew */
	uint64_t most_done, instants;  /* number of instants since that time */
	unsigned used, *use;           /* used: bits of enum spot_use; use: pointer to `used`, for queries through a const world */
	int64_t calls_now, taken_now, timers_now; /* numbers of calls, of taken instances and of timers at this instant */

	/* options */
	uint64_t job_steps;                                    /* number of steps of the job; 0: the job has no end */
	int64_t startup[2], notice, deadline, storage_latency; /* startup: spot, on-demand */
	int64_t on_demand_price, max_price;                    /* max_price: limit for a spot instance that is taken; INT64_MAX: none */
	uint32_t quota[2];                                     /* UINT32_MAX: none */
	double storage_Bps, node_Bps, egress_per_byte;         /* egress_per_byte: 1e-9 USD */
	double default_storage_Bps, default_node_Bps;
	bool bills_hours;
	int64_t max_calls;

	/* capacity */
	struct source source;
	int64_t timer_at;               /* time of the engine's next event; ORR_NEVER: none */
	int64_t rows_at, prices_at;     /* times of the next rows; ORR_NEVER: none */
	uint32_t *slot_of, cap_slot_of; /* slot + 1 by instance of the trace */
	struct zone *zone;
	uint32_t n_zones, *zone_of_name, cap_zone_of_name; /* zones, whose names are those of the source */
	uint32_t want;                                     /* standing request for instances of any zone */
	bool is_own_want;                                  /* flag: the policy has set the standing request */
	uint32_t n_types, *type_of_name, cap_type_of_name;
	struct speeds speeds; /* spot.speeds */
	bool has_speeds;
	double *speed_of_type;

	/* instances */
	struct slot *slot;
	uint32_t n_slots, cap_slots, *free_slot, n_free, cap_free;
	struct ready_queue {
		orr_inst *inst;
		size_t first, n, cap;
	} ready[2];       /* starting instances, in order of their ready times: spot, on-demand */
	int64_t ready_at; /* time at which the next one becomes ready; ORR_NEVER: none */
	orr_inst *order;  /* live instances in the order in which they were taken; 0: a gap */
	uint32_t n_order, cap_order;
	uint32_t live[2]; /* spot, on-demand */
	uint64_t n_taken, n_on_demand, preemptions, refused;
	orr_inst *added; /* taken instances whose ORR_INST_ADDED is not delivered yet */
	uint32_t n_added, cap_added, added_told;

	/* layout */
	struct stage *stage;
	struct stage *spare;         /* previous layout, overwritten by the next one */
	uint32_t cap_spare, layouts; /* layouts: number of layouts made so far */
	bool *is_dropped;            /* [pipeline] */
	uint32_t pipelines, depth, n_stages, cap_stages, cap_pipelines, n_dropped;
	uint32_t ownerless;
	bool copies_state; /* orr_state_from_peers() */
	uint32_t held_successors;
	bool has_moved; /* owners have changed since the step in flight was set up */

	/* accounts */
	int64_t accrued; /* the accounts are complete up to this time */
	uint32_t count[ROLES];
	int64_t rate[ROLES]; /* sums of prices */
	int64_t rate_all;    /* sum of rate[] */
	enum orr_account pause;
	struct ledger account[ORR_ACCOUNTS];
	struct ledger all;      /* time of all instances; all money */
	timeline_sum cost_mark; /* total cost at the end of the last step */
	struct ledger ended;    /* time and money of ended instances, for the check */
	timeline_sum on_demand_ns;

	struct steps steps;
	struct spot_parts *parts; /* NULL: no parts are recorded */
	/* job */
	const struct elastic_point **point; /* points, [pipelines * (max_depth + 1) + depth] */
	uint32_t max_pipelines, max_depth;

	/* future */
	struct future *future;
	/* report */
	struct tally *tally;
	size_t n_tally, cap_tally;
	struct node_row *node;
	size_t n_node, cap_node;
	double *samples_at; /* samples done at the time of each row of nodes */
	size_t cap_samples_at;
	struct event_row *event;
	size_t n_event, cap_event;
	struct iteration_row *iteration;
	size_t n_iteration, cap_iteration;
};

/* fail.c */
/* Ends the run with an error; s may be NULL. */
void spot_fail(struct orr_spot *w, int code, const struct slot *s, const char *fmt, ...) __attribute__((format(printf, 4, 5)));
bool spot_may_act(struct orr_spot *w, const char *what);

/* tell.c */
void tell_create(struct orr_spot *w, const struct orr_args *args);
void tell_instance(struct orr_spot *w, uint32_t slot, enum orr_inst_event event);
void tell_added(struct orr_spot *w); /* reports every instance taken since the last call */
void tell_steps(struct orr_spot *w);
void tell_decide(struct orr_spot *w);
void tell_end(struct orr_spot *w);
void tell_destroy(struct orr_spot *w);
void plan_timers(struct orr_spot *w);
void on_timer(struct engine *e, void *ctx, uint64_t tag, uint64_t arg);

/* capacity.c */
void spot_capacity_begin(struct orr_spot *w);
void spot_capacity_instant(struct orr_spot *w); /* handles rows and prices that are due now */
void spot_capacity_free(struct orr_spot *w);
uint32_t spot_capacity_zone(struct orr_spot *w, uint32_t name);        /* returns the zone of a name of the source; may move w->zone */
uint32_t spot_capacity_first(const struct orr_spot *w, uint32_t zone); /* returns the offer that is taken next; NONE: no offer */

/* layout.c */
void layout_forget(struct orr_spot *w, uint32_t slot); /* removes the owner of the slot's stages */
void layout_free(struct orr_spot *w);

/* owners.c */
double owners_speed(const struct orr_spot *w);  /* returns the speed of the slowest owner; 1: the job's own nodes */
void owners_copy(struct orr_spot *w);           /* charges the copies of state between zones that the owners' stages need */
double owners_egress(const struct orr_spot *w); /* returns the bytes that a step sends between zones */

/* rows.c */
void rows_instant(struct orr_spot *w); /* called after each instant */
void rows_steps(struct orr_spot *w, uint64_t n, int64_t first_began, int64_t pace, double samples);
void rows_lost(struct orr_spot *w, uint64_t n);
void rows_end(struct orr_spot *w); /* moves the rows to the result */
void rows_free(struct orr_spot *w);

/* future.c, query.c, check.c, report.c */
void future_free(struct orr_spot *w);
void tallies_free(struct orr_spot *w);
void check_instant(struct orr_spot *w);
void report_end(struct orr_spot *w);

/* Iterates over live instances in the order in which they were taken: for (i = live_first(w); i != NONE; i = live_next(w, i)), i an
 * index in w->order. */
static inline uint32_t live_next(const struct orr_spot *w, uint32_t i)
{
	for (i++; i < w->n_order; i++)
		if (w->order[i])
			return i;
	return NONE;
}

static inline uint32_t live_first(const struct orr_spot *w)
{
	return live_next(w, UINT32_MAX);
}

static inline struct slot *live_slot(const struct orr_spot *w, uint32_t i)
{
	return &w->slot[orr_inst_slot(w->order[i])];
}

/* Returns the limit on the number of times that a policy causes the same call at one instant; beyond this limit the run fails. */
static inline int64_t spot_most_now(const struct orr_spot *w)
{
	return w->max_calls + 8 * (int64_t)w->n_slots;
}

#endif
