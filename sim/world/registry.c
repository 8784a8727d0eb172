/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "world/registry.h"

#include "base/bytes.h"
#include "base/mem.h"
#include "base/param.h"
#include "base/sbuf.h"
#include "world/probe.h"
#include "world/python.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

void registry_display_name(const char *ident, char *out, size_t size)
{
	snprintf(out, size, "%s", ident);
	for (char *c = out; *c; c++)
		if (*c == '_')
			*c = '-';
}

/* Returns whether registry_display_name() gives these names the same text. */
static bool is_same_name(const char *a, const char *b)
{
	while (*a && (*a == *b || (*a == '_' && *b == '-') || (*a == '-' && *b == '_'))) {
		a++;
		b++;
	}
	return *a == *b;
}

static int unknown(const char *name, const struct world *of, struct orr_error *err)
{
	enum { MOST = 256 };
	char(*text)[64] = mem_zalloc(MOST, sizeof *text);
	const char *names[MOST + 1] = { NULL };
	size_t n = 0;
	for (const struct world *const *w = worlds; *w; w++)
		for (size_t i = 0; (!of || *w == of) && (*w)->policies && (*w)->policies[i] && n < MOST; i++) {
			registry_display_name((*w)->policies[i]->name, text[n], sizeof text[n]);
			names[n] = text[n];
			n++;
		}
	const char *near = nearest_name(name, names);
	int rc = orr_fail(err, ORR_EINPUT,
		"unknown policy \"%.80s\": %s%s%s'orrery policy list' shows all policies; a plugin is named by its file", name,
		near ? "did you mean \"" : "", near ? near : "", near ? "\"? " : "");
	mem_free(text);
	return rc;
}

/* Returns the second table of that kind; NULL: none. */
static const struct world_table *table_of(const char *kind)
{
	for (const struct world *const *w = worlds; *w && kind; w++)
		if ((*w)->routers && !strcmp((*w)->routers->kind, kind))
			return (*w)->routers;
	return NULL;
}

static int check_world(const struct registry_entry *e, const struct world *wanted, struct orr_error *err)
{
	const char *is = e->policy->kind;
	const struct world_table *t = table_of(is);
	if (t)
		return orr_fail(err, ORR_EINPUT, "policy \"%.80s\" is a %s (for %s): expected a %s policy", e->name, is, t->option,
			wanted ? wanted->name : worlds[0]->name);
	if (!wanted || !strcmp(is, wanted->name))
		return ORR_OK;
	return orr_fail(
		err, ORR_EINPUT, "policy \"%.80s\" is a %s policy (for 'orrery %s'): expected a %s policy", e->name, is, is, wanted->name);
}

/* ---- plugins ---- */

static int unknown_kind(const char *path, const struct orr_policy *p, struct orr_error *err)
{
	struct sbuf names = { 0 };
	world_names(&names, true, "");
	int rc = orr_fail(err, ORR_EINPUT, "%s: policy %s has the kind \"%.40s\": expected %s", path, p->name, p->kind ? p->kind : "",
		sbuf_text(&names));
	sbuf_free(&names);
	return rc;
}

static int check_ops(const char *path, const struct orr_policy *p, struct orr_error *err)
{
	const struct world *w = p->kind ? world_named(p->kind) : NULL;
	const struct world_table *t = table_of(p->kind);
	if (!t && (!w || !w->policies))
		return unknown_kind(path, p, err);
	size_t size = t ? t->ops_size : w->ops_size;
	if (!p->ops)
		return orr_fail(err, ORR_EINPUT, "%s: policy %s: \"ops\" is NULL: expected a table of functions", path, p->name);
	if (p->ops_size != size)
		return orr_fail(err, ORR_EINPUT,
			"%s: policy %s: its table of functions has %u bytes: expected %zu, as in the headers of this program", path,
			p->name, p->ops_size, size);
	for (const struct world_function *f = t ? t->functions : w->functions; f->name; f++) {
		void (*function)(void);
		memcpy(&function, (const char *)p->ops + f->offset, sizeof function);
		if (!function)
			return orr_fail(err, ORR_EINPUT, "%s: policy %s: expected a function %s, found NULL", path, p->name, f->name);
	}
	return ORR_OK;
}

static int check_plugin(const char *path, const struct orr_plugin *x, struct orr_error *err)
{
	if (x->abi_version != ORR_ABI_VERSION)
		return orr_fail(err, ORR_EINPUT,
			"%s: the plugin was compiled for ABI version %u: expected version %u, that of the headers of this program", path,
			x->abi_version, ORR_ABI_VERSION);
	if (x->size != sizeof *x || !x->policy)
		return orr_fail(err, ORR_EINPUT,
			"%s: its " ORR_PLUGIN_SYMBOL
			" is damaged: expected the macro of the world's header at the end of the source (docs/policies.md)",
			path);
	const struct orr_policy *p = x->policy;
	if (p->abi_version != ORR_ABI_VERSION || p->size != sizeof *p)
		return orr_fail(err, ORR_EINPUT,
			"%s: the policy was compiled for ABI version %u: expected version %u, that of the headers of this program", path,
			p->abi_version, ORR_ABI_VERSION);
	if (!p->name || !*p->name || strlen(p->name) > 100)
		return orr_fail(err, ORR_EINPUT, "%s: the name of the policy: expected 1 to 100 letters", path);
	return check_ops(path, p, err);
}

static int load_python(const char *path, const struct orr_policy **out, struct orr_error *err)
{
	int rc = python_load(path, out, err);
	struct orr_plugin x = { ORR_ABI_VERSION, sizeof x, *out };
	return rc ? rc : check_plugin(path, &x, err);
}

/* Loads a shared object, or a file of Python, into this process. */
static int load(const char *path, const struct orr_policy **out, struct orr_error *err)
{
	if (python_is_file(path))
		return load_python(path, out, err);
	char *with_slash = NULL;
	if (!strchr(path, '/')) { /* otherwise dlopen() would search the library path */
		with_slash = mem_alloc(strlen(path) + 3);
		sprintf(with_slash, "./%s", path);
	}
	void *handle = dlopen(with_slash ? with_slash : path, RTLD_NOW | RTLD_LOCAL);
	mem_free(with_slash);
	if (!handle)
		return orr_fail(err, ORR_EINPUT, "the plugin cannot be loaded: %.600s", dlerror());
	const struct orr_plugin *x = dlsym(handle, ORR_PLUGIN_SYMBOL);
	if (!x)
		return orr_fail(err, ORR_EINPUT,
			"%s: expected the symbol " ORR_PLUGIN_SYMBOL
			": end the source with the macro of the world's header (docs/policies.md)",
			path);
	int rc = check_plugin(path, x, err);
	*out = rc ? NULL : x->policy;
	return rc;
}

static int find_plugin(const char *path, bool is_described, struct registry_entry *out, struct orr_error *err)
{
	size_t n;
	struct stat st;
	if (!stat(path, &st) && !S_ISREG(st.st_mode))
		return orr_fail(err, ORR_EINPUT, "%s: not a regular file: expected a compiled plugin (docs/policies.md)", path);
	char *bytes = bytes_read_file(path, 1u << 30, &n, out->plugin_hash, err);
	if (!bytes)
		return ORR_EINPUT;
	mem_free(bytes);
	int rc = is_described ? probe_plugin(path, out->plugin_hash, load, &out->policy, err) : load(path, &out->policy, err);
	if (!rc)
		registry_display_name(out->policy->name, out->name, sizeof out->name);
	return rc;
}

bool registry_is_described(const struct registry_entry *e)
{
	return *e->plugin_hash && !e->policy->ops;
}

/* Returns whether the text names a file. */
static bool is_file(const char *spec)
{
	size_t len = strlen(spec);
	return strchr(spec, '/') || (len > 3 && !strcmp(spec + len - 3, ".so")) || python_is_file(spec);
}

static int find(const char *spec, const struct world *of, bool is_described, struct registry_entry *out, struct orr_error *err)
{
	*out = (struct registry_entry){ 0 };
	if (is_file(spec)) {
		int rc = find_plugin(spec, is_described, out, err);
		return rc ? rc : check_world(out, of, err);
	}
	registry_display_name(spec, out->name, sizeof out->name);
	/* Policies of two worlds may have the same name. */
	for (const struct world *const *w = worlds; *w; w++)
		for (size_t i = 0; (*w)->policies && (*w)->policies[i]; i++)
			if (is_same_name((*w)->policies[i]->name, out->name) && (!out->policy || *w == of))
				out->policy = (*w)->policies[i];
	return out->policy ? check_world(out, of, err) : unknown(spec, of, err);
}

int registry_find(const char *spec, const struct world *of, struct registry_entry *out, struct orr_error *err)
{
	return find(spec, of, false, out, err);
}

int registry_describe(const char *spec, const struct world *of, struct registry_entry *out, struct orr_error *err)
{
	return find(spec, of, true, out, err);
}

/* ---- second tables ---- */

static int unknown_in(const char *name, const struct world_table *t, struct orr_error *err)
{
	enum { MOST = 64 };
	char text[MOST][64];
	const char *names[MOST + 1] = { NULL };
	size_t n = 0;
	for (; n < MOST && t->policies[n]; n++) {
		registry_display_name(t->policies[n]->name, text[n], sizeof text[n]);
		names[n] = text[n];
	}
	const char *near = nearest_name(name, names);
	return orr_fail(err, ORR_EINPUT, "unknown %s \"%.80s\": %s%s%s'orrery policy list %s' shows all %ss; a plugin is named by its file",
		t->kind, name, near ? "did you mean \"" : "", near ? near : "", near ? "\"? " : "", t->option, t->kind);
}

static int find_in(const char *spec, const struct world_table *t, bool is_described, struct registry_entry *out, struct orr_error *err)
{
	*out = (struct registry_entry){ 0 };
	if (is_file(spec)) {
		int rc = find_plugin(spec, is_described, out, err);
		return rc || !strcmp(out->policy->kind, t->kind)
			       ? rc
			       : orr_fail(err, ORR_EINPUT, "%.80s is a %s policy (for --policy): expected a %s", spec, out->policy->kind,
					 t->kind);
	}
	registry_display_name(spec, out->name, sizeof out->name);
	for (size_t i = 0; t->policies[i] && !out->policy; i++)
		if (is_same_name(t->policies[i]->name, out->name))
			out->policy = t->policies[i];
	return out->policy ? ORR_OK : unknown_in(spec, t, err);
}

int registry_find_in(const char *spec, const struct world_table *of, struct registry_entry *out, struct orr_error *err)
{
	return find_in(spec, of, false, out, err);
}

int registry_describe_in(const char *spec, const struct world_table *of, struct registry_entry *out, struct orr_error *err)
{
	return find_in(spec, of, true, out, err);
}
