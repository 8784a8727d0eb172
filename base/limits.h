/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * limits.h - bounds that the command line states for one command: --max-memory SIZE and --max-time DURATION
 *
 * Memory: the kernel counts the process's data (RLIMIT_DATA: heap, private mappings, stacks of threads) and refuses an allocation
 * that passes the bound before memory is taken. mem.h then calls the handler of main(), which prints the error of limits_exhausted().
 * Code whose need is known in advance calls limits_claim(), which names the input. Time: a timer ends the program as a signal does;
 * runs that ended are stored. Without the options there are no bounds. Child processes inherit the bound of memory, each for itself.
 */
#ifndef ORR_BASE_LIMITS_H
#define ORR_BASE_LIMITS_H

#include <orrery/api.h>

#include "base/sbuf.h"

/* Removes --max-memory SIZE and --max-time DURATION (also with =) from the arguments and sets the bounds. Arguments after "--" are
 * kept. argv[*argc] becomes NULL. */
int limits_take_options(int *argc, char **argv, struct orr_error *err);

/* Appends " --max-memory 1G --max-time 60s" as given; nothing without bounds. The texts contain no character special to a shell. */
void limits_put_options(struct sbuf *out);

/* Refuses a need of `bytes` that is known in advance: ORR_EINPUT if it exceeds --max-memory. what: names the input, such as
 * "scenario: 1000000 replications". */
int limits_claim(double bytes, const char *what, struct orr_error *err);

/* Fills in the error of an allocation that failed, which names the input of this thread (limits_begin_input()). Allocates nothing.
 * Returns its code. */
int limits_exhausted(size_t wanted, struct orr_error *err);

/* Names what this thread reads or runs, for limits_exhausted(): "t.csv", "policy fifo". The text is copied. "": nothing. */
void limits_begin_input(const char *name);

enum { LIMITS_MOST_THREADS = 4096 };
/* Returns an error if OMP_NUM_THREADS exceeds LIMITS_MOST_THREADS. */
int limits_check_threads(struct orr_error *err);
/* Returns the number of threads for `tasks` tasks: at most `threads`, one per task, and what --max-memory leaves for stacks. At least
 * 1. */
int limits_threads(int threads, size_t tasks);

/* Calls fn(ctx) with a stack of 8 MiB also where `ulimit -s` gives less, and sets that size for threads started later. Returns its
 * value. */
int limits_call_with_stack(int (*fn)(void *ctx), void *ctx);

#endif
