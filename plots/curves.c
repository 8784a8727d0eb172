/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "plots/curves.h"

#include "base/mem.h"
#include "plots/chart.h"
#include "plots/figure_data.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Returns the largest value of a series over all runs; 1 if there is none. */
static double largest(const struct run_result *const *runs, size_t n, const char *name)
{
	double most = 0;
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < runs[i]->n_series; k++)
			for (size_t j = 0; j < runs[i]->series[k].n && !strcmp(runs[i]->series[k].name, name); j++)
				most = fmax(most, runs[i]->series[k].value[j]);
	return most > 0 ? most : 1;
}

/* Adds c with a curve for each run, whose data are in the script. y_most: the largest number at the axis of y. */
static int add_curves(struct album *a, struct chart *c, const struct run_result *const *runs, size_t n, const struct figure_span *span,
	double y_most, const char *template, double y_scale, struct orr_error *err)
{
	struct chart_point ends[] = { { span->from, 0, NAN, NAN }, { span->to, y_most, NAN, NAN } };
	struct chart_series *series = mem_zalloc(n + 1, sizeof *series);
	char **label = mem_zalloc(n + 1, sizeof *label);
	for (size_t i = 0; i < n; i++) {
		struct sbuf b = { 0 };
		figure_put_label(&b, runs[i]);
		label[i] = sbuf_steal(&b);
		series[i] = (struct chart_series){ .label = label[i], .point = ends, .n = 2 };
	}
	c->series = series;
	c->n_series = n;
	int code = chart_add_curves(a, c, template, y_scale, err);
	for (size_t i = 0; i < n; i++)
		mem_free(label[i]);
	mem_free(label);
	mem_free(series);
	return code;
}

int curves_cdf(struct album *a, const struct run_result *const *runs, size_t n, enum curves_of of, struct orr_error *err)
{
	static const struct {
		bool (*put)(struct sbuf *script, const struct run_result *const *runs, size_t n, struct figure_span *span);
		const char *file, *x_label, *y_label;
	} kinds[] = { [CURVES_JCT] = { figure_data_jct, "jct-cdf", "job completion time", "share of jobs" },
		[CURVES_LATENCY] = { figure_data_latency, "latency-cdf", "time from arrival to completion", "share of requests" },
		[CURVES_TTFT] = { figure_data_ttft, "ttft-cdf", "time from arrival to the first token", "share of requests" } };
	struct figure_span span;
	if (!kinds[of].put(&a->script, runs, n, &span))
		return ORR_OK;
	struct chart c = { .file = kinds[of].file,
		.kind = CHART_CDF,
		.x_label = kinds[of].x_label,
		.y_label = kinds[of].y_label,
		.log_x = true,
		.is_calendar = of == CURVES_JCT,
		.y_min = NAN,
		.y_max = NAN };
	return add_curves(a, &c, runs, n, &span, 1, "cdf", 1, err);
}

int curves_series(struct album *a, const struct run_result *const *runs, size_t n, const char *name, const char *file, const char *y_label,
	bool is_smooth, struct orr_error *err)
{
	bool is_share = !strcmp(name, "utilisation"); /* per cent */
	char x_label[40];
	struct figure_span span;
	if (!figure_data_series(&a->script, runs, n, name, &span))
		return ORR_OK;
	snprintf(x_label, sizeof x_label, "time (%s)", span.unit);
	struct chart c = {
		.file = file, .kind = CHART_TIMELINE, .x_label = x_label, .y_label = y_label, .y_min = NAN, .y_max = is_share ? 100 : NAN
	};
	sbuf_printf(&a->script, "is_smooth = %d\n", is_smooth);
	return add_curves(a, &c, runs, n, &span, is_share ? 100 : largest(runs, n, name), "over-time", is_share ? 100 : 1, err);
}
