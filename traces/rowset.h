/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * rowset.h - the store of a trace that is replayed: rows of a file in memory, or a generator
 *
 * struct jobset, struct reqset and struct availset each begin with a struct rowset. Rows of a file are sorted by time,
 * in file order on ties, and shared by any number of threads. A generator keeps none: each cursor draws them again.
 *
 * Invariant: the records of every kind begin with a struct row_key.
 */
#ifndef ORR_TRACES_ROWSET_H
#define ORR_TRACES_ROWSET_H

#include "traces/trace.h"

#include "base/bytes.h"

struct generator;

struct row_key {
	uint64_t number; /* number of the row: 0, 1, .. in order */
	int64_t t_ns;
};

struct rowset {
	size_t row_size;
	char *source;
	const char *format;
	struct strtab *strings;
	char hash[BYTES_HASH_SIZE];
	void *row; /* the present row of a file */
	uint64_t count, left_out, repaired;
	char *first_wrong; /* message of the first row that was repaired; NULL: none */
	size_t cap;
	bool is_loaded;
	/* Zones of instances in order of first use, and a flag by number of text. */
	uint32_t *listed, n_listed, cap_listed;
	bool *is_listed;
	uint32_t n_flags;
	const struct generator *generator;
	struct orr_args *args;
	void *plan;
	uint64_t seed;
};

void rowset_init(struct rowset *s, size_t row_size, const char *source);
/* Frees the memory that the set owns, but not the set itself. */
void rowset_clear(struct rowset *s);

/* Returns the number of a text; 0 for an empty one. */
uint32_t rowset_text(struct rowset *s, const char *text, size_t n);
/* Returns the number of the text in the list, to which it adds the text. */
uint32_t rowset_list(struct rowset *s, const char *text, size_t n);
/* Adds "a|b|c" to the list, at most `most` texts; returns their number, 0 on error. "" is one empty text. */
uint32_t rowset_list_all(struct rowset *s, const char *text, uint32_t number[], uint32_t most, const char *where, struct orr_error *err);
void rowset_list_number(struct rowset *s, uint32_t number);

/* ---- files ---- */

/* Returns memory for another row, uninitialised. */
void *rowset_add(struct rowset *s);
/* Copies format, hash and number of skipped rows from the trace, after its last row. */
void rowset_loaded(struct rowset *s, const struct trace *t);
/* Sorts by time and numbers the rows. is_absolute: times are made relative to the first row. */
void rowset_sort(struct rowset *s, bool is_absolute);
/* Compares by time, then number; for qsort(). */
int row_key_compare(const void *a, const void *b);

/* ---- generators ---- */

/* Makes the plan, and the hash of parameters and seed. Owns args, even on error. */
int rowset_generate(struct rowset *s, const struct generator *g, struct orr_args *args, uint64_t seed, struct orr_error *err);
/* Returns the state of a cursor; NULL for a file. */
void *rowset_start(const struct rowset *s, uint64_t index);
void rowset_stop(const struct rowset *s, void *state);

/* The accessors of every kind of set. */
#define ROWSET_ACCESSORS(set, record)                                           \
	uint64_t set##_count(const struct set *s)                               \
	{                                                                       \
		return s->rows.count;                                           \
	}                                                                       \
	bool set##_is_loaded(const struct set *s)                               \
	{                                                                       \
		return s->rows.is_loaded;                                       \
	}                                                                       \
	const struct record *set##_at(const struct set *s, uint64_t i)          \
	{                                                                       \
		const struct record *row = s->rows.row;                         \
		return s->rows.is_loaded && i < s->rows.count ? &row[i] : NULL; \
	}                                                                       \
	const struct strtab *set##_strings(const struct set *s)                 \
	{                                                                       \
		return s->rows.strings;                                         \
	}                                                                       \
	const char *set##_source(const struct set *s)                           \
	{                                                                       \
		return s->rows.source;                                          \
	}                                                                       \
	const char *set##_format(const struct set *s)                           \
	{                                                                       \
		return s->rows.format;                                          \
	}                                                                       \
	const char *set##_hash(const struct set *s)                             \
	{                                                                       \
		return s->rows.hash;                                            \
	}

#endif
