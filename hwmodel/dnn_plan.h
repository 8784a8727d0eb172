/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * dnn_plan.h - a model under construction, before its repeated blocks are expanded
 *
 * Used by the JSON reader, the transformers by dimension and the generator of the catalogue. A plan holds a repeated block
 * once; in the names of its layers, '#' is replaced by the index of the repetition. plan_expand() converts a plan to a struct
 * dnn.
 *
 * The ops below compute a layer from shapes. They also track which activations are kept for backward.
 * Invariant: an activation (a `number` of struct act) adds its elements to saved_elems of at most one layer, the first
 * that keeps it (docs/models/step.md).
 */
#ifndef ORR_HWMODEL_DNN_PLAN_H
#define ORR_HWMODEL_DNN_PLAN_H

#include "hwmodel/dnn.h"

enum { PLAN_MAX_LAYERS = 200000, PLAN_MAX_NAME = 200 };

struct plan_repeat {
	size_t first, n_layers;
	uint32_t count, from; /* '#' has the values from .. from+count-1 */
	bool is_block;        /* each repetition is a transformer layer */
};

struct plan {
	struct dnn *d;    /* the model without d->layer, which plan_expand() fills in */
	char *classifier; /* name of the first fully connected layer; NULL: none */
	struct dnn_layer *layer;
	size_t n, cap;
	struct plan_repeat *repeat; /* repeats, in order and never nested */
	size_t n_repeats, repeat_cap;
	char prefix[64]; /* prefix of the layer names that ops create */
	bool *is_saved;  /* by number of the activation: whether it is kept for the backward pass */
	size_t n_acts, act_cap;
};

struct plan *plan_new(const char *name, const char *title, const char *input);
void plan_free(struct plan *p);
/* Begins a repeat: the layers added before plan_repeat_end() are repeated `count` times. */
void plan_repeat_begin(struct plan *p, uint32_t count, uint32_t from, bool is_block);
void plan_repeat_end(struct plan *p);
void plan_prefix(struct plan *p, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Adds a zeroed layer named prefix + name. The pointer is valid until the next layer is added. */
struct dnn_layer *plan_add(struct plan *p, enum orr_layer_kind kind, const char *name);
/* Returns the number of layers after the expansion of repeats. */
double plan_layers(const struct plan *p);
/* Frees the plan. Precondition: plan_layers() is at most PLAN_MAX_LAYERS. */
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
/* Counts the elements of a as kept by l for backward, unless an earlier layer keeps them. */
void act_keep(struct plan *p, struct dnn_layer *l, struct act a);

struct act op_input(struct plan *p, double c, double h, double w); /* returns the input of the model */
struct act op_conv(struct plan *p, const char *name, struct act x, struct conv k);
/* Adds a linear layer that is applied per token. pieces: number of weights (and biases) side by side. */
struct act op_linear(struct plan *p, const char *name, struct act x, double out, bool bias, double pieces);
struct act op_norm(struct plan *p, const char *name, struct act x, enum op_norm kind);
struct act op_activation(struct plan *p, const char *name, struct act x, enum op_activation kind);
struct act op_pool(struct plan *p, const char *name, struct act x, enum op_pool kind, double k, double stride, double pad);
struct act op_global_pool(struct plan *p, const char *name, struct act x);
struct act op_softmax(struct plan *p, const char *name, struct act x);
struct act op_add(struct plan *p, const char *name, struct act x);
struct act op_concat(struct plan *p, const char *name, const struct act *part, size_t n);
/* Gathers `tokens` rows of a table; with is_added, adds them to the previous output. */
struct act op_embedding(struct plan *p, const char *name, double rows, double c, double tokens, bool is_added);

/* ---- transformers by dimension (dnn_transformer.c) ---- */

struct transformer {
	const char *name, *title; /* title NULL: generated from the dimensions */
	uint32_t hidden, layers, heads, kv_heads, ffn, seq, vocab;
	uint32_t positions; /* number of rows of the position table; unused by llama and vit */
	bool is_tied;       /* the output layer shares the token table */
	bool keeps_dropout; /* saved_elems includes the elements that backward needs because of dropout */
	/* llama and moe only (dnn_experts.c) */
	uint32_t head_dim;                                                 /* width of a head of queries and keys; 0: hidden / heads */
	enum qk_norm { QK_NORM_NONE, QK_NORM_HEADS, QK_NORM_ALL } qk_norm; /* one norm for each head, or one over all heads */
	bool has_qkv_bias;
	/* Multi-head latent attention; kv_rank 0: none. Keys have nope + rope dimensions, values v_dim. */
	uint32_t q_rank, kv_rank, nope, rope, v_dim;
	/* Mixture of experts; experts 0: none. The first `first_dense` layers, and those whose number + 1 is not a multiple of moe_every,
	 * have a dense MLP of width ffn. */
	struct dnn_experts moe;
	uint32_t first_dense, moe_every;
	bool has_router_bias;
	/* bert only */
	enum transformer_head { HEAD_NONE, HEAD_POOLER, HEAD_PRETRAIN, HEAD_QA } head;
	uint32_t types, predictions;
	/* vit only */
	uint32_t image, patch, classes;
	bool is_distilled;
};

struct plan *transformer_gpt(const struct transformer *t);
struct plan *transformer_llama(const struct transformer *t);
struct plan *transformer_bert(const struct transformer *t);
struct plan *transformer_vit(const struct transformer *t);

/* Parts of transformers. Layer names start with the plan's prefix. */
struct attention {
	double query_tokens, key_tokens, heads, kv_heads;
	double head_dim, v_dim; /* width of a head: queries and keys; values */
	const char *name;       /* prefix: "attn" gives attn_scores, attn_softmax, attn_context */
	bool keeps_dropout;
};
/* Adds scores, softmax and context. The caller must have added q, k and v. */
struct act op_attention(struct plan *p, const struct attention *a);
enum op_mlp { OP_MLP_GELU, OP_MLP_RELU, OP_MLP_SILU }; /* activation silu: a gated MLP with two up-projections (Llama) */
struct act op_mlp(struct plan *p, struct act x, double ffn, enum op_mlp kind, bool bias);

/* ---- dnn_experts.c ---- */

/* Adds q, k and v from the input: grouped-query attention, or multi-head latent attention. `rope` adds rotary positions. */
struct act op_qkv(struct plan *p, const struct transformer *t, struct act x, double pieces, bool bias, bool rope);
/* Adds router, routed experts, shared experts and the sum of their outputs. */
struct act op_mixture(struct plan *p, const struct transformer *t, struct act x);
/* Fills in the attention of the model. */
void transformer_attention(struct plan *p, const struct transformer *t);
/* Returns ORR_OK if the numbers are possible. `where` starts the message. */
int dnn_check_experts(const char *where, const struct dnn_experts *e, struct orr_error *err);
double transformer_head_dim(const struct transformer *t);
double transformer_v_dim(const struct transformer *t);

/* ---- recommenders (dnn_recommend.c) ---- */

struct deepfm {
	uint32_t ids; /* number of rows of the tables; 0: the tables count no parameters */
	uint32_t fields, dim, hidden, layers;
	bool has_norm; /* batch norm after each hidden layer */
};
struct plan *recommender_deepfm(const char *name, const char *title, const struct deepfm *z);
/* Adds linear layers with out[i] outputs (the list ends with 0), each with an activation: name0, name0_act, .. */
struct act op_perceptron(struct plan *p, const char *name, const char *act, struct act x, const int *out, enum op_activation last);
/* Gathers one row per field, or (is_summed) the sum of the rows. ids 0: the tables count no parameters. */
struct act op_tables(struct plan *p, const char *name, double ids, double dim, double fields, bool is_summed);

/* ---- graph neural networks (dnn_graph.c) ---- */

enum { GRAPH_MAX_LAYERS = 8 };
#define GRAPH_MAX_VERTICES 1e12
#define GRAPH_MAX_EDGES 1e15

struct graph_network {
	struct graph_shape shape;
	bool has_attention; /* GAT */
	uint32_t layers, width[GRAPH_MAX_LAYERS + 1];
};
struct plan *graph_network(const char *name, const char *title, const struct graph_network *z);
/* Parses "gcn:vertices=..,edges=..,widths=602-128-41" or "gat:..". NULL on error; the message names the key. */
struct plan *graph_network_from_spec(const char *spec, struct orr_error *err);
/* Returns ORR_OK if the sizes are possible. `where` starts the message. */
int graph_shape_check(const char *where, const struct graph_shape *g, struct orr_error *err);

/* Parses "gpt:hidden=..,.." (dnn_spec.c). Returns NULL on error; the message names the key. */
struct plan *plan_from_spec(const char *spec, struct orr_error *err);

#endif
