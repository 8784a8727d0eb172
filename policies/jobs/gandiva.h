/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * gandiva.h - shared by the files of the policy gandiva
 *
 * gandiva.c: the policy and its own rounds; gandiva_pairs.c: which jobs are paired; gandiva_published.c: the rounds of the published
 * simulator, with a key for each job and for each pair of jobs on equal numbers of GPUs.
 *
 * Invariants: jobs are in order of submission. A job and its partner name each other.
 */
#ifndef ORR_POLICIES_GANDIVA_H
#define ORR_POLICIES_GANDIVA_H

#include "gavel.h"

#define GANDIVA_NOBODY UINT64_MAX

struct gandiva_job {
	orr_job job;
	uint64_t number, partner; /* partner: number of the job with which it shares GPUs; GANDIVA_NOBODY: none */
	uint32_t gpus;
	uint64_t rounds; /* rules=own: rounds in which it ran */
	double *alone;   /* iterations/s by type */
	/* rules=gavel: */
	double submit_s, steps_left, round_steps, finish_s;
	double need_s;   /* time until the job has made its steps of the round, at its speed in the pair */
	uint64_t beside; /* number of the job with which it runs in this round; GANDIVA_NOBODY: none */
	bool is_admitted, has_ended, will_end, is_taken;
	uint32_t ran_on; /* GAVEL_NOWHERE: not in this round */
};

/* rules=gavel: a job, or two jobs (b != GANDIVA_NOBODY), that may run in a round. */
struct gandiva_key {
	uint64_t a, b;
	bool is_allocated;          /* the last allocation has a share for it */
	double *share, *owed, *got; /* by type, as in gavel.h */
	uint32_t ran_on;
	double finish_s;
};

struct gandiva {
	bool is_published, is_over_all; /* is_over_all: the limit of pairs refers to the sum over all types */
	bool is_packing;                /* the jobs request more GPUs than the cluster has, so pairs are used */
	double pair_limit;
	uint32_t n_types;
	struct gandiva_job *job;
	size_t n, cap;
	struct gavel_twister random;
	/* rules=own */
	struct orr_round *round;
	uint32_t *free; /* by type, while jobs are chosen */
	/* rules=gavel */
	int64_t round_ns, recompute_ns;
	struct gandiva_key *key;
	size_t n_keys, cap_keys;
	bool is_changed, is_in_round;
	double now_s, reset_s, *worker_s;
	struct gavel_shares *shares; /* to be replayed; NULL: none */
};

/* gandiva_pairs.c */
/* Returns the job with that number, or NULL. */
struct gandiva_job *gandiva_find(struct gandiva *g, uint64_t number);
/* Renews the pairs of the live jobs (rules=gavel: of the admitted ones). Returns the number of pairs and of jobs without a partner that
 * are to share the time. */
size_t gandiva_pair(struct gandiva *g, struct orr_jobs *w);
/* Returns the sum of the rates of two jobs on a type, relative to their rates alone; 0: they cannot run there together. */
double gandiva_sum_on(struct orr_jobs *w, const struct gandiva_job *a, const struct gandiva_job *b, uint32_t type);

/* gandiva_published.c */
void gandiva_published_arrive(struct orr_jobs *w, struct gandiva_job *m);
void gandiva_published_schedule(struct gandiva *g, struct orr_jobs *w);
void gandiva_key_free(struct gandiva_key *k);

#endif
