/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * compare.h - comparison of several policies over common replications: differences, equivalence, ranks
 *
 * Value k of each policy comes from replication k. All policies have the same replications (common random numbers), so a pair
 * of policies is compared by its differences in each replication. All statements about one metric hold simultaneously with a
 * probability of at least the level:
 *  - p-values are adjusted by Holm's step-down procedure (Holm, A simple sequentially rejective multiple test procedure,
 *    Scandinavian Journal of Statistics 6, 1979);
 *  - intervals of differences are single-step Bonferroni intervals: level 1 - (1 - level) / number of pairs;
 *  - equivalence is tested by two one-sided tests (Schuirmann, Journal of Pharmacokinetics and Biopharmaceutics 15, 1987);
 *  - ranks follow from the pairs that differ (Al Mohamad, van Zwet, Solari and Goeman, Simultaneous confidence intervals for
 *    ranks using the partitioning principle, Electronic Journal of Statistics 15, 2021, section 2);
 *  - differences to the best of the others are Hsu's (Constrained simultaneous confidence intervals for multiple comparisons
 *    with the best, Annals of Statistics 12, 1984), with Bonferroni's constants for common random numbers (Nelson and Matejcik,
 *    Using common random numbers for indifference-zone selection and multiple comparisons in simulation, Management Science 41,
 *    1995).
 * Intervals and p-values of a difference are those of estimate.h. docs/models/compare.md has the formulas and the error rates
 * measured.
 */
#ifndef ORR_RESULTS_COMPARE_H
#define ORR_RESULTS_COMPARE_H

#include "results/estimate.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Pairs that are compared; together they form the family of statements. */
enum compare_family {
	COMPARE_ALL,   /* every pair */
	COMPARE_FIRST, /* each policy with the first one */
	COMPARE_BEST,  /* each policy with the best of the other policies */
};

struct compare_options {
	enum compare_family family;
	bool is_larger_better;
	double level;
	double within;    /* bound of a difference that counts as equal; 0: no test of equivalence */
	bool is_relative; /* `within` is a share of the mean of the pair's first policy */
};

/* Result of the tests of a pair. */
enum compare_verdict {
	COMPARE_NONE,      /* no test: too few replications, or too few that differ */
	COMPARE_SAME,      /* all differences are 0 */
	COMPARE_NOT_SHOWN, /* no difference shown */
	COMPARE_DIFFERENT, /* difference shown */
	COMPARE_EQUAL,     /* shown equal within the bound */
	COMPARE_BOTH,      /* difference shown, and shown to be within the bound */
};

struct compare_pair {
	size_t a, b;                /* policies, a < b */
	struct interval difference; /* mean of b - a, with its simultaneous interval */
	double p, p_holm, p_t;      /* p-values of "no difference": unadjusted, adjusted by Holm's procedure, and of the paired t-test */
	double p_equal, p_equal_holm, p_equal_t; /* the same p-values of "the difference is at least the bound"; NAN: no bound */
	enum compare_verdict verdict;
};

struct compare_policy {
	double mean;
	double is_best;             /* by policy: share of bootstrap samples in which the policy has the best mean */
	size_t rank_low, rank_high; /* interval of the rank, 1: best; only of COMPARE_ALL, else 0 */
	struct interval to_best;    /* COMPARE_BEST: mean - best mean of the others, with Hsu's interval; else NAN */
	bool may_be_best;           /* COMPARE_BEST: the interval allows that the policy is the best */
};

struct comparison {
	struct compare_options options;
	size_t n_policies, n_values; /* n_values: replications in which all policies have a value */
	size_t n_pairs;
	struct compare_pair *pair; /* in the order (0, 1), (0, 2), .., (1, 2), ..; only (0, i) for COMPARE_FIRST; none for COMPARE_BEST */
	struct compare_policy *policy;
	size_t *order; /* policies, the best mean first; equal means in the order of policies */
};

/* Returns the comparison of n_policies >= 2 samples: value[i][k] is policy i in replication k, k < n. Replications in which a value
 * is not finite are excluded. Free it with compare_free(). */
struct comparison *compare_new(const double *const *value, size_t n_policies, size_t n, const struct compare_options *o);
void compare_free(struct comparison *c);
/* Returns whether there are enough replications. If not, intervals and p-values are NAN, and ranks are 0. */
bool compare_is_possible(const struct comparison *c);
/* Returns whether the pair is shown to differ. */
bool compare_is_different(const struct compare_pair *p);
/* Returns the pair of two different policies, in either order; NULL: not compared. */
const struct compare_pair *compare_pair_of(const struct comparison *c, size_t i, size_t j);

/* Holm's adjusted p-values of n tests. A NAN counts as a test that is not rejected, and stays NAN. */
void compare_holm(const double *p, size_t n, double *adjusted);

/* Returns the p-value of two one-sided tests of |mean of b - a| < within. is_relative: < within x mean of a (as linear contrasts,
 * b - (1 +- within) a; Sasabuchi, Biometrika 67, 1980). above: estimate_p_above() or estimate_student_above(). */
double compare_equivalence(
	const double *a, const double *b, size_t n, double within, bool is_relative, double (*above)(const double *v, size_t n));

#endif
