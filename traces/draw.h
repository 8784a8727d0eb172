/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * draw.h - drawing from measured distributions: quantile tables and weights
 *
 * A quantile table samples the inverse of the distribution function: {0, lowest} .. {1, highest}, both columns ascending.
 * Values in between are interpolated on a logarithmic scale (from 0, linearly), which suits durations and gaps that span
 * decades.
 */
#ifndef ORR_TRACES_DRAW_H
#define ORR_TRACES_DRAW_H

#include "base/rng.h"

struct quantile {
	double p, value;
};

/* Draws by inverse transform: one uniform number per draw. */
double draw_quantile(struct rng *r, const struct quantile *table);
/* Draws an index i with probability weight[i] / sum; the list ends with a negative weight. */
size_t draw_index(struct rng *r, const double *weight);
/* Converts seconds to ns, at most 4e9 s. */
int64_t draw_to_ns(double seconds);

#endif
