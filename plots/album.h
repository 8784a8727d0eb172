/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * album.h - figures drawn in one run of gnuplot, each as PDF, SVG and PNG
 *
 * A figure consists of data and variables, which the caller adds to the script before album_add(), and of the template
 * plots/NAME.gp. Templates are searched in $ORRERY_DATADIR, in the folder of `make install`, and in the source tree. Files are
 * replaced atomically.
 */
#ifndef ORR_PLOTS_ALBUM_H
#define ORR_PLOTS_ALBUM_H

#include <orrery/api.h>

#include "base/sbuf.h"

#include <stdbool.h>

/* Size and type of the figures. Zeros: the width of a printed column, the height that suits the contents, Sans of 8 pt, lines for paper. */
struct look {
	double width_in, height_in; /* size of the whole figure */
	const char *font;           /* family; letters, digits, blanks and "-" */
	double font_pt;
	bool is_slide; /* 8 x 4.5 in, 16 pt, and thicker lines, unless size and font are given */
};
/* Set a look from texts of a user: "3.5x2.4" (inches), "Sans,8" or "Sans", "paper" or "slides". */
int look_set_size(struct look *l, const char *text, struct orr_error *err);
int look_set_font(struct look *l, const char *text, struct orr_error *err);
int look_set_style(struct look *l, const char *text, struct orr_error *err);
double look_width_in(const struct look *l);
double look_font_pt(const struct look *l);

/* An album of all zeros is empty, with the look of paper. */
struct album {
	struct look look;
	struct sbuf script;
	char **file; /* without suffix */
	size_t n_files, cap_files;
};

/* Height of the plot without the legend, and number of rows of the legend. has_places: the caller places the entries of the legend, as
 * arrays of plots/style.gp, instead of gnuplot. */
struct layout {
	double plot_in;
	size_t rows;
	bool has_places;
	bool is_panels; /* plot_in already takes the look into account */
};
/* Returns the layout of a legend with n labels, the longest of which has longest_label characters. */
struct layout album_layout(size_t n, size_t longest_label, double plot_in);

/* Adds the figure `file`, drawn by plots/TEMPLATE.gp, in each format. */
int album_add(struct album *a, const char *file, const char *template, struct layout l, struct orr_error *err);
/* Draws the album; creates dir if needed. ORR_EDEVICE: gnuplot is not installed. */
int album_write(struct album *a, const char *dir, struct orr_error *err);
void album_free(struct album *a);

#endif
