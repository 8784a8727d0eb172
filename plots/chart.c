/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "plots/chart_parts.h"

#include "base/mem.h"
#include "plots/gnuplot.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { X_ROW_BYTES = 46, MOST_MARKS = 24 };

/* Inches of a figure on paper. */
static const double least_plot_in = 2.1, most_page_in = 5.8, most_rows_in = 2.6;
static const double y_character_in = 0.058; /* as in style.gp */

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
	if (c->series[i].colour)
		return c->series[i].colour;
	if (c->kind != CHART_STACKED)
		return colours[shade % (sizeof colours / sizeof *colours)];
	for (size_t k = 0; k < sizeof accounts / sizeof *accounts; k++)
		if (!strcmp(accounts[k].name, c->series[i].label))
			return accounts[k].colour;
	return others[i % (sizeof others / sizeof *others)];
}

/* Kinds of the sample before a label of the legend; plots/style.gp draws it. */
enum sample { NO_SAMPLE, LINE, MARKED_LINE, BAR, HOLLOW, FILLED, BOUNDS, MISSED, THIN };

static const char *const bounds_name[] = { CHART_BOUNDS_NAME, CHART_MISSED_NAME };

/* Returns whether the panels have a series of marks for each line, which one entry of the legend then names. */
static bool has_common_marks(const struct chart *c)
{
	return chart_count_panels(c) && c->n_series && !chart_has_panel(c, c->n_series - 1) && !chart_compares_all(c);
}

/* Adds the label of a series in the legend. Marks that share an entry get the common beginning of their labels. */
static void put_label(struct sbuf *b, const struct chart *c, size_t i)
{
	const char *label = c->series[i].label;
	size_t n = strlen(label);
	for (size_t k = 0; k < c->n_series && c->series[i].marks_alone && has_common_marks(c); k++)
		for (size_t at = 0; c->series[k].marks_alone && at < n; at++)
			n = c->series[k].label[at] == label[at] ? n : at;
	if (n < strlen(label)) { /* whole words, or the words before a comma */
		size_t comma = strcspn(label, ",:(");
		n = comma && comma < n ? comma : n;
		while (n && strchr(" -", label[n - 1]))
			n--;
	}
	sbuf_add(b, label, n ? n : strlen(label));
}

static enum sample sample_of(const struct chart *c, size_t i)
{
	const struct chart_series *s = &c->series[i];
	if (!*s->label || (chart_count_panels(c) && chart_has_panel(c, i)))
		return NO_SAMPLE;
	for (size_t k = 0; k < i && has_common_marks(c); k++)
		if (sample_of(c, k) == HOLLOW)
			return NO_SAMPLE;
	if (s->marks_alone)
		return HOLLOW;
	if (s->is_thin)
		return THIN;
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

/* Writes shade, shape and colour of each series, and the distance of the marks on its line, because many marks would overlap. Marks of
 * published values with an empty label have the shape of the series before them; each line or bar series has its own. */
static void put_styles(struct sbuf *b, const struct chart *c)
{
	size_t *shade = mem_zalloc(c->n_series + 1, sizeof *shade), slots = chart_shades(c, shade), shape = 0;
	sbuf_printf(b, "slots = %zu\narray shade[%zu]\narray shape[%zu]\narray paint[%zu]\narray every[%zu]\n", slots, c->n_series,
		c->n_series, c->n_series, c->n_series);
	for (size_t i = 0; i < c->n_series; i++) {
		const struct chart_series *s = &c->series[i];
		shape += s->marks_alone && (*s->label || !shape);
		size_t own = has_common_marks(c) ? 1 : s->marks_alone && c->kind == CHART_BARS ? shape : shade[i] + 1;
		sbuf_printf(b, "shade[%zu] = %zu\nshape[%zu] = %zu\npaint[%zu] = '%s'\nevery[%zu] = %zu\n", i + 1, shade[i] + 1, i + 1, own,
			i + 1, colour_of(c, i, shade[i]), i + 1, s->n > MOST_MARKS ? s->n / MOST_MARKS * 2 : 1);
	}
	mem_free(shade);
}

/* Places the legend in rows from left to right, after its title; returns the number of rows. The bounds, if any, follow the series. */
static size_t put_legend(struct sbuf *b, const struct chart *c, double page_pt)
{
	static const double sample_pt = 26, gap_pt = 9, margin_pt = 5;
	double x = margin_pt;
	size_t row = 0, n = c->n_series + 2;
	bool has_title = c->title && *c->title, has_any = has_title, is_shown[2];
	chart_bounds_shown(c, &is_shown[0], &is_shown[1]);
	sbuf_puts(b, "key_title = ");
	gnuplot_quote(b, has_title ? c->title : "", CHART_LABEL_BYTES);
	x += has_title ? chart_text_width(c->title) + gap_pt : 0;
	sbuf_printf(b, "\narray key_x[%zu]\narray key_y[%zu]\narray key_sample[%zu]\nkey_n = %zu\n", n, n, n, n);
	for (size_t i = 0; i < n; i++) {
		size_t extra = i - c->n_series;
		enum sample sample = i < c->n_series ? sample_of(c, i) : is_shown[extra] ? BOUNDS + (enum sample)extra : NO_SAMPLE;
		struct sbuf label = { 0 };
		if (i < c->n_series)
			put_label(&label, c, i);
		double width = sample_pt + chart_text_width(i < c->n_series ? sbuf_text(&label) : bounds_name[extra]);
		sbuf_free(&label);
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
	gnuplot_quote(&quoted, text, CHART_LABEL_BYTES);
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

/* Returns the blank at which a name is split into two lines so that the longer one is shortest; 0: it has none. */
static size_t split_of(const char *name, double *longer)
{
	size_t at = 0;
	*longer = chart_text_width(name);
	for (size_t i = 1; *name && name[i]; i++) {
		if (name[i] != ' ' || !name[i + 1])
			continue;
		struct sbuf first = { 0 };
		sbuf_add(&first, name, i);
		double w = fmax(chart_text_width(sbuf_text(&first)), chart_text_width(name + i + 1));
		sbuf_free(&first);
		if (w < *longer) {
			*longer = w;
			at = i;
		}
	}
	return at;
}

/* Returns the distance of positions in points; page: width of the figure. */
static double position_pt(const struct chart *c, double page)
{
	static const double beside_data_in = 0.58;
	return 72 * (page - beside_data_in) / (double)(c->n_categories ? c->n_categories : 1);
}

/* Returns the width that the name of a position may have, in points. */
static double name_width(const struct chart *c, double page)
{
	return position_pt(c, page) - 5;
}

/* How the names of the positions stand: in one line, in two, or turned. */
static enum names { IN_ONE_LINE = 1, IN_TWO_LINES, TURNED } names_stand(const struct chart *c, double page)
{
	double longest[2] = { 0 }, wide = name_width(c, page), split;
	for (size_t i = 0; c->category && i < c->n_categories; i++) {
		split_of(c->category[i], &split);
		longest[0] = fmax(longest[0], chart_text_width(c->category[i]));
		longest[1] = fmax(longest[1], split);
	}
	return longest[0] <= wide ? IN_ONE_LINE : longest[1] <= wide ? IN_TWO_LINES : TURNED;
}

static bool have_room(const struct chart *c, double page)
{
	return names_stand(c, page) != TURNED;
}

/* Returns the angle of names that have no room in one row: upright if lines of text at 30 degrees would overlap. */
static double names_angle(const struct chart *c, double page)
{
	return position_pt(c, page) < 17 ? 90 : 30;
}

/* Sets which series have bounds, and the width of their shade: half of it on the axis of x, or a factor if that is logarithmic; for bars,
 * one slot or the whole category. */
static void put_bounds(struct sbuf *b, const struct chart *c)
{
	struct chart_ranges r = chart_ranges(c);
	double half = c->category ? 0.2 : c->log_x ? pow(fmax(r.x[1] / r.x[0], 1), 0.02) : 0.02 * (r.x[1] - r.x[0]);
	sbuf_printf(b, "bounds_name = '%s'\nmissed_name = '%s'\narray bounds[%zu]\n", CHART_BOUNDS_NAME, CHART_MISSED_NAME, c->n_series);
	for (size_t i = 0; i < c->n_series; i++)
		sbuf_printf(b, "bounds[%zu] = %d\n", i + 1, c->series[i].has_bounds);
	sbuf_printf(b, "compares_all = %d\nbounds_half = %.9g\n", chart_compares_all(c), isfinite(half) && half > 0 ? half : 0.1);
}

static void put_variables(struct sbuf *b, const struct chart *c, double page)
{
	sbuf_printf(b, "n = %zu\narray label[%zu]\narray marks[%zu]\n", c->n_series, c->n_series, c->n_series);
	for (size_t i = 0; i < c->n_series; i++) {
		struct sbuf label = { 0 };
		put_label(&label, c, i);
		sbuf_printf(b, "label[%zu] = ", i + 1);
		gnuplot_quote(b, sbuf_text(&label), CHART_LABEL_BYTES);
		sbuf_free(&label);
		sbuf_printf(b, "\nmarks[%zu] = %d\n", i + 1, c->series[i].marks_alone);
	}
	put_bounds(b, c);
	put_styles(b, c);
	chart_put_text(b, "x_label", c->x_label, X_ROW_BYTES);
	sbuf_printf(b, "log_x = %d\nlog_y = %d\n", c->log_x, c->log_y);
	sbuf_printf(b, "categories = %zu\n", c->category ? c->n_categories : 0);
	if (c->category && c->n_categories) {
		sbuf_printf(b, "array category[%zu]\n", c->n_categories);
		bool is_split = names_stand(c, page) == IN_TWO_LINES && !chart_count_panels(c);
		double longer;
		for (size_t i = 0; i < c->n_categories; i++)
			put_tic(b, i, c->category[i],
				is_split && chart_text_width(c->category[i]) > name_width(c, page) ? split_of(c->category[i], &longer) : 0);
	}
	sbuf_printf(b, "tics_turned = %d\n", !have_room(c, page));
	sbuf_puts(b, "y_min = '*'\ny_max = '*'\n");
	if (isfinite(c->y_min) || !c->log_y)
		sbuf_printf(b, "y_min = '%.9g'\n", isfinite(c->y_min) ? c->y_min : 0);
	if (isfinite(c->y_max))
		sbuf_printf(b, "y_max = '%.9g'\n", c->y_max);
	sbuf_printf(b, "is_bars = %d\nmarks_black = %d\ny_scale = 1\ny_apart = 0\ny_tics = ''\ncalendar = %d\nis_stairs = %d\n",
		c->kind == CHART_BARS, c->kind == CHART_BARS || chart_count_panels(c), c->is_calendar,
		c->kind == CHART_CDF || c->kind == CHART_TIMELINE);
}

/* Space beside the data in inches at 8 pt. */
struct space {
	double left, right, below;
};

static size_t rows_of(const char *text, size_t most)
{
	return !*text ? 0 : strlen(text) > most && strchr(text, ' ') ? 2 : 1;
}

/* Returns the space beside the data of a page of this width, with a label of y in y_rows lines. */
static struct space space_of(const struct chart *c, double page, size_t y_rows)
{
	bool is_turned = !have_room(c, page);
	double names = 0, radian = names_angle(c, page) / 57.29578;
	for (size_t i = 0; i < c->n_categories && is_turned; i++)
		names = fmax(names, sin(radian) * chart_text_width(c->category[i]) / 72);
	/* Half of the last number at the axis of x lies beyond the data. */
	double last = c->log_x ? pow(10, ceil(log10(fmax(chart_ranges(c).x[1], 1e-300)))) : chart_ranges(c).x[1];
	double characters = (double)chart_digits(isfinite(last) ? last : 0) +
			    (c->kind == CHART_CDF && c->log_x && !c->is_calendar ? 2 : 0); /* and " s" */
	double right = c->category ? 0.1 : fmax(0.1, 0.04 + 0.036 * characters);
	double left = 0.1 + 0.14 * (double)y_rows + (y_rows > 1 ? 0.05 : 0) + 0.072 * (double)chart_widest_tic(c);
	for (size_t i = 0; i < c->n_categories && is_turned; i++) {
		/* A turned name ends below its position, at this share of the width of the data, and begins within the page. */
		double share = ((double)i + 0.6) / ((double)c->n_categories + 0.2),
		       name = cos(radian) * chart_text_width(c->category[i]) / 72 + 0.03;
		left = fmax(left, (name - share * (page - right)) / (1 - share));
	}
	return (struct space){ left, right,
		(is_turned            ? 0.14
			: c->category ? 0.24
				      : 0.26) +
			0.14 * (double)rows_of(c->x_label, X_ROW_BYTES) + names + (names_stand(c, page) == IN_TWO_LINES ? 0.13 : 0) };
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

/* Sets the numbers of a linear axis of y: their distance, and their texts if they have prefixes. */
static void put_y_numbers(struct sbuf *b, const struct chart *c, const double range[2])
{
	double step = c->log_y ? 0 : chart_y_step(range);
	char text[CHART_NUMBER_BYTES];
	sbuf_printf(b, "y_apart = %.9g\n", step);
	if (!(step > 0) || !chart_is_large(false, range))
		return;
	sbuf_puts(b, "y_tics = \"");
	for (double i = floor(range[0] / step); i <= ceil(range[1] / step); i++) {
		chart_number(i * step, true, text);
		sbuf_printf(b, "%s'%s' %.9g", i > floor(range[0] / step) ? ", " : "", text, i * step);
	}
	sbuf_puts(b, "\"\n");
	if (!isfinite(c->y_max)) /* gnuplot does not extend the axis to a number if the numbers are listed */
		sbuf_printf(b, "y_max = '%.9g'\n", ceil(range[1] / step) * step);
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
static void put_numbers(struct sbuf *b, const struct chart *c, const struct space *s, double page)
{
	struct chart_ranges r = chart_ranges(c);
	size_t digits = chart_digits(r.x[1] >= 1000 ? round(r.x[1] / 1000) * 1000 : 0);
	double room = 72 * (page - s->left - s->right) / (5 * (double)digits + 12);
	bool is_linear = !c->category && !c->log_x && r.x[1] > r.x[0];
	sbuf_printf(b, "tics_angle = %g\n", names_angle(c, page));
	bool is_short = is_linear && c->kind == CHART_LINES && has_whole_x(c) && r.x[1] - r.x[0] <= 10; /* no tics between whole numbers */
	sbuf_printf(b, "x_apart = %.9g\n", is_short ? 1 : is_linear && digits > 3 ? chart_tic_step(r.x[1] - r.x[0], floor(room)) : 0);
	sbuf_printf(b, "x_large = %d\ny_large = %d\n", c->log_x && !c->category && chart_is_large(true, r.x),
		c->log_y && chart_is_large(true, r.y));
	put_y_numbers(b, c, r.y);
	bool is_single = !c->category && r.x[1] == r.x[0]; /* gnuplot would widen the axis by parts of a per cent, with long numbers */
	sbuf_printf(b, "x_single = %d\nx_only = %.9g\nx_single_half = %.9g\n", is_single, is_single ? r.x[0] : 0,
		is_single && r.x[0] != 0 ? 0.5 * fabs(r.x[0]) : 1);
	bool has_span = !c->category && r.x[1] > r.x[0] && (!c->log_x || r.x[0] > 0);
	double low = c->log_x ? pow(10, floor(log10(r.x[0]))) : r.x[0] - 0.03 * (r.x[1] - r.x[0]),
	       high = c->log_x ? r.x[1] * pow(r.x[1] / low, 0.03) : r.x[1] + 0.03 * (r.x[1] - r.x[0]);
	sbuf_printf(b, "x_low = %.9g\nx_high = %.9g\n", has_span ? low : 0, has_span ? high : 0);
	put_between(b, "x_between", c->log_x && !c->category, r.x);
	put_between(b, "y_between", c->log_y, r.y);
}

static double legend_height(size_t rows)
{
	return 0.12 + 0.15 * (double)rows;
}

/* Returns the height of the plot at which the data have CHART_DATA_SHARE of the figure; INFINITY if margins leave less at any height. */
static double height_for_share(const struct space *s, double page, size_t legend_rows)
{
	double share = (page - s->left - s->right) / page;
	/* (height - below) share = CHART_DATA_SHARE (height + legend) */
	double height = (CHART_DATA_SHARE * legend_height(legend_rows) + share * s->below) / (share - CHART_DATA_SHARE);
	return share > CHART_DATA_SHARE ? height : INFINITY;
}

/* The same, as far as the limits permit. */
static double plot_height(const struct space *s, double page, size_t legend_rows)
{
	return fmin(fmax(height_for_share(s, page, legend_rows), least_plot_in), most_page_in - legend_height(legend_rows));
}

/* Returns the number of lines of the y axis label: one if the label is no longer than the axis, two if its longer half fits below the
 * legend, otherwise three. height: height of the figure; 0: as high as the plot needs. */
static size_t y_rows_of(const struct chart *c, double page, double height, size_t legend_rows)
{
	struct space s = space_of(c, page, *c->y_label != 0);
	double room = height > 0 ? height - legend_height(legend_rows) : plot_height(&s, page, legend_rows), data = room - s.below;
	size_t n = strlen(c->y_label), at = chart_cut(c->y_label, 2), longer = at > n - at ? at : n - at;
	if (!*c->y_label || !at)
		return *c->y_label != 0;
	if (n <= (data > 0.6 ? (size_t)(data * 72 * (double)n / chart_text_width(c->y_label)) : 8))
		return 1;
	return (double)longer * y_character_in > room && strchr(c->y_label + at + 1, ' ') ? 3 : 2;
}

/* Adds the legend and the margins; returns the space beside the data and the number of rows of the legend. */
static struct space put_margins(struct album *a, const struct chart *c, size_t *rows)
{
	struct sbuf *b = &a->script;
	double page = chart_page(&a->look);
	*rows = put_legend(b, c, 72 * page);
	size_t y_rows = y_rows_of(c, page, chart_fixed_height(&a->look), *rows);
	struct space space = space_of(c, page, y_rows);
	chart_put_lines(b, "y_label", c->y_label, y_rows);
	sbuf_printf(b, "mark_scale = %g\n", look_font_pt(&a->look) / 8);
	sbuf_printf(b, "chart_left = %.4f\nchart_right = %.4f\nchart_below = %.4f\n", space.left, space.right, space.below);
	return space;
}

int chart_add_curves(struct album *a, const struct chart *c, const char *template, double y_scale, struct orr_error *err)
{
	size_t rows, panels = chart_count_panels(c);
	double page = chart_page(&a->look);
	put_variables(&a->script, c, page);
	struct space space = put_margins(a, c, &rows);
	put_numbers(&a->script, c, &space, page);
	sbuf_printf(&a->script, "y_scale = %g\n", y_scale);
	if (panels)
		return album_add(a, c->file, "panels", chart_put_panels(a, c, panels, rows), err);
	return album_add(
		a, c->file, template, (struct layout){ .plot_in = plot_height(&space, page, rows), .rows = rows, .has_places = true }, err);
}

int chart_add_rows(
	struct album *a, const struct chart *c, const char *template, double left, double below, double rows_in, struct orr_error *err)
{
	struct sbuf *b = &a->script;
	struct space space = { left, 0.1, below };
	double page = chart_page(&a->look);
	put_variables(b, c, page);
	chart_put_text(b, "y_label", c->y_label, CHART_TEXT_BYTES);
	size_t rows = put_legend(b, c, 72 * page);
	sbuf_printf(b, "mark_scale = %g\n", look_font_pt(&a->look) / 8);
	sbuf_printf(b, "chart_left = %.4f\nchart_right = %.4f\nchart_below = %.4f\n", space.left, space.right, space.below);
	double needed = height_for_share(&space, page, rows);
	return album_add(a, c->file, template,
		(struct layout){ .plot_in = fmax(rows_in + below, fmin(needed, most_rows_in)), .rows = rows, .has_places = true }, err);
}

int chart_add(struct album *a, const struct chart *c, struct orr_error *err)
{
	static const char *const template[] = {
		[CHART_LINES] = "lines", [CHART_BARS] = "bars", [CHART_CDF] = "cdf", [CHART_STACKED] = "stacked", [CHART_TIMELINE] = "steps"
	};
	if (!has_points(c))
		return ORR_OK;
	put_data(&a->script, c);
	return chart_add_curves(a, c, template[c->kind], 1, err);
}
