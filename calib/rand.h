/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * rand.h - seeded numbers for input data, orders and synthetic noise
 *
 * SplitMix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014): calib stands
 * on base alone, and the module is built without the rest of the program.
 */
#ifndef ORR_CALIB_RAND_H
#define ORR_CALIB_RAND_H

#include <math.h>
#include <stdint.h>

static inline uint64_t rand_mix(uint64_t z)
{
	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

static inline uint64_t rand_u64(uint64_t *state)
{
	return rand_mix(*state += UINT64_C(0x9e3779b97f4a7c15));
}

/* (0, 1) */
static inline double rand_uniform(uint64_t *state)
{
	return ((double)(rand_u64(state) >> 11) + 0.5) / 9007199254740992.0;
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

/* FNV-1a of a text, mixed with a seed: a stream of its own for each name. */
static inline uint64_t rand_stream(uint64_t seed, const char *name)
{
	uint64_t h = UINT64_C(0xcbf29ce484222325) ^ rand_mix(seed + UINT64_C(0x9e3779b97f4a7c15));
	for (; *name; name++)
		h = (h ^ (unsigned char)*name) * UINT64_C(0x100000001b3);
	return rand_mix(h);
}

#endif
