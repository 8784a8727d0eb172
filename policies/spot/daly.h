/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * daly.h - the work between two checkpoints
 *
 * Failures are Poisson with mean time M between them, a checkpoint takes c, the work between two checkpoints is t. All are in
 * the same unit.
 *
 *   young  t = sqrt(2 c M)                                            Young, CACM 17(9), 1974
 *   daly   t = sqrt(2 c M) (1 + sqrt(c / 2M) / 3 + c / 2M / 9) - c    for c < 2M, else M
 *          Daly, Future Generation Computer Systems 22, 2006
 *   exact  t = M (1 + W(-e^(-c/M - 1))), the minimum of (e^((t+c)/M) - 1) / t, by Newton's method
 *
 * Daly's mean wall time of work W, with a restart time R that is repeated after a failure, and a checkpoint at the end: M
 * e^(R/M) (e^((t+c)/M) - 1) W / t
 */
#ifndef ORR_POLICIES_SPOT_DALY_H
#define ORR_POLICIES_SPOT_DALY_H

#include <math.h>

static inline double young_interval(double c, double m)
{
	return sqrt(2 * c * m);
}

static inline double daly_interval(double c, double m)
{
	if (c >= 2 * m)
		return m;
	double x = c / (2 * m);
	return young_interval(c, m) * (1 + sqrt(x) / 3 + x / 9) - c;
}

static inline double exact_interval(double c, double m)
{
	/* u = t/M is the root of u - 1 + e^(-u - c/M). The function is convex and increasing there, so Newton's method converges
	 * from the right. */
	double u = 1;
	for (int i = 0; i < 60; i++)
		u -= (u - 1 + exp(-u - c / m)) / (1 - exp(-u - c / m));
	return u * m;
}

static inline double daly_wall_time(double work, double t, double c, double r, double m)
{
	return m * exp(r / m) * expm1((t + c) / m) * work / t;
}

#endif
