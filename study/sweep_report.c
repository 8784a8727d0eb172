/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "study/sweep_report.h"

#include "base/mem.h"
#include "base/num.h"
#include "base/outfile.h"
#include "base/strtab.h"
#include "base/utf8.h"
#include "results/estimate.h"
#include "results/report.h"
#include "results/report_text.h"
#include "study/shown.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_METRICS = 16 };

/* ---- rows ---- */

/* Rows share their texts: a long study has few different ones. */
static const char *text_of(struct sweep_rows *w, const char *text)
{
	return strtab_text(w->text, strtab_add_z(w->text, text));
}

static struct sweep_row *new_row(struct sweep_rows *w, const struct book *b, const struct book_run *run, size_t task, const char *label)
{
	MEM_GROW(w->row, w->n, w->cap);
	if (!w->text)
		w->text = strtab_new();
	struct sweep_row *x = &w->row[w->n++];
	w->n_axes = b->n_axes;
	*x = (struct sweep_row){ .task = task,
		.order = w->n,
		.run = run,
		.value = mem_zalloc(b->n_axes + 1, sizeof *x->value),
		.label = text_of(w, label),
		.searched = NAN };
	for (size_t i = 0; i < run->n_axes; i++) {
		const struct book_axis *a = &b->axis[run->axis[i]];
		const struct book_value *v = &a->value[b->bound[run->axis[i]]];
		x->value[run->axis[i]] = text_of(w, v->label);
		if (run->search.kind && run->search.axis == run->axis[i])
			x->searched = v->number;
	}
	return x;
}

static const char *name_of(struct sweep_rows *w, const char *name)
{
	for (size_t i = 0; i < w->n_names; i++)
		if (!strcmp(w->name[i], name))
			return w->name[i];
	MEM_GROW(w->name, w->n_names, w->cap_names);
	return w->name[w->n_names++] = mem_strdup(name);
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

void sweep_add_row(struct sweep_rows *w, const struct book *b, const struct book_run *run, size_t task, const struct run_result *r)
{
	struct sweep_row *x = new_row(w, b, run, task, r->label);
	x->world = text_of(w, r->world);
	snprintf(x->hash, sizeof x->hash, "%s", r->hash ? r->hash : "");
	x->metric = mem_alloc((r->n_metrics + 1) * sizeof *x->metric);
	for (size_t i = 0; i < r->n_metrics; i++) {
		const char *name = name_of(w, r->metrics[i].name);
		if (!w->keeps_all && !may_show(b, r->world, name))
			continue;
		x->metric[x->n_metrics] = r->metrics[i];
		x->metric[x->n_metrics++].name = name;
	}
	x->metric = mem_realloc(x->metric, x->n_metrics + 1, sizeof *x->metric);
}

void sweep_add_failure(struct sweep_rows *w, const struct book *b, const struct book_run *run, size_t task, const char *label,
	const char *error, int64_t tries)
{
	struct sweep_row *x = new_row(w, b, run, task, label);
	x->error = mem_strdup(error);
	x->tries = tries;
	w->n_failed++;
}

void sweep_add_answer(struct sweep_rows *w, size_t task, const struct book_run *run, struct search_answer found, size_t grid)
{
	MEM_GROW(w->answer, w->n_answers, w->cap_answers);
	w->answer[w->n_answers++] = (struct sweep_answer){ task, run, found, grid };
}

bool sweep_knows(const struct sweep_rows *w, const char *metric)
{
	for (size_t i = 0; i < w->n_names; i++)
		if (!strcmp(w->name[i], metric))
			return true;
	return false;
}

void sweep_free_rows(struct sweep_rows *w)
{
	for (size_t i = 0; i < w->n; i++) {
		struct sweep_row *x = &w->row[i];
		mem_free(x->value);
		mem_free(x->error);
		mem_free(x->metric);
	}
	for (size_t i = 0; i < w->n_names; i++)
		mem_free(w->name[i]);
	mem_free(w->name);
	mem_free(w->row);
	mem_free(w->answer);
	strtab_free(w->text);
}

static const struct metric *metric_of(const struct sweep_row *x, const char *name)
{
	for (size_t i = 0; i < x->n_metrics; i++)
		if (!strcmp(x->metric[i].name, name))
			return &x->metric[i];
	return NULL;
}

/* ---- the table ---- */

/* The columns that the table has. */
struct columns {
	bool has_run, has_number;
	size_t axis[BOOK_MAX_AXES], n_axes;
	const char *metric[MOST_METRICS];
	size_t n_metrics;
};

static void add_metric(struct columns *l, const struct sweep_rows *w, const char *name)
{
	bool is_known = false;
	for (size_t i = 0; i < w->n && !is_known; i++)
		is_known = metric_of(&w->row[i], name) != NULL;
	for (size_t i = 0; i < l->n_metrics; i++)
		is_known &= strcmp(l->metric[i], name) != 0;
	if (is_known && l->n_metrics < MOST_METRICS)
		l->metric[l->n_metrics++] = name;
}

/* Adds the metrics that the study names, those of searches, and by default the primary columns of the worlds' tables. */
static void choose_metrics(struct columns *l, const struct sweep_rows *w, const struct book *b)
{
	const cJSON *m, *list = cJSON_GetObjectItemCaseSensitive(b->json, "metrics");
	cJSON_ArrayForEach(m, list) if (cJSON_IsString(m)) add_metric(l, w, m->valuestring);
	for (size_t i = 0; i < b->n_runs; i++)
		if (b->run[i].search.kind)
			add_metric(l, w, b->run[i].search.metric);
	if (list)
		return;
	for (size_t i = 0; i < w->n_names; i++)
		for (size_t k = 0; k < w->n; k++) {
			const struct report_column *c = w->row[k].world ? report_column_of(w->row[k].world, w->name[i]) : NULL;
			if (c && c->is_primary)
				add_metric(l, w, w->name[i]);
			if (c)
				break;
		}
}

static struct columns columns_of(const struct sweep_rows *w, const struct book *b)
{
	struct columns l = { .has_run = b->n_runs > 1 };
	for (size_t a = 0; a < b->n_axes; a++) {
		bool is_used = false;
		for (size_t i = 0; i < w->n && !is_used; i++)
			is_used = w->row[i].value[a] != NULL;
		if (is_used)
			l.axis[l.n_axes++] = a;
	}
	for (size_t i = 0; i < w->n; i++)
		l.has_number |= w->row[i].number > 0;
	choose_metrics(&l, w, b);
	return l;
}

static const char *title_of(const struct sweep_rows *w, const char *metric)
{
	for (size_t i = 0; i < w->n; i++) {
		const struct report_column *c = w->row[i].world ? report_column_of(w->row[i].world, metric) : NULL;
		if (c)
			return c->title;
	}
	return metric;
}

static char *plain(const char *text)
{
	struct sbuf b = { 0 };
	report_put_plain(&b, text ? text : "");
	return sbuf_steal(&b);
}

static char *number_text(int64_t number)
{
	struct sbuf b = { 0 };
	if (number > 0)
		sbuf_printf(&b, "%lld", (long long)number);
	return sbuf_steal(&b);
}

/* Returns the row's value on an axis as a label. A value that was drawn or searched has six digits; its exact text is in JSON and CSV. */
static char *value_text(const struct sweep_row *x, const struct book *b, size_t axis)
{
	const char *text = x->value[axis];
	double v;
	char shorter[NUM_REAL_MAX];
	if (!text || !b->axis[axis].is_range || !num_real(text, strlen(text), &v))
		return plain(text);
	snprintf(shorter, sizeof shorter, "%.6g", v);
	return plain(shorter);
}

static bool is_number(const struct book_axis *a)
{
	bool is = true;
	for (size_t i = 0; i < a->n; i++)
		is &= !isnan(a->value[i].number) && !strcmp(a->value[i].text, a->value[i].label);
	return is;
}

static enum report_kind kind_of(const struct sweep_rows *w, const char *metric)
{
	for (size_t i = 0; i < w->n; i++) {
		const struct report_column *c = w->row[i].world ? report_column_of(w->row[i].world, metric) : NULL;
		if (c)
			return c->kind;
	}
	return REPORT_NUMBER;
}

/* Returns the cell of a metric in CSV: all digits. */
static char *exact(const struct metric *m)
{
	char text[NUM_REAL_MAX] = "";
	if (m && isfinite(m->value))
		num_put_real(text, m->value);
	return mem_strdup(text);
}

/* Sets the cells of a metric. A column has one unit: beside each value in text, in the title in Markdown and LaTeX; CSV has the
 * metric's name and all digits. */
static void fill_metric(struct grid *g, size_t column, const struct sweep_rows *w, const char *name, bool is_first, enum grid_format format)
{
	const struct metric **m = mem_zalloc(w->n + 1, sizeof *m);
	struct sbuf b = { 0 };
	for (size_t i = 0; i < w->n; i++)
		m[i] = metric_of(&w->row[i], name);
	enum report_kind kind = kind_of(w, name);
	struct report_scale by = report_scale_of(kind, m, w->n);
	bool has_unit = format == GRID_TEXT;
	report_put_plain(&b, format == GRID_CSV ? name : title_of(w, name));
	if (!has_unit && format != GRID_CSV && *by.unit)
		sbuf_printf(&b, " (%s)", by.unit);
	*grid_cell(g, 0, column) = sbuf_steal(&b);
	for (size_t i = 0; i < w->n; i++) {
		char **cell = grid_cell(g, i + 1, column);
		if (w->row[i].error) {
			*cell = plain(is_first ? "failed" : "");
		} else if (format == GRID_CSV) {
			*cell = exact(m[i]);
		} else {
			report_put_metric(&b, m[i], kind, by, has_unit);
			*cell = sbuf_steal(&b);
		}
	}
	mem_free(m);
}

static void put_table(struct sbuf *out, const struct sweep_rows *w, const struct book *b, struct report_style style)
{
	struct columns l = columns_of(w, b);
	size_t keys = (l.has_run ? 1 : 0) + l.n_axes + 1;
	struct grid g = grid_new(w->n + 1, keys + l.n_metrics + (l.has_number ? 1 : 0), keys);
	for (size_t r = 0; r <= w->n; r++) {
		const struct sweep_row *x = r ? &w->row[r - 1] : NULL;
		char **cell = grid_cell(&g, r, 0);
		size_t c = 0;
		if (l.has_run) {
			g.is_text[c] = true;
			cell[c++] = plain(x ? x->run->name : "run");
		}
		for (size_t i = 0; i < l.n_axes; i++) {
			g.is_text[c] = !is_number(&b->axis[l.axis[i]]);
			cell[c++] = x ? value_text(x, b, l.axis[i]) : plain(b->axis[l.axis[i]].name);
		}
		g.is_text[c] = true;
		cell[c++] = plain(x ? x->label : "policy");
		if (l.has_number)
			cell[c + l.n_metrics] = x ? number_text(x->number) : plain("stored run");
	}
	for (size_t i = 0; i < l.n_metrics; i++)
		fill_metric(&g, keys + i, w, l.metric[i], !i, style.format);
	grid_put(out, &g, style.format, style.width);
	grid_free(&g);
}

/* ---- answers and failures ---- */

/* Returns the first row of a task; rows are in order of the task. */
static const struct sweep_row *row_of(const struct sweep_rows *w, size_t task)
{
	size_t low = 0, high = w->n - 1;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (w->row[middle].task < task)
			low = middle + 1;
		else
			high = middle;
	}
	return &w->row[low];
}

/* Appends the run, its axes except the searched one and `without` (SIZE_MAX: none), and the policy. */
static void put_place(struct sbuf *out, const struct sweep_rows *w, const struct book *b, size_t task, size_t without)
{
	const struct sweep_row *x = row_of(w, task);
	report_put_plain(out, x->run->name);
	for (size_t a = 0; a < b->n_axes; a++)
		if (x->value[a] && a != without && !(x->run->search.kind && x->run->search.axis == a)) {
			sbuf_printf(out, ", %s ", b->axis[a].name);
			report_put_plain(out, x->value[a]);
		}
	sbuf_puts(out, ", ");
	report_put_plain(out, x->label);
}

/* Returns whether the answer is that of one seed: the interval is over the seeds. */
static bool is_of_seed(const struct book *b, const struct sweep_answer *a)
{
	return b->seed_axis != SIZE_MAX && a->found.outcome == SEARCH_FOUND && !a->found.is_scanned && isnan(a->found.low);
}

/* Returns why an answer has no interval; NULL: it has one. */
static const char *no_interval(const struct book *b, const struct sweep_answer *a)
{
	if (a->found.outcome != SEARCH_FOUND)
		return "the limit is not crossed within the axis";
	if (a->found.is_scanned)
		return "the limit is crossed more than once";
	if (!isnan(a->found.low))
		return NULL;
	return is_of_seed(b, a) ? "the answer is that of one seed: over_seeds has the interval"
				: "the metric has no interval: expected \"seeds\", or replications by \"stop\"";
}

static void put_range(struct sbuf *out, const struct book *b, const struct sweep_answer *a)
{
	const char *why = no_interval(b, a);
	if (is_of_seed(b, a))
		return; /* a line over the seeds follows */
	if (why)
		sbuf_printf(out, "; no interval: %s", why);
	else
		sbuf_printf(out, "; interval %.6g to %.6g, in which the interval of %s contains the limit", a->found.low, a->found.high,
			a->run->search.metric);
}

static void put_answer(struct sbuf *out, const struct sweep_rows *w, const struct book *b, const struct sweep_answer *a)
{
	const struct book_search *s = &a->run->search;
	const struct search_answer *f = &a->found;
	const char *axis = b->axis[s->axis].name, *sense = s->is_below ? "at most" : "at least";
	put_place(out, w, b, a->task, SIZE_MAX);
	if (f->outcome == SEARCH_NONE)
		sbuf_printf(
			out, ": %s is not %s %.6g at the smallest %s, %.6g", s->metric, sense, s->limit, axis, b->axis[s->axis].range.from);
	else if (f->outcome == SEARCH_ALL)
		sbuf_printf(out, ": %s is %s %.6g at every %s tried, up to %.6g", s->metric, sense, s->limit, axis, f->value);
	else
		sbuf_printf(out, ": largest %s with %s %s %.6g: %.6g (%.6g there)", axis, s->metric, sense, s->limit, f->value, f->result);
	if (f->is_scanned)
		sbuf_printf(
			out, "; the limit is crossed more than once: it is missed at %.6g, and all values between were tried", f->above);
	else if (f->outcome == SEARCH_FOUND)
		sbuf_printf(out, "; not at %.6g", f->above);
	put_range(out, b, a);
	sbuf_printf(out, "; %zu runs; a scan of the axis takes %zu\n", f->tried, a->grid);
}

/* ---- answers over seeds ---- */

/* The answers of one search that differ only in the seed. */
struct over_seeds {
	const struct sweep_answer *first;
	size_t n;
	struct interval value; /* on a logarithmic axis: interval of the geometric mean */
	const char *why;       /* why it has no interval; NULL: it has one */
};

static bool same_search(const struct sweep_rows *w, const struct book *b, const struct sweep_answer *p, const struct sweep_answer *q)
{
	const struct sweep_row *x = row_of(w, p->task), *y = row_of(w, q->task);
	bool same = p->run == q->run && !strcmp(x->label, y->label);
	for (size_t a = 0; a < b->n_axes && same; a++)
		if (a != b->seed_axis && a != p->run->search.axis && x->value[a] && y->value[a])
			same = !strcmp(x->value[a], y->value[a]);
	return same;
}

/* Summarises the answers of the search from answer i on. n: 0 if an earlier answer is of the same search. */
static struct over_seeds over_seeds(const struct sweep_rows *w, const struct book *b, size_t i)
{
	struct over_seeds o = { .first = &w->answer[i], .value = { NAN, NAN, NAN } };
	bool is_log = b->axis[o.first->run->search.axis].range.is_log;
	double *v = mem_alloc((w->n_answers - i) * sizeof *v);
	for (size_t k = 0; k < i; k++)
		if (same_search(w, b, &w->answer[k], o.first)) {
			mem_free(v);
			return o;
		}
	for (size_t k = i; k < w->n_answers; k++) {
		const struct sweep_answer *a = &w->answer[k];
		if (!same_search(w, b, a, o.first))
			continue;
		v[o.n++] = is_log ? log(a->found.value) : a->found.value;
		if (a->found.outcome != SEARCH_FOUND)
			o.why = "at some seeds the limit is not crossed within the axis";
		else if (a->found.is_scanned && !o.why)
			o.why = "at some seeds the limit is crossed more than once";
	}
	if (!o.why && o.n < 2)
		o.why = "there is one seed: expected two or more";
	if (!o.why) {
		o.value = estimate_student(v, o.n, 0.95);
		if (is_log)
			o.value = (struct interval){ exp(o.value.mean), exp(o.value.low), exp(o.value.high) };
	}
	mem_free(v);
	return o;
}

static void put_over_seeds(struct sbuf *out, const struct sweep_rows *w, const struct book *b)
{
	for (size_t i = 0; b->seed_axis != SIZE_MAX && i < w->n_answers; i++) {
		struct over_seeds o = over_seeds(w, b, i);
		const struct book_axis *axis = &b->axis[o.first->run->search.axis];
		if (!o.n)
			continue;
		put_place(out, w, b, o.first->task, b->seed_axis);
		if (o.why)
			sbuf_printf(out, ", over %zu seeds: no interval of the largest %s: %s\n", o.n, axis->name, o.why);
		else
			sbuf_printf(out, ", over %zu seeds: largest %s %.6g (%smean), 95 %% interval %.6g to %.6g (Student's t)\n", o.n,
				axis->name, o.value.mean, axis->range.is_log ? "geometric " : "", o.value.low, o.value.high);
	}
}

static void put_failures(struct sbuf *out, const struct sweep_rows *w, const struct book *b)
{
	for (size_t i = 0; i < w->n; i++) {
		const struct sweep_row *x = &w->row[i];
		if (!x->error)
			continue;
		sbuf_puts(out, "failed: ");
		report_put_plain(out, x->run->name);
		for (size_t a = 0; a < b->n_axes; a++)
			if (x->value[a]) {
				sbuf_printf(out, ", %s ", b->axis[a].name);
				report_put_plain(out, x->value[a]);
			}
		sbuf_puts(out, ", ");
		report_put_plain(out, x->label);
		sbuf_puts(out, ": ");
		report_put_plain(out, x->error);
		if (x->tries > 1)
			sbuf_printf(out, " (%lld tries)", (long long)x->tries);
		sbuf_putc(out, '\n');
	}
}

/* ---- JSON and CSV ---- */

static void add_real(cJSON *o, const char *name, double v)
{
	char text[NUM_REAL_MAX] = "null";
	if (isfinite(v))
		num_put_real(text, v);
	cJSON_AddItemToObject(o, name, cJSON_CreateRaw(text));
}

static cJSON *row_json(const struct sweep_row *x, const struct book *b)
{
	cJSON *o = cJSON_CreateObject(), *axes, *metrics;
	cJSON_AddStringToObject(o, "run", x->run->name);
	axes = cJSON_AddObjectToObject(o, "axes");
	for (size_t a = 0; a < b->n_axes; a++)
		if (x->value[a])
			cJSON_AddStringToObject(axes, b->axis[a].name, x->value[a]);
	cJSON_AddStringToObject(o, "policy", x->label);
	if (x->number > 0)
		cJSON_AddNumberToObject(o, "stored_run", (double)x->number);
	if (x->error) {
		cJSON_AddStringToObject(o, "error", x->error);
		cJSON_AddNumberToObject(o, "tries", (double)x->tries);
	}
	metrics = cJSON_AddObjectToObject(o, "metrics");
	for (size_t i = 0; i < x->n_metrics; i++) {
		cJSON *m = cJSON_AddObjectToObject(metrics, x->metric[i].name);
		add_real(m, "value", x->metric[i].value);
		add_real(m, "ci_low", x->metric[i].ci_low);
		add_real(m, "ci_high", x->metric[i].ci_high);
	}
	return o;
}

/* Adds ci_low and ci_high, or why they are missing. */
static void put_interval_json(cJSON *o, double low, double high, const char *why)
{
	add_real(o, "ci_low", why ? NAN : low);
	add_real(o, "ci_high", why ? NAN : high);
	if (why)
		cJSON_AddStringToObject(o, "no_interval", why);
}

static cJSON *over_seeds_json(const struct over_seeds *x, const struct sweep_rows *w, const struct book *b)
{
	cJSON *o = cJSON_CreateObject();
	struct sbuf place = { 0 };
	put_place(&place, w, b, x->first->task, b->seed_axis);
	cJSON_AddStringToObject(o, "search", sbuf_text(&place));
	cJSON_AddStringToObject(o, "axis", b->axis[x->first->run->search.axis].name);
	cJSON_AddNumberToObject(o, "seeds", (double)x->n);
	add_real(o, "value", x->value.mean);
	put_interval_json(o, x->value.low, x->value.high, x->why);
	sbuf_free(&place);
	return o;
}

static cJSON *answer_json(const struct sweep_answer *a, const struct sweep_rows *w, const struct book *b)
{
	static const char *const outcomes[] = { "found", "all", "none" };
	cJSON *o = cJSON_CreateObject();
	struct sbuf place = { 0 };
	put_place(&place, w, b, a->task, SIZE_MAX);
	cJSON_AddStringToObject(o, "of", sbuf_text(&place));
	sbuf_free(&place);
	cJSON_AddStringToObject(o, "axis", b->axis[a->run->search.axis].name);
	cJSON_AddStringToObject(o, "metric", a->run->search.metric);
	cJSON_AddStringToObject(o, "outcome", outcomes[a->found.outcome]);
	add_real(o, "value", a->found.value);
	add_real(o, "result", a->found.result);
	add_real(o, "above", a->found.above);
	put_interval_json(o, a->found.low, a->found.high, no_interval(b, a));
	cJSON_AddBoolToObject(o, "is_scanned", a->found.is_scanned);
	cJSON_AddNumberToObject(o, "runs", (double)a->found.tried);
	cJSON_AddNumberToObject(o, "grid", (double)a->grid);
	return o;
}

static void put_json(struct sbuf *out, const struct sweep_rows *w, const struct book *b)
{
	cJSON *o = cJSON_CreateObject(), *rows = cJSON_AddArrayToObject(o, "rows");
	for (size_t i = 0; i < w->n; i++)
		cJSON_AddItemToArray(rows, row_json(&w->row[i], b));
	cJSON *answers = cJSON_AddArrayToObject(o, "answers");
	for (size_t i = 0; i < w->n_answers; i++)
		cJSON_AddItemToArray(answers, answer_json(&w->answer[i], w, b));
	cJSON *seeds = b->seed_axis != SIZE_MAX ? cJSON_AddArrayToObject(o, "over_seeds") : NULL;
	for (size_t i = 0; seeds && i < w->n_answers; i++) {
		struct over_seeds x = over_seeds(w, b, i);
		if (x.n)
			cJSON_AddItemToArray(seeds, over_seeds_json(&x, w, b));
	}
	char *text = cJSON_Print(o);
	sbuf_puts(out, text);
	sbuf_putc(out, '\n');
	cJSON_free(text);
	cJSON_Delete(o);
}

/* Writes a row per metric: run, the axes, policy, metric, value, ci_low, ci_high, stored_run, error. */
static int write_csv(const struct sweep_rows *w, const struct book *b, const char *dir, struct orr_error *err)
{
	struct outfile f;
	int rc = outfile_make_dir(dir, err);
	if (!rc)
		rc = outfile_open(&f, dir, "study", ".csv", err);
	if (rc)
		return rc;
	fputs("run", f.file);
	for (size_t a = 0; a < b->n_axes; a++)
		fprintf(f.file, ",%s", b->axis[a].name);
	fputs(",policy,metric,value,ci_low,ci_high,stored_run,error\n", f.file);
	for (size_t i = 0; i < w->n; i++) {
		const struct sweep_row *x = &w->row[i];
		for (size_t k = 0; k < (x->error ? 1 : x->n_metrics); k++) {
			book_put_text(f.file, x->run->name);
			for (size_t a = 0; a < b->n_axes; a++) {
				putc(',', f.file);
				book_put_text(f.file, x->value[a]);
			}
			putc(',', f.file);
			book_put_text(f.file, x->label);
			fprintf(f.file, ",%s", x->error ? "" : x->metric[k].name);
			book_put_real(f.file, x->error ? NAN : x->metric[k].value);
			book_put_real(f.file, x->error ? NAN : x->metric[k].ci_low);
			book_put_real(f.file, x->error ? NAN : x->metric[k].ci_high);
			fprintf(f.file, x->number > 0 ? ",%lld," : ",,", (long long)x->number);
			book_put_text(f.file, x->error);
			putc('\n', f.file);
		}
	}
	return outfile_close(&f, false, err);
}

int sweep_print(const struct sweep_rows *w, const struct book *b, const struct world_output *o, struct orr_error *err)
{
	struct sbuf out = { 0 };
	bool is_json = o->json || o->table == GRID_JSON;
	if (is_json) {
		put_json(&out, w, b);
	} else if (!o->quiet) {
		struct report_style style = { o->table, shown_width() };
		struct sbuf table = { 0 };
		put_table(&table, w, b, style);
		for (size_t i = 0; i < w->n_answers; i++)
			put_answer(&out, w, b, &w->answer[i]);
		put_over_seeds(&out, w, b);
		put_failures(&out, w, b);
		if (o->db && w->n_failed)
			sbuf_puts(&out, "failed runs are not tried again with this database: --retry repeats them\n");
		if (o->db)
			sbuf_printf(&out, "to repeat a row: orrery run --from %s --run N, where N is its stored run\n", o->db);
		grid_put_notes(&table, sbuf_text(&out), style.format, style.width);
		sbuf_free(&out);
		out = table;
	}
	struct sbuf shown = { 0 };
	(is_json ? utf8_put_valid : utf8_put_shown)(&shown, sbuf_text(&out), out.len);
	fputs(sbuf_text(&shown), stdout);
	sbuf_free(&shown);
	sbuf_free(&out);
	int rc = outfile_flush_stdout(err);
	if (rc)
		return rc;
	return o->out_dir ? write_csv(w, b, o->out_dir, err) : ORR_OK;
}
