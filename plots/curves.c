/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "plots/curves.h"

#include "base/mem.h"
#include "plots/chart.h"
#include "plots/figure_data.h"

#include <math.h>
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

/* Returns the layout of a figure with a curve for each run, whose data are in the script; y_most: the largest number at the axis of y. */
static struct layout place_legend(struct album *a, const struct run_result *const *runs, size_t n, double y_most)
{
	struct chart_point ends[] = { { 0, 0, NAN, NAN }, { 100, y_most, NAN, NAN } };
	struct chart_series *series = mem_zalloc(n + 1, sizeof *series);
	char **label = mem_zalloc(n + 1, sizeof *label);
	for (size_t i = 0; i < n; i++) {
		struct sbuf b = { 0 };
		figure_put_label(&b, runs[i]);
		label[i] = sbuf_steal(&b);
		series[i] = (struct chart_series){ .label = label[i], .point = ends, .n = 2 };
	}
	struct chart c = {
		.kind = CHART_TIMELINE, .x_label = "time", .y_label = "value", .y_min = NAN, .y_max = NAN, .series = series, .n_series = n
	};
	struct layout l = chart_place_legend(a, &c);
	for (size_t i = 0; i < n; i++)
		mem_free(label[i]);
	mem_free(label);
	mem_free(series);
	return l;
}

int curves_cdf(struct album *a, const struct run_result *const *runs, size_t n, bool has_data, const char *file, struct orr_error *err)
{
	return has_data ? album_add(a, file, file, place_legend(a, runs, n, 0.2), err) : ORR_OK;
}

int curves_series(struct album *a, const struct run_result *const *runs, size_t n, const char *name, const char *file, const char *template,
	struct orr_error *err)
{
	if (!figure_data_series(&a->script, runs, n, name))
		return ORR_OK;
	double scale = !strcmp(name, "utilisation") ? 100 : 1; /* per cent */
	return album_add(a, file, template, place_legend(a, runs, n, scale * largest(runs, n, name)), err);
}
