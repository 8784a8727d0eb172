/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The table-valued function orr_rows(list): the rows of a list. SQLite's JSON functions read a list too, as the view of the table does, but
 * take 20 us per row; this takes 0.2.
 *
 * Text of a list is input: it can come from an edited file. Anything but what lists_write() and lists_convert() write is an error.
 */
#include "results/lists.h"

#include "base/mem.h"

#include <string.h>

enum { NO_TEXT = -1 };

/* Columns of orr_rows. */
enum { AT, SUBJECT, BEGIN, END, TEXT, LIST = TEXT + LISTS_MOST_TEXTS };

struct row {
	int64_t subject, begin, end;
	int32_t text[LISTS_MOST_TEXTS]; /* index in texts; NO_TEXT: NULL */
};

struct text {
	uint32_t at, len; /* in list[] */
};

struct cursor {
	sqlite3_vtab_cursor base;
	char *list; /* copy of the list; texts are unescaped in place */
	size_t cap_list;
	const char *at; /* next character to be read */
	bool is_bad;
	struct text *text;
	struct row *row;
	size_t n_texts, cap_texts, n_rows, cap_rows, now;
};

/* ---- the text of a list ---- */

static bool take(struct cursor *c, char want)
{
	bool is_next = *c->at == want;
	c->at += is_next;
	return is_next;
}

static void expect(struct cursor *c, char want)
{
	if (!take(c, want))
		c->is_bad = true;
}

static int64_t take_number(struct cursor *c)
{
	bool is_negative = take(c, '-');
	uint64_t v = 0, most = (uint64_t)INT64_MAX + is_negative;
	if (*c->at < '0' || *c->at > '9')
		c->is_bad = true;
	for (; *c->at >= '0' && *c->at <= '9' && !c->is_bad; c->at++) {
		unsigned digit = (unsigned)(*c->at - '0');
		if (v > (most - digit) / 10)
			c->is_bad = true;
		v = v * 10 + digit;
	}
	return (int64_t)(is_negative ? 0 - v : v);
}

/* Returns the code of \uXXXX, whose digits are next. */
static unsigned take_code(struct cursor *c)
{
	unsigned code = 0;
	for (int i = 0; i < 4; i++) {
		const char *digits = "0123456789abcdef", *at = *c->at ? strchr(digits, *c->at | 32) : NULL;
		if (!at) {
			c->is_bad = true;
			return 0;
		}
		code = code << 4 | (unsigned)(at - digits);
		c->at++;
	}
	return code;
}

/* Writes the character of an escape, whose backslash is read. Returns the end of what is written, which is shorter than the escape. */
static char *take_escape(struct cursor *c, char *out)
{
	static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
	const char *found = *c->at ? strchr(names, *c->at) : NULL;
	unsigned code;
	if (found) {
		c->at++;
		*out++ = values[found - names];
		return out;
	}
	expect(c, 'u');
	code = take_code(c);
	if (code < 0x80) {
		*out++ = (char)code;
	} else if (code < 0x800) {
		*out++ = (char)(0xc0 | code >> 6);
		*out++ = (char)(0x80 | (code & 63));
	} else {
		*out++ = (char)(0xe0 | code >> 12);
		*out++ = (char)(0x80 | (code >> 6 & 63));
		*out++ = (char)(0x80 | (code & 63));
	}
	return out;
}

/* Reads a text or null. Returns its index. */
static int32_t take_text(struct cursor *c)
{
	if (!strncmp(c->at, "null", 4)) {
		c->at += 4;
		return NO_TEXT;
	}
	expect(c, '"');
	char *begin = c->list + (c->at - c->list), *out = begin;
	while (*c->at && *c->at != '"' && !c->is_bad) {
		if (take(c, '\\'))
			out = take_escape(c, out);
		else
			*out++ = *c->at++;
	}
	expect(c, '"');
	MEM_GROW(c->text, c->n_texts, c->cap_texts);
	c->text[c->n_texts] = (struct text){ (uint32_t)(begin - c->list), (uint32_t)(out - begin) };
	return (int32_t)c->n_texts++;
}

static struct row *add_row(struct cursor *c, int64_t subject)
{
	MEM_GROW(c->row, c->n_rows, c->cap_rows);
	struct row *r = &c->row[c->n_rows++];
	r->subject = subject;
	for (int i = 0; i < LISTS_MOST_TEXTS; i++)
		r->text[i] = NO_TEXT;
	return r;
}

/* Reads the rows of a list of schema 7: [[subject,begin,length,text,..],..]. */
static void read_plain(struct cursor *c)
{
	do {
		expect(c, '[');
		struct row *r = add_row(c, take_number(c));
		expect(c, ',');
		r->begin = take_number(c);
		expect(c, ',');
		r->end = (int64_t)((uint64_t)r->begin + (uint64_t)take_number(c));
		for (int i = 0; i < LISTS_MOST_TEXTS && take(c, ','); i++)
			r->text[i] = take_text(c);
		expect(c, ']');
	} while (take(c, ',') && !c->is_bad);
}

static int32_t take_index(struct cursor *c)
{
	if (*c->at == 'n')
		return take_text(c);
	int64_t i = take_number(c);
	if (i < 0 || i >= (int64_t)c->n_texts) {
		c->is_bad = true;
		return NO_TEXT;
	}
	return (int32_t)i;
}

static int64_t scaled(int64_t unit, int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)unit * ((uint64_t)a + (uint64_t)b));
}

/* Reads [subject,first,base,[end,text,..],..]. */
static void read_group(struct cursor *c, int64_t unit)
{
	int64_t end = 0;
	expect(c, '[');
	int64_t subject = take_number(c);
	expect(c, ',');
	if (take_number(c) != (int64_t)c->n_rows)
		c->is_bad = true;
	expect(c, ',');
	int64_t base = take_number(c);
	while (take(c, ',') && !c->is_bad) {
		struct row *r = add_row(c, subject);
		r->begin = scaled(unit, base, end);
		expect(c, '[');
		end = take_number(c);
		r->end = scaled(unit, base, end);
		for (int i = 0; i < LISTS_MOST_TEXTS && take(c, ','); i++)
			r->text[i] = take_index(c);
		expect(c, ']');
	}
	expect(c, ']');
}

static void read_packed(struct cursor *c)
{
	int64_t unit = take_number(c);
	expect(c, ',');
	expect(c, '[');
	do
		take_text(c);
	while (take(c, ',') && !c->is_bad);
	expect(c, ']');
	while (take(c, ',') && !c->is_bad)
		read_group(c, unit);
}

static bool read_list(struct cursor *c)
{
	c->at = c->list;
	c->is_bad = false;
	c->n_texts = c->n_rows = c->now = 0;
	expect(c, '[');
	if (*c->at == '[')
		read_plain(c);
	else
		read_packed(c);
	expect(c, ']');
	return !c->is_bad && !*c->at;
}

/* ---- the virtual table ---- */

static int connect(sqlite3 *db, void *aux, int argc, const char *const *argv, sqlite3_vtab **out, char **why)
{
	(void)aux, (void)argc, (void)argv, (void)why;
	int rc = sqlite3_declare_vtab(db, "CREATE TABLE x(at, subject, begin_ns, end_ns, text0, text1, text2, text3, list HIDDEN)");
	*out = rc ? NULL : mem_zalloc(1, sizeof **out);
	return rc;
}

static int disconnect(sqlite3_vtab *t)
{
	mem_free(t);
	return SQLITE_OK;
}

static int best_index(sqlite3_vtab *t, sqlite3_index_info *x)
{
	(void)t;
	for (int i = 0; i < x->nConstraint; i++)
		if (x->aConstraint[i].iColumn == LIST && x->aConstraint[i].usable && x->aConstraint[i].op == SQLITE_INDEX_CONSTRAINT_EQ) {
			x->aConstraintUsage[i].argvIndex = 1;
			x->aConstraintUsage[i].omit = 1;
			x->estimatedCost = 100;
			return SQLITE_OK;
		}
	return SQLITE_CONSTRAINT;
}

static int open_cursor(sqlite3_vtab *t, sqlite3_vtab_cursor **out)
{
	(void)t;
	struct cursor *c = mem_zalloc(1, sizeof *c);
	*out = &c->base;
	return SQLITE_OK;
}

static int close_cursor(sqlite3_vtab_cursor *base)
{
	struct cursor *c = (struct cursor *)base;
	mem_free(c->list);
	mem_free(c->text);
	mem_free(c->row);
	mem_free(c);
	return SQLITE_OK;
}

static int filter(sqlite3_vtab_cursor *base, int number, const char *name, int argc, sqlite3_value **argv)
{
	struct cursor *c = (struct cursor *)base;
	const char *text = argc ? (const char *)sqlite3_value_text(argv[0]) : NULL;
	size_t n = text ? (size_t)sqlite3_value_bytes(argv[0]) : 0;
	(void)number, (void)name;
	if (c->cap_list < n + 1) {
		c->cap_list = n + n / 2 + 1;
		c->list = mem_realloc(c->list, c->cap_list, 1);
	}
	if (n)
		memcpy(c->list, text, n);
	c->list[n] = '\0';
	if (read_list(c))
		return SQLITE_OK;
	sqlite3_free(base->pVtab->zErrMsg);
	base->pVtab->zErrMsg = sqlite3_mprintf("malformed list of rows: expected an undamaged file");
	return SQLITE_ERROR;
}

static int next(sqlite3_vtab_cursor *base)
{
	((struct cursor *)base)->now++;
	return SQLITE_OK;
}

static int eof(sqlite3_vtab_cursor *base)
{
	const struct cursor *c = (struct cursor *)base;
	return c->now >= c->n_rows;
}

static int column(sqlite3_vtab_cursor *base, sqlite3_context *out, int i)
{
	const struct cursor *c = (struct cursor *)base;
	const struct row *r = &c->row[c->now];
	if (i == AT)
		sqlite3_result_int64(out, (int64_t)c->now);
	else if (i == SUBJECT)
		sqlite3_result_int64(out, r->subject);
	else if (i == BEGIN)
		sqlite3_result_int64(out, r->begin);
	else if (i == END)
		sqlite3_result_int64(out, r->end);
	else if (i < LIST && r->text[i - TEXT] != NO_TEXT) {
		const struct text *t = &c->text[r->text[i - TEXT]];
		sqlite3_result_text(out, c->list + t->at, (int)t->len, SQLITE_TRANSIENT);
	}
	return SQLITE_OK;
}

static int rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *out)
{
	*out = (int64_t)((struct cursor *)base)->now;
	return SQLITE_OK;
}

int lists_add_reader(const struct store *s)
{
	static const sqlite3_module module = { .xConnect = connect,
		.xBestIndex = best_index,
		.xDisconnect = disconnect,
		.xOpen = open_cursor,
		.xClose = close_cursor,
		.xFilter = filter,
		.xNext = next,
		.xEof = eof,
		.xColumn = column,
		.xRowid = rowid };
	return sqlite3_create_module(s->db, "orr_rows", &module, NULL);
}

void lists_select(struct sbuf *sql, const struct row_table *t)
{
	sbuf_printf(sql, "SELECT l.run, l.position + e.at AS position, l.%s, e.subject AS %s, e.begin_ns AS %s, e.end_ns AS %s",
		t->columns[0].name, t->columns[1].name, t->columns[2].name, t->columns[3].name);
	for (size_t i = LISTS_TEXTS_FROM, at = 0; i < t->n_columns; i++)
		if (column_is_stored(&t->columns[i]))
			sbuf_printf(sql, ", e.text%zu AS %s", at++, t->columns[i].name);
	sbuf_printf(sql, " FROM %s l, orr_rows(l.list) e", t->stored);
}

int lists_select_rows(const struct store *s, const struct row_table *t, const char *doing, sqlite3_stmt **st, struct orr_error *err)
{
	int64_t has = 0;
	int code = t->key == KEY_LISTED ? lists_exist(s, t, &has, err) : ORR_OK;
	*st = NULL;
	if (code || !has)
		return code ? code : db_select_rows(s, t, doing, st, err);
	struct sbuf sql = { 0 };
	sbuf_puts(&sql, "SELECT ");
	for (size_t i = 0; i < t->n_columns; i++)
		if (column_is_stored(&t->columns[i]))
			sbuf_printf(&sql, "%s%s", i ? ", " : "", t->columns[i].name);
	sbuf_puts(&sql, " FROM (");
	lists_select(&sql, t);
	sbuf_puts(&sql, " WHERE l.run = ?1 ORDER BY l.position)");
	code = db_prepare(s, sbuf_text(&sql), doing, st, err);
	sbuf_free(&sql);
	return code;
}
