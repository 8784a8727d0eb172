/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * fit_starts.h - where descents begin, so that a result does not hang on one start
 *
 * Of no use outside calib/fit*.c.
 */
#ifndef ORR_CALIB_FIT_STARTS_H
#define ORR_CALIB_FIT_STARTS_H

#include "calib/fit_nls.h"

enum { MAX_STARTS = 16 };

/* Thetas of up to MAX_STARTS starts, the likeliest first; how many. Rooflines and lines: a grid around the fastest
 * point and the highest rates seen. Envelopes: the best ways to cut the sizes into three, a line through each. */
uint32_t fit_starts(const struct nls *q, double start[MAX_STARTS][LAW_PARAMS]);

#endif
