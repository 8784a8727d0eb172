/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "jobs/share.h"

#include "base/mem.h"

#include <math.h>

enum { MOST_ROUNDS = 1000, DAMPED_AFTER = 100 };
static const double tolerance = 1e-12;

struct state {
	const struct share_problem *p;
	uint32_t *first;            /* of each job's uses, in part[] */
	double *part;               /* of its peak that a use gets on average */
	double *stretch, *sending;  /* by job; sending: growth of busy, stretch / growth of the iteration */
	uint32_t *user_at, *user;   /* by link: uses, numbered as in part[] */
	uint32_t *job_of;           /* by use */
	double *chance;             /* of k others sending */
};

double share_beside(double capacity, double demand, uint32_t k, double other)
{
	double fair = capacity / (k + 1.0);
	if (demand + k * other <= capacity || demand <= fair)
		return demand;
	return other <= fair ? fmin(demand, capacity - k * other) : fair;
}

static const struct share_use *use_of(const struct state *s, uint32_t u)
{
	uint32_t j = s->job_of[u];
	return &s->p->job[j].use[u - s->first[j]];
}

/* What a use asks of its link: its peak, or less if another link of the job holds it back. */
static double demand(const struct state *s, uint32_t u)
{
	uint32_t j = s->job_of[u];
	double least = 1;
	for (uint32_t v = s->first[j]; v < s->first[j + 1]; v++)
		if (v != u)
			least = fmin(least, s->part[v]);
	return use_of(s, u)->peak_Bps * least;
}

/* The mean over who else is sending: chance[k] that k of the others are (Poisson binomial, by convolution), each with the
 * mean demand of those that send. */
static double expected_part(struct state *s, uint32_t u)
{
	const struct share_use *x = use_of(s, u);
	uint32_t others = 0;
	double sum = 0, mass = 0, mean = 0;
	s->chance[0] = 1;
	for (uint32_t i = s->user_at[x->link]; i < s->user_at[x->link + 1]; i++) {
		uint32_t v = s->user[i], j = s->job_of[v];
		if (v == u)
			continue;
		double q = fmin(1, use_of(s, v)->busy * s->sending[j]);
		s->chance[++others] = 0;
		for (uint32_t k = others; k > 0; k--)
			s->chance[k] = s->chance[k] * (1 - q) + s->chance[k - 1] * q;
		s->chance[0] *= 1 - q;
		sum += q * demand(s, v);
		mass += q;
	}
	double other = mass > 0 ? sum / mass : 0;
	for (uint32_t k = 0; k <= others; k++)
		mean += s->chance[k] * share_beside(s->p->capacity_Bps[x->link], x->peak_Bps, k, other);
	return fmin(1, mean / x->peak_Bps);
}

/* One round; returns the largest change of a stretch. */
static double improve(struct state *s, double *fresh, bool is_damped)
{
	double change = 0;
	uint32_t n = s->first[s->p->n_jobs];
	for (uint32_t u = 0; u < n; u++)
		fresh[u] = expected_part(s, u);
	for (uint32_t u = 0; u < n; u++)
		s->part[u] = is_damped ? (s->part[u] + fresh[u]) / 2 : fresh[u];
	for (uint32_t j = 0; j < s->p->n_jobs; j++) {
		double stretch = 1;
		for (uint32_t u = s->first[j]; u < s->first[j + 1]; u++)
			stretch = fmax(stretch, 1 / s->part[u]);
		change = fmax(change, fabs(stretch - s->stretch[j]) / stretch);
		s->stretch[j] = stretch;
		s->sending[j] = stretch / s->p->growth(s->p->ctx, j, stretch);
	}
	return change;
}

static void index_uses(struct state *s)
{
	const struct share_problem *p = s->p;
	uint32_t n = 0;
	s->first = mem_alloc((p->n_jobs + 1) * sizeof *s->first);
	for (uint32_t j = 0; j < p->n_jobs; j++) {
		s->first[j] = n;
		n += p->job[j].n;
	}
	s->first[p->n_jobs] = n;
	s->job_of = mem_alloc((n + 1) * sizeof *s->job_of);
	s->user = mem_alloc((n + 1) * sizeof *s->user);
	s->user_at = mem_zalloc(p->n_links + 2, sizeof *s->user_at);
	for (uint32_t j = 0; j < p->n_jobs; j++)
		for (uint32_t i = 0; i < p->job[j].n; i++) {
			s->job_of[s->first[j] + i] = j;
			s->user_at[p->job[j].use[i].link + 2]++;
		}
	for (uint32_t l = 2; l < p->n_links + 2; l++)
		s->user_at[l] += s->user_at[l - 1];
	for (uint32_t u = 0; u < n; u++)
		s->user[s->user_at[use_of(s, u)->link + 1]++] = u;
}

void share_solve(const struct share_problem *p, double *speed)
{
	struct state s = { .p = p };
	index_uses(&s);
	uint32_t n = s.first[p->n_jobs];
	double *fresh = mem_alloc((n + 1) * sizeof *fresh);
	s.part = mem_alloc((n + 1) * sizeof *s.part);
	s.stretch = mem_alloc((p->n_jobs + 1) * sizeof *s.stretch);
	s.sending = mem_alloc((p->n_jobs + 1) * sizeof *s.sending);
	s.chance = mem_alloc((p->n_jobs + 2) * sizeof *s.chance);
	for (uint32_t u = 0; u < n; u++)
		s.part[u] = 1;
	for (uint32_t j = 0; j < p->n_jobs; j++)
		s.stretch[j] = s.sending[j] = 1;
	for (int round = 0; round < MOST_ROUNDS && improve(&s, fresh, round >= DAMPED_AFTER) > tolerance; round++)
		;
	for (uint32_t j = 0; j < p->n_jobs; j++)
		speed[j] = 1 / p->growth(p->ctx, j, s.stretch[j]);
	mem_free(fresh);
	mem_free(s.part);
	mem_free(s.stretch);
	mem_free(s.sending);
	mem_free(s.chance);
	mem_free(s.first);
	mem_free(s.job_of);
	mem_free(s.user);
	mem_free(s.user_at);
}
