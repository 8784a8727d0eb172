/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * heap.h - a binary heap in an array, least element at 0
 *
 * HEAP(name, type, context, is_before, moved) defines three functions; is_before and moved are called in place, so the compiler inlines
 * them:
 *
 *     bool is_before(context *, const type *a, const type *b)    a strict order
 *     void moved(context *, const type *x, uint32_t i)           x is at index i now; HEAP_UNTRACKED: no call
 *
 *     name_up(ctx, v, i, x)         fills the hole at i with x; x may move up
 *     name_down(ctx, v, n, i, x)    fills the hole at i with x; x may move down; n counts the hole
 *     name_place(ctx, v, n, i, x)   both
 *
 * Push: name_up(ctx, v, n++, x). Pop: take v[0], then name_down(ctx, v, n, 0, v[n]) with n one less. Build: name_down(ctx, v,
 * n, i, v[i]) for i from n/2 - 1 down to 0. The order of equal elements depends on the sequence of operations, but not on the
 * platform.
 *
 * The solver of sim/net (flow_solve.c) has its own heap. Its removal moves the hole to the bottom first (R. W. Floyd's method,
 * half of the comparisons), and a sentinel avoids the test for a missing child. This heap would order links of equal level
 * differently, which changes rounded sums.
 */
#ifndef ORR_BASE_HEAP_H
#define ORR_BASE_HEAP_H

#include <stdint.h>

#define HEAP_UNTRACKED(ctx, x, i) ((void)0)

#define HEAP(name, type, context, is_before, moved)                                                                    \
	__attribute__((unused)) static inline void name##_up(context *ctx, type *v, uint32_t i, type x)                \
	{                                                                                                              \
		(void)ctx;                                                                                             \
		for (; i && is_before(ctx, &x, &v[(i - 1) / 2]); i = (i - 1) / 2) {                                    \
			v[i] = v[(i - 1) / 2];                                                                         \
			moved(ctx, &v[i], i);                                                                          \
		}                                                                                                      \
		v[i] = x;                                                                                              \
		moved(ctx, &x, i);                                                                                     \
	}                                                                                                              \
	__attribute__((unused)) static inline void name##_down(context *ctx, type *v, uint32_t n, uint32_t i, type x)  \
	{                                                                                                              \
		(void)ctx;                                                                                             \
		for (uint32_t child; (child = 2 * i + 1) < n; i = child) {                                             \
			if (child + 1 < n && is_before(ctx, &v[child + 1], &v[child]))                                 \
				child++;                                                                               \
			if (!is_before(ctx, &v[child], &x))                                                            \
				break;                                                                                 \
			v[i] = v[child];                                                                               \
			moved(ctx, &v[i], i);                                                                          \
		}                                                                                                      \
		v[i] = x;                                                                                              \
		moved(ctx, &x, i);                                                                                     \
	}                                                                                                              \
	__attribute__((unused)) static inline void name##_place(context *ctx, type *v, uint32_t n, uint32_t i, type x) \
	{                                                                                                              \
		if (i && is_before(ctx, &x, &v[(i - 1) / 2]))                                                          \
			name##_up(ctx, v, i, x);                                                                       \
		else                                                                                                   \
			name##_down(ctx, v, n, i, x);                                                                  \
	}

#endif
