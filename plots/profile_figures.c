/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "plots/profile_figures.h"

#include "base/mem.h"
#include "base/sbuf.h"
#include "plots/album.h"
#include "plots/chart.h"
#include "plots/gnuplot.h"

#include <math.h>
#include <string.h>

enum { STEPS = 49, MAX_SERIES = 32, LABEL = 64, MAX_POINTS = 400, FIRST_POWER = 6, LAST_POWER = 13 };

struct series {
	struct chart_series s[MAX_SERIES];
	char label[MAX_SERIES][LABEL];
	size_t n;
};

static struct chart_point *add_series(struct series *x, const char *label, size_t points, bool marks_alone)
{
	if (x->n == MAX_SERIES)
		return NULL;
	struct chart_point *p = mem_zalloc(points + 1, sizeof *p);
	snprintf(x->label[x->n], LABEL, "%s", label);
	x->s[x->n] = (struct chart_series){ .label = x->label[x->n], .point = p, .n = points, .marks_alone = marks_alone };
	x->n++;
	return p;
}

static void series_free(struct series *x)
{
	for (size_t i = 0; i < x->n; i++)
		mem_free((void *)(uintptr_t)x->s[i].point);
}

static struct chart_point at(double x, double y)
{
	return (struct chart_point){ x, y, NAN, NAN };
}

static double peak_of(const struct device *d, const struct law *l)
{
	enum precision p;
	return d && precision_named(l->precision, &p) ? d->peak_flops[p] : 0;
}

/* Returns whether l is the precision's law of products over all variants. */
static bool is_product(const struct profile *p, const struct law *l)
{
	return !strcmp(l->family, "gemm") && l->form == FORM_ROOFLINE && l == profile_law(p, "gemm", l->op, l->precision, "", 0, 0);
}

/* ---- roofline ---- */

/* Adds a law at its largest FLOPs, where the launch time is negligible. */
static void add_law(struct series *x, const struct law *l, double low, double high)
{
	char label[LABEL];
	snprintf(label, sizeof label, "law, %s", l->precision);
	struct chart_point *p = add_series(x, label, STEPS, false);
	for (int i = 0; p && i < STEPS; i++) {
		double intensity = low * pow(high / low, i / (STEPS - 1.0));
		p[i] = at(intensity, l->to[0] / law_time(l, l->to[0], l->to[0] / intensity, 0, NULL) / 1e12);
	}
}

static void add_sheet(struct series *x, const struct law *l, const struct device *d, double low, double high)
{
	char label[LABEL];
	double peak = peak_of(d, l);
	if (!(peak > 0))
		return;
	snprintf(label, sizeof label, "data sheet, %s", l->precision);
	struct chart_point *p = add_series(x, label, STEPS, false);
	for (int i = 0; p && i < STEPS; i++) {
		double intensity = low * pow(high / low, i / (STEPS - 1.0));
		p[i] = at(intensity, fmin(peak, intensity * d->memory_Bps) / 1e12);
	}
}

static void add_points(struct series *x, const struct law *l)
{
	char label[LABEL];
	uint32_t step = 1 + l->n_points / MAX_POINTS, n = 0;
	if (!l->n_points)
		return;
	snprintf(label, sizeof label, "measured, %s", l->precision);
	struct chart_point *p = add_series(x, label, (l->n_points + step - 1) / step, true);
	for (uint32_t i = 0; p && i < l->n_points; i += step) {
		const struct law_point *m = &l->point[i];
		p[n++] = at(m->feature[0] / m->feature[1], m->feature[0] / m->time_s / 1e12);
	}
}

static int draw_roofline(struct album *a, const struct profile *p, const struct device *d, struct orr_error *err)
{
	struct series x = { .n = 0 };
	const double low = 1, high = 10000;
	for (size_t i = 0; i < p->n_laws; i++)
		if (is_product(p, &p->law[i]) && !isnan(p->law[i].to[0])) {
			add_law(&x, &p->law[i], low, high);
			add_sheet(&x, &p->law[i], d, low, high);
			add_points(&x, &p->law[i]);
		}
	struct chart c = { .file = "roofline",
		.kind = CHART_LINES,
		.x_label = "FLOPs per byte",
		.y_label = "TFLOP/s",
		.log_x = true,
		.log_y = true,
		.y_min = NAN,
		.y_max = NAN,
		.series = x.s,
		.n_series = x.n };
	int rc = x.n ? chart_add(a, &c, err) : ORR_OK;
	series_free(&x);
	return rc;
}

/* ---- efficiency ---- */

/* Draws the efficiency of products m x k x m of 2-byte or 4-byte elements, over m and k. */
static int draw_map(struct album *a, const struct law *l, double peak, struct orr_error *err)
{
	struct sbuf *b = &a->script;
	double element = strcmp(l->precision, "fp32") && strcmp(l->precision, "tf32") ? 2 : 4;
	char file[LABEL];
	snprintf(file, sizeof file, "efficiency-%s", *l->precision ? l->precision : "all");
	sbuf_puts(b, "$data << EOD\n");
	for (int i = FIRST_POWER; i <= LAST_POWER; i++)
		for (int k = FIRST_POWER; k <= LAST_POWER; k++) {
			double m = ldexp(1, i), inner = ldexp(1, k), flops = 2 * m * m * inner, bytes = element * (m * m + 2 * m * inner);
			sbuf_printf(b, "%d %d %.4f\n", i, k, flops / law_time(l, flops, bytes, 0, NULL) / peak);
		}
	sbuf_puts(b, "EOD\n");
	sbuf_printf(b, "x_min = y_min = %d\nx_max = y_max = %d\n", FIRST_POWER, LAST_POWER);
	sbuf_puts(b, "x_label = 'rows and columns'\ny_label = 'inner dimension'\nz_label = 'share of the peak'\n");
	return album_add(a, file, "map", album_layout(0, 0, 3.2), err);
}

static int draw_efficiency(struct album *a, const struct profile *p, const struct device *d, struct orr_error *err)
{
	int rc = ORR_OK;
	for (size_t i = 0; !rc && i < p->n_laws; i++) {
		const struct law *l = &p->law[i];
		double peak = peak_of(d, l) > 0 ? peak_of(d, l) : l->param[1];
		if (is_product(p, l) && isfinite(peak))
			rc = draw_map(a, l, peak, err);
	}
	return rc;
}

/* ---- residuals ---- */

static int draw_residuals(struct album *a, const struct profile *p, struct orr_error *err)
{
	struct series x = { .n = 0 };
	for (size_t i = 0; i < p->n_laws; i++) {
		const struct law *l = &p->law[i];
		uint32_t step = 1 + l->n_points / MAX_POINTS, n = 0;
		char label[LABEL];
		if (!l->n_points || l->form == FORM_FACTOR)
			continue;
		snprintf(label, sizeof label, "%.15s %.20s %.8s %.12s", l->family, l->op, l->precision, l->variant);
		struct chart_point *out = add_series(&x, label, (l->n_points + step - 1) / step, true);
		for (uint32_t k = 0; out && k < l->n_points; k += step) {
			const struct law_point *m = &l->point[k];
			out[n++] = at(m->time_s * 1e6, law_time(l, m->feature[0], m->feature[1], m->feature[2], NULL) / m->time_s);
		}
	}
	struct chart c = { .file = "residuals",
		.kind = CHART_LINES,
		.x_label = "measured time (us)",
		.y_label = "law / measured",
		.log_x = true,
		.log_y = true,
		.y_min = NAN,
		.y_max = NAN,
		.series = x.s,
		.n_series = x.n };
	int rc = x.n ? chart_add(a, &c, err) : ORR_OK;
	series_free(&x);
	return rc;
}

int profile_figures(const struct profile *p, const struct device *d, const char *dir, struct orr_error *err)
{
	struct album a = { 0 };
	int rc = draw_roofline(&a, p, d, err);
	if (!rc)
		rc = draw_efficiency(&a, p, d, err);
	if (!rc)
		rc = draw_residuals(&a, p, err);
	if (!rc && a.n_files)
		rc = album_write(&a, dir, err);
	else if (!rc)
		rc = orr_fail(
			err, ORR_EINPUT, "%.100s: the profile gives no figures: expected a profile with GEMM laws or points", p->name);
	album_free(&a);
	return rc;
}
