/* SPDX-License-Identifier: GPL-3.0-or-later */
/* orrery model experts */
#include "cli/model_experts.h"

#include "base/bytes.h"
#include "base/mem.h"
#include "base/num.h"
#include "hwmodel/dnn.h"
#include "hwmodel/routing.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MAX_LOADS = 16 << 20 };

void model_experts_begin(struct model_experts *o)
{
	*o = (struct model_experts){ .ep = 8, .per_node = 8, .tokens = 4096, .placement = "auto", .seed = 1 };
}

static int whole(const char *name, const char *value, int64_t min, int64_t max, int64_t *out, struct orr_error *err)
{
	if (num_int(value, strlen(value), out) && *out >= min && *out <= max)
		return ORR_OK;
	return orr_fail(err, ORR_EINPUT, "%s: expected a whole number from %lld to %lld, found \"%.40s\"", name, (long long)min,
		(long long)max, value);
}

static int real(const char *name, const char *value, double max, double *out, struct orr_error *err)
{
	if (num_real(value, strlen(value), out) && *out >= 0 && *out <= max)
		return ORR_OK;
	return orr_fail(err, ORR_EINPUT, "%s: expected a number from 0 to %g, found \"%.40s\"", name, max, value);
}

int model_experts_option(struct model_experts *o, int opt, const char *value, struct orr_error *err)
{
	static const struct {
		int opt;
		const char *name;
		int64_t min, max;
		size_t offset;
	} counts[] = { { 'E', "--ep", 1, 4096, offsetof(struct model_experts, ep) },
		{ 'N', "--gpus-per-node", 1, 4096, offsetof(struct model_experts, per_node) },
		{ 'C', "--copies", 0, 65536, offsetof(struct model_experts, copies) },
		{ 'Q', "--groups", 1, 64, offsetof(struct model_experts, groups) },
		{ 'q', "--top-groups", 1, 64, offsetof(struct model_experts, top_groups) } };
	int64_t n = 0;
	int rc = ORR_OK;
	for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
		if (counts[i].opt == opt) {
			rc = whole(counts[i].name, value, counts[i].min, counts[i].max, &n, err);
			*(uint32_t *)(void *)((char *)o + counts[i].offset) = (uint32_t)n;
			return rc;
		}
	switch (opt) {
	case 't':
		return real("--tokens", value, 1e12, &o->tokens, err);
	case 'z':
		return real("--skew", value, 10, &o->skew, err);
	case 'y':
		return real("--capacity", value, 1e6, &o->capacity, err);
	case 'L':
		o->loads = value;
		return ORR_OK;
	case 'l':
		o->placement = value;
		return ORR_OK;
	case 'D':
		rc = whole("--draws", value, 0, 100000000, &n, err);
		o->draws = (uint64_t)n;
		return rc;
	default:
		rc = whole("--seed", value, 0, INT64_MAX, &n, err);
		o->seed = (uint64_t)n;
		return rc;
	}
}

static int placement_of(const char *name, enum orr_expert_placement *out, struct orr_error *err)
{
	static const char *const names[] = { "auto", "contiguous", "balanced" };
	for (int i = ORR_PLACE_AUTO; i <= ORR_PLACE_BALANCED; i++)
		if (!strcmp(names[i], name)) {
			*out = (enum orr_expert_placement)i;
			return ORR_OK;
		}
	return orr_fail(err, ORR_EINPUT, "--placement: expected auto, contiguous or balanced, found \"%.40s\"", name);
}

static int route(const struct dnn *d, const struct model_experts *o, struct routing *out, struct orr_error *err)
{
	double *load = NULL;
	struct orr_routing_terms t = { .experts = d->moe.experts,
		.top_k = d->moe.top_k,
		.groups = o->groups ? o->groups : d->moe.groups,
		.skew = o->skew,
		.ranks = o->ep,
		.per_node = o->per_node,
		.copies = o->copies,
		.capacity = o->capacity };
	t.top_groups = o->top_groups ? o->top_groups : o->groups ? o->groups : d->moe.top_groups;
	int rc = placement_of(o->placement, &t.placement, err);
	if (!rc && o->loads) {
		size_t n;
		char hash[BYTES_HASH_SIZE], *text = bytes_read_file(o->loads, MAX_LOADS, &n, hash, err);
		load = mem_alloc(t.experts * sizeof *load);
		rc = text ? routing_read_loads(o->loads, text, n, t.experts, load, err) : err->code;
		mem_free(text);
		t.load = load;
	}
	if (!rc)
		rc = routing_new(&t, out, err);
	mem_free(load);
	return rc;
}

/* Largest number of bytes that a rank sends or receives, outside its node and inside it. */
static void busiest(const struct routing *r, enum orr_expert_mode mode, double bytes, double *outside, double *inside)
{
	uint32_t n = r->ranks;
	double *m = mem_alloc((size_t)n * n * sizeof *m);
	routing_messages(r, mode, bytes, false, m);
	*outside = *inside = 0;
	for (uint32_t a = 0; a < n; a++) {
		double sum[2][2] = { { 0 } };
		for (uint32_t b = 0; b < n; b++) {
			bool is_inside = a / r->per_node == b / r->per_node;
			sum[is_inside][0] += m[(size_t)a * n + b];
			sum[is_inside][1] += m[(size_t)b * n + a];
		}
		*outside = fmax(*outside, fmax(sum[0][0], sum[0][1]));
		*inside = fmax(*inside, fmax(sum[1][0], sum[1][1]));
	}
	mem_free(m);
}

struct value {
	const char *key, *text;
	double value;
};

static void put(const struct model_experts *o, cJSON *all, struct value v)
{
	if (o->as_json)
		cJSON_AddNumberToObject(all, v.key, v.value);
	else
		printf("%-44s %.10g\n", v.text, v.value);
}

static void put_messages(const struct dnn *d, const struct model_experts *o, const struct routing *r, cJSON *all)
{
	static const char *const key[][2] = { { "per_expert_outside_bytes", "per_expert_inside_bytes" },
		{ "per_rank_outside_bytes", "per_rank_inside_bytes" }, { "per_node_outside_bytes", "per_node_inside_bytes" } };
	static const char *const text[][2] = { { "once per expert, outside a node, bytes", "once per expert, inside a node, bytes" },
		{ "once per GPU, outside a node, bytes", "once per GPU, inside a node, bytes" },
		{ "once per node, outside a node, bytes", "once per node, inside a node, bytes" } };
	double token = d->hidden + 4 * ceil(d->hidden / 128.), outside, inside;
	put(o, all, (struct value){ "fp8_token_bytes", "token in FP8 with scales, bytes", token });
	put(o, all, (struct value){ "bf16_token_bytes", "token in BF16, bytes", 2. * d->hidden });
	if (!o->as_json)
		printf("\nFP8 dispatch of %.10g tokens per GPU, busiest GPU:\n", o->tokens);
	for (int mode = ORR_EXPERT_PER_EXPERT; mode <= ORR_EXPERT_PER_NODE; mode++) {
		busiest(r, (enum orr_expert_mode)mode, o->tokens * token, &outside, &inside);
		put(o, all, (struct value){ key[mode][0], text[mode][0], outside });
		put(o, all, (struct value){ key[mode][1], text[mode][1], inside });
	}
}

static void put_draws(const struct model_experts *o, const struct routing *r, cJSON *all)
{
	struct rng rng;
	struct routing_sample x = { .pairs = mem_alloc(r->experts * sizeof *x.pairs) };
	double most = 0;
	rng_init(&rng, o->seed, "routing", 0);
	routing_draw(r, o->draws, &rng, &x);
	for (uint32_t e = 0; e < r->experts; e++)
		most = fmax(most, x.pairs[e]);
	put(o, all, (struct value){ "drawn_nodes", "nodes of a token, drawn", x.distinct_nodes });
	put(o, all, (struct value){ "drawn_ranks", "GPUs of a token, drawn", x.distinct_ranks });
	put(o, all, (struct value){ "drawn_expert_imbalance", "busiest expert / mean, drawn", most * r->experts / r->top_k });
	mem_free(x.pairs);
}

static void put_routing(const struct dnn *d, const struct model_experts *o, const struct routing *r)
{
	cJSON *all = o->as_json ? cJSON_CreateObject() : NULL;
	double most = 0;
	uint32_t slots = 0;
	for (uint32_t e = 0; e < r->experts; e++)
		most = fmax(most, r->pairs[e]);
	for (uint32_t i = 0; i < r->ranks; i++)
		slots = r->rank_slots[i] > slots ? r->rank_slots[i] : slots;
	if (!o->as_json)
		printf("%s: %u of %u experts in %u of %u groups, on %u GPUs of %u nodes\n\n", d->name, r->top_k, r->experts, r->top_groups,
			r->groups, r->ranks, r->nodes);
	put(o, all, (struct value){ "experts_per_gpu", "largest number of experts and copies on a GPU", slots });
	put(o, all, (struct value){ "nodes_per_token", "expected nodes of a token", r->distinct_nodes });
	put(o, all,
		(struct value){ "remote_nodes_per_token", "expected nodes of a token, besides its own",
			r->distinct_nodes * (r->nodes - 1) / r->nodes });
	put(o, all, (struct value){ "gpus_per_token", "expected GPUs of a token", r->distinct_ranks });
	put(o, all, (struct value){ "expert_imbalance", "busiest expert / mean", most * r->experts / r->top_k });
	put(o, all, (struct value){ "gpu_imbalance", "busiest GPU / mean", r->imbalance });
	put(o, all, (struct value){ "dropped", "share of dropped pairs", r->dropped });
	if (o->draws)
		put_draws(o, r, all);
	put_messages(d, o, r, all);
	if (!all)
		return;
	cJSON *list = cJSON_AddArrayToObject(all, "gpu_pairs");
	for (uint32_t i = 0; i < r->ranks; i++)
		cJSON_AddItemToArray(list, cJSON_CreateNumber(r->rank_pairs[i]));
	char *text = cJSON_Print(all);
	puts(text ? text : "");
	cJSON_free(text);
	cJSON_Delete(all);
}

int model_experts_show(const char *model, const struct model_experts *o, struct orr_error *err)
{
	struct routing r;
	struct dnn *d = dnn_load(model, err);
	if (!d)
		return err->code;
	int rc = d->moe.experts ? route(d, o, &r, err) : orr_fail(err, ORR_EINPUT, "model %.80s: expected a mixture of experts", d->name);
	if (!rc) {
		put_routing(d, o, &r);
		routing_free(&r);
	}
	dnn_free(d);
	return rc;
}
