/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * profile_rows.h - the part of a profile that knows what a job is
 *
 * It counts rows, puts their numbers into the profile's series and tallies as they come, and adds facts at the end.
 */
#ifndef ORR_TRACES_PROFILE_ROWS_H
#define ORR_TRACES_PROFILE_ROWS_H

#include "traces/profile.h"

#define PROFILE_GPUS_TALLY "GPUs of a job"
#define PROFILE_MONTHS_TALLY "months"

struct profile_rows;

void profile_rows_free(struct profile_rows *r);
/* Where a profile keeps them, NULL at first; it frees them. */
struct profile_rows **profile_rows_slot(struct trace_profile *p);

#endif
