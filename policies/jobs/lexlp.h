/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * lexlp.h - linear programs with one answer, whatever vertex the solver ends at
 *
 * Goals are maximised one after the other, each among the optima of those before it;
 * at last the columns are, in their order, until a single point is left. So the answer
 * is a function of the program alone: permuting rows, or columns that no tie hangs on,
 * does not change it (up to rounding, 1e-9 or so).
 *
 * From one goal to the next, what has a non-zero reduced cost at the optimum is fixed at
 * its bound: by complementary slackness that leaves the optimal face and nothing else
 * (Schrijver, Theory of Linear and Integer Programming, 1986, section 7.9). The basis
 * stays feasible, so a later goal costs few pivots; what is fixed drops out of the program.
 *
 * The solver is GLPK, which calls abort() on an error: its error hook turns that into a
 * struct orr_error. GLPK keeps its memory in an environment per thread, which
 * lexlp_solve() makes and frees; where GLPK was built without thread-local storage, calls
 * wait for each other.
 *
 * Coefficients should be of order 1. An out-of-range row or column is an error of
 * lexlp_solve(), and so is a lack of memory while building.
 */
#ifndef ORR_POLICIES_LEXLP_H
#define ORR_POLICIES_LEXLP_H

#include <orrery/api.h>

struct lexlp;

struct lexlp *lexlp_new(void); /* NULL: no memory */
void lexlp_free(struct lexlp *p);

/* Each gives the number of the new one: 0, 1, ... Bounds may be -INFINITY and INFINITY;
 * x = 0 should be feasible or nearly so (the first basis is all slacks). */
int lexlp_row(struct lexlp *p, double lower, double upper);
int lexlp_col(struct lexlp *p, double lower, double upper);
int lexlp_goal(struct lexlp *p);
/* Coefficients; each (row, col) at most once. */
void lexlp_set(struct lexlp *p, int row, int col, double value);
void lexlp_goal_set(struct lexlp *p, int goal, int col, double value);

/* x[col]. ORR_EFAIL if there is no optimum, or the solver fails. */
int lexlp_solve(const struct lexlp *p, double *x, struct orr_error *err);

#endif
