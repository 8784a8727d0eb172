/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "calib/fit_starts.h"

#include "base/mem.h"

#include <gsl/gsl_sort.h>
#include <math.h>
#include <string.h>

/* ---- rooflines and lines ---- */

static double least_time(const struct nls *q)
{
	double t = INFINITY;
	for (size_t i = 0; i < q->n; i++)
		t = fmin(t, exp(q->y[i]));
	return t;
}

/* Returns the 95th percentile of the observed rates, because higher rates may be outliers. */
static double high_rate(const struct nls *q, int feature)
{
	double *rate = mem_zalloc(q->n, sizeof *rate);
	for (size_t i = 0; i < q->n; i++)
		rate[i] = q->x[i][feature] / exp(q->y[i]);
	gsl_sort(rate, 1, q->n);
	double high = rate[q->n - 1 - q->n / 20];
	mem_free(rate);
	return high > 0 ? high : 1;
}

static uint32_t grid(const struct nls *q, double start[MAX_STARTS][LAW_PARAMS])
{
	static const double times[] = { 0.8, 0.2 }, rates[] = { 1.1, 2.5 }, exponents[] = { 1, 4 };
	bool is_line = q->form == FORM_LINE;
	double t = least_time(q), by_flops = high_rate(q, 0), by_bytes = high_rate(q, is_line ? 2 : 1);
	uint32_t n = 0;
	for (int i = 0; i < 2; i++)
		for (int j = 0; j < 2; j++)
			for (int k = 0; k < (is_line ? 1 : 2); k++)
				for (int e = 0; e < (is_line ? 1 : 2); e++) {
					const double roofline[] = { t * times[i], by_flops * rates[j], by_bytes * rates[k], exponents[e] };
					const double line[] = { t * times[i], by_bytes * rates[j] };
					for (uint32_t m = 0; m < (is_line ? 2u : 4u); m++)
						start[n][m] = log(is_line ? line[m] : roofline[m]);
					n++;
				}
	return n;
}

/* ---- cached ---- */

/* Makes starts of cached laws. The rate beyond the cache is that of the largest point; the cache sizes step from the second smallest
 * to the second largest point. */
static uint32_t caches(const struct nls *q, double start[MAX_STARTS][LAW_PARAMS])
{
	double t = least_time(q), small = INFINITY, large = 0, beyond = 0, near = 0;
	for (size_t i = 0; i < q->n; i++) {
		double bytes = q->x[i][1] > 0 ? q->x[i][1] : q->x[i][2], rate = bytes / exp(q->y[i]);
		small = fmin(small, bytes);
		near = fmax(near, rate);
		beyond = bytes > large ? rate : beyond;
		large = fmax(large, bytes);
	}
	for (uint32_t n = 0; n < MAX_STARTS; n++) {
		start[n][0] = log(n % 2 ? 0.2 * t : 0.8 * t);
		start[n][1] = log(near);
		start[n][2] = log(beyond);
		start[n][3] = log(small) + (n / 2 + 1) / (MAX_STARTS / 2 + 1.0) * log(large / small);
	}
	return MAX_STARTS;
}

/* ---- envelopes ---- */

struct sorted {
	const struct nls *q;
	size_t *order; /* sorted by size */
};

struct cut {
	double theta[LAW_PARAMS], loss;
};

/* Fits t + s / b to points first..end-1 by least squares of relative errors; t and b stay above 0. */
static void line_through(const struct sorted *s, size_t first, size_t end, double *theta)
{
	double a = 0, b = 0, c = 0, d = 0, e = 0, least = INFINITY;
	for (size_t i = first; i < end; i++) {
		size_t k = s->order[i];
		double t = exp(s->q->y[k]), u = 1 / t, v = s->q->x[k][2] / t;
		a += u * u;
		b += u * v;
		c += v * v;
		d += u;
		e += v;
		least = fmin(least, t);
	}
	double determinant = a * c - b * b, t0 = (d * c - e * b) / determinant, slope = (a * e - b * d) / determinant;
	if (!(determinant > 1e-9 * a * c) || !(slope > 0)) {
		t0 = d / a;
		slope = 1e-3 * t0 / fmax(1, s->q->x[s->order[end - 1]][2]);
	} else if (!(t0 > 0)) {
		t0 = 1e-2 * least;
		slope = e / c;
	}
	theta[0] = log(t0);
	theta[1] = -log(slope);
}

static double cauchy_loss(const struct nls *q, const double *theta)
{
	double sum = 0;
	for (size_t i = 0; i < q->n; i++) {
		double r = nls_model(q, theta, i, NULL) - q->y[i];
		sum += q->weight[i] * log1p(r * r / 0.01);
	}
	return sum;
}

static void keep_best(struct cut *best, uint32_t *n, const struct cut *c)
{
	uint32_t at = *n < MAX_STARTS ? (*n)++ : MAX_STARTS;
	if (at == MAX_STARTS && !(c->loss < best[MAX_STARTS - 1].loss))
		return;
	at = at == MAX_STARTS ? MAX_STARTS - 1 : at;
	for (; at > 0 && c->loss < best[at - 1].loss; at--)
		best[at] = best[at - 1];
	best[at] = *c;
}

static uint32_t cuts(const struct nls *q, double start[MAX_STARTS][LAW_PARAMS])
{
	struct cut best[MAX_STARTS];
	uint32_t n = 0;
	double *size = mem_zalloc(q->n, sizeof *size);
	struct sorted s = { q, mem_zalloc(q->n, sizeof *s.order) };
	for (size_t i = 0; i < q->n; i++)
		size[i] = q->x[i][2];
	gsl_sort_index(s.order, size, 1, q->n);
	size_t step = 1 + q->n / 48;
	for (size_t i = 2; i + 4 <= q->n; i += step)
		for (size_t k = i + 2; k + 2 <= q->n; k += step) {
			struct cut c = { { 0 }, 0 };
			line_through(&s, 0, i, c.theta);
			line_through(&s, i, k, c.theta + 2);
			line_through(&s, k, q->n, c.theta + 4);
			c.loss = cauchy_loss(q, c.theta);
			if (isfinite(c.loss))
				keep_best(best, &n, &c);
		}
	for (uint32_t i = 0; i < n; i++)
		memcpy(start[i], best[i].theta, sizeof start[i]);
	mem_free(size);
	mem_free(s.order);
	return n;
}

uint32_t fit_starts(const struct nls *q, double start[MAX_STARTS][LAW_PARAMS])
{
	return q->form == FORM_ENVELOPE ? cuts(q, start) : q->form == FORM_CACHED ? caches(q, start) : grid(q, start);
}
