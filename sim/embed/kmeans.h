/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * kmeans.h - k-means clustering of vectors of floats
 *
 * Initialisation: greedy k-means++ (D. Arthur and S. Vassilvitskii, "k-means++: the advantages of careful seeding", SODA 2007,
 * sections 2 and 7): each centroid is the one of 2 + floor(ln k) candidates, drawn by squared distance, that gives the smallest
 * sum. Then a fixed number of iterations of S. P. Lloyd, "Least squares quantization in PCM", IEEE Trans. Information Theory
 * 28(2), 1982: each assigns every vector to its nearest centroid and moves every centroid to the mean of its vectors. A
 * centroid without vectors does not move. With weights, means and the initialisation are weighted.
 *
 * No distance is pruned, so the number of multiply-adds is a formula: n k dim per assignment. The nearest centroid is the one
 * with the smallest |c|^2 / 2 - x . c in single precision, summed over the dimensions in order; ties go to the first. Results are
 * the same bits for any number of threads and any processor.
 *
 * Vectors are rows of `stride` floats, a multiple of SIMD_LANES; those after dim are 0. Rows are aligned to 64 bytes.
 */
#ifndef ORR_EMBED_KMEANS_H
#define ORR_EMBED_KMEANS_H

#include "base/rng.h"

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

enum { SIMD_LANES = 16 }; /* lanes of sums and blocks: the same for every processor, so that results are */

struct kmeans_points {
	const float *x; /* n rows */
	size_t n;
	uint32_t dim, stride;
	const double *weight; /* weights by row, at least 0, not all 0; NULL: all 1 */
};

/* Multiply-adds done. */
struct kmeans_work {
	uint64_t start;  /* distances of the initialisation: n dim per centroid and per candidate */
	uint64_t assign; /* assignments: n k dim each */
};

/* Returns aligned rows of zeros, to be freed by kmeans_rows_free(). */
float *kmeans_rows_new(size_t n, uint32_t stride);
void kmeans_rows_free(float *x);
uint32_t kmeans_stride(uint32_t dim);

/* Sets the k rows of centroid by the initialisation. k is from 1 to n. If fewer than k vectors differ, some centroids are equal. */
void kmeans_start(const struct kmeans_points *p, uint32_t k, struct rng *r, float *centroid, struct kmeans_work *work);
/* Sets id[i] to the centroid nearest to row i. */
void kmeans_assign(const struct kmeans_points *p, uint32_t k, const float *centroid, uint32_t *id, struct kmeans_work *work);
/* Moves the centroids to the means of their vectors. */
void kmeans_move(const struct kmeans_points *p, uint32_t k, const uint32_t *id, float *centroid);

/* Runs initialisation and iterations. id holds the last assignment, and the centroids are its means. Stops when *is_stopped, if not
 * NULL, becomes true; then it returns false and the results are undefined. */
bool kmeans_run(const struct kmeans_points *p, uint32_t k, uint32_t iterations, struct rng *r, float *centroid, uint32_t *id,
	struct kmeans_work *work, const volatile sig_atomic_t *is_stopped);

#endif
