/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "shockwave_plan.h"

#include "lexlp.h"

#include <math.h>

/* Adds a job's columns: its rounds in pieces of equal length, each with the slope of its chord. Returns the first column. */
static int add_job(
	struct lexlp *lp, const struct shockwave_market *m, const struct shockwave_job *job, int goal, double scale, double rounds)
{
	int first = -1;
	double done = job->alone_s - job->left_s, width = rounds / m->pieces;
	for (int p = 0; p < m->pieces; p++) {
		double from = (done + p * width * m->round_s) / job->alone_s, to = (done + (p + 1) * width * m->round_s) / job->alone_s;
		int col = lexlp_col(lp, 0, width);
		first = first < 0 ? col : first;
		lexlp_goal_set(lp, goal, col, job->weight * scale * log((fmin(to, 1) + m->offset) / (fmin(from, 1) + m->offset)) / width);
	}
	return first;
}

int shockwave_plan(const struct shockwave_market *m, struct shockwave_job *job, size_t n, struct orr_error *err)
{
	struct lexlp *lp = lexlp_new();
	double sum = 0, longest = 0, gpu_rounds = 0, gpus = fmax(1, m->gpus);
	for (size_t i = 0; i < n; i++) {
		sum += job[i].weight;
		longest = fmax(longest, job[i].left_s / m->round_s);
		gpu_rounds += job[i].gpus * job[i].left_s / m->round_s;
	}
	double before = fmax(longest, gpu_rounds / gpus);
	int goal = lexlp_goal(lp), room = lexlp_row(lp, -INFINITY, m->gpus * m->window), total = lexlp_row(lp, gpu_rounds / gpus, INFINITY);
	int end = lexlp_col(lp, 0, before), n_cols = 1;
	lexlp_goal_set(lp, goal, end, -m->lambda / before);
	lexlp_set(lp, total, end, 1);
	for (size_t i = 0; i < n; i++) {
		double left = job[i].left_s / m->round_s, rounds = fmin(m->window, ceil(left));
		int first = add_job(lp, m, &job[i], goal, 1 / sum, rounds), row = lexlp_row(lp, left, INFINITY);
		lexlp_set(lp, row, end, 1);
		for (int p = 0; p < m->pieces; p++, n_cols++) {
			lexlp_set(lp, row, first + p, 1);
			lexlp_set(lp, room, first + p, job[i].gpus);
			lexlp_set(lp, total, first + p, job[i].gpus / gpus);
		}
	}
	lexlp_end_after_goals(lp);
	double *x = orr_alloc((size_t)n_cols + 1, sizeof *x);
	int rc = lexlp_solve(lp, x, err);
	for (size_t i = 0; i < n && !rc; i++) {
		job[i].rounds = 0;
		for (int p = 0; p < m->pieces; p++)
			job[i].rounds += x[1 + (int)i * m->pieces + p];
	}
	lexlp_free(lp);
	orr_free(x);
	return rc;
}
