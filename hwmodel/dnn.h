/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * dnn.h - a deep neural network as a chain of layers
 *
 * Figures are per sample (one image, one sequence, one record); FLOPs are 2 x MACs.
 * Backward costs as much again for the data gradient and for the weight gradient
 * (dnn_flops()), except that a first layer has no data gradient and that kinds without
 * parameters have no weight gradient. Layers are in the order of execution.
 * Arithmetic and rules: docs/models.md, "Step: models of neural networks".
 *
 * Data: hwmodel/models/NAME.json, written by the generator in hwmodel/modelgen/ from
 * architecture arithmetic and carried inside the program; any file of the same form
 * may be named instead; transformers also by their dimensions.
 */
#ifndef ORR_HWMODEL_DNN_H
#define ORR_HWMODEL_DNN_H

#include <orrery/api.h>
#include <orrery/step.h>

enum dnn_pass { DNN_FORWARD, DNN_BACKWARD_DATA, DNN_BACKWARD_WEIGHT };

struct dnn_layer {
	char *name;
	enum orr_layer_kind kind; /* orrery/step.h */
	double params;            /* learnable parameters; tied tables count once */
	double tensors;           /* so many tensors of them (weights, biases) */
	double rows, columns;     /* of the weights seen as one matrix (PowerSGD); 0 if none or only vectors */
	double fwd_flops;
	double in_elems, out_elems; /* read and written by the forward pass, weights aside (of a table: the rows gathered) */
	double saved_elems;         /* kept from forward for backward; a tensor that an earlier layer keeps is not counted again */
	/* For GEMM-like kinds (convolution as implicit GEMM): count products m x k by k x n each, per sample.
	 * A batch of b makes m b times as large where the weights are n x k, and count for ORR_LAYER_MATMUL. */
	double m, n, k, count;
	uint32_t block;   /* number of the repeated block it belongs to (a transformer layer); DNN_NO_BLOCK */
	bool is_in_place; /* writes over its input (ReLU): nothing new is stored */
};

#define DNN_NO_BLOCK UINT32_MAX

struct dnn {
	char *name, *title, *input; /* "resnet50", "ResNet-50 v1.5 ..", "224x224x3" */
	struct dnn_layer *layer;
	uint32_t n_layers;
	double params, tensors; /* sums over layers */
	double input_elems;     /* per sample */
	uint32_t fc_first;      /* the first fully connected layer of the classifier (Stanza); n_layers if none */
	/* Transformers only, else 0. */
	uint32_t blocks, hidden, heads, kv_heads, ffn, seq, vocab;
	char hash[65];
};

/*
 * spec: a name of the catalogue ("resnet50"), a transformer by its dimensions
 * ("gpt:hidden=12288,layers=96,heads=96,seq=2048,vocab=51200", likewise bert:, llama:,
 * vit:), or a file (.json). An error names the JSON path or the nearest known name.
 */
struct dnn *dnn_load(const char *spec, struct orr_error *err);
struct dnn *dnn_parse(const char *path, const char *text, size_t n, struct orr_error *err);
void dnn_free(struct dnn *d);
/* The names of the catalogue; NULL past the last. Letter case, '-', '_', '.' and ' ' do not matter to dnn_load(). */
const char *dnn_catalogue(size_t i);
/* "conv", "linear" ..: as in the files. */
const char *dnn_kind_name(enum orr_layer_kind kind);

double dnn_flops(const struct dnn *d, uint32_t layer, enum dnn_pass pass);

#endif
