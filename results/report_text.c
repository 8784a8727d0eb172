/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "results/report_text.h"

#include "base/mem.h"

#include <math.h>
#include <string.h>

static const struct unit {
	const char *name;
	double seconds, up_to; /* length of the unit, and upper bound of the times shown in it, s */
} units[] = { { "s", 1, 120 }, { "min", 60, 7200 }, { "h", 3600, 172800 }, { "d", 86400, INFINITY } };

/* Units of parts of an iteration. */
static const struct unit short_units[] = { { "us", 1e-6, 1e-3 }, { "ms", 1e-3, 1 }, { "s", 1, INFINITY } };

static const struct unit *short_unit_for(double seconds)
{
	const struct unit *u = short_units;
	while (fabs(seconds) >= u->up_to && isfinite(seconds))
		u++;
	return seconds == 0 ? &short_units[1] : u;
}

static const struct unit *unit_for(double seconds)
{
	const struct unit *u = units;
	while (fabs(seconds) >= u->up_to && isfinite(seconds))
		u++;
	return u;
}

/* Returns the number of decimals for three significant digits; 0 for whole numbers. */
static int decimals_of(double v)
{
	double size = fabs(v);
	if (size >= 99.95 || v == floor(v) || size < 0.0005)
		return 0;
	return size >= 9.995 ? 1 : size >= 0.9995 ? 2 : 3;
}

void report_put_number(struct sbuf *b, double v)
{
	sbuf_printf(b, "%.*f", decimals_of(v), v);
}

/* Appends " [low, high]", unless both ends print like the value. */
static void put_ends(struct sbuf *b, const struct metric *m, double scale)
{
	struct sbuf value = { 0 }, low = { 0 }, high = { 0 };
	report_put_number(&value, m->value / scale);
	report_put_number(&low, m->ci_low / scale);
	report_put_number(&high, m->ci_high / scale);
	if (strcmp(sbuf_text(&low), sbuf_text(&value)) != 0 || strcmp(sbuf_text(&high), sbuf_text(&value)) != 0)
		sbuf_printf(b, " [%s, %s]", sbuf_text(&low), sbuf_text(&high));
	sbuf_free(&value);
	sbuf_free(&low);
	sbuf_free(&high);
}

/* Appends " ± half" for an interval centred on the value, " [low, high]" for another, nothing for zero width. */
static void put_interval(struct sbuf *b, const struct metric *m, double scale)
{
	double below = (m->value - m->ci_low) / scale, above = (m->ci_high - m->value) / scale;
	if (isnan(below) || isnan(above) || below + above <= 1e-9 * fabs(m->value / scale))
		return;
	if (fabs(above - below) > 0.02 * (above + below)) {
		put_ends(b, m, scale);
		return;
	}
	/* The half-width has as many decimals as the value, or more if it would otherwise print as zero. */
	int decimals = decimals_of(m->value / scale);
	while (decimals < 3 && above * pow(10, decimals) <= 0.5)
		decimals++;
	if (above * pow(10, decimals) > 0.5)
		sbuf_printf(b, " ± %.*f", decimals, above);
}

struct report_scale report_scale_for(enum report_kind kind, double value)
{
	const struct unit *u = kind == REPORT_SHORT_TIME ? short_unit_for(value) : unit_for(value);
	switch (kind) {
	case REPORT_TIME:
	case REPORT_SHORT_TIME:
		return (struct report_scale){ u->name, u->seconds };
	case REPORT_FRACTION:
		return (struct report_scale){ "%", 0.01 };
	case REPORT_GIBIBYTES:
		return (struct report_scale){ "GiB", 0x1p30 };
	case REPORT_BYTES:
		return value >= 0x1p30   ? (struct report_scale){ "GiB", 0x1p30 }
		       : value >= 0x1p20 ? (struct report_scale){ "MiB", 0x1p20 }
					 : (struct report_scale){ "KiB", 0x1p10 };
	default:
		return (struct report_scale){ "", 1 };
	}
}

/* Returns the next smaller unit of the same kind, or u itself if it is the smallest. */
static struct report_scale smaller_scale(enum report_kind kind, struct report_scale by)
{
	const struct unit *list = kind == REPORT_TIME ? units : short_units;
	if (kind == REPORT_BYTES && by.divisor > 0x1p10)
		return report_scale_for(kind, by.divisor / 0x1p10);
	for (size_t i = 1; (kind == REPORT_TIME || kind == REPORT_SHORT_TIME) && list[i - 1].up_to < INFINITY; i++)
		if (!strcmp(list[i].name, by.unit))
			return (struct report_scale){ list[i - 1].name, list[i - 1].seconds };
	return by;
}

const struct report_range report_no_range = { INFINITY, 0 };

void report_range_add(struct report_range *r, double value)
{
	double v = fabs(value);
	if (!isfinite(v))
		return;
	r->largest = v > r->largest ? v : r->largest;
	r->least = v > 0 && v < r->least ? v : r->least;
}

struct report_scale report_scale_within(enum report_kind kind, struct report_range r)
{
	struct report_scale by = report_scale_for(kind, r.largest);
	for (struct report_scale next; r.least < 0.1 * by.divisor; by = next) {
		next = smaller_scale(kind, by);
		if (next.divisor >= by.divisor)
			break;
	}
	return by;
}

struct report_scale report_scale_of(enum report_kind kind, const struct metric *const *m, size_t n)
{
	struct report_range r = report_no_range;
	for (size_t i = 0; i < n; i++)
		report_range_add(&r, m[i] ? m[i]->value : NAN);
	return report_scale_within(kind, r);
}

void report_put_metric(struct sbuf *b, const struct metric *m, enum report_kind kind, struct report_scale by, bool has_unit)
{
	if (!m || !isfinite(m->value)) {
		sbuf_putc(b, '-');
		return;
	}
	if (kind == REPORT_PRECISE) {
		sbuf_printf(b, "%.3g", m->value);
		return;
	}
	report_put_number(b, m->value / by.divisor);
	put_interval(b, m, by.divisor);
	if (has_unit && *by.unit)
		sbuf_printf(b, " %s", by.unit);
}

void report_put_plain(struct sbuf *b, const char *s)
{
	for (; *s; s++)
		sbuf_putc(b, (unsigned char)*s < 0x20 || *s == 0x7f ? '?' : *s);
}

size_t report_text_width(const char *s)
{
	size_t w = 0;
	for (; *s; s++)
		w += ((unsigned char)*s & 0xc0) != 0x80;
	return w;
}

void report_pad(struct sbuf *b, const char *text, size_t width, bool to_the_right)
{
	size_t have = report_text_width(text), gap = have < width ? width - have : 0;
	if (!to_the_right)
		sbuf_puts(b, text);
	while (gap--)
		sbuf_putc(b, ' ');
	if (to_the_right)
		sbuf_puts(b, text);
}

char *report_name_of(const struct run_result *r)
{
	struct sbuf b = { 0 };
	report_put_plain(&b, r->label ? r->label : "");
	if (r->is_oracle)
		sbuf_puts(&b, " (oracle)");
	return sbuf_steal(&b);
}

void report_put_title(struct sbuf *out, const char *title, const struct run_result *first)
{
	char *name = report_name_of(first);
	const char *at = strstr(title, "%s");
	sbuf_putc(out, '\n');
	sbuf_add(out, title, (size_t)(at - title));
	sbuf_puts(out, name);
	sbuf_puts(out, at + 2);
	mem_free(name);
}

void report_put_difference(struct sbuf *out, const struct interval *d, enum report_kind kind, double base)
{
	struct report_scale by = report_scale_for(kind, d->mean);
	sbuf_puts(out, d->mean > 0 ? "  +" : "  ");
	report_put_number(out, d->mean / by.divisor);
	if (*by.unit)
		sbuf_printf(out, " %s", by.unit);
	if (isfinite(d->low) && isfinite(d->high)) {
		sbuf_puts(out, " [");
		report_put_number(out, d->low / by.divisor);
		sbuf_puts(out, ", ");
		report_put_number(out, d->high / by.divisor);
		sbuf_putc(out, ']');
	}
	if (base > 0)
		sbuf_printf(out, "  %+.1f %%", 100 * d->mean / base);
}
