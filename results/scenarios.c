/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "results/scenarios.h"

#include "base/mem.h"
#include "results/overrides.h"

#include <nettle/sha2.h>
#include <string.h>

static const char doing[] = "storing a scenario";

/* A scenario whose overrides exceed this share of its length becomes a new base. */
static const double most_overridden = 0.5;

static int64_t key_of(const char *text)
{
	struct sha256_ctx sha;
	uint8_t sum[8];
	uint64_t key = 0;
	sha256_init(&sha);
	sha256_update(&sha, strlen(text), (const uint8_t *)text);
	sha256_digest(&sha, sizeof sum, sum);
	for (size_t i = 0; i < sizeof sum; i++)
		key = key << 8 | sum[i];
	return (int64_t)key;
}

/* Keeps a base in memory; replaces the oldest one. */
static void keep(struct store *s, int64_t key, const char *text)
{
	size_t at = s->n_bases < DB_BASES ? s->n_bases++ : (s->last_base + 1) % DB_BASES;
	mem_free(s->base[at].text);
	s->base[at] = (struct db_base){ key, mem_strdup(text) };
	s->last_base = at;
}

/* Reads the bases of the latest runs, so that a continued study keeps the same bases. */
static int look_for_bases(struct store *s, struct orr_error *err)
{
	static const char sql[] =
		"SELECT base, text FROM scenarios WHERE base IN (SELECT base FROM runs ORDER BY run DESC LIMIT 100) LIMIT ?";
	sqlite3_stmt *st;
	int code = db_prepare(s, sql, doing, &st, err);
	if (code)
		return code;
	sqlite3_bind_int(st, 1, DB_BASES);
	int rc;
	while ((rc = db_step(s, st, doing, err)) == SQLITE_ROW)
		if (sqlite3_column_text(st, 1))
			keep(s, sqlite3_column_int64(st, 0), (const char *)sqlite3_column_text(st, 1));
	sqlite3_finalize(st);
	s->has_looked_for_bases = rc == SQLITE_DONE;
	return rc == SQLITE_DONE ? ORR_OK : ORR_EFAIL;
}

/* Sets overrides to the patch of the base if it restores the text and is short. */
static bool overrides_of(const struct db_base *b, const char *text, struct sbuf *overrides)
{
	struct sbuf back = { 0 };
	sbuf_clear(overrides);
	bool fits = overrides_make(overrides, b->text, text) && (double)overrides->len <= most_overridden * (double)strlen(text) &&
		    overrides_apply(&back, b->text, sbuf_text(overrides)) && !strcmp(sbuf_text(&back), text);
	sbuf_free(&back);
	return fits;
}

/* Returns the number of a base in memory that fits, or DB_BASES. Tries the one used last first. */
static size_t find_base(const struct store *s, const char *text, struct sbuf *overrides)
{
	for (size_t i = 0; i < s->n_bases; i++) {
		size_t k = (s->last_base + i) % s->n_bases;
		if (!strcmp(s->base[k].text, text)) {
			sbuf_clear(overrides);
			return k;
		}
		if (overrides_of(&s->base[k], text, overrides))
			return k;
	}
	sbuf_clear(overrides);
	return DB_BASES;
}

/* Stores the base unless the database has it. A transaction that was rolled back may have removed it. */
static int put_base(struct store *s, const struct db_base *b, struct orr_error *err)
{
	sqlite3_stmt *st;
	int code = db_statement(s, DB_INSERT_SCENARIO, "INSERT OR IGNORE INTO scenarios(base, text) VALUES(?, ?)", doing, &st, err);
	if (code)
		return code;
	sqlite3_bind_int64(st, 1, b->key);
	db_bind_text(st, 2, b->text);
	return db_run(s, st, doing, err);
}

int scenarios_put(struct store *s, const char *text, int64_t *base, struct sbuf *overrides, struct orr_error *err)
{
	int code = s->has_looked_for_bases ? ORR_OK : look_for_bases(s, err);
	if (code)
		return code;
	size_t at = find_base(s, text, overrides);
	if (at == DB_BASES)
		keep(s, key_of(text), text);
	else
		s->last_base = at;
	*base = s->base[s->last_base].key;
	return put_base(s, &s->base[s->last_base], err);
}

void scenarios_forget(struct store *s)
{
	for (size_t i = 0; i < s->n_bases; i++)
		mem_free(s->base[i].text);
	s->n_bases = s->last_base = 0;
	s->has_looked_for_bases = false;
}
