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
#include <stdio.h>
#include <string.h>

static int add_shared(struct album *a, const struct run_result *const *runs, size_t n, struct orr_error *err)
{
	static const struct {
		const char *name, *file, *y_label;
		bool is_smooth;
	} over_time[] = { { "utilisation", "utilisation", "GPUs in use (%)", false },
		{ "queue_length", "queue-length", "waiting jobs", false }, { "in_system", "in-system", "requests in system", false },
		{ "samples_per_s", "throughput-over-time", "samples/s", false }, { "loss", "loss", "loss", true },
		{ "accuracy", "accuracy", "accuracy", true } };
	int code = curves_cdf(a, runs, n, CURVES_JCT, err);
	if (!code)
		code = curves_cdf(a, runs, n, CURVES_LATENCY, err);
	if (!code)
		code = curves_cdf(a, runs, n, CURVES_TTFT, err);
	for (size_t i = 0; i < sizeof over_time / sizeof *over_time && !code; i++)
		code = curves_series(a, runs, n, over_time[i].name, over_time[i].file, over_time[i].y_label, over_time[i].is_smooth, err);
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
	struct figure_rows rows = figure_data_timeline(&a->script, r, FIGURE_DEVICES);
	bool is_long = rows.name_length > 4; /* long names replace the label of the axis */
	struct sbuf title = { 0 };
	if (!rows.rows)
		return ORR_OK;
	figure_put_label(&title, r);
	char x_label[40];
	snprintf(x_label, sizeof x_label, "time (%s)", rows.unit);
	sbuf_printf(&a->script, "few_tics = %d\n", rows.name_length > 8);
	struct chart c = { .file = file,
		.kind = CHART_STACKED,
		.x_label = x_label,
		.y_label = is_long ? "" : "device",
		.title = sbuf_text(&title),
		.series = rows.key,
		.n_series = rows.n,
		.y_min = NAN,
		.y_max = NAN };
	double left = (is_long ? 0.10 : 0.26) + 0.07 * (double)rows.name_length;
	int code = chart_add_rows(a, &c, "timeline", left, 0.42, fmax(1.1, 0.22 * (double)rows.rows), err);
	sbuf_free(&title);
	return code;
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
	struct figure_rows rows = figure_data_gantt(&a->script, r, FIGURE_GANTT_JOBS);
	if (!rows.rows)
		return ORR_OK;
	struct sbuf file = { 0 }, title = { 0 };
	sbuf_printf(&file, "gantt-%s", name);
	figure_put_label(&title, r);
	char x_label[40];
	snprintf(x_label, sizeof x_label, "time (%s)", rows.unit);
	struct chart c = { .file = sbuf_text(&file),
		.kind = CHART_STACKED,
		.x_label = x_label,
		.y_label = "job (GPUs)",
		.title = sbuf_text(&title),
		.series = rows.key,
		.n_series = rows.n,
		.y_min = NAN,
		.y_max = NAN };
	int code = chart_add_rows(a, &c, "gantt", 0.28 + 0.068 * (double)rows.name_length, 0.42, fmax(1.2, 0.14 * (double)rows.rows), err);
	sbuf_free(&file);
	sbuf_free(&title);
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
