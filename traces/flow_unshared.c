/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Work of a flow, and the flow without sharing: each innermost branch is one job with its own sources and prefix. */
#include "traces/flow.h"

#include "base/mem.h"

#include <stdio.h>
#include <string.h>

enum { MOST_BRANCHES = 10000000 };

struct copier {
	const struct flow *from;
	struct flow *to;
	uint32_t *map; /* operator of `to`; FLOW_ROOT: none yet */
	const char *where;
	struct orr_error *err;
};

static struct flow_values copy_values(const struct flow_values *x)
{
	struct flow_values y = { mem_alloc((x->n + 1u) * sizeof *y.v), x->n };
	if (x->n)
		memcpy(y.v, x->v, x->n * sizeof *y.v);
	return y;
}

/* Returns the operator whose score decides, following nested chooses. */
static uint32_t leaf_of(const struct flow *f, uint32_t choose)
{
	uint32_t s = f->op[choose].scorer;
	while (f->op[s].kind == FLOW_CHOOSE)
		s = f->op[s].scorer;
	return s;
}

/* Marks the operators that x needs. Stops at chooses outside all branches. */
static void mark(const struct flow *f, uint32_t x, bool *is_marked)
{
	const struct flow_op *o = &f->op[x];
	if (is_marked[x])
		return;
	is_marked[x] = true;
	for (uint32_t j = 0; j < o->n_inputs; j++)
		if (f->op[o->input[j]].kind != FLOW_CHOOSE || f->op[o->input[j]].depth)
			mark(f, o->input[j], is_marked);
	if (o->kind == FLOW_CHOOSE) {
		mark(f, o->scorer, is_marked);
		mark(f, o->explore, is_marked);
	}
}

/* ---- work ---- */

static double sum_of(const struct flow_values *x, uint64_t paths)
{
	double sum = 0;
	for (uint32_t i = 0; i < x->n; i++)
		sum += x->v[i];
	return x->n ? sum * ((double)paths / x->n) : 0;
}

double flow_work_shared(const struct flow *f)
{
	double sum = 0;
	for (uint32_t i = 0; i < f->n_ops; i++)
		sum += sum_of(&f->op[i].work_s, f->op[i].instances) * f->op[i].gpus;
	return sum;
}

/* Paths of the innermost branches among the marked operators. */
static uint64_t leaves(const struct flow *f, const bool *is_marked)
{
	uint64_t most = 1;
	for (uint32_t i = 0; i < f->n_ops; i++)
		if (is_marked[i] && f->op[i].instances > most)
			most = f->op[i].instances;
	return most;
}

double flow_work_unshared(const struct flow *f)
{
	bool *is_marked = mem_zalloc(f->n_ops + 1u, sizeof *is_marked), *is_counted = mem_zalloc(f->n_ops + 1u, sizeof *is_counted);
	double sum = 0;
	for (uint32_t i = 0; i < f->n_ops; i++) {
		if (f->op[i].kind != FLOW_CHOOSE || f->op[i].scope != FLOW_ROOT)
			continue;
		memset(is_marked, 0, f->n_ops);
		mark(f, i, is_marked);
		uint64_t n = leaves(f, is_marked);
		for (uint32_t k = 0; k < f->n_ops; k++) {
			is_counted[k] |= is_marked[k];
			if (is_marked[k])
				sum += sum_of(&f->op[k].work_s, f->op[k].instances) * f->op[k].gpus *
				       ((double)n / (double)f->op[k].instances);
		}
	}
	for (uint32_t i = 0; i < f->n_ops; i++)
		if (!is_counted[i])
			sum += sum_of(&f->op[i].work_s, f->op[i].instances) * f->op[i].gpus;
	mem_free(is_marked);
	mem_free(is_counted);
	return sum;
}

/* ---- the flow without sharing ---- */

static bool is_around(const struct flow *f, uint32_t outer, uint32_t scope)
{
	while (scope != outer && scope != FLOW_ROOT)
		scope = f->op[scope].scope;
	return scope == outer;
}

static uint32_t copy_of(struct copier *c, uint32_t x);

/* Adds an explore of all combinations, one job per combination, and the choose of the outermost explore. */
static uint32_t fuse(struct copier *c, uint32_t choose)
{
	const struct flow *f = c->from;
	uint32_t leaf = leaf_of(f, choose), gpus = 1;
	uint64_t n = f->op[leaf].instances;
	bool *is_marked = mem_zalloc(f->n_ops + 1u, sizeof *is_marked), is_linear = true, is_chain = n <= MOST_BRANCHES;
	mark(f, choose, is_marked);
	for (uint32_t i = 0; i < f->n_ops; i++) {
		is_chain &= !is_marked[i] || is_around(f, f->op[i].scope, f->op[leaf].scope);
		if (is_marked[i] && f->op[i].kind == FLOW_WORK) {
			gpus = f->op[i].gpus > gpus ? f->op[i].gpus : gpus;
			is_linear &= f->op[i].scaling == FLOW_LINEAR;
		}
	}
	if (!is_chain) {
		mem_free(is_marked);
		orr_fail(c->err, ORR_EINPUT,
			"%s: jobs.unshared: the branches below \"%.60s\" fork, or are more than 1e7: expected explores that are nested one "
			"in "
			"another",
			c->where, f->op[choose].name);
		return FLOW_ROOT;
	}
	char name[160];
	snprintf(name, sizeof name, "%.100s explore", f->op[choose].name);
	struct flow_op *e = flow_add(c->to, name, FLOW_EXPLORE);
	uint32_t explore = c->to->n_ops - 1;
	e->value = (struct flow_values){ mem_alloc(n * sizeof *e->value.v), (uint32_t)n };
	for (uint32_t i = 0; i < n; i++)
		e->value.v[i] = flow_value(&f->op[f->op[leaf].scope].value, i);
	for (uint32_t i = 0; i < f->n_ops; i++)
		for (uint32_t j = 0; is_marked[i] && j < f->op[i].n_inputs; j++) {
			uint32_t x = f->op[i].input[j];
			uint32_t in = is_marked[x] ? FLOW_ROOT : copy_of(c, x);
			if (in != FLOW_ROOT)
				flow_input(&c->to->op[explore], in);
		}
	snprintf(name, sizeof name, "%.100s branch", f->op[choose].name);
	struct flow_op *b = flow_add(c->to, name, FLOW_WORK);
	uint32_t branch = c->to->n_ops - 1;
	flow_input(b, explore);
	b->gpus = gpus;
	b->scaling = is_linear ? FLOW_LINEAR : FLOW_FIXED;
	b->score = f->op[leaf].score;
	b->score.values = copy_values(&f->op[leaf].score.values);
	b->work_s = (struct flow_values){ mem_zalloc(n, sizeof(double)), (uint32_t)n };
	b->bytes = (struct flow_values){ mem_zalloc(n, sizeof(double)), (uint32_t)n };
	b->scratch = (struct flow_values){ mem_zalloc(n, sizeof(double)), (uint32_t)n };
	for (uint32_t i = 0; i < f->n_ops; i++) {
		const struct flow_op *o = &f->op[i];
		uint64_t per = n / o->instances;
		for (uint64_t p = 0; is_marked[i] && o->kind == FLOW_WORK && p < n; p++) {
			b->work_s.v[p] += flow_value(&o->work_s, p / per) * o->gpus / gpus;
			(o->is_result && o->instances == n ? b->bytes.v : b->scratch.v)[p] += flow_value(&o->bytes, p / per);
		}
	}
	struct flow_op *to = flow_add(c->to, f->op[choose].name, FLOW_CHOOSE);
	const struct flow_op *was = &f->op[choose];
	to->keep = was->keep;
	to->order = was->order;
	to->stop = was->stop;
	to->threshold = was->threshold;
	to->is_incremental = was->is_incremental;
	to->is_lower_better = was->is_lower_better;
	flow_input(to, branch);
	mem_free(is_marked);
	return c->to->n_ops - 1;
}

static uint32_t copy_of(struct copier *c, uint32_t x)
{
	const struct flow_op *o = &c->from->op[x];
	if (c->map[x] != FLOW_ROOT)
		return c->map[x];
	if (o->kind == FLOW_CHOOSE)
		return c->map[x] = fuse(c, x);
	uint32_t *in = mem_alloc((o->n_inputs + 1u) * sizeof *in), n = 0;
	for (uint32_t j = 0; j < o->n_inputs; j++) {
		uint32_t i = copy_of(c, o->input[j]);
		if (i != FLOW_ROOT)
			in[n++] = i;
	}
	struct flow_op *to = flow_add(c->to, o->name, FLOW_WORK);
	c->map[x] = c->to->n_ops - 1;
	for (uint32_t j = 0; j < n; j++)
		flow_input(to, in[j]);
	mem_free(in);
	to->gpus = o->gpus;
	to->scaling = o->scaling;
	to->limit_ns = o->limit_ns;
	to->work_s = copy_values(&o->work_s);
	to->bytes = copy_values(&o->bytes);
	return c->map[x];
}

struct flow *flow_unshared(const struct flow *f, const char *where, struct orr_error *err)
{
	struct copier c = { f, flow_new(), mem_alloc((f->n_ops + 1u) * sizeof *c.map), where, err };
	struct orr_error none = { 0 };
	memset(c.map, 0xff, (f->n_ops + 1u) * sizeof *c.map);
	if (!c.err)
		c.err = &none;
	c.to->name = f->name ? mem_strdup(f->name) : NULL;
	c.to->user = f->user ? mem_strdup(f->user) : NULL;
	c.to->submit_ns = f->submit_ns;
	c.to->line = f->line;
	for (uint32_t i = 0; i < f->n_ops; i++) /* sinks, and the operators that they need */
		if (!f->op[i].depth && !f->op[i].n_after && f->op[i].kind != FLOW_EXPLORE)
			copy_of(&c, i);
	mem_free(c.map);
	if (!c.err->code && !flow_finish(c.to, where, c.err))
		return c.to;
	flow_free(c.to);
	return NULL;
}
