/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Options of the plan world without effect on a run. docs/reference/remarks.md lists the texts. */
#include "step/effects.h"

#include "plan/scenario.h"
#include "world/remarks.h"

#include <string.h>

unsigned plan_used(const struct scenario *s, size_t i)
{
	return atomic_load(&((const struct plan_state *)s->state)->used[i]);
}

/* ---- conditions ---- */

#define STATE ((const struct plan_state *)s->state)
#define CONDITION(name, value)                                                           \
	static bool name(const struct scenario *s, size_t i, const struct run_result *r) \
	{                                                                                \
		(void)s, (void)i, (void)r;                                               \
		return value;                                                            \
	}
#define CHANGES(name) CONDITION(name##_changes, setting_costs_change(&STATE->set, s->cluster, STATE->dnn, STATE->costs, #name))

/* Embeddings have no training state, so these conditions are first in the table. */
CONDITION(trains, !STATE->table)
CONDITION(has_codes, STATE->table != NULL)
CONDITION(is_other_batch, STATE->problem.global_batch<32. * s->cluster->gpus || STATE->problem.global_batch> 32. * s->cluster->gpus)
CONDITION(device_changes, STATE->table || setting_device_changes(&STATE->set, s->cluster))
CONDITION(has_lookups, STATE->server != NULL)
CONDITION(profile_changes, setting_profile_changes(&STATE->set, s->cluster))
CONDITION(profile_times_change, STATE->table || setting_costs_change(&STATE->set, s->cluster, STATE->dnn, STATE->costs, "profile"))
CONDITION(routes_change, setting_routes_change(&STATE->set, s))
CONDITION(uses_network, plan_used(s, i) & (PLAN_USED_NETWORK | STEP_USED_NETWORK) || setting_links_change(&STATE->set, s))
CONDITION(plans_use_network, !(plan_used(s, i) & PLAN_USED_EXECUTOR) || plan_used(s, i) & STEP_USED_NETWORK)
CONDITION(evaluates_more, remark_metric(s, r, "evaluations") > 2 && !(plan_used(s, i) & PLAN_USED_BUDGET))
CONDITION(is_merge_off, strcmp(orr_arg_text(STATE->set.options, "merge"), "on") != 0)
CHANGES(measured)
CHANGES(fused_attention)
CHANGES(fused_elementwise)
CHANGES(dropout)
CHANGES(efficiency)

/* ---- the table ---- */

/* clang-format off */
#define TRAINING(KEY) { .key = KEY, .why = "embedding tables are compressed without training", .holds = trains }
#define EXECUTOR(KEY) TRAINING(KEY), { .key = KEY, .why = "no plan was executed (plan.checked=0)", .use = PLAN_USED_EXECUTOR }
#define KERNELS(NAME) TRAINING("cost." #NAME), \
	{ .key = "cost." #NAME, .why = "kernel times of the model do not depend on it", .holds = NAME##_changes }

const struct world_effect plan_effects[] = {
	TRAINING("global_batch"), TRAINING("micro_batch"), TRAINING("network"), TRAINING("profile"), TRAINING("precision"),
	{ .key = "global_batch", .why = "32 samples per GPU are the default", .holds = is_other_batch },
	{ .key = "micro_batch", .why = "the few plans that were evaluated may have it by default", .holds = evaluates_more, .is_unsure = true },
	{ .key = "network", .why = "no device sent a message", .use = PLAN_USED_MESSAGES | STEP_USED_MESSAGES },
	{ .key = "network", .why = STEP_NO_NETWORK, .holds = uses_network },
	{ .key = "network", .why = STEP_SAME_ROUTES, .holds = routes_change, .is_unsure = true },
	{ .key = "network", .why = "no plan that was executed sends a message between nodes", .holds = plans_use_network, .is_unsure = true },
	{ .key = "device", .why = "the GPU types of the cluster select this device", .holds = device_changes },
	{ .key = "profile", .why = "the profiles of the devices are the same by default", .holds = profile_changes },
	{ .key = "profile", .why = "kernel times of the model do not depend on it", .holds = profile_times_change, .is_unsure = true },
	{ .key = "plan.budget", .why = "the search ended before this limit", .use = PLAN_USED_BUDGET },
	{ .key = "plan.samples", .why = "the problem has no embedding tables", .holds = has_codes },
	{ .key = "plan.indirection_cost", .why = "the problem has no embedding tables", .holds = has_codes },
	{ .key = "plan.indirection_cost", .why = "without a device, lookups have no times", .holds = has_lookups },
	{ .key = "plan.indirection_cost", .why = "the code has no map", .use = PLAN_USED_MAP },
	TRAINING("plan.checked"),
	{ .key = "plan.checked", .why = "there was one plan to execute", .use = PLAN_USED_CHECKED },
	EXECUTOR("step.iterations"), EXECUTOR("step.exact"), EXECUTOR("step.fidelity"), EXECUTOR("step.algorithm"),
	EXECUTOR("step.nic_efficiency"), EXECUTOR("step.pxn"), EXECUTOR("step.merge"), EXECUTOR("step.compression"),
	EXECUTOR("step.interference"), EXECUTOR("step.interference_loss"), EXECUTOR("step.interference_curve"), EXECUTOR("step.speeds"),
	EXECUTOR("step.stragglers"), EXECUTOR("step.straggler_spread"), EXECUTOR("step.jitter"), EXECUTOR("step.jitter_spread"),
	EXECUTOR("step.contention_p"), EXECUTOR("step.contention_f"),
	EXECUTOR("step.background"), EXECUTOR("step.link_changes"),
	TRAINING("step.optimizer"), TRAINING("step.compute_s"), TRAINING("step.fc_share"), TRAINING("step.update_cost"),
	TRAINING("step.checkpoint_every"), TRAINING("step.checkpoint_mode"), TRAINING("step.checkpoint_bytes"),
	TRAINING("step.checkpoint_nodes"), TRAINING("step.storage_bw"), TRAINING("step.storage_network"),
	TRAINING("step.storage_nic_bw"), TRAINING("step.snapshot_bw"),
	TRAINING("step.ignore_memory"), TRAINING("step.prices"), TRAINING("cost.setup"),
	STEP_EFFECTS, STEP_BACKGROUND,
	{ .key = "step.merge", .why = "auto merges the same lanes", .holds = is_merge_off },
	{ .key = "step.contention_p", .why = "slowed messages may end before they are needed", .is_unsure = true },
	{ .key = "step.contention_f", .why = "slowed messages may end before they are needed", .is_unsure = true },
	{ .key = "step.merge", .why = "auto merges only lanes of equal times", .is_unsure = true },
	TRAINING("cost.measured"),
	{ .key = "cost.measured", .why = "no step time is measured for this device, model, batch and precision", .holds = measured_changes },
	KERNELS(fused_attention), KERNELS(fused_elementwise), KERNELS(dropout), KERNELS(efficiency),
	{ .key = "seed", .why = "nothing of this run is drawn at random", .use = PLAN_USED_RANDOM | STEP_USED_RANDOM },
	{ .key = "policy_timeout", .why = "no call of the policy reached the limit" },
	{ 0 }
};
/* clang-format on */
