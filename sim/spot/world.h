/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * world.h - the inside of the spot world, for the files of this folder alone
 *
 * Files: run.c (begin, instants, end), tell.c (calling the policy), capacity.c (rows of the trace, offers, requests, prices),
 * instances.c (slots, handles, roles), layout.c (stages and their owners), steps.c (runs of steps, advanced in one go),
 * accounts.c (time and money), future.c (the oracle), query.c (public functions that only ask), report.c (metrics and rows),
 * check.c, options.c.
 *
 * Time: the world is at `now`. The engine holds timers alone: the next row, the next instance to get ready and the end of a run of
 * steps are known without it. Before anything of an instant happens, accounts and steps are brought up to it (steps that
 * end then aside: they come last). So what changes within an instant changes from that instant on.
 *
 * Money is counted in nano-USD per hour times nanoseconds, an integer, so that sums are exact in any order.
 */
#ifndef ORR_SPOT_WORLD_H
#define ORR_SPOT_WORLD_H

#include "engine/engine.h"
#include "base/rng.h"
#include "engine/watch.h"
#include "spot/spot.h"

__extension__ typedef __int128 wide;

#define NONE UINT32_MAX
enum { MAX_LIVE = 1 << 20 };
#define MAX_RATE INT64_C(1000000000000000000) /* of all instances: 1e9 USD an hour, so that 146 years are counted exactly */
enum { RANKS = 8 };                           /* of timers: their priorities in the engine */

enum slot_state { SLOT_FREE, SLOT_OFFER, SLOT_STARTING, SLOT_READY, SLOT_GONE /* while that is told */ };
enum role { ROLE_STARTING, ROLE_IDLE, ROLE_OWNER, ROLES };

struct slot {
	uint32_t generation;
	uint8_t state, role;
	bool is_on_demand, is_noticed;
	uint32_t zone, type;
	uint32_t instance, node; /* number and text of the trace; on-demand: their own count, 0 */
	uint32_t stages, first_stage;
	uint32_t layout;     /* the last one in which it had a stage from the start */
	uint32_t at;         /* in w->order, while it is live */
	uint32_t prev, next; /* of the zone's offers, in order */
	int64_t price;       /* nano-USD per hour */
	int64_t offer_price; /* of the trace; -1: the market's */
	uint64_t number, mark;
	int64_t since, ready, goes;
	/* for begun hours and for the check */
	wide paid;
	int64_t paid_until;
};

struct zone {
	const char *name;
	uint32_t text;           /* of capacity's strings */
	uint32_t first, last;    /* offers that nobody took */
	uint32_t n_offers, live; /* live: spot instances */
	uint32_t want;
	uint32_t type; /* of the instance that came last; of the first to come before that */
};

/* A price of (zone, type): there are few. */
struct market {
	int64_t price;
};

struct stage {
	uint32_t owner; /* slot */
	uint32_t next;  /* of that owner's stages */
};

/* Steps of equal length, time and money, that lie behind each other. */
struct steprun {
	uint64_t count;
	int64_t since_last; /* from the end of the step before to the end of it */
	double samples;
	wide ns, usd; /* of its owners; money as world.h says */
	wide redundant_ns, redundant_usd;
	wide cost; /* of all instances since the end of the step before */
};

/* Steps that count and are alike, as far as sums of floating-point numbers go. */
struct alike {
	uint64_t count;
	int64_t since_last;
	double samples;
	wide cost;
};

struct steps {
	bool is_in_flight, is_last, has_ended; /* has_ended: steps() is to be told */
	int64_t began, ends, pace;
	uint64_t left; /* of the run, with the one in flight; UINT64_MAX: no end */
	double samples, redundant, egress;
	double samples_once; /* of the step in flight alone; -1: as the others */
	unsigned flags;
	wide bucket_ns, bucket_usd; /* owners' in the step in flight */
	/* of the whole run of the world */
	bool is_provisional;
	uint64_t done, committed, lost, orphaned; /* done: not lost since */
	struct steprun *run;                      /* not yet safe, from `first` on */
	size_t first, n, cap;
	wide pending_ns, pending_usd;  /* of those records */
	int64_t first_began, last_end; /* -1: none */
	wide live_ns_at_end;
	struct alike alike;             /* of the last ones; not yet in the sums */
	double samples_safe, value_sum; /* value_sum: of samples x ns / money; report.c has the unit */
	bool was_free;                  /* some cost nothing: value has no bound */
	uint64_t rows_stride;           /* of iteration rows: each so many-th is kept */
	uint64_t rows_seen;
};

struct tally {
	char *name;
	double value;
};

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
	int64_t now, until, ended_at;
	bool is_ending; /* in end(): steps may still be taken back */
	bool is_acting, is_over, is_complete, saw_future, has_happened;
	bool may_see;                             /* the policy declares the oracle */
	uint32_t quiet;                           /* instants since anything but timers happened */
	int64_t calls_now, taken_now, timers_now; /* at this instant */

	/* options */
	uint64_t job_steps;                                    /* 0: no end */
	int64_t startup[2], notice, deadline, storage_latency; /* startup: spot, on-demand */
	int64_t default_price, on_demand_price;
	uint32_t quota[2];                             /* UINT32_MAX: none */
	double storage_Bps, node_Bps, egress_per_byte; /* nano-USD */
	bool bills_hours;
	int64_t max_calls;

	/* capacity */
	struct availcursor *cursor, *price_cursor;
	struct avail_rec next_rec, next_price;
	bool has_next, has_price;
	int64_t timer_at;           /* of the engine's next event; ORR_NEVER */
	int64_t rows_at, prices_at; /* when the next ones are due; ORR_NEVER */
	struct avail_rec *ahead;    /* rows read before their time, for notices */
	size_t ahead_first, ahead_n, ahead_cap;
	uint32_t *slot_of, cap_slot_of; /* [instance of the trace] slot + 1 */
	struct zone *zone;
	uint32_t n_zones, *zone_of_text, cap_zone_of_text;
	uint32_t want;         /* of any zone */
	struct market *market; /* [zone * n_types + type] */
	uint32_t n_types, *type_of_text, cap_type_of_text;

	/* instances */
	struct slot *slot;
	uint32_t n_slots, cap_slots, *free_slot, n_free, cap_free;
	struct ready_queue {
		orr_inst *inst;
		size_t first, n, cap;
	} ready[2];       /* that start, in order: spot, on-demand */
	int64_t ready_at; /* when the next one gets ready; ORR_NEVER */
	orr_inst *order;  /* live ones in order of being taken; 0: one that is no more */
	uint32_t n_order, cap_order;
	uint32_t live[2]; /* spot, on-demand */
	uint64_t n_taken, n_on_demand, preemptions, released, refused;
	orr_inst *added; /* whose ADDED is to be told */
	uint32_t n_added, cap_added, added_told;

	/* layout */
	struct stage *stage;
	struct stage *spare;         /* the layout before; scratch */
	uint32_t cap_spare, layouts; /* layouts: how many there were */
	bool *is_dropped;            /* [pipeline] */
	uint32_t pipelines, depth, n_stages, cap_stages, cap_pipelines, n_dropped;
	uint32_t ownerless;

	/* accounts */
	int64_t accrued; /* up to then */
	uint32_t count[ROLES];
	int64_t rate[ROLES]; /* sums of prices */
	int64_t rate_all;    /* sum of them */
	enum orr_account pause;
	wide account_ns[ORR_ACCOUNTS], account_usd[ORR_ACCOUNTS];
	wide live_ns, spent;      /* all instances; all money */
	wide cost_mark;           /* spent at the end of the last step */
	wide ended_ns, ended_usd; /* of instances that are no more (check) */
	wide on_demand_ns;

	struct steps steps;
	/* job */
	const struct elastic_point **point; /* [pipelines * (max_depth + 1) + depth] */
	uint32_t max_pipelines, max_depth;

	/* future */
	struct future *future;
	/* report */
	struct tally *tally;
	size_t n_tally, cap_tally;
	struct node_row *node;
	size_t n_node, cap_node;
	double *samples_at; /* beside node: samples done then */
	size_t cap_samples_at;
	struct event_row *event;
	size_t n_event, cap_event;
	struct iteration_row *iteration;
	size_t n_iteration, cap_iteration;
};

/* tell.c */
void spot_fail(struct orr_spot *w, int code, const struct slot *s, const char *fmt, ...) __attribute__((format(printf, 4, 5)));
bool spot_may_act(struct orr_spot *w, const char *what);
void tell_create(struct orr_spot *w, const struct orr_args *args);
void tell_instance(struct orr_spot *w, uint32_t slot, enum orr_inst_event event);
void tell_added(struct orr_spot *w); /* all that were taken and not told yet */
void tell_steps(struct orr_spot *w);
void tell_decide(struct orr_spot *w);
void tell_end(struct orr_spot *w);
void tell_destroy(struct orr_spot *w);
void plan_timers(struct orr_spot *w);
void on_timer(struct engine *e, void *ctx, uint64_t tag, uint64_t arg);

/* capacity.c */
int spot_capacity_begin(struct orr_spot *w);
void spot_capacity_instant(struct orr_spot *w); /* what is due now, if anything is */
void spot_capacity_fill(struct orr_spot *w);    /* takes offers that are wanted */
void spot_capacity_free(struct orr_spot *w);
uint32_t spot_capacity_zone(struct orr_spot *w, uint32_t text);
int64_t spot_money(double usd_per_hour); /* nano-USD per hour */

/* instances.c */
uint32_t spot_slot_new(struct orr_spot *w);
void spot_slot_free(struct orr_spot *w, uint32_t slot);
orr_inst slot_handle(const struct orr_spot *w, uint32_t slot);
struct slot *slot_of_handle(struct orr_spot *w, orr_inst i, const char *what); /* live, or NULL and the run fails */
const char *slot_name(const struct orr_spot *w, const struct slot *s, char buf[AVAIL_NAME_MAX]);
void spot_inst_begin(struct orr_spot *w, uint32_t slot); /* starts; joins the live */
void spot_inst_end(struct orr_spot *w, uint32_t slot);   /* leaves the live, loses its stages, is billed to the end */
void spot_inst_set_role(struct orr_spot *w, struct slot *s, enum role role);
void spot_inst_set_price(struct orr_spot *w, struct slot *s, int64_t price);
void spot_inst_get_ready(struct orr_spot *w); /* the next one; ready_at is now */
void instances_free(struct orr_spot *w);

/* layout.c */
void layout_forget(struct orr_spot *w, uint32_t slot); /* its stages have no owner */
void layout_free(struct orr_spot *w);

/* steps.c */
bool steps_have_owners(const struct orr_spot *w); /* pipelines that were not dropped */
int64_t steps_target(const struct orr_spot *w);   /* when the run ends by itself; ORR_NEVER */
void steps_advance(struct orr_spot *w, int64_t t, bool with_t);
void steps_settle(struct orr_spot *w);
void steps_free(struct orr_spot *w);

/* accounts.c */
void accounts_charge(struct orr_spot *w, enum orr_account a, wide usd, uint64_t n); /* money alone, n times */
wide accounts_egress(const struct orr_spot *w, double bytes);
/* As a conversion does it, but for the last bit; and at once for what is small. */
static inline double wide_double(wide x)
{
	return (double)(int64_t)(x >> 64) * 0x1p64 + (double)(uint64_t)x;
}
double wide_usd(wide money);
double wide_seconds(wide ns);

/* future.c */
void future_free(struct orr_spot *w);

/* check.c */
void check_instant(struct orr_spot *w);

/* report.c */
void report_rows(struct orr_spot *w); /* after an instant */
void report_steps(struct orr_spot *w, uint64_t n, int64_t first_began, int64_t pace, double samples);
void report_lost(struct orr_spot *w, uint64_t n);
void report_end(struct orr_spot *w);
void report_free(struct orr_spot *w);

/* Live instances in order of being taken: for (i = live_first(w); i != NONE; i = live_next(w, i)), i a place in w->order. */
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

/* So many times a policy may make the same thing due at one instant: what is more has no end. */
static inline int64_t spot_most_now(const struct orr_spot *w)
{
	return w->max_calls + 8 * (int64_t)w->n_slots;
}

/* ---- time goes on: at each instant, so here ---- */

static inline void accounts_add(struct orr_spot *w, enum orr_account a, wide ns, wide usd)
{
	w->account_ns[a] += ns;
	w->account_usd[a] += usd;
}

/* All but the owners' time. */
static inline void accounts_pass(struct orr_spot *w, int64_t dt)
{
	if (w->count[ROLE_STARTING])
		accounts_add(w, ORR_STARTING, (wide)w->count[ROLE_STARTING] * dt, (wide)w->rate[ROLE_STARTING] * dt);
	if (w->count[ROLE_IDLE])
		accounts_add(w, ORR_IDLE, (wide)w->count[ROLE_IDLE] * dt, (wide)w->rate[ROLE_IDLE] * dt);
	if (w->live[1])
		w->on_demand_ns += (wide)w->live[1] * dt;
	w->live_ns += (wide)(w->live[0] + w->live[1]) * dt;
	w->spent += (wide)w->rate_all * dt;
	w->accrued += dt;
}

static inline void accounts_accrue(struct orr_spot *w, int64_t t)
{
	int64_t dt = t - w->accrued;
	if (dt <= 0)
		return;
	wide ns = (wide)w->count[ROLE_OWNER] * dt, usd = (wide)w->rate[ROLE_OWNER] * dt;
	if (w->steps.is_in_flight) {
		w->steps.bucket_ns += ns;
		w->steps.bucket_usd += usd;
	} else {
		accounts_add(w, w->pause, ns, usd);
	}
	accounts_pass(w, dt);
}

#endif
