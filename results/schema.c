/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The schema. Tables of rows and their views follow from columns.def; the others are defined here. Tables of a run are
 * clustered by (run, position), so reading one run touches no pages of other runs. Jobs and requests have many rows, so run and
 * number are packed into one integer key: an append costs SQLite a quarter less than with a compound key.
 */
#include "base/mem.h"
#include "results/columns.h"
#include "results/db.h"
#include "results/digest.h"
#include "results/lists.h"
#include "results/scenarios.h"

#include <stdio.h>
#include <string.h>

static const char fixed_tables[] = "CREATE TABLE IF NOT EXISTS scenarios(\n"
				   "  base INTEGER PRIMARY KEY,\n"
				   "  text TEXT NOT NULL);\n"

				   "CREATE TABLE IF NOT EXISTS runs(\n"
				   "  run INTEGER PRIMARY KEY,\n"
				   "  hash TEXT NOT NULL,\n"
				   "  label TEXT NOT NULL,\n"
				   "  policy TEXT NOT NULL,\n"
				   "  world TEXT NOT NULL,\n"
				   "  is_oracle INTEGER NOT NULL,\n"
				   "  seed TEXT NOT NULL,\n"
				   "  version TEXT NOT NULL,\n"
				   "  rows_total INTEGER NOT NULL,\n"
				   "  wall_s REAL,\n"
				   "  cpu_s REAL,\n"
				   "  host TEXT NOT NULL,\n"
				   "  created_at TEXT NOT NULL,\n"
				   "  base INTEGER NOT NULL REFERENCES scenarios(base),\n"
				   "  overrides TEXT,\n"
				   "  checksum TEXT NOT NULL,\n"
				   "  UNIQUE(hash, label));\n"

				   "CREATE TABLE IF NOT EXISTS series(\n"
				   "  run INTEGER NOT NULL REFERENCES runs(run),\n"
				   "  series INTEGER NOT NULL,\n"
				   "  name TEXT NOT NULL,\n"
				   "  PRIMARY KEY(run, series)) WITHOUT ROWID;\n"

				   "CREATE TABLE IF NOT EXISTS series_points(\n"
				   "  run INTEGER NOT NULL REFERENCES runs(run),\n"
				   "  series INTEGER NOT NULL,\n"
				   "  point INTEGER NOT NULL,\n"
				   "  time_ns INTEGER NOT NULL,\n"
				   "  value REAL,\n"
				   "  PRIMARY KEY(run, series, point)) WITHOUT ROWID;\n"

				   "CREATE TABLE IF NOT EXISTS failures(\n"
				   "  hash TEXT NOT NULL,\n"
				   "  label TEXT NOT NULL,\n"
				   "  point TEXT NOT NULL,\n"
				   "  error TEXT NOT NULL,\n"
				   "  tries INTEGER NOT NULL,\n"
				   "  PRIMARY KEY(hash, label)) WITHOUT ROWID;\n";

static const char fixed_views[] = "DROP VIEW IF EXISTS runs_s;\n"
				  "CREATE VIEW runs_s AS\n"
				  "  SELECT r.run, r.label, r.policy, r.world, r.is_oracle, r.seed, r.hash, r.version,\n"
				  "    r.rows_total, r.wall_s, r.cpu_s, r.host, r.created_at,\n"
				  "    CASE WHEN r.overrides IS NULL THEN b.text ELSE json_patch(b.text, r.overrides) END AS scenario\n"
				  "  FROM runs r LEFT JOIN scenarios b USING(base);\n"

				  "DROP VIEW IF EXISTS summary;\n"
				  "CREATE VIEW summary AS\n"
				  "  SELECT r.run, r.label, r.policy, r.is_oracle, r.seed,\n"
				  "    m.name AS metric, m.value, m.ci_low, m.ci_high\n"
				  "  FROM metrics m JOIN runs r USING(run)\n"
				  "  ORDER BY r.run, m.position;\n"

				  "DROP VIEW IF EXISTS series_s;\n"
				  "CREATE VIEW series_s AS\n"
				  "  SELECT p.run, r.label, s.name, p.point, p.time_ns / 1e9 AS time_s, p.value\n"
				  "  FROM series_points p JOIN series s USING(run, series) JOIN runs r USING(run);\n"

				  "DROP VIEW IF EXISTS job_pairs;\n"
				  "CREATE VIEW job_pairs AS\n"
				  "  SELECT ra.run AS run_a, rb.run AS run_b, ra.label AS label_a, rb.label AS label_b,\n"
				  "    a.number, coalesce(a.job_id, CAST(a.number AS TEXT)) AS job_id, a.gpus,\n"
				  "    (a.end_ns - a.submit_ns) / 1e9 AS jct_a_s,\n"
				  "    (b.end_ns - b.submit_ns) / 1e9 AS jct_b_s,\n"
				  "    ((b.end_ns - b.submit_ns) - (a.end_ns - a.submit_ns)) / 1e9 AS jct_diff_s,\n"
				  "    (b.wait_ns - a.wait_ns) / 1e9 AS wait_diff_s\n"
				  "  FROM runs ra\n"
				  "  JOIN runs rb ON rb.run <> ra.run\n"
				  "  JOIN jobs a ON a.key BETWEEN ra.run << 32 AND (ra.run << 32) + 4294967295\n"
				  "  JOIN jobs b ON b.key = (rb.run << 32) + a.number\n"
				  "    AND b.submit_ns IS a.submit_ns AND b.job_id IS a.job_id;\n"

				  "DROP VIEW IF EXISTS request_pairs;\n"
				  "CREATE VIEW request_pairs AS\n"
				  "  SELECT ra.run AS run_a, rb.run AS run_b, ra.label AS label_a, rb.label AS label_b,\n"
				  "    a.number, coalesce(a.request_id, CAST(a.number AS TEXT)) AS request_id, a.model,\n"
				  "    a.prompt_tokens, a.output_tokens,\n"
				  "    a.completed_s - a.arrival_s AS e2e_a_s, b.completed_s - b.arrival_s AS e2e_b_s,\n"
				  "    b.completed_s - a.completed_s AS e2e_diff_s\n"
				  "  FROM runs ra\n"
				  "  JOIN runs rb ON rb.run <> ra.run\n"
				  "  JOIN requests a ON a.key BETWEEN ra.run << 32 AND (ra.run << 32) + 4294967295\n"
				  "  JOIN requests b ON b.key = (rb.run << 32) + a.number\n"
				  "    AND b.arrival_s IS a.arrival_s AND b.request_id IS a.request_id;\n"

				  "DROP VIEW IF EXISTS accounts_h;\n"
				  "CREATE VIEW accounts_h AS\n"
				  "  SELECT a.run, r.label, r.policy, a.account, a.node_s / 3600 AS node_h, a.usd\n"
				  "  FROM accounts a JOIN runs r USING(run)\n"
				  "  ORDER BY a.run, a.position;\n";

static const char *sql_type(enum column_type type)
{
	switch (type) {
	case COLUMN_ID:
	case COLUMN_TEXT:
		return "TEXT";
	case COLUMN_NAME:
		return "TEXT NOT NULL";
	case COLUMN_TIME:
	case COLUMN_INDEX:
		return "INTEGER";
	case COLUMN_REAL:
	case COLUMN_SECONDS:
		return "REAL";
	default:
		return "INTEGER NOT NULL";
	}
}

static void create_table(struct sbuf *sql, const struct row_table *t)
{
	if (t->key == KEY_LISTED) {
		lists_create(sql, t);
		return;
	}
	sbuf_printf(sql, "CREATE TABLE IF NOT EXISTS %s(\n", t->name);
	if (t->key == KEY_PACKED)
		sbuf_puts(sql, "  key INTEGER PRIMARY KEY,\n  run INTEGER AS (key >> 32)");
	else
		sbuf_puts(sql, "  run INTEGER NOT NULL REFERENCES runs(run)");
	if (t->key == KEY_POSITION)
		sbuf_puts(sql, ",\n  position INTEGER NOT NULL");
	for (size_t i = 0; i < t->n_columns; i++) {
		const struct column *c = &t->columns[i];
		if (t->key == KEY_PACKED && c->type == COLUMN_NUMBER)
			sbuf_puts(sql, ",\n  number INTEGER AS (key & 4294967295)");
		else if (column_is_stored(c))
			sbuf_printf(sql, ",\n  %s %s", c->name, sql_type(c->type));
	}
	if (t->key == KEY_PACKED)
		sbuf_puts(sql, ");\n");
	else
		sbuf_printf(sql, ",\n  PRIMARY KEY(run, %s)) WITHOUT ROWID;\n", t->key == KEY_FIRST ? t->columns[0].name : "position");
}

/*
 * Adds the columns that an existing table lacks, with NULL in existing rows. Lists need no new column: a value missing from a
 * row of a list is NULL.
 */
static int add_columns(struct sbuf *sql, const struct store *s, const struct row_table *t, struct orr_error *err)
{
	int64_t has = 0;
	char text[200];
	for (size_t i = 0; i < t->n_columns && t->key != KEY_LISTED; i++) {
		const struct column *c = &t->columns[i];
		if (!column_is_stored(c))
			continue;
		int code = db_has_column(s, t->name, c->name, &has, err);
		if (code)
			return code;
		sqlite3_snprintf(sizeof text, text, "ALTER TABLE %s ADD COLUMN %s;\n", t->name, c->name);
		if (!has)
			sbuf_puts(sql, text);
	}
	return ORR_OK;
}

static void view_column(struct sbuf *sql, const struct row_table *t, const struct column *c)
{
	const char *const *words = column_words(c->type);
	sbuf_puts(sql, ",\n    ");
	if (words) {
		sbuf_printf(sql, "CASE t.%s", c->name);
		for (size_t i = 0; words[i]; i++)
			sbuf_printf(sql, " WHEN %zu THEN '%s'", i, words[i]);
		sbuf_puts(sql, " END");
	} else if (c->type == COLUMN_ID)
		sbuf_printf(sql, "coalesce(t.%s, CAST(t.number AS TEXT))", c->name);
	else if (c->type == COLUMN_DIFF)
		sbuf_printf(sql, "(t.%s - t.%s) / 1e9", c->left, c->right);
	else if (c->type == COLUMN_SQL)
		sbuf_puts(sql, c->sql);
	else
		sbuf_printf(sql, "t.%s%s", c->name, c->type == COLUMN_TIME || c->type == COLUMN_CLOCK ? " / 1e9" : "");
	sbuf_puts(sql, " AS ");
	if (c->type == COLUMN_NUMBER)
		sbuf_puts(sql, c->name);
	else
		column_csv_name(sql, t, c);
}

/* Creates the view TABLE_s: the rows with the run's label and policy, times in seconds, statuses as words. */
static void create_view(struct sbuf *sql, const struct row_table *t)
{
	bool has_label = false; /* the table has its own column `label` */
	for (size_t i = 0; i < t->n_columns; i++)
		has_label |= !strcmp(t->columns[i].name, "label");
	if (t->key == KEY_LISTED) {
		sbuf_printf(sql, "DROP VIEW IF EXISTS %s;\nCREATE VIEW %s AS\n  ", t->name, t->name);
		lists_view(sql, t);
		sbuf_puts(sql, ";\n");
	}
	sbuf_printf(sql, "DROP VIEW IF EXISTS %s_s;\nCREATE VIEW %s_s AS\n  SELECT r.run, r.label%s, r.policy", t->name, t->name,
		has_label ? " AS run_label" : "");
	if (has_position(t))
		sbuf_puts(sql, ", t.position");
	for (size_t i = 0; i < t->n_columns; i++)
		view_column(sql, t, &t->columns[i]);
	if (t->key == KEY_PACKED)
		sbuf_printf(sql, "\n  FROM runs r JOIN %s t ON t.key BETWEEN r.run << 32 AND (r.run << 32) + 4294967295;\n", t->name);
	else
		sbuf_printf(sql, "\n  FROM %s t JOIN runs r USING(run);\n", t->name);
}

/* ---- files of older schemas ---- */

static const char migrating[] = "converting the tables of an older schema";

/* Copies `runs` of schema 1 to 5, where each run has its whole scenario, to its present form without checksums. */
static int copy_runs(struct store *s, struct orr_error *err)
{
	sqlite3_stmt *read, *write = NULL;
	struct sbuf overrides = { 0 };
	int rc = SQLITE_DONE;
	int code = db_prepare(s, "SELECT run, scenario FROM temp.old_runs ORDER BY run", migrating, &read, err);
	if (!code)
		code = db_prepare(s,
			"INSERT INTO runs(run, hash, label, policy, world, is_oracle, seed, version, rows_total, wall_s, cpu_s, host,"
			" created_at, base, overrides, checksum)"
			" SELECT run, hash, label, policy, world, is_oracle, seed, version, rows_total, wall_s, cpu_s, host, created_at,"
			" ?2, ?3, '' FROM temp.old_runs WHERE run = ?1",
			migrating, &write, err);
	while (!code && (rc = db_step(s, read, migrating, err)) == SQLITE_ROW) {
		const char *text = (const char *)sqlite3_column_text(read, 1);
		int64_t base;
		code = scenarios_put(s, text ? text : "", &base, &overrides, err);
		if (code)
			break;
		sqlite3_bind_int64(write, 1, sqlite3_column_int64(read, 0));
		sqlite3_bind_int64(write, 2, base);
		db_bind_text(write, 3, overrides.len ? sbuf_text(&overrides) : NULL);
		code = db_run(s, write, migrating, err);
	}
	sqlite3_finalize(read);
	sqlite3_finalize(write);
	sbuf_free(&overrides);
	return code || rc == SQLITE_DONE ? code : ORR_EFAIL;
}

/* Makes room for the present form of a table: moves its rows to temp.old_NAME. */
static int set_aside(struct store *s, const char *name, const char *key, struct orr_error *err)
{
	char sql[256];
	sqlite3_snprintf(sizeof sql, sql,
		"CREATE TEMP TABLE old_%s AS SELECT * FROM main.%s; CREATE UNIQUE INDEX temp.old_%s_key ON old_%s(%s); DROP TABLE main.%s",
		name, name, name, name, key, name);
	return db_exec(s, sql, migrating, err);
}

/* Copies the rows of a table that temp.old_NAME has with run and number instead of the packed key. */
static int copy_numbered(struct store *s, const struct row_table *t, struct orr_error *err)
{
	struct sbuf names = { 0 }, sql = { 0 };
	char old[64];
	int64_t has;
	int code = ORR_OK;
	snprintf(old, sizeof old, "old_%s", t->name);
	for (size_t i = 0; !code && i < t->n_columns; i++) {
		const struct column *c = &t->columns[i];
		if (c->type == COLUMN_NUMBER || !column_is_stored(c))
			continue;
		code = db_has_column(s, old, c->name, &has, err);
		if (!code && has)
			sbuf_printf(&names, ", %s", c->name);
	}
	sbuf_printf(&sql, "INSERT INTO %s(key%s) SELECT run << 32 | number%s FROM temp.%s; DROP TABLE temp.%s", t->name, sbuf_text(&names),
		sbuf_text(&names), old, old);
	if (!code)
		code = db_exec(s, sbuf_text(&sql), migrating, err);
	sbuf_free(&names);
	sbuf_free(&sql);
	return code;
}

/* Conversions of an older schema beyond new tables and columns. */
struct migration {
	int64_t has_scenarios; /* runs with whole scenarios */
	uint64_t numbered;     /* set of tables without their packed key, by position in row_tables */
	uint64_t unlisted;     /* set of tables of rows that become lists */
	int64_t *run;          /* runs with rows of these tables whose checksums were right */
	size_t n_runs, cap_runs;
};

/* Sets aside a table of the first files of schema 1, which have run and number instead of the packed key. */
static int begin_table(struct store *s, struct migration *m, size_t i, struct orr_error *err)
{
	int64_t has_number = 0, has_key = 0;
	const char *name = row_tables[i].name;
	int code = db_has_column(s, name, "number", &has_number, err);
	if (!code)
		code = db_has_column(s, name, "key", &has_key, err);
	if (code || !has_number || has_key)
		return code;
	m->numbered |= UINT64_C(1) << i;
	return set_aside(s, name, "run, number", err);
}

/* Notes the runs that have rows of the table and pass their checksums. A damaged run keeps its checksum, so that it stays damaged. */
static int list_sound_runs(struct store *s, struct migration *m, const char *name, struct orr_error *err)
{
	char sql[160];
	sqlite3_stmt *st;
	int64_t has;
	int rc = SQLITE_DONE;
	int code = db_has_column(s, "runs", "checksum", &has, err);
	if (code || !has)
		return code; /* all runs get checksums */
	sqlite3_snprintf(sizeof sql, sql, "SELECT run, checksum FROM runs WHERE run IN (SELECT run FROM %s) ORDER BY run", name);
	code = db_prepare(s, sql, migrating, &st, err);
	while (!code && (rc = db_step(s, st, migrating, err)) == SQLITE_ROW) {
		struct checksums sums;
		size_t part;
		const char *text = (const char *)sqlite3_column_text(st, 1);
		code = digest_run(s, sqlite3_column_int64(st, 0), &sums, &part, err);
		if (code || digest_differing(&sums, text ? text : "", 0) != DIGEST_PARTS)
			continue;
		MEM_GROW(m->run, m->n_runs, m->cap_runs);
		m->run[m->n_runs++] = sqlite3_column_int64(st, 0);
	}
	sqlite3_finalize(st);
	return code || rc == SQLITE_DONE ? code : ORR_EFAIL;
}

/* Sets aside a table of schema 6 or older whose rows become lists. */
static int begin_lists(struct store *s, struct migration *m, size_t i, struct orr_error *err)
{
	int64_t has_rows = 0, has_lists = 0;
	const struct row_table *t = &row_tables[i];
	int code = db_has_column(s, t->name, "position", &has_rows, err);
	if (!code)
		code = lists_exist(s, t, &has_lists, err);
	if (code || !has_rows || has_lists)
		return code;
	m->unlisted |= UINT64_C(1) << i;
	code = list_sound_runs(s, m, t->name, err);
	db_finalize_statements(s); /* the views read the old table */
	return code ? code : set_aside(s, t->name, "run, position", err);
}

static int end_lists(struct store *s, const struct migration *m, struct orr_error *err)
{
	struct sbuf sql = { 0 };
	for (size_t i = 0; i < n_row_tables; i++)
		if (m->unlisted >> i & 1)
			lists_convert(&sql, &row_tables[i]);
	int code = sql.len ? db_exec(s, sbuf_text(&sql), migrating, err) : ORR_OK;
	sbuf_free(&sql);
	for (size_t i = 0; !code && i < m->n_runs; i++)
		code = digest_set_checksum(s, m->run[i], NULL, NULL, err);
	return code;
}

static int begin_migration(struct store *s, struct migration *m, struct orr_error *err)
{
	int code = ORR_OK;
	for (size_t i = 0; !code && i < n_row_tables; i++)
		if (row_tables[i].key == KEY_LISTED)
			code = begin_lists(s, m, i, err);
	if (!code)
		code = db_has_column(s, "runs", "scenario", &m->has_scenarios, err);
	if (!code && m->has_scenarios)
		code = set_aside(s, "runs", "run", err);
	for (size_t i = 0; !code && i < n_row_tables; i++)
		if (row_tables[i].key == KEY_PACKED)
			code = begin_table(s, m, i, err);
	return code;
}

static int end_migration(struct store *s, const struct migration *m, struct orr_error *err)
{
	int code = ORR_OK;
	for (size_t i = 0; !code && i < n_row_tables; i++)
		if (m->numbered >> i & 1)
			code = copy_numbered(s, &row_tables[i], err);
	if (!code)
		code = end_lists(s, m, err);
	if (code || !m->has_scenarios)
		return code;
	code = copy_runs(s, err);
	if (!code)
		code = db_exec(s, "DROP TABLE temp.old_runs", migrating, err);
	return code ? code : digest_set_all_checksums(s, err);
}

int db_make_tables(struct store *s, struct orr_error *err)
{
	static const char doing[] = "making the tables";
	struct sbuf sql = { 0 };
	struct migration m = { 0 };
	int code = begin_migration(s, &m, err);
	sbuf_puts(&sql, fixed_tables);
	for (size_t i = 0; i < n_row_tables; i++)
		create_table(&sql, &row_tables[i]);
	if (!code)
		code = db_exec(s, sbuf_text(&sql), doing, err);
	sbuf_clear(&sql);
	for (size_t i = 0; !code && i < n_row_tables; i++)
		code = add_columns(&sql, s, &row_tables[i], err);
	for (size_t i = 0; i < n_row_tables; i++)
		create_view(&sql, &row_tables[i]);
	sbuf_puts(&sql, fixed_views);
	if (!code)
		code = db_exec(s, sbuf_text(&sql), doing, err);
	sbuf_free(&sql);
	if (!code)
		code = end_migration(s, &m, err);
	mem_free(m.run);
	return code;
}
