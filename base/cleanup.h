/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * cleanup.h - removes temporary files and ends a child process when a signal ends the program
 *
 * Code that makes a temporary file registers its path first and withdraws it once the file has its final name. The handlers of
 * SIGINT, SIGTERM, SIGHUP, SIGQUIT and SIGPIPE remove the registered paths, then let the signal end the program, so that a shell
 * reads 128 plus its number. A file that grows past `ulimit -f` is a failed write (EFBIG) instead of the signal SIGXFSZ.
 */
#ifndef ORR_BASE_CLEANUP_H
#define ORR_BASE_CLEANUP_H

#include <sys/types.h>

/* Exit status of a program that SIGINT ended, for code that handles Ctrl-C itself. */
enum { CLEANUP_INTERRUPTED = 128 + 2 };

/* Installs the handlers. A signal that the parent process ignores (nohup, `command &` in a script) stays ignored. */
void cleanup_on_signals(void);

/* SIGALRM prints a constant text, cleans up like the other signals and ends the program with code 1. */
void cleanup_on_alarm(const char *text);

/* Registers a file or an empty folder; the text is copied. Later entries are removed first. */
struct cleanup;
struct cleanup *cleanup_add(const char *path);
/*
 * Calls create(path, mode), which may complete the path, and registers the path. Signals are blocked during the call. Returns the
 * value of create(), which is below 0 on failure: then *out is NULL, and errno is that of create().
 */
int cleanup_create(char *path, int mode, int (*create)(char *path, int mode), struct cleanup **out);
/* Withdraws an entry; NULL is allowed. */
void cleanup_forget(struct cleanup *c);

/* Sets the process group that a signal kills; 0: none. */
void cleanup_child(pid_t group);
/* Sets a constant text that the handlers of SIGINT, SIGTERM, SIGHUP and SIGALRM print on standard error; NULL: none. */
void cleanup_message(const char *text);

/* Removes all registered paths and kills the child: for code that calls _exit(). Safe in a signal handler. */
void cleanup_now(void);

#endif
