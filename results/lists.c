/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "results/lists.h"

#include "base/hash.h"
#include "base/mem.h"
#include "base/num.h"
#include "results/parts.h"

#include <stdio.h>
#include <string.h>

static const char doing[] = "storing a run";

/* Rows of a list. Short lists let a reader skip more; long ones need fewer rows of SQLite. */
enum { LIST_ROWS = 512, SEEN = 2048 /* the tables stay in the cache */, KNOWN = 1024 };
_Static_assert((int)PART_TEXTS <= (int)LISTS_MOST_TEXTS, "a reader knows as many texts");
_Static_assert(SEEN > LIST_ROWS * PART_TEXTS && KNOWN > LIST_ROWS, "a list has at most this many texts, and different rows");

void lists_create(struct sbuf *sql, const struct row_table *t)
{
	sbuf_printf(sql,
		"CREATE TABLE IF NOT EXISTS %s(\n  run INTEGER NOT NULL REFERENCES runs(run),\n  position INTEGER NOT NULL,\n"
		"  %s TEXT NOT NULL,\n  lowest INTEGER NOT NULL,\n  highest INTEGER NOT NULL,\n  list TEXT NOT NULL,\n"
		"  PRIMARY KEY(run, position)) WITHOUT ROWID;\n",
		t->stored, t->columns[0].name);
}

/* Returns whether column i is the end of an interval that the column before it begins. A list of schema 7 has the length. */
static bool is_length(const struct row_table *t, size_t i)
{
	return t->columns[i].type == COLUMN_CLOCK && t->columns[i - 1].type == COLUMN_CLOCK;
}

/* The rows of lists of schema 7. */
static void view_plain(struct sbuf *sql, const struct row_table *t)
{
	size_t at = 0;
	sbuf_printf(sql, "SELECT l.run, l.position + e.key AS position, l.%s", t->columns[0].name);
	for (size_t i = 1; i < t->n_columns; i++) {
		if (!column_is_stored(&t->columns[i]))
			continue;
		sbuf_printf(sql, ", json_extract(e.value, '$[%zu]')", at);
		if (is_length(t, i))
			sbuf_printf(sql, " + json_extract(e.value, '$[%zu]')", at - 1);
		sbuf_printf(sql, " AS %s", t->columns[i].name);
		at++;
	}
	sbuf_printf(sql, " FROM %s l, json_each(l.list) e WHERE json_type(l.list, '$[0]') = 'array'", t->stored);
}

void lists_view(struct sbuf *sql, const struct row_table *t)
{
	static const char unit[] = "json_extract(l.list, '$[0]')", base[] = "json_extract(g.value, '$[2]')";
	size_t at = 1;
	view_plain(sql, t);
	sbuf_printf(sql,
		"\n  UNION ALL SELECT l.run, l.position + json_extract(g.value, '$[1]') + p.key - 3, l.%s, json_extract(g.value, '$[0]'),"
		"\n    %s * (%s + CASE p.key WHEN 3 THEN 0 ELSE json_extract(g.value, '$[' || (p.key - 1) || '][0]') END),"
		"\n    %s * (%s + json_extract(p.value, '$[0]'))",
		t->columns[0].name, unit, base, unit, base);
	for (size_t i = LISTS_TEXTS_FROM; i < t->n_columns; i++)
		if (column_is_stored(&t->columns[i]))
			sbuf_printf(sql, ",\n    json_extract(l.list, '$[1][' || json_extract(p.value, '$[%zu]') || ']')", at++);
	sbuf_printf(sql,
		"\n  FROM %s l, json_each(l.list) g, json_each(g.value) p"
		"\n  WHERE json_type(l.list, '$[0]') = 'integer' AND g.key > 1 AND p.key > 2",
		t->stored);
}

int lists_exist(const struct store *s, const struct row_table *t, int64_t *has, struct orr_error *err)
{
	return db_has_column(s, t->stored, "list", has, err);
}

void lists_convert(struct sbuf *sql, const struct row_table *t)
{
	const char *group = t->columns[0].name, *subject = t->columns[1].name;
	/* k counts the rows of a group from 0, so position - k is the same for rows that follow one another. */
	sbuf_printf(sql,
		"CREATE TEMP TABLE counted AS SELECT *, row_number() OVER (PARTITION BY run, %s ORDER BY position) - 1 AS k"
		" FROM temp.old_%s;\n"
		"CREATE INDEX temp.counted_key ON counted(run, position);\n"
		"INSERT INTO %s(run, position, %s, lowest, highest, list)"
		" SELECT run, first, %s, lowest, highest, (SELECT json_group_array(json(row)) FROM (SELECT json_array(%s",
		group, t->name, t->stored, group, group, subject);
	for (size_t i = 2; i < t->n_columns; i++)
		if (is_length(t, i))
			sbuf_printf(sql, ", %s - %s", t->columns[i].name, t->columns[i - 1].name);
		else if (column_is_stored(&t->columns[i]))
			sbuf_printf(sql, ", %s", t->columns[i].name);
	sbuf_printf(sql,
		") AS row FROM temp.counted c WHERE c.run = x.run AND c.position BETWEEN first AND last ORDER BY c.position))"
		" FROM (SELECT run, %s, min(position) AS first, max(position) AS last, min(%s) AS lowest, max(%s) AS highest"
		" FROM temp.counted GROUP BY run, %s, position - k, k / %d) x;\n"
		"DROP TABLE temp.counted; DROP TABLE temp.old_%s;\n",
		group, subject, subject, group, LIST_ROWS, t->name);
}

/* ---- writing ---- */

/* Bytes, without a final NUL. */
struct bytes {
	char *text;
	size_t len, cap;
};

/* The texts of a row as a list has them: ",3,5]", n bytes. */
enum { ENDING_MAX = 24 };
_Static_assert(PART_TEXTS *(sizeof ",2048" - 1) + 1 <= ENDING_MAX && SEEN <= 2048, "an index has at most four digits");
struct ending {
	const struct part_texts *texts;
	uint32_t n, list; /* list: number of the list that has these indexes */
	char bytes[ENDING_MAX];
};

/* The list that is being filled. Texts are numbered in the order of their first use; hashes of their addresses find them. Most rows have
 * the texts of an earlier row. */
struct list {
	struct bytes texts, out;
	size_t rows;
	uint64_t lowest, highest, subject;
	int64_t unit, base, end; /* base: begin of the group's first row; end: of its last row */
	uint32_t n_texts, number;
	struct {
		const char *text;
		uint32_t at, list; /* list: number of the list that has the text at `at` */
	} seen[SEEN];
	struct ending known[KNOWN];
	struct part_view view[LIST_ROWS];
	struct part_texts room[LIST_ROWS];
};

/* Makes room for `more` bytes. Returns where they begin. */
static char *room(struct bytes *b, size_t more)
{
	if (b->cap - b->len <= more) {
		b->cap = (b->len + more) * 2;
		b->text = mem_realloc(b->text, b->cap, 1);
	}
	return b->text + b->len;
}

static char *put_number(char *at, char before, int64_t v)
{
	*at++ = before;
	if (v >= 0 && v < 10) {
		*at++ = (char)('0' + v);
		return at;
	}
	return at + num_put_int(at, v);
}

static char *escape(char *at, unsigned char c)
{
	if (c < 0x20)
		return at + snprintf(at, 7, "\\u%04x", c);
	*at++ = '\\';
	*at++ = (char)c;
	return at;
}

/* Returns whether JSON escapes none of eight characters: none is below 0x20, a quote or a backslash. */
static inline bool is_plain(uint64_t eight)
{
	const uint64_t each = UINT64_MAX / 255, high = each * 0x80;
	uint64_t quote = eight ^ each * '"', backslash = eight ^ each * '\\';
	/* x - n borrows from the highest bit of a byte below n. A borrow may also reach the next byte, which then only seems to be special.
	 */
	return !(((eight - each * 0x20) & ~eight & high) | ((quote - each) & ~quote & high) | ((backslash - each) & ~backslash & high));
}

/* Appends a JSON string. */
static void put_text(struct bytes *out, const char *s)
{
	size_t n = strlen(s), i = 0;
	char *at = room(out, n * 6 + 4); /* the longest escape has six characters */
	*at++ = '"';
	while (i < n) {
		uint64_t eight;
		if (n - i >= sizeof eight && (memcpy(&eight, s + i, sizeof eight), is_plain(eight))) {
			memcpy(at, &eight, sizeof eight);
			at += sizeof eight;
			i += sizeof eight;
			continue;
		}
		unsigned char c = (unsigned char)s[i++];
		if (c < 0x20 || c == '"' || c == '\\')
			at = escape(at, c);
		else
			*at++ = (char)c;
	}
	*at++ = '"';
	out->len = (size_t)(at - out->text);
}

/* Returns the number of a text in the list. Equal texts have one address, as those of a result do (result_text()). */
static uint32_t text_number(struct list *l, const char *s)
{
	size_t i = hash_spread((uintptr_t)s) % SEEN;
	while (l->seen[i].list == l->number && l->seen[i].text != s)
		i = (i + 1) % SEEN;
	if (l->seen[i].list == l->number)
		return l->seen[i].at;
	if (l->n_texts)
		*room(&l->texts, 1) = ',', l->texts.len++;
	put_text(&l->texts, s);
	l->seen[i].text = s;
	l->seen[i].list = l->number;
	return l->seen[i].at = l->n_texts++;
}

static void set_ending(struct list *l, struct ending *e, const struct part_texts *texts)
{
	char bytes[PART_TEXTS * (NUM_INT_MAX + 1) + ENDING_MAX] = { 0 }, *at = bytes;
	size_t nulls = 0;
	for (size_t i = 0; i < PART_TEXTS; i++) {
		if (!texts->text[i]) {
			nulls++;
			continue;
		}
		for (; nulls; nulls--, at += 5)
			memcpy(at, ",null", 5);
		at = put_number(at, ',', text_number(l, texts->text[i]));
	}
	*at++ = ']';
	e->texts = texts;
	e->n = (uint32_t)(at - bytes);
	e->list = l->number;
	memcpy(e->bytes, bytes, sizeof e->bytes);
}

/* The units. A division by a constant compiles to a multiplication. */
#define UNITS(X) X(1000000000) X(1000000) X(1000)

static inline int64_t in_units(int64_t v, int64_t unit)
{
#define DIVIDE(u)        \
	if (unit == (u)) \
		return v / (u);
	UNITS(DIVIDE)
#undef DIVIDE
	return v;
}

/* The longest row: the start of a group, its end and its texts. Texts of most lists take less than TEXTS_ROOM. */
enum { ROW_MAX = 4 * (NUM_INT_MAX + 2) + ENDING_MAX, TEXTS_ROOM = 1 << 15 };

/* Appends the row to the group of its subject, or begins a group: [subject,first,base */
static inline char *put_times(struct list *l, const struct part_view *row, char *at)
{
	uint64_t subject = row->subject;
	int64_t begin = row->begin_ns, end = row->end_ns, length;
	if (!l->rows || subject != l->subject || begin != l->end || __builtin_sub_overflow(end, l->base, &length)) {
		if (l->rows)
			*at++ = ']';
		*at++ = ',';
		at = put_number(at, '[', (int64_t)subject);
		at = put_number(at, ',', (int64_t)l->rows);
		at = put_number(at, ',', in_units(begin, l->unit));
		l->subject = subject;
		l->base = begin;
		l->lowest = subject < l->lowest ? subject : l->lowest;
		l->highest = subject > l->highest ? subject : l->highest;
		length = (int64_t)((uint64_t)end - (uint64_t)begin);
	}
	l->end = end;
	*at++ = ',';
	return put_number(at, '[', in_units(length, l->unit));
}

/* Appends a row. Equal texts of rows are mostly in one place; where they are not, the row is formatted again. */
static inline char *put_row(struct list *l, const struct part_view *row, char *at)
{
	at = put_times(l, row, at);
	size_t i = (uintptr_t)row->texts / sizeof *row->texts % KNOWN;
	while (l->known[i].list == l->number && l->known[i].texts != row->texts)
		i = (i + 1) % KNOWN;
	struct ending *e = &l->known[i];
	if (e->list != l->number)
		set_ending(l, e, row->texts);
	memcpy(at, e->bytes, sizeof e->bytes); /* a constant length, which needs no call */
	l->rows++;
	return at + e->n;
}

/* Returns the greatest unit of which all times of the rows are multiples. */
static int64_t unit_of(const struct part_view *row, size_t n)
{
	size_t i = 0; /* rows before i are multiples of this unit */
	int64_t end = 0;
#define TRY(unit)                                                       \
	for (; i < n; i++) {                                            \
		if (row[i].begin_ns != end && row[i].begin_ns % (unit)) \
			break;                                          \
		if (row[i].end_ns % (unit))                             \
			break;                                          \
		end = row[i].end_ns;                                    \
	}                                                               \
	if (i == n)                                                     \
		return unit;
	UNITS(TRY)
#undef TRY
	return 1;
}

/* Fills a list with n rows: [unit,[text,..],[subject,first,base,[end,text,..],..],..]. Sets x->list and x->len. The texts are known last,
 * so the rows leave room before them. */
static void fill(struct list *l, size_t n, struct stored_list *x)
{
	l->texts.len = l->out.len = l->rows = 0;
	l->n_texts = 0;
	l->number++;
	l->lowest = UINT64_MAX;
	l->highest = 0;
	l->unit = unit_of(l->view, n);
	char *rows = room(&l->out, TEXTS_ROOM + n * ROW_MAX) + TEXTS_ROOM, *end = rows;
	for (const struct part_view *row = l->view; row < l->view + n; row++)
		end = put_row(l, row, end);
	memcpy(end, "]]", 2);
	end += 2;
	size_t head = l->texts.len + NUM_INT_MAX + 8;
	if (head > TEXTS_ROOM) {
		size_t len = (size_t)(end - rows);
		room(&l->out, head + TEXTS_ROOM + n * ROW_MAX);
		rows = l->out.text + head;
		memmove(rows, l->out.text + TEXTS_ROOM, len);
		end = rows + len;
	}
	char unit[NUM_INT_MAX + 2], *begin = rows - 1 - l->texts.len - 2;
	size_t unit_len = (size_t)(put_number(unit, '[', l->unit) - unit);
	rows[-1] = ']';
	memcpy(begin + 2, l->texts.text, l->texts.len);
	memcpy(begin, ",[", 2);
	begin -= unit_len;
	memcpy(begin, unit, unit_len);
	x->list = begin;
	x->len = (size_t)(end - begin);
}

static int prepare(struct store *s, const struct row_table *t, sqlite3_stmt **st, struct orr_error *err)
{
	char sql[160];
	sqlite3_snprintf(sizeof sql, sql, "INSERT INTO %s(run, position, %s, lowest, highest, list) VALUES(?,?,?,?,?,?)", t->stored,
		t->columns[0].name);
	return db_statement(s, DB_INSERT_ROWS + (int)(t - row_tables), sql, doing, st, err);
}

static int write_list(struct store *s, sqlite3_stmt *st, int64_t run, const struct stored_list *x, struct orr_error *err)
{
	sqlite3_bind_int64(st, 1, run);
	sqlite3_bind_int64(st, 2, x->position);
	db_bind_text(st, 3, x->group);
	sqlite3_bind_int64(st, 4, x->lowest);
	sqlite3_bind_int64(st, 5, x->highest);
	sqlite3_bind_text(st, 6, x->list, (int)x->len, SQLITE_STATIC);
	return db_run(s, st, doing, err);
}

int lists_write(struct store *s, const struct row_table *t, const struct run_result *r, int64_t run,
	void (*each)(void *ctx, const struct row_table *t, const struct stored_list *list), void *ctx, struct orr_error *err)
{
	struct list *l = mem_zalloc(1, sizeof *l);
	size_t n = rows_count(t, r);
	sqlite3_stmt *st;
	int code = prepare(s, t, &st, err);
	for (size_t i = 0, some; !code && i < n; i += some) {
		struct stored_list x = { .position = (int64_t)i };
		some = n - i < LIST_ROWS ? n - i : LIST_ROWS;
		x.group = part_views(r, i, &some, l->view, l->room);
		fill(l, some, &x);
		x.lowest = (int64_t)l->lowest;
		x.highest = (int64_t)l->highest;
		each(ctx, t, &x);
		code = write_list(s, st, run, &x, err);
	}
	mem_free(l->out.text);
	mem_free(l->texts.text);
	mem_free(l);
	return code;
}
