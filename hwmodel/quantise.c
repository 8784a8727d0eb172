/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "hwmodel/quantise.h"

#include <strings.h>

const struct quantisation quant_default = { .precision = PRECISION_FP16, .group = 128, .group_bits = 20 };

static const struct {
	const char *name;
	double bytes;
} formats[] = { { "auto", 0 }, { "fp32", 4 }, { "fp16", 2 }, { "bf16", 2 }, { "fp8", 1 }, { "int8", 1 }, { "int4", 0.5 } };

bool format_named(const char *name, enum number_format *out)
{
	for (int i = FORMAT_AUTO; i <= FORMAT_INT4; i++)
		if (!strcasecmp(name, formats[i].name)) {
			*out = (enum number_format)i;
			return true;
		}
	return false;
}

const char *format_name(enum number_format f)
{
	return formats[f].name;
}

double format_bytes(enum number_format f)
{
	return formats[f].bytes;
}

double quant_weight_bytes(const struct quantisation *q)
{
	if (q->weights == FORMAT_AUTO)
		return precision_element_bytes(q->precision);
	bool has_groups = q->weights == FORMAT_INT4 && q->group > 0;
	return format_bytes(q->weights) + (has_groups ? q->group_bits / q->group / 8 : 0);
}

double quant_plain_bytes(const struct quantisation *q)
{
	return q->precision == PRECISION_FP32 || q->precision == PRECISION_TF32 ? 4 : 2;
}

double quant_kv_bytes(const struct quantisation *q)
{
	return q->kv == FORMAT_AUTO ? quant_plain_bytes(q) : format_bytes(q->kv);
}

bool quant_has_layer(const struct quantisation *q, const struct dnn_layer *l)
{
	return l->kind == ORR_LAYER_LINEAR && l->params > 0 && (l->block != DNN_NO_BLOCK || q->has_head);
}

double quant_layer_bytes(const struct quantisation *q, const struct dnn_layer *l)
{
	double bias = l->params == l->n * l->k + l->n ? l->n : 0;
	double weights = quant_has_layer(q, l) ? l->params - bias : 0;
	return weights * quant_weight_bytes(q) + (l->params - weights) * quant_plain_bytes(q);
}

double quant_bytes(const struct quantisation *q, const struct dnn *d)
{
	double sum = 0;
	for (uint32_t i = 0; i < d->n_layers; i++)
		sum += quant_layer_bytes(q, &d->layer[i]);
	return sum;
}

/* An instruction of the vector units counts two FLOPs (a fused multiply-add). A weight takes one, the conversion; int4 takes another one to
 * unpack it. */
double quant_convert_s(const struct quantisation *q, const struct device *d)
{
	bool is_native = q->weights == FORMAT_AUTO || (q->weights == FORMAT_FP8 && q->precision == PRECISION_FP8);
	double instructions = q->weights == FORMAT_INT4 ? 2 : 1;
	return is_native || !(d->vector_flops > 0) ? 0 : 2 * instructions / d->vector_flops;
}
