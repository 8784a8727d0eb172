/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * world.h - one run of the step world
 *
 * run.c sets up a run and computes its result. policy.c calls the policy, which builds iterations (graph.h); the executor (exec.h) runs
 * them; wire.h sends messages; account.h accounts for time and memory.
 */
#ifndef ORR_STEP_WORLD_H
#define ORR_STEP_WORLD_H

#include "step/account.h"
#include "step/compress.h"
#include "step/graph.h"

#include "base/rng.h"
#include "engine/watch.h"
#include "net/quotient.h"

#include <math.h>

/* An instance in flight or about to end; of NULL: a checkpoint in flight. Slots are reused. */
struct going {
	struct iteration *of;
	uint32_t instance, next_free;
	uint32_t from, to; /* endpoints of a flow; from NONE: a class of flows; FROM_STORED: a flow of a checkpoint */
	uint64_t key;
	uint32_t handle; /* of the flow */
};

struct timer {
	double time_s;
	uint64_t order;
	struct iteration *of;
	uint32_t instance;
	/* leap NONE: the end of an instance; of NULL: the end of an op on the device `instance` (corun.c), or, with instance NONE, of a
	 * snapshot or a write (checkpoint.c) */
	uint32_t leap, generation;
};

/* A ready instance on one (device, stream), ordered by (priority, order), least first. */
struct ready {
	int32_t priority;
	uint64_t order;
	struct iteration *of;
	uint32_t instance;
};
struct stream {
	struct ready *heap;
	uint32_t n, cap;
	bool is_busy, is_dirty;
};

/* Number of samples that one worker has trained on, and the time (orr_counts()). */
struct sample_count {
	double time_s, samples;
	uint64_t iteration;
	uint32_t worker;
};

/* Data of an ended iteration in addition to its row: distinguishes a steady state from durations that are equal by chance. */
struct row_mark {
	double mean_s; /* mean end of its ops */
	uint64_t left; /* number of ops of all iterations that had not ended at its end */
	/* Ops of all iterations that ended since the row before, messages in flight included: their number, and the sum of their ends
	 * relative to the end of this row. */
	uint64_t ended;
	double ended_s;
};
enum { STEP_MARKS = 4 * STEP_MAX_PERIOD };

/* Law of random factors on work: step.stragglers, step.jitter. */
enum spread_kind { LAW_NONE, LAW_UNIFORM, LAW_EXPONENTIAL, LAW_LOGNORMAL };
struct spread_law {
	enum spread_kind kind;
	double spread;
};

struct wire;       /* wire_state.h */
struct path;       /* path.h */
struct checkpoint; /* checkpoint.h */

struct orr_step {
	const struct step_config *config;
	struct watch *watch; /* watchdog over the policy's callbacks; NULL: no time limit */
	const char *label;
	const struct orr_policy *policy;
	const struct orr_step_ops *ops;
	void *self;
	struct orr_step_facts facts;
	struct orr_error error;
	bool is_analytic, ignore_memory, is_random;
	unsigned used, *uses;                    /* used: bits of enum step_use; uses: address of `used`, also for queries */
	enum orr_collective_algorithm algorithm; /* ORR_ALGORITHM_DEFAULT: auto */
	struct spread_law straggler, jitter;
	double nic_efficiency;
	const char *inside; /* source of measured times of collectives inside a node; NULL: timed on links, or none */
	bool has_pxn;       /* step.pxn */
	struct compression compression;
	double scale_conv, scale_fc; /* step.compute_s */
	struct asked *asked;         /* source.c */
	bool is_scaled, has_free_update;
	uint32_t endpoints;
	uint32_t *type_of;           /* type of the cluster, by GPU */
	uint32_t first_function;     /* functions are the endpoints from here on */
	struct functions *functions; /* NULL: none */
	bool keeps_money;
	bool has_stages;                        /* orr_step_stages() */
	double usd_per_hour[CLUSTER_MAX_TYPES]; /* price of a device, by type; NAN: unknown */
	uint32_t *node_of;                      /* endpoint -> node */
	double samples;                         /* per iteration */
	uint32_t graph_period;                  /* orr_step_period() */
	struct experts *experts;                /* experts.c; NULL: none */
	const struct coll_messages *exchange;   /* messages of the exchange that is being added; NULL: none */
	/* Lanes. */
	uint32_t lanes, positions, lanes_run; /* lanes_run: number of simulated lanes, 1 when merged */
	uint32_t *map;
	struct lane_kinds *kinds; /* plans.c */
	uint32_t n_kinds, cap_kinds;
	bool is_merged, must_unmerge, have_other_times; /* have_other_times: lanes compute for different times */
	/* Iterations that have not retired, oldest first. */
	struct iteration **live;
	uint64_t first_live, n_live, cap_live;
	struct iteration *free_iteration;
	struct iteration *building;
	uint64_t built, wanted, build_until; /* number of iterations built; requested; to build (fewer once they repeat) */
	uint64_t left;                       /* number of instances of all iterations that have not ended */
	bool build_more, is_stopped;
	bool has_workers;        /* ops count samples: workers are not synchronised */
	bool has_own_parameters; /* an update averages parameters, corrects them or sends a slice */
	bool is_continued;       /* more iterations than `wanted` are built, for the workers that are ahead */
	uint64_t n_ended;        /* number of iterations below `wanted` that have ended */
	/* Execution. */
	double now_s;
	struct timer *timer;
	uint32_t n_timers, cap_timers;
	uint64_t order;
	struct stream *stream;      /* streams, [endpoint * STEP_STREAMS + stream] */
	struct corun *corun;        /* state of ops that run together, by endpoint; NULL: compute ops do not run together */
	bool is_reacting;           /* the policy has a function ended() */
	bool has_period;            /* the policy has called orr_step_period() */
	bool has_watched;           /* the policy has called orr_watch() */
	struct iteration *reacting; /* the iteration that ended() may add to */
	struct grown grown;         /* size of that iteration when ended() was called */
	struct dependency *opened;  /* gates opened by ended() (after), and the ops they wait for (before; 0: no op) */
	uint32_t n_opened, cap_opened;
	uint32_t *dirty, n_dirty, cap_dirty;
	struct going *done; /* instances that end now and are not yet handled */
	uint32_t n_done, cap_done;
	struct device_state *device;
	struct plan *plan;
	uint32_t n_plans, cap_plans;
	uint32_t *plan_slot, n_plan_slots; /* hash table of plan[]; NONE: free */
	struct wire *wire;
	struct path *path;             /* critical paths; NULL: none are recorded */
	struct checkpoint *checkpoint; /* NULL: no checkpoints */
	bool is_without_checkpoints;   /* step.checkpoint_every is ignored */
	struct rng policy_rng;
	/* Results. */
	struct step_iteration *row;
	size_t n_rows, cap_rows;
	struct usage *recent; /* use in the last STEP_MAX_PERIOD iterations, [k % STEP_MAX_PERIOD][device] */
	struct usage *total;  /* use of each link from measured_s on */
	uint64_t lead;        /* iterations before those that are measured: the first, and the rest of a division by the period */
	double measured_s;    /* end of the last of them; 0 before it */
	bool is_measured;     /* the last iteration has ended; messages still in flight are ignored */
	struct row_mark mark[STEP_MARKS]; /* [k % STEP_MARKS] */
	uint64_t ended;                   /* since the last row: number of ops that ended, and the sum of their ends */
	double ended_s;
	uint32_t period;
	size_t steady_rows; /* number of ended iterations when the period was found */
	struct sample_count *count;
	size_t n_counts, cap_counts;
	struct step_span *span;
	size_t n_spans, cap_spans, spans_wanted; /* spans_wanted: number of spans at which old ones are dropped */
	uint64_t flows;
	struct step_link *use; /* sums by link of wire_net(); NULL: not requested */
	uint32_t n_use;
	double use_from_s, use_until_s;
	bool is_use_open;
	/* Several runs over one network (together.c). */
	struct flownet *shared_net; /* NULL: the run has its own network */
	uint32_t member;
};

/* Ends the run with an error that names the policy. Later errors are ignored. fail.c */
void step_fail(struct orr_step *s, int code, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Returns the iteration; NULL: it has retired, so all of it has ended, or it is not built yet. */
static inline struct iteration *iteration_live(const struct orr_step *s, uint64_t number)
{
	return number < s->first_live || number - s->first_live >= s->n_live ? NULL : s->live[number - s->first_live];
}

/* Returns whether the policy may react to the ends of ops, so that graphs may differ from those of one period before. */
static inline bool may_react(const struct orr_step *s)
{
	return s->is_reacting && (s->has_watched || !s->has_period);
}

/* Returns the device of position p in a lane. */
static inline bool is_function(const struct orr_step *s, uint32_t endpoint)
{
	return endpoint >= s->first_function && endpoint < s->endpoints;
}
static inline uint32_t real_device(const struct orr_step *s, uint32_t lane, uint32_t p)
{
	return s->map ? s->map[(size_t)lane * s->positions + p] : p;
}

/* ---- run.c ---- */
/* Returns the first iteration of the means of a run without a steady state. */
static inline uint64_t run_first(const struct orr_step *s, uint64_t simulated)
{
	return simulated > s->lead ? s->lead : simulated > 1 && s->lead == 1;
}
int world_begin(struct orr_step *s, bool may_merge, const struct orr_args *args); /* world_free() must follow, also after an error */
void world_start(struct orr_step *s);                                             /* at now_s */
void world_free(struct orr_step *s);

/* ---- plans.c ---- */
/* Sets the plan of a collective whose group and operation are set, in all lanes. Returns false if the run has failed. */
bool plans_choose(struct orr_step *s, struct iteration *k, struct coll *c);
/* Returns the plan of a collective in a lane. */
static inline const struct plan *plan_of(const struct orr_step *s, const struct iteration *k, const struct coll *c, uint32_t lane)
{
	return &s->plan[c->kinds == NONE ? c->plan : k->kind_plan[c->first_plan + s->kinds[c->kinds].kind[lane]]];
}

/* ---- inside.c ---- */
/* Returns the device of n members if they share a node and the link between them is the device's own; else NULL. */
const struct device *device_beside(const struct orr_step *s, const uint32_t *member, uint32_t n);
/* Returns the published bus bandwidth of an all-reduce among n GPUs of a node; 0: unknown. */
double inside_bus_Bps(const struct device *d, uint32_t n);
/* Returns the rate of a GPU's link in an all-reduce by the switch (NVLS); 0: the switch cannot reduce. */
double inside_switch_Bps(const struct device *d);
/* If the group lies in a node and the time of the collective was measured, fills in is_measured, hop_s and stretch of the shape,
 * whose ring then takes that time on idle links. Returns the source of the measurement; else NULL. */
const char *inside_shape(const struct orr_step *s, const uint32_t *member, struct coll_shape *shape);

/* ---- algorithm.c ---- */
/* Returns the shape of a collective among real[0..c->n-1]. Under step.algorithm=auto, chooses the algorithm and notes s->inside. */
struct coll_shape collective_shape(struct orr_step *s, const struct coll *c, const uint32_t *real);
/* Returns the time of a shape with islands on an idle network, s. */
double collective_idle_s(const struct orr_step *s, const uint32_t *real, const struct coll_shape *shape);

#endif
