/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * fit_starts.h - starting points of the minimisation, several for each fit, so that no result depends on a single one
 *
 * Private to calib/fit*.c.
 */
#ifndef ORR_CALIB_FIT_STARTS_H
#define ORR_CALIB_FIT_STARTS_H

#include "calib/fit_nls.h"

enum { MAX_STARTS = 16 };

/* Writes the starts in order of likelihood and returns their number, at most MAX_STARTS. Rooflines and lines: a grid around the
 * fastest point and the highest observed rates. Envelopes: the best partitions of the sizes into three, with a line through each. */
uint32_t fit_starts(const struct nls *q, double start[MAX_STARTS][LAW_PARAMS]);

#endif
