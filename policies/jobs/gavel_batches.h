/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * gavel_batches.h - jobs that change their batch while they run, under rules=shockwave: the published rounds of Shockwave's fork of Gavel
 * (uw-mad-dash/shockwave, 8a44f4a; docs/models/jobs-fair.md#changing-batches)
 *
 * The model of a job is "MODEL (batch size N)", its queue the rule of its batch: static, accordion or gns. The policy restates the fork's
 * model of jobs, so it sets the work left of each job in the world (orr_set_left()).
 */
#ifndef ORR_POLICIES_GAVEL_BATCHES_H
#define ORR_POLICIES_GAVEL_BATCHES_H

#include "gavel.h"

struct gavel_batches;

/* State of a job. */
struct gavel_batch_state {
	int model, mode;                             /* numbers in gavel_batches.c */
	double gpus, batch, first_batch, total, run; /* steps of the present batch */
	double cum_s, limit_s;                       /* time run; the job ends when it exceeds the limit */
	int failures;
	int flag;                 /* wanted change: 1 grow, -1 shrink */
	bool ran_last, runs;      /* in the round before; in this round */
	double per_s;             /* steps/s */
	double steps, received_s; /* result of this round */
	bool has_failed;          /* this round gives no result */
};

/* Reads the files `batch_throughputs` (model,batch,gpus,steps_per_s) and `batch_schedule` (model,initial_batch,gpus,from_epoch,batch). */
struct gavel_batches *gavel_batches_read(const struct orr_args *args, struct orr_error *err);
void gavel_batches_free(struct gavel_batches *b);
/* Makes the state of a job; NULL if the run is over, because the job lacks something. */
struct gavel_batch_state *gavel_batches_job(const struct gavel_batches *b, struct orr_jobs *w, const struct gavel_member *m);
/* Decides the result of the round that begins: sets steps, received_s, has_failed; returns whether the job ends. is_first: round 0. */
bool gavel_batches_begin(struct gavel_batch_state *s, double round_s, double now_s, bool is_first, double *finish_s);
/* Takes the result of a round of a job that has not ended, and changes its batch. */
void gavel_batches_result(const struct gavel_batches *b, struct gavel_batch_state *s);
/* Checks the epoch of the job, which may request another batch from its next result on. */
void gavel_batches_check(const struct gavel_batches *b, struct gavel_batch_state *s);

#endif
