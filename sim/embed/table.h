/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * table.h - embedding tables: fields, features with frequencies, vectors
 *
 * A field is an attribute of a user or an item. Each sample has one feature of each field, so the frequencies of a field sum to
 * 1. The features of a field are in descending order of frequency; features of equal frequency keep the order of the file.
 *
 * Generated tables: fields of equal size (the first ones have one feature more if the division has a remainder), and
 * frequencies proportional to rank^-zipf. Each field has `clusters` centres from N(0, I); each vector is a centre, drawn
 * uniformly, plus noise N(0, noise^2 I). Without clusters, vectors are N(0, I). A vector depends on (seed, field, rank) only,
 * so it is redrawn at every read unless the table is held in memory.
 *
 * A table is immutable except for embed_table_hold(), so threads may share it.
 */
#ifndef ORR_EMBED_TABLE_H
#define ORR_EMBED_TABLE_H

#include <orrery/param.h>

struct embed_shape {
	uint64_t features;
	uint32_t fields, dim;
	uint32_t clusters; /* number of clusters per field; 0: vectors have no clusters */
	double zipf, noise;
	uint64_t seed;
	bool is_held; /* vectors are stored in memory: features x dim x 4 bytes */
};

/* Parameters of a generated table. */
extern const struct orr_param embed_shape_params[];
/* Reads the parameters. Fails if there are more fields than features, or too many features for a field. */
int embed_shape_read(struct embed_shape *s, const struct orr_args *args, struct orr_error *err);

struct embed_table;

struct embed_table *embed_table_generate(const struct embed_shape *s);
/*
 * Keeps the vectors of a generated table in memory until the same number of calls of embed_table_release(). No thread may read
 * the table during the first call and the last release.
 */
void embed_table_hold(struct embed_table *t);
void embed_table_release(struct embed_table *t);
/*
 * Reads a CSV file with the columns field, feature, frequency and vector (numbers separated by blanks); rows in any order.
 * Frequencies are at least 0, not all 0 in a field, and are divided by their sum. Returns NULL on error, with file and line in
 * the message.
 */
struct embed_table *embed_table_read(const char *path, struct orr_error *err);
void embed_table_free(struct embed_table *t);

/* Returns the shape of a generated table; NULL if the table is from a file. */
const struct embed_shape *embed_shape_of(const struct embed_table *t);
/* Returns the SHA-256 of the table's source: the file, or the shape without is_held. */
const char *embed_table_hash(const struct embed_table *t);
uint32_t embed_fields(const struct embed_table *t);
uint32_t embed_dim(const struct embed_table *t);
uint64_t embed_features(const struct embed_table *t);
uint32_t embed_field_features(const struct embed_table *t, uint32_t field);
/* Returns the frequencies of a field's features, descending; their sum is 1. Owned by the table. */
const double *embed_frequencies(const struct embed_table *t, uint32_t field);
/* Returns the sums of the frequencies up to and including each feature. */
const double *embed_cumulated(const struct embed_table *t, uint32_t field);
/* Copies the vectors of `n` features from `first` on to rows of `stride` floats; values after dim stay unchanged. */
void embed_vectors(const struct embed_table *t, uint32_t field, uint32_t first, uint32_t n, uint32_t stride, float *out);
/* Return names as in the file; NULL for generated tables, whose names are the numbers. */
const char *embed_field_name(const struct embed_table *t, uint32_t field);
const char *embed_feature_name(const struct embed_table *t, uint32_t field, uint32_t feature);

/* Returns the smallest number of features, at least 1, whose frequencies sum to `mass` or more. */
uint32_t embed_head_by_mass(const struct embed_table *t, uint32_t field, double mass);

#endif
