/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * matching.h - maximum weight matching in a general graph
 *
 * Edmonds' blossom algorithm with dual variables, O(n^3) (J. Edmonds, 1965; Z. Galil, ACM Computing Surveys 18(1), 1986, section 3).
 * Weights are whole numbers, so the result is exact. Memory: O(n^2).
 */
#ifndef ORR_POLICIES_MATCHING_H
#define ORR_POLICIES_MATCHING_H

#include <orrery/api.h>

/* Largest weight of an edge. */
#define MATCHING_MOST (INT64_C(1) << 50)

/* weight[i * n + k], symmetric: the weight of the edge between vertices i and k, 0 to MATCHING_MOST; 0: no edge. Fills in mate[i]:
 * the vertex that i is matched with; UINT32_MAX: none. Returns the sum of the weights of the matched edges. */
int64_t matching_solve(uint32_t n, const int64_t *weight, uint32_t *mate);

#endif
