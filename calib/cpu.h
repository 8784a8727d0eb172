/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * cpu.h - the kernels of the CPU backend
 *
 * Row-major fp32. All use OpenMP's threads where there is OpenMP; products go to OpenBLAS where it can
 * be opened at run time (so that the program starts without it), else to a blocked one of our own.
 *
 * Invariant: there is one pool of threads. OpenBLAS is told to use one thread, and its products are cut into strips that
 * OpenMP's threads work on: two pools that both spin while they wait for work take the processors from each other, and
 * whatever alternates between them takes multiples of the scheduler's 4 ms.
 */
#ifndef ORR_CALIB_CPU_H
#define ORR_CALIB_CPU_H

#include "calib/backend.h"

enum { CPU_PATTERN = 1 << 16 };

/* A function in several forms, of which the program takes the one for the processor that it runs on. */
#if defined __x86_64__ && defined __GNUC__ && !defined __clang__ && !defined ORR_SANITIZED
#define FOR_EACH_PROCESSOR __attribute__((target_clones("arch=skylake-avx512", "arch=haswell", "default")))
#else
#define FOR_EACH_PROCESSOR
#endif

struct cpu {
	uint32_t threads, tasks; /* tasks: that hold a piece of the arena */
	float *arena;
	size_t arena_floats, used;
	float pattern[CPU_PATTERN]; /* normal numbers, the input of everything */
	uint64_t seed;
	double cache_bytes;
	/* OpenBLAS, or NULL. */
	void (*sgemm)(int order, int ta, int tb, int m, int n, int k, float alpha, const float *a, int lda, const float *b, int ldb,
		float beta, float *c, int ldc);
	char *(*blas_core)(void);
	char *(*blas_config)(void);
};

/* Opens OpenBLAS if this build looks for it and it is there. */
void cpu_find_blas(struct cpu *cpu);

/* c = a b (or += if accumulate); a is m x k, stored k x m if ta, and so on. */
void cpu_gemm(const struct cpu *cpu, bool ta, bool tb, int m, int n, int k, const float *a, const float *b, float *c, bool accumulate);
/* The one without BLAS. */
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
/* state: two moments, one after the other. */
void cpu_adam(float *weight, const float *gradient, float *state, size_t n);

/* d as in points.h; scores: batch x heads matrices of queries x seq. q, k, v, o one after the other by head. */
void cpu_attention(
	const struct cpu *cpu, const double *d, bool is_prefill, const float *q, const float *k, const float *v, float *scores, float *o);

enum conv_pass { CONV_FORWARD, CONV_DATA, CONV_WEIGHT };
/* By unfolding (im2col): unfolded holds c r r x out out floats. */
void cpu_conv(
	const struct cpu *cpu, const struct kernel *k, enum conv_pass pass, float *input, float *filter, float *output, float *unfolded);

/* A second thread that runs work(arg) over and over while it is on. */
struct cpu_pair;
struct cpu_pair *pair_new(void (*work)(void *arg), void *arg);
void pair_on(struct cpu_pair *p);  /* returns once it has begun */
void pair_off(struct cpu_pair *p); /* returns once it rests */
void pair_free(struct cpu_pair *p);
uint32_t cpu_threads(void);
void cpu_use_threads(uint32_t n); /* by the calling thread */

#endif
