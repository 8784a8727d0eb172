/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "calib/grid.h"
#include "calib/rand.h"
#include "calib/work.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { SOBOL_DIMS = 5, SOBOL_BITS = 30 };

/* Direction numbers: new-joe-kuo-6 of Joe and Kuo. */
double sobol(uint32_t index, uint32_t dim, uint64_t seed)
{
	static const struct {
		uint32_t degree, a, m[3];
	} poly[SOBOL_DIMS] = { { 0, 0, { 0 } }, { 1, 0, { 1 } }, { 2, 1, { 1, 3 } }, { 3, 1, { 1, 3, 1 } }, { 3, 2, { 1, 1, 1 } } };
	uint32_t v[SOBOL_BITS], s = poly[dim].degree;
	for (uint32_t i = 0; i < SOBOL_BITS; i++) {
		if (!s || i < s) {
			v[i] = (s ? poly[dim].m[i] : 1) << (SOBOL_BITS - 1 - i);
			continue;
		}
		v[i] = v[i - s] ^ (v[i - s] >> s);
		for (uint32_t k = 1; k < s; k++)
			v[i] ^= ((poly[dim].a >> (s - 1 - k)) & 1) * v[i - k];
	}
	uint32_t x = (uint32_t)hash_mix(seed * SOBOL_DIMS + dim + 1) >> (32 - SOBOL_BITS);
	uint32_t gray = index ^ (index >> 1);
	for (uint32_t i = 0; i < SOBOL_BITS; i++)
		if ((gray >> i) & 1)
			x ^= v[i];
	return x / (double)(1u << SOBOL_BITS);
}

/* Matrix products of published networks as columns x depth; rows are samples or tokens. */
static const double layers[][2] = {
	{ 768, 768 }, { 3072, 768 }, { 768, 3072 },       /* BERT base (Devlin et al. 2018) */
	{ 1024, 1024 }, { 4096, 1024 }, { 1024, 4096 },   /* BERT large */
	{ 512, 512 }, { 2048, 512 },                      /* Transformer base (Vaswani et al. 2017) */
	{ 6400, 1600 },                                   /* GPT-2 XL (Radford et al. 2019) */
	{ 4096, 4096 }, { 11008, 4096 }, { 4096, 11008 }, /* LLaMA 7B (Touvron et al. 2023) */
	{ 1000, 2048 }, { 4096, 25088 }, { 1000, 4096 },  /* classifiers of ResNet-50, VGG-16 */
};

/* Convolutions: channels, side, filters, filter side, stride. */
static const double convs[][5] = {
	/* ResNet-50 (He et al. 2015, table 1) */
	{ 64, 56, 64, 1, 1 },
	{ 64, 56, 256, 1, 1 },
	{ 256, 56, 64, 1, 1 },
	{ 256, 56, 128, 1, 1 },
	{ 128, 28, 512, 1, 1 },
	{ 512, 28, 128, 1, 1 },
	{ 256, 14, 1024, 1, 1 },
	{ 1024, 14, 256, 1, 1 },
	{ 512, 7, 2048, 1, 1 },
	{ 2048, 7, 512, 1, 1 },
	{ 64, 56, 64, 3, 1 },
	{ 128, 28, 128, 3, 1 },
	{ 256, 14, 256, 3, 1 },
	{ 512, 7, 512, 3, 1 },
	{ 128, 56, 128, 3, 2 },
	{ 256, 28, 256, 3, 2 },
	{ 512, 14, 512, 3, 2 },
	{ 256, 56, 512, 1, 2 },
	{ 512, 28, 1024, 1, 2 },
	{ 3, 224, 64, 7, 2 },
	/* VGG-16 (Simonyan and Zisserman 2014) */
	{ 3, 224, 64, 3, 1 },
	{ 64, 112, 128, 3, 1 },
	{ 128, 56, 256, 3, 1 },
	{ 256, 28, 512, 3, 1 },
	{ 512, 14, 512, 3, 1 },
	/* AlexNet, Inception v3 */
	{ 64, 27, 192, 5, 1 },
	{ 48, 35, 64, 5, 1 },
	{ 768, 17, 192, 7, 1 },
	{ 128, 17, 128, 7, 1 },
	{ 32, 28, 96, 5, 1 },
};

enum { LAYERS = sizeof layers / sizeof *layers, CONVS = sizeof convs / sizeof *convs };

static double log_between(double u, double from, double to)
{
	return from * pow(to / from, u);
}

static double rounded(double x, double step)
{
	double y = step * floor(x / step + 0.5);
	return y < step ? step : y;
}

static double pick(double u, const double *of, size_t n)
{
	size_t i = (size_t)(u * (double)n);
	return of[i < n ? i : n - 1];
}

#define PICK(u, ...) pick((u), (const double[]){ __VA_ARGS__ }, sizeof(const double[]){ __VA_ARGS__ } / sizeof(double))

static double step_of(const struct kernel *k)
{
	double size = precision_bytes(k->precision);
	return size == 4 ? 1 : 16 / size; /* tensor cores need rows in multiples of 16 bytes */
}

/* Sets candidate i; even candidates are from published layers. */
static void gemm_shape(struct kernel *k, uint32_t i, uint64_t seed)
{
	double step = step_of(k), u[4];
	for (uint32_t dim = 0; dim < 4; dim++)
		u[dim] = sobol(i / 2 + 1, dim, seed);
	bool is_batched = strstr(k->variant, "batched") != NULL;
	k->d[3] = 1;
	if (is_batched) { /* such as scores of attention heads */
		k->d[0] = rounded(log_between(u[0], 16, 2048), step);
		k->d[1] = rounded(log_between(u[1], 16, 2048), step);
		k->d[2] = rounded(log_between(u[2], 16, 512), step);
		k->d[3] = rounded(log_between(u[3], 4, 256), 1);
	} else if (i % 2) {
		for (int dim = 0; dim < 3; dim++)
			k->d[dim] = rounded(log_between(u[dim], 16, 8192), step);
	} else {
		const double *layer = layers[(i / 2 + seed) % LAYERS];
		k->d[0] = rounded(PICK(u[0], 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192), step);
		k->d[1] = rounded(layer[0], step);
		k->d[2] = rounded(layer[1], step);
	}
}

/* Returns the variant name of a filter. */
static const char *conv_class(double r, double stride)
{
	return stride > 1 ? "strided" : r == 1 ? "1x1" : r == 3 ? "3x3 s1" : "large";
}

static bool conv_shape(struct kernel *k, uint32_t i, uint64_t seed)
{
	double u[5], batch, *d = k->d;
	for (uint32_t dim = 0; dim < SOBOL_DIMS; dim++)
		u[dim] = sobol(i / 2 + 1, dim, seed);
	batch = PICK(u[0], 1, 2, 4, 8, 16, 32, 64, 128);
	if (i % 2 == 0) {
		const double *layer = convs[(i / 2 + seed) % CONVS];
		d[0] = batch, d[1] = layer[0], d[2] = d[3] = layer[1], d[4] = layer[2], d[5] = layer[3];
		if (step_of(k) > 1)
			d[1] = rounded(d[1], step_of(k));
		return !strcmp(conv_class(layer[3], layer[4]), k->variant);
	}
	d[0] = batch;
	d[1] = rounded(log_between(u[1], 16, 1024), 8);
	d[2] = d[3] = PICK(u[2], 7, 14, 17, 28, 35, 56, 112);
	d[4] = rounded(log_between(u[3], 16, 1024), 8);
	d[5] = !strcmp(k->variant, "1x1") ? 1 : !strcmp(k->variant, "large") ? PICK(u[4], 5, 7) : PICK(u[4], 3, 3, 3, 1);
	if (!strcmp(k->variant, "3x3 s1"))
		d[5] = 3;
	return true;
}

static void attention_shape(struct kernel *k, uint32_t i, uint64_t seed)
{
	double u[4];
	for (uint32_t dim = 0; dim < 4; dim++)
		u[dim] = sobol(i + 1, dim, seed);
	k->d[0] = PICK(u[0], 1, 2, 4, 8, 16, 32, 64);
	k->d[1] = PICK(u[1], 4, 8, 12, 16, 32);
	k->d[2] = PICK(u[2], 64, 128, 256, 512, 1024, 2048, 4096, 8192);
	k->d[3] = PICK(u[3], 64, 64, 128);
}

/* Returns candidate i of n, log-spaced from one size to another, rounded to the kernel's step. */
static double line_at(uint32_t i, uint32_t n, double from, double to, double step)
{
	return rounded(log_between(n > 1 ? i / (double)(n - 1) : 0.5, from, to), step);
}

/* Sizes range from a few thousand elements, dominated by start-up, to sizes dominated by memory bandwidth. */
static void memory_shape(struct kernel *k, uint32_t i, uint32_t n, const struct grid_limits *g)
{
	double tensors = 3 * precision_bytes(k->precision);
	double most = fmin(0.9 * g->memory_bytes / tensors, 0.5 * g->longest_s * g->bytes_per_s / tensors);
	double columns = strcmp(k->op, "copy") && strcmp(k->op, "triad") && strcmp(k->op, "reduction")
				 ? pick(sobol(i + 1, 1, g->seed), (const double[]){ 256, 768, 1024, 4096 }, 4)
				 : 1;
	double elements = line_at(i, n, 4096, fmax(most, 8192), 1024);
	k->d[0] = columns > 1 ? rounded(elements / columns, 1) : elements;
	k->d[1] = columns;
}

static void one_size(struct kernel *k, uint32_t i, uint32_t n, const struct grid_limits *g)
{
	double most = fmin(0.4 * g->memory_bytes, 0.5 * g->longest_s * g->bytes_per_s);
	if (!strcmp(k->family, "gather")) {
		k->d[1] = pick(sobol(i + 1, 1, g->seed), (const double[]){ 64, 128, 256 }, 3);
		/* The table is larger than any cache; the time limit bounds the number of lookups. */
		k->d[2] =
			rounded(fmin(0.5 * g->memory_bytes, 2 * fmax(g->cache_bytes, 1e6)) / (k->d[1] * precision_bytes(k->precision)), 1);
		k->d[0] = line_at(i, n, 256, fmax(512, 0.25 * most / (k->d[1] * precision_bytes(k->precision))), 1);
	} else if (!strcmp(k->family, "update")) {
		k->d[0] = line_at(i, n, 1e4, fmax(2e4, fmin(1e9, most / 28)), 1);
	} else if (!strcmp(k->family, "copy") || !strcmp(k->family, "collective")) {
		k->d[0] = line_at(i, n, 1024, fmax(4096, fmin(2.5e8, most)), 256);
	} else if (!strcmp(k->family, "preemption")) {
		k->d[0] = pick((i + 0.5) / n, (const double[]){ 50, 100, 200, 500, 1000 }, 5);
	} else if (!strcmp(k->family, "learners")) {
		k->d[0] = i < 5 ? exp2(i) : i == 5 ? 12 : i == 6 ? 6 : 3;
	} else if (!strcmp(k->family, "launch")) {
		k->d[0] = !strcmp(k->op, "single") ? 1 : pick((i + 0.5) / n, (const double[]){ 1, 10, 100, 1000 }, 4);
	} else if (!strcmp(k->op, "gemm")) { /* interference: each kernel alone takes about a fifth of the longest time */
		k->d[0] = rounded(fmin(4096, cbrt(0.1 * g->longest_s * g->flops_per_s)), 64);
	} else {
		k->d[0] = rounded(fmin(0.3 * g->memory_bytes, 0.1 * g->longest_s * g->bytes_per_s), 4096);
		if (!strcmp(k->op, "memory"))
			k->d[0] = rounded(k->d[0] / 12, 1024);
	}
}

bool grid_is_line(const struct kernel_kind *kind)
{
	return strcmp(kind->family, "gemm") && strcmp(kind->family, "conv") && strcmp(kind->family, "attention");
}

static bool shape(struct kernel *k, uint32_t i, uint32_t n, const struct grid_limits *g)
{
	uint64_t seed = rand_stream(g->seed, k->op) % 1000003;
	memset(k->d, 0, sizeof k->d);
	if (!strcmp(k->family, "gemm"))
		gemm_shape(k, i, seed);
	else if (!strcmp(k->family, "conv"))
		return conv_shape(k, i, seed);
	else if (!strcmp(k->family, "attention"))
		attention_shape(k, i, seed);
	else if (i >= n)
		return false;
	else if (!strcmp(k->family, "memory"))
		memory_shape(k, i, n, g);
	else
		one_size(k, i, n, g);
	return true;
}

static bool fits(const struct kernel *k, const struct grid_limits *g)
{
	double seconds = k->flops / g->flops_per_s + k->bytes / g->bytes_per_s;
	double needs = k->bytes;
	if (!strcmp(k->family, "gather"))
		needs += k->d[1] * k->d[2] * precision_bytes(k->precision);
	if (!strcmp(k->family, "conv")) /* workspace: at most the unfolded input of a sample */
		needs += 4 * k->d[1] * k->d[5] * k->d[5] * conv_out(k, k->d[2]) * conv_out(k, k->d[3]);
	return seconds <= g->longest_s && needs <= g->memory_bytes;
}

static bool is_new(const struct kernel *k, const struct kernel *among, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (!memcmp(among[i].d, k->d, sizeof k->d))
			return false;
	return true;
}

uint32_t grid_make(const struct kernel_kind *kind, uint32_t n, const struct grid_limits *limits, struct kernel *out)
{
	uint32_t made = 0;
	for (uint32_t i = 0; made < n && i < 64 * n + 256; i++) {
		struct kernel k = { .ranks = kind->ranks, .nodes = kind->ranks > 0 ? 1 : 0 };
		snprintf(k.family, sizeof k.family, "%s", kind->family);
		snprintf(k.op, sizeof k.op, "%s", kind->op);
		snprintf(k.precision, sizeof k.precision, "%s", kind->precision);
		snprintf(k.variant, sizeof k.variant, "%s", kind->variant);
		if (shape(&k, i, n, limits) && kernel_work(&k) && fits(&k, limits) && is_new(&k, out, made))
			out[made++] = k;
	}
	return made;
}
