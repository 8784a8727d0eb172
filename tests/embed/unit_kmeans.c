/* SPDX-License-Identifier: GPL-3.0-or-later */
/* k-means compared with a simple second implementation; the results are the same bits for any number of threads. */
#include "base/mem.h"
#include "embed/kmeans.h"
#include "tests/tap.h"

#include <gsl/gsl_randist.h>
#include <stdint.h>
#include <stdlib.h>
#ifdef _OPENMP
#include <omp.h>
#endif

static float *random_rows(uint32_t n, uint32_t dim, uint64_t seed)
{
	struct rng r;
	float *x = kmeans_rows_new(n, kmeans_stride(dim));
	rng_init(&r, seed, "test", 0);
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t j = 0; j < dim; j++)
			x[(size_t)i * kmeans_stride(dim) + j] = (float)gsl_ran_gaussian_ziggurat(rng_gsl(&r), 1);
	return x;
}

static double distance(const float *x, const float *y, uint32_t dim)
{
	double sum = 0;
	for (uint32_t j = 0; j < dim; j++)
		sum += ((double)x[j] - y[j]) * ((double)x[j] - y[j]);
	return sum;
}

/* Compares with the nearest centroid by distances in double precision. Single precision may choose another centroid only if its
 * distance is equal within rounding. */
static void nearest(void)
{
	static const struct {
		uint32_t n, k, dim;
	} cases[] = { { 1, 1, 1 }, { 100, 7, 3 }, { 1000, 100, 32 }, { 391, 17, 33 }, { 50, 50, 16 } };
	for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
		uint32_t n = cases[c].n, k = cases[c].k, dim = cases[c].dim, stride = kmeans_stride(dim), wrong = 0;
		float *x = random_rows(n, dim, c), *centroid = random_rows(k, dim, c + 100);
		uint32_t *id = mem_alloc(n * sizeof *id);
		struct kmeans_points p = { x, n, dim, stride, NULL };
		struct kmeans_work work = { 0 };
		kmeans_assign(&p, k, centroid, id, &work);
		for (uint32_t i = 0; i < n; i++) {
			double least = INFINITY, got = distance(x + (size_t)i * stride, centroid + (size_t)id[i] * stride, dim);
			for (uint32_t j = 0; j < k; j++)
				least = fmin(least, distance(x + (size_t)i * stride, centroid + (size_t)j * stride, dim));
			wrong += id[i] >= k || got > least * (1 + 1e-5) + 1e-5;
		}
		ok(!wrong, "%u rows, %u centroids, %u dimensions: each row has its nearest centroid", n, k, dim);
		ok(work.assign == (uint64_t)n * k * dim && !work.start, "n k dim multiply-adds are counted");
		mem_free(id);
		kmeans_rows_free(centroid);
		kmeans_rows_free(x);
	}
}

/* Of equal centroids, the first is taken, also across blocks of lanes. */
static void ties(void)
{
	uint32_t dim = 8, stride = kmeans_stride(dim), k = 40, id[3];
	float *x = random_rows(3, dim, 1), *centroid = kmeans_rows_new(k, stride);
	for (uint32_t c = 0; c < k; c++)
		for (uint32_t j = 0; j < dim; j++)
			centroid[(size_t)c * stride + j] = c < 5 ? 100 : 1;
	struct kmeans_points p = { x, 3, dim, stride, NULL };
	struct kmeans_work work = { 0 };
	kmeans_assign(&p, k, centroid, id, &work);
	ok(id[0] == 5 && id[1] == 5 && id[2] == 5, "of equal centroids, the first is nearest");
	kmeans_rows_free(centroid);
	kmeans_rows_free(x);
}

static void means(void)
{
	uint32_t dim = 5, stride = kmeans_stride(dim), k = 4, n = 200, *id = mem_alloc(n * sizeof *id);
	float *x = random_rows(n, dim, 9), *centroid = random_rows(k, dim, 10);
	float kept = centroid[3 * stride];
	double *weight = mem_alloc(n * sizeof *weight), worst = 0;
	for (uint32_t i = 0; i < n; i++) {
		id[i] = i * 7 % 3; /* centroid 3 has no rows */
		weight[i] = 1.0 / (i + 1);
	}
	struct kmeans_points p = { x, n, dim, stride, weight };
	kmeans_move(&p, k, id, centroid);
	for (uint32_t c = 0; c < 3; c++)
		for (uint32_t j = 0; j < dim; j++) {
			double sum = 0, total = 0;
			for (uint32_t i = 0; i < n; i++)
				if (id[i] == c) {
					sum += weight[i] * (double)x[(size_t)i * stride + j];
					total += weight[i];
				}
			worst = fmax(worst, fabs(sum / total - (double)centroid[(size_t)c * stride + j]));
		}
	ok(worst < 1e-6, "centroids move to the weighted means");
	ok(centroid[3 * stride] == kept, "a centroid without rows stays");
	mem_free(weight);
	mem_free(id);
	kmeans_rows_free(centroid);
	kmeans_rows_free(x);
}

/* Tests the choice of the starting centres on four points of a line: 0, 1, 3 and 6. The first centre is uniform. If it is 0, each of
 * the 2 candidates for the second is 1, 3 or 6 with probability 1/46, 9/46 and 36/46. With these candidates, the sums of squared
 * distances are 29, 10 and 10. Of equal sums the first candidate wins, so 1 is the second centre only if both candidates are 1. */
static void start(void)
{
	uint32_t stride = kmeans_stride(1), runs = 40000, counted = 0, three = 0, one = 0;
	float *x = kmeans_rows_new(4, stride), *centroid = kmeans_rows_new(2, stride);
	x[stride] = 1;
	x[2 * stride] = 3;
	x[3 * stride] = 6;
	struct kmeans_points p = { x, 4, 1, stride, NULL };
	struct rng r;
	rng_init(&r, 3, "test", 0);
	for (uint32_t i = 0; i < runs; i++) {
		struct kmeans_work work = { 0 };
		kmeans_start(&p, 2, &r, centroid, &work);
		if (centroid[0] != 0)
			continue;
		counted++;
		three += centroid[stride] == 3;
		one += centroid[stride] == 1;
	}
	/* The second centre is 3 if the first candidate is 3, or if the candidates are 1 and 3 in this order. */
	double want = 9. / 46 + 1. / 46 * 9 / 46, share = (double)three / counted, error = sqrt(want * (1 - want) / counted);
	ok(fabs(share - want) < 4 * error, "the best of two candidates is the second centre (%.4f of %.4f)", share, want);
	ok(one < 0.002 * counted, "the point 1 is taken only if both candidates are 1 (%u of %u)", one, counted);
	ok(fabs((double)counted / runs - 0.25) < 4 * sqrt(3. / 16 / runs), "the first centre is uniform");
	kmeans_rows_free(centroid);
	kmeans_rows_free(x);
}

/* Tests starting centres among so many rows that their weights are summed in several parts (of 1024 rows): three rows have the weights 1, 1
 * and 2, the others 0. Then rows that are all equal, so that the distances of all candidates are 0. */
static void many_rows(void)
{
	enum { N = 3000, RUNS = 2000 };
	static const uint32_t row[] = { 5, 1500, 2500 };
	static const double share[] = { 0.25, 0.25, 0.5 };
	uint32_t stride = kmeans_stride(1), taken[3] = { 0 }, others = 0;
	float *x = kmeans_rows_new(N, stride), *centroid = kmeans_rows_new(4, stride);
	double *weight = mem_zalloc(N, sizeof *weight);
	struct rng r;
	rng_init(&r, 5, "test", 0);
	for (uint32_t i = 0; i < N; i++)
		x[(size_t)i * stride] = (float)i;
	weight[5] = weight[1500] = 1;
	weight[2500] = 2;
	struct kmeans_points p = { x, N, 1, stride, weight };
	struct kmeans_work work = { 0 };
	for (uint32_t i = 0; i < RUNS; i++) {
		kmeans_start(&p, 1, &r, centroid, &work);
		others++;
		for (int k = 0; k < 3; k++)
			if (centroid[0] == (float)row[k]) {
				taken[k]++;
				others--;
			}
	}
	ok(!others, "no row without weight is a starting centre");
	for (int k = 0; k < 3; k++)
		ok(fabs((double)taken[k] / RUNS - share[k]) < 4 * sqrt(share[k] * (1 - share[k]) / RUNS),
			"row %u of %u is the first centre by its weight (%u of %u)", row[k], N, taken[k], RUNS);
	for (uint32_t i = 0; i < N; i++)
		x[(size_t)i * stride] = 7;
	p.weight = NULL;
	kmeans_start(&p, 4, &r, centroid, &work);
	ok(centroid[0] == 7 && centroid[stride] == 7 && centroid[2 * stride] == 7 && centroid[3 * stride] == 7,
		"equal rows give equal centroids");
	mem_free(weight);
	kmeans_rows_free(centroid);
	kmeans_rows_free(x);
}

/* Tests that each iteration lowers the sum of squared distances, down to the planted optimum if the clusters are far apart. */
static void run(void)
{
	uint32_t n = 600, k = 6, dim = 16, stride = kmeans_stride(dim), *id = mem_alloc(n * sizeof *id);
	float *noise = random_rows(n, dim, 4), *centre = random_rows(k, dim, 5), *centroid = kmeans_rows_new(k, stride);
	float *x = kmeans_rows_new(n, stride);
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t j = 0; j < dim; j++)
			x[(size_t)i * stride + j] = 10 * centre[(size_t)(i % k) * stride + j] + 0.1f * noise[(size_t)i * stride + j];
	struct kmeans_points p = { x, n, dim, stride, NULL };
	struct kmeans_work work = { 0 };
	struct rng r;
	rng_init(&r, 8, "test", 0);
	ok(kmeans_run(&p, k, 10, &r, centroid, id, &work, NULL), "a run that is not stopped returns true");
	uint32_t wrong = 0;
	for (uint32_t i = 0; i < n; i++)
		wrong += id[i] != id[i % k];
	for (uint32_t a = 0; a < k; a++)
		for (uint32_t b = 0; b < a; b++)
			wrong += id[a] == id[b];
	ok(!wrong, "planted clusters are found");
	ok(work.assign == 10 * (uint64_t)n * k * dim && work.start == (uint64_t)n * dim * (k + (k - 1) * 3),
		"work: I n k dim; the start: n dim per centroid and for each of 3 candidates");
	volatile sig_atomic_t is_stopped = 1;
	ok(!kmeans_run(&p, k, 10, &r, centroid, id, &work, &is_stopped), "a run that is stopped returns false");
	mem_free(id);
	kmeans_rows_free(x);
	kmeans_rows_free(centroid);
	kmeans_rows_free(centre);
	kmeans_rows_free(noise);
}

static void threads(void)
{
#ifdef _OPENMP
	/* The number of rows is large enough that several threads compute starting centres and means. */
	uint32_t n = 70000, k = 20, dim = 20, stride = kmeans_stride(dim);
	float *x = random_rows(n, dim, 6), *one = NULL;
	bool is_same = true;
	for (int t = 1; t <= 3; t++) {
		uint32_t *id = mem_alloc(n * sizeof *id);
		float *centroid = kmeans_rows_new(k, stride);
		struct kmeans_points p = { x, n, dim, stride, NULL };
		struct kmeans_work work = { 0 };
		struct rng r;
		rng_init(&r, 8, "test", 0);
		omp_set_num_threads(t);
		kmeans_run(&p, k, 5, &r, centroid, id, &work, NULL);
		is_same = is_same && (!one || !memcmp(one, centroid, (size_t)k * stride * sizeof *one));
		if (one)
			kmeans_rows_free(centroid);
		else
			one = centroid;
		mem_free(id);
	}
	ok(is_same, "1, 2 and 3 threads give the same bits");
	kmeans_rows_free(one);
	kmeans_rows_free(x);
#else
	skip(1, "no OpenMP in this build");
#endif
}

int main(void)
{
	nearest();
	ties();
	means();
	start();
	many_rows();
	run();
	threads();
	return done();
}
