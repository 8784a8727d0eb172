/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/bitset.h"

#include "base/mem.h"

void bitset_init(struct bitset *b, uint32_t size)
{
	b->size = size;
	uint32_t n = size;
	for (int l = 0; l < 4; l++) {
		n = (n >> 6) + 2; /* bitset_next() may read one word past the last */
		b->level[l] = mem_zalloc(n, sizeof *b->level[l]);
	}
}

void bitset_free(struct bitset *b)
{
	for (int l = 0; l < 4; l++)
		mem_free(b->level[l]);
	*b = (struct bitset){ 0 };
}
