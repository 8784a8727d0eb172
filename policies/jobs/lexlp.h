/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * lexlp.h - linear programs with a unique solution, independent of the vertex at which the solver stops
 *
 * Goals are maximised one after the other, each among the optima of the goals before it. Finally the columns are maximised, in
 * order, until a single point is left. So the solution is a function of the linear program only. Permuting rows, or columns
 * without ties, does not change it (up to rounding, about 1e-9).
 *
 * Between goals, rows and columns with a non-zero reduced cost at the optimum are fixed at their bounds: by complementary slackness,
 * exactly the optimal face remains (Schrijver, Theory of Linear and Integer Programming, 1986, section 7.9). The basis stays
 * feasible, so a later goal needs few pivots.
 *
 * The solver is GLPK, which calls abort() on an error; its error hook returns a struct orr_error instead. GLPK has one
 * environment per thread, which lexlp_solve() makes and frees. If GLPK was built without thread-local storage, calls are
 * serialised.
 *
 * Coefficients should be of order 1. An out-of-range row or column is an error of lexlp_solve().
 */
#ifndef ORR_POLICIES_LEXLP_H
#define ORR_POLICIES_LEXLP_H

#include <orrery/api.h>

struct lexlp;

struct lexlp *lexlp_new(void);
void lexlp_free(struct lexlp *p);

/* Return the number of the new row, column or goal: 0, 1, ... Bounds may be -INFINITY and INFINITY; x = 0 should be feasible or
 * nearly so (the first basis is all slacks). */
int lexlp_row(struct lexlp *p, double lower, double upper);
int lexlp_col(struct lexlp *p, double lower, double upper);
int lexlp_goal(struct lexlp *p);
/* Sets a coefficient; each (row, col) at most once. */
void lexlp_set(struct lexlp *p, int row, int col, double value);
void lexlp_goal_set(struct lexlp *p, int goal, int col, double value);

/* Leaves the columns out: x is then some optimum of the goals, for callers that use the goals' values only. */
void lexlp_end_after_goals(struct lexlp *p);
/* Makes all columns integers. Only the first goal is maximised, by branch and bound (GLPK's intopt) from the optimum of the relaxation.
 * gap 0: exactly. Above 0: to within this relative distance, or until the tree has 2,000 nodes; the search starts from the relaxation's
 * solution, rounded down and filled. x is some optimum: a caller that needs a unique one has a goal without ties, and no gap. */
void lexlp_all_integers(struct lexlp *p, double gap);

/* Fills in x[col]. Returns ORR_EFAIL if there is no optimum, or the solver fails. */
int lexlp_solve(const struct lexlp *p, double *x, struct orr_error *err);

#endif
