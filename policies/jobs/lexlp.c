/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lexlp.h"

#include <glpk.h>

#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Reduced costs below this value count as 0; GLPK's own tolerance is slightly smaller. */
static const double REDUCED_COST_ZERO = 1e-8, TOLERANCE = 1e-9;

struct range {
	double lower, upper;
};
struct entry {
	int at, col; /* row or goal */
	double value;
};
struct ranges {
	struct range *v;
	int n;
	size_t cap;
};
struct entries {
	struct entry *v;
	int n;
	size_t cap;
};

struct lexlp {
	bool ends_after_goals, has_integers;
	double gap; /* accepted gap of integer programs */
	struct ranges rows, cols;
	struct entries matrix, goals;
	int n_goals;
};

/* ---- building ---- */

void lexlp_end_after_goals(struct lexlp *p)
{
	p->ends_after_goals = true;
}

void lexlp_all_integers(struct lexlp *p, double gap)
{
	p->has_integers = true;
	p->gap = gap;
}

struct lexlp *lexlp_new(void)
{
	return orr_alloc(1, sizeof(struct lexlp));
}

void lexlp_free(struct lexlp *p)
{
	if (!p)
		return;
	orr_free(p->rows.v);
	orr_free(p->cols.v);
	orr_free(p->matrix.v);
	orr_free(p->goals.v);
	orr_free(p);
}

static int add_range(struct ranges *r, double lower, double upper)
{
	ORR_GROW(r->v, (size_t)r->n, r->cap);
	r->v[r->n] = (struct range){ lower, upper };
	return r->n++;
}

static void add_entry(struct entries *e, int at, int col, double value)
{
	ORR_GROW(e->v, (size_t)e->n, e->cap);
	e->v[e->n++] = (struct entry){ at, col, value };
}

int lexlp_row(struct lexlp *p, double lower, double upper)
{
	return add_range(&p->rows, lower, upper);
}

int lexlp_col(struct lexlp *p, double lower, double upper)
{
	return add_range(&p->cols, lower, upper);
}

int lexlp_goal(struct lexlp *p)
{
	return p->n_goals++;
}

void lexlp_set(struct lexlp *p, int row, int col, double value)
{
	add_entry(&p->matrix, row, col, value);
}

void lexlp_goal_set(struct lexlp *p, int goal, int col, double value)
{
	add_entry(&p->goals, goal, col, value);
}

/* ---- GLPK without its abort() ---- */

struct guard {
	jmp_buf back;
	char said[256];
	size_t n_said;
};

static int on_print(void *info, const char *s)
{
	struct guard *g = info;
	for (; *s && g->n_said + 1 < sizeof g->said; s++)
		g->said[g->n_said++] = *s == '\n' ? ' ' : *s;
	return 1; /* suppresses terminal output */
}

static void on_error(void *info)
{
	longjmp(((struct guard *)info)->back, 1);
}

struct solving {
	const struct lexlp *p;
	glp_prob *prob;
	glp_smcp simplex;
	double *x;
	struct entry *goal; /* entries sorted by goal */
	struct orr_error *err;
};

static int kind_of(struct range r)
{
	if (r.lower == r.upper)
		return GLP_FX;
	if (isinf(r.lower))
		return isinf(r.upper) ? GLP_FR : GLP_UP;
	return isinf(r.upper) ? GLP_LO : GLP_DB;
}

static void build(struct solving *s)
{
	const struct lexlp *p = s->p;
	glp_prob *prob = s->prob = glp_create_prob();
	glp_set_obj_dir(prob, GLP_MAX);
	if (p->rows.n)
		glp_add_rows(prob, p->rows.n);
	if (p->cols.n)
		glp_add_cols(prob, p->cols.n);
	for (int i = 0; i < p->rows.n; i++)
		glp_set_row_bnds(prob, i + 1, kind_of(p->rows.v[i]), p->rows.v[i].lower, p->rows.v[i].upper);
	for (int i = 0; i < p->cols.n; i++)
		glp_set_col_bnds(prob, i + 1, kind_of(p->cols.v[i]), p->cols.v[i].lower, p->cols.v[i].upper);
	size_t n = (size_t)p->matrix.n + 1; /* indices of GLPK start at 1 */
	int *row = glp_alloc((int)n, sizeof *row), *col = glp_alloc((int)n, sizeof *col);
	double *value = glp_alloc((int)n, sizeof *value);
	for (int i = 0; i < p->matrix.n; i++) {
		row[i + 1] = p->matrix.v[i].at + 1;
		col[i + 1] = p->matrix.v[i].col + 1;
		value[i + 1] = p->matrix.v[i].value;
	}
	glp_load_matrix(prob, p->matrix.n, row, col, value);
	glp_free(row);
	glp_free(col);
	glp_free(value);
}

/* Maximises the present objective from the present basis. If that basis is singular, or the simplex cycles among degenerate vertices, tries
 * again from a fresh one: by the dual simplex, then by the primal one with the textbook rules of pricing and ratio test. */
static int optimise(struct solving *s)
{
	static const struct {
		int method, pricing, ratio;
	} way[] = { { GLP_PRIMAL, GLP_PT_PSE, GLP_RT_HAR }, { GLP_DUALP, GLP_PT_PSE, GLP_RT_HAR }, { GLP_PRIMAL, GLP_PT_STD, GLP_RT_STD } };
	int rc = 0;
	s->simplex.it_lim = 1000 + 20 * (s->p->rows.n + s->p->cols.n); /* programs that end need a fraction of rows + columns */
	for (size_t i = 0; i < sizeof way / sizeof *way && (!i || rc || glp_get_status(s->prob) != GLP_OPT); i++) {
		if (i)
			glp_adv_basis(s->prob, 0);
		s->simplex.meth = way[i].method;
		s->simplex.pricing = way[i].pricing;
		s->simplex.r_test = way[i].ratio;
		rc = glp_simplex(s->prob, &s->simplex);
	}
	int status = glp_get_status(s->prob);
	if (!rc && status == GLP_OPT)
		return ORR_OK;
	return orr_fail(s->err, ORR_EFAIL, "a linear program of %d rows and %d columns %s", s->p->rows.n, s->p->cols.n,
		rc                    ? "could not be solved (GLPK's simplex failed)"
		: status == GLP_UNBND ? "is unbounded"
				      : "is infeasible");
}

/* Returns the bound at which a non-basic variable is. */
static struct range bound_of(int status, double lower, double upper)
{
	double at = status == GLP_NU ? upper : status == GLP_NF ? 0 : lower;
	return (struct range){ at, at };
}

/* Restricts the linear program to the optimal face of the objective. Returns true if the face is more than a point. */
static bool fix_face(struct solving *s)
{
	glp_prob *prob = s->prob;
	bool is_open = false;
	for (int i = 1; i <= s->p->rows.n; i++) {
		int status = glp_get_row_stat(prob, i);
		if (status == GLP_BS || status == GLP_NS)
			continue;
		if (fabs(glp_get_row_dual(prob, i)) > REDUCED_COST_ZERO) {
			struct range r = bound_of(status, glp_get_row_lb(prob, i), glp_get_row_ub(prob, i));
			glp_set_row_bnds(prob, i, GLP_FX, r.lower, r.upper);
		} else {
			is_open = true;
		}
	}
	for (int i = 1; i <= s->p->cols.n; i++) {
		int status = glp_get_col_stat(prob, i);
		if (status == GLP_BS || status == GLP_NS)
			continue;
		if (fabs(glp_get_col_dual(prob, i)) > REDUCED_COST_ZERO) {
			struct range r = bound_of(status, glp_get_col_lb(prob, i), glp_get_col_ub(prob, i));
			glp_set_col_bnds(prob, i, GLP_FX, r.lower, r.upper);
		} else {
			is_open = true;
		}
	}
	return is_open;
}

static int by_goal(const void *x, const void *y)
{
	const struct entry *a = x, *b = y;
	return a->at != b->at ? (a->at > b->at) - (a->at < b->at) : (a->col > b->col) - (a->col < b->col);
}

static int all_goals(struct solving *s)
{
	const struct lexlp *p = s->p;
	bool is_open = true;
	for (int g = 0, at = 0; g < p->n_goals && is_open; g++) {
		int from = at;
		for (; at < p->goals.n && s->goal[at].at == g; at++)
			glp_set_obj_coef(s->prob, s->goal[at].col + 1, s->goal[at].value);
		if (optimise(s))
			return ORR_EFAIL;
		is_open = fix_face(s);
		for (int i = from; i < at; i++)
			glp_set_obj_coef(s->prob, s->goal[i].col + 1, 0);
	}
	for (int c = 1; c <= p->cols.n && is_open && !p->ends_after_goals; c++) {
		if (glp_get_col_type(s->prob, c) == GLP_FX)
			continue;
		glp_set_obj_coef(s->prob, c, 1);
		if (optimise(s))
			return ORR_EFAIL;
		is_open = fix_face(s);
		glp_set_obj_coef(s->prob, c, 0);
	}
	for (int c = 0; c < p->cols.n; c++)
		s->x[c] = glp_get_col_prim(s->prob, c + 1);
	return ORR_OK;
}

/* ---- integers ---- */

/* Nodes of the tree of branch and bound after which the best solution so far is taken, if a gap is allowed. */
enum { MOST_NODES = 2000 };

/* A column's coefficient of the goal and of the rows, by which a solution is filled. */
struct filler {
	double value;
	int col;
};

static int most_valuable_first(const void *x, const void *y)
{
	const struct filler *a = x, *b = y;
	if (a->value != b->value)
		return a->value > b->value ? -1 : 1;
	return (a->col > b->col) - (a->col < b->col);
}

/* Adds `by` of column c to the left sides if all rows keep their upper bounds. */
static bool add_to_rows(const struct solving *s, double *left, int c, double by, int *row, double *value)
{
	int n = glp_get_mat_col(s->prob, c, row, value);
	for (int i = 1; i <= n; i++)
		if (left[row[i]] + value[i] * by > s->p->rows.v[row[i] - 1].upper + TOLERANCE)
			return false;
	for (int i = 1; i <= n; i++)
		left[row[i]] += value[i] * by;
	return true;
}

/* Offers a solution of a packing program (coefficients of at least 0): the relaxation's at this node, rounded down, then filled with the
 * most valuable columns that have room. */
static void round_and_fill(struct solving *s, glp_tree *tree)
{
	glp_prob *node = glp_ios_get_prob(tree);
	int n_rows = s->p->rows.n, n = s->p->cols.n;
	double *x = orr_alloc((size_t)n + 1, sizeof *x), *left = orr_alloc((size_t)n_rows + 1, sizeof *left);
	int *row = orr_alloc((size_t)n_rows + 1, sizeof *row);
	double *value = orr_alloc((size_t)n_rows + 1, sizeof *value);
	struct filler *by = orr_alloc((size_t)n + 1, sizeof *by);
	bool is_feasible = true;
	for (int c = 1; c <= n; c++) {
		x[c] = floor(glp_get_col_prim(node, c) + TOLERANCE);
		by[c - 1] = (struct filler){ glp_get_obj_coef(s->prob, c), c };
		is_feasible &= x[c] == 0 || add_to_rows(s, left, c, x[c], row, value);
	}
	qsort(by, (size_t)n, sizeof *by, most_valuable_first);
	for (int i = 0; i < n && is_feasible; i++)
		while (by[i].value > 0 && x[by[i].col] + 1 <= s->p->cols.v[by[i].col - 1].upper &&
			add_to_rows(s, left, by[i].col, 1, row, value))
			x[by[i].col]++;
	for (int r = 1; r <= n_rows; r++)
		is_feasible &= left[r] >= s->p->rows.v[r - 1].lower - TOLERANCE;
	if (is_feasible)
		glp_ios_heur_sol(tree, x);
	orr_free(x);
	orr_free(left);
	orr_free(row);
	orr_free(value);
	orr_free(by);
}

static void at_node(glp_tree *tree, void *data)
{
	struct solving *s = data;
	int nodes = 0;
	glp_ios_tree_size(tree, NULL, NULL, &nodes);
	if (glp_ios_reason(tree) == GLP_IHEUR && nodes == 1)
		round_and_fill(s, tree);
	else if (nodes > MOST_NODES)
		glp_ios_terminate(tree);
}

/* Maximises the first goal over integers. */
static int integer_goal(struct solving *s)
{
	glp_iocp how;
	for (int i = 0; i < s->p->goals.n && s->goal[i].at == 0; i++)
		glp_set_obj_coef(s->prob, s->goal[i].col + 1, s->goal[i].value);
	if (optimise(s))
		return ORR_EFAIL;
	for (int c = 1; c <= s->p->cols.n; c++)
		glp_set_col_kind(s->prob, c, GLP_IV);
	glp_init_iocp(&how);
	how.msg_lev = GLP_MSG_OFF;
	how.mip_gap = s->p->gap;
	how.cb_func = s->p->gap > 0 ? at_node : NULL;
	how.cb_info = s;
	int rc = glp_intopt(s->prob, &how), status = glp_mip_status(s->prob);
	bool is_stopped = (rc == GLP_ESTOP || rc == GLP_EMIPGAP) && status == GLP_FEAS;
	if (!is_stopped && (rc || status != GLP_OPT))
		return orr_fail(s->err, ORR_EFAIL, "an integer program of %d rows and %d columns %s", s->p->rows.n, s->p->cols.n,
			rc ? "could not be solved (GLPK's branch and bound failed)" : "is infeasible");
	for (int c = 0; c < s->p->cols.n; c++)
		s->x[c] = rint(glp_mip_col_val(s->prob, c + 1));
	return ORR_OK;
}

static int solve(struct solving *s)
{
	glp_term_out(GLP_OFF);
	build(s);
	glp_init_smcp(&s->simplex);
	s->simplex.msg_lev = GLP_MSG_OFF;
	s->simplex.tol_bnd = s->simplex.tol_dj = TOLERANCE;
	return s->p->has_integers ? integer_goal(s) : all_goals(s);
}

static int guarded_solve(struct solving *s)
{
	struct guard guard;
	guard.n_said = 0;
	memset(guard.said, 0, sizeof guard.said);
	glp_error_hook(on_error, &guard);
	glp_term_hook(on_print, &guard);
	/* After an error GLPK allows only glp_free_env(), which frees everything. */
	if (setjmp(guard.back)) {
		glp_free_env();
		return orr_fail(s->err, ORR_EFAIL, "GLPK: %s", guard.said);
	}
	int rc = solve(s);
	glp_free_env();
	return rc;
}

static bool is_sound(const struct lexlp *p)
{
	for (int i = 0; i < p->matrix.n; i++)
		if (!isfinite(p->matrix.v[i].value))
			return false;
	for (int i = 0; i < p->goals.n; i++)
		if (!isfinite(p->goals.v[i].value))
			return false;
	for (int i = 0; i < p->rows.n; i++)
		if (!(p->rows.v[i].lower <= p->rows.v[i].upper))
			return false;
	for (int i = 0; i < p->cols.n; i++)
		if (!(p->cols.v[i].lower <= p->cols.v[i].upper))
			return false;
	return true;
}

int lexlp_solve(const struct lexlp *p, double *x, struct orr_error *err)
{
	static pthread_mutex_t only_one = PTHREAD_MUTEX_INITIALIZER; /* a lock; holds no other state */
	if (!is_sound(p))
		return orr_fail(
			err, ORR_EFAIL, "a linear program has a coefficient that is not finite, or a lower bound above its upper bound");
	struct solving s = { .p = p, .x = x, .err = err };
	s.goal = orr_alloc((size_t)p->goals.n + 1, sizeof *s.goal);
	if (p->goals.n)
		memcpy(s.goal, p->goals.v, (size_t)p->goals.n * sizeof *s.goal);
	qsort(s.goal, (size_t)p->goals.n, sizeof *s.goal, by_goal);
	bool is_shared = !glp_config("TLS");
	if (is_shared)
		pthread_mutex_lock(&only_one);
	int rc = guarded_solve(&s);
	if (is_shared)
		pthread_mutex_unlock(&only_one);
	orr_free(s.goal);
	return rc;
}
