/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "traces/resample.h"

#include "base/mem.h"

#include <inttypes.h>
#include <string.h>

enum { MOST_BLOCKS = 10000000 };

static int64_t time_of(const struct rowset *rows, uint64_t i)
{
	struct row_key key;
	memcpy(&key, (const char *)rows->row + i * rows->row_size, sizeof key);
	return key.t_ns;
}

int resample_rows(struct resample *x, const struct rowset *rows, int64_t block_ns, uint64_t seed, struct orr_error *err)
{
	if (!rows->is_loaded)
		return orr_fail(err, ORR_EINPUT,
			"resample: %.200s: expected a file, because a generator draws a new trace for each replication", rows->source);
	if (!rows->count)
		return orr_fail(err, ORR_EINPUT, "resample: %.200s: has no rows: expected at least one", rows->source);
	int64_t last = time_of(rows, rows->count - 1);
	if (last / block_ns >= MOST_BLOCKS)
		return orr_fail(err, ORR_EINPUT, "resample: %.200s: too many blocks: expected at most %d", rows->source, MOST_BLOCKS);
	*x = (struct resample){ .block_ns = block_ns, .seed = seed, .n_blocks = (uint64_t)(last / block_ns) + 1 };
	x->first = mem_zalloc(x->n_blocks + 1, sizeof *x->first);
	uint64_t row = 0;
	for (uint64_t b = 0; b < x->n_blocks; b++) {
		x->first[b] = row;
		while (row < rows->count && time_of(rows, row) / block_ns <= (int64_t)b)
			row++;
	}
	x->first[x->n_blocks] = rows->count;
	return ORR_OK;
}

void resample_free(struct resample *x)
{
	mem_free(x->first);
	*x = (struct resample){ 0 };
}

void resample_open(struct resample_cursor *c, const struct resample *from, uint64_t index)
{
	*c = (struct resample_cursor){ .from = from };
	rng_init(&c->rng, from->seed, "resample", index);
}

uint64_t resample_next(struct resample_cursor *c)
{
	const struct resample *x = c->from;
	while (c->row == c->end) {
		if (c->drawn == x->n_blocks)
			return UINT64_MAX;
		uint64_t b = rng_below(&c->rng, x->n_blocks);
		c->row = x->first[b];
		c->end = x->first[b + 1];
		c->shift_ns = ((int64_t)c->drawn++ - (int64_t)b) * x->block_ns;
	}
	return c->row++;
}
