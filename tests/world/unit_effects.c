/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Options without effect are named: a random scenario of a world is run, then the same scenario with one option set to a valid
 * value. If both runs have equal results (metrics, rows, series), the run that departs from the default must have a remark
 * "KEY has no effect: WHY" or "KEY may have no effect: WHY". If they differ, it must not have the former.
 *
 * cases/cases.json has base scenarios, policies, keys that are skipped and values of texts. ORRERY_SCENARIOS=500 runs more
 * scenarios, ORRERY_WORLD=serve one world, ORRERY_SEED=2 other scenarios. Each failure is printed as a scenario and the changed
 * option.
 */
#include "base/bytes.h"
#include "base/mem.h"
#include "base/rng.h"
#include "results/columns.h"
#include "tests/tap.h"
#include "world/remarks.h"
#include "world/run.h"

#include <stdlib.h>
#include <unistd.h>

enum { MOST_KEYS = 1024, TRIES = 20 };

static cJSON *cases;
static struct rng rng;

/* ---- keys of a world ---- */

struct key {
	char path[96];
	const struct orr_param *param;
};

struct keys {
	struct key key[MOST_KEYS];
	size_t n;
};

static void add_table(struct keys *k, const char *prefix, const struct orr_param *table)
{
	for (const struct orr_param *p = table; p && p->name && k->n < MOST_KEYS; p++) {
		snprintf(k->key[k->n].path, sizeof k->key->path, "%s%s", prefix, p->name);
		k->key[k->n++].param = p;
	}
}

static bool is_part(const struct world *w, const char *key)
{
	for (size_t i = 0; w->parts && w->parts[i]; i++)
		if (!strcmp(w->parts[i], key))
			return true;
	return false;
}

static void add_world(struct keys *k, const struct world *w, const char *prefix)
{
	char path[64];
	add_table(k, prefix, w->keys);
	for (const struct world_object *o = w->objects; o && o->key; o++) {
		snprintf(path, sizeof path, "%s%s.", prefix, o->key);
		if (is_part(w, o->key))
			add_world(k, world_named(o->key), path);
		else
			add_table(k, path, o->table);
	}
	snprintf(path, sizeof path, "%s%s.", prefix, w->name);
	add_table(k, path, w->options);
}

/* ---- values ---- */

static const cJSON *of_world(const struct world *w, const char *what)
{
	return cJSON_GetObjectItemCaseSensitive(cJSON_GetObjectItemCaseSensitive(cases, w->name), what);
}

static const cJSON *any_of(const cJSON *list)
{
	int n = cJSON_GetArraySize(list);
	return n ? cJSON_GetArrayItem(list, (int)rng_below(&rng, (uint64_t)n)) : NULL;
}

static char *any_choice(const struct orr_param *p)
{
	size_t n = 1, at = 0;
	for (const char *c = p->choices; *c; c++)
		n += *c == '|';
	const char *c = p->choices;
	for (size_t k = (size_t)rng_below(&rng, n); at < k; at++)
		c = strchr(c, '|') + 1;
	return mem_strndup(c, strcspn(c, "|"));
}

/* Returns a number near the default, or near the lower bound. */
static char *any_number(const struct orr_param *p)
{
	static const double factors[] = { 0, 0.25, 0.5, 2, 4 };
	double def = strtod(p->def, NULL), v = def * factors[rng_below(&rng, 5)];
	char text[40];
	if (v == 0)
		v = p->kind == ORR_KIND_INT ? (double)rng_below(&rng, 4) : rng_uniform(&rng);
	v = v < p->min ? p->min : v > p->max ? p->max : v;
	snprintf(text, sizeof text, p->kind == ORR_KIND_INT ? "%.0f" : "%.6g", v);
	return mem_strdup(text);
}

/* Returns a value for the key, or NULL if there is no value to try. */
static char *any_value(const struct world *w, const struct key *k)
{
	static const char *const times[] = { "0", "1s", "30s", "2m", "10m", "1h" };
	const cJSON *given = cJSON_GetObjectItemCaseSensitive(of_world(w, "values"), k->path);
	const cJSON *one = any_of(given);
	if (given)
		return one ? mem_strdup(one->valuestring) : NULL;
	switch (k->param->kind) {
	case ORR_KIND_BOOL:
		return mem_strdup(rng_below(&rng, 2) ? "true" : "false");
	case ORR_KIND_CHOICE:
		return any_choice(k->param);
	case ORR_KIND_INT:
	case ORR_KIND_REAL:
		return any_number(k->param);
	case ORR_KIND_TIME:
		return mem_strdup(times[rng_below(&rng, 6)]);
	default:
		return NULL;
	}
}

/* ---- runs ---- */

struct one {
	struct scenario *scenario;
	struct run_result *result; /* NULL: the run was rejected or failed */
	bool has_failed;
};

static void one_free(struct one *x)
{
	result_free(x->result);
	scenario_close(x->scenario);
	*x = (struct one){ 0 };
}

static struct one one_run(const cJSON *o)
{
	/* The database is named so that rows are recorded; it stays unwritten. */
	static const struct world_output output = { .quiet = true, .threads = 1, .db = "unused", .is_series = false };
	struct orr_error err = { 0 };
	struct one x = { .scenario = scenario_open(o, &output, &err) };
	if (!x.scenario)
		return x;
	x.result = result_new();
	x.result->label = mem_strdup("x");
	x.result->world = mem_strdup(x.scenario->world->name);
	struct trial *trial = trial_new(x.scenario, 0, x.result);
	for (uint32_t k = 0; k < x.scenario->replications; k++)
		trial_run(trial, k, NULL, NULL);
	int rc = trial_end(trial, &err);
	trial_free(trial);
	if (rc) {
		x.has_failed = true;
		result_free(x.result);
		x.result = NULL;
	}
	return x;
}

/* ---- equal results ---- */

static bool same_real(double a, double b)
{
	return a == b || (isnan(a) && isnan(b));
}

static bool same_cell(const struct column *c, const char *a, const char *b)
{
	const char *text[2];
	double real[2];
	switch (c->type) {
	case COLUMN_ID:
	case COLUMN_TEXT:
	case COLUMN_NAME:
		memcpy(&text[0], a, sizeof text[0]);
		memcpy(&text[1], b, sizeof text[1]);
		return text[0] == text[1] || (text[0] && text[1] && !strcmp(text[0], text[1]));
	case COLUMN_REAL:
	case COLUMN_SECONDS:
		memcpy(&real[0], a, sizeof real[0]);
		memcpy(&real[1], b, sizeof real[1]);
		return same_real(real[0], real[1]);
	case COLUMN_COUNT:
	case COLUMN_INDEX:
		return !memcmp(a, b, 4);
	case COLUMN_JOB_STATUS:
	case COLUMN_REQUEST_STATUS:
		return *a == *b;
	case COLUMN_DIFF:
	case COLUMN_SQL:
		return true;
	default:
		return !memcmp(a, b, 8);
	}
}

/* Removes the notes, which are texts rather than results. */
static void drop_notes(struct run_result *r)
{
	size_t n = 0;
	for (size_t i = 0; i < r->n_events; i++)
		if (r->events[i].time_ns || r->events[i].subject || !r->events[i].detail)
			r->events[n++] = r->events[i];
	r->n_events = n;
}

/* Removes counts of failed nodes and lost replicas that are 0, and of held jobs and lost answers, since a run without failures, limits or
 * losses lacks these metrics, and is_complete = 0, which a run of a job without a last step lacks. */
static void drop_zero_counts(struct run_result *r)
{
	static const char *const names[] = { "nodes_failed", "replicas_lost", "serve.nodes_failed", "serve.replicas_lost", "is_complete",
		"jobs_held", "answers_lost", "jobs.jobs_held", "serve.answers_lost", "completed_partial", "serve.completed_partial" };
	size_t n = 0;
	for (size_t i = 0; i < r->n_metrics; i++) {
		bool is_count = false;
		for (size_t k = 0; k < sizeof names / sizeof *names; k++)
			is_count |= !strcmp(r->metrics[i].name, names[k]);
		if (!is_count || r->metrics[i].value > 0)
			r->metrics[n++] = r->metrics[i];
	}
	r->n_metrics = n;
}

static bool same_rows(const struct row_table *t, const struct run_result *a, const struct run_result *b)
{
	if (rows_count(t, a) != rows_count(t, b))
		return false;
	char *rows = mem_alloc(2 * t->row_size + 1);
	bool is_same = true;
	for (size_t i = 0; is_same && i < rows_count(t, a); i++) {
		rows_copy(t, a, i, 1, rows);
		rows_copy(t, b, i, 1, rows + t->row_size);
		for (size_t k = 0; k < t->n_columns; k++) {
			const char *cell = rows + t->columns[k].at;
			is_same &= same_cell(&t->columns[k], cell, cell + t->row_size);
		}
	}
	mem_free(rows);
	return is_same;
}

static bool same_series(const struct series *a, const struct series *b)
{
	if (a->n != b->n || strcmp(a->name, b->name) != 0)
		return false;
	for (size_t i = 0; i < a->n; i++)
		if (a->time_ns[i] != b->time_ns[i] || !same_real(a->value[i], b->value[i]))
			return false;
	return true;
}

static bool same_results(const struct run_result *a, const struct run_result *b)
{
	if (a->rows_total != b->rows_total || a->n_series != b->n_series)
		return false;
	for (size_t i = 0; i < n_row_tables; i++)
		if (!same_rows(&row_tables[i], a, b))
			return false;
	for (size_t i = 0; i < a->n_series; i++)
		if (!same_series(&a->series[i], &b->series[i]))
			return false;
	return true;
}

/* ---- one case ---- */

struct tally {
	size_t n, with_effect, named, unsure, refused, failed;
};

/* Returns whether a remark of the run names the key: " has no effect: ", or " may have no effect: ". */
static bool is_named(const struct run_result *r, const char *key, const char *after)
{
	const char *text;
	size_t n = strlen(key);
	for (size_t i = 0; (text = result_note_at(r, "remark", i)); i++)
		if (!strncmp(text, key, n) && !strncmp(text + n, after, strlen(after)))
			return true;
	return false;
}

/* Returns a base scenario with one policy of its list, or of the world if it has no list. */
static cJSON *base_scenario(const struct world *w)
{
	cJSON *o = cJSON_Duplicate(any_of(of_world(w, "bases")), 1), *list = cJSON_CreateArray();
	cJSON_AddStringToObject(o, "world", w->name);
	cJSON *own = cJSON_DetachItemFromObjectCaseSensitive(o, "policies");
	cJSON_AddItemToArray(list, cJSON_Duplicate(any_of(own ? own : of_world(w, "policies")), 1));
	cJSON_Delete(own);
	cJSON_AddItemToObject(o, "policies", list);
	return o;
}

/* Returns whether the key would add an object that makes runs much longer. */
static bool turns_on(const cJSON *o, const struct world *w, const char *path)
{
	const cJSON *object;
	cJSON_ArrayForEach(object, of_world(w, "only_with"))
	{
		size_t n = strlen(object->valuestring);
		if (!strncmp(path, object->valuestring, n) && path[n] == '.' && !cJSON_GetObjectItemCaseSensitive(o, object->valuestring))
			return true;
	}
	return false;
}

/* Returns the scenario with a value for another, random key of the world. *which: the key. */
static cJSON *changed(const cJSON *o, const struct world *w, const struct keys *keys, const struct key **which, char pair[256])
{
	const cJSON *skipped = of_world(w, "skipped");
	for (int i = 0; i < TRIES; i++) {
		const struct key *k = *which = &keys->key[rng_below(&rng, keys->n)];
		struct orr_error err = { 0 };
		bool is_skipped = cJSON_GetObjectItemCaseSensitive(skipped, k->path) || turns_on(o, w, k->path);
		char *value = is_skipped ? NULL : any_value(w, k);
		if (!value)
			continue;
		cJSON *copy = cJSON_Duplicate(o, 1);
		snprintf(pair, 256, "%s=%s", k->path, value);
		mem_free(value);
		if (!scenario_set(copy, pair, &err))
			return copy;
		cJSON_Delete(copy);
	}
	return cJSON_Duplicate(o, 1);
}

/* Returns the scenario without the key, that is, with the default, as a remark compares with the default. */
static cJSON *without(const cJSON *o, const char *key)
{
	cJSON *copy = cJSON_Duplicate(o, 1), *at = copy;
	for (const char *dot; at && (dot = strchr(key, '.')); key = dot + 1) {
		char *name = mem_strndup(key, (size_t)(dot - key));
		at = cJSON_GetObjectItemCaseSensitive(at, name);
		mem_free(name);
	}
	cJSON_DeleteItemFromObjectCaseSensitive(at, key);
	return copy;
}

/* Returns false if the scenario does not depart from the default. */
static bool judge(const cJSON *o, const struct key *k, const char *pair, struct one *a, struct one *b, struct tally *t, size_t *wrong)
{
	bool named = is_named(b->result, k->path, " has no effect: "), may_be = is_named(b->result, k->path, " may have no effect: ");
	if (!remark_is_set(b->scenario, k->path))
		return false;
	drop_notes(a->result);
	drop_notes(b->result);
	drop_zero_counts(a->result);
	drop_zero_counts(b->result);
	if (!same_results(a->result, b->result)) {
		t->with_effect++;
		t->unsure += may_be;
		if (named) {
			char *text = cJSON_PrintUnformatted(o);
			printf("# %s changes results, and a remark says that it does not: %s\n", pair, text);
			cJSON_free(text);
			++*wrong;
		}
	} else if (named || may_be) {
		t->named++;
	} else {
		char *text = cJSON_PrintUnformatted(o);
		printf("# %s changes nothing, and no remark says so: %s\n", pair, text);
		cJSON_free(text);
		++*wrong;
	}
	return true;
}

/* Draws until a scenario and its change both run. */
static void one_case(const struct world *w, const struct keys *keys, struct tally *t, size_t *wrong)
{
	t->n++;
	for (int i = 0; i < TRIES; i++) {
		const struct key *k;
		char pair[256];
		cJSON *o = base_scenario(w);
		for (uint64_t n = rng_below(&rng, 3); n; n--) {
			cJSON *more = changed(o, w, keys, &k, pair);
			cJSON_Delete(o);
			o = more;
		}
		cJSON *other = changed(o, w, keys, &k, pair), *plain = without(o, k->path);
		cJSON_Delete(o);
		o = plain;
		struct one a = one_run(o), b = { 0 };
		if (a.result)
			b = one_run(other);
		bool is_done = a.result && b.result;
		if (is_done)
			is_done = judge(o, k, pair, &a, &b, t, wrong);
		t->refused += !a.scenario || (a.result && !b.scenario);
		t->failed += a.has_failed || b.has_failed;
		one_free(&a);
		one_free(&b);
		cJSON_Delete(o);
		cJSON_Delete(other);
		if (is_done)
			return;
	}
}

static char *read_file(const char *name)
{
	struct orr_error err = { 0 };
	char *text = bytes_read_file(name, 1 << 20, &(size_t){ 0 }, NULL, &err);
	if (!text)
		printf("# %s\n", err.text);
	return text;
}

int main(void)
{
	const char *srcdir = getenv("srcdir"), *wanted = getenv("ORRERY_SCENARIOS"), *only = getenv("ORRERY_WORLD"),
		   *seed = getenv("ORRERY_SEED");
	size_t n = wanted ? strtoul(wanted, NULL, 10) : 100, n_worlds = 0;
	struct keys *keys = mem_zalloc(1, sizeof *keys);
	struct sbuf path = { 0 };
	sbuf_printf(&path, "%s/tests/world/cases", srcdir ? srcdir : ".");
	char *text = ok(!chdir(sbuf_text(&path)), "the cases are there") ? read_file("cases.json") : NULL;
	cases = cJSON_Parse(text ? text : "");
	ok(cases != NULL, "cases.json is JSON");
	for (size_t i = 0; cases && worlds[i]; i++)
		n_worlds += of_world(worlds[i], "bases") != NULL;
	for (size_t i = 0; cases && worlds[i]; i++) {
		const struct world *w = worlds[i];
		struct tally t = { 0 };
		size_t wrong = 0;
		if (!of_world(w, "bases") || (only && strcmp(only, w->name)))
			continue;
		keys->n = 0;
		add_world(keys, w, "");
		add_table(keys, "", scenario_keys);
		for (size_t k = 0; k < (n + n_worlds - 1) / n_worlds; k++) {
			rng_init(&rng, seed ? strtoull(seed, NULL, 10) : 1, w->name, k);
			one_case(w, keys, &t, &wrong);
		}
		ok(!wrong && t.with_effect, "%s: of %zu changed options %zu have an effect, %zu have none and are named by a remark",
			w->name, t.n, t.with_effect, t.named);
		printf("# %zu with an effect are named as options that may have none; refused %zu, failed %zu\n", t.unsure, t.refused,
			t.failed);
	}
	cJSON_Delete(cases);
	mem_free(text);
	mem_free(keys);
	sbuf_free(&path);
	return done();
}
