/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Databases of schemas 1 to 7, made from the SQL of the program that wrote them (tests/data): reading leaves the file as it is; opening
 * for writing converts it with the same digest; a conversion that a full disk or kill -9 ends leaves the old contents whole. Then the
 * errors of databases whose scenarios or checksums are damaged.
 */
#include "results/db.h"
#include "results/store.h"

#include "base/mem.h"
#include "base/sbuf.h"
#include "tests/results/faultvfs.h"
#include "tests/results/sample_run.h"
#include "tests/tap.h"

#include <signal.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static char dir[] = "/tmp/orrery-migrate.XXXXXX";
static char path[64];

static void remove_all(void)
{
	static const char *const suffix[] = { "", "-wal", "-shm", "-journal" };
	for (size_t i = 0; i < sizeof suffix / sizeof *suffix; i++) {
		char name[80];
		snprintf(name, sizeof name, "%s%s", path, suffix[i]);
		unlink(name);
	}
}

static struct sbuf bytes_of(const char *name)
{
	struct sbuf b = { 0 };
	FILE *f = fopen(name, "rb");
	for (int c; f && (c = getc(f)) != EOF;)
		sbuf_putc(&b, (char)c);
	if (f)
		fclose(f);
	return b;
}

static bool sql(const char *text)
{
	sqlite3 *db;
	bool good = !sqlite3_open(path, &db) && !sqlite3_exec(db, text, NULL, NULL, NULL);
	if (!good)
		printf("# %s\n", sqlite3_errmsg(db));
	sqlite3_close(db);
	return good;
}

/* Returns the first value of a query as text, valid until the next call. */
static const char *ask(const char *query)
{
	static char text[200];
	sqlite3 *db;
	sqlite3_stmt *st;
	*text = '\0';
	if (!sqlite3_open(path, &db) && !sqlite3_prepare_v2(db, query, -1, &st, NULL)) {
		if (sqlite3_step(st) == SQLITE_ROW)
			snprintf(text, sizeof text, "%s", (const char *)sqlite3_column_text(st, 0));
		sqlite3_finalize(st);
	}
	sqlite3_close(db);
	return text;
}

/* Returns the digest of the file, opened for reading, or the error. */
static const char *digest(void)
{
	static char text[sizeof((struct orr_error *)0)->text];
	struct orr_error err = { 0 };
	struct store *s = store_open_readonly(path, &err);
	if (!s || store_digest(s, text, &err))
		snprintf(text, sizeof text, "%s", err.text);
	store_close(s, &err);
	return text;
}

/* Makes the database of a fixture. Its digest is the last word of the first line. */
static bool make(const char *fixture, char want[65])
{
	char name[300];
	const char *srcdir = getenv("srcdir");
	snprintf(name, sizeof name, "%s/tests/data/%s.sql", srcdir ? srcdir : ".", fixture);
	struct sbuf text = bytes_of(name);
	remove_all();
	bool good = text.len > 100 && sql(text.text);
	const char *line = good ? strchr(text.text, '\n') : NULL;
	snprintf(want, 65, "%s", line ? line - 64 : "");
	sbuf_free(&text);
	return good;
}

static const char *const fixtures[] = { "schema-1-first", "schema-1", "schema-2", "schema-3", "schema-4", "schema-5", "schema-6",
	"schema-7" };
enum { FIXTURES = sizeof fixtures / sizeof *fixtures };

static void reading(const char *fixture)
{
	char want[65];
	struct orr_error err = { 0 };
	struct stored_run *list;
	size_t n = 0, whole = 0;
	ok(make(fixture, want), "%s: the database is made", fixture);
	struct sbuf before = bytes_of(path);
	same_text(digest(), want, "the digest equals that of the program that wrote the file");
	struct store *s = store_open_readonly(path, &err);
	if (s && !store_list(s, &list, &n, &err)) {
		for (size_t i = 0; i < n; i++) {
			struct run_result *r = NULL;
			whole += !store_read_run(s, list[i].run, &r, &err) && r && r->scenario[0] == '{' && r->n_metrics > 0;
			result_free(r);
		}
		store_list_free(list, n);
	}
	store_close(s, &err);
	ok(n >= 3 && whole == n, "%zu runs of the file are read", n);
	struct sbuf after = bytes_of(path);
	ok(before.len == after.len && !memcmp(before.text, after.text, before.len), "reading leaves the file as it is");
	sbuf_free(&before);
	sbuf_free(&after);
}

static int migrate(const char *vfs, struct orr_error *err)
{
	struct store *s = store_open(path, vfs, err);
	return s ? store_close(s, err) : err->code;
}

static void writing(const char *fixture)
{
	char want[65];
	struct orr_error err = { 0 };
	make(fixture, want);
	struct store *s = store_open(path, NULL, &err);
	struct run_result *r = sample_run("new", 5, 3), *back = NULL;
	ok(s && !store_write(s, r, &err) && !store_read(s, r->hash, "new", &back, &err) && back && same_run(r, back),
		"%s: a run is stored in it", fixture);
	ok(!store_close(s, &err), "the store closes without an error");
	result_free(r);
	result_free(back);
	same_text(ask("PRAGMA user_version"), "8", "the converted file has the present schema version");
	same_text(ask("PRAGMA integrity_check"), "ok", "the converted file passes SQLite's check");
	same_text(ask("SELECT count(*) FROM runs WHERE checksum NOT LIKE 'run:%'"), "0", "each run has a checksum");
	same_text(ask("SELECT count(*) FROM runs_s WHERE scenario IS NULL OR NOT json_valid(scenario)"), "0",
		"SQLite's json_patch() restores each scenario");
	sql("DELETE FROM jobs WHERE run = (SELECT max(run) FROM runs); DELETE FROM runs WHERE label = 'new'");
	same_text(digest(), want, "without the new run its digest is that of the old file");
}

static void faults(const char *fixture)
{
	int n = 0, bad = 0, silent = 0;
	bool has_struck = true;
	char want[65];
	make(fixture, want);
	struct sbuf file = bytes_of(path);
	while (has_struck && n < 2000) {
		struct orr_error err = { 0 }, second = { 0 };
		remove_all();
		FILE *f = fopen(path, "wb");
		fwrite(file.text, 1, file.len, f);
		fclose(f);
		n++;
		fault_arm(n, n % 2 ? SQLITE_FULL : SQLITE_IOERR_WRITE, n % 4 < 2);
		int code = migrate(FAULT_VFS, &err);
		fault_disarm();
		has_struck = fault_has_struck();
		silent += code && !strstr(err.text, path);
		/* A failure may come after the commit, when the file is closed. */
		const char *version = ask("PRAGMA user_version");
		bool is_whole = (*version == fixture[7] || *version == '8') && !strcmp(digest(), want);
		if (!is_whole || migrate(NULL, &second) || strcmp(digest(), want) != 0) {
			printf("# at change %d: %s; %s; %s\n", n, err.text, second.text, digest());
			bad++;
		}
	}
	ok(!bad && n > 20, "%s: disk full or in error at any of %d changes: the contents are whole, a second attempt converts them",
		fixture, n - 1);
	ok(!silent, "each failure names the file");
	sbuf_free(&file);
}

static double now_s(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void kills(const char *fixture)
{
	enum { ROUNDS = 40 };
	int bad = 0, killed = 0;
	char want[65];
	struct orr_error err = { 0 };
	make(fixture, want);
	double begin = now_s();
	migrate(NULL, &err);
	double limit_s = 1.5 * (now_s() - begin);
	for (int i = 0; i < ROUNDS; i++) {
		make(fixture, want);
		fflush(stdout);
		pid_t child = fork();
		if (child == 0)
			_exit(migrate(NULL, &err));
		double wait_s = limit_s * i / ROUNDS;
		nanosleep(&(struct timespec){ (time_t)wait_s, (long)((wait_s - floor(wait_s)) * 1e9) }, NULL);
		kill(child, SIGKILL);
		int status;
		waitpid(child, &status, 0);
		killed += WIFSIGNALED(status);
		bad += strcmp(digest(), want) != 0;
		bad += migrate(NULL, &err) || strcmp(digest(), want) != 0;
	}
	ok(!bad && killed > 3, "%s: kill -9 at %d of %d moments: the contents are whole", fixture, killed, ROUNDS);
}

/* Rows of schema 6 become lists: SQL sees the same rows, checksums hold, and a damaged run stays damaged. */
static void lists(void)
{
	static const char rows[] = "SELECT count(*) || group_concat(run || position || entity || subject || begin_ns || end_ns || kind || "
				   "ifnull(cause, '-') || ifnull(detail, '-')) FROM (SELECT * FROM parts ORDER BY run, position)";
	char want[65], before[200];
	struct orr_error err = { 0 };
	make("schema-6", want);
	snprintf(before, sizeof before, "%s", ask(rows));
	ok(strncmp(before, "37", 2) == 0 && !migrate(NULL, &err), "parts of schema 6 are converted");
	same_text(ask(rows), before, "SQL reads the same parts from the view");
	same_text(ask("SELECT count(*) || ' ' || sum(json_array_length(list)) FROM parts_lists"), "5 37",
		"the parts are in one list per run and entity");
	same_text(
		ask("SELECT cause FROM parts WHERE run = 1 AND subject = 3 LIMIT 1"), "job j\"2\\", "a name with a quote and a backslash");
	make("schema-6", want);
	sql("UPDATE parts SET end_ns = end_ns + 1 WHERE run = 2 AND position = 0");
	ok(!migrate(NULL, &err), "(a file with an edited part is converted)");
	ok(strstr(digest(), "run 2 (easy-backfill): parts differs from its checksum") != NULL, "the edited run is still found");
}

/* Lists of schema 7 stay as they are: SQL and the program read the same parts from them. */
static void plain_lists(void)
{
	static const char rows[] = "SELECT count(*) || ' ' || sum(length(list)) FROM parts_lists";
	char want[65], before[200];
	struct orr_error err = { 0 };
	make("schema-7", want);
	snprintf(before, sizeof before, "%s", ask(rows));
	ok(!migrate(NULL, &err), "a file of schema 7 is opened for writing");
	same_text(ask(rows), before, "its lists stay as they are");
	same_text(ask("SELECT count(*) || group_concat(position || ' ' || subject || ' ' || begin_ns || ' ' || end_ns || ' ' || kind || ' "
		      "' || "
		      "ifnull(cause, '-') || ' ' || ifnull(detail, '-')) FROM (SELECT * FROM parts WHERE run = 1 AND entity = 'job' AND "
		      "subject < 3 ORDER BY position) WHERE begin_ns < 100e9"),
		"20 1 10000000000 100000000000 queued job j1 4 GPUs asked, 0 free,2 2 20000000000 100000000000 ordered job j\"2\\ -",
		"the view reads them");
	same_text(digest(), want, "and the digest is that of the program that wrote them");
}

/* ---- damaged files ---- */

static void damaged(const char *change, const char *why, const char *what)
{
	struct orr_error err = { 0 };
	remove_all();
	struct store *s = store_open(path, NULL, &err);
	for (uint64_t seed = 1; s && seed <= 3; seed++) {
		struct run_result *r = sample_run("one", 5, seed);
		char scenario[400];
		snprintf(scenario, sizeof scenario,
			"{\"world\":\"jobs\",\"long\":\"a text that makes the overrides shorter than half of it\",\"seed\":%d}", (int)seed);
		mem_free(r->scenario);
		r->scenario = mem_strdup(scenario);
		store_write(s, r, &err);
		result_free(r);
	}
	store_close(s, &err);
	sql(change);
	const char *text = digest();
	if (!ok(strstr(text, path) && strstr(text, why), "%s: the digest is refused", what))
		printf("# %s\n", text);
}

static void hostile(void)
{
	struct run_result *r = NULL;
	struct orr_error err = { 0 };
	damaged("UPDATE runs SET overrides = 'no JSON' WHERE run = 2", "overrides of run 2 are not a JSON object",
		"overrides that are no JSON");
	struct store *s = store_open_readonly(path, &err);
	ok(s && store_read_run(s, 2, &r, &err) == ORR_EFAIL && !r && strstr(err.text, "overrides of run 2"),
		"a run with damaged overrides is not read");
	ok(s && !store_read_run(s, 1, &r, &err) && r && r->n_metrics, "other runs are");
	result_free(r);
	store_close(s, &err);
	damaged("UPDATE runs SET overrides = '[1,2]' WHERE run = 2", "overrides of run 2 are not a JSON object",
		"overrides that are a list");
	damaged("UPDATE runs SET overrides = '{\"seed\":' || replace(hex(zeroblob(500)), '0', '[') || '}' WHERE run = 2",
		"overrides of run 2 are not a JSON object", "overrides nested too deeply");
	damaged("UPDATE runs SET overrides = '{\"seed\":9}' WHERE run = 3", "run 3 (one): run differs from its checksum",
		"other overrides");
	damaged("UPDATE scenarios SET text = replace(text, 'jobs', 'step')", "run 1 (one): run differs from its checksum", "another base");
	damaged("DELETE FROM scenarios", "refers to a base scenario that is missing", "a missing base");
	damaged("UPDATE runs SET checksum = replace(checksum, 'metrics:', 'metrics:f') WHERE run = 2", "run 2 (one): metrics differs",
		"a wrong checksum");
	damaged("UPDATE runs SET checksum = x'00ff' WHERE run = 2", "run 2 (one): run differs", "a checksum of other bytes");
	damaged("UPDATE metrics SET value = value + 1e-9 WHERE run = 3 AND position = 0", "run 3 (one): metrics differs",
		"an edited metric");
	damaged("DELETE FROM events WHERE run = 1", "run 1 (one): events differs", "missing events");
	damaged("INSERT INTO spans VALUES(2, 0, 0, 0, 0, 0, 1, 'forward', NULL)", "run 2 (one): spans differs", "rows that no run had");
	ok(sql("UPDATE runs SET checksum = ''"), "(all checksums are removed)");
	ok(strstr(digest(), "differs from its checksum") != NULL, "runs without checksums are refused");
}

int main(void)
{
	if (!mkdtemp(dir))
		return 1;
	snprintf(path, sizeof path, "%s/old.db", dir);
	fault_register();
	for (size_t i = 0; i < FIXTURES; i++) {
		reading(fixtures[i]);
		writing(fixtures[i]);
	}
	faults("schema-1-first");
	faults("schema-5");
	faults("schema-6");
	kills("schema-1-first");
	kills("schema-5");
	lists();
	plain_lists();
	hostile();
	remove_all();
	rmdir(dir);
	return done();
}
