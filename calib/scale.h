/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * scale.h - a profile of a device that nobody measured, from one that somebody did
 *
 * Wave scaling after Habitat (Yu et al., USENIX ATC 2021, equation 2):
 *	t' = t (BW / BW')^g (C / C')^(1-g)
 * with g = 1 - x / 2R below the ridge R of the target's roofline and R / 2x above, x being FLOPs per byte. For C, SMs
 * times clock there, the peak of the law's precision stands, which is the same where an SM does as much per clock.
 * Laws are evaluated over the range they were fitted on, scaled, and fitted again. Links and interference are
 * not scaled: those laws are left out.
 */
#ifndef ORR_CALIB_SCALE_H
#define ORR_CALIB_SCALE_H

#include "hwmodel/profile.h"

/* What scaling from a to b gets wrong where both are known, told per law by its name. */
struct scale_check {
	const struct profile *a, *b;
	const struct device *device_a, *device_b;
};

/* The factor on the time of a kernel of so many FLOPs and bytes. */
double scale_factor(const struct device *from, const struct device *to, const char *precision, double flops, double bytes);

/* The laws' held-out errors are those of the check, NAN where that has no such law. check may be NULL. */
struct profile *scale_profile(const struct profile *p, const struct device *from, const struct device *to, const struct scale_check *check,
	struct orr_error *err);

/* Ratios of time, b over a, over the range of b's law; how many were written. */
enum { SCALE_POINTS = 81 };
uint32_t law_compare(const struct law *a, const struct law *b, double ratio[SCALE_POINTS]);

#endif
