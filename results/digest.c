/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "results/digest.h"

#include "base/mem.h"
#include "base/sbuf.h"
#include "results/columns.h"
#include "results/lists.h"
#include "results/store.h"

#include <inttypes.h>
#include <math.h>
#include <nettle/sha2.h>
#include <stdio.h>
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

/* One part of a run while its rows are read. */
struct part {
	struct digest *digest; /* digest of the database; NULL: only the checksum is computed */
	struct sha256_ctx sha; /* checksum of the part */
	struct sbuf row;
	bool has_rows, is_listed; /* is_listed: the checksum covers the lists, the digest covers the rows */
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

static void put_number(struct sbuf *row, char type, uint64_t bits)
{
	char text[9] = { type };
	for (int i = 0; i < 8; i++)
		text[i + 1] = (char)(bits >> 8 * i);
	sbuf_add(row, text, sizeof text);
}

/* Append a value to the text of the checksum: the column's name and the value, as bytes that all machines write alike. */
static void put_integer(struct sbuf *row, const char *name, int64_t value)
{
	sbuf_puts(row, name);
	put_number(row, 'i', (uint64_t)value);
}

static void put_text(struct sbuf *row, const char *name, const char *text, size_t len)
{
	sbuf_puts(row, name);
	put_number(row, 't', len);
	sbuf_add(row, text ? text : "", len);
}

static void put_real(struct sbuf *row, const char *name, double value)
{
	uint64_t bits;
	memcpy(&bits, &value, sizeof bits);
	sbuf_puts(row, name);
	put_number(row, 'r', bits);
}

static void put_value(struct sbuf *row, sqlite3_stmt *st, int column)
{
	int type = sqlite3_column_type(st, column);
	const char *name = sqlite3_column_name(st, column);
	if (type == SQLITE_NULL)
		return;
	if (type == SQLITE_INTEGER) {
		put_integer(row, name, sqlite3_column_int64(st, column));
	} else if (type == SQLITE_FLOAT) {
		put_real(row, name, sqlite3_column_double(st, column));
	} else {
		const char *text = (const char *)sqlite3_column_text(st, column);
		put_text(row, name, text, (size_t)sqlite3_column_bytes(st, column));
	}
}

/* Sets out to the hash in hex digits, as many as fit before the final NUL. */
static void put_hex(struct sha256_ctx *sha, char *out, size_t size)
{
	uint8_t sum[SHA256_DIGEST_SIZE];
	sha256_digest(sha, sizeof sum, sum);
	for (size_t i = 0; i + 1 < size; i++)
		out[i] = "0123456789abcdef"[sum[i / 2] >> (i % 2 ? 0 : 4) & 15];
	out[size - 1] = '\0';
}

/* ---- the parts of a run ---- */

/* Reads all columns except run numbers, version, wall and CPU time, host and date. The digest of a database leaves out the hash, the last
 * column of `run`. */
static const struct {
	const char *name, *digest, *sql;
	int statement;
} fixed[] = {
	[DIGEST_RUN] = { "run", "run",
		"SELECT label, policy, world, is_oracle, %s AS scenario, seed, rows_total, hash FROM runs r WHERE run = ?1", DB_READ_RUN },
	[DIGEST_SERIES] = { "series", "series", "SELECT name FROM series WHERE run = ?1 ORDER BY series", DB_READ_SERIES },
	[DIGEST_POINTS] = { "series_points", "point",
		"SELECT series, time_ns, value FROM series_points WHERE run = ?1 ORDER BY series, point", DB_READ_POINTS },
};

const char *digest_part(size_t part)
{
	if (part < DIGEST_ROWS)
		return fixed[part].name;
	return part - DIGEST_ROWS < n_row_tables ? row_tables[part - DIGEST_ROWS].name : NULL;
}

const char *digest_table(size_t part)
{
	return part == DIGEST_RUN ? "runs" : digest_part(part);
}

static int prepare_part(struct store *s, size_t part, sqlite3_stmt **st, struct orr_error *err)
{
	if (part >= DIGEST_ROWS) {
		size_t i = part - DIGEST_ROWS;
		sqlite3_stmt **slot = &s->statement[DB_READ_ROWS + i];
		int code = *slot ? ORR_OK : lists_select_rows(s, &row_tables[i], doing, slot, err);
		*st = *slot;
		return code;
	}
	char sql[320] = "";
	*st = s->statement[fixed[part].statement];
	if (*st)
		return ORR_OK;
	snprintf(sql, sizeof sql, fixed[part].sql, db_scenario_sql(s));
	return db_statement(s, fixed[part].statement, sql, doing, st, err);
}

/* Adds a row to the checksum of its part. */
static void put_sum(struct part *p, sqlite3_stmt *st)
{
	int n = sqlite3_column_count(st);
	sbuf_clear(&p->row);
	for (int c = 0; c < n; c++)
		put_value(&p->row, st, c);
	sbuf_putc(&p->row, '\n');
	sha256_update(&p->sha, p->row.len, (const uint8_t *)p->row.text);
}

static void put_row(struct part *p, sqlite3_stmt *st, const char *table, int left_out)
{
	int n = sqlite3_column_count(st);
	if (!p->is_listed)
		put_sum(p, st);
	struct digest *d = p->digest;
	if (!d)
		return;
	sbuf_clear(&d->row);
	sbuf_printf(&d->row, "%s ", table);
	for (int c = 0; c < n - left_out; c++)
		put_column(&d->row, st, c);
	sbuf_putc(&d->row, '\n');
	sha256_update(&d->sha, d->row.len, (const uint8_t *)d->row.text);
}

/* Sets *st to the statement that reads the lists of a run; NULL: the table has none, or it is one of an older schema. */
static int prepare_lists(struct store *s, size_t part, sqlite3_stmt **st, struct orr_error *err)
{
	const struct row_table *t = part < DIGEST_ROWS ? NULL : &row_tables[part - DIGEST_ROWS];
	int64_t has = 0;
	char sql[160];
	*st = t ? s->statement[DB_READ_LISTS + part - DIGEST_ROWS] : NULL;
	if (*st || !t || t->key != KEY_LISTED)
		return ORR_OK;
	int code = lists_exist(s, t, &has, err);
	if (code || !has)
		return code;
	sqlite3_snprintf(sizeof sql, sql, "SELECT position, %s, lowest, highest, list FROM %s WHERE run = ?1 ORDER BY position",
		t->columns[0].name, t->stored);
	return db_statement(s, DB_READ_LISTS + (int)(part - DIGEST_ROWS), sql, doing, st, err);
}

/* ---- while the rows are written ---- */

static void put_cell(struct sbuf *row, const struct column *c, const char *cells)
{
	struct cell x = column_cell(c, cells);
	if (x.kind == CELL_INTEGER)
		put_integer(row, c->name, x.integer);
	else if (x.kind == CELL_REAL)
		put_real(row, c->name, x.real);
	else if (x.kind == CELL_TEXT)
		put_text(row, c->name, x.text, strlen(x.text));
}

/* Adds what the row has so far. */
static void add_start(struct digest_sums *d, size_t part)
{
	if (!d->sha)
		d->sha = mem_alloc(DIGEST_PARTS * sizeof *d->sha);
	if (!d->has[part])
		sha256_init(&d->sha[part]);
	d->has[part] = true;
	sha256_update(&d->sha[part], d->row.len, (const uint8_t *)d->row.text);
}

static void end_row(struct digest_sums *d, size_t part)
{
	sbuf_putc(&d->row, '\n');
	add_start(d, part);
}

static size_t part_of(const struct row_table *t)
{
	return DIGEST_ROWS + (size_t)(t - row_tables);
}

void digest_add_row(struct digest_sums *d, const struct row_table *t, const char *row)
{
	sbuf_clear(&d->row);
	for (size_t i = 0; i < t->n_columns; i++)
		put_cell(&d->row, &t->columns[i], row);
	end_row(d, part_of(t));
}

void digest_add_list(void *sums, const struct row_table *t, const struct stored_list *list)
{
	struct digest_sums *d = sums;
	sbuf_clear(&d->row);
	put_integer(&d->row, "position", list->position);
	put_text(&d->row, t->columns[0].name, list->group, strlen(list->group));
	put_integer(&d->row, "lowest", list->lowest);
	put_integer(&d->row, "highest", list->highest);
	sbuf_puts(&d->row, "list");
	put_number(&d->row, 't', list->len);
	add_start(d, part_of(t));
	sha256_update(&d->sha[part_of(t)], list->len, (const uint8_t *)list->list); /* not copied, because it is long */
	sbuf_clear(&d->row);
	end_row(d, part_of(t));
}

void digest_add_series(struct digest_sums *d, const char *name)
{
	sbuf_clear(&d->row);
	put_text(&d->row, "name", name, strlen(name));
	end_row(d, DIGEST_SERIES);
}

void digest_add_point(struct digest_sums *d, size_t series, int64_t time_ns, double value)
{
	sbuf_clear(&d->row);
	put_integer(&d->row, "series", (int64_t)series);
	put_integer(&d->row, "time_ns", time_ns);
	if (!isnan(value))
		put_real(&d->row, "value", value + 0.0);
	end_row(d, DIGEST_POINTS);
}

void digest_forget(struct digest_sums *d, const struct row_table *t)
{
	d->has[part_of(t)] = false;
}

void digest_sums_free(struct digest_sums *d)
{
	mem_free(d->sha);
	sbuf_free(&d->row);
}

/* ---- reading ---- */

/* Adds the lists of a run to the checksum of its part, if the table is stored in lists. */
static int put_lists(struct store *s, struct part *p, size_t part, int64_t run, struct orr_error *err)
{
	sqlite3_stmt *st;
	int rc, code = prepare_lists(s, part, &st, err);
	p->is_listed = st != NULL;
	if (code || !st)
		return code;
	sqlite3_bind_int64(st, 1, run);
	while ((rc = db_step(s, st, doing, err)) == SQLITE_ROW) {
		p->has_rows = true;
		put_sum(p, st);
	}
	sqlite3_reset(st);
	return rc == SQLITE_DONE ? ORR_OK : ORR_EFAIL;
}

static int put_rows(struct store *s, struct part *p, size_t part, int64_t run, struct orr_error *err)
{
	int code = put_lists(s, p, part, run, err);
	if (code || (p->is_listed && !p->digest))
		return code;
	const char *table = part < DIGEST_ROWS ? fixed[part].digest : row_tables[part - DIGEST_ROWS].digest;
	sqlite3_stmt *st;
	code = prepare_part(s, part, &st, err);
	if (code || !st)
		return code; /* an older schema lacks this table */
	int rc;
	sqlite3_bind_int64(st, 1, run);
	while ((rc = db_step(s, st, doing, err)) == SQLITE_ROW) {
		p->has_rows = true;
		put_row(p, st, table, part == DIGEST_RUN);
	}
	sqlite3_reset(st);
	return rc == SQLITE_DONE ? ORR_OK : ORR_EFAIL;
}

/* Returns part i of a run in the order of the digest: the run, then the tables in order, with the series after the metrics. */
static size_t part_in_order(size_t i)
{
	size_t metrics = (size_t)(row_table_find("metrics") - row_tables);
	if (i == 0)
		return DIGEST_RUN;
	if (i <= metrics + 1)
		return DIGEST_ROWS + i - 1;
	if (i <= metrics + 3)
		return i - metrics - 1; /* series, points */
	return DIGEST_ROWS + i - 3;
}

/* Returns whether r, the run as it was written, has no rows in a part; false if r is NULL. */
static bool is_empty(const struct run_result *r, size_t part)
{
	if (!r || part == DIGEST_RUN)
		return false;
	return part < DIGEST_ROWS ? !r->n_series : !rows_count(&row_tables[part - DIGEST_ROWS], r);
}

static int put_run(struct store *s, struct digest *d, int64_t run, const struct run_result *r, const struct digest_sums *known,
	struct checksums *sums, size_t *failed, struct orr_error *err)
{
	struct part p = { .digest = d };
	int code = ORR_OK;
	*sums = (struct checksums){ 0 };
	for (size_t i = 0; !code && i < DIGEST_ROWS + n_row_tables; i++) {
		size_t part = part_in_order(i);
		if (is_empty(r, part))
			continue;
		p.has_rows = known && known->has[part];
		if (p.has_rows) {
			p.sha = known->sha[part];
		} else {
			sha256_init(&p.sha);
			code = put_rows(s, &p, part, run, err);
		}
		if (code)
			*failed = part;
		if (p.has_rows)
			put_hex(&p.sha, sums->hex[part], sizeof sums->hex[part]);
	}
	sbuf_free(&p.row);
	return code;
}

int digest_run(struct store *s, int64_t run, struct checksums *out, size_t *part, struct orr_error *err)
{
	return put_run(s, NULL, run, NULL, NULL, out, part, err);
}

/* ---- texts of checksums ---- */

void digest_text(struct sbuf *out, const struct checksums *c)
{
	size_t begin = out->len;
	for (size_t i = 0; i < DIGEST_ROWS + n_row_tables; i++)
		if (*c->hex[i])
			sbuf_printf(out, "%s%s:%s", out->len > begin ? " " : "", digest_part(i), c->hex[i]);
}

void digest_find(const char *text, size_t part, char hex[17])
{
	const char *name = digest_part(part), *at = text;
	size_t n = strlen(name);
	*hex = '\0';
	while (*at && !(!strncmp(at, name, n) && at[n] == ':')) {
		at += strcspn(at, " ");
		at += *at == ' ';
	}
	if (*at)
		snprintf(hex, 17, "%.*s", (int)strcspn(at + n + 1, " "), at + n + 1);
}

size_t digest_differing(const struct checksums *c, const char *text, size_t from)
{
	char stored[17];
	for (size_t i = from; i < DIGEST_ROWS + n_row_tables; i++) {
		digest_find(text, i, stored);
		if (strcmp(stored, c->hex[i]) != 0)
			return i;
	}
	return DIGEST_PARTS;
}

int digest_set_checksum(struct store *s, int64_t run, const struct run_result *r, const struct digest_sums *known, struct orr_error *err)
{
	struct checksums sums;
	struct sbuf text = { 0 };
	sqlite3_stmt *st;
	size_t part;
	int code = put_run(s, NULL, run, r, known, &sums, &part, err);
	if (!code)
		code = db_statement(s, DB_SET_CHECKSUM, "UPDATE runs SET checksum = ? WHERE run = ?", doing, &st, err);
	if (code)
		return code;
	digest_text(&text, &sums);
	db_bind_text(st, 1, sbuf_text(&text));
	sqlite3_bind_int64(st, 2, run);
	code = db_run(s, st, doing, err);
	sbuf_free(&text);
	return code;
}

int digest_set_all_checksums(struct store *s, struct orr_error *err)
{
	sqlite3_stmt *runs;
	int code = db_prepare(s, "SELECT run FROM runs WHERE run > ? ORDER BY run LIMIT 1", doing, &runs, err);
	int rc = SQLITE_DONE;
	for (int64_t run = INT64_MIN; !code;) {
		sqlite3_bind_int64(runs, 1, run);
		rc = db_step(s, runs, doing, err);
		run = sqlite3_column_int64(runs, 0);
		sqlite3_reset(runs); /* before the row is changed */
		if (rc != SQLITE_ROW)
			break;
		code = digest_set_checksum(s, run, NULL, NULL, err);
	}
	sqlite3_finalize(runs);
	return code || rc == SQLITE_ROW || rc == SQLITE_DONE ? code : ORR_EFAIL;
}

/* ---- the digest of a database ---- */

static int compare_checksum(
	const struct store *s, int64_t run, const char *label, const char *text, const struct checksums *sums, struct orr_error *err)
{
	size_t part = digest_differing(sums, text, 0);
	if (part == DIGEST_PARTS)
		return ORR_OK;
	return orr_fail(err, ORR_EFAIL,
		"%s: run %" PRId64
		" (%.60s): %s differs from its checksum: expected an undamaged, unedited file ('orrery db check' lists all damage)",
		s->path, run, label, digest_part(part));
}

static int put_runs(struct store *s, struct digest *d, struct orr_error *err)
{
	sqlite3_stmt *runs;
	int64_t has_checksum;
	char sql[320];
	int code = db_has_column(s, "runs", "checksum", &has_checksum, err);
	if (code)
		return code;
	snprintf(sql, sizeof sql, "SELECT run, label, %s FROM runs r ORDER BY %s, label, hash", has_checksum ? "checksum" : "NULL",
		db_scenario_sql(s));
	code = db_prepare(s, sql, doing, &runs, err);
	int rc = SQLITE_DONE;
	while (!code && (rc = db_step(s, runs, doing, err)) == SQLITE_ROW) {
		struct checksums sums;
		size_t part;
		int64_t run = sqlite3_column_int64(runs, 0);
		const char *label = (const char *)sqlite3_column_text(runs, 1), *text = (const char *)sqlite3_column_text(runs, 2);
		code = put_run(s, d, run, NULL, NULL, &sums, &part, err);
		if (!code && has_checksum)
			code = compare_checksum(s, run, label ? label : "", text ? text : "", &sums, err);
	}
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
	put_hex(&d.sha, out, 65);
	return ORR_OK;
}

int store_digest_if_small(struct store *s, char out[65], struct orr_error *err)
{
	static const int64_t most_bytes = 48 << 20; /* about two seconds of hashing */
	int64_t pages = 0, bytes = 0;
	out[0] = '\0';
	int code = db_number(s, "PRAGMA page_count", &pages, doing, err);
	if (!code)
		code = db_number(s, "PRAGMA page_size", &bytes, doing, err);
	if (!code && pages * bytes > most_bytes)
		code = orr_fail(err, ORR_EFAIL, "not computed for %" PRId64 " MB: 'orrery db digest' prints it", pages * bytes / 1000000);
	return code ? code : store_digest(s, out, err);
}
