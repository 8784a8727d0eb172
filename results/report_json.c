/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "results/report.h"

#include "base/mem.h"
#include "base/num.h"
#include "results/form.h"
#include "results/report_rows.h"

#include <cjson/cJSON.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static void add_real(cJSON *to, const char *name, double v)
{
	char text[NUM_REAL_MAX];
	if (!isfinite(v)) {
		cJSON_AddNullToObject(to, name);
		return;
	}
	num_put_real(text, v);
	cJSON_AddRawToObject(to, name, text);
}

/* Adds the scenario as JSON; invalid JSON is added as a string. */
static void add_scenario(cJSON *to, const char *scenario)
{
	cJSON *parsed = scenario ? cJSON_Parse(scenario) : NULL;
	if (parsed)
		cJSON_AddRawToObject(to, "scenario", scenario);
	else
		cJSON_AddStringToObject(to, "scenario", scenario ? scenario : "");
	cJSON_Delete(parsed);
}

/* Adds the notes of one kind as an array of texts. */
static void add_notes(cJSON *to, const char *name, const struct run_result *r, const char *kind)
{
	cJSON *list = cJSON_AddArrayToObject(to, name);
	const char *text;
	for (size_t i = 0; (text = result_note_at(r, kind, i)); i++)
		cJSON_AddItemToArray(list, cJSON_CreateString(text));
}

static cJSON *run_object(const struct run_result *r)
{
	char number[24];
	cJSON *o = cJSON_CreateObject();
	cJSON_AddStringToObject(o, "label", r->label ? r->label : "");
	cJSON_AddStringToObject(o, "policy", r->policy ? r->policy : "");
	cJSON_AddStringToObject(o, "world", r->world ? r->world : "");
	cJSON_AddBoolToObject(o, "is_oracle", r->is_oracle);
	cJSON_AddStringToObject(o, "hash", r->hash ? r->hash : "");
	cJSON_AddStringToObject(o, "seed", r->seed_text ? r->seed_text : "");
	snprintf(number, sizeof number, "%" PRIu64, r->rows_total);
	cJSON_AddRawToObject(o, "rows_total", number);
	add_scenario(o, r->scenario);
	const struct report_form *form = report_form_of(r->world);
	if (!(form && form->has_marks) && result_find_note(r, "choice"))
		cJSON_AddStringToObject(o, "choice", result_find_note(r, "choice"));
	if (result_find_note(r, "cost-source"))
		cJSON_AddStringToObject(o, "cost_source", result_find_note(r, "cost-source"));
	add_notes(o, "assumptions", r, "assumption");
	add_notes(o, "remarks", r, "remark");
	cJSON *metrics = cJSON_AddObjectToObject(o, "metrics");
	for (size_t i = 0; i < r->n_metrics; i++) {
		cJSON *m = cJSON_AddObjectToObject(metrics, r->metrics[i].name);
		add_real(m, "value", r->metrics[i].value);
		add_real(m, "ci_low", r->metrics[i].ci_low);
		add_real(m, "ci_high", r->metrics[i].ci_high);
	}
	const char *listed = report_rows_of(&r, 1);
	if (listed)
		cJSON_AddItemToObject(o, listed, report_rows_json(r, listed));
	return o;
}

static cJSON *pair_object(const struct report_comparison *x, const struct run_result *const *runs, const struct compare_pair *p)
{
	cJSON *o = cJSON_CreateObject();
	cJSON_AddStringToObject(o, "a", runs[p->a]->label);
	cJSON_AddStringToObject(o, "b", runs[p->b]->label);
	add_real(o, "difference", p->difference.mean);
	add_real(o, "low", p->difference.low);
	add_real(o, "high", p->difference.high);
	add_real(o, "p", p->p);
	add_real(o, "p_holm", p->p_holm);
	add_real(o, "p_t", p->p_t);
	if (x->c->options.within > 0) {
		add_real(o, "p_equal", p->p_equal);
		add_real(o, "p_equal_holm", p->p_equal_holm);
		add_real(o, "p_equal_t", p->p_equal_t);
	}
	cJSON_AddStringToObject(o, "verdict", report_verdict(p->verdict));
	return o;
}

static cJSON *ranked_object(const struct comparison *c, const struct run_result *const *runs, size_t i)
{
	const struct compare_policy *p = &c->policy[i];
	cJSON *o = cJSON_CreateObject();
	cJSON_AddStringToObject(o, "label", runs[i]->label);
	add_real(o, "mean", p->mean);
	add_real(o, "probability_best", p->is_best);
	if (p->rank_low) {
		add_real(o, "rank_low", (double)p->rank_low);
		add_real(o, "rank_high", (double)p->rank_high);
	}
	if (c->options.family == COMPARE_BEST) {
		add_real(o, "to_best", p->to_best.mean);
		add_real(o, "low", p->to_best.low);
		add_real(o, "high", p->to_best.high);
		cJSON_AddBoolToObject(o, "may_be_best", p->may_be_best);
	}
	return o;
}

static cJSON *comparison_object(const struct report_comparison *x, const struct run_result *const *runs)
{
	const struct comparison *c = x->c;
	cJSON *o = cJSON_CreateObject();
	cJSON_AddStringToObject(o, "metric", x->metric);
	cJSON_AddStringToObject(o, "family", report_family(c->options.family));
	add_real(o, "replications", (double)c->n_values);
	add_real(o, "level", c->options.level);
	if (c->options.within > 0) {
		add_real(o, "equal_within", c->options.within);
		cJSON_AddBoolToObject(o, "is_relative", c->options.is_relative);
	}
	cJSON *pairs = cJSON_AddArrayToObject(o, "pairs");
	for (size_t i = 0; i < c->n_pairs; i++)
		cJSON_AddItemToArray(pairs, pair_object(x, runs, &c->pair[i]));
	cJSON *ranking = cJSON_AddArrayToObject(o, "ranking");
	for (size_t i = 0; x->is_ranked && compare_is_possible(c) && i < c->n_policies; i++)
		cJSON_AddItemToArray(ranking, ranked_object(c, runs, c->order[i]));
	return o;
}

void report_json(struct sbuf *out, const struct run_result *const *runs, size_t n, const struct report_comparisons *x)
{
	cJSON *top = cJSON_CreateObject();
	cJSON *list = cJSON_AddArrayToObject(top, "runs");
	for (size_t i = 0; i < n; i++)
		cJSON_AddItemToArray(list, run_object(runs[i]));
	cJSON *comparisons = x && x->n ? cJSON_AddArrayToObject(top, "comparisons") : NULL;
	for (size_t i = 0; comparisons && i < x->n; i++)
		cJSON_AddItemToArray(comparisons, comparison_object(&x->item[i], runs));
	char *text = cJSON_Print(top);
	if (text) {
		sbuf_puts(out, text);
		sbuf_putc(out, '\n');
	}
	cJSON_free(text);
	cJSON_Delete(top);
}
