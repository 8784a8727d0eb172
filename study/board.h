/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * board.h - the progress of a study in several processes
 *
 * Each process replaces a small file beside its shard, DB.shard-K-of-N.progress, at most once a second. A file that is replaced as a
 * whole can be read from any machine at any time, unlike a database that another machine writes. The files are removed when the
 * shards are merged.
 */
#ifndef ORR_STUDY_BOARD_H
#define ORR_STUDY_BOARD_H

#include "base/sbuf.h"
#include "study/share.h"

#include <stddef.h>

/* The state of a part. */
struct board_state {
	struct share share;
	double runs, total;    /* number of runs that ended, plus the completed shares of other runs; expected number of runs */
	double failed;         /* number of failed runs among those that ended */
	double begun, written; /* time of the last change, seconds since 1970 */
	bool is_ended;
};

/* ---- the writer ---- */

struct board;
/* Begins the file of a shard. total: expected number of runs. */
struct board *board_new(const char *shard, const struct share *share, double total);
/* Sets the number of runs that have ended, plus the completed shares of other runs. Only one thread at a time calls the functions of a
 * board. */
void board_runs(struct board *b, double runs);
void board_failed(struct board *b, double failed);
void board_total(struct board *b, double total);
/* Writes the last state and frees the board. is_ended: the part has ended. board may be NULL. */
void board_end(struct board *b, bool is_ended);

/* ---- readers ---- */

/* Reads the parts of a database whose files exist, in order of number; free with mem_free. Files that state different numbers of
 * parts are of several studies: only those of the study that wrote last are returned. */
struct board_state *board_read(const char *db, size_t *n);
/* Removes the files. */
void board_remove(const char *db);
/* Appends "120 of 400 runs (30 %), 2 failed, 8 of 8 parts, about 3 min left". now: seconds since 1970. */
void board_put_sum(struct sbuf *out, const struct board_state *list, size_t n, double now);
/* Appends a line for each part, and names parts that have not begun. */
void board_put_parts(struct sbuf *out, const struct board_state *list, size_t n, double now);
double board_now(void);

/* Shows the sum on standard error from a separate thread: on a terminal in place, else as a line after 1, 2, 4, .. 64 s and then each
 * 64 s. */
struct board_watch;
struct board_watch *board_watch_start(const char *db);
void board_watch_stop(struct board_watch *w); /* NULL is allowed */

#endif
