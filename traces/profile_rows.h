/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * profile_rows.h - the part of a profile that knows what a job is
 *
 * Private to profile.c: it counts rows, puts their numbers into the profile's
 * series and tallies as they come, and adds facts at the end.
 */
#ifndef ORR_TRACES_PROFILE_ROWS_H
#define ORR_TRACES_PROFILE_ROWS_H

#include "traces/profile.h"

#define PROFILE_GPUS_TALLY "GPUs of a job"
#define PROFILE_MONTHS_TALLY "months"

struct profile_rows;

struct profile_rows *profile_rows_new(void);
void profile_rows_free(struct profile_rows *r);
void profile_rows_add(struct profile_rows *r, struct trace_profile *p, const struct orr_trace_job *row);
void profile_rows_finish(struct profile_rows *r, struct trace_profile *p, bool is_absolute);

#endif
