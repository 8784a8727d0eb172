/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * SGLang's cache-aware router, versions 0.1 and 0.3 (sglang_tree.h). A text is the list of hashes of the prompt: the hash of a block of
 * tokens takes the place of a character. The router guesses the caches from its own choices. The load of a replica is its number of
 * live requests; ties go to the lowest number. Defaults are those of the command line of 0.3.
 */
#include <orrery/router.h>

#include "sglang_tree.h"

#include <math.h>
#include <string.h>

static const struct orr_param params[] = {
	ORR_PARAM_CHOICE(
		"rule", "v0.3", "v0.1|v0.3", "replica of a prompt that is not cached: the smallest tree (v0.1) or the least load (v0.3)"),
	ORR_PARAM_REAL("cache_threshold", "0.3", 0, 1, "share of the prompt above which the owner of the matched prefix is chosen"),
	ORR_PARAM_REAL("balance_abs_threshold", "64", 0, 1e12,
		"loads are uneven if their largest difference exceeds this, and balance_rel_threshold holds"),
	ORR_PARAM_REAL("balance_rel_threshold", "1.5", 0, 1e12, "loads are uneven if the largest exceeds this multiple of the smallest"),
	ORR_PARAM_TIME("eviction_interval", "120s", "time between two evictions from the trees"),
	ORR_PARAM_INT("max_tree_size", "67108864", 1, 9e15, "blocks of a replica's tree that an eviction leaves"), ORR_PARAM_END
};

struct state {
	struct sglang_rule rule;
	struct sglang_tree **tree; /* by model */
	uint32_t n_models;
	uint32_t *order;
	uint64_t *load, max_size;
	double interval_s, evict_s; /* evict_s: time of the next eviction */
};

static void *create(struct orr_serve *w, const struct orr_args *args, struct orr_error *err)
{
	(void)err;
	struct state *s = orr_alloc(1, sizeof *s);
	s->rule = (struct sglang_rule){ .threshold = orr_arg_real(args, "cache_threshold"),
		.abs = orr_arg_real(args, "balance_abs_threshold"),
		.rel = orr_arg_real(args, "balance_rel_threshold"),
		.by_size = !strcmp(orr_arg_text(args, "rule"), "v0.1") };
	s->interval_s = s->evict_s = (double)orr_arg_time_ns(args, "eviction_interval") / 1e9;
	s->max_size = (uint64_t)orr_arg_int(args, "max_tree_size");
	s->n_models = orr_models(w);
	s->tree = orr_alloc(s->n_models, sizeof(struct sglang_tree *));
	for (uint32_t m = 0; m < s->n_models; m++)
		s->tree[m] = sglang_tree_new(orr_replicas(w));
	s->order = orr_alloc(orr_replicas(w), sizeof *s->order);
	s->load = orr_alloc(orr_replicas(w), sizeof *s->load);
	return s;
}

static void destroy(void *self)
{
	struct state *s = self;
	for (uint32_t m = 0; m < s->n_models; m++)
		sglang_tree_free(s->tree[m]);
	orr_free(s->tree);
	orr_free(s->order);
	orr_free(s->load);
	orr_free(s);
}

/* Trees change only in pick(), so an eviction that is due takes place before the next choice. */
static void evict(struct state *s, double now_s)
{
	if (!(s->interval_s > 0) || now_s < s->evict_s)
		return;
	for (uint32_t m = 0; m < s->n_models; m++)
		sglang_evict(s->tree[m], s->max_size);
	s->evict_s = (floor(now_s / s->interval_s) + 1) * s->interval_s;
}

static uint32_t pick(void *self, struct orr_serve *w, orr_req r)
{
	struct state *s = self;
	const uint64_t *text;
	uint32_t model = orr_req_model(w, r), length = orr_req_hashes(w, r, &text), n = 0;
	evict(s, orr_serve_now(w));
	for (uint32_t x = orr_candidate_from(w, model, 0); x != ORR_NO_REPLICA; x = orr_candidate_from(w, model, x + 1)) {
		s->order[n++] = x;
		s->load[x] = orr_replica_routed(w, x);
	}
	return sglang_choose(s->tree[model], &s->rule, text, length, s->order, n, s->load);
}

static void replica(void *self, struct orr_serve *w, uint32_t replica, enum orr_replica_event event)
{
	(void)w;
	struct state *s = self;
	for (uint32_t m = 0; m < s->n_models && event == ORR_REPLICA_DOWN; m++)
		sglang_forget(s->tree[m], replica);
}

static const struct orr_router_ops ops = { .create = create, .destroy = destroy, .pick = pick, .replica = replica };

ORR_ROUTER(sglang, "SGLang's cache-aware rule: the longest prefix in radix trees of earlier prompts, or the load", params, ops);
