/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * spot_figures.h - figures of runs of the spot world: instances and throughput over time, where time and money went
 *
 * Private to plots/; figure.h lists the files. Each adds nothing where no run has what it is about.
 */
#ifndef ORR_PLOTS_SPOT_FIGURES_H
#define ORR_PLOTS_SPOT_FIGURES_H

#include "plots/album.h"
#include "results/result.h"

/* node-hours, dollars. */
int spot_figures_shared(struct album *a, const struct run_result *const *runs, size_t n, struct orr_error *err);
/* instances-NAME. */
int spot_figures_single(struct album *a, const struct run_result *r, const char *name, struct orr_error *err);

#endif
