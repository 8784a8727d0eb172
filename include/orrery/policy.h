/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * policy.h - how a policy is declared, in the tree or in a plugin
 *
 * One file, one policy. A policy includes the header of its world, <orrery/WORLD.h>, and ends with that header's macro:
 *
 *	ORR_POLICY_JOBS(my_policy, "what it does, in one line", params, my_ops);
 *
 * The name of this policy is "my-policy". In the tree, add it to policies/WORLD/policies.def. Outside, `cc -shared -fPIC
 * $(orrery policy cflags)` compiles it to a plugin, used as --policy ./my_policy.so.
 */
#ifndef ORRERY_POLICY_H
#define ORRERY_POLICY_H

#include <orrery/api.h>
#include <orrery/param.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Flags that a policy declares. The header of its world states which flags have a meaning there. */
#define ORR_NEEDS_ORACLE 1u    /* flag: uses information that real policies lack; marked "oracle" in every table */
#define ORR_WORK_CONSERVING 2u /* flag: never idles a resource that has queued work; --check verifies it */
#define ORR_MAY_ORACLE 4u      /* flag: same as ORR_NEEDS_ORACLE, but only with some parameters */
#define ORR_SLO_GUARDED 8u     /* flag: no action makes a request miss a deadline that it would otherwise meet; --check verifies it */
#define ORR_DRAWS 16u          /* flag: may draw random numbers, so replications differ even if nothing else is random */
#define ORR_SERVE_ROLES \
	32u /* flag (serving): runs prompts on prefill replicas and decodes on decode replicas; other policies \ reject roles */

#define ORR_SERVE_STAGES \
	64u /* flag (serving): forms micro-batches (orr_micro_stages()); other policies reject serve.pipeline=micro-batches */

#define ORR_SERVE_HANDS_OFF \
	256u /* flag (serving): accepts roles without distinguishing them: the world sends requests on at the end of their prompts */
#define ORR_SERVE_BY_STAGE 128u /* flag (serving): starts work on each pipeline stage by orr_stage_run() */

#define ORR_JOBS_WHOLE 512u /* flag (jobs): decides for all jobs together; cannot run with --partitions, an object for each */

struct orr_policy {
	uint32_t abi_version; /* ORR_ABI_VERSION */
	uint32_t size;        /* sizeof(struct orr_policy) */
	const char *name;     /* name of the policy as in the source, with '_' read as '-' */
	const char *doc;      /* one line */
	const char *kind;     /* the world's name */
	unsigned flags;
	const struct orr_param *params;
	const void *ops;   /* the world's table of functions: struct orr_WORLD_ops */
	uint32_t ops_size; /* size of the world's table of functions, bytes */
};

/* The one symbol that a plugin exports. */
#define ORR_PLUGIN_SYMBOL "orr_plugin"
struct orr_plugin {
	uint32_t abi_version, size;
	const struct orr_policy *policy;
};

/*
 * Used by the macros of the worlds. symbol: the C name without orr_policy_, which is also the entry of policies.def. type: the
 * required type of ops.
 */
#define ORR_POLICY_DECLARE(symbol, ident, doc, world, flags, params, type, ops)                                                        \
	extern const struct orr_policy orr_policy_##symbol;                                                                            \
	const struct orr_policy orr_policy_##symbol = { ORR_ABI_VERSION, sizeof(struct orr_policy), #ident, doc, world, flags, params, \
		1 ? &(ops) : (const type *)0, sizeof(type) } ORR_PLUGIN_DECLARE_(symbol)

#ifdef ORR_BUILTIN
#define ORR_PLUGIN_DECLARE_(symbol)
#else
#define ORR_PLUGIN_DECLARE_(symbol)                        \
	;                                                  \
	extern ORR_API const struct orr_plugin orr_plugin; \
	const struct orr_plugin orr_plugin = { ORR_ABI_VERSION, sizeof(struct orr_plugin), &orr_policy_##symbol }
#endif

#ifdef __cplusplus
}
#endif
#endif
