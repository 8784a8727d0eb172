/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * profile_figures.h - a profile of a device as figures
 *
 *	roofline     achieved FLOP/s over FLOPs per byte: data sheet, the laws of products, points if the profile keeps them
 *	efficiency   share of the peak by the size of a product, a map for each precision
 *	residuals    law over measurement, by time; only if the profile keeps its points
 */
#ifndef ORR_PLOTS_PROFILE_FIGURES_H
#define ORR_PLOTS_PROFILE_FIGURES_H

#include "hwmodel/profile.h"

/* d, the data sheet, may be NULL. Makes dir where needed. */
int profile_figures(const struct profile *p, const struct device *d, const char *dir, struct orr_error *err);

#endif
