/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * stats.h - statistics of many values, with intervals, in bounded memory
 *
 * hist: exact up to a million values, then log-bucketed with a relative error of at most 0.5 %. The result does not depend on
 * the order of the values. Percentiles interpolate linearly between order statistics, at index (n-1)p.
 *
 * blocks: values indexed 0,1,2,... (a job's number) folded into at most BLOCKS_MAX consecutive blocks of equal width. The width
 * doubles as the index grows. Two runs over the same jobs have the same blocks, so their difference is paired (batches.h has
 * the intervals).
 */
#ifndef ORR_RESULTS_STATS_H
#define ORR_RESULTS_STATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct interval {
	double mean, low, high; /* low, high: NaN if the value has no interval */
};

enum { BLOCKS_MAX = 2048 };

struct hist;
struct hist *hist_new(void);
struct hist *hist_new_exact_to(uint64_t n); /* makes a hist that is exact up to n values instead of a million */
void hist_free(struct hist *h);
void hist_add(struct hist *h, double value); /* value >= 0 */
/* Adds the value of the job or request with number `index`. Either all values have an index or none. */
void hist_add_at(struct hist *h, uint64_t index, double value);
void hist_add_n(struct hist *h, double value, uint64_t n); /* adds value n times; n < 2^40 */
uint64_t hist_count(const struct hist *h);
double hist_mean(const struct hist *h); /* exact sum, compensated */
double hist_max(const struct hist *h);
double hist_quantile(struct hist *h, double p);          /* NaN if empty */
uint64_t hist_above(const struct hist *h, double limit); /* number of values above; values in the limit's own bucket count as its middle */
/*
 * Counts all values and the values above a limit, in at most BLOCKS_MAX consecutive blocks of equal index width. Returns the
 * number of blocks; 0 if the values have no index or are bucketed.
 */
size_t hist_count_above(const struct hist *h, double limit, double *above, double *all);

/* Returns the values in ascending order of their indices, and sets *index and *n; free both with mem_free(). Returns NULL, with *index
 * NULL and *n 0, if the values have no index or are bucketed. Equal indices keep their order of addition. */
double *hist_ordered(const struct hist *h, uint32_t **index, size_t *n);

/* Sum in units of 2^-40. Integers make sums independent of the order of addition (as jobs end, or as rows of a stored run are read). */
__extension__ typedef __int128 blocks_total;
struct blocks {
	uint64_t width; /* indices per block: 1, 2, 4, ... */
	size_t n;       /* blocks in use; later ones have no value */
	blocks_total sum[BLOCKS_MAX];
	uint64_t count[BLOCKS_MAX];
};
static inline double blocks_sum(const struct blocks *b, size_t k)
{
	return (double)b->sum[k] * 0x1p-40;
}
void blocks_init(struct blocks *b);
void blocks_add(struct blocks *b, uint64_t index, double value);
/* Makes the blocks of both equal in width, by folding one of them, and equal in number. */
void blocks_align(struct blocks *a, struct blocks *b);

#endif
