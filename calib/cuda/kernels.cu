/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Kernels of the module: input data, gates, and memory-bound kernels. Loads and stores have 16 bytes. */
#include "calib/cuda/module.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <math.h>

enum { THREADS = 256 };

__device__ static inline uint64_t mix(uint64_t z)
{
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	return z ^ (z >> 31);
}

__device__ static inline float uniform(uint64_t seed, uint64_t i)
{
	return ((float)(mix(seed + (i + 1) * 0x9e3779b97f4a7c15ull) >> 40) + 0.5f) / 16777216.0f;
}

__device__ static inline float normal(uint64_t seed, uint64_t i)
{
	return sqrtf(-2 * logf(uniform(seed, 2 * i))) * cospif(2 * uniform(seed, 2 * i + 1));
}

template <typename T> __device__ static inline T to(float x);
template <> __device__ inline float to<float>(float x) { return x; }
template <> __device__ inline __half to<__half>(float x) { return __float2half(x); }
template <> __device__ inline __nv_bfloat16 to<__nv_bfloat16>(float x) { return __float2bfloat16(x); }
/* Converts to fp8: random bytes without the top bit of the exponent, so no NaN, and |x| < 2 in e4m3. */
template <> __device__ inline unsigned char to<unsigned char>(float x)
{
	return (unsigned char)(mix(__float_as_uint(x)) & 0xbf);
}
__device__ static inline float from(float x) { return x; }
__device__ static inline float from(__half x) { return __half2float(x); }
__device__ static inline float from(__nv_bfloat16 x) { return __bfloat162float(x); }

template <typename T> __global__ static void fill_kernel(T *out, size_t n, uint64_t seed)
{
	for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x)
		out[i] = to<T>(normal(seed, i));
}

static unsigned grid_of(size_t n)
{
	size_t blocks = (n + THREADS - 1) / THREADS;
	return (unsigned)(blocks < 1 ? 1 : blocks > 65535 ? 65535 : blocks);
}

void fill_normal(void *out, size_t bytes, const char *precision, uint64_t seed, cudaStream_t s)
{
	if (!strcmp(precision, "fp16"))
		fill_kernel<<<grid_of(bytes / 2), THREADS, 0, s>>>((__half *)out, bytes / 2, seed);
	else if (!strcmp(precision, "bf16"))
		fill_kernel<<<grid_of(bytes / 2), THREADS, 0, s>>>((__nv_bfloat16 *)out, bytes / 2, seed);
	else if (!strcmp(precision, "fp8"))
		fill_kernel<<<grid_of(bytes), THREADS, 0, s>>>((unsigned char *)out, bytes, seed);
	else
		fill_kernel<<<grid_of(bytes / 4), THREADS, 0, s>>>((float *)out, bytes / 4, seed);
}

/* Draws from Zipf's law with exponent 1 by inversion of its continuous form; ranks are scattered over the table. */
__global__ static void index_kernel(unsigned *out, size_t n, double table, bool is_zipf, uint64_t seed)
{
	for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x) {
		double u = uniform(seed, i), row = fmin(is_zipf ? pow(table, u) - 1 : u * table, table - 1);
		out[i] = is_zipf ? (unsigned)(mix((uint64_t)row + 1) % (uint64_t)table) : (unsigned)row;
	}
}

void fill_index(unsigned *out, size_t n, double table, bool is_zipf, uint64_t seed, cudaStream_t s)
{
	index_kernel<<<grid_of(n), THREADS, 0, s>>>(out, n, table, is_zipf, seed);
}

__global__ static void nothing_kernel(void)
{
}

void nothing(cudaStream_t s)
{
	nothing_kernel<<<1, 1, 0, s>>>();
}

/* Spins until the gate opens, for at most two seconds, so an error of the host costs only one measurement. */
__global__ static void spin_kernel(volatile unsigned *gate)
{
	long long start = clock64();
	while (!*gate && clock64() - start < 4000000000ll)
		;
}

void spin_until(unsigned *gate, cudaStream_t s)
{
	spin_kernel<<<1, 1, 0, s>>>(gate);
}

/* Reads a timer whose rate is independent of the multiprocessors' clock. */
__device__ static inline unsigned long long nanoseconds(void)
{
	unsigned long long t;
	asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t));
	return t;
}

__global__ static void busy_kernel(unsigned long long length_ns, volatile unsigned *started)
{
	unsigned long long start = nanoseconds();
	if (started && !blockIdx.x && !threadIdx.x)
		*started = 1;
	while (nanoseconds() - start < length_ns)
		;
}

void busy_for(const struct gpu *g, double seconds, unsigned *started, cudaStream_t s)
{
	/* 512 divides the threads per multiprocessor of every generation (1024, 1536 or 2048), so all blocks run at once. */
	unsigned each = (unsigned)g->prop.maxThreadsPerMultiProcessor / 512, blocks = (unsigned)g->prop.multiProcessorCount * each;
	busy_kernel<<<blocks, 512, 0, s>>>((unsigned long long)(1e9 * seconds), started);
}

/* ---- element-wise: 16 bytes per thread */

template <typename T> struct alignas(16) pack {
	enum { N = 16 / sizeof(T) };
	T v[N];
};

enum memory_op { OP_COPY, OP_TRIAD, OP_ADD, OP_REDUCE, OP_NORM, OP_SOFTMAX, OP_GELU };

template <typename T, int op> __global__ static void stream_kernel(const pack<T> *x, const pack<T> *y, pack<T> *z, size_t n)
{
	for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x) {
		pack<T> a = x[i];
		if (op != OP_COPY) {
			pack<T> b = y[i];
#pragma unroll
			for (int k = 0; k < pack<T>::N; k++)
				a.v[k] = to<T>(from(a.v[k]) + (op == OP_TRIAD ? 0.5f : 1.0f) * from(b.v[k]));
		}
		z[i] = a;
	}
}

__device__ static float block_sum(float v, float *shared)
{
	for (int d = 16; d; d /= 2)
		v += __shfl_down_sync(0xffffffffu, v, d);
	if (threadIdx.x % 32 == 0)
		shared[threadIdx.x / 32] = v;
	__syncthreads();
	float sum = 0;
	for (unsigned i = 0; i < blockDim.x / 32; i++)
		sum += shared[i];
	__syncthreads();
	return sum;
}

__device__ static float block_max(float v, float *shared)
{
	for (int d = 16; d; d /= 2)
		v = fmaxf(v, __shfl_down_sync(0xffffffffu, v, d));
	if (threadIdx.x % 32 == 0)
		shared[threadIdx.x / 32] = v;
	__syncthreads();
	float most = shared[0];
	for (unsigned i = 1; i < blockDim.x / 32; i++)
		most = fmaxf(most, shared[i]);
	__syncthreads();
	return most;
}

template <typename T> __global__ static void reduce_kernel(const pack<T> *x, float *out, size_t n)
{
	__shared__ float shared[32];
	float sum = 0;
	for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x) {
		pack<T> a = x[i];
#pragma unroll
		for (int k = 0; k < pack<T>::N; k++)
			sum += from(a.v[k]);
	}
	sum = block_sum(sum, shared);
	if (!threadIdx.x)
		atomicAdd(out, sum);
}

/* One block per row. A row stays in registers: at most ROW_PACKS packs per thread. */
enum { ROW_PACKS = 8 };

template <typename T> __global__ static void gelu_kernel(const pack<T> *x, const pack<T> *bias, pack<T> *y, unsigned packs)
{
	const pack<T> *in = x + blockIdx.x * (size_t)packs;
	pack<T> *out = y + blockIdx.x * (size_t)packs;
	for (unsigned at = threadIdx.x; at < packs; at += blockDim.x) {
		pack<T> a = in[at], b = bias[at];
#pragma unroll
		for (int k = 0; k < pack<T>::N; k++) {
			float v = from(a.v[k]) + from(b.v[k]);
			a.v[k] = to<T>(0.5f * v * (1 + tanhf(0.79788456f * (v + 0.044715f * v * v * v))));
		}
		out[at] = a;
	}
}

template <typename T, int op> __global__ static void row_kernel(const pack<T> *x, pack<T> *y, unsigned packs)
{
	__shared__ float shared[32];
	pack<T> mine[ROW_PACKS];
	const pack<T> *in = x + blockIdx.x * (size_t)packs;
	pack<T> *out = y + blockIdx.x * (size_t)packs;
	float most = -INFINITY, sum = 0, squares = 0;
#pragma unroll
	for (int i = 0; i < ROW_PACKS; i++) {
		unsigned at = threadIdx.x + (unsigned)i * blockDim.x;
		if (at >= packs)
			continue;
		mine[i] = in[at];
#pragma unroll
		for (int k = 0; k < pack<T>::N; k++) {
			float v = from(mine[i].v[k]);
			most = fmaxf(most, v);
			sum += v;
			squares += v * v;
		}
	}
	float columns = (float)(packs * pack<T>::N), shift, scale = 1;
	if (op == OP_SOFTMAX) {
		shift = block_max(most, shared);
		sum = 0;
	} else {
		shift = block_sum(sum, shared) / columns;
		scale = rsqrtf(fmaxf(block_sum(squares, shared) / columns - shift * shift, 0) + 1e-5f);
	}
	if (op == OP_SOFTMAX) {
#pragma unroll
		for (int i = 0; i < ROW_PACKS; i++)
			if (threadIdx.x + (unsigned)i * blockDim.x < packs)
#pragma unroll
				for (int k = 0; k < pack<T>::N; k++)
					sum += __expf(from(mine[i].v[k]) - shift);
		scale = 1 / block_sum(sum, shared);
	}
#pragma unroll
	for (int i = 0; i < ROW_PACKS; i++) {
		unsigned at = threadIdx.x + (unsigned)i * blockDim.x;
		if (at >= packs)
			continue;
#pragma unroll
		for (int k = 0; k < pack<T>::N; k++) {
			float v = from(mine[i].v[k]) - shift;
			mine[i].v[k] = to<T>((op == OP_SOFTMAX ? __expf(v) : v) * scale);
		}
		out[at] = mine[i];
	}
}

/* Returns the number of threads, in whole warps, that divides a row's packs evenly. */
static unsigned row_threads(unsigned packs)
{
	unsigned threads = (packs + 31) / 32 * 32;
	while (threads > 256)
		threads = (threads / 2 + 31) / 32 * 32;
	return threads;
}

template <typename T> static int rows(int op, const void *x, const void *bias, void *y, size_t n, size_t columns, cudaStream_t s)
{
	unsigned packs = (unsigned)(columns / pack<T>::N), threads = row_threads(packs);
	const pack<T> *in = (const pack<T> *)x, *b = (const pack<T> *)bias;
	pack<T> *out = (pack<T> *)y;
	if (columns % pack<T>::N || packs > threads * ROW_PACKS)
		return 1;
	if (op == OP_NORM)
		row_kernel<T, OP_NORM><<<(unsigned)n, threads, 0, s>>>(in, out, packs);
	else if (op == OP_SOFTMAX)
		row_kernel<T, OP_SOFTMAX><<<(unsigned)n, threads, 0, s>>>(in, out, packs);
	else
		gelu_kernel<T><<<(unsigned)n, threads, 0, s>>>(in, b, out, packs);
	return 0;
}

void softmax_rows(const char *precision, const void *x, void *y, size_t n, size_t columns, cudaStream_t s)
{
	if (!strcmp(precision, "fp16"))
		rows<__half>(OP_SOFTMAX, x, NULL, y, n, columns, s);
	else if (!strcmp(precision, "bf16"))
		rows<__nv_bfloat16>(OP_SOFTMAX, x, NULL, y, n, columns, s);
	else
		rows<float>(OP_SOFTMAX, x, NULL, y, n, columns, s);
}

void bias_gelu_rows(const char *precision, const void *x, const void *bias, void *y, size_t n, size_t columns, cudaStream_t s)
{
	if (!strcmp(precision, "fp16"))
		rows<__half>(OP_GELU, x, bias, y, n, columns, s);
	else
		rows<float>(OP_GELU, x, bias, y, n, columns, s);
}

/* Gathers rows of 2^shift packs, because a 64-bit division would take longer than the load. */
__global__ static void gather_kernel(const uint4 *table, const unsigned *index, uint4 *out, size_t n, unsigned shift)
{
	size_t rest = ((size_t)1 << shift) - 1;
	for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n << shift; i += (size_t)gridDim.x * blockDim.x)
		out[i] = table[((size_t)index[i >> shift] << shift) + (i & rest)];
}

__global__ static void sgd_kernel(float4 *weight, const float4 *gradient, size_t n)
{
	for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x) {
		float4 w = weight[i], g = gradient[i];
		w.x -= 1e-6f * g.x, w.y -= 1e-6f * g.y, w.z -= 1e-6f * g.z, w.w -= 1e-6f * g.w;
		weight[i] = w;
	}
}

void sgd_step(float *weight, const float *gradient, size_t n, cudaStream_t s)
{
	sgd_kernel<<<grid_of(n / 4), THREADS, 0, s>>>((float4 *)weight, (const float4 *)gradient, n / 4);
}

__device__ static inline void adam_one(float &w, float g, float &m, float &v)
{
	m = 0.9f * m + 0.1f * g;
	v = 0.999f * v + 0.001f * g * g;
	w -= 1e-6f * m / (sqrtf(fabsf(v)) + 1e-8f);
}

__global__ static void adam_kernel(float4 *weight, const float4 *gradient, float4 *first, float4 *second, size_t n)
{
	for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x) {
		float4 w = weight[i], g = gradient[i], m = first[i], v = second[i];
		adam_one(w.x, g.x, m.x, v.x);
		adam_one(w.y, g.y, m.y, v.y);
		adam_one(w.z, g.z, m.z, v.z);
		adam_one(w.w, g.w, m.w, v.w);
		weight[i] = w, first[i] = m, second[i] = v;
	}
}

/* ---- tasks */

template <typename T> static void stream_op(struct task *t, int op, size_t n, cudaStream_t s)
{
	const pack<T> *x = (const pack<T> *)task_buffer(t, 0), *y = (const pack<T> *)task_buffer(t, 2);
	pack<T> *z = (pack<T> *)task_buffer(t, 1);
	n /= pack<T>::N;
	if (op == OP_REDUCE) { /* partial sums per block; a few blocks per multiprocessor */
		unsigned most = (unsigned)t->gpu->prop.multiProcessorCount * 8, blocks = grid_of(n);
		reduce_kernel<T><<<blocks < most ? blocks : most, THREADS, 0, s>>>(x, (float *)t->buffer[3], n);
	} else if (op == OP_COPY) {
		stream_kernel<T, OP_COPY><<<grid_of(n), THREADS, 0, s>>>(x, y, z, n);
	} else if (op == OP_TRIAD) {
		stream_kernel<T, OP_TRIAD><<<grid_of(n), THREADS, 0, s>>>(x, y, z, n);
	} else {
		stream_kernel<T, OP_ADD><<<grid_of(n), THREADS, 0, s>>>(x, y, z, n);
	}
}

static int memory_op_of(const char *op)
{
	static const char *const names[] = { "copy", "triad", "residual-add", "reduction", "layer-norm", "softmax", "bias-gelu" };
	for (int i = 0; i < 7; i++)
		if (!strcmp(op, names[i]))
			return i;
	return -1;
}

static int memory_enqueue(struct task *t, cudaStream_t s, struct orr_error *err)
{
	int op = memory_op_of(t->k.op), rc = 0;
	size_t n = (size_t)t->k.d[0], columns = (size_t)t->k.d[1];
	bool is_half = !strcmp(t->k.precision, "fp16");
	if (op >= OP_NORM)
		rc = is_half ? rows<__half>(op, task_buffer(t, 0), t->buffer[3], task_buffer(t, 1), n, columns, s) :
			rows<float>(op, task_buffer(t, 0), t->buffer[3], task_buffer(t, 1), n, columns, s);
	else if (is_half)
		stream_op<__half>(t, op, n, s);
	else
		stream_op<float>(t, op, n, s);
	return rc ? cuda_fail(err, ORR_EINPUT, "rows of %zu elements: too long for one thread block", columns) : ORR_OK;
}

static int gather_enqueue(struct task *t, cudaStream_t s, struct orr_error *err)
{
	size_t n = (size_t)t->k.d[0];
	unsigned shift = 0;
	while (shift < 24 && 4.0 * (1u << shift) < t->k.d[1])
		shift++;
	if (4.0 * (1u << shift) != t->k.d[1])
		return cuda_fail(err, ORR_EINPUT, "rows of %.0f elements: expected a power of two, at least 4", t->k.d[1]);
	gather_kernel<<<grid_of(n << shift), THREADS, 0, s>>>((const uint4 *)t->buffer[0],
		(const unsigned *)t->own + n * (t->turn % t->copies), (uint4 *)task_buffer(t, 1), n, shift);
	return ORR_OK;
}

static int update_enqueue(struct task *t, cudaStream_t s, struct orr_error *err)
{
	size_t n = (size_t)(t->k.d[0] + 3) / 4;
	(void)err;
	if (strcmp(t->k.op, "adam"))
		sgd_step((float *)task_buffer(t, 0), (const float *)task_buffer(t, 1), 4 * n, s);
	else
		adam_kernel<<<grid_of(n), THREADS, 0, s>>>((float4 *)task_buffer(t, 0), (const float4 *)task_buffer(t, 1),
			(float4 *)task_buffer(t, 2), (float4 *)task_buffer(t, 3), n);
	return ORR_OK;
}

static void drop_index(struct task *t)
{
	cudaFree(t->own);
}

static int gather_setup(struct task *t, struct orr_error *err)
{
	size_t n = (size_t)t->k.d[0];
	t->bytes[0] = (size_t)(4 * t->k.d[1] * t->k.d[2]);
	t->bytes[1] = (size_t)(4 * t->k.d[0] * t->k.d[1]);
	int rc = task_buffers(t, "fp32", err);
	if (rc)
		return rc;
	CUDA_DO(cudaMalloc(&t->own, n * t->copies * sizeof(unsigned)));
	t->drop = drop_index;
	fill_index((unsigned *)t->own, n * t->copies, t->k.d[2], !strcmp(t->k.variant, "zipf"), t->gpu->seed, t->gpu->stream);
	t->enqueue = gather_enqueue;
	return ORR_OK;
}

int memory_prepare(struct task *t, struct orr_error *err)
{
	double columns = t->k.d[1] > 1 ? t->k.d[1] : 1, size = strcmp(t->k.precision, "fp16") ? 4 : 2;
	if (!strcmp(t->k.family, "gather"))
		return gather_setup(t, err);
	if (!strcmp(t->k.family, "update")) {
		bool is_adam = !strcmp(t->k.op, "adam");
		t->bytes[0] = t->bytes[1] = (size_t)(t->k.d[0] + 3) / 4 * 16;
		t->bytes[2] = t->bytes[3] = is_adam ? t->bytes[0] : 0;
		t->enqueue = update_enqueue;
		return task_buffers(t, "fp32", err);
	}
	int op = memory_op_of(t->k.op);
	if (op < 0)
		return cuda_fail(err, ORR_EINPUT, "unknown kernel");
	t->bytes[0] = (size_t)(size * t->k.d[0] * columns);
	t->bytes[1] = op == OP_REDUCE ? 0 : t->bytes[0];
	t->bytes[2] = op == OP_TRIAD || op == OP_ADD ? t->bytes[0] : 0;
	t->bytes[3] = (size_t)(columns > 1 ? size * columns : 16);
	t->enqueue = memory_enqueue;
	return task_buffers(t, t->k.precision, err);
}
