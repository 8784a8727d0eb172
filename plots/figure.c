/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "plots/figure.h"

#include "base/mem.h"
#include "plots/album.h"
#include "plots/chart.h"
#include "plots/curves.h"
#include "plots/figure_data.h"
#include "plots/spot_figures.h"
#include "results/report.h"

#include <math.h>
#include <string.h>

static int add_shared(struct album *a, const struct run_result *const *runs, size_t n, struct orr_error *err)
{
	static const struct {
		const char *name, *file, *template;
	} over_time[] = { { "utilisation", "utilisation", "utilisation" }, { "queue_length", "queue-length", "queue-length" },
		{ "in_system", "in-system", "in-system" }, { "samples_per_s", "throughput-over-time", "samples-per-s" },
		{ "loss", "loss", "loss" }, { "accuracy", "accuracy", "accuracy" } };
	int code = curves_cdf(a, runs, n, figure_data_jct(&a->script, runs, n), "jct-cdf", err);
	if (!code)
		code = curves_cdf(a, runs, n, figure_data_latency(&a->script, runs, n), "latency-cdf", err);
	if (!code)
		code = curves_cdf(a, runs, n, figure_data_ttft(&a->script, runs, n), "ttft-cdf", err);
	for (size_t i = 0; i < sizeof over_time / sizeof *over_time && !code; i++)
		code = curves_series(a, runs, n, over_time[i].name, over_time[i].file, over_time[i].template, err);
	return code;
}

/* Adds bars, one per run. */
static int add_bars(struct album *a, const struct run_result *const *runs, size_t n, const char *metric, const char *file,
	const char *y_label, struct orr_error *err)
{
	const char **name = mem_zalloc(n + 1, sizeof *name);
	struct chart_point *point = mem_zalloc(n + 1, sizeof *point);
	for (size_t i = 0; i < n; i++) {
		const struct metric *m = result_find(runs[i], metric);
		name[i] = runs[i]->label ? runs[i]->label : "";
		point[i] = m ? (struct chart_point){ 0, m->value, m->ci_low, m->ci_high } : (struct chart_point){ 0, NAN, NAN, NAN };
	}
	struct chart_series series = { .label = file, .point = point, .n = n };
	struct chart c = { .file = file,
		.kind = CHART_BARS,
		.x_label = "",
		.y_label = y_label,
		.y_min = NAN,
		.y_max = NAN,
		.category = name,
		.n_categories = n,
		.series = &series,
		.n_series = 1 };
	int code = chart_add(a, &c, err);
	mem_free(name);
	mem_free(point);
	return code;
}

int figures_timeline(struct album *a, const struct run_result *r, const char *file, struct orr_error *err)
{
	size_t titles, rows = figure_data_timeline(&a->script, r, FIGURE_DEVICES, &titles);
	if (!rows)
		return ORR_OK;
	size_t key_rows = 1 + (titles > 3 ? (titles + 1) / 2 : 1); /* a row for the label, then the rows of plots/timeline.gp */
	return album_add(a, file, "timeline", (struct layout){ 0.46 + fmax(1.1, 0.22 * (double)rows), key_rows, false }, err);
}

/* Adds the figures of the single run r; no-op if it has no data for them. */
static int add_timeline(struct album *a, const struct run_result *r, const char *name, struct orr_error *err)
{
	struct sbuf file = { 0 };
	sbuf_printf(&file, "timeline-%s", name);
	int code = figures_timeline(a, r, sbuf_text(&file), err);
	sbuf_free(&file);
	return code;
}

static int add_gantt(struct album *a, const struct run_result *r, const char *name, struct orr_error *err)
{
	bool has_pauses;
	size_t rows = figure_data_gantt(&a->script, r, FIGURE_GANTT_JOBS, &has_pauses);
	if (!rows)
		return ORR_OK;
	struct sbuf file = { 0 };
	sbuf_printf(&file, "gantt-%s", name);
	int code = album_add(
		a, sbuf_text(&file), "gantt", (struct layout){ 0.46 + fmax(1.2, 0.14 * (double)rows), has_pauses ? 3 : 1, false }, err);
	sbuf_free(&file);
	return code;
}

static int add_single(struct album *a, const struct run_result *const *runs, size_t n, struct orr_error *err)
{
	char **name = mem_zalloc(n + 1, sizeof *name);
	report_file_names(runs, n, name);
	int code = ORR_OK;
	for (size_t i = 0; i < n && !code; i++) {
		code = add_gantt(a, runs[i], name[i], err);
		if (!code)
			code = add_timeline(a, runs[i], name[i], err);
		if (!code)
			code = spot_figures_single(a, runs[i], name[i], err);
	}
	for (size_t i = 0; i < n; i++)
		mem_free(name[i]);
	mem_free(name);
	return code;
}

int figures_write(const char *dir, const struct run_result *const *runs, size_t n, struct orr_error *err)
{
	struct album a = { 0 };
	bool is_step = n && runs[0]->world && !strcmp(runs[0]->world, "step");
	int code = add_shared(&a, runs, n, err);
	if (!code)
		code = add_bars(&a, runs, n, "samples_per_s", "throughput", "samples/s", err);
	if (!code)
		code = add_bars(&a, runs, n, "value", "value", is_step ? "value (1/(USD s))" : "samples/s per USD/h", err);
	if (!code)
		code = spot_figures_shared(&a, runs, n, err);
	if (!code)
		code = add_single(&a, runs, n, err);
	if (!code)
		code = album_write(&a, dir, err);
	album_free(&a);
	return code;
}
