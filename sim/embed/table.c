/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "embed/table_state.h"

#include "base/bytes.h"
#include "base/hash.h"
#include "base/mem.h"

#include <gsl/gsl_randist.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define MAX_FEATURES 4e9 /* limit for the features of a field; ids have 32 bits */

const struct orr_param embed_shape_params[] = { ORR_PARAM_INT("features", "100000", 1, 1e12, "features of all fields together"),
	ORR_PARAM_INT("fields", "10", 1, 1e6, "fields: attributes of which each sample has one feature"),
	ORR_PARAM_INT("dim", "32", 1, 4096, "values of a vector, 4 bytes each"),
	ORR_PARAM_REAL("zipf", "1.05", 0, 10, "exponent of the frequencies: proportional to rank^-zipf within a field"),
	ORR_PARAM_INT("clusters", "100", 0, 1e9, "planted clusters per field; 0: vectors have no clusters"),
	ORR_PARAM_REAL("noise", "0.03", 0, 1e6,
		"standard deviation of values around the centre of their cluster; centres have standard deviation 1"),
	ORR_PARAM_INT("seed", "1", 0, 9e15, "seed of the vectors"),
	ORR_PARAM_BOOL("hold", true, "keep the vectors in memory; false: draw them again in each pass"), ORR_PARAM_END };

int embed_shape_read(struct embed_shape *s, const struct orr_args *a, struct orr_error *err)
{
	*s = (struct embed_shape){
		.features = (uint64_t)orr_arg_int(a, "features"),
		.fields = (uint32_t)orr_arg_int(a, "fields"),
		.dim = (uint32_t)orr_arg_int(a, "dim"),
		.clusters = (uint32_t)orr_arg_int(a, "clusters"),
		.zipf = orr_arg_real(a, "zipf"),
		.noise = orr_arg_real(a, "noise"),
		.seed = (uint64_t)orr_arg_int(a, "seed"),
		.is_held = orr_arg_bool(a, "hold"),
	};
	if (s->fields > s->features)
		return orr_fail(err, ORR_EINPUT, "embeddings: fields=%u: expected at most one field per feature (features=%llu)", s->fields,
			(unsigned long long)s->features);
	if ((double)s->features / s->fields > MAX_FEATURES)
		return orr_fail(err, ORR_EINPUT, "embeddings: features=%llu: expected at most %.0f per field, or more fields",
			(unsigned long long)s->features, MAX_FEATURES);
	return 0;
}

/* ---- generated ---- */

/* Seeds a stream that depends only on (seed, kind, field, item). */
static void stream(struct rng *r, uint64_t base, uint64_t item)
{
	uint64_t state = base + item * HASH_GOLDEN;
	for (int i = 0; i < 4; i++)
		r->s[i] = hash_next(&state);
}

static uint64_t base_of(const struct embed_table *t, const char *kind, uint32_t field)
{
	return hash_mix(hash_mix(hash_text(HASH_START, kind) ^ t->shape.seed) ^ field);
}

static void draw_normals(struct rng *r, uint32_t n, float *out)
{
	for (uint32_t j = 0; j < n; j++)
		out[j] = (float)gsl_ran_gaussian_ziggurat(rng_gsl(r), 1);
}

static void draw_vectors(const struct embed_table *t, uint32_t field, uint32_t first, uint32_t n, uint32_t stride, float *out)
{
	struct rng r;
	uint32_t clusters = t->shape.clusters, dim = t->dim;
	uint64_t base = base_of(t, "vectors", field);
	float noise = (float)t->shape.noise;
	rng_init(&r, 0, "embed", 0);
	for (uint32_t i = 0; i < n; i++) {
		float *row = out + (size_t)i * stride;
		stream(&r, base, (uint64_t)first + i);
		uint64_t cluster = clusters ? rng_below(&r, clusters) : 0;
		draw_normals(&r, dim, row);
		const float *centre = t->field[field].centre + (size_t)cluster * dim;
		for (uint32_t j = 0; clusters && j < dim; j++)
			row[j] = centre[j] + noise * row[j];
	}
}

static void draw_centres(struct embed_table *t, uint32_t field)
{
	struct rng r;
	uint64_t base = base_of(t, "centres", field);
	rng_init(&r, 0, "embed", 0);
	t->field[field].centre = mem_alloc(((size_t)t->shape.clusters * t->dim + 1) * sizeof(float));
	for (uint32_t c = 0; c < t->shape.clusters; c++) {
		stream(&r, base, c);
		draw_normals(&r, t->dim, t->field[field].centre + (size_t)c * t->dim);
	}
}

static void cumulate(struct embed_field *f)
{
	double sum = 0;
	f->cumulated = mem_alloc(f->n * sizeof *f->cumulated);
	for (uint32_t i = 0; i < f->n; i++)
		f->cumulated[i] = sum += f->frequency[i];
}

static void zipf(struct embed_field *f, double exponent)
{
	double sum = 0;
	f->frequency = mem_alloc(f->n * sizeof *f->frequency);
	for (uint32_t i = f->n; i-- > 0;)
		sum += f->frequency[i] = pow((double)i + 1, -exponent);
	for (uint32_t i = 0; i < f->n; i++)
		f->frequency[i] /= sum;
	cumulate(f);
}

static void hash_shape(const struct embed_shape *s, char hash[65])
{
	char text[240];
	int n = snprintf(text, sizeof text, "features=%llu,fields=%u,dim=%u,clusters=%u,zipf=%.17g,noise=%.17g,seed=%llu",
		(unsigned long long)s->features, s->fields, s->dim, s->clusters, s->zipf, s->noise, (unsigned long long)s->seed);
	bytes_hash_text(text, (size_t)n, hash);
}

struct embed_table *embed_table_generate(const struct embed_shape *s)
{
	struct embed_table *t = mem_zalloc(1, sizeof *t);
	t->shape = *s;
	hash_shape(s, t->hash);
	t->dim = s->dim;
	t->n_fields = s->fields;
	t->features = s->features;
	t->field = mem_zalloc(s->fields, sizeof *t->field);
	for (uint32_t f = 0; f < s->fields; f++) {
		struct embed_field *at = &t->field[f];
		at->n = (uint32_t)(s->features / s->fields + (f < s->features % s->fields));
		/* Fields of equal size have the same frequencies. */
		if (f && at->n == at[-1].n) {
			at->frequency = at[-1].frequency;
			at->cumulated = at[-1].cumulated;
			at->is_shared = true;
		} else {
			zipf(at, s->zipf);
		}
		draw_centres(t, f);
	}
	if (s->is_held)
		embed_table_hold(t);
	return t;
}

static void draw_all(struct embed_table *t)
{
	for (uint32_t f = 0; f < t->n_fields; f++) {
		float *x = mem_alloc((size_t)t->field[f].n * t->dim * sizeof *x);
#pragma omp parallel for schedule(static)
		for (uint32_t i = 0; i < t->field[f].n; i++)
			draw_vectors(t, f, i, 1, t->dim, x + (size_t)i * t->dim);
		t->field[f].vector = x;
	}
}

void embed_table_hold(struct embed_table *t)
{
#pragma omp critical(embed_hold)
	if (!t->holders++ && embed_shape_of(t))
		draw_all(t);
}

void embed_table_release(struct embed_table *t)
{
#pragma omp critical(embed_hold)
	if (!--t->holders && embed_shape_of(t))
		for (uint32_t f = 0; f < t->n_fields; f++) {
			mem_free(t->field[f].vector);
			t->field[f].vector = NULL;
		}
}

/* ---- all tables ---- */

void embed_finish(struct embed_table *t)
{
	for (uint32_t f = 0; f < t->n_fields; f++)
		cumulate(&t->field[f]);
}

void embed_table_free(struct embed_table *t)
{
	if (!t)
		return;
	for (uint32_t f = 0; f < t->n_fields; f++) {
		struct embed_field *at = &t->field[f];
		if (!at->is_shared) {
			mem_free(at->frequency);
			mem_free(at->cumulated);
		}
		mem_free(at->name);
		mem_free(at->centre);
		mem_free(at->vector);
		mem_free(at->feature);
	}
	if (t->names)
		strtab_free(t->names);
	mem_free(t->field);
	mem_free(t);
}

const struct embed_shape *embed_shape_of(const struct embed_table *t)
{
	return t->shape.features ? &t->shape : NULL;
}

const char *embed_table_hash(const struct embed_table *t)
{
	return t->hash;
}

uint32_t embed_fields(const struct embed_table *t)
{
	return t->n_fields;
}

uint32_t embed_dim(const struct embed_table *t)
{
	return t->dim;
}

uint64_t embed_features(const struct embed_table *t)
{
	return t->features;
}

uint32_t embed_field_features(const struct embed_table *t, uint32_t field)
{
	return t->field[field].n;
}

const double *embed_frequencies(const struct embed_table *t, uint32_t field)
{
	return t->field[field].frequency;
}

const double *embed_cumulated(const struct embed_table *t, uint32_t field)
{
	return t->field[field].cumulated;
}

const char *embed_field_name(const struct embed_table *t, uint32_t field)
{
	return t->field[field].name;
}

const char *embed_feature_name(const struct embed_table *t, uint32_t field, uint32_t feature)
{
	const struct embed_field *f = &t->field[field];
	return f->feature ? strtab_text(t->names, f->feature[feature]) : NULL;
}

void embed_vectors(const struct embed_table *t, uint32_t field, uint32_t first, uint32_t n, uint32_t stride, float *out)
{
	const float *x = t->field[field].vector;
	if (!x) {
		draw_vectors(t, field, first, n, stride, out);
		return;
	}
	for (uint32_t i = 0; i < n; i++)
		memcpy(out + (size_t)i * stride, x + ((size_t)first + i) * t->dim, t->dim * sizeof *out);
}

uint32_t embed_head_by_mass(const struct embed_table *t, uint32_t field, double mass)
{
	const struct embed_field *f = &t->field[field];
	uint32_t low = 0, high = f->n - 1;
	while (low < high) {
		uint32_t mid = low + (high - low) / 2;
		if (f->cumulated[mid] >= mass)
			high = mid;
		else
			low = mid + 1;
	}
	return low + 1;
}
