/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Transformers by dimension. The layers are those of an unfused implementation, which writes, normalises and reads a matrix of
 * scores. GPT: Radford et al. 2019 (pre-norm); BERT: Devlin et al. 2019 (post-norm); Llama 2: Touvron et al. 2023 (RMS norm,
 * rotary positions, gated MLP, grouped keys and values); ViT: Dosovitskiy et al. 2021, DeiT: Touvron et al. 2021.
 */
#include "hwmodel/dnn_plan.h"

#include <stdio.h>

static struct plan *begin(const struct transformer *t, const char *family, const char *input)
{
	char title[160];
	snprintf(title, sizeof title, "%s, %u layers of %u, %u heads, sequence %u", family, t->layers, t->hidden, t->heads, t->seq);
	struct plan *p = plan_new(t->name, t->title ? t->title : title, input);
	struct dnn *d = p->d;
	d->hidden = t->hidden;
	d->heads = t->heads;
	d->kv_heads = t->kv_heads;
	d->ffn = t->ffn;
	d->seq = t->seq;
	d->vocab = t->vocab;
	d->moe = t->moe;
	transformer_attention(p, t);
	return p;
}

static struct plan *begin_text(const struct transformer *t, const char *family)
{
	char input[40];
	snprintf(input, sizeof input, "seq %u", t->seq);
	struct plan *p = begin(t, family, input);
	p->d->input_elems = t->seq;
	return p;
}

/*
 * Adds the elements that dropout after the last layer keeps: its mask (one byte per element, so half an element of two bytes),
 * and its output if a product reads it. Dropout is fused and has no layer.
 */
static void keep_dropout(struct plan *p, bool is_read_by_product)
{
	struct dnn_layer *l = &p->layer[p->n - 1];
	l->saved_elems += l->out_elems * (is_read_by_product ? 1.5 : 0.5);
}

struct act op_attention(struct plan *p, const struct attention *a)
{
	char name[64];
	double q = a->query_tokens * a->heads * a->head_dim, k = a->key_tokens * a->kv_heads * a->head_dim;
	double v = a->key_tokens * a->kv_heads * a->v_dim;
	snprintf(name, sizeof name, "%s_scores", a->name);
	struct dnn_layer *l = plan_add(p, ORR_LAYER_MATMUL, name);
	struct act score = act_new(p, a->key_tokens, a->query_tokens, a->heads);
	l->m = a->query_tokens;
	l->n = a->key_tokens;
	l->k = a->head_dim;
	l->count = a->heads;
	l->fwd_flops = 2 * l->m * l->n * l->k * l->count;
	l->in_elems = l->saved_elems = q + k;
	l->out_elems = act_elems(score);
	snprintf(name, sizeof name, "%s_softmax", a->name);
	score = op_softmax(p, name, score);
	if (a->keeps_dropout)
		keep_dropout(p, true);
	snprintf(name, sizeof name, "%s_context", a->name);
	l = plan_add(p, ORR_LAYER_MATMUL, name);
	l->m = a->query_tokens;
	l->n = a->v_dim;
	l->k = a->key_tokens;
	l->count = a->heads;
	l->fwd_flops = 2 * l->m * l->n * l->k * l->count;
	l->in_elems = act_elems(score) + v;
	l->saved_elems = v;
	l->out_elems = a->query_tokens * a->heads * a->v_dim;
	return act_new(p, a->heads * a->v_dim, a->query_tokens, 1);
}

struct act op_mlp(struct plan *p, struct act x, double ffn, enum op_mlp kind, bool bias)
{
	if (kind != OP_MLP_SILU) {
		struct act up = op_linear(p, "mlp_up", x, ffn, bias, 1);
		up = op_activation(p, "mlp_act", up, kind == OP_MLP_GELU ? OP_GELU : OP_RELU);
		return op_linear(p, "mlp_down", up, x.c, bias, 1);
	}
	struct act both = op_linear(p, "mlp_gate_up", x, 2 * ffn, bias, 2);
	struct dnn_layer *l = plan_add(p, ORR_LAYER_ACTIVATION, "mlp_act");
	struct act y = act_new(p, ffn, x.h, x.w);
	l->fwd_flops = 6 * act_elems(y);
	l->in_elems = act_elems(both);
	l->out_elems = act_elems(y);
	act_keep(p, l, both);
	return op_linear(p, "mlp_down", y, x.c, bias, 1);
}

struct style {
	bool is_norm_first, has_bias, has_rope;
	enum op_norm norm;
	enum op_mlp mlp;
	double pieces; /* number of pieces of the product that computes q, k and v */
};
static const struct style gpt_style = { true, true, false, OP_LAYERNORM, OP_MLP_GELU, 1 };
static const struct style vit_style = { true, true, false, OP_LAYERNORM, OP_MLP_GELU, 1 };
static const struct style bert_style = { false, true, false, OP_LAYERNORM, OP_MLP_GELU, 3 };
static const struct style llama_style = { true, false, true, OP_RMSNORM, OP_MLP_SILU, 3 };

static struct act block(struct plan *p, const struct transformer *t, const struct style *s, struct act x, bool is_mixture)
{
	struct attention attn = { x.h, x.h, t->heads, t->kv_rank ? t->heads : t->kv_heads, transformer_head_dim(t), transformer_v_dim(t),
		"attn", t->keeps_dropout };
	struct act y = s->is_norm_first ? op_norm(p, "ln1", x, s->norm) : x;
	op_qkv(p, t, y, s->pieces, s->has_bias || t->has_qkv_bias, s->has_rope);
	y = op_attention(p, &attn);
	y = op_linear(p, "attn_out", y, t->hidden, s->has_bias, 1);
	y = op_add(p, "residual1", y);
	if (t->keeps_dropout)
		keep_dropout(p, false);
	if (!s->is_norm_first)
		y = op_norm(p, "ln1", y, s->norm);
	y = s->is_norm_first ? op_norm(p, "ln2", y, s->norm) : y;
	y = is_mixture ? op_mixture(p, t, y) : op_mlp(p, y, t->ffn, s->mlp, s->has_bias);
	y = op_add(p, "residual2", y);
	if (t->keeps_dropout)
		keep_dropout(p, false);
	return s->is_norm_first ? y : op_norm(p, "ln2", y, s->norm);
}

static bool has_mixture(const struct transformer *t, uint32_t layer)
{
	return t->moe.experts && layer >= t->first_dense && (layer + 1) % (t->moe_every ? t->moe_every : 1) == 0;
}

/* Adds the blocks; equal neighbours are repeats of one. */
static struct act blocks(struct plan *p, const struct transformer *t, const struct style *s, const char *prefix, struct act x)
{
	for (uint32_t l = 0, n; l < t->layers; l += n) {
		for (n = 1; l + n < t->layers && has_mixture(t, l + n) == has_mixture(t, l); n++)
			;
		plan_repeat_begin(p, n, l, true);
		plan_prefix(p, "%s#.", prefix);
		x = block(p, t, s, x, has_mixture(t, l));
		plan_prefix(p, "%s", "");
		plan_repeat_end(p);
	}
	return x;
}

/* Adds a linear layer whose weights are tied to an earlier embedding table; only the bias counts as a parameter. */
static struct act tied(struct plan *p, const char *name, struct act x, double out, bool bias)
{
	struct act y = op_linear(p, name, x, out, bias, 1);
	struct dnn_layer *l = &p->layer[p->n - 1];
	l->params = bias ? out : 0;
	l->tensors = bias;
	l->rows = l->columns = 0;
	return y;
}

static void language_head(struct plan *p, const struct transformer *t, struct act x)
{
	x = t->is_tied ? tied(p, "lm_head", x, t->vocab, false) : op_linear(p, "lm_head", x, t->vocab, false, 1);
	op_softmax(p, "softmax", x);
}

struct plan *transformer_gpt(const struct transformer *t)
{
	struct plan *p = begin_text(t, "GPT");
	op_embedding(p, "wte", t->vocab, t->hidden, t->seq, false);
	struct act x = op_embedding(p, "wpe", t->positions, t->hidden, t->seq, true);
	if (t->keeps_dropout)
		keep_dropout(p, false);
	x = blocks(p, t, &gpt_style, "h", x);
	language_head(p, t, op_norm(p, "ln_f", x, OP_LAYERNORM));
	return p;
}

struct plan *transformer_llama(const struct transformer *t)
{
	struct plan *p = begin_text(t, t->moe.experts ? "Mixture of experts" : "Llama");
	struct act x = op_embedding(p, "embed", t->vocab, t->hidden, t->seq, false);
	x = blocks(p, t, &llama_style, "layer", x);
	language_head(p, t, op_norm(p, "norm_f", x, OP_RMSNORM));
	return p;
}

static void pretraining_heads(struct plan *p, const struct transformer *t, struct act pooled)
{
	struct act x = act_new(p, t->hidden, t->predictions, 1); /* output of the blocks at the masked positions */
	x = op_linear(p, "mlm_transform", x, t->hidden, true, 1);
	x = op_norm(p, "mlm_ln", op_activation(p, "mlm_act", x, OP_GELU), OP_LAYERNORM);
	op_softmax(p, "mlm_softmax", tied(p, "mlm_decoder", x, t->vocab, true));
	op_linear(p, "nsp", pooled, 2, true, 1);
}

struct plan *transformer_bert(const struct transformer *t)
{
	struct plan *p = begin_text(t, "BERT");
	op_embedding(p, "emb_word", t->vocab, t->hidden, t->seq, false);
	op_embedding(p, "emb_pos", t->positions, t->hidden, t->seq, true);
	struct act x = op_embedding(p, "emb_type", t->types, t->hidden, t->seq, true);
	x = op_norm(p, "emb_ln", x, OP_LAYERNORM);
	if (t->keeps_dropout)
		keep_dropout(p, false);
	x = blocks(p, t, &bert_style, "layer", x);
	if (t->head == HEAD_QA)
		op_linear(p, "qa", x, 2, true, 1);
	if (t->head != HEAD_POOLER && t->head != HEAD_PRETRAIN)
		return p;
	struct act first = act_new(p, t->hidden, 1, 1);
	first = op_activation(p, "pooler_tanh", op_linear(p, "pooler", first, t->hidden, true, 1), OP_TANH);
	if (t->head == HEAD_PRETRAIN)
		pretraining_heads(p, t, first);
	return p;
}

struct plan *transformer_vit(const struct transformer *t)
{
	char input[40];
	snprintf(input, sizeof input, "%ux%ux3", t->image, t->image);
	struct plan *p = begin(t, "ViT", input);
	double extra = t->is_distilled ? 2 : 1; /* number of tokens in addition to the patches */
	struct act x = op_input(p, 3, t->image, t->image);
	x = op_conv(
		p, "patch_embed", x, (struct conv){ .out = t->hidden, .kh = t->patch, .kw = t->patch, .stride = t->patch, .bias = true });
	x = op_embedding(p, "cls_pos", t->seq + extra, t->hidden, t->seq, true);
	p->layer[p->n - 1].tensors = 1 + extra;
	x = blocks(p, t, &vit_style, "blk", x);
	op_norm(p, "ln_f", x, OP_LAYERNORM);
	struct act first = act_new(p, t->hidden, 1, 1);
	struct act y = op_linear(p, "head", first, t->classes, true, 1);
	if (t->is_distilled)
		op_linear(p, "head_dist", act_new(p, t->hidden, 1, 1), t->classes, true, 1);
	op_softmax(p, "softmax", y);
	return p;
}
