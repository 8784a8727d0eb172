/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * bench_trace.c - reading a gzip CSV as rows of jobs, relative to bare gzread
 *
 * Makes a file of about 100 MB of text in TMPDIR, then alternates: gzread of the whole file with a large buffer, and trace_next() to the
 * end (columns found by name, numbers parsed, hash computed). Prints MB of text per second of CPU time, for the best round of each. The
 * goal is a ratio of at least 0.65.
 */
#include "traces/trace.h"

#include "base/rng.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>

enum { ROWS = 1600000, ROUNDS = 5 };

static double cpu_seconds(void)
{
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int make_file(const char *path)
{
	static const char *const models[] = { "resnet50", "vgg16", "bert", "gpt2", "inception3", "alexnet" };
	struct rng r;
	uint64_t now = 0;
	gzFile out = gzopen(path, "wb6");
	if (!out)
		return -1;
	rng_init(&r, 1, "bench", 0);
	gzprintf(out, "job_id,num_gpu,submit_time,iterations,model_name,duration,interval,user,vc\n");
	for (unsigned i = 0; i < ROWS; i++) {
		uint64_t gap = rng_below(&r, 240), run = 30 + (uint64_t)rng_exponential(&r, 3000);
		now += gap;
		gzprintf(out, "job-%07u,%u,%" PRIu64 ",%" PRIu64 ",%s,%" PRIu64 ".%02u,%" PRIu64 ",user%03u,vc%02u\n", i,
			1u << rng_below(&r, 5), now, run * 7, models[rng_below(&r, 6)], run, (unsigned)rng_below(&r, 100), gap,
			(unsigned)rng_below(&r, 300), (unsigned)rng_below(&r, 15));
	}
	return gzclose(out) == Z_OK ? 0 : -1;
}

static double read_bare(const char *path, double *bytes)
{
	static char buf[256 * 1024];
	double start = cpu_seconds();
	gzFile in = gzopen(path, "rb");
	gzbuffer(in, 128 * 1024);
	*bytes = 0;
	int n;
	while ((n = gzread(in, buf, sizeof buf)) > 0)
		*bytes += n;
	gzclose(in);
	return cpu_seconds() - start;
}

static double read_rows(const char *path, uint64_t *rows)
{
	struct orr_error err = { 0 };
	struct orr_trace_job row;
	double start = cpu_seconds();
	struct trace *t = trace_open(path, NULL, NULL, &err);
	int rc = -1;
	*rows = 0;
	while (t && (rc = trace_next(t, &row, &err)) == 1)
		++*rows;
	trace_close(t);
	if (rc < 0)
		fprintf(stderr, "%s\n", err.text);
	return cpu_seconds() - start;
}

int main(void)
{
	char path[512];
	const char *dir = getenv("TMPDIR");
	snprintf(path, sizeof path, "%s/orrery-bench-%ld.csv.gz", dir ? dir : "/tmp", (long)getpid());
	if (make_file(path)) {
		fprintf(stderr, "%s: cannot write\n", path);
		return 1;
	}
	double bytes = 0, bare = 1e9, parsed = 1e9;
	uint64_t rows = 0;
	for (int i = 0; i < ROUNDS; i++) {
		double s = read_bare(path, &bytes);
		bare = s < bare ? s : bare;
		s = read_rows(path, &rows);
		parsed = s < parsed ? s : parsed;
	}
	unlink(path);
	printf("text %.1f MB, %" PRIu64 " rows\n", bytes / 1e6, rows);
	printf("bare gzread   %7.1f MB/s\n", bytes / 1e6 / bare);
	printf("rows of jobs  %7.1f MB/s  %.2f million rows/s\n", bytes / 1e6 / parsed, (double)rows / 1e6 / parsed);
	printf("ratio         %7.2f (goal 0.65)\n", bare / parsed);
	return rows == ROWS ? 0 : 1;
}
