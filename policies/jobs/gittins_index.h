/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * gittins_index.h - the Gittins index of an empirical distribution of service
 *
 * A job with attained service a and total service S (S is drawn from the distribution and exceeds a) has the index (Gittins
 * 1989; Aalto, Ayesta, Righter, "On the Gittins index in the M/G/1 queue", Queueing Systems 63, 2009; in Tiresias, section
 * 3.3):
 *
 *	            P(S - a <= D | S > a)         F(a + D) - F(a)
 *	G(a) = sup ------------------------ = sup -----------------,  H(x) = E min(S, x)
 *	        D  E[min(S - a, D) | S > a]       H(a + D) - H(a)
 *
 * It is the largest rate of completions per service obtainable from age a. Geometrically, it is the steepest slope from the
 * point (H(a), F(a)) to a later point of the curve (H(x), F(x)); because F is a step function, the later point is one of its
 * corners. For each corner, gittins_build() links the upper hull of the corners from it on, so an index costs O(log n + corners
 * of that hull).
 *
 * Invariant after gittins_build(): s[] ascends; sum[k] is the sum of the first k; next[k] is the corner after corner k on the upper
 * hull of the corners k, k + 1, ..; corner k is the point (n H, n F) at s[k].
 */
#ifndef ORR_POLICIES_GITTINS_INDEX_H
#define ORR_POLICIES_GITTINS_INDEX_H

#include <stdbool.h>
#include <stddef.h>

struct gittins_table {
	double *s, *sum; /* values of service; n + 1 sums */
	size_t *next;
	size_t n, built, cap; /* number of values now, and at the last build */
};

void gittins_free(struct gittins_table *t);
void gittins_add(struct gittins_table *t, double service);
void gittins_build(struct gittins_table *t);
/* Returns the index with D fixed; 0 if no value is greater than the age. */
double gittins_index_fixed(const struct gittins_table *t, double age, double d);
/* Returns the supremum over D >= least (0: over all D); 0 if no value is greater than the age. */
double gittins_index(const struct gittins_table *t, double age, double least);

#endif
