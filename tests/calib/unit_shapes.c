/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tests the work of kernels (computed by hand), the rules for the shapes to measure, and Sobol's sequence (from its definition). */
#include "tests/tap.h"

#include "calib/grid.h"
#include "calib/work.h"

#include <math.h>
#include <stdint.h>

static struct kernel kernel_of(const char *family, const char *op, const char *precision, const char *variant, const double *d)
{
	struct kernel k = { .d = { 0 } };
	snprintf(k.family, sizeof k.family, "%s", family);
	snprintf(k.op, sizeof k.op, "%s", op);
	snprintf(k.precision, sizeof k.precision, "%s", precision);
	snprintf(k.variant, sizeof k.variant, "%s", variant);
	memcpy(k.d, d, sizeof k.d);
	return k;
}

/* ---- work ---- */

/* Counted by hand from the definitions in calib/work.c and calib/points.h. */
static void check_work(void)
{
	static const struct {
		const char *family, *op, *precision, *variant;
		double d[KERNEL_DIMS], flops, bytes, size;
	} known[] = {
		/* 2 x 5 times 5 x 3: 30 multiply-adds = 60 FLOPs; 10 + 15 + 6 numbers of 4 bytes */
		{ "gemm", "", "fp32", "nn", { 2, 3, 5 }, 60, 124, 0 },
		{ "gemm", "", "fp32", "nn", { 2, 3, 5, 1 }, 60, 124, 0 },
		{ "gemm", "", "tf32", "nn batched", { 2, 3, 5, 7 }, 420, 868, 0 },
		{ "gemm", "", "fp16", "nn", { 2, 3, 5 }, 60, 62, 0 },
		{ "gemm", "", "bf16", "nn", { 2, 3, 5 }, 60, 62, 0 },
		/* fp8: operands of 1 byte, results of 2 */
		{ "gemm", "", "fp8", "nn", { 2, 3, 5 }, 60, 37, 0 },
		/* FLOPs = 2 x 48 positions x 2 samples x 4 filters x 27 taps; input 288, weights 108 and output 384 numbers of 4 bytes */
		{ "conv", "forward", "fp32", "3x3 s1", { 2, 3, 8, 6, 4, 3 }, 20736, 3120, 0 },
		{ "conv", "data-gradient", "fp16", "3x3 s1", { 2, 3, 8, 6, 4, 3 }, 20736, 1560, 0 },
		/* with stride 2 the output has 4 x 3 positions; input 288, weights 108 and output 96 numbers */
		{ "conv", "forward", "fp32", "strided", { 2, 3, 8, 6, 4, 3 }, 5184, 1968, 0 },
		{ "memory", "copy", "fp32", "", { 10 }, 0, 80, 0 },
		{ "memory", "triad", "fp32", "", { 10, 1 }, 20, 120, 0 },
		{ "memory", "reduction", "fp32", "", { 10 }, 10, 40, 0 },
		{ "memory", "layer-norm", "fp32", "", { 10, 4 }, 280, 320, 0 },
		{ "memory", "softmax", "fp16", "", { 10, 4 }, 160, 160, 0 },
		{ "memory", "bias-gelu", "fp32", "", { 10, 4 }, 360, 320, 0 },
		{ "memory", "residual-add", "fp32", "", { 10, 4 }, 40, 480, 0 },
		/* a row of 8 numbers is read and written, its 4-byte index is read */
		{ "gather", "embedding", "fp32", "zipf", { 10, 8, 100 }, 0, 680, 0 },
		{ "gather", "embedding", "fp16", "zipf", { 10, 8, 100 }, 0, 360, 0 },
		/* weight and gradient read, weight written; Adam: two moments read and written as well */
		{ "update", "sgd", "fp32", "", { 10 }, 20, 120, 0 },
		{ "update", "adam", "fp32", "", { 10 }, 120, 280, 0 },
		/* two products of 6 heads x 5 x 5 x 7; q, k, v and o are read or written; an unfused kernel also writes and reads 25
		 * scores per head twice */
		{ "attention", "prefill", "fp16", "fused", { 2, 3, 5, 7 }, 4200, 1680, 0 },
		{ "attention", "prefill", "fp16", "unfused", { 2, 3, 5, 7 }, 4200, 2880, 0 },
		{ "attention", "decode", "fp16", "fused", { 2, 3, 5, 7 }, 840, 1008, 0 },
		{ "attention", "decode", "fp16", "unfused", { 2, 3, 5, 7 }, 840, 1248, 0 },
		{ "copy", "h2d-pinned", "", "", { 100 }, 0, 100, 100 },
		{ "collective", "all-reduce", "fp32", "", { 100 }, 0, 100, 100 },
		{ "interference", "gemm", "fp32", "with-copy", { 10 }, 2000, 1200, 0 },
		{ "interference", "memory", "fp32", "alone", { 10 }, 20, 120, 0 },
		{ "interference", "copy", "fp32", "alone", { 10 }, 0, 10, 10 },
		{ "launch", "single", "", "", { 1 }, 0, 0, 0 },
		{ "preemption", "", "", "", { 50 }, 0, 0, 0 },
		{ "learners", "", "", "", { 2 }, 0, 0, 0 },
	};
	char name[KERNEL_NAME_MAX];
	for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
		struct kernel k = kernel_of(known[i].family, known[i].op, known[i].precision, known[i].variant, known[i].d);
		k.flops = k.bytes = k.size = 1;
		bool is_known = kernel_work(&k);
		kernel_name(&k, name);
		ok(is_known && k.flops == known[i].flops && k.bytes == known[i].bytes && k.size == known[i].size,
			"work of %s: %.0f FLOPs, %.0f bytes, size %.0f", name, k.flops, k.bytes, k.size);
	}
	static const char *const unknown[][2] = { { "gem", "" }, { "update", "rmsprop" }, { "attention", "backward" },
		{ "memory", "fill" } };
	for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++) {
		struct kernel k = kernel_of(unknown[i][0], unknown[i][1], "fp32", "", (double[KERNEL_DIMS]){ 10, 10, 10, 10 });
		ok(!kernel_work(&k), "%s %s is no known kernel", unknown[i][0], unknown[i][1]);
	}
}

/* Padding is (r - 1) / 2, rounded down: odd filters of stride 1 keep the side. */
static void check_sides(void)
{
	static const struct {
		const char *variant;
		double r, side, out;
	} known[] = { { "1x1", 1, 8, 8 }, { "3x3 s1", 3, 8, 8 }, { "large", 5, 8, 8 }, { "large", 7, 9, 9 }, { "large", 4, 8, 7 },
		{ "strided", 1, 8, 4 }, { "strided", 3, 8, 4 }, { "strided", 3, 7, 4 }, { "strided", 7, 224, 112 } };
	for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
		struct kernel k =
			kernel_of("conv", "forward", "fp32", known[i].variant, (double[KERNEL_DIMS]){ 1, 1, 1, 1, 1, known[i].r });
		near_to(conv_out(&k, known[i].side), known[i].out, 0, "output side of a convolution");
	}
}

static void check_names(void)
{
	char name[KERNEL_NAME_MAX];
	struct kernel k = kernel_of("gemm", "", "fp32", "nn", (double[KERNEL_DIMS]){ 512, 512, 64, 1 });
	k.is_cold = true;
	kernel_name(&k, name);
	same_text(name, "gemm 512x512x64x1 fp32 nn cold", "a kernel's name has family, shape, precision, variant and state of the cache");
	k = kernel_of("conv", "forward", "fp16", "1x1", (double[KERNEL_DIMS]){ 1, 3, 0, 8, 4, 3 });
	kernel_name(&k, name);
	same_text(name, "conv forward 1x3x0x8x4x3 fp16 1x1", "only dimensions of 0 at the end are left out");
	k = kernel_of("launch", "queued", "", "", (double[KERNEL_DIMS]){ 0 });
	kernel_name(&k, name);
	same_text(name, "launch queued", "without dimensions, precision and variant");
}

/* ---- Sobol's sequence ---- */

/*
 * Joe and Kuo, new-joe-kuo-6: degree, coefficients and first direction numbers of dimensions 2 to 5. Point i is the exclusive or of
 * m_k / 2^k over the bits k of the Gray code of i, with m_k = 2 a_1 m_(k-1) ^ .. ^ 2^s m_(k-s) ^ m_(k-s). A seed shifts all
 * points by one exclusive or.
 */
static void check_sobol(void)
{
	static const struct {
		uint32_t s, a, m[3];
	} poly[] = { { 1, 0, { 1 } }, { 2, 1, { 1, 3 } }, { 3, 1, { 1, 3, 1 } }, { 3, 2, { 1, 1, 1 } } };
	for (uint32_t dim = 0; dim < 5; dim++) {
		uint32_t m[31] = { 0 }, wrong = 0, first = (uint32_t)ldexp(sobol(0, dim, 4), 30), other = 0;
		for (uint32_t k = 1; k <= 10; k++) {
			uint32_t s = dim ? poly[dim - 1].s : 0;
			if (!dim || k <= s) {
				m[k] = dim ? poly[dim - 1].m[k - 1] : 1;
				continue;
			}
			m[k] = m[k - s] << s ^ m[k - s];
			for (uint32_t j = 1; j < s; j++)
				m[k] ^= (poly[dim - 1].a >> (s - 1 - j) & 1) * m[k - j] << j;
		}
		for (uint32_t i = 0; i < 1024; i++) {
			uint32_t gray = i ^ i >> 1, x = 0;
			for (uint32_t k = 1; k <= 10; k++)
				x ^= (gray >> (k - 1) & 1) * m[k] << (30 - k);
			wrong += ((uint32_t)ldexp(sobol(i, dim, 4), 30) ^ first) != x;
			other += sobol(i, dim, 4) == sobol(i, dim, 5);
		}
		ok(wrong == 0, "Sobol's dimension %u: the first 1024 points follow from the direction numbers", dim);
		ok(other == 0, "Sobol's dimension %u: another seed shifts every point", dim);
	}
}

/* ---- shapes ---- */

/* A device of 1 GB and a cache of 1 MB, with 10 GFLOP/s and 10 GB/s; a call may take 1 s. */
static const struct grid_limits roomy = {
	.memory_bytes = 1e9, .cache_bytes = 1e6, .flops_per_s = 1e10, .bytes_per_s = 1e10, .longest_s = 1, .seed = 3
};

static bool is_in(double x, const double *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (list[i] == x)
			return true;
	return false;
}

#define IS_IN(x, ...) is_in((x), (const double[]){ __VA_ARGS__ }, sizeof(const double[]){ __VA_ARGS__ } / sizeof(double))

static double to_step(double x, double step)
{
	double y = step * floor(x / step + 0.5);
	return y < step ? step : y;
}

/* Tests the sizes of a kernel with one size: log-spaced between ends that follow from the limits. */
static void check_line(const char *family, const char *op, const struct grid_limits *limits, double from, double to, double step)
{
	const struct kernel_kind kind = { family, op, "fp32", "", 0 };
	struct kernel k[9];
	uint32_t n = grid_make(&kind, 9, limits, k), wrong = 0;
	for (uint32_t i = 0; i < n; i++)
		wrong += fabs(k[i].d[0] - to_step(from * pow(to / from, i / 8.0), step)) > 1e-6 * k[i].d[0];
	ok(n == 9 && wrong == 0, "%s %s: sizes from %.0f to %.0f", family, op, k[0].d[0], k[n ? n - 1 : 0].d[0]);
	ok(grid_is_line(&kind), "%s %s has a single size", family, op);
}

/* Tests that a line of sizes has a second size above its first, even under narrow limits. */
static void check_least(const char *family, const char *op, double longest_s, double first, double last)
{
	const struct kernel_kind kind = { family, op, "fp32", "", 0 };
	struct grid_limits tight = roomy;
	struct kernel k[5];
	tight.longest_s = longest_s;
	uint32_t n = grid_make(&kind, 5, &tight, k);
	ok(n >= 2 && k[0].d[0] == first && k[n - 1].d[0] == last, "%s %s within %g us: %.0f to %.0f", family, op, 1e6 * longest_s,
		k[0].d[0], k[n ? n - 1 : 0].d[0]);
}

static void check_lines(void)
{
	struct grid_limits slow = roomy, large = roomy;
	slow.longest_s = 0.02;
	large.memory_bytes = 1e12;
	large.longest_s = 100;
	/* The largest copy uses 0.4 of the memory or half of the time at 10 GB/s, at most 250 MB. */
	check_line("copy", "host", &roomy, 1024, 2.5e8, 256);
	check_line("copy", "host", &slow, 1024, 1e8, 256);
	check_line("collective", "all-reduce", &slow, 1024, 1e8, 256);
	/* Adam uses 28 bytes per parameter; the largest size is 1e9 parameters or 0.4 of the memory. */
	check_line("update", "adam", &roomy, 1e4, 4e8 / 28, 1);
	check_line("update", "sgd", &large, 1e4, 1e9, 1);
	/* A triad uses 0.9 of the memory for three tensors, or half of the time. */
	check_line("memory", "triad", &roomy, 4096, 7.5e7, 1024);
	check_line("memory", "copy", &slow, 4096, 1e8 / 12, 1024);
	/* Times of the second sizes: a triad of 8192 elements takes 11.5 us, Adam of 20000 parameters 80 us, a copy of 4 KiB 0.4 us. */
	check_least("memory", "triad", 12e-6, 4096, 8192);
	check_least("update", "adam", 100e-6, 1e4, 2e4);
	check_least("copy", "host", 0.6e-6, 1024, 4096);
}

static void check_fixed(const char *family, const char *op, const char *what, const double *want, uint32_t n)
{
	const struct kernel_kind kind = { family, op, "fp32", "", 0 };
	struct kernel k[16];
	uint32_t made = grid_make(&kind, n, &roomy, k), wrong = 0;
	for (uint32_t i = 0; i < made && i < n; i++)
		wrong += k[i].d[0] != want[i];
	ok(made == n && wrong == 0, "%s", what);
}

static void check_fixed_sizes(void)
{
	check_fixed("preemption", "", "preemption: 50 to 1000", (const double[]){ 50, 100, 200, 500, 1000 }, 5);
	check_fixed("learners", "", "learners: powers of two, 12, 6 and 3", (const double[]){ 1, 2, 4, 8, 16, 12, 6, 3 }, 8);
	check_fixed("launch", "single", "one launch", (const double[]){ 1 }, 1);
	check_fixed("launch", "queued", "1 to 1000 launches in a row", (const double[]){ 1, 10, 100, 1000 }, 4);
	/* The side of the product is cbrt(0.1 x 1 s x 1e10 FLOP/s) = 1000, in steps of 64: it takes a fifth of the longest time. */
	check_fixed("interference", "gemm", "a product beside others takes a fifth of the longest time", (const double[]){ 1024 }, 1);
	/* The copy has 0.3 of 1 GB, in steps of 4096 bytes. The triad has three fp32 tensors. */
	check_fixed("interference", "copy", "a copy beside others: 0.3 of the memory", (const double[]){ 299999232 }, 1);
	check_fixed("interference", "memory", "a triad beside others: the same bytes", (const double[]){ 24999936 }, 1);
}

static uint32_t make(const char *family, const char *op, const char *precision, const char *variant, struct kernel *k)
{
	const struct kernel_kind kind = { family, op, precision, variant, !strcmp(family, "collective") ? 4 : 0 };
	return grid_make(&kind, 60, &roomy, k);
}

/* Returns whether the size is in the networks' products (BERT, Transformer, GPT-2, LLaMA, ResNet-50, VGG-16), by columns x depth. */
static bool is_layer(double n, double k)
{
	static const double layers[][2] = { { 768, 768 }, { 3072, 768 }, { 768, 3072 }, { 1024, 1024 }, { 4096, 1024 }, { 1024, 4096 },
		{ 512, 512 }, { 2048, 512 }, { 6400, 1600 }, { 4096, 4096 }, { 11008, 4096 }, { 4096, 11008 }, { 1000, 2048 },
		{ 4096, 25088 }, { 1000, 4096 } };
	for (size_t i = 0; i < sizeof layers / sizeof *layers; i++)
		if (layers[i][0] == n && layers[i][1] == k)
			return true;
	return false;
}

static void check_products(void)
{
	struct kernel k[60];
	uint32_t n = make("gemm", "", "fp32", "nn", k), layers = 0, wrong = 0;
	for (uint32_t i = 0; i < n; i++) {
		bool is_published = is_layer(k[i].d[1], k[i].d[2]) && IS_IN(k[i].d[0], 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192);
		layers += is_published;
		for (int d = 0; d < 3 && !is_published; d++)
			wrong += !(k[i].d[d] >= 16 && k[i].d[d] <= 8192);
		wrong += k[i].d[3] != 1;
	}
	ok(n == 60 && wrong == 0 && layers >= 20 && layers <= 40, "products: %u of 60 are layers of networks, others have 16 to 8192",
		layers);
	static const struct {
		const char *precision;
		double step;
	} steps[] = { { "fp16", 8 }, { "bf16", 8 }, { "fp8", 16 }, { "fp32", 1 } };
	for (size_t p = 0; p < sizeof steps / sizeof *steps; p++) {
		uint32_t odd = 0;
		n = make("gemm", "", steps[p].precision, "nn batched", k);
		wrong = 0;
		for (uint32_t i = 0; i < n; i++) {
			for (int d = 0; d < 3; d++)
				odd += fmod(k[i].d[d], steps[p].step) != 0;
			wrong += !(k[i].d[0] >= 16 && k[i].d[0] <= 2048 && k[i].d[1] >= 16 && k[i].d[1] <= 2048 && k[i].d[2] >= 16 &&
				   k[i].d[2] <= 512 && k[i].d[3] >= 4 && k[i].d[3] <= 256);
		}
		ok(n == 60 && odd == 0 && wrong == 0,
			"batched products in %s: rows of multiples of 16 bytes on tensor cores, 4 to 256 products", steps[p].precision);
	}
}

static bool is_network_conv(const double *d, double stride)
{
	/* channels, side, filters, filter side, stride: some of ResNet-50, VGG-16, AlexNet and Inception v3 */
	static const double convs[][5] = { { 64, 56, 64, 1, 1 }, { 64, 56, 256, 1, 1 }, { 256, 56, 64, 1, 1 }, { 256, 56, 128, 1, 1 },
		{ 128, 28, 512, 1, 1 }, { 512, 28, 128, 1, 1 }, { 256, 14, 1024, 1, 1 }, { 1024, 14, 256, 1, 1 }, { 512, 7, 2048, 1, 1 },
		{ 2048, 7, 512, 1, 1 }, { 64, 56, 64, 3, 1 }, { 128, 28, 128, 3, 1 }, { 256, 14, 256, 3, 1 }, { 512, 7, 512, 3, 1 },
		{ 128, 56, 128, 3, 2 }, { 256, 28, 256, 3, 2 }, { 512, 14, 512, 3, 2 }, { 256, 56, 512, 1, 2 }, { 512, 28, 1024, 1, 2 },
		{ 3, 224, 64, 7, 2 }, { 3, 224, 64, 3, 1 }, { 64, 112, 128, 3, 1 }, { 128, 56, 256, 3, 1 }, { 256, 28, 512, 3, 1 },
		{ 512, 14, 512, 3, 1 }, { 64, 27, 192, 5, 1 }, { 48, 35, 64, 5, 1 }, { 768, 17, 192, 7, 1 }, { 128, 17, 128, 7, 1 },
		{ 32, 28, 96, 5, 1 } };
	for (size_t i = 0; i < sizeof convs / sizeof *convs; i++)
		if (convs[i][0] == d[1] && convs[i][1] == d[2] && convs[i][2] == d[4] && convs[i][3] == d[5] && convs[i][4] == stride)
			return true;
	return false;
}

static void check_convs(void)
{
	static const struct {
		const char *variant;
		double r[3], stride;
		uint32_t published; /* least number of published shapes among 60 */
	} classes[] = { { "1x1", { 1, 1, 1 }, 1, 10 }, { "3x3 s1", { 3, 3, 3 }, 1, 8 }, { "large", { 5, 7, 7 }, 1, 5 },
		{ "strided", { 1, 3, 7 }, 2, 5 } };
	struct kernel k[60];
	for (size_t c = 0; c < sizeof classes / sizeof *classes; c++) {
		uint32_t n = make("conv", "forward", "fp32", classes[c].variant, k), published = 0, wrong = 0;
		for (uint32_t i = 0; i < n; i++) {
			const double *d = k[i].d;
			bool is_published = is_network_conv(d, classes[c].stride);
			published += is_published;
			wrong += !is_in(d[5], classes[c].r, 3) || d[2] != d[3] || !IS_IN(d[0], 1, 2, 4, 8, 16, 32, 64, 128);
			wrong += !is_published && !(fmod(d[1], 8) == 0 && fmod(d[4], 8) == 0 && d[1] >= 16 && d[1] <= 1024 && d[4] >= 16 &&
							  d[4] <= 1024 && IS_IN(d[2], 7, 14, 17, 28, 35, 56, 112));
			/* The shape must fit the time limit and, with an unfolded sample, the memory. */
			double out = conv_out(&k[i], d[2]), needs = k[i].bytes + 4 * d[1] * d[5] * d[5] * out * out;
			wrong += k[i].flops / 1e10 + k[i].bytes / 1e10 > 1 || needs > 1e9;
		}
		ok(n == 60 && wrong == 0 && published >= classes[c].published && published < 60,
			"convolutions %s: %u of %u are layers of networks, all fit", classes[c].variant, published, n);
	}
}

static void check_others(void)
{
	struct kernel k[60];
	uint32_t n = make("attention", "prefill", "fp16", "fused", k), wrong = 0;
	for (uint32_t i = 0; i < n; i++)
		wrong += !IS_IN(k[i].d[0], 1, 2, 4, 8, 16, 32, 64) || !IS_IN(k[i].d[1], 4, 8, 12, 16, 32) || !IS_IN(k[i].d[3], 64, 128) ||
			 !IS_IN(k[i].d[2], 64, 128, 256, 512, 1024, 2048, 4096, 8192);
	ok(n == 60 && wrong == 0, "attention: batches, heads, lengths and widths of networks");
	n = make("gather", "embedding", "fp32", "zipf", k);
	wrong = 0;
	for (uint32_t i = 0; i < n; i++) {
		wrong += !IS_IN(k[i].d[1], 64, 128, 256) || fabs(k[i].d[2] * k[i].d[1] * 4 - 2e6) > 2 * k[i].d[1] * 4;
		/* The rows of a table lie between 256 and a tenth of the memory (0.25 x 0.4). */
		double most = 1e8 / (k[i].d[1] * 4);
		wrong += fabs(k[i].d[0] - 256 * pow(most / 256, i / 59.0)) > 1;
	}
	ok(n == 60 && wrong == 0, "gather: a table of twice the cache; 256 rows to a tenth of the memory");
	n = make("memory", "layer-norm", "fp32", "", k);
	wrong = 0;
	for (uint32_t i = 0; i < n; i++)
		wrong += !IS_IN(k[i].d[1], 256, 768, 1024, 4096) || k[i].d[0] < 1 || k[i].d[0] * k[i].d[1] > 7.6e7;
	ok(n > 50 && wrong == 0 && k[0].d[0] * k[0].d[1] <= 2 * 4096 && k[n - 1].d[0] * k[n - 1].d[1] > 7.4e7,
		"kernels over rows: widths of networks, elements over the same range");
	static const char *const wide[] = { "gemm", "conv", "attention" };
	for (size_t i = 0; i < sizeof wide / sizeof *wide; i++)
		ok(!grid_is_line(&(struct kernel_kind){ wide[i], "", "", "", 0 }), "%s has several dimensions", wide[i]);
	n = make("collective", "all-reduce", "fp32", "", k);
	ok(n == 60 && k[5].ranks == 4 && k[5].nodes == 1, "a collective has its ranks, on one node");
	n = make("copy", "host", "", "", k);
	ok(n == 60 && k[5].ranks == 0 && k[5].nodes == 0, "other kernels have neither");
}

/* Under narrow limits, which few shapes meet, times and memory stay within the limits and every shape is unique. */
static void check_limits(void)
{
	struct grid_limits tight = roomy;
	struct kernel k[60];
	tight.longest_s = 1e-3;
	tight.memory_bytes = 1e6;
	static const struct kernel_kind kinds[] = { { "gemm", "", "fp32", "nn", 0 }, { "conv", "forward", "fp32", "3x3 s1", 0 },
		{ "attention", "decode", "fp16", "fused", 0 }, { "gather", "embedding", "fp32", "zipf", 0 },
		{ "memory", "softmax", "fp32", "", 0 }, { "copy", "host", "", "", 0 } };
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
		uint32_t n = grid_make(&kinds[i], 60, &tight, k), wrong = 0, twice = 0;
		for (uint32_t j = 0; j < n; j++) {
			double table = strcmp(kinds[i].family, "gather") ? 0 : 4 * k[j].d[1] * k[j].d[2];
			wrong += k[j].flops / 1e10 + k[j].bytes / 1e10 > 1e-3 || k[j].bytes + table > 1e6;
			for (uint32_t m = 0; m < j; m++)
				twice += !memcmp(k[j].d, k[m].d, sizeof k[j].d);
		}
		ok(n > 0 && wrong == 0 && twice == 0, "%s: %u shapes within 1 ms and 1 MB, each once", kinds[i].family, n);
	}
	tight.longest_s = 1e-12;
	ok(grid_make(&kinds[0], 60, &tight, k) == 0, "a time that no product keeps gives no shapes");
}

int main(void)
{
	check_work();
	check_sides();
	check_names();
	check_sobol();
	check_lines();
	check_fixed_sizes();
	check_products();
	check_convs();
	check_others();
	check_limits();
	return done();
}
