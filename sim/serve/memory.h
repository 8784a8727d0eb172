/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * memory.h - memory of replicas that run table models: use over time (memory.c), loaded models (loading.c)
 */
#ifndef ORR_SERVE_MEMORY_H
#define ORR_SERVE_MEMORY_H

#include "serve/world.h"

/* A run to add to the runs of a replica. */
struct memory_extra {
	bool is_run;  /* false: only the weights of the model are loaded */
	bool is_sent; /* its input crosses a link first (serve.front) */
	uint32_t model, samples;
	struct served_memory memory;
	double alone_s, delay_s;
	double weights;   /* bytes of weights, in memory from now on */
	uint32_t without; /* slot + 1 of a run to ignore; 0: none */
};

/* Returns the bytes in use now: weights and runs. */
double memory_in_use(const struct orr_serve *w, uint32_t replica);
/* Returns whether the current runs and x fit in memory from now to their ends. x NULL: only the current runs. */
bool memory_fits(const struct orr_serve *w, uint32_t replica, const struct memory_extra *x);
/* Returns the smallest delay at which the run fits; INFINITY: never. */
double memory_fits_after(const struct orr_serve *w, uint32_t replica, struct memory_extra x);
/* A run that shares a replica. */
struct sharer {
	uint32_t model;
	double occupancy; /* share of the device's units that it fills */
};
/* Computes the progress per second of n runs on one replica (serve.interference). */
void interference_rates(const struct orr_serve *w, const struct sharer *run, uint32_t n, double *rate);

/* Sets the models that are in memory when the replica comes up. */
void loading_begin(struct orr_serve *w, uint32_t replica);
bool loading_is_done(const struct orr_serve *w, uint32_t replica, uint32_t model);

#endif
