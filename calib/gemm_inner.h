/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * gemm_inner.h - the inner loop of cpu_gemm.c, included once per instruction set
 *
 * INNER_NAME names the function, INNER_TARGET is its attribute, INNER_WIDTH is the number of lanes of a register: 4, 8 or 16, and
 * INNER_ADD(sum, x, y) returns sum + x y. Vectors have this width, because GCC keeps wider ones in memory.
 */
#define JOIN_TEXT(a, b) a##b
#define JOIN(a, b) JOIN_TEXT(a, b)
#define VEC JOIN(vec_, INNER_NAME)

typedef float VEC __attribute__((vector_size(INNER_WIDTH * sizeof(float)), aligned(4), may_alias));

/* Two registers per row of a let two loads of b serve 12 sums. */
#if INNER_WIDTH == 16
#define SECOND(...)
#define INNER_LANES 16
#else
#define SECOND(...) __VA_ARGS__
#define INNER_LANES (2 * INNER_WIDTH)
#endif

/* Computes out (MR x NR), the product of k columns of a, packed by MR, and k rows of b, packed by NR. */
INNER_TARGET static void INNER_NAME(int k, const float *a, const float *b, float *out)
{
	for (int at = 0; at < NR; at += INNER_LANES) {
		VEC s0 = { 0 }, s1 = s0, s2 = s0, s3 = s0, s4 = s0, s5 = s0;
		SECOND(VEC z0 = s0, z1 = s0, z2 = s0, z3 = s0, z4 = s0, z5 = s0;)
		const float *left = a, *right = b + at;
		for (int p = 0; p < k; p++, left += MR, right += NR) {
			VEC x = *(const VEC *)(const void *)right;
			SECOND(VEC y = *(const VEC *)(const void *)(right + INNER_WIDTH);)
#define TAKE(t)                             \
	s##t = INNER_ADD(s##t, left[t], x); \
	SECOND(z##t = INNER_ADD(z##t, left[t], y);)
			TAKE(0) TAKE(1) TAKE(2) TAKE(3) TAKE(4) TAKE(5)
#undef TAKE
		}
#define TAKE(t)                                     \
	*(VEC *)(void *)(out + (t)*NR + at) = s##t; \
	SECOND(*(VEC *)(void *)(out + (t)*NR + at + INNER_WIDTH) = z##t;)
		TAKE(0) TAKE(1) TAKE(2) TAKE(3) TAKE(4) TAKE(5)
#undef TAKE
	}
}

#undef JOIN
#undef JOIN_TEXT
#undef VEC
#undef SECOND
#undef INNER_LANES
#undef INNER_ADD
#undef INNER_WIDTH
#undef INNER_TARGET
#undef INNER_NAME
