/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Images of classes, generated. A class has PROTOTYPES smooth random fields; an image is one of them, plus its own smooth
 * random field (variation within the class), plus noise per pixel. A smooth field is a sum of cosines with frequencies u, v
 * below WAVES, whose amplitudes are N(0, 1) / (1 + u^2 + v^2), scaled to a mean square of 1 over fields.
 */
#include "learn/boost.h"

#include "base/mem.h"
#include "base/rng.h"

#include <gsl/gsl_randist.h>
#include <math.h>

enum { PROTOTYPES = 3, WAVES = 5 };
#define VARIATION 0.5 /* standard deviation of the field of an image, relative to a prototype */

/* Adds `scale` times a smooth field. wave: WAVES x size values of the cosines. */
static void add_field(double *out, uint32_t size, const double *wave, double scale, struct rng *r)
{
	for (uint32_t u = 0; u < WAVES; u++)
		for (uint32_t v = 0; v < WAVES; v++) {
			double a = scale * gsl_ran_gaussian_ziggurat(rng_gsl(r), 1) / (1. + u * u + v * v);
			for (uint32_t y = 0; y < size; y++)
				for (uint32_t x = 0; x < size; x++)
					out[y * size + x] += a * wave[u * size + y] * wave[v * size + x];
		}
}

/* Returns the expected mean square of a field, over pixels. */
static double mean_square(uint32_t size, const double *wave)
{
	double square[WAVES] = { 0 }, sum = 0;
	for (uint32_t u = 0; u < WAVES; u++)
		for (uint32_t x = 0; x < size; x++)
			square[u] += wave[u * size + x] * wave[u * size + x] / size;
	for (uint32_t u = 0; u < WAVES; u++)
		for (uint32_t v = 0; v < WAVES; v++)
			sum += square[u] * square[v] / ((1. + u * u + v * v) * (1. + u * u + v * v));
	return sum;
}

static void draw(const struct boost_config *c, const double *prototype, const double *wave, double unit, struct rng *r, uint32_t rows,
	struct boost_data *d)
{
	uint32_t pixels = c->size * c->size;
	d->pixel = mem_zalloc((size_t)rows * pixels, sizeof *d->pixel);
	d->label = mem_alloc(rows * sizeof *d->label);
	for (uint32_t i = 0; i < rows; i++) {
		double *image = d->pixel + (size_t)i * pixels;
		d->label[i] = (uint32_t)rng_below(r, c->classes);
		const double *of = prototype + ((size_t)d->label[i] * PROTOTYPES + rng_below(r, PROTOTYPES)) * pixels;
		add_field(image, c->size, wave, VARIATION * unit, r);
		for (uint32_t p = 0; p < pixels; p++)
			image[p] += of[p] + c->noise * gsl_ran_gaussian_ziggurat(rng_gsl(r), 1);
	}
}

void boost_data_new(const struct boost_config *c, struct boost_data *train, struct boost_data *test)
{
	uint32_t pixels = c->size * c->size, n = c->classes * PROTOTYPES;
	double *wave = mem_alloc((size_t)WAVES * c->size * sizeof *wave);
	double *prototype = mem_zalloc((size_t)n * pixels, sizeof *prototype);
	for (uint32_t u = 0; u < WAVES; u++)
		for (uint32_t x = 0; x < c->size; x++)
			wave[u * c->size + x] = cos(3.14159265358979323846 * u * (x + 0.5) / c->size);
	double unit = 1 / sqrt(mean_square(c->size, wave));
	struct rng r;
	rng_init(&r, c->data_seed, "boost.prototypes", 0);
	for (uint32_t k = 0; k < n; k++)
		add_field(prototype + (size_t)k * pixels, c->size, wave, unit, &r);
	rng_init(&r, c->data_seed, "boost.training", 0);
	draw(c, prototype, wave, unit, &r, c->rows, train);
	rng_init(&r, c->data_seed, "boost.test", 0);
	draw(c, prototype, wave, unit, &r, c->tested, test);
	mem_free(prototype);
	mem_free(wave);
}

void boost_data_free(struct boost_data *d)
{
	mem_free(d->pixel);
	mem_free(d->label);
}

/* Returns the length of the overlap of [a, a + 1] and [b, b + w]. */
static double overlap(double a, double b, double w)
{
	double low = a > b ? a : b, high = a + 1 < b + w ? a + 1 : b + w;
	return high > low ? high - low : 0;
}

void boost_shrink(const double *image, uint32_t from, uint32_t to, double *out)
{
	double w = (double)from / to;
	for (uint32_t y = 0; y < to; y++)
		for (uint32_t x = 0; x < to; x++) {
			double sum = 0;
			for (uint32_t j = (uint32_t)(y * w); j < from && j < (y + 1) * w; j++)
				for (uint32_t i = (uint32_t)(x * w); i < from && i < (x + 1) * w; i++)
					sum += image[j * from + i] * overlap(j, y * w, w) * overlap(i, x * w, w);
			out[y * to + x] = sum / (w * w);
		}
}
