/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "plots/chart.h"

#include "base/mem.h"
#include "plots/gnuplot.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { LABEL_BYTES = 40, TEXT_BYTES = 80, X_ROW_BYTES = 46, MOST_TOGETHER = 7, PANEL_COLUMNS = 3, PANEL_BYTES = 17, PANEL_LINES = 3 };

/* Inches of a figure on paper. */
static const double page_in = 3.5, least_plot_in = 2.1, most_page_in = 4.2, data_share = 0.61;

static bool has_points(const struct chart *c)
{
	for (size_t i = 0; i < c->n_series; i++)
		for (size_t k = 0; k < c->series[i].n; k++)
			if (isfinite(c->series[i].point[k].y))
				return true;
	return false;
}

static void put_real(struct sbuf *b, double v)
{
	if (isfinite(v))
		sbuf_printf(b, "%.9g ", v);
	else
		sbuf_puts(b, "NaN ");
}

/* Stacks a point: low and high become the ends of a piece. */
static struct chart_point on_top_of(const struct chart_point *p, double *below)
{
	struct chart_point at = *p;
	at.low = *below;
	*below += p->y > 0 ? p->y : 0;
	at.high = *below;
	return at;
}

/* Replaces the missing end of bounds, below (-1) or above (1), by a value far outside the figure, which clips it. */
static double open_end(const struct chart_series *s, const struct chart_point *p, double end, int side, bool is_log)
{
	bool is_open = s->has_bounds && isnan(end) && (isfinite(p->low) || isfinite(p->high));
	return !is_open ? end : is_log ? p->y * pow(1e6, side) : p->y + side * 1e6 * (fabs(p->y) + 1);
}

static void put_data(struct sbuf *b, const struct chart *c)
{
	double *below = mem_zalloc(c->n_categories + 1, sizeof *below);
	sbuf_puts(b, "$data << EOD\n");
	for (size_t i = 0; i < c->n_series; i++) {
		const struct chart_series *s = &c->series[i];
		for (size_t k = 0; k < s->n; k++) {
			bool is_stacked = c->kind == CHART_STACKED && k < c->n_categories;
			struct chart_point p = is_stacked ? on_top_of(&s->point[k], &below[k]) : s->point[k];
			put_real(b, c->category ? (double)k + 1 : p.x);
			put_real(b, p.y);
			put_real(b, open_end(s, &p, p.low, -1, c->log_y));
			put_real(b, open_end(s, &p, p.high, 1, c->log_y));
			if (s->has_bounds)
				sbuf_printf(b, "%d", chart_misses(c, i, k));
			sbuf_putc(b, '\n');
		}
		if (!s->n)
			sbuf_puts(b, "NaN NaN NaN NaN\n");
		sbuf_puts(b, "\n\n"); /* ends gnuplot's block */
	}
	sbuf_puts(b, "EOD\n");
	mem_free(below);
}

/* Adds an axis label; splits a label that is longer than the plot at the blank nearest to its middle. */
static void put_text(struct sbuf *b, const char *name, const char *text, size_t most)
{
	size_t n = strlen(text), at = 0;
	for (size_t i = 1; n > most && i < n; i++)
		if (text[i] == ' ' && (!at || (i > n / 2 ? i - n / 2 : n / 2 - i) < (at > n / 2 ? at - n / 2 : n / 2 - at)))
			at = i;
	sbuf_printf(b, "%s = ", name);
	if (at) {
		struct sbuf first = { 0 };
		sbuf_add(&first, text, at);
		gnuplot_quote(b, sbuf_text(&first), TEXT_BYTES);
		sbuf_puts(b, ".\"\\n\".");
		sbuf_free(&first);
		at++;
	}
	gnuplot_quote(b, text + at, TEXT_BYTES);
	sbuf_putc(b, '\n');
}

/* Returns an estimate of the width of a text in Sans of 8 pt, in points. */
static double text_width(const char *s)
{
	static const char narrow[] = "iIjlt|.,:;'!()[] frJ-/", wide[] = "mMwW%@";
	double em = 0;
	for (; *s; s++)
		if (((unsigned char)*s & 0xc0) != 0x80)
			em += strchr(narrow, *s) ? 0.38 : strchr(wide, *s) ? 0.97 : *s >= 'A' && *s <= 'Z' ? 0.70 : 0.625;
	return 8 * em;
}

/* As in plots/style.gp. Accounts of the spot world have the same colour in all figures. */
static const char *colour_of(const struct chart *c, size_t i, size_t shade)
{
	static const char *const colours[] = { "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#000000", "#E69F00", "#56B4E9" };
	static const char *const others[] = { "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#D55E00", "#999999", "#000000", "#0072B2" };
	static const struct {
		const char *name, *colour;
	} accounts[] = { { "useful", "#0072B2" }, { "redundant", "#56B4E9" }, { "wasted", "#D55E00" }, { "checkpoint", "#F0E442" },
		{ "restart", "#E69F00" }, { "reconfigure", "#CC79A7" }, { "starting", "#999999" }, { "idle", "#DDDDDD" },
		{ "rounding", "#666666" }, { "egress", "#000000" } };
	if (c->kind != CHART_STACKED)
		return colours[shade % (sizeof colours / sizeof *colours)];
	for (size_t k = 0; k < sizeof accounts / sizeof *accounts; k++)
		if (!strcmp(accounts[k].name, c->series[i].label))
			return accounts[k].colour;
	return others[i % (sizeof others / sizeof *others)];
}

/* Kinds of the sample before a label of the legend; plots/style.gp draws it. */
enum sample { NO_SAMPLE, LINE, MARKED_LINE, BAR, HOLLOW, FILLED, BOUNDS, MISSED };

static const char *const bounds_name[] = { CHART_BOUNDS_NAME, CHART_MISSED_NAME };

static enum sample sample_of(const struct chart *c, size_t i)
{
	const struct chart_series *s = &c->series[i];
	if (!*s->label)
		return NO_SAMPLE;
	if (s->marks_alone)
		return HOLLOW;
	switch (c->kind) {
	case CHART_LINES:
		return MARKED_LINE;
	case CHART_BARS:
		return c->log_y ? FILLED : BAR;
	case CHART_STACKED:
		return BAR;
	default:
		return LINE;
	}
}

/* Writes shade, shape and colour of each series. Marks of published values with an empty label have the shape of the series before them;
 * each line or bar series has its own. */
static void put_styles(struct sbuf *b, const struct chart *c)
{
	size_t *shade = mem_zalloc(c->n_series + 1, sizeof *shade), slots = chart_shades(c, shade), shape = 0;
	sbuf_printf(b, "slots = %zu\narray shade[%zu]\narray shape[%zu]\narray paint[%zu]\n", slots, c->n_series, c->n_series, c->n_series);
	for (size_t i = 0; i < c->n_series; i++) {
		const struct chart_series *s = &c->series[i];
		shape += s->marks_alone && (*s->label || !shape);
		sbuf_printf(b, "shade[%zu] = %zu\nshape[%zu] = %zu\npaint[%zu] = '%s'\n", i + 1, shade[i] + 1, i + 1,
			s->marks_alone && c->kind == CHART_BARS ? shape : shade[i] + 1, i + 1, colour_of(c, i, shade[i]));
	}
	mem_free(shade);
}

/* Places the legend in rows from left to right; returns the number of rows. After the series come the bounds, if there are any. */
static size_t put_legend(struct sbuf *b, const struct chart *c, double page_pt)
{
	static const double sample_pt = 26, gap_pt = 9, margin_pt = 5;
	double x = margin_pt;
	size_t row = 0, n = c->n_series + 2;
	bool has_any = false, is_shown[2];
	chart_bounds_shown(c, &is_shown[0], &is_shown[1]);
	sbuf_printf(b, "array key_x[%zu]\narray key_y[%zu]\narray key_sample[%zu]\nkey_n = %zu\n", n, n, n, n);
	for (size_t i = 0; i < n; i++) {
		size_t extra = i - c->n_series;
		enum sample sample = i < c->n_series ? sample_of(c, i) : is_shown[extra] ? BOUNDS + (enum sample)extra : NO_SAMPLE;
		double width = sample_pt + text_width(i < c->n_series ? c->series[i].label : bounds_name[extra]);
		if (sample != NO_SAMPLE && x > margin_pt && x + width > page_pt) {
			x = margin_pt;
			row++;
		}
		sbuf_printf(
			b, "key_x[%zu] = %.5f\nkey_y[%zu] = %zu\nkey_sample[%zu] = %d\n", i + 1, x / page_pt, i + 1, row, i + 1, sample);
		if (sample == NO_SAMPLE)
			continue;
		x += width + gap_pt;
		has_any = true;
	}
	return has_any ? row + 1 : 0;
}

/* Adds the text of a tic, which gnuplot treats as a format: "%%" is a per cent sign. */
static void put_tic_text(struct sbuf *b, const char *text)
{
	struct sbuf quoted = { 0 };
	gnuplot_quote(&quoted, text, LABEL_BYTES);
	for (const char *s = sbuf_text(&quoted); *s; s++)
		sbuf_puts(b, *s == '%' ? "%%" : (const char[]){ *s, '\0' });
	sbuf_free(&quoted);
}

/* Adds a tic whose text is split at a blank if at is not 0. */
static void put_tic(struct sbuf *b, size_t i, const char *text, size_t at)
{
	sbuf_printf(b, "category[%zu] = ", i + 1);
	if (at) {
		struct sbuf first = { 0 };
		sbuf_add(&first, text, at);
		put_tic_text(b, sbuf_text(&first));
		sbuf_puts(b, ".\"\\n\".");
		sbuf_free(&first);
		at++;
	}
	put_tic_text(b, text + at);
	sbuf_putc(b, '\n');
}

/* Returns the number of series that are lines, if there are so many that each gets a panel. */
static size_t count_panels(const struct chart *c)
{
	size_t n = 0;
	for (size_t i = 0; i < c->n_series; i++)
		n += !c->series[i].marks_alone;
	return n > MOST_TOGETHER && c->kind != CHART_STACKED ? n : 0;
}

static const double names_pt = 210; /* width of the data */

/* Returns the blank at which a name is split into two lines so that the longer one is shortest; 0: it has none. */
static size_t split_of(const char *name, double *longer)
{
	size_t at = 0;
	*longer = text_width(name);
	for (size_t i = 1; *name && name[i]; i++) {
		if (name[i] != ' ' || !name[i + 1])
			continue;
		struct sbuf first = { 0 };
		sbuf_add(&first, name, i);
		double w = fmax(text_width(sbuf_text(&first)), text_width(name + i + 1));
		sbuf_free(&first);
		if (w < *longer) {
			*longer = w;
			at = i;
		}
	}
	return at;
}

/* How the names of the positions stand: in one line, in two, or turned. */
static enum names { IN_ONE_LINE = 1, IN_TWO_LINES, TURNED } names_stand(const struct chart *c)
{
	double longest[2] = { 0 }, wide = names_pt / (double)(c->n_categories ? c->n_categories : 1) - 5, split;
	for (size_t i = 0; c->category && i < c->n_categories; i++) {
		split_of(c->category[i], &split);
		longest[0] = fmax(longest[0], text_width(c->category[i]));
		longest[1] = fmax(longest[1], split);
	}
	return longest[0] <= wide ? IN_ONE_LINE : longest[1] <= wide ? IN_TWO_LINES : TURNED;
}

static bool have_room(const struct chart *c)
{
	return names_stand(c) != TURNED;
}

/* Returns the angle of names that have no room in one row: upright if lines of text at 30 degrees would overlap. */
static double names_angle(const struct chart *c)
{
	return names_pt / (double)c->n_categories < 17 ? 90 : 30;
}

/* Ranges of the values that are drawn. */
struct ranges {
	double x[2], y[2];
};

static void widen(double range[2], double v)
{
	range[0] = isfinite(v) ? fmin(range[0], v) : range[0];
	range[1] = isfinite(v) ? fmax(range[1], v) : range[1];
}

static struct ranges ranges_of(const struct chart *c)
{
	struct ranges r = { { INFINITY, -INFINITY }, { INFINITY, -INFINITY } };
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
	if (isfinite(c->y_min) || !c->log_y)
		r.y[0] = isfinite(c->y_min) ? c->y_min : 0;
	if (isfinite(c->y_max))
		r.y[1] = c->y_max;
	return r;
}

/* Sets which series have bounds, and the width of their shade: half of it on the axis of x, or a factor if that is logarithmic; for bars,
 * one slot or the whole category. */
static void put_bounds(struct sbuf *b, const struct chart *c)
{
	struct ranges r = ranges_of(c);
	double half = c->category ? 0.2 : c->log_x ? pow(fmax(r.x[1] / r.x[0], 1), 0.02) : 0.02 * (r.x[1] - r.x[0]);
	sbuf_printf(b, "bounds_name = '%s'\nmissed_name = '%s'\narray bounds[%zu]\n", CHART_BOUNDS_NAME, CHART_MISSED_NAME, c->n_series);
	for (size_t i = 0; i < c->n_series; i++)
		sbuf_printf(b, "bounds[%zu] = %d\n", i + 1, c->series[i].has_bounds);
	sbuf_printf(b, "compares_all = %d\nbounds_half = %.9g\n", chart_compares_all(c), isfinite(half) && half > 0 ? half : 0.1);
}

static void put_variables(struct sbuf *b, const struct chart *c)
{
	sbuf_printf(b, "n = %zu\narray label[%zu]\narray marks[%zu]\n", c->n_series, c->n_series, c->n_series);
	for (size_t i = 0; i < c->n_series; i++) {
		const char *label = c->series[i].label;
		sbuf_printf(b, "label[%zu] = ", i + 1);
		gnuplot_quote(b, label, LABEL_BYTES);
		sbuf_printf(b, "\nmarks[%zu] = %d\n", i + 1, c->series[i].marks_alone);
	}
	put_bounds(b, c);
	put_styles(b, c);
	put_text(b, "x_label", c->x_label, X_ROW_BYTES);
	sbuf_printf(b, "log_x = %d\nlog_y = %d\n", c->log_x, c->log_y);
	sbuf_printf(b, "categories = %zu\n", c->category ? c->n_categories : 0);
	if (c->category && c->n_categories) {
		sbuf_printf(b, "array category[%zu]\n", c->n_categories);
		bool is_split = names_stand(c) == IN_TWO_LINES && !count_panels(c);
		double longer;
		for (size_t i = 0; i < c->n_categories; i++)
			put_tic(b, i, c->category[i], is_split ? split_of(c->category[i], &longer) : 0);
	}
	sbuf_printf(b, "tics_turned = %d\nx_drop = %d\n", !have_room(c), names_stand(c) == IN_TWO_LINES);
	sbuf_puts(b, "y_min = '*'\ny_max = '*'\n");
	if (isfinite(c->y_min) || !c->log_y)
		sbuf_printf(b, "y_min = '%.9g'\n", isfinite(c->y_min) ? c->y_min : 0);
	if (isfinite(c->y_max))
		sbuf_printf(b, "y_max = '%.9g'\n", c->y_max);
	sbuf_printf(b, "is_bars = %d\n", c->kind == CHART_BARS);
}

/* Returns 1, 2 or 5 times a power of ten so that the span has at most n steps. */
static double tic_step(double span, double n)
{
	double raw = span / n, power = pow(10, floor(log10(raw)));
	return power * (raw <= power * 1.0000001 ? 1 : raw <= 2 * power ? 2 : raw <= 5 * power ? 5 : 10);
}

static size_t digits_of(double v)
{
	char text[40];
	return (size_t)snprintf(text, sizeof text, "%g", v);
}

/* Returns the most characters of a number at the axis of y. */
static size_t widest_tic(const struct chart *c)
{
	struct ranges r = ranges_of(c);
	size_t most = 1;
	if (c->kind == CHART_CDF)
		return 3;
	if (c->kind == CHART_STACKED && !isfinite(c->y_max)) { /* at most the sum of the pieces */
		r.y[1] *= (double)c->n_series;
	}
	if (!(r.y[1] > r.y[0]))
		return 4;
	if (c->log_y) {
		for (double e = floor(log10(r.y[0])); e <= ceil(log10(r.y[1])); e++)
			most = digits_of(pow(10, e)) > most ? digits_of(pow(10, e)) : most;
		return most;
	}
	double step = tic_step(r.y[1] - r.y[0], 10);
	for (double i = floor(r.y[0] / step); i <= ceil(r.y[1] / step); i++)
		most = digits_of(i * step) > most ? digits_of(i * step) : most;
	return most;
}

/* Space beside the data in inches at 8 pt. */
struct space {
	double left, right, below;
};

static size_t rows_of(const char *text, size_t most)
{
	return !*text ? 0 : strlen(text) > most && strchr(text, ' ') ? 2 : 1;
}

/* Returns the space beside data with a label of y in lines of at most y_most bytes. */
static struct space space_of(const struct chart *c, size_t y_most)
{
	double names = 0, radian = names_angle(c) / 57.29578;
	for (size_t i = 0; i < c->n_categories && !have_room(c); i++)
		names = fmax(names, sin(radian) * text_width(c->category[i]) / 72);
	/* Half of the last number at the axis of x lies beyond the data. */
	double last = c->log_x ? pow(10, ceil(log10(fmax(ranges_of(c).x[1], 1e-300)))) : ranges_of(c).x[1];
	double right = c->category ? 0.1 : fmax(0.1, 0.04 + 0.036 * (double)digits_of(isfinite(last) ? last : 0));
	double left = 0.13 + 0.14 * (double)rows_of(c->y_label, y_most) + 0.072 * (double)widest_tic(c);
	for (size_t i = 0; i < c->n_categories && !have_room(c); i++) {
		/* A turned name ends below its position, at this share of the width of the data, and begins within the page. */
		double share = ((double)i + 0.6) / ((double)c->n_categories + 0.2),
		       name = cos(radian) * text_width(c->category[i]) / 72 + 0.03;
		left = fmax(left, (name - share * (page_in - right)) / (1 - share));
	}
	return (struct space){ left, right,
		(c->category ? 0.30 : 0.35) + 0.14 * (double)rows_of(c->x_label, X_ROW_BYTES) + names +
			(names_stand(c) == IN_TWO_LINES ? 0.13 : 0) };
}

/* Sets a variable to the numbers 2 and 5 times a power of ten on a logarithmic axis that spans one decade. */
static void put_between(struct sbuf *b, const char *name, bool is_log, const double range[2])
{
	double from = floor(log10(range[0])), decades = ceil(log10(range[1])) - from;
	sbuf_printf(b, "%s = '", name);
	if (is_log && decades > 0 && decades <= 1)
		sbuf_printf(b, "%g %g", 2 * pow(10, from), 5 * pow(10, from));
	sbuf_puts(b, "'\n");
}

/* Returns whether the numbers of a logarithmic axis are so large that a prefix (k, M) is shorter. */
static bool is_large(bool is_log, const double range[2])
{
	return is_log && range[0] >= 1 && ceil(log10(range[1])) >= 6;
}

static bool has_whole_x(const struct chart *c)
{
	for (size_t i = 0; i < c->n_series; i++)
		for (size_t k = 0; k < c->series[i].n; k++)
			if (c->series[i].point[k].x != floor(c->series[i].point[k].x))
				return false;
	return true;
}

/* Sets how the axes are numbered: distance of long numbers on x, so that they do not run together (0: chosen by gnuplot), and numbers of
 * logarithmic axes. */
static void put_numbers(struct sbuf *b, const struct chart *c, const struct space *s)
{
	struct ranges r = ranges_of(c);
	size_t digits = digits_of(r.x[1] >= 1000 ? round(r.x[1] / 1000) * 1000 : 0);
	double room = 72 * (page_in - s->left - s->right) / (5 * (double)digits + 12);
	bool is_linear = !c->category && !c->log_x && r.x[1] > r.x[0];
	sbuf_printf(b, "tics_angle = %g\n", names_angle(c));
	bool is_short = is_linear && c->kind == CHART_LINES && has_whole_x(c) && r.x[1] - r.x[0] <= 10; /* no tics between whole numbers */
	sbuf_printf(b, "x_apart = %.9g\n", is_short ? 1 : is_linear && digits > 3 ? tic_step(r.x[1] - r.x[0], floor(room)) : 0);
	sbuf_printf(b, "x_large = %d\ny_large = %d\n", is_large(c->log_x && !c->category, r.x), is_large(c->log_y, r.y));
	bool is_single = !c->category && r.x[1] == r.x[0]; /* gnuplot would widen the axis by parts of a per cent, with long numbers */
	sbuf_printf(b, "x_single = %d\nx_only = %.9g\n", is_single, is_single ? r.x[0] : 0);
	bool has_span = !c->category && r.x[1] > r.x[0] && (!c->log_x || r.x[0] > 0);
	double low = c->log_x ? pow(10, floor(log10(r.x[0]))) : r.x[0] - 0.03 * (r.x[1] - r.x[0]),
	       high = c->log_x ? r.x[1] * pow(r.x[1] / low, 0.03) : r.x[1] + 0.03 * (r.x[1] - r.x[0]);
	sbuf_printf(b, "x_low = %.9g\nx_high = %.9g\n", has_span ? low : 0, has_span ? high : 0);
	put_between(b, "x_between", c->log_x && !c->category, r.x);
	put_between(b, "y_between", c->log_y, r.y);
}

/* Returns the height of the plot at which the data have data_share of the figure, as far as the limits permit. */
static double plot_height(const struct space *s, size_t legend_rows)
{
	double share = (page_in - s->left - s->right) / page_in, legend = 0.12 + 0.15 * (double)legend_rows;
	/* (height - below) share = data_share (height + legend) */
	double height = (data_share * legend + share * s->below) / (share - data_share);
	return fmin(fmax(height, least_plot_in), most_page_in - legend);
}

/* Sets the step of the tics of x; -1: tics at both ends, because the range has fewer than two steps. */
static void put_panel_step(struct sbuf *b, const double range[2])
{
	double step = tic_step(range[1] - range[0], 3), n = floor(range[1] / step + 1e-9) - ceil(range[0] / step - 1e-9) + 1;
	sbuf_printf(b, "x_step = %.9g\nx_from = %.9g\nx_to = %.9g\n", n < 2 ? -1 : step, range[0], range[1]);
}

/* Sets the tics of panels, which have room for few: of x if it is a number, and of y. */
static void put_tics(struct sbuf *b, const struct chart *c)
{
	struct ranges r = ranges_of(c);
	sbuf_puts(b, "x_step = 0\ny_step = 0\n");
	if (c->kind == CHART_BARS && !isfinite(c->y_max) && !c->log_y) /* a panel has the bars of one series alone */
		sbuf_printf(b, "y_max = '%.9g'\n", 1.05 * r.y[1]);
	if (!c->category && !c->log_x && r.x[1] > r.x[0])
		put_panel_step(b, r.x);
	if (!c->log_y && r.y[1] > r.y[0])
		sbuf_printf(b, "y_step = %.9g\n", tic_step(r.y[1] - r.y[0], 4));
}

/* Sets a variable to a text in lines of at most PANEL_BYTES, where blanks permit, and of PANEL_LINES; returns the number of lines. */
static size_t put_wrapped(struct sbuf *b, const char *name, const char *text)
{
	size_t lines = 1;
	sbuf_printf(b, "%s = ", name);
	for (size_t n = strlen(text); n > PANEL_BYTES && lines < PANEL_LINES; n = strlen(text)) {
		size_t at = 0;
		for (size_t i = 1; i < n && (!at || i <= PANEL_BYTES); i++)
			at = text[i] == ' ' || text[i - 1] == '-' ? i : at;
		if (!at)
			break;
		struct sbuf line = { 0 };
		sbuf_add(&line, text, at);
		gnuplot_quote(b, sbuf_text(&line), LABEL_BYTES);
		sbuf_puts(b, ".\"\\n\".");
		sbuf_free(&line);
		text += at + (text[at] == ' ');
		lines++;
	}
	gnuplot_quote(b, text, PANEL_BYTES + 3);
	sbuf_putc(b, '\n');
	return lines;
}

/* Returns the height that the figure must have, in inches at 8 pt; 0: it is as high as it needs. */
static double fixed_height(const struct look *l)
{
	double height = l->height_in > 0 ? l->height_in : l->is_slide ? 4.5 : 0;
	return height * 8 / look_font_pt(l);
}

/* Adds the variables of plots/panels.gp; returns the layout. */
static struct layout put_panels(struct album *a, const struct chart *c, size_t panels)
{
	static const double panel_in = 0.95, least_panel_in = 0.45;
	struct sbuf *b = &a->script;
	size_t lines = 1, columns = PANEL_COLUMNS;
	double names = 0, fixed = fixed_height(&a->look);
	sbuf_printf(b, "panels = %zu\narray panel_label[%zu]\nis_steps = %d\nis_cdf = %d\n", panels, c->n_series,
		c->kind == CHART_CDF || c->kind == CHART_TIMELINE, c->kind == CHART_CDF);
	put_text(b, "y_label", c->y_label, TEXT_BYTES);
	put_tics(b, c);
	for (size_t i = 0; i < c->n_series; i++) {
		char name[40];
		snprintf(name, sizeof name, "panel_label[%zu]", i + 1);
		size_t n = put_wrapped(b, name, c->series[i].label);
		lines = n > lines ? n : lines;
		sbuf_printf(b, "key_sample[%zu] = %d\n", i + 1, NO_SAMPLE);
	}
	for (size_t i = 0; c->category && i < c->n_categories; i++)
		names = fmax(names, 0.55 * text_width(c->category[i]) / 72);
	sbuf_printf(b, "panel_left = %.4f\n", 0.13 + 0.14 + 0.072 * (double)widest_tic(c));
	double title = 0.13 * (double)lines + 0.07, below = 0.38 + names, height;
	for (;; columns++) {
		double rows = ceil((double)panels / (double)columns);
		double least = rows * (least_panel_in + title) + below;
		height = fixed > 0 ? fixed : rows * (panel_in + title) + below;
		if (height >= least)
			break;
		if (columns == 2 * PANEL_COLUMNS) { /* many panels need a higher figure than was asked for */
			height = least;
			break;
		}
	}
	sbuf_printf(b, "panel_columns = %zu\npanel_title = %.6f\npanel_below = %.6f\n", columns, title / height, below / height);
	return (struct layout){ height - 0.12, 0, true };
}

/* Returns the length up to which a label of y has one line: as high as the data. height: that of the figure; 0: as high as it needs. */
static size_t most_of_y(const struct chart *c, double height, size_t legend_rows)
{
	struct space s = space_of(c, TEXT_BYTES);
	double data = height > 0 ? height - 0.12 - 0.15 * (double)legend_rows - s.below : plot_height(&s, legend_rows) - s.below;
	return data > 0.6 && *c->y_label ? (size_t)(data * 72 * (double)strlen(c->y_label) / text_width(c->y_label)) : 8;
}

/* Adds the legend and the margins; returns the space beside the data and the number of rows of the legend. */
static struct space put_margins(struct album *a, const struct chart *c, size_t *rows)
{
	struct sbuf *b = &a->script;
	*rows = put_legend(b, c, 72 * look_width_in(&a->look) * 8 / look_font_pt(&a->look));
	size_t most = most_of_y(c, fixed_height(&a->look), *rows);
	struct space space = space_of(c, most);
	put_text(b, "y_label", c->y_label, most);
	sbuf_printf(b, "mark_scale = %g\n", look_font_pt(&a->look) / 8);
	sbuf_printf(b, "chart_left = %.4f\nchart_right = %.4f\nchart_below = %.4f\n", space.left, space.right, space.below);
	return space;
}

struct layout chart_place_legend(struct album *a, const struct chart *c)
{
	size_t rows;
	put_bounds(&a->script, c);
	put_styles(&a->script, c);
	sbuf_puts(&a->script, "is_bars = 0\n");
	struct space space = put_margins(a, c, &rows);
	return (struct layout){ plot_height(&space, rows), rows, true };
}

int chart_add(struct album *a, const struct chart *c, struct orr_error *err)
{
	static const char *const template[] = {
		[CHART_LINES] = "lines", [CHART_BARS] = "bars", [CHART_CDF] = "cdf", [CHART_STACKED] = "stacked", [CHART_TIMELINE] = "steps"
	};
	if (!has_points(c))
		return ORR_OK;
	put_data(&a->script, c);
	put_variables(&a->script, c);
	size_t panels = count_panels(c), rows;
	struct space space = put_margins(a, c, &rows);
	put_numbers(&a->script, c, &space);
	if (panels)
		return album_add(a, c->file, "panels", put_panels(a, c, panels), err);
	return album_add(
		a, c->file, template [c->kind], (struct layout) { plot_height(&space, rows), rows, true }, err);
}
