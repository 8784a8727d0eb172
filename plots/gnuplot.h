/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * gnuplot.h - runs gnuplot on a script
 */
#ifndef ORR_PLOTS_GNUPLOT_H
#define ORR_PLOTS_GNUPLOT_H

#include <orrery/api.h>

#include "base/sbuf.h"

/* Runs gnuplot in directory dir with the script on its standard input and without the
 * user's gnuplotrc. gnuplot is searched in the absolute folders of PATH. It is ended if it makes no progress for
 * $ORRERY_GNUPLOT_TIMEOUT seconds (300). ORR_EDEVICE: gnuplot is not installed; ORR_EFAIL: gnuplot failed. */
int gnuplot_run(const char *dir, const struct sbuf *script, struct orr_error *err);

/* Adds s as a single-quoted gnuplot string. Control characters and invalid UTF-8 become '?'; bytes past max_bytes become an
 * ellipsis. */
void gnuplot_quote(struct sbuf *out, const char *s, size_t max_bytes);

#endif
