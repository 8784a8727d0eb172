/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/program.h"

#include "base/cleanup.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

bool program_find(const char *name, struct sbuf *out)
{
	const char *list = getenv("PATH");
	struct stat st;
	for (const char *at = list ? list : "/bin:/usr/bin"; *at;) {
		size_t n = strcspn(at, ":");
		sbuf_clear(out);
		sbuf_add(out, at, n);
		sbuf_printf(out, "/%s", name);
		if (*at == '/' && !stat(out->text, &st) && S_ISREG(st.st_mode) && !access(out->text, X_OK))
			return true;
		at += n + (at[n] == ':');
	}
	return false;
}

int program_run(const char *path, const char *const argv[])
{
	int status;
	fflush(NULL);
	pid_t pid = fork();
	if (pid < 0)
		return -1;
	if (!pid) {
		setpgid(0, 0); /* own process group: a signal that ends orrery kills the whole group (cleanup_child()) */
		dup2(STDERR_FILENO, STDOUT_FILENO);
		execv(path, (char *const *)(uintptr_t)argv);
		_exit(127);
	}
	setpgid(pid, pid);
	cleanup_child(pid);
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -1;
	cleanup_child(0);
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}
