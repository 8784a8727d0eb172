/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "shares.h"

/* Mixes all bits of a pair (the finalizer of MurmurHash3). */
static uint64_t mixed(uint64_t key, uint32_t of)
{
	uint64_t x = key ^ (of + UINT64_C(1)) * UINT64_C(0x9e3779b97f4a7c15);
	x = (x ^ x >> 33) * UINT64_C(0xff51afd7ed558ccd);
	x = (x ^ x >> 33) * UINT64_C(0xc4ceb9fe1a85ec53);
	return x ^ x >> 33;
}

/* Returns the cell of the pair, or the free cell where it belongs. */
static uint32_t cell_of(const struct shares *s, uint64_t key, uint32_t of)
{
	uint32_t i = (uint32_t)mixed(key, of) & (s->size - 1);
	while (s->cell[i].count && (s->cell[i].key != key || s->cell[i].of != of))
		i = (i + 1) & (s->size - 1);
	return i;
}

void shares_free(struct shares *s)
{
	orr_free(s->cell);
}

uint32_t shares_get(const struct shares *s, uint64_t key, uint32_t of)
{
	return s->size ? s->cell[cell_of(s, key, of)].count : 0;
}

static void widen(struct shares *s)
{
	struct shares x = { orr_alloc(s->size ? 2 * (size_t)s->size : 64, sizeof *s->cell), s->n, s->size ? 2 * s->size : 64 };
	for (uint32_t i = 0; i < s->size; i++)
		if (s->cell[i].count)
			x.cell[cell_of(&x, s->cell[i].key, s->cell[i].of)] = s->cell[i];
	orr_free(s->cell);
	*s = x;
}

/* Frees cell i and moves back later entries whose search would end there. */
static void drop(struct shares *s, uint32_t i)
{
	uint32_t mask = s->size - 1;
	s->cell[i].count = 0;
	s->n--;
	for (uint32_t j = (i + 1) & mask; s->cell[j].count; j = (j + 1) & mask) {
		uint32_t home = (uint32_t)mixed(s->cell[j].key, s->cell[j].of) & mask;
		if (((j - home) & mask) < ((j - i) & mask))
			continue;
		s->cell[i] = s->cell[j];
		s->cell[j].count = 0;
		i = j;
	}
}

void shares_set(struct shares *s, uint64_t key, uint32_t of, uint32_t count)
{
	if (2 * (uint64_t)(s->n + 1) > s->size)
		widen(s);
	uint32_t i = cell_of(s, key, of);
	if (s->cell[i].count && !count) {
		drop(s, i);
	} else if (count) {
		s->n += !s->cell[i].count;
		s->cell[i] = (struct share){ key, of, count };
	}
}
