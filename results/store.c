/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "results/store.h"

#include "base/mem.h"
#include "base/sbuf.h"
#include "results/db.h"
#include "results/lists.h"
#include "results/scenarios.h"

#include "config.h"

#include <string.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static void pause_ms(int ms)
{
	struct timespec t = { .tv_sec = ms / 1000, .tv_nsec = (ms % 1000) * 1000000L };
	nanosleep(&t, NULL);
}

/* Runs sql, and retries while other processes hold a lock for which SQLite itself does not wait (a change of the journal mode).
 * Returns SQLite's code. */
static int exec_patiently(const struct store *s, const char *sql, int limit_ms)
{
	int rc, waited_ms = 0, ms = 1 + getpid() % 7; /* the interval depends on the process, so that processes do not retry in lockstep */
	while ((rc = sqlite3_exec(s->db, sql, NULL, NULL, NULL)) == SQLITE_BUSY && waited_ms < limit_ms) {
		pause_ms(ms);
		waited_ms += ms;
		ms = ms < 50 ? ms * 2 : ms;
	}
	return rc ? sqlite3_extended_errcode(s->db) : SQLITE_OK;
}

bool db_use_log(struct store *s, bool is_used)
{
	sqlite3_busy_timeout(s->db, 0);
	int rc = exec_patiently(s, is_used ? "PRAGMA journal_mode = WAL" : "PRAGMA journal_mode = DELETE", is_used ? s->busy_ms : 0);
	sqlite3_busy_timeout(s->db, s->busy_ms);
	return !rc;
}

/* Checks that the database is one of orrery and sets its schema version; 0: empty. Call it inside a transaction: otherwise another
 * process may create the tables between the two queries. */
static int check_identity(const struct store *s, int *schema, struct orr_error *err)
{
	static const char doing[] = "opening the database";
	int64_t application, version, objects;
	int code = db_number(s, "PRAGMA application_id", &application, doing, err);
	if (!code)
		code = db_number(s, "PRAGMA user_version", &version, doing, err);
	if (!code)
		code = db_number(s, "SELECT count(*) FROM sqlite_master", &objects, doing, err);
	if (code)
		return code;
	*schema = 0;
	if (application == 0 && version == 0 && objects == 0)
		return ORR_OK;
	if (application != DB_APPLICATION_ID)
		return orr_fail(err, ORR_EINPUT, "%s: the SQLite database belongs to another program: expected another file name", s->path);
	if (version > DB_SCHEMA_VERSION)
		return orr_fail(err, ORR_EINPUT, "%s: schema version %lld is newer than this orrery (%s): expected at most version %d",
			s->path, (long long)version, PACKAGE_VERSION, DB_SCHEMA_VERSION);
	if (version < 1)
		return orr_fail(
			err, ORR_EINPUT, "%s: unknown schema version %lld: expected a file that orrery wrote", s->path, (long long)version);
	*schema = (int)version;
	return ORR_OK;
}

static int identify(struct store *s, struct orr_error *err)
{
	int code = db_exec(s, "BEGIN", "opening the database", err);
	if (code)
		return code;
	code = check_identity(s, &s->version, err);
	db_rollback(s); /* read-only transaction */
	return code;
}

/* Creates the tables of an empty database, or adds the tables that an older version lacks. */
static int make_schema(struct store *s, struct orr_error *err)
{
	static const char doing[] = "making the tables";
	int code = db_exec(s, "BEGIN IMMEDIATE", doing, err);
	if (code)
		return code;
	code = check_identity(s, &s->version, err); /* another process may have created the tables */
	if (!code && (s->version < DB_SCHEMA_VERSION || db_lacks_columns(s))) {
		char sql[96];
		sqlite3_snprintf(
			sizeof sql, sql, "PRAGMA application_id = %d; PRAGMA user_version = %d", DB_APPLICATION_ID, DB_SCHEMA_VERSION);
		code = db_make_tables(s, err);
		if (!code)
			code = db_exec(s, sql, doing, err);
		s->version = DB_SCHEMA_VERSION;
	}
	if (!code)
		code = db_exec(s, "COMMIT", doing, err);
	if (code)
		db_rollback(s);
	return code;
}

static struct store *store_new(const char *path, bool is_readonly)
{
	struct store *s = mem_zalloc(1, sizeof *s);
	s->path = mem_strdup(path);
	s->busy_ms = DB_BUSY_MS;
	s->long_rows = DB_LONG_ROWS;
	s->is_readonly = is_readonly;
	return s;
}

static void store_free(struct store *s)
{
	db_finalize_statements(s);
	scenarios_forget(s);
	sqlite3_close(s->db);
	mem_free(s->path);
	mem_free(s);
}

/* Refuses names that SQLite treats as a temporary or in-memory database, and files that cannot store a database. */
static int check_path(const struct store *s, struct orr_error *err)
{
	struct stat st;
	if (!*s->path)
		return orr_fail(err, ORR_EINPUT, "database: empty file name: expected the name of a file");
	if (*s->path == ':')
		return orr_fail(err, ORR_EINPUT, "%s: names a database in memory, which ends with the program: expected the name of a file",
			s->path);
	if (!stat(s->path, &st) && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
		return orr_fail(err, ORR_EINPUT, "%s: a device, FIFO or socket: expected the name of a regular file", s->path);
	return ORR_OK;
}

static int open_for_writing(struct store *s, const char *vfs, struct orr_error *err)
{
	static const char doing[] = "opening the database";
	int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
	int code = check_path(s, err);
	if (code)
		return code;
	int rc = sqlite3_open_v2(s->path, &s->db, flags, vfs);
	if (rc)
		return db_fail(s, rc, doing, err);
	sqlite3_extended_result_codes(s->db, 1);
	sqlite3_busy_timeout(s->db, s->busy_ms);
	db_add_functions(s);
	lists_add_reader(s);
	code = identify(s, err);
	if (code)
		return code;
	if (sqlite3_db_readonly(s->db, "main") == 1)
		return db_fail(s, SQLITE_READONLY, doing, err);
	/* NORMAL: a power cut may lose the last runs, which are then simulated again, but never stores a run in part. FULL costs a
	 * sync per run. */
	rc = exec_patiently(s, "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL", s->busy_ms);
	/* Hashes of runs are random keys: their index stays in memory, and a page that several runs change is copied once. */
	if (!rc)
		rc = sqlite3_exec(s->db, "PRAGMA cache_size = -16000; PRAGMA wal_autocheckpoint = 4000", NULL, NULL, NULL);
	if (rc)
		return db_fail(s, rc, doing, err);
	return s->version < DB_SCHEMA_VERSION || db_lacks_columns(s) ? make_schema(s, err) : ORR_OK;
}

struct store *store_open(const char *path, const char *vfs, struct orr_error *err)
{
	struct store *s = store_new(path, false);
	if (!open_for_writing(s, vfs, err))
		return s;
	store_free(s);
	return NULL;
}

/* Returns the suffix of the non-empty log or journal in the folder of the database; NULL: there is none. */
static const char *left_log(const struct store *s)
{
	static const char *const suffix[] = { "-wal", "-journal" };
	for (size_t i = 0; i < sizeof suffix / sizeof *suffix; i++) {
		struct sbuf log = { 0 };
		struct stat st;
		sbuf_printf(&log, "%s%s", s->path, suffix[i]);
		bool has = stat(sbuf_text(&log), &st) == 0 && st.st_size > 0;
		sbuf_free(&log);
		if (has)
			return suffix[i];
	}
	return NULL;
}

/*
 * If two processes close it at the same moment, the file may stay in WAL mode, complete and without a log. In a read-only
 * folder SQLite opens such a file only with the option "immutable".
 */
static int open_immutable(struct store *s)
{
	struct sbuf uri = { 0 };
	sbuf_puts(&uri, "file:");
	for (const char *c = s->path; *c; c++) {
		if (strchr("%?#", *c))
			sbuf_printf(&uri, "%%%02X", (unsigned char)*c);
		else
			sbuf_putc(&uri, *c);
	}
	sbuf_puts(&uri, "?immutable=1");
	sqlite3_close(s->db);
	int flags = SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_URI;
	int rc = sqlite3_open_v2(sbuf_text(&uri), &s->db, flags, NULL);
	sbuf_free(&uri);
	return rc;
}

static const char PROBE[] = "SELECT count(*) FROM sqlite_master";

/* Undoes the transaction of a process that ended early, which a read-only connection cannot do. Returns false if this needs a writable
 * file and folder. */
static bool undo(const struct store *s)
{
	sqlite3 *db = NULL;
	int rc = sqlite3_open_v2(s->path, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);
	if (!rc) {
		sqlite3_busy_timeout(db, s->busy_ms);
		rc = sqlite3_exec(db, PROBE, NULL, NULL, NULL);
	}
	sqlite3_close(db);
	return !rc;
}

static int open_for_reading(struct store *s, struct orr_error *err)
{
	static const char doing[] = "opening the database for reading";
	int code = check_path(s, err);
	if (code)
		return code;
	int rc = sqlite3_open_v2(s->path, &s->db, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, NULL);
	if (rc)
		return db_fail(s, rc, doing, err);
	sqlite3_busy_timeout(s->db, s->busy_ms);
	rc = sqlite3_exec(s->db, PROBE, NULL, NULL, NULL);
	if (rc == SQLITE_READONLY && left_log(s) && undo(s))
		rc = sqlite3_exec(s->db, PROBE, NULL, NULL, NULL);
	const char *log = left_log(s);
	if ((rc == SQLITE_CANTOPEN || rc == SQLITE_READONLY) && log)
		return orr_fail(err, ORR_EFAIL,
			"%s: the program that wrote it ended early, and its log %s%s cannot be recovered in a read-only folder: expected "
			"copies of both files in a writable folder",
			s->path, s->path, log);
	if (rc == SQLITE_CANTOPEN || rc == SQLITE_READONLY)
		rc = open_immutable(s);
	if (rc)
		return db_fail(s, rc, doing, err);
	sqlite3_extended_result_codes(s->db, 1);
	db_add_functions(s);
	lists_add_reader(s);
	code = identify(s, err);
	if (!code && !s->version)
		code = orr_fail(err, ORR_EINPUT, "%s: empty file: expected a database of orrery, or another file name", s->path);
	return code;
}

struct store *store_open_readonly(const char *path, struct orr_error *err)
{
	struct store *s = store_new(path, true);
	if (!open_for_reading(s, err))
		return s;
	store_free(s);
	return NULL;
}

int store_close(struct store *s, struct orr_error *err)
{
	if (!s)
		return ORR_OK;
	int code = ORR_OK, turn = -1;
	if (!s->is_readonly) {
		static const char doing[] = "closing the database";
		const int patience_ms = 200, turn_ms = 5000; /* limits the wait, so that a hanging process does not block others */
		/* Processes that close the database at the same time take turns. Each process except the last finds the database
		 * open in another process and leaves the WAL mode on. On a file system without such locks a write-ahead log may
		 * remain. */
		turn = open(s->path, O_RDONLY | O_CLOEXEC);
		for (int waited_ms = 0; turn >= 0 && flock(turn, LOCK_EX | LOCK_NB) && waited_ms < turn_ms; waited_ms += 5)
			pause_ms(5);
		sqlite3_busy_timeout(s->db, patience_ms);
		/* Leaving WAL mode starts with a checkpoint. BUSY: another process has the database open; the last process to close
		 * it leaves WAL mode. */
		int rc = exec_patiently(s, "PRAGMA journal_mode = DELETE", patience_ms);
		if (rc && (rc & 0xff) != SQLITE_BUSY && (rc & 0xff) != SQLITE_LOCKED)
			code = db_fail(s, rc, doing, err);
	}
	store_free(s);
	/* Close this descriptor last: closing any descriptor of the file releases the locks of SQLite. */
	if (turn >= 0)
		close(turn);
	return code;
}

void store_replace_existing(struct store *s, bool replace)
{
	s->replaces = replace;
}
