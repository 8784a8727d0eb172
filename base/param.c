/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/param.h"

#include "base/bytes.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/sbuf.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct value {
	char *text; /* canonical; NULL: in `small` */
	char small[24];
	int64_t i; /* value of a bool, an int, a time (ns) or a choice (its index) */
	double real;
	double *list;
	char *file; /* contents */
	size_t n;   /* number of list values, or of bytes of the file */
	char hash[BYTES_HASH_SIZE];
};

enum { MAX_FILE = 1 << 28 };

struct orr_args {
	const struct orr_param *table;
	char *where;
	size_t n;
	struct value *value;
};

static const char *text_of(const struct value *v)
{
	return v->text ? v->text : v->small;
}

static void keep_text(struct value *v, const char *text, size_t n)
{
	if (n >= sizeof v->small)
		v->text = mem_strndup(text, n);
	else
		memcpy(v->small, text, n);
}

static int refuse(const struct orr_args *a, const struct orr_param *p, const char *text, const char *expected, struct orr_error *err)
{
	return orr_fail(err, ORR_EINPUT, "%s: %s: expected %s, found \"%.100s\"", a->where, p->name, expected, text);
}

static int parse_list(const char *text, struct value *v)
{
	size_t cap = 0;
	for (const char *s = text; *s;) {
		size_t len = strcspn(s, ",");
		int64_t ns;
		double x;
		if (!num_real(s, len, &x)) {
			if (!num_duration_ns(s, len, &ns))
				return -1;
			x = (double)ns / 1e9;
		}
		MEM_GROW(v->list, v->n, cap);
		v->list[v->n++] = x;
		s += len;
		if (*s == ',' && !*++s)
			return -1;
	}
	return 0;
}

/* Writes a number of at most 15 digits, six of them decimals: the digits that %.15g prints, several times faster. */
static bool short_text(double v, char buf[40])
{
	enum { DECIMALS = 6, UNIT = 1000000 };
	double size = fabs(v), units = size * UNIT;
	if (!(size >= 1e-4 && units < 1e15))
		return false;
	int64_t n = (int64_t)(units + 0.5);
	if ((double)n / UNIT != size)
		return false;
	char *at = buf;
	if (v < 0)
		*at++ = '-';
	at += num_put_int(at, n / UNIT);
	*at++ = '.';
	n %= UNIT;
	for (int i = DECIMALS - 1; i >= 0; i--, n /= 10)
		at[i] = (char)('0' + n % 10);
	for (at += DECIMALS; at[-1] == '0';)
		at--;
	*at = '\0';
	return true;
}

/* Writes the shortest text that reads back as the same number, such as 0.95. */
static void real_text(double v, char buf[40])
{
	if (fabs(v) < 1e15 && v == trunc(v) && (v != 0 || !signbit(v))) {
		buf[num_put_int(buf, (int64_t)v)] = '\0'; /* the same digits, several times faster */
		return;
	}
	if (short_text(v, buf))
		return;
	snprintf(buf, 40, "%.15g", v);
	if (strtod(buf, NULL) != v)
		snprintf(buf, 40, "%.17g", v);
}

static char *format_list(const struct value *v)
{
	struct sbuf b = { 0 };
	for (size_t i = 0; i < v->n; i++) {
		char number[40];
		real_text(v->list[i], number);
		sbuf_printf(&b, "%s%s", i ? "," : "", number);
	}
	return sbuf_steal(&b);
}

static int parse_choice(const struct orr_param *p, const char *text, struct value *v)
{
	size_t len = strlen(text);
	const char *s = p->choices;
	for (int i = 0;; i++) {
		size_t n = strcspn(s, "|");
		if (n == len && !memcmp(s, text, n)) {
			v->i = i;
			return 0;
		}
		if (!s[n])
			return -1;
		s += n + 1;
	}
}

static int out_of_bounds(const struct orr_args *a, const struct orr_param *p, const char *text, struct orr_error *err)
{
	char expected[96];
	snprintf(expected, sizeof expected, "a number from %.15g to %.15g", p->min, p->max);
	return refuse(a, p, text, expected, err);
}

static bool names_a_file(const struct orr_param *p, const char *text, size_t len)
{
	size_t n = p->choices ? strlen(p->choices) : 0;
	return len > n && !memcmp(text + len - n, p->choices ? p->choices : "", n);
}

static int parse(const struct orr_args *a, const struct orr_param *p, const char *text, struct value *v, struct orr_error *err)
{
	size_t len = strlen(text);
	char buf[64];
	switch (p->kind) {
	case ORR_KIND_BOOL:
		if (!strcmp(text, "true") || !strcmp(text, "1") || !strcmp(text, "yes"))
			v->i = 1;
		else if (strcmp(text, "false") && strcmp(text, "0") && strcmp(text, "no"))
			return refuse(a, p, text, "true or false", err);
		keep_text(v, v->i ? "true" : "false", v->i ? 4 : 5);
		return ORR_OK;
	case ORR_KIND_INT:
		if (!num_int(text, len, &v->i))
			return refuse(a, p, text, "a whole number", err);
		if ((double)v->i < p->min || (double)v->i > p->max)
			return out_of_bounds(a, p, text, err);
		v->real = (double)v->i;
		keep_text(v, buf, num_put_int(buf, v->i));
		return ORR_OK;
	case ORR_KIND_REAL:
		if (!num_real(text, len, &v->real))
			return refuse(a, p, text, "a number", err);
		if (v->real < p->min || v->real > p->max)
			return out_of_bounds(a, p, text, err);
		real_text(v->real, buf);
		keep_text(v, buf, strlen(buf));
		return ORR_OK;
	case ORR_KIND_TIME:
		if (!num_duration_ns(text, len, &v->i))
			return refuse(a, p, text, "a time such as 90, 90s, 1.5m, 2h", err);
		v->real = (double)v->i / 1e9;
		if (v->real < p->min || v->real > p->max)
			return out_of_bounds(a, p, text, err);
		num_put_seconds(buf, v->i);
		keep_text(v, buf, strlen(buf));
		return ORR_OK;
	case ORR_KIND_CHOICE:
		if (!p->choices || parse_choice(p, text, v)) {
			struct sbuf expected = { 0 };
			sbuf_printf(&expected, "one of %s", p->choices ? p->choices : "nothing");
			int rc = refuse(a, p, text, sbuf_text(&expected), err);
			sbuf_free(&expected);
			return rc;
		}
		keep_text(v, text, len);
		return ORR_OK;
	case ORR_KIND_TEXT:
		keep_text(v, text, len);
		return ORR_OK;
	case ORR_KIND_FILE:
		keep_text(v, text, len);
		if (names_a_file(p, text, len) && !(v->file = bytes_read_file(text, MAX_FILE, &v->n, v->hash, err)))
			return ORR_EINPUT;
		return ORR_OK;
	case ORR_KIND_LIST:
		if (parse_list(text, v))
			return refuse(a, p, text, "numbers or times separated by commas", err);
		v->text = format_list(v);
		return ORR_OK;
	case ORR_KIND_END:
		break;
	}
	return orr_fail(err, ORR_EINPUT, "%s: %s: unknown kind of parameter %d: expected a value of enum orr_param_kind", a->where, p->name,
		(int)p->kind);
}

static void clear(struct value *v)
{
	mem_free(v->text);
	mem_free(v->list);
	mem_free(v->file);
	*v = (struct value){ 0 };
}

struct orr_args *args_new(const struct orr_param *table, const char *where, struct orr_error *err)
{
	struct orr_args *a = mem_zalloc(1, sizeof *a);
	a->table = table;
	a->where = mem_strdup(where);
	while (table && table[a->n].name)
		a->n++;
	a->value = mem_zalloc(a->n, sizeof *a->value);
	for (size_t i = 0; i < a->n; i++)
		if (parse(a, &table[i], table[i].def ? table[i].def : "", &a->value[i], err)) {
			args_free(a);
			return NULL;
		}
	return a;
}

void args_free(struct orr_args *a)
{
	if (!a)
		return;
	for (size_t i = 0; i < a->n; i++)
		clear(&a->value[i]);
	mem_free(a->value);
	mem_free(a->where);
	mem_free(a);
}

static int find(const struct orr_args *a, const char *name, size_t len)
{
	for (size_t i = 0; i < a->n; i++)
		if (*a->table[i].name == *name && !strncmp(a->table[i].name, name, len) && !a->table[i].name[len])
			return (int)i;
	return -1;
}

static int unknown(const struct orr_args *a, const char *name, struct orr_error *err)
{
	if (!a->n)
		return orr_fail(err, ORR_EINPUT, "%s: expected no parameters, found \"%.60s\"", a->where, name);
	const char **names = mem_zalloc(a->n + 1, sizeof *names);
	struct sbuf all = { 0 };
	for (size_t i = 0; i < a->n; i++) {
		names[i] = a->table[i].name;
		sbuf_printf(&all, "%s%s", i ? ", " : "", names[i]);
	}
	const char *near = nearest_name(name, names);
	mem_free(names);
	int code = orr_fail(err, ORR_EINPUT, "%s: unknown parameter \"%.60s\": %s%s%s", a->where, name,
		near       ? "did you mean \""
		: a->n > 1 ? "expected one of "
			   : "expected ",
		near ? near : sbuf_text(&all), near ? "\"?" : "");
	sbuf_free(&all);
	return code;
}

int args_set(struct orr_args *a, const char *name, const char *text, struct orr_error *err)
{
	int i = find(a, name, strlen(name));
	if (i < 0)
		return unknown(a, name, err);
	struct value v = { 0 };
	int rc = parse(a, &a->table[i], text, &v, err);
	if (rc) {
		clear(&v);
		return rc;
	}
	clear(&a->value[i]);
	a->value[i] = v;
	return ORR_OK;
}

int args_set_pair(struct orr_args *a, const char *pair, struct orr_error *err)
{
	const char *eq = strchr(pair, '=');
	if (!eq)
		return orr_fail(err, ORR_EINPUT, "%s: expected NAME=VALUE, found \"%.100s\"", a->where, pair);
	char *name = mem_strndup(pair, (size_t)(eq - pair));
	int rc = args_set(a, name, eq + 1, err);
	mem_free(name);
	return rc;
}

int args_set_pairs(struct orr_args *a, const char *list, char separator, struct orr_error *err)
{
	int rc = ORR_OK;
	for (const char *s = list; *s && !rc;) {
		size_t n = strcspn(s, (const char[]){ separator, '\0' });
		char *pair = mem_strndup(s, n);
		rc = args_set_pair(a, pair, err);
		mem_free(pair);
		s += n + (s[n] != '\0');
	}
	return rc;
}

const char *args_value(const struct orr_args *a, size_t i)
{
	return text_of(&a->value[i]);
}

const struct orr_param *args_table(const struct orr_args *a)
{
	return a->table;
}

const char *args_file_hash(const struct orr_args *a, size_t i)
{
	return a->value[i].hash;
}

static const struct value *get(const struct orr_args *a, const char *name)
{
	static const struct value none;
	int i = find(a, name, strlen(name));
	return i < 0 ? &none : &a->value[i];
}

bool orr_arg_bool(const struct orr_args *a, const char *name)
{
	return get(a, name)->i != 0;
}

int64_t orr_arg_int(const struct orr_args *a, const char *name)
{
	return get(a, name)->i;
}

double orr_arg_real(const struct orr_args *a, const char *name)
{
	return get(a, name)->real;
}

int64_t orr_arg_time_ns(const struct orr_args *a, const char *name)
{
	return get(a, name)->i;
}

const char *orr_arg_text(const struct orr_args *a, const char *name)
{
	return text_of(get(a, name));
}

const char *orr_arg_file(const struct orr_args *a, const char *name, size_t *n)
{
	const struct value *v = get(a, name);
	*n = v->file ? v->n : 0;
	return v->file;
}

const double *orr_arg_list(const struct orr_args *a, const char *name, size_t *n)
{
	const struct value *v = get(a, name);
	*n = v->n;
	return v->list;
}

/*
 * Returns the edit distance (Wagner and Fischer, JACM 21(1), 1974) of at most 64 letters. Swapping two adjacent letters, the
 * most common typing error ("srft"), counts once.
 */
static size_t edit_distance(const char *a, const char *b)
{
	size_t rows[3][65];
	size_t *before = rows[0], *above = rows[1], *row = rows[2];
	size_t n = strnlen(b, 64);
	for (size_t j = 0; j <= n; j++)
		row[j] = j;
	for (size_t i = 0; i < 64 && a[i]; i++) {
		size_t *oldest = before;
		before = above, above = row, row = oldest;
		row[0] = i + 1;
		for (size_t j = 0; j < n; j++) {
			size_t best = above[j] + (a[i] != b[j]);
			if (row[j] + 1 < best)
				best = row[j] + 1;
			if (above[j + 1] + 1 < best)
				best = above[j + 1] + 1;
			if (i && j && a[i] == b[j - 1] && a[i - 1] == b[j] && before[j - 1] + 1 < best)
				best = before[j - 1] + 1;
			row[j + 1] = best;
		}
	}
	return row[n];
}

const char *orr_nearest_name(const char *name, const char *const *candidates)
{
	const char *best = NULL;
	size_t best_distance = strlen(name) / 3 + 2;
	for (; *candidates; candidates++) {
		size_t d = edit_distance(name, *candidates);
		if (d < best_distance) {
			best_distance = d;
			best = *candidates;
		}
	}
	return best;
}
