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

/* An album of all zeros is empty. */
struct album {
	struct sbuf script;
	char **file; /* without suffix */
	size_t n_files, cap_files;
};

/* Height of the plot without the legend, and number of rows of the legend. */
struct layout {
	double plot_in;
	size_t rows;
};
/* Returns the layout of a legend with n labels, the longest of which has longest_label characters. */
struct layout album_layout(size_t n, size_t longest_label, double plot_in);

/* Adds the figure `file`, drawn by plots/TEMPLATE.gp, in each format. */
int album_add(struct album *a, const char *file, const char *template, struct layout l, struct orr_error *err);
/* Draws the album; creates dir if needed. ORR_EDEVICE: gnuplot is not installed. */
int album_write(struct album *a, const char *dir, struct orr_error *err);
void album_free(struct album *a);

#endif
