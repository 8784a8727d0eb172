/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "results/columns.h"

#include "results/parts.h"

#include <math.h>
#include <string.h>

/* clang-format off */
#define AT(type_, row, name) .type = type_, .at = offsetof(struct row, name)
#define IS_NUMBER(row, name) AT(COLUMN_NUMBER, row, name)
#define IS_ID(row, name) AT(COLUMN_ID, row, name)
#define IS_TEXT(row, name) AT(COLUMN_TEXT, row, name)
#define IS_NAME(row, name) AT(COLUMN_NAME, row, name)
#define IS_TIME(row, name) AT(COLUMN_TIME, row, name)
#define IS_CLOCK(row, name) AT(COLUMN_CLOCK, row, name)
#define IS_COUNT(row, name) AT(COLUMN_COUNT, row, name)
#define IS_COUNT64(row, name) AT(COLUMN_COUNT64, row, name)
#define IS_INDEX(row, name) AT(COLUMN_INDEX, row, name)
#define IS_REAL(row, name) AT(COLUMN_REAL, row, name)
#define IS_SECONDS(row, name) AT(COLUMN_SECONDS, row, name)
#define IS_JOB_STATUS(row, name) AT(COLUMN_JOB_STATUS, row, name)
#define IS_REQUEST_STATUS(row, name) AT(COLUMN_REQUEST_STATUS, row, name)
#define IS_NOTHING(row, name)
#define IS_DIFF(a, b) .type = COLUMN_DIFF, .left = #a, .right = #b IS_NOTHING
#define IS_SQL(text) .type = COLUMN_SQL, .sql = text IS_NOTHING
#define COLUMN(row, name_, type, csv_, unit_, doc_) { .name = #name_, .csv = csv_, .unit = unit_, .doc = doc_, IS_##type(row, name_) },

static const struct column jobs_columns[] = {
#define JOB(...) COLUMN(job_row, __VA_ARGS__)
#include "results/columns.def"
};
static const struct column metrics_columns[] = {
#define METRIC(...) COLUMN(metric, __VA_ARGS__)
#include "results/columns.def"
};
static const struct column events_columns[] = {
#define EVENT(...) COLUMN(event_row, __VA_ARGS__)
#include "results/columns.def"
};
static const struct column iterations_columns[] = {
#define ITERATION(...) COLUMN(iteration_row, __VA_ARGS__)
#include "results/columns.def"
};
static const struct column devices_columns[] = {
#define DEVICE(...) COLUMN(device_row, __VA_ARGS__)
#include "results/columns.def"
};
static const struct column spans_columns[] = {
#define SPAN(...) COLUMN(span_row, __VA_ARGS__)
#include "results/columns.def"
};
static const struct column requests_columns[] = {
#define REQUEST(...) COLUMN(request_row, __VA_ARGS__)
#include "results/columns.def"
};
static const struct column replicas_columns[] = {
#define REPLICA(...) COLUMN(replica_row, __VA_ARGS__)
#include "results/columns.def"
};
static const struct column nodes_columns[] = {
#define NODE(...) COLUMN(node_row, __VA_ARGS__)
#include "results/columns.def"
};
static const struct column accounts_columns[] = {
#define ACCOUNT(...) COLUMN(account_row, __VA_ARGS__)
#include "results/columns.def"
};
static const struct column parts_columns[] = {
#define PART(...) COLUMN(part_row, __VA_ARGS__)
#include "results/columns.def"
};
static const struct column endpoints_columns[] = {
#define ENDPOINT(...) COLUMN(endpoint_row, __VA_ARGS__)
#include "results/columns.def"
};
static const struct column ranks_columns[] = {
#define RANK(...) COLUMN(rank_row, __VA_ARGS__)
#include "results/columns.def"
};

#define STORED_PACKED(rows) #rows
#define STORED_POSITION(rows) #rows
#define STORED_FIRST(rows) #rows
#define STORED_LISTED(rows) #rows "_lists"
const struct row_table row_tables[] = {
#define TABLE(row, rows, key_, digest_, doc_)                                                                                       \
	{ .name = #rows, .digest = digest_, .doc = doc_, .stored = STORED_##key_(rows), .key = KEY_##key_, .row_size = sizeof(struct row), \
		.rows_at = offsetof(struct run_result, rows), .n_at = offsetof(struct run_result, n_##rows),                           \
		.columns = rows##_columns, .n_columns = sizeof rows##_columns / sizeof *rows##_columns },
#include "results/columns.def"
};
/* clang-format on */
const size_t n_row_tables = sizeof row_tables / sizeof *row_tables;

const struct row_table *row_table_find(const char *name)
{
	for (size_t i = 0; i < n_row_tables; i++)
		if (!strcmp(row_tables[i].name, name))
			return &row_tables[i];
	return NULL;
}

const void *rows_get(const struct row_table *t, const struct run_result *r, size_t i)
{
	const char *rows;
	memcpy(&rows, (const char *)r + t->rows_at, sizeof rows);
	return rows + i * t->row_size;
}

static bool is_parts(const struct row_table *t)
{
	return t->rows_at == offsetof(struct run_result, parts);
}

void rows_copy(const struct row_table *t, const struct run_result *r, size_t i, size_t n, void *out)
{
	if (is_parts(t))
		part_rows_copy(r, i, n, out);
	else if (n)
		memcpy(out, rows_get(t, r, i), n * t->row_size);
}

void *rows_steal(const struct row_table *t, struct run_result *r)
{
	void *rows;
	if (is_parts(t))
		part_rows_form(r);
	memcpy(&rows, (const char *)r + t->rows_at, sizeof rows);
	rows_set(t, r, NULL, 0);
	return rows;
}

void rows_set(const struct row_table *t, struct run_result *r, void *rows, size_t n)
{
	memcpy((char *)r + t->rows_at, &rows, sizeof rows);
	memcpy((char *)r + t->n_at, &n, sizeof n);
}

static struct cell integer_cell(int64_t value)
{
	return (struct cell){ .kind = CELL_INTEGER, .integer = value };
}

struct cell column_cell(const struct column *c, const char *row)
{
	const void *at = row + c->at;
	struct cell none = { .kind = CELL_NULL };
	switch (c->type) {
	case COLUMN_ID:
	case COLUMN_TEXT:
	case COLUMN_NAME: {
		const char *text;
		memcpy(&text, at, sizeof text);
		return text ? (struct cell){ .kind = CELL_TEXT, .text = text } : none;
	}
	case COLUMN_TIME:
		return *(const int64_t *)at == -1 ? none : integer_cell(*(const int64_t *)at);
	case COLUMN_NUMBER:
	case COLUMN_CLOCK:
	case COLUMN_COUNT64:
		return integer_cell(*(const int64_t *)at);
	case COLUMN_COUNT:
		return integer_cell(*(const uint32_t *)at);
	case COLUMN_INDEX:
		return *(const uint32_t *)at == UINT32_MAX ? none : integer_cell(*(const uint32_t *)at);
	case COLUMN_REAL:
	case COLUMN_SECONDS:
		return isnan(*(const double *)at) ? none : (struct cell){ .kind = CELL_REAL, .real = *(const double *)at + 0.0 };
	case COLUMN_JOB_STATUS:
	case COLUMN_REQUEST_STATUS:
		return integer_cell(*(const uint8_t *)at);
	case COLUMN_DIFF:
	case COLUMN_SQL:
		break;
	}
	return none;
}

void column_csv_name(struct sbuf *out, const struct row_table *t, const struct column *c)
{
	size_t len = strlen(c->name);
	if (c->type == COLUMN_NUMBER && c->csv)
		sbuf_add(out, t->name, strlen(t->name) - 1); /* without the plural s: a row of `iterations` is an "iteration" */
	else if (c->type == COLUMN_TIME || c->type == COLUMN_CLOCK)
		sbuf_printf(out, "%.*s_s", (int)len - 3, c->name);
	else
		sbuf_puts(out, c->name);
}

const char *const *column_words(enum column_type type)
{
	static const char *const job[] = { "completed", "killed", "failed", "unfinished", NULL };
	static const char *const request[] = { "completed", "refused", "shed", "unfinished", NULL };
	return type == COLUMN_JOB_STATUS ? job : type == COLUMN_REQUEST_STATUS ? request : NULL;
}

void columns_markdown(struct sbuf *out)
{
	for (size_t i = 0; i < n_row_tables; i++) {
		const struct row_table *t = &row_tables[i];
		sbuf_printf(out, "%s## `%s`: %s\n\n| column | unit | meaning | CSV |\n| --- | --- | --- | --- |\n", i ? "\n" : "", t->name,
			t->doc);
		for (size_t k = 0; k < t->n_columns; k++) {
			const struct column *c = &t->columns[k];
			sbuf_printf(out, "| `%s`%s | %s | %s | ", c->name, column_is_stored(c) ? "" : " (view)", c->unit, c->doc);
			if (c->csv) {
				sbuf_printf(out, "%u: `", c->csv);
				column_csv_name(out, t, c);
				sbuf_putc(out, '`');
			}
			sbuf_puts(out, " |\n");
		}
	}
}
