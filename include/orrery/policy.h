/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * policy.h - how a policy is declared, in the tree or in a plugin
 *
 * One file, one policy. At its end stands
 *
 *	ORR_POLICY_JOBS(my_policy, "what it does, in one line", params, my_ops);
 *
 * which makes it known as "my-policy". In the tree, its name is added to
 * policies/policies.def (policies of the serving and the spot world as serve_my_policy, spot_my_policy: worlds may share names). Outside,
 *`cc -shared -fPIC $(pkg-config --cflags orrery)` makes a plugin of it, run as --policy ./my_policy.so.
 */
#ifndef ORRERY_POLICY_H
#define ORRERY_POLICY_H

#include <orrery/jobs.h>
#include <orrery/serve.h>
#include <orrery/spot.h>
#include <orrery/step.h>

#ifdef __cplusplus
extern "C" {
#endif

enum orr_policy_kind { ORR_POLICY_KIND_JOBS = 1, ORR_POLICY_KIND_STEP = 2, ORR_POLICY_KIND_SERVE = 3, ORR_POLICY_KIND_SPOT = 4 };

/* Sees true durations (spot: removals to come); is marked "oracle" in every table. */
#define ORR_NEEDS_ORACLE 1u
/* Serving: leaves no replica idle for which a request waits; --check holds it to that. */
#define ORR_WORK_CONSERVING 2u
/* Serving, spot: asks for true lengths, for removals to come, with some of its parameters; marked "oracle" where it did. */
#define ORR_MAY_ORACLE 4u
/* Serving: no action of the policy makes a request late that would have ended in time; --check likewise. */
#define ORR_SLO_GUARDED 8u

struct orr_policy {
	uint32_t abi_version; /* ORR_ABI_VERSION */
	uint32_t size;        /* sizeof(struct orr_policy) */
	const char *name;     /* as in the source; '_' is read as '-' */
	const char *doc;      /* one line */
	enum orr_policy_kind kind;
	unsigned flags; /* ORR_NEEDS_ORACLE */
	const struct orr_param *params;
	const void *ops; /* by kind: struct orr_jobs_ops, orr_step_ops, orr_serve_ops, orr_spot_ops */
};

/* The one symbol that a plugin exports. */
#define ORR_PLUGIN_SYMBOL "orr_plugin"
struct orr_plugin {
	uint32_t abi_version, size;
	const struct orr_policy *policy;
};

/* symbol: what follows orr_policy_ in the C name, and what stands in policies.def. */
#define ORR_POLICY_DECLARE_(symbol, ident, doc, kind, flags, params, ops)                                                             \
	extern const struct orr_policy orr_policy_##symbol;                                                                           \
	const struct orr_policy orr_policy_##symbol = { ORR_ABI_VERSION, sizeof(struct orr_policy), #ident, doc, kind, flags, params, \
		&(ops) }

#ifdef ORR_BUILTIN
#define ORR_PLUGIN_DECLARE_(symbol)
#else
#define ORR_PLUGIN_DECLARE_(symbol)                        \
	;                                                  \
	extern ORR_API const struct orr_plugin orr_plugin; \
	const struct orr_plugin orr_plugin = { ORR_ABI_VERSION, sizeof(struct orr_plugin), &orr_policy_##symbol }
#endif

#define ORR_POLICY_JOBS(ident, doc, params, ops)                                      \
	ORR_POLICY_DECLARE_(ident, ident, doc, ORR_POLICY_KIND_JOBS, 0u, params, ops) \
	ORR_PLUGIN_DECLARE_(ident)
#define ORR_POLICY_JOBS_ORACLE(ident, doc, params, ops)                                             \
	ORR_POLICY_DECLARE_(ident, ident, doc, ORR_POLICY_KIND_JOBS, ORR_NEEDS_ORACLE, params, ops) \
	ORR_PLUGIN_DECLARE_(ident)
#define ORR_POLICY_STEP(ident, doc, params, ops)                                      \
	ORR_POLICY_DECLARE_(ident, ident, doc, ORR_POLICY_KIND_STEP, 0u, params, ops) \
	ORR_PLUGIN_DECLARE_(ident)
#define ORR_POLICY_SERVE(ident, doc, params, ops)                                              \
	ORR_POLICY_DECLARE_(serve_##ident, ident, doc, ORR_POLICY_KIND_SERVE, 0u, params, ops) \
	ORR_PLUGIN_DECLARE_(serve_##ident)
#define ORR_POLICY_SERVE_FLAGS(ident, doc, flags, params, ops)                                    \
	ORR_POLICY_DECLARE_(serve_##ident, ident, doc, ORR_POLICY_KIND_SERVE, flags, params, ops) \
	ORR_PLUGIN_DECLARE_(serve_##ident)
#define ORR_POLICY_SERVE_ORACLE(ident, doc, params, ops)                                                     \
	ORR_POLICY_DECLARE_(serve_##ident, ident, doc, ORR_POLICY_KIND_SERVE, ORR_NEEDS_ORACLE, params, ops) \
	ORR_PLUGIN_DECLARE_(serve_##ident)
#define ORR_POLICY_SPOT(ident, doc, params, ops)                                             \
	ORR_POLICY_DECLARE_(spot_##ident, ident, doc, ORR_POLICY_KIND_SPOT, 0u, params, ops) \
	ORR_PLUGIN_DECLARE_(spot_##ident)
#define ORR_POLICY_SPOT_FLAGS(ident, doc, flags, params, ops)                                   \
	ORR_POLICY_DECLARE_(spot_##ident, ident, doc, ORR_POLICY_KIND_SPOT, flags, params, ops) \
	ORR_PLUGIN_DECLARE_(spot_##ident)

#ifdef __cplusplus
}
#endif
#endif
