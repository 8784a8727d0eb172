/* SPDX-License-Identifier: GPL-3.0-or-later */
#define _GNU_SOURCE /* pthread_setattr_default_np() */
#include "base/limits.h"

#include "base/cleanup.h"
#include "base/num.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#ifdef _OPENMP
#include <omp.h>
#endif

enum { LONGEST = 40 };               /* of the value of the option */
static const rlim_t stack = 8 << 20; /* bytes; default limit of Linux */

/* As given; "": no bound. */
static char memory_text[LONGEST], time_text[LONGEST], time_message[160];
static double most_bytes;

static _Thread_local char input[160];

/* ---- options ---- */

/* Parses a number with an optional unit: K, M, G, T (powers of 1024), with or without "B" or "iB". */
static bool read_size(const char *s, double *out)
{
	static const char units[] = "KMGT";
	size_t n = strlen(s), digits = strspn(s, "0123456789.");
	const char *unit = s + digits, *at = *unit ? strchr(units, *unit) : NULL;
	if (!num_real(s, digits, out) || *out <= 0 || n >= LONGEST)
		return false;
	for (const char *u = units; at && u <= at; u++)
		*out *= 1024;
	return !*unit || !strcmp(unit, "B") || (at && (!unit[1] || !strcmp(unit + 1, "B") || !strcmp(unit + 1, "iB")));
}

static int set_memory(const char *text, struct orr_error *err)
{
	const double least = 16 << 20;
	double bytes;
	if (!read_size(text, &bytes) || bytes < least || bytes > 1e18)
		return orr_fail(err, ORR_EINPUT, "--max-memory: expected a size from 16M, such as 500M or 4G, found \"%.40s\"", text);
	struct rlimit l;
	if (getrlimit(RLIMIT_DATA, &l))
		return orr_fail(err, ORR_EFAIL,
			"--max-memory: this system has no memory limit per process: expected the command without this option");
	if (l.rlim_cur == RLIM_INFINITY || (double)l.rlim_cur > bytes) {
		l.rlim_cur = (rlim_t)bytes;
		if (setrlimit(RLIMIT_DATA, &l))
			return orr_fail(err, ORR_EFAIL,
				"--max-memory: this system cannot set a memory limit: expected the command without this option");
	}
	most_bytes = bytes;
	snprintf(memory_text, sizeof memory_text, "%s", text);
	return ORR_OK;
}

static int set_time(const char *text, struct orr_error *err)
{
	int64_t ns;
	if (strlen(text) >= LONGEST || !num_duration_ns(text, strlen(text), &ns) || ns < 1000000 || ns > 1000000000000000000)
		return orr_fail(err, ORR_EINPUT, "--max-time: expected a duration from 1ms, such as 90s or 2h, found \"%.40s\"", text);
	snprintf(time_text, sizeof time_text, "%s", text);
	snprintf(time_message, sizeof time_message,
		"orrery: the limit of --max-time %s is reached: expected a smaller input or a longer --max-time\n", text);
	cleanup_on_alarm(time_message);
	const struct itimerval timer = { .it_value = { .tv_sec = (time_t)(ns / 1000000000), .tv_usec = ns % 1000000000 / 1000 } };
	return setitimer(ITIMER_REAL, &timer, NULL)
		       ? orr_fail(err, ORR_EFAIL, "--max-time: this system has no timer: expected the command without this option")
		       : ORR_OK;
}

int limits_take_options(int *argc, char **argv, struct orr_error *err)
{
	static const struct {
		const char *name;
		int (*set)(const char *text, struct orr_error *err);
	} option[] = { { "--max-memory", set_memory }, { "--max-time", set_time } };
	int kept = 0, rc = ORR_OK;
	bool is_over = false;
	for (int i = 0; i < *argc; i++) {
		size_t k = 0, n = 0;
		is_over |= !strcmp(argv[i], "--");
		for (; k < 2 && !is_over; k++) {
			n = strlen(option[k].name);
			if (!strncmp(argv[i], option[k].name, n) && (argv[i][n] == '=' || !argv[i][n]))
				break;
		}
		if (is_over || k == 2) {
			argv[kept++] = argv[i];
			continue;
		}
		const char *value = argv[i][n] ? argv[i] + n + 1 : ++i < *argc ? argv[i] : NULL;
		if (!rc)
			rc = value ? option[k].set(value, err) : orr_fail(err, ORR_EINPUT, "option %s: expected a value", option[k].name);
	}
	argv[kept] = NULL;
	*argc = kept;
	return rc;
}

void limits_put_options(struct sbuf *out)
{
	if (*memory_text)
		sbuf_printf(out, " --max-memory %s", memory_text);
	if (*time_text)
		sbuf_printf(out, " --max-time %s", time_text);
}

/* ---- memory ---- */

static const char remedy[] = "expected a smaller input or a larger --max-memory";

int limits_claim(double bytes, const char *what, struct orr_error *err)
{
	if (!(most_bytes > 0) || bytes <= most_bytes)
		return ORR_OK;
	return orr_fail(
		err, ORR_EINPUT, "%s: needs about %.0f MiB, more than --max-memory %s: %s", what, bytes / (1 << 20), memory_text, remedy);
}

int limits_exhausted(size_t wanted, struct orr_error *err)
{
	const char *colon = *input ? ": " : "";
	if (*memory_text)
		return orr_fail(err, ORR_EFAIL, "%s%sneeds more memory than --max-memory %s allows (%zu more bytes requested): %s", input,
			colon, memory_text, wanted, remedy);
	return orr_fail(err, ORR_EFAIL, "%s%sout of memory (%zu more bytes requested): expected a smaller input or more memory", input,
		colon, wanted);
}

void limits_begin_input(const char *name)
{
	snprintf(input, sizeof input, "%s", name);
}

/* ---- threads and stacks ---- */

int limits_check_threads(struct orr_error *err)
{
#ifdef _OPENMP
	if (omp_get_max_threads() > LIMITS_MOST_THREADS)
		return orr_fail(err, ORR_EINPUT, "OMP_NUM_THREADS: expected at most %d threads, found %d", LIMITS_MOST_THREADS,
			omp_get_max_threads());
#endif
	(void)err;
	return ORR_OK;
}

/* Returns the size of the stack of a new thread, in bytes. */
static double stack_of_thread(void)
{
	struct rlimit l;
	bool is_known = !getrlimit(RLIMIT_STACK, &l) && l.rlim_cur != RLIM_INFINITY && l.rlim_cur > stack;
	return is_known ? (double)l.rlim_cur : (double)stack;
}

int limits_threads(int threads, size_t tasks)
{
	if ((size_t)threads > tasks)
		threads = (int)tasks;
	/* Stacks count as data. They get at most half of the bound. */
	double most = most_bytes / 2 / stack_of_thread();
	if (most_bytes > 0 && threads > most)
		threads = (int)most;
	return threads < 1 ? 1 : threads;
}

struct call {
	int (*fn)(void *ctx);
	void *ctx;
	int rc;
};

static void *call(void *ctx)
{
	struct call *c = ctx;
	c->rc = c->fn(c->ctx);
	return NULL;
}

int limits_call_with_stack(int (*fn)(void *ctx), void *ctx)
{
	struct call c = { .fn = fn, .ctx = ctx };
	struct rlimit l;
	pthread_t thread;
	pthread_attr_t attr;
	if (getrlimit(RLIMIT_STACK, &l) || l.rlim_cur == RLIM_INFINITY || l.rlim_cur >= stack || pthread_attr_init(&attr))
		return fn(ctx);
	bool is_started = !pthread_attr_setstacksize(&attr, stack);
#ifdef __GLIBC__
	is_started = is_started && !pthread_setattr_default_np(&attr); /* for the threads of OpenMP */
#endif
	is_started = is_started && !pthread_create(&thread, &attr, call, &c);
	pthread_attr_destroy(&attr);
	if (!is_started)
		return fn(ctx);
	pthread_join(thread, NULL);
	return c.rc;
}
