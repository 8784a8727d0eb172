/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "results/failed.h"

#include "base/mem.h"
#include "results/db.h"

#include <string.h>

static const char reading[] = "reading the failed runs", writing[] = "storing failed runs";

static int compare(const struct failed_run *f, const char *hash, const char *label)
{
	int order = strcmp(f->hash, hash);
	return order ? order : strcmp(f->label, label);
}

/* Returns the position of the first failure at or after (hash, label). */
static size_t position(const struct failed_runs *f, const char *hash, const char *label)
{
	size_t low = 0, high = f->n;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (compare(&f->list[middle], hash, label) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

const struct failed_run *failed_runs_find(const struct failed_runs *f, const char *hash, const char *label)
{
	size_t i = position(f, hash, label);
	return i < f->n && !compare(&f->list[i], hash, label) ? &f->list[i] : NULL;
}

static void free_texts(struct failed_run *x)
{
	mem_free(x->hash);
	mem_free(x->label);
	mem_free(x->point);
	mem_free(x->error);
}

void failed_runs_put(struct failed_runs *f, const struct failed_run *new)
{
	size_t i = position(f, new->hash, new->label);
	bool is_known = i < f->n && !compare(&f->list[i], new->hash, new->label);
	if (is_known && f->list[i].tries > new->tries)
		return;
	if (is_known) {
		free_texts(&f->list[i]);
	} else {
		MEM_GROW(f->list, f->n, f->cap);
		memmove(&f->list[i + 1], &f->list[i], (f->n - i) * sizeof *f->list);
		f->n++;
	}
	f->list[i] = (struct failed_run){ mem_strdup(new->hash), mem_strdup(new->label), mem_strdup(new->point), mem_strdup(new->error),
		new->tries };
}

void failed_runs_free(struct failed_runs *f)
{
	for (size_t i = 0; i < f->n; i++)
		free_texts(&f->list[i]);
	mem_free(f->list);
	*f = (struct failed_runs){ 0 };
}

/* ---- the table ---- */

static char *text_at(sqlite3_stmt *st, int column)
{
	const char *text = (const char *)sqlite3_column_text(st, column);
	return mem_strdup(text ? text : "");
}

int failed_runs_read(struct store *s, struct failed_runs *out, struct orr_error *err)
{
	int64_t has;
	sqlite3_stmt *st;
	int rc, code = db_has_column(s, "failures", "hash", &has, err);
	if (code || !has)
		return code;
	code = db_prepare(s,
		"SELECT hash, label, point, error, tries FROM failures f"
		" WHERE NOT EXISTS(SELECT 1 FROM runs r WHERE r.hash = f.hash AND r.label = f.label) ORDER BY hash, label",
		reading, &st, err);
	if (code)
		return code;
	while ((rc = db_step(s, st, reading, err)) == SQLITE_ROW) {
		struct failed_run x = { text_at(st, 0), text_at(st, 1), text_at(st, 2), text_at(st, 3), sqlite3_column_int64(st, 4) };
		failed_runs_put(out, &x);
		free_texts(&x);
	}
	sqlite3_finalize(st);
	return rc == SQLITE_DONE ? ORR_OK : ORR_EFAIL;
}

int store_put_failures(struct store *s, const struct failed_run *list, size_t n, struct orr_error *err)
{
	sqlite3_stmt *st;
	int code = db_prepare(s,
		"INSERT INTO failures(hash, label, point, error, tries) VALUES(?1, ?2, ?3, ?4, ?5)"
		" ON CONFLICT(hash, label) DO UPDATE SET point = ?3, error = ?4, tries = ?5 WHERE tries <= ?5",
		writing, &st, err);
	for (size_t i = 0; i < n && !code; i++) {
		db_bind_text(st, 1, list[i].hash);
		db_bind_text(st, 2, list[i].label);
		db_bind_text(st, 3, list[i].point);
		db_bind_text(st, 4, list[i].error);
		sqlite3_bind_int64(st, 5, list[i].tries);
		code = db_run(s, st, writing, err);
	}
	sqlite3_finalize(st);
	return code;
}

int store_write_failures(struct store *s, const struct failed_run *list, size_t n, struct orr_error *err)
{
	int code = db_exec(s, "BEGIN IMMEDIATE", writing, err);
	if (code)
		return code;
	code = store_put_failures(s, list, n, err);
	if (!code)
		code = db_exec(s, "COMMIT", writing, err);
	if (code)
		db_rollback(s);
	return code;
}

int store_forget_failures(struct store *s, struct orr_error *err)
{
	return db_exec(s,
		"DELETE FROM failures WHERE EXISTS(SELECT 1 FROM runs r WHERE r.hash = failures.hash AND r.label = failures.label)",
		writing, err);
}

int store_delete_failure(struct store *s, const struct failed_run *f, struct orr_error *err)
{
	sqlite3_stmt *st;
	int code = db_prepare(s, "DELETE FROM failures WHERE hash = ?1 AND label = ?2", writing, &st, err);
	if (code)
		return code;
	db_bind_text(st, 1, f->hash);
	db_bind_text(st, 2, f->label);
	code = db_run(s, st, writing, err);
	sqlite3_finalize(st);
	return code;
}
