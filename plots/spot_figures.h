/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * spot_figures.h - figures of the spot world: instances, throughput, and accounts of time and money
 *
 * Private to plots/; figure.h lists the files. Each function is a no-op without data.
 */
#ifndef ORR_PLOTS_SPOT_FIGURES_H
#define ORR_PLOTS_SPOT_FIGURES_H

#include "plots/album.h"
#include "results/result.h"

/* Adds node-hours and dollars. */
int spot_figures_shared(struct album *a, const struct run_result *const *runs, size_t n, struct orr_error *err);
/* Adds instances-NAME. */
int spot_figures_single(struct album *a, const struct run_result *r, const char *name, struct orr_error *err);

#endif
