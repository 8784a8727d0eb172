/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * gavel.h - shared by the files of the policy gavel
 *
 * gavel.c: the policy and its own rounds; gavel_published.c: the rounds of the published simulator; gavel_shuffle.c: its order
 * of GPU types; gavel_batches.c: jobs that change their batch; gavel_alloc.c: the allocation X; gavel_replay.c: X from a file;
 *gavel_select.c: the jobs of a round. X counts GPUs. It is 0 on a type where the placement would refuse the job on the empty cluster, for
 *example for lack of CPUs.
 *
 * Invariants: members are in order of submission, from arrival to end. A member runs on GPU type `type` or does not run.
 * share[], owed[]
 * and got[] are kept per type:
 *	share  X: part of its time that the job gets by the allocation
 *	owed   own rules: sum of X over rounds; published rules: the deficit in s
 *	got    own rules: rounds received; published rules: s received since the last reset
 */
#ifndef ORR_POLICIES_GAVEL_H
#define ORR_POLICIES_GAVEL_H

#include <orrery/jobs.h>

enum gavel_allocation {
	GAVEL_ALLOC_FIFO,
	GAVEL_ALLOC_FIFO_PERF,
	GAVEL_ALLOC_ISOLATED,
	GAVEL_ALLOC_MAX_MIN,
	GAVEL_ALLOC_MAX_SUM,
	GAVEL_ALLOC_FINISH_TIME,
	GAVEL_ALLOC_REPLAY,
	GAVEL_ALLOC_WATER_FILLING,
	GAVEL_ALLOC_MIN_DURATION,
	GAVEL_ALLOC_EQUAL_TIME,  /* gandiva_fair of the published simulators */
	GAVEL_ALLOC_EQUAL_USERS, /* gandiva-fair, own rules */
	GAVEL_ALLOC_ALLOX
};

#define GAVEL_NOWHERE UINT32_MAX

enum { GAVEL_TWISTER_WORDS = 624 };

struct gavel_twister {
	uint32_t word[GAVEL_TWISTER_WORDS], used;
};

struct gavel_shares;  /* gavel_replay.c */
struct gavel_batches; /* gavel_batches.c */
struct gavel_batch_state;

struct gavel_member {
	orr_job job;
	uint64_t number;
	int64_t milli; /* requested GPUs, 1/1000; 0: CPUs only */
	double weight, submit_s;
	uint32_t type;                   /* type on which it runs */
	uint32_t chosen;                 /* number of members chosen for the next round */
	bool is_allocated;               /* member is counted in the current X */
	double isolated_s;               /* time of the completed steps on an equal share */
	double isolated_rate, left_then; /* throughput on the isolated share, and remaining steps, at the last allocation */
	uint32_t shape, user;
	double gpu_share;                        /* equal_users: GPUs of the type that is divided */
	double *speed;                           /* throughput by type */
	double *throughput, *share, *owed, *got; /* values by type; throughput 0: the job cannot run on the type */
	/* published rules: */
	bool is_admitted, has_ended, will_end; /* will_end: the job ends in this round */
	double steps_left, round_steps, finish_s, received_s;
	struct gavel_batch_state *batches; /* rules=shockwave */
	uint32_t ran_on;                   /* type used in this round */
};

/* GPU types on which a shape fits on the empty cluster. */
struct gavel_shape {
	bool is_known;
	uint64_t types;
};

/* A candidate (job, type). Order: larger rank, then job order, then the cluster's order of types. */
struct gavel_entry {
	size_t member;
	uint32_t type;
	uint32_t place; /* published rules: position of the type in this round's order */
	double rank[3];
};

struct gavel_order {
	int64_t milli;
	size_t member;
};

struct gavel {
	enum gavel_allocation allocation;
	bool is_published;
	int64_t round_ns, recompute_ns;

	uint32_t n_types;
	struct gavel_member *member;
	size_t n, cap;
	size_t n_cpu_only; /* number of waiting members that request no GPU */
	struct gavel_shape *shape;
	size_t n_shapes;
	struct gavel_entry *entry;
	size_t n_entries, cap_entries;
	int64_t *free_milli;       /* free GPUs by type, while jobs are chosen */
	struct gavel_order *order; /* scratch for starting jobs */
	size_t cap_order;

	bool is_changed, capacity_changed; /* members or capacity changed since X was computed */
	int64_t round_end, recomputed;     /* own rules */

	/* published rules */
	bool is_in_round;
	double now_s, reset_s; /* reset_s 0: never */
	double *worker_s;      /* time given out since the reset, s, by type */
	uint32_t *place;       /* position of each type in this round's order */
	bool is_shuffled;      /* the order of types is redrawn in each round */
	struct gavel_twister random;
	struct gavel_shares *shares;   /* allocation=replay */
	struct gavel_batches *batches; /* rules=shockwave; else NULL */
	bool has_had_round;
};

/* ---- policies of Gavel's rounds: gavel.c, and one file for each allocation that has its own policy ---- */

#define GAVEL_ROUND_PARAMS                                                                                                            \
	ORR_PARAM_TIME("round", "360s", "length of a round"),                                                                         \
		ORR_PARAM_TIME("recompute", "0s", "minimum time between allocations (0 with rules=gavel: 1920s; shockwave: 1000s)"),  \
		ORR_PARAM_CHOICE("rules", "own", "own|gavel|shockwave",                                                               \
			"gavel: the rules of the published simulator; shockwave: those of its fork, in which batch sizes change "     \
			"(round=120s)"),                                                                                              \
		ORR_PARAM_FILE("batch_throughputs", "rules=shockwave: CSV file with columns model,batch,gpus,steps_per_s"),           \
		ORR_PARAM_FILE("batch_schedule", "rules=shockwave: CSV file with columns model,initial_batch,gpus,from_epoch,batch"), \
		ORR_PARAM_BOOL("type_shuffle", false, "rules=gavel: fill the GPU types in a new random order in each round"),         \
		ORR_PARAM_INT("shuffle_seed", "5", 0, UINT32_MAX, "seed of type_shuffle (Python's random.Random)")

/* Reads the parameters of GAVEL_ROUND_PARAMS, and `shares` for GAVEL_ALLOC_REPLAY. */
void *gavel_create(struct orr_jobs *w, const struct orr_args *args, enum gavel_allocation allocation, struct orr_error *err);
void gavel_destroy(void *self);
void gavel_arrive(void *self, struct orr_jobs *w, orr_job j);
void gavel_finish(void *self, struct orr_jobs *w, orr_job j, enum orr_job_end how);
void gavel_evict(void *self, struct orr_jobs *w, orr_job j);
void gavel_schedule(void *self, struct orr_jobs *w);
void gavel_capacity(void *self, struct orr_jobs *w);

#define GAVEL_OPS(create_function)                                                                                     \
	{                                                                                                              \
		.create = (create_function), .destroy = gavel_destroy, .arrive = gavel_arrive, .finish = gavel_finish, \
		.evict = gavel_evict, .schedule = gavel_schedule, .capacity = gavel_capacity                           \
	}

/* Computes X for the admitted members (gavel_alloc.c). Returns false if the run is over. */
bool gavel_allocate(struct gavel *g, struct orr_jobs *w, double now_s);

/* gavel_replay.c */
struct gavel_shares *gavel_replay_read(const struct orr_jobs *w, const struct orr_args *args, struct orr_error *err);
void gavel_replay_free(struct gavel_shares *s);
/* Sets X of the members from the next shares of the file. Returns false if the run is over. */
bool gavel_replay(struct gavel *g, struct orr_jobs *w, double now_s);

/* Opens the rows of the next recomputation, looks up the shares of a job by name (NULL: no row), and closes them. The first and the last
 * return false if the run is over, because time or jobs differ from those of the file. */
bool gavel_shares_open(struct gavel_shares *s, struct orr_jobs *w, double now_s);
const double *gavel_shares_of(struct gavel_shares *s, uint32_t n_types, const char *name);
bool gavel_shares_close(struct gavel_shares *s, struct orr_jobs *w);

/* gavel_shuffle.c */
void gavel_shuffle_seed(struct gavel_twister *r, uint32_t key);
/* Draws a number below n >= 1. */
uint32_t gavel_below(struct gavel_twister *r, uint32_t n);
void gavel_shuffle(struct gavel_twister *r, uint32_t *v, uint32_t n);

/* gavel_select.c */
void gavel_entry_add(struct gavel *g, struct gavel_entry e);
/* Sorts the entries and sets `chosen` of members while GPUs last. */
void gavel_choose(struct gavel *g, struct orr_jobs *w);
/* Stops running members that were not chosen and starts the chosen ones. If the placement refuses one, all chosen members of its
 * type are placed again. GPUs that are still free then go to the next candidates. */
void gavel_apply(struct gavel *g, struct orr_jobs *w);
/* Starts the chosen members of one type, largest first; returns true if all fit. */
bool gavel_start_type(struct gavel *g, struct orr_jobs *w, uint32_t type);

/* gavel_published.c */
void gavel_published_schedule(struct gavel *g, struct orr_jobs *w);
void gavel_published_arrive(struct gavel *g, struct orr_jobs *w, struct gavel_member *m);

#endif
