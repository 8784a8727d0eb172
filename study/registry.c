/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "study/registry.h"

#include "base/bytes.h"
#include "base/mem.h"
#include "base/param.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#define ORR_BUILTIN_POLICY(ident) extern const struct orr_policy orr_policy_##ident;
#include "policies/policies.def"
#undef ORR_BUILTIN_POLICY

#define ORR_BUILTIN_POLICY(ident) &orr_policy_##ident,
const struct orr_policy *const registry_builtin[] = {
#include "policies/policies.def"
	NULL
};

static const char *const kind_names[] = {
	[ORR_POLICY_KIND_JOBS] = "jobs", [ORR_POLICY_KIND_STEP] = "step", [ORR_POLICY_KIND_SERVE] = "serve", [ORR_POLICY_KIND_SPOT] = "spot"
};
enum { KINDS = sizeof kind_names / sizeof *kind_names };

const char *registry_kind(enum orr_policy_kind kind)
{
	return (size_t)kind < KINDS ? kind_names[kind] : NULL;
}

enum orr_policy_kind registry_kind_named(const char *name)
{
	for (size_t k = 1; k < KINDS; k++)
		if (!strcmp(kind_names[k], name))
			return (enum orr_policy_kind)k;
	return 0;
}

void registry_display_name(const char *ident, char *out, size_t size)
{
	snprintf(out, size, "%s", ident);
	for (char *c = out; *c; c++)
		if (*c == '_')
			*c = '-';
}

static int unknown(const char *name, enum orr_policy_kind kind, struct orr_error *err)
{
	enum { MOST = 96 };
	char text[MOST][64];
	const char *names[MOST + 1] = { NULL };
	for (size_t i = 0, n = 0; registry_builtin[i] && n < MOST; i++) {
		if (kind && registry_builtin[i]->kind != kind)
			continue;
		registry_display_name(registry_builtin[i]->name, text[n], sizeof text[n]);
		names[n] = text[n];
		n++;
	}
	const char *near = nearest_name(name, names);
	return orr_fail(err, ORR_EINPUT, "no policy \"%.80s\"; %s%s%sorrery policy list shows all; a plugin is named by its file%s", name,
		near ? "did you mean " : "", near ? near : "", near ? " (" : "", near ? ")" : "");
}

/* A policy of the kind that is wanted? */
static int check_kind(const struct registry_entry *e, enum orr_policy_kind kind, struct orr_error *err)
{
	if (!kind || e->policy->kind == kind)
		return ORR_OK;
	const char *is = registry_kind(e->policy->kind), *wanted = registry_kind(kind);
	return orr_fail(
		err, ORR_EINPUT, "policy %.80s: is a %s policy (orrery %s runs those), expected a %s policy", e->name, is, is, wanted);
}

/* ---- plugins ---- */

struct checked {
	size_t size, expected;
	const char *missing; /* the first function that has to be there and is not */
};

static struct checked check_jobs(const struct orr_jobs_ops *o)
{
	struct checked c = { o->size, sizeof *o, NULL };
	if (o->size == sizeof *o)
		c.missing = !o->create     ? "create"
			    : !o->destroy  ? "destroy"
			    : !o->arrive   ? "arrive"
			    : !o->finish   ? "finish"
			    : !o->schedule ? "schedule"
					   : NULL;
	return c;
}

static struct checked check_step(const struct orr_step_ops *o)
{
	struct checked c = { o->size, sizeof *o, NULL };
	if (o->size == sizeof *o)
		c.missing = !o->create ? "create" : !o->destroy ? "destroy" : !o->build ? "build" : NULL;
	return c;
}

static struct checked check_serve(const struct orr_serve_ops *o)
{
	struct checked c = { o->size, sizeof *o, NULL };
	if (o->size == sizeof *o)
		c.missing = !o->create ? "create" : !o->destroy ? "destroy" : !o->arrive ? "arrive" : !o->schedule ? "schedule" : NULL;
	return c;
}

static struct checked check_spot(const struct orr_spot_ops *o)
{
	struct checked c = { o->size, sizeof *o, NULL };
	if (o->size == sizeof *o)
		c.missing = !o->create ? "create" : !o->destroy ? "destroy" : NULL;
	return c;
}

static int check_ops(const char *path, const struct orr_policy *p, struct orr_error *err)
{
	if (!registry_kind(p->kind))
		return orr_fail(err, ORR_EINPUT, "%s: policy %s: is of kind %d, expected a jobs, a step, a serve or a spot policy", path,
			p->name, (int)p->kind);
	if (!p->ops)
		return orr_fail(err, ORR_EINPUT, "%s: policy %s: has no functions (ops is NULL)", path, p->name);
	struct checked c = p->kind == ORR_POLICY_KIND_JOBS    ? check_jobs(p->ops)
			   : p->kind == ORR_POLICY_KIND_STEP  ? check_step(p->ops)
			   : p->kind == ORR_POLICY_KIND_SERVE ? check_serve(p->ops)
							      : check_spot(p->ops);
	if (c.size != c.expected)
		return orr_fail(err, ORR_EINPUT,
			"%s: policy %s: its table of functions has size %zu, expected %zu: set .size = sizeof ops, and compile "
			"against this version's headers",
			path, p->name, c.size, c.expected);
	if (c.missing)
		return orr_fail(err, ORR_EINPUT, "%s: policy %s: function %s is NULL", path, p->name, c.missing);
	return ORR_OK;
}

static int check_plugin(const char *path, const struct orr_plugin *x, struct orr_error *err)
{
	if (x->abi_version != ORR_ABI_VERSION)
		return orr_fail(err, ORR_EINPUT,
			"%s: was compiled for ABI version %u, this program has %u; compile it again with its headers", path, x->abi_version,
			ORR_ABI_VERSION);
	if (x->size != sizeof *x || !x->policy)
		return orr_fail(err, ORR_EINPUT,
			"%s: its " ORR_PLUGIN_SYMBOL " is damaged: end the file with ORR_POLICY_JOBS(..), ORR_POLICY_STEP(..), "
			"ORR_POLICY_SERVE(..) or ORR_POLICY_SPOT(..)",
			path);
	const struct orr_policy *p = x->policy;
	if (p->abi_version != ORR_ABI_VERSION || p->size != sizeof *p)
		return orr_fail(err, ORR_EINPUT, "%s: its policy was compiled for ABI version %u, this program has %u", path,
			p->abi_version, ORR_ABI_VERSION);
	if (!p->name || !*p->name || strlen(p->name) > 100)
		return orr_fail(err, ORR_EINPUT, "%s: its policy has no name of 1 to 100 letters", path);
	return check_ops(path, p, err);
}

static int load(const char *path, struct registry_entry *out, struct orr_error *err)
{
	char *with_slash = NULL;
	size_t n;
	char *bytes = bytes_read_file(path, 1u << 30, &n, out->plugin_hash, err);
	if (!bytes)
		return ORR_EINPUT;
	mem_free(bytes);
	if (!strchr(path, '/')) { /* else dlopen() would search the library path */
		with_slash = mem_alloc(strlen(path) + 3);
		sprintf(with_slash, "./%s", path);
	}
	void *handle = dlopen(with_slash ? with_slash : path, RTLD_NOW | RTLD_LOCAL);
	mem_free(with_slash);
	if (!handle)
		return orr_fail(err, ORR_EINPUT, "cannot load the plugin: %.600s", dlerror());
	const struct orr_plugin *x = dlsym(handle, ORR_PLUGIN_SYMBOL);
	if (!x)
		return orr_fail(err, ORR_EINPUT,
			"%s: does not export the symbol " ORR_PLUGIN_SYMBOL
			"; end the file with ORR_POLICY_JOBS(..), ORR_POLICY_STEP(..), ORR_POLICY_SERVE(..) or ORR_POLICY_SPOT(..)",
			path);
	int rc = check_plugin(path, x, err);
	if (rc)
		return rc;
	out->policy = x->policy;
	registry_display_name(x->policy->name, out->name, sizeof out->name);
	return ORR_OK;
}

int registry_find(const char *spec, enum orr_policy_kind kind, struct registry_entry *out, struct orr_error *err)
{
	size_t len = strlen(spec);
	*out = (struct registry_entry){ 0 };
	if (strchr(spec, '/') || (len > 3 && !strcmp(spec + len - 3, ".so"))) {
		int rc = load(spec, out, err);
		return rc ? rc : check_kind(out, kind, err);
	}
	char wanted[128], name[128];
	const struct orr_policy *found = NULL;
	registry_display_name(spec, wanted, sizeof wanted);
	for (size_t i = 0; registry_builtin[i]; i++) {
		registry_display_name(registry_builtin[i]->name, name, sizeof name);
		/* Two worlds may have a policy of one name. */
		if (!strcmp(name, wanted) && (!found || registry_builtin[i]->kind == kind))
			found = registry_builtin[i];
	}
	if (!found)
		return unknown(spec, kind, err);
	out->policy = found;
	memcpy(out->name, wanted, sizeof wanted);
	return check_kind(out, kind, err);
}
