/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "embed/code.h"

#include "base/hash.h"
#include "base/mem.h"

#include <math.h>
#include <string.h>

enum { PASS = 4096, PRODUCT_WORDS = 256 };

struct coded_field {
	uint32_t n, k, head;
	float *book;    /* codebook; shared, hashed: k rows; product: 256 rows per part */
	uint32_t *map;  /* shared: n */
	uint8_t *words; /* product: codes, n x parts */
	struct kmeans_work cluster;
	uint64_t last_pass;
};

struct embed_code {
	struct embed_options o;
	uint32_t n_fields, dim, stride;
	struct coded_field *field;
};

/* ---- shared vectors ---- */

static float *read_rows(const struct embed_table *t, uint32_t field, uint32_t first, uint32_t n, uint32_t stride)
{
	float *x = kmeans_rows_new(n, stride);
#pragma omp parallel for schedule(static)
	for (uint32_t i = 0; i < n; i += PASS)
		embed_vectors(t, field, first + i, n - i < PASS ? n - i : PASS, stride, x + (size_t)i * stride);
	return x;
}

static uint32_t head_of(const struct embed_table *t, uint32_t field, const struct embed_options *o, uint32_t k)
{
	uint32_t n = embed_field_features(t, field);
	double share = ceil(o->head_share * n - 1e-9);
	double head = isnan(o->head_mass) ? share : o->head_mass >= 1 ? n : embed_head_by_mass(t, field, o->head_mass);
	return head < k ? k : head > n ? n : (uint32_t)head;
}

static uint32_t vectors_of(uint32_t n, double reduction)
{
	double k = ceil(n / reduction - 1e-9);
	return k < 1 ? 1 : k > n ? n : (uint32_t)k;
}

/* Assigns all features in passes of PASS rows, so that only the vectors of the head stay in memory. */
static void assign_all(const struct embed_table *t, uint32_t field, struct coded_field *f, uint32_t stride)
{
	struct kmeans_work work = { 0 };
	float *x = kmeans_rows_new(PASS, stride);
	for (uint32_t first = 0; first < f->n; first += PASS) {
		struct kmeans_points p = { x, f->n - first < PASS ? f->n - first : PASS, embed_dim(t), stride, NULL };
		embed_vectors(t, field, first, (uint32_t)p.n, stride, x);
		kmeans_assign(&p, f->k, f->book, f->map + first, &work);
	}
	f->last_pass = work.assign;
	kmeans_rows_free(x);
}

static bool share_field(const struct embed_table *t, uint32_t field, const struct embed_options *o, struct coded_field *f, uint32_t stride)
{
	struct rng r;
	f->head = head_of(t, field, o, f->k);
	f->book = kmeans_rows_new(f->k, stride);
	f->map = mem_alloc(f->n * sizeof *f->map);
	struct kmeans_points p = { NULL, f->head, embed_dim(t), stride, o->is_weighted ? embed_frequencies(t, field) : NULL };
	float *x = read_rows(t, field, 0, f->head, stride);
	p.x = x;
	rng_init(&r, o->seed, "embed.kmeans", field);
	bool is_done = kmeans_run(&p, f->k, o->iterations, &r, f->book, f->map, &f->cluster, o->is_stopped);
	kmeans_rows_free(x);
	if (is_done && f->head < f->n)
		assign_all(t, field, f, stride);
	return is_done;
}

/* ---- hashing ---- */

static uint32_t hashed(uint32_t field, uint32_t feature, uint32_t k)
{
	return (uint32_t)(hash_mix((uint64_t)field << 32 | feature) % k);
}

static void hash_field(const struct embed_table *t, uint32_t field, struct coded_field *f, uint32_t stride)
{
	uint32_t dim = embed_dim(t);
	const double *q = embed_frequencies(t, field);
	double *sum = mem_zalloc((size_t)f->k * dim, sizeof *sum), *total = mem_zalloc(f->k, sizeof *total);
	float *x = kmeans_rows_new(1, stride);
	f->book = kmeans_rows_new(f->k, stride);
	for (uint32_t i = 0; i < f->n; i++) {
		uint32_t c = hashed(field, i, f->k);
		embed_vectors(t, field, i, 1, stride, x);
		total[c] += q[i];
		for (uint32_t j = 0; j < dim; j++)
			sum[(size_t)c * dim + j] += q[i] * (double)x[j];
	}
	for (uint32_t c = 0; c < f->k; c++)
		for (uint32_t j = 0; j < dim && total[c] > 0; j++)
			f->book[(size_t)c * stride + j] = (float)(sum[(size_t)c * dim + j] / total[c]);
	kmeans_rows_free(x);
	mem_free(total);
	mem_free(sum);
}

/* ---- product quantisation ---- */

/* Returns only the rows of part `part`. */
static float *part_rows(const float *x, uint32_t n, uint32_t stride, uint32_t width, uint32_t part)
{
	uint32_t narrow = kmeans_stride(width);
	float *out = kmeans_rows_new(n, narrow);
	for (uint32_t i = 0; i < n; i++)
		memcpy(out + (size_t)i * narrow, x + (size_t)i * stride + (size_t)part * width, width * sizeof *x);
	return out;
}

static bool product_field(
	const struct embed_table *t, uint32_t field, const struct embed_options *o, struct coded_field *f, uint32_t stride)
{
	uint32_t width = embed_dim(t) / o->parts, narrow = kmeans_stride(width);
	bool is_done = true;
	f->head = f->n;
	f->k = f->n < PRODUCT_WORDS ? f->n : PRODUCT_WORDS;
	f->book = kmeans_rows_new((size_t)o->parts * PRODUCT_WORDS, narrow);
	f->words = mem_alloc((size_t)f->n * o->parts);
	uint32_t *id = mem_alloc(f->n * sizeof *id);
	float *x = read_rows(t, field, 0, f->n, stride);
	for (uint32_t part = 0; part < o->parts && is_done; part++) {
		struct rng r;
		float *rows = part_rows(x, f->n, stride, width, part);
		struct kmeans_points p = { rows, f->n, width, narrow, NULL };
		rng_init(&r, rng_seed_of(o->seed, part), "embed.product", field);
		is_done = kmeans_run(
			&p, f->k, o->iterations, &r, f->book + (size_t)part * PRODUCT_WORDS * narrow, id, &f->cluster, o->is_stopped);
		for (uint32_t i = 0; i < f->n && is_done; i++)
			f->words[(size_t)i * o->parts + part] = (uint8_t)id[i];
		kmeans_rows_free(rows);
	}
	kmeans_rows_free(x);
	mem_free(id);
	return is_done;
}

/* ---- rounding ---- */

/* Rounds to the nearest IEEE half, ties to even, and returns it as a float; values beyond the range become the largest half. */
static float to_half(float x)
{
	float size = fabsf(x);
	if (size >= 65504)
		return copysignf(65504, x);
	int exponent;
	frexpf(size, &exponent);
	float step = ldexpf(1, (exponent < -13 ? -13 : exponent) - 11);
	return rintf(x / step) * step;
}

static void round_row(float *x, uint32_t dim, uint32_t bits)
{
	float most = 0;
	if (bits == 32)
		return;
	for (uint32_t j = 0; j < dim; j++)
		most = fmaxf(most, fabsf(x[j]));
	for (uint32_t j = 0; j < dim; j++)
		x[j] = bits == 16 ? to_half(x[j]) : most > 0 ? rintf(x[j] / most * 127) * (most / 127) : 0;
}

/* ---- the code ---- */

static bool compress_field(const struct embed_table *t, uint32_t field, const struct embed_options *o, struct embed_code *c)
{
	struct coded_field *f = &c->field[field];
	switch (o->method) {
	case EMBED_SHARED:
		return share_field(t, field, o, f, c->stride);
	case EMBED_HASHED:
		hash_field(t, field, f, c->stride);
		return true;
	case EMBED_PRODUCT:
		return product_field(t, field, o, f, c->stride);
	case EMBED_ROUNDED:
		break;
	}
	return true;
}

static int check_options(const struct embed_table *t, const struct embed_options *o, struct orr_error *err)
{
	if (o->method == EMBED_PRODUCT && (!o->parts || embed_dim(t) % o->parts))
		return orr_fail(err, ORR_EINPUT, "parts=%u: expected a divisor of the dimension, %u", o->parts, embed_dim(t));
	for (uint32_t f = 0; f < embed_fields(t) && o->method == EMBED_SHARED && o->id_bytes < 4; f++) {
		uint32_t n = embed_field_features(t, f), k = vectors_of(n, o->reduction);
		if (k > UINT32_C(1) << 8 * o->id_bytes)
			return orr_fail(err, ORR_EINPUT,
				"id_bytes=%u: field %u has %u vectors: expected at most %u, or a larger id_bytes or reduction", o->id_bytes,
				f, k, UINT32_C(1) << 8 * o->id_bytes);
	}
	return ORR_OK;
}

struct embed_code *embed_compress(const struct embed_table *t, const struct embed_options *o, struct orr_error *err)
{
	if (check_options(t, o, err))
		return NULL;
	struct embed_code *c = mem_zalloc(1, sizeof *c);
	uint32_t done = 0, stopped = 0;
	c->o = *o;
	c->n_fields = embed_fields(t);
	c->dim = embed_dim(t);
	c->stride = kmeans_stride(c->dim);
	c->field = mem_zalloc(c->n_fields, sizeof *c->field);
	for (uint32_t f = 0; f < c->n_fields; f++) {
		c->field[f].n = embed_field_features(t, f);
		c->field[f].k = o->method == EMBED_ROUNDED ? c->field[f].n : vectors_of(c->field[f].n, o->reduction);
	}
	/* All threads compress a single field together, in the loops of kmeans.c. */
#pragma omp parallel for schedule(dynamic) if (c->n_fields > 1)
	for (uint32_t f = 0; f < c->n_fields; f++) {
		bool is_done = compress_field(t, f, o, c);
#pragma omp critical(embed_progress)
		{
			stopped += !is_done;
			done++;
			if (o->progress)
				o->progress(o->ctx, done, c->n_fields);
		}
	}
	if (!stopped)
		return c;
	orr_fail(err, ORR_EFAIL, "interrupted before all fields were compressed");
	embed_code_free(c);
	return NULL;
}

void embed_code_free(struct embed_code *c)
{
	for (uint32_t f = 0; c && f < c->n_fields; f++) {
		kmeans_rows_free(c->field[f].book);
		mem_free(c->field[f].map);
		mem_free(c->field[f].words);
	}
	if (c)
		mem_free(c->field);
	mem_free(c);
}

uint64_t embed_code_vectors(const struct embed_code *c)
{
	uint64_t k = 0;
	for (uint32_t f = 0; f < c->n_fields; f++)
		k += c->field[f].k;
	return k;
}

double embed_code_lookup_bytes(const struct embed_code *c)
{
	double row = 4.0 * c->dim;
	switch (c->o.method) {
	case EMBED_SHARED:
		return row + c->o.id_bytes;
	case EMBED_PRODUCT:
		return row + c->o.parts;
	case EMBED_ROUNDED:
		return c->o.bits == 8 ? c->dim + 4.0 : row * c->o.bits / 32;
	case EMBED_HASHED:
		break;
	}
	return row;
}

double embed_code_bytes(const struct embed_code *c)
{
	double bytes = 0;
	for (uint32_t i = 0; i < c->n_fields; i++) {
		const struct coded_field *f = &c->field[i];
		double n = f->n, row = 4.0 * c->dim;
		switch (c->o.method) {
		case EMBED_SHARED:
			bytes += f->k * row + n * c->o.id_bytes;
			break;
		case EMBED_HASHED:
			bytes += f->k * row;
			break;
		case EMBED_ROUNDED:
			bytes += n * embed_code_lookup_bytes(c);
			break;
		case EMBED_PRODUCT:
			bytes += n * c->o.parts + PRODUCT_WORDS * row;
			break;
		}
	}
	return bytes;
}

double embed_table_bytes(const struct embed_table *t)
{
	return 4.0 * (double)embed_features(t) * embed_dim(t);
}

const uint32_t *embed_code_map(const struct embed_code *c, uint32_t field)
{
	return c->field[field].map;
}

const float *embed_code_book(const struct embed_code *c, uint32_t field, uint32_t *k, uint32_t *stride)
{
	*k = c->field[field].k;
	*stride = c->stride;
	return c->o.method == EMBED_PRODUCT ? NULL : c->field[field].book;
}

struct embed_work embed_code_work(const struct embed_code *c)
{
	struct embed_work w = { 0 };
	for (uint32_t f = 0; f < c->n_fields; f++) {
		w.cluster += c->field[f].cluster.assign;
		w.start += c->field[f].cluster.start;
		w.last_pass += c->field[f].last_pass;
	}
	return w;
}

uint64_t embed_code_head(const struct embed_code *c)
{
	uint64_t n = 0;
	for (uint32_t f = 0; f < c->n_fields; f++)
		n += c->field[f].head;
	return n;
}

void embed_decode(const struct embed_code *c, uint32_t field, uint32_t first, uint32_t n, uint32_t stride, float *row)
{
	const struct coded_field *f = &c->field[field];
	uint32_t parts = c->o.parts, width = parts ? c->dim / parts : 0, narrow = kmeans_stride(width);
	for (uint32_t i = 0; i < n; i++, row += stride) {
		uint32_t at = first + i;
		switch (c->o.method) {
		case EMBED_SHARED:
			memcpy(row, f->book + (size_t)f->map[at] * c->stride, c->dim * sizeof *row);
			break;
		case EMBED_HASHED:
			memcpy(row, f->book + (size_t)hashed(field, at, f->k) * c->stride, c->dim * sizeof *row);
			break;
		case EMBED_ROUNDED:
			round_row(row, c->dim, c->o.bits);
			break;
		case EMBED_PRODUCT:
			for (uint32_t p = 0; p < parts; p++)
				memcpy(row + (size_t)p * width,
					f->book + ((size_t)p * PRODUCT_WORDS + f->words[(size_t)at * parts + p]) * narrow,
					width * sizeof *row);
			break;
		}
	}
}
