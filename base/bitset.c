/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/bitset.h"

#include "base/mem.h"

void bitset_init(struct bitset *b, uint32_t size)
{
	size_t words[4], all = 0;
	uint32_t n = size;
	*b = (struct bitset){ .size = size };
	do {
		n = (n >> 6) + ((n & 63) != 0);
		all += words[b->levels++] = (size_t)n + 2; /* bitset_next() may read past the last word */
	} while (n > 1 && b->levels < 4);
	uint64_t *word = mem_zalloc(all, sizeof *word);
	for (int l = 0; l < b->levels; word += words[l++])
		b->level[l] = word;
}

void bitset_add_above(struct bitset *b, uint32_t i)
{
	for (int l = 1; l < b->levels; l++, i >>= 6) {
		uint64_t *word = &b->level[l][i >> 6], old = *word;
		*word |= UINT64_C(1) << (i & 63);
		if (old)
			return;
	}
}

void bitset_remove_above(struct bitset *b, uint32_t i)
{
	for (int l = 1; l < b->levels; l++, i >>= 6)
		if (b->level[l][i >> 6] &= ~(UINT64_C(1) << (i & 63)))
			return;
}

void bitset_free(struct bitset *b)
{
	mem_free(b->level[0]);
	*b = (struct bitset){ 0 };
}
