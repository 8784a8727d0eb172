/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "results/report.h"

#include "base/mem.h"
#include "base/num.h"
#include "results/form.h"
#include "results/recorded.h"
#include "results/report_compare.h"
#include "results/report_rows.h"
#include "results/report_text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MOST_COLUMNS = 64 };

static bool is_known(const struct run_result *const *runs, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++) {
		const struct metric *m = result_find(runs[i], name);
		if (m && isfinite(m->value))
			return true;
	}
	return false;
}

/* Returns whether the column prints like its `beside` column in all runs. */
static bool is_repeated(const struct run_result *const *runs, size_t n, const struct report_column *c)
{
	for (size_t i = 0; i < n && c->beside; i++) {
		const struct metric *a = result_find(runs[i], c->metric), *b = result_find(runs[i], c->beside);
		if (!a || !b || fabs(a->value - b->value) > 1e-6 * fabs(b->value))
			return false;
	}
	return c->beside != NULL;
}

static const struct report_form *form_of(const struct run_result *r)
{
	static const struct report_form unknown;
	const struct report_form *form = report_form_of(r->world);
	return form ? form : &unknown;
}

const struct report_column *report_column_of(const char *world, const char *metric)
{
	const struct report_form *form = report_form_of(world);
	for (const struct report_column *c = form ? form->columns : NULL; c && c->metric; c++)
		if (!strcmp(c->metric, metric))
			return c;
	return NULL;
}

/* Sets the cells of a column. The unit is beside each value in text, and in the title in other formats. */
static void put_cells(struct grid *g, size_t column, const struct report_column *c, const struct run_result *const *runs, size_t n,
	enum grid_format format)
{
	const struct metric **m = mem_zalloc(n + 1, sizeof *m);
	struct sbuf b = { 0 };
	for (size_t i = 0; i < n; i++)
		m[i] = result_find(runs[i], c->metric);
	struct report_scale by = report_scale_of(c->kind, m, n);
	bool has_unit = format == GRID_TEXT;
	sbuf_puts(&b, c->title);
	if (!has_unit && *by.unit)
		sbuf_printf(&b, " (%s)", by.unit);
	*grid_cell(g, 0, column) = sbuf_steal(&b);
	for (size_t i = 0; i < n; i++) {
		report_put_metric(&b, m[i], c->kind, by, has_unit);
		*grid_cell(g, i + 1, column) = sbuf_steal(&b);
	}
	mem_free(m);
}

static struct grid grid_of(const struct run_result *const *runs, size_t n, enum grid_format format)
{
	const struct report_column *column = n ? form_of(runs[0])->columns : NULL, *shown[MOST_COLUMNS];
	size_t columns = 0;
	for (size_t k = 0; column && column[k].metric && k < MOST_COLUMNS; k++)
		if (is_known(runs, n, column[k].metric) && !is_repeated(runs, n, &column[k]))
			shown[columns++] = &column[k];
	struct grid g = grid_new(n + 1, columns + 1, 1);
	g.is_text[0] = true;
	*grid_cell(&g, 0, 0) = mem_strdup("policy");
	for (size_t i = 0; i < n; i++)
		*grid_cell(&g, i + 1, 0) = report_name_of(runs[i]);
	for (size_t k = 0; k < columns; k++)
		put_cells(&g, k + 1, shown[k], runs, n, format);
	return g;
}

/* Returns the number that a CSV cell shows; empty for a missing one. */
static char *exact(double v)
{
	char text[NUM_REAL_MAX] = "";
	if (isfinite(v))
		num_put_real(text, v);
	return mem_strdup(text);
}

/* Sets the columns NAME, NAME_ci_low and NAME_ci_high of a metric. */
static void fill_exact(struct grid *g, size_t column, const char *name, const struct run_result *const *runs, size_t n)
{
	static const char *const suffix[] = { "", "_ci_low", "_ci_high" };
	for (size_t k = 0; k < 3; k++) {
		struct sbuf b = { 0 };
		sbuf_printf(&b, "%s%s", name, suffix[k]);
		*grid_cell(g, 0, column + k) = sbuf_steal(&b);
		for (size_t i = 0; i < n; i++) {
			const struct metric *m = result_find(runs[i], name);
			*grid_cell(g, i + 1, column + k) = exact(!m ? NAN : k == 0 ? m->value : k == 1 ? m->ci_low : m->ci_high);
		}
	}
}

/* Makes the CSV table: the metrics of the table with all digits. */
static struct grid exact_grid_of(const struct run_result *const *runs, size_t n)
{
	const struct report_column *column = n ? form_of(runs[0])->columns : NULL;
	size_t columns = 0;
	for (size_t k = 0; column && column[k].metric; k++)
		columns += is_known(runs, n, column[k].metric);
	struct grid g = grid_new(n + 1, 1 + 3 * columns, 1);
	g.is_text[0] = true;
	*grid_cell(&g, 0, 0) = mem_strdup("policy");
	for (size_t i = 0; i < n; i++)
		*grid_cell(&g, i + 1, 0) = mem_strdup(runs[i]->label ? runs[i]->label : "");
	for (size_t k = 0, at = 1; column && column[k].metric; k++)
		if (is_known(runs, n, column[k].metric)) {
			fill_exact(&g, at, column[k].metric, runs, n);
			at += 3;
		}
	return g;
}

const struct report_difference report_differences[] = {
	{ "jct_diff", "base_jct_diff", "mean JCT against %s, job by job:\n", REPORT_TIME },
	{ "completion_diff", "base_completion_diff", "mean end-to-end time against %s, request by request:\n", REPORT_SHORT_TIME },
	{ NULL, NULL, NULL, REPORT_TIME },
};

static void put_difference(struct sbuf *out, const struct run_result *r, const struct report_difference *c, size_t width)
{
	const struct metric *d = result_find(r, c->metric), *base = result_find(r, c->base);
	if (!d || !isfinite(d->value))
		return;
	char *name = report_name_of(r);
	struct interval i = { d->value, d->ci_low, d->ci_high };
	sbuf_puts(out, "  ");
	report_pad(out, name, width, false);
	report_put_difference(out, &i, c->kind, base ? base->value : NAN);
	if (isfinite(d->ci_low) && isfinite(d->ci_high) && d->ci_low <= 0 && d->ci_high >= 0)
		sbuf_puts(out, "  (no clear difference)");
	sbuf_putc(out, '\n');
	mem_free(name);
}

static void put_differences(struct sbuf *out, const struct run_result *const *runs, size_t n, size_t width)
{
	for (const struct report_difference *c = report_differences; c->metric; c++) {
		if (!is_known(runs + 1, n - 1, c->metric))
			continue;
		report_put_title(out, c->title, runs[0]);
		for (size_t i = 1; i < n; i++)
			put_difference(out, runs[i], c, width);
	}
}

const struct report_quotient report_quotients[] = {
	{ "ratio_completion_mean", "mean end-to-end time of %s / that of each policy, over all replications:\n", "", false },
	{ "ratio_samples_per_s", "against %s:\n", "throughput ", true },
	{ "ratio_usd_per_hour", NULL, "USD/h ", true },
	{ "ratio_value", NULL, "value ", true },
	{ NULL, NULL, NULL, false },
};
enum { QUOTIENTS = sizeof report_quotients / sizeof *report_quotients - 1 };

static void put_quotient(struct sbuf *out, const struct report_quotient *q, const struct metric *m)
{
	if (!m || !isfinite(m->value) || (q->is_inverse && !(m->value > 0)))
		return;
	double low = q->is_inverse ? 1 / m->ci_high : m->ci_low, high = q->is_inverse ? 1 / m->ci_low : m->ci_high;
	sbuf_printf(out, "  %s%.3f", q->word, q->is_inverse ? 1 / m->value : m->value);
	if (isfinite(low) && isfinite(high))
		sbuf_printf(out, " [%.3f, %.3f]", low, high);
}

static void put_ratios(struct sbuf *out, const struct run_result *const *runs, size_t n, size_t width)
{
	for (size_t first = 0, last; first < QUOTIENTS; first = last) {
		for (last = first + 1; last < QUOTIENTS && !report_quotients[last].title;)
			last++;
		if (!is_known(runs + 1, n - 1, report_quotients[first].metric))
			continue;
		report_put_title(out, report_quotients[first].title, runs[0]);
		for (size_t i = 1; i < n; i++) {
			char *name = report_name_of(runs[i]);
			sbuf_puts(out, "  ");
			report_pad(out, name, width, false);
			mem_free(name);
			for (size_t k = first; k < last; k++)
				put_quotient(out, &report_quotients[k], result_find(runs[i], report_quotients[k].metric));
			sbuf_putc(out, '\n');
		}
	}
}

/* Metrics that count incomplete jobs or requests, named NOUN_WORD, in the order of the sentence. */
static const struct left_out {
	const char *noun, *word[5];
} left_out[] = { { "jobs", { "killed", "failed", "unfinished", "refused" } }, { "requests", { "refused", "shed", "unfinished" } } };

/* Returns whether a remark of the run states the number and its reasons: "12 of 400 requests were refused: ..". */
static bool is_remarked(const struct run_result *r, const char *noun, const char *word)
{
	char text[64];
	const char *note;
	snprintf(text, sizeof text, " %.20s were %.20s: ", noun, word);
	for (size_t i = 0; (note = result_note_at(r, "remark", i)); i++)
		if (strstr(note, text))
			return true;
	return false;
}

/* Lists the jobs and requests that the averages leave out, and those that were killed or failed. prefix: "", or "PART." in a run of
 * several worlds. */
static void put_left_out(struct sbuf *out, const struct run_result *r, const char *prefix, const struct left_out *x)
{
	const char *before = NULL;
	for (size_t i = 0; x->word[i]; i++) {
		char metric[96];
		snprintf(metric, sizeof metric, "%.40s%s_%s", prefix, x->noun, x->word[i]);
		const struct metric *m = result_find(r, metric);
		if (!m || !(m->value > 0) || is_remarked(r, x->noun, x->word[i]))
			continue;
		if (!before) {
			char *name = report_name_of(r);
			sbuf_printf(out, "%s: %s not completed: ", name, x->noun);
			mem_free(name);
		}
		sbuf_printf(out, "%s%s %.0f", before ? before : "", x->word[i], m->value);
		before = ", ";
	}
	if (before)
		sbuf_putc(out, '\n');
}

static void put_remarks(struct sbuf *out, const struct run_result *r)
{
	for (size_t i = 0; i < sizeof left_out / sizeof *left_out; i++) {
		put_left_out(out, r, "", &left_out[i]);
		for (const char *const *p = form_of(r)->parts; p && *p; p++) {
			char prefix[48];
			snprintf(prefix, sizeof prefix, "%.40s.", *p);
			put_left_out(out, r, prefix, &left_out[i]);
		}
	}
}

/* Reports a goal that a run missed; over replications, the number of replications that missed it. */
static void put_unkept(struct sbuf *out, const struct run_result *r, const char *metric, const char *what)
{
	const struct metric *m = result_find(r, metric), *n = result_find(r, "replications");
	if (!m || !(m->value < 1))
		return;
	char *name = report_name_of(r);
	sbuf_printf(out, "%s: %s", name, what);
	if (n)
		sbuf_printf(out, " in %.0f of %.0f replications", (1 - m->value) * n->value, n->value);
	sbuf_putc(out, '\n');
	mem_free(name);
}

/* Reports an incomplete job or a missed deadline. */
static void put_incomplete(struct sbuf *out, const struct run_result *r)
{
	put_unkept(out, r, "is_complete", "the job is not complete");
	put_unkept(out, r, "deadline_kept", "the deadline is missed");
}

/* Returns the source of times if it is the same in all runs, else NULL. */
static const char *common_source(const struct run_result *const *runs, size_t n)
{
	const char *source = n ? result_find_note(runs[0], "cost-source") : NULL;
	for (size_t i = 1; i < n && source; i++) {
		const char *other = result_find_note(runs[i], "cost-source");
		if (!other || strcmp(other, source))
			source = NULL;
	}
	return source;
}

/* Lists a step policy's choice, the simulated share, and the source of times if it differs between runs. */
static void put_notes(struct sbuf *out, const struct run_result *r, bool has_common_source)
{
	static const char *const kinds[] = { "choice", "steady-state", "cost-source" };
	const char *between = ": ";
	if (form_of(r)->has_marks)
		return;
	char *name = report_name_of(r);
	for (size_t i = 0; i < 2u + !has_common_source; i++) {
		const char *note = result_find_note(r, kinds[i]);
		if (!note)
			continue;
		if (*between == ':')
			sbuf_puts(out, name);
		sbuf_puts(out, between);
		report_put_plain(out, note);
		between = "; ";
	}
	if (*between == ';')
		sbuf_putc(out, '\n');
	mem_free(name);
}

/* ---- assumptions and remarks ---- */

static bool has_note(const struct run_result *r, const char *kind, const char *text)
{
	const char *other;
	for (size_t k = 0; (other = result_note_at(r, kind, k)); k++)
		if (!strcmp(other, text))
			return true;
	return false;
}

/* Appends a note of runs[first], unless an earlier run has the same note: the text alone if all runs have it, else after the names
 * of those runs. */
static void put_note(struct sbuf *out, const struct run_result *const *runs, size_t n, size_t first, const char *kind, const char *text)
{
	size_t having = 0;
	for (size_t i = 0; i < first; i++)
		if (has_note(runs[i], kind, text))
			return;
	for (size_t i = first; i < n; i++)
		having += has_note(runs[i], kind, text);
	for (size_t i = first, put = 0; i < n && having < n; i++) {
		if (!has_note(runs[i], kind, text))
			continue;
		char *name = report_name_of(runs[i]);
		sbuf_printf(out, "%s%s%s", put ? ", " : "", name, put + 1 == having ? ": " : "");
		mem_free(name);
		put++;
	}
	report_put_plain(out, text);
	sbuf_putc(out, '\n');
}

static void put_assumptions_and_remarks(struct sbuf *out, const struct run_result *const *runs, size_t n)
{
	static const char *const kinds[] = { "assumption", "remark" };
	const char *text;
	for (size_t kind = 0; kind < 2; kind++)
		for (size_t i = 0; i < n; i++)
			for (size_t k = 0; (text = result_note_at(runs[i], kinds[kind], k)); k++)
				put_note(out, runs, n, i, kinds[kind], text);
}

/* Appends the lines below the table. */
static void put_sentences(struct sbuf *out, const struct run_result *const *runs, size_t n, const struct report_comparisons *x)
{
	const char *source = common_source(runs, n);
	size_t width = strlen("policy");
	for (size_t i = 0; i < n; i++) {
		char *name = report_name_of(runs[i]);
		size_t w = report_text_width(name);
		width = w > width ? w : width;
		mem_free(name);
	}
	if (n) {
		put_differences(out, runs, n, width);
		report_put_comparisons(out, x, runs, width);
		put_ratios(out, runs, n, width);
	}
	for (size_t i = 0; i < n; i++) {
		put_remarks(out, runs[i]);
		put_incomplete(out, runs[i]);
		put_notes(out, runs[i], source != NULL);
	}
	if (source) {
		const char *title = form_of(runs[0])->cost_title;
		sbuf_printf(out, "%s: ", title ? title : "times of layers");
		report_put_plain(out, source);
		sbuf_putc(out, '\n');
	}
	for (size_t i = 0; i < n; i++)
		if (runs[i]->is_oracle) {
			const char *known = form_of(runs[i])->oracle;
			sbuf_printf(out, "oracle: the policy knows %s\n", known ? known : "true durations, unlike real schedulers");
			break;
		}
	put_assumptions_and_remarks(out, runs, n);
}

/* Appends the recorded and the simulated waits, if the runs have their metrics. */
static void put_recorded(struct sbuf *out, const struct run_result *const *runs, size_t n, struct report_style style)
{
	struct grid g = recorded_grid(runs, n, style.format == GRID_TEXT);
	if (g.rows && style.format != GRID_CSV && style.format != GRID_JSON) {
		sbuf_putc(out, '\n');
		grid_put(out, &g, style.format, style.width);
	}
	grid_free(&g);
}

void report_table(
	struct sbuf *out, const struct run_result *const *runs, size_t n, const struct report_comparisons *x, struct report_style style)
{
	struct sbuf sentences = { 0 };
	const char *listed = n ? report_rows_of(runs, n) : NULL;
	if (listed && style.format == GRID_CSV) {
		report_rows(out, runs, n, listed, style);
		return;
	}
	struct grid g = style.format == GRID_CSV ? exact_grid_of(runs, n) : grid_of(runs, n, style.format);
	grid_put(out, &g, style.format, style.width);
	if (listed)
		report_rows(out, runs, n, listed, style);
	put_recorded(out, runs, n, style);
	put_sentences(&sentences, runs, n, x);
	grid_put_notes(out, sbuf_text(&sentences), style.format, style.width);
	sbuf_free(&sentences);
	grid_free(&g);
}
