/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Data sets of stages: reads and claims when a stage starts, uses when it ends. */
#include "jobs/flows.h"

#include "base/mem.h"
#include "base/num.h"
#include "jobs/world.h"

#include <math.h>

/* Calls f for each data set of an operator in branch b: the output of a stage, or the kept results of a choose. */
static void each_set(const struct flow_branch *b, uint32_t op, void (*f)(void *ctx, uint64_t set), void *ctx)
{
	const struct flow *flow = b->run->flow;
	const struct flow_op *o = &flow->op[op];
	const struct flow_item *x = &b->item[o->local];
	if (o->kind == FLOW_WORK) {
		if (x->set)
			f(ctx, x->set);
		return;
	}
	const struct flow_explore *e = b->item[flow->op[o->explore].local].explore;
	for (uint32_t i = 0; e && i < e->n_kept; i++)
		for (uint32_t k = 0; k < o->n_inputs; k++)
			each_set(e->kept[i], o->input[k], f, ctx);
}

void flows_each_input(const struct flow_branch *b, uint32_t op, void (*f)(void *ctx, uint64_t set), void *ctx)
{
	const struct flow_op *o = &b->run->flow->op[op];
	for (uint32_t i = 0; i < o->n_sources; i++) {
		const struct flow_branch *home = b;
		for (uint32_t up = o->source[i].up; up; up--)
			home = home->parent;
		each_set(home, o->source[i].op, f, ctx);
	}
}

/* ---- uses ---- */

struct use {
	struct datasets *sets;
	uint64_t n;
};

static void use_set(void *ctx, uint64_t set)
{
	const struct use *u = ctx;
	datasets_used(u->sets, set, u->n);
}

void flow_use(struct orr_jobs *w, const struct flow_branch *b, uint32_t op, uint32_t up, uint32_t import, uint64_t n)
{
	while (up--) {
		b->imported[import] += n;
		import = b->run->flow->op[b->scope].import[import].parent;
		b = b->parent;
	}
	struct use u = { w->flows->sets, n };
	if (w->flows->sets && n)
		each_set(b, op, use_set, &u);
}

/* ---- start, stop, end ---- */

static void read_set(void *ctx, uint64_t set)
{
	datasets_read(ctx, set);
}

/* Returns min(bytes * rho, cost of recomputing the set), in bytes read from memory. Only the first source counts as upstream. */
static double unit_of(const struct orr_jobs *w, const struct flow_branch *b, const struct flow_op *o, double bytes, uint32_t n_nodes)
{
	const struct flows *s = w->flows;
	double store = bytes * s->rho;
	if (!o->n_sources || b->run->flow->op[o->source[0].op].kind != FLOW_WORK || !(s->disk_Bps > 0))
		return store; /* a source, or an unknown upstream */
	for (uint32_t up = o->source[0].up; up; up--)
		b = b->parent;
	const struct flow_item *x = &b->item[b->run->flow->op[o->source[0].op].local];
	double on_disk = x->set ? datasets_disk_share(s->sets, x->set) : 0;
	double share = s->recompute == 0 ? on_disk
		       : on_disk > 0     ? 0
					 : 1; /* as in the prototype's code: integer division of the share in memory */
	double cost = (double)x->took / 1e9 * s->disk_Bps * n_nodes * s->rho;
	double again = cost + share * (x->set ? (double)datasets_bytes(s->sets, x->set) : 0) * s->rho;
	return again < store ? again : store;
}

static uint32_t nodes_of(const struct job *job, uint32_t *node)
{
	const struct pool_piece *x = pool_pieces(&job->alloc);
	uint32_t n = 0;
	for (uint32_t i = 0; i < job->alloc.n; i++) {
		uint32_t k = 0;
		while (k < n && node[k] != x[i].node)
			k++;
		if (k == n)
			node[n++] = x[i].node;
	}
	return n;
}

static uint64_t claim(struct orr_jobs *w, const struct job *job, double bytes, uint64_t uses)
{
	const struct flow_branch *b = job->branch;
	if (!(bytes >= 1) || !job->alloc.n)
		return DATASETS_NO_SET;
	uint32_t one[64], *node = job->alloc.n <= 64 ? one : mem_alloc(job->alloc.n * sizeof *node);
	uint32_t n = nodes_of(job, node);
	uint64_t set = datasets_add(w->flows->sets, node, n, llrint(bytes), unit_of(w, b, &b->run->flow->op[job->stage], bytes, n), uses);
	if (node != one)
		mem_free(node);
	return set;
}

void flows_started(struct orr_jobs *w, struct job *job)
{
	struct flow_branch *b = job->branch;
	const struct flow_op *o = &b->run->flow->op[job->stage];
	struct flow_item *x = &b->item[o->local];
	if (!w->flows->sets)
		return;
	datasets_begin(w->flows->sets);
	flows_each_input(b, job->stage, read_set, w->flows->sets);
	x->set = claim(w, job, flow_value(&o->bytes, b->path), o->uses);
	x->scratch = claim(w, job, flow_value(&o->scratch, b->path), 1);
	job->start_cost = num_add_sat(job->start_cost, datasets_io_ns(w->flows->sets));
}

static void drop_set(struct orr_jobs *w, uint64_t *set)
{
	if (*set && datasets_exists(w->flows->sets, *set))
		datasets_drop(w->flows->sets, *set);
	*set = DATASETS_NO_SET;
}

void flow_drop_sets(struct orr_jobs *w, struct flow_item *x)
{
	drop_set(w, &x->set);
	drop_set(w, &x->scratch);
}

void flows_stopped(struct orr_jobs *w, struct job *job)
{
	flow_drop_sets(w, &job->branch->item[job->branch->run->flow->op[job->stage].local]);
}

void flow_finish_sets(struct orr_jobs *w, struct job *job)
{
	struct flow_branch *b = job->branch;
	const struct flow_op *o = &b->run->flow->op[job->stage];
	struct flow_item *x = &b->item[o->local];
	drop_set(w, &x->scratch);
	if (x->set)
		datasets_made(w->flows->sets, x->set);
	for (uint32_t i = 0; i < o->n_sources; i++)
		flow_use(w, b, o->source[i].op, o->source[i].up, o->source[i].import, 1);
}
