/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "results/inspect.h"

#include "base/mem.h"
#include "base/sbuf.h"
#include "results/digest.h"

#include <nettle/sha2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char doing[] = "comparing runs";

/* A run without a partner of the same hash. */
struct lone {
	uint64_t key; /* SHA-256 of scenario and label */
	struct diff_run about;
};

struct side {
	struct store *store;
	sqlite3_stmt *runs; /* run, hash, label, seed, scenario in order of hash and label */
	int rc;             /* result of the last sqlite3_step() */
	struct lone *lone;
	size_t n, cap;
};

struct comparison {
	struct side side[2];
	struct diff_run *differing;
	size_t n, cap, n_same;
	struct orr_error *err;
};

static const char *text_at(sqlite3_stmt *st, int column)
{
	const char *s = (const char *)sqlite3_column_text(st, column);
	return s ? s : "";
}

static int begin(struct side *d, struct orr_error *err)
{
	char sql[320];
	snprintf(sql, sizeof sql, "SELECT run, hash, label, seed, %s FROM runs r ORDER BY hash, label", db_scenario_sql(d->store));
	return db_prepare(d->store, sql, doing, &d->runs, err);
}

static int step(struct side *d, struct orr_error *err)
{
	d->rc = db_step(d->store, d->runs, doing, err);
	return d->rc == SQLITE_ROW || d->rc == SQLITE_DONE ? ORR_OK : ORR_EFAIL;
}

/* Sets *out to the checksums of the current run, computed from its rows. */
static int checksums_of(struct side *d, struct sbuf *out, struct orr_error *err)
{
	struct checksums sums;
	size_t part;
	sbuf_clear(out);
	int code = digest_run(d->store, sqlite3_column_int64(d->runs, 0), &sums, &part, err);
	if (!code)
		digest_text(out, &sums);
	return code;
}

/* Appends the names of the parts whose checksums differ. */
static void put_differing(struct sbuf *out, const char *a, const char *b, bool with_run)
{
	for (size_t i = with_run ? DIGEST_RUN : DIGEST_RUN + 1; digest_part(i); i++) {
		char x[17], y[17];
		digest_find(a, i, x);
		digest_find(b, i, y);
		if (strcmp(x, y) != 0)
			sbuf_printf(out, "%s%s", out->len ? ", " : "", digest_table(i));
	}
}

/* Compares two runs by their checksums, and adds them to the list if they differ. */
static void compare(struct comparison *c, const char *a, const char *b, const struct diff_run *about)
{
	struct sbuf tables = { 0 };
	put_differing(&tables, a, b, !about->is_other_build);
	if (tables.len) {
		MEM_GROW(c->differing, c->n, c->cap);
		struct diff_run *d = &c->differing[c->n++];
		*d = *about;
		d->label = mem_strdup(about->label);
		d->hash = mem_strdup(about->hash);
		d->seed_text = mem_strdup(about->seed_text);
		d->tables = mem_strdup(sbuf_text(&tables));
	} else
		c->n_same++;
	sbuf_free(&tables);
}

static int compare_current(struct comparison *c)
{
	struct sbuf sums[2] = { 0 };
	sqlite3_stmt *a = c->side[0].runs, *b = c->side[1].runs;
	int code = checksums_of(&c->side[0], &sums[0], c->err);
	if (!code)
		code = checksums_of(&c->side[1], &sums[1], c->err);
	if (!code) {
		struct diff_run about = { .run = { sqlite3_column_int64(a, 0), sqlite3_column_int64(b, 0) },
			.hash = (char *)(uintptr_t)text_at(a, 1),
			.label = (char *)(uintptr_t)text_at(a, 2),
			.seed_text = (char *)(uintptr_t)text_at(a, 3) };
		compare(c, sbuf_text(&sums[0]), sbuf_text(&sums[1]), &about);
	}
	sbuf_free(&sums[0]);
	sbuf_free(&sums[1]);
	return code;
}

static uint64_t key_of(const char *scenario, const char *label)
{
	struct sha256_ctx sha;
	uint8_t sum[8];
	uint64_t key = 0;
	sha256_init(&sha);
	sha256_update(&sha, strlen(scenario) + 1, (const uint8_t *)scenario);
	sha256_update(&sha, strlen(label), (const uint8_t *)label);
	sha256_digest(&sha, sizeof sum, sum);
	for (size_t i = 0; i < sizeof sum; i++)
		key = key << 8 | sum[i];
	return key;
}

/* Keeps the current run of a side, which the other side lacks, and the run's checksums (in `tables`). */
static int keep_alone(struct comparison *c, int which)
{
	struct side *d = &c->side[which];
	struct sbuf sums = { 0 };
	int code = checksums_of(d, &sums, c->err);
	if (code)
		return code;
	MEM_GROW(d->lone, d->n, d->cap);
	struct lone *l = &d->lone[d->n++];
	*l = (struct lone){ .key = key_of(text_at(d->runs, 4), text_at(d->runs, 2)),
		.about = { .hash = mem_strdup(text_at(d->runs, 1)),
			.label = mem_strdup(text_at(d->runs, 2)),
			.seed_text = mem_strdup(text_at(d->runs, 3)),
			.tables = mem_strdup(sbuf_text(&sums)) } };
	l->about.run[which] = sqlite3_column_int64(d->runs, 0);
	sbuf_free(&sums);
	return ORR_OK;
}

/* Walks both lists in order of hash and label. */
static int compare_hashes(struct comparison *c)
{
	struct side *a = &c->side[0], *b = &c->side[1];
	int code = step(a, c->err);
	if (!code)
		code = step(b, c->err);
	while (!code && (a->rc == SQLITE_ROW || b->rc == SQLITE_ROW)) {
		int order = a->rc != SQLITE_ROW ? 1 : b->rc != SQLITE_ROW ? -1 : strcmp(text_at(a->runs, 1), text_at(b->runs, 1));
		if (!order)
			order = strcmp(text_at(a->runs, 2), text_at(b->runs, 2));
		code = order < 0 ? keep_alone(c, 0) : order > 0 ? keep_alone(c, 1) : compare_current(c);
		if (!code && order <= 0)
			code = step(a, c->err);
		if (!code && order >= 0)
			code = step(b, c->err);
	}
	return code;
}

static int by_key(const void *x, const void *y)
{
	const struct lone *a = x, *b = y;
	int64_t run_a = a->about.run[0] + a->about.run[1], run_b = b->about.run[0] + b->about.run[1];
	return a->key != b->key ? (a->key > b->key) - (a->key < b->key) : (run_a > run_b) - (run_a < run_b);
}

static int by_run(const void *x, const void *y)
{
	const struct diff_run *a = x, *b = y;
	int group_a = a->tables ? 2 : a->run[0] ? 0 : 1, group_b = b->tables ? 2 : b->run[0] ? 0 : 1;
	int64_t run_a = a->run[0] ? a->run[0] : a->run[1], run_b = b->run[0] ? b->run[0] : b->run[1];
	return group_a != group_b ? group_a - group_b : (run_a > run_b) - (run_a < run_b);
}

static void free_run(struct diff_run *r)
{
	mem_free(r->label);
	mem_free(r->hash);
	mem_free(r->seed_text);
	mem_free(r->tables);
}

static void keep_only(struct comparison *c, struct diff_run *r)
{
	MEM_GROW(c->differing, c->n, c->cap);
	mem_free(r->tables);
	r->tables = NULL;
	c->differing[c->n++] = *r;
}

/* Pairs runs of equal scenario and label but different hashes; the remaining runs are in one database only. */
static void compare_scenarios(struct comparison *c)
{
	struct side *a = &c->side[0], *b = &c->side[1];
	if (a->n)
		qsort(a->lone, a->n, sizeof *a->lone, by_key);
	if (b->n)
		qsort(b->lone, b->n, sizeof *b->lone, by_key);
	size_t i = 0, k = 0;
	while (i < a->n || k < b->n) {
		if (i < a->n && k < b->n && a->lone[i].key == b->lone[k].key) {
			struct diff_run *x = &a->lone[i++].about, *y = &b->lone[k++].about;
			struct diff_run about = *x;
			about.run[1] = y->run[1];
			about.is_other_build = true;
			compare(c, x->tables, y->tables, &about);
			free_run(x);
			free_run(y);
		} else if (k >= b->n || (i < a->n && a->lone[i].key < b->lone[k].key))
			keep_only(c, &a->lone[i++].about);
		else
			keep_only(c, &b->lone[k++].about);
	}
	a->n = b->n = 0;
}

int store_diff(struct store *a, struct store *b, struct diff *out, struct orr_error *err)
{
	struct comparison c = { .side = { { .store = a }, { .store = b } }, .err = err };
	int code = begin(&c.side[0], err);
	if (!code)
		code = begin(&c.side[1], err);
	if (!code)
		code = compare_hashes(&c);
	if (!code)
		compare_scenarios(&c);
	for (int i = 0; i < 2; i++) {
		sqlite3_finalize(c.side[i].runs);
		for (size_t k = 0; k < c.side[i].n; k++)
			free_run(&c.side[i].lone[k].about);
		mem_free(c.side[i].lone);
	}
	if (c.n)
		qsort(c.differing, c.n, sizeof *c.differing, by_run);
	*out = (struct diff){ c.differing, c.n, c.n_same };
	return code;
}

void diff_free(struct diff *d)
{
	for (size_t i = 0; i < d->n; i++)
		free_run(&d->run[i]);
	mem_free(d->run);
	*d = (struct diff){ 0 };
}
