/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * sweep.h - orrery sweep: carries out the runs of a study file at all their points, and the runs that searches request
 *
 * The file has the grammar of a scenario book (docs/reference/studies.md). Runs are executed in rounds: the listed and drawn points and
 * the first point of each search, then the next point of each search, until all searches are done. Rows are in the order of the file: run,
 * point, policy, value of the search.
 *
 * Invariant: rows depend on the file and its inputs alone, not on the number of threads, nor on runs that the database had.
 */
#ifndef ORR_STUDY_SWEEP_H
#define ORR_STUDY_SWEEP_H

#include "study/share.h"
#include "world/world.h"

struct sweep_request {
	const char *path;
	struct world_output output; /* db, fresh, check, json, quiet, threads; out_dir: study.csv is written there */
	bool is_retry;              /* --retry: repeats runs that failed in an earlier study */
	bool is_dry;                /* --dry-run: prints what would run */
	struct share share;         /* --shard: runs only these tasks, into a shard of db, and prints no table */
	bool is_status;             /* --status: prints the progress of the parts and runs nothing */
	bool is_merge;              /* --merge: merges the shards into db before the study runs, and removes the shards */
};

/* Runs the study and prints its table. As a rank of MPI, runs the rank's share; the first rank then merges the shards and prints the
 * table. If runs fail, the results of the others are printed, then the failed points, and the error is
 * ORR_EFAIL. */
int study_sweep(const struct sweep_request *r, struct orr_error *err);

#endif
