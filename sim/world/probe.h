/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * probe.h - name, kind, flags and parameters of a plugin, read by a child process that loads it
 */
#ifndef ORR_WORLD_PROBE_H
#define ORR_WORLD_PROBE_H

#include <orrery/policy.h>

/* Loads and checks a plugin in the calling process. */
typedef int (*probe_load)(const char *path, const struct orr_policy **out, struct orr_error *err);

/* Sets *out to a copy of the plugin's policy without its functions (ops NULL), which is never freed. A child process calls load() and
 * reports the copy, or the error of load(). A child that ends, or does not finish within a minute, is an error too. hash: of the file's
 * contents; plugins are probed once. Safe in any thread. */
int probe_plugin(const char *path, const char *hash, probe_load load, const struct orr_policy **out, struct orr_error *err);

#endif
