/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Data of plots/timeline.gp: busy times of each device, and times of its messages in flight. */
#include "plots/figure_data.h"

#include "plots/gnuplot.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { MAX_DEVICES = 64 };

static const char *const kinds[] = { "forward", "backward", "recompute", "optimizer", "codec", "work", "send" };
enum { KINDS = sizeof kinds / sizeof *kinds };

struct view {
	uint32_t device[MAX_DEVICES];
	size_t n;
	double from_s, to_s;
};

static size_t row_of(const struct view *v, uint32_t device)
{
	size_t k = 0;
	while (k < v->n && v->device[k] != device)
		k++;
	return k;
}

/* Finds the devices in order of their numbers, and the time from their first span to their last. */
static struct view find_view(const struct run_result *r, size_t max_devices)
{
	struct view v = { .from_s = INFINITY, .to_s = -INFINITY };
	max_devices = max_devices < MAX_DEVICES ? max_devices : MAX_DEVICES;
	for (size_t i = 0; i < r->n_spans; i++) {
		uint32_t device = r->spans[i].device;
		if (row_of(&v, device) < v.n)
			continue;
		size_t k = v.n < max_devices ? v.n++ : max_devices;
		while (k && v.device[k - 1] > device) {
			if (k < max_devices)
				v.device[k] = v.device[k - 1];
			k--;
		}
		if (k < max_devices)
			v.device[k] = device;
	}
	for (size_t i = 0; i < r->n_spans; i++) {
		const struct span_row *s = &r->spans[i];
		if (row_of(&v, s->device) == v.n)
			continue;
		v.from_s = fmin(v.from_s, s->start_s);
		v.to_s = fmax(v.to_s, s->end_s);
	}
	return v;
}

/* Adds the spans of one kind. Work fills the upper two thirds of a device's row, messages the lower third. */
static bool put_kind(struct sbuf *b, const struct run_result *r, const struct view *v, const char *kind, double unit_s)
{
	bool has_any = false;
	for (size_t i = 0; i < r->n_spans; i++) {
		const struct span_row *s = &r->spans[i];
		size_t row = row_of(v, s->device);
		if (row == v->n || strcmp(s->kind, kind) || !(s->end_s > s->start_s))
			continue;
		bool is_message = !strcmp(kind, "send");
		sbuf_printf(b, "%.9g %.9g %.9g %.9g\n", (s->start_s - v->from_s) / unit_s, (s->end_s - v->from_s) / unit_s,
			(double)row + (is_message ? 1.18 : 0.62), (double)row + (is_message ? 1.38 : 1.14));
		has_any = true;
	}
	if (!has_any)
		sbuf_puts(b, "NaN NaN NaN NaN\n");
	sbuf_puts(b, "\n\n");
	return has_any;
}

size_t figure_data_timeline(struct sbuf *script, const struct run_result *r, size_t max_devices, size_t *titles)
{
	struct view v = find_view(r, max_devices);
	*titles = 0;
	bool has[KINDS];
	if (!(v.to_s > v.from_s))
		return 0;
	double unit_s = v.to_s - v.from_s >= 5 ? 1 : v.to_s - v.from_s >= 5e-3 ? 1e-3 : 1e-6;
	sbuf_puts(script, "$data << EOD\n");
	for (size_t k = 0; k < KINDS; k++) {
		has[k] = put_kind(script, r, &v, kinds[k], unit_s);
		*titles += has[k];
	}
	sbuf_printf(script, "EOD\ntitles = %zu\ntime_unit = '%s'\ntime_end = %.9g\nkinds = %d\narray kind[%d]\narray is_there[%d]\n",
		*titles,
		unit_s == 1     ? "s"
		: unit_s < 1e-4 ? "us"
				: "ms",
		(v.to_s - v.from_s) / unit_s, KINDS, KINDS, KINDS);
	for (size_t k = 0; k < KINDS; k++)
		sbuf_printf(script, "kind[%zu] = '%s'\nis_there[%zu] = %d\n", k + 1, strcmp(kinds[k], "send") ? kinds[k] : "messages",
			k + 1, has[k]);
	sbuf_printf(script, "devices = %zu\narray device[%zu]\n", v.n, v.n);
	for (size_t k = 0; k < v.n; k++)
		sbuf_printf(script, "device[%zu] = '%" PRIu32 "'\n", k + 1, v.device[k]);
	sbuf_puts(script, "n = 1\narray label[1]\nlabel[1] = ");
	gnuplot_quote(script, r->label ? r->label : "", FIGURE_LABEL_BYTES);
	sbuf_putc(script, '\n');
	return v.n;
}
