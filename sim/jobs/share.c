/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "jobs/share.h"

#include "base/mem.h"

#include <math.h>

/* Up to EXACT_USERS users of a link, the distribution of the number of senders is exact. */
enum { MOST_ROUNDS = 200, EXACT_USERS = 16 };
static const double tolerance = 1e-10, least_step = 0.02, same_part = 1e-12;

struct state {
	const struct share_problem *p;
	uint32_t *first;           /* first use of each job, in part[] */
	uint32_t *job_of;          /* by use */
	double *part;              /* mean share of its peak rate if this link were its only bottleneck, by use */
	double *rate;              /* share of its peak rates at which a job sends, by job; < 0: unknown */
	double *sending, *stretch; /* by job: factor on the busy time, stretch / growth of the iteration */
	uint32_t *user_at, *user;  /* uses of each link; indices are those of part[] */
	bool *is_stale;            /* flag by link: part[] of its uses must be recomputed */
	double *all, *others;      /* probabilities that k users of a link send at the same time: of all users; of all users but one */
};

/* Returns the max-min rate of a flow of `demand` that shares a link with k flows of `other`. k may be fractional. */
static double share_beside(double capacity, double demand, double k, double other)
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

/* Returns the probability that the job of this use is sending. */
static double chance_of(const struct state *s, uint32_t u)
{
	return fmin(1, use_of(s, u)->busy * s->sending[s->job_of[u]]);
}

/* Returns the job's demand on the link while it sends. The demand is below its peak if another link is known to be its bottleneck. */
static double demand_of(const struct state *s, uint32_t u)
{
	double rate = s->rate[s->job_of[u]];
	return use_of(s, u)->peak_Bps * (rate < 0 ? 1 : rate);
}

/* Computes all[k], the probability that k of the n users of a link send (Poisson binomial distribution, by convolution). */
static void count_senders(struct state *s, const uint32_t *user, uint32_t n)
{
	s->all[0] = 1;
	for (uint32_t i = 0; i < n; i++) {
		double q = chance_of(s, user[i]);
		s->all[i + 1] = 0;
		for (uint32_t k = i + 1; k > 0; k--)
			s->all[k] = s->all[k] * (1 - q) + s->all[k - 1] * q;
		s->all[0] *= 1 - q;
	}
}

/* Computes others[] from all[] by removing a user that sends with probability q. Starts at the end from which rounding errors decrease. */
static void leave_out(struct state *s, uint32_t n, double q)
{
	if (q <= 0.5) {
		double last = 0;
		for (uint32_t k = 0; k < n; k++)
			last = s->others[k] = fmax(0, (s->all[k] - q * last) / (1 - q));
	} else {
		double last = 0;
		for (uint32_t k = n; k-- > 0;)
			last = s->others[k] = fmax(0, (s->all[k + 1] - (1 - q) * last) / q);
	}
}

static double mean_share(struct state *s, uint32_t n, double q, double capacity, double peak, double other)
{
	double mean = 0;
	leave_out(s, n, q);
	for (uint32_t k = 0; k < n; k++)
		mean += s->others[k] * share_beside(capacity, peak, k, other);
	return mean;
}

/* Returns the mean for many users, whose number of senders is nearly normally distributed, by the Gauss-Hermite rule with three points. */
static double mean_share_of_many(double senders, double variance, double capacity, double peak, double other)
{
	double off = fmin(sqrt(3 * fmax(0, variance)), senders);
	return share_beside(capacity, peak, senders, other) * 2 / 3 +
	       (share_beside(capacity, peak, senders - off, other) + share_beside(capacity, peak, senders + off, other)) / 6;
}

/* Computes the part of each user of a link: the mean over the number of other senders, each with their mean demand. */
static void divide_link(struct state *s, uint32_t link)
{
	const uint32_t *user = s->user + s->user_at[link];
	uint32_t n = s->user_at[link + 1] - s->user_at[link];
	double asked = 0, senders = 0, variance = 0, capacity = s->p->capacity_Bps[link];
	for (uint32_t i = 0; i < n; i++) {
		double q = chance_of(s, user[i]);
		asked += q * demand_of(s, user[i]);
		senders += q;
		variance += q * (1 - q);
	}
	if (n <= EXACT_USERS)
		count_senders(s, user, n);
	for (uint32_t i = 0; i < n; i++) {
		uint32_t u = user[i];
		if (s->rate[s->job_of[u]] >= 0)
			continue;
		double q = chance_of(s, u), peak = use_of(s, u)->peak_Bps, rest = fmax(0, senders - q);
		double other = n > 1 && rest > 1e-12 ? fmax(0, (asked - q * demand_of(s, u)) / rest) : 0;
		double mean = n <= EXACT_USERS ? mean_share(s, n, q, capacity, peak, other)
					       : mean_share_of_many(rest, variance - q * (1 - q), capacity, peak, other);
		s->part[u] = fmin(1, mean / peak);
	}
}

/* ---- max-min over all links, for given probabilities ---- */

static double least_part(const struct state *s, uint32_t j)
{
	double least = 1;
	for (uint32_t u = s->first[j]; u < s->first[j + 1]; u++)
		least = fmin(least, s->part[u]);
	return least;
}

/* Sets the rate of a job. The parts on its links must then be recomputed. */
static void fix(struct state *s, uint32_t j, double rate)
{
	s->rate[j] = rate;
	for (uint32_t u = s->first[j]; u < s->first[j + 1]; u++)
		s->is_stale[use_of(s, u)->link] |= rate < 1;
}

/* Returns whether the link is the bottleneck of all its users of unknown rate. If so, none of their demands on it can decrease. */
static bool is_bottleneck(const struct state *s, uint32_t link, const double *least)
{
	bool is_one = false;
	for (uint32_t i = s->user_at[link]; i < s->user_at[link + 1]; i++) {
		uint32_t u = s->user[i], j = s->job_of[u];
		if (s->rate[j] >= 0)
			continue;
		if (s->part[u] > least[j] * (1 + same_part))
			return false;
		is_one |= s->part[u] < 1;
	}
	return is_one;
}

/* Fixes the jobs of every bottleneck link, or, without one, the job with the smallest part; returns false if none is left. Demands only
 * decrease, so the parts of the other jobs do not decrease. */
static bool fix_some(struct state *s, double *least, uint8_t *is_next)
{
	uint32_t n = s->p->n_jobs, worst = n;
	bool is_one = false;
	for (uint32_t j = 0; j < n; j++) {
		is_next[j] = 0;
		if (s->rate[j] >= 0)
			continue;
		least[j] = least_part(s, j);
		is_next[j] = least[j] >= 1;
		is_one |= is_next[j];
		if (worst == n || least[j] < least[worst])
			worst = j;
	}
	if (worst == n)
		return false;
	for (uint32_t l = 0; l < s->p->n_links; l++) {
		if (!is_bottleneck(s, l, least))
			continue;
		is_one = true;
		for (uint32_t i = s->user_at[l]; i < s->user_at[l + 1]; i++)
			is_next[s->job_of[s->user[i]]] |= s->rate[s->job_of[s->user[i]]] < 0 && s->part[s->user[i]] < 1;
	}
	is_next[worst] |= !is_one;
	for (uint32_t j = 0; j < n; j++)
		if (is_next[j])
			fix(s, j, least[j]);
	return true;
}

static void fill(struct state *s, double *least, uint8_t *is_next)
{
	for (uint32_t j = 0; j < s->p->n_jobs; j++)
		s->rate[j] = -1;
	for (uint32_t l = 0; l < s->p->n_links; l++)
		s->is_stale[l] = true;
	do {
		for (uint32_t l = 0; l < s->p->n_links; l++) {
			if (s->is_stale[l])
				divide_link(s, l);
			s->is_stale[l] = false;
		}
	} while (fix_some(s, least, is_next));
}

/* ---- the fixed point of probabilities and rates ---- */

/* Performs one damped iteration, with the factor `step`; returns the largest relative change of a stretch. */
static double improve(struct state *s, double step, double *least, uint8_t *is_next)
{
	double distance = 0;
	fill(s, least, is_next);
	for (uint32_t j = 0; j < s->p->n_jobs; j++) {
		double stretch = 1 / s->rate[j];
		distance = fmax(distance, fabs(stretch - s->stretch[j]) / stretch);
		s->stretch[j] = step < 1 ? s->stretch[j] + step * (stretch - s->stretch[j]) : stretch;
		s->sending[j] = s->stretch[j] / s->p->growth(s->p->ctx, j, s->stretch[j]);
	}
	return distance;
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

static double *numbers(uint32_t n, double value)
{
	double *v = mem_alloc((n + 2) * sizeof *v);
	for (uint32_t i = 0; i < n; i++)
		v[i] = value;
	return v;
}

void share_solve(const struct share_problem *p, double *speed)
{
	struct state s = { .p = p };
	index_uses(&s);
	uint32_t n = s.first[p->n_jobs];
	double *least = numbers(p->n_jobs, 1);
	uint8_t *is_next = mem_zalloc(p->n_jobs + 1, sizeof *is_next);
	s.part = numbers(n, 1);
	s.rate = numbers(p->n_jobs, 1);
	s.stretch = numbers(p->n_jobs, 1);
	s.sending = numbers(p->n_jobs, 1);
	s.all = numbers(n, 0);
	s.others = numbers(n, 0);
	s.is_stale = mem_zalloc(p->n_links + 1, sizeof *s.is_stale);
	/* If a full step does not converge, it oscillates. The steps therefore become shorter. */
	double step = 1, distance = INFINITY;
	for (int round = 0; round < MOST_ROUNDS && distance > tolerance; round++) {
		double now = improve(&s, step, least, is_next);
		if (now > 0.9 * distance)
			step = fmax(least_step, 0.7 * step);
		distance = now;
	}
	for (uint32_t j = 0; j < p->n_jobs; j++)
		speed[j] = 1 / p->growth(p->ctx, j, s.stretch[j]);
	double *const vectors[] = { s.part, s.rate, s.stretch, s.sending, s.all, s.others, least };
	for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++)
		mem_free(vectors[i]);
	mem_free(is_next);
	mem_free(s.is_stale);
	mem_free(s.first);
	mem_free(s.job_of);
	mem_free(s.user);
	mem_free(s.user_at);
}
