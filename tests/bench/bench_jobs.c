/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * bench_jobs.c - the whole jobs command, relative to reading its trace and inserting its rows
 *
 * Baseline: load the trace and store one row per job, without simulation. Then the command
 * with each policy alone, from trace to database, in CPU seconds (user + system), with
 * the ratio. Last, CPU time per event over the number of jobs, on an overloaded
 * cluster.
 *
 * usage: bench_jobs [--quick]; the trace is $ORRERY_TRACE_PATH/philly/philly.csv.gz, else
 * ../shared/traces, else the generator philly-like. The program is $ORRERY or ./orrery.
 */
#include "base/mem.h"
#include "results/result.h"
#include "results/store.h"
#include "traces/trace.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { REPEATS = 3 };

static char trace[4096] = "philly-like";
static char db[64];
static const char *program = "./orrery";

static double cpu_of(int who)
{
	struct rusage u;
	getrusage(who, &u);
	return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) + (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

static void remove_db(void)
{
	char path[80];
	static const char *const suffixes[] = { "", "-wal", "-shm", "-journal" };
	for (int i = 0; i < 4; i++) {
		snprintf(path, sizeof path, "%s%s", db, suffixes[i]);
		unlink(path);
	}
}

static void find_trace(void)
{
	const char *dir = getenv("ORRERY_TRACE_PATH"), *data = getenv("ORRERY_DATA_PATH");
	char path[4096];
	for (int i = 0; i < 3; i++) {
		const char *base = i == 0 ? dir : i == 1 ? data : "../shared";
		if (!base)
			continue;
		snprintf(path, sizeof path, "%s%s/philly/philly.csv.gz", base, i ? "/traces" : "");
		if (!access(path, R_OK)) {
			snprintf(trace, sizeof trace, "%s", path);
			return;
		}
	}
}

/* Stores the rows of one run without simulation. */
static struct run_result *rows_of(const struct jobset *s)
{
	struct run_result *r = result_new();
	const struct strtab *t = jobset_strings(s);
	r->label = mem_strdup("baseline");
	r->policy = mem_strdup("none");
	r->world = mem_strdup("jobs");
	r->scenario = mem_strdup("{}");
	r->hash = mem_strdup(jobset_hash(s));
	r->seed_text = mem_strdup("1");
	/* A generator stores no rows and may leave their number unknown. */
	struct jobcursor *c = jobset_open(s, 0);
	struct job_rec j;
	size_t room = 0;
	while (jobcursor_next(c, &j)) {
		MEM_GROW(r->jobs, r->n_jobs, room);
		r->jobs[r->n_jobs++] = (struct job_row){ .number = j.number,
			.job_id = j.id ? strtab_text(t, j.id) : NULL,
			.queue = j.queue ? strtab_text(t, j.queue) : NULL,
			.submit_ns = j.submit_ns,
			.start_ns = j.submit_ns,
			.end_ns = j.submit_ns + j.duration_ns,
			.run_ns = j.duration_ns,
			.duration_ns = j.duration_ns,
			.recorded_wait_ns = -1,
			.gpus = j.gpus,
			.gpu_milli = 1000 };
	}
	jobcursor_close(c);
	r->rows_total = r->n_jobs;
	return r;
}

static double baseline(uint64_t *jobs)
{
	struct orr_error err = { 0 };
	double begin = cpu_of(RUSAGE_SELF);
	struct jobset *s = jobset_load(trace, "auto", NULL, 1, &err);
	struct store *store = s ? store_open(db, NULL, &err) : NULL;
	struct run_result *r = s ? rows_of(s) : NULL;
	if (!store || store_write(store, r, &err) || store_close(store, &err)) {
		fprintf(stderr, "bench_jobs: %s\n", err.text);
		exit(1);
	}
	*jobs = r->n_jobs;
	result_free(r);
	jobset_free(s);
	double s_used = cpu_of(RUSAGE_SELF) - begin;
	remove_db();
	return s_used;
}

/* Returns the CPU seconds of one command; NaN on failure. */
static double run(const char *const *argv, long *peak_kb)
{
	struct rusage u;
	int status;
	fflush(stdout);
	pid_t pid = fork();
	if (!pid) {
		char *copy[24] = { NULL };
		for (int i = 0; argv[i] && i < 23; i++)
			copy[i] = mem_strdup(argv[i]);
		execv(program, copy);
		_exit(127);
	}
	if (pid < 0 || wait4(pid, &status, 0, &u) < 0 || status)
		return NAN;
	*peak_kb = u.ru_maxrss;
	return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) + (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

static double least_of(const double *v, int n)
{
	double least = v[0];
	for (int i = 1; i < n; i++)
		if (!(v[i] >= least))
			least = v[i];
	return least;
}

static void compare(double base, uint64_t jobs)
{
	static const char *const policies[] = { "fifo", "srtf", "las", "easy-backfill" };
	static const char *const clusters[] = { "64x8", "96x8" };
	static const char *const places[] = { "count", "consolidate" };
	printf("%-8s %-12s %-15s %8s %8s %12s %9s\n", "cluster", "placement", "policy", "CPU s", "ratio", "jobs/CPU s", "peak MB");
	for (int c = 0; c < 2; c++)
		for (int p = 0; p < 2; p++)
			for (int k = 0; k < 4; k++) {
				const char *argv[] = { "orrery", "jobs", trace, "--cluster", clusters[c], "--placement", places[p],
					"--policy", policies[k], "--db", db, "-q", "-j1", NULL };
				double v[REPEATS];
				long kb = 0;
				for (int i = 0; i < REPEATS; i++) {
					v[i] = run(argv, &kb);
					remove_db();
				}
				double s = least_of(v, REPEATS);
				printf("%-8s %-12s %-15s %8.3f %8.2f %12.0f %9.1f\n", clusters[c], places[p], policies[k], s, s / base,
					(double)jobs / s, (double)kb / 1024);
			}
}

static void curve(bool quick)
{
	static const char *const policies[] = { "fifo", "fjf", "smallest-gpu", "sjf", "srtf", "las", "easy-backfill" };
	printf("\nCPU microseconds per job, tiresias-like on 8x8 (offered load 1.25):\n%-15s", "jobs");
	for (int n = 1000; n <= (quick ? 100000 : 1000000); n *= 10)
		printf(" %9d", n);
	puts("");
	for (size_t k = 0; k < sizeof policies / sizeof *policies; k++) {
		printf("%-15s", policies[k]);
		for (int n = 1000; n <= (quick ? 100000 : 1000000); n *= 10) {
			char source[40];
			long kb;
			snprintf(source, sizeof source, "tiresias-like:n=%d", n);
			const char *argv[] = { "orrery", "jobs", source, "--cluster", "8x8", "--policy", policies[k], "-q", "-j1", NULL };
			printf(" %9.2f", run(argv, &kb) * 1e6 / n);
			fflush(stdout);
		}
		puts("");
	}
}

int main(int argc, char **argv)
{
	bool quick = argc > 1 && !strcmp(argv[1], "--quick");
	if (getenv("ORRERY"))
		program = getenv("ORRERY");
	snprintf(db, sizeof db, "bench_jobs-%ld.db", (long)getpid());
	find_trace();
	double v[REPEATS];
	uint64_t jobs = 0;
	for (int i = 0; i < REPEATS; i++)
		v[i] = baseline(&jobs);
	double base = least_of(v, REPEATS);
	printf("%llu jobs; reading the trace and inserting its rows: %.3f CPU s (minimum of %d)\n", (unsigned long long)jobs, base,
		REPEATS);
	compare(base, jobs);
	curve(quick);
	return 0;
}
