/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * resample.h - traces resampled from a file: blocks of time drawn with replacement (the block bootstrap, Kunsch 1989)
 *
 * The rows of a file are cut into blocks of equal length, from time 0. A resampled trace has as many blocks, each drawn with
 * equal probability; rows keep their offset within the block. Rows of a block keep their order and gaps, and dependence between
 * blocks is lost. Index k of the random stream "resample" selects the blocks of replication k.
 */
#ifndef ORR_TRACES_RESAMPLE_H
#define ORR_TRACES_RESAMPLE_H

#include "traces/rowset.h"

#include "base/rng.h"

struct resample {
	int64_t block_ns; /* 0: off */
	uint64_t seed, n_blocks;
	uint64_t *first; /* first row of each block; [n_blocks]: the number of rows */
};

/* Cuts the rows of a file into blocks. Fails for generators and for too many blocks. Free with resample_free(). */
int resample_rows(struct resample *x, const struct rowset *rows, int64_t block_ns, uint64_t seed, struct orr_error *err);
void resample_free(struct resample *x);

/* Position in one resampled trace. */
struct resample_cursor {
	const struct resample *from;
	struct rng rng;
	uint64_t drawn; /* blocks so far */
	uint64_t row, end;
	int64_t shift_ns; /* shift added to the times of this block */
};
void resample_open(struct resample_cursor *c, const struct resample *from, uint64_t index);
/* Returns the next row's number in the file; UINT64_MAX: the end. */
uint64_t resample_next(struct resample_cursor *c);

#endif
