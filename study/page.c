/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "study/page.h"

#include "base/mem.h"
#include "base/outfile.h"
#include "plots/html.h"
#include "results/failed.h"
#include "study/page_parts.h"
#include "traces/lines.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	MOST_SETS = 64,
	MOST_BYTES = 2000000, /* before parts about single runs are left out */
	ROWS_OF_RUNS = 6,
	MOST_NOTES = 200,
	MOST_ALL_METRICS = 24
};

/* A run of the database before it is in a set. */
struct loaded {
	const struct stored_run *stored;
	struct run_result *r;
	char *text;       /* scenario without the names of inputs; only for a book */
	const char *name; /* name of the book's run; NULL: none */
};

/* The page while it is written. */
struct page {
	const struct page_request *q;
	struct store *s;
	struct stored_run *list;
	size_t n_list;
	struct loaded *run, **by_text;
	size_t n_runs;
	struct page_set set[MOST_SETS];
	size_t n_sets;
	cJSON *study;
	struct book *book;    /* NULL: the study is no book */
	size_t n_missing;     /* runs of the book that the database lacks */
	struct orr_error why; /* why the book has no results */
	struct failed_runs failed;
	struct sbuf out;
	struct orr_error *err;
};

/* ---- reading ---- */

static struct page_set *set_of(struct page *p, const struct stored_run *stored, const char *name)
{
	size_t k = 0;
	while (k < p->n_sets && (strcmp(p->set[k].world, stored->world) != 0 || p->set[k].name != name))
		k++;
	if (k == MOST_SETS)
		return NULL;
	if (k == p->n_sets)
		p->set[p->n_sets++] = (struct page_set){ .world = stored->world, .name = name };
	return &p->set[k];
}

static void sort_into_sets(struct page *p)
{
	for (size_t i = 0; i < p->n_runs; i++) {
		struct loaded *x = &p->run[i];
		struct page_set *s = set_of(p, x->stored, x->name);
		if (s)
			page_set_add(s, x->stored, x->r);
		if (s)
			x->r = NULL; /* the set owns it */
	}
	for (size_t k = 0; k < p->n_sets; k++)
		page_set_arrange(&p->set[k]);
}

static int read_study(struct page *p)
{
	const char *path = p->q->study;
	size_t n;
	if (!path)
		return ORR_OK;
	struct lines *l = lines_open(path, p->err);
	char *text = l ? lines_rest(l, &n, p->err) : NULL;
	if (l)
		lines_close(l);
	p->study = text ? cJSON_ParseWithLength(text, n) : NULL;
	if (text && !cJSON_IsObject(p->study))
		orr_fail(p->err, ORR_EINPUT, "%s: not a study: expected a JSON object (orrery sweep --schema)", path);
	mem_free(text);
	return cJSON_IsObject(p->study) ? ORR_OK : p->err->code;
}

/* ---- the book ---- */

static int by_text(const void *a, const void *b)
{
	const struct loaded *x = *(const struct loaded *const *)a, *y = *(const struct loaded *const *)b;
	int order = strcmp(x->stored->label, y->stored->label);
	if (!order)
		order = strcmp(x->text, y->text);
	return order ? order : (x->stored->run > y->stored->run) - (x->stored->run < y->stored->run);
}

static int by_label_and_text(const void *key, const void *element)
{
	const struct loaded *x = key, *y = *(const struct loaded *const *)element;
	int order = strcmp(x->stored->label, y->stored->label);
	return order ? order : strcmp(x->text, y->text);
}

/* Drops the names of inputs whose contents have a hash beside them. */
static void drop_names(cJSON *o)
{
	for (cJSON *m = o->child, *next; m; m = next) {
		next = m->next;
		drop_names(m);
		struct sbuf hash = { 0 };
		sbuf_printf(&hash, "%s_sha256", m->string ? m->string : "");
		if (m->string && cJSON_IsString(m) && cJSON_GetObjectItemCaseSensitive(o, sbuf_text(&hash)))
			cJSON_Delete(cJSON_DetachItemViaPointer(o, m));
		sbuf_free(&hash);
	}
}

/* Returns a scenario without the names of its inputs, which a run's hash leaves out too. */
static char *nameless(const char *scenario)
{
	cJSON *o = cJSON_Parse(scenario);
	if (!o)
		return mem_strdup(scenario);
	drop_names(o);
	char *printed = cJSON_PrintUnformatted(o), *text = mem_strdup(printed);
	cJSON_free(printed);
	cJSON_Delete(o);
	return text;
}

/* Finds a run by its scenario, so that databases of other versions of the program can be used too; the page states the versions. Of several
 * such runs, returns the one with this hash, else the latest. */
static int64_t find_run(void *ctx, const char *hash, const char *text, const char *label)
{
	struct page *p = ctx;
	struct stored_run stored = { .label = mem_strdup(label) };
	struct loaded key = { .stored = &stored, .text = nameless(text) },
		      **at = bsearch(&key, p->by_text, p->n_runs, sizeof *at, by_label_and_text);
	int64_t found = 0;
	if (at) {
		struct loaded **end = p->by_text + p->n_runs;
		while (at > p->by_text && !by_label_and_text(&key, at - 1))
			at--;
		for (; at < end && !by_label_and_text(&key, at); at++) {
			found = (*at)->stored->run;
			if (!strcmp((*at)->stored->hash, hash))
				break;
		}
	}
	mem_free(stored.label);
	mem_free(key.text);
	return found;
}

static void name_run(void *ctx, const char *name, int64_t number)
{
	struct page *p = ctx;
	size_t low = 0, high = p->n_runs; /* runs are in order of their numbers */
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (p->run[middle].stored->run < number)
			low = middle + 1;
		else
			high = middle;
	}
	if (low < p->n_runs && p->run[low].stored->run == number && !p->run[low].name)
		p->run[low].name = name;
}

static bool is_book(const char *path)
{
	static const char file[] = "figures.json";
	size_t n = strlen(path), k = sizeof file - 1;
	return n >= k && !strcmp(path + n - k, file) && (n == k || path[n - k - 1] == '/');
}

/*
 * Opens the book whose figures.json is the study, and takes its results. The page states errors of the book, but does not fail
 * with them.
 */
static void read_book(struct page *p)
{
	const char *path = p->q->study, *slash = path ? strrchr(path, '/') : NULL;
	if (!path || !is_book(path))
		return;
	char *dir = slash ? mem_strndup(path, (size_t)(slash - path) + 1) : mem_strdup("./");
	p->book = book_open(dir, &p->why);
	mem_free(dir);
	if (!p->book)
		return;
	p->by_text = mem_zalloc(p->n_runs + 1, sizeof(struct loaded *));
	for (size_t i = 0; i < p->n_runs; i++) {
		p->run[i].text = nameless(p->run[i].r->scenario);
		p->by_text[i] = &p->run[i];
	}
	qsort(p->by_text, p->n_runs, sizeof *p->by_text, by_text);
	const struct study_source from = { p->s, find_run, p };
	if (book_take_all(p->book, &from, &p->n_missing, &p->why))
		p->n_missing = 0;
	else if (!p->n_missing)
		book_each_number(p->book, name_run, p);
}

static int read_all(struct page *p)
{
	p->s = store_open_readonly(p->q->db, p->err);
	if (!p->s)
		return p->err->code;
	int code = store_list(p->s, &p->list, &p->n_list, p->err);
	bool has_run = !p->q->run;
	p->run = mem_zalloc(p->n_list + 1, sizeof *p->run);
	for (size_t i = 0; !code && i < p->n_list; i++) {
		struct run_result *r;
		code = store_read_metrics(p->s, p->list[i].run, &r, p->err);
		if (!code && r)
			p->run[p->n_runs++] = (struct loaded){ .stored = &p->list[i], .r = r };
		has_run |= p->list[i].run == p->q->run;
	}
	if (!code && !p->n_list)
		return orr_fail(p->err, ORR_EINPUT, "%s: no runs: expected a database that --db of a run or study has filled", p->q->db);
	if (!code && !has_run)
		return orr_fail(
			p->err, ORR_EINPUT, "%s: no run %" PRId64 ": expected a run that 'orrery db runs' lists", p->q->db, p->q->run);
	if (!code)
		code = failed_runs_read(p->s, &p->failed, p->err);
	if (!code)
		code = read_study(p);
	if (code)
		return code;
	read_book(p);
	sort_into_sets(p);
	return ORR_OK;
}

/* ---- head ---- */

static const char *text_of_study(const struct page *p, const char *key)
{
	return cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(p->study, key));
}

/* Returns the name of a set in headings. */
static const char *name_of(const struct page_set *s)
{
	return s->name ? s->name : s->world;
}

/* Says why a book has no comparison with published values. */
static void put_state_of_book(struct page *p)
{
	if (p->n_missing) {
		sbuf_printf(&p->out,
			"<p class=\"note\">The database lacks %zu of the %zu runs of this book, so the page has no published values and no "
			"figures of the book. <code>orrery figures ",
			p->n_missing, study_runs(p->book->study));
		html_text(&p->out, p->book->dir);
		sbuf_puts(&p->out, "/ --db ");
		html_text(&p->out, p->q->db);
		sbuf_puts(&p->out, "</code> adds them.</p>\n");
	} else if (p->why.code) {
		sbuf_puts(&p->out, "<p class=\"note\">The page has no published values and no figures of the book: ");
		html_text(&p->out, p->why.text);
		sbuf_puts(&p->out, "</p>\n");
	}
}

static void put_head(struct page *p)
{
	struct sbuf *out = &p->out, plain = { 0 };
	const char *title = p->q->title ? p->q->title : text_of_study(p, "title");
	if (!title) {
		const char *slash = strrchr(p->q->db, '/');
		sbuf_printf(&plain, "Runs of %s", slash ? slash + 1 : p->q->db);
	}
	html_begin(out, title ? title : sbuf_text(&plain));
	const char *question = p->q->question ? p->q->question : text_of_study(p, "about");
	if (question) {
		sbuf_puts(out, "<p class=\"question\">");
		html_text(out, question);
		sbuf_puts(out, "</p>\n");
	}
	sbuf_printf(out, "<p>%zu run%s of ", p->n_list, p->n_list == 1 ? "" : "s");
	for (size_t k = 0; k < p->n_sets; k++) {
		sbuf_puts(out, k ? ", " : "");
		html_text(out, name_of(&p->set[k]));
		sbuf_printf(out, " (%zu %s)", p->set[k].n_labels, p->set[k].n_labels == 1 ? "policy" : "policies");
	}
	sbuf_puts(out, ".</p>\n");
	put_state_of_book(p);
	sbuf_puts(out, "<nav aria-label=\"Sections\"><ul>\n");
	if (p->book && p->book->has_results)
		sbuf_puts(out, "<li><a href=\"#figures\">Figures of the book</a></li>\n"
			       "<li><a href=\"#published\">Published and simulated values</a></li>\n");
	for (size_t k = 0; k < p->n_sets; k++) {
		sbuf_printf(out, "<li><a href=\"#results-%zu\">Results: ", k + 1);
		html_text(out, name_of(&p->set[k]));
		sbuf_puts(out, "</a></li>\n");
	}
	sbuf_puts(out, "<li><a href=\"#assumptions\">Assumptions and remarks</a></li>\n"
		       "<li><a href=\"#provenance\">Provenance and commands</a></li>\n</ul></nav>\n");
	sbuf_free(&plain);
}

/* ---- table of results ---- */

static void put_metric_cell(struct html_table *t, const struct metric *m, double unit)
{
	struct sbuf b = { 0 };
	if (m && isfinite(m->value)) {
		page_put_number(&b, m->value / unit);
		if (isfinite(m->ci_low) && isfinite(m->ci_high) && m->ci_high > m->ci_low) {
			sbuf_puts(&b, " [");
			page_put_number(&b, m->ci_low / unit);
			sbuf_puts(&b, ", ");
			page_put_number(&b, m->ci_high / unit);
			sbuf_puts(&b, "]");
		}
	}
	html_table_cell(t, sbuf_text(&b));
	sbuf_free(&b);
}

static void put_number_cell(struct html_table *t, int64_t n)
{
	char text[24];
	snprintf(text, sizeof text, "%" PRId64, n);
	html_table_cell(t, text);
}

static void put_results_table(struct page *p, const struct page_set *s)
{
	const struct report_form *form = report_form_of(s->world);
	struct html_table t = { .caption = "Results of each run: value [95 % interval]" };
	const struct report_column *column[64];
	double unit[64];
	size_t n = 0;
	html_table_column(&t, "run", true, false);
	html_table_column(&t, "policy", false, false);
	for (size_t k = 0; k < s->n_axes; k++)
		html_table_column(&t, s->axis[k].title, s->axis[k].is_number, false);
	if (s->has_seeds)
		html_table_column(&t, "seed", true, false);
	for (const struct report_column *c = form ? form->columns : NULL; c && c->metric && n < 64; c++) {
		struct report_scale scale;
		if (!page_set_scale(s, c, &scale))
			continue;
		struct sbuf title = { 0 };
		page_put_title(&title, c->title, scale.unit);
		html_table_column(&t, sbuf_text(&title), true, false);
		sbuf_free(&title);
		column[n] = c;
		unit[n++] = scale.divisor;
	}
	for (size_t i = 0; i < s->n; i++) {
		const struct page_run *r = &s->run[i];
		put_number_cell(&t, r->stored->run);
		html_table_cell(&t, r->name);
		for (size_t k = 0; k < s->n_axes; k++)
			page_put_axis_cell(&t, &s->axis[k], r->value[k]);
		if (s->has_seeds)
			html_table_cell(&t, r->r->seed_text);
		for (size_t k = 0; k < n; k++)
			put_metric_cell(&t, result_find(r->r, column[k]->metric), unit[k]);
	}
	html_table_put(&p->out, &t);
	if (s->n_left_out)
		sbuf_printf(&p->out, "<p class=\"note\">The scenarios differ in more than %d values; the table has the first.</p>\n",
			PAGE_AXES);
}

/* All metrics of few runs, in the units of the database. */
static void put_all_metrics(struct page *p, const struct page_set *s)
{
	if (s->n > MOST_ALL_METRICS)
		return;
	struct html_table t = { .caption = "All metrics: value [95 % interval], times in s" };
	html_table_column(&t, "metric", false, false);
	for (size_t i = 0; i < s->n; i++) {
		struct sbuf title = { 0 };
		sbuf_printf(&title, "%s, run %" PRId64, s->run[i].name, s->run[i].stored->run);
		html_table_column(&t, sbuf_text(&title), true, false);
		sbuf_free(&title);
	}
	for (size_t i = 0; i < s->n; i++)
		for (size_t k = 0; k < s->run[i].r->n_metrics; k++) {
			const char *name = s->run[i].r->metrics[k].name;
			bool is_new = true;
			for (size_t j = 0; j < i && is_new; j++)
				is_new = !result_find(s->run[j].r, name);
			if (!is_new)
				continue;
			html_table_cell(&t, name);
			for (size_t j = 0; j < s->n; j++)
				put_metric_cell(&t, result_find(s->run[j].r, name), 1);
		}
	sbuf_puts(&p->out, "<details><summary>All metrics</summary>\n");
	html_table_put(&p->out, &t);
	sbuf_puts(&p->out, "</details>\n");
}

/* ---- rows ---- */

/* Returns whether a run is drawn with its rows: the run that was asked for, else the first point of all policies. */
static bool is_drawn(const struct page *p, const struct page_set *s, const struct page_run *r)
{
	if (p->q->run)
		return r->stored->run == p->q->run;
	if (strcmp(r->r->seed_text, s->run[0].r->seed_text) != 0)
		return false;
	for (size_t k = 0; k < s->n_axes; k++)
		if (r->value[k] != s->run[0].value[k])
			return false;
	return true;
}

static int put_rows(struct page *p, const struct page_set *s)
{
	struct run_result *run[ROWS_OF_RUNS];
	const char *name[ROWS_OF_RUNS];
	size_t n = 0;
	int code = ORR_OK;
	struct sbuf part = { 0 }, which = { 0 };
	for (size_t i = 0; i < s->n && n < ROWS_OF_RUNS && !code; i++) {
		if (!is_drawn(p, s, &s->run[i]))
			continue;
		code = store_read_run(p->s, s->run[i].stored->run, &run[n], p->err);
		if (code || !run[n])
			continue;
		sbuf_printf(&which, "%s%" PRId64, n ? ", " : "", s->run[i].stored->run);
		name[n++] = s->run[i].name;
	}
	if (!code && n && page_rows(&part, (const struct run_result *const *)run, name, n, p->q->rows)) {
		sbuf_printf(&p->out, "<h3>Inside run%s %s</h3>\n", n == 1 ? "" : "s", sbuf_text(&which));
		sbuf_puts(&p->out,
			"<p class=\"note\">Distributions, timelines and rows of the first point (with replications, of the first "
			"replication); --run N selects another run. The buttons above a timeline zoom it; so do dragging and "
			"Ctrl + wheel.</p>\n");
		sbuf_add(&p->out, part.text, part.len);
	}
	for (size_t i = 0; i < n; i++)
		result_free(run[i]);
	sbuf_free(&which);
	sbuf_free(&part);
	return code;
}

/* Returns whether the parts about runs are folded: in a book they follow the figures and the table. */
static bool is_folded(const struct page *p)
{
	return p->book && p->book->has_results;
}

static int put_set(struct page *p, size_t k)
{
	const struct page_set *s = &p->set[k];
	char id[32];
	int code = ORR_OK;
	struct sbuf heading = { 0 };
	snprintf(id, sizeof id, "results-%zu", k + 1);
	sbuf_printf(&heading, "Results: %s", name_of(s));
	html_section(&p->out, id, sbuf_text(&heading));
	sbuf_free(&heading);
	if (is_folded(p))
		sbuf_printf(&p->out, "<details><summary>%zu run%s: figures, table, differences, timelines</summary>\n", s->n,
			s->n == 1 ? "" : "s");
	page_points(&p->out, s);
	sbuf_puts(&p->out, "<h3>Table of runs</h3>\n");
	put_results_table(p, s);
	page_pairs(&p->out, s, p->s);
	put_all_metrics(p, s);
	if (p->out.len < MOST_BYTES || p->q->run)
		code = put_rows(p, s);
	else
		sbuf_puts(&p->out, "<p class=\"note\">The page is long, so distributions, timelines and rows of these runs are left out; "
				   "--run N adds those of one run.</p>\n");
	sbuf_puts(&p->out, is_folded(p) ? "</details>\n" : "");
	return code;
}

/* ---- assumptions and remarks ---- */

struct note {
	const char *text;
	size_t runs;
	const char *first; /* name of the first run with the note */
};

/* Collects the notes of a kind over all runs; returns their number. */
static size_t collect_notes(const struct page *p, const char *kind, struct note *note)
{
	size_t n = 0;
	for (size_t k = 0; k < p->n_sets; k++)
		for (size_t i = 0; i < p->set[k].n; i++) {
			const struct page_run *r = &p->set[k].run[i];
			const char *text;
			for (size_t j = 0; (text = result_note_at(r->r, kind, j)); j++) {
				size_t at = 0;
				while (at < n && strcmp(note[at].text, text) != 0)
					at++;
				if (at == MOST_NOTES)
					continue;
				if (at == n)
					note[n++] = (struct note){ text, 0, r->name };
				note[at].runs++;
			}
		}
	return n;
}

static void put_notes(struct page *p, const char *kind, const char *heading, const char *none)
{
	struct note *note = mem_zalloc(MOST_NOTES, sizeof *note);
	size_t n = collect_notes(p, kind, note);
	html_element(&p->out, "h3", heading);
	if (!n)
		html_element(&p->out, "p", none);
	else
		sbuf_printf(&p->out, "<ul class=\"%s\">\n", kind);
	for (size_t i = 0; i < n; i++) {
		sbuf_puts(&p->out, "<li>");
		html_text(&p->out, note[i].text);
		if (note[i].runs < p->n_list) {
			sbuf_puts(&p->out, " <span class=\"note\">(");
			if (note[i].runs == 1)
				html_text(&p->out, note[i].first);
			else
				sbuf_printf(&p->out, "%zu of %zu runs", note[i].runs, p->n_list);
			sbuf_puts(&p->out, ")</span>");
		}
		sbuf_puts(&p->out, "</li>\n");
	}
	sbuf_puts(&p->out, n ? "</ul>\n" : "");
	mem_free(note);
}

static void put_failures(struct page *p)
{
	if (!p->failed.n)
		return;
	struct html_table t = { .caption = "Runs that failed" };
	html_table_column(&t, "point", false, false);
	html_table_column(&t, "policy", false, false);
	html_table_column(&t, "error", false, false);
	for (size_t i = 0; i < p->failed.n; i++) {
		html_table_cell(&t, p->failed.list[i].point);
		html_table_cell(&t, p->failed.list[i].label);
		html_table_cell(&t, p->failed.list[i].error);
	}
	sbuf_puts(&p->out, "<h3>Failed runs</h3>\n");
	html_table_put(&p->out, &t);
}

/* ---- provenance ---- */

/* Appends a word for a shell, quoted if it has other characters than those of plain paths. */
static void put_word(struct sbuf *out, const char *s)
{
	if (*s && *s != '-' && !s[strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._+=-/,:@%")]) {
		sbuf_puts(out, s);
		return;
	}
	sbuf_putc(out, '\'');
	for (; *s; s++)
		if (*s == '\'')
			sbuf_puts(out, "'\\''");
		else
			sbuf_putc(out, *s);
	sbuf_putc(out, '\'');
}

static void put_run_cells(const struct page *p, struct html_table *t, const struct page_run *r)
{
	struct sbuf b = { 0 };
	put_number_cell(t, r->stored->run);
	html_table_cell(t, r->name);
	html_table_cell(t, r->r->seed_text);
	html_table_cell(t, r->stored->version);
	html_table_cell(t, r->stored->created_at);
	sbuf_add(&b, r->stored->hash, strnlen(r->stored->hash, 12));
	html_table_cell(t, sbuf_text(&b));
	sbuf_clear(&b);
	sbuf_puts(&b, "orrery run --from ");
	put_word(&b, p->q->db);
	sbuf_printf(&b, " --run %" PRId64, r->stored->run);
	html_table_cell(t, sbuf_text(&b));
	sbuf_free(&b);
}

static void put_scenario(struct page *p, const struct page_set *s)
{
	char *text = cJSON_Print(s->run[0].scenario);
	sbuf_printf(&p->out, "<details><summary>Scenario of run %" PRId64 " (", s->run[0].stored->run);
	html_text(&p->out, name_of(s));
	sbuf_puts(&p->out, "), with all defaults</summary>\n<pre tabindex=\"0\">");
	html_text(&p->out, text ? text : s->run[0].r->scenario);
	sbuf_puts(&p->out, "</pre></details>\n");
	cJSON_free(text);
}

static void put_provenance(struct page *p)
{
	char digest[65];
	struct orr_error damaged = { 0 };
	html_section(&p->out, "provenance", "Provenance and commands");
	sbuf_puts(&p->out, "<dl><dt>database</dt><dd><code>");
	html_text(&p->out, p->q->db);
	sbuf_puts(&p->out, "</code></dd>\n<dt>digest</dt><dd><code>");
	html_text(&p->out, store_digest_if_small(p->s, digest, &damaged) ? damaged.text : digest);
	sbuf_puts(&p->out, "</code></dd>\n");
	if (p->q->study) {
		sbuf_puts(&p->out, "<dt>study</dt><dd><code>");
		html_text(&p->out, p->q->study);
		sbuf_puts(&p->out, "</code></dd>\n");
	}
	sbuf_puts(&p->out,
		"</dl>\n<p>Each run of the tables is repeated by its command, which uses the stored scenario and policy. The hash covers "
		"the scenario, the contents of all inputs and the program's sources.</p>\n");
	struct html_table t = { .caption = "Runs and their commands" };
	html_table_column(&t, "run", true, false);
	html_table_column(&t, "policy", false, false);
	html_table_column(&t, "seed", true, false);
	html_table_column(&t, "version", false, false);
	html_table_column(&t, "made (UTC)", false, false);
	html_table_column(&t, "hash", false, true);
	html_table_column(&t, "command", false, true);
	for (size_t k = 0; k < p->n_sets; k++)
		for (size_t i = 0; i < p->set[k].n; i++)
			put_run_cells(p, &t, &p->set[k].run[i]);
	html_table_put(&p->out, &t);
	for (size_t k = 0; k < p->n_sets; k++)
		put_scenario(p, &p->set[k]);
	if (p->study) {
		char *text = cJSON_Print(p->study);
		sbuf_puts(&p->out, "<details><summary>Study file</summary>\n<pre tabindex=\"0\">");
		html_text(&p->out, text);
		sbuf_puts(&p->out, "</pre></details>\n");
		cJSON_free(text);
	}
}

/* ---- all ---- */

static int put_page(struct page *p)
{
	int code = ORR_OK;
	put_head(p);
	if (p->book && p->book->has_results) {
		code = page_figures(&p->out, p->book, p->err);
		if (!code)
			code = page_published(&p->out, p->book, p->err);
	}
	for (size_t k = 0; k < p->n_sets && !code; k++)
		code = put_set(p, k);
	html_section(&p->out, "assumptions", "Assumptions and remarks");
	put_notes(p, "remark", "Remarks: inputs without effect, limits", "No run has a remark.");
	put_notes(p, "assumption", "Assumptions", "No run states an assumption.");
	put_failures(p);
	put_provenance(p);
	html_end(&p->out);
	return code;
}

int page_write(const struct page_request *q, struct orr_error *err)
{
	struct page p = { .q = q, .err = err };
	int code = read_all(&p);
	if (!code)
		code = put_page(&p);
	if (!code)
		code = outfile_put(q->out, p.out.text, p.out.len, err);
	for (size_t k = 0; k < p.n_sets; k++)
		page_set_free(&p.set[k]);
	store_list_free(p.list, p.n_list);
	failed_runs_free(&p.failed);
	cJSON_Delete(p.study);
	book_free(p.book);
	for (size_t i = 0; i < p.n_list && p.run; i++) {
		result_free(p.run[i].r);
		mem_free(p.run[i].text);
	}
	mem_free(p.run);
	mem_free(p.by_text);
	sbuf_free(&p.out);
	if (p.s)
		store_close(p.s, NULL);
	return code;
}
