/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * cuda_host.h - the subset of CUDA that runs the kernels of calib/cuda on a CPU, one thread at a time
 *
 * The threads of a block are contexts that run in turns: a barrier or a shuffle switches to the next one. Blocks run one after
 * another. Each shuffle switches once, and all threads of a warp take part (full mask). A lane therefore reads values of the
 * previous round; two alternating slots keep them from being overwritten early. Shared memory is static and keeps the contents
 * of the previous block, as on a device. Memory is the host's, so the sanitizers see every access. Not tested: races between
 * warps (threads run in lockstep here), and host code. The alignment that tensor cores need is asserted below.
 */
#ifndef ORR_TESTS_CUDA_HOST_H
#define ORR_TESTS_CUDA_HOST_H

#include <cassert>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <ucontext.h>
#include <vector>

using std::fabs;
using std::fmod;

#define __global__
#define __device__
#define __shared__ static
#define __launch_bounds__(...)
#define __align__(n) __attribute__((aligned(n)))

struct dim3 {
	unsigned x, y, z;
	dim3(unsigned a = 1, unsigned b = 1, unsigned c = 1) : x(a), y(b), z(c)
	{
	}
};
struct alignas(16) uint4 {
	unsigned x, y, z, w;
};
struct alignas(16) float4 {
	float x, y, z, w;
};

/* ---- a grid */

enum { WARP_LANES = 32, MOST_THREADS = 1024, STACK_BYTES = 256 << 10 };

struct emulated_block {
	dim3 grid, block, at;
	unsigned current, arrived, generation;
	ucontext_t main, thread[MOST_THREADS];
	std::vector<char> stack[MOST_THREADS];
	bool is_done[MOST_THREADS];
	uint32_t slot[2][MOST_THREADS], shuffles[MOST_THREADS];
	std::function<void()> body;
};
inline emulated_block emulated;

#define threadIdx (dim3(emulated.current, 0, 0))
#define blockIdx (emulated.at)
#define blockDim (emulated.block)
#define gridDim (emulated.grid)

inline void emulated_yield(void)
{
	swapcontext(&emulated.thread[emulated.current], &emulated.main);
}

inline void emulated_thread(void)
{
	emulated.body();
	emulated.is_done[emulated.current] = true;
	emulated_yield();
}

inline void emulated_run_block(void)
{
	unsigned threads = emulated.block.x, left = threads;
	emulated.arrived = 0;
	for (unsigned i = 0; i < threads; i++) {
		emulated.stack[i].resize(STACK_BYTES);
		getcontext(&emulated.thread[i]);
		emulated.thread[i].uc_stack.ss_sp = emulated.stack[i].data();
		emulated.thread[i].uc_stack.ss_size = STACK_BYTES;
		emulated.thread[i].uc_link = nullptr;
		makecontext(&emulated.thread[i], emulated_thread, 0);
		emulated.is_done[i] = false;
		emulated.shuffles[i] = 0;
	}
	while (left)
		for (unsigned i = 0; i < threads; i++) {
			if (emulated.is_done[i])
				continue;
			emulated.current = i;
			swapcontext(&emulated.main, &emulated.thread[i]);
			left -= emulated.is_done[i];
		}
}

struct emulated_launch {
	dim3 grid, block;
	std::function<void()> body;
	void run()
	{
		assert(block.x <= MOST_THREADS && grid.y <= 65535 && grid.x > 0);
		emulated.grid = grid;
		emulated.block = block;
		emulated.body = body;
		for (unsigned y = 0; y < grid.y; y++)
			for (unsigned x = 0; x < grid.x; x++) {
				emulated.at = dim3(x, y, 0);
				emulated_run_block();
			}
	}
};

/* tests/calib/cuda_host.sh rewrites kernel<<<grid, block, 0, stream>>>(..) as LAUNCH(grid, block, kernel)(..). */
#define LAUNCH(grid, block, ...)                                                              \
	[&](auto... a) {                                                                      \
		(void)s;                                                                      \
		emulated_launch{ dim3(grid), dim3(block), [=] { __VA_ARGS__(a...); } }.run(); \
	}

inline void __syncthreads(void)
{
	unsigned seen = emulated.generation;
	if (++emulated.arrived == emulated.block.x) {
		emulated.arrived = 0;
		emulated.generation++;
		return;
	}
	while (emulated.generation == seen)
		emulated_yield();
}

template <typename T> T emulated_shuffle(T v, unsigned from)
{
	unsigned me = emulated.current, turn = emulated.shuffles[me]++ % 2;
	memcpy(&emulated.slot[turn][me], &v, sizeof v);
	emulated_yield();
	if (from / WARP_LANES == me / WARP_LANES)
		memcpy(&v, &emulated.slot[turn][from], sizeof v);
	return v;
}
template <typename T> T __shfl_xor_sync(unsigned mask, T v, int d)
{
	assert(mask == 0xffffffffu && emulated.block.x % WARP_LANES == 0);
	return emulated_shuffle(v, emulated.current ^ (unsigned)d);
}
template <typename T> T __shfl_down_sync(unsigned mask, T v, int d)
{
	assert(mask == 0xffffffffu && emulated.block.x % WARP_LANES == 0);
	return emulated_shuffle(v, emulated.current + (unsigned)d);
}

inline float atomicAdd(float *to, float v)
{
	float was = *to;
	*to += v;
	return was;
}
inline float __expf(float x)
{
	return expf(x);
}
inline float rsqrtf(float x)
{
	return 1 / sqrtf(x);
}
inline float cospif(float x)
{
	return cosf(3.14159265f * x);
}
inline uint32_t __float_as_uint(float x)
{
	uint32_t u;
	memcpy(&u, &x, sizeof u);
	return u;
}
inline long long clock64(void)
{
	static long long t;
	return t += 100;
}
inline unsigned long long emulated_ns(void)
{
	return (unsigned long long)clock64();
}

/* ---- numbers of 16 bits, rounded to the nearest, ties to even */

struct __half {
	uint16_t bits;
};
struct __nv_bfloat16 {
	uint16_t bits;
};
inline __half __float2half(float x)
{
	uint32_t u = __float_as_uint(x), sign = u >> 16 & 0x8000;
	float y = fabsf(x);
	if (!(y < 65520))
		return { (uint16_t)(sign | (y != y ? 0x7e00 : 0x7c00)) };
	int e = -24;
	if (y > 0)
		frexpf(y, &e);
	int unit = (e < -13 ? -13 : e) - 11; /* unit of the last place */
	float m = nearbyintf(ldexpf(y, -unit));
	uint32_t whole = (uint32_t)m, field = e < -13 ? 0 : (uint32_t)(e + 14 - 1);
	return { (uint16_t)(sign | (whole + (field << 10))) };
}
inline float __half2float(__half h)
{
	int e = h.bits >> 10 & 31, m = h.bits & 1023;
	float v = e == 31 ? (m ? NAN : INFINITY) : e ? ldexpf((float)(m + 1024), e - 25) : ldexpf((float)m, -24);
	return h.bits & 0x8000 ? -v : v;
}
inline __nv_bfloat16 __float2bfloat16(float x)
{
	uint32_t u = __float_as_uint(x);
	return { (uint16_t)((u + 0x7fff + (u >> 16 & 1)) >> 16) };
}
inline float __bfloat162float(__nv_bfloat16 h)
{
	uint32_t u = (uint32_t)h.bits << 16;
	float x;
	memcpy(&x, &u, sizeof x);
	return x;
}

/* ---- tensor cores: every thread of the warp computes the whole tile */

namespace nvcuda
{
namespace wmma
{
struct matrix_a {
};
struct matrix_b {
};
struct accumulator {
};
struct row_major {
};
struct col_major {
};
enum layout_t { mem_row_major };
template <typename USE, int M, int N, int K, typename T, typename LAYOUT = row_major> struct fragment {
	float v[M][N];
};
/* Checks the requirements of the CUDA C++ Programming Guide, "Warp matrix functions": alignment to 256 bits, strides in multiples of
 * 16 bytes. */
inline void check(const void *at, size_t stride_bytes)
{
	assert((uintptr_t)at % 32 == 0 && stride_bytes % 16 == 0);
}
template <typename F> void fill_fragment(F &f, float x)
{
	for (auto &row : f.v)
		for (float &v : row)
			v = x;
}
template <typename USE> void load_matrix_sync(fragment<USE, 16, 16, 16, __half, row_major> &f, const __half *at, unsigned stride)
{
	check(at, 2 * stride);
	for (unsigned i = 0; i < 16; i++)
		for (unsigned k = 0; k < 16; k++)
			f.v[i][k] = __half2float(at[i * stride + k]);
}
template <typename USE> void load_matrix_sync(fragment<USE, 16, 16, 16, __half, col_major> &f, const __half *at, unsigned stride)
{
	check(at, 2 * stride);
	for (unsigned i = 0; i < 16; i++)
		for (unsigned k = 0; k < 16; k++)
			f.v[i][k] = __half2float(at[k * stride + i]);
}
inline void load_matrix_sync(fragment<accumulator, 16, 16, 16, float> &f, const float *at, unsigned stride, layout_t)
{
	check(at, 4 * stride);
	for (unsigned i = 0; i < 16; i++)
		for (unsigned k = 0; k < 16; k++)
			f.v[i][k] = at[i * stride + k];
}
/* Only one lane writes; the others read it after the required barrier. */
inline void store_matrix_sync(float *at, const fragment<accumulator, 16, 16, 16, float> &f, unsigned stride, layout_t)
{
	check(at, 4 * stride);
	for (unsigned i = 0; i < 16 && emulated.current % WARP_LANES == 0; i++)
		for (unsigned k = 0; k < 16; k++)
			at[i * stride + k] = f.v[i][k];
}
template <typename A, typename B, typename C> void mma_sync(C &d, const A &a, const B &b, const C &c)
{
	for (int i = 0; i < 16; i++)
		for (int j = 0; j < 16; j++) {
			float sum = c.v[i][j];
			for (int k = 0; k < 16; k++)
				sum += a.v[i][k] * b.v[k][j];
			d.v[i][j] = sum;
		}
}
} // namespace wmma
} // namespace nvcuda

/* ---- definitions of the names that the files' host code uses; tests call few of them */

typedef int cudaError_t;
typedef void *cudaStream_t, *cudaEvent_t;
enum { cudaSuccess = 0 };
struct cudaDeviceProp {
	int multiProcessorCount, maxThreadsPerMultiProcessor, major, minor;
	size_t totalGlobalMem, l2CacheSize;
};
template <typename T> cudaError_t cudaMalloc(T **out, size_t n)
{
	*out = (T *)aligned_alloc(256, (n + 255) / 256 * 256);
	return !*out;
}
inline cudaError_t cudaFree(void *p)
{
	free(p);
	return 0;
}
/* Streams and events: defined by the test that calls them. */
enum { cudaErrorNotReady = 600 };
cudaError_t cudaEventRecord(cudaEvent_t e, cudaStream_t s);
cudaError_t cudaStreamWaitEvent(cudaStream_t s, cudaEvent_t e, unsigned flags);
cudaError_t cudaEventSynchronize(cudaEvent_t e);
cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t from, cudaEvent_t to);
cudaError_t cudaStreamQuery(cudaStream_t s);
cudaError_t cudaStreamSynchronize(cudaStream_t s);
cudaError_t cudaGetLastError(void);

#endif
