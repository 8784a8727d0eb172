/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * quantise.h - formats of the weights and KV caches of language models
 *
 * The linear layers of the blocks take the format of the weights. Token table, norms and biases stay in 16 bits (32 with precision
 * fp32 or tf32), and so does the output layer unless has_head is set. docs/models/serve-llm.md, "Precision".
 */
#ifndef ORR_HWMODEL_QUANTISE_H
#define ORR_HWMODEL_QUANTISE_H

#include "hwmodel/device.h"
#include "hwmodel/dnn.h"

enum number_format { FORMAT_AUTO, FORMAT_FP32, FORMAT_FP16, FORMAT_BF16, FORMAT_FP8, FORMAT_INT8, FORMAT_INT4 };

#define WEIGHT_FORMATS "auto|fp8|int8|int4"
#define KV_FORMATS "auto|fp32|fp16|bf16|fp8|int8|int4"

struct quantisation {
	enum precision precision;   /* precision of the arithmetic */
	enum number_format weights; /* auto: as precision */
	enum number_format kv;      /* auto: 2 bytes per element, 4 with precision fp32 or tf32 */
	/* int4: each group of `group` weights has group_bits more bits (scale and zero point); group 0: none */
	double group, group_bits;
	bool has_head; /* the output layer is quantised too */
};

/* The default: fp16, int4 in groups of 128 with 20 bits (AWQ, GPTQ). */
extern const struct quantisation quant_default;

bool format_named(const char *name, enum number_format *out);
const char *format_name(enum number_format f);
/* Returns the bytes of an element; 0 for auto. */
double format_bytes(enum number_format f);

/* Returns the bytes of a quantised weight, with its share of scale and zero point. */
double quant_weight_bytes(const struct quantisation *q);
/* Returns the bytes per element of parameters that are not quantised. */
double quant_plain_bytes(const struct quantisation *q);
/* Returns the bytes per element of the KV cache. */
double quant_kv_bytes(const struct quantisation *q);
/* Returns whether the weights of the layer have the format of the weights. */
bool quant_has_layer(const struct quantisation *q, const struct dnn_layer *l);
/* Returns the bytes of the layer's parameters. A tied output layer has none. */
double quant_layer_bytes(const struct quantisation *q, const struct dnn_layer *l);
/* Returns the bytes of all parameters. */
double quant_bytes(const struct quantisation *q, const struct dnn *d);
/* Returns the seconds to convert a weight to the format of the arithmetic on the device; 0: no conversion is needed. */
double quant_convert_s(const struct quantisation *q, const struct device *d);

#endif
