/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The fgd placement against its definition (Weng et al., ATC 2023, sections 3.2 and 4.2) on random requests: every placement is
 * on the lowest node, and its first GPU, with the smallest growth of the expected fragmentation. Shares are multiples of 1/64, so
 * all sums are whole numbers and ties are exact.
 */
#include "base/rng.h"
#include "cluster/placement.h"
#include "tests/tap.h"

#include <stdlib.h>

enum { SHAPES = 6, HELD = 24, PARTS = 64 };

static struct rng rng;

static uint32_t below(uint64_t n)
{
	return (uint32_t)rng_below(&rng, n);
}

/* A node as in the paper: the free part of each GPU, 1/1000, and of CPU and memory. */
struct left {
	uint32_t gpus, gpu[8], type;
	int64_t cpu, mem;
};

static struct left left_of(const struct pool *p, uint32_t n)
{
	struct left x = {
		.gpus = p->cluster->node[n].gpus, .type = p->cluster->node[n].type, .cpu = p->node[n].cpu_free, .mem = p->node[n].mem_free
	};
	uint32_t whole = p->node[n].free_gpus;
	/* Each GPU is shared, free or whole; the order of the free GPUs has no effect. */
	for (uint32_t i = 0; i < x.gpus; i++) {
		uint32_t used = p->slot_milli[p->slot_base[n] + i];
		x.gpu[i] = used ? 1000 - used : whole ? 1000 : 0;
		whole -= !used && whole;
	}
	return x;
}

static bool can_take(const struct left *x, const struct pool_request *m)
{
	uint32_t enough = 0;
	for (uint32_t i = 0; i < x->gpus; i++)
		enough += x->gpu[i] >= m->gpu_milli;
	return x->type != CLUSTER_NO_TYPE && (m->types >> x->type & 1) && x->cpu >= m->cpu_milli && x->mem >= m->mem_mib &&
	       enough >= m->gpus;
}

/* Returns the expected fragmentation in units of 1/64 x 1/1000 GPU. */
static int64_t fragmentation(const struct left *x, const struct pool_request *shape, const uint32_t *part)
{
	int64_t sum = 0;
	for (int k = 0; k < SHAPES; k++)
		for (uint32_t i = 0; i < x->gpus; i++)
			if (!shape[k].gpus || !can_take(x, &shape[k]) || x->gpu[i] < shape[k].gpu_milli)
				sum += (int64_t)part[k] * x->gpu[i];
	return sum;
}

static struct left after(struct left x, const struct pool_request *r, uint32_t slot)
{
	x.cpu -= x.cpu == INT64_MAX ? 0 : r->cpu_milli;
	x.mem -= x.mem == INT64_MAX ? 0 : r->mem_mib;
	if (r->gpu_milli < 1000) {
		x.gpu[slot] -= r->gpu_milli;
		return x;
	}
	for (uint32_t i = 0, n = 0; i < x.gpus && n < r->gpus; i++)
		if (x.gpu[i] == 1000) {
			x.gpu[i] = 0;
			n++;
		}
	return x;
}

struct choice {
	uint32_t node, slot; /* slot POOL_WHOLE: a GPU that is not shared yet, or whole GPUs */
	int64_t growth;
};

static struct choice choose(const struct pool *p, const struct pool_request *r, const struct pool_request *shape, const uint32_t *part)
{
	struct choice best = { UINT32_MAX, 0, INT64_MAX };
	for (uint32_t n = 0; n < p->cluster->n_nodes; n++) {
		struct left x = left_of(p, n), y;
		if (!p->node[n].is_up || !can_take(&x, r))
			continue;
		int64_t now = fragmentation(&x, shape, part);
		/* Tries shared GPUs first, then the first free one. */
		for (int pass = 0; pass < 2; pass++)
			for (uint32_t i = 0; i < x.gpus; i++) {
				bool is_free = x.gpu[i] == 1000;
				if (is_free != pass || x.gpu[i] < r->gpu_milli)
					continue;
				y = after(x, r, i);
				int64_t growth = fragmentation(&y, shape, part) - now;
				if (growth < best.growth)
					best = (struct choice){ n, is_free ? POOL_WHOLE : i, growth };
			}
	}
	return best;
}

static struct pool_request draw_shape(void)
{
	struct pool_request r = { .gpus = 1 + below(3), .gpu_milli = 1000, .types = below(3) ? UINT64_MAX : 1 + below(3) };
	if (r.gpus == 1 && below(4))
		r.gpu_milli = below(2) ? 100 * (1 + below(9)) : 1 + below(999);
	r.cpu_milli = below(2) ? 500 * below(10) : 0;
	r.mem_mib = below(2) ? 512 * below(12) : 0;
	return r;
}

/* Returns whether the request exceeds every node of a type, so that the pool may split the job. Such requests are outside the rule
 * under test. */
static bool may_be_split(const struct pool *p, const struct pool_request *r)
{
	for (uint32_t t = 0; t < p->cluster->n_types; t++)
		if ((r->types >> t & 1) && r->gpus > p->widest[t])
			return true;
	return false;
}

/* Returns a request that differs from a shape in one number, so it has a separate cache entry or none. */
static struct pool_request resembling(struct pool_request r)
{
	struct pool_request other = draw_shape();
	switch (below(4)) {
	case 0:
		r.types = other.types;
		break;
	case 1:
		r.cpu_milli = other.cpu_milli;
		break;
	case 2:
		r.mem_mib = other.mem_mib;
		break;
	default:
		r.gpus = other.gpus;
		r.gpu_milli = other.gpu_milli;
	}
	return r;
}

/* Returns whether the pool placed the request by the definition; *out is allocated if it was placed. */
static bool is_placed_well(struct pool *p, const struct pool_request *r, const struct choice *want, struct pool_alloc *out)
{
	uint32_t whole = want->node == UINT32_MAX ? 0 : p->node[want->node].free_gpus;
	if (!pool_take(p, r, out))
		return want->node == UINT32_MAX;
	const struct pool_piece *x = pool_pieces(out);
	if (want->node == UINT32_MAX)
		return may_be_split(p, r);
	if (out->n != 1 || x->node != want->node)
		return false;
	if (r->gpu_milli == 1000)
		return x->slot == POOL_WHOLE && x->gpus == r->gpus && p->node[x->node].free_gpus == whole - r->gpus;
	return x->milli == r->gpu_milli && (want->slot == POOL_WHOLE ? p->node[x->node].free_gpus == whole - 1 : x->slot == want->slot);
}

/* Returns the number of placements before the first that differs. */
static int against_definition(const char *spec, uint64_t seed, int steps)
{
	struct orr_error err = { 0 };
	struct cluster *c = cluster_load(spec, &err);
	struct pool *p = pool_new(c, placement_find("fgd"));
	struct pool_alloc held[HELD] = { { 0 } };
	struct pool_request shape[SHAPES];
	double share[SHAPES];
	uint32_t part[SHAPES], rest = PARTS;
	int good = 0;
	bool is_good = true;
	rng_init(&rng, seed, "fgd", 0);
	for (int k = 0; k < SHAPES; k++) {
		shape[k] = k % 2 ? resembling(shape[k - 1]) : draw_shape();
		part[k] = k == SHAPES - 1 ? rest : below(rest + 1) / 2;
		rest -= part[k];
		share[k] = (double)part[k] / PARTS;
	}
	shape[SHAPES - 1] = (struct pool_request){ .gpus = below(2), .gpu_milli = 1000, .types = UINT64_MAX };
	pool_set_mix(p, &(struct pool_mix){ shape, share, SHAPES });
	while (is_good && good < steps) {
		uint32_t i = below(HELD), n = below(c->n_nodes);
		if (held[i].n) {
			pool_give(p, &held[i]);
			held[i] = (struct pool_alloc){ 0 };
		} else {
			/* Two thirds of the requests have shapes of the mix; the growths of these shapes are cached. */
			struct pool_request r = below(3) ? shape[below(SHAPES - 1)] : resembling(shape[below(SHAPES - 1)]);
			struct choice want = choose(p, &r, shape, part);
			is_good = is_placed_well(p, &r, &want, &held[i]);
			good += is_good;
		}
		if (!below(20) && p->node[n].is_up && p->node[n].free_gpus == c->node[n].gpus)
			pool_node_down(p, n);
		else if (!below(10) && !p->node[n].is_up)
			pool_node_up(p, n);
	}
	for (int i = 0; i < HELD; i++)
		pool_give(p, &held[i]);
	pool_free(p);
	cluster_free(c);
	return good;
}

int main(void)
{
	static const char *const spec[] = { "3x4:a", "2x4:a:cpus=8:mem=8,3x2:b:cpus=6:mem=4,1x0:cpus=8" };
	int steps = getenv("ORR_SANITIZED") ? 200 : 1000;
	for (size_t k = 0; k < sizeof spec / sizeof *spec; k++) {
		int good = 0, rounds = 10;
		for (int i = 0; i < rounds; i++)
			good += against_definition(spec[k], (uint64_t)i, steps);
		ok(good == rounds * steps, "%s: %d of %d placements are where fragmentation grows least", spec[k], good, rounds * steps);
	}
	return done();
}
