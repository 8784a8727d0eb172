/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * scale.h - derives the profile of an unmeasured device from a measured one
 *
 * Wave scaling after Habitat (Yu et al., USENIX ATC 2021, equation 2):
 *  t' = t (BW / BW')^g (C / C')^(1-g)
 * with g = 1 - x / 2R below the ridge R of the target's roofline and R / 2x above; x is FLOPs per byte. Habitat's C is SMs
 * times clock; here it is the peak of the law's precision, which is equivalent if SMs have equal FLOPs per clock.
 * Laws are evaluated over the range of their fit, scaled, and fitted again. Laws of links and interference are
 * left out.
 */
#ifndef ORR_CALIB_SCALE_H
#define ORR_CALIB_SCALE_H

#include "hwmodel/profile.h"

/* A pair of known devices: the error of scaling a to b, per law, is used as the held-out error of scaled laws. */
struct scale_check {
	const struct profile *a, *b;
	const struct device *device_a, *device_b;
};

/* Returns the scaled profile. Held-out errors of its laws are those of the check; NAN if the check has no such law. check may be
 * NULL. */
struct profile *scale_profile(const struct profile *p, const struct device *from, const struct device *to, const struct scale_check *check,
	struct orr_error *err);

/* Writes the ratios of the times of b to those of a, over the range of b's law. Returns their number. */
enum { SCALE_POINTS = 81 };
uint32_t law_compare(const struct law *a, const struct law *b, double ratio[SCALE_POINTS]);

#endif
