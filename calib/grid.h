/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * grid.h - shapes of a kernel to measure
 *
 * Kernels with one size: log-spaced. Kernels with several dimensions: half from layers of published networks, half from Sobol's
 * sequence (Joe and Kuo, SIAM J. Sci. Comput. 30(5), 2008) over the logarithms, shifted by the seed. A shape is kept if it fits
 * in the device's memory and its predicted time is at most longest_s.
 */
#ifndef ORR_CALIB_GRID_H
#define ORR_CALIB_GRID_H

#include "calib/backend.h"

/* Estimates from a first probe of the device. The rates are used only to skip shapes that would take too long. */
struct grid_limits {
	double memory_bytes, cache_bytes; /* memory that a kernel may use; size of the last-level cache */
	double flops_per_s, bytes_per_s;
	double longest_s; /* longest time of one call */
	uint64_t seed;
};

/* Writes up to n distinct kernels of a kind, with their work. Returns their number. */
uint32_t grid_make(const struct kernel_kind *kind, uint32_t n, const struct grid_limits *limits, struct kernel *out);
/* Returns whether the kind has one size, so that the ends of its grid are the ends of its range. */
bool grid_is_line(const struct kernel_kind *kind);
/* Returns element `index` (from 0) of Sobol's sequence in dimension `dim` (0..4), in [0, 1). */
double sobol(uint32_t index, uint32_t dim, uint64_t seed);

#endif
