/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * curves.h - figures with a curve for each run, and their legends
 */
#ifndef ORR_PLOTS_CURVES_H
#define ORR_PLOTS_CURVES_H

#include <orrery/api.h>

#include "plots/album.h"
#include "results/result.h"

/* Adds distribution functions, drawn by plots/FILE.gp, if has_data: the script has their data. */
int curves_cdf(struct album *a, const struct run_result *const *runs, size_t n, bool has_data, const char *file, struct orr_error *err);
/* Adds a series of each run over time, drawn by plots/TEMPLATE.gp; no-op if no run has it. */
int curves_series(struct album *a, const struct run_result *const *runs, size_t n, const char *name, const char *file, const char *template,
	struct orr_error *err);

#endif
