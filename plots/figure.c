/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "plots/figure.h"

#include "base/mem.h"
#include "plots/album.h"
#include "plots/chart.h"
#include "plots/figure_data.h"
#include "plots/spot_figures.h"
#include "results/report.h"

#include <math.h>
#include <string.h>

/* Returns the length of a label in the legend, in characters. */
static size_t label_length(const struct run_result *r)
{
	size_t len = strlen(r->label ? r->label : "");
	return (len < FIGURE_LABEL_BYTES ? len : FIGURE_LABEL_BYTES) + (r->is_oracle ? strlen(" (oracle)") : 0);
}

static struct layout layout_of(const struct run_result *const *runs, size_t n)
{
	size_t longest = 0;
	for (size_t i = 0; i < n; i++)
		if (label_length(runs[i]) > longest)
			longest = label_length(runs[i]);
	return album_layout(n, longest, 2.1);
}

static int add_shared(struct album *a, const struct run_result *const *runs, size_t n, struct orr_error *err)
{
	int code = ORR_OK;
	struct layout l = layout_of(runs, n);
	if (figure_data_jct(&a->script, runs, n))
		code = album_add(a, "jct-cdf", "jct-cdf", l, err);
	if (!code && figure_data_series(&a->script, runs, n, "utilisation"))
		code = album_add(a, "utilisation", "utilisation", l, err);
	if (!code && figure_data_series(&a->script, runs, n, "queue_length"))
		code = album_add(a, "queue-length", "queue-length", l, err);
	if (!code && figure_data_latency(&a->script, runs, n))
		code = album_add(a, "latency-cdf", "latency-cdf", l, err);
	if (!code && figure_data_ttft(&a->script, runs, n))
		code = album_add(a, "ttft-cdf", "ttft-cdf", l, err);
	if (!code && figure_data_series(&a->script, runs, n, "in_system"))
		code = album_add(a, "in-system", "in-system", l, err);
	if (!code && figure_data_series(&a->script, runs, n, "samples_per_s"))
		code = album_add(a, "throughput-over-time", "samples-per-s", l, err);
	if (!code && figure_data_series(&a->script, runs, n, "loss"))
		code = album_add(a, "loss", "loss", l, err);
	if (!code && figure_data_series(&a->script, runs, n, "accuracy"))
		code = album_add(a, "accuracy", "accuracy", l, err);
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
	return album_add(a, file, "timeline", (struct layout){ 0.6 + 0.22 * (double)rows, key_rows }, err);
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
	size_t rows = figure_data_gantt(&a->script, r, FIGURE_GANTT_JOBS);
	if (!rows)
		return ORR_OK;
	struct sbuf file = { 0 };
	sbuf_printf(&file, "gantt-%s", name);
	int code = album_add(a, sbuf_text(&file), "gantt", (struct layout){ 0.55 + 0.14 * (double)rows, 2 }, err);
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
