/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * knapsack.h - the multiple-choice knapsack problem, solved exactly
 *
 * Each group has items; at most one item of a group is packed. The sum of the values is maximised; each item goes into one of several
 * bins, whose weights sum to at most its capacity. Among optima the one of the smallest weight is chosen, then the largest sum of bonuses,
 * then the most valuable items of earlier groups. Dynamic program over groups and fillings of the bins: H. Kellerer, U. Pferschy, D.
 * Pisinger, Knapsack Problems, 2004, chapters 9 and 11.
 */
#ifndef ORR_POLICIES_JOBS_KNAPSACK_H
#define ORR_POLICIES_JOBS_KNAPSACK_H

#include <orrery/api.h>

struct knapsack_item {
	uint32_t bin, weight; /* weight: at least 1 */
	int64_t value;        /* the sum over all groups must not overflow */
	uint32_t bonus;
};

struct knapsack_group {
	size_t first, n; /* items; n is at most KNAPSACK_ITEMS */
	bool is_packed;  /* one of its items must be packed */
	size_t chosen;   /* set by knapsack(): the packed item; SIZE_MAX: none */
};

enum { KNAPSACK_ITEMS = 65535 };

/* Returns the number of fillings of the bins. knapsack() takes time in proportion to fillings x items of all groups; for each
 * filling it takes 2 bytes by group, and 32. */
double knapsack_fillings(const double *capacity, size_t n_bins);
/* Returns false if the groups that must be packed do not fit. */
bool knapsack(const struct knapsack_item *item, struct knapsack_group *group, size_t n_groups, const double *capacity, size_t n_bins);

#endif
