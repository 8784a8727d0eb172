/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "traces/table.h"

#include "base/mem.h"
#include "base/num.h"
#include "base/param.h"
#include "base/sbuf.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif
#include <math.h>
#include <stdio.h>
#include <string.h>

struct field {
	char *s;
	size_t n;
};

struct table {
	struct lines *in;
	const struct table_column *column;
	size_t n_columns;
	int where[TABLE_MAX_COLUMNS]; /* field of column i; -1: missing */
	int flags;
	char separator;
	size_t want; /* number of fields of every row; 0: not known yet */
	size_t n;
	struct field field[TABLE_MAX_FIELDS];
	struct sbuf joined; /* text of a record that spans lines */
	uint64_t first_line;
	struct orr_error *err;
	bool failed;
};

/* ---- splitting ---- */

/* Unquotes in place a field whose text starts at s, after its first quote. Returns the position after the closing quote; NULL: no
 * closing quote. The field is [s, *end). */
static char *unquote(char *s, char *stop, char **end)
{
	char *to = s;
	while (s < stop) {
		char *quote = memchr(s, '"', (size_t)(stop - s));
		if (!quote)
			return NULL;
		memmove(to, s, (size_t)(quote - s));
		to += quote - s;
		s = quote + 1;
		if (s == stop || *s != '"') {
			*end = to;
			return s;
		}
		*to++ = '"';
		s++;
	}
	return NULL;
}

static int too_many(struct table *t)
{
	lines_fail(t->in, t->err, "too many fields: expected at most %d", TABLE_MAX_FIELDS);
	return -1;
}

/* Returns whether a quote is open at the end of the line: the record then continues on the next line. */
static int quotes_are_open(const char *s, size_t n)
{
	int open = 0;
	for (const char *q = s; (q = memchr(q, '"', (size_t)(s + n - q))); q++)
		open = !open;
	return open;
}

static int split_quoted(struct table *t, char *s, char *stop)
{
	for (;;) {
		char *end;
		if (t->n == TABLE_MAX_FIELDS)
			return too_many(t);
		struct field *f = &t->field[t->n++];
		if (s < stop && *s == '"') {
			f->s = s + 1;
			s = unquote(f->s, stop, &end);
			if (!s || (s < stop && *s != t->separator)) {
				lines_fail(t->in, t->err, "field %zu: expected a separator after the closing quote", t->n);
				return -1;
			}
		} else {
			f->s = s;
			end = memchr(s, t->separator, (size_t)(stop - s));
			s = end = end ? end : stop;
		}
		f->n = (size_t)(end - f->s);
		bool is_last = s == stop;
		*end = '\0';
		if (is_last)
			return 1;
		s++;
	}
}

/* Returns a mask of the bytes equal to c among SPAN bytes at s: bit i for s[i]. Reads up to SPAN - 1 bytes past the end of a line
 * (LINES_SLACK). */
#ifdef __SSE2__
enum { SPAN = 16 };

static inline uint64_t equal_bytes(const char *s, char c)
{
	__m128i x = _mm_loadu_si128((const __m128i *)(const void *)s);
	return (uint64_t)_mm_movemask_epi8(_mm_cmpeq_epi8(x, _mm_set1_epi8(c)));
}
#else
enum { SPAN = 8 };

static inline uint64_t equal_bytes(const char *s, char c)
{
	uint64_t bits = 0;
	for (int i = 0; i < SPAN; i++)
		bits |= (uint64_t)(s[i] == c) << i;
	return bits;
}
#endif
_Static_assert(SPAN - 1 <= LINES_SLACK, "the last load stays within the slack of a line");

/* Restores the separators after the fields before f. */
static void unsplit(struct table *t, const struct field *f)
{
	while (f-- > t->field)
		f->s[f->n] = t->separator;
}

/* Splits a line of lines_next() at separators. Returns 0 if it contains a '"' and leaves the line unchanged. */
static int split_plain(struct table *t, char *s, size_t n)
{
	const char separator = t->separator;
	const char quote = t->flags & (TABLE_TABS | TABLE_BARS | TABLE_NO_QUOTES) ? '\n' : '"'; /* no quotes: a line contains no '\n' */
	struct field *f = t->field;
	char *begin = s;
	for (size_t i = 0; i < n; i += SPAN) {
		uint64_t inside = n - i < SPAN ? (UINT64_C(1) << (n - i)) - 1 : UINT64_MAX;
		uint64_t bits = equal_bytes(s + i, separator) & inside;
		if (equal_bytes(s + i, quote) & inside) {
			unsplit(t, f);
			return 0;
		}
		for (; bits; bits &= bits - 1) {
			char *at = s + i + __builtin_ctzll(bits);
			if (f == t->field + TABLE_MAX_FIELDS - 1)
				return too_many(t);
			*f++ = (struct field){ begin, (size_t)(at - begin) };
			*at = '\0';
			begin = at + 1;
		}
	}
	*f++ = (struct field){ begin, (size_t)(s + n - begin) };
	t->n = (size_t)(f - t->field);
	return 1;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static int split_blanks(struct table *t, char *s, char *stop)
{
	for (;;) {
		while (s < stop && is_blank(*s))
			s++;
		if (s == stop)
			return 1;
		if (t->n == TABLE_MAX_FIELDS)
			return too_many(t);
		struct field *f = &t->field[t->n++];
		f->s = s;
		while (s < stop && !is_blank(*s))
			s++;
		f->n = (size_t)(s - f->s);
		if (s < stop)
			*s++ = '\0';
	}
}

static int join_lines(struct table *t, char **s, size_t *n)
{
	sbuf_clear(&t->joined);
	sbuf_add(&t->joined, *s, *n);
	int open = 1;
	while (open) {
		int rc = lines_next(t->in, s, n, t->err);
		if (rc < 0)
			return -1;
		if (!rc || t->joined.len + *n > LINES_MAX_LENGTH) {
			lines_fail(t->in, t->err, "the quote of line %llu does not end: expected a closing quote",
				(unsigned long long)t->first_line);
			lines_break(t->in);
			return -1;
		}
		sbuf_putc(&t->joined, '\n');
		sbuf_add(&t->joined, *s, *n);
		open ^= quotes_are_open(*s, *n);
	}
	*s = t->joined.text;
	*n = t->joined.len;
	return 1;
}

static int split(struct table *t, char *s, size_t n)
{
	t->n = 0;
	if (t->flags & TABLE_BLANKS)
		return split_blanks(t, s, s + n);
	int rc = split_plain(t, s, n);
	if (rc)
		return rc;
	if (quotes_are_open(s, n) && join_lines(t, &s, &n) < 0)
		return -1;
	return split_quoted(t, s, s + n);
}

static bool is_empty(const char *s, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!is_blank(s[i]))
			return false;
	return true;
}

static int next_record(struct table *t, bool (*skip)(void *ctx, const char *line, size_t n), void *ctx)
{
	char *s;
	size_t n;
	int rc;
	do {
		rc = lines_next(t->in, &s, &n, t->err);
		if (rc <= 0)
			return rc;
	} while (is_empty(s, n) || (skip && skip(ctx, s, n)));
	t->first_line = lines_number(t->in);
	return split(t, s, n);
}

/* ---- the header ---- */

int table_separator(const char *header)
{
	static const struct {
		char c;
		int flag;
	} separators[] = { { ',', 0 }, { '\t', TABLE_TABS }, { ';', TABLE_SEMICOLONS }, { '|', TABLE_BARS } };
	size_t most = 0;
	int flag = 0;
	for (size_t i = 0; i < sizeof separators / sizeof *separators; i++) {
		size_t n = 0;
		bool is_quoted = false;
		for (const char *s = header; *s; s++) {
			is_quoted ^= *s == '"';
			n += !is_quoted && *s == separators[i].c;
		}
		if (n > most) {
			most = n;
			flag = separators[i].flag;
		}
	}
	return flag;
}

static void trim(struct field *f)
{
	while (f->n && is_blank(f->s[f->n - 1]))
		f->n--;
	while (f->n && is_blank(*f->s)) {
		f->s++;
		f->n--;
	}
	f->s[f->n] = '\0';
}

static int unknown_column(struct table *t, const struct field *f)
{
	const char *names[TABLE_MAX_COLUMNS + 1];
	for (size_t i = 0; i <= t->n_columns; i++)
		names[i] = t->column[i].name;
	const char *near = nearest_name(f->s, names);
	return lines_fail(t->in, t->err, "unknown column \"%.60s\": %s%s%s", f->s,
		near ? "did you mean \"" : "expected a column of this format", near ? near : "", near ? "\"?" : "");
}

static int place_column(struct table *t, size_t field)
{
	struct field *f = &t->field[field];
	trim(f);
	for (size_t i = 0; i < t->n_columns; i++) {
		if (strcmp(t->column[i].name, f->s))
			continue;
		if (t->where[i] >= 0)
			return lines_fail(t->in, t->err, "column \"%.60s\" appears twice: expected it once", f->s);
		t->where[i] = (int)field;
		return 0;
	}
	return t->flags & TABLE_KNOWN_COLUMNS ? unknown_column(t, f) : 0;
}

static int missing_column(struct table *t, const char *name)
{
	struct sbuf found = { 0 };
	const char *names[TABLE_MAX_FIELDS + 1];
	for (size_t i = 0; i < t->n; i++) {
		sbuf_printf(&found, "%s%.40s", i ? "," : "", t->field[i].s);
		names[i] = t->field[i].s;
	}
	names[t->n] = NULL;
	const char *near = nearest_name(name, names);
	int rc = lines_fail(t->in, t->err, "expected a column \"%.60s\", found %.300s%s%.60s%s", name, sbuf_text(&found),
		near ? ": did you mean \"" : "", near ? near : "", near ? "\"?" : "");
	sbuf_free(&found);
	return rc;
}

static int read_header(struct table *t)
{
	int rc = next_record(t, NULL, NULL);
	if (rc < 0)
		return ORR_EINPUT;
	if (!rc)
		return lines_fail(t->in, t->err, "the file is empty: expected a header line with column names");
	for (size_t i = 0; i < t->n_columns; i++)
		t->where[i] = -1;
	for (size_t i = 0; i < t->n; i++)
		if (place_column(t, i))
			return ORR_EINPUT;
	for (size_t i = 0; i < t->n_columns; i++)
		if (t->where[i] < 0 && t->column[i].is_needed)
			return missing_column(t, t->column[i].name);
	t->want = t->n;
	return 0;
}

struct table *table_new(struct lines *in, const struct table_column *columns, int flags, struct orr_error *err)
{
	struct table *t = mem_zalloc(1, sizeof *t);
	t->in = in;
	t->column = columns;
	t->flags = flags;
	t->separator = flags & TABLE_TABS ? '\t' : flags & TABLE_BARS ? '|' : flags & TABLE_SEMICOLONS ? ';' : ',';
	t->err = err;
	while (columns[t->n_columns].name && t->n_columns < TABLE_MAX_COLUMNS) {
		t->where[t->n_columns] = (int)t->n_columns;
		t->n_columns++;
	}
	t->want = t->n_columns;
	if (flags & TABLE_HEADER && read_header(t)) {
		table_free(t);
		return NULL;
	}
	return t;
}

void table_free(struct table *t)
{
	if (!t)
		return;
	sbuf_free(&t->joined);
	mem_free(t);
}

int table_next(struct table *t, bool (*skip)(void *ctx, const char *line, size_t n), void *ctx, struct orr_error *err)
{
	t->err = err;
	t->failed = false;
	int rc = next_record(t, skip, ctx);
	if (rc <= 0)
		return rc;
	bool fits = t->n == t->want || (t->n > t->want && t->flags & TABLE_EXTRA_FIELDS);
	if (!fits) {
		lines_fail(t->in, err, "expected %zu fields, found %zu", t->want, t->n);
		return -1;
	}
	return 1;
}

/* ---- values ---- */

int table_status(const struct table *t)
{
	return t->failed ? -1 : 1;
}

void table_refuse(struct table *t, size_t column, const char *expected)
{
	if (t->failed)
		return;
	t->failed = true;
	size_t n;
	const char *s = table_text(t, column, &n);
	if (n)
		lines_fail(t->in, t->err, "%s: expected %s, found \"%.60s\"%s", t->column[column].name, expected, s, n > 60 ? "..." : "");
	else
		lines_fail(t->in, t->err, "%s: expected %s, found nothing", t->column[column].name, expected);
}

bool table_has_column(const struct table *t, size_t column)
{
	return t->where[column] >= 0;
}

bool table_has(const struct table *t, size_t column)
{
	return t->where[column] >= 0 && t->field[t->where[column]].n;
}

size_t table_fields(const struct table *t)
{
	return t->n;
}

struct lines *table_lines(const struct table *t)
{
	return t->in;
}

const char *table_text(const struct table *t, size_t column, size_t *n)
{
	static const struct field none = { NULL, 0 };
	const struct field *f = t->where[column] < 0 ? &none : &t->field[t->where[column]];
	if (n)
		*n = f->n;
	return f->s ? f->s : "";
}

const char *table_text_or_null(const struct table *t, size_t column)
{
	return table_has(t, column) ? t->field[t->where[column]].s : NULL;
}

__attribute__((cold, noinline)) static void refuse_range(struct table *t, size_t column, const char *what, double lo, double hi)
{
	char expected[96];
	snprintf(expected, sizeof expected, "%s from %.15g to %.15g", what, lo, hi);
	table_refuse(t, column, expected);
}

int64_t table_int(struct table *t, size_t column, int64_t lo, int64_t hi)
{
	size_t n;
	const char *s = table_text(t, column, &n);
	int64_t v;
	if (num_int(s, n, &v) && v >= lo && v <= hi)
		return v;
	refuse_range(t, column, "a whole number", (double)lo, (double)hi);
	return 0;
}

int64_t table_count(struct table *t, size_t column, int64_t lo, int64_t hi)
{
	size_t n;
	const char *s = table_text(t, column, &n);
	int64_t v;
	double x;
	if (num_int(s, n, &v) && v >= lo && v <= hi)
		return v;
	if (num_real(s, n, &x) && x >= (double)lo && x <= (double)hi && floor(x) == x)
		return (int64_t)x;
	refuse_range(t, column, "a whole number", (double)lo, (double)hi);
	return 0;
}

double table_real(struct table *t, size_t column, double lo, double hi)
{
	size_t n;
	const char *s = table_text(t, column, &n);
	double v;
	if (num_real(s, n, &v) && v >= lo && v <= hi)
		return v;
	refuse_range(t, column, "a number", lo, hi);
	return 0;
}

int64_t table_seconds(struct table *t, size_t column, double lo, double hi)
{
	size_t n;
	const char *s = table_text(t, column, &n);
	int64_t v;
	if (num_seconds_ns(s, n, &v) && (double)v >= lo * 1e9 && (double)v <= hi * 1e9)
		return v;
	refuse_range(t, column, "seconds", lo, hi);
	return 0;
}

int64_t table_milliseconds(struct table *t, size_t column, double lo, double hi)
{
	size_t n;
	const char *s = table_text(t, column, &n);
	int64_t whole;
	double v;
	if (num_int(s, n, &whole) && (double)whole >= lo && (double)whole <= hi)
		return whole * 1000000;
	if (num_real(s, n, &v) && v >= lo && v <= hi)
		return (int64_t)llround(v * 1e6);
	refuse_range(t, column, "milliseconds", lo, hi);
	return 0;
}
