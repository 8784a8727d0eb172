/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "results/result.h"

#include "base/mem.h"
#include "base/strtab.h"
#include "results/columns.h"
#include "results/parts.h"

#include <stdio.h>
#include <string.h>

/* The arena is a string table, because names of users, queues and models repeat. */

struct run_result *result_new(void)
{
	struct run_result *r = mem_zalloc(1, sizeof *r);
	r->strings = strtab_new();
	return r;
}

static void free_series(struct run_result *r)
{
	for (size_t i = 0; i < r->n_series; i++) {
		mem_free(r->series[i].time_ns);
		mem_free(r->series[i].value);
	}
	mem_free(r->series);
	r->series = NULL;
	r->n_series = 0;
}

void result_free(struct run_result *r)
{
	if (!r)
		return;
	free_series(r);
	part_rows_free(r);
	for (size_t i = 0; i < n_row_tables; i++)
		mem_free(rows_steal(&row_tables[i], r));
	mem_free(r->label);
	mem_free(r->policy);
	mem_free(r->world);
	mem_free(r->scenario);
	mem_free(r->hash);
	mem_free(r->seed_text);
	strtab_free(r->strings);
	mem_free(r);
}

const char *result_text(struct run_result *r, const char *s)
{
	if (!s)
		return NULL;
	struct strtab *t = r->strings;
	return strtab_text(t, strtab_add_z(t, s));
}

void result_metric(struct run_result *r, const char *name, double value, double lo, double hi)
{
	if (r->n_metrics >= r->cap_metrics) {
		r->cap_metrics = r->n_metrics < 8 ? 16 : r->n_metrics * 2;
		r->metrics = mem_realloc(r->metrics, r->cap_metrics, sizeof *r->metrics);
	}
	r->metrics[r->n_metrics++] = (struct metric){ result_text(r, name), value, lo, hi };
}

const struct metric *result_find(const struct run_result *r, const char *name)
{
	for (size_t i = 0; i < r->n_metrics; i++)
		if (!strcmp(r->metrics[i].name, name))
			return &r->metrics[i];
	return NULL;
}

void result_event(struct run_result *r, struct event_row e)
{
	if (r->n_events >= r->cap_events) {
		r->cap_events = r->n_events < 8 ? 16 : r->n_events * 2;
		r->events = mem_realloc(r->events, r->cap_events, sizeof *r->events);
	}
	r->events[r->n_events++] = e;
}

/* Events that a policy records have subjects of at least 1. */
static bool is_note(const struct event_row *e, const char *kind)
{
	return !e->time_ns && !e->subject && e->detail && !strcmp(e->kind, kind);
}

const char *result_note_at(const struct run_result *r, const char *kind, size_t i)
{
	for (size_t k = 0; k < r->n_events; k++)
		if (is_note(&r->events[k], kind) && !i--)
			return r->events[k].detail;
	return NULL;
}

void result_keep_metrics(struct run_result *r)
{
	size_t n = 0;
	for (size_t i = 0; i < r->n_events; i++)
		if (is_note(&r->events[i], r->events[i].kind))
			r->events[n++] = r->events[i];
	r->n_events = n;
	part_rows_free(r);
	for (size_t i = 0; i < n_row_tables; i++)
		if (strcmp(row_tables[i].name, "metrics") != 0 && strcmp(row_tables[i].name, "events") != 0)
			mem_free(rows_steal(&row_tables[i], r));
	free_series(r);
}

static bool has_note(const struct run_result *r, const char *kind, const char *text)
{
	for (size_t k = 0; k < r->n_events; k++)
		if (is_note(&r->events[k], kind) && !strcmp(r->events[k].detail, text))
			return true;
	return false;
}

void result_note(struct run_result *r, const char *kind, const char *text)
{
	bool is_of_many = !strcmp(kind, "assumption") || !strcmp(kind, "remark");
	if (!text || !*text || (is_of_many && has_note(r, kind, text)))
		return;
	result_event(r, (struct event_row){ .kind = result_text(r, kind), .detail = result_text(r, text) });
}

const char *result_find_note(const struct run_result *r, const char *kind)
{
	for (size_t i = 0; i < r->n_events; i++)
		if (!strcmp(r->events[i].kind, kind))
			return r->events[i].detail;
	return NULL;
}

int64_t result_nodes_end_ns(const struct run_result *r)
{
	const struct metric *end = result_find(r, "makespan_s");
	int64_t last_ns = r->n_nodes ? r->nodes[r->n_nodes - 1].time_ns : 0;
	bool is_of_this_run = end && end->value < 9e9 && !result_find(r, "replications"); /* with replications the value is a mean
											   * over them */
	int64_t end_ns = is_of_this_run ? (int64_t)(end->value * 1e9 + 0.5) : last_ns;
	return end_ns > last_ns ? end_ns : last_ns;
}

/* ---- merging two results ---- */

static const char *prefixed(struct run_result *r, const char *prefix, const char *name)
{
	char text[256];
	snprintf(text, sizeof text, "%s%s", prefix, name);
	return result_text(r, text);
}

static void take_series(struct run_result *r, struct run_result *from, const char *prefix)
{
	r->series = mem_realloc(r->series, r->n_series + from->n_series + 1, sizeof *r->series);
	for (size_t i = 0; i < from->n_series; i++) {
		struct series s = from->series[i];
		s.name = prefixed(r, prefix, s.name);
		r->series[r->n_series++] = s;
	}
	from->n_series = 0; /* r now owns the array */
}

static void take_events(struct run_result *r, const struct run_result *from)
{
	for (size_t i = 0; i < from->n_events; i++) {
		struct event_row e = from->events[i];
		e.kind = result_text(r, e.kind);
		e.detail = result_text(r, e.detail);
		result_event(r, e);
	}
}

/* Appends n rows, which it frees, to those of r. */
static void append_rows(const struct row_table *t, struct run_result *r, void *rows, size_t n)
{
	size_t before = rows_count(t, r);
	char *all = mem_realloc(rows_steal(t, r), before + n, t->row_size);
	memcpy(all + before * t->row_size, rows, n * t->row_size);
	mem_free(rows);
	rows_set(t, r, all, before + n);
}

/* Moves the rows of a table unless r has rows of it; parts are added to those of r. Their texts move to r's arena. */
static void take_rows(const struct row_table *t, struct run_result *r, struct run_result *from)
{
	size_t n = rows_count(t, from);
	if (!n || (rows_count(t, r) && strcmp(t->name, "parts") != 0))
		return;
	char *rows = rows_steal(t, from);
	for (size_t k = 0; k < t->n_columns; k++) {
		const struct column *c = &t->columns[k];
		if (c->type != COLUMN_ID && c->type != COLUMN_TEXT && c->type != COLUMN_NAME)
			continue;
		for (size_t i = 0; i < n; i++) {
			const char *text;
			memcpy(&text, rows + i * t->row_size + c->at, sizeof text);
			text = result_text(r, text);
			memcpy(rows + i * t->row_size + c->at, &text, sizeof text);
		}
	}
	append_rows(t, r, rows, n);
}

void result_take(struct run_result *r, struct run_result *from, const char *prefix)
{
	for (size_t i = 0; i < from->n_metrics; i++)
		result_metric(r, prefixed(r, prefix, from->metrics[i].name), from->metrics[i].value, from->metrics[i].ci_low,
			from->metrics[i].ci_high);
	take_series(r, from, prefix);
	take_events(r, from);
	for (size_t i = 0; i < n_row_tables; i++)
		take_rows(&row_tables[i], r, from);
	r->is_oracle |= from->is_oracle;
	r->rows_total += from->rows_total;
}
