/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Options of the step world without effect on a run. docs/reference/remarks.md lists the texts. */
#include "step/effects.h"

#include "hwmodel/profile.h"
#include "step/scenario.h"
#include "world/remarks.h"

#include <math.h>
#include <string.h>

unsigned step_used(const struct scenario *s, size_t i)
{
	const struct step_state *t = s->state;
	return atomic_load(&t->used[i]);
}

/* ---- costs ---- */

#define CHANGES(name)                                                                              \
	static bool name##_changes(const struct scenario *s, size_t i, const struct run_result *r) \
	{                                                                                          \
		const struct step_state *t = s->state;                                             \
		(void)i, (void)r;                                                                  \
		return setting_costs_change(&t->set, s->cluster, t->dnn, t->costs, #name);         \
	}
CHANGES(measured)
CHANGES(fused_attention)
CHANGES(fused_elementwise)
CHANGES(dropout)
CHANGES(efficiency)

static bool profile_changes(const struct scenario *s, size_t i, const struct run_result *r)
{
	(void)i, (void)r;
	return setting_profile_changes(&((const struct step_state *)s->state)->set, s->cluster);
}

static bool profile_times_change(const struct scenario *s, size_t i, const struct run_result *r)
{
	const struct step_state *t = s->state;
	(void)i, (void)r;
	return setting_costs_change(&t->set, s->cluster, t->dnn, t->costs, "profile");
}

static bool device_changes(const struct scenario *s, size_t i, const struct run_result *r)
{
	(void)i, (void)r;
	return setting_device_changes(&((const struct step_state *)s->state)->set, s->cluster);
}

/* ---- the run ---- */

static bool uses_network(const struct scenario *s, size_t i, const struct run_result *r)
{
	(void)r;
	if (((const struct step_state *)s->state)->replay)
		return true;
	return step_used(s, i) & STEP_USED_NETWORK || setting_links_change(&((const struct step_state *)s->state)->set, s);
}

static bool routes_change(const struct scenario *s, size_t i, const struct run_result *r)
{
	const struct step_state *t = s->state;
	(void)i, (void)r;
	return t->replay || setting_routes_change(&t->set, s);
}

/* Returns whether the samples per GPU follow from `batch`, or it scales given times. */
static bool uses_batch(const struct scenario *s, size_t i, const struct run_result *r)
{
	const struct step_state *t = s->state;
	const struct orr_args *a = s->policy[i].args;
	(void)r;
	for (const struct orr_param *p = args_table(a); p && p->name; p++)
		if (!strcmp(p->name, "global_batch") && orr_arg_real(a, "global_batch") > 0)
			return orr_arg_real(t->set.options, "compute_s") > 0 || orr_arg_bool(t->set.cost_args, "measured");
	return true;
}

static bool is_drawn(const struct scenario *s, size_t i, const struct run_result *r)
{
	const struct step_state *t = s->state;
	(void)r;
	return t->learn || t->set.cost_samples || step_used(s, i) & STEP_USED_RANDOM;
}

/* Returns whether step.merge is not `on`. Merged lanes have the same times, so `on` equals auto if auto merges; otherwise it is an error.
 */
static bool is_merge_off(const struct scenario *s, size_t i, const struct run_result *r)
{
	(void)i, (void)r;
	return strcmp(orr_arg_text(((const struct step_state *)s->state)->set.options, "merge"), "on") != 0;
}

static bool has_learn_interval(const struct scenario *s, size_t i, const struct run_result *r)
{
	static const char *const names[] = { "time_to_target_s", "samples_to_target", "final_loss", "learn_samples_per_s", "accuracy",
		"best_accuracy", "epochs_to_best", "time_to_best_s" };
	(void)s, (void)i;
	for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
		const struct metric *m = result_find(r, names[k]);
		if (m && isfinite(m->ci_low))
			return true;
	}
	return false;
}

static bool is_text(const struct scenario *s, const char *option, const char *value)
{
	const struct orr_args *o = ((const struct step_state *)s->state)->learn;
	return o && !strcmp(orr_arg_text(o, option), value);
}

static bool uses_rate(const struct scenario *s, size_t i, const struct run_result *r)
{
	(void)i, (void)r;
	return !is_text(s, "problem", "gcn") || is_text(s, "optimizer", "sgd");
}

static bool uses_adam(const struct scenario *s, size_t i, const struct run_result *r)
{
	return !is_text(s, "problem", "gcn") || !uses_rate(s, i, r);
}

static bool may_decay(const struct scenario *s, size_t i, const struct run_result *r)
{
	const struct orr_args *o = ((const struct step_state *)s->state)->learn;
	(void)r;
	return !o || strcmp(orr_arg_text(o, "schedule"), "step") != 0 || step_used(s, i) & STEP_USED_LEARN_DECAY;
}

/* clang-format off */
#define LEARN_NO_DECAY "the schedule changed no learning rate before the end"
#define DATA "learn.problem=least-squares|logistic|mlp"
#define NO_GRAPH DATA "|noise|none"
#define CHUNKS "learn.problem=gcn trains on chunks of a graph"
#define ADAM "the learning rate of adam is learn.adam_lr"
#define GRAPH "learn.problem=gcn"
#define NO_NIC_LIMIT "links to the storage do not limit the writes"
#define TOO_LATE(name) \
	{ .key = "step." name, .why = "the run ends before the first checkpoint (step.iterations)", .use = STEP_USED_CHECKPOINT }
#define NOT_GRAPH "learn.problem is not gcn"
const struct world_effect step_effects[] = {
	STEP_EFFECTS, STEP_BACKGROUND,
	{ .key = "step.update_cost", .why = "the policy did not query the cost of an update", .use = STEP_USED_UPDATE },
	{ .key = "step.optimizer", .why = "the policy did not query the cost of an update", .use = STEP_USED_UPDATE, .is_unsure = true },
	{ .key = "batch", .why = "the policy's global_batch sets the samples of an iteration", .holds = uses_batch },
	TOO_LATE("checkpoint_every"), TOO_LATE("checkpoint_mode"), TOO_LATE("checkpoint_bytes"), TOO_LATE("checkpoint_nodes"),
	TOO_LATE("storage_bw"), TOO_LATE("storage_network"), TOO_LATE("storage_nic_bw"), TOO_LATE("snapshot_bw"),
	{ .key = "step.storage_nic_bw", .why = "step.storage_network is not dedicated", .needs = "step.storage_network=dedicated" },
	{ .key = "step.snapshot_bw", .why = "step.checkpoint_mode is not async", .needs = "step.checkpoint_mode=async" },
	{ .key = "step.checkpoint_nodes", .why = "these nodes hold all of the state", .use = STEP_USED_SOME_NODES },
	{ .key = "step.storage_bw", .why = "links to the storage limit the writes", .use = STEP_USED_STORAGE, .is_unsure = true },
	{ .key = "step.checkpoint_nodes", .why = NO_NIC_LIMIT, .use = STEP_USED_STORAGE_NIC, .is_unsure = true },
	{ .key = "step.storage_network", .why = NO_NIC_LIMIT, .use = STEP_USED_STORAGE_NIC, .is_unsure = true },
	{ .key = "step.storage_nic_bw", .why = NO_NIC_LIMIT, .use = STEP_USED_STORAGE_NIC, .is_unsure = true },
	{ .key = "step.merge", .why = "auto merges the same lanes", .holds = is_merge_off },
	{ .key = "step.merge", .why = "auto merges only lanes of equal times", .is_unsure = true },
	{ .key = "network", .why = "no device sent a message", .use = STEP_USED_MESSAGES },
	{ .key = "network", .why = STEP_NO_NETWORK, .holds = uses_network },
	{ .key = "network", .why = STEP_SAME_ROUTES, .holds = routes_change, .is_unsure = true },
	{ .key = "device", .why = "the GPU types of the cluster select this device", .holds = device_changes },
	{ .key = "seed", .why = "nothing of this run is drawn at random", .holds = is_drawn },
	{ .key = "policy_timeout", .why = "no call of the policy reached the limit" },
	{ .key = "profile", .why = "the profiles of the devices are the same by default", .holds = profile_changes },
	{ .key = "profile", .why = "kernel times of the model do not depend on it", .holds = profile_times_change, .is_unsure = true },
	{ .key = "cost.measured", .why = "no step time is measured for this device, model, batch and precision", .holds = measured_changes },
	{ .key = "cost.fused_attention", .why = "kernel times of the model do not depend on it", .holds = fused_attention_changes },
	{ .key = "cost.fused_elementwise", .why = "kernel times of the model do not depend on it", .holds = fused_elementwise_changes },
	{ .key = "cost.dropout", .why = "kernel times of the model do not depend on it", .holds = dropout_changes },
	{ .key = "cost.efficiency", .why = "kernel times of the model do not depend on it", .holds = efficiency_changes },
	{ .key = "learn.hidden", .why = "learn.problem has no hidden layer", .needs = "learn.problem=mlp|gcn" },
	{ .key = "learn.classes", .why = "learn.problem is not mlp", .needs = "learn.problem=mlp" },
	{ .key = "learn.activation", .why = "learn.problem is not mlp", .needs = "learn.problem=mlp" },
	{ .key = "learn.condition", .why = "learn.problem is not linear", .needs = "learn.problem=least-squares|logistic" },
	{ .key = "learn.rows", .why = "learn.problem has no rows", .needs = DATA },
	{ .key = "learn.data_seed", .why = "learn.problem has no data", .needs = DATA "|gcn" },
	{ .key = "learn.split", .why = "learn.problem has no rows", .needs = DATA },
	{ .key = "learn.sampling", .why = "learn.problem has no rows", .needs = DATA },
	{ .key = "learn.noise", .why = CHUNKS, .needs = NO_GRAPH },
	{ .key = "learn.noise", .why = "gradients of 0 have no noise", .needs = "learn.problem=least-squares|logistic|mlp|noise" },
	{ .key = "learn.shards", .why = "every device sees all rows: learn.split is none", .needs = "learn.split=even|label" },
	{ .key = "learn.schedule", .why = LEARN_NO_DECAY, .use = STEP_USED_LEARN_RATE },
	{ .key = "learn.model", .why = "auto chose the same model at every evaluation", .use = STEP_USED_LEARN_MODEL },
	{ .key = "learn.decay", .why = "learn.schedule is not step", .needs = "learn.schedule=step" },
	{ .key = "learn.decay_samples", .why = "the learning rate is constant", .needs = "learn.schedule=step|inverse|inverse-sqrt|cosine" },
	{ .key = "learn.decay", .why = LEARN_NO_DECAY, .use = STEP_USED_LEARN_DECAY },
	{ .key = "learn.decay_samples", .why = LEARN_NO_DECAY, .holds = may_decay },
	{ .key = "learn.history", .why = "no message needed more older gradients than the default keeps" },
	{ .key = "learn.batch", .why = CHUNKS, .needs = NO_GRAPH },
	{ .key = "learn.init_spread", .why = CHUNKS, .needs = NO_GRAPH },
	{ .key = "learn.max_samples", .why = CHUNKS, .needs = NO_GRAPH },
	{ .key = "learn.eval_updates", .why = CHUNKS, .needs = NO_GRAPH },
	{ .key = "learn.eval_samples", .why = CHUNKS, .needs = NO_GRAPH },
	{ .key = "learn.eval_worst", .why = CHUNKS, .needs = NO_GRAPH },
	{ .key = "learn.lr", .why = ADAM, .holds = uses_rate },
	{ .key = "learn.momentum", .why = ADAM, .holds = uses_rate },
	{ .key = "learn.warmup_samples", .why = ADAM, .holds = uses_rate },
	{ .key = "learn.vertices", .why = NOT_GRAPH, .needs = GRAPH },
	{ .key = "learn.communities", .why = NOT_GRAPH, .needs = GRAPH },
	{ .key = "learn.degree_in", .why = NOT_GRAPH, .needs = GRAPH },
	{ .key = "learn.degree_out", .why = NOT_GRAPH, .needs = GRAPH },
	{ .key = "learn.feature_noise", .why = NOT_GRAPH, .needs = GRAPH },
	{ .key = "learn.train_share", .why = NOT_GRAPH, .needs = GRAPH },
	{ .key = "learn.optimizer", .why = NOT_GRAPH, .needs = GRAPH },
	{ .key = "learn.adam_lr", .why = NOT_GRAPH, .needs = GRAPH },
	{ .key = "learn.adam_lr", .why = "learn.optimizer is sgd", .holds = uses_adam },
	{ .key = "learn.epochs", .why = NOT_GRAPH, .needs = GRAPH },
	{ .key = "learn.target_accuracy", .why = NOT_GRAPH, .needs = GRAPH },
	{ .key = "learn.ci_level", .why = "no result over seeds has an interval", .holds = has_learn_interval },
	{ 0 }
};
/* clang-format on */
