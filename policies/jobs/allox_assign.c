/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "allox_assign.h"

#include <orrery/api.h>

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#define NOT_ASSIGNED SIZE_MAX

struct problem {
	size_t n, workers, columns;
	const double *time, *delay;
	double *u, *v, *path_cost; /* dual values of rows and columns; least costs of paths to columns */
	size_t *row_of, *col_of;   /* assignment so far */
	size_t *path;              /* row before each column on its path */
	size_t *left;              /* columns not yet reached */
	bool *is_row_done, *is_col_done;
};

static double cost(const struct problem *p, size_t row, size_t column)
{
	double c = (double)(column / p->workers + 1) * p->time[row * p->workers + column % p->workers];
	return p->delay ? c + p->delay[row] : c;
}

/* Finds the shortest path from a row to a column without a row. Returns this column and the cost of the path. */
static size_t shortest_path(struct problem *p, size_t row, double *least)
{
	size_t n_left = p->columns;
	*least = 0;
	for (size_t c = 0; c < p->columns; c++) {
		p->left[c] = p->columns - 1 - c;
		p->path_cost[c] = INFINITY;
		p->is_col_done[c] = false;
	}
	for (size_t r = 0; r < p->n; r++)
		p->is_row_done[r] = false;
	for (;;) {
		size_t at = 0;
		double lowest = INFINITY;
		p->is_row_done[row] = true;
		for (size_t i = 0; i < n_left; i++) {
			size_t c = p->left[i];
			double reduced = *least + cost(p, row, c) - p->u[row] - p->v[c];
			if (reduced < p->path_cost[c]) {
				p->path[c] = row;
				p->path_cost[c] = reduced;
			}
			if (p->path_cost[c] < lowest || (p->path_cost[c] == lowest && p->row_of[c] == NOT_ASSIGNED)) {
				lowest = p->path_cost[c];
				at = i;
			}
		}
		*least = lowest;
		size_t column = p->left[at];
		p->is_col_done[column] = true;
		p->left[at] = p->left[--n_left];
		if (p->row_of[column] == NOT_ASSIGNED)
			return column;
		row = p->row_of[column];
	}
}

static void add_row(struct problem *p, size_t first)
{
	double least;
	size_t column = shortest_path(p, first, &least);
	p->u[first] += least;
	for (size_t r = 0; r < p->n; r++)
		if (p->is_row_done[r] && r != first)
			p->u[r] += least - p->path_cost[p->col_of[r]];
	for (size_t c = 0; c < p->columns; c++)
		if (p->is_col_done[c])
			p->v[c] -= least - p->path_cost[c];
	for (size_t row = NOT_ASSIGNED; row != first;) {
		row = p->path[column];
		p->row_of[column] = row;
		size_t next = p->col_of[row];
		p->col_of[row] = column;
		column = next;
	}
}

void allox_assign(size_t n, size_t workers, const double *time, const double *delay, size_t *worker, size_t *position)
{
	size_t columns = n * workers;
	struct problem p = { .n = n, .workers = workers, .columns = columns, .time = time, .delay = delay };
	p.u = orr_alloc(n + 2 * columns + 1, sizeof *p.u);
	p.v = p.u + n;
	p.path_cost = p.v + columns;
	p.row_of = orr_alloc(3 * columns + n + 1, sizeof *p.row_of);
	p.path = p.row_of + columns;
	p.left = p.path + columns;
	p.col_of = p.left + columns;
	p.is_row_done = orr_alloc(n + columns + 1, sizeof *p.is_row_done);
	p.is_col_done = p.is_row_done + n;
	for (size_t c = 0; c < columns; c++)
		p.row_of[c] = NOT_ASSIGNED;
	for (size_t r = 0; r < n; r++)
		p.col_of[r] = NOT_ASSIGNED;
	for (size_t r = 0; r < n; r++)
		add_row(&p, r);
	for (size_t r = 0; r < n; r++) {
		worker[r] = p.col_of[r] % workers;
		position[r] = p.col_of[r] / workers + 1;
	}
	orr_free(p.u);
	orr_free(p.row_of);
	orr_free(p.is_row_done);
}
