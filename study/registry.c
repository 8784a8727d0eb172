/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "study/registry.h"

#include "base/bytes.h"
#include "base/mem.h"
#include "base/param.h"

#include <orrery/jobs.h>
#include <orrery/serve.h>
#include <orrery/spot.h>
#include <orrery/step.h>

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#define ORR_BUILTIN_POLICY(ident) extern const struct orr_policy orr_policy_##ident;
#include "policies/jobs/policies.def"
#include "policies/serve/policies.def"
#include "policies/spot/policies.def"
#include "policies/step/policies.def"
#undef ORR_BUILTIN_POLICY

#define ORR_BUILTIN_POLICY(ident) &orr_policy_##ident,
const struct orr_policy *const registry_builtin[] = {
#include "policies/jobs/policies.def"
#include "policies/step/policies.def"
#include "policies/serve/policies.def"
#include "policies/spot/policies.def"
	NULL
};

const char *const registry_kinds[] = { "jobs", "step", "serve", "spot", NULL };

const char *registry_kind_named(const char *name)
{
	for (size_t k = 0; name && registry_kinds[k]; k++)
		if (!strcmp(registry_kinds[k], name))
			return registry_kinds[k];
	return NULL;
}

void registry_display_name(const char *ident, char *out, size_t size)
{
	snprintf(out, size, "%s", ident);
	for (char *c = out; *c; c++)
		if (*c == '_')
			*c = '-';
}

static int unknown(const char *name, const char *kind, struct orr_error *err)
{
	enum { MOST = 96 };
	char text[MOST][64];
	const char *names[MOST + 1] = { NULL };
	for (size_t i = 0, n = 0; registry_builtin[i] && n < MOST; i++) {
		if (kind && strcmp(registry_builtin[i]->kind, kind) != 0)
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
static int check_kind(const struct registry_entry *e, const char *kind, struct orr_error *err)
{
	if (!kind || !strcmp(e->policy->kind, kind))
		return ORR_OK;
	const char *is = e->policy->kind;
	return orr_fail(
		err, ORR_EINPUT, "policy %.80s: is a %s policy (orrery %s runs those), expected a %s policy", e->name, is, is, kind);
}

/* ---- plugins ---- */

/* What has to be there. */
static const struct needed {
	const char *kind;
	size_t ops_size;
	struct {
		const char *name;
		size_t offset;
	} function[8];
} needed[] = {
#define FUNCTION(ops, name)                       \
	{                                         \
#name, offsetof(struct ops, name) \
	}
	{ "jobs", sizeof(struct orr_jobs_ops),
		{ FUNCTION(orr_jobs_ops, create), FUNCTION(orr_jobs_ops, destroy), FUNCTION(orr_jobs_ops, arrive),
			FUNCTION(orr_jobs_ops, finish), FUNCTION(orr_jobs_ops, schedule) } },
	{ "step", sizeof(struct orr_step_ops),
		{ FUNCTION(orr_step_ops, create), FUNCTION(orr_step_ops, destroy), FUNCTION(orr_step_ops, build) } },
	{ "serve", sizeof(struct orr_serve_ops),
		{ FUNCTION(orr_serve_ops, create), FUNCTION(orr_serve_ops, destroy), FUNCTION(orr_serve_ops, arrive),
			FUNCTION(orr_serve_ops, schedule) } },
	{ "spot", sizeof(struct orr_spot_ops), { FUNCTION(orr_spot_ops, create), FUNCTION(orr_spot_ops, destroy) } },
};

static int check_ops(const char *path, const struct orr_policy *p, struct orr_error *err)
{
	size_t k = 0;
	while (k < sizeof needed / sizeof *needed && (!p->kind || strcmp(needed[k].kind, p->kind)))
		k++;
	if (k == sizeof needed / sizeof *needed)
		return orr_fail(err, ORR_EINPUT, "%s: policy %s: is of kind \"%.40s\", expected jobs, step, serve or spot", path, p->name,
			p->kind ? p->kind : "");
	if (!p->ops)
		return orr_fail(err, ORR_EINPUT, "%s: policy %s: has no functions (ops is NULL)", path, p->name);
	if (p->ops_size != needed[k].ops_size)
		return orr_fail(err, ORR_EINPUT,
			"%s: policy %s: its table of functions has %u bytes, expected %zu: compile against this version's headers", path,
			p->name, p->ops_size, needed[k].ops_size);
	for (size_t i = 0; needed[k].function[i].name; i++) {
		void (*function)(void);
		memcpy(&function, (const char *)p->ops + needed[k].function[i].offset, sizeof function);
		if (!function)
			return orr_fail(err, ORR_EINPUT, "%s: policy %s: function %s is NULL", path, p->name, needed[k].function[i].name);
	}
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
			"%s: its " ORR_PLUGIN_SYMBOL
			" is damaged: end the file with the macro of its world's header, as in ORR_POLICY_JOBS(..)",
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
			"; end the file with the macro of its world's header, as in ORR_POLICY_JOBS(..)",
			path);
	int rc = check_plugin(path, x, err);
	if (rc)
		return rc;
	out->policy = x->policy;
	registry_display_name(x->policy->name, out->name, sizeof out->name);
	return ORR_OK;
}

int registry_find(const char *spec, const char *kind, struct registry_entry *out, struct orr_error *err)
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
		if (!strcmp(name, wanted) && (!found || (kind && !strcmp(registry_builtin[i]->kind, kind))))
			found = registry_builtin[i];
	}
	if (!found)
		return unknown(spec, kind, err);
	out->policy = found;
	memcpy(out->name, wanted, sizeof wanted);
	return check_kind(out, kind, err);
}
