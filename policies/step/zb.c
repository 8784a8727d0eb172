/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * ZB-1p and ZB-2p: the zero-bubble heuristic (Qi et al., arXiv 2401.10241, 3.1; the authors' code, `zb`).
 *
 * Makes the order of all stages for given times, under a limit on activations: 1 (ZB-1p) or 2 (ZB-2p) times the most that 1F1B
 * keeps on a stage. Forwards first, as many as fit before the first B arrives; then rounds of one F and one B per stage, with W in the
 * waits. Of eight settings (early, prio, greedy) the one whose longest stage is shortest is kept, the first of equals. The longest stage
 * lasts from its first F to its last W.
 *
 * The paper improves the result by an integer program; the authors' code runs the heuristic alone by default, and so does this.
 * Times may differ by stage (the authors' code takes one time for all stages).
 */
#include "zero_bubble.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

struct setting {
	bool early, prio, greedy;
};

struct draft {
	const struct zb_plan *plan;
	struct setting set;
	uint32_t p, m;
	double *t, *memory, *bubble;        /* by stage: end of the last op, bytes, waits after the first F */
	double most_bubble;                 /* the largest wait of any stage: waits only grow */
	double *first;                      /* start of the first F */
	uint32_t *f, *b, *w, *extra;        /* numbers of ops put, by stage; forwards before the first round */
	double *forward_end, *backward_end; /* [stage * m + micro] */
	bool *want;
	struct zb_order *order; /* NULL: only the times are needed */
};

static double most(const double *v, uint32_t n)
{
	double x = v[0];
	for (uint32_t i = 1; i < n; i++)
		x = fmax(x, v[i]);
	return x;
}

/* Puts the next op of a kind on stage s, not before `ready`. */
static void put(struct draft *d, uint32_t s, enum zb_kind kind, double ready)
{
	uint32_t *count = kind == ZB_F ? d->f : kind == ZB_B ? d->b : d->w;
	double start = fmax(d->t[s], ready);
	if (d->f[s]) {
		d->bubble[s] += start - d->t[s];
		d->most_bubble = fmax(d->most_bubble, d->bubble[s]);
	} else {
		d->first[s] = start;
	}
	d->t[s] = start + d->plan->seconds[kind][s];
	d->memory[s] += d->plan->bytes[kind][s];
	if (kind != ZB_W)
		(kind == ZB_F ? d->forward_end : d->backward_end)[(size_t)s * d->m + count[s]] = d->t[s];
	if (d->order)
		zb_put(&d->order[s], kind, 0, count[s]);
	count[s]++;
}

static double forward_ready(const struct draft *d, uint32_t s)
{
	return s ? d->forward_end[(size_t)(s - 1) * d->m + d->f[s]] + d->plan->hop_s : 0;
}

static double backward_ready(const struct draft *d, uint32_t s)
{
	return s + 1 < d->p ? d->backward_end[(size_t)(s + 1) * d->m + d->b[s]] + d->plan->hop_s
			    : d->forward_end[(size_t)s * d->m + d->b[s]];
}

static bool is_pending(const struct draft *d, uint32_t s)
{
	return d->w[s] < d->b[s];
}

/* Fills the wait until `ready` with W's. */
static void fill(struct draft *d, uint32_t s, double ready)
{
	while (is_pending(d, s) && d->t[s] + d->plan->seconds[ZB_W][s] <= ready)
		put(d, s, ZB_W, 0);
	if (is_pending(d, s) && d->t[s] < ready && (ready - d->t[s] > d->most_bubble - d->bubble[s] || d->set.greedy))
		put(d, s, ZB_W, 0);
}

/* Puts W's until `bytes` more fit. Returns false if too few are pending. */
static bool make_room(struct draft *d, uint32_t s, double bytes)
{
	while (d->memory[s] + bytes > d->plan->limit) {
		if (!is_pending(d, s))
			return false;
		put(d, s, ZB_W, 0);
	}
	return true;
}

/* Plans the forwards before the first backward of each stage. */
static void warm_up(struct draft *d)
{
	const double *f = d->plan->seconds[ZB_F], *b = d->plan->seconds[ZB_B], *bytes = d->plan->bytes[ZB_F], hop = d->plan->hop_s;
	for (uint32_t s = 0; s < d->p; s++)
		put(d, s, ZB_F, forward_ready(d, s));
	double last = d->t[d->p - 1] + b[d->p - 1];
	for (uint32_t s = d->p - 1; s-- > 0;) {
		double x = d->t[s], y = d->memory[s];
		while (1 + d->extra[s] < d->m && y + bytes[s] <= d->plan->limit &&
			(d->set.early ? x + f[s] <= last + hop : x < last + hop)) {
			x += f[s];
			y += bytes[s];
			d->extra[s]++;
		}
		last = fmax(x, last + hop) + b[s];
	}
	for (uint32_t s = 1; s < d->p; s++)
		while (d->extra[s] > 0 && d->extra[s] >= d->extra[s - 1] && 1 + d->extra[s] < d->m)
			d->extra[s]--;
	for (uint32_t s = 0; s < d->p; s++)
		for (uint32_t i = 0; i < d->extra[s]; i++)
			put(d, s, ZB_F, forward_ready(d, s));
	for (uint32_t s = d->p; s-- > 0;)
		put(d, s, ZB_B, backward_ready(d, s));
}

/* Returns whether stage s is to run a forward in this round. */
static bool wants(const struct draft *d, uint32_t s)
{
	const struct zb_plan *plan = d->plan;
	if (d->f[s] == d->m)
		return false;
	if (!d->set.prio || s + 1 == d->p || d->f[s] < d->f[s + 1] + 2)
		return true;
	double next = d->t[s + 1] + plan->seconds[ZB_F][s + 1] + plan->seconds[ZB_B][s + 1] + plan->hop_s, w = 0;
	double memory = d->memory[s];
	if (d->t[s] >= next)
		return false;
	for (uint32_t i = d->w[s]; i < d->b[s] && memory + plan->bytes[ZB_F][s] > plan->limit; i++) {
		memory += plan->bytes[ZB_W][s];
		w += plan->seconds[ZB_W][s];
	}
	if (d->t[s] + plan->seconds[ZB_F][s] + w <= next)
		return true;
	return next - d->t[s] > d->most_bubble - d->bubble[s];
}

static bool round_of(struct draft *d)
{
	const struct zb_plan *plan = d->plan;
	for (uint32_t s = d->p; s-- > 0;)
		d->want[s] = wants(d, s) && (s + 1 == d->p || d->want[s + 1]);
	for (uint32_t s = 0; s < d->p; s++) {
		if (!d->want[s])
			continue;
		if (!make_room(d, s, plan->bytes[ZB_F][s]))
			return false;
		if (s)
			fill(d, s, forward_ready(d, s));
		put(d, s, ZB_F, forward_ready(d, s));
	}
	for (uint32_t s = d->p; s-- > 0;) {
		if (!make_room(d, s, plan->bytes[ZB_B][s]))
			return false;
		if (s + 1 < d->p)
			fill(d, s, backward_ready(d, s));
		while (!s && d->f[s] == d->m && is_pending(d, s))
			put(d, s, ZB_W, 0);
		put(d, s, ZB_B, backward_ready(d, s));
	}
	return true;
}

/* Returns the time of the longest stage; INFINITY: the setting does not fit into memory. */
static double draft_run(struct draft *d)
{
	double longest = 0;
	d->most_bubble = 0;
	memset(d->t, 0, d->p * sizeof *d->t);
	memset(d->memory, 0, d->p * sizeof *d->memory);
	memset(d->bubble, 0, d->p * sizeof *d->bubble);
	memset(d->f, 0, d->p * sizeof *d->f);
	memset(d->b, 0, d->p * sizeof *d->b);
	memset(d->w, 0, d->p * sizeof *d->w);
	memset(d->extra, 0, d->p * sizeof *d->extra);
	warm_up(d);
	for (uint32_t i = 1; i < d->m; i++)
		if (!round_of(d))
			return INFINITY;
	for (uint32_t s = 0; s < d->p; s++) {
		while (is_pending(d, s))
			put(d, s, ZB_W, 0);
		longest = fmax(longest, d->t[s] - d->first[s]);
	}
	return longest;
}

static void draft_free(struct draft *d)
{
	orr_free(d->t);
	orr_free(d->memory);
	orr_free(d->bubble);
	orr_free(d->first);
	orr_free(d->f);
	orr_free(d->b);
	orr_free(d->w);
	orr_free(d->extra);
	orr_free(d->forward_end);
	orr_free(d->backward_end);
	orr_free(d->want);
}

static int generate(struct zb_plan *plan, const struct orr_args *args, struct orr_error *err)
{
	uint32_t p = plan->p, m = plan->m;
	struct draft d = { .plan = plan, .p = p, .m = m };
	struct setting best = { false, false, false };
	double shortest = INFINITY;
	(void)args;
	if (isinf(plan->limit))
		plan->limit = 3.0 * m * most(plan->bytes[ZB_F], p); /* as in the authors' code */
	d.t = orr_alloc(p, sizeof *d.t);
	d.memory = orr_alloc(p, sizeof *d.memory);
	d.bubble = orr_alloc(p, sizeof *d.bubble);
	d.first = orr_alloc(p, sizeof *d.first);
	d.f = orr_alloc(p, sizeof *d.f);
	d.b = orr_alloc(p, sizeof *d.b);
	d.w = orr_alloc(p, sizeof *d.w);
	d.extra = orr_alloc(p, sizeof *d.extra);
	d.forward_end = orr_alloc((size_t)p * m, sizeof *d.forward_end);
	d.backward_end = orr_alloc((size_t)p * m, sizeof *d.backward_end);
	d.want = orr_alloc(p, sizeof *d.want);
	for (unsigned k = 0; k < 8; k++) {
		d.set = (struct setting){ !(k & 4), !(k & 2), !(k & 1) };
		double longest = draft_run(&d);
		if (longest < shortest) {
			shortest = longest;
			best = d.set;
		}
	}
	int rc = ORR_OK;
	if (isinf(shortest)) {
		rc = orr_fail(err, ORR_EINPUT,
			"activations of at most %.9g bytes per stage: no setting of the heuristic fits: expected a greater max_memory or "
			"depth",
			plan->limit);
	} else {
		d.set = best;
		d.order = plan->order;
		draft_run(&d);
		snprintf(plan->choice, sizeof plan->choice, "%c%c%c", "FT"[best.early], "FT"[best.prio], "FT"[best.greedy]);
	}
	draft_free(&d);
	return rc;
}

static const struct orr_param params[] = { ZB_LIMIT_PARAMS, ZB_PARAMS, ORR_PARAM_END };

static void *create(struct orr_step *s, const struct orr_args *args, struct orr_error *err)
{
	return zb_new(s, args, ZB_STRAIGHT, generate, true, err);
}

static const struct orr_step_ops ops = ZB_OPS(create);

ORR_POLICY_STEP(zb, "zero-bubble pipeline by heuristic, for given times and memory (ZB-1p, ZB-2p)", params, ops);
