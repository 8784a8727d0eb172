/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * gnuplot.h - one run of gnuplot: a script in, files or an error out
 */
#ifndef ORR_PLOTS_GNUPLOT_H
#define ORR_PLOTS_GNUPLOT_H

#include <orrery/api.h>

#include "base/sbuf.h"

/* Runs gnuplot in directory dir with the script on its standard input and the
 * user's gnuplotrc left out. ORR_EDEVICE: no gnuplot; ORR_EFAIL: it complained. */
int gnuplot_run(const char *dir, const struct sbuf *script, struct orr_error *err);

/* Adds s as a gnuplot expression that has it as its value: single quotes, in which
 * nothing but a quote is special; control characters become '?', bytes past max_bytes an ellipsis. */
void gnuplot_quote(struct sbuf *out, const char *s, size_t max_bytes);

#endif
