/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * scenarios.h - base scenarios of a database: runs of a study differ in few values, so each run stores only its overrides
 *
 * Invariant: the key of a base scenario follows from its text (the first 64 bits of its SHA-256), so equal texts have equal keys in all
 * databases.
 */
#ifndef ORR_RESULTS_SCENARIOS_H
#define ORR_RESULTS_SCENARIOS_H

#include "results/db.h"

/*
 * Finds a base for the scenario, or stores the scenario as a base. Sets overrides to the merge patch (overrides.h) of the base;
 * empty if the scenario is its own base. The caller holds an open transaction.
 */
int scenarios_put(struct store *s, const char *text, int64_t *base, struct sbuf *overrides, struct orr_error *err);
/* Frees the texts that the store keeps in memory. */
void scenarios_forget(struct store *s);

#endif
