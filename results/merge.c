/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "results/merge.h"

#include "base/mem.h"
#include "base/sbuf.h"
#include "results/columns.h"
#include "results/db.h"
#include "results/digest.h"
#include "results/failed.h"
#include "results/scenarios.h"
#include "results/store.h"

#include <inttypes.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

static const char doing[] = "merging runs";

enum { MOST_TABLES = 32, MOST_OPEN = 1000, SPARE_FILES = 64, FILES_PER_SHARD = 3 /* the database and, after a crash, its log */ };

/* A table of a run's rows. The columns of the SELECT are the parameters of the INSERT from ?2 on; ?1 is the run in both. */
struct table {
	const char *name;
	char *select, *insert;
	sqlite3_stmt *write, *check; /* statements on the database `out` */
};

struct shard {
	const char *path;
	struct store *store; /* NULL: closed */
	sqlite3_stmt *read[MOST_TABLES];
	bool is_empty[MOST_TABLES], has_looked;
};

struct merge {
	struct store *out;
	struct store scratch; /* list of runs, in a temporary file of SQLite */
	struct shard *shard;
	size_t n_shards;
	struct table table[MOST_TABLES]; /* the first table is `runs` */
	size_t n_tables;
	size_t *open, n_open, most_open, oldest; /* ring of the open shards */
	int64_t first_new;                       /* number of the first run that this merge adds */
	uint32_t *source;                        /* shard of each added run */
	size_t n_sources, cap_sources;
	sqlite3_stmt *find;
	struct sbuf checksum, overrides; /* checksum of the run that is being copied */
	struct failed_runs failures;     /* sum over all shards */
	struct merge_count *count;
	struct orr_error *err;
};

/* ---- shards ---- */

static void close_shard(struct shard *h)
{
	for (size_t i = 0; i < MOST_TABLES; i++) {
		sqlite3_finalize(h->read[i]);
		h->read[i] = NULL;
	}
	store_close(h->store, NULL);
	h->store = NULL;
}

/* Opens the shard. If too many are open, closes the one that was opened first. */
static int open_shard(struct merge *m, size_t k)
{
	struct shard *h = &m->shard[k];
	if (h->store)
		return ORR_OK;
	if (m->n_open == m->most_open)
		close_shard(&m->shard[m->open[m->oldest]]);
	else
		m->n_open++;
	m->open[m->oldest] = k;
	m->oldest = (m->oldest + 1) % m->most_open;
	h->store = store_open_readonly(h->path, m->err);
	if (!h->store)
		return m->err->code;
	if (h->store->version < DB_SCHEMA_VERSION || db_lacks_columns(h->store))
		return orr_fail(m->err, ORR_EINPUT,
			"%s: the shard has schema version %d: expected version %d, or a merge by the program that wrote the shard", h->path,
			h->store->version, DB_SCHEMA_VERSION);
	return db_exec(h->store, "PRAGMA cache_size = -256", doing, m->err);
}

/* Raises the limit on open files if the system allows it. Returns the number of shards that may be open at once. */
static size_t shards_at_once(size_t n)
{
	struct rlimit limit;
	size_t most = n < MOST_OPEN ? n : MOST_OPEN, want = most * FILES_PER_SHARD + SPARE_FILES;
	if (getrlimit(RLIMIT_NOFILE, &limit))
		return 1;
	if (limit.rlim_cur < want) {
		limit.rlim_cur = limit.rlim_max < want ? limit.rlim_max : want;
		setrlimit(RLIMIT_NOFILE, &limit);
		getrlimit(RLIMIT_NOFILE, &limit);
	}
	if (limit.rlim_cur < want)
		most = limit.rlim_cur > 2 * SPARE_FILES ? (limit.rlim_cur - SPARE_FILES) / FILES_PER_SHARD : 1;
	return most ? most : 1;
}

static int refuse_itself(const struct merge *m, const char *out)
{
	struct stat o, s;
	if (stat(out, &o))
		return ORR_OK;
	for (size_t k = 0; k < m->n_shards; k++)
		if (!stat(m->shard[k].path, &s) && s.st_dev == o.st_dev && s.st_ino == o.st_ino)
			return orr_fail(m->err, ORR_EINPUT,
				"%s: the result of the merge is also one of its shards (%s): expected other files", out, m->shard[k].path);
	return ORR_OK;
}

/* ---- the list of runs ---- */

static int open_scratch(struct merge *m)
{
	static char name[] = "temporary file of the merge (SQLITE_TMPDIR sets its folder)";
	m->scratch.path = name;
	m->scratch.busy_ms = DB_BUSY_MS;
	int rc = sqlite3_open_v2("", &m->scratch.db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, NULL);
	if (rc)
		return db_fail(&m->scratch, rc, doing, m->err);
	return db_exec(&m->scratch,
		"BEGIN;"
		"CREATE TABLE incoming(shard INTEGER, run INTEGER, hash TEXT, label TEXT, scenario TEXT, seed TEXT);"
		"CREATE TABLE wanted(hash TEXT, label TEXT, position INTEGER, PRIMARY KEY(hash, label)) WITHOUT ROWID",
		doing, m->err);
}

static int list_wanted(struct merge *m, const struct run_order *order)
{
	sqlite3_stmt *st;
	struct run_key key = { NULL, NULL };
	int code = db_prepare(&m->scratch, "INSERT OR IGNORE INTO wanted VALUES(?, ?, ?)", doing, &st, m->err);
	if (!code)
		code = order->next(order->ctx, &key, m->err);
	for (int64_t i = 0; !code && key.hash; i++) {
		db_bind_text(st, 1, key.hash);
		db_bind_text(st, 2, key.label);
		sqlite3_bind_int64(st, 3, i);
		code = db_run(&m->scratch, st, doing, m->err);
		if (!code)
			code = order->next(order->ctx, &key, m->err);
	}
	sqlite3_finalize(st);
	return code;
}

static int list_shard(struct merge *m, size_t k, sqlite3_stmt *insert)
{
	sqlite3_stmt *st;
	int code = open_shard(m, k);
	if (code)
		return code;
	const struct store *s = m->shard[k].store;
	struct sbuf sql = { 0 };
	sbuf_printf(&sql, "SELECT run, hash, label, %s, seed FROM runs r ORDER BY run", db_scenario_sql(s));
	code = db_prepare(s, sbuf_text(&sql), doing, &st, m->err);
	sbuf_free(&sql);
	int rc = SQLITE_DONE;
	if (!code)
		code = failed_runs_read(m->shard[k].store, &m->failures, m->err);
	while (!code && (rc = db_step(s, st, doing, m->err)) == SQLITE_ROW) {
		sqlite3_bind_int64(insert, 1, (int64_t)k);
		for (int c = 0; c < 5; c++)
			sqlite3_bind_value(insert, c + 2, sqlite3_column_value(st, c));
		code = db_run(&m->scratch, insert, doing, m->err);
	}
	sqlite3_finalize(st);
	return code || rc == SQLITE_DONE ? code : ORR_EFAIL;
}

static int list_runs(struct merge *m)
{
	sqlite3_stmt *insert;
	int code = db_prepare(&m->scratch,
		"INSERT INTO incoming VALUES(?1, ?2, ?3, ?4,"
		" CASE WHEN NOT EXISTS(SELECT 1 FROM wanted WHERE hash = ?3 AND label = ?4) THEN ?5 END, ?6)",
		doing, &insert, m->err);
	for (size_t k = 0; !code && k < m->n_shards; k++)
		code = list_shard(m, k, insert);
	sqlite3_finalize(insert);
	return code;
}

/* ---- statements ---- */

/* Prepares the statement that lists the stored columns of a table, except those that make_table() treats separately. */
static int list_columns(struct merge *m, const char *name, sqlite3_stmt **st)
{
	char sql[160];
	sqlite3_snprintf(sizeof sql, sql,
		"SELECT name FROM pragma_table_xinfo('%q') WHERE hidden = 0 AND name NOT IN('run', 'key', 'base', 'overrides') ORDER BY "
		"cid",
		name);
	return db_prepare(m->out, sql, doing, st, m->err);
}

/* Makes the statements of a table from its stored columns in the database. order: columns that follow `run` in the primary key. The last
 * column of `runs` is the whole scenario, from which copy_rows() makes the last two parameters, base and overrides. */
static int make_table(struct merge *m, const char *name, enum row_key key, const char *order)
{
	struct sbuf select = { 0 }, insert = { 0 }, values = { 0 };
	sqlite3_stmt *st;
	bool is_runs = !m->n_tables, is_packed = key == KEY_PACKED;
	int n = is_packed ? 2 : 1, rc;
	int code = list_columns(m, name, &st);
	if (code)
		return code;
	sbuf_puts(&select, is_packed ? "SELECT key & 4294967295" : "SELECT ");
	sbuf_printf(&insert, "INSERT INTO %s(%s", name, is_packed ? "key" : "run");
	sbuf_puts(&values, is_packed ? "VALUES(?1 << 32 | ?2" : "VALUES(?1");
	while ((rc = db_step(m->out, st, doing, m->err)) == SQLITE_ROW) {
		const char *column = (const char *)sqlite3_column_text(st, 0);
		sbuf_printf(&select, "%s%s", n == 1 ? "" : ", ", column);
		sbuf_printf(&insert, ", %s", column);
		sbuf_printf(&values, ", ?%d", ++n);
	}
	sqlite3_finalize(st);
	if (is_runs) {
		sbuf_printf(&select, ", %s AS scenario", db_scenario_sql(m->out));
		sbuf_puts(&insert, ", base, overrides");
		sbuf_printf(&values, ", ?%d, ?%d", n + 1, n + 2);
	}
	sbuf_printf(&select, " FROM %s r WHERE ", name);
	if (is_packed)
		sbuf_puts(&select, "key BETWEEN ?1 << 32 AND (?1 << 32) + 4294967295 ORDER BY key");
	else
		sbuf_printf(&select, "run = ?1%s%s", is_runs ? "" : " ORDER BY ", order);
	sbuf_printf(&insert, ") %s)", sbuf_text(&values));
	struct table *t = &m->table[m->n_tables++];
	*t = (struct table){ .name = name, .select = sbuf_steal(&select), .insert = sbuf_steal(&insert) };
	sbuf_free(&values);
	if (rc != SQLITE_DONE)
		return ORR_EFAIL;
	code = db_prepare(m->out, t->insert, doing, &t->write, m->err);
	return code ? code : db_prepare(m->out, t->select, doing, &t->check, m->err);
}

static int make_tables(struct merge *m)
{
	int code = make_table(m, "runs", KEY_FIRST, "");
	for (size_t i = 0; !code && i < n_row_tables; i++) {
		const struct row_table *t = &row_tables[i];
		code = make_table(m, t->stored, t->key, t->key == KEY_PACKED ? "" : has_position(t) ? "position" : t->columns[0].name);
	}
	if (!code)
		code = make_table(m, "series", KEY_FIRST, "series");
	if (!code)
		code = make_table(m, "series_points", KEY_FIRST, "series, point");
	return code ? code : db_prepare(m->out, "SELECT run FROM runs WHERE hash = ? AND label = ?", doing, &m->find, m->err);
}

/* Prepares the statement that reads table i of a shard; *st is NULL if the table is empty. */
static int reader_of(struct merge *m, struct shard *h, size_t i, sqlite3_stmt **st)
{
	if (!h->has_looked) {
		for (size_t k = 0; k < m->n_tables; k++) {
			char sql[96];
			int64_t any = 0;
			sqlite3_snprintf(sizeof sql, sql, "SELECT EXISTS(SELECT 1 FROM %s)", m->table[k].name);
			int code = db_number(h->store, sql, &any, doing, m->err);
			if (code)
				return code;
			h->is_empty[k] = !any;
		}
		h->has_looked = true;
	}
	*st = NULL;
	if (h->is_empty[i])
		return ORR_OK;
	if (!h->read[i]) {
		int code = db_prepare(h->store, m->table[i].select, doing, &h->read[i], m->err);
		if (code)
			return code;
	}
	*st = h->read[i];
	return ORR_OK;
}

/* ---- copy ---- */

/* Binds base and overrides, the parameters that follow the other columns of `runs`, and keeps the checksum. */
static int bind_scenario(struct merge *m, sqlite3_stmt *read, sqlite3_stmt *write)
{
	int last = sqlite3_column_count(read) - 1;
	int64_t base;
	const char *text = (const char *)sqlite3_column_text(read, last);
	int code = scenarios_put(m->out, text ? text : "", &base, &m->overrides, m->err);
	sqlite3_bind_int64(write, last + 2, base);
	db_bind_text(write, last + 3, m->overrides.len ? sbuf_text(&m->overrides) : NULL);
	sbuf_clear(&m->checksum);
	for (int c = 0; c < last; c++)
		if (!strcmp(sqlite3_column_name(read, c), "checksum") && sqlite3_column_text(read, c))
			sbuf_puts(&m->checksum, (const char *)sqlite3_column_text(read, c));
	return code;
}

/* Copies the rows of a run in one table. *n: their number. */
static int copy_rows(struct merge *m, struct shard *h, size_t i, int64_t from, int64_t to, size_t *n)
{
	sqlite3_stmt *read, *write = m->table[i].write;
	*n = 0;
	int code = reader_of(m, h, i, &read);
	if (code || !read)
		return code;
	bool is_runs = i == 0;
	int columns = sqlite3_column_count(read) - is_runs, rc = SQLITE_DONE;
	sqlite3_bind_int64(read, 1, from);
	sqlite3_bind_int64(write, 1, to);
	while (!code && (rc = db_step(h->store, read, doing, m->err)) == SQLITE_ROW) {
		for (int c = 0; c < columns; c++)
			sqlite3_bind_value(write, c + 2, sqlite3_column_value(read, c));
		code = is_runs ? bind_scenario(m, read, write) : ORR_OK;
		if (!code && (code = db_run(m->out, write, doing, m->err)) && sqlite3_errcode(m->out->db) == SQLITE_CONSTRAINT)
			code = orr_fail(m->err, ORR_EFAIL,
				"%s: run %" PRId64 " has rows in %s without a value that schema version %d requires: expected runs that "
				"this version of orrery wrote",
				h->path, from, m->table[i].name, DB_SCHEMA_VERSION);
		++*n;
	}
	sqlite3_reset(read);
	return code || rc == SQLITE_DONE ? code : ORR_EFAIL;
}

/* Compares the copied rows with the checksum that was stored when the run ended. */
static int verify(struct merge *m, const struct shard *h, int64_t from, int64_t to)
{
	struct checksums sums;
	size_t part;
	int code = digest_run(m->out, to, &sums, &part, m->err);
	if (code)
		return code;
	part = digest_differing(&sums, sbuf_text(&m->checksum), 0);
	if (part == DIGEST_PARTS)
		return ORR_OK;
	return orr_fail(m->err, ORR_EFAIL,
		"%s: run %" PRId64
		": %s differs from its checksum: the shard is damaged or was edited: expected an undamaged shard ('orrery db "
		"check' lists all damage), or a shard without this run",
		h->path, from, digest_part(part));
}

static int copy_run(struct merge *m, size_t k, int64_t from)
{
	struct shard *h = &m->shard[k];
	int64_t to = m->first_new + (int64_t)m->n_sources;
	size_t n;
	int code = copy_rows(m, h, 0, from, to, &n);
	if (!code && n != 1)
		code = orr_fail(m->err, ORR_EFAIL,
			"%s: run %" PRId64 " was deleted during the merge: expected a shard that no process changes", h->path, from);
	for (size_t i = 1; !code && i < m->n_tables; i++)
		code = copy_rows(m, h, i, from, to, &n);
	if (!code)
		code = verify(m, h, from, to);
	if (code)
		return code;
	MEM_GROW(m->source, m->n_sources, m->cap_sources);
	m->source[m->n_sources++] = (uint32_t)k;
	m->count->added++;
	return ORR_OK;
}

/* ---- runs that the database already has ---- */

/* Columns of `runs` that may differ between two equal results. */
static bool is_circumstance(const char *column)
{
	static const char *const name[] = { "version", "wall_s", "cpu_s", "host", "created_at" };
	for (size_t i = 0; i < sizeof name / sizeof *name; i++)
		if (!strcmp(column, name[i]))
			return true;
	return false;
}

static bool same_value(sqlite3_stmt *a, sqlite3_stmt *b, int c)
{
	int type = sqlite3_column_type(a, c);
	if (type != sqlite3_column_type(b, c))
		return false;
	if (type == SQLITE_NULL)
		return true;
	if (type == SQLITE_INTEGER)
		return sqlite3_column_int64(a, c) == sqlite3_column_int64(b, c);
	double x = sqlite3_column_double(a, c), y = sqlite3_column_double(b, c);
	if (type == SQLITE_FLOAT)
		return !memcmp(&x, &y, sizeof x);
	const void *p = sqlite3_column_blob(a, c), *q = sqlite3_column_blob(b, c);
	int n = sqlite3_column_bytes(a, c);
	return n == sqlite3_column_bytes(b, c) && (!n || !memcmp(p, q, (size_t)n));
}

/* Compares the rows of a run in one table of the shard and of the database. Sets *row to the first row that differs, counted from 1;
 * 0: none. */
static int compare_rows(struct merge *m, struct shard *h, size_t i, int64_t from, int64_t to, size_t *row)
{
	sqlite3_stmt *a, *b = m->table[i].check;
	*row = 0;
	int code = reader_of(m, h, i, &a);
	if (code)
		return code;
	if (a)
		sqlite3_bind_int64(a, 1, from);
	sqlite3_bind_int64(b, 1, to);
	int ra = SQLITE_DONE, rb = SQLITE_DONE;
	for (size_t n = 1; !*row; n++) {
		ra = a ? db_step(h->store, a, doing, m->err) : SQLITE_DONE;
		rb = db_step(m->out, b, doing, m->err);
		if (ra != rb)
			*row = n;
		if (ra != SQLITE_ROW || rb != SQLITE_ROW)
			break;
		for (int c = 0; c < sqlite3_column_count(b); c++)
			if (!(i == 0 && is_circumstance(sqlite3_column_name(b, c))) && !same_value(a, b, c))
				*row = n;
	}
	sqlite3_reset(a);
	sqlite3_reset(b);
	bool is_read = (ra == SQLITE_ROW || ra == SQLITE_DONE) && (rb == SQLITE_ROW || rb == SQLITE_DONE);
	return is_read ? ORR_OK : ORR_EFAIL;
}

static int compare_run(struct merge *m, size_t k, int64_t from, int64_t to)
{
	struct shard *h = &m->shard[k];
	for (size_t i = 0; i < m->n_tables; i++) {
		size_t row;
		int code = compare_rows(m, h, i, from, to, &row);
		if (code)
			return code;
		if (row)
			return orr_fail(m->err, ORR_EFAIL,
				"%s: run %" PRId64 " has the hash and label of run %" PRId64
				" of %s, but other contents (table %s, row %zu): expected equal results of equal runs (--fresh repeats a "
				"run)",
				h->path, from, to, to >= m->first_new ? m->shard[m->source[to - m->first_new]].path : m->out->path,
				m->table[i].name, row);
	}
	m->count->present++;
	return ORR_OK;
}

/* ---- the merge ---- */

static int find_run(struct merge *m, sqlite3_stmt *list, int64_t *run)
{
	sqlite3_bind_value(m->find, 1, sqlite3_column_value(list, 2));
	sqlite3_bind_value(m->find, 2, sqlite3_column_value(list, 3));
	int rc = db_step(m->out, m->find, doing, m->err);
	*run = rc == SQLITE_ROW ? sqlite3_column_int64(m->find, 0) : 0;
	sqlite3_reset(m->find);
	return rc == SQLITE_ROW || rc == SQLITE_DONE ? ORR_OK : ORR_EFAIL;
}

static int merge_run(struct merge *m, sqlite3_stmt *list)
{
	size_t k = (size_t)sqlite3_column_int64(list, 0);
	int64_t run = sqlite3_column_int64(list, 1), old;
	int code = find_run(m, list, &old);
	if (!code)
		code = open_shard(m, k);
	if (code)
		return code;
	return old ? compare_run(m, k, run, old) : copy_run(m, k, run);
}

static int merge_all(struct merge *m)
{
	sqlite3_stmt *list;
	int code = make_tables(m);
	if (!code)
		code = db_number(m->out, "SELECT coalesce(max(run), 0) + 1 FROM runs", &m->first_new, doing, m->err);
	if (!code)
		code = db_prepare(&m->scratch,
			"SELECT shard, run, i.hash, i.label FROM incoming i LEFT JOIN wanted w ON w.hash = i.hash AND w.label = i.label"
			" ORDER BY position IS NULL, position, scenario, length(seed), seed, i.label, i.hash, shard, run",
			doing, &list, m->err);
	if (code)
		return code;
	int rc = SQLITE_DONE;
	while (!code && (rc = db_step(&m->scratch, list, doing, m->err)) == SQLITE_ROW)
		code = merge_run(m, list);
	sqlite3_finalize(list);
	return code || rc == SQLITE_DONE ? code : ORR_EFAIL;
}

static int write_out(struct merge *m)
{
	int code = db_exec(m->out, "PRAGMA cache_size = -65536; BEGIN IMMEDIATE", doing, m->err);
	if (code)
		return code;
	code = merge_all(m);
	for (size_t i = 0; i < m->n_tables; i++) {
		sqlite3_finalize(m->table[i].write);
		sqlite3_finalize(m->table[i].check);
		mem_free(m->table[i].select);
		mem_free(m->table[i].insert);
	}
	sqlite3_finalize(m->find);
	if (!code)
		code = store_put_failures(m->out, m->failures.list, m->failures.n, m->err);
	if (!code)
		code = store_forget_failures(m->out, m->err);
	if (!code)
		code = db_exec(m->out, "COMMIT", doing, m->err);
	if (code)
		db_rollback(m->out);
	return code;
}

int store_merge_ordered(const char *out, const char *vfs, const char *const *shard, size_t n_shards, const struct run_order *order,
	struct merge_count *count, struct orr_error *err)
{
	struct merge m = { .n_shards = n_shards, .count = count, .err = err };
	*count = (struct merge_count){ 0 };
	m.shard = mem_zalloc(n_shards + 1, sizeof *m.shard);
	m.most_open = shards_at_once(n_shards);
	m.open = mem_zalloc(m.most_open, sizeof *m.open);
	for (size_t k = 0; k < n_shards; k++)
		m.shard[k].path = shard[k];
	int code = refuse_itself(&m, out);
	if (!code)
		code = open_scratch(&m);
	if (!code)
		code = list_wanted(&m, order);
	if (!code)
		code = list_runs(&m); /* a shard that cannot be read is reported before `out` is created */
	if (!code && !(m.out = store_open(out, vfs, err)))
		code = err->code;
	if (!code)
		code = write_out(&m);
	struct orr_error on_close = { 0 };
	int closed = store_close(m.out, code ? &on_close : err);
	for (size_t k = 0; k < n_shards; k++)
		close_shard(&m.shard[k]);
	sqlite3_close(m.scratch.db);
	mem_free(m.shard);
	mem_free(m.open);
	mem_free(m.source);
	sbuf_free(&m.checksum);
	sbuf_free(&m.overrides);
	failed_runs_free(&m.failures);
	if (code)
		*count = (struct merge_count){ 0 };
	return code ? code : closed;
}

/* Runs in the order of a list. */
struct listed {
	const struct run_key *key;
	size_t n, next;
};

static int next_listed(void *ctx, struct run_key *out, struct orr_error *err)
{
	struct listed *l = ctx;
	(void)err;
	*out = l->next < l->n ? l->key[l->next++] : (struct run_key){ NULL, NULL };
	return ORR_OK;
}

int store_merge(const char *out, const char *vfs, const char *const *shard, size_t n_shards, const struct run_key *order, size_t n_order,
	struct merge_count *count, struct orr_error *err)
{
	struct listed list = { order, n_order, 0 };
	return store_merge_ordered(out, vfs, shard, n_shards, &(struct run_order){ next_listed, &list }, count, err);
}
