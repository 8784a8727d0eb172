/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Markov chain Monte Carlo over plans (Jia, Zaharia, Aiken, "Beyond Data and Model Parallelism for Deep Neural Networks", MLSys
 * 2019, 6: FlexFlow's search): a random change of the present plan is accepted with probability min(1, exp(beta (cost -
 * cost')/cost0)), where cost0 is that of the first plan. FlexFlow's space is per operator (SOAP); this space has stages, GPUs
 * per stage, shards, micro-batches and recomputation. The paper does not state beta and the proposals; they are parameters,
 * described in docs/models/plan.md.
 */
#include "chain.h"

#include <math.h>
#include <string.h>

static const struct orr_param params[] = { ORR_PARAM_INT("steps", "20000", 1, 1e12, "proposals"),
	ORR_PARAM_REAL("beta", "50", 0, 1e12, "inverse temperature, relative to the cost of the first plan"),
	ORR_PARAM_INT("restarts", "16", 1, 1e6, "chains; the first begins with data parallelism, the others with random pipelines"),
	ORR_PARAM_END };

/* A plan visited by the Markov chain. */
struct point {
	uint32_t stages, *first, *gpus, *shards; /* first[stages] is the number of pieces */
	uint32_t micro;                          /* index into the list of micro-batches */
	enum orr_plan_recompute recompute;
};

struct mcmc {
	struct orr_plan *p;
	struct orr_plan_facts f;
	double *micro;
	uint32_t n_micro, most, *gpu;
	struct orr_plan_stage *stage;
};

static uint32_t below(struct mcmc *m, uint32_t n)
{
	return (uint32_t)(orr_plan_uniform(m->p) * n);
}

static struct point point_new(const struct mcmc *m)
{
	return (struct point){ .first = orr_alloc(m->most + 2, sizeof(uint32_t)),
		.gpus = orr_alloc(m->most + 1, sizeof(uint32_t)),
		.shards = orr_alloc(m->most + 1, sizeof(uint32_t)) };
}

static void point_free(struct point *x)
{
	orr_free(x->first);
	orr_free(x->gpus);
	orr_free(x->shards);
}

static void copy(const struct mcmc *m, struct point *to, const struct point *from)
{
	memcpy(to->first, from->first, (m->most + 2) * sizeof *to->first);
	memcpy(to->gpus, from->gpus, (m->most + 1) * sizeof *to->gpus);
	memcpy(to->shards, from->shards, (m->most + 1) * sizeof *to->shards);
	to->stages = from->stages;
	to->micro = from->micro;
	to->recompute = from->recompute;
}

/* Returns the cost; INFINITY if the plan does not fit. */
static double cost(struct mcmc *m, const struct point *x)
{
	struct orr_plan_value v;
	for (uint32_t i = 0, at = 0; i < x->stages; at += x->gpus[i++])
		m->stage[i] = (struct orr_plan_stage){ .first = x->first[i],
			.count = x->first[i + 1] - x->first[i],
			.gpu = m->gpu + at,
			.n_gpus = x->gpus[i],
			.shards = x->shards[i] };
	orr_plan_evaluate(m->p,
		&(struct orr_plan_draft){
			.stages = x->stages, .stage = m->stage, .micro_batch = m->micro[x->micro], .recompute = x->recompute },
		&v);
	return v.iteration_s;
}

/* Splits stage s at a random place. */
static bool split(struct mcmc *m, struct point *x, uint32_t s)
{
	uint32_t pieces = x->first[s + 1] - x->first[s];
	if (x->stages >= m->most || pieces < 2 || x->gpus[s] < 2)
		return false;
	memmove(x->first + s + 2, x->first + s + 1, (x->stages - s) * sizeof *x->first);
	memmove(x->gpus + s + 1, x->gpus + s, (x->stages - s) * sizeof *x->gpus);
	memmove(x->shards + s + 1, x->shards + s, (x->stages - s) * sizeof *x->shards);
	x->first[s + 1] = x->first[s] + 1 + below(m, pieces - 1);
	x->gpus[s] = 1 + below(m, x->gpus[s] - 1);
	x->gpus[s + 1] -= x->gpus[s];
	x->stages++;
	return true;
}

static bool merge(struct point *x, uint32_t s)
{
	if (s + 1 >= x->stages)
		return false;
	x->gpus[s] += x->gpus[s + 1];
	memmove(x->first + s + 1, x->first + s + 2, (x->stages - s - 1) * sizeof *x->first);
	memmove(x->gpus + s + 1, x->gpus + s + 2, (x->stages - s - 2) * sizeof *x->gpus);
	memmove(x->shards + s + 1, x->shards + s + 2, (x->stages - s - 2) * sizeof *x->shards);
	x->stages--;
	return true;
}

/* Moves the cut after stage s, or moves GPUs between s and the next stage. */
static bool move(struct mcmc *m, struct point *x, uint32_t s, bool is_gpus)
{
	if (s + 1 >= x->stages)
		return false;
	if (is_gpus) {
		uint32_t both = x->gpus[s] + x->gpus[s + 1];
		x->gpus[s] = 1 + below(m, both - 1);
		x->gpus[s + 1] = both - x->gpus[s];
	} else
		x->first[s + 1] = x->first[s] + 1 + below(m, x->first[s + 2] - x->first[s] - 1);
	return true;
}

static void mend_shards(const struct mcmc *m, struct point *x)
{
	for (uint32_t i = 0; i < x->stages; i++)
		while (x->shards[i] > 1 && (x->gpus[i] % x->shards[i] || !m->f.blocks || m->f.heads % x->shards[i]))
			x->shards[i] /= 2;
}

static bool propose(struct mcmc *m, struct point *x)
{
	uint32_t s = below(m, x->stages);
	bool has_changed = true;
	switch (below(m, 7)) {
	case 0:
		has_changed = split(m, x, s);
		break;
	case 1:
		has_changed = merge(x, s);
		break;
	case 2:
		has_changed = move(m, x, s, true);
		break;
	case 3:
		has_changed = move(m, x, s, false);
		break;
	case 4:
		x->micro = below(m, m->n_micro);
		break;
	case 5:
		x->shards[s] = 1u << below(m, 4);
		break;
	default:
		x->recompute = m->f.blocks ? (enum orr_plan_recompute)below(m, 3) : below(m, 2) ? ORR_PLAN_RECOMPUTE_FULL : ORR_PLAN_KEEP;
	}
	mend_shards(m, x);
	return has_changed;
}

static void begin(struct mcmc *m, struct point *x, bool is_random)
{
	x->stages = 1;
	x->first[0] = 0;
	x->first[1] = m->f.pieces;
	x->gpus[0] = m->f.gpus;
	x->shards[0] = 1;
	x->micro = 0;
	x->recompute = ORR_PLAN_KEEP;
	for (uint32_t i = 0; is_random && i < m->most / 2; i++)
		split(m, x, below(m, x->stages));
	x->micro = is_random ? below(m, m->n_micro) : 0;
}

static void walk(struct mcmc *m, int64_t steps, double beta, bool is_random)
{
	struct point now = point_new(m), next = point_new(m);
	begin(m, &now, is_random);
	double at = cost(m, &now), first = at;
	for (int64_t i = 1; i < steps && orr_plan_goes_on(m->p); i++) {
		copy(m, &next, &now);
		if (!propose(m, &next))
			continue;
		double to = cost(m, &next);
		first = isfinite(first) ? first : to;
		bool is_better = to <= at || !isfinite(at);
		if (!is_better && !(orr_plan_uniform(m->p) < exp(beta * (at - to) / first)))
			continue;
		copy(m, &now, &next);
		at = to;
		if (i % 1024 == 0)
			orr_plan_progress(m->p, (double)i / (double)steps);
	}
	point_free(&now);
	point_free(&next);
}

static int search(struct orr_plan *p, const struct orr_args *args, struct orr_error *err)
{
	struct mcmc m = { .p = p };
	(void)err;
	orr_plan_facts(p, &m.f);
	m.n_micro = chain_micro_batches(&m.f, &m.micro);
	m.most = m.f.gpus < m.f.pieces ? m.f.gpus : m.f.pieces;
	m.stage = orr_alloc(m.most + 1, sizeof *m.stage);
	m.gpu = orr_alloc(m.f.gpus, sizeof *m.gpu);
	for (uint32_t g = 0; g < m.f.gpus; g++)
		m.gpu[g] = g;
	int64_t steps = orr_arg_int(args, "steps"), chains = orr_arg_int(args, "restarts");
	chains = chains < steps ? chains : steps;
	steps /= chains;
	for (int64_t i = 0; i < chains && m.n_micro && orr_plan_goes_on(p); i++)
		walk(&m, steps, orr_arg_real(args, "beta"), i > 0);
	orr_free(m.micro);
	orr_free(m.stage);
	orr_free(m.gpu);
	return 0;
}

static const struct orr_plan_ops ops = { .search = search };

ORR_POLICY_PLAN_FLAGS(mcmc, "random changes, accepted or rejected by cost (FlexFlow's search)", ORR_DRAWS, params, ops);
