/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * effects.h - options of the jobs world without effect on a run, and assumed costs
 */
#ifndef ORR_JOBS_EFFECTS_H
#define ORR_JOBS_EFFECTS_H

#include "world/scenario.h"

extern const struct world_effect jobs_effects[];
unsigned jobs_used(const struct scenario *s, size_t i);
/* Adds the remarks that depend on no metric, and the assumptions on placement, costs and the default network. i: the policy. */
void jobs_note_effects(const struct scenario *s, size_t i, struct run_result *r);

#endif
