/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "embed/quality.h"

#include "base/mem.h"

#include <gsl/gsl_randist.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PASS = 1024 };

/* ---- error ---- */

static double row_error(const float *x, const float *y, uint32_t dim)
{
	double sum = 0;
	for (uint32_t j = 0; j < dim; j++) {
		double gap = (double)x[j] - (double)y[j];
		sum += gap * gap;
	}
	return sum / dim;
}

/* Returns the sums over a pass of PASS features. */
static struct embed_error pass_error(const struct embed_table *t, const struct embed_code *c, uint32_t field, uint32_t first, float *x)
{
	struct embed_error sum = { 0 };
	uint32_t dim = embed_dim(t), n = embed_field_features(t, field) - first;
	const double *q = embed_frequencies(t, field);
	float *y = x + (size_t)PASS * dim;
	n = n < PASS ? n : PASS;
	embed_vectors(t, field, first, n, dim, x);
	memcpy(y, x, (size_t)n * dim * sizeof *y);
	embed_decode(c, field, first, n, dim, y);
	for (uint32_t i = 0; i < n; i++) {
		double e = row_error(x + (size_t)i * dim, y + (size_t)i * dim, dim);
		sum.plain += e;
		sum.weighted += q[first + i] * e;
	}
	return sum;
}

struct embed_error embed_error(const struct embed_table *t, const struct embed_code *c)
{
	struct embed_error all = { 0 };
	for (uint32_t f = 0; f < embed_fields(t); f++) {
		uint32_t passes = (embed_field_features(t, f) + PASS - 1) / PASS;
		struct embed_error *part = mem_zalloc(passes, sizeof *part);
#pragma omp parallel
		{
			float *x = mem_alloc((size_t)2 * PASS * embed_dim(t) * sizeof *x);
#pragma omp for schedule(static)
			for (uint32_t i = 0; i < passes; i++)
				part[i] = pass_error(t, c, f, i * PASS, x);
			mem_free(x);
		}
		for (uint32_t i = 0; i < passes; i++) {
			all.plain += part[i].plain;
			all.weighted += part[i].weighted;
		}
		mem_free(part);
	}
	all.plain /= (double)embed_features(t);
	all.weighted /= embed_fields(t);
	return all;
}

/* ---- the logistic model ---- */

struct embed_model {
	const struct embed_table *table;
	struct embed_task task;
	uint32_t width;    /* fields x dim */
	uint32_t *feature; /* (train + test) x fields */
	bool *label;       /* train + test */
	double *weight;    /* weights of the inputs, then the bias */
};

static uint32_t draw_feature(const struct embed_table *t, uint32_t field, struct rng *r)
{
	const double *sum = embed_cumulated(t, field);
	uint32_t low = 0, high = embed_field_features(t, field) - 1;
	double u = rng_uniform(r) * sum[high];
	while (low < high) {
		uint32_t mid = low + (high - low) / 2;
		if (sum[mid] > u)
			high = mid;
		else
			low = mid + 1;
	}
	return low;
}

/* Reads the input of a sample. */
static void read_input(const struct embed_model *m, const struct embed_code *c, uint32_t sample, float *x)
{
	uint32_t fields = embed_fields(m->table), dim = embed_dim(m->table);
	for (uint32_t f = 0; f < fields; f++) {
		uint32_t feature = m->feature[(size_t)sample * fields + f];
		embed_vectors(m->table, f, feature, 1, dim, x + (size_t)f * dim);
		if (c)
			embed_decode(c, f, feature, 1, dim, x + (size_t)f * dim);
	}
}

static double score(const double *w, const float *x, uint32_t n)
{
	double z = w[n];
	for (uint32_t j = 0; j < n; j++)
		z += w[j] * (double)x[j];
	return z;
}

/* Computes the scores of n samples from `first` on. */
static void score_samples(const struct embed_model *m, const struct embed_code *c, const double *w, uint32_t first, uint32_t n, double *out)
{
#pragma omp parallel
	{
		float *x = mem_alloc(m->width * sizeof *x);
#pragma omp for schedule(static)
		for (uint32_t i = 0; i < n; i++) {
			read_input(m, c, first + i, x);
			out[i] = score(w, x, m->width);
		}
		mem_free(x);
	}
}

static double sigmoid(double z)
{
	return 1 / (1 + exp(-z));
}

static void draw_samples(struct embed_model *m)
{
	struct rng r;
	uint32_t n = m->task.train + m->task.test, fields = embed_fields(m->table);
	double *hidden = mem_zalloc((size_t)m->width + 1, sizeof *hidden), *z = mem_alloc(n * sizeof *z), mean = 0, square = 0;
	rng_init(&r, m->task.seed, "embed.samples", 0);
	for (uint32_t j = 0; j < m->width; j++)
		hidden[j] = gsl_ran_gaussian_ziggurat(rng_gsl(&r), 1);
	for (size_t i = 0; i < (size_t)n * fields; i++)
		m->feature[i] = draw_feature(m->table, (uint32_t)(i % fields), &r);
	score_samples(m, NULL, hidden, 0, n, z);
	for (uint32_t i = 0; i < m->task.train; i++)
		mean += z[i] / m->task.train;
	for (uint32_t i = 0; i < m->task.train; i++)
		square += (z[i] - mean) * (z[i] - mean) / m->task.train;
	double scale = square > 0 ? m->task.gain / sqrt(square) : 0;
	for (uint32_t i = 0; i < n; i++)
		m->label[i] = rng_uniform(&r) < sigmoid(scale * (z[i] - mean));
	mem_free(z);
	mem_free(hidden);
}

/* Trains by SGD over mini-batches in the order of the samples. */
static void train(struct embed_model *m)
{
	uint32_t batch = m->task.batch;
	float *x = mem_alloc((size_t)batch * m->width * sizeof *x);
	double *step = mem_alloc(((size_t)m->width + 1) * sizeof *step);
	for (uint32_t e = 0; e < m->task.epochs; e++)
		for (uint32_t first = 0; first < m->task.train; first += batch) {
			uint32_t n = m->task.train - first < batch ? m->task.train - first : batch;
			memset(step, 0, ((size_t)m->width + 1) * sizeof *step);
			for (uint32_t i = 0; i < n; i++) {
				read_input(m, NULL, first + i, x);
				double slope = sigmoid(score(m->weight, x, m->width)) - m->label[first + i];
				for (uint32_t j = 0; j < m->width; j++)
					step[j] += slope * (double)x[j];
				step[m->width] += slope;
			}
			for (uint32_t j = 0; j <= m->width; j++)
				m->weight[j] -= m->task.rate / n * step[j];
		}
	mem_free(step);
	mem_free(x);
}

struct embed_model *embed_model_train(const struct embed_table *t, const struct embed_task *task)
{
	struct embed_model *m = mem_zalloc(1, sizeof *m);
	size_t n = (size_t)task->train + task->test;
	m->table = t;
	m->task = *task;
	m->width = embed_fields(t) * embed_dim(t);
	m->feature = mem_alloc(n * embed_fields(t) * sizeof *m->feature);
	m->label = mem_alloc(n * sizeof *m->label);
	m->weight = mem_zalloc((size_t)m->width + 1, sizeof *m->weight);
	draw_samples(m);
	train(m);
	return m;
}

void embed_model_free(struct embed_model *m)
{
	if (!m)
		return;
	mem_free(m->feature);
	mem_free(m->label);
	mem_free(m->weight);
	mem_free(m);
}

struct scored {
	double z;
	bool label;
};

static int by_score(const void *a, const void *b)
{
	const struct scored *x = a, *y = b;
	return (x->z > y->z) - (x->z < y->z);
}

/* Returns the area by the rank sum of the samples with label 1 (Mann and Whitney); equal scores have the mean of their ranks. */
static double area(struct scored *s, uint32_t n)
{
	double ranks = 0, ones = 0;
	qsort(s, n, sizeof *s, by_score);
	for (uint32_t i = 0, last; i < n; i = last) {
		for (last = i; last < n && s[last].z == s[i].z; last++)
			;
		for (uint32_t k = i; k < last; k++)
			if (s[k].label) {
				ranks += 0.5 * ((double)i + 1 + last);
				ones++;
			}
	}
	return ones > 0 && ones < n ? (ranks - ones * (ones + 1) / 2) / (ones * (n - ones)) : NAN;
}

struct embed_accuracy embed_model_test(const struct embed_model *m, const struct embed_code *c)
{
	uint32_t n = m->task.test;
	double *z = mem_alloc(n * sizeof *z), loss = 0;
	struct scored *s = mem_alloc(n * sizeof *s);
	score_samples(m, c, m->weight, m->task.train, n, z);
	for (uint32_t i = 0; i < n; i++) {
		double u = m->label[m->task.train + i] ? z[i] : -z[i];
		s[i] = (struct scored){ z[i], m->label[m->task.train + i] };
		loss += u > 0 ? log1p(exp(-u)) : log1p(exp(u)) - u;
	}
	struct embed_accuracy a = { area(s, n), loss / n };
	mem_free(s);
	mem_free(z);
	return a;
}
