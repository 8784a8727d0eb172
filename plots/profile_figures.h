/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * profile_figures.h - figures of a device profile
 *
 *  roofline     achieved FLOP/s over FLOPs per byte: data sheet, laws of products, and points if the profile keeps them
 *  efficiency   share of the peak by size of a product, one map per precision
 *  residuals    law over measurement, by time; only if the profile keeps its points
 */
#ifndef ORR_PLOTS_PROFILE_FIGURES_H
#define ORR_PLOTS_PROFILE_FIGURES_H

#include "hwmodel/profile.h"

/* Draws the figures; creates dir if needed. d, the data sheet, may be NULL. */
int profile_figures(const struct profile *p, const struct device *d, const char *dir, struct orr_error *err);

#endif
