/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Options of the serving world without effect on a run. docs/reference/remarks.md lists the texts. */
#include "serve/scenario.h"

#include "serve/serve.h"
#include "world/remarks.h"

#include <string.h>

unsigned serve_used(const struct scenario *s, size_t i)
{
	return atomic_load(&((const struct serve_state *)s->state)->used[i]);
}

/* ---- conditions ---- */

#define CONDITION(name) static bool name(const struct scenario *s, size_t i, const struct run_result *r)
#define STATE ((const struct serve_state *)s->state)
#define UNUSED ((void)s, (void)i, (void)r)

static bool has_kind(const struct scenario *s, enum served_kind kind)
{
	for (uint32_t m = 0; m < STATE->n_models; m++)
		if (STATE->model[m]->kind == kind)
			return true;
	return false;
}

CONDITION(has_table)
{
	UNUSED;
	return has_kind(s, SERVED_TABLE);
}

CONDITION(has_llm)
{
	UNUSED;
	return has_kind(s, SERVED_LLM);
}

/* Policies of table models, and plugins, may read the SLO of a model. */
CONDITION(slo_is_read)
{
	(void)r;
	return serve_used(s, i) & SERVE_USED_SLO || has_kind(s, SERVED_TABLE) || *s->policy[i].entry.plugin_hash;
}

/* The model's times and bytes follow from its layers. */
CONDITION(has_layers)
{
	UNUSED;
	for (uint32_t m = 0; m < STATE->n_models; m++)
		if (served_has_precision(STATE->model[m]))
			return true;
	return false;
}

CONDITION(has_llm_layers)
{
	UNUSED;
	for (uint32_t m = 0; m < STATE->n_models; m++)
		if (STATE->model[m]->kind == SERVED_LLM && served_has_precision(STATE->model[m]))
			return true;
	return false;
}

CONDITION(shares_keys)
{
	UNUSED;
	for (uint32_t m = 0; m < STATE->n_models; m++)
		if (served_shares_keys(STATE->model[m]))
			return true;
	return false;
}

CONDITION(has_quantised)
{
	UNUSED;
	return has_llm_layers(s, i, r) && (STATE->quant.weights != FORMAT_AUTO || STATE->quant.precision == PRECISION_FP8);
}

CONDITION(has_host)
{
	UNUSED;
	struct served_host h = serve_engine_host(s->options);
	return h.fixed_s > 0 || h.request_s > 0 || h.gpu_share > 0;
}

CONDITION(uses_steps)
{
	return has_host(s, i, r) || serve_used(s, i) & SERVE_USED_STEPS;
}

CONDITION(device_changes)
{
	UNUSED;
	return setting_device_changes(&STATE->set, s->cluster);
}

CONDITION(profile_changes)
{
	UNUSED;
	return setting_profile_changes(&STATE->set, s->cluster);
}

/* A run that has no exit point is not aborted, which is an effect of these options. */
CONDITION(was_abort_asked)
{
	return remark_metric(s, r, "preemptions") > 0 || serve_used(s, i) & (SERVE_USED_EXIT | SERVE_USED_EXIT_INTERVAL);
}

CONDITION(uses_network)
{
	UNUSED;
	return remark_metric(s, r, "kv_transfers") > 0 || remark_metric(s, r, "group_network_bytes") > 0;
}

CONDITION(sends_caches)
{
	UNUSED;
	return remark_metric(s, r, "kv_transfers") > 0 || remark_metric(s, r, "prefix_copies") > 0;
}

CONDITION(overlaps_caches)
{
	UNUSED;
	return remark_metric(s, r, "kv_transfers") > 0 || remark_metric(s, r, "kv_loads") > 0;
}

CONDITION(has_free_cache)
{
	UNUSED;
	for (uint32_t d = 0; d < STATE->n_deployments; d++)
		if (!STATE->deployment[d].kv_blocks)
			return true;
	return false;
}

CONDITION(hands_off)
{
	UNUSED;
	return s->policy[i].entry.policy->flags & ORR_SERVE_HANDS_OFF;
}

CONDITION(has_stages)
{
	UNUSED;
	for (uint32_t d = 0; d < STATE->n_deployments; d++)
		if (STATE->deployment[d].pp > 1)
			return true;
	return false;
}

CONDITION(has_tier_blocks)
{
	UNUSED;
	return remark_metric(s, r, "kv_dram_written_bytes") > 0 || remark_metric(s, r, "kv_ssd_written_bytes") > 0 ||
	       remark_metric(s, r, "kv_pool_written_bytes") > 0;
}

CONDITION(has_hashes)
{
	UNUSED;
	return reqset_block_tokens(STATE->requests) > 0;
}

CONDITION(has_choice)
{
	uint64_t replicas = 0;
	UNUSED;
	for (uint32_t d = 0; d < STATE->n_deployments; d++) {
		const struct serve_deployment *x = &STATE->deployment[d];
		bool is_asked =
			x->role != ORR_ROLE_DECODE || !strcmp(orr_arg_text(s->options, "roles"), "adaptive"); /* new requests go to it */
		replicas += !is_asked ? 0 : x->most > x->replicas ? x->most : x->replicas;
	}
	/* A router may reject requests. serve.queue_limit counts those of the replica instead of those in the policy's own queue. */
	return replicas > 1 || serve_used(s, i) & SERVE_USED_OTHER_ROUTE || remark_metric(s, r, "shed_queue_limit") > 0;
}

/* Without this option some requests are refused although a replica of another role has room. */
CONDITION(used_roles)
{
	return remark_metric(s, r, "role_changes") > 0 || serve_used(s, i) & SERVE_USED_ROLES;
}

CONDITION(has_turns)
{
	UNUSED;
	return serve_used(s, i) & SERVE_USED_SESSIONS;
}

CONDITION(thinks_between)
{
	return orr_arg_int(s->options, "clients") > 0 || has_turns(s, i, r);
}

/* In a mixed run, failures are an input of the mixed scenario. */
CONDITION(may_fail)
{
	UNUSED;
	return STATE->failures || (s->whole && (remark_is_set(s, "failures.mtbf") || remark_is_set(s, "failures.trace") ||
						       remark_is_set(s, "capacity.trace")));
}

static bool has_event(const struct run_result *r, const char *kind)
{
	for (size_t k = 0; k < r->n_events; k++)
		if (!strcmp(r->events[k].kind, kind))
			return true;
	return false;
}

CONDITION(has_failed)
{
	UNUSED;
	return has_event(r, "node-fail");
}

/* In a mixed run, the node of a notice is closed to jobs too, even if no replica is left. */
CONDITION(had_notice)
{
	UNUSED;
	return s->whole || has_event(r, "node-notice");
}

CONDITION(jobs_had_notice)
{
	UNUSED;
	return !s->whole || has_event(r, "node-notice") || has_event(r, "node-fail");
}

CONDITION(spares_types)
{
	UNUSED;
	return inputs_spares_types(s);
}

CONDITION(has_arrival_times)
{
	UNUSED;
	return orr_arg_int(s->options, "clients") == 0;
}

CONDITION(thinks)
{
	UNUSED;
	return orr_arg_int(s->options, "clients") > 0 || strcmp(orr_arg_text(s->options, "sessions"), "none") != 0;
}

CONDITION(thinks_for_a_time)
{
	UNUSED;
	return orr_arg_time_ns(s->options, "think") > 0;
}

CONDITION(has_interval)
{
	UNUSED;
	return remark_has_interval(s, r);
}

CONDITION(samples_rows)
{
	UNUSED;
	return s->record != RECORD_SAMPLE || remark_metric(s, r, "requests") > SERVE_SAMPLE_ROWS;
}

CONDITION(ends_early)
{
	UNUSED;
	return remark_metric(s, r, "requests_unfinished") > 0 || remark_metric(s, r, "requests") < (double)reqset_count(STATE->requests);
}

CONDITION(is_drawn)
{
	UNUSED;
	return scenario_is_random(s->whole ? s->whole : s);
}

/* ---- the table ---- */

/* clang-format off */
#define NO_TRANSFER(KEY) { .key = KEY, .why = "no KV cache was sent to another replica", .metric = "kv_transfers" }
#define NO_STACK(KEY) { .key = KEY, .why = "no two runs shared a replica", .metric = "stacked_runs" }
#define NO_SLOWDOWN(KEY) { .key = KEY, .why = "no run was slowed by another one", .use = SERVE_USED_SLOWDOWN }
#define AUTOSCALE(KEY) { .key = KEY, .why = "serve.autoscale=none", .needs = "serve.autoscale=outstanding|rate" }
#define NO_DECISION(KEY) { .key = KEY, .why = "the last request ended before the first decision", .use = SERVE_USED_DECISION }
#define THINK(KEY) { .key = KEY, .why = "neither serve.clients nor serve.sessions is set", .holds = thinks }
#define NO_TURN(KEY) { .key = KEY, .why = "no session of the trace has several requests", .holds = thinks_between }
#define FAILURES(KEY) { .key = KEY, .why = "no node failed before the end", .holds = has_failed }
#define DRAFT(KEY) { .key = KEY, .why = "serve.draft_tokens is 0", .needs = "serve.draft_tokens" }
#define TIER(KEY) LLM(KEY), { .key = KEY, .why = "serve.prefix_cache is false", .needs = "serve.prefix_cache" }, \
	{ .key = KEY, .why = "the trace has no hashes of prompts", .holds = has_hashes }
#define NO_TIER(KEY) LLM(KEY), { .key = KEY, .why = "no block was written to DRAM, SSD or pool", .holds = has_tier_blocks }
#define ROLES(KEY) { .key = KEY, .why = "serve.roles is fixed", .needs = "serve.roles=adaptive" }
#define INT4(KEY) { .key = KEY, .why = "weights is not int4", .needs = "weights=int4" }
#define HOST(KEY) { .key = KEY, .why = "no language model by layers is served", .holds = has_llm_layers }
#define LLM(KEY) { .key = KEY, .why = "no language model is served", .holds = has_llm }

const struct world_effect serve_effects[] = {
	{ .key = "serve.swap_Bps", .why = "no KV cache was swapped out", .metric = "swaps" },
	{ .key = "serve.kv_Bps", .why = "no KV cache was sent to another replica", .holds = sends_caches },
	{ .key = "serve.kv_latency", .why = "no KV cache was sent to another replica", .holds = sends_caches },
	{ .key = "serve.kv_overlap", .why = "no KV cache was sent to another replica or loaded from a tier", .holds = overlaps_caches },
	NO_TRANSFER("serve.kv_link"), NO_TRANSFER("serve.decode_router"),
	{ .key = "serve.decode_router", .why = "the policy chooses decode replicas itself", .holds = hands_off },
	NO_TRANSFER("serve.decode_admission"),
	{ .key = "serve.decode_admission", .why = "the policy chooses decode replicas itself", .holds = hands_off },
	{ .key = "serve.decode_admission", .why = "the decode replicas had room for every cache (kv_use_mean may differ)", .use = SERVE_USED_DECODE_ROOM, .is_unsure = true },
	{ .key = "serve.roles", .why = "no replica changed its role", .holds = used_roles },
	ROLES("serve.role_interval"), ROLES("serve.role_waiting"), ROLES("serve.role_kv"),
	TIER("serve.kv_dram"), { .key = "serve.kv_dram", .why = "no block was written to it", .metric = "kv_dram_written_bytes" },
	TIER("serve.kv_ssd"), { .key = "serve.kv_ssd", .why = "no block was written to it", .metric = "kv_ssd_written_bytes" },
	TIER("serve.kv_pool"), { .key = "serve.kv_pool", .why = "no block was written to it", .metric = "kv_pool_written_bytes" },
	{ .key = "serve.kv_dram_Bps", .why = "no block was written to DRAM", .metric = "kv_dram_written_bytes" },
	{ .key = "serve.kv_ssd_Bps", .why = "no block was written to an SSD", .metric = "kv_ssd_written_bytes" },
	{ .key = "serve.kv_pool_Bps", .why = "no block was written to the pool", .metric = "kv_pool_written_bytes" },
	{ .key = "serve.kv_pool_latency", .why = "no block was written to the pool", .metric = "kv_pool_written_bytes" },
	NO_TIER("serve.kv_write"), NO_TIER("serve.kv_load"), NO_TIER("serve.kv_prefetch"), NO_TIER("serve.kv_evict"),
	{ .key = "serve.kv_load", .why = "the default loads the same blocks for every request", .use = SERVE_USED_KV_LOAD },
	{ .key = "serve.kv_prefetch", .why = "no block was loaded", .metric = "kv_loads" },
	{ .key = "serve.kv_evict", .why = "no tier was full", .metric = "kv_tier_drops" },
	{ .key = "network", .why = "no KV cache was sent to another replica, and no replica is on several nodes", .holds = uses_network },
	{ .key = "serve.engine", .why = "no language model by layers is served", .holds = has_layers },
	{ .key = "serve.kv_reads", .why = "no language model by layers is served", .holds = has_layers },
	{ .key = "serve.kv_reads", .why = "no two queries of a model share keys and values", .holds = shares_keys },
	{ .key = "serve.queue_limit", .why = "no request arrived at a replica with that many requests", .metric = "shed_queue_limit" },
	{ .key = "serve.shed", .why = "no request reached its deadline while it waited", .metric = "shed_deadline" },
	{ .key = "serve.slowdowns", .why = "serve.interference is not pairwise", .needs = "serve.interference=pairwise" },
	{ .key = "serve.slowdown_curve", .why = "serve.interference is not curve", .needs = "serve.interference=curve" },
	NO_STACK("serve.interference"), NO_STACK("serve.slowdowns"), NO_STACK("serve.slowdown_curve"),
	NO_SLOWDOWN("serve.interference"), NO_SLOWDOWN("serve.slowdowns"), NO_SLOWDOWN("serve.slowdown_curve"),
	{ .key = "serve.exit", .why = "no run was aborted", .holds = was_abort_asked },
	{ .key = "serve.exit", .why = "every run was aborted at the same point as by default", .use = SERVE_USED_EXIT },
	{ .key = "serve.exit_interval", .why = "serve.exit is not interval", .needs = "serve.exit=interval" },
	{ .key = "serve.exit_interval", .why = "no run was aborted", .holds = was_abort_asked },
	{ .key = "serve.exit_interval", .why = "every run was aborted at the same point as by default", .use = SERVE_USED_EXIT_INTERVAL },
	{ .key = "serve.resume_cost", .why = "no suspended run was resumed", .use = SERVE_USED_RESUME },
	{ .key = "precision", .why = "times and bytes of the models are given by their files", .holds = has_layers },
	{ .key = "weights", .why = "times and bytes of the models are given by their files", .holds = has_layers },
	INT4("serve.weight_group"), INT4("serve.weight_group_bits"),
	{ .key = "serve.quantised_head", .why = "no weights are quantised", .holds = has_quantised },
	HOST("serve.host"), HOST("serve.host_per_request"), HOST("serve.host_gpu_share"), HOST("serve.host_steps"),
	HOST("serve.host_overlap"), HOST("serve.cuda_graphs"), HOST("serve.kernel_launch"),
	{ .key = "serve.host_steps", .why = "no request waited for the end of a call of the scheduler", .holds = uses_steps },
	{ .key = "serve.host_overlap", .why = "the host takes no time", .holds = has_host },
	{ .key = "serve.kernel_launch", .why = "serve.cuda_graphs is all", .needs = "serve.cuda_graphs=decode|off" },
	{ .key = "kv_precision", .why = "the bytes of KV caches are given by the models' files", .holds = has_layers },
	{ .key = "profile", .why = "times of the models are given by their files", .holds = has_layers },
	{ .key = "profile", .why = "the profiles of the devices are the same by default", .holds = profile_changes },
	{ .key = "serve.front_Bps", .why = "serve.front is none", .needs = "serve.front=shared|per-replica" },
	{ .key = "serve.front_latency", .why = "serve.front is none", .needs = "serve.front=shared|per-replica" },
	{ .key = "serve.loss", .why = "no answer was lost", .metric = "answers_lost" },
	LLM("serve.kv_part"), LLM("serve.kv_block"), LLM("kv_blocks"), LLM("serve.tbt"), LLM("serve.prefix_cache"),
	LLM("serve.pipeline"), { .key = "serve.pipeline", .why = "no replica has several pipeline stages", .holds = has_stages },
	LLM("serve.draft_tokens"), DRAFT("serve.draft_acceptance"), DRAFT("serve.draft_cost"), DRAFT("serve.draft_check"),
	DRAFT("serve.draft_most_decodes"), DRAFT("serve.draft_adapt"),
	{ .key = "serve.draft_tokens", .why = "no iteration speculated", .metric = "draft_iterations" },
	{ .key = "serve.kv_part", .why = "kv_blocks sets the size of KV caches", .holds = has_free_cache },
	{ .key = "serve.prefix_cache", .why = "the trace has no hashes of prompts", .holds = has_hashes },
	{ .key = "serve.router", .why = "one replica takes new requests", .holds = has_choice },
	{ .key = "serve.router", .why = "the router chose the replica with the shortest queue for every request, as jsq does", .use = SERVE_USED_ROUTER },
	{ .key = "serve.router", .why = "it replaces the routing of the policy, which may choose the same replicas", .use = SERVE_USED_OTHER_ROUTE,
		.is_unsure = true },
	AUTOSCALE("serve.scale_target"), AUTOSCALE("serve.scale_interval"), AUTOSCALE("serve.scale_quiet"),
	NO_DECISION("serve.scale_target"), NO_DECISION("serve.scale_quiet"),
	{ .key = "serve.scale_interval", .why = "the last request ended before the first decision, which the default makes no earlier", .use = SERVE_USED_SCALE_INTERVAL },
	{ .key = "serve.scale_target", .why = "every decision is the same with the default", .use = SERVE_USED_SCALE_TARGET },
	{ .key = "serve.scale_quiet", .why = "every decision is the same with the default", .use = SERVE_USED_SCALE_QUIET },
	{ .key = "serve.utilisation_limit", .why = "the limit kept no run from a replica", .use = SERVE_USED_UTILISATION },
	{ .key = "serve.slo", .why = "every request states its own limit", .holds = slo_is_read },
	{ .key = "serve.warmup", .why = "every mean is the same without this option", .use = SERVE_USED_WARMUP },
	{ .key = "device", .why = "the GPU types of the cluster select this device", .holds = device_changes },
	{ .key = "serve.start_up", .why = "no replica was added later", .use = SERVE_USED_START_UP },
	{ .key = "serve.notice", .why = "nodes do not fail", .holds = may_fail },
	{ .key = "serve.notice", .why = "no notice was given before the end", .holds = had_notice },
	{ .key = "serve.notice", .why = "no node failed before the end", .holds = jobs_had_notice, .is_unsure = true },
	THINK("serve.think"), THINK("serve.think_law"), NO_TURN("serve.think"), NO_TURN("serve.think_law"),
	{ .key = "serve.sessions", .why = "no session of the trace has several requests", .holds = has_turns },
	{ .key = "serve.think_law", .why = "serve.think is 0", .holds = thinks_for_a_time },
	{ .key = "failures.mttr", .why = "nodes do not fail (failures.mtbf is 0)", .holds = may_fail },
	{ .key = "failures.mttr", .why = "failures.trace states the repairs", .needs = "failures.mtbf" },
	FAILURES("failures.mtbf"), FAILURES("failures.mttr"), FAILURES("failures.types"), FAILURES("failures.trace"),
	{ .key = "failures.types", .why = "the cluster has no node of another type", .holds = spares_types },
	{ .key = "serve.any_model", .why = "no request names a model that is not served", .use = SERVE_USED_ANY_MODEL },
	{ .key = "serve.max_calls_per_instant", .why = "no instant reached the limit" },
	{ .key = "policy_timeout", .why = "no call of the policy reached the limit" },
	{ .key = "placement", .why = "the default chooses the same GPUs for every replica", .use = SERVE_USED_PLACEMENT },
	{ .key = "serve.ci_level", .why = "the run has no interval", .holds = has_interval },
	{ .key = "record", .why = "a sample of up to 10000 rows contains every request", .holds = samples_rows },
	{ .key = "warm_up", .why = "the warm-up removed no request", .metric = "warmup_removed" },
	{ .key = "until", .why = "the last request ended before that time", .holds = ends_early },
	{ .key = "serve.preloaded", .why = "weights of language models are always in memory", .holds = has_table },
	{ .key = "compress", .why = "serve.clients sends the rows of the trace regardless of their times", .holds = has_arrival_times },
	{ .key = "seed", .why = "nothing of this run is drawn at random", .holds = is_drawn },
	{ 0 }
};
/* clang-format on */
