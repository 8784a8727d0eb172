/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "results/stats.h"

#include <math.h>

void blocks_init(struct blocks *b)
{
	b->width = 1;
	b->n = 0;
}

/* Doubles the width of the blocks. */
static void fold(struct blocks *b)
{
	size_t half = (b->n + 1) / 2;
	for (size_t k = 0; k < half; k++) {
		bool has_two = 2 * k + 1 < b->n;
		b->sum[k] = b->sum[2 * k] + (has_two ? b->sum[2 * k + 1] : 0);
		b->count[k] = b->count[2 * k] + (has_two ? b->count[2 * k + 1] : 0);
	}
	b->n = half;
	b->width *= 2;
}

/* Rounds like rint(), ties to even: adds and subtracts a number whose lowest bit has the value 1. */
static inline blocks_total whole(double x)
{
	const double magic = 0x1.8p52;
	if (fabs(x) < 0x1p51)
		return (int64_t)((x + magic) - magic);
	return (blocks_total)rint(x);
}

/* Zeroes new blocks up to block n - 1. */
static void extend(struct blocks *b, size_t n)
{
	for (; b->n < n; b->n++) {
		b->sum[b->n] = 0;
		b->count[b->n] = 0;
	}
}

static size_t block_of(const struct blocks *b, uint64_t index)
{
	return (size_t)(index >> __builtin_ctzll(b->width)); /* the width is a power of two */
}

/* Makes room for an index after the blocks in use. Returns its block. Not inlined, so that the usual case is short. */
static __attribute__((noinline)) size_t new_block(struct blocks *b, uint64_t index)
{
	while (block_of(b, index) >= BLOCKS_MAX)
		fold(b);
	extend(b, block_of(b, index) + 1);
	return block_of(b, index);
}

void blocks_add(struct blocks *b, uint64_t index, double value)
{
	size_t k = block_of(b, index);
	if (k == b->n && k < BLOCKS_MAX) { /* usual while a run is short */
		b->sum[k] = whole(value * 0x1p40);
		b->count[k] = 1;
		b->n++;
		return;
	}
	if (k >= b->n)
		k = new_block(b, index);
	b->sum[k] += whole(value * 0x1p40);
	b->count[k]++;
}

void blocks_align(struct blocks *a, struct blocks *b)
{
	while (a->width < b->width)
		fold(a);
	while (b->width < a->width)
		fold(b);
	extend(a, b->n);
	extend(b, a->n);
}
