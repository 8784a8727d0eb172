/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * code.h - compressed embedding tables
 *
 * A code replaces the vectors of a table by fewer bytes. Its kinds, with the bytes of a field of n features:
 *
 *	shared     k vectors and a map from feature to vector: 4 k dim + n id_bytes. Clustering within fields: X. Wu et al.,
 *	           "Saec: similarity-aware embedding compression in recommendation systems", APSys 2020
 *	hashed     k vectors, feature i has vector hash(i) mod k: 4 k dim. K. Weinberger et al., "Feature hashing for large
 *	           scale multitask learning", ICML 2009. A shared vector is the mean of its features, weighted by frequency
 *	rounded    values of 8, 16 or 32 bits: n dim + 4 n (a scale per vector), 2 n dim (IEEE half precision), or 4 n dim (unchanged)
 *	product    m parts of dim / m values, each one of 256 vectors of its part: n m + 1024 dim. H. Jegou, M. Douze and
 *	           C. Schmid, "Product quantization for nearest neighbor search", IEEE TPAMI 33(1), 2011
 *
 * Fields are independent, so they are compressed in parallel; the result does not depend on the number of threads.
 */
#ifndef ORR_EMBED_CODE_H
#define ORR_EMBED_CODE_H

#include "embed/kmeans.h"
#include "embed/table.h"

enum embed_method { EMBED_SHARED, EMBED_HASHED, EMBED_ROUNDED, EMBED_PRODUCT };

struct embed_options {
	enum embed_method method;
	double reduction;    /* shared, hashed: number of features per vector; k = ceil(n / reduction) */
	double head_share;   /* shared: clustered share of a field's features, the most frequent ones; at least k features */
	double head_mass;    /* shared: clusters the fewest features whose frequencies sum to this value; NAN: head_share applies */
	uint32_t iterations; /* shared, product: number of k-means iterations */
	bool is_weighted;    /* shared: k-means is weighted by frequency */
	uint32_t id_bytes;   /* shared: bytes of an entry of the map, 1 to 4 */
	uint32_t bits;       /* rounded: bits of a value, 8, 16 or 32 */
	uint32_t parts;      /* product: m, a divisor of dim */
	uint64_t seed;       /* seed of k-means */
	const volatile sig_atomic_t *is_stopped; /* flag that makes the call fail once it is true; may be NULL */
	/* Called after each completed field, by any thread, one call at a time; may be NULL. */
	void (*progress)(void *ctx, uint32_t done, uint32_t fields);
	void *ctx;
};

struct embed_code;

/* Compresses a table. Returns NULL on error: a field needs more ids than id_bytes hold, parts does not divide dim, or is_stopped. */
struct embed_code *embed_compress(const struct embed_table *t, const struct embed_options *o, struct orr_error *err);
void embed_code_free(struct embed_code *c);

/* Returns the number of stored vectors (rounded: all). */
uint64_t embed_code_vectors(const struct embed_code *c);
double embed_code_bytes(const struct embed_code *c);
/* Returns the bytes that are read for the vector of one feature: of the map, of the vector or its parts. */
double embed_code_lookup_bytes(const struct embed_code *c);
/* Returns the bytes of a table without compression: 4 per value. */
double embed_table_bytes(const struct embed_table *t);
/* Returns the map of a field (shared), n ids; NULL for other methods. */
const uint32_t *embed_code_map(const struct embed_code *c, uint32_t field);
/* Returns the k x stride codebook of a field (shared, hashed); NULL for other methods. */
const float *embed_code_book(const struct embed_code *c, uint32_t field, uint32_t *k, uint32_t *stride);

/* Numbers of multiply-adds: assignments while clustering (I M K dim per field), the last pass over all features (N K dim), and
 * distances in the initialisation. */
struct embed_work {
	uint64_t cluster, last_pass, start;
};
struct embed_work embed_code_work(const struct embed_code *c);
/* Returns the number of clustered features. */
uint64_t embed_code_head(const struct embed_code *c);

/* Replaces n vectors (rows of stride floats) by those of the code, for the features from `first` on. */
void embed_decode(const struct embed_code *c, uint32_t field, uint32_t first, uint32_t n, uint32_t stride, float *row);

#endif
