/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * vec.h - reference-counted vectors with copy on write, and sums in a fixed order
 *
 * vec_ref() takes a snapshot without copying. vec_writable() makes a vector writable and copies it only if it is shared.
 * Freed vectors return to their pool.
 *
 * The code fixes the order of every sum (eight lanes, then a tree) for any width of SIMD; -std=c11 forbids fusing multiply
 * and add.
 */
#ifndef ORR_LEARN_VEC_H
#define ORR_LEARN_VEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct vec {
	uint32_t refs;
	uint16_t size_class;
	bool is_pending; /* not computed yet (replica.c) */
	struct vec *next_free;
	double v[];
};

enum { VEC_CLASSES = 40 };
struct vec_pool {
	struct vec *free[VEC_CLASSES]; /* free vectors of 2^class numbers; class 0: vectors of the pool's dimension */
	size_t dim;
	size_t in_use;
};

void vec_pool_init(struct vec_pool *p, size_t dim);
void vec_pool_free(struct vec_pool *p);            /* all vectors must be unreferenced */
struct vec *vec_new(struct vec_pool *p, size_t n); /* uninitialised; one reference */
void vec_unref(struct vec_pool *p, struct vec *v); /* NULL is allowed */
/* Returns *v, copied first if it is shared (keep: with its contents). Whole vectors only. */
double *vec_writable(struct vec_pool *p, struct vec **v, bool keep);

static inline struct vec *vec_ref(struct vec *v)
{
	v->refs++;
	return v;
}

/* Two numbers, the vector width of every x86-64. The compiler splits wider vectors, which are then three times slower. */
typedef double vec_pair __attribute__((vector_size(16), aligned(8), may_alias));
#define VEC_PAIR(p) (*(vec_pair *)(p))
#define VEC_CONST_PAIR(p) (*(const vec_pair *)(p))

/* Returns the scalar product of a and b. */
static inline double vec_dot(const double *a, const double *b, size_t n)
{
	vec_pair s = { 0 }, t = { 0 }, u = { 0 }, w = { 0 };
	size_t whole = n & ~(size_t)7;
	for (size_t i = 0; i < whole; i += 8) {
		s += VEC_CONST_PAIR(a + i) * VEC_CONST_PAIR(b + i);
		t += VEC_CONST_PAIR(a + i + 2) * VEC_CONST_PAIR(b + i + 2);
		u += VEC_CONST_PAIR(a + i + 4) * VEC_CONST_PAIR(b + i + 4);
		w += VEC_CONST_PAIR(a + i + 6) * VEC_CONST_PAIR(b + i + 6);
	}
	s = (s + u) + (t + w);
	double tail = 0;
	for (size_t i = whole; i < n; i++)
		tail += a[i] * b[i];
	return s[0] + s[1] + tail;
}

/* Sets out = y + c a; out may be y. */
static inline void vec_axpy(double *out, const double *y, double c, const double *a, size_t n)
{
	vec_pair cs = { c, c };
	size_t whole = n & ~(size_t)3;
	for (size_t i = 0; i < whole; i += 4) {
		vec_pair s = VEC_CONST_PAIR(y + i) + cs * VEC_CONST_PAIR(a + i);
		vec_pair t = VEC_CONST_PAIR(y + i + 2) + cs * VEC_CONST_PAIR(a + i + 2);
		VEC_PAIR(out + i) = s;
		VEC_PAIR(out + i + 2) = t;
	}
	for (size_t i = whole; i < n; i++)
		out[i] = y[i] + c * a[i];
}

/* Sets out[0..n) = scale * sum of m vectors, in order. */
void vec_sum(double *out, const double *const *a, size_t m, double scale, size_t n);

#endif
