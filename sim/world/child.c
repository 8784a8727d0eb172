/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "world/child.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef _OPENMP
#include <omp.h>
#endif

static void close_from(int first)
{
#ifdef SYS_close_range
	if (!syscall(SYS_close_range, (unsigned)first, ~0u, 0u))
		return;
#endif
	long most = sysconf(_SC_OPEN_MAX);
	for (int fd = first; fd < (most > 0 && most < 65536 ? (int)most : 65536); fd++)
		close(fd);
}

static void open_as(int number, const char *path, int how)
{
	int fd = open(path, how);
	if (fd >= 0 && fd != number) {
		dup2(fd, number);
		close(fd);
	}
}

static void offer_to_the_killer(void)
{
	int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	ssize_t n = write(fd, "1000", 4);
	(void)n; /* an error is ignored: the score only selects the process that is killed first */
	close(fd);
}

void child_begin(int fd)
{
	static const int handled[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGALRM, SIGXFSZ, SIGCHLD };
	sigset_t none;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (size_t i = 0; i < sizeof handled / sizeof *handled; i++)
		if (signal(handled[i], SIG_DFL) == SIG_IGN)
			signal(handled[i], SIG_IGN);
	signal(SIGINT, SIG_IGN); /* signals of the terminal are ignored: the parent ends the child */
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	dup2(fd, CHILD_FD);
	close_from(CHILD_FD + 1);
	open_as(STDIN_FILENO, "/dev/null", O_RDONLY);
	offer_to_the_killer();
#ifdef _OPENMP
	/* The threads of libgomp exist only in the parent. A parallel region with several threads would wait for them forever. */
	omp_set_max_active_levels(0);
#endif
}

void child_end_text(int status, char *out, size_t size)
{
	if (WIFSIGNALED(status))
		snprintf(out, size, "was ended by signal %d (%s)", WTERMSIG(status), strsignal(WTERMSIG(status)));
	else if (WIFSTOPPED(status))
		snprintf(out, size, "was stopped by signal %d (%s)", WSTOPSIG(status), strsignal(WSTOPSIG(status)));
	else
		snprintf(out, size, "ended with status %d", WEXITSTATUS(status));
}
