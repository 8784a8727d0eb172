/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "embed/kmeans.h"

#include "base/mem.h"

#include <math.h>
#include <string.h>

enum {
	TILE = 6,          /* rows that share the loads of centroids: 6 sums of two registers leave 4 of the 16 of AVX2 */
	CHUNK = 64,        /* tiles per task */
	SMALL = 1 << 16,   /* up to this number of rows, or of distances, one thread computes all */
	MOST_TRIALS = 24,  /* 2 + ln 2^32 */
	START_CHUNK = 1024 /* rows per partial sum of distances in the initialisation; the number affects the results */
};

uint32_t kmeans_stride(uint32_t dim)
{
	return (dim + SIMD_LANES - 1) / SIMD_LANES * SIMD_LANES;
}

/* The block starts at most 64 bytes before the rows; its address is stored directly before them. */
float *kmeans_rows_new(size_t n, uint32_t stride)
{
	size_t align = SIMD_LANES * sizeof(float);
	char *block = mem_zalloc(n + 2, (stride > SIMD_LANES ? stride : SIMD_LANES) * sizeof(float));
	char *at = block + sizeof block;
	at += (align - (uintptr_t)at % align) % align;
	memcpy(at - sizeof block, &block, sizeof block);
	return (float *)(void *)at;
}

void kmeans_rows_free(float *x)
{
	char *block = NULL;
	if (x)
		memcpy(&block, (char *)x - sizeof block, sizeof block);
	mem_free(block);
}

/* ---- assignment ---- */

/* Centroids in blocks of 16: |c|^2 / 2 of each, then value j of each, for j in 0 .. dim - 1. Lanes beyond k are never the nearest. */
struct blocks {
	float *value;
	uint32_t n, dim;
};

static struct blocks blocks_new(const struct kmeans_points *p, uint32_t k, const float *centroid)
{
	struct blocks b = { .n = (k + SIMD_LANES - 1) / SIMD_LANES, .dim = p->dim };
	b.value = kmeans_rows_new((size_t)b.n * (b.dim + 1), SIMD_LANES);
	for (uint32_t c = 0; c < b.n * SIMD_LANES; c++) {
		float *to = b.value + (size_t)(c / SIMD_LANES) * (b.dim + 1) * SIMD_LANES + c % SIMD_LANES;
		const float *row = centroid + (size_t)c * p->stride;
		float half = 0;
		for (uint32_t j = 0; c < k && j < b.dim; j++) {
			to[(j + 1) * SIMD_LANES] = row[j];
			half += 0.5f * row[j] * row[j];
		}
		to[0] = c < k ? half : __builtin_inff();
	}
	return b;
}

static uint32_t first_of_least(const float *least, const int32_t *block)
{
	uint32_t best = 0;
	for (uint32_t l = 1; l < SIMD_LANES; l++)
		if (least[l] < least[best] || (least[l] == least[best] && block[l] < block[best]))
			best = l;
	return (uint32_t)block[best] * SIMD_LANES + best;
}

enum { TRIALS = 4 }; /* candidates that one pass over the rows tries */
typedef float four_lanes __attribute__((vector_size(16)));
typedef int32_t four_masks __attribute__((vector_size(16)));
typedef double four_doubles __attribute__((vector_size(32)));

/* Assign TILE rows, or copies of the last row. There is one function per instruction set. */
#define TILE_NAME tile_default
#define TILE_WIDTH 4
#include "embed/kmeans_tile.h"
#if defined __x86_64__ && defined __GNUC__ && !defined ORR_SANITIZED
#define TILE_NAME tile_avx2
#define TILE_WIDTH 8
#define TILE_TARGET __attribute__((target("avx2")))
#include "embed/kmeans_tile.h"
#define TILE_NAME tile_avx512
#define TILE_WIDTH 16
#define TILE_TARGET __attribute__((target("avx512f,avx512dq,avx512bw,avx512vl")))
#include "embed/kmeans_tile.h"
#endif

/* Functions compiled for one instruction set. */
struct functions {
	void (*tile)(const struct blocks *b, const float *const row[TILE], uint32_t id[TILE]);
	double (*lower)(const struct kmeans_points *p, const float *c, size_t first, size_t last, float *distance);
	void (*try)(const struct kmeans_points *p, const float *const c[TRIALS], size_t first, size_t last, const float *distance,
		double total[TRIALS]);
};

static struct functions functions_of_processor(void)
{
#if defined __x86_64__ && defined __GNUC__ && !defined ORR_SANITIZED
	if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&
		__builtin_cpu_supports("avx512vl"))
		return (struct functions){ tile_avx512, lower_tile_avx512, try_tile_avx512 };
	if (__builtin_cpu_supports("avx2"))
		return (struct functions){ tile_avx2, lower_tile_avx2, try_tile_avx2 };
#endif
	return (struct functions){ tile_default, lower_tile_default, try_tile_default };
}

static void assign_range(
	const struct functions *f, const struct blocks *b, const struct kmeans_points *p, size_t first, size_t last, uint32_t *id)
{
	for (size_t i = first; i < last; i += TILE) {
		const float *row[TILE];
		uint32_t found[TILE];
		for (size_t t = 0; t < TILE; t++)
			row[t] = p->x + (i + t < last ? i + t : last - 1) * p->stride;
		f->tile(b, row, found);
		for (size_t t = 0; t < TILE && i + t < last; t++)
			id[i + t] = found[t];
	}
}

void kmeans_assign(const struct kmeans_points *p, uint32_t k, const float *centroid, uint32_t *id, struct kmeans_work *work)
{
	struct blocks b = blocks_new(p, k, centroid);
	struct functions f = functions_of_processor();
	size_t task = (size_t)TILE * CHUNK;
#pragma omp parallel for schedule(dynamic) if (p->n * k > SMALL)
	for (size_t first = 0; first < p->n; first += task)
		assign_range(&f, &b, p, first, first + task < p->n ? first + task : p->n, id);
	work->assign += (uint64_t)p->n * k * p->dim;
	kmeans_rows_free(b.value);
}

/* ---- means ---- */

static double weight_of(const struct kmeans_points *p, size_t i)
{
	return p->weight ? p->weight[i] : 1;
}

/* Computes the mean of the rows member[0 .. n), in order. */
static void mean_of(const struct kmeans_points *p, const uint32_t *member, size_t n, double *sum, float *out)
{
	double total = 0;
	memset(sum, 0, p->dim * sizeof *sum);
	for (size_t i = 0; i < n; i++) {
		const float *row = p->x + (size_t)member[i] * p->stride;
		double w = weight_of(p, member[i]);
		total += w;
		for (uint32_t j = 0; j < p->dim; j++)
			sum[j] += w * (double)row[j];
	}
	for (uint32_t j = 0; total > 0 && j < p->dim; j++)
		out[j] = (float)(sum[j] / total);
}

void kmeans_move(const struct kmeans_points *p, uint32_t k, const uint32_t *id, float *centroid)
{
	/* Rows are listed by centroid, each list in ascending order, so centroids can be computed independently. */
	size_t *first = mem_zalloc((size_t)k + 2, sizeof *first);
	uint32_t *member = mem_alloc((p->n + 1) * sizeof *member);
	for (size_t i = 0; i < p->n; i++)
		first[id[i] + 2]++;
	for (uint32_t c = 0; c < k; c++)
		first[c + 2] += first[c + 1];
	for (size_t i = 0; i < p->n; i++)
		member[first[id[i] + 1]++] = (uint32_t)i;
#pragma omp parallel if (p->n > SMALL)
	{
		double *sum = mem_alloc(p->dim * sizeof *sum);
#pragma omp for schedule(static)
		for (uint32_t c = 0; c < k; c++)
			mean_of(p, member + first[c], first[c + 1] - first[c], sum, centroid + (size_t)c * p->stride);
		mem_free(sum);
	}
	mem_free(member);
	mem_free(first);
}

/* ---- start ---- */

/* Returns the row at which the running sum of weight x distance exceeds `at`. distance NULL: sum of the weights only. */
static size_t find_row(const struct kmeans_points *p, const double *total, const float *distance, double at)
{
	size_t chunk = 0, chunks = (p->n + START_CHUNK - 1) / START_CHUNK;
	while (chunk + 1 < chunks && at >= total[chunk])
		at -= total[chunk++];
	size_t i = chunk * START_CHUNK, last = i + START_CHUNK < p->n ? i + START_CHUNK : p->n, found = i;
	for (; i < last; i++) {
		double value = weight_of(p, i) * (distance ? (double)distance[i] : 1);
		if (value > 0)
			found = i; /* rounding may leave a remainder after the last row */
		if (value > at)
			break;
		at -= value;
	}
	return found;
}

/* Sums lower() over the rows; total[] has the sums by chunk. */
static double lower_all(const struct kmeans_points *p, const struct functions *f, const float *c, float *distance, double *total)
{
	size_t chunks = (p->n + START_CHUNK - 1) / START_CHUNK;
	double sum = 0;
#pragma omp parallel for schedule(static) if (p->n > SMALL)
	for (size_t i = 0; i < chunks; i++) {
		size_t first = i * START_CHUNK, last = first + START_CHUNK < p->n ? first + START_CHUNK : p->n;
		total[i] = f->lower(p, c, first, last, distance);
	}
	for (size_t i = 0; i < chunks; i++)
		sum += total[i];
	return sum;
}

/* Sums try() over the rows, for each of n candidates. by_chunk: room for TRIALS sums per chunk. */
static void try_all(const struct kmeans_points *p, const struct functions *f, const size_t *row, uint32_t n, const float *distance,
	double *by_chunk, double *sum)
{
	size_t chunks = (p->n + START_CHUNK - 1) / START_CHUNK;
	for (uint32_t from = 0; from < n; from += TRIALS) {
		const float *c[TRIALS]; /* copies of the last candidate fill the array */
		for (uint32_t t = 0; t < TRIALS; t++)
			c[t] = p->x + row[from + t < n ? from + t : n - 1] * p->stride;
#pragma omp parallel for schedule(static) if (p->n > SMALL)
		for (size_t i = 0; i < chunks; i++) {
			size_t first = i * START_CHUNK, last = first + START_CHUNK < p->n ? first + START_CHUNK : p->n;
			f->try(p, c, first, last, distance, by_chunk + i * TRIALS);
		}
		for (uint32_t t = 0; t < TRIALS && from + t < n; t++) {
			sum[from + t] = 0;
			for (size_t i = 0; i < chunks; i++)
				sum[from + t] += by_chunk[i * TRIALS + t];
		}
	}
}

/* Returns the best of n candidates, drawn by weight x distance. */
static size_t best_candidate(const struct kmeans_points *p, const struct functions *f, uint32_t n, struct rng *r, const float *distance,
	const double *total, double sum, double *by_chunk)
{
	size_t row[MOST_TRIALS], best = 0;
	double rest[MOST_TRIALS], least = INFINITY;
	for (uint32_t t = 0; t < n; t++)
		row[t] = find_row(p, total, distance, rng_uniform(r) * sum);
	try_all(p, f, row, n, distance, by_chunk, rest);
	for (uint32_t t = 0; t < n; t++) {
		best = rest[t] < least ? row[t] : best;
		least = fmin(rest[t], least);
	}
	return best;
}

void kmeans_start(const struct kmeans_points *p, uint32_t k, struct rng *r, float *centroid, struct kmeans_work *work)
{
	size_t chunks = (p->n + START_CHUNK - 1) / START_CHUNK;
	double *total = mem_zalloc(chunks, sizeof *total), *trial = mem_alloc(chunks * TRIALS * sizeof *trial), sum = 0;
	float *distance = mem_alloc(p->n * sizeof *distance);
	struct functions f = functions_of_processor();
	uint32_t trials = 2 + (uint32_t)log(k);
	for (size_t i = 0; i < p->n; i++) {
		distance[i] = __builtin_inff();
		total[i / START_CHUNK] += weight_of(p, i);
	}
	for (size_t i = 0; i < chunks; i++)
		sum += total[i];
	for (uint32_t c = 0; c < k; c++) {
		size_t best =
			c ? best_candidate(p, &f, trials, r, distance, total, sum, trial) : find_row(p, total, NULL, rng_uniform(r) * sum);
		float *row = centroid + (size_t)c * p->stride;
		memcpy(row, p->x + best * p->stride, p->stride * sizeof *row);
		sum = lower_all(p, &f, row, distance, total);
	}
	work->start += (uint64_t)p->n * p->dim * (k + (uint64_t)(k - 1) * trials);
	mem_free(distance);
	mem_free(trial);
	mem_free(total);
}

bool kmeans_run(const struct kmeans_points *p, uint32_t k, uint32_t iterations, struct rng *r, float *centroid, uint32_t *id,
	struct kmeans_work *work, const volatile sig_atomic_t *is_stopped)
{
	kmeans_start(p, k, r, centroid, work);
	for (uint32_t i = 0; i < iterations; i++) {
		if (is_stopped && *is_stopped)
			return false;
		kmeans_assign(p, k, centroid, id, work);
		kmeans_move(p, k, id, centroid);
	}
	return true;
}
