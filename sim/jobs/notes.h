/* SPDX-License-Identifier: GPL-3.0-or-later */
/* notes.h - assumptions and remarks of a run: GPU types, partitions, traces without a job */
#ifndef ORR_JOBS_NOTES_H
#define ORR_JOBS_NOTES_H

#include <orrery/jobs.h>

/* Adds assumptions and remarks to the result at the end of a run. */
void notes_put(struct orr_jobs *w);

#endif
