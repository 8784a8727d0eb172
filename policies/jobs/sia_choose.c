/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sia_choose.h"
#include "lexlp.h"

#include <math.h>

static const double NOT_ALLOWED = 1e-4, MOST_COST = 3000;
/* Ties are broken by a cost per GPU that is small compared with the steps of rounded costs (0.01). */
static const double TIE_SHARE = 0.004, OWN_TIE_SHARE = 1e-6;

void sia_normalise(const struct sia_problem *p, struct sia_job *job)
{
	double least = INFINITY;
	for (size_t i = 0; i < job->n; i++)
		if (job->option[i].s > 0)
			least = fmin(least, job->option[i].s);
	for (size_t i = 0; i < job->n; i++)
		job->option[i].s = p->is_rounded ? (double)((float)job->option[i].s / (float)least) : job->option[i].s / least;
}

/* The published code computes in 32 bits. */
static double rounded_cost(const struct sia_problem *p, double s, double factor)
{
	float scaled = (float)s * (float)factor;
	float a = rintf(powf(scaled, (float)p->power) * 100.0f) / 100.0f;
	return fmin((double)a, MOST_COST);
}

void sia_costs(const struct sia_problem *p, struct sia_job *job)
{
	for (size_t i = 0; i < job->n; i++) {
		struct sia_option *o = &job->option[i];
		double factor = i == job->present || job->present == SIZE_MAX ? 1 : job->restart_factor;
		double s = o->s > 0 ? o->s : p->is_rounded ? NOT_ALLOWED : 0;
		if (p->is_rounded)
			o->cost = rounded_cost(p, s, factor);
		else
			o->cost = s * factor > 0 ? fmin(pow(s * factor, p->power), MOST_COST) : INFINITY;
	}
}

/* An option that costs at least lambda is never better than none. */
static bool is_candidate(const struct sia_problem *p, const struct sia_job *job, size_t i)
{
	if (job->is_pinned)
		return i == job->present;
	return job->option[i].cost < p->lambda && job->option[i].gpus <= p->gpus_of_type[job->option[i].type];
}

static double all_gpus(const struct sia_problem *p)
{
	double sum = 0;
	for (size_t t = 0; t < p->n_types; t++)
		sum += p->gpus_of_type[t];
	return sum;
}

static struct lexlp *program(const struct sia_problem *p, size_t *n_cols)
{
	struct lexlp *lp = lexlp_new();
	double tie = (p->is_rounded ? TIE_SHARE : OWN_TIE_SHARE) / (all_gpus(p) + 1);
	int goal = lexlp_goal(lp);
	for (size_t t = 0; t < p->n_types; t++)
		lexlp_row(lp, -INFINITY, p->gpus_of_type[t]);
	lexlp_all_integers(lp, p->gap);
	for (size_t j = 0; j < p->n_jobs; j++) {
		const struct sia_job *job = &p->job[j];
		int row = lexlp_row(lp, job->is_pinned ? 1 : 0, 1);
		for (size_t i = 0; i < job->n; i++) {
			if (!is_candidate(p, job, i))
				continue;
			int col = lexlp_col(lp, 0, 1);
			lexlp_set(lp, row, col, 1);
			lexlp_set(lp, (int)job->option[i].type, col, job->option[i].gpus);
			lexlp_goal_set(lp, goal, col, p->lambda - job->option[i].cost - tie * job->option[i].gpus);
			++*n_cols;
		}
	}
	return lp;
}

int sia_choose(struct sia_problem *p, double *objective, struct orr_error *err)
{
	size_t n_cols = 0, c = 0;
	struct lexlp *lp = program(p, &n_cols);
	double *x = orr_alloc(n_cols + 1, sizeof *x), sum = 0;
	int rc = n_cols ? lexlp_solve(lp, x, err) : ORR_OK;
	for (size_t j = 0; !rc && j < p->n_jobs; j++) {
		struct sia_job *job = &p->job[j];
		job->chosen = SIZE_MAX;
		for (size_t i = 0; i < job->n; i++)
			if (is_candidate(p, job, i) && x[c++] > 0.5)
				job->chosen = i;
		sum += job->chosen == SIZE_MAX ? p->lambda : job->option[job->chosen].cost;
	}
	if (objective)
		*objective = sum;
	lexlp_free(lp);
	orr_free(x);
	return rc;
}
