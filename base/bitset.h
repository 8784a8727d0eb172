/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * bitset.h - a set of small numbers with a fast search for the next member
 *
 * Invariant: a bit of a summary word is set exactly when the 64-bit word below it
 * is not zero. Sets of up to 2^24 numbers cost at most seven word reads per
 * bitset_next().
 */
#ifndef ORR_BASE_BITSET_H
#define ORR_BASE_BITSET_H

#include <stdbool.h>
#include <stdint.h>

struct bitset {
	uint64_t *level[4]; /* level 0: the members; bit i of a higher level: whether word i of the level below is not zero */
	uint32_t size;
	int levels; /* in use: the highest one has one word */
};

#define BITSET_END UINT32_MAX

void bitset_init(struct bitset *b, uint32_t size);
void bitset_free(struct bitset *b);

static inline bool bitset_has(const struct bitset *b, uint32_t i)
{
	return b->level[0][i >> 6] >> (i & 63) & 1;
}

/* The levels above the first, after word i of the first became nonzero or zero. */
void bitset_add_above(struct bitset *b, uint32_t i);
void bitset_remove_above(struct bitset *b, uint32_t i);

static inline void bitset_add(struct bitset *b, uint32_t i)
{
	uint64_t *word = &b->level[0][i >> 6], old = *word;
	*word = old | UINT64_C(1) << (i & 63);
	if (!old && b->levels > 1)
		bitset_add_above(b, i >> 6);
}

static inline void bitset_remove(struct bitset *b, uint32_t i)
{
	uint64_t *word = &b->level[0][i >> 6];
	*word &= ~(UINT64_C(1) << (i & 63));
	if (!*word && b->levels > 1)
		bitset_remove_above(b, i >> 6);
}

/* Returns the smallest member >= from, or BITSET_END. */
static inline uint32_t bitset_next(const struct bitset *b, uint32_t from)
{
	if (from >= b->size)
		return BITSET_END;
	uint32_t i = from;
	for (int l = 0; l < b->levels; l++) {
		uint64_t word = b->level[l][i >> 6] >> (i & 63);
		if (word) {
			i += (uint32_t)__builtin_ctzll(word);
			while (l--)
				i = i << 6 | (uint32_t)__builtin_ctzll(b->level[l][i]);
			return i;
		}
		i = (i >> 6) + 1; /* the index of the next word, in the level above */
		if ((uint64_t)i << (6 * (l + 1)) >= b->size)
			break;
	}
	return BITSET_END;
}

#endif
