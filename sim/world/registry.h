/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * registry.h - policies by name, built in or from a shared object
 *
 * A plugin stays loaded until the program ends, because results refer to its policy. Constructors of a plugin can damage the
 * process. So a program that runs plugins in other processes (world/isolate.h) only describes them.
 */
#ifndef ORR_WORLD_REGISTRY_H
#define ORR_WORLD_REGISTRY_H

#include "world/world.h"

struct registry_entry {
	const struct orr_policy *policy;
	char name[128];       /* such as "las-gpu"; for a plugin: its own name, '-' for '_' */
	char plugin_hash[65]; /* SHA-256 of the shared object; empty for built-in ones */
};

/* Finds a policy by "las-gpu" or "./mine.so" (a file if it has a '/' or ends in .so). A policy of another world than `of` (NULL:
 * any) is an error. */
int registry_find(const char *spec, const struct world *of, struct registry_entry *out, struct orr_error *err);

/* Same, but a plugin is loaded in a child process only, which reports name, kind, flags and parameters: the policy has no functions
 * (ops NULL). Safe in any thread. */
int registry_describe(const char *spec, const struct world *of, struct registry_entry *out, struct orr_error *err);
/* Like registry_find() and registry_describe(), in a second table of a world (world.h). */
int registry_find_in(const char *spec, const struct world_table *of, struct registry_entry *out, struct orr_error *err);
int registry_describe_in(const char *spec, const struct world_table *of, struct registry_entry *out, struct orr_error *err);

/* Returns whether the policy was only described, not loaded. */
bool registry_is_described(const struct registry_entry *e);

/* '_' to '-'. */
void registry_display_name(const char *ident, char *out, size_t size);

#endif
