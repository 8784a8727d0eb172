/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "results/store.h"

#include "base/sbuf.h"
#include "results/db.h"

#include <nettle/sha2.h>

static const char doing[] = "hashing the runs";

/*
 * The digest is SHA-256 over a text: for each run in order of (hash, label), for
 * each table, each row as its columns. A column is its type letter, for text the
 * length, and the value; so no two databases give the same text by accident.
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

/* Everything but run numbers, wall and CPU time, host and date. */
static const struct {
	const char *table, *sql;
	int since; /* this version of the schema; an older one has no such rows */
} tables[] = {
	{ "run", "SELECT hash, label, policy, world, is_oracle, scenario, seed, version, rows_total"
		 " FROM runs WHERE run = ?" },
	{ "job", "SELECT number, job_id, user, queue, model, submit_ns, start_ns, end_ns, wait_ns,"
		 " run_ns, duration_ns, recorded_wait_ns, gpus, gpu_milli, preemptions, migrations,"
		 " restarts, status FROM jobs WHERE key BETWEEN ?1 << 32 AND (?1 << 32) + 4294967295"
		 " ORDER BY key" },
	{ "metric", "SELECT name, value, ci_low, ci_high FROM metrics WHERE run = ? ORDER BY position" },
	{ "series", "SELECT name FROM series WHERE run = ? ORDER BY series" },
	{ "point", "SELECT series, time_ns, value FROM series_points WHERE run = ? ORDER BY series,"
		   " point" },
	{ "event", "SELECT time_ns, kind, subject, detail FROM events WHERE run = ? ORDER BY position" },
	{ "iteration", "SELECT number, start_s, end_s, samples FROM iterations WHERE run = ? ORDER BY number", 2 },
	{ "device",
		"SELECT device, node, compute_s, optimizer_s, codec_s, exposed_s, bubble_s, idle_s,"
		" peak_memory_bytes, sent_bytes FROM devices WHERE run = ? ORDER BY device",
		2 },
	{ "span",
		"SELECT device, stream, iteration, start_s, end_s, kind, label FROM spans WHERE run = ?"
		" ORDER BY position",
		2 },
	{ "request",
		"SELECT number, request_id, model, arrival_s, first_token_s, completed_s, queue_s, prompt_tokens,"
		" output_tokens, preemptions, replica, status FROM requests"
		" WHERE key BETWEEN ?1 << 32 AND (?1 << 32) + 4294967295 ORDER BY key",
		3 },
	{ "node", "SELECT time_ns, live, ready, in_use, usd FROM nodes WHERE run = ? ORDER BY position", 4 },
	{ "account", "SELECT account, node_s, usd FROM accounts WHERE run = ? ORDER BY position", 4 },
};

enum { TABLES = sizeof tables / sizeof *tables };

static int put_run(struct store *s, struct digest *d, sqlite3_stmt *const *st, int64_t run, struct orr_error *err)
{
	int rc = SQLITE_DONE;
	for (int i = 0; i < TABLES && rc == SQLITE_DONE; i++) {
		if (!st[i])
			continue;
		sqlite3_bind_int64(st[i], 1, run);
		while ((rc = db_step(s, st[i], doing, err)) == SQLITE_ROW)
			put_row(d, st[i], tables[i].table);
		sqlite3_reset(st[i]);
	}
	return rc == SQLITE_DONE ? ORR_OK : ORR_EFAIL;
}

static int put_runs(struct store *s, struct digest *d, struct orr_error *err)
{
	sqlite3_stmt *runs, *st[TABLES] = { NULL };
	int code = db_prepare(s, "SELECT run FROM runs ORDER BY hash, label", doing, &runs, err);
	for (int i = 0; !code && i < TABLES; i++)
		if (tables[i].since <= s->version)
			code = db_prepare(s, tables[i].sql, doing, &st[i], err);
	int rc = SQLITE_DONE;
	while (!code && (rc = db_step(s, runs, doing, err)) == SQLITE_ROW)
		code = put_run(s, d, st, sqlite3_column_int64(runs, 0), err);
	for (int i = 0; i < TABLES; i++)
		sqlite3_finalize(st[i]);
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
	db_rollback(s); /* nothing was changed */
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
