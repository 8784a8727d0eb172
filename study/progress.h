/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * progress.h - a bar with the time left, on a terminal; nothing elsewhere
 *
 * Several threads report parts of their own work; the bar shows the mean.
 */
#ifndef ORR_CLI_PROGRESS_H
#define ORR_CLI_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>

struct progress;

/* what: "4 policies". is_quiet: -q. NULL is returned where there is nothing to show. */
struct progress *progress_new(const char *what, size_t parts, bool is_quiet);
void progress_report(struct progress *p, size_t part, double done); /* p may be NULL */
void progress_free(struct progress *p);                             /* clears the line */

#endif
