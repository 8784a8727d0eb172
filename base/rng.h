/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * rng.h - named streams of random numbers
 *
 * A stream depends only on (run seed, name, index), so a new consumer does not
 * change the numbers of others. The generator is xoshiro256++
 * (Blackman and Vigna, "Scrambled linear pseudorandom number generators", ACM
 * TOMS 47(4), 2021), seeded by SplitMix64. It is wrapped as a gsl_rng_type, for
 * the distributions of GSL.
 */
#ifndef ORR_ENGINE_RNG_H
#define ORR_ENGINE_RNG_H

#include <gsl/gsl_rng.h>
#include <stdint.h>

struct rng {
	uint64_t s[4];
	gsl_rng gsl; /* view of s for GSL; access it through rng_gsl() */
};

/* Seeds the stream. r must not move in memory while rng_gsl(r) is in use. */
void rng_init(struct rng *r, uint64_t seed, const char *name, uint64_t index);
/* Returns the seed of a replication, for streams whose index is not the replication. The seed of replication 0 is `seed`. */
uint64_t rng_seed_of(uint64_t seed, uint64_t replication);
gsl_rng *rng_gsl(struct rng *r);

uint64_t rng_u64(struct rng *r);
double rng_uniform(struct rng *r);     /* returns a uniform variate in [0, 1) with 53 random bits */
double rng_uniform_pos(struct rng *r); /* (0, 1) */
double rng_exponential(struct rng *r, double mean);
uint64_t rng_below(struct rng *r, uint64_t n); /* returns an unbiased uniform integer in 0 .. n-1; n > 0 */

#endif
