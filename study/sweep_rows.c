/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "study/sweep_rows.h"

#include "base/mem.h"
#include "base/strtab.h"
#include "results/store.h"
#include "world/precision.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Place of a row in the spool, and its place in the order of the study. */
struct sweep_place {
	size_t task, order, at;
	double searched;
};

/* ---- records: the length, struct sweep_row, its metrics, then its texts, each with a 0 behind it ---- */

static void reserve(char **record, size_t *cap, size_t n)
{
	if (n > *cap)
		*record = mem_realloc(*record, *cap = n + n / 2, 1);
}

static size_t text_bytes(const char *s)
{
	return s ? strlen(s) + 2 : 1;
}

/* A missing text is a 0, another one has a 1 before it. */
static char *put_text(char *to, const char *s)
{
	size_t n = text_bytes(s);
	*to = s != NULL;
	if (s)
		memcpy(to + 1, s, n - 1);
	return to + n;
}

static const char *take_text(const char **from)
{
	const char *s = **from ? *from + 1 : NULL;
	*from += text_bytes(s);
	return s;
}

/* Writes a row, and a record's place to the index if there is one. */
static void write_row(struct sweep_rows *w, const struct book *b, const struct sweep_row *x)
{
	size_t metrics = x->n_metrics * sizeof *x->metric;
	size_t n = sizeof n + sizeof *x + metrics + text_bytes(x->label) + text_bytes(x->error);
	for (size_t a = 0; a < b->n_axes; a++)
		n += text_bytes(x->value[a]);
	reserve(&w->record, &w->cap_record, n);
	char *to = w->record;
	memcpy(to, &n, sizeof n);
	memcpy(to + sizeof n, x, sizeof *x);
	if (metrics)
		memcpy(to + sizeof n + sizeof *x, x->metric, metrics);
	to = put_text(to + sizeof n + sizeof *x + metrics, x->label);
	to = put_text(to, x->error);
	for (size_t a = 0; a < b->n_axes; a++)
		to = put_text(to, x->value[a]);
	if (!w->spool)
		w->spool = spool_new();
	if (!w->err.code)
		spool_add(w->spool, w->record, n, &w->err);
}

/* Reads the record at `at`. Returns its length; 0: an error. */
static size_t read_row(struct sweep_rows *w, size_t at, char **record, size_t *cap, struct sweep_row *x, size_t n_axes)
{
	size_t n;
	if (w->err.code || spool_read(w->spool, at, &n, sizeof n, &w->err))
		return 0;
	size_t values = n_axes * sizeof *x->value, whole = values + n - sizeof n;
	reserve(record, cap, whole);
	char *from = *record + values; /* multiples of the size of a pointer: struct sweep_row is aligned */
	if (spool_read(w->spool, at + sizeof n, from, n - sizeof n, &w->err))
		return 0;
	memcpy(x, from, sizeof *x);
	x->metric = (struct metric *)(void *)(from + sizeof *x);
	x->value = (const char **)(void *)*record;
	const char *text = from + sizeof *x + x->n_metrics * sizeof *x->metric;
	x->label = take_text(&text);
	x->error = take_text(&text);
	for (size_t a = 0; a < n_axes; a++)
		x->value[a] = take_text(&text);
	return n;
}

/* ---- writing ---- */

static bool has_search(const struct book *b)
{
	for (size_t i = 0; i < b->n_runs; i++)
		if (b->run[i].search.kind)
			return true;
	return false;
}

/* Fills in the values of the bound axes, writes the row and indexes it. */
static void add(struct sweep_rows *w, const struct book *b, struct sweep_row *x)
{
	const char *value[BOOK_MAX_AXES] = { NULL };
	size_t at = w->spool ? spool_size(w->spool) : 0;
	w->n_axes = b->n_axes;
	w->n_failed += x->error != NULL;
	w->n++;
	if (w->keeps_none)
		return;
	x->value = value;
	x->searched = NAN;
	for (size_t i = 0; i < x->run->n_axes; i++) {
		size_t a = x->run->axis[i];
		const struct book_value *v = book_value(&b->axis[a], b->bound[a]);
		value[a] = v->label;
		w->has_axis[a] = true;
		if (x->run->search.kind && x->run->search.axis == a)
			x->searched = v->number;
	}
	write_row(w, b, x);
	if (!has_search(b))
		return;
	MEM_GROW(w->place, w->n - 1, w->cap);
	w->place[w->n - 1] = (struct sweep_place){ x->task, w->n, at, x->searched };
}

/* Returns the entry of a name. Rows mostly have the same metrics in the same order. */
static struct sweep_name *name_of(struct sweep_rows *w, const char *name)
{
	for (size_t i = 0; i < w->n_names; i++) {
		size_t k = (w->last_name + 1 + i) % w->n_names;
		if (!strcmp(w->name[k].name, name))
			return &w->name[w->last_name = k];
	}
	MEM_GROW(w->name, w->n_names, w->cap_names);
	w->last_name = w->n_names;
	w->name[w->n_names] = (struct sweep_name){ .name = mem_strdup(name), .range = report_no_range };
	return &w->name[w->n_names++];
}

/* Returns whether the table may show a metric: the study names it, or a search has it, or by default the table of its world. */
static bool may_show(const struct book *b, const char *world, const char *metric)
{
	const cJSON *m, *list = cJSON_GetObjectItemCaseSensitive(b->json, "metrics");
	const struct report_column *c = list ? NULL : report_column_of(world, metric);
	bool is_shown = c && c->is_primary;
	cJSON_ArrayForEach(m, list) is_shown |= cJSON_IsString(m) && !strcmp(m->valuestring, metric);
	for (size_t i = 0; i < b->n_runs; i++)
		is_shown |= b->run[i].search.kind && !strcmp(b->run[i].search.metric, metric);
	return is_shown;
}

static bool keeps(const struct sweep_rows *w, const struct book *b, struct sweep_name *name, const char *world)
{
	if (w->keeps_all)
		return true;
	if (name->world != world) {
		name->world = world;
		name->may_show = may_show(b, world, name->name);
	}
	return name->may_show;
}

void sweep_add_row(struct sweep_rows *w, const struct book *b, const struct book_run *run, size_t task, const struct run_result *r)
{
	if (!w->text)
		w->text = strtab_new();
	struct sweep_row x = {
		.task = task, .run = run, .label = r->label, .world = strtab_text(w->text, strtab_add_z(w->text, r->world))
	};
	snprintf(x.hash, sizeof x.hash, "%s", r->hash ? r->hash : "");
	x.is_oracle = r->is_oracle;
	w->n_imprecise += precision_was_missed(r) ? 1 : 0;
	x.metric = mem_alloc((r->n_metrics + 1) * sizeof *x.metric);
	for (size_t i = 0; i < r->n_metrics; i++) {
		struct sweep_name *name = name_of(w, r->metrics[i].name);
		if (!keeps(w, b, name, x.world))
			continue;
		name->is_kept = true;
		report_range_add(&name->range, r->metrics[i].value);
		x.metric[x.n_metrics] = r->metrics[i];
		x.metric[x.n_metrics++].name = name->name;
	}
	add(w, b, &x);
	mem_free(x.metric);
}

void sweep_add_failure(struct sweep_rows *w, const struct book *b, const struct book_run *run, size_t task, const char *label,
	const char *error, int64_t tries)
{
	add(w, b, &(struct sweep_row){ .task = task, .run = run, .label = label, .error = error, .tries = tries });
}

void sweep_add_answer(struct sweep_rows *w, size_t task, const struct book_run *run, struct search_answer found, size_t grid)
{
	MEM_GROW(w->answer, w->n_answers, w->cap_answers);
	w->answer[w->n_answers++] = (struct sweep_answer){ task, run, found, grid, NULL };
}

bool sweep_knows(const struct sweep_rows *w, const char *metric)
{
	for (size_t i = 0; i < w->n_names; i++)
		if (!strcmp(w->name[i].name, metric))
			return true;
	return false;
}

/* ---- reading ---- */

const struct sweep_row *sweep_next(struct sweep_cursor *c)
{
	struct sweep_rows *w = c->w;
	if (c->next >= w->n || w->keeps_none)
		return NULL;
	size_t n = read_row(w, w->place ? w->place[c->next].at : c->at, &c->record, &c->cap, &c->row, w->n_axes);
	c->at += n;
	c->next++;
	return n ? &c->row : NULL;
}

void sweep_rewind(struct sweep_cursor *c)
{
	c->next = c->at = 0;
}

void sweep_free_cursor(struct sweep_cursor *c)
{
	mem_free(c->record);
	c->record = NULL;
	c->cap = 0;
}

/* ---- the end of the study ---- */

static int by_place(const void *a, const void *b)
{
	const struct sweep_place *x = a, *y = b;
	if (x->task != y->task)
		return x->task < y->task ? -1 : 1;
	if (x->searched != y->searched && !isnan(x->searched))
		return x->searched < y->searched ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

/* Notes the columns of a world that no world of an earlier row has. */
static void note_columns(struct sweep_rows *w, const char *world)
{
	for (size_t i = 0; i < w->n_names; i++)
		if (!w->name[i].column)
			w->name[i].column = report_column_of(world, w->name[i].name);
}

/* Writes the number of a row, which begins at `at`. */
static int set_number(struct sweep_rows *w, struct store *s, const struct sweep_row *x, size_t at, struct orr_error *err)
{
	int64_t number;
	int rc = store_find_run(s, x->hash, x->label, &number, err);
	if (rc || !number)
		return rc;
	w->has_number = true;
	return spool_replace(w->spool, at + sizeof(size_t) + offsetof(struct sweep_row, number), &number, sizeof number, err);
}

/* Sets the numbers of all rows, and notes their columns in the order of the rows. */
static int sum_up(struct sweep_rows *w, struct store *s, struct orr_error *err)
{
	struct sweep_cursor c = { .w = w };
	const struct sweep_row *x;
	const char *world = NULL;
	int rc = ORR_OK;
	for (size_t at = 0; !rc && (x = sweep_next(&c)); at = c.at) {
		if (x->world && x->world != world)
			note_columns(w, world = x->world);
		if (s && x->world)
			rc = set_number(w, s, x, w->place ? w->place[c.next - 1].at : at, err);
	}
	sweep_free_cursor(&c);
	return rc || !w->err.code ? rc : orr_fail(err, w->err.code, "%s", w->err.text);
}

/* Reads the first row of a task, or of the next one that has a row. */
static struct sweep_row *first_row(struct sweep_rows *w, size_t task)
{
	size_t low = 0, high = w->n - 1, cap = 0;
	char *record = NULL;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (w->place[middle].task < task)
			low = middle + 1;
		else
			high = middle;
	}
	struct sweep_row *x = mem_zalloc(1, sizeof *x);
	if (!read_row(w, w->place[low].at, &record, &cap, x, w->n_axes))
		mem_free(record);
	return x;
}

int sweep_end(struct sweep_rows *w, const char *db, struct orr_error *err)
{
	if (!w->n || w->keeps_none)
		return ORR_OK;
	if (w->place)
		qsort(w->place, w->n, sizeof *w->place, by_place);
	for (size_t i = 0; i < w->n_answers; i++)
		w->answer[i].row = first_row(w, w->answer[i].task);
	struct store *s = db ? store_open_readonly(db, err) : NULL;
	if (db && !s)
		return err->code;
	int rc = sum_up(w, s, err);
	struct orr_error on_close = { 0 };
	int closed = s ? store_close(s, rc ? &on_close : err) : ORR_OK;
	return rc ? rc : closed;
}

void sweep_free_rows(struct sweep_rows *w)
{
	for (size_t i = 0; i < w->n_names; i++)
		mem_free(w->name[i].name);
	for (size_t i = 0; i < w->n_answers; i++)
		if (w->answer[i].row) {
			mem_free(w->answer[i].row->value); /* the start of its record */
			mem_free(w->answer[i].row);
		}
	mem_free(w->name);
	mem_free(w->place);
	mem_free(w->answer);
	mem_free(w->record);
	spool_free(w->spool);
	strtab_free(w->text);
}
