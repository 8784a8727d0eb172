/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * effects.h - options of the jobs world without effect on a run, and the costs that it assumed
 */
#ifndef ORR_JOBS_EFFECTS_H
#define ORR_JOBS_EFFECTS_H

#include "world/scenario.h"

extern const struct world_effect jobs_effects[];
/* Adds the remarks that do not depend on a metric, and the assumption on placement and costs. */
void jobs_note_effects(const struct scenario *s, struct run_result *r);

#endif
