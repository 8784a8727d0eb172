/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "results/inspect.h"

#include "base/sbuf.h"
#include "results/columns.h"
#include "results/digest.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char doing[] = "checking the database";

enum { MOST_MESSAGES = 100 };

struct check {
	struct store *s;
	void (*tell)(void *, const char *);
	void *ctx;
	struct sbuf line;
	size_t n;
};

static void finding(struct check *c)
{
	c->tell(c->ctx, sbuf_text(&c->line));
	sbuf_clear(&c->line);
	c->n++;
}

/* ---- SQLite's check ---- */

/* Returns the number after the word in a message of SQLite, or 0. */
static long number_after(const char *message, const char *word)
{
	const char *at = strstr(message, word);
	return at ? strtol(at + strlen(word), NULL, 10) : 0;
}

/* Appends the name of the table whose b-tree begins at the page. */
static void put_owner(struct check *c, long root)
{
	sqlite3_stmt *st;
	struct orr_error ignored = { 0 };
	if (root < 1 || db_prepare(c->s, "SELECT tbl_name FROM sqlite_master WHERE rootpage = ?", doing, &st, &ignored))
		return;
	sqlite3_bind_int64(st, 1, root);
	if (sqlite3_step(st) == SQLITE_ROW)
		sbuf_printf(&c->line, " (table %s)", (const char *)sqlite3_column_text(st, 0));
	sqlite3_finalize(st);
}

static void check_pages(struct check *c)
{
	sqlite3_stmt *st;
	struct orr_error err = { 0 };
	char sql[64];
	snprintf(sql, sizeof sql, "PRAGMA integrity_check(%d)", MOST_MESSAGES);
	int code = db_prepare(c->s, sql, doing, &st, &err), rc = SQLITE_DONE;
	while (!code && (rc = db_step(c->s, st, doing, &err)) == SQLITE_ROW) {
		const char *text = (const char *)sqlite3_column_text(st, 0);
		if (!text || !strcmp(text, "ok"))
			continue;
		long root = number_after(text, "Tree ");
		sbuf_puts(&c->line, "SQLite: ");
		for (; *text; text++)
			sbuf_putc(&c->line, *text == '\n' ? ' ' : *text);
		put_owner(c, root ? root : number_after(sbuf_text(&c->line), "On tree page "));
		finding(c);
	}
	sqlite3_finalize(st);
	if (code || rc != SQLITE_DONE) {
		sbuf_puts(&c->line, err.text);
		finding(c);
	}
}

/* ---- runs ---- */

static void check_run(struct check *c, int64_t run, const char *label, const char *checksum)
{
	struct checksums sums;
	struct orr_error err = { 0 };
	size_t part;
	if (digest_run(c->s, run, &sums, &part, &err)) {
		sbuf_printf(&c->line, "run %" PRId64 " (%s): table %s cannot be read: %s", run, label, digest_table(part), err.text);
		finding(c);
		return;
	}
	for (size_t i = 0; checksum && (i = digest_differing(&sums, checksum, i)) < DIGEST_PARTS; i++) {
		sbuf_printf(&c->line, "run %" PRId64 " (%s): table %s differs from its checksum", run, label, digest_table(i));
		finding(c);
	}
}

static void check_runs(struct check *c)
{
	sqlite3_stmt *st = NULL;
	struct orr_error err = { 0 };
	int64_t has = 0;
	int code = db_has_column(c->s, "runs", "checksum", &has, &err), rc = SQLITE_DONE;
	if (!code)
		code = db_prepare(c->s,
			has ? "SELECT run, label, checksum FROM runs ORDER BY run" : "SELECT run, label, NULL FROM runs ORDER BY run",
			doing, &st, &err);
	if (!code) {
		while ((rc = db_step(c->s, st, doing, &err)) == SQLITE_ROW) {
			const char *label = (const char *)sqlite3_column_text(st, 1), *sums = (const char *)sqlite3_column_text(st, 2);
			check_run(c, sqlite3_column_int64(st, 0), label ? label : "", has && !sums ? "" : sums);
		}
		sqlite3_finalize(st);
	}
	if (code || rc != SQLITE_DONE) {
		sbuf_printf(&c->line, "table runs cannot be read: %s", err.text);
		finding(c);
	}
}

/* Reports rows whose run is missing. */
static void check_orphans(struct check *c, const char *table)
{
	char sql[200];
	sqlite3_stmt *st;
	struct orr_error err = { 0 };
	sqlite3_snprintf(sizeof sql, sql, "SELECT count(*), min(run) FROM %s WHERE run NOT IN (SELECT run FROM runs)", table);
	if (sqlite3_prepare_v2(c->s->db, sql, -1, &st, NULL))
		return; /* an older schema lacks this table */
	int rc = db_step(c->s, st, doing, &err);
	if (rc != SQLITE_ROW) {
		sbuf_printf(&c->line, "table %s cannot be read: %s", table, err.text);
		finding(c);
	} else if (sqlite3_column_int64(st, 0)) {
		sbuf_printf(&c->line, "table %s has %lld rows of missing runs, such as run %lld", table,
			(long long)sqlite3_column_int64(st, 0), (long long)sqlite3_column_int64(st, 1));
		finding(c);
	}
	sqlite3_finalize(st);
}

int store_check(struct store *s, void (*tell)(void *ctx, const char *finding), void *ctx, size_t *n, struct orr_error *err)
{
	struct check c = { .s = s, .tell = tell, .ctx = ctx };
	int code = db_exec(s, "BEGIN", doing, err);
	if (code)
		return code;
	check_pages(&c);
	check_runs(&c);
	for (size_t i = 0; i < n_row_tables; i++)
		check_orphans(&c, row_tables[i].name);
	check_orphans(&c, "series");
	check_orphans(&c, "series_points");
	db_rollback(s); /* read-only transaction */
	sbuf_free(&c.line);
	*n = c.n;
	return ORR_OK;
}

/* ---- sizes ---- */

int store_info(struct store *s, struct store_info *out, struct orr_error *err)
{
	static const char reading[] = "reading the size of the database";
	int64_t page = 0, pages = 0, free_pages = 0, has = 0;
	int code = db_number(s, "PRAGMA page_size", &page, reading, err);
	if (!code)
		code = db_number(s, "PRAGMA page_count", &pages, reading, err);
	if (!code)
		code = db_number(s, "PRAGMA freelist_count", &free_pages, reading, err);
	*out = (struct store_info){ .schema = s->version, .bytes = page * pages, .free_bytes = page * free_pages };
	if (!code)
		code = db_number(s, "SELECT count(*) FROM runs", &out->runs, reading, err);
	if (!code)
		code = db_has_column(s, "scenarios", "base", &has, err);
	return code || !has ? code : db_number(s, "SELECT count(*) FROM scenarios", &out->bases, reading, err);
}

int store_vacuum(struct store *s, struct orr_error *err)
{
	static const char shrinking[] = "vacuuming the database";
	int code = db_exec(s, "DELETE FROM scenarios WHERE base NOT IN (SELECT base FROM runs)", shrinking, err);
	return code ? code : db_exec(s, "VACUUM", shrinking, err);
}
