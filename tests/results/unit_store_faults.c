/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * After any fault of the disk or the process, the database opens, passes SQLite's integrity check and contains only complete runs. Each
 * run that was reported as stored is among them.
 */
#include "results/store.h"

#include "results/db.h"
#include "tests/results/faultvfs.h"
#include "tests/results/sample_run.h"
#include "tests/tap.h"

#include <inttypes.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static char dir[] = "/tmp/orrery-faults.XXXXXX";
static char path[64];
static size_t long_rows; /* 0: the default */

static void remove_all(void)
{
	static const char *const suffix[] = { "", "-wal", "-shm", "-journal" };
	for (size_t i = 0; i < sizeof suffix / sizeof *suffix; i++) {
		char name[80];
		snprintf(name, sizeof name, "%s%s", path, suffix[i]);
		unlink(name);
	}
}

static struct store *open_store(const char *vfs, struct orr_error *err)
{
	struct store *s = store_open(path, vfs, err);
	if (s && long_rows)
		s->long_rows = long_rows;
	return s;
}

enum { JOBS = 12 };

/* Makes a run; its label and contents follow from the seed. */
static struct run_result *run_of(uint64_t seed)
{
	char label[32];
	snprintf(label, sizeof label, "run-%" PRIu64, seed);
	return sample_run(label, JOBS, seed);
}

static int write_one(struct store *s, uint64_t seed, struct orr_error *err)
{
	struct run_result *r = run_of(seed);
	int code = store_write(s, r, err);
	result_free(r);
	return code;
}

static bool passes_sqlites_check(void)
{
	sqlite3 *db;
	sqlite3_stmt *st;
	if (sqlite3_open(path, &db))
		return false;
	bool good = !sqlite3_prepare_v2(db, "PRAGMA integrity_check", -1, &st, NULL) && sqlite3_step(st) == SQLITE_ROW &&
		    !strcmp((const char *)sqlite3_column_text(st, 0), "ok");
	sqlite3_finalize(st);
	/* No row may belong to a missing run. */
	good = good &&
	       !sqlite3_prepare_v2(db,
		       "SELECT (SELECT count(*) FROM jobs WHERE run NOT IN (SELECT run FROM runs)) +"
		       " (SELECT count(*) FROM metrics WHERE run NOT IN (SELECT run FROM runs)) +"
		       " (SELECT count(*) FROM series_points WHERE run NOT IN (SELECT run FROM runs)) +"
		       " (SELECT count(*) FROM events WHERE run NOT IN (SELECT run FROM runs))",
		       -1, &st, NULL) &&
	       sqlite3_step(st) == SQLITE_ROW && sqlite3_column_int(st, 0) == 0;
	sqlite3_finalize(st);
	sqlite3_close(db);
	return good;
}

/* Returns whether the file can be opened for reading, if it has a schema yet. */
static bool is_readable(void)
{
	struct orr_error err = { 0 };
	struct store *s = access(path, F_OK) ? NULL : store_open_readonly(path, &err);
	store_close(s, &err);
	bool is_good = !err.text[0] || strstr(err.text, "empty file");
	if (!is_good)
		printf("# read-only: %s\n", err.text);
	return is_good;
}

/* Opens the remaining file and compares each run with the original. Bit k of *seeds is set if the file has the run of seed k + 1.
 * Returns false on any difference. */
static bool inspect(uint64_t *seeds, size_t *count)
{
	struct orr_error err = { 0 };
	struct stored_run *list;
	*seeds = 0;
	if (!is_readable())
		return false;
	struct store *s = open_store(NULL, &err);
	if (!s || store_list(s, &list, count, &err)) {
		printf("# %s\n", err.text);
		return false;
	}
	bool good = true;
	for (size_t i = 0; i < *count; i++) {
		uint64_t seed = strtoull(list[i].seed_text, NULL, 10);
		struct run_result *want = run_of(seed), *got = NULL;
		good = good && !store_read_run(s, list[i].run, &got, &err) && got && same_run(want, got);
		result_free(want);
		result_free(got);
		*seeds |= UINT64_C(1) << ((seed - 1) % 64);
	}
	store_list_free(list, *count);
	good = !store_close(s, &err) && good;
	return passes_sqlites_check() && good;
}

struct damage {
	int code;
	bool is_lasting, starts_empty;
	const char *what;
};

/* Opens the store, stores runs 2 and 3, replaces run 3, and closes the store. Returns the bits of the steps that were reported as
 * done. */
static uint64_t work(struct orr_error *err)
{
	uint64_t stored = 0;
	struct store *s = open_store(FAULT_VFS, err);
	if (!s)
		return 0;
	stored |= write_one(s, 2, err) ? 0 : 2;
	stored |= write_one(s, 3, err) ? 0 : 4;
	store_replace_existing(s, true);
	write_one(s, 3, err);
	store_close(s, err);
	return stored;
}

static void fail_each_write(const struct damage *d)
{
	int n = 0, bad = 0, silent = 0;
	bool has_struck = true;
	while (has_struck && n < 5000) {
		struct orr_error err = { 0 };
		remove_all();
		if (!d->starts_empty) {
			struct store *s = open_store(NULL, &err);
			write_one(s, 1, &err);
			store_close(s, &err);
		}
		fault_arm(++n, d->code, d->is_lasting);
		uint64_t stored = work(&err) | (d->starts_empty ? 0 : 1), seeds;
		fault_disarm();
		has_struck = fault_has_struck();
		size_t count;
		if (!inspect(&seeds, &count) || (stored & ~seeds)) {
			printf("# at change %d: stored %" PRIx64 ", found %" PRIx64 "; %s\n", n, stored, seeds, err.text);
			bad++;
		}
		silent += stored != (d->starts_empty ? 6u : 7u) && !strstr(err.text, path);
	}
	ok(!bad && n > 20, "%s%s at any of %d changes: the database opens, whole runs only", d->what, long_rows ? ", rollback journal" : "",
		n - 1);
	ok(!silent, "each failure to store a run gives an error that names the file");
}

static int random_to(unsigned limit)
{
	static uint64_t state = 20240501;
	state = state * UINT64_C(6364136223846793005) + 1;
	return (int)((state >> 33) % limit);
}

enum { RUNS_A_TIME = 5 };

/* Opens the store, stores a few runs with seeds from `seed` on, and closes the store. */
static bool store_a_few(uint64_t seed)
{
	struct orr_error err = { 0 };
	struct store *s = open_store(NULL, &err);
	for (uint64_t i = 0; s && i < RUNS_A_TIME; i++)
		write_one(s, seed + i, &err);
	store_close(s, &err);
	return !err.text[0];
}

static double now_s(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Returns the duration of store_a_few() on this machine, so that kills fall into all of its phases on a slow machine too. */
static double time_a_few(void)
{
	double start = now_s();
	remove_all();
	store_a_few(1);
	double end = now_s();
	remove_all();
	return end - start;
}

static _Noreturn void store_for_ever(uint64_t seed, int tell)
{
	if (write(tell, "x", 1) != 1)
		_exit(1);
	while (store_a_few(seed))
		seed += RUNS_A_TIME;
	_exit(1);
}

/* Starts a child that stores runs, and kills the child within `limit_s` after its start. */
static bool kill_one(int signal_number, uint64_t seed, double limit_s)
{
	int ends[2], status;
	char told;
	if (pipe(ends))
		return false;
	pid_t child = fork();
	if (child == 0) {
		signal(signal_number, SIG_DFL); /* restores the default, because a background job of a shell ignores SIGINT */
		store_for_ever(seed, ends[1]);
	}
	bool has_begun = read(ends[0], &told, 1) == 1;
	double wait_s = limit_s * random_to(100000) / 100000.0;
	struct timespec t = { (time_t)wait_s, (long)((wait_s - floor(wait_s)) * 1e9) };
	nanosleep(&t, NULL);
	kill(child, signal_number);
	waitpid(child, &status, 0);
	close(ends[0]);
	close(ends[1]);
	return has_begun && WIFSIGNALED(status) && WTERMSIG(status) == signal_number;
}

static void kill_at_random(int signal, const char *name)
{
	enum { ROUNDS = 40 };
	int not_killed = 0, damaged = 0, lost = 0;
	size_t count = 0, total = 0;
	double limit_s = 3 * time_a_few();
	for (int i = 0; i < ROUNDS; i++) {
		if (count > 40) {
			remove_all();
			count = 0;
		}
		uint64_t seeds;
		size_t before = count;
		not_killed += !kill_one(signal, count + 1, limit_s);
		damaged += !inspect(&seeds, &count);
		lost += count < before;
		total += count > before ? count - before : 0;
	}
	ok(!damaged, "%s%s at %d random moments: the database opens, whole runs only (%d damaged)", name,
		long_rows ? ", rollback journal" : "", ROUNDS, damaged);
	ok(!lost, "no stored run is lost (%d times)", lost);
	ok(!not_killed && total > 0, "(%zu runs were stored in between, %d children ended by themselves)", total, not_killed);
}

static _Noreturn void store_some(uint64_t first)
{
	struct orr_error err = { 0 };
	struct store *s = open_store(NULL, &err);
	int bad = !s;
	for (uint64_t k = 0; s && k < 20; k++)
		bad |= write_one(s, first + k, &err);
	bad |= store_close(s, &err);
	if (bad)
		printf("# %s\n", err.text);
	fflush(stdout);
	_exit(bad);
}

/* Reads byte 18 of the header: 1 for a database with a rollback journal, 2 in WAL mode. */
static bool is_one_file(void)
{
	unsigned char header[20] = { 0 };
	char log[80];
	snprintf(log, sizeof log, "%s-wal", path);
	FILE *f = fopen(path, "rb");
	bool good = f && fread(header, 1, sizeof header, f) == sizeof header && header[18] == 1;
	if (f)
		fclose(f);
	return good && access(log, F_OK);
}

static void two_at_once(void)
{
	int bad = 0, open_ended = 0;
	fflush(stdout);
	for (int round = 0; round < 10; round++) {
		remove_all();
		pid_t child[2];
		for (uint64_t i = 0; i < 2; i++)
			if ((child[i] = fork()) == 0)
				store_some(1 + 10 * i); /* ten of the twenty runs are already stored */
		for (int i = 0; i < 2; i++) {
			int status;
			waitpid(child[i], &status, 0);
			bad += status != 0;
		}
		uint64_t seeds;
		size_t count;
		open_ended += !is_one_file();
		bad += !inspect(&seeds, &count) || count != 30;
	}
	ok(!open_ended, "%sthe last of two processes to close leaves one finished file (%d did not)", long_rows ? "rollback journal: " : "",
		open_ended);
	ok(!bad, "two processes store runs at the same time, some of them the same");
}

int main(void)
{
	static const struct damage damages[] = {
		{ SQLITE_FULL, true, false, "disk full permanently" },
		{ SQLITE_FULL, true, true, "disk full permanently, new database" },
		{ SQLITE_FULL, false, false, "disk full once" },
		{ SQLITE_IOERR_WRITE, false, false, "an input/output error" },
		{ SQLITE_IOERR_WRITE, true, true, "a dead disk" },
		{ SQLITE_READONLY, true, false, "a file system that becomes read-only" },
	};
	if (!mkdtemp(dir))
		return 1;
	snprintf(path, sizeof path, "%s/runs.db", dir);
	fault_register();
	for (long_rows = 0; long_rows < 2; long_rows++)
		for (size_t i = long_rows; i < sizeof damages / sizeof *damages; i += 1 + long_rows)
			fail_each_write(&damages[i]);
	/* The memory limit is small, so a transaction spills into the log before it ends. */
	sqlite3_soft_heap_limit64(100 * 1024);
	for (long_rows = 0; long_rows < 2; long_rows++)
		fail_each_write(&(struct damage){ SQLITE_FULL, true, false, "disk full with little memory" });
	sqlite3_soft_heap_limit64(0);
	for (long_rows = 0; long_rows < 2; long_rows++) {
		kill_at_random(SIGKILL, "kill -9");
		kill_at_random(SIGINT, "Ctrl-C");
		two_at_once();
	}
	remove_all();
	rmdir(dir);
	return done();
}
