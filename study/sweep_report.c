/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "study/sweep_report.h"

#include "base/mem.h"
#include "base/num.h"
#include "base/outfile.h"
#include "base/param.h"
#include "base/utf8.h"
#include "results/estimate.h"
#include "results/report.h"
#include "results/report_text.h"
#include "study/shown.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_METRICS = 16, DRAIN_BYTES = 64 << 10 };

/* ---- the table ---- */

/* The columns that the table has. */
struct columns {
	bool has_run, has_number;
	size_t axis[BOOK_MAX_AXES], n_axes;
	const struct sweep_name *metric[MOST_METRICS];
	size_t n_metrics;
};

static void add_metric(struct columns *l, const struct sweep_rows *w, const char *name)
{
	const struct sweep_name *x = NULL;
	for (size_t i = 0; i < w->n_names && !x; i++)
		x = w->name[i].is_kept && !strcmp(w->name[i].name, name) ? &w->name[i] : NULL;
	for (size_t i = 0; i < l->n_metrics; i++)
		x = l->metric[i] == x ? NULL : x;
	if (x && l->n_metrics < MOST_METRICS)
		l->metric[l->n_metrics++] = x;
}

/* Adds the metrics that the study names, those of searches, and by default the primary columns of the worlds' tables. */
static void choose_metrics(struct columns *l, const struct sweep_rows *w, const struct book *b)
{
	const cJSON *m, *list = cJSON_GetObjectItemCaseSensitive(b->json, "metrics");
	cJSON_ArrayForEach(m, list) if (cJSON_IsString(m)) add_metric(l, w, m->valuestring);
	for (size_t i = 0; i < b->n_runs; i++)
		if (b->run[i].search.kind)
			add_metric(l, w, b->run[i].search.metric);
	for (size_t i = 0; i < w->n_names && !list; i++)
		if (w->name[i].column && w->name[i].column->is_primary)
			add_metric(l, w, w->name[i].name);
}

static struct columns columns_of(const struct sweep_rows *w, const struct book *b)
{
	struct columns l = { .has_run = b->n_runs > 1, .has_number = w->has_number };
	for (size_t a = 0; a < b->n_axes; a++)
		if (w->has_axis[a])
			l.axis[l.n_axes++] = a;
	choose_metrics(&l, w, b);
	return l;
}

static void set_plain(struct sbuf *cell, const char *text)
{
	sbuf_clear(cell);
	report_put_plain(cell, text ? text : "");
}

/* Sets a row's value on an axis. A value that was drawn or searched has six digits; its exact text is in JSON and CSV. */
static void set_value(struct sbuf *cell, const struct sweep_row *x, const struct book *b, size_t axis)
{
	const char *text = x->value[axis];
	double v;
	char shorter[NUM_REAL_MAX];
	bool is_short = text && b->axis[axis].is_range && num_real(text, strlen(text), &v);
	if (is_short)
		snprintf(shorter, sizeof shorter, "%.6g", v);
	set_plain(cell, is_short ? shorter : text);
}

/* The rows of the table, made one at a time. */
struct table {
	const struct book *b;
	struct columns columns;
	enum grid_format format;
	struct report_scale by[MOST_METRICS];
	struct sweep_cursor at;
	struct sbuf *cell;
	const char **text; /* of the cells */
	size_t n;
};

/* Returns the number of cells of a metric: in CSV its value and both ends of its interval. */
static size_t cells_of(const struct table *t)
{
	return t->format == GRID_CSV ? 3 : 1;
}

static enum report_kind kind_of(const struct sweep_name *m)
{
	return m->column ? m->column->kind : REPORT_NUMBER;
}

/* A column has one unit: beside each value in text, in the title in Markdown and LaTeX; CSV has the metric's name and all digits. */
static void set_title(struct sbuf *cell, const struct table *t, size_t i)
{
	const struct sweep_name *m = t->columns.metric[i];
	static const char *const suffix[] = { "", "_ci_low", "_ci_high" };
	set_plain(cell, t->format == GRID_CSV || !m->column ? m->name : m->column->title);
	if (t->format != GRID_TEXT && t->format != GRID_CSV && *t->by[i].unit)
		sbuf_printf(cell, " (%s)", t->by[i].unit);
	for (size_t k = 0; k < 3 && t->format == GRID_CSV; k++) {
		set_plain(&cell[k], m->name);
		sbuf_puts(&cell[k], suffix[k]);
	}
}

static const struct metric *metric_of(const struct sweep_row *x, const struct sweep_name *m)
{
	for (size_t i = 0; i < x->n_metrics; i++)
		if (x->metric[i].name == m->name)
			return &x->metric[i];
	return NULL;
}

static void set_metric(struct sbuf *cell, const struct table *t, const struct sweep_row *x, size_t i)
{
	const struct metric *m = metric_of(x, t->columns.metric[i]);
	for (size_t k = 0; k < cells_of(t); k++)
		sbuf_clear(&cell[k]);
	if (x->error) {
		sbuf_puts(cell, i ? "" : "failed");
	} else if (t->format == GRID_CSV) {
		const double value[] = { m ? m->value : NAN, m ? m->ci_low : NAN, m ? m->ci_high : NAN };
		for (size_t k = 0; k < 3; k++) {
			char exact[NUM_REAL_MAX] = "";
			if (isfinite(value[k]))
				num_put_real(exact, value[k]);
			sbuf_puts(&cell[k], exact);
		}
	} else {
		report_put_metric(cell, m, kind_of(t->columns.metric[i]), t->by[i], t->format == GRID_TEXT);
	}
}

/* Sets the cells of a row; x NULL: the titles. */
static void set_row(struct table *t, const struct sweep_row *x)
{
	const struct columns *l = &t->columns;
	struct sbuf *cell = t->cell;
	if (l->has_run)
		set_plain(cell++, x ? x->run->name : "run");
	for (size_t i = 0; i < l->n_axes; i++, cell++) {
		if (x)
			set_value(cell, x, t->b, l->axis[i]);
		else
			set_plain(cell, t->b->axis[l->axis[i]].name);
	}
	set_plain(cell, x ? x->label : "policy");
	sbuf_puts(cell++, x && x->is_oracle && t->format != GRID_CSV ? " (oracle)" : "");
	for (size_t i = 0; i < l->n_metrics; i++, cell += cells_of(t)) {
		if (x)
			set_metric(cell, t, x, i);
		else
			set_title(cell, t, i);
	}
	if (!l->has_number)
		return;
	set_plain(cell, x ? "" : "stored run");
	if (x && x->number > 0)
		sbuf_printf(cell, "%lld", (long long)x->number);
}

static const char *const *row_of_table(void *ctx, size_t row)
{
	struct table *t = ctx;
	const struct sweep_row *x = NULL;
	if (!row)
		sweep_rewind(&t->at);
	if (!row || (x = sweep_next(&t->at)))
		set_row(t, x);
	for (size_t i = 0; i < t->n; i++)
		t->text[i] = row && !x ? NULL : sbuf_text(&t->cell[i]); /* empty after an error, which the caller reports */
	return t->text;
}

/* Prints what `out` has. */
static void print(struct sbuf *out, bool is_json)
{
	struct sbuf shown = { 0 };
	(is_json ? utf8_put_valid : utf8_put_shown)(&shown, sbuf_text(out), out->len);
	fputs(sbuf_text(&shown), stdout);
	sbuf_free(&shown);
	sbuf_clear(out);
}

static void print_much(void *ctx, struct sbuf *out)
{
	(void)ctx;
	if (out->len >= DRAIN_BYTES)
		print(out, false);
}

/* Prints the table; its last lines stay in *out. */
static void put_table(struct sbuf *out, struct sweep_rows *w, const struct book *b, struct report_style style)
{
	struct table t = { .b = b, .columns = columns_of(w, b), .format = style.format, .at = { .w = w } };
	const struct columns *l = &t.columns;
	size_t keys = (l->has_run ? 1 : 0) + l->n_axes + 1;
	t.n = keys + l->n_metrics * cells_of(&t) + (l->has_number ? 1 : 0);
	t.cell = mem_zalloc(t.n, sizeof *t.cell);
	t.text = mem_zalloc(t.n, sizeof *t.text);
	bool *is_text = mem_zalloc(t.n, sizeof *is_text);
	is_text[0] = is_text[keys - 1] = true;
	for (size_t i = 0; i < l->n_axes; i++)
		is_text[keys - 1 - l->n_axes + i] = !book_has_numbers(&b->axis[l->axis[i]]);
	for (size_t i = 0; i < l->n_metrics; i++)
		t.by[i] = report_scale_within(kind_of(l->metric[i]), l->metric[i]->range);
	grid_put_rows(out, &(struct grid_rows){ w->n + 1, t.n, keys, is_text, row_of_table, print_much, &t }, style.format, style.width);
	for (size_t i = 0; i < t.n; i++)
		sbuf_free(&t.cell[i]);
	mem_free(t.cell);
	mem_free(t.text);
	mem_free(is_text);
	sweep_free_cursor(&t.at);
}

/* ---- answers and failures ---- */

/* Appends the run of an answer, its axes except the searched one and `without` (SIZE_MAX: none), and the policy. */
static void put_place(struct sbuf *out, const struct book *b, const struct sweep_answer *f, size_t without)
{
	const struct sweep_row *x = f->row;
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

static void put_answer(struct sbuf *out, const struct book *b, const struct sweep_answer *a)
{
	const struct book_search *s = &a->run->search;
	const struct search_answer *f = &a->found;
	const char *axis = b->axis[s->axis].name, *sense = s->is_below ? "at most" : "at least";
	put_place(out, b, a, SIZE_MAX);
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

static bool same_search(const struct book *b, const struct sweep_answer *p, const struct sweep_answer *q)
{
	const struct sweep_row *x = p->row, *y = q->row;
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
		if (same_search(b, &w->answer[k], o.first)) {
			mem_free(v);
			return o;
		}
	for (size_t k = i; k < w->n_answers; k++) {
		const struct sweep_answer *a = &w->answer[k];
		if (!same_search(b, a, o.first))
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
		put_place(out, b, o.first, b->seed_axis);
		if (o.why)
			sbuf_printf(out, ", over %zu seeds: no interval of the largest %s: %s\n", o.n, axis->name, o.why);
		else
			sbuf_printf(out, ", over %zu seeds: largest %s %.6g (%smean), 95 %% interval %.6g to %.6g (Student's t)\n", o.n,
				axis->name, o.value.mean, axis->range.is_log ? "geometric " : "", o.value.low, o.value.high);
	}
}

static void put_failures(struct sbuf *out, struct sweep_rows *w, const struct book *b)
{
	struct sweep_cursor at = { .w = w };
	for (const struct sweep_row *x; w->n_failed && (x = sweep_next(&at));) {
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
	sweep_free_cursor(&at);
}

/* Names the metrics of the study that no run has. */
static void put_unknown(struct sbuf *out, const struct sweep_rows *w, const struct book *b)
{
	const cJSON *m, *list = cJSON_GetObjectItemCaseSensitive(b->json, "metrics");
	const char **name = mem_zalloc(w->n_names + 1, sizeof *name);
	for (size_t i = 0; i < w->n_names; i++)
		name[i] = w->name[i].name;
	cJSON_ArrayForEach(m, list)
	{
		if (!cJSON_IsString(m) || sweep_knows(w, m->valuestring) || w->n_failed == w->n)
			continue;
		const char *near = nearest_name(m->valuestring, name);
		sbuf_puts(out, "metrics: no run has ");
		report_put_plain(out, m->valuestring);
		if (near)
			sbuf_printf(out, ": did you mean %s?", near);
		sbuf_putc(out, '\n');
	}
	mem_free(name);
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
	if (!x->error)
		cJSON_AddBoolToObject(o, "is_oracle", x->is_oracle);
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

static cJSON *over_seeds_json(const struct over_seeds *x, const struct book *b)
{
	cJSON *o = cJSON_CreateObject();
	struct sbuf place = { 0 };
	put_place(&place, b, x->first, b->seed_axis);
	cJSON_AddStringToObject(o, "search", sbuf_text(&place));
	cJSON_AddStringToObject(o, "axis", b->axis[x->first->run->search.axis].name);
	cJSON_AddNumberToObject(o, "seeds", (double)x->n);
	add_real(o, "value", x->value.mean);
	put_interval_json(o, x->value.low, x->value.high, x->why);
	sbuf_free(&place);
	return o;
}

static cJSON *answer_json(const struct sweep_answer *a, const struct book *b)
{
	static const char *const outcomes[] = { "found", "all", "none" };
	cJSON *o = cJSON_CreateObject();
	struct sbuf place = { 0 };
	put_place(&place, b, a, SIZE_MAX);
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

/* Prints an object, whose first member is a list, as a part of a larger one: without `start` bytes at its start and `end` at its end. */
static void print_part(cJSON *o, size_t start, size_t end)
{
	struct sbuf part = { 0 };
	char *text = cJSON_Print(o);
	size_t n = strlen(text);
	sbuf_add(&part, text + start, n - start - end);
	print(&part, true);
	sbuf_free(&part);
	cJSON_free(text);
}

/* Prints the rows one at a time, each as cJSON_Print() would print it in a list with all of them. */
static void print_rows_json(struct sweep_rows *w, const struct book *b)
{
	static const char start[] = "{\n\t\"rows\":\t[", end[] = "]\n}";
	struct sweep_cursor at = { .w = w };
	fputs(start, stdout);
	for (const struct sweep_row *x; (x = sweep_next(&at));) {
		cJSON *o = cJSON_CreateObject(), *rows = cJSON_AddArrayToObject(o, "rows");
		cJSON_AddItemToArray(rows, row_json(x, b));
		fputs(at.next > 1 ? ", " : "", stdout);
		print_part(o, sizeof start - 1, sizeof end - 1);
		cJSON_Delete(o);
	}
	fputs("],", stdout);
	sweep_free_cursor(&at);
}

static void print_json(struct sweep_rows *w, const struct book *b)
{
	cJSON *o = cJSON_CreateObject(), *answers = cJSON_AddArrayToObject(o, "answers");
	for (size_t i = 0; i < w->n_answers; i++)
		cJSON_AddItemToArray(answers, answer_json(&w->answer[i], b));
	cJSON *seeds = b->seed_axis != SIZE_MAX ? cJSON_AddArrayToObject(o, "over_seeds") : NULL;
	for (size_t i = 0; seeds && i < w->n_answers; i++) {
		struct over_seeds x = over_seeds(w, b, i);
		if (x.n)
			cJSON_AddItemToArray(seeds, over_seeds_json(&x, b));
	}
	print_rows_json(w, b);
	print_part(o, 1, 0);
	putchar('\n');
	cJSON_Delete(o);
}

/* Writes a row per metric: run, the axes, policy, metric, value, ci_low, ci_high, stored_run, error. */
static int write_csv(struct sweep_rows *w, const struct book *b, const char *dir, struct orr_error *err)
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
	struct sweep_cursor at = { .w = w };
	for (const struct sweep_row *x; (x = sweep_next(&at));)
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
	sweep_free_cursor(&at);
	struct orr_error on_close = { 0 };
	int closed = outfile_close(&f, w->err.code, &on_close);
	if (w->err.code || closed)
		*err = w->err.code ? w->err : on_close;
	return w->err.code ? w->err.code : closed;
}

int sweep_print(struct sweep_rows *w, const struct book *b, const struct world_output *o, struct orr_error *err)
{
	if (o->json || o->table == GRID_JSON) {
		print_json(w, b);
	} else if (!o->quiet) {
		struct report_style style = { o->table, shown_width() };
		struct sbuf table = { 0 }, notes = { 0 };
		put_table(&table, w, b, style);
		for (size_t i = 0; i < w->n_answers; i++)
			put_answer(&notes, b, &w->answer[i]);
		put_over_seeds(&notes, w, b);
		put_unknown(&notes, w, b);
		put_failures(&notes, w, b);
		if (w->n_imprecise)
			sbuf_printf(&notes,
				"in %zu of %zu rows the replications ended at their limit before the precision of \"stop\" was reached\n",
				w->n_imprecise, w->n);
		if (o->db && w->n_failed)
			sbuf_puts(&notes, "failed runs are not tried again with this database: --retry repeats them\n");
		if (o->db)
			sbuf_printf(&notes, "to repeat a row: orrery run --from %s --run N, where N is its stored run\n", o->db);
		grid_put_notes(&table, sbuf_text(&notes), style.format, style.width);
		print(&table, false);
		sbuf_free(&notes);
		sbuf_free(&table);
	}
	int rc = outfile_flush_stdout(err);
	if (!rc && w->err.code)
		rc = orr_fail(err, w->err.code, "%s", w->err.text);
	return rc || !o->out_dir ? rc : write_csv(w, b, o->out_dir, err);
}
