/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * spot_parts.h - the time of the job and of each instance, divided by cause (--record explain)
 *
 * Job 0: the parts follow the accounts (accounts.h), so the time of the owners in a part is the time that an account gets.
 * Provisional steps are useful or wasted only once they are committed or lost, so all stretches from the first provisional one
 * on are kept until then. Instances: the parts follow their roles.
 *
 * All functions are no-ops without w->parts.
 */
#ifndef ORR_SPOT_SPOT_PARTS_H
#define ORR_SPOT_SPOT_PARTS_H

#include "spot/world.h"

struct run_result;

void spot_parts_new(struct orr_spot *w);
void spot_parts_free(struct orr_spot *w);
/* Moves all parts to the result, at the end of the run. */
void spot_parts_end(struct orr_spot *w);

/* ---- instances ---- */
void spot_parts_inst_begin(struct orr_spot *w, uint32_t slot);
void spot_parts_inst_role(struct orr_spot *w, uint32_t slot, enum role role);
void spot_parts_inst_end(struct orr_spot *w, uint32_t slot);
/* Records an event of an instance: the cause of the policy's actions at this instant. */
void spot_parts_event(struct orr_spot *w, uint32_t slot, enum orr_inst_event event);

/* ---- the job ---- */
/* Records that no step is in flight from `from` to `to`. */
void spot_parts_pause(struct orr_spot *w, int64_t from, int64_t to);
/* Records the end of n equal steps, the first of which began at `began`. */
void spot_parts_steps(struct orr_spot *w, uint64_t n, int64_t began, int64_t pace);
/* Records that the step in flight is abandoned. at_end: the reason is the end of the run. */
void spot_parts_stop(struct orr_spot *w, bool at_end);
void spot_parts_commit(struct orr_spot *w, uint64_t n);
void spot_parts_lose(struct orr_spot *w, uint64_t n);

#endif
