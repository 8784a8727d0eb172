/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * cost_samples.h - variation of results when the laws of a profile are drawn from their covariance
 *
 * Run k of N draws every law for sample k (hwmodel/cost_laws.h) and changes nothing else. Intervals reach from the 2.5 % to the
 * 97.5 % quantile of the N values, interpolated between neighbours. They do not depend on the number of threads.
 */
#ifndef ORR_WORLD_COST_SAMPLES_H
#define ORR_WORLD_COST_SAMPLES_H

#include "results/result.h"

/* Sets the interval of a metric of r from the n values of v, which are sorted in place. */
void cost_samples_put(struct run_result *r, const char *name, double *v, uint32_t n);

/* Adds the number of draws to a text on the source of times. */
void cost_samples_say(uint32_t n, char *text, size_t size);

#endif
