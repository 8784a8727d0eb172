/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * adapt.h - jobs that adapt their batch to their GPUs: work in epochs, speed from goodput (hwmodel/goodput.h; docs/models/jobs-goodput.md)
 *
 * A job whose model is an application of --applications adapts. Its progress is counted in steps of the batch M0. Epoch e ends at a
 * progress from --noise, which also has the squared norm and the variance of the gradient by epoch and batch. The work of an epoch is
 * its time on the requested GPUs at the batch of the trace, by the fitted model; the rate on other GPUs, or with another batch, is the
 * ratio of progress per second. A job chooses its batch at each start and at the start of each epoch.
 */
#ifndef ORR_JOBS_ADAPT_H
#define ORR_JOBS_ADAPT_H

#include "jobs/job.h"
#include "traces/trace.h"

struct adapt;

enum adapt_batches { ADAPT_BATCHES_ADAPT, ADAPT_BATCHES_FIXED };
enum adapt_epochs { ADAPT_EPOCHS_EXACT, ADAPT_EPOCHS_SECONDS };

struct adapt_files {
	const char *applications, *noise, *step_times; /* step_times: "" or NULL: the fitted model gives all times */
	enum adapt_batches batches;
	enum adapt_epochs epochs;
	enum adapt_profiles profiles;
	double profile_error; /* belief=wrong: standard deviation of the logarithm of each parameter's factor */
};

/* Reads the files; NULL on error. The result is read-only: threads may share it. */
struct adapt *adapt_load(const struct adapt_files *f, struct orr_error *err);
void adapt_free(struct adapt *a);
/* SHA-256 of the contents of a file, 0: applications, 1: noise, 2: step times; "": no file. */
const char *adapt_hash(const struct adapt *a, int file);

/* Data common to all jobs of one application, size and batch in a run. */
struct adapt_kind;
struct adapt_kinds {
	struct adapt_kind *kind;
	size_t n, cap;
};
void adapt_kinds_free(struct adapt_kinds *k);

/* Returns the number of the row's kind; NONE: the job does not adapt. */
uint32_t adapt_kind_of_row(struct orr_jobs *w, const struct job_rec *r);
/* Returns the work of a kind, ns; -1 with w->error set if it is beyond the clock. */
int64_t adapt_work(struct orr_jobs *w, uint32_t kind, const struct job_rec *r);
/* Returns the rate of a job on its GPUs, with the batch that it chooses, in the present epoch. The job must have its GPUs. */
double adapt_rate(struct orr_jobs *w, struct job *job);
/* Returns the rate on this number of GPUs of the fewest nodes, by the fitted model, in the present epoch; 0: the job does not offer it. */
double adapt_rate_at(const struct orr_jobs *w, const struct job *job, uint32_t gpus);
/* Returns the greatest goodput, samples/s, that the job believes in the present epoch; 0: the job cannot run there. gpu_type NONE: the type
 * of the application's first row. */
double adapt_goodput(const struct orr_jobs *w, const struct job *job, uint32_t gpu_type, uint32_t nodes, uint32_t gpus);
/* Returns the speed of the requested number of GPUs of this type, relative to GPUs of the type of the application's first row. 0: the
 * application has no row for the type, so the world's rate of the type holds. */
double adapt_type_rate(const struct orr_jobs *w, const struct job *job, uint32_t gpu_type);
/* Returns the largest number of GPUs that the job can use: max_batch_size / min_local_bsz. */
uint32_t adapt_most_gpus(const struct orr_jobs *w, const struct job *job);
/* Returns the time at which the present epoch of a running job ends, ns, and the work that is then left. */
int64_t adapt_epoch_end(const struct orr_jobs *w, const struct job *job, int64_t *left);

#endif
