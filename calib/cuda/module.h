/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * module.h - internal interface of orr_calib_cuda.so
 *
 * The module exports one symbol, orr_calib_backend(). It links the CUDA runtime statically. cuBLASLt, cuDNN, NCCL and NVML are
 * opened when the module opens a device. Each library is optional: without it, its kinds of kernel are not listed. The module
 * calls no function of the program.
 *
 * A task is a kernel of one shape, ready to run: enqueue() puts one call on a stream. Events time the calls behind a kernel
 * that spins until the host has issued all of them, so the times exclude the cost of issuing. Invariant: the host never waits
 * for the device while that kernel spins: no allocation, no first use of a kernel or plan, no full launch queue (it holds 1024
 * kernels, so at most BATCH_CALLS calls of up to 16 kernels are issued). Therefore prepare() makes each call once.
 */
#ifndef ORR_CALIB_CUDA_MODULE_H
#define ORR_CALIB_CUDA_MODULE_H

#include "calib/backend.h"

#include <cuda_runtime.h>
#include <stdio.h>
#include <string.h>

enum { TASK_BUFFERS = 6, BATCH_CALLS = 64, WORKSPACE_BYTES = 64 << 20, HOST_BYTES = 256 << 20, MAX_KINDS = 192, MAX_GPUS = 16 };

struct libraries;

struct gpu {
	int index, count; /* count: number of GPUs in the machine */
	cudaDeviceProp prop;
	uint64_t seed;
	cudaStream_t stream, other; /* other: stream of the concurrent kernel */
	cudaEvent_t begin, end;
	volatile unsigned *gate; /* gate: host memory that the device polls; 1: open */
	unsigned *gate_on_device;
	void *workspace, *other_workspace; /* workspaces of products, one per stream: concurrent products must not share one */
	void *pinned, *pageable;           /* host buffers of HOST_BYTES each, allocated on first use */
	struct libraries *lib;
	struct kernel_kind kind[MAX_KINDS];
	size_t n_kinds;
};

struct task {
	struct gpu *gpu;
	struct kernel k;
	int (*enqueue)(struct task *t, cudaStream_t stream, struct orr_error *err);
	/* Runs tasks that are not timed by events; NULL: events time the task. */
	int (*run)(struct task *t, uint32_t times, struct timing *out, struct orr_error *err);
	void (*drop)(struct task *t); /* frees the task's own data; may be NULL */
	void *own;
	char *buffer[TASK_BUFFERS];
	size_t bytes[TASK_BUFFERS]; /* bytes of one copy of each buffer */
	uint32_t copies, turn;
	bool is_waiting; /* a call waits for the device, so the gate is not used */
};

/* Sets *err and returns code. */
int cuda_fail(struct orr_error *err, int code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* Sets *err. Returns ORR_EINPUT if only this kernel fails (memory, support), ORR_EFAIL if the device is lost. */
int cuda_refuse(struct orr_error *err, cudaError_t e, const char *what);
#define CUDA_DO(x)                                                \
	do {                                                      \
		cudaError_t cuda_error_ = (x);                    \
		if (cuda_error_ != cudaSuccess)                   \
			return cuda_refuse(err, cuda_error_, #x); \
	} while (0)

/* Returns buffer i of the current copy. */
static inline char *task_buffer(const struct task *t, int i)
{
	return t->buffer[i] + t->bytes[i] * (t->turn % t->copies);
}

/* Allocates t->bytes[] (times the number of copies, for a cold cache) and fills them with normal random numbers of the precision. */
int task_buffers(struct task *t, const char *precision, struct orr_error *err);
struct task *task_new(struct gpu *g, const struct kernel *k);
void task_free(struct task *t);
/* Times calls of t on g->stream by events. */
int task_time(struct task *t, uint32_t times, struct timing *out, struct orr_error *err);

/* Prepare functions of the families. Each sets enqueue or run, the buffers and the plans. */
int gemm_prepare(struct task *t, struct orr_error *err);
int conv_prepare(struct task *t, struct orr_error *err);
int memory_prepare(struct task *t, struct orr_error *err); /* also prepares gather and update */
int attention_prepare(struct task *t, struct orr_error *err);
int copy_prepare(struct task *t, struct orr_error *err);
int launch_prepare(struct task *t, struct orr_error *err);
int interference_prepare(struct task *t, struct orr_error *err);
int preemption_prepare(struct task *t, struct orr_error *err);
int learners_prepare(struct task *t, struct orr_error *err);
int collective_prepare(struct task *t, struct orr_error *err);

/* Calls the prepare function of the kernel's family. */
struct task *task_prepare(struct gpu *g, const struct kernel *k, struct orr_error *err);

/* kernels.cu */
void fill_normal(void *to, size_t bytes, const char *precision, uint64_t seed, cudaStream_t stream);
void fill_index(unsigned *to, size_t n, double table, bool is_zipf, uint64_t seed, cudaStream_t stream);
void spin_until(unsigned *gate, cudaStream_t stream);
void nothing(cudaStream_t stream);
/* Keeps all multiprocessors busy for `seconds`. */
void busy_for(const struct gpu *g, double seconds, unsigned *started, cudaStream_t stream);
void softmax_rows(const char *precision, const void *x, void *y, size_t rows, size_t columns, cudaStream_t stream);
void sgd_step(float *weight, const float *gradient, size_t n, cudaStream_t stream);
void bias_gelu_rows(const char *precision, const void *x, const void *bias, void *y, size_t rows, size_t columns, cudaStream_t s);
/* Computes attention of one query per head (attention.cu); fp16; o, q: heads x dim; k, v: heads x seq x dim; dim 64 or 128. */
void decode_heads(const void *q, const void *k, const void *v, void *o, size_t heads, int seq, int dim, cudaStream_t s);

/* A product without a task: row-major c (m x n) = a b, `batch` products in contiguous memory. */
struct product;
/* Makes a product. workspace_bytes: size of the workspace for product_run(), on which the choice of the algorithm depends. */
struct product *product_new(struct gpu *g, const char *precision, bool ta, bool tb, double m, double n, double k, double batch,
	size_t workspace_bytes, struct orr_error *err);
/* Runs a product. Requires exclusive use of the workspace, which holds partial sums and the flags of waiting blocks. */
int product_run(struct product *p, const void *a, const void *b, void *c, void *workspace, cudaStream_t stream, struct orr_error *err);
/* Returns the workspace of g->stream or g->other. */
static inline void *workspace_of(const struct gpu *g, cudaStream_t stream)
{
	return stream == g->other ? g->other_workspace : g->workspace;
}
void product_free(struct product *p);

#endif
