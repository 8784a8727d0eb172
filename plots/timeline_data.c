/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Data of plots/timeline.gp: busy times of each device, and times of its messages in flight. */
#include "plots/figure_data.h"

#include "base/mem.h"
#include "plots/gnuplot.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_DEVICES = 64 };

static const struct {
	const char *name, *title, *colour;
} kinds[FIGURE_KINDS] = { { "forward", "forward", "#0072B2" }, { "backward", "backward", "#D55E00" },
	{ "recompute", "recompute", "#F0A070" }, { "optimizer", "optimizer", "#009E73" }, { "codec", "codec", "#CC79A7" },
	{ "work", "work", "#777777" }, { "send", "messages", "#E69F00" }, { "weight gradient", "weights", "#56B4E9" } };

struct device_place {
	uint32_t device;
	const char *name; /* name of the device's row; NULL: the number of the device */
	size_t row;
	uint32_t band; /* place among the devices of its row */
};

/* A row: a device, or the devices of one name. */
struct row {
	uint32_t device; /* lowest number */
	const char *name;
	uint32_t bands;
};

struct view {
	struct device_place *place; /* ordered by device */
	size_t n_places;
	struct row row[MAX_DEVICES];
	size_t n;
	double from_s, to_s;
};

static int by_device(const void *a, const void *b)
{
	const struct device_place *x = a, *y = b;
	return (x->device > y->device) - (x->device < y->device);
}

static const struct device_place *place_of(const struct view *v, const struct span_row *s)
{
	const struct device_place key = { .device = s->device };
	return bsearch(&key, v->place, v->n_places, sizeof key, by_device);
}

/* Returns the row of a name, or the number of rows. */
static size_t row_named(const struct view *v, const char *name)
{
	size_t k = 0;
	while (name && k < v->n && !(v->row[k].name && !strcmp(v->row[k].name, name)))
		k++;
	return name ? k : v->n;
}

static const char *name_of(const struct run_result *r, uint32_t device)
{
	size_t i = 0;
	while (i < r->n_endpoints && r->endpoints[i].device != device)
		i++;
	return i < r->n_endpoints ? r->endpoints[i].name : NULL;
}

/* Assigns devices to rows in order of their numbers, and finds the time from the first span of these rows to the last. */
static struct view find_view(const struct run_result *r, size_t max_rows)
{
	struct view v = { .place = mem_alloc((r->n_spans + 1) * sizeof *v.place), .from_s = INFINITY, .to_s = -INFINITY };
	max_rows = max_rows < MAX_DEVICES ? max_rows : MAX_DEVICES;
	for (size_t i = 0; i < r->n_spans; i++)
		v.place[i] = (struct device_place){ .device = r->spans[i].device };
	qsort(v.place, r->n_spans, sizeof *v.place, by_device);
	for (size_t i = 0; i < r->n_spans; i++) {
		struct device_place *p = &v.place[v.n_places];
		if (v.n_places && p[-1].device == v.place[i].device)
			continue;
		*p = v.place[i];
		p->name = name_of(r, p->device);
		v.n_places++;
		p->row = row_named(&v, p->name);
		if (p->row == max_rows)
			continue;
		if (p->row == v.n)
			v.row[v.n++] = (struct row){ .device = p->device, .name = p->name };
		p->band = v.row[p->row].bands++;
	}
	for (size_t i = 0; i < r->n_spans; i++) {
		const struct span_row *s = &r->spans[i];
		if (place_of(&v, s)->row == max_rows)
			continue;
		v.from_s = fmin(v.from_s, s->start_s);
		v.to_s = fmax(v.to_s, s->end_s);
	}
	return v;
}

/* Adds the spans of one kind. Work fills the upper two thirds of a row, messages the lower third. Each device has a band of its
 * row. */
static bool put_kind(struct sbuf *b, const struct run_result *r, const struct view *v, const char *kind, double unit_s)
{
	bool has_any = false;
	for (size_t i = 0; i < r->n_spans; i++) {
		const struct span_row *s = &r->spans[i];
		const struct device_place *p = place_of(v, s);
		if (p->row >= v->n || strcmp(s->kind, kind) || !(s->end_s > s->start_s))
			continue;
		bool is_message = !strcmp(kind, "send");
		double height = (is_message ? 0.2 : 0.52) / v->row[p->row].bands;
		double top = (double)p->row + (is_message ? 1.18 : 0.62) + height * p->band;
		sbuf_printf(
			b, "%.9g %.9g %.9g %.9g\n", (s->start_s - v->from_s) / unit_s, (s->end_s - v->from_s) / unit_s, top, top + height);
		has_any = true;
	}
	if (!has_any)
		sbuf_puts(b, "NaN NaN NaN NaN\n");
	sbuf_puts(b, "\n\n");
	return has_any;
}

struct figure_rows figure_data_timeline(struct sbuf *script, const struct run_result *r, size_t max_devices)
{
	struct view v = find_view(r, max_devices);
	struct figure_rows out = { 0 };
	if (!(v.to_s > v.from_s)) {
		mem_free(v.place);
		return out;
	}
	double unit_s = v.to_s - v.from_s >= 5 ? 1 : v.to_s - v.from_s >= 5e-3 ? 1e-3 : 1e-6;
	sbuf_puts(script, "$data << EOD\n");
	for (size_t k = 0; k < FIGURE_KINDS; k++)
		if (put_kind(script, r, &v, kinds[k].name, unit_s))
			out.key[out.n++] = (struct chart_series){ .label = kinds[k].title, .colour = kinds[k].colour };
	out.unit = unit_s == 1 ? "s" : unit_s < 1e-4 ? "us" : "ms";
	sbuf_printf(script, "EOD\ntime_end = %.9g\nkinds = %d\narray hue[%d]\n", (v.to_s - v.from_s) / unit_s, FIGURE_KINDS, FIGURE_KINDS);
	for (size_t k = 0; k < FIGURE_KINDS; k++)
		sbuf_printf(script, "hue[%zu] = '%s'\n", k + 1, kinds[k].colour);
	sbuf_printf(script, "devices = %zu\narray device[%zu]\n", v.n, v.n);
	for (size_t k = 0; k < v.n; k++) {
		char number[16];
		snprintf(number, sizeof number, "%" PRIu32, v.row[k].device);
		const char *name = v.row[k].name ? v.row[k].name : number;
		sbuf_printf(script, "device[%zu] = ", k + 1);
		gnuplot_quote(script, name, FIGURE_LABEL_BYTES);
		sbuf_putc(script, '\n');
		out.name_length = strlen(name) > out.name_length ? strlen(name) : out.name_length;
	}
	out.name_length = out.name_length < FIGURE_LABEL_BYTES ? out.name_length : FIGURE_LABEL_BYTES;
	out.rows = v.n;
	mem_free(v.place);
	return out;
}
