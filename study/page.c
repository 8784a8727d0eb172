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
#include <string.h>

enum { MOST_WORLDS = 16, ROWS_OF_RUNS = 6, MOST_NOTES = 200, MOST_ALL_METRICS = 24 };

/* The page while it is written. */
struct page {
	const struct page_request *q;
	struct store *s;
	struct stored_run *list;
	size_t n_list;
	struct page_set set[MOST_WORLDS];
	size_t n_sets;
	cJSON *study;
	struct failed_runs failed;
	struct sbuf out;
	struct orr_error *err;
};

/* ---- reading ---- */

static int add_run(struct page *p, const struct stored_run *stored)
{
	struct run_result *r;
	size_t k = 0;
	int code = store_read_metrics(p->s, stored->run, &r, p->err);
	if (code || !r)
		return code;
	while (k < p->n_sets && strcmp(p->set[k].world, stored->world) != 0)
		k++;
	if (k == MOST_WORLDS) {
		result_free(r);
		return ORR_OK;
	}
	if (k == p->n_sets)
		p->set[p->n_sets++] = (struct page_set){ .world = stored->world };
	page_set_add(&p->set[k], stored, r);
	return ORR_OK;
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

static int read_all(struct page *p)
{
	p->s = store_open_readonly(p->q->db, p->err);
	if (!p->s)
		return p->err->code;
	int code = store_list(p->s, &p->list, &p->n_list, p->err);
	bool has_run = !p->q->run;
	for (size_t i = 0; !code && i < p->n_list; i++) {
		code = add_run(p, &p->list[i]);
		has_run |= p->list[i].run == p->q->run;
	}
	if (!code && !p->n_list)
		return orr_fail(p->err, ORR_EINPUT, "%s: no runs: expected a database that --db of a run or study has filled", p->q->db);
	if (!code && !has_run)
		return orr_fail(
			p->err, ORR_EINPUT, "%s: no run %" PRId64 ": expected a run that 'orrery db runs' lists", p->q->db, p->q->run);
	if (!code)
		code = failed_runs_read(p->s, &p->failed, p->err);
	for (size_t k = 0; !code && k < p->n_sets; k++)
		page_set_arrange(&p->set[k]);
	return code ? code : read_study(p);
}

/* ---- head ---- */

static const char *text_of_study(const struct page *p, const char *key)
{
	return cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(p->study, key));
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
		html_text(out, p->set[k].world);
		sbuf_printf(out, " (%zu %s)", p->set[k].n_labels, p->set[k].n_labels == 1 ? "policy" : "policies");
	}
	sbuf_puts(out, ".</p>\n<nav aria-label=\"Sections\"><ul>\n");
	for (size_t k = 0; k < p->n_sets; k++) {
		sbuf_printf(out, "<li><a href=\"#results-%zu\">Results: ", k + 1);
		html_text(out, p->set[k].world);
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
		for (size_t k = 0; k < s->n_axes; k++) {
			struct sbuf b = { 0 };
			if (s->axis[k].is_number)
				sbuf_printf(&b, "%.10g", s->axis[k].number[r->value[k]]);
			else
				sbuf_puts(&b, s->axis[k].text[r->value[k]]);
			html_table_cell(&t, sbuf_text(&b));
			sbuf_free(&b);
		}
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

static int put_set(struct page *p, size_t k)
{
	const struct page_set *s = &p->set[k];
	char id[32];
	struct sbuf heading = { 0 };
	snprintf(id, sizeof id, "results-%zu", k + 1);
	sbuf_printf(&heading, "Results: %s", s->world);
	html_section(&p->out, id, sbuf_text(&heading));
	sbuf_free(&heading);
	page_points(&p->out, s);
	sbuf_puts(&p->out, "<h3>Table of runs</h3>\n");
	put_results_table(p, s);
	put_all_metrics(p, s);
	return put_rows(p, s);
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
	html_text(&p->out, s->world);
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
	html_text(&p->out, store_digest(p->s, digest, &damaged) ? damaged.text : digest);
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
	sbuf_free(&p.out);
	if (p.s)
		store_close(p.s, NULL);
	return code;
}
