/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * parcae_predict.h - how many instances there will be: ARIMA(1,1,0) on a history that was cleaned first
 *
 * Changes from interval to interval, w_t = y_t - y_(t-1), follow w_t = phi w_(t-1) + noise, without a constant (Box & Jenkins);
 * phi is the exact maximum-likelihood estimate under Gaussian noise. Cleaning and limits are those of the authors' code
 * (JF-D/Parcae); see docs/models.md for what it leaves open.
 */
#ifndef ORR_POLICIES_SPOT_PARCAE_PREDICT_H
#define ORR_POLICIES_SPOT_PARCAE_PREDICT_H

#include <stdint.h>

/* phi of n changes; 0 if there are none but zeros, or fewer than two. */
double parcae_ar1(const double *change, uint32_t n);
/* What comes h intervals after the last of n counts, h = 1..horizon; scratch of n numbers. */
void parcae_arima(const double *count, uint32_t n, uint32_t horizon, double *out, double *scratch);
/* A count that leaps by more than `limit` and back at once is the one before it; then all are brought into bounds. */
void parcae_clean(double *count, uint32_t n, double limit, double least, double most);

struct parcae_bounds {
	double limit;       /* of the change over the whole horizon */
	double least, most; /* of counts */
};
/* Cleans, forecasts and rounds; count and scratch (n numbers each) and forecast (horizon numbers) are overwritten. */
void parcae_forecast(double *count, uint32_t n, const struct parcae_bounds *b, uint32_t horizon, double *forecast, double *scratch);

#endif
