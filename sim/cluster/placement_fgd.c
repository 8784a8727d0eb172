/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Fragmentation gradient descent (Weng, Yang, Yu, Wang, Tang, Yang, Zhang, "Beware
 * of Fragmentation: Scheduling GPU-Sharing Workloads with Fragmentation Gradient
 * Descent", USENIX ATC 2023). A node's fragmentation for a task m (section 3.2) is
 *
 *   - all its unallocated GPUs, if m asks for no GPU or the node cannot take m (another GPU type, or too few CPUs, GPUs or
 *     memory);
 *   - otherwise the unallocated parts R_g of those GPUs g that have less left than m needs of one GPU: the sum of R_g over g
 *     with R_g < min(D_m, 1), where D_m is the number of GPUs of m.
 *
 * F_n is the sum over m of p_m times this fragmentation. p_m is the popularity of m among the trace's requests. The task goes
 * to the node whose F_n grows least (ties: the lowest node). For a task that shares a GPU, each GPU of the node is tried
 * (section 4.2).
 *
 * The growth for (request, node) depends on the node's state only, so it is cached until the node changes. A placement reads
 * the cache once per node, and computes only the nodes that changed since this request was last placed.
 */
#include "cluster/placement.h"

#include "base/mem.h"

#include <math.h>
#include <string.h>

struct fgd_growth {
	uint32_t version; /* version of the node when computed; 0: never */
	uint32_t slot;
	double value; /* growth; INFINITY: does not fit */
};

static uint32_t free_of_slot(const struct pool *p, uint32_t n, uint32_t i)
{
	return 1000u - p->slot_milli[p->slot_base[n] + i];
}

/* The state of a node that determines its fragmentation. */
struct state {
	int64_t cpu, mem;
	uint32_t type, whole; /* whole GPUs free */
	uint32_t n_parts;
	uint32_t part[CLUSTER_MAX_NODE_GPUS]; /* free part of each shared GPU, milli */
};

static void read_state(const struct pool *p, uint32_t n, struct state *s)
{
	s->cpu = p->node[n].cpu_free;
	s->mem = p->node[n].mem_free;
	s->type = p->cluster->node[n].type;
	s->whole = p->node[n].free_gpus;
	s->n_parts = 0;
	for (uint32_t i = 0; p->node[n].open && i < p->cluster->node[n].gpus; i++)
		if (free_of_slot(p, n, i) < 1000)
			s->part[s->n_parts++] = free_of_slot(p, n, i);
}

static double fragment_for(const struct state *s, const struct pool_request *m)
{
	uint32_t largest = s->whole ? 1000 : 0, free = 1000 * s->whole, too_small = 0;
	uint32_t need = m->gpu_milli;
	for (uint32_t i = 0; i < s->n_parts; i++) {
		free += s->part[i];
		if (s->part[i] > largest)
			largest = s->part[i];
		if (s->part[i] < need)
			too_small += s->part[i];
	}
	bool fits = m->gpus && (m->types >> s->type & 1) && s->cpu >= m->cpu_milli && s->mem >= m->mem_mib &&
		    (need < 1000 ? largest >= need : s->whole >= m->gpus);
	return fits ? too_small : free;
}

static double expected_fragment(const struct pool *p, const struct state *s)
{
	double f = 0;
	for (size_t i = 0; i < p->mix.n; i++)
		f += p->mix.share[i] * fragment_for(s, &p->mix.shape[i]);
	return f;
}

static void take_resources(struct state *s, const struct pool_request *r)
{
	if (s->cpu != INT64_MAX)
		s->cpu -= r->cpu_milli;
	if (s->mem != INT64_MAX)
		s->mem -= r->mem_mib;
}

/* Returns the growth if the request takes this shared GPU (index into parts), or a whole GPU (POOL_WHOLE). */
static double growth_of_share(const struct pool *p, const struct state *before, double f0, uint32_t i, const struct pool_request *r)
{
	struct state s = *before;
	take_resources(&s, r);
	if (i == POOL_WHOLE) {
		s.whole--;
		s.part[s.n_parts++] = 1000 - r->gpu_milli;
	} else {
		s.part[i] -= r->gpu_milli;
	}
	return expected_fragment(p, &s) - f0;
}

static void try_share(
	const struct pool *p, uint32_t n, const struct state *s, double f0, const struct pool_request *r, struct fgd_growth *g)
{
	uint32_t k = 0;
	for (uint32_t i = 0; s->n_parts && i < p->cluster->node[n].gpus; i++) {
		if (free_of_slot(p, n, i) == 1000)
			continue;
		if (s->part[k] >= r->gpu_milli) {
			double v = growth_of_share(p, s, f0, k, r);
			if (v < g->value) {
				g->value = v;
				g->slot = i;
			}
		}
		k++;
	}
	if (s->whole) {
		double v = growth_of_share(p, s, f0, POOL_WHOLE, r);
		if (v < g->value) {
			g->value = v;
			g->slot = POOL_WHOLE;
		}
	}
}

static void compute(const struct pool *p, uint32_t n, const struct pool_request *r, struct fgd_growth *g)
{
	struct state s;
	g->version = p->node[n].version;
	g->value = INFINITY;
	g->slot = POOL_WHOLE;
	if (!p->node[n].is_up || p->node[n].is_closed || p->cluster->node[n].type == CLUSTER_NO_TYPE ||
		!(r->types >> p->cluster->node[n].type & 1) || p->node[n].cpu_free < r->cpu_milli || p->node[n].mem_free < r->mem_mib)
		return;
	read_state(p, n, &s);
	double f0 = expected_fragment(p, &s);
	if (r->gpu_milli < 1000) {
		try_share(p, n, &s, f0, r, g);
	} else if (s.whole >= r->gpus) {
		take_resources(&s, r);
		s.whole -= r->gpus;
		g->value = expected_fragment(p, &s) - f0;
	}
}

/* Returns the cache row of this request; NULL if it is not in the mix. */
static struct fgd_growth *row_of(struct pool *p, const struct pool_request *r)
{
	for (size_t i = 0; i < p->mix.n; i++) {
		const struct pool_request *m = &p->mix.shape[i];
		if (m->gpus != r->gpus || m->gpu_milli != r->gpu_milli || m->cpu_milli != r->cpu_milli || m->mem_mib != r->mem_mib ||
			m->types != r->types)
			continue;
		if (!p->fgd)
			p->fgd = mem_zalloc(p->mix.n * p->cluster->n_nodes, sizeof *p->fgd);
		return p->fgd + i * p->cluster->n_nodes;
	}
	return NULL;
}

static bool place_fgd(struct pool *p, const struct pool_request *r, uint32_t type)
{
	(void)type;
	struct fgd_growth *row = row_of(p, r), own, best = { .value = INFINITY };
	uint32_t at = UINT32_MAX;
	for (uint32_t n = 0; n < p->cluster->n_nodes; n++) {
		struct fgd_growth *g = row ? &row[n] : &own;
		if (!row || g->version != p->node[n].version)
			compute(p, n, r, g);
		if (g->value < best.value) {
			best = *g;
			at = n;
		}
	}
	if (at != UINT32_MAX) {
		pool_put_piece(p, at, r->gpus, best.slot, r->gpu_milli < 1000 ? r->gpu_milli : 0);
		return true;
	}
	for (uint64_t m = r->types; m; m &= m - 1) {
		uint32_t t = (uint32_t)__builtin_ctzll(m);
		p->n_scratch = 0;
		if (t < p->cluster->n_types && r->gpus > p->widest[t] && place_consolidate(p, r, t))
			return true;
	}
	return false;
}

const struct placement placement_fgd = { "fgd", "the node whose expected fragmentation grows least (FGD, USENIX ATC 2023)", false,
	place_fgd, true };
