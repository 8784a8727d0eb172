/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * remarks.h - remarks on keys of the scenario that had no effect on a run
 *
 * A world names such keys in its table of effects (struct world_effect), which is compared with the run's metrics. Or its
 * function `note` calls remark_no_effect(). docs/reference/remarks.md lists all remarks.
 *
 * Keys are paths: "placement", "jobs.checkpoint", "failures.mttr". In a world of parts, a key of a part begins with the name of
 * the part: "jobs.jobs.checkpoint".
 */
#ifndef ORR_WORLD_REMARKS_H
#define ORR_WORLD_REMARKS_H

#include "world/scenario.h"

/* Returns whether the scenario has the key with a value other than its default. A key without a default is set if it is given. */
bool remark_is_set(const struct scenario *s, const char *key);
/* Adds the remark "KEY has no effect: WHY" if remark_is_set(). */
void remark_no_effect(const struct scenario *s, struct run_result *r, const char *key, const char *why);
/* Returns the metric of the run, or of this part of the run; 0 if the metric is missing or not finite. */
double remark_metric(const struct scenario *s, const struct run_result *r, const char *metric);
/* Returns whether a metric of the run, or of this part of the run, has an interval of a length above 0. */
bool remark_has_interval(const struct scenario *s, const struct run_result *r);
/* Adds the remarks of warm_up: the number of values removed (mean over replications), or why none are removed. */
void remark_warm_up(const struct scenario *s, struct run_result *r);
/* Adds the world's notes to run i, which must be complete: its table of effects, then its function `note`. */
void remarks_add(const struct scenario *s, size_t i, struct run_result *r);
/* Same, for the parts of a scenario, which share its keys. */
void remarks_add_parts(const struct scenario *const *part, size_t n, size_t i, struct run_result *r);

#endif
