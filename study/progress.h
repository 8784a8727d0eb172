/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * progress.h - a progress bar with the time left; shown on a terminal only
 *
 * Several threads report the completed shares of their work; the bar shows the mean.
 */
#ifndef ORR_CLI_PROGRESS_H
#define ORR_CLI_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <time.h>

/* Returns the time of a clock in seconds. */
double clock_read_s(clockid_t id);

struct progress;

/* Makes a bar. what: "4 policies". is_quiet: -q. Returns NULL if no bar is shown. */
struct progress *progress_new(const char *what, size_t parts, bool is_quiet);
void progress_report(struct progress *p, size_t part, double done); /* p may be NULL */
void progress_free(struct progress *p);                             /* clears the line */

#endif
