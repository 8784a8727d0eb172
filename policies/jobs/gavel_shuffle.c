/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Shuffles the GPU types in each round like Python's random.shuffle(), as the published simulator of Gavel does.
 *
 * The generator is the Mersenne Twister MT19937 (Matsumoto, Nishimura, "Mersenne Twister", ACM TOMACS 8(1), 1998) with the seeding
 * init_by_array() of its authors' program mt19937ar.c, as Python seeds it with an integer below 2^32. To draw a number below n,
 * where n has b bits, the highest b bits of an output are taken. The draw is repeated until the result is below n.
 */
#include "gavel.h"

enum { TWISTER_SHIFT = 397 };

static void seed_state(uint32_t *state, uint32_t seed)
{
	state[0] = seed;
	for (uint32_t i = 1; i < GAVEL_TWISTER_WORDS; i++)
		state[i] = 1812433253U * (state[i - 1] ^ state[i - 1] >> 30) + i;
}

void gavel_shuffle_seed(struct gavel_twister *r, uint32_t key)
{
	uint32_t *v = r->word, i = 1;
	seed_state(v, 19650218U);
	for (uint32_t k = 0; k < GAVEL_TWISTER_WORDS; k++) { /* the key has one word */
		v[i] = (v[i] ^ (v[i - 1] ^ v[i - 1] >> 30) * 1664525U) + key;
		if (++i == GAVEL_TWISTER_WORDS) {
			v[0] = v[GAVEL_TWISTER_WORDS - 1];
			i = 1;
		}
	}
	for (uint32_t k = 1; k < GAVEL_TWISTER_WORDS; k++) {
		v[i] = (v[i] ^ (v[i - 1] ^ v[i - 1] >> 30) * 1566083941U) - i;
		if (++i == GAVEL_TWISTER_WORDS) {
			v[0] = v[GAVEL_TWISTER_WORDS - 1];
			i = 1;
		}
	}
	v[0] = 0x80000000U;
	r->used = GAVEL_TWISTER_WORDS;
}

static void renew(struct gavel_twister *r)
{
	for (uint32_t i = 0; i < GAVEL_TWISTER_WORDS; i++) {
		uint32_t y = (r->word[i] & 0x80000000U) | (r->word[(i + 1) % GAVEL_TWISTER_WORDS] & 0x7fffffffU);
		r->word[i] = r->word[(i + TWISTER_SHIFT) % GAVEL_TWISTER_WORDS] ^ y >> 1 ^ (y & 1 ? 0x9908b0dfU : 0);
	}
	r->used = 0;
}

static uint32_t draw(struct gavel_twister *r)
{
	if (r->used == GAVEL_TWISTER_WORDS)
		renew(r);
	uint32_t y = r->word[r->used++];
	y ^= y >> 11;
	y ^= y << 7 & 0x9d2c5680U;
	y ^= y << 15 & 0xefc60000U;
	return y ^ y >> 18;
}

uint32_t gavel_below(struct gavel_twister *r, uint32_t n)
{
	uint32_t bits = 0, x;
	while (n >> bits)
		bits++;
	do
		x = draw(r) >> (32 - bits);
	while (x >= n);
	return x;
}

void gavel_shuffle(struct gavel_twister *r, uint32_t *v, uint32_t n)
{
	for (uint32_t i = n; i > 1; i--) {
		uint32_t j = gavel_below(r, i), t = v[i - 1];
		v[i - 1] = v[j];
		v[j] = t;
	}
}
