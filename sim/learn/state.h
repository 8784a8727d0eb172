/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * state.h - internal state of struct learn
 *
 * A replica is created when its device first appears. A replica's vector may be shared with snapshots, with other replicas (a
 * mean) and with the server, so it is written through vec_writable() only. gradients_compute() computes the gradients with
 * is_pending; gradient_of() calls it before a gradient is read.
 *
 * Messages wait for one another, so a message may start when its worker is some iterations ahead. Workers that send gradients
 * or sums therefore keep replaced values for some iterations (history).
 */
#ifndef ORR_LEARN_STATE_H
#define ORR_LEARN_STATE_H

#include "base/rng.h"
#include "learn/gcn.h"
#include "learn/problem.h"
#include "learn/vec.h"

struct past {
	struct vec *v;      /* gradient or sum */
	struct vec *u;      /* of a gradient: the velocity of the pushes, including this gradient; NULL until it is used */
	uint64_t number;    /* index of the value: 1, 2, ..; 0: none yet, v is zero */
	uint64_t iteration; /* iteration, as in learn_begin(); 0: unknown */
	uint64_t pushes;    /* number of pushes before the parameters of the gradient were read; for a sum: total over its gradients */
	uint32_t count;     /* gradients in it */
};
struct history {
	struct past now, *old; /* old: oldest first */
	uint32_t n_old;
	bool is_read, is_used; /* is_read: messages read the value; is_used: the device itself uses the value. Replaced values are kept
				  unless only the device uses them */
};

struct span {
	size_t first, n; /* a slice of the parameters */
};

/* Pulled parameters of a slice that apply from a later iteration on. */
struct pulled {
	struct vec *v;
	struct span span;
	bool is_slice;   /* v holds the slice only */
	uint64_t from;   /* first iteration that uses them, as in learn_begin() */
	uint64_t pushes; /* same as x_pushes; only for slice 0 */
	bool is_first;   /* slice 0: pushes are counted once, at this slice */
};

struct replica {
	uint32_t device, learner;
	struct vec *x, *inbox;
	struct vec *remembered; /* D of ORR_REMEMBER; NULL: not used yet */
	struct history g, sum;
	struct vec *velocity;         /* velocity of local updates; NULL until used */
	struct vec *pushed;           /* velocity of pushes, up to and including gradient number pushed_at */
	uint64_t pushed_at, x_pushes; /* x_pushes: number of pushes when x was last pulled, or last changed from the inbox */
	struct vec **window;          /* the last gradients, oldest first */
	uint64_t *window_pushes;
	double inbox_count,
		inbox_pushes; /* number of gradients in the inbox (all slices of a gradient count as one), and of their pushes */
	uint32_t n_window, cap_window;
	struct rng rng;
	uint32_t *shard, n_shard, next_row; /* rows in the order of the current pass */
	struct pulled *pulled;              /* pulled parameters in the order of the ends of their ops */
	uint32_t n_pulled, cap_pulled;
};

/* The base model of a device, and the corrections of its learners since the last update. */
struct base {
	uint32_t device;
	struct vec *z, *previous, *corrections;
};
enum { LEARNERS = 16 }; /* replicas of one device */

/* A pending gradient: at x, over rows[first_row ..] of the pool of rows. */
struct task {
	struct vec *x, *g;
	size_t first_row;
	uint64_t noise_seed;
};

/* One update of an op in flight. */
struct effect {
	struct orr_update u;
	struct span span;
	struct vec *snapshot; /* input of the update when the op started */
	bool is_slice;        /* the snapshot holds the slice only */
	uint64_t iteration;   /* iteration of its op; 0: unknown */
	uint64_t pushes;      /* number of pushes before its input was read, as in struct past */
	uint32_t count;
	uint32_t next; /* next effect of the same op, or of the free list; NO_EFFECT: none */
};
#define NO_EFFECT UINT32_MAX

struct flight {
	uint64_t op;
	uint32_t first_device, first_effect; /* first_effect NO_EFFECT: empty */
	uint32_t *group, n_group, cap_group;
};

struct learn {
	struct learn_config config;
	struct problem *problem;
	struct vec_pool pool;
	struct vec *zero, *server;
	struct gcn *gcn;          /* state for LEARN_GCN; `server` has the weights */
	const char *wrong;        /* error of the last effect_begin(); NULL: none */
	struct replica **replica; /* replicas in order of appearance */
	uint32_t n_replicas, cap_replicas;
	uint32_t *at_device, n_devices; /* replica number + 1 by device x LEARNERS + learner; 0: none */
	struct base *base;              /* base models in order of appearance */
	uint32_t n_bases, cap_bases;
	bool has_base; /* a base model has been updated */
	unsigned used; /* enum step_use: STEP_USED_LEARN_.. */

	struct flight *flight; /* hash table; the capacity is a power of two */
	size_t n_flights, cap_flights;
	struct effect *effect;
	uint32_t n_effects, cap_effects, free_effect;

	struct task *task;
	size_t n_tasks, cap_tasks;
	uint32_t *row;
	size_t n_rows, cap_rows;
	double **scratch; /* one per thread */
	int n_scratch;
	const double **sources; /* vectors of a mean */
	uint32_t cap_sources;

	double now, samples;
	uint64_t updates, pushes;  /* counts; all slices of a push count as one push, and updates from an inbox count too */
	double staleness, n_stale; /* staleness: sum over n_stale gradients */
	bool has_server;           /* flag: at least one push */
	uint64_t history_needed;   /* required history; 0: learn.history has sufficed so far */
	bool is_due;               /* the loss is evaluated when time advances */
	uint64_t next_eval_update;
	double next_eval_sample;
	struct learn_point *point;
	size_t n_points, cap_points;
	double floor;
	bool has_floor;
};

/* rate.c */
double learn_rate(struct learn *l); /* returns the present learning rate, by learn.schedule */

/* replica.c */
struct replica *replica_of(struct learn *l, uint32_t device); /* learner 0 */
struct replica *learner_of(struct learn *l, uint32_t device, uint32_t learner);
struct base *base_of(struct learn *l, uint32_t device);
void replica_free(struct learn *l, struct replica *r);
void gradient_begin(struct learn *l, struct replica *r, struct effect *e);
void gradients_compute(struct learn *l);
/* Replaces parameters of the replica. Takes ownership of the reference p->v. */
void pulled_apply(struct learn *l, struct replica *r, const struct pulled *p);
/* Returns the replica's gradient g, computed, for an effect on the device itself. */
static inline struct vec *gradient_of(struct learn *l, struct replica *r)
{
	r->g.is_used = true;
	if (r->g.now.v->is_pending)
		gradients_compute(l);
	return r->g.now.v;
}
/* Replaces the value; keeps the old one if messages read it. Takes ownership of the reference p.v. */
void history_put(struct learn *l, struct history *h, struct past p);
/* Returns the newest value of the iteration or an earlier one. If it is no longer kept, returns the oldest kept value, and raises
 * *needed to the number of older values that had to be kept. */
struct past *history_at(struct history *h, uint64_t iteration, uint64_t *needed);

/* apply.c */
void effect_begin(struct learn *l, struct effect *e, uint64_t op, const uint32_t *group, uint32_t n_group);
void effect_end(struct learn *l, struct effect *e, const uint32_t *group, uint32_t n_group);

/* series.c */
void series_advance(struct learn *l, double time_s);
void series_note(struct learn *l); /* called after the number of samples or updates has increased */

double learn_dispersion(struct learn *l); /* returns the present dispersion of the replicas */

#endif
