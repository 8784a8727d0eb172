/* SPDX-License-Identifier: GPL-3.0-or-later */
/* remarks.h - remarks of a run, below its table (remarks.c) */
#ifndef ORR_SERVE_REMARKS_H
#define ORR_SERVE_REMARKS_H

#include "base/sbuf.h"
#include "serve/world.h"

/* Adds the notes of kind "remark" to the result; called after the last event of the run. */
void serve_remarks(struct orr_serve *w);

/* Returns whether the first of the requests arrives so late, at begin_s of a run that ends at end_s, that means over time and costs of the
 * fleet are those of an idle fleet. */
bool remarks_begin_is_late(double begin_s, double end_s, uint64_t requests);
/* Appends what includes the time before the first request: "WHAT include the 100 s before .." */
void remarks_put_begin(struct sbuf *b, const char *what, double begin_s, double end_s);

#endif
