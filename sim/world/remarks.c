/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "world/remarks.h"

#include "base/mem.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const struct orr_param *param_in(const struct orr_param *table, const char *name)
{
	for (const struct orr_param *p = table; p && p->name; p++)
		if (!strcmp(p->name, name))
			return p;
	return NULL;
}

static const struct world_object *object_of(const struct world *w, const char *key)
{
	for (const struct world_object *o = w->objects; o && o->key; o++)
		if (!strcmp(o->key, key))
			return o;
	return NULL;
}

/* Returns the parameter at OBJECT.NAME, or at NAME if object is NULL. NULL: the key has no default. */
static const struct orr_param *param_at(const struct world *w, const char *object, const char *name)
{
	if (object && w->options && !strcmp(object, w->name))
		return param_in(w->options, name);
	if (object) {
		const struct world_object *o = object_of(w, object);
		return o ? param_in(o->table, name) : NULL;
	}
	const struct orr_param *p = param_in(w->keys, name);
	return p ? p : param_in(scenario_keys, name);
}

/* Returns whether a value differs from the default, apart from spelling. */
static bool differs(const struct orr_param *p, const char *text)
{
	if (p->kind == ORR_KIND_FILE || p->kind == ORR_KIND_TEXT)
		return strcmp(text, p->def ? p->def : "") != 0;
	const struct orr_param table[] = { *p, ORR_PARAM_END };
	struct orr_args *given = args_new(table, "", NULL), *other = args_new(table, "", NULL);
	bool is_other = !given || args_set(given, p->name, text, NULL) || strcmp(args_value(given, 0), args_value(other, 0)) != 0;
	args_free(given);
	args_free(other);
	return is_other;
}

/* Returns whether a key of a part's world belongs to the mixed scenario instead. */
static bool is_of_whole(const struct scenario *s, const char *object, const char *name)
{
	const char *first = object ? object : name;
	if (!s->whole || !strcmp(first, s->world->name))
		return false;
	return param_in(s->whole->world->keys, first) || param_in(scenario_keys, first) || object_of(s->whole->world, first);
}

/* Splits "OBJECT.NAME" at its first dot; *object NULL: no dot. Both point into the key or into `first`. */
static void split(const char *key, char first[64], const char **object, const char **name)
{
	const char *dot = strchr(key, '.');
	if (dot) {
		size_t n = dot - key < 63 ? (size_t)(dot - key) : 63;
		memcpy(first, key, n);
		first[n] = '\0';
	}
	*object = dot ? first : NULL;
	*name = dot ? dot + 1 : key;
}

static bool is_part(const struct world *w, const char *name)
{
	for (size_t i = 0; w->parts && w->parts[i]; i++)
		if (!strcmp(w->parts[i], name))
			return true;
	return false;
}

static bool is_set_in(const struct world *w, const cJSON *given, const char *key)
{
	const char *object, *name;
	char first[64], *text = NULL;
	split(key, first, &object, &name);
	const cJSON *o = object ? cJSON_GetObjectItemCaseSensitive(given, object) : given;
	bool is_set;
	if (object && is_part(w, object)) {
		is_set = is_set_in(world_named(object), o, name);
	} else {
		const cJSON *value = cJSON_GetObjectItemCaseSensitive(o, name);
		const struct orr_param *p = value ? param_at(w, object, name) : NULL;
		text = p ? scenario_scalar(value) : NULL;
		is_set = value && (!text || differs(p, text));
	}
	mem_free(text);
	return is_set;
}

bool remark_is_set(const struct scenario *s, const char *key)
{
	const char *object, *name;
	char first[64];
	split(key, first, &object, &name);
	const struct scenario *of = is_of_whole(s, object, name) ? s->whole : s;
	return is_set_in(of->world, of->given, key);
}

/* A bit for the first name of a key "OBJECT.NAME" or "NAME"; few names share a bit. */
static uint64_t bit_of(const char *key)
{
	uint32_t h = 0;
	for (; *key && *key != '.'; key++)
		h = h * 31 + (unsigned char)*key;
	return UINT64_C(1) << (h * 2654435769u >> 26);
}

/* Returns the bits of the names that a scenario gives; all bits for a part of a mixed scenario, whose keys may belong to the whole. */
static uint64_t bits_given(const struct scenario *s)
{
	uint64_t bits = 0;
	for (const cJSON *x = s->given ? s->given->child : NULL; x; x = x->next)
		bits |= bit_of(x->string);
	return s->whole ? UINT64_MAX : bits;
}

/* verb: "has", "may have". */
static void add_remark(const struct scenario *s, struct run_result *r, const char *key, const char *verb, const char *why)
{
	if (!remark_is_set(s, key))
		return;
	const char *object, *name;
	char first[64];
	split(key, first, &object, &name);
	bool has_prefix = s->whole && !is_of_whole(s, object, name);
	struct sbuf text = { 0 };
	sbuf_printf(&text, "%s%s%s %s no effect: %s", has_prefix ? s->world->name : "", has_prefix ? "." : "", key, verb, why);
	result_note(r, "remark", sbuf_text(&text));
	sbuf_free(&text);
}

void remark_no_effect(const struct scenario *s, struct run_result *r, const char *key, const char *why)
{
	add_remark(s, r, key, "has", why);
}

double remark_metric(const struct scenario *s, const struct run_result *r, const char *metric)
{
	char name[160];
	snprintf(name, sizeof name, "%.60s%s%.90s", s->whole ? s->world->name : "", s->whole ? "." : "", metric);
	const struct metric *m = result_find(r, name);
	if (!m && s->whole)
		m = result_find(r, metric);
	return m && isfinite(m->value) ? m->value : 0;
}

bool remark_has_interval(const struct scenario *s, const struct run_result *r)
{
	const char *part = s->whole ? s->world->name : "";
	size_t n = strlen(part);
	for (size_t i = 0; i < r->n_metrics; i++) {
		const struct metric *m = &r->metrics[i];
		bool is_own = !n || (!strncmp(m->name, part, n) && m->name[n] == '.');
		if (is_own && m->ci_high > m->ci_low)
			return true;
	}
	return false;
}

void remark_warm_up(const struct scenario *s, struct run_result *r)
{
	if (s->warm_up.kind == WARMUP_NONE)
		return;
	const struct metric *times = result_find(r, "replications");
	double n = times ? times->value : 1, removed = remark_metric(s, r, "warmup_removed"),
	       without = n * (1 - remark_metric(s, r, "warmup_determined"));
	const char *how = s->warm_up.kind == WARMUP_MSER5 ? "MSER-5" : orr_arg_text(s->keys, "warm_up"), *noun = s->world->form.counted;
	struct sbuf text = { 0 };
	if (removed > 0) {
		sbuf_printf(&text,
			"warm-up of %s: the first %.*f %s%s are removed from means and quantiles over %s, and from their intervals", how,
			n > 1, removed, noun, n > 1 ? " (mean over replications)" : "", noun);
		result_note(r, "remark", sbuf_text(&text));
		sbuf_clear(&text);
	}
	if (without > 0.5) {
		sbuf_printf(&text, "warm-up of %s: ", how);
		if (n > 1)
			sbuf_printf(&text, "in %.0f of %.0f replications ", without, n);
		sbuf_printf(&text, "nothing is removed, because %s",
			s->warm_up.kind == WARMUP_MSER5 ? "its minimum lies in the second half: too few values for an estimate"
							: "the order of more than a million values is unknown");
		result_note(r, "remark", sbuf_text(&text));
	}
	sbuf_free(&text);
}

/* Returns the value that the scenario gives to a key, or its default; NULL: neither exists. Free with mem_free. */
static char *value_in(const struct world *w, const cJSON *given, const char *key)
{
	const char *object, *name;
	char first[64], *text;
	split(key, first, &object, &name);
	const cJSON *value = cJSON_GetObjectItemCaseSensitive(object ? cJSON_GetObjectItemCaseSensitive(given, object) : given, name);
	const struct orr_param *p = value ? NULL : param_at(w, object, name);
	text = value ? scenario_scalar(value) : p && p->def ? mem_strdup(p->def) : NULL;
	return text;
}

static bool is_among(const char *value, const char *list)
{
	size_t n = strlen(value);
	for (const char *at = list; *at; at += strcspn(at, "|"), at += *at == '|')
		if (strcspn(at, "|") == n && !memcmp(at, value, n))
			return true;
	return false;
}

/* Returns whether the scenario meets `needs`, as in struct world_effect. */
static bool has_need(const struct scenario *s, const char *needs)
{
	const char *values = strchr(needs, '=');
	if (!values)
		return remark_is_set(s, needs);
	char *key = mem_strndup(needs, (size_t)(values - needs));
	const char *object, *name;
	char first[64];
	split(key, first, &object, &name);
	const struct scenario *of = is_of_whole(s, object, name) ? s->whole : s;
	char *value = value_in(of->world, of->given, key);
	bool has = value && is_among(value, values + 1);
	mem_free(value);
	mem_free(key);
	return has;
}

static bool may_have_effect(const struct world_effect *e, const struct scenario *s, size_t i, const struct run_result *r)
{
	if (!e->metric && !e->needs && !e->use && !e->holds)
		return false;
	return !(e->metric && !(remark_metric(s, r, e->metric) > 0)) && !(e->needs && !has_need(s, e->needs)) &&
	       !(e->use && !(s->world->used(s, i) & e->use)) && !(e->holds && !e->holds(s, i, r));
}

/* Returns the first row by which a key that is set has no effect, or may have no effect; NULL: the key has an effect. */
static const struct world_effect *no_effect(const struct scenario *s, size_t i, const struct run_result *r, const char *key)
{
	for (const struct world_effect *e = s->world->effects; e && e->key; e++)
		if (!strcmp(e->key, key) && !may_have_effect(e, s, i, r))
			return e;
	return NULL;
}

static bool is_first_row(const struct scenario *s, const struct world_effect *e)
{
	for (const struct world_effect *x = s->world->effects; x < e; x++)
		if (!strcmp(x->key, e->key))
			return false;
	return true;
}

static bool is_shared(const struct scenario *s, const char *key)
{
	const char *object, *name;
	char first[64];
	split(key, first, &object, &name);
	return is_of_whole(s, object, name);
}

/* Adds remarks on keys of the whole scenario that have no effect on any part; the first part gives the reason. */
static void add_effects(const struct scenario *const *part, size_t n, size_t k, size_t i, struct run_result *r)
{
	const struct scenario *s = part[k];
	uint64_t given = bits_given(s);
	for (const struct world_effect *e = s->world->effects; e && e->key; e++) {
		if (!(given & bit_of(e->key)) || !remark_is_set(s, e->key) || !is_first_row(s, e))
			continue;
		bool is_whole = is_shared(s, e->key), has_none = !(is_whole && k);
		const struct world_effect *row = no_effect(s, i, r, e->key);
		for (size_t other = 0; is_whole && row && has_none && other < n; other++) {
			const struct world_effect *x = no_effect(part[other], i, r, e->key);
			has_none = x != NULL;
			row = x && x->is_unsure ? x : row;
		}
		if (row && has_none)
			add_remark(s, r, e->key, row->is_unsure ? "may have" : "has", row->why);
	}
}

void remarks_add_parts(const struct scenario *const *part, size_t n, size_t i, struct run_result *r)
{
	for (size_t k = 0; k < n; k++) {
		add_effects(part, n, k, i, r);
		if (part[k]->world->note)
			part[k]->world->note(part[k], i, r);
	}
}

void remarks_add(const struct scenario *s, size_t i, struct run_result *r)
{
	remarks_add_parts(&s, 1, i, r);
}
