/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "engine/watch.h"

#include "base/mem.h"
#include "base/num.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct watch {
	const char *label, *noun;
	double timeout_s;
	_Atomic(const char *) what; /* the current callback; NULL: none */
	_Atomic(const char *) last; /* the last callback entered */
	_Atomic(uint64_t) count;    /* number of callbacks entered */
	_Atomic(int64_t) now;
	_Atomic(uint64_t) job;
	atomic_bool is_skipped;
	atomic_bool is_paused;
	uint64_t open; /* number of the current callback; 0: none */
	uint64_t seen; /* used only by the watchdog: last count seen, and the time since then */
	struct timespec since;
	struct watch *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t wake = PTHREAD_COND_INITIALIZER;
static struct watch *watches;
static pthread_t thread;
static bool is_going, must_end;
static void (*timed_out)(const char *text);
static char *place; /* memory of the next watches, shared with another process; NULL: none */
static bool is_placed[WATCH_PLACES];

static_assert(sizeof(struct watch) <= WATCH_SIZE, "a watch fits into its slot of shared memory");

static struct watch *placed(size_t i)
{
	return (struct watch *)(void *)(place + i * WATCH_SIZE);
}

struct watch *watch_new(const char *label, double timeout_s)
{
	struct watch *x = NULL;
	for (size_t i = 0; place && i < WATCH_PLACES && !x; i++)
		if (!is_placed[i]) {
			is_placed[i] = true;
			x = placed(i);
		}
	if (!x)
		x = mem_zalloc(1, sizeof *x);
	x->label = label;
	x->noun = "job";
	x->timeout_s = timeout_s;
	pthread_mutex_lock(&lock);
	x->next = watches;
	watches = x;
	pthread_mutex_unlock(&lock);
	return x;
}

void watch_noun(struct watch *x, const char *noun)
{
	x->noun = noun;
}

void watch_free(struct watch *x)
{
	if (!x)
		return;
	pthread_mutex_lock(&lock);
	for (struct watch **at = &watches; *at; at = &(*at)->next)
		if (*at == x) {
			*at = x->next;
			break;
		}
	pthread_mutex_unlock(&lock);
	for (size_t i = 0; place && i < WATCH_PLACES; i++)
		if (x == placed(i)) {
			is_placed[i] = false;
			return;
		}
	mem_free(x);
}

uint64_t watch_enter(struct watch *x, const char *what, int64_t now, uint64_t job_number)
{
	x->open = atomic_load_explicit(&x->count, memory_order_relaxed) + 1;
	atomic_store_explicit(&x->now, now, memory_order_relaxed);
	atomic_store_explicit(&x->job, job_number, memory_order_relaxed);
	atomic_store_explicit(&x->count, x->open, memory_order_relaxed);
	atomic_store_explicit(&x->last, what, memory_order_relaxed);
	atomic_store_explicit(&x->what, what, memory_order_release);
	return x->open;
}

void watch_again(struct watch *x)
{
	atomic_store_explicit(&x->count, atomic_load_explicit(&x->count, memory_order_relaxed) + 1, memory_order_relaxed);
	atomic_store_explicit(&x->is_paused, false, memory_order_release);
}

void watch_pause(struct watch *x)
{
	atomic_store_explicit(&x->is_paused, true, memory_order_relaxed);
}

void watch_job(struct watch *x, uint64_t job_number)
{
	atomic_store_explicit(&x->job, job_number, memory_order_relaxed);
}

void watch_leave(struct watch *x, uint64_t call)
{
	if (x->open != call && x->open) { /* a nested callback leaves 0 */
		atomic_store(&x->is_skipped, true);
		abort();
	}
	x->open = 0;
	atomic_store_explicit(&x->what, NULL, memory_order_release);
}

/* ---- a watch that another process reads ---- */

void watch_place(void *memory)
{
	place = memory;
	memset(is_placed, 0, sizeof is_placed);
}

/* Bounds of the program, from the linker. */
extern const char __executable_start[], edata[];

/* Copies a string literal of this program up to the first unusual character. Another process wrote the address, so it is checked. */
static void copy_literal(char *out, size_t size, const char *text)
{
	size_t n = 0;
	if ((uintptr_t)text >= (uintptr_t)__executable_start && (uintptr_t)text < (uintptr_t)edata - size)
		while (n + 1 < size && ((text[n] >= 'a' && text[n] <= 'z') || text[n] == '_')) {
			out[n] = text[n];
			n++;
		}
	out[n] = '\0';
}

bool watch_read(const void *memory, size_t at, struct watch_view *out)
{
	const struct watch *x = (const struct watch *)(const void *)((const char *)memory + at * WATCH_SIZE);
	const char *what = atomic_load_explicit(&x->what, memory_order_acquire);
	*out = (struct watch_view){ .is_within = what != NULL,
		.is_skipped = atomic_load(&x->is_skipped),
		.is_paused = atomic_load_explicit(&x->is_paused, memory_order_acquire),
		.count = atomic_load_explicit(&x->count, memory_order_relaxed),
		.now_ns = atomic_load_explicit(&x->now, memory_order_relaxed),
		.number = atomic_load_explicit(&x->job, memory_order_relaxed) };
	copy_literal(out->what, sizeof out->what, what ? what : atomic_load_explicit(&x->last, memory_order_relaxed));
	copy_literal(out->noun, sizeof out->noun, x->noun);
	return x->label != NULL;
}

void watch_where(char *out, size_t size, const char *label, const struct watch_view *v)
{
	char time[NUM_SECONDS_MAX], job[64] = "";
	num_put_seconds(time, v->now_ns);
	if (v->number != UINT64_MAX)
		snprintf(job, sizeof job, "%.20s %llu ", v->noun, (unsigned long long)v->number);
	snprintf(out, size, "policy %.100s: %sat %s s: ", label, job, time);
}

/* ---- the watchdog ---- */

static void look(struct watch *x, const struct timespec *t)
{
	const char *what = atomic_load_explicit(&x->what, memory_order_acquire);
	bool is_paused = atomic_load_explicit(&x->is_paused, memory_order_acquire); /* before the count, which watch_again() sets first */
	uint64_t count = atomic_load_explicit(&x->count, memory_order_relaxed);
	if (!what || count != x->seen || is_paused) {
		x->seen = count;
		x->since = *t;
		return;
	}
	double s = (double)(t->tv_sec - x->since.tv_sec) + (double)(t->tv_nsec - x->since.tv_nsec) / 1e9;
	if (s < x->timeout_s)
		return;
	struct watch_view view;
	char text[320], where[200];
	watch_read(x, 0, &view);
	watch_where(where, sizeof where, x->label, &view);
	snprintf(text, sizeof text, "%s%s() has not returned for %g s: expected a policy that returns, or a larger --policy-timeout", where,
		what, x->timeout_s);
	timed_out(text);
}

static void *watch_all(void *unused)
{
	(void)unused;
	struct timespec t, until;
	pthread_mutex_lock(&lock);
	while (!must_end) {
		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_nsec += 200000000;
		if (until.tv_nsec >= 1000000000) {
			until.tv_nsec -= 1000000000;
			until.tv_sec++;
		}
		pthread_cond_timedwait(&wake, &lock, &until);
		clock_gettime(CLOCK_MONOTONIC, &t);
		for (struct watch *x = watches; x && !must_end; x = x->next)
			look(x, &t);
	}
	pthread_mutex_unlock(&lock);
	return NULL;
}

void watchdog_start(void (*on_timeout)(const char *text))
{
	timed_out = on_timeout;
	must_end = false;
	is_going = !pthread_create(&thread, NULL, watch_all, NULL);
}

void watchdog_stop(void)
{
	if (!is_going)
		return;
	pthread_mutex_lock(&lock);
	must_end = true;
	pthread_cond_signal(&wake);
	pthread_mutex_unlock(&lock);
	pthread_join(thread, NULL);
	is_going = false;
}
