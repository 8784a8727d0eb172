/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Models by dimension: "gpt:hidden=12288,layers=96,..". */
#include "hwmodel/dnn_plan.h"

#include "base/num.h"
#include "base/param.h"

#include <stdio.h>
#include <string.h>

#define UNSET UINT32_MAX
enum {
	MAX_DIMENSION = 100000000,
	MAX_LAYERS = 4096,
	MAX_EXPERTS = DNN_MAX_EXPERTS,
	MAX_TOP_K = DNN_MAX_TOP_K,
	MAX_GROUPS = DNN_MAX_GROUPS
};

enum family { GPT = 1, BERT = 2, LLAMA = 4, VIT = 8, DEEPFM = 16, MOE = 32 };
#define GATED (LLAMA | MOE)

struct values {
	uint32_t hidden, layers, heads, kv_heads, ffn, seq, vocab, positions, tied, dropout, types, predictions, head, image, patch,
		classes, distilled, ids, fields, dim, norm;
	uint32_t head_dim, qk_norm, qkv_bias, q_rank, kv_rank, nope, rope, v_dim;
	uint32_t experts, top_k, shared, width, groups, top_groups, first_dense, moe_every, router_bias;
};

struct key {
	const char *name;
	size_t offset;
	int of;      /* mask of the families that have this key */
	int64_t def; /* default; -1: required; -2: derived from other keys */
	uint32_t min, max;
};
#define KEY(name, of, def, min, max)                                    \
	{                                                               \
#name, offsetof(struct values, name), of, def, min, max \
	}

static const struct key keys[] = {
	KEY(hidden, GPT | BERT | GATED | VIT, -1, 1, 1000000),
	{ "width", offsetof(struct values, hidden), VIT, -2, 1, 1000000 }, /* another name of hidden */
	KEY(layers, GPT | BERT | GATED, -1, 1, MAX_LAYERS),
	KEY(layers, VIT, 12, 1, MAX_LAYERS),
	KEY(ids, DEEPFM, -1, 1, UINT32_MAX - 1),
	KEY(hidden, DEEPFM, 400, 1, 1000000),
	KEY(layers, DEEPFM, 3, 1, 100),
	KEY(fields, DEEPFM, 39, 1, 100000),
	KEY(dim, DEEPFM, 10, 1, 100000),
	KEY(norm, DEEPFM, 0, 0, 1),
	KEY(heads, GPT | BERT | GATED, -1, 1, 100000),
	KEY(heads, VIT, -2, 1, 100000),
	KEY(kv_heads, GPT | GATED, -2, 1, 100000),
	KEY(ffn, GPT | BERT | GATED | VIT, -2, 1, 10000000),
	KEY(seq, GPT | BERT | GATED, -1, 1, 10000000),
	KEY(vocab, GPT | BERT | GATED, -1, 1, MAX_DIMENSION),
	KEY(positions, GPT | BERT, -2, 0, MAX_DIMENSION),
	KEY(tied, GPT | GATED, -2, 0, 1),
	KEY(dropout, GPT | BERT, 0, 0, 1),
	KEY(types, BERT, 2, 0, MAX_DIMENSION),
	KEY(predictions, BERT, -2, 1, 10000000),
	KEY(head, BERT, HEAD_POOLER, 0, 0), /* the value is a word */
	KEY(image, VIT, 224, 1, 16384),
	KEY(patch, VIT, 16, 1, 16384),
	KEY(classes, VIT, 1000, 1, MAX_DIMENSION),
	KEY(distilled, VIT, 0, 0, 1),
	KEY(head_dim, GATED, 0, 1, 100000),
	KEY(qk_norm, GATED, 0, 0, 2),
	KEY(qkv_bias, GATED, 0, 0, 1),
	KEY(q_rank, GATED, 0, 1, 1000000),
	KEY(kv_rank, GATED, 0, 1, 1000000),
	KEY(nope, GATED, 0, 0, 100000),
	KEY(rope, GATED, 0, 0, 100000),
	KEY(v_dim, GATED, 0, 1, 100000),
	KEY(experts, MOE, -1, 1, MAX_EXPERTS),
	KEY(top_k, MOE, -1, 1, MAX_TOP_K),
	KEY(width, MOE, -1, 1, 10000000),
	KEY(shared, MOE, 0, 0, 1024),
	KEY(groups, MOE, 1, 1, MAX_GROUPS),
	KEY(top_groups, MOE, 1, 1, MAX_GROUPS),
	KEY(first_dense, MOE, 0, 0, MAX_LAYERS),
	KEY(moe_every, MOE, 1, 1, MAX_LAYERS),
	KEY(router_bias, MOE, 0, 0, 1),
};
enum { N_KEYS = sizeof keys / sizeof *keys };

static const char *const head_names[] = { "none", "pooler", "pretrain", "qa", NULL };

static uint32_t *at(struct values *v, const struct key *k)
{
	return (uint32_t *)(void *)((char *)v + k->offset);
}

static int unknown_key(const char *spec, enum family family, const char *name, struct orr_error *err)
{
	const char *names[N_KEYS + 1] = { NULL };
	char all[400] = "";
	size_t n = 0, len = 0;
	for (size_t i = 0; i < N_KEYS; i++)
		if (keys[i].of & (int)family) {
			names[n++] = keys[i].name;
			len += (size_t)snprintf(all + len, sizeof all - len, "%s%s", len ? ", " : "", keys[i].name);
		}
	const char *near = nearest_name(name, names);
	return orr_fail(err, ORR_EINPUT, "%.120s: unknown dimension \"%.40s\": %s%s%s", spec, name,
		near ? "did you mean \"" : "expected one of ", near ? near : all, near ? "\"?" : "");
}

static int set(const char *spec, struct values *v, const struct key *k, const char *text, struct orr_error *err)
{
	if (*at(v, k) != UNSET)
		return orr_fail(err, ORR_EINPUT, "%.120s: %s: duplicate key: expected it once", spec, k->name);
	if (!strcmp(k->name, "head")) {
		for (uint32_t i = 0; head_names[i]; i++)
			if (!strcmp(head_names[i], text)) {
				v->head = i;
				return ORR_OK;
			}
		return orr_fail(err, ORR_EINPUT, "%.120s: head: expected none, pooler, pretrain or qa, found \"%.40s\"", spec, text);
	}
	int64_t value;
	if (!num_int(text, strlen(text), &value) || value < k->min || value > k->max)
		return orr_fail(err, ORR_EINPUT, "%.120s: %s: expected a whole number from %u to %u, found \"%.40s\"", spec, k->name,
			k->min, k->max, text);
	*at(v, k) = (uint32_t)value;
	return ORR_OK;
}

static int parse(const char *spec, enum family family, const char *text, struct values *v, struct orr_error *err)
{
	memset(v, 0xff, sizeof *v); /* sets all values to UNSET */
	while (*text) {
		char pair[128];
		size_t n = strcspn(text, ",");
		if (n >= sizeof pair)
			return orr_fail(err, ORR_EINPUT, "%.120s: expected one or more name=number, separated by commas", spec);
		memcpy(pair, text, n);
		pair[n] = '\0';
		text += n + (text[n] == ',');
		char *value = strchr(pair, '=');
		if (!value)
			return orr_fail(err, ORR_EINPUT, "%.120s: expected name=number, found \"%.40s\"", spec, pair);
		*value++ = '\0';
		const struct key *k = keys;
		while (k < keys + N_KEYS && (strcmp(k->name, pair) || !(k->of & (int)family)))
			k++;
		if (k == keys + N_KEYS)
			return unknown_key(spec, family, pair, err);
		int rc = set(spec, v, k, value, err);
		if (rc)
			return rc;
	}
	for (const struct key *k = keys; k < keys + N_KEYS; k++) {
		if (!(k->of & (int)family) || *at(v, k) != UNSET)
			continue;
		if (k->def == -1)
			return orr_fail(err, ORR_EINPUT, "%.120s: %s: expected a whole number from %u to %u, found nothing", spec, k->name,
				k->min, k->max);
		if (k->def >= 0)
			*at(v, k) = (uint32_t)k->def;
	}
	return ORR_OK;
}

static void fill_in(struct values *v, enum family family)
{
	if (v->ffn == UNSET && (family & GATED)) /* two thirds of 4 h, rounded up to a multiple of 256 */
		v->ffn = (uint32_t)(((uint64_t)v->hidden * 8 / 3 + 255) / 256 * 256);
	else if (v->ffn == UNSET)
		v->ffn = 4 * v->hidden;
	if (v->heads == UNSET) /* a vision transformer by its width has heads of 64 */
		v->heads = v->hidden < 64 ? 1 : v->hidden / 64;
	if (v->kv_heads == UNSET)
		v->kv_heads = v->heads;
	if (family == VIT) {
		v->seq = v->image / v->patch * (v->image / v->patch) + 1 + v->distilled;
		v->vocab = 0;
	}
	if (v->positions == UNSET)
		v->positions = family == BERT && v->seq < 512 ? 512 : v->seq;
	if (v->tied == UNSET)
		v->tied = family == GPT;
	if (v->predictions == UNSET) /* 20 of 128 tokens, 80 of 512, as in BERT's pre-training */
		v->predictions = v->seq * 5 / 32 ? v->seq * 5 / 32 : 1;
	if (v->types == UNSET)
		v->types = 0;
}

static struct dnn_experts experts(const struct values *v)
{
	return (struct dnn_experts){ .experts = v->experts,
		.top_k = v->top_k,
		.shared = v->shared,
		.width = v->width,
		.groups = v->groups,
		.top_groups = v->top_groups };
}

static int check(const char *spec, const struct values *v, enum family family, struct orr_error *err)
{
	bool has_head_dim = (family & GATED) && (v->head_dim || v->kv_rank);
	if (v->hidden % v->heads && !has_head_dim)
		return orr_fail(
			err, ORR_EINPUT, "%.120s: heads: expected a divisor of \"hidden\" (%u), found %u", spec, v->hidden, v->heads);
	if (v->heads % v->kv_heads)
		return orr_fail(
			err, ORR_EINPUT, "%.120s: kv_heads: expected a divisor of \"heads\" (%u), found %u", spec, v->heads, v->kv_heads);
	if ((family & GATED) && v->kv_rank && (!(v->nope + v->rope) || !v->v_dim))
		return orr_fail(
			err, ORR_EINPUT, "%.120s: kv_rank: expected also \"nope\", \"rope\" and \"v_dim\", the dimensions of a head", spec);
	if ((family & GATED) && !v->kv_rank && (v->q_rank || v->nope || v->rope || v->v_dim))
		return orr_fail(err, ORR_EINPUT,
			"%.120s: q_rank, nope, rope, v_dim: expected them only together with \"kv_rank\" (latent attention)", spec);
	if (family == MOE) {
		struct dnn_experts e = experts(v);
		char where[160];
		snprintf(where, sizeof where, "%.120s", spec);
		if (v->first_dense >= v->layers)
			return orr_fail(err, ORR_EINPUT, "%.120s: first_dense: expected less than the %u layers, found %u", spec, v->layers,
				v->first_dense);
		return dnn_check_experts(where, &e, err);
	}
	if (family == VIT && v->image % v->patch)
		return orr_fail(err, ORR_EINPUT, "%.120s: patch: expected a divisor of \"image\" (%u), found %u", spec, v->image, v->patch);
	if (family == BERT && v->predictions > v->seq)
		return orr_fail(
			err, ORR_EINPUT, "%.120s: predictions: expected at most \"seq\" (%u), found %u", spec, v->seq, v->predictions);
	return ORR_OK;
}

static struct plan *deepfm(const char *spec, const struct values *v)
{
	char title[120];
	snprintf(title, sizeof title, "DeepFM, %u fields, %u ids, vectors of %u, %u x %u", v->fields, v->ids, v->dim, v->layers, v->hidden);
	struct deepfm z = { v->ids, v->fields, v->dim, v->hidden, v->layers, v->norm == 1 };
	return recommender_deepfm(spec, title, &z);
}

static struct plan *transformer(
	const char *spec, const struct values *v, enum family family, struct plan *(*make)(const struct transformer *t))
{
	struct transformer t = { .name = spec,
		.hidden = v->hidden,
		.layers = v->layers,
		.heads = v->heads,
		.kv_heads = v->kv_heads,
		.ffn = v->ffn,
		.seq = v->seq,
		.vocab = v->vocab,
		.positions = v->positions,
		.is_tied = v->tied == 1,
		.keeps_dropout = v->dropout == 1,
		.head = (enum transformer_head)v->head,
		.types = v->types,
		.predictions = v->predictions,
		.image = v->image,
		.patch = v->patch,
		.classes = v->classes,
		.is_distilled = v->distilled == 1 };
	if (family & GATED) {
		t.head_dim = v->head_dim;
		t.qk_norm = (enum qk_norm)v->qk_norm;
		t.has_qkv_bias = v->qkv_bias == 1;
		t.q_rank = v->q_rank;
		t.kv_rank = v->kv_rank;
		t.nope = v->nope;
		t.rope = v->rope;
		t.v_dim = v->v_dim;
	}
	if (family == MOE) {
		t.moe = experts(v);
		t.first_dense = v->first_dense;
		t.moe_every = v->moe_every;
		t.has_router_bias = v->router_bias == 1;
	}
	return make(&t);
}

struct plan *plan_from_spec(const char *spec, struct orr_error *err)
{
	static const struct {
		const char *name;
		enum family family;
		struct plan *(*make)(const struct transformer *t); /* function that makes the plan; NULL: not a transformer */
	} families[] = { { "gpt", GPT, transformer_gpt }, { "bert", BERT, transformer_bert }, { "llama", LLAMA, transformer_llama },
		{ "vit", VIT, transformer_vit }, { "moe", MOE, transformer_llama }, { "deepfm", DEEPFM, NULL } };
	size_t n = strcspn(spec, ":");
	if (!strncmp(spec, "gcn:", 4) || !strncmp(spec, "gat:", 4))
		return graph_network_from_spec(spec, err);
	for (size_t i = 0; i < sizeof families / sizeof *families; i++) {
		if (strlen(families[i].name) != n || memcmp(spec, families[i].name, n))
			continue;
		struct values v;
		if (parse(spec, families[i].family, spec + n + (spec[n] == ':'), &v, err))
			return NULL;
		if (!families[i].make)
			return deepfm(spec, &v);
		fill_in(&v, families[i].family);
		return check(spec, &v, families[i].family, err) ? NULL : transformer(spec, &v, families[i].family, families[i].make);
	}
	orr_fail(err, ORR_EINPUT, "%.120s: unknown model family \"%.*s\": expected gpt, bert, llama, moe, vit, deepfm, gcn or gat", spec,
		n < 40 ? (int)n : 40, spec);
	return NULL;
}
