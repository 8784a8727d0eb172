/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * policy.h - how a policy is declared, in the tree or in a plugin
 *
 * One file, one policy. At its end stands
 *
 *	ORR_POLICY_JOBS(my_policy, "what it does, in one line", params, my_ops);
 *
 * which makes it known as "my-policy". In the tree, its name is added to
 * policies/policies.def. Outside, `cc -shared -fPIC $(pkg-config --cflags orrery)`
 * makes a plugin of it, run as --policy ./my_policy.so.
 */
#ifndef ORRERY_POLICY_H
#define ORRERY_POLICY_H

#include <orrery/jobs.h>
#include <orrery/step.h>

#ifdef __cplusplus
extern "C" {
#endif

enum orr_policy_kind { ORR_POLICY_KIND_JOBS = 1, ORR_POLICY_KIND_STEP = 2 };

/* Sees true durations; is marked "oracle" in every table. */
#define ORR_NEEDS_ORACLE 1u

struct orr_policy {
	uint32_t abi_version; /* ORR_ABI_VERSION */
	uint32_t size;        /* sizeof(struct orr_policy) */
	const char *name;     /* as in the source; '_' is read as '-' */
	const char *doc;      /* one line */
	enum orr_policy_kind kind;
	unsigned flags;       /* ORR_NEEDS_ORACLE */
	const struct orr_param *params;
	const void *ops;      /* by kind: struct orr_jobs_ops, struct orr_step_ops */
};

/* The one symbol that a plugin exports. */
#define ORR_PLUGIN_SYMBOL "orr_plugin"
struct orr_plugin {
	uint32_t abi_version, size;
	const struct orr_policy *policy;
};

#define ORR_POLICY_DECLARE_(ident, doc, kind, flags, params, ops)                          \
	extern const struct orr_policy orr_policy_##ident;                                 \
	const struct orr_policy orr_policy_##ident = { ORR_ABI_VERSION,                    \
		sizeof(struct orr_policy), #ident, doc, kind, flags, params, &(ops) }

#ifdef ORR_BUILTIN
#define ORR_PLUGIN_DECLARE_(ident)
#else
#define ORR_PLUGIN_DECLARE_(ident)                                                         \
	;                                                                                  \
	extern ORR_API const struct orr_plugin orr_plugin;                                 \
	const struct orr_plugin orr_plugin = { ORR_ABI_VERSION, sizeof(struct orr_plugin), \
		&orr_policy_##ident }
#endif

#define ORR_POLICY_JOBS(ident, doc, params, ops)                                           \
	ORR_POLICY_DECLARE_(ident, doc, ORR_POLICY_KIND_JOBS, 0u, params, ops)             \
	ORR_PLUGIN_DECLARE_(ident)
#define ORR_POLICY_JOBS_ORACLE(ident, doc, params, ops)                                    \
	ORR_POLICY_DECLARE_(ident, doc, ORR_POLICY_KIND_JOBS, ORR_NEEDS_ORACLE, params, ops) \
	ORR_PLUGIN_DECLARE_(ident)
#define ORR_POLICY_STEP(ident, doc, params, ops)                                           \
	ORR_POLICY_DECLARE_(ident, doc, ORR_POLICY_KIND_STEP, 0u, params, ops)             \
	ORR_PLUGIN_DECLARE_(ident)

#ifdef __cplusplus
}
#endif
#endif
