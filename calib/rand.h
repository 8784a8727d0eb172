/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * rand.h - seeded numbers for input data, orders and synthetic noise
 *
 * SplitMix64 of base/hash.h, which has no objects to link: the module is built without the rest of the program.
 */
#ifndef ORR_CALIB_RAND_H
#define ORR_CALIB_RAND_H

#include "base/hash.h"

#include <math.h>
#include <stdint.h>

/* (0, 1) */
static inline double rand_uniform(uint64_t *state)
{
	return ((double)(hash_next(state) >> 11) + 0.5) / 9007199254740992.0;
}

static inline uint64_t rand_below(uint64_t *state, uint64_t n)
{
	return (uint64_t)(rand_uniform(state) * (double)n) % n;
}

/* Box and Muller's. */
static inline double rand_normal(uint64_t *state)
{
	double u = rand_uniform(state), v = rand_uniform(state);
	return sqrt(-2 * log(u)) * cos(6.28318530717958647692 * v);
}

/* The state at which the stream of that name begins. */
static inline uint64_t rand_stream(uint64_t seed, const char *name)
{
	return hash_mix(hash_text(HASH_START ^ hash_mix(seed + HASH_GOLDEN), name));
}

#endif
