/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "world/cost_samples.h"

#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static void interval_of(double *v, uint32_t n, double *low, double *high)
{
	gsl_sort(v, 1, n);
	*low = gsl_stats_quantile_from_sorted_data(v, 1, n, 0.025);
	*high = gsl_stats_quantile_from_sorted_data(v, 1, n, 0.975);
}

void cost_samples_say(uint32_t n, char *text, size_t size)
{
	size_t used = strlen(text);
	snprintf(text + used, size - used, "; intervals: 95 %% of %u draws of its laws", n);
}

void cost_samples_put(struct run_result *r, const char *name, double *v, uint32_t n)
{
	double low, high;
	interval_of(v, n, &low, &high);
	if (!(high > low)) /* the metric does not depend on a law; an interval of zero width would claim that it is exact */
		low = high = NAN;
	for (size_t i = 0; i < r->n_metrics; i++)
		if (!strcmp(r->metrics[i].name, name)) {
			r->metrics[i].ci_low = low;
			r->metrics[i].ci_high = high;
		}
}
