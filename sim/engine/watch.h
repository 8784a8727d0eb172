/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * watch.h - watchdog for callbacks of policies that do not return
 *
 * A thread checks five times a second whether a callback of a policy has exceeded its time limit. Such a callback cannot be
 * unwound, so the handler that main() installed reports it and ends the program. Finished runs are in the database; the current
 * run is lost. Runs of plugins have their own processes, which have no such thread. There another process reads the watch and
 * ends only this run (world/isolate.h).
 *
 * Entering and leaving a callback costs two relaxed stores each. A struct watch belongs to
 * one run, and so to one thread.
 */
#ifndef ORR_ENGINE_WATCH_H
#define ORR_ENGINE_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct watch;

/* Makes a watch. label: the policy's label for the message; it must outlive the watch. */
struct watch *watch_new(const char *label, double timeout_s);
void watch_free(struct watch *x);
/* Sets the noun that messages print before the number, default "job". */
void watch_noun(struct watch *x, const char *noun);
/* Enters a callback; returns its number for watch_leave(). number: of the current job (iteration, ..); UINT64_MAX: none. */
uint64_t watch_enter(struct watch *x, const char *what, int64_t now_ns, uint64_t number);
void watch_job(struct watch *x, uint64_t number); /* sets the number that the callback now handles */
void watch_again(struct watch *x);                /* starts the time limit again, within a callback */
/* Stops the time limit until watch_again(): the callback called a function of this program that may take long. */
void watch_pause(struct watch *x);
/* Leaves the callback. If another one is still open, the policy has left it by longjmp() or an exception, and the state of the run is
 * lost: a separate process ends by abort(). */
void watch_leave(struct watch *x, uint64_t call);

/*
 * ---- a watch that another process reads ----
 *
 * Watches that a process makes after watch_place() lie in the given memory, which processes share, until they are freed: as many as there
 * are places. A process that was forked before may read it at any time, even while the contents are damaged.
 */
enum { WATCH_PLACES = 2, WATCH_SIZE = 128 }; /* two policies may share a run */
struct watch_view {
	char what[24], noun[24]; /* name of the callback that runs, or ran last; "": none did */
	bool is_within;          /* the callback has not returned */
	bool is_skipped;         /* a callback was left without a return */
	bool is_paused;          /* the callback waits for a function of this program: watch_pause() */
	uint64_t count;          /* number of callbacks entered */
	int64_t now_ns;
	uint64_t number; /* UINT64_MAX: none */
};
/* Sets the memory: WATCH_PLACES * WATCH_SIZE bytes, all zero, aligned like a pointer. */
void watch_place(void *memory);
/* Reads the watch at a place. Returns false if none was made there. */
bool watch_read(const void *memory, size_t at, struct watch_view *out);
/* Writes "policy LABEL: job 3 at 12.000000000 s: ". */
void watch_where(char *out, size_t size, const char *label, const struct watch_view *v);

/* Starts the watchdog. on_timeout is called in the watchdog's thread with a message; it must not return. */
void watchdog_start(void (*on_timeout)(const char *text));
void watchdog_stop(void);

#endif
