/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * quota.h - quotas of partitions: what each partition uses, and the part of the cluster that its policy sees
 *
 * Each partition has its own policy object, which sees the jobs of the partition only. To this object the cluster has A GPUs:
 *
 *	without borrowing:  A = quota
 *	with borrowing:     A = max(used, sum of all quotas - sum over the others of (used + requested))
 *	reclaim=preempt:    A is at least the quota
 *
 * requested: GPUs of waiting jobs that the partition could start within its quota. It counts only while a job runs, so that a job
 * larger than its quota can start on an idle cluster. docs/models/jobs-partitions.md states the model.
 *
 * Invariants: without borrowing no partition uses more than its quota; with borrowing all together use at most the sum of the quotas.
 * `used` of a partition is the sum over its running jobs; jobs that share GPUs count these once. Units: 1/1000 GPU.
 */
#ifndef ORR_JOBS_QUOTA_H
#define ORR_JOBS_QUOTA_H

#include "jobs/job.h"

struct job_rec;
struct quota_set;

enum quota_reclaim { QUOTA_WAIT, QUOTA_PREEMPT };

struct quota_part {
	int64_t quota, used;
	int64_t waiting;       /* requests of waiting jobs, each at most the quota */
	int64_t requested;     /* the part of them within the quota */
	uint64_t live;         /* jobs that the policy knows */
	uint64_t jobs;         /* number that has arrived */
	uint64_t told;         /* quota_digest() when calls.c last checked whether a call is due */
	uint64_t given;        /* releases of GPUs by jobs of the partition */
	uint64_t told_of;      /* releases of GPUs by jobs of other partitions at that check */
	bool is_due;           /* schedule() of its policy is due */
	bool is_blocked;       /* the quota allowed a start, no GPUs were free for it, and none were released by others since then */
	uint32_t last_running; /* slot of its running job that started last, on ties the one with the largest number; NONE: none runs */
	int64_t held_of[CLUSTER_MAX_TYPES]; /* `used` by type */
	int64_t since;                      /* time of the last change of `used` */
	timeline_sum borrowed_ns, used_ns;
};

/* The cluster as the policy of a partition sees it (quota_view.h). */
struct quota_view {
	uint32_t of;                                                      /* partition; NONE: none yet */
	uint64_t changes;                                                 /* number of changes of the pool */
	int64_t room, call;                                               /* call: number of the call at this instant */
	uint32_t total_of[CLUSTER_MAX_TYPES], free_of[CLUSTER_MAX_TYPES]; /* with several types, each has up to the whole allowance */
	uint32_t total_gpus, free_gpus;                                   /* of all types */
	bool is_restricted;                                               /* more GPUs of a type are free than it may use */
	bool has_nodes;                                                   /* held and free are those of this view */
	uint32_t *held, *free; /* by node: GPUs of the partition's jobs, also those of which they hold a part; free ones that it may use */
};

struct quotas {
	const struct quota_set *set;
	bool borrows;
	enum quota_reclaim reclaim;
	struct quota_part *part;
	int64_t used, requested, all; /* sums; all: of the quotas */
	uint32_t *order;              /* partitions, in the order in which their policies are called */
	uint32_t *of_queue, n_queues; /* by number of the queue: partition + 1; 0: not searched yet */
	uint64_t refused, reclaimed;  /* starts that a quota refused; jobs that were preempted for another partition */
	orr_job *lost;                /* preempted jobs of which their policies have not been told */
	uint32_t n_lost, cap_lost;
	struct quota_view view;
	uint32_t n_checks;
};

void quota_begin(struct orr_jobs *w);
void quota_free(struct orr_jobs *w);
/* Returns the partition of a row; fails the run and returns 0 if there is none. Without partitions it is 0. */
uint32_t quota_partition(struct orr_jobs *w, const struct job_rec *r);
/* Returns whether a job with this request can never start. */
bool quota_excludes(const struct orr_jobs *w, uint32_t partition, const struct pool_request *r);
/* Returns the GPUs of a request, 1/1000. */
int64_t quota_request(const struct pool_request *r);
/* Returns the GPUs that a running job's own allocation takes, 1/1000; 0 of one beside another allocation. */
int64_t quota_held(const struct job *job);

/* Returns the whole GPUs of an allocation; 0 of one beside another allocation. */
uint32_t quota_whole(const struct pool_alloc *a);

/* The policy learns of a waiting job, or the job ends. */
void quota_knows(struct orr_jobs *w, const struct job *job);
void quota_forgets(struct orr_jobs *w, const struct job *job, bool was_waiting);
/* A job starts on its GPUs, or is about to release them and waits or ends. */
void quota_takes(struct orr_jobs *w, struct job *job);
void quota_gives(struct orr_jobs *w, const struct job *job);
void quota_waits(struct orr_jobs *w, const struct job *job);

/* Returns what a partition may use beyond its present use. */
int64_t quota_room(const struct orr_jobs *w, uint32_t partition);
/* Returns whether a job may start with this request when its partition has released `freed`. Counts refusals. */
bool quota_allows(struct orr_jobs *w, const struct job *job, const struct pool_request *r, int64_t freed);
/* Returns a number that is equal as long as the partition may use the same GPUs. */
uint64_t quota_digest(const struct orr_jobs *w, uint32_t partition, const struct quota_view *v);
/* Sorts the partitions: first those with jobs that wait within their quota, then by use over quota, least first. */
void quota_sort(struct orr_jobs *w);

const char *quota_check(const struct orr_jobs *w);
void quota_metrics(struct orr_jobs *w);

#endif
