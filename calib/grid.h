/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * grid.h - which shapes of a kernel to measure
 *
 * Log-spaced where a kernel has one size; where it has several, half from layers of published networks and
 * half from Sobol's sequence (Joe and Kuo, SIAM J. Sci. Comput. 30(5), 2008), shifted by the seed, over the
 * logarithms. A shape is kept only if the device can hold it and it will not take longer than longest_s.
 */
#ifndef ORR_CALIB_GRID_H
#define ORR_CALIB_GRID_H

#include "calib/backend.h"

/* What a first look at the device said; rates are only to leave out what would take too long. */
struct grid_limits {
	double memory_bytes, cache_bytes; /* that a kernel may use; last level of cache */
	double flops_per_s, bytes_per_s;
	double longest_s; /* of one call */
	uint64_t seed;
};

/* Up to n kernels of a kind, without repeats, work filled in; returns how many. */
uint32_t grid_make(const struct kernel_kind *kind, uint32_t n, const struct grid_limits *limits, struct kernel *out);
/* Has the kind a single size, so that the ends of its grid are the ends of its range? */
bool grid_is_line(const struct kernel_kind *kind);
/* Number `index` (from 0) of dimension `dim` (0..4), in [0, 1). */
double sobol(uint32_t index, uint32_t dim, uint64_t seed);

#endif
