/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * state.h - the inside of a struct learn, shared by its files
 *
 * Replicas are made as their devices appear. A vector of a replica may be shared with snapshots, with
 * other replicas (a mean) and with the server: it is written through vec_writable() only. A gradient that is_pending
 * is computed by gradients_compute(), which every reader of a gradient calls first (gradient_of()).
 *
 * A message may start when its worker is an iteration further on, as messages wait for one another. So gradients and
 * sums that later ones replaced are kept for a while (history), of those who send them.
 */
#ifndef ORR_LEARN_STATE_H
#define ORR_LEARN_STATE_H

#include "base/rng.h"
#include "learn/problem.h"
#include "learn/vec.h"

struct past {
	struct vec *v;      /* gradient or sum */
	struct vec *u;      /* of a gradient: the pushes' velocity with it; NULL until used */
	uint64_t number;    /* 1, 2, ..; 0: there was none yet, v is zero */
	uint64_t iteration; /* as in learn_begin(); 0: not known */
	uint64_t pushes;    /* that the model had seen which the gradient was taken at; of a sum: of all its gradients */
	uint32_t count;     /* gradients in it */
};
struct history {
	struct past now, *old; /* old: oldest first */
	uint32_t n_old;
	bool is_read; /* by messages: old ones are kept */
};

struct replica {
	uint32_t device;
	struct vec *x, *inbox;
	struct history g, sum;
	struct vec *velocity;         /* of local updates; NULL until used */
	struct vec *pushed;           /* velocity of pushes, with gradient number pushed_at and those before */
	uint64_t pushed_at, x_pushes; /* x_pushes: when x was pulled, or changed from the inbox */
	struct vec **window;          /* the last gradients, oldest first */
	uint64_t *window_pushes;
	double inbox_count, inbox_pushes; /* gradients that the inbox holds, one that came in slices being one; their pushes */
	uint32_t n_window, cap_window;
	struct rng rng;
	uint32_t *shard, n_shard, next_row; /* its rows in the order of this pass */
};

/* A gradient that waits: at x, of rows[first_row ..] of the tasks' pool of rows. */
struct task {
	struct vec *x, *g;
	size_t first_row;
	uint64_t noise_seed;
};

struct span {
	size_t first, n; /* a slice of the parameters */
};

/* One update of an op in flight. */
struct effect {
	struct orr_update u;
	struct span span;
	struct vec *snapshot; /* what it reads, as it was when the op started */
	bool is_slice;        /* the snapshot has the slice alone */
	uint64_t iteration;   /* of its op, 0: not known */
	uint64_t pushes;      /* of what it reads, as in struct past */
	uint32_t count;
	uint32_t next; /* in its op, or in the list of free ones; NO_EFFECT ends */
};
#define NO_EFFECT UINT32_MAX

struct flight {
	uint64_t op;
	uint32_t first_device, first_effect; /* NO_EFFECT: the place is empty */
	uint32_t *group, n_group, cap_group;
};

struct learn {
	struct learn_config config;
	struct problem *problem;
	struct vec_pool pool;
	struct vec *zero, *server;
	struct replica **replica; /* in the order in which they appeared */
	uint32_t n_replicas, cap_replicas;
	uint32_t *at_device, n_devices; /* replica number + 1 by device; 0: none */

	struct flight *flight; /* hash table; capacity a power of two */
	size_t n_flights, cap_flights;
	struct effect *effect;
	uint32_t n_effects, cap_effects, free_effect;

	struct task *task;
	size_t n_tasks, cap_tasks;
	uint32_t *row;
	size_t n_rows, cap_rows;
	double **scratch; /* one per thread */
	int n_scratch;
	const double **sources; /* of a mean */
	uint32_t cap_sources;

	double now, samples;
	uint64_t updates, pushes;  /* pushes of slice 0, so that one in slices is one, and updates from an inbox */
	double staleness, n_stale; /* their sum, of so many gradients */
	bool has_server;           /* there were pushes */
	bool is_due;               /* a loss is to be taken when time moves on */
	uint64_t next_eval_update;
	double next_eval_sample;
	struct learn_point *point;
	size_t n_points, cap_points;
	double floor;
	bool has_floor;
};

/* replica.c */
struct replica *replica_of(struct learn *l, uint32_t device);
void replica_free(struct learn *l, struct replica *r);
void gradient_begin(struct learn *l, struct replica *r, struct effect *e);
void gradients_compute(struct learn *l);
/* g, computed. */
static inline struct vec *gradient_of(struct learn *l, struct replica *r)
{
	if (r->g.now.v->is_pending)
		gradients_compute(l);
	return r->g.now.v;
}
/* The new value; the old one is kept if messages read such. Takes over the reference p.v. */
void history_put(struct learn *l, struct history *h, struct past p);
/* The last one made in the iteration or before; NULL if it is no longer kept. */
struct past *history_at(struct history *h, uint64_t iteration);

/* apply.c */
/* False if what it reads is no longer kept. */
bool effect_begin(struct learn *l, struct effect *e, const uint32_t *group, uint32_t n_group);
void effect_end(struct learn *l, struct effect *e, const uint32_t *group, uint32_t n_group);

/* series.c */
void series_advance(struct learn *l, double time_s);
void series_note(struct learn *l); /* after samples or updates have grown */

double learn_dispersion(struct learn *l); /* of the replicas, now */

#endif
