/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The bounds of memory and time of a command (base/limits.h). Each case runs in a child process, because bounds belong to a process and
 * are never raised. Expected values follow from the header: M is 2^20 bytes; stacks have 8 MiB and get at most half of the memory.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* pthread_getattr_default_np() */
#endif
#include "base/limits.h"
#include "tests/tap.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef _OPENMP
#include <omp.h>
#endif

static struct orr_error err;

/* Sets the bounds of `text`, arguments separated by blanks. argv gets those that remain. */
static int set(const char *text, char **argv, int *argc)
{
	static char copy[400], rest[] = "end";
	char *save = NULL;
	*argc = 0;
	snprintf(copy, sizeof copy, "%s", text);
	for (char *word = strtok_r(copy, " ", &save); word; word = strtok_r(NULL, " ", &save))
		argv[(*argc)++] = word;
	argv[*argc] = rest;
	err = (struct orr_error){ 0 };
	return limits_take_options(argc, argv, &err);
}

static int set_only(const char *text)
{
	char *argv[20];
	int argc;
	return set(text, argv, &argc);
}

/* Runs fn(arg) in a child; returns its exit status, or 128 + N after signal N. What it prints on standard error is in `said`. */
static char said[400];
static int in_child(int (*fn)(const void *arg), const void *arg)
{
	int fd[2], status;
	fflush(stdout);
	if (pipe(fd))
		return -1;
	pid_t pid = fork();
	if (!pid) {
		dup2(fd[1], STDERR_FILENO);
		close(fd[0]);
		_exit(fn(arg));
	}
	close(fd[1]);
	ssize_t n = read(fd[0], said, sizeof said - 1);
	said[n > 0 ? n : 0] = '\0';
	close(fd[0]);
	waitpid(pid, &status, 0);
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* ---- arguments ---- */

static void test_arguments(void)
{
	static const struct {
		const char *given, *left, *error;
	} rows[] = {
		{ "a --max-time 1h b", "a b", NULL },
		{ "--max-time=1h a", "a", NULL },
		{ "a --max-time=90s", "a", NULL },
		{ "a -- --max-time 1h", "a -- --max-time 1h", NULL },
		{ "--max-time 1h -- --max-time", "-- --max-time", NULL },
		{ "--max-timer 1h", "--max-timer 1h", NULL },
		{ "--max 1h --max-mem=1G", "--max 1h --max-mem=1G", NULL },
		{ "a --max-time", "a", "option --max-time: expected a value" },
		{ "--max-memory", "", "option --max-memory: expected a value" },
		{ "--max-time 5x a --max-memory 1", "a", "--max-time: expected a duration from 1ms, such as 90s or 2h, found \"5x\"" },
		{ "--max-time= a", "a", "--max-time: expected a duration from 1ms, such as 90s or 2h, found \"\"" },
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		char *argv[20], left[200] = "";
		int argc, rc = set(rows[i].given, argv, &argc);
		for (int k = 0; k < argc; k++)
			snprintf(left + strlen(left), sizeof left - strlen(left), "%s%s", k ? " " : "", argv[k]);
		ok(!strcmp(left, rows[i].left) && !argv[argc], "%s: leaves \"%s\" (\"%s\")", rows[i].given, rows[i].left, left);
		ok(rows[i].error ? rc == ORR_EINPUT && !strcmp(err.text, rows[i].error) : !rc, "%s", rc ? err.text : "no error");
	}
	setitimer(ITIMER_REAL, &(struct itimerval){ 0 }, NULL);
}

/* ---- memory ---- */

static int reads_size(const void *arg)
{
	const char *const *row = arg;
	char option[200];
	struct rlimit l;
	snprintf(option, sizeof option, "--max-memory=%s", row[0]);
	int rc = set_only(option);
	if (!row[1])
		return rc == ORR_EINPUT && strstr(err.text, "--max-memory: expected a size from 16M, such as 500M or 4G, found \"") ? 0 : 1;
	return !rc && !getrlimit(RLIMIT_DATA, &l) && l.rlim_cur == strtoull(row[1], NULL, 10) ? 0 : 1;
}

static void test_sizes(void)
{
	static const char *const rows[][2] = { { "16M", "16777216" }, { "16777216", "16777216" }, { "16777216B", "16777216" },
		{ "16384K", "16777216" }, { "0.5G", "536870912" }, { "1GB", "1073741824" }, { "1GiB", "1073741824" },
		{ "2T", "2199023255552" }, { "500MiB", "524288000" }, { "900000T", "989560464998400000" },
		{ "00000000000000000000000000000000000016M", "16777216" }, { "000000000000000000000000000000000000016M", NULL },
		{ "15.9M", NULL }, { "16777215", NULL }, { "0", NULL }, { "-16M", NULL }, { "", NULL }, { "M", NULL }, { "16MM", NULL },
		{ "16MiBs", NULL }, { "16Mi", NULL }, { "1e9", NULL }, { "16P", NULL }, { "1.5.5G", NULL }, { "16000000BB", NULL },
		{ "910000T", NULL } };
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		ok(in_child(reads_size, rows[i]) == 0, "--max-memory %s: %s", rows[i][0], rows[i][1] ? rows[i][1] : "refused");
}

static int keeps_lower(const void *arg)
{
	(void)arg;
	struct rlimit l = { 20 << 20, RLIM_INFINITY };
	if (setrlimit(RLIMIT_DATA, &l) || set_only("--max-memory 1G") || getrlimit(RLIMIT_DATA, &l) || l.rlim_cur != 20 << 20)
		return 1;
	return set_only("--max-memory 16M") || getrlimit(RLIMIT_DATA, &l) || l.rlim_cur != 16 << 20;
}

static int claims(const void *arg)
{
	(void)arg;
	if (limits_claim(1e300, "a", &err) || set_only("--max-memory 1G") || limits_claim(1 << 30, "a", &err))
		return 1;
	if (limits_claim(2147483648.0, "scenario: runs", &err) != ORR_EINPUT ||
		strcmp(err.text, "scenario: runs: needs about 2048 MiB, more than --max-memory 1G: expected a smaller input or a larger "
				 "--max-memory") != 0)
		return 2;
	return limits_claim((1 << 30) + 1.0, "a", &err) == ORR_EINPUT ? 0 : 3;
}

static bool exhausted(const char *want)
{
	err = (struct orr_error){ 0 };
	return limits_exhausted(5, &err) == ORR_EFAIL && !strcmp(err.text, want);
}

static int is_exhausted(const void *arg)
{
	(void)arg;
	if (!exhausted("out of memory (5 more bytes requested): expected a smaller input or more memory"))
		return 1;
	limits_begin_input("t.csv");
	if (!exhausted("t.csv: out of memory (5 more bytes requested): expected a smaller input or more memory"))
		return 2;
	if (set_only("--max-memory 1G") || !exhausted("t.csv: needs more memory than --max-memory 1G allows (5 more bytes requested): "
						      "expected a smaller input or a larger "
						      "--max-memory"))
		return 3;
	limits_begin_input("");
	return exhausted("needs more memory than --max-memory 1G allows (5 more bytes requested): expected a smaller input or a larger "
			 "--max-memory")
		       ? 0
		       : 4;
}

static int puts_options(const void *arg)
{
	(void)arg;
	struct sbuf out = { 0 };
	limits_put_options(&out);
	if (out.len || set_only("--max-time 2h"))
		return 1;
	limits_put_options(&out);
	if (strcmp(sbuf_text(&out), " --max-time 2h") != 0 || set_only("--max-memory 1G"))
		return 2;
	sbuf_clear(&out);
	limits_put_options(&out);
	return strcmp(sbuf_text(&out), " --max-memory 1G --max-time 2h") != 0;
}

/* ---- time ---- */

static int reads_time(const void *arg)
{
	const char *const *row = arg;
	char option[200];
	struct itimerval now;
	snprintf(option, sizeof option, "--max-time=%s", row[0]);
	int rc = set_only(option);
	if (!row[1])
		return rc != ORR_EINPUT;
	getitimer(ITIMER_REAL, &now);
	double left = (double)now.it_value.tv_sec + (double)now.it_value.tv_usec / 1e6, want = strtod(row[1], NULL);
	return rc || left > want + 0.01 || left < want - 0.4; /* the kernel rounds up to a tick */
}

static int runs_out(const void *arg)
{
	(void)arg;
	if (set_only("--max-time 20ms"))
		return 50;
	for (;;)
		pause();
}

static void test_times(void)
{
	static const char *const rows[][2] = { { "90s", "90" }, { "2h", "7200" }, { "1500ms", "1.5" }, { "10.75s", "10.75" },
		{ "11574d", "999993600" }, { "0.999ms", NULL }, { "0", NULL }, { "-1s", NULL }, { "11575d", NULL }, { "5x", NULL },
		{ "", NULL }, { "000000000000000000000000000000000000090s", NULL }, { "00000000000000000000000000000000000090s", "90" } };
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		ok(in_child(reads_time, rows[i]) == 0, "--max-time %s: %s", rows[i][0], rows[i][1] ? rows[i][1] : "refused");
	ok(in_child(runs_out, NULL) == ORR_EFAIL, "the program ends with exit status 1");
	same_text(
		said, "orrery: the limit of --max-time 20ms is reached: expected a smaller input or a longer --max-time\n", "and says why");
}

/* ---- threads ---- */

static bool set_stack(rlim_t bytes)
{
	struct rlimit l;
	getrlimit(RLIMIT_STACK, &l);
	l.rlim_cur = bytes;
	return !setrlimit(RLIMIT_STACK, &l);
}

static int counts_threads(const void *arg)
{
	(void)arg;
	if (limits_threads(4, 10) != 4 || limits_threads(4, 4) != 4 || limits_threads(4, 3) != 3 || limits_threads(4, 0) != 1 ||
		limits_threads(0, 5) != 1)
		return 1;
	if (!set_stack(8 << 20) || set_only("--max-memory 1G"))
		return 2;
	if (limits_threads(1000, 1000) != 64 || limits_threads(63, 1000) != 63 || limits_threads(1000, 7) != 7)
		return 3;
	if (!set_stack(1 << 20) || limits_threads(1000, 1000) != 64)
		return 4;
	return !set_stack(64 << 20) || limits_threads(1000, 1000) != 8;
}

static int counts_few_threads(const void *arg)
{
	(void)arg;
	return !set_stack(64 << 20) || set_only("--max-memory 16M") || limits_threads(4, 4) != 1;
}

static pthread_t caller;

/* Uses 4 MiB of the stack. */
static int use_stack(void *ctx)
{
	volatile char much[4 << 20];
	for (size_t i = 0; i < sizeof much; i += 1024)
		much[i] = 1;
	*(bool *)ctx = pthread_equal(pthread_self(), caller);
	return 40 + much[1024];
}

static int calls_with_stack(const void *arg)
{
	bool is_same = false;
	pthread_attr_t attr;
	size_t bytes = 0;
	caller = pthread_self();
	if (!set_stack(*(const rlim_t *)arg) || limits_call_with_stack(use_stack, &is_same) != 41)
		return 1;
	if (is_same != (*(const rlim_t *)arg >= 8 << 20))
		return 2;
#ifdef __GLIBC__
	pthread_getattr_default_np(&attr);
	pthread_attr_getstacksize(&attr, &bytes);
	return !is_same && bytes != 8 << 20;
#else
	(void)attr, (void)bytes;
	return 0;
#endif
}

static void test_threads(void)
{
	static const rlim_t sizes[] = { 1 << 20, (8 << 20) - 4096, 8 << 20, 16 << 20 };
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
		ok(in_child(calls_with_stack, &sizes[i]) == 0, "4 MiB of stack, with a limit of %llu bytes", (unsigned long long)sizes[i]);
#ifdef _OPENMP
	int before = omp_get_max_threads();
	omp_set_num_threads(LIMITS_MOST_THREADS);
	ok(!limits_check_threads(&err), "4096 threads");
	omp_set_num_threads(LIMITS_MOST_THREADS + 1);
	ok(limits_check_threads(&err) == ORR_EINPUT && !strcmp(err.text, "OMP_NUM_THREADS: expected at most 4096 threads, found 4097"),
		"one more is refused");
	omp_set_num_threads(before);
#endif
}

static void test_memory(void)
{
	test_sizes();
	ok(in_child(keeps_lower, NULL) == 0, "a lower bound of the process is kept");
	ok(in_child(claims, NULL) == 0, "needs that are known in advance");
	ok(in_child(is_exhausted, NULL) == 0, "the error of a failed allocation");
	ok(in_child(puts_options, NULL) == 0, "the options as given");
	ok(in_child(counts_threads, NULL) == 0, "threads that half of the memory allows");
	ok(in_child(counts_few_threads, NULL) == 0, "at least one thread");
}

int main(void)
{
	test_times();
	test_threads();
	if (getenv("ORR_SANITIZED"))
		skip("sanitizers reserve more memory than the bounds of these cases");
	else
		test_memory();
	test_arguments(); /* sets bounds of this process */
	return done();
}
