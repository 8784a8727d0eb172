/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * rungs.h - common part of successive halving and ASHA: the live branches of flows and their scores
 *
 * A rung is a scored stage of a branch. The branch waits at rung r when r of its scored stages have ended. The last scored stage is that
 * of the choose; after it the branch leaves.
 */
#ifndef ORR_POLICIES_RUNGS_H
#define ORR_POLICIES_RUNGS_H

#include "branches.h"

struct rung_branch {
	uint64_t branch, explore;
	orr_job at; /* waiting or running stage of the branch; 0: none */
	uint32_t rung;
	bool is_running, is_worse_higher;
	double score; /* score of the last scored stage */
	uint64_t order;
};

/* A score of a finished stage, kept after its branch has left. */
struct rung_score {
	uint64_t explore;
	uint32_t rung;
	double score; /* higher is better */
};

struct rungs {
	struct branches base;  /* the queue of this part holds stages that are in no branch */
	struct rung_branch *v; /* branches in order of arrival */
	size_t n, cap;
	struct rung_score *score;
	size_t n_scores, cap_scores;
	uint32_t workers;
	double eta;
};

#define RUNG_PARAMS                                                                                 \
	ORR_PARAM_REAL("eta", "2", 1.000001, 1e6, "one of eta branches continues after each rung"), \
		ORR_PARAM_INT("workers", "1", 1, 1e6, "concurrent stages, each on an equal part of the cluster")

void *rungs_new(struct orr_jobs *w, size_t size, const struct orr_args *args);
void rungs_free(void *self);
void rungs_arrive(void *self, struct orr_jobs *w, orr_job j);
void rungs_finish(void *self, struct orr_jobs *w, orr_job j, enum orr_job_end how);
void rungs_evict(void *self, struct orr_jobs *w, orr_job j);
/* Starts the branch's stage; false if it does not fit or all workers are busy. */
bool rungs_start(struct rungs *r, struct orr_jobs *w, struct rung_branch *b);
/* Starts stages that are in no branch. */
void rungs_start_others(struct rungs *r, struct orr_jobs *w);
/* Higher is better. */
double rungs_quality(const struct rung_branch *b);

#endif
