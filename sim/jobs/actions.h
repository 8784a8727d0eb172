/* SPDX-License-Identifier: GPL-3.0-or-later */
/* actions.h - the GPUs that a start (orrery/jobs.h) takes, for a trial; quotas are not considered */
#ifndef ORR_JOBS_ACTIONS_H
#define ORR_JOBS_ACTIONS_H

#include "jobs/job.h"

/* Takes free GPUs by the placement rule for a start on `gpus` GPUs; with the number requested, of a type (ORR_ANY_TYPE: any). */
bool action_take(struct orr_jobs *w, const struct job *job, uint32_t gpus, uint32_t gpu_type, struct pool_alloc *out);
/* Takes the whole GPUs that a running job holds, with their CPUs and memory. Returns false if these are not free. */
bool action_take_held(struct orr_jobs *w, const struct job *job, struct pool_alloc *out);

#endif
