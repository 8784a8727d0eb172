/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * rand.h - seeded random numbers for input data, orders and synthetic noise
 *
 * Uses SplitMix64 of base/hash.h, a header without objects: the module is built without the rest of the program.
 */
#ifndef ORR_CALIB_RAND_H
#define ORR_CALIB_RAND_H

#include "base/hash.h"

#include <math.h>
#include <stdint.h>

/* Returns a uniform number in (0, 1). */
static inline double rand_uniform(uint64_t *state)
{
	return ((double)(hash_next(state) >> 11) + 0.5) / 9007199254740992.0;
}

static inline uint64_t rand_below(uint64_t *state, uint64_t n)
{
	return (uint64_t)(rand_uniform(state) * (double)n) % n;
}

/* Returns a standard normal number (Box and Muller). */
static inline double rand_normal(uint64_t *state)
{
	double u = rand_uniform(state), v = rand_uniform(state);
	return sqrt(-2 * log(u)) * cos(6.28318530717958647692 * v);
}

/* Returns the initial state of the stream of that name. */
static inline uint64_t rand_stream(uint64_t seed, const char *name)
{
	return hash_mix(hash_text(HASH_START ^ hash_mix(seed + HASH_GOLDEN), name));
}

#endif
