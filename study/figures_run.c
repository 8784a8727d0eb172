/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The runs of a book, at all their points. */
#include "study/figures.h"

#include "base/mem.h"
#include "base/sbuf.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Expands ${..} in every text of the scenario. */
static int expand_all(struct book *b, cJSON *o, const char *where, struct orr_error *err)
{
	for (cJSON *m = o->child; m; m = m->next) {
		int rc = expand_all(b, m, where, err);
		if (rc)
			return rc;
		if (!cJSON_IsString(m))
			continue;
		char *text = book_text(b, m->valuestring, where, err);
		if (!text)
			return ORR_EINPUT;
		cJSON_SetValuestring(m, text);
		mem_free(text);
	}
	return ORR_OK;
}

static int apply_set(struct book *b, cJSON *scenario, const cJSON *m, const char *where, struct orr_error *err)
{
	char *template = scenario_scalar(m), *value = template ? book_text(b, template, where, err) : NULL;
	struct orr_error inner = { 0 };
	struct sbuf pair = { 0 };
	int rc = ORR_OK;
	if (!template)
		rc = book_fail(b, where, err, "\"set\": \"%.60s\": expected a string, a number, true or false", m->string);
	else if (!value)
		rc = ORR_EINPUT;
	if (!rc) {
		sbuf_printf(&pair, "%s=%s", m->string, value);
		if (scenario_set(scenario, sbuf_text(&pair), &inner))
			rc = book_fail(b, where, err, "%s", inner.text);
	}
	sbuf_free(&pair);
	mem_free(template);
	mem_free(value);
	return rc;
}

void book_describe_point(const struct book *b, const struct book_run *r, char *out, size_t size)
{
	size_t used = (size_t)snprintf(out, size, "$.runs.%.40s", r->name);
	for (size_t i = 0; i < r->n_axes && used < size; i++) {
		const struct book_axis *a = &b->axis[r->axis[i]];
		used += (size_t)snprintf(out + used, size - used, "%s%.20s=%.20s%s", i ? "," : "[", a->name,
			book_value(a, b->bound[r->axis[i]])->text, i + 1 == r->n_axes ? "]" : "");
	}
}

/* Drops the options of the file's format, which do not apply to the generator that replaces a file. */
static void drop_options(const struct book *b, cJSON *scenario)
{
	cJSON *capacity = cJSON_GetObjectItemCaseSensitive(scenario, "capacity");
	const char *trace = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(scenario, "trace"));
	const char *lent = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(capacity, "trace"));
	for (size_t i = 0; i < b->n_traces; i++) {
		if (b->trace[i].is_there)
			continue;
		if (trace && !strcmp(trace, b->trace[i].source))
			cJSON_DeleteItemFromObjectCaseSensitive(scenario, "trace_options");
		if (lent && !strcmp(lent, b->trace[i].source))
			cJSON_DeleteItemFromObjectCaseSensitive(capacity, "options");
	}
}

int book_scenario(struct book *b, const struct book_run *r, const char *where, cJSON **out, struct orr_error *err)
{
	double is_wanted = 1;
	*out = NULL;
	int rc = r->where ? book_expression(b, r->where, where, &is_wanted, err) : ORR_OK;
	if (rc || is_wanted == 0 || isnan(is_wanted))
		return rc;
	cJSON *scenario = cJSON_Duplicate(r->scenario, 1);
	rc = expand_all(b, scenario, where, err);
	for (const cJSON *m = r->set ? r->set->child : NULL; m && !rc; m = m->next)
		rc = apply_set(b, scenario, m, where, err);
	if (!rc)
		rc = book_apply_rules(b, scenario, where, err);
	drop_options(b, scenario);
	if (rc)
		cJSON_Delete(scenario);
	else
		*out = scenario;
	return rc;
}

int book_add_scenarios(const struct book *b, struct study *study, const struct book_point *point, size_t n, struct orr_error *err)
{
	enum { WHERE = 400 };
	const cJSON **scenario = mem_zalloc(n, sizeof *scenario);
	char *text = mem_zalloc(n, WHERE);
	const char **where = mem_zalloc(n, sizeof *where);
	struct orr_error inner = { 0 };
	size_t failed = 0;
	for (size_t i = 0; i < n; i++) {
		scenario[i] = point[i].scenario;
		where[i] = text + i * WHERE;
		snprintf(text + i * WHERE, WHERE, "%.200s: %s", b->path, point[i].where);
	}
	int rc = study_add_all(study, scenario, where, n, &failed, &inner);
	if (rc) {
		book_fail(b, point[failed].where, err, "%s", strncmp(inner.text, "scenario: ", 10) ? inner.text : inner.text + 10);
		err->code = rc;
	}
	mem_free(where);
	mem_free(text);
	mem_free(scenario);
	return rc;
}

static int add_point(struct book *b, struct book_run *r, size_t point, size_t *n_parts, struct orr_error *err)
{
	struct book_point x;
	r->part[point] = SIZE_MAX;
	book_describe_point(b, r, x.where, sizeof x.where);
	int rc = book_scenario(b, r, x.where, &x.scenario, err);
	if (rc || !x.scenario)
		return rc;
	rc = book_add_scenarios(b, b->study, &x, 1, err);
	cJSON_Delete(x.scenario);
	r->part[point] = (*n_parts)++;
	return rc;
}

static int add_run(struct book *b, struct book_run *r, size_t *n_parts, struct orr_error *err)
{
	int rc = ORR_OK;
	for (size_t point = 0; point < r->n_points && !rc; point++) {
		book_bind(b, r, point);
		rc = add_point(b, r, point, n_parts, err);
	}
	book_unbind(b, r);
	return rc;
}

/* Returns whether the book has a figure of kind spans, for which runs of the step world must keep their spans. */
static bool wants_spans(const struct book *b)
{
	const cJSON *f = NULL;
	cJSON_ArrayForEach(f, cJSON_GetObjectItemCaseSensitive(b->json, "figures"))
	{
		const char *kind = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(f, "kind"));
		if (kind && !strcmp(kind, "spans"))
			return true;
	}
	return false;
}

/* Makes the study of all runs at all points. */
static int add_all_runs(struct book *b, const struct world_output *o, struct orr_error *err)
{
	size_t n_parts = 0;
	int rc = ORR_OK;
	b->output = *o;
	b->output.has_spans = wants_spans(b);
	b->study = study_new(&b->output);
	for (size_t i = 0; i < b->n_runs && !rc; i++)
		rc = add_run(b, &b->run[i], &n_parts, err);
	return rc;
}

int book_take_all(struct book *b, const struct study_source *from, size_t *missing, struct orr_error *err)
{
	static const struct world_output quietly = { .quiet = true, .is_series = true };
	*missing = 0;
	int rc = add_all_runs(b, &quietly, err);
	if (!rc)
		rc = study_take(b->study, from, missing, err);
	b->has_results = !rc && !*missing;
	return rc;
}

void book_each_number(const struct book *b, void (*fn)(void *ctx, const char *run, int64_t number), void *ctx)
{
	for (size_t i = 0; i < b->n_runs; i++)
		for (size_t point = 0; point < b->run[i].n_points; point++) {
			size_t k = b->run[i].part[point];
			for (size_t p = 0; k != SIZE_MAX && p < study_policies(b->study, k); p++)
				fn(ctx, b->run[i].name, study_number(b->study, k, p));
		}
}

int book_run_all(struct book *b, const struct world_output *o, struct orr_error *err)
{
	int rc = add_all_runs(b, o, err);
	if (!rc)
		rc = study_carry_out(b->study, "runs", err);
	if (!rc)
		study_say_reused(o, study_reused(b->study), study_runs(b->study));
	b->has_results = !rc;
	return rc;
}
