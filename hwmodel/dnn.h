/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * dnn.h - a deep neural network as a chain of layers
 *
 * Values are per sample (one image, one sequence, one record); FLOPs are 2 x MACs.
 * The data gradient and the weight gradient each cost as much as the forward pass (dnn_flops()).
 * Exceptions: a first layer has no data gradient, and kinds without parameters have no weight gradient.
 * Layers are in execution order. Arithmetic and rules: docs/models/step.md, "Networks".
 *
 * Data: hwmodel/models/NAME.json, embedded in the program. The generator in hwmodel/modelgen/ computes them from the
 * architectures. Other sources of a model: a file of the same form, or the dimensions of a transformer.
 */
#ifndef ORR_HWMODEL_DNN_H
#define ORR_HWMODEL_DNN_H

#include <orrery/api.h>
#include <orrery/step.h>

#include "hwmodel/graph_shape.h"

enum dnn_pass { DNN_FORWARD, DNN_BACKWARD_DATA, DNN_BACKWARD_WEIGHT };

/* How tensor parallelism splits a linear layer. AUTO: products are split by columns and by rows in turn. */
enum dnn_split { DNN_SPLIT_AUTO, DNN_SPLIT_NONE, DNN_SPLIT_COLUMNS, DNN_SPLIT_ROWS };

struct dnn_layer {
	char *name;
	enum orr_layer_kind kind; /* orrery/step.h */
	double params;            /* number of learnable parameters; a tied table counts once */
	double tensors;           /* number of parameter tensors (weights, biases) */
	double rows, columns;     /* dimensions of the weights as one matrix (for PowerSGD); 0: no weights, or only vectors */
	double fwd_flops;
	double in_elems, out_elems; /* elements read and written by the forward pass, without weights (of a table: the gathered rows) */
	double saved_elems;         /* elements kept from forward to backward; a tensor counts at the first layer that keeps it */
	/* GEMM-like kinds (convolution as implicit GEMM): `count` products m x k by k x n per sample. A batch of b multiplies m if
	 * the weights are n x k; for ORR_LAYER_MATMUL it multiplies count. */
	double m, n, k, count;
	uint32_t block; /* index of the layer's repeated block (a transformer layer), or DNN_NO_BLOCK */
	double experts; /* number of routed experts whose weights the layer holds; each token uses top_k of them. 0: none */
	enum dnn_split split;
	bool is_in_place;     /* the layer overwrites its input (ReLU) and stores nothing new */
	double measured_s[2]; /* measured times, s, of forward and backward for one sample, in a model with a profile */
};

#define DNN_NO_BLOCK UINT32_MAX
enum { DNN_MAX_EXPERTS = 65536, DNN_MAX_TOP_K = 64, DNN_MAX_GROUPS = 64 };

/* A mixture of experts (dnn_experts.c); experts 0: none. */
struct dnn_experts {
	uint32_t experts, top_k; /* routed experts of a layer, and those that a token uses */
	uint32_t shared;         /* experts that every token uses */
	uint32_t width;
	uint32_t groups, top_groups; /* a token's experts are in at most top_groups of `groups` equal groups; 1, 1: no limit */
};

/* Attention of a transformer, for messages and caches. */
struct dnn_attention {
	uint32_t head_dim, v_dim; /* width of a head: queries and keys; values */
	double cached;            /* values that a decoder keeps per token and layer */
};

struct dnn {
	char *name, *title, *input; /* names and input, such as "resnet50", "ResNet-50 v1.5 ..", "224x224x3" */
	struct dnn_layer *layer;
	uint32_t n_layers;
	double params, tensors; /* sums over layers */
	double input_elems;     /* per sample */
	uint32_t fc_first;      /* first fully connected layer of the classifier (Stanza); n_layers: no classifier */
	/* Dimensions of transformers; 0 for other models. */
	uint32_t blocks, hidden, heads, kv_heads, ffn, seq, vocab;
	struct dnn_experts moe;
	struct dnn_attention attention;
	/* The graph of a graph neural network (vertices 0: none), and whether its edges have attention scores (GAT). */
	struct graph_shape graph;
	bool has_attention;
	/* In a model read from a table of measured layers (dnn_profile.h): samples of the measured batch, and its device. Else 0 and NULL.
	 */
	double profile_batch;
	char *profile_device;
	char hash[65];
};

/*
 * Loads a model. spec: a name of the catalogue ("resnet50"), a transformer by its dimensions
 * ("gpt:hidden=12288,layers=96,heads=96,seq=2048,vocab=51200"; also bert:, llama:, moe:, vit:), a vision transformer by its
 * width ("vit:width=384,image=192": 12 layers, heads of 64), a graph network
 * ("gcn:vertices=1000,edges=8000,widths=32-16-4"; also gat:), a table of measured layers ("FILE.csv:batch=32"), or a file (.json).
 * An error names the JSON path or the nearest known name.
 */
struct dnn *dnn_load(const char *spec, struct orr_error *err);
struct dnn *dnn_parse(const char *path, const char *text, size_t n, struct orr_error *err);
void dnn_free(struct dnn *d);
/* Returns name i of the catalogue; NULL past the last. dnn_load() ignores letter case, '-', '_', '.' and ' '. */
const char *dnn_catalogue(size_t i);
/* Returns the catalogue's name of a model given by alias or in any of those spellings; NULL: the catalogue lacks it. */
const char *dnn_catalogue_name(const char *name);
/* Returns the kind's name in JSON files: "conv", "linear", .. */
const char *dnn_kind_name(enum orr_layer_kind kind);

double dnn_flops(const struct dnn *d, uint32_t layer, enum dnn_pass pass);
/* Returns the parameters that a token uses: all but those of the routed experts that it does not use. */
double dnn_active_params(const struct dnn *d);

#endif
