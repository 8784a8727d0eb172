/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "traces/rowset.h"

#include "traces/generator.h"

#include "base/mem.h"
#include "base/param.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void rowset_init(struct rowset *s, size_t row_size, const char *source)
{
	s->row_size = row_size;
	s->source = mem_strdup(source);
	s->strings = strtab_new();
}

void rowset_clear(struct rowset *s)
{
	if (s->plan && s->generator->unplan)
		s->generator->unplan(s->plan);
	mem_free(s->plan);
	args_free(s->args);
	strtab_free(s->strings);
	mem_free(s->source);
	mem_free(s->first_wrong);
	mem_free(s->row);
	mem_free(s->listed);
	mem_free(s->is_listed);
}

uint32_t rowset_text(struct rowset *s, const char *text, size_t n)
{
	return strtab_add(s->strings, text, n);
}

void rowset_list_number(struct rowset *s, uint32_t number)
{
	uint32_t was = s->n_flags;
	if (number >= was) {
		s->n_flags = number < 32 ? 64 : 2 * number;
		s->is_listed = mem_realloc(s->is_listed, s->n_flags, sizeof *s->is_listed);
		memset(s->is_listed + was, 0, (s->n_flags - was) * sizeof *s->is_listed);
	}
	if (!number || s->is_listed[number])
		return;
	s->is_listed[number] = true;
	MEM_GROW(s->listed, s->n_listed, s->cap_listed);
	s->listed[s->n_listed++] = number;
}

uint32_t rowset_list(struct rowset *s, const char *text, size_t n)
{
	uint32_t number = rowset_text(s, text, n);
	rowset_list_number(s, number);
	return number;
}

uint32_t rowset_list_all(struct rowset *s, const char *text, uint32_t number[], uint32_t most, const char *where, struct orr_error *err)
{
	uint32_t n = 0;
	for (const char *at = text;; at++) {
		size_t length = strcspn(at, "|");
		if (n == most || (!length && (*text || n))) {
			orr_fail(
				err, ORR_EINPUT, "%s: zones: expected at most %u names separated by |, found \"%.60s\"", where, most, text);
			return 0;
		}
		number[n++] = rowset_list(s, at, length);
		at += length;
		if (!*at)
			return n;
	}
}

/* ---- files ---- */

void *rowset_add(struct rowset *s)
{
	if (s->count == s->cap) {
		s->cap = s->cap ? 2 * s->cap : 1024;
		s->row = mem_realloc(s->row, s->cap, s->row_size);
	}
	return (char *)s->row + s->count++ * s->row_size;
}

void rowset_loaded(struct rowset *s, const struct trace *t)
{
	s->is_loaded = true;
	s->format = trace_format(t);
	s->left_out = trace_left_out(t);
	const char *first;
	s->repaired = trace_repaired(t, &first);
	s->first_wrong = s->repaired ? mem_strdup(first) : NULL;
	memcpy(s->hash, trace_hash(t), sizeof s->hash);
	/* Files that options name are part of the rows. */
	const struct orr_param *p = args_table(trace_args(t));
	for (size_t i = 0; p[i].kind != ORR_KIND_END; i++) {
		char both[2 * BYTES_HASH_SIZE];
		if (p[i].kind != ORR_KIND_FILE || !*args_file_hash(trace_args(t), i))
			continue;
		int n = snprintf(both, sizeof both, "%s%s", s->hash, args_file_hash(trace_args(t), i));
		bytes_hash_text(both, (size_t)n, s->hash);
	}
}

/* Copies the key by memcpy(), because no record has a key as a member. */
static struct row_key key_of(const void *row)
{
	struct row_key key;
	memcpy(&key, row, sizeof key);
	return key;
}

int row_key_compare(const void *a, const void *b)
{
	struct row_key x = key_of(a), y = key_of(b);
	if (x.t_ns != y.t_ns)
		return x.t_ns < y.t_ns ? -1 : 1;
	return x.number < y.number ? -1 : x.number > y.number;
}

static void number_rows(struct rowset *s, int64_t zero_ns)
{
	char *row = s->row;
	for (uint64_t i = 0; i < s->count; i++, row += s->row_size) {
		struct row_key key = { i, key_of(row).t_ns - zero_ns };
		memcpy(row, &key, sizeof key);
	}
}

void rowset_sort(struct rowset *s, bool is_absolute)
{
	bool is_sorted = true;
	const char *row = s->row;
	number_rows(s, 0);
	for (uint64_t i = 1; i < s->count && is_sorted; i++)
		is_sorted = key_of(row + (i - 1) * s->row_size).t_ns <= key_of(row + i * s->row_size).t_ns;
	if (!is_sorted)
		qsort(s->row, s->count, s->row_size, row_key_compare);
	if (s->count)
		number_rows(s, is_absolute ? key_of(row).t_ns : 0);
}

/* ---- generators ---- */

static void hash_generator(struct rowset *s)
{
	static const char *const word[TRACE_KINDS] = { "generator", "requests", "availability", NULL };
	const struct orr_param *p = s->generator->params;
	struct sbuf text = { 0 };
	sbuf_printf(&text, "%s %s\n", word[s->generator->kind], s->generator->name);
	for (size_t i = 0; p[i].name; i++) /* the hash covers the contents of a file, not its name */
		sbuf_printf(&text, "%s=%s\n", p[i].name, p[i].kind == ORR_KIND_FILE ? args_file_hash(s->args, i) : args_value(s->args, i));
	sbuf_printf(&text, "seed=%" PRIu64 "\n", s->seed);
	bytes_hash_text(text.text, text.len, s->hash);
	sbuf_free(&text);
}

int rowset_generate(struct rowset *s, const struct generator *g, struct orr_args *args, uint64_t seed, struct orr_error *err)
{
	s->generator = g;
	s->format = g->name;
	s->args = args;
	s->seed = seed;
	s->count = UINT64_MAX;
	for (size_t i = 0; g->names && g->names[i]; i++)
		strtab_add_z(s->strings, g->names[i]);
	hash_generator(s);
	if (!g->plan_size)
		return ORR_OK;
	s->plan = mem_zalloc(1, g->plan_size);
	return g->make_plan(s->plan, args, s, err);
}

void *rowset_start(const struct rowset *s, uint64_t index)
{
	if (!s->generator)
		return NULL;
	void *state = mem_zalloc(1, s->generator->state_size);
	s->generator->start(state, s->plan ? s->plan : s->args, s->seed, index);
	return state;
}

void rowset_stop(const struct rowset *s, void *state)
{
	if (state && s->generator->stop)
		s->generator->stop(state);
	mem_free(state);
}
