/* SPDX-License-Identifier: GPL-3.0-or-later */
/* training.h - jobs that name a model and a strategy: the speed of each distinct training on its reference place */
#ifndef ORR_JOBS_TRAINING_H
#define ORR_JOBS_TRAINING_H

#include "jobs/job.h"
#include "jobs/steprate.h"
#include "traces/trace.h"

/* Jobs of one model, strategy, batch and size. */
struct training {
	uint32_t class;
	uint64_t types;                         /* mask of the types on which the jobs can run */
	const struct steprate_value **on_type;  /* speeds on the reference place of each type */
	const struct steprate_value *reference; /* speed on the reference place, to which rates refer; NULL: the jobs fit on no place */
	struct orr_error error;
};

/* Returns the training of a row; NONE: the job does not train. *ok is false, with w->error set, if no speed is known. */
uint32_t training_of_row(struct orr_jobs *w, const struct job_rec *r, bool *ok);
const struct training *training_at(const struct orr_jobs *w, uint32_t training);
/* Returns the time of an iteration on the reference place, s; 0 if the job fits on no place. */
double training_iteration_s(const struct orr_jobs *w, uint32_t training);
/* Returns the speed relative to the reference place. */
double training_rate_on(const struct orr_jobs *w, uint32_t training, uint32_t type);
double training_rate_at(struct orr_jobs *w, const struct job *job, uint32_t gpus);
uint64_t training_types(const struct orr_jobs *w, uint32_t training);

#endif
