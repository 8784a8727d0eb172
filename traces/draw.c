/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "traces/draw.h"

#include <math.h>

double draw_quantile(struct rng *r, const struct quantile *t)
{
	double u = rng_uniform(r);
	while (t[1].p <= u)
		t++;
	double share = (u - t[0].p) / (t[1].p - t[0].p);
	if (t[0].value <= 0)
		return t[1].value * share;
	return t[0].value * pow(t[1].value / t[0].value, share);
}

size_t draw_index(struct rng *r, const double *weight)
{
	double sum = 0;
	size_t n = 0;
	while (weight[n] >= 0)
		sum += weight[n++];
	double u = rng_uniform(r) * sum;
	for (size_t i = 0; i + 1 < n; i++) {
		if (u < weight[i])
			return i;
		u -= weight[i];
	}
	return n - 1;
}

int64_t draw_to_ns(double seconds)
{
	return seconds < 4e9 ? (int64_t)llround(seconds * 1e9) : INT64_C(4000000000000000000);
}
