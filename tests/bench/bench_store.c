/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * bench_store - rows per second of store_write(), relative to a bare loop of prepared inserts of the same columns and values;
 * both run alternately
 *
 * The bare loop is the bound of SQLite without keys and checks: a
 * plain table, one transaction, WAL, synchronous NORMAL. Both are timed from opening a
 * new file to closing it, with the checkpoint.
 */
#include "results/store.h"
#include "tests/results/sample_run.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { ROWS = 300000, TURNS = 7, MIDDLE = TURNS / 2 };

struct lap {
	double cpu_s, wall_s;
};

static double clock_s(clockid_t id)
{
	struct timespec t;
	clock_gettime(id, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static struct lap now(void)
{
	return (struct lap){ clock_s(CLOCK_PROCESS_CPUTIME_ID), clock_s(CLOCK_MONOTONIC) };
}

static void require(bool good, const char *what)
{
	if (good)
		return;
	fprintf(stderr, "bench_store: %s failed\n", what);
	exit(1);
}

static void bind_text(sqlite3_stmt *st, int column, const char *s)
{
	sqlite3_bind_text(st, column, s, -1, SQLITE_STATIC); /* NULL binds NULL */
}

static void bare_loop(const char *path, const struct run_result *r)
{
	sqlite3 *db;
	sqlite3_stmt *st;
	require(!sqlite3_open(path, &db), "sqlite3_open");
	require(!sqlite3_exec(db,
			"PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; CREATE TABLE jobs(run, "
			"number, job_id,"
			" user, queue, model, submit_ns, start_ns, end_ns, wait_ns, run_ns, duration_ns,"
			" recorded_wait_ns, gpus, gpu_milli, preemptions, migrations, restarts, "
			"status); BEGIN",
			NULL, NULL, NULL),
		"create");
	require(!sqlite3_prepare_v2(db, "INSERT INTO jobs VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)", -1, &st, NULL), "prepare");
	for (size_t i = 0; i < r->n_jobs; i++) {
		const struct job_row *j = &r->jobs[i];
		const int64_t times[] = { j->submit_ns, j->start_ns, j->end_ns, j->wait_ns, j->run_ns, j->duration_ns,
			j->recorded_wait_ns };
		const uint32_t counts[] = { j->gpus, j->gpu_milli, j->preemptions, j->migrations, j->restarts, j->status };
		sqlite3_bind_int64(st, 1, 1);
		sqlite3_bind_int64(st, 2, (int64_t)j->number);
		bind_text(st, 3, j->job_id);
		bind_text(st, 4, j->user);
		bind_text(st, 5, j->queue);
		bind_text(st, 6, j->model);
		for (int k = 0; k < 7; k++)
			if (times[k] == -1)
				sqlite3_bind_null(st, 7 + k);
			else
				sqlite3_bind_int64(st, 7 + k, times[k]);
		for (int k = 0; k < 6; k++)
			sqlite3_bind_int64(st, 14 + k, counts[k]);
		require(sqlite3_step(st) == SQLITE_DONE, "insert");
		sqlite3_reset(st);
	}
	sqlite3_finalize(st);
	require(!sqlite3_exec(db, "COMMIT; PRAGMA journal_mode = DELETE", NULL, NULL, NULL), "commit");
	sqlite3_close(db);
}

static void through_store(const char *path, const struct run_result *r)
{
	struct orr_error err = { 0 };
	struct store *s = store_open(path, NULL, &err);
	require(s && !store_write(s, r, &err) && !store_close(s, &err), err.text);
}

static struct lap timed(void (*write)(const char *, const struct run_result *), const struct run_result *r)
{
	char path[] = "bench_store.XXXXXX";
	int fd = mkstemp(path);
	require(fd >= 0, "mkstemp");
	close(fd);
	struct lap a = now();
	write(path, r);
	struct lap b = now();
	unlink(path);
	return (struct lap){ b.cpu_s - a.cpu_s, b.wall_s - a.wall_s };
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static void sort(double *v)
{
	qsort(v, TURNS, sizeof *v, by_value);
}

int main(void)
{
	struct run_result *r = sample_run("bench", ROWS, 1);
	double bare[TURNS], store[TURNS], ratio[TURNS], wall[TURNS];
	/* Rows of jobs only, as in the bare loop. */
	size_t n_series = r->n_series, n_events = r->n_events, n_metrics = r->n_metrics;
	r->n_series = r->n_events = r->n_metrics = 0;
	for (int i = 0; i < TURNS; i++) {
		struct lap b = timed(bare_loop, r), s = timed(through_store, r);
		bare[i] = ROWS / b.cpu_s;
		store[i] = ROWS / s.cpu_s;
		ratio[i] = b.cpu_s / s.cpu_s;
		wall[i] = b.wall_s / s.wall_s;
	}
	sort(bare);
	sort(store);
	sort(ratio);
	sort(wall);
	printf("bare loop   %8.0f rows/s (CPU time, median of %d, %d rows)\n", bare[MIDDLE], TURNS, ROWS);
	printf("store_write %8.0f rows/s\n", store[MIDDLE]);
	printf("ratio       %.3f in CPU time [%.3f, %.3f]; %.3f in wall time [%.3f, %.3f]\n", ratio[MIDDLE], ratio[0], ratio[TURNS - 1],
		wall[MIDDLE], wall[0], wall[TURNS - 1]);
	r->n_series = n_series;
	r->n_events = n_events;
	r->n_metrics = n_metrics;
	result_free(r);
	return 0;
}
