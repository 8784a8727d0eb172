/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * registry.h - policies by name, built in or from a shared object
 *
 * A plugin stays loaded until the program ends: policies are referred to by results.
 */
#ifndef ORR_CLI_REGISTRY_H
#define ORR_CLI_REGISTRY_H

#include <orrery/policy.h>

struct registry_entry {
	const struct orr_policy *policy;
	char name[128];       /* "las-gpu"; of a plugin: its own name, '-' for '_' */
	char plugin_hash[65]; /* SHA-256 of the shared object; empty for built-in ones */
};

/* Built-in ones in the order of policies.def; ends with NULL. */
extern const struct orr_policy *const registry_builtin[];

/* "las-gpu" or "./mine.so" (anything with a '/' or ending in .so is a file). A policy of
 * another kind than the wanted one (0: any) is an error. */
int registry_find(const char *spec, const char *kind, struct registry_entry *out, struct orr_error *err);

/* The kinds of policy; ends with NULL. */
extern const char *const registry_kinds[];
/* The entry of registry_kinds of that name; NULL: none. */
const char *registry_kind_named(const char *name);

/* '_' to '-'. */
void registry_display_name(const char *ident, char *out, size_t size);

#endif
