/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Ways in which code of a plugin harms its process; tests/world/isolate.sh puts a call of harm() into a policy of each world. The
 * environment variable HARM names the way. tests/plugins/modes.c names it by a parameter. */
#include <fenv.h>
#include <locale.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile int harm_yes = 1, harm_none;
static jmp_buf harm_nowhere;

static inline void *harm_spin(void *unused)
{
	while (harm_yes)
		;
	return unused;
}

static inline void *harm_nothing(void *unused)
{
	return unused;
}

__attribute__((noinline)) static int harm_deep(int n)
{
	volatile char frame[4096];
	frame[0] = (char)n;
	return harm_yes ? harm_deep(n + 1) + frame[0] : 0;
}

static inline void harm_as(const char *how)
{
	if (!strcmp(how, "exit0"))
		exit(0);
	if (!strcmp(how, "exit7"))
		exit(7);
	if (!strcmp(how, "_exit0"))
		_exit(0);
	if (!strcmp(how, "abort"))
		abort();
	if (!strcmp(how, "segv"))
		*(volatile int *)(size_t)harm_none = 1;
	if (!strcmp(how, "fpe"))
		harm_yes = harm_yes / harm_none;
	if (!strcmp(how, "deep"))
		harm_deep(0);
	if (!strcmp(how, "longjmp"))
		longjmp(harm_nowhere, 1);
	if (!strcmp(how, "kill"))
		raise(SIGKILL);
	if (!strcmp(how, "term"))
		raise(SIGTERM);
	if (!strcmp(how, "pipe"))
		raise(SIGPIPE);
	if (!strcmp(how, "sigstop"))
		raise(SIGSTOP);
	if (!strcmp(how, "parent"))
		kill(getppid(), SIGKILL);
	if (!strcmp(how, "alarm")) {
		alarm(1);
		harm_spin(NULL);
	}
	if (!strcmp(how, "spin"))
		harm_spin(NULL);
	if (!strcmp(how, "sleep"))
		sleep(30);
	if (!strcmp(how, "work")) { /* half a second of processor time, once */
		static clock_t until;
		if (!until)
			until = clock() + CLOCKS_PER_SEC / 2;
		while (clock() < until)
			continue;
	}
	if (!strcmp(how, "pthread_exit"))
		pthread_exit(NULL);
	for (int i = 0; !strcmp(how, "closefds") && i < 64; i++)
		close(i);
	if (!strcmp(how, "locale"))
		setlocale(LC_ALL, "C.UTF-8");
	if (!strcmp(how, "round"))
		fesetround(FE_UPWARD);
	if (!strcmp(how, "stdout"))
		puts("hello");
	for (int i = 0; !strcmp(how, "flood") && i < 100000; i++)
		printf("%d\n", i);
	if (!strcmp(how, "fork"))
		fork();
	if (!strcmp(how, "system"))
		harm_none = system("exit 3");
	if (!strcmp(how, "joined")) {
		pthread_t t;
		pthread_create(&t, NULL, harm_nothing, NULL);
		pthread_join(t, NULL);
	}
	if (!strcmp(how, "thread")) {
		pthread_t t;
		pthread_create(&t, NULL, harm_spin, NULL);
	}
}

static inline void harm(void)
{
	harm_as(getenv("HARM") ? getenv("HARM") : "");
}
