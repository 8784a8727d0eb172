/* SPDX-License-Identifier: GPL-3.0-or-later */
/* GPUs of replicas: allocation, cost, release, and withholding after a notice to their node. */
#include "serve/fleet.h"
#include "serve/metrics.h"

#include "base/mem.h"

bool gpus_take(struct orr_serve *w, uint32_t replica)
{
	struct replica *r = &w->replica[replica];
	const struct serve_deployment *d = &w->config->deployment[r->deployment];
	uint32_t n_types = w->config->cluster->n_types;
	uint64_t all = n_types < 64 ? (UINT64_C(1) << n_types) - 1 : UINT64_MAX;
	struct pool_request q = { d->tp * d->pp, 1000, 0, 0, d->gpu_types ? d->gpu_types & all : all };
	bool has = w->host.take ? w->host.take(w->host.ctx, &q, &r->alloc) : pool_take(w->host.pool, &q, &r->alloc);
	if (!has)
		return false;
	r->has_alloc = true;
	r->gpus = q.gpus;
	r->node = pool_pieces(&r->alloc)[0].node;
	r->gpu_type = r->alloc.type;
	w->fleet->more[replica].taken_s = serve_clock_s(w);
	serve_metrics_replica(w, replica, REPLICA_STARTING);
	return true;
}

bool replica_is_on(const struct orr_serve *w, uint32_t replica, uint32_t node)
{
	const struct replica *r = &w->replica[replica];
	const struct pool_piece *x = pool_pieces(&r->alloc);
	for (uint32_t i = 0; r->has_alloc && i < r->alloc.n; i++)
		if (x[i].node == node)
			return true;
	return false;
}

static bool touches(const struct pool_alloc *a, const struct bitset *nodes)
{
	const struct pool_piece *x = pool_pieces(a);
	for (uint32_t i = 0; i < a->n; i++)
		if (bitset_has(nodes, x[i].node))
			return true;
	return false;
}

/* Returns GPUs to the pool, or withholds them. */
static void return_gpus(struct orr_serve *w, struct pool_alloc *a)
{
	struct fleet *f = w->fleet;
	if (w->owns_host && f->doomed.size && touches(a, &f->doomed)) {
		MEM_GROW(f->limbo, f->n_limbo, f->cap_limbo);
		f->limbo[f->n_limbo++] = *a;
	} else if (w->host.give) {
		w->host.give(w->host.ctx, a);
	} else {
		pool_give(w->host.pool, a);
	}
}

void gpus_give(struct orr_serve *w, uint32_t replica)
{
	struct replica *r = &w->replica[replica];
	double gpu_s = (serve_clock_s(w) - w->fleet->more[replica].taken_s) * r->gpus;
	r->gpu_s += gpu_s;
	if (w->config->usd_per_gpu_hour && r->gpu_type < w->config->cluster->n_types)
		r->usd += gpu_s / 3600 * w->config->usd_per_gpu_hour[r->gpu_type];
	serve_metrics_replica(w, replica, REPLICA_OFF);
	return_gpus(w, &r->alloc);
	r->has_alloc = false;
}

void gpus_withhold(struct orr_serve *w, uint32_t node)
{
	struct fleet *f = w->fleet;
	struct pool *pool = w->host.pool;
	uint32_t n = pool->node[node].free_gpus;
	struct pool_request r = { n, 1000, 0, 0, n ? UINT64_C(1) << w->config->cluster->node[node].type : 0 };
	struct pool_alloc a;
	if (!n || pool_take_at(pool, &r, &node, &n, 1, &a))
		return;
	MEM_GROW(f->limbo, f->n_limbo, f->cap_limbo);
	f->limbo[f->n_limbo++] = a;
}

/* One allocation may span several nodes, so all are released and some are withheld again. */
void gpus_release(struct orr_serve *w)
{
	struct fleet *f = w->fleet;
	for (uint32_t i = 0; i < f->n_limbo; i++)
		pool_give(w->host.pool, &f->limbo[i]);
	f->n_limbo = 0;
	for (uint32_t n = bitset_next(&f->doomed, 0); n != BITSET_END; n = bitset_next(&f->doomed, n + 1))
		gpus_withhold(w, n);
}
