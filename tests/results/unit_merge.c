/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A merged database equals one that was written directly, by digest and by the order of runs; a merge that fails or is killed leaves
 * the runs of the database as they were, or adds all of them.
 */
#include "results/merge.h"
#include "base/mem.h"
#include "results/columns.h"
#include "results/store.h"

#include "tests/results/faultvfs.h"
#include "tests/results/sample_run.h"
#include "tests/tap.h"

#include <inttypes.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static char dir[] = "/tmp/orrery-merge.XXXXXX";
static char out[64], one[64];

enum { SHARDS = 5, RUNS = 20, MOST_SHARDS = 300 };
static char shard_path[MOST_SHARDS][64];
static const char *shard[MOST_SHARDS];

static void remove_file(const char *path)
{
	static const char *const suffix[] = { "", "-wal", "-shm", "-journal" };
	for (size_t i = 0; i < sizeof suffix / sizeof *suffix; i++) {
		char name[96];
		snprintf(name, sizeof name, "%s%s", path, suffix[i]);
		unlink(name);
	}
}

/* Makes a run with rows in every table. The scenario follows from the seed. */
static struct run_result *run_of(uint64_t seed)
{
	char label[32];
	snprintf(label, sizeof label, "run-%" PRIu64, seed);
	struct run_result *r = sample_run(label, 12, seed);
	if (seed % 4 == 0)
		sample_add_step(r, 3);
	if (seed % 4 == 1)
		sample_add_requests(r, 9);
	if (seed % 4 == 2)
		sample_add_spot(r, 4);
	return r;
}

/* Adds runs first, first + step, .. up to last to the database. */
static void write_runs(const char *path, uint64_t first, uint64_t step, uint64_t last)
{
	struct orr_error err = { 0 };
	struct store *s = store_open(path, NULL, &err);
	for (uint64_t seed = first; s && seed <= last; seed += step) {
		struct run_result *r = run_of(seed);
		store_write(s, r, &err);
		result_free(r);
	}
	store_close(s, &err);
	if (err.code)
		printf("# %s\n", err.text);
}

/* Sets text to the digest, then the labels of all runs in order of number; "" if the database cannot be read. */
static void state_of(const char *path, char digest[65], char *labels, size_t size)
{
	struct orr_error err = { 0 };
	struct stored_run *list = NULL;
	size_t n = 0, at = 0;
	digest[0] = labels[0] = '\0';
	struct store *s = store_open_readonly(path, &err);
	if (!s || store_digest(s, digest, &err) || store_list(s, &list, &n, &err))
		printf("# %s\n", err.text);
	for (size_t i = 0; i < n && at < size; i++)
		at += (size_t)snprintf(labels + at, size - at, "%s ", list[i].label + strlen("run-"));
	store_list_free(list, n);
	store_close(s, &err);
}

static bool passes_sqlites_check(const char *path)
{
	sqlite3 *db;
	sqlite3_stmt *st = NULL;
	bool good = !sqlite3_open(path, &db) && !sqlite3_prepare_v2(db, "PRAGMA integrity_check", -1, &st, NULL) &&
		    sqlite3_step(st) == SQLITE_ROW && !strcmp((const char *)sqlite3_column_text(st, 0), "ok");
	sqlite3_finalize(st);
	sqlite3_close(db);
	return good;
}

static char want_digest[65], want_labels[4000];

static void make_shards(void)
{
	remove_file(one);
	write_runs(one, 1, 1, RUNS);
	for (uint64_t k = 0; k < SHARDS; k++) {
		remove_file(shard[k]);
		write_runs(shard[k], 1 + k, SHARDS, RUNS);
	}
	state_of(one, want_digest, want_labels, sizeof want_labels);
}

static void merges(void)
{
	struct orr_error err = { 0 };
	struct merge_count count;
	char digest[65], labels[4000], again[4000];
	remove_file(out);
	ok(!store_merge(out, NULL, shard, SHARDS, NULL, 0, &count, &err), "shards merge into a new database (%s)", err.text);
	ok(count.added == RUNS && count.present == 0, "all runs are counted (%zu)", count.added);
	state_of(out, digest, labels, sizeof labels);
	ok(*digest && !strcmp(digest, want_digest), "the merged database has the digest of one written directly");
	ok(!strcmp(labels, "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 "),
		"without an order, runs follow scenario, seed, label (%s)", labels);
	ok(passes_sqlites_check(out), "the merged database passes SQLite's check");
	ok(!store_merge(out, NULL, shard, SHARDS, NULL, 0, &count, &err) && count.added == 0 && count.present == RUNS,
		"a second merge adds no run (%zu, %s)", count.added, err.text);
	state_of(out, digest, again, sizeof again);
	ok(!strcmp(digest, want_digest) && !strcmp(labels, again), "a second merge changes nothing");
	remove_file(out);
	const char *twice[] = { shard[0], shard[1], shard[0] };
	ok(!store_merge(out, NULL, twice, 3, NULL, 0, &count, &err) && count.added == 8 && count.present == 4,
		"a shard given twice counts once");
	ok(!store_merge(out, NULL, shard, SHARDS, NULL, 0, &count, &err) && count.added == 12 && count.present == 8,
		"missing runs are added later");
	state_of(out, digest, labels, sizeof labels);
	ok(!strcmp(digest, want_digest), "a merge in two parts has the same digest");
}

static void keeps_order(void)
{
	struct orr_error err = { 0 };
	struct merge_count count;
	struct run_key key[RUNS];
	char digest[65], labels[4000], hash[RUNS][32], label[RUNS][32];
	for (int i = 0; i < RUNS; i++) {
		snprintf(hash[i], sizeof hash[i], "hash-of-%d", i + 1);
		snprintf(label[i], sizeof label[i], "run-%d", i + 1);
		key[i] = (struct run_key){ hash[i], label[i] };
	}
	remove_file(out);
	ok(!store_merge(out, NULL, shard, SHARDS, key, RUNS, &count, &err), "shards merge in a given order (%s)", err.text);
	state_of(out, digest, labels, sizeof labels);
	ok(!strcmp(labels, want_labels) && !strcmp(digest, want_digest), "runs have the numbers of a database written directly");
	remove_file(out);
	ok(!store_merge(out, NULL, shard, SHARDS, key + 6, 2, &count, &err), "runs outside the order");
	state_of(out, digest, labels, sizeof labels);
	ok(!strncmp(labels, "7 8 1 2 3 ", 10), "follow those of the order (%s)", labels);
}

/* Merges with so few files allowed that shards are closed and opened again. */
static void merges_many(void)
{
	struct orr_error err = { 0 };
	struct merge_count count;
	struct rlimit old, few;
	char digest[65], labels[4000], want[65];
	remove_file(out);
	remove_file(one);
	write_runs(one, 1, 1, 2 * MOST_SHARDS);
	for (uint64_t k = 0; k < MOST_SHARDS; k++) {
		remove_file(shard[k]);
		write_runs(shard[k], 1 + k, MOST_SHARDS, 2 * MOST_SHARDS);
	}
	getrlimit(RLIMIT_NOFILE, &old);
	few = (struct rlimit){ 160, old.rlim_max };
	if (geteuid() == 0)
		few.rlim_max = 160;
	pid_t child = fork();
	if (child == 0) {
		setrlimit(RLIMIT_NOFILE, &few);
		int code = store_merge(out, NULL, shard, MOST_SHARDS, NULL, 0, &count, &err);
		fprintf(stderr, "%s", err.text);
		_exit(code || count.added != 2 * MOST_SHARDS);
	}
	int status;
	waitpid(child, &status, 0);
	state_of(one, want, labels, sizeof labels);
	state_of(out, digest, labels, sizeof labels);
	ok(status == 0 && *digest && !strcmp(digest, want), "%d shards merge in a process that may open 160 files", MOST_SHARDS);
	for (size_t k = SHARDS; k < MOST_SHARDS; k++)
		remove_file(shard[k]);
	make_shards();
}

/* ---- shards that are refused ---- */

/* Merges shard 0, `bad` and shard 1 into a database with the runs of shard 4, and into a new one. */
static void refused(const char *bad, const char *pattern, const char *what)
{
	const char *list[] = { shard[0], bad, shard[1] };
	struct orr_error err = { 0 }, first = { 0 };
	struct merge_count count;
	char digest[65], labels[4000], before[65];
	remove_file(out);
	int code = store_merge(out, NULL, list, 3, NULL, 0, &count, &first);
	write_runs(out, 5, SHARDS, RUNS);
	state_of(out, before, labels, sizeof labels);
	code = code && store_merge(out, NULL, list, 3, NULL, 0, &count, &err);
	state_of(out, digest, labels, sizeof labels);
	bool says = strstr(err.text, pattern) && strstr(err.text, bad) && !strcmp(err.text, first.text);
	ok(code && says && !strcmp(digest, before) && count.added == 0, "%s: refused, and no run is added (%s)", what, err.text);
}

static void sql(const char *path, const char *text)
{
	sqlite3 *db;
	char *message = NULL;
	if (sqlite3_open(path, &db) || sqlite3_exec(db, text, NULL, NULL, &message))
		printf("# %s: %s\n", text, message ? message : "cannot be opened");
	sqlite3_free(message);
	sqlite3_close(db);
}

/* Overwrites n bytes of the file from `at` on; n 0: cuts the file there. */
static void damage(const char *path, long at, size_t n)
{
	FILE *f = fopen(path, "rb+");
	if (!f || (!n && truncate(path, at)))
		printf("# %s: cannot be changed\n", path);
	if (f && !fseek(f, at, SEEK_SET))
		while (n--)
			fputc(0xa5, f);
	if (f)
		fclose(f);
}

static long size_of(const char *path)
{
	FILE *f = fopen(path, "rb");
	long size = f && !fseek(f, 0, SEEK_END) ? ftell(f) : 0;
	if (f)
		fclose(f);
	return size;
}

static void refuses_bad_shards(void)
{
	char bad[80];
	snprintf(bad, sizeof bad, "%s/bad.db", dir);
	refused(bad, "No such file", "a missing shard");
	damage(shard[0], 0, 0); /* an empty file */
	refused(shard[0], "empty file", "an empty shard");
	make_shards();
	write_runs(bad, 3, SHARDS, RUNS);
	long size = size_of(bad);
	damage(bad, size / 2 / 4096 * 4096, 0);
	refused(bad, "damaged", "a shard cut in half");
	remove_file(bad);
	write_runs(bad, 3, SHARDS, RUNS);
	damage(bad, 4096, (size_t)size - 4096);
	refused(bad, "damaged", "a shard of overwritten pages");
	remove_file(bad);
	write_runs(bad, 3, SHARDS, RUNS);
	damage(bad, 0, 4096);
	refused(bad, "not a database of orrery", "a file of another format");
	remove_file(bad);
	sql(bad, "CREATE TABLE t(x)");
	refused(bad, "another program", "a database of another program");
	remove_file(bad);
	write_runs(bad, 3, SHARDS, RUNS);
	sql(bad, "PRAGMA user_version = 4");
	refused(bad, "the shard has schema version", "a shard of an older schema");
	sql(bad, "PRAGMA user_version = 999");
	refused(bad, "is newer than this orrery", "a shard of a newer schema");
	remove_file(bad);
	struct orr_error err = { 0 };
	struct merge_count count;
	const char *itself[] = { shard[0], shard[1] };
	ok(store_merge(shard[1], NULL, itself, 2, NULL, 0, &count, &err) == ORR_EINPUT && strstr(err.text, "also one of its shards"),
		"a merge into one of the shards is refused (%s)", err.text);
}

/* Overwrites each page of a shard in turn. Pages that the merge does not read, such as those of an index, have no effect. */
static void damages_each_page(void)
{
	struct orr_error err;
	struct merge_count count;
	char bad[80], digest[65], want[65], labels[4000];
	int wrong = 0, found = 0, pages = 0;
	snprintf(bad, sizeof bad, "%s/bad.db", dir);
	remove_file(bad);
	write_runs(bad, 3, SHARDS, RUNS);
	long size = size_of(bad);
	state_of(bad, want, labels, sizeof labels);
	for (long at = 0; at < size; at += 4096, pages++) {
		remove_file(bad);
		remove_file(out);
		write_runs(bad, 3, SHARDS, RUNS);
		damage(bad, at, 4096);
		err = (struct orr_error){ 0 };
		const char *list[] = { bad };
		int code = store_merge(out, NULL, list, 1, NULL, 0, &count, &err);
		found += code != 0;
		if (code ? !strstr(err.text, bad) : (state_of(out, digest, labels, sizeof labels), strcmp(digest, want) != 0)) {
			printf("# page %d: %s\n", pages + 1, err.text);
			wrong++;
		}
	}
	ok(!wrong && found > pages / 2, "each of %d pages overwritten: an error that names the shard (%d), or an equal result", pages,
		found);
	remove_file(bad);
}

/* A run that the database lacks, with one cell changed after it was stored. */
static void edited(const char *change, const char *part)
{
	char bad[80], what[120];
	snprintf(bad, sizeof bad, "%s/bad.db", dir);
	remove_file(bad);
	write_runs(bad, 3, SHARDS, RUNS);
	sql(bad, change);
	snprintf(what, sizeof what, "%s differs from its checksum", part);
	refused(bad, what, "a shard that was edited");
	remove_file(bad);
}

/* A run that is present by hash and label, with one cell changed in one table. */
static void differs(const char *change, const char *table)
{
	struct orr_error err = { 0 };
	struct merge_count count;
	char bad[80], before[65], after[65], labels[4000];
	snprintf(bad, sizeof bad, "%s/bad.db", dir);
	remove_file(bad);
	remove_file(out);
	write_runs(bad, 1, SHARDS, RUNS);
	sql(bad, change);
	write_runs(out, 1, 1, 10);
	state_of(out, before, labels, sizeof labels);
	const char *list[] = { shard[1], bad };
	int code = store_merge(out, NULL, list, 2, NULL, 0, &count, &err);
	state_of(out, after, labels, sizeof labels);
	ok(code == ORR_EFAIL && strstr(err.text, bad) && strstr(err.text, out) && strstr(err.text, table) && !strcmp(before, after),
		"other contents in %s: an error that names both files (%s)", table, err.text);
	const char *both[] = { shard[0], bad };
	remove_file(out);
	code = store_merge(out, NULL, both, 2, NULL, 0, &count, &err);
	ok(code == ORR_EFAIL && strstr(err.text, bad) && strstr(err.text, shard[0]) && strstr(err.text, table),
		"two shards that differ in %s: an error that names both (%s)", table, err.text);
	remove_file(bad);
}

static void finds_differences(void)
{
	differs("UPDATE metrics SET value = value * (1 + 3e-16) WHERE run = 2 AND position = 3", "metrics");
	differs("UPDATE jobs SET job_id = 'x' WHERE key = (2 << 32) + 5", "jobs");
	differs("DELETE FROM events WHERE run = 2 AND position = (SELECT max(position) FROM events WHERE run = 2)", "events");
	differs("UPDATE series_points SET value = NULL WHERE run = 2 AND series = 0 AND point = 1", "series_points");
	differs("UPDATE runs SET rows_total = 99 WHERE run = 2", "runs");
	struct orr_error err = { 0 };
	struct merge_count count;
	remove_file(out);
	write_runs(out, 1, 1, 10);
	sql(out, "UPDATE runs SET wall_s = 99, cpu_s = 98, host = 'elsewhere', created_at = '2020-01-01T00:00:00Z'");
	ok(!store_merge(out, NULL, shard, SHARDS, NULL, 0, &count, &err) && count.present == 10 && count.added == 10,
		"times and host of a run may differ (%s)", err.text);
}

/* ---- faults ---- */

static void copy_file(const char *from, const char *to)
{
	FILE *a = fopen(from, "rb"), *b = fopen(to, "wb");
	int c;
	while (a && b && (c = getc(a)) != EOF)
		putc(c, b);
	if (!a || fclose(a) || !b || fclose(b))
		printf("# %s: cannot be copied\n", from);
}

static void fail_each_write(int code, bool lasting, bool starts_empty, const char *what)
{
	struct merge_count count;
	struct orr_error err = { 0 };
	char before[65] = "", digest[65], labels[4000];
	int n = 0, bad = 0, silent = 0, failed = 0;
	bool has_struck = true;
	remove_file(one);
	write_runs(one, 3, SHARDS, RUNS);
	state_of(one, before, labels, sizeof labels);
	while (has_struck && n < 5000) {
		remove_file(out);
		if (!starts_empty)
			copy_file(one, out);
		err = (struct orr_error){ 0 };
		fault_arm(++n, code, lasting);
		int rc = store_merge(out, FAULT_VFS, shard, SHARDS, NULL, 0, &count, &err);
		fault_disarm();
		has_struck = fault_has_struck();
		failed += rc != 0;
		silent += rc && !strstr(err.text, out);
		/* Any command that opens the database for writing recovers it. */
		write_runs(out, 3, SHARDS, starts_empty ? 0 : 3);
		state_of(out, digest, labels, sizeof labels);
		bool is_whole = !strcmp(digest, want_digest), is_old = starts_empty ? !*labels : !strcmp(digest, before);
		bool is_same = (is_whole || (rc && is_old)) && passes_sqlites_check(out);
		int again = n % 5 ? 0 : store_merge(out, NULL, shard, SHARDS, NULL, 0, &count, &err);
		if (n % 5 == 0)
			state_of(out, digest, labels, sizeof labels);
		else
			memcpy(digest, want_digest, sizeof digest);
		if (!is_same || again || strcmp(digest, want_digest)) {
			printf("# change %d: rc %d, %s\n", n, rc, err.text);
			bad++;
		}
	}
	ok(!bad && failed > 5,
		"%s at any of %d changes: no run or all runs are added, and a second merge completes them (every fifth change)", what,
		n - 1);
	ok(!silent, "each failure gives an error that names the file");
}

static void kill_at_random(void)
{
	enum { ROUNDS = 40 };
	struct merge_count count;
	struct orr_error err = { 0 };
	char before[65], digest[65], labels[4000];
	struct timespec a, b;
	int bad = 0, early = 0;
	remove_file(out);
	clock_gettime(CLOCK_MONOTONIC, &a);
	store_merge(out, NULL, shard, SHARDS, NULL, 0, &count, &err);
	clock_gettime(CLOCK_MONOTONIC, &b);
	double whole_s = (double)(b.tv_sec - a.tv_sec) + (double)(b.tv_nsec - a.tv_nsec) / 1e9;
	fflush(stdout);
	state_of(one, before, labels, sizeof labels);
	for (int i = 0; i < ROUNDS; i++) {
		remove_file(out);
		copy_file(one, out);
		pid_t child = fork();
		if (child == 0)
			_exit(store_merge(out, NULL, shard, SHARDS, NULL, 0, &count, &err));
		double wait_s = whole_s * 1.1 * i / ROUNDS;
		nanosleep(&(struct timespec){ (time_t)wait_s, (long)((wait_s - (double)(time_t)wait_s) * 1e9) }, NULL);
		kill(child, SIGKILL);
		int status;
		waitpid(child, &status, 0);
		state_of(out, digest, labels, sizeof labels);
		bool is_old = !strcmp(digest, before), is_whole = !strcmp(digest, want_digest);
		early += is_old;
		int again = store_merge(out, NULL, shard, SHARDS, NULL, 0, &count, &err);
		state_of(out, digest, labels, sizeof labels);
		if ((!is_old && !is_whole) || again || strcmp(digest, want_digest) || !passes_sqlites_check(out)) {
			printf("# kill %d: %s\n", i, err.text);
			bad++;
		}
	}
	ok(!bad, "SIGKILL at %d moments: no run or all runs are added, and a second merge completes them (%d bad)", ROUNDS, bad);
	ok(early > ROUNDS / 4, "(%d of %d kills came before the end of the merge)", early, ROUNDS);
}

int main(void)
{
	if (!mkdtemp(dir))
		return 1;
	snprintf(out, sizeof out, "%s/out.db", dir);
	snprintf(one, sizeof one, "%s/one.db", dir);
	for (int k = 0; k < MOST_SHARDS; k++) {
		snprintf(shard_path[k], sizeof shard_path[k], "%s/s.%d.db", dir, k);
		shard[k] = shard_path[k];
	}
	fault_register();
	make_shards();
	merges();
	keeps_order();
	merges_many();
	refuses_bad_shards();
	damages_each_page();
	edited("UPDATE metrics SET value = value * (1 + 3e-16) WHERE run = 2 AND position = 3", "metrics");
	edited("DELETE FROM jobs WHERE key = (2 << 32) + 5", "jobs");
	edited("UPDATE runs SET seed = '77' WHERE run = 2", "run");
	finds_differences();
	fail_each_write(SQLITE_FULL, true, false, "a full disk");
	fail_each_write(SQLITE_FULL, true, true, "a full disk and a new database");
	fail_each_write(SQLITE_IOERR, false, false, "one failed change");
	kill_at_random();
	for (int k = 0; k < MOST_SHARDS; k++)
		remove_file(shard[k]);
	remove_file(one);
	remove_file(out);
	rmdir(dir);
	return done();
}
