/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * equal.h - the key equal_within: bounds within which two policies count as equal
 *
 * Grammar: BOUND, or METRIC=BOUND[,METRIC=BOUND..]. A bound is a share of the mean of a pair's first policy ("2%"), a number in the unit
 * of the metric ("0.5"), or a duration if the metric is a time ("30s", "5ms").
 */
#ifndef ORR_WORLD_EQUAL_H
#define ORR_WORLD_EQUAL_H

#include <orrery/api.h>

#include "world/world.h"

/* Checks the text. "": no bounds. */
int equal_within_check(const struct world *w, const char *text, struct orr_error *err);
/* Returns whether a valid text has a bound for the metric of a column; a bound without a name is that of each primary column. *bound:
 * in the unit of the metric, or a share if *is_relative. */
bool equal_within_of(const char *text, const struct report_column *column, double *bound, bool *is_relative);

#endif
