/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * profile_rows.h - the statistics of traces of jobs
 *
 * Counts rows, adds their numbers to series and tallies of the profile, and adds facts after the last row.
 */
#ifndef ORR_TRACES_PROFILE_ROWS_H
#define ORR_TRACES_PROFILE_ROWS_H

#include "traces/profile.h"

#define PROFILE_GPUS_TALLY "GPUs of a job"
#define PROFILE_MONTHS_TALLY "months"

struct profile_rows;

void profile_rows_free(struct profile_rows *r);
/* Returns the address of the pointer that a profile keeps for this part, NULL at first. The profile frees it. */
struct profile_rows **profile_rows_slot(struct trace_profile *p);

#endif
