/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "plots/gnuplot.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
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
		bool is_control = (unsigned char)s[i] < 0x20 || s[i] == 0x7f;
		if (s[i] == '\'')
			sbuf_puts(out, "'.\"'\".'"); /* gnuplot mishandles a doubled quote at the start */
		else
			sbuf_putc(out, is_control ? '?' : s[i]);
	}
	sbuf_puts(out, n < len ? "…'" : "'");
}

enum { NO_GNUPLOT = 127, NO_DIRECTORY = 126 };

static _Noreturn void become_gnuplot(const char *dir, int in, int out)
{
	if (chdir(dir))
		_exit(NO_DIRECTORY);
	if (dup2(in, 0) < 0 || dup2(out, 1) < 0 || dup2(out, 2) < 0)
		_exit(1);
	execlp("gnuplot", "gnuplot", "-d", "-", (char *)NULL);
	_exit(NO_GNUPLOT);
}

/* Writes the script to gnuplot. fd is a socket instead of a pipe: MSG_NOSIGNAL then avoids SIGPIPE after the reader has ended,
 * without changing the process's signal handlers. */
static void feed(int fd, const struct sbuf *script)
{
	for (size_t sent = 0; sent < script->len;) {
		ssize_t n = send(fd, script->text + sent, script->len - sent, MSG_NOSIGNAL);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return; /* gnuplot has ended; its exit status and messages give the reason */
		sent += (size_t)n;
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
	return orr_fail(err, ORR_EFAIL, "gnuplot failed (status %d): %s", status, first[0] ? first : "no message");
}

static int talk(const char *dir, const struct sbuf *script, const int *ends, FILE *said, struct orr_error *err)
{
	pid_t child = fork();
	if (child == 0)
		become_gnuplot(dir, ends[0], fileno(said));
	close(ends[0]);
	if (child > 0)
		feed(ends[1], script);
	close(ends[1]);
	if (child < 0)
		return orr_fail(err, ORR_EFAIL, "gnuplot cannot be started: %s", strerror(errno));
	int status = 0;
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	if (code == NO_GNUPLOT)
		return orr_fail(
			err, ORR_EDEVICE, "no figures: gnuplot is not installed: expected the program gnuplot (package gnuplot-nox)");
	if (code == NO_DIRECTORY)
		return orr_fail(err, ORR_EFAIL, "%s: expected a directory that can be entered", dir);
	return code ? complain(said, code, err) : ORR_OK;
}

int gnuplot_run(const char *dir, const struct sbuf *script, struct orr_error *err)
{
	int ends[2];
	FILE *said = tmpfile();
	if (!said)
		return orr_fail(err, ORR_EFAIL, "cannot create a temporary file for gnuplot's messages: %s", strerror(errno));
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends)) {
		fclose(said);
		return orr_fail(err, ORR_EFAIL, "cannot connect to gnuplot: %s", strerror(errno));
	}
	int code = talk(dir, script, ends, said, err);
	fclose(said);
	return code;
}
