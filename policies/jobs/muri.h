/* SPDX-License-Identifier: GPL-3.0-or-later */
/* muri.h - shared by the files of the policy muri: muri.c decides, muri_groups.c matches jobs, muri_replay.c reads groups from a file */
#ifndef ORR_POLICIES_MURI_H
#define ORR_POLICIES_MURI_H

#include <orrery/jobs.h>

enum { MURI_MOST = 4 };

/* A live job. */
struct muri_job {
	orr_job job;
	uint64_t number;
	uint32_t gpus, gpu_type; /* gpu_type: that of its group; of other jobs, the first that they may use. ORR_ANY_TYPE: no GPUs */
	uint64_t gpu_types;      /* those that the job may use */
	double left_gpu_s;       /* remaining time alone x GPUs, or the remaining time, at the last decision */
	double alone_s;          /* iteration time alone; 0: unknown */
	bool is_candidate;
	/* rules=muri, of the present run: */
	bool is_running;
	double rate, overhead_s;
};

/* Jobs on the same GPUs. */
struct muri_group {
	struct muri_job *member[MURI_MOST];
	uint32_t n, gpus;
	uint32_t type; /* GPU type; ORR_ANY_TYPE: any */
};

struct muri_list {
	struct muri_group *v;
	size_t n, cap;
};

/* muri_groups.c */

/* Merges groups of a GPU type until the GPUs that they request fit those of the type, by matchings of the greatest weight among groups of
 * equal size, or until no groups can be merged. pack: largest number of jobs in a group. window: largest number of groups in one matching.
 */
void muri_merge(struct orr_jobs *w, struct muri_list *list, uint32_t type, uint32_t pack, uint32_t window);
/* Dissolves groups whose jobs would be faster one after the other. */
void muri_dissolve(struct orr_jobs *w, struct muri_list *list);
/* Returns the time of an iteration of all n jobs together; 0: unknown. */
double muri_period(struct orr_jobs *w, struct muri_job *const *member, uint32_t n);

/* muri_replay.c */
struct muri_rows;
struct muri_rows *muri_rows_read(const struct orr_args *args, struct orr_error *err);
void muri_rows_free(struct muri_rows *r);
/* Lists the groups of the file at this time; n live jobs. Returns false if the run is over. */
bool muri_replay(struct muri_rows *r, struct orr_jobs *w, struct muri_job *job, size_t n, struct muri_list *list);

#endif
