/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "results/report.h"

#include "base/mem.h"
#include "results/form.h"

#include <cjson/cJSON.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static void add_real(cJSON *to, const char *name, double v)
{
	char text[32];
	if (!isfinite(v)) {
		cJSON_AddNullToObject(to, name);
		return;
	}
	snprintf(text, sizeof text, "%.17g", v);
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
	return o;
}

void report_json(struct sbuf *out, const struct run_result *const *runs, size_t n)
{
	cJSON *top = cJSON_CreateObject();
	cJSON *list = cJSON_AddArrayToObject(top, "runs");
	for (size_t i = 0; i < n; i++)
		cJSON_AddItemToArray(list, run_object(runs[i]));
	char *text = cJSON_Print(top);
	if (text) {
		sbuf_puts(out, text);
		sbuf_putc(out, '\n');
	}
	cJSON_free(text);
	cJSON_Delete(top);
}
