/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * hash.h - hashes of 64 bits: mixing, sequences, bytes, texts
 *
 * Random streams, fingerprints and calibration depend on these values, so they must never change. The header is also valid C++,
 * because the module of calib/cuda includes it.
 */
#ifndef ORR_BASE_HASH_H
#define ORR_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

#define HASH_START UINT64_C(0xcbf29ce484222325)  /* the offset basis of FNV-1a */
#define HASH_GOLDEN UINT64_C(0x9e3779b97f4a7c15) /* 2^64 / golden ratio, odd */

/* Applies a bijection, the finaliser of SplitMix64 (G. L. Steele, D. Lea and C. H. Flood, "Fast splittable pseudorandom number
 * generators", OOPSLA 2014). */
static inline uint64_t hash_mix(uint64_t z)
{
	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

/* Returns the next number of the SplitMix64 sequence. */
static inline uint64_t hash_next(uint64_t *state)
{
	return hash_mix(*state += HASH_GOLDEN);
}

/* Returns the FNV-1a hash (Fowler, Noll, Vo) of the bytes, continued from h. */
static inline uint64_t hash_bytes(uint64_t h, const void *data, size_t n)
{
	const unsigned char *s = (const unsigned char *)data;
	for (size_t i = 0; i < n; i++)
		h = (h ^ s[i]) * UINT64_C(0x100000001b3);
	return h;
}

static inline uint64_t hash_text(uint64_t h, const char *s)
{
	for (; *s; s++)
		h = (h ^ (unsigned char)*s) * UINT64_C(0x100000001b3);
	return h;
}

/* Returns the 32 high bits of x times the golden ratio (Knuth's multiplicative hashing): spreads neighbouring numbers over a table. */
static inline uint32_t hash_spread(uint64_t x)
{
	return (uint32_t)(x * HASH_GOLDEN >> 32);
}

#endif
