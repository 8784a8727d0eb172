/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/rng.h"

#include "base/hash.h"

#include <limits.h>
#include <math.h>

static inline uint64_t rotate_left(uint64_t x, int k)
{
	return x << k | x >> (64 - k);
}

/* xoshiro256++ 1.0, D. Blackman and S. Vigna; see rng.h. */
static inline uint64_t xoshiro_next(uint64_t s[4])
{
	uint64_t result = rotate_left(s[0] + s[3], 23) + s[0];
	uint64_t t = s[1] << 17;
	s[2] ^= s[0];
	s[3] ^= s[1];
	s[1] ^= s[2];
	s[0] ^= s[3];
	s[2] ^= t;
	s[3] = rotate_left(s[3], 45);
	return result;
}

static inline double to_uniform(uint64_t x)
{
	return (double)(x >> 11) * 0x1p-53;
}

/* ---- the generator as a gsl_rng_type ---- */

static void gsl_set_seed(void *state, unsigned long seed)
{
	uint64_t *s = state, x = seed;
	for (int i = 0; i < 4; i++)
		s[i] = hash_next(&x);
}

static unsigned long gsl_get(void *state)
{
	return (unsigned long)(xoshiro_next(state) >> (64 - CHAR_BIT * sizeof(unsigned long)));
}

static double gsl_get_double(void *state)
{
	return to_uniform(xoshiro_next(state));
}

static const gsl_rng_type xoshiro_type = {
	.name = "xoshiro256++",
	.max = ULONG_MAX,
	.min = 0,
	.size = 4 * sizeof(uint64_t),
	.set = gsl_set_seed,
	.get = gsl_get,
	.get_double = gsl_get_double,
};

/* ---- streams ---- */

/* Each word of the state mixes one word drawn from the seed, one from the name and one from the index. hash_mix() is a bijection, so
 * streams that differ in one of the three differ in every word. */
void rng_init(struct rng *r, uint64_t seed, const char *name, uint64_t index)
{
	uint64_t from_seed = seed, from_name = hash_text(HASH_START, name), from_index = index;
	for (int i = 0; i < 4; i++) {
		uint64_t h = hash_next(&from_seed);
		h = hash_mix(h ^ hash_next(&from_name));
		r->s[i] = hash_mix(h ^ hash_next(&from_index));
	}
	if (!(r->s[0] | r->s[1] | r->s[2] | r->s[3]))
		r->s[0] = 1; /* a state of all zeros never changes */
	r->gsl.type = &xoshiro_type;
	r->gsl.state = r->s;
}

uint64_t rng_seed_of(uint64_t seed, uint64_t replication)
{
	return replication ? hash_mix(hash_mix(seed) ^ replication * HASH_GOLDEN) : seed;
}

gsl_rng *rng_gsl(struct rng *r)
{
	r->gsl.state = r->s;
	return &r->gsl;
}

uint64_t rng_u64(struct rng *r)
{
	return xoshiro_next(r->s);
}

double rng_uniform(struct rng *r)
{
	return to_uniform(xoshiro_next(r->s));
}

double rng_uniform_pos(struct rng *r)
{
	return ((double)(xoshiro_next(r->s) >> 12) + 0.5) * 0x1p-52;
}

double rng_exponential(struct rng *r, double mean)
{
	return -mean * log(rng_uniform_pos(r));
}

/* Method: D. Lemire, "Fast random integer generation in an interval", ACM TOMACS 29(1), 2019. */
uint64_t rng_below(struct rng *r, uint64_t n)
{
	__extension__ typedef unsigned __int128 wide;
	wide m = (wide)xoshiro_next(r->s) * n;
	if ((uint64_t)m < n) {
		uint64_t threshold = -n % n;
		while ((uint64_t)m < threshold)
			m = (wide)xoshiro_next(r->s) * n;
	}
	return (uint64_t)(m >> 64);
}
