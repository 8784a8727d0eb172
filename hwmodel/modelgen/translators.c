/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Encoder-decoder models: the Transformer (Vaswani et al., NeurIPS 2017) and GNMT (Wu et al. 2016, as in
 * NVIDIA's and MLPerf's reference: normalised Bahdanau attention, LSTMs with cuDNN's two biases).
 * 32 source and 32 target tokens.
 */
#include "hwmodel/modelgen/modelgen.h"

#include <stdio.h>

enum { TOKENS = 32 };

/* ---- Transformer ---- */

struct sizes {
	uint32_t hidden, ffn, heads, layers, vocab;
};

static struct act add_norm(struct plan *p, const char *add, const char *norm, struct act x)
{
	return op_norm(p, norm, op_add(p, add, x), OP_LAYERNORM);
}

static struct act self_attention(struct plan *p, const struct sizes *z, struct act x)
{
	struct attention a = { x.h, x.h, z->heads, z->heads, z->hidden / z->heads, z->hidden / z->heads, "attn", false };
	op_linear(p, "qkv", x, 3.0 * z->hidden, true, 3);
	x = op_linear(p, "attn_out", op_attention(p, &a), z->hidden, true, 1);
	return add_norm(p, "residual1", "ln1", x);
}

static struct act cross_attention(struct plan *p, const struct sizes *z, struct act x, struct act encoded)
{
	struct attention a = { x.h, encoded.h, z->heads, z->heads, z->hidden / z->heads, z->hidden / z->heads, "x", false };
	op_linear(p, "x_q", x, z->hidden, true, 1);
	op_linear(p, "x_kv", encoded, 2.0 * z->hidden, true, 2);
	x = op_linear(p, "x_out", op_attention(p, &a), z->hidden, true, 1);
	return add_norm(p, "residual_x", "ln_x", x);
}

static struct act blocks(
	struct plan *p, const struct sizes *z, const char *prefix, uint32_t from, uint32_t count, struct act x, const struct act *encoded)
{
	plan_repeat_begin(p, count, from, true);
	plan_prefix(p, "%s#.", prefix);
	x = self_attention(p, z, x);
	if (encoded)
		x = cross_attention(p, z, x, *encoded);
	x = add_norm(p, "residual2", "ln2", op_mlp(p, x, z->ffn, OP_MLP_RELU, true));
	plan_prefix(p, "%s", "");
	plan_repeat_end(p);
	return x;
}

static struct plan *transformer(const struct recipe *r)
{
	const struct sizes *z = r->how;
	struct plan *p = plan_new(r->name, r->title, "src 32 tgt 32");
	struct dnn *d = p->d;
	d->input_elems = 2 * TOKENS;
	d->hidden = z->hidden;
	d->heads = d->kv_heads = z->heads;
	d->ffn = z->ffn;
	d->seq = TOKENS;
	d->vocab = z->vocab;
	op_add(p, "pos", op_embedding(p, "emb", z->vocab, z->hidden, 2 * TOKENS, false));
	p->layer[p->n - 1].in_elems /= 2; /* positions are computed once and then cached */
	struct act encoded = blocks(p, z, "enc", 0, z->layers, act_new(p, z->hidden, TOKENS, 1), NULL);
	/* Only the first decoder layer keeps the encoder's output. */
	struct act x = blocks(p, z, "dec", 0, 1, act_new(p, z->hidden, TOKENS, 1), &encoded);
	x = blocks(p, z, "dec", 1, z->layers - 1, x, &encoded);
	x = op_linear(p, "lm_head", x, z->vocab, false, 1);
	struct dnn_layer *l = &p->layer[p->n - 1]; /* shares the table */
	l->params = l->tensors = l->rows = l->columns = 0;
	op_softmax(p, "softmax", x);
	return p;
}

/* ---- GNMT ---- */

enum { GNMT_HIDDEN = 1024, GNMT_VOCAB = 32320 };

/* Adds all time steps of one direction: the products, then the gates. Both keep their outputs for backward. */
static struct act lstm(struct plan *p, const char *name, struct act x)
{
	char part[48];
	double h = GNMT_HIDDEN;
	snprintf(part, sizeof part, "%s.matmul", name);
	struct dnn_layer *l = plan_add(p, ORR_LAYER_RNN, part);
	l->m = 1;
	l->n = l->rows = 4 * h;
	l->k = l->columns = x.c + h;
	l->count = x.h; /* sequential time steps */
	l->params = 4 * h * (x.c + h) + 8 * h;
	l->tensors = 4;
	l->fwd_flops = 2 * l->n * l->k * l->count;
	l->in_elems = x.h * (x.c + h);
	l->out_elems = 4 * h * x.h;
	l->saved_elems = h * x.h; /* hidden states */
	act_keep(p, l, x);
	snprintf(part, sizeof part, "%s.gates", name);
	l = plan_add(p, ORR_LAYER_ELEMENTWISE, part);
	l->fwd_flops = 30 * h * x.h;
	l->in_elems = 5 * h * x.h;
	l->out_elems = h * x.h;
	l->saved_elems = 5 * h * x.h; /* kept elements: four gates and the cell state */
	return act_new(p, h, x.h, 1);
}

/* Adds normalised Bahdanau attention: tanh(q + k) times a vector. */
static void attention(struct plan *p)
{
	double h = GNMT_HIDDEN, t = TOKENS;
	op_linear(p, "att_q", act_new(p, h, t, 1), h, false, 1);
	op_linear(p, "att_k", act_new(p, h, t, 1), h, false, 1);
	struct dnn_layer *l = plan_add(p, ORR_LAYER_ELEMENTWISE, "att_energy");
	l->params = 2 * h + 1; /* vector, bias, scale */
	l->tensors = 3;
	l->fwd_flops = 4 * t * t * h;
	l->in_elems = 2 * t * h;
	l->out_elems = t * t;
	l->saved_elems = t * t * h; /* output of tanh */
	op_softmax(p, "att_softmax", act_new(p, t, t, 1));
	l = plan_add(p, ORR_LAYER_MATMUL, "att_context");
	l->m = l->k = t;
	l->n = h;
	l->count = 1;
	l->fwd_flops = 2 * t * t * h;
	l->in_elems = t * t + t * h;
	l->out_elems = t * h;
	l->saved_elems = t * h;
}

static struct act gnmt_encoder(struct plan *p, int layers)
{
	char name[24];
	struct act x = act_new(p, GNMT_HIDDEN, TOKENS, 1);
	lstm(p, "enc0.fwd", x);
	lstm(p, "enc0.bwd", x);
	x = lstm(p, "enc1", act_new(p, 2 * GNMT_HIDDEN, TOKENS, 1));
	for (int i = 2; i < layers; i++) {
		snprintf(name, sizeof name, "enc%d", i);
		x = lstm(p, name, x);
		snprintf(name, sizeof name, "enc%d.res", i);
		x = op_add(p, name, x);
	}
	return x;
}

static struct plan *gnmt(const struct recipe *r)
{
	int layers = *(const int *)r->how;
	char name[24];
	struct plan *p = plan_new(r->name, r->title, "src 32 tgt 32 tokens");
	p->d->input_elems = 2 * TOKENS;
	op_embedding(p, "emb", GNMT_VOCAB, GNMT_HIDDEN, 2 * TOKENS, false);
	gnmt_encoder(p, layers);
	struct act x = lstm(p, "dec0", act_new(p, GNMT_HIDDEN, TOKENS, 1));
	attention(p);
	for (int i = 1; i < layers; i++) {
		snprintf(name, sizeof name, "dec%d", i);
		x = lstm(p, name, act_new(p, 2 * GNMT_HIDDEN, TOKENS, 1)); /* input: concatenated with the context */
		snprintf(name, sizeof name, "dec%d.res", i);
		if (i > 1)
			x = op_add(p, name, x);
	}
	op_softmax(p, "softmax", op_linear(p, "classifier", x, GNMT_VOCAB, true, 1));
	return p;
}

static const struct sizes base = { 512, 2048, 8, 6, 37000 }, big = { 1024, 4096, 16, 6, 37000 };
static const int four = 4, eight = 8;

const struct recipe translators[] = {
	{ "transformer_base", "Transformer base, 32 tokens in and out, 37k shared vocabulary", "Vaswani et al., NeurIPS 2017", transformer,
		&base },
	{ "transformer_big", "Transformer big, 32 tokens in and out, 37k shared vocabulary", "Vaswani et al., NeurIPS 2017", transformer,
		&big },
	{ "gnmt_v2", "GNMT v2 (4 + 4 layers), 32 tokens in and out", "NVIDIA and MLPerf reference; Wu et al., arXiv:1609.08144", gnmt,
		&four },
	{ "gnmt_16", "GNMT-16 (8 + 8 layers), 32 tokens in and out", "PipeDream's GNMT-16; Wu et al., arXiv:1609.08144", gnmt, &eight },
	{ NULL, NULL, NULL, NULL, NULL },
};
