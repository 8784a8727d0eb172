/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "plots/gnuplot.h"

#include "base/cleanup.h"
#include "base/num.h"
#include "base/program.h"
#include "base/utf8.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

void gnuplot_quote(struct sbuf *out, const char *s, size_t max_bytes)
{
	size_t len = strlen(s), n = len;
	if (len > max_bytes) {
		n = max_bytes;
		while (n && ((unsigned char)s[n] & 0xc0) == 0x80)
			n--; /* avoids a split of a multi-byte character */
	}
	sbuf_putc(out, '\'');
	for (size_t i = 0; i < n; i++) {
		size_t bytes = utf8_length(s + i, n - i);
		bool is_control = !bytes || (unsigned char)s[i] < 0x20 || s[i] == 0x7f ||
				  (bytes == 2 && s[i] == '\xc2' && (unsigned char)s[i + 1] < 0xa0);
		if (s[i] == '\'')
			sbuf_puts(out, "'.\"'\".'"); /* gnuplot mishandles a doubled quote at the start */
		else if (is_control)
			sbuf_putc(out, '?');
		else
			sbuf_add(out, s + i, bytes);
		i += bytes ? bytes - 1 : 0;
	}
	sbuf_puts(out, n < len ? "…'" : "'");
}

/* ---- the program ---- */

enum { NOT_STARTED = 127, NO_DIRECTORY = 126 };

static _Noreturn void become_gnuplot(const char *program, const char *dir, int in, int out)
{
	setpgid(0, 0); /* the limit of time also ends what gnuplot starts */
	if (chdir(dir))
		_exit(NO_DIRECTORY);
	if (dup2(in, 0) < 0 || dup2(out, 1) < 0 || dup2(out, 2) < 0)
		_exit(1);
	execl(program, "gnuplot", "-d", "-", (char *)NULL);
	_exit(NOT_STARTED);
}

/* ---- its limit of time ---- */

/* Time in seconds that gnuplot may take without reading a part of the script, and to end after the whole. */
static double limit_s(void)
{
	const char *text = getenv("ORRERY_GNUPLOT_TIMEOUT");
	double v;
	return text && num_real(text, strlen(text), &v) && v > 0 && v < 1e6 ? v : 300;
}

static double now_s(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Writes the script to gnuplot. Returns false if gnuplot reads nothing for the limit of time. fd is a socket instead of a pipe:
 * MSG_NOSIGNAL then avoids SIGPIPE after the reader has ended, without changing the process's signal handlers. */
static bool feed(int fd, const struct sbuf *script, double limit)
{
	struct pollfd room = { .fd = fd, .events = POLLOUT };
	double last = now_s();
	for (size_t sent = 0; sent < script->len;) {
		ssize_t n = send(fd, script->text + sent, script->len - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n > 0) {
			sent += (size_t)n;
			last = now_s();
		} else if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
			if (now_s() - last > limit)
				return false;
			poll(&room, 1, 100);
		} else if (n == 0 || errno != EINTR) {
			return true; /* gnuplot has ended; its exit status and messages give the reason */
		}
	}
	return true;
}

/* Waits for the end of gnuplot. Returns false after the limit of time. */
static bool wait_for(pid_t pid, int *status, double limit)
{
	struct timespec pause = { .tv_nsec = 1000000 };
	double begin = now_s();
	for (;;) {
		pid_t got = waitpid(pid, status, WNOHANG);
		if (got == pid || (got < 0 && errno != EINTR))
			return true;
		if (now_s() - begin > limit)
			return false;
		nanosleep(&pause, NULL);
		pause.tv_nsec = pause.tv_nsec < 16000000 ? pause.tv_nsec * 2 : pause.tv_nsec;
	}
}

/* Turns gnuplot's messages into an error, without the lines that mark the position. */
static int complain(FILE *said, int status, struct orr_error *err)
{
	char line[256], first[256] = "";
	rewind(said);
	while (fgets(line, sizeof line, said)) {
		char *text = line + strspn(line, " \t^\r\n");
		if (*text)
			snprintf(first, sizeof first, "%s", text);
	}
	first[strcspn(first, "\n")] = '\0';
	return orr_fail(err, ORR_EFAIL, "gnuplot failed (status %d): %s", status, first[0] ? first : "it printed no message");
}

static int talk(const char *program, const char *dir, const struct sbuf *script, const int *ends, FILE *said, struct orr_error *err)
{
	double limit = limit_s();
	int status = 0;
	pid_t pid = fork();
	if (pid == 0)
		become_gnuplot(program, dir, ends[0], fileno(said));
	int failed = errno;
	close(ends[0]);
	if (pid < 0) {
		close(ends[1]);
		return orr_fail(err, ORR_EFAIL, "gnuplot cannot be started: %s", strerror(failed));
	}
	setpgid(pid, pid); /* also here: the child may not have run yet */
	cleanup_child(pid);
	bool is_fed = feed(ends[1], script, limit);
	close(ends[1]);
	bool has_ended = is_fed && wait_for(pid, &status, limit);
	if (!has_ended) {
		kill(-pid, SIGKILL);
		while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
			;
	}
	cleanup_child(0);
	if (!has_ended)
		return orr_fail(err, ORR_EFAIL,
			"%s made no progress for %g s and was ended: expected a gnuplot that works (ORRERY_GNUPLOT_TIMEOUT sets the limit "
			"in "
			"seconds)",
			program, limit);
	int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	if (code == NOT_STARTED)
		return orr_fail(err, ORR_EFAIL, "%s: cannot be run: expected gnuplot", program);
	if (code == NO_DIRECTORY)
		return orr_fail(err, ORR_EFAIL, "%s: expected a directory that can be entered", dir);
	return code ? complain(said, code, err) : ORR_OK;
}

int gnuplot_run(const char *dir, const struct sbuf *script, struct orr_error *err)
{
	int ends[2], code;
	struct sbuf program = { 0 };
	if (!program_find("gnuplot", &program)) {
		sbuf_free(&program);
		return orr_fail(err, ORR_EDEVICE,
			"gnuplot is not installed: expected the program gnuplot (package gnuplot-nox) in an absolute folder of PATH");
	}
	FILE *said = tmpfile();
	if (!said)
		code = orr_fail(err, ORR_EFAIL, "cannot create a temporary file for gnuplot's messages: %s", strerror(errno));
	else if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
		code = orr_fail(err, ORR_EFAIL, "cannot connect to gnuplot: %s", strerror(errno));
	else
		code = talk(sbuf_text(&program), dir, script, ends, said, err);
	if (said)
		fclose(said);
	sbuf_free(&program);
	return code;
}
