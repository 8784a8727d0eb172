/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Tests the progress bar on a terminal, which a pseudo terminal replaces: 30 characters, the mean of the parts, the remaining time, and
 * a clear line at the end. Without a terminal there is no output.
 */
#include "study/progress.h"

#include "tests/tap.h"

#include <fcntl.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static int terminal, saved;

static bool open_terminal(void)
{
	terminal = posix_openpt(O_RDWR | O_NOCTTY);
	if (terminal < 0 || grantpt(terminal) || unlockpt(terminal))
		return false;
	const char *name = ptsname(terminal);
	int fd = name ? open(name, O_RDWR | O_NOCTTY) : -1;
	if (fd < 0)
		return false;
	saved = dup(STDERR_FILENO);
	dup2(fd, STDERR_FILENO);
	close(fd);
	return fcntl(terminal, F_SETFL, O_NONBLOCK) == 0;
}

/* Returns the output since the last call. */
static const char *shown(void)
{
	static char text[2000];
	ssize_t n = read(terminal, text, sizeof text - 1);
	text[n > 0 ? n : 0] = '\0';
	return text;
}

static void pause_ms(long ms)
{
	struct timespec t = { ms / 1000, ms % 1000 * 1000000 };
	nanosleep(&t, NULL);
}

static void test_bar(void)
{
	struct progress *p = progress_new("runs", 2, false);
	ok(p != NULL, "a terminal has a bar");
	progress_report(p, 0, 0.2);
	same_text(shown(), "", "nothing is shown at once");
	pause_ms(210);
	progress_report(p, 0, 0.5);
	const char *text = shown();
	/* The mean of the parts, (0.5 + 0) / 2, fills 7 of 30 characters. A quarter took 0.21 s, so less than a second is left. */
	ok(strstr(text, "\rruns [#######.......................]  25 %, 1 s left \033[K") == text, "a quarter is done: %s",
		*text ? text + 1 : text);
	progress_report(p, 1, 1);
	same_text(shown(), "", "not again within 0.2 s");
	pause_ms(210);
	progress_report(p, 1, 0.9);
	text = shown();
	ok(strstr(text, "\rruns [#####################.........]  70 %, 0 s left \033[K") == text, "the mean of both parts: %s",
		*text ? text + 1 : text);
	progress_free(p);
	same_text(shown(), "\r\033[K", "the line is cleared");
}

static void test_left(void)
{
	struct progress *p = progress_new("day", 1, false);
	pause_ms(220);
	progress_report(p, 0, 0.01);
	const char *text = shown();
	ok(strstr(text, "\rday [..............................]   1 % \033[K") == text, "one per cent tells no time: %s",
		*text ? text + 1 : text);
	pause_ms(220);
	progress_report(p, 0, 0.011); /* 0.44 s for 1.1 % give 40 s in total */
	text = shown();
	int seconds = 0;
	ok(sscanf(text, "\rday [..............................]   1 %%, %d s left", &seconds) == 1 && seconds >= 39 && seconds < 88,
		"time left in proportion: %s", *text ? text + 1 : text);
	pause_ms(1500);
	progress_report(p, 0, 0.0102); /* 2 s for 1 % give 190 s, or slightly more */
	text = shown();
	int minutes = 0;
	ok(sscanf(text, "\rday [..............................]   1 %%, %d min left", &minutes) == 1 && minutes >= 3 && minutes < 10,
		"in minutes from 90 s on: %s", *text ? text + 1 : text);
	progress_free(p);
	shown();
}

int main(void)
{
	ok(!progress_new("runs", 2, false) || isatty(STDERR_FILENO), "a file has no bar");
	if (!open_terminal()) {
		skip("no pseudo terminal");
		return done();
	}
	ok(!progress_new("runs", 2, true), "-q has no bar");
	ok(!progress_new("runs", 0, false), "nor has nothing");
	progress_report(NULL, 0, 0.5);
	progress_free(NULL);
	same_text(shown(), "", "and no bar shows nothing");
	test_bar();
	test_left();
	dup2(saved, STDERR_FILENO);
	return done();
}
