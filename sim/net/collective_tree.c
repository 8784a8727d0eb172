/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The double binary tree (Sanders, Speck, Traeff, "Two-tree algorithms for full bandwidth broadcast, reduction and scan",
 * Parallel Computing 35, 2009) with the trees of NCCL (src/graph/trees.cc), and the pipelined chain. In round r an edge of
 * depth d carries one chunk: chunk r - (depth - d) upwards, chunk r - (d - 1) downwards.
 */
#include "net/collective_plan.h"

#include "base/mem.h"

#define NOBODY UINT32_MAX

/* Returns the parent as ncclGetBtree() of NCCL does: rank 0 is the root and has one child; the lowest set bit of a rank is its height. */
static uint32_t btree_parent(uint32_t rank, uint32_t n)
{
	if (!rank)
		return NOBODY;
	uint32_t bit = rank & -rank, up = (rank ^ bit) | (bit << 1);
	return up >= n ? rank ^ bit : up;
}

/* Returns the rank in place `role` of the second tree: mirrored if n is even, else shifted by one (ncclGetDtree). */
static uint32_t second_tree(uint32_t role, uint32_t n)
{
	return n % 2 ? (role + 1) % n : n - 1 - role;
}

struct edges {
	struct pipe_edge *edge;
	uint32_t *depth, n, cap;
};

static void add_edge(struct edges *e, uint32_t parent, uint32_t child, uint32_t half, uint32_t depth)
{
	if (e->n == e->cap) {
		e->cap = e->cap ? 2 * e->cap : 64;
		e->edge = mem_realloc(e->edge, e->cap, sizeof *e->edge);
		e->depth = mem_realloc(e->depth, e->cap, sizeof *e->depth);
	}
	e->depth[e->n] = depth;
	e->edge[e->n++] = (struct pipe_edge){ parent, child, half };
}

static void sort_edges(struct pipeline *p, struct edges *e)
{
	p->depth = 0;
	for (uint32_t i = 0; i < e->n; i++)
		if (e->depth[i] > p->depth)
			p->depth = e->depth[i];
	p->first = mem_zalloc(p->depth + 3, sizeof *p->first);
	p->edge = mem_alloc((e->n ? e->n : 1) * sizeof *p->edge);
	for (uint32_t i = 0; i < e->n; i++)
		p->first[e->depth[i] + 2]++;
	for (uint32_t d = 2; d <= p->depth + 2; d++)
		p->first[d] += p->first[d - 1];
	for (uint32_t i = 0; i < e->n; i++)
		p->edge[p->first[e->depth[i] + 1]++] = e->edge[i];
	mem_free(e->edge);
	mem_free(e->depth);
}

/* Adds the other ranks of an island below its entry rank, whose depth is given. */
static void add_island(struct edges *e, const struct coll_shape *s, uint32_t entry, uint32_t half, bool is_star, uint32_t depth)
{
	uint32_t m = s->inner, base = entry - entry % m;
	for (uint32_t i = 1; i < m; i++) {
		uint32_t above = is_star ? entry : base + (entry % m + i - 1) % m;
		add_edge(e, above, base + (entry % m + i) % m, half, depth + (is_star ? 1 : i));
	}
}

void pipeline_islands(struct pipeline *p, const struct coll_shape *s, bool is_star, uint32_t chunks)
{
	struct edges e = { 0 };
	uint32_t islands = s->n / s->inner;
	for (uint32_t half = 0; half < 2 * coll_rings(s); half++)
		for (uint32_t role = 0; role < islands; role++) {
			uint32_t depth = 0, up = btree_parent(role, islands), entry = coll_entry(s, half / 2);
			for (uint32_t at = up; at != NOBODY; at = btree_parent(at, islands))
				depth++;
			uint32_t child = (half % 2 ? second_tree(role, islands) : role) * s->inner + entry;
			if (up != NOBODY)
				add_edge(&e, (half % 2 ? second_tree(up, islands) : up) * s->inner + entry, child, half, depth);
			add_island(&e, s, child, half, is_star, depth);
		}
	sort_edges(p, &e);
	p->chunks = chunks;
	p->is_stream = true;
}

void pipeline_chain(struct pipeline *p, uint32_t n, uint32_t root, uint32_t chunks)
{
	struct edges e = { 0 };
	for (uint32_t i = 0; i + 1 < n; i++)
		add_edge(&e, (root + i) % n, (root + i + 1) % n, 0, i + 1);
	sort_edges(p, &e);
	p->chunks = chunks;
	p->is_stream = false;
}

void pipeline_double_tree(struct pipeline *p, uint32_t n, bool is_rooted, uint32_t root, uint32_t chunks)
{
	struct edges e = { 0 };
	uint32_t m = n - is_rooted; /* number of ranks in each tree; if rooted, they are root + 1, root + 2, .. */
	for (uint32_t half = 0; half < 2; half++)
		for (uint32_t role = 0; role < m; role++) {
			uint32_t depth = is_rooted, up = btree_parent(role, m);
			for (uint32_t at = up; at != NOBODY; at = btree_parent(at, m))
				depth++;
			uint32_t child = half ? second_tree(role, m) : role;
			uint32_t parent = up == NOBODY ? NOBODY : half ? second_tree(up, m) : up;
			if (is_rooted) {
				child = (root + 1 + child) % n;
				parent = parent == NOBODY ? root : (root + 1 + parent) % n;
			}
			if (parent != NOBODY)
				add_edge(&e, parent, child, half, depth);
		}
	sort_edges(p, &e);
	p->chunks = chunks;
	p->is_stream = false;
}

void pipeline_free(struct pipeline *p)
{
	mem_free(p->first);
	mem_free(p->edge);
}

/* Computes the depths that send in round r. */
static void window(const struct pipeline *p, bool is_up, uint32_t r, uint32_t *low, uint32_t *high)
{
	int64_t k = p->chunks, depth = p->depth;
	int64_t a = is_up ? depth - r : (int64_t)r - k + 2, b = is_up ? depth - (int64_t)r + k - 1 : (int64_t)r + 1;
	*low = a < 1 ? 1 : (uint32_t)a;
	*high = b > depth ? p->depth : (uint32_t)b;
}

static void send_edges(
	struct coll_plan *plan, const struct pipeline *p, bool is_up, uint32_t depth, uint32_t chunk, double bytes, struct pipe_ranks ranks)
{
	for (uint32_t g = 0; g < ranks.groups; g++)
		for (uint32_t i = p->first[depth]; i < p->first[depth + 1]; i++) {
			const struct pipe_edge *e = &p->edge[i];
			uint32_t base = g * ranks.group_step;
			uint32_t child = base + e->child * ranks.step, parent = base + e->parent * ranks.step;
			plan_send(plan, (struct coll_send){ .from = is_up ? child : parent,
						.to = is_up ? parent : child,
						.bytes = bytes,
						.piece = e->half * p->chunks + chunk,
						.n_pieces = 1,
						.advance = 1,
						.adds = is_up,
						.follows = p->is_stream && chunk });
		}
}

void pipeline_plan(struct coll_plan *plan, const struct pipeline *p, bool is_up, double piece_bytes, struct pipe_ranks ranks)
{
	uint32_t rounds = p->chunks + p->depth - 1, low, high, next_low, next_high;
	for (uint32_t r = 0, repeat; r < rounds; r += repeat) {
		window(p, is_up, r, &low, &high);
		bool is_first = p->is_stream && r < p->depth; /* in this round a depth sends its first chunk */
		for (repeat = 1; !is_first && r + repeat < rounds; repeat++) {
			window(p, is_up, r + repeat, &next_low, &next_high);
			if (next_low != low || next_high != high)
				break;
		}
		for (uint32_t d = low; d <= high; d++)
			send_edges(plan, p, is_up, d, is_up ? r - (p->depth - d) : r - (d - 1), piece_bytes, ranks);
		plan_phase(plan, repeat);
	}
}

/*
 * A NIC receives at most two chunks and sends at most two per round. It sends or receives only one in rounds in which only the
 * edges at the root send (the root of a btree has one child). So do the two edges below if the root's child has one child (m =
 * 2^i + 1), and trees of one edge. tests/net/unit_collective.c counts the rounds for all n.
 */
void double_tree_rounds(uint32_t n, bool is_rooted, uint32_t chunks, double *rounds, double *loads)
{
	uint32_t m = n - is_rooted; /* number of ranks in each tree */
	uint32_t depth = (m > 1 ? floor_log2(m - 1) + 1 : 0) + is_rooted;
	bool is_one_more = !((m - 1) & (m - 2)); /* 2^i + 1 */
	uint32_t r = chunks + depth - 1, ones = 0;
	if (m > 3)
		ones = (uint32_t)(!is_rooted || chunks == 1) + (uint32_t)(is_one_more && chunks == 1);
	else if (m == 3)
		ones = is_rooted ? 1 + (chunks == 1) : 2;
	else if (m == 2)
		ones = is_rooted ? 1 : r;
	*rounds = r;
	*loads = 2.0 * r - ones;
}
