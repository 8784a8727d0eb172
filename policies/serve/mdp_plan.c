/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "mdp_plan.h"

#include <orrery/serve.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int by_time(const void *a, const void *b)
{
	const struct mdp_choice *x = a, *y = b;
	return (x->time_s > y->time_s) - (x->time_s < y->time_s);
}

/* Computes the largest time of the entries at[k], and its ratio to the smallest time. Returns the device with the smallest time. */
static uint32_t measure(struct mdp_choice *const *choice, const uint32_t *at, uint32_t n, double *ratio, double *largest)
{
	uint32_t least = 0;
	*largest = 0;
	for (uint32_t k = 0; k < n; k++) {
		double t = choice[k][at[k]].time_s;
		*largest = fmax(*largest, t);
		if (t < choice[least][at[least]].time_s)
			least = k;
	}
	*ratio = *largest / choice[least][at[least]].time_s;
	return least;
}

/* Of all choices with a given smallest time, the ratio is least if every other device has its smallest time that is at least this
 * time. The loop starts with the smallest time of each device and visits this choice for each possible smallest time: it repeatedly
 * moves the device with the smallest time to its next larger time, until that device has none. */
void mdp_balance(struct mdp_choice *const *choice, const uint32_t *n_choice, uint32_t n, uint32_t *picked)
{
	static const double rounding = 1e-12;
	double best = INFINITY, ratio, largest, best_largest = 0;
	uint32_t *at = orr_alloc(n, sizeof *at);
	for (uint32_t k = 0; k < n; k++)
		qsort(choice[k], n_choice[k], sizeof *choice[k], by_time);
	for (;;) {
		uint32_t least = measure(choice, at, n, &ratio, &largest);
		if (ratio < best * (1 - rounding) || (ratio <= best * (1 + rounding) && largest > best_largest)) {
			best = ratio;
			best_largest = largest;
			memcpy(picked, at, n * sizeof *at);
		}
		if (++at[least] == n_choice[least])
			break;
	}
	orr_free(at);
}
