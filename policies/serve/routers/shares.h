/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * shares.h - a table of counts by pairs (key, of), such as (hash of a block, replica)
 *
 * Open addressing, at most half full. An entry whose count is 0 is absent. Starts as all zeros.
 */
#ifndef ORR_ROUTERS_SHARES_H
#define ORR_ROUTERS_SHARES_H

#include <orrery/api.h>

struct share {
	uint64_t key;
	uint32_t of, count; /* count 0: the cell is free */
};
struct shares {
	struct share *cell;
	uint32_t n, size; /* number of entries; of cells, a power of two or 0 */
};

void shares_free(struct shares *s);
uint32_t shares_get(const struct shares *s, uint64_t key, uint32_t of); /* returns the count; 0: none */
void shares_set(struct shares *s, uint64_t key, uint32_t of, uint32_t count);

#endif
