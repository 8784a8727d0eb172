/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Blocked product after Goto and van de Geijn, "Anatomy of high-performance matrix multiplication", ACM TOMS
 * 34(3), 2008: panels of b in the last-level cache, blocks of a in the second, both packed so that the inner loop
 * reads sequentially. Also OpenBLAS, opened at run time.
 */
#include "calib/cpu.h"

#include "base/mem.h"

#include <config.h>

#include <dlfcn.h>
#include <string.h>

enum { MR = 6, NR = 16, MC = 96, KC = 256, NC = 2048 };

/* There is one inner loop per instruction set. FMA doubles the rate of processors whose multipliers also add. */
#define INNER_NAME inner_default
#define INNER_TARGET
#define INNER_WIDTH 4
#define INNER_ADD(sum, x, y) ((sum) + (x) * (y))
#include "calib/gemm_inner.h"
#if defined __x86_64__ && defined __GNUC__ && !defined ORR_SANITIZED
#include <immintrin.h>
#define INNER_NAME inner_avx2
#define INNER_TARGET __attribute__((target("avx2,fma")))
#define INNER_WIDTH 8
#define INNER_ADD(sum, x, y) _mm256_fmadd_ps(_mm256_set1_ps(x), y, sum)
#include "calib/gemm_inner.h"
#define INNER_NAME inner_avx512
#define INNER_TARGET __attribute__((target("avx512f")))
#define INNER_WIDTH 16
#define INNER_ADD(sum, x, y) _mm512_fmadd_ps(_mm512_set1_ps(x), y, sum)
#include "calib/gemm_inner.h"
#endif

typedef void (*inner_loop)(int k, const float *a, const float *b, float *out);

static inner_loop inner_of_processor(void)
{
#if defined __x86_64__ && defined __GNUC__ && !defined ORR_SANITIZED
	if (__builtin_cpu_supports("avx512f"))
		return inner_avx512;
	if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
		return inner_avx2;
#endif
	return inner_default;
}

struct matrix {
	const float *v;
	int stride;
	bool is_transposed;
};

static float at(const struct matrix *x, int row, int column)
{
	return x->is_transposed ? x->v[(size_t)column * (size_t)x->stride + (size_t)row]
				: x->v[(size_t)row * (size_t)x->stride + (size_t)column];
}

/* Packs rows first..first+count and columns p0..p0+k of a in slices of MR rows; the last slice is padded with 0. */
static void pack_rows(const struct matrix *a, int first, int count, int p0, int k, float *out)
{
	for (int i = 0; i < count; i += MR)
		for (int p = 0; p < k; p++)
			for (int r = 0; r < MR; r++)
				*out++ = i + r < count ? at(a, first + i + r, p0 + p) : 0;
}

static void pack_columns(const struct matrix *b, int first, int count, int p0, int k, float *out)
{
	int slices = (count + NR - 1) / NR;
#pragma omp parallel for schedule(static)
	for (int s = 0; s < slices; s++) {
		float *to = out + (size_t)s * (size_t)k * NR;
		for (int p = 0; p < k; p++)
			for (int c = 0; c < NR; c++)
				*to++ = s * NR + c < count ? at(b, p0 + p, first + s * NR + c) : 0;
	}
}

/* Multiplies one block of rows by the packed panel. */
static void block(inner_loop inner, int rows, int columns, int k, const float *a, const float *b, float *c, int n, bool accumulate)
{
	float out[MR * NR];
	for (int j = 0; j < columns; j += NR)
		for (int i = 0; i < rows; i += MR) {
			inner(k, a + (size_t)i * (size_t)k, b + (size_t)j * (size_t)k, out);
			int most_i = rows - i < MR ? rows - i : MR, most_j = columns - j < NR ? columns - j : NR;
			for (int r = 0; r < most_i; r++) {
				float *to = c + (size_t)(i + r) * (size_t)n + j;
				for (int q = 0; q < most_j; q++)
					to[q] = out[r * NR + q] + (accumulate ? to[q] : 0);
			}
		}
}

void gemm_blocked(bool ta, bool tb, int m, int n, int k, const float *a, const float *b, float *c, bool accumulate)
{
	inner_loop inner = inner_of_processor();
	struct matrix left = { a, ta ? m : k, ta }, right = { b, tb ? k : n, tb };
	int panel = n < NC ? n : NC, depth = k < KC ? k : KC;
	float *packed = mem_alloc(sizeof *packed * (size_t)depth * (size_t)(panel + NR));
	for (int j = 0; j < n; j += NC) {
		int columns = n - j < NC ? n - j : NC;
		for (int p = 0; p < k; p += KC) {
			int deep = k - p < KC ? k - p : KC;
			pack_columns(&right, j, columns, p, deep, packed);
#pragma omp parallel
			{
				float *mine = mem_alloc(sizeof *mine * (size_t)(MC + MR) * (size_t)deep);
#pragma omp for schedule(dynamic)
				for (int i = 0; i < m; i += MC) {
					int rows = m - i < MC ? m - i : MC;
					pack_rows(&left, i, rows, p, deep, mine);
					block(inner, rows, columns, deep, mine, packed, c + (size_t)i * (size_t)n + j, n,
						accumulate || p > 0);
				}
				mem_free(mine);
			}
		}
	}
	mem_free(packed);
}

void cpu_find_blas(struct cpu *cpu)
{
#ifdef ORR_BLAS
	static const char *const names[] = { "libopenblas.so.0", "libopenblas.so", "libopenblasp.so.0" };
	void *lib = NULL;
	for (size_t i = 0; !lib && i < sizeof names / sizeof *names; i++)
		lib = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
	if (!lib)
		return;
	/* POSIX allows an object pointer to hold a function pointer; ISO C requires a copy instead of a cast. */
	*(void **)&cpu->sgemm = dlsym(lib, "cblas_sgemm");
	*(void **)&cpu->blas_core = dlsym(lib, "openblas_get_corename");
	*(void **)&cpu->blas_config = dlsym(lib, "openblas_get_config");
	void (*use_threads)(int n);
	*(void **)&use_threads = dlsym(lib, "openblas_set_num_threads");
	if (use_threads)
		use_threads(1);
#else
	(void)cpu;
	(void)dlopen;
#endif
}

/* FLOPs above which a second thread is faster: about 20 us on one thread. */
static const double alone_flops = 2e6;

/* Returns one strip of c, cut along the longer of rows and columns, in whole vectors. */
static void strip(int n, int part, int parts, int *from, int *to)
{
	int slices = (n + NR - 1) / NR;
	*from = (int)((int64_t)slices * part / parts) * NR;
	*to = (int)((int64_t)slices * (part + 1) / parts) * NR;
	*to = *to < n ? *to : n;
}

void cpu_gemm(const struct cpu *cpu, bool ta, bool tb, int m, int n, int k, const float *a, const float *b, float *c, bool accumulate)
{
	enum { ROW_MAJOR = 101, AS_IS = 111, TRANSPOSED = 112 }; /* values of cblas.h */
	if (!cpu->sgemm) {
		gemm_blocked(ta, tb, m, n, k, a, b, c, accumulate);
		return;
	}
	bool by_rows = m > n;
	int most = (by_rows ? m : n) / NR, parts = 2.0 * m * n * k < alone_flops || most < 2 ? 1 : (int)cpu_threads();
	parts = parts < most ? parts : most;
	parts = parts > 1 ? parts : 1;
#pragma omp parallel for schedule(static) if (parts > 1) num_threads(parts)
	for (int i = 0; i < parts; i++) {
		int from = 0, to = by_rows ? m : n;
		strip(to, i, parts, &from, &to);
		int rows = by_rows ? to - from : m, columns = by_rows ? n : to - from;
		size_t at_a = by_rows ? (size_t)from * (ta ? 1 : (size_t)k) : 0, at_b = by_rows ? 0 : (size_t)from * (tb ? (size_t)k : 1);
		size_t at_c = (size_t)from * (by_rows ? (size_t)n : 1);
		cpu->sgemm(ROW_MAJOR, ta ? TRANSPOSED : AS_IS, tb ? TRANSPOSED : AS_IS, rows, columns, k, 1, a + at_a, ta ? m : k, b + at_b,
			tb ? k : n, accumulate, c + at_c, n);
	}
}
