/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The law of sets of experts: loads, weights, draws (routing.h). */
#include "hwmodel/routing_parts.h"

#include "base/mem.h"

#include <math.h>
#include <string.h>

enum { MOST_ROUNDS = 2000 };

/* Coefficients of x^0..x^k. */
struct poly {
	double c[ROUTING_MOST_K + 1];
};

/* Sums over sets: of[a][t] is over a chosen groups and t experts in them. */
struct sums {
	double of[ROUTING_MOST_GROUPS + 1][ROUTING_MOST_K + 1];
};

static uint32_t group_size(const struct routing *r)
{
	return r->experts / r->groups;
}

/* Multiplies by 1 + w x, up to x^k. */
static void times_expert(struct poly *p, uint32_t k, double w)
{
	for (uint32_t t = k; t > 0; t--)
		p->c[t] += w * p->c[t - 1];
}

/* Returns the polynomial of a group whose expert e has the weight w[e] x (1 - here[e]); here NULL: 0. */
static struct poly group_poly(const struct routing *r, uint32_t group, const double *here)
{
	struct poly p = { { 1 } };
	uint32_t size = group_size(r);
	for (uint32_t e = group * size; e < (group + 1) * size; e++)
		times_expert(&p, r->top_k, r->weight[e] * (here ? 1 - here[e] : 1));
	return p;
}

/* Adds a group that may be chosen. */
static void times_group(const struct routing *r, struct sums *z, const struct poly *p)
{
	for (uint32_t a = r->top_groups; a > 0; a--)
		for (uint32_t t = r->top_k + 1; t-- > 0;) {
			double sum = z->of[a][t];
			for (uint32_t i = 0; i <= t; i++)
				sum += p->c[i] * z->of[a - 1][t - i];
			z->of[a][t] = sum;
		}
}

/* Sums over the sets of all groups but one (`without`; groups: of all). */
static void sum_groups(const struct routing *r, const struct poly *p, uint32_t without, struct sums *z)
{
	memset(z, 0, sizeof *z);
	z->of[0][0] = 1;
	for (uint32_t g = 0; g < r->groups; g++)
		if (g != without)
			times_group(r, z, &p[g]);
}

double routing_visits(const struct routing *r, const double *here)
{
	struct poly *p = mem_alloc(2 * r->groups * sizeof *p), *less = p + r->groups;
	struct sums *z = mem_alloc(sizeof *z);
	for (uint32_t g = 0; g < r->groups; g++) {
		p[g] = group_poly(r, g, NULL);
		less[g] = group_poly(r, g, here);
	}
	sum_groups(r, p, r->groups, z);
	double all = z->of[r->top_groups][r->top_k];
	sum_groups(r, less, r->groups, z);
	double none = z->of[r->top_groups][r->top_k];
	mem_free(p);
	mem_free(z);
	return 1 - none / all;
}

/* ---- weights that give the loads ---- */

/* Computes the probability that a token uses each expert of a group. before[i]: product over the first i experts of the group. */
static void group_uses(const struct routing *r, uint32_t group, const struct sums *rest, struct poly *before, double *out)
{
	uint32_t size = group_size(r), k = r->top_k, a = r->top_groups;
	const double *w = r->weight + (size_t)group * size;
	struct poly after = { { 1 } };
	before[0] = after;
	for (uint32_t i = 0; i < size; i++) {
		before[i + 1] = before[i];
		times_expert(&before[i + 1], k, w[i]);
	}
	double all = rest->of[a][k];
	for (uint32_t t = 0; t <= k; t++)
		all += before[size].c[t] * rest->of[a - 1][k - t];
	for (uint32_t i = size; i-- > 0;) {
		double none = rest->of[a][k]; /* sets without expert i */
		for (uint32_t t = 0; t <= k; t++) {
			double c = 0;
			for (uint32_t j = 0; j <= t; j++)
				c += before[i].c[j] * after.c[t - j];
			none += c * rest->of[a - 1][k - t];
		}
		out[group * size + i] = 1 - none / all;
		times_expert(&after, k, w[i]);
	}
}

static void uses(const struct routing *r, double *out)
{
	struct poly *p = mem_alloc(r->groups * sizeof *p), *before = mem_alloc((group_size(r) + 1) * sizeof *before);
	struct sums *rest = mem_alloc(sizeof *rest);
	for (uint32_t g = 0; g < r->groups; g++)
		p[g] = group_poly(r, g, NULL);
	for (uint32_t g = 0; g < r->groups; g++) {
		sum_groups(r, p, g, rest);
		group_uses(r, g, rest, before, out);
	}
	mem_free(p);
	mem_free(before);
	mem_free(rest);
}

/* Finds the weights by iteration: each is multiplied by wanted / present probability (Chen, Dempster, Liu, Biometrika 81(3), 1994), or
 * by the ratio of the odds, which converges faster for probabilities near 1. */
static int fit_weights(struct routing *r, struct orr_error *err)
{
	double *now = mem_alloc(r->experts * sizeof *now), worst = INFINITY, before = INFINITY, power = 1;
	for (uint32_t round = 0; round < MOST_ROUNDS && worst > 1e-11; round++) {
		uses(r, now);
		double sum = 0;
		worst = 0;
		for (uint32_t e = 0; e < r->experts; e++)
			worst = fabs(now[e] - r->pairs[e]) <= worst ? worst : fabs(now[e] - r->pairs[e]); /* keeps NAN */
		if (isnan(worst))
			break;
		if (worst > before)
			power = fmax(0.1, 0.7 * power);
		before = worst;
		for (uint32_t e = 0; e < r->experts; e++) {
			double want = r->pairs[e];
			if (want > 0)
				r->weight[e] *= pow(want / (1 - want) * (1 - now[e]) / now[e], power);
			sum += r->weight[e];
		}
		for (uint32_t e = 0; e < r->experts; e++)
			r->weight[e] *= r->experts / sum;
	}
	mem_free(now);
	if (worst <= 1e-6)
		return ORR_OK;
	return orr_fail(err, ORR_EINPUT,
		"loads of experts: no routing to %u of %u experts in %u of %u groups has these loads: expected a smaller skew or more "
		"groups per "
		"token",
		r->top_k, r->experts, r->top_groups, r->groups);
}

/* Sets pairs to top_k x share. A token uses an expert at most once: probabilities above MOST_USE are cut, and the rest is divided among
 * the other experts in proportion. */
#define MOST_USE 0.999
static void find_pairs(struct routing *r, const double *load)
{
	double left = r->top_k, sum = 0;
	bool *is_full = mem_zalloc(r->experts, sizeof *is_full);
	for (bool again = true; again;) {
		again = false;
		sum = 0;
		for (uint32_t e = 0; e < r->experts; e++)
			sum += is_full[e] ? 0 : load[e];
		for (uint32_t e = 0; e < r->experts; e++)
			if (!is_full[e] && sum > 0 && load[e] / sum * left > MOST_USE && r->top_k < r->experts) {
				is_full[e] = again = true;
				r->pairs[e] = MOST_USE;
			}
		left = r->top_k;
		for (uint32_t e = 0; e < r->experts; e++)
			left -= is_full[e] ? MOST_USE : 0;
	}
	for (uint32_t e = 0; e < r->experts; e++)
		if (!is_full[e])
			r->pairs[e] = left * load[e] / sum;
	mem_free(is_full);
}

static bool are_equal(const double *x, uint32_t n)
{
	for (uint32_t i = 1; i < n; i++)
		if (x[i] < x[0] || x[i] > x[0])
			return false;
	return true;
}

int routing_law(const struct orr_routing_terms *t, struct routing *r, struct orr_error *err)
{
	double *load = mem_alloc(r->experts * sizeof *load);
	for (uint32_t e = 0; e < r->experts; e++) {
		load[e] = t->load ? t->load[e] : pow(e + 1.0, -t->skew);
		r->weight[e] = load[e] > 0;
	}
	find_pairs(r, load);
	bool is_uniform = are_equal(load, r->experts) || r->top_k == r->experts; /* all weights are 1 */
	mem_free(load);
	if (is_uniform)
		for (uint32_t e = 0; e < r->experts; e++)
			r->pairs[e] = (double)r->top_k / r->experts;
	return is_uniform ? ORR_OK : fit_weights(r, err);
}

/* ---- draws ---- */

/* Sums over the sets of the groups from g on, for draws group by group. */
struct drawing {
	struct sums *from; /* [groups + 1] */
	struct poly *group;
	struct poly *after; /* [expert] product over the experts of the group from here on */
	struct poly one;
};

static void begin_drawing(const struct routing *r, struct drawing *d)
{
	uint32_t size = group_size(r);
	d->from = mem_zalloc(r->groups + 1, sizeof *d->from);
	d->group = mem_alloc(r->groups * sizeof *d->group);
	d->after = mem_alloc(r->experts * sizeof *d->after);
	d->one = (struct poly){ { 1 } };
	d->from[r->groups].of[0][0] = 1;
	for (uint32_t g = r->groups; g-- > 0;) {
		struct poly p = d->one;
		for (uint32_t i = size; i-- > 0;) {
			times_expert(&p, r->top_k, r->weight[g * size + i]);
			d->after[g * size + i] = p;
		}
		d->group[g] = p;
		d->from[g] = d->from[g + 1];
		times_group(r, &d->from[g], &p);
	}
}

/* Draws n experts of a group into out. */
static uint32_t draw_in_group(const struct routing *r, const struct drawing *d, uint32_t group, uint32_t n, struct rng *rng, uint32_t *out)
{
	uint32_t size = group_size(r), drawn = 0;
	for (uint32_t i = 0; i < size && drawn < n; i++) {
		uint32_t e = group * size + i, left = n - drawn;
		const struct poly *after = i + 1 < size ? &d->after[e + 1] : &d->one;
		double with = r->weight[e] * after->c[left - 1];
		if (rng_uniform(rng) * (with + after->c[left]) < with)
			out[drawn++] = e;
	}
	return drawn;
}

/* Draws the experts of a token; returns their number. */
static uint32_t draw_token(const struct routing *r, const struct drawing *d, struct rng *rng, uint32_t *out)
{
	uint32_t a = r->top_groups, k = r->top_k, n = 0;
	for (uint32_t g = 0; g < r->groups && a; g++) {
		const struct sums *next = &d->from[g + 1];
		double x = rng_uniform(rng) * d->from[g].of[a][k] - next->of[a][k];
		if (x < 0)
			continue; /* the group is not chosen */
		uint32_t t = 0;
		for (; t < k && (x -= d->group[g].c[t] * next->of[a - 1][k - t]) >= 0;)
			t++;
		n += draw_in_group(r, d, g, t, rng, out + n);
		k -= t;
		a--;
	}
	return n;
}

void routing_draw(const struct routing *r, uint64_t tokens, struct rng *rng, struct routing_sample *io)
{
	struct drawing d;
	uint32_t used[ROUTING_MOST_K], **at = mem_zalloc(r->experts, sizeof *at), *list = mem_alloc(r->slots * sizeof *list), *end = list;
	uint64_t *seen = mem_zalloc((size_t)r->ranks + r->nodes, sizeof *seen), ranks = 0, nodes = 0;
	begin_drawing(r, &d);
	for (uint32_t e = 0; e < r->experts; e++) {
		io->pairs[e] = 0;
		at[e] = end;
		end += r->copies[e];
	}
	for (uint32_t i = 0, n = 0; i < r->slots; i++, n = 0) {
		for (uint32_t j = 0; j < i; j++)
			n += r->expert[j] == r->expert[i];
		at[r->expert[i]][n] = r->rank[i];
	}
	for (uint64_t token = 1; token <= tokens; token++) {
		uint32_t n = draw_token(r, &d, rng, used);
		for (uint32_t i = 0; i < n; i++) {
			uint32_t e = used[i], copy = r->copies[e] > 1 ? (uint32_t)(rng_uniform(rng) * r->copies[e]) : 0;
			uint32_t rank = at[e][copy], node = r->ranks + rank / r->per_node;
			io->pairs[e]++;
			ranks += seen[rank] != token;
			nodes += seen[node] != token;
			seen[rank] = seen[node] = token;
		}
	}
	for (uint32_t e = 0; e < r->experts; e++)
		io->pairs[e] /= (double)tokens;
	io->distinct_ranks = (double)ranks / (double)tokens;
	io->distinct_nodes = (double)nodes / (double)tokens;
	mem_free(d.from);
	mem_free(d.group);
	mem_free(d.after);
	mem_free(at);
	mem_free(list);
	mem_free(seen);
}
