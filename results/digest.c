/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "results/store.h"

#include "base/sbuf.h"
#include "results/columns.h"
#include "results/db.h"

#include <nettle/sha2.h>
#include <string.h>

static const char doing[] = "hashing the runs";

/*
 * The digest is SHA-256 over a text: the runs in order of (scenario, label), the tables of each run, the rows of each table,
 * the columns of each row. Each value is written as a type letter, the length of a text, and the value, so different contents
 * never give the same text. The hash and the version of a run are not included: equal results of two builds have equal digests.
 * Contents of inputs are covered by their hashes in the scenario.
 */
struct digest {
	struct sha256_ctx sha;
	struct sbuf row;
};

static void put_column(struct sbuf *row, sqlite3_stmt *st, int column)
{
	switch (sqlite3_column_type(st, column)) {
	case SQLITE_INTEGER:
		sbuf_printf(row, "i%lld;", (long long)sqlite3_column_int64(st, column));
		break;
	case SQLITE_FLOAT:
		sbuf_printf(row, "r%.17g;", sqlite3_column_double(st, column));
		break;
	case SQLITE_NULL:
		sbuf_puts(row, "n;");
		break;
	default: {
		const char *text = (const char *)sqlite3_column_text(st, column);
		int len = sqlite3_column_bytes(st, column);
		sbuf_printf(row, "t%d:", len);
		sbuf_add(row, text ? text : "", (size_t)len);
		sbuf_putc(row, ';');
	}
	}
}

static void put_row(struct digest *d, sqlite3_stmt *st, const char *table)
{
	sbuf_clear(&d->row);
	sbuf_printf(&d->row, "%s ", table);
	for (int c = 0; c < sqlite3_column_count(st); c++)
		put_column(&d->row, st, c);
	sbuf_putc(&d->row, '\n');
	sha256_update(&d->sha, d->row.len, (const uint8_t *)d->row.text);
}

/* Digests all columns except run numbers, hash, version, wall and CPU time, host and date. Order: jobs, metrics, series, points. */
static const struct {
	const char *digest, *sql;
} fixed[] = {
	{ "run", "SELECT label, policy, world, is_oracle, scenario, seed, rows_total"
		 " FROM runs WHERE run = ?" },
	{ "series", "SELECT name FROM series WHERE run = ? ORDER BY series" },
	{ "point", "SELECT series, time_ns, value FROM series_points WHERE run = ? ORDER BY series, point" },
};
enum { RUN, SERIES, POINTS, FIXED, MOST = 32 };

/* Prepared statements of all tables. */
struct statements {
	sqlite3_stmt *fixed[FIXED], *rows[MOST];
};

static int prepare_all(struct store *s, struct statements *t, struct orr_error *err)
{
	int code = ORR_OK;
	for (int i = 0; !code && i < FIXED; i++)
		code = db_prepare(s, fixed[i].sql, doing, &t->fixed[i], err);
	for (size_t i = 0; !code && i < n_row_tables && i < MOST; i++)
		code = db_select_rows(s, &row_tables[i], doing, &t->rows[i], err);
	return code;
}

static void finalize_all(struct statements *t)
{
	for (int i = 0; i < FIXED; i++)
		sqlite3_finalize(t->fixed[i]);
	for (int i = 0; i < MOST; i++)
		sqlite3_finalize(t->rows[i]);
}

static int put_rows(struct store *s, struct digest *d, sqlite3_stmt *st, const char *table, int64_t run, struct orr_error *err)
{
	if (!st)
		return ORR_OK; /* an older schema lacks this table */
	int rc;
	sqlite3_bind_int64(st, 1, run);
	while ((rc = db_step(s, st, doing, err)) == SQLITE_ROW)
		put_row(d, st, table);
	sqlite3_reset(st);
	return rc == SQLITE_DONE ? ORR_OK : ORR_EFAIL;
}

static int put_run(struct store *s, struct digest *d, struct statements *t, int64_t run, struct orr_error *err)
{
	int code = put_rows(s, d, t->fixed[RUN], fixed[RUN].digest, run, err);
	for (size_t i = 0; !code && i < n_row_tables && i < MOST; i++) {
		code = put_rows(s, d, t->rows[i], row_tables[i].digest, run, err);
		if (strcmp(row_tables[i].name, "metrics") != 0)
			continue;
		for (int k = SERIES; !code && k <= POINTS; k++)
			code = put_rows(s, d, t->fixed[k], fixed[k].digest, run, err);
	}
	return code;
}

static int put_runs(struct store *s, struct digest *d, struct orr_error *err)
{
	sqlite3_stmt *runs;
	struct statements t = { 0 };
	int code = db_prepare(s, "SELECT run FROM runs ORDER BY scenario, label, hash", doing, &runs, err);
	if (!code)
		code = prepare_all(s, &t, err);
	int rc = SQLITE_DONE;
	while (!code && (rc = db_step(s, runs, doing, err)) == SQLITE_ROW)
		code = put_run(s, d, &t, sqlite3_column_int64(runs, 0), err);
	finalize_all(&t);
	sqlite3_finalize(runs);
	return code || rc == SQLITE_DONE ? code : ORR_EFAIL;
}

int store_digest(struct store *s, char out[65], struct orr_error *err)
{
	struct digest d = { .row = { 0 } };
	sha256_init(&d.sha);
	out[0] = '\0';
	int code = db_exec(s, "BEGIN", doing, err);
	if (code)
		return code;
	code = put_runs(s, &d, err);
	db_rollback(s); /* read-only transaction */
	sbuf_free(&d.row);
	if (code)
		return code;
	uint8_t sum[SHA256_DIGEST_SIZE];
	sha256_digest(&d.sha, sizeof sum, sum);
	for (size_t i = 0; i < sizeof sum; i++) {
		out[2 * i] = "0123456789abcdef"[sum[i] >> 4];
		out[2 * i + 1] = "0123456789abcdef"[sum[i] & 15];
	}
	out[64] = '\0';
	return ORR_OK;
}
