/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "serve/group.h"

#include "base/mem.h"
#include "net/topology.h"
#include "step/once.h"

#include <math.h>

enum { REDUCE, GATHER, HOP, KINDS };
enum { PER_OCTAVE = 4, SIZES = 60 * PER_OCTAVE };

struct sample {
	bool is_known;
	double s, network_bytes;
};

struct group_net {
	struct served_net served;
	struct step_once question; /* question to the step world, without members and bytes */
	struct cost *cost[CLUSTER_MAX_TYPES];
	uint32_t tp, pp;
	uint32_t *gpu;        /* GPU numbers in the topology, [stage * tp + rank] */
	bool *is_spread;      /* flag by stage: the GPUs of the stage are on several nodes */
	bool *leaves;         /* flag by stage: the message to the next stage leaves a node */
	struct sample *known; /* known times, [(stage * KINDS + kind) * SIZES + index of the size] */
	struct orr_error error;
};

uint32_t replica_gpu(const struct orr_serve *w, uint32_t replica, uint32_t i, uint32_t *node)
{
	const struct pool_piece *piece = pool_pieces(&w->replica[replica].alloc);
	while (i >= piece->gpus) {
		i -= piece->gpus;
		piece++;
	}
	for (uint32_t r = 0; r < replica; r++) {
		const struct replica *other = &w->replica[r];
		const struct pool_piece *p = other->has_alloc ? pool_pieces(&other->alloc) : NULL;
		for (uint32_t k = 0; p && k < other->alloc.n; k++)
			i += p[k].node == piece->node ? p[k].gpus : 0;
	}
	*node = piece->node;
	return i % w->config->cluster->node[piece->node].gpus;
}

/* ---- times ---- */

static double size_of(int i)
{
	return exp2((double)i / PER_OCTAVE);
}

static const struct sample *sample_at(struct group_net *g, uint32_t stage, int kind, int i)
{
	struct sample *x = &g->known[((size_t)stage * KINDS + (size_t)kind) * SIZES + (size_t)i];
	if (x->is_known)
		return x;
	struct step_once q = g->question;
	q.op = kind == GATHER ? ORR_ALL_GATHER : ORR_ALL_REDUCE;
	q.member = &g->gpu[stage * g->tp];
	q.to = kind == HOP ? q.member + g->tp : NULL;
	q.n = g->tp;
	q.bytes = size_of(i);
	if (!g->error.code)
		step_once(&q, &x->s, &x->network_bytes, &g->error);
	x->is_known = true;
	return x;
}

static double time_of(struct group_net *g, uint32_t stage, int kind, double bytes, double *network_bytes)
{
	double at = fmax(0, log2(bytes) * PER_OCTAVE);
	int i = at < SIZES - 2 ? (int)at : SIZES - 2;
	const struct sample *a = sample_at(g, stage, kind, i), *b = sample_at(g, stage, kind, i + 1);
	double low = size_of(i), t = (bytes - low) / (size_of(i + 1) - low);
	*network_bytes += fmax(0, a->network_bytes + t * (b->network_bytes - a->network_bytes));
	return fmax(0, a->s + t * (b->s - a->s));
}

static double reduce_s(void *ctx, uint32_t stage, bool is_gather, double bytes, double *network_bytes)
{
	struct group_net *g = ctx;
	return g->is_spread[stage] ? time_of(g, stage, is_gather ? GATHER : REDUCE, bytes, network_bytes) : -1;
}

static double hop_s(void *ctx, uint32_t stage, double bytes, double *network_bytes)
{
	struct group_net *g = ctx;
	return g->leaves[stage] ? time_of(g, stage, HOP, bytes, network_bytes) : -1;
}

/* ---- life ---- */

static uint32_t first_gpu(const struct cluster *c, uint32_t node)
{
	uint32_t at = 0;
	for (uint32_t i = 0; i < node; i++)
		at += c->node[i].gpus;
	return at;
}

/* Finds the GPUs of all stages. Returns whether any message leaves a node. */
static bool find_gpus(struct group_net *g, const struct group_place *p)
{
	bool any = false;
	uint32_t n = g->tp * g->pp;
	for (uint32_t i = 0; i < n; i++) {
		g->gpu[i] = first_gpu(p->cluster, p->node[i]) + p->index[i];
		g->is_spread[i / g->tp] |= p->node[i] != p->node[i - i % g->tp];
	}
	for (uint32_t i = 0; i + g->tp < n; i++)
		g->leaves[i / g->tp] |= p->node[i] != p->node[i + g->tp];
	for (uint32_t s = 0; s < g->pp; s++)
		any |= g->is_spread[s] || g->leaves[s];
	return any;
}

struct group_net *group_net_at(const struct group_place *p, struct orr_error *err)
{
	struct group_net *g = mem_zalloc(1, sizeof *g);
	g->tp = p->tp;
	g->pp = p->pp;
	g->gpu = mem_zalloc((size_t)g->tp * g->pp + 1, sizeof *g->gpu);
	g->is_spread = mem_zalloc(g->pp + 1, sizeof *g->is_spread);
	g->leaves = mem_zalloc(g->pp + 1, sizeof *g->leaves);
	g->known = mem_zalloc((size_t)g->pp * KINDS * SIZES, sizeof *g->known);
	g->served = (struct served_net){ g, reduce_s, hop_s };
	struct cost_options o = { .precision = p->precision, .profile = p->profile };
	g->cost[p->type] = cost_new(p->dnn, p->device[p->type], &o, err);
	g->question = (struct step_once){
		.cluster = p->cluster, .topo = p->topo, .dnn = p->dnn, .cost = (const struct cost *const *)g->cost, .device = p->device
	};
	if (g->cost[p->type] && find_gpus(g, p))
		return g;
	group_net_free(g);
	return NULL;
}

struct group_net *group_net_new(const struct orr_serve *w, uint32_t replica, struct orr_error *err)
{
	const struct serve_config *c = w->config;
	const struct replica *r = &w->replica[replica];
	const struct serve_deployment *d = &c->deployment[r->deployment];
	const struct dnn *dnn = r->model == NONE ? NULL : served_dnn(c->model[r->model]);
	const struct device *device = c->device && r->gpu_type < c->cluster->n_types ? c->device[r->gpu_type] : NULL;
	if (!c->group_topo || !dnn || !device || r->alloc.n < 2)
		return NULL;
	uint32_t n = d->tp * d->pp, *node = mem_alloc((n + 1) * sizeof *node), *index = mem_alloc((n + 1) * sizeof *index);
	for (uint32_t i = 0; i < n; i++)
		index[i] = replica_gpu(w, replica, i, &node[i]);
	struct group_place p = { .cluster = c->cluster,
		.topo = c->group_topo,
		.dnn = dnn,
		.device = c->device,
		.profile = c->profile ? c->profile[r->gpu_type] : NULL,
		.precision = c->precision,
		.type = r->gpu_type,
		.tp = d->tp,
		.pp = d->pp,
		.node = node,
		.index = index };
	struct group_net *g = group_net_at(&p, err);
	mem_free(node);
	mem_free(index);
	return g;
}

void group_net_free(struct group_net *g)
{
	if (!g)
		return;
	for (uint32_t t = 0; t < CLUSTER_MAX_TYPES; t++)
		cost_free(g->cost[t]);
	mem_free(g->gpu);
	mem_free(g->is_spread);
	mem_free(g->leaves);
	mem_free(g->known);
	mem_free(g);
}

const struct served_net *group_net_served(const struct group_net *g)
{
	return g ? &g->served : NULL;
}

const struct orr_error *group_net_error(const struct group_net *g)
{
	return &g->error;
}
