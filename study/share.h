/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * share.h - which runs of a study a process carries out, and the databases of the processes
 *
 * A task is a point or a search. Process k of n (1 to n) carries out task i if i modulo n is k - 1, and writes the runs to
 * DB.shard-K-of-N. Shards are merged into DB in the order of the study, so DB has the digest of a study that one process ran. A process is
 * started by hand (--shard K/N), as a task of a Slurm array, or as a rank of mpirun or srun if the program was configured with MPI.
 */
#ifndef ORR_STUDY_SHARE_H
#define ORR_STUDY_SHARE_H

#include <orrery/api.h>

#include "base/sbuf.h"

#include <stdbool.h>
#include <stddef.h>

struct share {
	unsigned number, count; /* 1 <= number <= count; count 0: all tasks are of this process */
};

/* Parses "K/N". */
int share_parse(const char *text, struct share *out, struct orr_error *err);
static inline bool share_has(const struct share *s, size_t task)
{
	return !s->count || task % s->count == s->number - 1;
}
/* Returns the name of the share's database; free with mem_free. */
char *share_db(const char *db, const struct share *s);
/* Lists the shards of a database that exist, DB.shard-*, by name. Free with share_free_list(). */
char **share_list(const char *db, size_t *n);
/* Appends the pattern of the names of shards for glob(). */
void share_put_pattern(struct sbuf *b, const char *db);
/* Recovers a shard whose process was killed or found the disk full: applies and removes its log, and makes missing tables. */
int share_recover(const char *shard, struct orr_error *err);
/* Removes a shard that was merged, and what a killed process left of its logs. */
void share_remove(const char *shard);
void share_free_list(char **list, size_t n);

/* ---- several processes that MPI started (mpi.c) ---- */

/* Returns the share of this rank; count 0: not started by mpirun or srun, or built without MPI. */
struct share share_of_rank(void);
/* Waits for all ranks and returns the largest code of any of them. */
int share_worst(int code);

/* ---- Slurm ---- */

struct slurm_job {
	const char *study, *db, *options; /* options: options of sbatch for both jobs; NULL: none */
	unsigned tasks;
	int threads;
	bool is_retry, is_fresh, is_check, is_in_process; /* flags of the tasks */
};
/* Appends the script of the job array. */
void slurm_script(struct sbuf *out, const struct slurm_job *j);
/* Submits the array, and a job that merges the shards and prints the table when all tasks have ended. Prints the numbers of both jobs. */
int slurm_submit(const struct slurm_job *j, struct orr_error *err);

#endif
