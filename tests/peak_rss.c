/* SPDX-License-Identifier: GPL-3.0-or-later */
/* peak_rss COMMAND ARGUMENTS..: runs the command and prints its peak resident memory in KiB. */
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	if (argc < 2) {
		fputs("usage: peak_rss COMMAND [ARGUMENTS]\n", stderr);
		return 2;
	}
	pid_t child = fork();
	if (!child) {
		execvp(argv[1], argv + 1);
		perror(argv[1]);
		_exit(127);
	}
	int status;
	struct rusage used;
	if (child < 0 || wait4(child, &status, 0, &used) != child)
		return 2;
	printf("%ld\n", used.ru_maxrss);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
