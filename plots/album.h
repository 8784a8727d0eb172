/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * album.h - figures that one run of gnuplot draws, each as PDF, SVG and PNG
 *
 * A figure is a template, plots/NAME.gp, under data and variables that the caller has put
 * into the script before album_add(). Templates are looked for in $ORRERY_DATADIR, where
 * `make install` puts them, and the source tree. Files are there whole or as they were.
 */
#ifndef ORR_PLOTS_ALBUM_H
#define ORR_PLOTS_ALBUM_H

#include <orrery/api.h>

#include "base/sbuf.h"

/* An album of zeros is empty. */
struct album {
	struct sbuf script;
	char **file; /* without suffix */
	size_t n_files, cap_files;
};

/* The height of the plot without the legend, and the rows of the legend. */
struct layout {
	double plot_in;
	size_t rows;
};
/* For a legend of n labels, the longest of so many characters. */
struct layout album_layout(size_t n, size_t longest_label, double plot_in);

/* Adds the figure `file` drawn by plots/template.gp in each format. */
int album_add(struct album *a, const char *file, const char *template, struct layout l, struct orr_error *err);
/* Makes dir where needed. ORR_EDEVICE: there is no gnuplot. */
int album_write(struct album *a, const char *dir, struct orr_error *err);
void album_free(struct album *a);

#endif
