/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "study/board.h"

#include "study/progress.h"

#include "base/mem.h"

#include <glob.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const double silent_s = 60; /* a part that has not written for this time may have been killed */

double board_now(void)
{
	return clock_read_s(CLOCK_REALTIME);
}

/* ---- the writer ---- */

struct board {
	struct board_state state;
	char *path, *next; /* next: name of the new file, which is renamed to path */
};

/* A progress file that cannot be written is not an error, because the runs do not depend on it. */
static void write_state(struct board *b)
{
	const struct board_state *s = &b->state;
	b->state.written = board_now();
	FILE *f = fopen(b->next, "w");
	if (!f)
		return;
	fprintf(f, "%u %u %.17g %.17g %.17g %.17g %.17g %d\n", s->share.number, s->share.count, s->runs, s->total, s->failed, s->begun,
		s->written, s->is_ended);
	if (fclose(f) || rename(b->next, b->path))
		unlink(b->next);
}

struct board *board_new(const char *shard, const struct share *share, double total)
{
	struct board *b = mem_zalloc(1, sizeof *b);
	struct sbuf path = { 0 };
	sbuf_printf(&path, "%s.progress", shard);
	b->path = sbuf_steal(&path);
	sbuf_printf(&path, "%s.progress-new", shard);
	b->next = sbuf_steal(&path);
	b->state = (struct board_state){ .share = *share, .total = total, .begun = board_now() };
	write_state(b);
	return b;
}

static void write_soon(struct board *b)
{
	if (board_now() - b->state.written >= 1)
		write_state(b);
}

void board_runs(struct board *b, double runs)
{
	b->state.runs = runs;
	write_soon(b);
}

void board_failed(struct board *b, double failed)
{
	b->state.failed = failed;
	write_soon(b);
}

void board_total(struct board *b, double total)
{
	b->state.total = total;
	write_soon(b);
}

void board_end(struct board *b, bool is_ended)
{
	if (!b)
		return;
	b->state.is_ended = is_ended;
	write_state(b);
	mem_free(b->path);
	mem_free(b->next);
	mem_free(b);
}

/* ---- readers ---- */

static bool read_state(const char *path, struct board_state *s)
{
	int is_ended;
	FILE *f = fopen(path, "r");
	if (!f)
		return false;
	int n = fscanf(f, "%u %u %lf %lf %lf %lf %lf %d", &s->share.number, &s->share.count, &s->runs, &s->total, &s->failed, &s->begun,
		&s->written, &is_ended);
	fclose(f);
	s->is_ended = n == 8 && is_ended != 0;
	return n == 8;
}

static int by_number(const void *a, const void *b)
{
	const struct board_state *x = a, *y = b;
	return x->share.number < y->share.number ? -1 : x->share.number > y->share.number;
}

static bool list_files(const char *db, glob_t *found)
{
	struct sbuf pattern = { 0 };
	share_put_pattern(&pattern, db);
	sbuf_puts(&pattern, ".progress");
	bool has = !glob(sbuf_text(&pattern), 0, NULL, found);
	sbuf_free(&pattern);
	return has;
}

/* Keeps the parts of the study that wrote last. Files of an earlier study with another number of parts may remain. */
static size_t keep_latest(struct board_state *list, size_t n)
{
	size_t latest = 0, kept = 0;
	for (size_t i = 1; i < n; i++)
		if (list[i].written > list[latest].written)
			latest = i;
	unsigned count = n ? list[latest].share.count : 0;
	for (size_t i = 0; i < n; i++)
		if (list[i].share.count == count)
			list[kept++] = list[i];
	return kept;
}

struct board_state *board_read(const char *db, size_t *n)
{
	glob_t found = { 0 };
	bool has = list_files(db, &found);
	struct board_state *list = mem_zalloc((has ? found.gl_pathc : 0) + 1, sizeof *list);
	*n = 0;
	for (size_t i = 0; has && i < found.gl_pathc; i++)
		*n += read_state(found.gl_pathv[i], &list[*n]);
	globfree(&found);
	*n = keep_latest(list, *n);
	qsort(list, *n, sizeof *list, by_number);
	return list;
}

void board_remove(const char *db)
{
	glob_t found = { 0 };
	bool has = list_files(db, &found);
	for (size_t i = 0; has && i < found.gl_pathc; i++)
		unlink(found.gl_pathv[i]);
	globfree(&found);
}

/* Returns the expected time to the end of a part; NAN: unknown. */
static double left_s(const struct board_state *s, double now)
{
	if (s->is_ended)
		return 0;
	return s->runs > 0 ? (now - s->begun) * fmax(s->total - s->runs, 0) / s->runs : NAN;
}

static void put_left(struct sbuf *out, double left)
{
	if (isnan(left))
		sbuf_puts(out, ", remaining time unknown");
	else if (left < 90)
		sbuf_printf(out, ", about %.0f s left", left);
	else if (left < 5400)
		sbuf_printf(out, ", about %.0f min left", left / 60);
	else
		sbuf_printf(out, ", about %.1f h left", left / 3600);
}

void board_put_sum(struct sbuf *out, const struct board_state *list, size_t n, double now)
{
	double runs = 0, total = 0, failed = 0, left = 0;
	unsigned count = n ? list[n - 1].share.count : 0;
	for (size_t i = 0; i < n; i++) {
		runs += list[i].runs;
		total += fmax(list[i].total, list[i].runs);
		failed += list[i].failed;
		double of_part = left_s(&list[i], now);
		left = isnan(of_part) || isnan(left) ? NAN : fmax(left, of_part);
	}
	if (n < count) { /* the other parts are about as large */
		total *= (double)count / (double)n;
		left = NAN;
	}
	sbuf_printf(out, "%.0f of %.0f runs (%.0f %%), %.0f failed, %zu of %u parts", floor(runs), total,
		total > 0 ? 100 * runs / total : 100, failed, n, count);
	put_left(out, left);
}

void board_put_parts(struct sbuf *out, const struct board_state *list, size_t n, double now)
{
	unsigned count = n ? list[n - 1].share.count : 0, missing = 0;
	for (unsigned k = 1, i = 0; k <= count; k++) {
		const struct board_state *s = i < n && list[i].share.number == k ? &list[i++] : NULL;
		if (!s) {
			missing++;
			continue;
		}
		sbuf_printf(
			out, "part %u of %u: %.0f of %.0f runs, %.0f failed", k, count, floor(s->runs), fmax(s->total, s->runs), s->failed);
		if (s->is_ended)
			sbuf_printf(out, ", ended after %.0f s\n", s->written - s->begun);
		else if (now - s->written > silent_s)
			sbuf_printf(out, ", last progress %.0f s ago\n", now - s->written);
		else {
			put_left(out, left_s(s, now));
			sbuf_putc(out, '\n');
		}
	}
	if (missing)
		sbuf_printf(out, "parts not started: %u\n", missing);
}

/* ---- the first rank ---- */

struct board_watch {
	char *db;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t stop;
	bool is_stopped;
};

static void show(const struct board_watch *w, bool is_terminal)
{
	struct sbuf line = { 0 };
	size_t n;
	struct board_state *list = board_read(w->db, &n);
	if (n) {
		board_put_sum(&line, list, n, board_now());
		fprintf(stderr, is_terminal ? "\r%s\033[K" : "orrery: %s\n", sbuf_text(&line));
		fflush(stderr);
	}
	sbuf_free(&line);
	mem_free(list);
}

static void *watch(void *ctx)
{
	struct board_watch *w = ctx;
	bool is_terminal = isatty(STDERR_FILENO);
	double begun = board_now(), next = begun + 1;
	pthread_mutex_lock(&w->lock);
	while (!w->is_stopped) {
		struct timespec until = { .tv_sec = (time_t)next, .tv_nsec = (long)((next - floor(next)) * 1e9) };
		pthread_cond_timedwait(&w->stop, &w->lock, &until);
		double now = board_now();
		if (w->is_stopped || now < next)
			continue;
		show(w, is_terminal);
		next = now + (is_terminal ? 0.5 : fmin(now - begun, 64));
	}
	pthread_mutex_unlock(&w->lock);
	if (is_terminal)
		fputs("\r\033[K", stderr);
	return NULL;
}

struct board_watch *board_watch_start(const char *db)
{
	struct board_watch *w = mem_zalloc(1, sizeof *w);
	w->db = mem_strdup(db);
	pthread_mutex_init(&w->lock, NULL);
	pthread_cond_init(&w->stop, NULL);
	if (!pthread_create(&w->thread, NULL, watch, w))
		return w;
	mem_free(w->db);
	mem_free(w);
	return NULL;
}

void board_watch_stop(struct board_watch *w)
{
	if (!w)
		return;
	pthread_mutex_lock(&w->lock);
	w->is_stopped = true;
	pthread_cond_signal(&w->stop);
	pthread_mutex_unlock(&w->lock);
	pthread_join(w->thread, NULL);
	pthread_cond_destroy(&w->stop);
	pthread_mutex_destroy(&w->lock);
	mem_free(w->db);
	mem_free(w);
}
