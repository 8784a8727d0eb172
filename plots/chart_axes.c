/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Texts and numbers of the axes of a chart. */
#include "plots/chart_parts.h"

#include "base/mem.h"
#include "plots/gnuplot.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

size_t chart_cut(const char *text, size_t lines)
{
	size_t n = strlen(text), want = lines ? n / lines : 0, at = 0;
	for (size_t i = 1; lines > 1 && i < n; i++)
		if (text[i] == ' ' && (!at || (i > want ? i - want : want - i) < (at > want ? at - want : want - at)))
			at = i;
	return at;
}

void chart_put_lines(struct sbuf *b, const char *name, const char *text, size_t lines)
{
	size_t at;
	sbuf_printf(b, "%s = ", name);
	for (; (at = chart_cut(text, lines)); lines--) {
		struct sbuf line = { 0 };
		sbuf_add(&line, text, at);
		gnuplot_quote(b, sbuf_text(&line), CHART_TEXT_BYTES);
		sbuf_puts(b, ".\"\\n\".");
		sbuf_free(&line);
		text += at + 1;
	}
	gnuplot_quote(b, text, CHART_TEXT_BYTES);
	sbuf_putc(b, '\n');
}

void chart_put_text(struct sbuf *b, const char *name, const char *text, size_t most)
{
	chart_put_lines(b, name, text, strlen(text) > most ? 2 : 1);
}

double chart_text_width(const char *s)
{
	static const char narrow[] = "iIjlt|.,:;'!()[] frJ-/", wide[] = "mMwW%@";
	double em = 0;
	for (; *s; s++)
		if (((unsigned char)*s & 0xc0) != 0x80)
			em += strchr(narrow, *s) ? 0.38 : strchr(wide, *s) ? 0.97 : *s >= 'A' && *s <= 'Z' ? 0.70 : 0.625;
	return 8 * em;
}

static void widen(double range[2], double v)
{
	range[0] = isfinite(v) ? fmin(range[0], v) : range[0];
	range[1] = isfinite(v) ? fmax(range[1], v) : range[1];
}

/* Widens a range by the heights of stacks. */
static void widen_by_stacks(double range[2], const struct chart *c)
{
	for (size_t k = 0; k < c->n_categories; k++) {
		double sum = 0;
		for (size_t i = 0; i < c->n_series; i++)
			sum += k < c->series[i].n ? fmax(0, c->series[i].point[k].y) : 0;
		widen(range, sum);
	}
}

struct chart_ranges chart_ranges(const struct chart *c)
{
	struct chart_ranges r = { { INFINITY, -INFINITY }, { INFINITY, -INFINITY } };
	for (size_t i = 0; i < c->n_series; i++)
		for (size_t k = 0; k < c->series[i].n; k++) {
			const struct chart_point *p = &c->series[i].point[k];
			widen(r.x, isfinite(p->y) ? p->x : NAN);
			widen(r.y, c->log_y && !(p->y > 0) ? NAN : p->y);
			if (c->series[i].has_bounds) /* the figure clips them */
				continue;
			widen(r.y, c->log_y && !(p->low > 0) ? NAN : p->low);
			widen(r.y, p->high);
		}
	if (c->kind == CHART_STACKED)
		widen_by_stacks(r.y, c);
	if (isfinite(c->y_min) || !c->log_y)
		r.y[0] = isfinite(c->y_min) ? c->y_min : 0;
	if (isfinite(c->y_max))
		r.y[1] = c->y_max;
	return r;
}

double chart_tic_step(double span, double n)
{
	double raw = span / n, power = pow(10, floor(log10(raw)));
	return power * (raw <= power * 1.0000001 ? 1 : raw <= 2 * power ? 2 : raw <= 5 * power ? 5 : 10);
}

size_t chart_digits(double v)
{
	char text[40];
	return (size_t)snprintf(text, sizeof text, "%g", v);
}

size_t chart_number(double v, bool has_prefix, char text[CHART_NUMBER_BYTES])
{
	static const char prefix[] = "kMGTPE";
	size_t i = 0;
	double rest = v;
	for (; has_prefix && fabs(rest) >= 1000 && i < sizeof prefix - 1; i++)
		rest /= 1000;
	const char unit[] = { i ? prefix[i - 1] : '\0', '\0' };
	return (size_t)snprintf(text, CHART_NUMBER_BYTES, "%g%s", rest, unit);
}

bool chart_is_large(bool is_log, const double range[2])
{
	return is_log ? range[0] >= 1 && ceil(log10(range[1])) >= 5 : fmax(fabs(range[0]), fabs(range[1])) >= 1e6;
}

double chart_y_step(const double range[2])
{
	return range[1] > range[0] ? chart_tic_step(range[1] - range[0], 8) : 0;
}

size_t chart_widest_tic(const struct chart *c)
{
	struct chart_ranges r = chart_ranges(c);
	size_t most = 1, n;
	char text[CHART_NUMBER_BYTES];
	bool is_large = chart_is_large(c->log_y, r.y);
	if (c->kind == CHART_CDF)
		return 3;
	if (!(r.y[1] > r.y[0]))
		return 4;
	double step = c->log_y ? 1 : chart_y_step(r.y), from = c->log_y ? floor(log10(r.y[0])) : floor(r.y[0] / step),
	       to = c->log_y ? ceil(log10(r.y[1])) : ceil(r.y[1] / step);
	for (double i = from; i <= to; i++) {
		n = chart_number(c->log_y ? pow(10, i) : i * step, is_large, text);
		most = n > most ? n : most;
	}
	return most + (is_large && r.y[1] >= 1e6); /* "M" is wide */
}
