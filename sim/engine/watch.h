/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * watch.h - policies that do not return
 *
 * A thread looks, five times a second, whether a policy's callback has been going on for
 * longer than its limit. Such a callback cannot be unwound, so the handler that main()
 * gave says which it is and ends the program; runs that were finished are in the
 * database, this one is not.
 *
 * Entering and leaving a callback costs two relaxed stores. A struct watch belongs to one
 * run, and so to one thread.
 */
#ifndef ORR_ENGINE_WATCH_H
#define ORR_ENGINE_WATCH_H

#include <stdint.h>

struct watch;

/* label: the policy's, for the message; it must outlive the watch. */
struct watch *watch_new(const char *label, double timeout_s);
void watch_free(struct watch *x);
/* What the numbers count: "job" if nothing is said. */
void watch_noun(struct watch *x, const char *noun);
/* number: of the job (iteration, ..) in hand; UINT64_MAX: none. */
void watch_enter(struct watch *x, const char *what, int64_t now_ns, uint64_t number);
void watch_job(struct watch *x, uint64_t number); /* the callback has come to this one */
void watch_leave(struct watch *x);

/* on_timeout is called from the watchdog's thread with a text; it must not return. */
void watchdog_start(void (*on_timeout)(const char *text));
void watchdog_stop(void);

#endif
