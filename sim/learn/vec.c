/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "learn/vec.h"

#include "base/mem.h"

#include <assert.h>
#include <string.h>

void vec_pool_init(struct vec_pool *p, size_t dim)
{
	*p = (struct vec_pool){ .dim = dim };
}

void vec_pool_free(struct vec_pool *p)
{
	assert(!p->in_use);
	for (int i = 0; i < VEC_CLASSES; i++)
		while (p->free[i]) {
			struct vec *v = p->free[i];
			p->free[i] = v->next_free;
			mem_free(v);
		}
}

static uint16_t class_of(const struct vec_pool *p, size_t n)
{
	if (n == p->dim)
		return 0;
	uint16_t c = 1;
	while (((size_t)1 << c) < n)
		c++;
	return c;
}

struct vec *vec_new(struct vec_pool *p, size_t n)
{
	uint16_t c = class_of(p, n);
	struct vec *v = p->free[c];
	if (v) {
		p->free[c] = v->next_free;
	} else {
		size_t room = c ? (size_t)1 << c : n;
		v = mem_alloc(sizeof *v + room * sizeof v->v[0]);
	}
	p->in_use++;
	v->refs = 1;
	v->size_class = c;
	v->is_pending = false;
	v->next_free = NULL;
	return v;
}

void vec_unref(struct vec_pool *p, struct vec *v)
{
	if (!v || --v->refs)
		return;
	v->next_free = p->free[v->size_class];
	p->free[v->size_class] = v;
	p->in_use--;
}

double *vec_writable(struct vec_pool *p, struct vec **v, bool keep)
{
	if ((*v)->refs > 1) {
		struct vec *copy = vec_new(p, p->dim);
		if (keep)
			memcpy(copy->v, (*v)->v, p->dim * sizeof copy->v[0]);
		vec_unref(p, *v);
		*v = copy;
	}
	return (*v)->v;
}

/* Adds in blocks, so that the sum stays in the cache. */
void vec_sum(double *out, const double *const *a, size_t m, double scale, size_t n)
{
	enum { BLOCK = 512, PARALLEL = 1 << 18 };
	size_t blocks = (n + BLOCK - 1) / BLOCK;
#pragma omp parallel for schedule(static) if (n * m > PARALLEL)
	for (size_t b = 0; b < blocks; b++) {
		size_t lo = b * BLOCK, len = n - lo < BLOCK ? n - lo : BLOCK;
		double *o = out + lo;
		if (m == 1) {
			for (size_t i = 0; i < len; i++)
				o[i] = scale * a[0][lo + i];
			continue;
		}
		vec_axpy(o, a[0] + lo, 1, a[1] + lo, len);
		for (size_t k = 2; k < m; k++)
			vec_axpy(o, o, 1, a[k] + lo, len);
		if (scale != 1)
			for (size_t i = 0; i < len; i++)
				o[i] *= scale;
	}
}
