/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * bench_merge [SHARDS [RUNS]] - wall time of the merge of 1,000 databases of 100 runs each, made one after the other by the store
 *
 * A run has 30 metrics, three notes and a scenario of 1.2 kB, as a run of M/M/1 requests has. Run i is in shard i modulo SHARDS, the
 * static share of a study. The digest of the result must equal that of one database to which all runs were written directly.
 */
#include "base/mem.h"
#include "results/merge.h"
#include "results/store.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static void require(bool good, const char *what)
{
	if (good)
		return;
	fprintf(stderr, "bench_merge: %s failed\n", what);
	exit(1);
}

static double clock_s(clockid_t id)
{
	struct timespec t;
	clock_gettime(id, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Returns run i. Its scenario sorts in the order of i. */
static struct run_result *run_of(uint64_t i)
{
	char text[1200], name[32];
	struct run_result *r = result_new();
	memset(text, ' ', sizeof text - 1);
	text[sizeof text - 1] = '\0';
	int n = snprintf(text, sizeof text, "{\"load\":0.%08" PRIu64 "}", i);
	text[n] = ' ';
	r->label = mem_strdup("fcfs");
	r->policy = mem_strdup("fcfs");
	r->world = mem_strdup("serve");
	r->scenario = mem_strdup(text);
	snprintf(text, sizeof text, "%016" PRIx64 "%048d", i * UINT64_C(0x9e3779b97f4a7c15), 0);
	r->hash = mem_strdup(text);
	snprintf(name, sizeof name, "%" PRIu64, i % 10 + 1);
	r->seed_text = mem_strdup(name);
	r->rows_total = 500;
	static const char *const metric[] = { "wait_mean", "wait_p50", "wait_p90", "wait_p99", "e2e_mean", "e2e_p50", "e2e_p90", "e2e_p99",
		"queue_mean", "queue_p99" };
	for (size_t k = 0; k < 30; k++) {
		snprintf(name, sizeof name, "%s_%zu", metric[k % 10], k / 10);
		double x = 1 + sin((double)(i * 30 + k));
		result_metric(r, result_text(r, name), x, k < 10 ? x * 0.9 : NAN, k < 10 ? x * 1.1 : NAN);
	}
	result_note(r, "assumption", "service times are exponential");
	result_note(r, "assumption", "one replica serves one request at a time");
	result_note(r, "choice", "fcfs");
	return r;
}

/* Stores runs first, first + step, .. below n in a new database. */
static void store_runs(const char *path, uint64_t first, uint64_t step, uint64_t n)
{
	struct orr_error err = { 0 };
	struct store *s = store_open(path, NULL, &err);
	require(s, err.text);
	for (uint64_t i = first; i < n; i += step) {
		struct run_result *r = run_of(i);
		require(!store_write(s, r, &err), err.text);
		result_free(r);
	}
	require(!store_close(s, &err), err.text);
}

static double size_mb(const char *path)
{
	struct stat st;
	return stat(path, &st) ? 0 : (double)st.st_size / 1e6;
}

static void digest_of(const char *path, char out[65])
{
	struct orr_error err = { 0 };
	struct store *s = store_open_readonly(path, &err);
	require(s && !store_digest(s, out, &err), err.text);
	store_close(s, &err);
}

/* Merges and prints the times. Returns the wall time in s. */
static double merge(const char *what, const char *out, const char *const *shard, size_t n)
{
	struct orr_error err = { 0 };
	struct merge_count count;
	double wall = clock_s(CLOCK_MONOTONIC), cpu = clock_s(CLOCK_PROCESS_CPUTIME_ID);
	require(!store_merge(out, NULL, shard, n, NULL, 0, &count, &err), err.text);
	wall = clock_s(CLOCK_MONOTONIC) - wall;
	printf("%-12s %8.2f s wall %8.2f s CPU  %8zu runs added %8zu present  %6.1f MB\n", what, wall,
		clock_s(CLOCK_PROCESS_CPUTIME_ID) - cpu, count.added, count.present, size_mb(out));
	fflush(stdout);
	return wall;
}

int main(int argc, char **argv)
{
	size_t n = argc > 1 ? strtoull(argv[1], NULL, 10) : 1000, each = argc > 2 ? strtoull(argv[2], NULL, 10) : 100;
	char dir[] = "bench_merge.XXXXXX", one[64], out[64];
	require(mkdtemp(dir) && n && each, "a folder in the current folder");
	snprintf(one, sizeof one, "%s/one.db", dir);
	snprintf(out, sizeof out, "%s/out.db", dir);
	char **shard = mem_zalloc(n, sizeof *shard);
	double begun = clock_s(CLOCK_MONOTONIC);
	for (size_t k = 0; k < n; k++) {
		char path[96];
		snprintf(path, sizeof path, "%s/out.db.shard-%zu-of-%zu", dir, k, n);
		shard[k] = mem_strdup(path);
		store_runs(path, k, n, n * each);
	}
	printf("%zu shards of %zu runs written in %.1f s, %.1f MB each\n", n, each, clock_s(CLOCK_MONOTONIC) - begun, size_mb(shard[0]));
	store_runs(one, 0, 1, n * each);
	double wall = merge("merge", out, (const char *const *)shard, n);
	merge("again", out, (const char *const *)shard, n);
	char a[65], b[65];
	digest_of(one, a);
	digest_of(out, b);
	for (size_t k = 0; k < n; k++) {
		unlink(shard[k]);
		mem_free(shard[k]);
	}
	mem_free(shard);
	printf("one database written directly: %.1f MB; digests are %s\n", size_mb(one), strcmp(a, b) ? "DIFFERENT" : "equal");
	unlink(one);
	unlink(out);
	rmdir(dir);
	return strcmp(a, b) || (n * each <= 100000 && wall > 60);
}
