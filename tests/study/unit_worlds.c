/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The table of worlds is consistent: each name in one part of a descriptor is declared in another part. Descriptors are data,
 * so only this test checks them.
 */
#include "tests/tap.h"
#include "world/scenario.h"

#include <string.h>

static bool has_param(const struct orr_param *table, const char *name)
{
	for (; table && table->name; table++)
		if (!strcmp(table->name, name))
			return true;
	return false;
}

static const struct world_object *object_named(const struct world *w, const char *key, size_t n)
{
	for (const struct world_object *o = w->objects; o && o->key; o++)
		if (strlen(o->key) == n && !memcmp(o->key, key, n))
			return o;
	return NULL;
}

/* Checks for "KEY" of a scalar or an object, or "OBJECT.NAME". */
static bool is_path(const struct world *w, const char *path)
{
	const char *dot = strchr(path, '.');
	size_t n = dot ? (size_t)(dot - path) : strlen(path);
	const struct world_object *o = object_named(w, path, n);
	if (!dot)
		return o || has_param(w->keys, path) || has_param(scenario_keys, path);
	if (o)
		return !o->table || has_param(o->table, dot + 1);
	return w->options && strlen(w->name) == n && !memcmp(path, w->name, n) && has_param(w->options, dot + 1);
}

static bool is_shown(const struct world *w, const char *key)
{
	for (const char *const *k = w->shown; k && *k; k++)
		if (!strcmp(*k, key))
			return true;
	return false;
}

static void flags_of(const struct world *w)
{
	bool good = true;
	for (const struct world_flag *f = w->flags; f && f->name; f++) {
		bool is_extra = f->kind == WORLD_FLAG_EXTRA || f->kind == WORLD_FLAG_VERB || f->kind == WORLD_FLAG_SCENARIO;
		bool is_sound = (f->doc || f->put_doc) && (f->arg || f->value) && (is_extra ? !f->key : f->key && is_path(w, f->key));
		if (!is_sound)
			printf("# --%s\n", f->name);
		good &= is_sound;
		/* `run` takes the flags of all worlds, so each name must have one meaning. */
		for (const struct world *const *other = worlds; *other; other++) {
			const struct world_flag *g = world_flag(*other, f->name);
			if (g &&
				(g->kind != f->kind || !g->arg != !f->arg || !g->key != !f->key || (g->key && strcmp(g->key, f->key) != 0)))
				good = false, printf("# --%s means something else in %s\n", f->name, (*other)->name);
		}
	}
	ok(good, "%s: each flag sets what the world declares", w->name);
}

static void inputs_of(const struct world *w)
{
	bool good = true;
	for (const struct world_input *i = w->inputs; i && i->path; i++)
		good &= is_path(w, i->path) && (!i->hash || is_shown(w, i->hash));
	ok(good, "%s: names left out of the hash are keys, and their hashes are shown", w->name);
}

static void defaults_of(const struct world *w)
{
	struct orr_error err = { 0 };
	struct orr_args *keys = args_new(w->keys, "keys", &err), *options = args_new(w->options, "options", &err);
	ok(keys && options, "%s: the defaults are values of their kinds %s", w->name, err.text);
	args_free(keys);
	args_free(options);
}

static void policies_of(const struct world *w)
{
	bool good = true;
	for (const struct world_function *f = w->functions; f->name; f++)
		good &= f->offset + sizeof(void (*)(void)) <= w->ops_size;
	for (const struct orr_policy *const *p = w->policies; *p; p++) {
		struct orr_error err = { 0 };
		struct orr_args *a = args_new((*p)->params, (*p)->name, &err);
		if (strcmp((*p)->kind, w->name) != 0 || (*p)->ops_size != w->ops_size || !a)
			good = false, printf("# %s: %s\n", (*p)->name, err.text);
		args_free(a);
	}
	ok(good && w->template && w->template[0].n && w->template[1].n, "%s: its policies belong to it, and it has a template", w->name);
}

int main(void)
{
	for (const struct world *const *w = worlds; *w; w++) {
		ok(world_named((*w)->name) == *w, "%s: has a name of its own", (*w)->name);
		flags_of(*w);
		inputs_of(*w);
		defaults_of(*w);
		if ((*w)->policies)
			policies_of(*w);
		for (size_t i = 0; (*w)->parts && (*w)->parts[i]; i++)
			ok(world_named((*w)->parts[i]) != NULL, "%s: its part %s is a world", (*w)->name, (*w)->parts[i]);
	}
	ok(!world_named("none") && !world_named(NULL), "unknown names of worlds are refused");
	return done();
}
