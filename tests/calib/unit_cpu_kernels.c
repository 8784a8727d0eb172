/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tests the kernels of the CPU backend against loops written from the definitions of these kernels. */
#include "tests/tap.h"

#include "base/mem.h"
#include "calib/backend.h"
#include "calib/cpu.h"
#include "calib/rand.h"
#include "calib/work.h"

#include <stdlib.h>

static uint64_t random_state = 5;

static float *numbers(size_t n)
{
	float *v = mem_alloc(n * sizeof *v);
	for (size_t i = 0; i < n; i++)
		v[i] = (float)rand_normal(&random_state);
	return v;
}

static double worst(const float *a, const double *b, size_t n)
{
	double most = 0;
	for (size_t i = 0; i < n; i++)
		most = fmax(most, fabs(a[i] - b[i]));
	return most;
}

static void check_gemm(bool ta, bool tb, int m, int n, int k, bool accumulate)
{
	size_t size = (size_t)m * (size_t)n;
	float *a = numbers((size_t)m * (size_t)k), *b = numbers((size_t)k * (size_t)n), *c = numbers(size);
	double *want = mem_alloc(size * sizeof *want);
	for (int i = 0; i < m; i++)
		for (int j = 0; j < n; j++) {
			double sum = accumulate ? c[i * n + j] : 0;
			for (int p = 0; p < k; p++)
				sum += (double)a[ta ? p * m + i : i * k + p] * b[tb ? j * k + p : p * n + j];
			want[i * n + j] = sum;
		}
	gemm_blocked(ta, tb, m, n, k, a, b, c, accumulate);
	/* fp32 rounding of a sum of k products of normal numbers: at most about 6e-8 x k here. */
	ok(worst(c, want, size) < 1e-6 * k + 1e-5, "blocked product %s%s %d x %d x %d%s", ta ? "t" : "n", tb ? "t" : "n", m, n, k,
		accumulate ? ", accumulated onto existing values" : "");
	mem_free(a);
	mem_free(b);
	mem_free(c);
	mem_free(want);
}

static int sgemm_calls;

/* Replaces cblas_sgemm() for row-major operands. */
static void plain_sgemm(int order, int ta, int tb, int m, int n, int k, float alpha, const float *a, int lda, const float *b, int ldb,
	float beta, float *c, int ldc)
{
	(void)order;
#pragma omp atomic
	sgemm_calls++;
	for (int i = 0; i < m; i++)
		for (int j = 0; j < n; j++) {
			double sum = 0;
			for (int p = 0; p < k; p++)
				sum += (double)a[ta == 112 ? p * lda + i : i * lda + p] * b[tb == 112 ? j * ldb + p : p * ldb + j];
			c[(ptrdiff_t)i * ldc + j] = alpha * (float)sum + (beta != 0 ? beta * c[(ptrdiff_t)i * ldc + j] : 0);
		}
}

/* Tests that a matrix product that is cut into strips for the library gives the same result as one call. */
static void check_strips(bool ta, bool tb, int m, int n, int k, uint32_t threads)
{
	struct cpu whole = { .threads = 1 }, cut = { .threads = threads, .sgemm = plain_sgemm };
	size_t size = (size_t)m * (size_t)n;
	float *a = numbers((size_t)m * (size_t)k), *b = numbers((size_t)k * (size_t)n), *c = numbers(size), *d = numbers(size);
	double *want = mem_alloc(size * sizeof *want);
	cpu_gemm(&whole, ta, tb, m, n, k, a, b, c, false);
	for (size_t i = 0; i < size; i++)
		want[i] = c[i];
	sgemm_calls = 0;
	cpu_use_threads(threads);
	cpu_gemm(&cut, ta, tb, m, n, k, a, b, d, false);
	int strips = cpu_threads() > 1 ? (int)threads : 1; /* one strip without OpenMP */
	cpu_use_threads(1);
	ok(worst(d, want, size) < 1e-6 * k + 1e-5 && sgemm_calls == strips,
		"a library's product %s%s %d x %d x %d by %d threads: %d strips", ta ? "t" : "n", tb ? "t" : "n", m, n, k, (int)threads,
		sgemm_calls);
	mem_free(a);
	mem_free(b);
	mem_free(c);
	mem_free(d);
	mem_free(want);
}

/* Tests the forward pass and both gradients of a convolution by the definition of the forward pass: out[n][f][y][x] = sum
 * in[n][c][..] w[f][c][..]. */
static void check_conv(const char *variant, int r)
{
	enum { N = 2, C = 3, H = 9, W = 7, F = 4 };
	struct cpu cpu = { .threads = 1 };
	struct kernel k = { .family = "conv", .precision = "fp32", .d = { N, C, H, W, F, r } };
	snprintf(k.variant, sizeof k.variant, "%s", variant);
	kernel_work(&k);
	int oh = (int)conv_out(&k, H), ow = (int)conv_out(&k, W), s = (int)conv_stride(&k), pad = (r - 1) / 2;
	size_t in_n = N * C * H * W, w_n = (size_t)(F * C * r * r), out_n = (size_t)(N * F * oh * ow);
	float *in = numbers(in_n), *w = numbers(w_n), *out = numbers(out_n), *unfolded = numbers((size_t)(C * r * r * oh * ow));
	float *got_in = numbers(in_n), *got_w = numbers(w_n), *got_out = numbers(out_n);
	double *want_in = mem_zalloc(in_n, sizeof(double)), *want_w = mem_zalloc(w_n, sizeof(double)),
	       *want_out = mem_zalloc(out_n, sizeof(double));
	for (int n = 0; n < N; n++)
		for (int f = 0; f < F; f++)
			for (int y = 0; y < oh; y++)
				for (int x = 0; x < ow; x++)
					for (int tap = 0; tap < C * r * r; tap++) {
						int c = tap / (r * r), iy = y * s + tap / r % r - pad, ix = x * s + tap % r - pad;
						if (iy < 0 || iy >= H || ix < 0 || ix >= W)
							continue;
						int at_in = ((n * C + c) * H + iy) * W + ix, at_out = ((n * F + f) * oh + y) * ow + x;
						int at_w = f * C * r * r + tap;
						want_out[at_out] += (double)in[at_in] * w[at_w];
						want_in[at_in] += (double)out[at_out] * w[at_w];
						want_w[at_w] += (double)out[at_out] * in[at_in];
					}
	cpu_conv(&cpu, &k, CONV_FORWARD, in, w, got_out, unfolded);
	cpu_conv(&cpu, &k, CONV_DATA, got_in, w, out, unfolded);
	cpu_conv(&cpu, &k, CONV_WEIGHT, in, got_w, out, unfolded);
	ok(worst(got_out, want_out, out_n) < 1e-4, "convolution %s, forward", variant);
	ok(worst(got_in, want_in, in_n) < 1e-4, "convolution %s, gradient of the data", variant);
	ok(worst(got_w, want_w, w_n) < 1e-3, "convolution %s, gradient of the weights", variant);
	void *all[] = { in, w, out, unfolded, got_in, got_w, got_out, want_in, want_w, want_out };
	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		mem_free(all[i]);
}

static void check_rows(void)
{
	enum { ROWS = 3, COLUMNS = 37, ALL = ROWS * COLUMNS };
	float *x = numbers(ALL), *bias = numbers(COLUMNS), *y = numbers(ALL);
	double soft[ALL], norm[ALL], gelu[ALL];
	for (int r = 0; r < ROWS; r++) {
		double sum = 0, mean = 0, var = 0;
		for (int c = 0; c < COLUMNS; c++) {
			sum += exp(x[r * COLUMNS + c]);
			mean += x[r * COLUMNS + c] / (double)COLUMNS;
		}
		for (int c = 0; c < COLUMNS; c++)
			var += (x[r * COLUMNS + c] - mean) * (x[r * COLUMNS + c] - mean) / COLUMNS;
		for (int c = 0; c < COLUMNS; c++) {
			int i = r * COLUMNS + c;
			double v = x[i] + bias[c];
			soft[i] = exp(x[i]) / sum;
			norm[i] = (x[i] - mean) / sqrt(var + 1e-5);
			gelu[i] = 0.5 * v * (1 + tanh(0.7978845608 * (v + 0.044715 * v * v * v)));
		}
	}
	cpu_softmax(x, y, ROWS, COLUMNS);
	ok(worst(y, soft, ALL) < 1e-6, "softmax");
	cpu_layer_norm(x, y, ROWS, COLUMNS);
	ok(worst(y, norm, ALL) < 1e-4, "layer normalisation");
	cpu_bias_gelu(x, bias, y, ROWS, COLUMNS);
	ok(worst(y, gelu, ALL) < 1e-5, "bias and GELU, its tanh form");
	double total = 0;
	for (int i = 0; i < ALL; i++)
		total += x[i];
	near_to(cpu_reduce(x, ALL), total, 1e-5, "reduction");
	mem_free(x);
	mem_free(bias);
	mem_free(y);
}

/* Tests that attention of a single query equals the first row of attention of many queries. */
static void check_attention(void)
{
	enum { B = 2, H = 3, S = 11, D = 8 };
	struct cpu cpu = { .threads = 1 };
	const double d[] = { B, H, S, D };
	float *q = numbers(B * H * S * D), *k = numbers(B * H * S * D), *v = numbers(B * H * S * D);
	float *scores = numbers(B * H * S * S), *all = numbers(B * H * S * D), *one = numbers(B * H * D), *first = numbers(B * H * D);
	double want[B * H * D] = { 0 };
	for (int h = 0; h < B * H; h++) {
		double sum = 0, share[S];
		for (int s = 0; s < S; s++) {
			double dot = 0;
			for (int i = 0; i < D; i++)
				dot += (double)q[h * S * D + i] * k[(h * S + s) * D + i];
			sum += share[s] = exp(dot);
		}
		for (int s = 0; s < S; s++)
			for (int i = 0; i < D; i++)
				want[h * D + i] += share[s] / sum * v[(h * S + s) * D + i];
		memcpy(first + h * D, q + h * S * D, D * sizeof *q);
	}
	cpu_attention(&cpu, d, true, q, k, v, scores, all);
	for (int h = 0; h < B * H; h++)
		memcpy(one + h * D, all + h * S * D, D * sizeof *one);
	ok(worst(one, want, B * H * D) < 1e-4, "attention over all queries, the first of each head");
	cpu_attention(&cpu, d, false, first, k, v, scores, one);
	ok(worst(one, want, B * H * D) < 1e-4, "attention of one query");
	void *freed[] = { q, k, v, scores, all, one, first };
	for (size_t i = 0; i < sizeof freed / sizeof *freed; i++)
		mem_free(freed[i]);
}

static void check_updates(void)
{
	float w[2] = { 1, -2 }, g[2] = { 0.5f, -3 }, state[4] = { 0 };
	cpu_adam(w, g, state, 2);
	near_to(state[0], 0.05, 1e-6, "Adam's first moment: 0.1 g");
	near_to(state[3], 0.009, 1e-6, "Adam's second moment: 0.001 g^2");
	ok(w[0] < 1 && w[1] > -2, "Adam moves the weights against the gradient");
	w[0] = 1;
	cpu_sgd(w, g, 1);
	near_to(w[0], 1 - 0.5e-6, 1e-7, "SGD");
}

/* Tests that each kind of kernel that the backend lists can be prepared, run (cold or warm) and released, and takes time. */
static void check_backend(void)
{
	struct backend_options o = { .seed = 1, .threads = 1 };
	struct orr_error err;
	void *device = backend_cpu.open(&o, &err);
	struct backend_device about;
	size_t n;
	backend_cpu.describe(device, &about);
	ok(*about.name && *about.software && about.units == 1, "the backend reports the processor's name and the library of products");
	const struct kernel_kind *kinds = backend_cpu.kinds(device, &n);
	size_t good = 0;
	for (size_t i = 0; i < n; i++) {
		struct kernel k = { .d = { 16, 16, 16, 8 } };
		struct timing t = { 0 };
		snprintf(k.family, sizeof k.family, "%s", kinds[i].family);
		snprintf(k.op, sizeof k.op, "%s", kinds[i].op);
		snprintf(k.precision, sizeof k.precision, "%s", kinds[i].precision);
		snprintf(k.variant, sizeof k.variant, "%s", kinds[i].variant);
		if (!strcmp(k.family, "conv"))
			k.d[4] = 4, k.d[5] = strcmp(k.variant, "1x1") ? 3 : 1;
		if (!strcmp(k.family, "copy") || (!strcmp(k.family, "interference") && strcmp(k.op, "gemm")))
			k.d[0] = 65536;
		k.is_cold = i % 2;
		void *task = kernel_work(&k) ? backend_cpu.prepare(device, &k, &err) : NULL;
		bool ran = task && !backend_cpu.run(task, 3, &t, &err) && t.device_s > 0;
		if (!ran)
			printf("# %s %s %s: %s\n", k.family, k.op, k.variant, task ? "no time" : err.text);
		good += ran;
		if (task)
			backend_cpu.release(task);
	}
	ok(good == n && n > 20, "all %zu kinds of kernel run", n);
	struct kernel huge = { .family = "update", .op = "adam", .precision = "fp32", .d = { 1e12 } };
	ok(!backend_cpu.prepare(device, &huge, &err) && err.code == ORR_EINPUT, "a kernel that exceeds the memory is refused: %s",
		err.text);
	struct kernel half = { .family = "gemm", .precision = "fp16", .variant = "nn", .d = { 16, 16, 16, 1 } };
	ok(!backend_cpu.prepare(device, &half, &err) && err.code == ORR_EINPUT, "an unsupported precision is refused");
	backend_cpu.close(device);
}

int main(void)
{
	check_gemm(false, false, 7, 17, 5, false);
	check_gemm(false, true, 97, 33, 300, false);
	check_gemm(true, false, 100, 50, 257, true);
	check_gemm(true, true, 13, 2100, 20, false);
	check_strips(false, false, 150, 97, 80, 2);
	check_strips(true, false, 97, 151, 80, 3);
	check_strips(false, true, 161, 90, 80, 3);
	check_strips(true, true, 33, 500, 80, 2);
	check_conv("1x1", 1);
	check_conv("3x3 s1", 3);
	check_conv("strided", 3);
	check_conv("large", 5);
	check_rows();
	check_attention();
	check_updates();
	check_backend();
	return done();
}
