/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "calib/work.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

double precision_bytes(const char *precision)
{
	if (!strcmp(precision, "fp16") || !strcmp(precision, "bf16"))
		return 2;
	return !strcmp(precision, "fp8") ? 1 : 4;
}

double conv_stride(const struct kernel *k)
{
	return !strcmp(k->variant, "strided") ? 2 : 1;
}

double conv_out(const struct kernel *k, double side)
{
	double r = k->d[5], padding = floor((r - 1) / 2);
	return floor((side + 2 * padding - r) / conv_stride(k)) + 1;
}

static void gemm_work(struct kernel *k)
{
	double m = k->d[0], n = k->d[1], depth = k->d[2], batch = k->d[3] > 0 ? k->d[3] : 1;
	k->flops = 2 * m * n * depth * batch;
	/* Products of fp8 have bf16 results. */
	double size = precision_bytes(k->precision), result = size == 1 ? 2 : size;
	k->bytes = batch * (size * (m * depth + depth * n) + result * m * n);
}

/* All three passes have equal work: each reads two of the three tensors and writes the third. */
static void conv_work(struct kernel *k)
{
	double n = k->d[0], c = k->d[1], h = k->d[2], w = k->d[3], filters = k->d[4], r = k->d[5];
	double out = conv_out(k, h) * conv_out(k, w);
	k->flops = 2 * n * filters * c * r * r * out;
	k->bytes = precision_bytes(k->precision) * (n * c * h * w + filters * c * r * r + n * filters * out);
}

/* Per element: FLOPs (an exponential or square root is one), tensors read, tensors written. */
static const struct {
	const char *op;
	double flops, tensors;
} memory_ops[] = {
	{ "copy", 0, 2 },
	{ "triad", 2, 3 },
	{ "reduction", 1, 1 },
	{ "layer-norm", 7, 2 },
	{ "softmax", 4, 2 },
	{ "bias-gelu", 9, 2 },
	{ "residual-add", 1, 3 },
};

static bool memory_work(struct kernel *k)
{
	double elements = k->d[0] * (k->d[1] > 0 ? k->d[1] : 1);
	for (size_t i = 0; i < sizeof memory_ops / sizeof *memory_ops; i++)
		if (!strcmp(k->op, memory_ops[i].op)) {
			k->flops = memory_ops[i].flops * elements;
			k->bytes = memory_ops[i].tensors * elements * precision_bytes(k->precision);
			return true;
		}
	return false;
}

static bool update_work(struct kernel *k)
{
	/* SGD reads weight and gradient, writes the weight; Adam also reads and writes two moments. */
	bool is_adam = !strcmp(k->op, "adam");
	if (!is_adam && strcmp(k->op, "sgd"))
		return false;
	k->flops = k->d[0] * (is_adam ? 12 : 2);
	k->bytes = k->d[0] * 4 * (is_adam ? 7 : 3);
	return true;
}

static bool attention_work(struct kernel *k)
{
	double batch_heads = k->d[0] * k->d[1], seq = k->d[2], dim = k->d[3], size = precision_bytes(k->precision);
	bool is_prefill = !strcmp(k->op, "prefill");
	if (!is_prefill && strcmp(k->op, "decode"))
		return false;
	double queries = is_prefill ? seq : 1;
	k->flops = 4 * batch_heads * queries * seq * dim;
	k->bytes = size * batch_heads * dim * (2 * queries + 2 * seq);
	if (!strcmp(k->variant, "unfused")) /* the scores are written and read for the softmax and for the next product */
		k->bytes += size * batch_heads * 4 * queries * seq;
	return true;
}

/* Sets the work of the timed kernel, without that of the concurrent kernel. */
static bool interference_work(struct kernel *k)
{
	double n = k->d[0];
	if (!strcmp(k->op, "gemm")) {
		k->flops = 2 * n * n * n;
		k->bytes = 3 * n * n * precision_bytes(k->precision);
	} else if (!strcmp(k->op, "memory")) {
		k->flops = 2 * n;
		k->bytes = 3 * n * 4;
	} else {
		k->bytes = k->size = n;
	}
	return true;
}

bool kernel_work(struct kernel *k)
{
	const char *f = k->family;
	k->flops = k->bytes = k->size = 0;
	if (!strcmp(f, "gemm"))
		return gemm_work(k), true;
	if (!strcmp(f, "conv"))
		return conv_work(k), true;
	if (!strcmp(f, "memory"))
		return memory_work(k);
	if (!strcmp(f, "gather")) { /* reads and writes each row, reads its 4-byte index */
		k->bytes = k->d[0] * (2 * k->d[1] * precision_bytes(k->precision) + 4);
		return true;
	}
	if (!strcmp(f, "update"))
		return update_work(k);
	if (!strcmp(f, "attention"))
		return attention_work(k);
	if (!strcmp(f, "copy") || !strcmp(f, "collective")) {
		k->size = k->bytes = k->d[0];
		return true;
	}
	if (!strcmp(f, "interference"))
		return interference_work(k);
	return !strcmp(f, "launch") || !strcmp(f, "preemption") || !strcmp(f, "learners");
}

void kernel_name(const struct kernel *k, char out[KERNEL_NAME_MAX])
{
	int dims = KERNEL_DIMS;
	char shape[96] = "";
	while (dims > 0 && k->d[dims - 1] == 0)
		dims--;
	for (int i = 0, n = 0; i < dims && n < (int)sizeof shape - 24; i++)
		n += snprintf(shape + n, sizeof shape - (size_t)n, "%s%.0f", i ? "x" : " ", k->d[i]);
	snprintf(out, KERNEL_NAME_MAX, "%s%s%s%s%s%s%s%s%s", k->family, *k->op ? " " : "", k->op, shape, *k->precision ? " " : "",
		k->precision, *k->variant ? " " : "", k->variant, k->is_cold ? " cold" : "");
}
