/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * dnn_plan.h - a model in the making, before repeated blocks are written out
 *
 * What the JSON reader, the transformers by dimension and the generator of the catalogue
 * share. A plan holds a repeated block once; '#' in the names of its layers stands for the
 * number of the repetition. plan_expand() makes a struct dnn of it.
 *
 * The ops below compute a layer from shapes. They also follow which activations are kept
 * for backward: invariant: an activation (a number of `struct act`) adds its elements to
 * saved_elems of one layer at most, the first that keeps it (docs/models.md).
 */
#ifndef ORR_HWMODEL_DNN_PLAN_H
#define ORR_HWMODEL_DNN_PLAN_H

#include "hwmodel/dnn.h"

enum { PLAN_MAX_LAYERS = 200000, PLAN_MAX_NAME = 200 };

struct plan_repeat {
	size_t first, n_layers;
	uint32_t count, from; /* '#' is from .. from+count-1 */
	bool is_block;        /* each repetition is a transformer layer */
};

struct plan {
	struct dnn *d;    /* its head; d->layer is filled in by plan_expand() */
	char *classifier; /* name of the first fully connected layer; NULL: none */
	struct dnn_layer *layer;
	size_t n, cap;
	struct plan_repeat *repeat; /* in order, never inside one another */
	size_t n_repeats, repeat_cap;
	char prefix[64]; /* of the names that ops give */
	bool *is_saved;  /* by number of activation */
	size_t n_acts, act_cap;
};

struct plan *plan_new(const char *name, const char *title, const char *input);
void plan_free(struct plan *p);
/* The layers between begin and end are repeated. */
void plan_repeat_begin(struct plan *p, uint32_t count, uint32_t from, bool is_block);
void plan_repeat_end(struct plan *p);
void plan_prefix(struct plan *p, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* A layer of zeros named prefix + name. Valid until the next is added. */
struct dnn_layer *plan_add(struct plan *p, enum orr_layer_kind kind, const char *name);
/* Layers once repeats are written out. */
double plan_layers(const struct plan *p);
/* Frees the plan. There are at most PLAN_MAX_LAYERS. */
struct dnn *plan_expand(struct plan *p);

/* ---- ops: c channels of h x w, or c features of h tokens (w 1) ---- */

struct act {
	double c, h, w;
	size_t number;
};

struct conv {
	double out, kh, kw, stride, ph, pw, groups;
	bool bias;
};

enum op_norm { OP_BATCHNORM, OP_LAYERNORM, OP_RMSNORM, OP_LRN };
enum op_activation { OP_RELU, OP_TANH, OP_SIGMOID, OP_GELU };
enum op_pool { OP_MAXPOOL, OP_MAXPOOL_CEIL, OP_AVGPOOL, OP_AVGPOOL_CEIL };

double act_elems(struct act a);
struct act act_new(struct plan *p, double c, double h, double w);
/* l keeps a, unless another layer does. */
void act_keep(struct plan *p, struct dnn_layer *l, struct act a);

struct act op_input(struct plan *p, double c, double h, double w); /* the model's */
struct act op_conv(struct plan *p, const char *name, struct act x, struct conv k);
/* Per token. pieces: so many weights (and biases) side by side. */
struct act op_linear(struct plan *p, const char *name, struct act x, double out, bool bias, double pieces);
struct act op_norm(struct plan *p, const char *name, struct act x, enum op_norm kind);
struct act op_activation(struct plan *p, const char *name, struct act x, enum op_activation kind);
struct act op_pool(struct plan *p, const char *name, struct act x, enum op_pool kind, double k, double stride, double pad);
struct act op_global_pool(struct plan *p, const char *name, struct act x);
struct act op_softmax(struct plan *p, const char *name, struct act x);
struct act op_add(struct plan *p, const char *name, struct act x);
struct act op_concat(struct plan *p, const char *name, const struct act *part, size_t n);
/* Gathers x.h rows of a table, or (with is_added) adds them to what is there. */
struct act op_embedding(struct plan *p, const char *name, double rows, double c, double tokens, bool is_added);

/* ---- transformers by dimension (dnn_transformer.c) ---- */

struct transformer {
	const char *name, *title; /* title NULL: made from the dimensions */
	uint32_t hidden, layers, heads, kv_heads, ffn, seq, vocab;
	uint32_t positions; /* rows of the table of positions; llama and vit have none of this kind */
	bool is_tied;       /* the output layer shares the table of tokens */
	bool keeps_dropout; /* what dropout keeps for backward counts too */
	/* bert */
	enum transformer_head { HEAD_NONE, HEAD_POOLER, HEAD_PRETRAIN, HEAD_QA } head;
	uint32_t types, predictions;
	/* vit */
	uint32_t image, patch, classes;
	bool is_distilled;
};

struct plan *transformer_gpt(const struct transformer *t);
struct plan *transformer_llama(const struct transformer *t);
struct plan *transformer_bert(const struct transformer *t);
struct plan *transformer_vit(const struct transformer *t);

/* Parts of them. Names are of the rows, after the plan's prefix. */
struct attention {
	double query_tokens, key_tokens, hidden, heads, kv_heads;
	const char *name; /* "attn" gives attn_scores, attn_softmax, attn_context */
	bool keeps_dropout;
};
/* Scores, softmax and context of q, k and v that are there. */
struct act op_attention(struct plan *p, const struct attention *a);
enum op_mlp { OP_MLP_GELU, OP_MLP_RELU, OP_MLP_SILU }; /* silu: gated, two products up (Llama) */
struct act op_mlp(struct plan *p, struct act x, double ffn, enum op_mlp kind, bool bias);

/* ---- recommenders (dnn_recommend.c) ---- */

struct deepfm {
	uint32_t ids; /* rows of the tables; 0: tables without parameters */
	uint32_t fields, dim, hidden, layers;
	bool has_norm; /* batch norm after each hidden layer */
};
struct plan *recommender_deepfm(const char *name, const char *title, const struct deepfm *z);
/* Linear layers of so many outputs (ends with 0), each with an activation: rows name0, name0_act, .. */
struct act op_perceptron(struct plan *p, const char *name, const char *act, struct act x, const int *out, enum op_activation last);
/* One row gathered for each field, or their sum; ids 0: without parameters. */
struct act op_tables(struct plan *p, const char *name, double ids, double dim, double fields, bool is_summed);

/* "gpt:hidden=..,..": the plan, or NULL with an error that names the key (dnn_spec.c). */
struct plan *plan_from_spec(const char *spec, struct orr_error *err);

#endif
