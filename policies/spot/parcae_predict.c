/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "parcae_predict.h"

#include <math.h>

/*
 * Maximises the likelihood of w_1..w_n, with w_1 from the stationary law. With a = w_2^2 + .. + w_(n-1)^2, b = sum of w_t
 * w_(t-1), c = sum of w_t^2, the sum of squares is S = c - 2 b phi + a phi^2, and n/2 log S - 1/2 log(1 - phi^2) is minimal
 * where (n-1) a phi^3 - (n-2) b phi^2 - (n a + c) phi + n b = 0. The cubic is positive at -1 and negative at 1; its root in
 * between is the only one (Hasza, J. Time Series Analysis 1, 1980).
 */
double parcae_ar1(const double *change, uint32_t n)
{
	double a = 0, b = 0, c = 0;
	for (uint32_t t = 0; t < n; t++) {
		c += change[t] * change[t];
		a += t > 0 && t + 1 < n ? change[t] * change[t] : 0;
		b += t > 0 ? change[t] * change[t - 1] : 0;
	}
	if (n < 2 || !(c > 0))
		return 0;
	double low = -1, high = 1;
	for (int i = 0; i < 60; i++) {
		double x = (low + high) / 2;
		double f = (((n - 1) * a * x - (n - 2.0) * b) * x - (n * a + c)) * x + n * b;
		if (f > 0)
			low = x;
		else
			high = x;
	}
	return (low + high) / 2;
}

void parcae_arima(const double *count, uint32_t n, uint32_t horizon, double *out, double *scratch)
{
	for (uint32_t t = 0; t + 1 < n; t++)
		scratch[t] = count[t + 1] - count[t];
	double phi = n > 1 ? parcae_ar1(scratch, n - 1) : 0, change = n > 1 ? scratch[n - 2] : 0, at = n ? count[n - 1] : 0;
	for (uint32_t h = 0; h < horizon; h++) {
		change *= phi;
		at += change;
		out[h] = at;
	}
}

void parcae_clean(double *count, uint32_t n, double limit, double least, double most)
{
	for (uint32_t t = 1; t + 1 < n; t++) {
		double up = count[t] - count[t - 1], down = count[t] - count[t + 1];
		if (fabs(up) > limit && fabs(down) > limit && up * down > 0)
			count[t] = count[t - 1];
	}
	for (uint32_t t = 0; t < n; t++)
		count[t] = fmin(fmax(count[t], least), most);
}

void parcae_forecast(double *count, uint32_t n, const struct parcae_bounds *b, uint32_t horizon, double *forecast, double *scratch)
{
	if (!n)
		return;
	parcae_clean(count, n, b->limit, b->least, b->most);
	parcae_arima(count, n, horizon, forecast, scratch);
	double now = count[n - 1];
	for (uint32_t h = 0; h < horizon; h++) {
		double y = fmin(fmax(forecast[h], now - b->limit), now + b->limit);
		forecast[h] = round(fmin(fmax(y, b->least), b->most));
	}
}
