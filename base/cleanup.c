/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/cleanup.h"

#include "base/mem.h"

#include <orrery/api.h>

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

struct cleanup {
	struct cleanup *next;
	char *path;
};

static struct cleanup *newest;
static _Atomic pid_t child;
static const char *_Atomic message, *_Atomic alarm_text;

/*
 * A spin lock, because a signal handler must not wait for a mutex. Its holder blocks all signals, so a handler never waits for the
 * thread that it interrupted.
 */
static atomic_flag is_locked = ATOMIC_FLAG_INIT;

static void lock(sigset_t *before)
{
	sigset_t all;
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, before);
	while (atomic_flag_test_and_set(&is_locked))
		;
}

static void unlock(const sigset_t *before)
{
	atomic_flag_clear(&is_locked);
	pthread_sigmask(SIG_SETMASK, before, NULL);
}

struct cleanup *cleanup_add(const char *path)
{
	sigset_t before;
	char *copy = mem_strdup(path);
	struct cleanup *c = mem_zalloc(1, sizeof *c);
	lock(&before);
	*c = (struct cleanup){ .next = newest, .path = copy };
	newest = c;
	unlock(&before);
	return c;
}

int cleanup_create(char *path, int mode, int (*create)(char *path, int mode), struct cleanup **out)
{
	sigset_t before;
	struct cleanup *c = mem_zalloc(1, sizeof *c);
	c->path = mem_strdup(path);
	lock(&before);
	int made = create(path, mode), why = errno;
	if (made >= 0) {
		strcpy(c->path, path); /* create() may change the path but not its length */
		c->next = newest;
		newest = c;
	}
	unlock(&before);
	*out = made < 0 ? NULL : c;
	if (made < 0) {
		mem_free(c->path);
		mem_free(c);
	}
	errno = why;
	return made;
}

void cleanup_forget(struct cleanup *c)
{
	sigset_t before;
	if (!c)
		return;
	lock(&before);
	struct cleanup **at = &newest;
	while (*at && *at != c)
		at = &(*at)->next;
	if (*at) /* cleanup_now() empties the list */
		*at = c->next;
	unlock(&before);
	mem_free(c->path);
	mem_free(c);
}

void cleanup_child(pid_t group)
{
	atomic_store(&child, group);
}

void cleanup_message(const char *text)
{
	atomic_store(&message, text);
}

void cleanup_now(void)
{
	sigset_t before;
	pid_t group = atomic_load(&child);
	if (group > 0)
		kill(-group, SIGKILL);
	lock(&before);
	for (const struct cleanup *c = newest; c; c = c->next)
		if (unlink(c->path))
			rmdir(c->path);
	newest = NULL;
	unlock(&before);
}

/* ---- signals ---- */

/* Prints a text; NULL prints nothing. A failure of standard error is ignored. */
static void put_text(const char *text)
{
	ssize_t written = text ? write(STDERR_FILENO, text, strlen(text)) : 0;
	(void)written;
}

static void end_on_alarm(int sig)
{
	(void)sig;
	put_text(atomic_load(&alarm_text));
	put_text(atomic_load(&message));
	cleanup_now();
	_exit(ORR_EFAIL);
}

void cleanup_on_alarm(const char *text)
{
	struct sigaction ours = { .sa_handler = end_on_alarm };
	sigset_t alarm;
	atomic_store(&alarm_text, text);
	sigemptyset(&ours.sa_mask);
	sigaction(SIGALRM, &ours, NULL);
	sigemptyset(&alarm);
	sigaddset(&alarm, SIGALRM);
	pthread_sigmask(SIG_UNBLOCK, &alarm, NULL);
}

static void end_on_signal(int sig)
{
	int was = errno;
	const char *text = atomic_load(&message);
	bool is_from_user = sig == SIGINT || sig == SIGTERM || sig == SIGHUP;
	put_text(is_from_user ? text : NULL);
	cleanup_now();
	signal(sig, SIG_DFL);
	errno = was;
	raise(sig); /* the signal is blocked now and is delivered when this handler returns */
}

void cleanup_on_signals(void)
{
	static const int fatal[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE };
	struct sigaction present, ours = { .sa_handler = end_on_signal };
	sigemptyset(&ours.sa_mask);
	for (size_t i = 0; i < sizeof fatal / sizeof *fatal; i++)
		if (!sigaction(fatal[i], NULL, &present) && present.sa_handler == SIG_DFL)
			sigaction(fatal[i], &ours, NULL);
#ifdef SIGXFSZ
	signal(SIGXFSZ, SIG_IGN);
#endif
}
