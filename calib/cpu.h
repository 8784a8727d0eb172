/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * cpu.h - the kernels of the CPU backend
 *
 * Row-major fp32. All kernels use OpenMP threads if OpenMP is available. Products use OpenBLAS if it can
 * be opened at run time (so the program starts without it), else a built-in blocked product.
 *
 * Invariant: there is one thread pool. OpenBLAS runs single-threaded, and its products are cut into strips for the OpenMP
 * threads. Two pools whose threads spin while they wait would compete for the cores. Kernels that alternate between the pools
 * would then take multiples of the scheduler's 4 ms.
 */
#ifndef ORR_CALIB_CPU_H
#define ORR_CALIB_CPU_H

#include "base/simd.h"
#include "calib/backend.h"

enum { CPU_PATTERN = 1 << 16 };

struct cpu {
	uint32_t threads, tasks; /* tasks: number of tasks that hold a piece of the arena */
	float *arena;
	size_t arena_floats, used;
	float pattern[CPU_PATTERN]; /* normal random numbers, the input of all kernels */
	uint64_t seed;
	double cache_bytes;
	/* Functions of OpenBLAS, or NULL. */
	void (*sgemm)(int order, int ta, int tb, int m, int n, int k, float alpha, const float *a, int lda, const float *b, int ldb,
		float beta, float *c, int ldc);
	char *(*blas_core)(void);
	char *(*blas_config)(void);
};

/* Opens OpenBLAS if this build supports it and the library is installed. */
void cpu_find_blas(struct cpu *cpu);

/* Computes c = a b, or c += a b if accumulate. a is m x k, stored as k x m if ta; b is k x n, stored as n x k if tb. */
void cpu_gemm(const struct cpu *cpu, bool ta, bool tb, int m, int n, int k, const float *a, const float *b, float *c, bool accumulate);
/* Like cpu_gemm(), without BLAS. */
void gemm_blocked(bool ta, bool tb, int m, int n, int k, const float *a, const float *b, float *c, bool accumulate);

void cpu_copy(const float *x, float *y, size_t n);
void cpu_triad(const float *x, const float *y, float *z, size_t n);
float cpu_reduce(const float *x, size_t n);
void cpu_layer_norm(const float *x, float *y, size_t rows, size_t columns);
void cpu_softmax(const float *x, float *y, size_t rows, size_t columns);
void cpu_bias_gelu(const float *x, const float *bias, float *y, size_t rows, size_t columns);
void cpu_add(const float *x, const float *y, float *z, size_t n);
void cpu_gather(const float *table, const uint32_t *index, float *out, size_t rows, size_t columns);
void cpu_sgd(float *weight, const float *gradient, size_t n);
/* state: n first moments, then n second moments. */
void cpu_adam(float *weight, const float *gradient, float *state, size_t n);

/* Computes attention; d: see points.h. scores: batch x heads matrices of queries x seq. q, k, v and o are stored head by head. */
void cpu_attention(
	const struct cpu *cpu, const double *d, bool is_prefill, const float *q, const float *k, const float *v, float *scores, float *o);

enum conv_pass { CONV_FORWARD, CONV_DATA, CONV_WEIGHT };
/* Computes a convolution by unfolding (im2col); unfolded must have c r r x out out floats. */
void cpu_conv(
	const struct cpu *cpu, const struct kernel *k, enum conv_pass pass, float *input, float *filter, float *output, float *unfolded);

/* Starts a second thread that runs work(arg) repeatedly while the thread is switched on. */
struct cpu_pair;
struct cpu_pair *pair_new(void (*work)(void *arg), void *arg);
void pair_on(struct cpu_pair *p);  /* returns after the thread has started work */
void pair_off(struct cpu_pair *p); /* returns after the thread has stopped work */
void pair_free(struct cpu_pair *p);
uint32_t cpu_threads(void);
void cpu_use_threads(uint32_t n); /* sets the OpenMP threads of the calling thread */

#endif
