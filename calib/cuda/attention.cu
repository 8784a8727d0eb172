/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Attention: one query (decode), or all queries (prefill). Prefill is either two products with the scores in memory between
 * them (unfused), or one kernel that keeps the scores on the chip (fused).
 */
#include "calib/cuda/module.h"

#include <cuda_fp16.h>
#include <math.h>
#include <mma.h>
#include <stdlib.h>

/* ---- one query */

/*
 * One query per head. A block computes a head, its warps divide the sequence, and the parts are combined by running maximum and
 * sum (Milakov and Gimelshein, "Online normalizer calculation for softmax", 2018). dim is 64 or 128: a lane holds two or four
 * of its elements.
 */
template <int PER_LANE> struct alignas(2 * PER_LANE) lanes {
	__half v[PER_LANE];
};

template <int PER_LANE>
__global__ static void decode_kernel(const __half *q, const lanes<PER_LANE> *k, const lanes<PER_LANE> *v, __half *o, int seq)
{
	enum { WARPS = 8, DIM = 32 * PER_LANE };
	__shared__ float most_of[WARPS], sum_of[WARPS], part[WARPS][DIM];
	int warp = (int)threadIdx.x / 32, lane = (int)threadIdx.x % 32;
	size_t head = blockIdx.x;
	float query[PER_LANE], acc[PER_LANE] = { 0 }, most = -INFINITY, sum = 0;
	for (int i = 0; i < PER_LANE; i++)
		query[i] = __half2float(q[head * DIM + lane * PER_LANE + i]);
#pragma unroll 4
	for (int s = warp; s < seq; s += WARPS) {
		size_t at = (head * seq + s) * 32 + lane;
		lanes<PER_LANE> key = k[at], value = v[at];
		float dot = 0;
#pragma unroll
		for (int i = 0; i < PER_LANE; i++)
			dot += query[i] * __half2float(key.v[i]);
		for (int d = 16; d; d /= 2)
			dot += __shfl_xor_sync(0xffffffffu, dot, d);
		float higher = fmaxf(most, dot), keep = __expf(most - higher), add = __expf(dot - higher);
#pragma unroll
		for (int i = 0; i < PER_LANE; i++)
			acc[i] = acc[i] * keep + add * __half2float(value.v[i]);
		sum = sum * keep + add;
		most = higher;
	}
	if (!lane)
		most_of[warp] = most, sum_of[warp] = sum;
	for (int i = 0; i < PER_LANE; i++)
		part[warp][lane * PER_LANE + i] = acc[i];
	__syncthreads();
	if ((int)threadIdx.x >= DIM)
		return;
	float top = -INFINITY, total = 0, out = 0;
	for (int w = 0; w < WARPS; w++)
		top = fmaxf(top, most_of[w]);
	for (int w = 0; w < WARPS; w++) {
		float share = __expf(most_of[w] - top);
		total += sum_of[w] * share;
		out += part[w][threadIdx.x] * share;
	}
	o[head * DIM + threadIdx.x] = __float2half(out / total);
}

void decode_heads(const void *q, const void *k, const void *v, void *o, size_t heads, int seq, int dim, cudaStream_t s)
{
	if (dim == 64)
		decode_kernel<2><<<(unsigned)heads, 256, 0, s>>>((const __half *)q, (const lanes<2> *)k, (const lanes<2> *)v, (__half *)o, seq);
	else
		decode_kernel<4><<<(unsigned)heads, 256, 0, s>>>((const __half *)q, (const lanes<4> *)k, (const lanes<4> *)v, (__half *)o, seq);
}

/* ---- all queries, fused */

/*
 * A block computes ROWS queries of a head and iterates over its keys and values, COLUMNS at a time. The softmax is combined by
 * running maximum and sum (Milakov and Gimelshein 2018; Dao et al., "FlashAttention", NeurIPS 2022, algorithm 1). Products run
 * on tensor cores, 16 x 16 x 16 at a time. Sums stay in shared memory between products: the kernel is simple, and slower than a
 * library's. Every row of shared memory is padded by 16 bytes against bank conflicts; every tile begins at a multiple of 32
 * bytes, which wmma requires. seq is a multiple of ROWS and COLUMNS.
 */
enum { FUSED_THREADS = 128, COLUMNS = 32, TILE = 16 };

template <int DIM, int ROWS> struct fused_memory {
	__half query[ROWS][DIM + 8], other[COLUMNS][DIM + 8], share[ROWS][COLUMNS + 8]; /* other: first keys, then values */
	float score[ROWS][COLUMNS + 4], sum[ROWS][DIM + 4];
	float most[ROWS], total[ROWS];
};

#if !defined __CUDA_ARCH__ || __CUDA_ARCH__ >= 700

/* Loads contiguous rows of DIM halves into padded rows: 16 bytes per thread. */
template <int DIM> __device__ static void load_rows(const __half *from, __half (*to)[DIM + 8], int rows)
{
	for (int i = (int)threadIdx.x; i < rows * (DIM / 8); i += FUSED_THREADS)
		*(uint4 *)&to[i / (DIM / 8)][i % (DIM / 8) * 8] = ((const uint4 *)from)[i];
}

/* Computes score = query other^T; the warps take the tiles in turn. */
template <int DIM, int ROWS> __device__ static void fused_scores(fused_memory<DIM, ROWS> *m)
{
	using namespace nvcuda;
	for (int t = (int)threadIdx.x / 32; t < ROWS / TILE * (COLUMNS / TILE); t += FUSED_THREADS / 32) {
		int row = t / (COLUMNS / TILE) * TILE, column = t % (COLUMNS / TILE) * TILE;
		wmma::fragment<wmma::accumulator, TILE, TILE, TILE, float> acc;
		wmma::fill_fragment(acc, 0.0f);
		for (int d = 0; d < DIM; d += TILE) {
			wmma::fragment<wmma::matrix_a, TILE, TILE, TILE, __half, wmma::row_major> a;
			wmma::fragment<wmma::matrix_b, TILE, TILE, TILE, __half, wmma::col_major> b;
			wmma::load_matrix_sync(a, &m->query[row][d], DIM + 8);
			wmma::load_matrix_sync(b, &m->other[column][d], DIM + 8);
			wmma::mma_sync(acc, a, b, acc);
		}
		wmma::store_matrix_sync(&m->score[row][column], acc, COLUMNS + 4, wmma::mem_row_major);
	}
}

/* Computes sum += share other. */
template <int DIM, int ROWS> __device__ static void fused_sums(fused_memory<DIM, ROWS> *m)
{
	using namespace nvcuda;
	for (int t = (int)threadIdx.x / 32; t < ROWS / TILE * (DIM / TILE); t += FUSED_THREADS / 32) {
		int row = t / (DIM / TILE) * TILE, column = t % (DIM / TILE) * TILE;
		wmma::fragment<wmma::accumulator, TILE, TILE, TILE, float> acc;
		wmma::load_matrix_sync(acc, &m->sum[row][column], DIM + 4, wmma::mem_row_major);
		for (int k = 0; k < COLUMNS; k += TILE) {
			wmma::fragment<wmma::matrix_a, TILE, TILE, TILE, __half, wmma::row_major> a;
			wmma::fragment<wmma::matrix_b, TILE, TILE, TILE, __half, wmma::row_major> b;
			wmma::load_matrix_sync(a, &m->share[row][k], COLUMNS + 8);
			wmma::load_matrix_sync(b, &m->other[k][column], DIM + 8);
			wmma::mma_sync(acc, a, b, acc);
		}
		wmma::store_matrix_sync(&m->sum[row][column], acc, DIM + 4, wmma::mem_row_major);
	}
}

/* Computes the exponentials of these scores and rescales the sums to the new maximum; EACH threads per row. */
template <int DIM, int ROWS> __device__ static void fused_softmax(fused_memory<DIM, ROWS> *m, float scale)
{
	enum { EACH = FUSED_THREADS / ROWS };
	int row = (int)threadIdx.x / EACH, part = (int)threadIdx.x % EACH;
	float before = m->most[row], most = before, sum = 0;
	for (int c = part; c < COLUMNS; c += EACH)
		most = fmaxf(most, scale * m->score[row][c]);
	for (int d = 1; d < EACH; d *= 2)
		most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, d));
	for (int c = part; c < COLUMNS; c += EACH) {
		__half e = __float2half(__expf(scale * m->score[row][c] - most));
		m->share[row][c] = e;
		sum += __half2float(e);
	}
	for (int d = 1; d < EACH; d *= 2)
		sum += __shfl_xor_sync(0xffffffffu, sum, d);
	float keep = __expf(before - most);
	for (int d = part; d < DIM; d += EACH)
		m->sum[row][d] *= keep;
	if (!part) {
		m->most[row] = most;
		m->total[row] = m->total[row] * keep + sum;
	}
}

#endif

template <int DIM, int ROWS>
__global__ static void __launch_bounds__(FUSED_THREADS) fused_kernel(const __half *q, const __half *k, const __half *v, __half *o, int seq)
{
#if !defined __CUDA_ARCH__ || __CUDA_ARCH__ >= 700
	__shared__ __align__(32) fused_memory<DIM, ROWS> m;
	size_t head = blockIdx.y * (size_t)seq * DIM, first = head + blockIdx.x * (size_t)(ROWS * DIM);
	load_rows<DIM>(q + first, m.query, ROWS);
	for (int i = (int)threadIdx.x; i < ROWS * (DIM + 4); i += FUSED_THREADS)
		((float *)m.sum)[i] = 0;
	for (int i = (int)threadIdx.x; i < ROWS; i += FUSED_THREADS) {
		m.most[i] = -INFINITY;
		m.total[i] = 0;
	}
	for (int c = 0; c < seq; c += COLUMNS) {
		__syncthreads(); /* the previous values are no longer needed */
		load_rows<DIM>(k + head + (size_t)c * DIM, m.other, COLUMNS);
		__syncthreads();
		fused_scores<DIM, ROWS>(&m);
		__syncthreads();
		load_rows<DIM>(v + head + (size_t)c * DIM, m.other, COLUMNS);
		fused_softmax<DIM, ROWS>(&m, rsqrtf((float)DIM));
		__syncthreads();
		fused_sums<DIM, ROWS>(&m);
	}
	__syncthreads();
	for (int i = (int)threadIdx.x; i < ROWS * DIM; i += FUSED_THREADS)
		o[first + i] = __float2half(m.sum[i / DIM][i % DIM] / m.total[i / DIM]);
#endif
}

/* Computes fused attention. dim: 64 or 128; seq: a multiple of 64. Requires compute capability 7.0. */
void prefill_heads(const void *q, const void *k, const void *v, void *o, size_t heads, int seq, int dim, cudaStream_t s)
{
	const __half *query = (const __half *)q, *key = (const __half *)k, *value = (const __half *)v;
	if (dim == 64)
		fused_kernel<64, 64><<<dim3((unsigned)seq / 64, (unsigned)heads), FUSED_THREADS, 0, s>>>(query, key, value, (__half *)o, seq);
	else
		fused_kernel<128, 32><<<dim3((unsigned)seq / 32, (unsigned)heads), FUSED_THREADS, 0, s>>>(query, key, value, (__half *)o, seq);
}

/* ---- tasks */

struct attention {
	struct product *scores, *output;
};

static void drop_attention(struct task *t)
{
	struct attention *a = (struct attention *)t->own;
	product_free(a->scores);
	product_free(a->output);
	free(a);
}

/* Issues unfused attention, whose scores go through memory. */
static int prefill_enqueue(struct task *t, cudaStream_t s, struct orr_error *err)
{
	struct attention *a = (struct attention *)t->own;
	size_t rows = (size_t)(t->k.d[0] * t->k.d[1] * t->k.d[2]), seq = (size_t)t->k.d[2];
	void *workspace = workspace_of(t->gpu, s);
	int rc = product_run(a->scores, task_buffer(t, 0), task_buffer(t, 1), t->buffer[4], workspace, s, err);
	if (!rc)
		softmax_rows(t->k.precision, t->buffer[4], t->buffer[4], rows, seq, s);
	return rc ? rc : product_run(a->output, t->buffer[4], task_buffer(t, 2), task_buffer(t, 3), workspace, s, err);
}

static int decode_enqueue(struct task *t, cudaStream_t s, struct orr_error *err)
{
	const double *d = t->k.d;
	if (d[3] != 64 && d[3] != 128)
		return cuda_fail(err, ORR_EINPUT, "head dimension %.0f: expected 64 or 128", d[3]);
	decode_heads(task_buffer(t, 0), task_buffer(t, 1), task_buffer(t, 2), task_buffer(t, 3), (size_t)(d[0] * d[1]), (int)d[2],
		(int)d[3], s);
	return ORR_OK;
}

static int fused_enqueue(struct task *t, cudaStream_t s, struct orr_error *err)
{
	const double *d = t->k.d;
	(void)err;
	prefill_heads(task_buffer(t, 0), task_buffer(t, 1), task_buffer(t, 2), task_buffer(t, 3), (size_t)(d[0] * d[1]), (int)d[2],
		(int)d[3], s);
	return ORR_OK;
}

static int fused_setup(struct task *t, struct orr_error *err)
{
	const double *d = t->k.d;
	if ((d[3] != 64 && d[3] != 128) || fmod(d[2], 64) != 0 || d[0] * d[1] > 65535 || t->gpu->prop.major < 7)
		return cuda_fail(err, ORR_EINPUT, "%.0f heads of dimension %.0f, sequence length %.0f: expected at most 65535 heads of dimension 64 or 128, a sequence length that is a multiple of 64, and tensor cores",
			d[0] * d[1], d[3], d[2]);
	t->enqueue = fused_enqueue;
	return task_buffers(t, "fp16", err);
}

int attention_prepare(struct task *t, struct orr_error *err)
{
	const double *d = t->k.d;
	bool is_prefill = !strcmp(t->k.op, "prefill");
	double heads = d[0] * d[1], queries = is_prefill ? d[2] : 1;
	t->bytes[0] = t->bytes[3] = (size_t)(2 * heads * queries * d[3]);
	t->bytes[1] = t->bytes[2] = (size_t)(2 * heads * d[2] * d[3]);
	if (is_prefill && !strcmp(t->k.variant, "fused"))
		return fused_setup(t, err);
	t->enqueue = is_prefill ? prefill_enqueue : decode_enqueue;
	if (is_prefill) {
		/* One block holds a row: 8 packs of 16 bytes for each of 256 threads. */
		if (d[2] > 8192)
			return cuda_fail(err, ORR_EINPUT, "sequence too long for a thread block: expected at most 8192");
		struct attention *a = (struct attention *)calloc(1, sizeof *a);
		if (!a)
			return cuda_fail(err, ORR_EFAIL, "out of memory");
		t->own = a;
		t->drop = drop_attention;
		t->bytes[4] = (size_t)(2 * heads * d[2] * d[2]);
		a->scores = product_new(t->gpu, t->k.precision, false, true, d[2], d[2], d[3], heads, WORKSPACE_BYTES, err);
		a->output = a->scores ? product_new(t->gpu, t->k.precision, false, false, d[2], d[3], d[2], heads, WORKSPACE_BYTES, err) : NULL;
		if (!a->output)
			return err->code;
	}
	return task_buffers(t, "fp16", err);
}
