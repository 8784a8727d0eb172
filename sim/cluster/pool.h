/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * pool.h - the free resources of a cluster, and their allocation
 *
 * A struct pool belongs to one run. A placement rule turns a request into an allocation, a list of pieces (node, GPUs). A job
 * never spans two types of GPU.
 *
 * Invariants: for every node that is up, whole GPUs free + GPUs in pieces + GPUs opened for sharing = GPUs of the node. The same holds for
 * CPU and memory. Each node that is up and open is in exactly one bucket, that of its number of free GPUs. A node that is down or closed is
 * in no bucket; its free GPUs do not count as free, but they count as idle if all of them are free. Under the `count` placement CPUs and
 * memory are counted for the whole cluster, not by node.
 *
 * Units: 1/1000 of a core or of a GPU (milli), MiB. CPUs and memory of a request are for the whole job and are divided equally
 * among its GPUs.
 */
#ifndef ORR_CLUSTER_POOL_H
#define ORR_CLUSTER_POOL_H

#include "base/bitset.h"
#include "cluster/cluster.h"

struct pool_request {
	uint32_t gpus, gpu_milli; /* gpu_milli < 1000 requires gpus == 1 */
	int64_t cpu_milli, mem_mib;
	uint64_t types; /* bit mask of types; ignored when gpus == 0 */
};

struct pool_piece {
	uint32_t node;
	uint32_t gpus;  /* whole GPUs */
	uint32_t slot;  /* slot of a shared GPU; POOL_WHOLE for whole GPUs */
	uint32_t milli; /* used part of the shared GPU */
};
#define POOL_WHOLE UINT32_MAX

struct pool_alloc {
	uint32_t n, type; /* type CLUSTER_NO_TYPE: CPUs only */
	int64_t cpu_milli, mem_mib;
	uint32_t gpus;
	bool is_beside;               /* the GPUs belong to another allocation of the same pieces; this one has its own CPUs and memory */
	struct pool_piece one, *many; /* n is 1: `one`; larger: `many` */
};

static inline const struct pool_piece *pool_pieces(const struct pool_alloc *a)
{
	return a->n == 1 ? &a->one : a->many;
}

struct pool_node {
	uint32_t free_gpus;         /* whole */
	int64_t cpu_free, mem_free; /* INT64_MAX unlimited */
	uint32_t open;              /* shared GPUs */
	uint32_t version;           /* incremented by each change */
	bool is_up;
	bool is_closed; /* existing jobs continue; no new allocation uses this node */
};

struct pool;

/* A rule that places requests on nodes. place() puts n_scratch pieces into p->scratch and returns true, or returns false; it changes
 * no other state. */
struct placement {
	const char *name, *doc;
	bool ignores_nodes; /* count: CPUs and memory are counted for the whole cluster */
	bool (*place)(struct pool *p, const struct pool_request *r, uint32_t type);
	bool spans_types_by_score; /* the rule chooses the type: place() gets CLUSTER_NO_TYPE */
};

/* Popularity of request shapes, for fgd. */
struct pool_mix {
	struct pool_request *shape;
	double *share; /* popularity of each shape; the sum is 1 */
	size_t n;
};

struct pool {
	const struct cluster *cluster;
	const struct placement *placement;
	const struct placement *other; /* pool_compare(); NULL: none */
	bool has_differed;
	struct pool_node *node;
	struct bitset *bucket;                                      /* buckets, [type * (max_node_gpus + 1) + free GPUs] */
	struct bitset *any_free;                                    /* nodes with a whole free GPU, by type */
	struct bitset *any_open;                                    /* nodes with a shared GPU, by type */
	uint32_t free[CLUSTER_MAX_TYPES], total[CLUSTER_MAX_TYPES]; /* numbers of whole GPUs: free; in total on nodes that are up */
	uint32_t free_gpus, total_gpus;
	uint32_t idle_gpus;                 /* number of GPUs on nodes whose GPUs are all free */
	uint32_t widest[CLUSTER_MAX_TYPES]; /* largest number of GPUs on one node of the type */
	int64_t cpu_free, mem_free;         /* amounts free in the whole cluster; INT64_MAX if any node is unlimited */
	int64_t used_milli;                 /* GPUs in use, 1/1000 */
	int64_t used_of[CLUSTER_MAX_TYPES]; /* the same by type */
	uint64_t changes;                   /* number of allocations, releases and changes of nodes */
	uint32_t *rack_free;                /* free GPUs by [rack * n_types + type] */
	uint16_t *slot_milli;               /* used parts of shared GPUs, [slot_base[node] + slot] */
	uint32_t *slot_base;
	struct pool_piece *scratch;
	uint32_t n_scratch, scratch_cap;
	void *free_lists[21]; /* free lists of piece arrays by power of two */
	struct pool_mix mix;
	struct fgd_growth *fgd; /* cached results of the fgd rule, [shape * n_nodes + node]; NULL: none yet */
};

const struct placement *placement_find(const char *name); /* NULL: unknown name */
extern const struct placement *const placements[];        /* ends with NULL */

struct pool *pool_new(const struct cluster *c, const struct placement *p);
void pool_free(struct pool *p);
/* Compares every choice with that of another rule until a choice differs. */
void pool_compare(struct pool *p, const struct placement *other);
/* Returns whether a choice has differed, or no choice was compared. */
bool pool_has_differed(const struct pool *p);
/* Sets the mix of request shapes; copies it. */
void pool_set_mix(struct pool *p, const struct pool_mix *mix);

/* Returns whether the request fits on the empty cluster with all nodes up. */
bool pool_could_ever_fit(const struct cluster *c, const struct placement *pl, const struct pool_request *r);

bool pool_fits(struct pool *p, const struct pool_request *r);
/* Returns whether the request would fit if these allocations were released first. */
bool pool_fits_without(struct pool *p, const struct pool_request *r, struct pool_alloc *const *given, size_t n);
bool pool_take(struct pool *p, const struct pool_request *r, struct pool_alloc *out);
/* Allocates whole GPUs of the given nodes. Returns NULL or a literal error text. */
const char *pool_take_at(
	struct pool *p, const struct pool_request *r, const uint32_t *node, const uint32_t *gpus, size_t n, struct pool_alloc *out);
/* Returns whether an error text of pool_take_at() says that resources are in use. */
bool pool_is_lack(const char *wrong);
/* Allocates CPUs and memory for a request that uses the GPUs of `with`, whole GPUs of which it needs as many. Returns NULL or a literal
 * error text. */
const char *pool_take_beside(struct pool *p, const struct pool_request *r, const struct pool_alloc *with, struct pool_alloc *out);
/* Returns whether pool_take_beside() would succeed. */
bool pool_fits_beside(const struct pool *p, const struct pool_request *r, const struct pool_alloc *with);
/* Makes `to`, an allocation beside `from`, the one that holds the GPUs. */
void pool_pass(struct pool_alloc *from, struct pool_alloc *to);
void pool_give(struct pool *p, struct pool_alloc *a);

/* Release allocations for a trial, and take them again after all that the trial took has been released. */
void pool_lift(struct pool *p, struct pool_alloc *const *given, size_t n);
void pool_put_back(struct pool *p, struct pool_alloc *const *given, size_t n);

/* Mark a node as down or up. Its allocations must have been released before. */
void pool_node_down(struct pool *p, uint32_t node);
void pool_node_up(struct pool *p, uint32_t node);
/* Closes a node that is up: it takes no new allocation until it has been down and up again. */
void pool_node_close(struct pool *p, uint32_t node);

/* Checks the invariants against all allocations in use. Returns NULL or a literal error text. */
const char *pool_check(const struct pool *p, const struct pool_alloc *const *allocs, size_t n);

/* ---- for the placement rules ---- */
static inline struct bitset *pool_bucket(const struct pool *p, uint32_t type, uint32_t free_gpus)
{
	return &p->bucket[(size_t)type * (p->cluster->max_node_gpus + 1) + free_gpus];
}
void pool_put_piece(struct pool *p, uint32_t node, uint32_t gpus, uint32_t slot, uint32_t milli);
/* Returns whether the node has room for this many of the request's GPUs, with their share of CPU and memory. */
bool pool_node_has_room(const struct pool *p, uint32_t node, const struct pool_request *r, uint32_t gpus);
/* Returns the share of the request's CPU or memory for this many of its GPUs. */
int64_t pool_part(int64_t whole, uint32_t gpus, uint32_t of);
/* Returns the slot of the best shared GPU of a node for a fractional request, POOL_WHOLE to
 * open a new one, or POOL_NO_SLOT. */
#define POOL_NO_SLOT (UINT32_MAX - 1)
uint32_t pool_best_slot(const struct pool *p, uint32_t node, uint32_t milli);
bool place_consolidate(struct pool *p, const struct pool_request *r, uint32_t type);

#endif
