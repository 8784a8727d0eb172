/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "results/columns.h"
#include "results/db.h"
#include "results/digest.h"
#include "results/inspect.h"
#include "results/store.h"

#include "base/mem.h"
#include "base/sbuf.h"
#include "tests/results/sample_run.h"
#include "tests/tap.h"

#include <grp.h>
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char dir[] = "/tmp/orrery-store.XXXXXX";

/* Returns the path of a file in the test's directory, valid for the next few calls. */
static const char *in_dir(const char *name)
{
	static char path[8][128];
	static int turn;
	turn = (turn + 1) % 8;
	snprintf(path[turn], sizeof path[turn], "%s/%s", dir, name);
	return path[turn];
}

static struct run_result *sample(uint64_t seed)
{
	char label[32];
	snprintf(label, sizeof label, "label-%" PRIu64, seed);
	return sample_run(label, 40, seed);
}

/* Makes a closed database with the runs of these seeds; 0 ends the list. */
static void make(const char *path, const uint64_t *seeds, void (*change)(struct run_result *))
{
	struct orr_error err = { 0 };
	struct store *s = store_open(path, NULL, &err);
	for (; s && *seeds; seeds++) {
		struct run_result *r = sample(*seeds);
		if (change)
			change(r);
		store_write(s, r, &err);
		result_free(r);
	}
	store_close(s, &err);
	if (err.text[0])
		printf("# %s\n", err.text);
}

static void round_trip(void)
{
	struct orr_error err = { 0 };
	const char *path = in_dir("trip.db");
	struct store *s = store_open(path, NULL, &err);
	struct run_result *r = sample_run("fifo", 300, 7), *none = sample_run("nothing", 0, 8), *back;
	result_note(r, "assumption", "of all");
	result_note(r, "choice", "left out");
	result_note(r, "remark", "of one");
	ok(s && !store_write(s, r, &err) && !store_write(s, none, &err), "runs are stored");
	ok(!store_read(s, r->hash, "fifo", &back, &err) && back && same_run(r, back), "a run is read back unchanged");
	result_free(back);
	ok(!store_read(s, none->hash, "nothing", &back, &err) && back && same_run(none, back), "an empty run is read back unchanged");
	result_free(back);
	ok(!store_read(s, "no such hash", "fifo", &back, &err) && !back, "a missing run is no error");
	ok(!store_close(s, &err), "the store closes without an error");
	s = store_open_readonly(path, &err);
	ok(s && !store_read_run(s, 1, &back, &err) && back && same_run(r, back), "a run is read by its number");
	result_free(back);
	ok(s && !store_read_metrics(s, 1, &back, &err) && back && back->n_metrics == r->n_metrics && !back->n_jobs && !back->n_series &&
			!strcmp(back->metrics[0].name, r->metrics[0].name) && back->metrics[0].value == r->metrics[0].value,
		"metrics are read without the rows");
	ok(back && back->n_events == 2 && !strcmp(back->events[0].kind, "assumption") && !strcmp(back->events[0].detail, "of all") &&
			!strcmp(back->events[1].kind, "remark") && !strcmp(back->events[1].detail, "of one"),
		"with the assumptions and remarks, and no other event");
	result_free(back);
	ok(s && store_write(s, r, &err) == ORR_EFAIL, "a store open for reading is not written");
	store_close(s, &err);
	ok(access(in_dir("trip.db-wal"), F_OK) && access(in_dir("trip.db-shm"), F_OK), "one file remains");
	result_free(r);
	result_free(none);
}

static void replacing(void)
{
	struct orr_error err = { 0 };
	struct store *s = store_open(in_dir("fresh.db"), NULL, &err);
	struct run_result *other = sample(2), *r = sample(1), *back = NULL;
	store_write(s, r, &err);
	store_write(s, other, &err);
	r->metrics[0].value = 1;
	r->n_jobs = 3;
	ok(!store_write(s, r, &err) && !store_read(s, r->hash, r->label, &back, &err) && back->n_jobs == 40,
		"an existing run stays unchanged");
	result_free(back);
	store_replace_existing(s, true);
	ok(!store_write(s, r, &err) && !store_read(s, r->hash, r->label, &back, &err) && same_run(r, back),
		"--fresh replaces a run as a whole");
	result_free(back);
	ok(!store_read(s, other->hash, other->label, &back, &err) && same_run(other, back), "--fresh changes no other run");
	result_free(back);
	store_close(s, &err);
	result_free(r);
	result_free(other);
}

static int64_t number_in(const char *path, const char *query)
{
	struct orr_error err = { 0 };
	int64_t n = -1;
	struct store *s = store_open_readonly(path, &err);
	if (!s || db_number(s, query, &n, "counting", &err))
		printf("# %s\n", err.text);
	store_close(s, &err);
	return n;
}

/* Tests scenarios that differ in few values: they are stored as overrides of the first one, also after the file was opened again. A short
 * scenario, whose overrides would be longer than half of it, is a base of its own. */
static void shared_scenarios(void)
{
	static const char *const scenario[] = {
		"{\"world\":\"jobs\",\"text\":\"long enough to be worth sharing\",\"o\":{\"a\":1},\"seed\":1}",
		"{\"world\":\"jobs\",\"text\":\"long enough to be worth sharing\",\"o\":{\"a\":1},\"seed\":2}",
		"{\"world\":\"jobs\",\"text\":\"long enough to be worth sharing\",\"o\":{},\"seed\":1}", "{\"world\":\"serve\"}",
		"{\"world\":\"jobs\",\"text\":\"long enough to be worth sharing\",\"o\":{\"a\":1},\"seed\":1}"
	};
	enum { N = sizeof scenario / sizeof *scenario };
	struct orr_error err = { 0 };
	struct run_result *r[N], *back;
	const char *path = in_dir("shared.db");
	bool good = true;
	for (int i = 0; i < N; i++) {
		r[i] = sample((uint64_t)i + 1);
		mem_free(r[i]->scenario);
		r[i]->scenario = mem_strdup(scenario[i]);
	}
	for (int part = 0; part < 2; part++) {
		struct store *s = store_open(path, NULL, &err);
		for (int i = part ? 2 : 0; i < (part ? N : 2); i++)
			good = s && !store_write(s, r[i], &err) && good;
		store_close(s, &err);
	}
	ok(good, "scenarios are stored (%s)", err.text);
	struct store *s = store_open_readonly(path, &err);
	for (int i = 0; i < N; i++) {
		good = s && !store_read_run(s, i + 1, &back, &err) && back && same_run(r[i], back);
		ok(good, "run %d has its whole scenario (%s)", i + 1, err.text);
		if (good)
			result_free(back);
		result_free(r[i]);
	}
	struct store_info info;
	struct stat file;
	ok(s && !store_info(s, &info, &err) && info.runs == N && info.bases == 2 && !stat(path, &file) && info.bytes == file.st_size,
		"numbers of runs and bases, and the size of the file");
	store_close(s, &err);
	ok(number_in(path, "SELECT count(*) FROM scenarios") == 2 && number_in(path, "SELECT count(DISTINCT base) FROM runs") == 2,
		"two bases");
	ok(number_in(path, "SELECT sum(run) FROM runs WHERE overrides IS NOT NULL") == 2 + 3, "runs 2 and 3 are overrides");
}

static const char *digest_of(const char *path)
{
	static char hex[4][65];
	static int turn;
	struct orr_error err = { 0 };
	struct store *s = store_open_readonly(path, &err);
	turn = (turn + 1) % 4;
	if (!s || store_digest(s, hex[turn], &err))
		printf("# %s\n", err.text);
	store_close(s, &err);
	return hex[turn];
}

static void slower(struct run_result *r)
{
	r->wall_s += 1;
	r->cpu_s *= 2;
}

static void one_bit(struct run_result *r)
{
	r->metrics[1].value = nextafter(r->metrics[1].value, INFINITY);
}

static void no_interval(struct run_result *r)
{
	r->metrics[0].ci_low = NAN;
}

static void one_ns(struct run_result *r)
{
	r->jobs[39].wait_ns++;
}

static void other_user(struct run_result *r)
{
	r->jobs[0].user = "x";
}

static void no_detail(struct run_result *r)
{
	r->events[0].detail = NULL;
}

static void other_point(struct run_result *r)
{
	r->series[2].value[5] += 1e-9;
}

static void oracle(struct run_result *r)
{
	r->is_oracle = !r->is_oracle;
}

static void other_scenario(struct run_result *r)
{
	r->scenario[2] = 'C';
}

static void digests(void)
{
	static void (*const changes[])(
		struct run_result *) = { one_bit, no_interval, one_ns, other_user, no_detail, other_point, oracle, other_scenario };
	char first[65];
	make(in_dir("a.db"), (const uint64_t[]){ 1, 2, 3, 0 }, NULL);
	snprintf(first, sizeof first, "%s", digest_of(in_dir("a.db")));
	ok(strlen(first) == 64 && strspn(first, "0123456789abcdef") == 64, "a digest is 64 hex digits");
	same_text(digest_of(in_dir("a.db")), first, "the digest of an unchanged database is always the same");
	make(in_dir("b.db"), (const uint64_t[]){ 3, 1, 2, 0 }, slower);
	same_text(digest_of(in_dir("b.db")), first, "the digest does not depend on the order of writing, wall time or CPU time");
	make(in_dir("c.db"), (const uint64_t[]){ 1, 2, 0 }, NULL);
	ok(strcmp(digest_of(in_dir("c.db")), first), "a missing run changes the digest");
	int same = 0;
	for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
		make(in_dir("d.db"), (const uint64_t[]){ 1, 2, 3, 0 }, changes[i]);
		if (!strcmp(digest_of(in_dir("d.db")), first)) {
			printf("# change %zu\n", i);
			same++;
		}
		unlink(in_dir("d.db"));
	}
	ok(!same, "each of %zu small changes changes the digest", sizeof changes / sizeof *changes);
}

static void put_file(const char *path, const char *text, size_t times)
{
	FILE *f = fopen(path, "w");
	while (f && times--)
		fputs(text, f);
	if (f)
		fclose(f);
}

static void sql(const char *path, const char *text)
{
	sqlite3 *db;
	if (sqlite3_open(path, &db) || sqlite3_exec(db, text, NULL, NULL, NULL))
		printf("# %s\n", sqlite3_errmsg(db));
	sqlite3_close(db);
}

/* Returns the contents of a file. */
static struct sbuf bytes_of(const char *path)
{
	struct sbuf b = { 0 };
	FILE *f = fopen(path, "rb");
	for (int c; f && (c = getc(f)) != EOF;)
		sbuf_putc(&b, (char)c);
	if (f)
		fclose(f);
	return b;
}

static void refuses(const char *path, const char *why, const char *what)
{
	struct orr_error err = { 0 }, err_reading = { 0 };
	struct sbuf before = bytes_of(path);
	struct store *s = store_open(path, NULL, &err), *r = store_open_readonly(path, &err_reading);
	struct sbuf after = bytes_of(path), log = { 0 };
	sbuf_printf(&log, "%s-wal", path);
	bool untouched =
		before.len == after.len && (!before.len || !memcmp(before.text, after.text, before.len)) && access(sbuf_text(&log), F_OK);
	if (!ok(!s && err.code == ORR_EINPUT && strstr(err.text, path) && strstr(err.text, why) && untouched, "%s is refused and untouched",
		    what))
		printf("# %d %s\n", err.code, err.text);
	ok(!r && err_reading.code == ORR_EINPUT, "the file is refused for reading too");
	store_close(s, &err);
	store_close(r, &err);
	sbuf_free(&before);
	sbuf_free(&after);
	sbuf_free(&log);
}

static void foreign_files(void)
{
	put_file(in_dir("short.csv"), "job_id,gpus\n", 1);
	refuses(in_dir("short.csv"), "not a database", "a short text file");
	put_file(in_dir("long.csv"), "job_id,gpus,submit_s,start_s\n", 1000);
	refuses(in_dir("long.csv"), "not a database", "a long text file");
	sql(in_dir("theirs.db"), "CREATE TABLE t(x); INSERT INTO t VALUES(1)");
	refuses(in_dir("theirs.db"), "another program", "another program's database");
	make(in_dir("newer.db"), (const uint64_t[]){ 1, 0 }, NULL);
	sql(in_dir("newer.db"), "PRAGMA user_version = 99");
	refuses(in_dir("newer.db"), "is newer than this orrery", "a newer schema");
	struct orr_error err = { 0 };
	ok(!store_open(in_dir("no/such/dir.db"), NULL, &err) && err.code == ORR_EINPUT && strstr(err.text, "No such file"),
		"a missing directory is a named error");
	ok(!store_open_readonly(in_dir("absent.db"), &err) && err.code == ORR_EINPUT && access(in_dir("absent.db"), F_OK),
		"reading a missing file creates nothing");
	ok(!store_open(dir, NULL, &err) && err.code == ORR_EINPUT, "a directory is no database");
}

static void locked_out(void)
{
	struct orr_error err = { 0 };
	const char *path = in_dir("locked.db");
	make(path, (const uint64_t[]){ 1, 0 }, NULL);
	struct store *s = store_open(path, NULL, &err);
	struct run_result *r = sample(2);
	sqlite3 *db;
	sqlite3_open(path, &db);
	sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL);
	s->busy_ms = 30;
	sqlite3_busy_timeout(s->db, s->busy_ms);
	ok(store_write(s, r, &err) == ORR_EFAIL && strstr(err.text, "another process"), "a database locked by another");
	printf("# %s\n", err.text);
	sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
	ok(!store_write(s, r, &err), "a locked database is written once it is free");
	sqlite3_close(db);
	store_close(s, &err);
	result_free(r);
}

/* Checks the messages in a directory that is not writable. Returns an exit status with one bit per failure. */
static int look_without_rights(void)
{
	struct orr_error err = { 0 };
	struct stored_run *list;
	size_t n = 0;
	int bad = 0;
	struct store *s = store_open_readonly(in_dir("finished.db"), &err);
	bad |= !s || store_list(s, &list, &n, &err) || n != 2 ? 1 : 0;
	if (n)
		store_list_free(list, n);
	store_close(s, &err);
	s = store_open_readonly(in_dir("wal-mode.db"), &err);
	bad |= !s || store_list(s, &list, &n, &err) || n != 2 ? 2 : 0;
	if (s)
		store_list_free(list, n);
	store_close(s, &err);
	err = (struct orr_error){ 0 };
	s = store_open(in_dir("finished.db"), NULL, &err);
	bad |= s || err.code != ORR_EFAIL || !strstr(err.text, "expected a writable file") ? 4 : 0;
	s = store_open(in_dir("new.db"), NULL, &err);
	bad |= s || err.code != ORR_EFAIL || !strstr(err.text, "new.db") ? 8 : 0;
	err = (struct orr_error){ 0 };
	s = store_open_readonly(in_dir("killed.db"), &err);
	bad |= s || !strstr(err.text, "ended early") ? 16 : 0;
	if (bad)
		printf("# %s\n", err.text);
	return bad;
}

/* Forks a child that cannot write to the directory; a child of root becomes nobody. Returns -1 if this is impossible. */
static int in_readonly_dir(int (*look)(void))
{
	enum { NOBODY = 65534, CANNOT = 99 };
	fflush(stdout);
	pid_t child = fork();
	if (child == 0) {
		if (geteuid() == 0 && (setgroups(0, NULL) || setgid(NOBODY) || setuid(NOBODY)))
			_exit(CANNOT);
		if (access(dir, W_OK) == 0 || access(dir, X_OK))
			_exit(CANNOT);
		int bad = look();
		fflush(stdout);
		_exit(bad);
	}
	int status;
	waitpid(child, &status, 0);
	return !WIFEXITED(status) ? 64 : WEXITSTATUS(status) == CANNOT ? -1 : WEXITSTATUS(status);
}

/* Starts a process that is killed before it closes the store. */
static void make_killed(const char *path)
{
	struct orr_error err = { 0 };
	pid_t child = fork();
	if (child == 0) {
		struct store *s = store_open(path, NULL, &err);
		struct run_result *r = sample(1);
		store_write(s, r, &err);
		raise(SIGSTOP);
	}
	waitpid(child, NULL, WUNTRACED);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

static void readonly_dir(void)
{
	make(in_dir("finished.db"), (const uint64_t[]){ 1, 2, 0 }, NULL);
	make(in_dir("wal-mode.db"), (const uint64_t[]){ 1, 2, 0 }, NULL);
	sql(in_dir("wal-mode.db"), "PRAGMA journal_mode = WAL"); /* the database is complete, but marked as WAL */
	make_killed(in_dir("killed.db"));
	unlink(in_dir("killed.db-shm"));
	chmod(in_dir("killed.db-wal"), 0444);
	chmod(in_dir("killed.db"), 0444);
	chmod(in_dir("finished.db"), 0444);
	chmod(in_dir("wal-mode.db"), 0444);
	chmod(dir, 0555);
	int bad = in_readonly_dir(look_without_rights);
	chmod(dir, 0755);
	if (bad < 0) {
		skip("this user can write everywhere and cannot become another: read-only directory not "
		     "tested");
		return;
	}
	ok(!(bad & 1), "a finished database opens from a directory that cannot be written");
	ok(!(bad & 2), "a complete database left in WAL mode opens from a read-only directory");
	ok(!(bad & 12), "opening it for writing is an error that says what to change");
	ok(!(bad & 16), "a database of a killed writer is an error instead of partial data");
	struct orr_error err = { 0 };
	struct run_result *r = sample(1), *back = NULL;
	chmod(in_dir("killed.db"), 0644);
	chmod(in_dir("killed.db-wal"), 0644);
	struct store *s = store_open(in_dir("killed.db"), NULL, &err);
	ok(s && !store_read(s, r->hash, r->label, &back, &err) && back && same_run(r, back),
		"the run of a killed writer is found once the directory is writable");
	store_close(s, &err);
	result_free(r);
	result_free(back);
}

/* Checks that every query in docs/reference/database.md returns rows, and that every table, view and column is named there. */
static int run_queries(sqlite3 *db, char *doc)
{
	int good = 0;
	for (char *q = strstr(doc, "```sql"); q; q = strstr(q, "```sql")) {
		q += strlen("```sql");
		char *end = strstr(q, "```");
		sqlite3_stmt *st;
		int rc = sqlite3_prepare_v2(db, q, (int)(end - q), &st, NULL);
		good += !rc && sqlite3_step(st) == SQLITE_ROW;
		if (rc)
			printf("# %s\n", sqlite3_errmsg(db));
		sqlite3_finalize(st);
		q = end + 3;
	}
	return good;
}

static void documentation(void)
{
	struct sbuf path = { 0 };
	const char *srcdir = getenv("srcdir");
	sbuf_printf(&path, "%s/docs/reference/database.md", srcdir ? srcdir : ".");
	struct sbuf doc = bytes_of(sbuf_text(&path));
	make(in_dir("doc.db"), (const uint64_t[]){ 1, 2, 0 }, NULL);
	sqlite3 *db;
	sqlite3_open(in_dir("doc.db"), &db);
	ok(doc.len && run_queries(db, doc.text) == 3, "the three example queries of docs/reference/database.md give rows");
	sqlite3_stmt *st;
	sqlite3_prepare_v2(db,
		"SELECT m.name, x.name FROM sqlite_master m JOIN pragma_table_xinfo(m.name) x"
		" WHERE m.type = 'table' OR m.name IN ('summary', 'job_pairs', 'request_pairs', 'series_s', 'accounts_h')",
		-1, &st, NULL);
	struct sbuf columns = { 0 };
	columns_markdown(&columns);
	int missing = 0, n = 0;
	while (sqlite3_step(st) == SQLITE_ROW) {
		for (int c = 0; c < 2; c++) {
			char quoted[64];
			snprintf(quoted, sizeof quoted, "`%s`", sqlite3_column_text(st, c));
			if (doc.len && (strstr(doc.text, quoted) || strstr(sbuf_text(&columns), quoted)))
				continue;
			printf("# not in docs/reference/database.md: %s\n", quoted);
			missing++;
		}
		n++;
	}
	sqlite3_finalize(st);
	sbuf_free(&columns);
	ok(n > 60 && !missing, "docs/reference/database.md or columns.md names every table, view and column (%d missing)", n);
	sqlite3_close(db);
	sbuf_free(&doc);
	sbuf_free(&path);
}

/* Tests the views against values computed by hand from sample_run() with seed 1. */
static void views(void)
{
	struct run_result *r = sample(1);
	sqlite3 *db;
	sqlite3_stmt *st;
	sqlite3_open(in_dir("doc.db"), &db);
	sqlite3_prepare_v2(db,
		"SELECT jct_s, wait_s, status, job_id, slowdown FROM jobs_s WHERE run = 1 AND number IN "
		"(5, 10) ORDER BY 4 DESC",
		-1, &st, NULL);
	const struct job_row *j = &r->jobs[5];
	sqlite3_step(st);
	near_to(sqlite3_column_double(st, 0), (double)(j->end_ns - j->submit_ns) / 1e9, 1e-12, "jobs_s has seconds");
	near_to(sqlite3_column_double(st, 4), (double)(j->end_ns - j->submit_ns) / (double)j->duration_ns, 1e-12, "jobs_s has slowdowns");
	same_text((const char *)sqlite3_column_text(st, 3), "5", "a job without a name shows its number");
	sqlite3_step(st);
	ok(sqlite3_column_type(st, 0) == SQLITE_NULL, "a job that never ended has no JCT");
	same_text((const char *)sqlite3_column_text(st, 2), "unfinished", "jobs_s has the status as a word");
	sqlite3_finalize(st);
	sqlite3_prepare_v2(db, "EXPLAIN QUERY PLAN SELECT * FROM job_pairs WHERE run_a = 1 AND run_b = 2", -1, &st, NULL);
	bool scans = false;
	while (sqlite3_step(st) == SQLITE_ROW)
		scans |= !strncmp((const char *)sqlite3_column_text(st, 3), "SCAN", 4);
	ok(!scans, "job_pairs of two runs reads no others");
	sqlite3_finalize(st);
	ok(!sqlite3_exec(db,
		   "INSERT INTO runs SELECT 9, hash, 'again', policy, world, is_oracle, seed, version,"
		   " rows_total, wall_s, cpu_s, host, created_at, base, overrides, checksum FROM runs WHERE run = 1;"
		   "INSERT INTO jobs(key, job_id, gpus, gpu_milli, submit_ns, end_ns, preemptions, migrations, restarts, status)"
		   " SELECT (9 << 32) + number, job_id, gpus, gpu_milli, submit_ns, end_ns, 0, 0, 0, 0 FROM jobs WHERE run = 1",
		   NULL, NULL, NULL),
		"run 1 again as run 9");
	sqlite3_prepare_v2(db, "SELECT job_id FROM job_pairs WHERE run_a = 1 AND run_b = 9 AND number = 5", -1, &st, NULL);
	sqlite3_step(st);
	same_text((const char *)sqlite3_column_text(st, 0), "5", "job_pairs: a job without a name shows its number");
	sqlite3_finalize(st);
	sqlite3_close(db);
	result_free(r);
}

/* ---- checksums, which are computed while rows are written ---- */

/* Values that SQLite returns in another form, and rows that it returns in another order. */
static void make_awkward(struct run_result *r)
{
	static const double values[] = { -0.0, 0.0, NAN, INFINITY, -INFINITY, 1e15, 4503599627370497.0, 5e-324, 3 };
	for (size_t i = 0; i < r->n_metrics && i < sizeof values / sizeof *values; i++) {
		r->metrics[i].value = values[i];
		r->metrics[i].ci_low = values[sizeof values / sizeof *values - 1 - i];
	}
	for (size_t i = 0; i < r->n_series; i++)
		for (size_t k = 0; k < r->series[i].n; k++)
			r->series[i].value[k] = values[(i + k) % (sizeof values / sizeof *values)];
	for (size_t i = 0; i < r->n_iterations; i++)
		r->iterations[i].start_s = values[i % (sizeof values / sizeof *values)];
}

static void swap_jobs(struct run_result *r)
{
	struct job_row first = r->jobs[0];
	r->jobs[0] = r->jobs[1];
	r->jobs[1] = first;
}

/* Returns the number of runs whose stored checksums differ from those of their rows, and of runs without a checksum of jobs. */
static int wrong_checksums(const char *path, int *without_jobs)
{
	struct orr_error err = { 0 };
	int wrong = 0;
	struct store *s = store_open(path, NULL, &err);
	sqlite3_stmt *st;
	if (!s || db_prepare(s, "SELECT run, checksum FROM runs", "reading", &st, &err))
		return -1;
	while (sqlite3_step(st) == SQLITE_ROW) {
		struct checksums sums;
		size_t part;
		const char *stored = (const char *)sqlite3_column_text(st, 1);
		wrong +=
			digest_run(s, sqlite3_column_int64(st, 0), &sums, &part, &err) || digest_differing(&sums, stored, 0) < DIGEST_PARTS;
		*without_jobs += !strstr(stored, "jobs:");
	}
	sqlite3_finalize(st);
	store_close(s, &err);
	return wrong;
}

static void checksums(void)
{
	static const struct {
		void (*change)(struct run_result *);
		const char *what;
	} kinds[] = { { NULL, "usual rows" }, { make_awkward, "negative zero, infinity, NaN, subnormal numbers" },
		{ swap_jobs, "rows in another order" } };
	static const uint64_t seeds[] = { 1, 2, 3, 4, 5, 6, 7, 8, 0 };
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
		char name[32];
		int without = 0;
		snprintf(name, sizeof name, "sums-%zu.db", i);
		make(in_dir(name), seeds, kinds[i].change);
		int wrong = wrong_checksums(in_dir(name), &without);
		ok(!wrong && !without, "%s: the checksums equal those of the stored rows (%d differ)", kinds[i].what, wrong);
	}
}

int main(void)
{
	if (!mkdtemp(dir) || chmod(dir, 0755))
		return 1;
	round_trip();
	replacing();
	shared_scenarios();
	digests();
	checksums();
	foreign_files();
	locked_out();
	readonly_dir();
	documentation();
	views();
	struct sbuf clean = { 0 };
	sbuf_printf(&clean, "rm -r %s", dir);
	if (system(sbuf_text(&clean)))
		printf("# %s remains\n", dir);
	sbuf_free(&clean);
	return done();
}
