/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Differences between the policies at a point: as a run prints them below its table, and paired over seeds. */
#include "study/page_parts.h"

#include "base/mem.h"
#include "plots/html.h"
#include "results/report.h"
#include "study/compare.h"
#include "world/run.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_GROUPS = 100, MOST_ROWS_READ = 2000000, LEAST_SEEDS = 2, MOST_RANKED = 12 };

enum statement { DIFFERENCE, RATIO, RANK };

struct line {
	const struct page_run *run; /* run whose values of the axes the line shows */
	const char *seed;           /* NULL: over several seeds */
	char *name, *finding;
	struct interval d;
	double base;
};

/* The lines of one statement about all points. */
struct statements {
	char *caption;
	enum statement form;
	enum report_kind kind;
	struct line *line;
	size_t n, cap;
};

struct pairs {
	const struct page_set *s;
	struct store *store;
	struct statements *list;
	size_t n, cap;
	uint64_t rows;           /* rows read so far */
	size_t groups, left_out; /* points compared, and points left out */
	char why[400];           /* why a point could not be compared; "": all could */
};

static bool is_of_policy(const struct page_axis *a)
{
	return !strncmp(a->path, "policy\x1f", 7);
}

/* ---- statements ---- */

static struct statements *statements_of(struct pairs *p, const char *caption, enum statement form, enum report_kind kind)
{
	for (size_t i = 0; i < p->n; i++)
		if (!strcmp(p->list[i].caption, caption))
			return &p->list[i];
	MEM_GROW(p->list, p->n, p->cap);
	p->list[p->n] = (struct statements){ .caption = mem_strdup(caption), .form = form, .kind = kind };
	return &p->list[p->n++];
}

/* Adds a line with a copy of the finding, and frees the finding. */
static void add_line(struct statements *t, struct line x, const struct run_result *r, struct sbuf *finding)
{
	MEM_GROW(t->line, t->n, t->cap);
	x.name = report_name_of(r);
	const char *text = sbuf_text(finding);
	x.finding = mem_strdup(text + strspn(text, " "));
	sbuf_free(finding);
	t->line[t->n++] = x;
}

/* Puts a title of the terminal's table into out: its "%s" is the name of the first policy, and ":\n" at the end is left out. */
static void put_caption(struct sbuf *out, const char *title, const struct run_result *first)
{
	struct sbuf b = { 0 };
	report_put_title(&b, title, first);
	const char *text = sbuf_text(&b) + 1; /* without the empty line */
	size_t n = strcspn(text, "\n");
	sbuf_add(out, text, n && text[n - 1] == ':' ? n - 1 : n);
	if (out->len)
		out->text[0] = (char)(out->text[0] >= 'a' && out->text[0] <= 'z' ? out->text[0] - 32 : out->text[0]);
	sbuf_free(&b);
}

static bool has_value(const struct metric *m)
{
	return m && isfinite(m->value);
}

/* Differences job by job or request by request. */
static void add_paired(struct pairs *p, const struct line *at, struct run_result *const *r, size_t n)
{
	for (const struct report_difference *c = report_differences; c->metric; c++)
		for (size_t i = 1; i < n; i++) {
			const struct metric *m = result_find(r[i], c->metric), *base = result_find(r[i], c->base);
			if (!has_value(m))
				continue;
			struct sbuf caption = { 0 }, finding = { 0 };
			put_caption(&caption, c->title, r[0]);
			struct line x = *at;
			x.d = (struct interval){ m->value, m->ci_low, m->ci_high };
			x.base = base ? base->value : NAN;
			if (m->ci_low <= 0 && m->ci_high >= 0)
				sbuf_puts(&finding, "no clear difference");
			add_line(statements_of(p, sbuf_text(&caption), DIFFERENCE, c->kind), x, r[i], &finding);
			sbuf_free(&caption);
		}
}

static void add_quotients(struct pairs *p, const struct line *at, struct run_result *const *r, size_t n)
{
	for (const struct report_quotient *q = report_quotients; q->metric; q++)
		for (size_t i = 1; i < n; i++) {
			const struct metric *m = result_find(r[i], q->metric);
			if (!has_value(m) || (q->is_inverse && !(m->value > 0)))
				continue;
			struct sbuf caption = { 0 }, finding = { 0 };
			if (*q->word) {
				char *first = report_name_of(r[0]);
				sbuf_printf(&caption, "Ratio to %s: %.*s", first, (int)strlen(q->word) - 1, q->word);
				mem_free(first);
			} else {
				put_caption(&caption, q->title, r[0]);
			}
			struct line x = *at;
			x.d = q->is_inverse ? (struct interval){ 1 / m->value, 1 / m->ci_high, 1 / m->ci_low }
					    : (struct interval){ m->value, m->ci_low, m->ci_high };
			add_line(statements_of(p, sbuf_text(&caption), RATIO, REPORT_NUMBER), x, r[i], &finding);
			sbuf_free(&caption);
		}
}

static void put_level(struct sbuf *out, const struct comparison *c, size_t n, const char *what)
{
	if (compare_is_possible(c) && n > 1)
		sbuf_printf(out, ", %.4g %% for all %zu %s together", 100 * c->options.level, n, what);
}

/* Adds the difference to the first policy, or to the best of the others. */
static void add_difference(
	struct pairs *p, const struct line *at, const struct report_comparison *c, struct run_result *const *r, const char *over)
{
	bool is_best = c->c->options.family == COMPARE_BEST;
	struct sbuf caption = { 0 };
	char *first = report_name_of(r[0]);
	sbuf_printf(&caption, "%s against %s, paired over %zu %s", c->column->title, is_best ? "the best of the others" : first,
		c->c->n_values, over);
	mem_free(first);
	put_level(&caption, c->c, is_best ? c->c->n_policies : c->c->n_pairs, is_best ? "policies" : "pairs");
	for (size_t i = is_best ? 0 : 1; i < c->c->n_policies; i++) {
		struct sbuf finding = { 0 };
		struct line x = *at;
		const struct compare_policy *policy = &c->c->policy[i];
		const struct compare_pair *pair = is_best ? NULL : compare_pair_of(c->c, 0, i);
		x.d = is_best ? policy->to_best : pair->difference;
		x.base = is_best ? policy->mean - policy->to_best.mean : c->c->policy[0].mean;
		if (!compare_is_possible(c->c))
			sbuf_printf(&finding, "no interval: fewer than %d %s", ESTIMATE_LEAST, over);
		else if (!is_best)
			report_put_verdict(&finding, c, pair);
		else
			sbuf_puts(&finding, policy->may_be_best ? "may be the best" : "not the best");
		add_line(statements_of(p, sbuf_text(&caption), DIFFERENCE, c->column->kind), x, r[i], &finding);
	}
	sbuf_free(&caption);
}

static void add_ranks(
	struct pairs *p, const struct line *at, const struct report_comparison *c, struct run_result *const *r, const char *over)
{
	struct sbuf caption = { 0 };
	sbuf_printf(&caption, "Order by %s over %zu %s", c->column->title, c->c->n_values, over);
	for (size_t i = 0; i < c->c->n_policies; i++) {
		size_t k = c->c->order[i];
		const struct compare_policy *policy = &c->c->policy[k];
		struct sbuf finding = { 0 };
		struct line x = *at;
		x.d = (struct interval){ policy->is_best, NAN, NAN };
		if (c->c->options.family != COMPARE_ALL)
			sbuf_printf(&finding, "%zu", i + 1);
		else if (policy->rank_low == policy->rank_high)
			sbuf_printf(&finding, "%zu", policy->rank_low);
		else
			sbuf_printf(&finding, "%zu to %zu", policy->rank_low, policy->rank_high);
		add_line(statements_of(p, sbuf_text(&caption), RANK, REPORT_NUMBER), x, r[k], &finding);
	}
	sbuf_free(&caption);
}

static void add_comparison(
	struct pairs *p, const struct line *at, const struct report_comparison *c, struct run_result *const *r, const char *over)
{
	if (compare_is_possible(c->c) || c->c->options.family != COMPARE_BEST)
		add_difference(p, at, c, r, over);
	if (compare_is_possible(c->c) && c->is_ranked)
		add_ranks(p, at, c, r, over);
}

/* ---- one point, as a run of all its policies compares them ---- */

/* Returns the scenario of the runs of a point with all their policies. */
static cJSON *scenario_of(const struct page_run *const *run, size_t n)
{
	cJSON *o = cJSON_Duplicate(run[0]->scenario, 1), *list;
	cJSON_DeleteItemFromObjectCaseSensitive(o, "policy");
	list = cJSON_AddArrayToObject(o, "policies");
	for (size_t i = 0; i < n; i++)
		cJSON_AddItemToArray(list, cJSON_Duplicate(cJSON_GetObjectItemCaseSensitive(run[i]->scenario, "policy"), 1));
	return o;
}

static int read_runs(
	struct pairs *p, struct scenario *s, const struct page_run *const *run, size_t n, struct run_result **r, struct orr_error *err)
{
	int rc = ORR_OK;
	for (size_t i = 0; i < n && !rc; i++) {
		rc = store_read_run(p->store, run[i]->stored->run, &r[i], err);
		p->rows += run[i]->stored->rows_total;
		if (!rc && s->world->reused)
			s->world->reused(s, i, r[i]);
	}
	return rc;
}

static void compare_point(struct pairs *p, const struct page_run *const *run, size_t n)
{
	static const struct world_output quietly = { .quiet = true, .is_series = true };
	struct orr_error err = { 0 };
	cJSON *o = scenario_of(run, n);
	struct scenario *s = scenario_open(o, &quietly, &err);
	struct run_result **r = mem_zalloc(n, sizeof *r);
	int rc = s ? read_runs(p, s, run, n, r, &err) : err.code;
	if (!rc)
		rc = scenario_finish(s, r, n, &err);
	if (!rc) {
		const struct line at = { .run = run[0], .seed = run[0]->r->seed_text };
		struct report_comparisons *x = compare_policies(s, r, n);
		add_paired(p, &at, r, n);
		for (size_t i = 0; i < x->n; i++)
			add_comparison(p, &at, &x->item[i], r, "replications");
		add_quotients(p, &at, r, n);
		report_comparisons_free(x);
	} else if (!*p->why) {
		snprintf(p->why, sizeof p->why, "%.380s", err.text);
	}
	for (size_t i = 0; i < n; i++)
		result_free(r[i]);
	mem_free(r);
	scenario_close(s);
	cJSON_Delete(o);
}

/* ---- points ---- */

struct key {
	const struct page_set *s;
	const struct page_run *run;
};

/* Compares the values outside the policy. */
static int by_place(const struct key *x, const struct key *y)
{
	for (size_t k = 0; k < x->s->n_axes; k++)
		if (!is_of_policy(&x->s->axis[k]) && x->run->value[k] != y->run->value[k])
			return x->run->value[k] < y->run->value[k] ? -1 : 1;
	return 0;
}

static int by_seed(const void *a, const void *b)
{
	const struct key *x = a, *y = b;
	int order = by_place(x, y);
	if (!order)
		order = strcmp(x->run->r->seed_text, y->run->r->seed_text);
	return order ? order : (x->run > y->run) - (x->run < y->run);
}

/* Compares the policies at equal seed and values of the other axes. A second run of a policy, with other parameters, begins a new group. */
static void compare_group(struct pairs *p, const struct key *key, size_t n)
{
	const struct page_run **run = mem_zalloc(n, sizeof *run);
	bool *has = mem_zalloc(p->s->n_labels, sizeof *has);
	size_t k = 0;
	for (size_t i = 0; i <= n; i++) {
		if (i < n && !has[key[i].run->label]) {
			has[key[i].run->label] = true;
			run[k++] = key[i].run;
			continue;
		}
		if (k > 1 && (p->groups == MOST_GROUPS || p->rows > MOST_ROWS_READ))
			p->left_out++;
		else if (k > 1) {
			p->groups++;
			compare_point(p, run, k);
		}
		if (i == n)
			break;
		memset(has, 0, p->s->n_labels * sizeof *has);
		has[key[i].run->label] = true;
		run[0] = key[i].run;
		k = 1;
	}
	mem_free(has);
	mem_free(run);
}

/* Returns the number of different seeds of n runs in order of seeds. */
static size_t count_seeds(const struct key *key, size_t n)
{
	size_t seeds = n > 0;
	for (size_t i = 1; i < n; i++)
		seeds += strcmp(key[i].run->r->seed_text, key[i - 1].run->r->seed_text) != 0;
	return seeds;
}

/* Fills in value[label][seed]; NAN: no such run. Returns false if a policy has two runs with one seed. */
static bool read_values(const struct key *key, size_t n, const char *metric, double **value)
{
	size_t seed = 0;
	for (size_t i = 0; i < n; i++) {
		seed += i && strcmp(key[i].run->r->seed_text, key[i - 1].run->r->seed_text) != 0;
		const struct metric *m = result_find(key[i].run->r, metric);
		double *at = &value[key[i].run->label][seed];
		if (!isnan(*at))
			return false;
		*at = m ? m->value : NAN;
	}
	return true;
}

/* Compares the policies in one column of the table: at equal values of the other axes, over the seeds. */
static void compare_column(struct pairs *p, const struct key *key, size_t n, size_t seeds, const struct report_column *column)
{
	size_t n_labels = p->s->n_labels, policies = 0;
	double **value = mem_zalloc(n_labels, sizeof *value);
	const double **known = mem_zalloc(n_labels, sizeof *known);
	struct run_result **r = mem_zalloc(n_labels, sizeof *r);
	for (size_t l = 0; l < n_labels; l++) {
		value[l] = mem_zalloc(seeds, sizeof **value);
		for (size_t k = 0; k < seeds; k++)
			value[l][k] = NAN;
	}
	bool is_one = read_values(key, n, column->metric, value);
	for (size_t l = 0; l < n_labels && is_one; l++)
		for (size_t i = 0; i < n; i++)
			if (key[i].run->label == l) {
				known[policies] = value[l];
				r[policies++] = key[i].run->r;
				break;
			}
	if (policies > 1) {
		struct compare_options o = { .family = policies > MOST_RANKED ? COMPARE_FIRST : COMPARE_ALL,
			.is_larger_better = column->is_larger_better,
			.level = 0.95 };
		struct report_comparison c = { NULL, column, true, compare_new(known, policies, seeds, &o) };
		const struct line at = { .run = key[0].run };
		if (c.c->n_values > 1)
			add_comparison(p, &at, &c, r, "seeds");
		compare_free(c.c);
	}
	for (size_t l = 0; l < n_labels; l++)
		mem_free(value[l]);
	mem_free(r);
	mem_free(known);
	mem_free(value);
}

/* Compares the runs at equal values of the axes other than policy and seed: over the seeds, or seed by seed if there are few seeds. */
static void compare_place(struct pairs *p, const struct key *key, size_t n)
{
	size_t seeds = count_seeds(key, n);
	const struct report_form *form = report_form_of(p->s->world);
	if (seeds >= LEAST_SEEDS) {
		for (const struct report_column *c = form ? form->columns : NULL; c && c->metric; c++)
			if (c->is_primary)
				compare_column(p, key, n, seeds, c);
		return;
	}
	compare_group(p, key, n);
}

/* ---- the tables ---- */

void page_put_axis_cell(struct html_table *t, const struct page_axis *a, size_t value)
{
	struct sbuf b = { 0 };
	if (a->is_number)
		sbuf_printf(&b, "%.10g", a->number[value]);
	else
		sbuf_puts(&b, a->text[value]);
	html_table_cell(t, sbuf_text(&b));
	sbuf_free(&b);
}

static struct report_scale scale_of(const struct statements *t)
{
	struct metric *m = mem_zalloc(t->n, sizeof *m);
	const struct metric **list = mem_zalloc(t->n, sizeof *list);
	for (size_t i = 0; i < t->n; i++) {
		m[i] = (struct metric){ .value = t->line[i].d.mean };
		list[i] = &m[i];
	}
	struct report_scale by = report_scale_of(t->kind, list, t->n);
	mem_free(list);
	mem_free(m);
	return by;
}

static void put_value(struct html_table *t, const struct statements *x, const struct line *l, struct report_scale by)
{
	struct sbuf b = { 0 };
	if (x->form == RANK) {
		sbuf_printf(&b, "%.2f", l->d.mean);
	} else if (x->form == RATIO) {
		sbuf_printf(&b, "%.3f", l->d.mean);
		if (isfinite(l->d.low) && isfinite(l->d.high))
			sbuf_printf(&b, " [%.3f, %.3f]", l->d.low, l->d.high);
	} else {
		sbuf_puts(&b, l->d.mean > 0 ? "+" : "");
		report_put_number(&b, l->d.mean / by.divisor);
		if (isfinite(l->d.low) && isfinite(l->d.high)) {
			sbuf_puts(&b, " [");
			report_put_number(&b, l->d.low / by.divisor);
			sbuf_puts(&b, ", ");
			report_put_number(&b, l->d.high / by.divisor);
			sbuf_puts(&b, "]");
		}
	}
	html_table_cell(t, sbuf_text(&b));
	sbuf_clear(&b);
	if (x->form == DIFFERENCE && l->base > 0)
		sbuf_printf(&b, "%+.1f", 100 * l->d.mean / l->base);
	if (x->form == DIFFERENCE)
		html_table_cell(t, sbuf_text(&b));
	sbuf_free(&b);
}

static void put_statements(struct sbuf *out, const struct page_set *s, const struct statements *x)
{
	static const char *const value[] = { "difference", "ratio", "probability of being the best" };
	struct html_table t = { .caption = x->caption };
	struct report_scale by = scale_of(x);
	bool has_seeds = s->has_seeds && x->line[0].seed, has_findings = false;
	for (size_t i = 0; i < x->n; i++)
		has_findings |= *x->line[i].finding != '\0';
	for (size_t k = 0; k < s->n_axes; k++)
		if (!is_of_policy(&s->axis[k]))
			html_table_column(&t, s->axis[k].title, s->axis[k].is_number, false);
	if (has_seeds)
		html_table_column(&t, "seed", true, false);
	html_table_column(&t, "policy", false, false);
	struct sbuf title = { 0 };
	page_put_title(&title, value[x->form], by.unit);
	sbuf_puts(&title, x->form == RANK ? "" : " [interval]");
	html_table_column(&t, sbuf_text(&title), true, false);
	sbuf_free(&title);
	if (x->form == DIFFERENCE)
		html_table_column(&t, "difference (%)", true, false);
	if (has_findings)
		html_table_column(&t, x->form == RANK ? "rank" : "finding", x->form == RANK, false);
	for (size_t i = 0; i < x->n; i++) {
		const struct line *l = &x->line[i];
		for (size_t k = 0; k < s->n_axes; k++)
			if (!is_of_policy(&s->axis[k]))
				page_put_axis_cell(&t, &s->axis[k], l->run->value[k]);
		if (has_seeds)
			html_table_cell(&t, l->seed);
		html_table_cell(&t, l->name);
		put_value(&t, x, l, by);
		if (has_findings)
			html_table_cell(&t, l->finding);
	}
	html_table_put(out, &t);
}

static void put_all(struct sbuf *out, const struct pairs *p)
{
	if (!p->n && !*p->why)
		return;
	sbuf_puts(out, "<h3>Differences of the policies</h3>\n");
	if (p->n)
		sbuf_puts(out,
			"<p class=\"note\">Policies of one point have the same inputs, so they are compared in pairs. Intervals have a "
			"level of 95 % unless the caption gives a level for several statements together.</p>\n");
	for (size_t i = 0; i < p->n; i++)
		put_statements(out, p->s, &p->list[i]);
	if (p->left_out)
		sbuf_printf(
			out, "<p class=\"note\">The tables have the first %zu of %zu points.</p>\n", p->groups, p->groups + p->left_out);
	if (*p->why) {
		sbuf_puts(out, "<p class=\"note\">Some points are not compared: ");
		html_text(out, p->why);
		sbuf_puts(out, "</p>\n");
	}
}

void page_pairs(struct sbuf *out, const struct page_set *s, struct store *store)
{
	struct pairs p = { .s = s, .store = store };
	struct key *key = mem_zalloc(s->n + 1, sizeof *key);
	for (size_t i = 0; i < s->n; i++)
		key[i] = (struct key){ s, &s->run[i] };
	qsort(key, s->n, sizeof *key, by_seed);
	for (size_t from = 0, to; from < s->n && s->n_labels > 1; from = to) {
		for (to = from + 1; to < s->n && !by_place(&key[from], &key[to]);)
			to++;
		compare_place(&p, &key[from], to - from);
	}
	put_all(out, &p);
	for (size_t i = 0; i < p.n; i++) {
		for (size_t k = 0; k < p.list[i].n; k++) {
			mem_free(p.list[i].line[k].name);
			mem_free(p.list[i].line[k].finding);
		}
		mem_free(p.list[i].line);
		mem_free(p.list[i].caption);
	}
	mem_free(p.list);
	mem_free(key);
}
