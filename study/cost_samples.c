/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "study/cost_samples.h"

#include "base/mem.h"

#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>
#include <math.h>
#ifdef _OPENMP
#include <omp.h>
#endif
#include <stdio.h>
#include <string.h>

void cost_samples_interval(double *v, uint32_t n, double *low, double *high)
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

static void run_one(const struct step_scenario *s, const struct step_config *base, const struct scenario_policy *p, uint32_t sample,
	double *rate, double *iteration_s, struct orr_error *err)
{
	struct cost *drawn[CLUSTER_MAX_TYPES] = { NULL };
	const struct cost *cost[CLUSTER_MAX_TYPES] = { NULL };
	struct step_config config = *base;
	struct step_result result = { 0 };
	config.cost = cost;
	config.spans = 0;
	config.check = false;
	for (uint32_t t = 0; !err->code && t < s->base.cluster->n_types; t++) {
		struct cost_options o = setting_costs(&s->set, t, sample);
		cost[t] = drawn[t] = cost_new(s->dnn, s->set.device[t], &o, err);
	}
	if (!err->code && !step_run(&config, p->entry.policy, p->args, p->label, &result, err)) {
		*rate = result.samples_per_s;
		*iteration_s = result.iteration_s;
	}
	step_result_free(&result);
	for (uint32_t t = 0; t < s->base.cluster->n_types; t++)
		cost_free(drawn[t]);
}

void cost_samples_put(struct run_result *r, const char *name, double *v, uint32_t n)
{
	double low, high;
	cost_samples_interval(v, n, &low, &high);
	if (!(high > low)) /* the laws do not enter into it: an interval of no width would claim that it is known exactly */
		low = high = NAN;
	for (size_t i = 0; i < r->n_metrics; i++)
		if (!strcmp(r->metrics[i].name, name)) {
			r->metrics[i].ci_low = low;
			r->metrics[i].ci_high = high;
		}
}

int cost_samples_step(const struct step_scenario *s, const struct step_config *config, const struct scenario_policy *p, int threads,
	struct run_result *r, struct orr_error *err)
{
	long n = s->set.cost_samples;
	double *rate = mem_zalloc((size_t)n, sizeof *rate), *iteration_s = mem_zalloc((size_t)n, sizeof *iteration_s);
	struct orr_error *e = mem_zalloc((size_t)n, sizeof *e);
#ifdef _OPENMP
	if (threads < 1)
		threads = omp_get_max_threads();
#else
	(void)threads;
#endif
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
	for (long k = 0; k < n; k++)
		run_one(s, config, p, (uint32_t)k + 1, &rate[k], &iteration_s[k], &e[k]);
	int rc = ORR_OK;
	for (long k = 0; k < n && !rc; k++)
		if (e[k].code)
			rc = orr_fail(err, e[k].code, "draw %ld of the costs: %s", k + 1, e[k].text);
	if (!rc) {
		cost_samples_put(r, "samples_per_s", rate, (uint32_t)n);
		cost_samples_put(r, "iteration_s", iteration_s, (uint32_t)n);
		result_metric(r, "cost_samples", (double)n, NAN, NAN);
	}
	mem_free(rate);
	mem_free(iteration_s);
	mem_free(e);
	return rc;
}
