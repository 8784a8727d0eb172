/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "results/stats.h"

#include "base/mem.h"

#include <gsl/gsl_sort.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/*
 * The key of a bucket is the top bits of a double: its exponent and the first SUB_BITS of its fraction. The width of a bucket
 * is at most 1/128 of its lower end, so its middle is within 1/256 = 0.39 % of every value in it. Keys need no logarithm, so
 * results do not depend on the C library.
 */
enum { SUB_BITS = 7, KEY_SHIFT = 52 - SUB_BITS, KEYS = 1 << (11 + SUB_BITS), EXACT_MAX = 1000000 };

/*
 * An exact sum as non-overlapping parts (Shewchuk, Adaptive Precision Floating-Point Arithmetic, 1997,
 * "grow expansion"). The parts add up to the sum without rounding, so the rounded total is independent of the order of
 * additions. Values of similar size need two or three parts.
 */
struct exact_sum {
	double *part;
	size_t n, cap;
};

/*
 * Adding to the parts takes several data-dependent branches, so most values go to integer bins first. Bin k holds a sum in
 * units of 2^(16k - 1075). The 53 bits of a double, shifted by the rest of its exponent, are added without rounding; a bin
 * holds the sum of 2^59 largest values. Reading the sum converts the bins to parts.
 */
enum { BIN_BITS = 4, BINS = 1 << (11 - BIN_BITS), NOT_FINITE = 2047 };
__extension__ typedef unsigned __int128 bin_sum;

struct hist {
	uint64_t n;
	double min, max;
	double *value;  /* values in order of addition; NULL above exact_max values */
	double *sorted; /* the first n_sorted values in ascending order */
	uint64_t n_sorted;
	uint32_t *index; /* index of each value; NULL: the values have no indices, or an index is too large */
	size_t cap;
	uint64_t exact_max;
	uint32_t last_index; /* the largest value */
	uint64_t *bucket;    /* KEYS counts, one per bucket; NULL while exact */
	struct binned *sum;  /* of the values that are not in value[]; NULL while exact */
};

struct binned {
	bin_sum bin[BINS];
	struct exact_sum others; /* sum of the values outside the bins: infinities */
};

static void exact_add(struct exact_sum *s, double x)
{
	size_t kept = 0;
	for (size_t i = 0; i < s->n; i++) {
		double y = s->part[i];
		if (fabs(x) < fabs(y)) {
			double t = x;
			x = y;
			y = t;
		}
		double hi = x + y, lo = y - (hi - x);
		if (lo != 0)
			s->part[kept++] = lo;
		x = hi;
	}
	MEM_GROW(s->part, kept, s->cap);
	s->part[kept++] = x;
	s->n = kept;
}

/* Returns the correctly rounded sum, like CPython's math.fsum. Parts are sorted by size. */
static double exact_total(const struct exact_sum *s)
{
	size_t i = s->n;
	if (!i)
		return 0;
	double hi = s->part[--i], lo = 0;
	while (i > 0) {
		double x = hi, y = s->part[--i];
		hi = x + y;
		lo = y - (hi - x);
		if (lo != 0)
			break;
	}
	/* hi is a tie between two doubles; the next part decides the rounding. */
	if (i > 0 && ((lo < 0 && s->part[i - 1] < 0) || (lo > 0 && s->part[i - 1] > 0))) {
		double y = lo * 2, x = hi + y;
		if (y == x - hi)
			hi = x;
	}
	return hi;
}

/* Adds value >= 0 n times. */
static inline void bin_add(struct binned *b, double value, uint64_t n)
{
	uint64_t bits;
	memcpy(&bits, &value, sizeof bits);
	unsigned exponent = (unsigned)(bits >> 52) & NOT_FINITE;
	uint64_t fraction = bits & ((UINT64_C(1) << 52) - 1);
	if (exponent == NOT_FINITE) {
		exact_add(&b->others, value);
		return;
	}
	if (exponent)
		fraction |= UINT64_C(1) << 52;
	else
		exponent = 1;
	b->bin[exponent >> BIN_BITS] += (bin_sum)fraction * n << (exponent & ((1u << BIN_BITS) - 1));
}

/* Returns the sum of the bins and of n more values. */
static double binned_total(const struct binned *binned, const double *value, uint64_t n)
{
	static const struct binned none;
	struct binned b = binned ? *binned : none;
	struct exact_sum s = { 0 };
	b.others = s;
	for (size_t i = 0; binned && i < binned->others.n; i++)
		exact_add(&s, binned->others.part[i]);
	for (uint64_t i = 0; i < n; i++)
		bin_add(&b, value[i], 1);
	for (size_t i = 0; i < b.others.n; i++)
		exact_add(&s, b.others.part[i]);
	for (int k = 0; k < BINS; k++) {
		int unit = (k << BIN_BITS) - 1075;
		bin_sum left = b.bin[k];
		for (; left; left >>= 48, unit += 48)
			exact_add(&s, ldexp((double)(uint64_t)(left & ((UINT64_C(1) << 48) - 1)), unit));
	}
	double total = exact_total(&s);
	mem_free(b.others.part);
	mem_free(s.part);
	return total;
}

static size_t key_of(double value)
{
	uint64_t bits;
	memcpy(&bits, &value, sizeof bits);
	return (size_t)(bits >> KEY_SHIFT);
}

static double middle_of(size_t key)
{
	uint64_t bits = (uint64_t)key << KEY_SHIFT | UINT64_C(1) << (KEY_SHIFT - 1);
	double value;
	memcpy(&value, &bits, sizeof value);
	return value;
}

struct hist *hist_new(void)
{
	return hist_new_exact_to(EXACT_MAX);
}

struct hist *hist_new_exact_to(uint64_t n)
{
	struct hist *h = mem_zalloc(1, sizeof *h);
	h->min = INFINITY;
	h->exact_max = n;
	return h;
}

void hist_free(struct hist *h)
{
	if (!h)
		return;
	mem_free(h->value);
	mem_free(h->sorted);
	mem_free(h->index);
	mem_free(h->bucket);
	if (h->sum)
		mem_free(h->sum->others.part);
	mem_free(h->sum);
	mem_free(h);
}

static void to_buckets(struct hist *h)
{
	h->bucket = mem_zalloc(KEYS, sizeof *h->bucket);
	h->sum = mem_zalloc(1, sizeof *h->sum);
	for (uint64_t i = 0; i < h->n; i++) {
		h->bucket[key_of(h->value[i])]++;
		bin_add(h->sum, h->value[i], 1);
	}
	mem_free(h->value);
	mem_free(h->index);
	h->value = NULL;
	h->index = NULL;
	h->cap = 0;
}

/* Makes room for values, and for their indices if they have any. */
static void grow(struct hist *h)
{
	h->cap = h->cap ? 2 * h->cap : 64;
	h->value = mem_realloc(h->value, h->cap, sizeof *h->value);
	if (h->index)
		h->index = mem_realloc(h->index, h->cap, sizeof *h->index);
}

void hist_add_n(struct hist *h, double value, uint64_t n)
{
	if (!n)
		return;
	value = value > 0 ? value : 0;
	if (!h->bucket && (h->n >= h->exact_max || n > h->exact_max - h->n))
		to_buckets(h);
	if (h->bucket) {
		h->bucket[key_of(value)] += n;
		bin_add(h->sum, value, n);
		h->n += n;
	} else {
		for (; n; n--) {
			if (h->n == h->cap)
				grow(h);
			h->value[h->n++] = value;
		}
	}
	h->min = value < h->min ? value : h->min;
	h->max = value > h->max ? value : h->max;
}

/* hist_add_n(h, value, 1), short while exact. */
static inline void add_one(struct hist *h, double value)
{
	if (h->bucket || h->n >= h->exact_max) {
		hist_add_n(h, value, 1);
		return;
	}
	value = value > 0 ? value : 0;
	if (h->n == h->cap)
		grow(h);
	h->value[h->n++] = value;
	h->min = value < h->min ? value : h->min;
	h->max = value > h->max ? value : h->max;
}

void hist_add(struct hist *h, double value)
{
	add_one(h, value);
}

void hist_add_at(struct hist *h, uint64_t index, double value)
{
	if (!h->n && !h->bucket) {
		grow(h);
		h->index = mem_alloc(h->cap * sizeof *h->index);
	}
	add_one(h, value);
	if (!h->index) /* earlier values lack theirs, or there are too many values */
		return;
	if (index > UINT32_MAX) {
		mem_free(h->index);
		h->index = NULL;
		return;
	}
	h->index[h->n - 1] = (uint32_t)index;
	if (index > h->last_index)
		h->last_index = (uint32_t)index;
}

uint64_t hist_above(const struct hist *h, double limit)
{
	uint64_t n = 0;
	for (uint64_t i = 0; !h->bucket && i < h->n; i++)
		n += h->value[i] > limit;
	for (size_t k = 0; h->bucket && k < KEYS; k++)
		n += h->bucket[k] && fmin(fmax(middle_of(k), h->min), h->max) > limit ? h->bucket[k] : 0;
	return n;
}

size_t hist_count_above(const struct hist *h, double limit, double *above, double *all)
{
	int shift = 0;
	if (!h->index)
		return 0;
	while (h->last_index >> shift >= BLOCKS_MAX)
		shift++;
	size_t n = (h->last_index >> shift) + 1;
	uint64_t count[BLOCKS_MAX]; /* values in the lower half, values above the limit in the upper half: one addition for both */
	memset(count, 0, n * sizeof *count);
	for (uint64_t i = 0; i < h->n; i++)
		count[h->index[i] >> shift] += 1 + ((uint64_t)(h->value[i] > limit) << 32);
	for (size_t k = 0; k < n; k++) {
		above[k] = (double)(count[k] >> 32);
		all[k] = (double)(count[k] & UINT32_MAX);
	}
	return n;
}

/* Counts values by index, then places each. */
double *hist_ordered(const struct hist *h, uint32_t **index, size_t *n)
{
	*index = NULL;
	*n = 0;
	if (!h->index)
		return NULL;
	uint64_t *place = mem_zalloc((size_t)h->last_index + 2, sizeof *place);
	double *value = mem_zalloc(h->n + 1, sizeof *value);
	*index = mem_zalloc(h->n + 1, sizeof **index);
	*n = h->n;
	for (uint64_t i = 0; i < h->n; i++)
		place[h->index[i] + 1]++;
	for (size_t k = 1; k <= h->last_index; k++)
		place[k] += place[k - 1];
	for (uint64_t i = 0; i < h->n; i++) {
		uint64_t at = place[h->index[i]]++;
		value[at] = h->value[i];
		(*index)[at] = h->index[i];
	}
	mem_free(place);
	return value;
}

uint64_t hist_count(const struct hist *h)
{
	return h->n;
}

double hist_mean(const struct hist *h)
{
	return h->n ? binned_total(h->sum, h->value, h->bucket ? 0 : h->n) / (double)h->n : NAN;
}

double hist_max(const struct hist *h)
{
	return h->n ? h->max : NAN;
}

enum { DIGITS = 8 };

/*
 * Sorts values >= 0 in ascending order of their bytes from `lowest` on: radix sort, lowest byte first. The bits of non-negative
 * doubles sort like their values. spare: n values. Returns the sorted array: value or spare. Inline, so that `lowest` is a constant.
 */
static inline double *sort_by_bytes(double *value, double *spare, uint64_t n, int lowest)
{
	enum { RADIX = 256 };
	uint64_t place[DIGITS][RADIX];
	memset(place[lowest], 0, (size_t)(DIGITS - lowest) * sizeof *place);
	for (uint64_t i = 0; i < n; i++) {
		uint64_t bits;
		memcpy(&bits, &value[i], sizeof bits);
#pragma GCC unroll 8
		for (int d = lowest; d < DIGITS; d++)
			place[d][bits >> 8 * d & 0xff]++;
	}
	for (int d = lowest; d < DIGITS; d++) {
		uint64_t first, at = 0;
		memcpy(&first, value, sizeof first);
		if (place[d][first >> 8 * d & 0xff] == n)
			continue; /* all values have this byte */
		for (int k = 0; k < RADIX; k++) {
			uint64_t count = place[d][k];
			place[d][k] = at;
			at += count;
		}
		for (uint64_t i = 0; i < n; i++) {
			uint64_t bits;
			memcpy(&bits, &value[i], sizeof bits);
			spare[place[d][bits >> 8 * d & 0xff]++] = value[i];
		}
		double *other = value;
		value = spare;
		spare = other;
	}
	return value;
}

/* Fast if few values are out of order. */
static void sort_by_insertion(double *value, uint64_t n)
{
	for (uint64_t i = 1; i < n; i++) {
		double x = value[i];
		uint64_t k = i;
		for (; k && x < value[k - 1]; k--)
			value[k] = value[k - 1];
		value[k] = x;
	}
}

/* Returns the value of a rank, 0..n-1. */
static double ranked(const struct hist *h, uint64_t rank)
{
	if (rank == 0)
		return h->min;
	if (rank >= h->n - 1)
		return h->max;
	if (!h->bucket)
		return h->sorted[rank];
	uint64_t below = 0;
	size_t k = key_of(h->min);
	while ((below += h->bucket[k]) <= rank)
		k++;
	return fmin(fmax(middle_of(k), h->min), h->max);
}

/* Sorts a copy, because values stay in the order of their indices. */
static void sort(struct hist *h)
{
	if (h->sorted && h->n_sorted == h->n)
		return;
	/* Below FEW values, counting bytes takes longer than comparing. Below MANY, few values differ only in the bytes below UPPER. */
	enum { FEW = 100, MANY = 1000, UPPER = 5 };
	double *value = mem_realloc(h->sorted, h->n, sizeof *value);
	memcpy(value, h->value, h->n * sizeof *h->value);
	if (h->n < FEW) {
		gsl_sort(value, 1, h->n);
		h->sorted = value;
	} else {
		double *spare = mem_alloc(h->n * sizeof *spare);
		h->sorted = h->n < MANY ? sort_by_bytes(value, spare, h->n, UPPER) : sort_by_bytes(value, spare, h->n, 0);
		if (h->n < MANY)
			sort_by_insertion(h->sorted, h->n);
		mem_free(h->sorted == value ? spare : value);
	}
	h->n_sorted = h->n;
}

double hist_quantile(struct hist *h, double p)
{
	if (!h->n || !(p >= 0 && p <= 1))
		return NAN;
	if (!h->bucket)
		sort(h);
	double at = (double)(h->n - 1) * p;
	uint64_t rank = (uint64_t)at;
	double low = ranked(h, rank), part = at - (double)rank;
	return part > 0 ? low + part * (ranked(h, rank + 1) - low) : low;
}
