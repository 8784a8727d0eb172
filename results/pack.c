/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "results/pack.h"

#include "base/mem.h"
#include "base/strtab.h"
#include "results/columns.h"

#include <string.h>

static bool is_text(const struct column *c)
{
	return c->type == COLUMN_ID || c->type == COLUMN_TEXT || c->type == COLUMN_NAME;
}

/* ---- writing ---- */

struct writer {
	char *at;
	struct strtab *texts;
	const char *last; /* the last text and its number: neighbouring rows often share a text */
	uintptr_t last_number;
};

static void put_bytes(struct writer *x, const void *bytes, size_t n)
{
	if (n)
		memcpy(x->at, bytes, n);
	x->at += n;
}

static void put_number(struct writer *x, uint64_t v)
{
	put_bytes(x, &v, sizeof v);
}

/* Returns the number of a text plus 1, which replaces the pointer; 0: NULL. */
static uintptr_t number_of(struct writer *x, const char *text)
{
	if (!text)
		return 0;
	if (text != x->last) {
		x->last = text;
		x->last_number = (uintptr_t)strtab_add_z(x->texts, text) + 1;
	}
	return x->last_number;
}

static void put_rows(struct writer *x, const struct row_table *t, const struct run_result *r)
{
	size_t n = rows_count(t, r);
	char *rows;
	put_number(x, n);
	rows = x->at;
	rows_copy(t, r, 0, n, rows);
	x->at += n * t->row_size;
	for (size_t k = 0; k < t->n_columns; k++) {
		if (!is_text(&t->columns[k]))
			continue;
		for (size_t i = 0; i < n; i++) {
			char *at = rows + i * t->row_size + t->columns[k].at;
			const char *text;
			memcpy(&text, at, sizeof text);
			uintptr_t number = number_of(x, text);
			memcpy(at, &number, sizeof number);
		}
	}
}

size_t result_pack_size(const struct run_result *r)
{
	size_t n = 3 * sizeof(uint64_t);
	for (size_t i = 0; i < n_row_tables; i++)
		n += sizeof(uint64_t) + rows_count(&row_tables[i], r) * row_tables[i].row_size;
	for (size_t i = 0; i < r->n_series; i++)
		n += 2 * sizeof(uint64_t) + r->series[i].n * (sizeof *r->series->time_ns + sizeof *r->series->value);
	return n;
}

static void put_texts(struct sbuf *out, const struct strtab *texts)
{
	uint64_t n = strtab_count(texts);
	sbuf_add(out, (const char *)&n, sizeof n);
	for (uint32_t i = 0; i < n; i++) {
		const char *text = strtab_text(texts, i);
		uint64_t length = strlen(text);
		sbuf_add(out, (const char *)&length, sizeof length);
		sbuf_add(out, text, length);
	}
}

void result_pack(char *body, struct sbuf *texts, const struct run_result *r)
{
	struct writer x = { .at = body, .texts = strtab_new() };
	put_number(&x, r->rows_total);
	put_number(&x, r->is_oracle);
	for (size_t i = 0; i < n_row_tables; i++)
		put_rows(&x, &row_tables[i], r);
	put_number(&x, r->n_series);
	for (size_t i = 0; i < r->n_series; i++) {
		const struct series *s = &r->series[i];
		put_number(&x, number_of(&x, s->name));
		put_number(&x, s->n);
		put_bytes(&x, s->time_ns, s->n * sizeof *s->time_ns);
		put_bytes(&x, s->value, s->n * sizeof *s->value);
	}
	put_texts(texts, x.texts);
	strtab_free(x.texts);
}

/* ---- reading ---- */

struct reader {
	const char *at, *end;
	struct run_result *r;
	const char **text; /* texts by number; in the arena of r */
	uint64_t n_texts;
	bool is_bad;
};

/* Returns the next n bytes; NULL: there are fewer. */
static const char *get_bytes(struct reader *x, uint64_t n)
{
	if (x->is_bad || n > (uint64_t)(x->end - x->at)) {
		x->is_bad = true;
		return NULL;
	}
	x->at += n;
	return x->at - n;
}

static uint64_t get_number(struct reader *x)
{
	uint64_t v = 0;
	const char *at = get_bytes(x, sizeof v);
	if (at)
		memcpy(&v, at, sizeof v);
	return v;
}

/* Returns n elements of a size, as bytes; NULL: there are fewer. */
static const char *get_array(struct reader *x, uint64_t n, size_t size)
{
	return n > (uint64_t)(x->end - x->at) / size ? get_bytes(x, UINT64_MAX) : get_bytes(x, n * size);
}

static const char *text_at(struct reader *x, uint64_t number)
{
	if (number > x->n_texts)
		x->is_bad = true;
	return x->is_bad || !number ? NULL : x->text[number - 1];
}

static void get_texts(struct reader *x)
{
	uint64_t n = get_number(x);
	if (n > (uint64_t)(x->end - x->at) / sizeof(uint64_t)) {
		x->is_bad = true;
		return;
	}
	x->text = mem_zalloc(n + 1, sizeof *x->text);
	for (; x->n_texts < n && !x->is_bad; x->n_texts++) {
		uint64_t length = get_number(x);
		const char *bytes = get_bytes(x, length);
		char *text = bytes ? mem_strndup(bytes, length) : NULL;
		x->text[x->n_texts] = result_text(x->r, text);
		mem_free(text);
	}
}

/* A status is the index of a word, and a NAME is never NULL. */
static void check_cell(struct reader *x, const struct column *c, const char *cell)
{
	const char *const *words = column_words(c->type);
	size_t n = 0;
	while (words && words[n])
		n++;
	if (words && *(const uint8_t *)cell >= n)
		x->is_bad = true;
	const char *text = "";
	if (c->type == COLUMN_NAME)
		memcpy(&text, cell, sizeof text);
	if (!text)
		x->is_bad = true;
}

static void get_rows(struct reader *x, const struct row_table *t)
{
	uint64_t n = get_number(x);
	const char *bytes = n ? get_array(x, n, t->row_size) : NULL;
	if (!bytes)
		return;
	char *rows = mem_alloc(n * t->row_size);
	memcpy(rows, bytes, n * t->row_size);
	for (size_t k = 0; k < t->n_columns; k++) {
		const struct column *c = &t->columns[k];
		if (!is_text(c) && !column_words(c->type))
			continue;
		for (size_t i = 0; i < n; i++) {
			char *cell = rows + i * t->row_size + c->at;
			uintptr_t number;
			if (is_text(c)) {
				memcpy(&number, cell, sizeof number);
				const char *text = text_at(x, number);
				memcpy(cell, &text, sizeof text);
			}
			check_cell(x, c, cell);
		}
	}
	rows_set(t, x->r, rows, n);
}

static void get_series(struct reader *x)
{
	uint64_t n = get_number(x);
	if (x->is_bad || !n || n > (uint64_t)(x->end - x->at) / (2 * sizeof(uint64_t))) {
		x->is_bad |= n != 0;
		return;
	}
	x->r->series = mem_zalloc(n, sizeof *x->r->series);
	for (uint64_t i = 0; i < n && !x->is_bad; i++) {
		struct series s = { .name = text_at(x, get_number(x)) };
		uint64_t points = get_number(x);
		const char *time = get_array(x, points, sizeof *s.time_ns), *value = get_array(x, points, sizeof *s.value);
		if (!value || !s.name) {
			x->is_bad = true;
			break;
		}
		s.n = points;
		s.time_ns = mem_alloc((points + 1) * sizeof *s.time_ns);
		s.value = mem_alloc((points + 1) * sizeof *s.value);
		memcpy(s.time_ns, time, points * sizeof *s.time_ns);
		memcpy(s.value, value, points * sizeof *s.value);
		x->r->series[x->r->n_series++] = s;
	}
}

int result_unpack(struct run_result *r, const char *body, size_t n_body, const char *texts, size_t n_texts, struct orr_error *err)
{
	struct reader x = { .at = texts, .end = texts + n_texts, .r = r };
	get_texts(&x);
	x.at = body;
	x.end = body + n_body;
	r->rows_total = get_number(&x);
	r->is_oracle = get_number(&x) != 0;
	for (size_t i = 0; i < n_row_tables && !x.is_bad; i++)
		get_rows(&x, &row_tables[i]);
	/* result_metric() and result_event() grow their arrays by capacity. */
	r->cap_metrics = r->n_metrics;
	r->cap_events = r->n_events;
	if (!x.is_bad)
		get_series(&x);
	mem_free(x.text);
	return x.is_bad || x.at != x.end ? orr_fail(err, ORR_EFAIL, "the results of the run are damaged") : ORR_OK;
}
