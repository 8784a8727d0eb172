/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The watchdog. Each case is a process whose handler writes the message to a pipe and exits, as
 * the handler of the program does. Expected: the message of watch.c, after the time limit and
 * not before it.
 */
#include "engine/watch.h"

#include "tests/tap.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int message_fd;

static void on_timeout(const char *text)
{
	if (write(message_fd, text, strlen(text)) < 0)
		_exit(2);
	_exit(1);
}

static void wait_s(double s)
{
	struct timespec t = { (time_t)s, (long)((s - floor(s)) * 1e9) };
	while (nanosleep(&t, &t))
		;
}

/* Each callback returns after its time; the handler ends the process earlier. */

static void stuck(void)
{
	struct watch *x = watch_new("slow", 0.3);
	watch_enter(x, "schedule", 5500000000, 42);
	wait_s(30);
}

static void stuck_without_a_number(void)
{
	struct watch *x = watch_new("slow", 0.3);
	watch_enter(x, "begin", 0, UINT64_MAX);
	wait_s(30);
}

static void stuck_at_a_later_number(void)
{
	struct watch *x = watch_new("slow", 0.3);
	watch_noun(x, "iteration");
	watch_enter(x, "step", 1, 0);
	watch_job(x, 7);
	wait_s(30);
}

static void stuck_beside_others(void)
{
	struct watch *first = watch_new("first", 0.3), *x = watch_new("slow", 0.3), *last = watch_new("last", 0.3);
	watch_enter(first, "schedule", 0, 0);
	watch_enter(last, "schedule", 0, 0);
	watch_free(last);
	watch_free(first);
	watch_free(NULL);
	watch_enter(x, "schedule", 5500000000, 42);
	wait_s(30);
}

static void returned(void)
{
	struct watch *x = watch_new("quick", 0.3);
	watch_leave(x, watch_enter(x, "schedule", 0, 0));
	wait_s(1.2);
	watch_free(x);
}

/* The linker option --wrap=pthread_cond_timedwait redirects every wait of the watchdog to the test. */
int __real_pthread_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *mutex, const struct timespec *until);
int __wrap_pthread_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *mutex, const struct timespec *until);
static int waits;
static bool is_wait_wrong;
int __wrap_pthread_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *mutex, const struct timespec *until)
{
	int status = __real_pthread_cond_timedwait(cond, mutex, until);
	waits++;
	is_wait_wrong |= status == EINVAL;
	return status;
}

/* Five checks per second: at most seven in 1.2 s, regardless of the phase of the clock. */
static void five_checks_per_second(void)
{
	struct watch *x = watch_new("quick", 5);
	wait_s(1.2);
	watchdog_stop();
	if (is_wait_wrong || waits > 7)
		on_timeout("the watchdog does not wait between two checks");
	watch_free(x);
}

static void freed(void)
{
	struct watch *x = watch_new("quick", 0.3), *other = watch_new("other", 0.3);
	watch_enter(x, "schedule", 0, 0);
	watch_free(x);
	wait_s(1.2);
	watch_free(other);
}

/* The callback takes two thirds of the limit. It starts late in a second of the clock, so that it spans the start of the next second. */
static void below_the_limit(void)
{
	struct watch *x = watch_new("quick", 1.5);
	struct timespec t;
	do {
		wait_s(0.01);
		clock_gettime(CLOCK_MONOTONIC, &t);
	} while (t.tv_nsec < 500000000 || t.tv_nsec > 600000000);
	uint64_t call = watch_enter(x, "schedule", 0, 0);
	wait_s(1);
	watch_leave(x, call);
	watch_free(x);
}

static void many_callbacks(void)
{
	struct watch *x = watch_new("quick", 1);
	for (int i = 0; i < 200; i++) {
		watch_leave(x, watch_enter(x, "schedule", i, 0));
		wait_s(0.01);
	}
	watch_free(x);
}

/* The limit does not count time in a function of the program. */
static void paused(void)
{
	struct watch *x = watch_new("waits", 0.3);
	uint64_t call = watch_enter(x, "search", 0, 0);
	watch_pause(x);
	wait_s(1.2);
	watch_again(x);
	watch_leave(x, call);
	watch_free(x);
}

static void stuck_after_a_pause(void)
{
	struct watch *x = watch_new("slow", 0.3);
	watch_enter(x, "search", 0, UINT64_MAX);
	watch_pause(x);
	watch_again(x);
	wait_s(30);
}

static void many_touches(void)
{
	struct watch *x = watch_new("quick", 1);
	uint64_t call = watch_enter(x, "search", 0, 0);
	for (int i = 0; i < 200; i++) {
		watch_again(x);
		wait_s(0.01);
	}
	watch_leave(x, call);
	watch_free(x);
}

/* ---- watches in shared memory ---- */

/* Runs a case in a child and returns its status; the watches are in memory. */
static int with_places(void *memory, void (*run)(void))
{
	int status = 0;
	pid_t pid = fork();
	if (!pid) {
		watch_place(memory);
		run();
		_exit(0);
	}
	waitpid(pid, &status, 0);
	return status;
}

static void within_both(void)
{
	struct watch *jobs = watch_new("a", 1), *serve = watch_new("b", 1), *third = watch_new("c", 1);
	watch_noun(serve, "request");
	watch_leave(jobs, watch_enter(jobs, "arrive", 1000, 3));
	watch_enter(third, "destroy", 3000, 5);
	watch_enter(serve, "schedule", 2000, 4);
}

/* schedule() calls finish(): both return, so nothing was skipped. */
static void nested(void)
{
	struct watch *x = watch_new("a", 1);
	uint64_t outer = watch_enter(x, "schedule", 0, 0);
	watch_leave(x, watch_enter(x, "finish", 0, 0));
	watch_leave(x, outer);
}

/* A longjmp() from schedule() to a frame of create() makes create() return again. */
static void skipped(void)
{
	struct watch *x = watch_new("a", 1);
	uint64_t create = watch_enter(x, "create", 0, 0);
	watch_leave(x, create);
	watch_enter(x, "schedule", 7, 0);
	watch_leave(x, create);
}

static void shared_places(void)
{
	void *memory = mmap(NULL, WATCH_PLACES * WATCH_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct watch_view v;
	int status = with_places(memory, within_both);
	ok(!status && watch_read(memory, 0, &v) && !v.is_within && !strcmp(v.what, "arrive") && v.number == 3, "the first watch");
	ok(watch_read(memory, 1, &v) && v.is_within && !strcmp(v.what, "schedule") && !strcmp(v.noun, "request") && v.now_ns == 2000,
		"the second watch; the third one has no place");
	memset(memory, 0, WATCH_PLACES * WATCH_SIZE);
	status = with_places(memory, nested);
	ok(!status && watch_read(memory, 0, &v) && !v.is_skipped && v.count == 2, "a callback within a callback");
	ok(!watch_read(memory, 1, &v), "no watch was made at the second place");
	memset(memory, 0, WATCH_PLACES * WATCH_SIZE);
	status = with_places(memory, skipped);
	ok(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT && watch_read(memory, 0, &v) && v.is_skipped && !strcmp(v.what, "schedule"),
		"a callback that is left without a return ends the process");
}

static const struct {
	void (*run)(void);
	const char *what, *message;
} cases[] = {
	{ stuck, "a callback that does not return",
		"policy slow: job 42 at 5.500000000 s: schedule() has not returned for 0.3 s: expected a policy that returns, or a larger "
		"--policy-timeout" },
	{ stuck_without_a_number, "a callback without a number",
		"policy slow: at 0.000000000 s: begin() has not returned for 0.3 s: expected a policy that returns, or a larger "
		"--policy-timeout" },
	{ stuck_at_a_later_number, "a callback that advanced to another number",
		"policy slow: iteration 7 at 0.000000001 s: step() has not returned for 0.3 s: expected a policy that returns, or a larger "
		"--policy-timeout" },
	{ stuck_beside_others, "a callback beside freed watches",
		"policy slow: job 42 at 5.500000000 s: schedule() has not returned for 0.3 s: expected a policy that returns, or a larger "
		"--policy-timeout" },
	{ returned, "a callback that returned", "" },
	{ five_checks_per_second, "five checks per second", "" },
	{ freed, "the watch of a run that is over", "" },
	{ below_the_limit, "a callback that takes two thirds of the limit", "" },
	{ many_callbacks, "200 callbacks that together take twice the limit", "" },
	{ many_touches, "a callback that starts its limit again 200 times", "" },
	{ paused, "a callback that waits for the program", "" },
	{ stuck_after_a_pause, "a callback that does not return after it waited for the program",
		"policy slow: at 0.000000000 s: search() has not returned for 0.3 s: expected a policy that returns, or a larger "
		"--policy-timeout" },
};

int main(void)
{
	enum { CASES = sizeof cases / sizeof *cases };
	int from[CASES];
	pid_t child[CASES];
	watchdog_stop(); /* no watchdog is running, so this call is a no-op */
	for (size_t k = 0; k < CASES; k++) {
		int ends[2];
		if (pipe(ends) || (child[k] = fork()) < 0)
			return EXIT_FAILURE;
		if (!child[k]) {
			message_fd = ends[1];
			watchdog_start(on_timeout);
			cases[k].run();
			watchdog_stop();
			_exit(0);
		}
		close(ends[1]);
		from[k] = ends[0];
	}
	for (size_t k = 0; k < CASES; k++) {
		char text[400] = "";
		size_t n = 0;
		ssize_t got;
		int status = 0;
		while (n < sizeof text - 1 && (got = read(from[k], text + n, sizeof text - 1 - n)) > 0)
			n += (size_t)got;
		waitpid(child[k], &status, 0);
		same_text(text, cases[k].message, cases[k].what);
		ok(WIFEXITED(status) && WEXITSTATUS(status) == (*cases[k].message != '\0'), "the watchdog ends with its message");
	}
	shared_places();
	return done();
}
