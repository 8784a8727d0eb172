/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Assumptions of a scenario of the serving world, and remarks on the cluster. */
#include "serve/scenario.h"

#include "base/mem.h"
#include "base/sbuf.h"
#include "hwmodel/served_network.h"
#include "world/remarks.h"

#include <stdio.h>
#include <string.h>

/* ---- assumptions ---- */

static void assume(struct run_result *r, struct sbuf *text)
{
	result_note(r, "assumption", sbuf_text(text));
	sbuf_free(text);
}

static bool is_deployed(const struct serve_state *t, uint32_t model)
{
	for (uint32_t d = 0; d < t->n_deployments; d++)
		if (t->deployment[d].model == model || t->deployment[d].model == UINT32_MAX)
			return true;
	return false;
}

/* Adds the time of a load, if models are loaded during the run. */
static void put_load(const struct scenario *s, const struct served *m, struct sbuf *b)
{
	if (m->kind == SERVED_LLM || orr_arg_bool(s->options, "preloaded"))
		return;
	if (m->load_s > 0)
		sbuf_printf(b, "; a load takes %.4g s", m->load_s);
	else
		sbuf_puts(b, "; loads take no time (load_ms of a model's file)");
}

static void assume_models(const struct scenario *s, struct run_result *r)
{
	const struct serve_state *t = s->state;
	for (uint32_t i = 0; i < t->n_models; i++) {
		const struct served *m = t->model[i];
		struct sbuf b = { 0 };
		if (!is_deployed(t, i))
			continue;
		sbuf_printf(&b, "%.80s: ", m->name);
		if (m->kind == SERVED_LLM) {
			served_describe_memory(m, &t->quant, &b);
			if (m->longest)
				sbuf_printf(&b, "; context of %u tokens of prompt and output", m->longest);
			else
				sbuf_puts(&b, "; a context of any length");
		} else if (m->network) {
			sbuf_printf(&b,
				"batches by the layers of the network on each device, without the host's time; %.4g MB of weights (%s), "
				"inputs of %.4g kB, answers of %.4g kB",
				m->weight_bytes / 1e6, precision_name(t->set.precision), m->input_bytes / 1e3, m->output_bytes / 1e3);
			const char *input = m->network->dnn->input;
			if (!strncmp(input, "seq ", 4) || !strncmp(input, "src ", 4))
				sbuf_printf(&b, "; a sample is one forward pass (%s), for any prompt_tokens and output_tokens of the trace",
					input);
		} else {
			sbuf_puts(&b, "latencies of its table on any GPU type");
			if (strcmp(orr_arg_text(s->options, "front"), "none") != 0)
				sbuf_printf(&b, "; inputs of %.4g kB and answers of %.4g kB per sample over serve.front%s",
					m->input_bytes / 1e3, m->output_bytes / 1e3,
					m->input_bytes > 0 && m->output_bytes > 0 ? "" : " (0: its file states no bytes)");
		}
		put_load(s, m, &b);
		assume(r, &b);
	}
}

/* Engines affect the times of such models only. */
static bool has_llm_layers(const struct serve_state *t)
{
	for (uint32_t m = 0; m < t->n_models; m++)
		if (t->model[m]->kind == SERVED_LLM && served_has_precision(t->model[m]))
			return true;
	return false;
}

/* Adds the time of the host, if it takes any. */
static void assume_host(const struct scenario *s, const struct served_engine *e, struct run_result *r)
{
	struct served_host h = serve_engine_host(s->options);
	struct sbuf b = { 0 };
	if (h.graphs != GRAPHS_ALL)
		sbuf_printf(&b, "; %s run kernel by kernel, each launched in %.4g us",
			h.graphs == GRAPHS_OFF ? "iterations" : "iterations with prompts", 1e6 * h.kernel_s);
	if (h.fixed_s > 0 || h.request_s > 0)
		sbuf_printf(&b, "; %.4g ms of the host per iteration and %.4g ms per request", 1e3 * h.fixed_s, 1e3 * h.request_s);
	if (h.gpu_share > 0)
		sbuf_printf(&b, "; the host takes %.4g times the time of the GPU", 1 / h.gpu_share - 1);
	if (h.steps > 1)
		sbuf_printf(&b, "; the scheduler runs every %u iterations", h.steps);
	if (h.is_overlapped)
		sbuf_puts(&b, "; the host works while the GPU computes");
	if (!b.len)
		return;
	struct sbuf all = { 0 };
	sbuf_printf(&all, "engine %s: %s", e->name, sbuf_text(&b) + 2);
	if (e->host_from)
		sbuf_printf(&all, " (%s)", e->host_from);
	sbuf_free(&b);
	assume(r, &all);
}

/* Adds the constants of the serving system. */
static void assume_engine(const struct scenario *s, struct run_result *r)
{
	const char *name = orr_arg_text(s->options, "engine");
	size_t i = 0;
	while (strcmp(served_engine(i)->name, name) != 0)
		i++;
	const struct served_engine *e = served_engine(i);
	bool is_given = orr_arg_real(s->options, "kv_reads") > 0;
	struct sbuf b = { 0 };
	if (!has_llm_layers(s->state))
		return;
	assume_host(s, e, r);
	if (!is_given && !e->fitted_to)
		return;
	sbuf_printf(&b, "engine %s: decode attention reads a key or value up to %.4g times for the queries that share it (%s%s)", name,
		serve_kv_reads(s->options), is_given ? "serve.kv_reads" : "fitted to ", is_given ? "" : e->fitted_to);
	assume(r, &b);
}

static void assume_caches(const struct scenario *s, struct run_result *r)
{
	const struct serve_state *t = s->state;
	struct sbuf b = { 0 };
	if (!t->cache_note)
		return;
	sbuf_printf(&b, "KV cache of a replica: %s", t->cache_note);
	if (strstr(t->cache_note, "serve.kv_part"))
		sbuf_printf(&b, "; %.4g %% of the memory is for weights and KV cache", 100 * orr_arg_real(s->options, "kv_part"));
	assume(r, &b);
}

static bool has_llm(const struct serve_state *t)
{
	bool has = false;
	for (uint32_t m = 0; m < t->n_models; m++)
		has |= t->model[m]->kind == SERVED_LLM;
	return has;
}

/* Adds assumptions on messages within replicas of networks. */
static void assume_exchanges(const struct serve_state *t, struct run_result *r)
{
	bool has_network = false, has_group = false;
	for (uint32_t m = 0; m < t->n_models; m++)
		has_network |= t->model[m]->network != NULL;
	for (uint32_t d = 0; d < t->n_deployments; d++)
		has_group |= t->deployment[d].tp * t->deployment[d].pp > 1;
	if (has_network && has_group)
		result_note(r, "assumption",
			"GPUs of a replica exchange feature maps of 4 bytes per element; "
			"groups on several nodes are timed on the first nodes of their type");
}

static void assume_stages(const struct scenario *s, size_t i, struct run_result *r)
{
	const struct serve_state *t = s->state;
	bool is_by_stage = s->policy[i].entry.policy->flags & ORR_SERVE_BY_STAGE;
	if (is_by_stage || strcmp(orr_arg_text(s->options, "pipeline"), "serial"))
		return;
	for (uint32_t d = 0; d < t->n_deployments && has_llm(t); d++)
		if (t->deployment[d].pp > 1) {
			result_note(
				r, "assumption", "a replica of several stages runs one iteration at a time, without further micro-batches");
			return;
		}
}

/* Adds that no replica has a role, for policies that are made for roles. */
static void assume_no_roles(const struct scenario *s, size_t i, struct run_result *r)
{
	const struct serve_state *t = s->state;
	bool has_role = !has_llm(t) || !(s->policy[i].entry.policy->flags & ORR_SERVE_ROLES);
	for (uint32_t d = 0; d < t->n_deployments; d++)
		has_role |= t->deployment[d].role != ORR_ROLE_BOTH;
	if (!has_role)
		result_note(r, "assumption",
			"no deployment has the role prefill or decode (\"role\" of \"deployments\" in a scenario): every replica does "
			"both");
}

/* Adds assumptions on the costs of copies of KV caches, if any were made. */
static void assume_copies(const struct scenario *s, struct run_result *r)
{
	const struct serve_state *t = s->state;
	struct sbuf b = { 0 };
	if (remark_metric(s, r, "swaps") > 0) {
		sbuf_printf(&b,
			"a KV cache that is swapped out or in makes the next iteration longer, at serve.swap_Bps=%.4g for all GPUs of a "
			"replica together",
			orr_arg_real(s->options, "swap_Bps"));
		assume(r, &b);
	}
	if (!(remark_metric(s, r, "kv_transfers") > 0))
		return;
	if (t->set.topo)
		sbuf_printf(&b, "KV caches move over the network %.80s, transfers max-min fair", t->set.network_spec);
	else if (!strcmp(orr_arg_text(s->options, "kv_link"), "fifo"))
		sbuf_printf(&b, "KV caches move at serve.kv_Bps=%.4g, one at a time from each sending replica",
			orr_arg_real(s->options, "kv_Bps"));
	else
		sbuf_printf(&b, "KV caches move at serve.kv_Bps=%.4g each, regardless of the number of concurrent transfers",
			orr_arg_real(s->options, "kv_Bps"));
	assume(r, &b);
}

/* Adds that runs on one replica do not slow one another, if any two shared a replica. */
static void assume_sharing(const struct scenario *s, struct run_result *r)
{
	if (remark_metric(s, r, "stacked_runs") > 0 && !strcmp(orr_arg_text(s->options, "interference"), "none"))
		result_note(r, "assumption",
			"runs that share a replica do not slow one another (serve.interference=occupancy, pairwise or curve slows them)");
}

/* Adds that shared prefixes of prompts are computed again, if the trace has any; with a prefix cache, that outputs are. */
static void assume_prefixes(const struct scenario *s, struct run_result *r)
{
	const struct serve_state *t = s->state;
	if (!has_llm(t) || !reqset_block_tokens(t->requests))
		return;
	if (!orr_arg_bool(s->options, "prefix_cache"))
		result_note(r, "assumption",
			"the trace tells which prompts share prefixes, but no replica keeps their KV caches (serve.prefix_cache=true keeps "
			"them)");
	else if (remark_metric(s, r, "prefix_hit_share") > 0)
		result_note(r, "assumption",
			"prefix caches keep prompts, not outputs: the next turn of a conversation computes the previous answer again, "
			"which "
			"vLLM and SGLang keep");
}

/* Adds the rates of the tiers of KV caches that are present. */
static void assume_tiers(const struct scenario *s, struct run_result *r)
{
	static const struct {
		const char *size, *rate, *name;
	} tier[] = { { "kv_dram", "kv_dram_Bps", "DRAM" }, { "kv_ssd", "kv_ssd_Bps", "SSD" }, { "kv_pool", "kv_pool_Bps", "pool" } };
	const struct serve_state *t = s->state;
	struct sbuf b = { 0 };
	if (!has_llm(t) || !orr_arg_bool(s->options, "prefix_cache") || !reqset_block_tokens(t->requests))
		return;
	for (size_t i = 0; i < sizeof tier / sizeof *tier; i++)
		if (orr_arg_real(s->options, tier[i].size) > 0)
			sbuf_printf(&b, "%s%s at %.4g", b.len ? ", " : "cached prompts below the GPUs' memory: ", tier[i].name,
				orr_arg_real(s->options, tier[i].rate));
	if (!b.len)
		return;
	sbuf_puts(&b, " bytes per second in each direction; writes delay no iteration");
	assume(r, &b);
}

/* Adds the assumptions of speculative decoding. */
static void assume_drafts(const struct scenario *s, struct run_result *r)
{
	struct sbuf b = { 0 };
	if (!(remark_metric(s, r, "draft_iterations") > 0))
		return;
	sbuf_printf(&b, "a draft pass takes %g of a plain iteration (serve.draft_cost); the draft's weights and cache take no memory",
		orr_arg_real(s->options, "draft_cost"));
	assume(r, &b);
}

/* Adds the models that a policy chose for the replicas, from its metrics submodel_K (docs/models/serve-edge.md). */
static void assume_submodels(const struct scenario *s, struct run_result *r)
{
	const struct serve_state *t = s->state;
	struct sbuf b = { 0 };
	uint32_t first = 0, last = 0;
	for (uint32_t k = 0;; k++) {
		char name[32];
		snprintf(name, sizeof name, "submodel_%u", k);
		uint32_t model = (uint32_t)remark_metric(s, r, name);
		if (k && model != last) {
			sbuf_printf(&b, "%s%.80s on device%s %u", b.len ? "; " : "sub-models: ", t->model[last - 1]->name,
				k - first > 1 ? "s" : "", first);
			if (k - first > 1)
				sbuf_printf(&b, "%s%u", k - first > 2 ? " to " : ", ", k - 1);
			first = k;
		}
		last = model;
		if (!model || model > t->n_models)
			break;
	}
	if (b.len)
		assume(r, &b);
}

/* Adds assumptions on replicas whose GPUs are on several nodes. */
static void assume_groups(const struct scenario *s, struct run_result *r)
{
	const struct serve_state *t = s->state;
	struct sbuf b = { 0 };
	bool has_groups = remark_metric(s, r, "group_network_bytes") > 0;
	if (has_groups) {
		sbuf_printf(&b,
			"replicas on several nodes: collectives and hops cross the network %.80s%s with step.algorithm=auto, each timed as "
			"if alone",
			t->set.topo ? t->set.network_spec : "star", t->set.topo ? "" : " (network=none; its bw is 10Gbps)");
		assume(r, &b);
	}
}

/* Adds a remark on speeds stated by the cluster: they apply to jobs only. */
static void note_speeds(const struct cluster *c, struct run_result *r)
{
	char text[160];
	for (uint32_t i = 0; i < c->n_types; i++)
		if (c->type_speed[i] > 0) {
			snprintf(text, sizeof text,
				"speed= of GPU type %.60s has no effect on replicas: their times are those of models and devices",
				c->type_name[i]);
			result_note(r, "remark", text);
		}
}

void serve_note(const struct scenario *s, size_t i, struct run_result *r)
{
	const struct serve_state *t = s->state;
	inputs_note_resample(s, reqset_blocks(t->requests), "requests", r);
	note_speeds(s->cluster, r);
	assume_models(s, r);
	assume_engine(s, r);
	assume_caches(s, r);
	assume_no_roles(s, i, r);
	assume_stages(s, i, r);
	assume_exchanges(t, r);
	assume_copies(s, r);
	assume_sharing(s, r);
	assume_prefixes(s, r);
	assume_tiers(s, r);
	assume_drafts(s, r);
	assume_groups(s, r);
	assume_submodels(s, r);
	remark_warm_up(s, r);
}
