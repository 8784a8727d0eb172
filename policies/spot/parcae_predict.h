/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * parcae_predict.h - prediction of the number of instances: ARIMA(1,1,0) on a cleaned history
 *
 * Changes between intervals, w_t = y_t - y_(t-1), follow w_t = phi w_(t-1) + noise, without a constant (Box & Jenkins); phi is
 * the exact maximum-likelihood estimate under Gaussian noise. Cleaning and limits follow the authors' code (JF-D/Parcae);
 * docs/models/spot-parcae.md lists the details that the code does not settle.
 */
#ifndef ORR_POLICIES_SPOT_PARCAE_PREDICT_H
#define ORR_POLICIES_SPOT_PARCAE_PREDICT_H

#include <stdint.h>

/* Estimates phi from n changes; 0 if all are zero or n is less than two. */
double parcae_ar1(const double *change, uint32_t n);
/* Forecasts the counts h = 1..horizon intervals after the last of n counts; scratch has n numbers. */
void parcae_arima(const double *count, uint32_t n, uint32_t horizon, double *out, double *scratch);
/* Replaces a count by the previous one if it changes by more than `limit` and back at the next interval; then clamps all counts to
 * the bounds. */
void parcae_clean(double *count, uint32_t n, double limit, double least, double most);

struct parcae_bounds {
	double limit;       /* largest change over the horizon */
	double least, most; /* bounds of counts */
};
/* Cleans, forecasts and rounds. Overwrites count and scratch (n numbers each) and forecast (horizon numbers). */
void parcae_forecast(double *count, uint32_t n, const struct parcae_bounds *b, uint32_t horizon, double *forecast, double *scratch);

#endif
