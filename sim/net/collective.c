/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Plans of collectives. Sources: ring, Patarasu and Yuan, JPDC 69(2), 2009; halving and doubling, Thakur, Rabenseifner, Gropp,
 * "Optimization of Collective Communication Operations in MPICH", IJHPCA 19(1), 2005, with MPICH's additional first and last
 * step if n is not a power of two; trees, collective_tree.c.
 */
#include "net/collective_plan.h"

#include "base/mem.h"

#include <math.h>

enum { MAX_SENDS = 1 << 25, MAX_CHUNKS = 1 << 20 };

/* ---- algorithms and operations ---- */

static bool can(enum orr_collective_op op, enum orr_collective_algorithm a, uint32_t n)
{
	switch (a) {
	case ORR_RING:
	case ORR_DIRECT:
		return true;
	case ORR_HALVING_DOUBLING:
		return op == ORR_ALL_REDUCE || (op != ORR_ALL_TO_ALL && !(n & (n - 1)));
	case ORR_DOUBLE_TREE:
		return op == ORR_ALL_REDUCE || op == ORR_BROADCAST || op == ORR_REDUCE;
	case ORR_MULTI_TREE:
	case ORR_NVLS_TREE:
		return op == ORR_ALL_REDUCE;
	case ORR_HIERARCHICAL:
	case ORR_HIERARCHICAL_LEADER:
	case ORR_MULTI_RING:
		return op == ORR_ALL_REDUCE || op == ORR_REDUCE_SCATTER || op == ORR_ALL_GATHER;
	default:
		return false;
	}
}

enum orr_collective_algorithm coll_usable(enum orr_collective_op op, enum orr_collective_algorithm a, uint32_t n)
{
	if (can(op, a, n))
		return a;
	return op == ORR_ALL_TO_ALL ? ORR_DIRECT : ORR_RING;
}

void coll_name_leader(struct coll_shape *s)
{
	if (s->algorithm != ORR_HIERARCHICAL_LEADER)
		return;
	s->algorithm = ORR_HIERARCHICAL;
	s->leader = true;
}

static int check(const struct coll_shape *s, enum orr_collective_algorithm a, struct orr_error *err)
{
	const char *op = coll_op_name(s->op), *name = coll_algorithm_name(a);
	if (!s->n)
		return orr_fail(err, ORR_EINPUT, "%s: the group has no ranks: expected at least 1", op);
	if (!(s->bytes >= 0) || !isfinite(s->bytes))
		return orr_fail(err, ORR_EINPUT, "%s: bytes: expected a number of at least 0, found %g", op, s->bytes);
	if ((s->op == ORR_BROADCAST || s->op == ORR_REDUCE) && s->root >= s->n)
		return orr_fail(err, ORR_EINPUT, "%s: root: expected a rank below %u, found %u", op, s->n, s->root);
	if (!can(s->op, a, s->n) && a == ORR_HALVING_DOUBLING && s->op != ORR_ALL_TO_ALL)
		return orr_fail(err, ORR_EINPUT,
			"%s: halving-doubling on %u ranks: expected a power of two, or the algorithm ring or direct (an all-reduce of %u "
			"ranks is possible, because it folds ranks first)",
			op, s->n, s->n - (1u << floor_log2(s->n)));
	if (!can(s->op, a, s->n))
		return orr_fail(err, ORR_EINPUT, "%s: the algorithm %s does not support this operation: expected ring or direct", op, name);
	if ((a == ORR_HIERARCHICAL || coll_is_per_nic(a)) && (!s->inner || s->n % s->inner))
		return orr_fail(err, ORR_EINPUT, "%s: inner: expected a divisor of the %u ranks, found %u", op, s->n, s->inner);
	if (coll_is_per_nic(a) && s->rings && s->inner % s->rings)
		return orr_fail(
			err, ORR_EINPUT, "%s: rings: expected a divisor of the %u ranks per island, found %u", op, s->inner, s->rings);
	if (s->chunks > MAX_CHUNKS)
		return orr_fail(err, ORR_EINPUT, "%s: chunks: expected at most %d, found %u", op, MAX_CHUNKS, s->chunks);
	bool is_tree = a == ORR_MULTI_TREE || a == ORR_NVLS_TREE;
	if (is_tree && 16. * s->n * coll_rings(s) * (s->inner + floor_log2(s->n)) > MAX_SENDS)
		return orr_fail(err, ORR_EINPUT, "%s: %s among %u ranks: expected fewer ranks, or multi-ring", op, name, s->n);
	bool is_all = a == ORR_DIRECT || s->op == ORR_ALL_TO_ALL;
	if (is_all && (uint64_t)s->n * (s->n - 1) > MAX_SENDS)
		return orr_fail(err, ORR_EINPUT, "%s: %s among %u ranks: expected at most %d messages", op, name, s->n, MAX_SENDS);
	return ORR_OK;
}

/* Returns the number of chunks. NCCL's chunk of a tree is 512 KiB (a buffer of 4 MiB in 8 steps); a short message has 64 chunks of
 * at least 16 KiB. */
static uint32_t tree_chunks(double bytes)
{
	double chunks = fmax(ceil(bytes / (512 << 10)), fmin(64, ceil(bytes / (16 << 10))));
	return chunks < 1 ? 1 : chunks > MAX_CHUNKS ? MAX_CHUNKS : (uint32_t)chunks;
}

uint32_t coll_chunks(const struct coll_shape *s)
{
	if (s->chunks)
		return s->chunks;
	if (s->algorithm == ORR_MULTI_TREE || s->algorithm == ORR_NVLS_TREE)
		return tree_chunks(s->bytes / 2 / coll_rings(s));
	double parts = s->algorithm == ORR_DOUBLE_TREE ? 2 : 1, chunks = ceil(s->bytes / parts / (256 << 10));
	return chunks < 1 ? 1 : chunks > 256 ? 256 : (uint32_t)chunks;
}

/* ---- rings ---- */

/* Disjoint rings of equal size: position i of ring q is rank q * ring_step + i * step. The pieces of its block are q * block_ring +
 * i * block_step + j * stride, j < n_pieces. */
struct rings {
	uint32_t size, n, ring_step, step;
	uint32_t block_ring, block_step, stride, n_pieces;
	double bytes; /* bytes of a block */
};

/* Adds a ring stage. Each position ends with the sum of its own block (is_scatter), or with all blocks. */
static void ring_stage(struct coll_plan *p, const struct rings *r, bool is_scatter)
{
	if (r->size < 2)
		return;
	for (uint32_t q = 0; q < r->n; q++)
		for (uint32_t i = 0; i < r->size; i++) {
			uint32_t block = is_scatter ? (i + r->size - 1) % r->size : i;
			plan_send(p, (struct coll_send){ .from = q * r->ring_step + i * r->step,
					     .to = q * r->ring_step + (i + 1) % r->size * r->step,
					     .bytes = r->bytes,
					     .piece = q * r->block_ring + block * r->block_step,
					     .n_pieces = r->n_pieces,
					     .stride = r->stride,
					     .advance = p->pieces - r->block_step,
					     .adds = is_scatter });
		}
	plan_phase(p, r->size - 1);
}

static void plan_ring(struct coll_plan *p, const struct coll_shape *s)
{
	struct rings r = { .size = s->n, .n = 1, .step = 1, .block_step = 1, .n_pieces = 1, .bytes = s->bytes / s->n };
	p->pieces = s->n;
	if (s->op != ORR_ALL_GATHER)
		ring_stage(p, &r, true);
	if (s->op != ORR_REDUCE_SCATTER)
		ring_stage(p, &r, false);
}

/* ---- a ring per NIC ---- */

uint32_t coll_rings(const struct coll_shape *s)
{
	return s->rings && s->algorithm != ORR_NVLS_TREE ? s->rings : s->inner;
}

/* Returns the first rank that uses NIC c. */
uint32_t coll_entry(const struct coll_shape *s, uint32_t c)
{
	return c * (s->inner / coll_rings(s));
}

uint32_t coll_owner(const struct coll_shape *s, const struct coll_plan *p, uint32_t piece)
{
	if (s->algorithm != ORR_MULTI_RING)
		return piece / (p->pieces / s->n);
	uint32_t position = piece / coll_rings(s), c = piece % coll_rings(s);
	return position - position % s->inner + (position % s->inner + coll_entry(s, c)) % s->inner;
}

/* Returns the piece that rank `from` sends first in ring c. Position i of a ring is at place (entry + i) % inner of island i /
 * inner. */
static uint32_t first_piece(const struct coll_shape *s, uint32_t from, uint32_t c, bool is_scatter)
{
	uint32_t m = s->inner, position = from - from % m + (from % m + m - coll_entry(s, c)) % m;
	return (is_scatter ? (position + s->n - 1) % s->n : position) * coll_rings(s) + c;
}

/* Adds rounds first .. first + count - 1 of a stage in which one message per pair of neighbours carries the pieces of all rings that use
 * the pair. With `follows`, messages between islands add no latency. */
static void multi_ring_rounds(
	struct coll_plan *p, const struct coll_shape *s, bool is_scatter, uint32_t first, uint32_t count, bool follows)
{
	uint32_t m = s->inner, k = coll_rings(s), advance = p->pieces - k;
	uint32_t moved = (uint32_t)((uint64_t)first * advance % p->pieces);
	double piece = s->bytes / p->pieces;
	for (uint32_t from = 0; from < s->n; from++) {
		uint32_t next = (from % m + 1) % m, list = p->n_list;
		for (uint32_t c = 0; c < k; c++) {
			uint32_t number = (first_piece(s, from, c, is_scatter) + moved) % p->pieces;
			if (coll_entry(s, c) == next) {
				uint32_t island = (from / m + 1) % (s->n / m);
				plan_send(p, (struct coll_send){ .from = from,
						     .to = island * m + next,
						     .bytes = piece,
						     .piece = number,
						     .n_pieces = 1,
						     .advance = advance,
						     .adds = is_scatter,
						     .follows = follows });
				continue;
			}
			MEM_GROW(p->list, p->n_list, p->cap_list);
			p->list[p->n_list++] = number;
		}
		uint32_t n = p->n_list - list;
		if (n)
			plan_send(p, (struct coll_send){ .from = from,
					     .to = from - from % m + next,
					     .bytes = n * piece,
					     .piece = n > 1 ? list : p->list[list],
					     .n_pieces = n,
					     .advance = advance,
					     .adds = is_scatter });
	}
	plan_phase(p, count);
}

uint32_t multi_ring_late_rounds(const struct coll_shape *s)
{
	uint32_t islands = s->n / s->inner;
	return coll_rings(s) > 1 && islands < s->n ? islands : s->n - 1;
}

/* Adds a stage of n - 1 rounds. A piece crosses the network at most once per island, so at most one round per island has the latency of the
 * network; in the others, messages between islands follow the ones before them. */
static void multi_ring_stage(struct coll_plan *p, const struct coll_shape *s, bool is_scatter)
{
	uint32_t late = multi_ring_late_rounds(s);
	multi_ring_rounds(p, s, is_scatter, 0, late, false);
	if (late < s->n - 1)
		multi_ring_rounds(p, s, is_scatter, late, s->n - 1 - late, true);
}

/* Plans one ring per NIC, each with its share of the bytes. Ring c enters an island at the first rank of NIC c, visits all ranks of
 * the island in order, and leaves it from the last one, which hands over to NIC c (NCCL's channels; TOPO_RAIL). */
static void plan_multi_ring(struct coll_plan *p, const struct coll_shape *s)
{
	p->pieces = s->n * coll_rings(s);
	if (s->op != ORR_ALL_GATHER)
		multi_ring_stage(p, s, true);
	if (s->op != ORR_REDUCE_SCATTER)
		multi_ring_stage(p, s, false);
}

/* ---- islands ---- */

/* Plans a reduce-scatter inside the islands, an all-reduce across islands for each shard, and an all-gather inside (the hierarchical
 * form of NCCL and Horovod). */
static void plan_hierarchical(struct coll_plan *p, const struct coll_shape *s)
{
	uint32_t m = s->inner, islands = s->n / m;
	struct rings inside = {
		.size = m, .n = islands, .ring_step = m, .step = 1, .block_step = 1, .stride = m, .n_pieces = islands, .bytes = s->bytes / m
	};
	struct rings across = { .size = islands,
		.n = m,
		.ring_step = 1,
		.step = m,
		.block_ring = 1,
		.block_step = m,
		.n_pieces = 1,
		.bytes = s->bytes / s->n };
	p->pieces = s->n;
	if (s->op != ORR_ALL_GATHER) {
		ring_stage(p, &inside, true);
		ring_stage(p, &across, true);
	}
	if (s->op != ORR_REDUCE_SCATTER) {
		ring_stage(p, &across, false);
		ring_stage(p, &inside, false);
	}
}

/* ---- halving and doubling ---- */

/* Returns the rank of participant v. The number of participants is a power of two: in each of the `extra` pairs 2i, 2i + 1 the odd
 * rank represents both. */
static uint32_t member(uint32_t v, uint32_t extra)
{
	return v < extra ? 2 * v + 1 : v + extra;
}

/* Adds exchanges with the partner at `distance`. A rank v sends the partner's half of its blocks (scatter), or its blocks (gather). */
static void exchange(
	struct coll_plan *p, uint32_t size, uint32_t extra, uint32_t distance, bool is_near, bool is_scatter, double piece_bytes)
{
	/* Near: the lowest bit is halved first, so size / (2 d) pieces remain at distance d. Far: d pieces. */
	uint32_t half = is_near ? size / 2 / distance : distance;
	for (uint32_t v = 0; v < size; v++) {
		uint32_t partner = v ^ distance, who = is_scatter ? partner : v, low = 0;
		for (uint32_t bit = is_near ? 1 : size / 2, len = size / 2; len >= half && len; len /= 2) {
			low += who & bit ? len : 0;
			bit = is_near ? bit << 1 : bit >> 1;
		}
		plan_send(p, (struct coll_send){ .from = member(v, extra),
				     .to = member(partner, extra),
				     .bytes = half * piece_bytes,
				     .piece = low,
				     .n_pieces = half,
				     .stride = 1,
				     .adds = is_scatter });
	}
	plan_phase(p, 1);
}

static void fold(struct coll_plan *p, uint32_t extra, bool is_before, double bytes)
{
	for (uint32_t i = 0; i < extra; i++)
		plan_send(p, (struct coll_send){ .from = 2 * i + !is_before,
				     .to = 2 * i + is_before,
				     .bytes = bytes,
				     .n_pieces = p->pieces,
				     .stride = 1,
				     .adds = is_before });
	plan_phase(p, 1);
}

static void plan_scatter(struct coll_plan *p, uint32_t size, uint32_t extra, bool is_near, double piece_bytes)
{
	for (uint32_t d = 1; d < size; d *= 2)
		exchange(p, size, extra, is_near ? d : size / 2 / d, is_near, true, piece_bytes);
}

static void plan_gather(struct coll_plan *p, uint32_t size, uint32_t extra, bool is_near, double piece_bytes)
{
	for (uint32_t d = 1; d < size; d *= 2)
		exchange(p, size, extra, is_near ? size / 2 / d : d, is_near, false, piece_bytes);
}

/* Plans a binomial scatter from root: each owner sends half of its pieces. is_up: the reverse, a gather. Ranks are relative to root. */
static void binomial(struct coll_plan *p, uint32_t n, uint32_t root, bool is_up, double piece_bytes)
{
	for (uint32_t d = 1; d < n; d *= 2) {
		uint32_t half = is_up ? d : n / 2 / d;
		for (uint32_t v = 0; v < n; v += 2 * half) {
			uint32_t owner = (v + root) % n, other = (v + half + root) % n;
			plan_send(p, (struct coll_send){ .from = is_up ? other : owner,
					     .to = is_up ? owner : other,
					     .bytes = half * piece_bytes,
					     .piece = other,
					     .n_pieces = half,
					     .stride = 1 });
		}
		plan_phase(p, 1);
	}
}

static void plan_halving_doubling(struct coll_plan *p, const struct coll_shape *s)
{
	uint32_t size = 1u << floor_log2(s->n), extra = s->n - size;
	double piece = s->bytes / size;
	p->pieces = size;
	switch (s->op) {
	case ORR_ALL_REDUCE:
		fold(p, extra, true, s->bytes);
		plan_scatter(p, size, extra, true, piece);
		plan_gather(p, size, extra, true, piece);
		fold(p, extra, false, s->bytes);
		break;
	case ORR_REDUCE_SCATTER:
		plan_scatter(p, size, 0, false, piece);
		break;
	case ORR_ALL_GATHER:
		plan_gather(p, size, 0, false, piece);
		break;
	case ORR_REDUCE:
		plan_scatter(p, size, 0, false, piece);
		binomial(p, size, s->root, true, piece);
		break;
	default: /* broadcast: van de Geijn's scatter, then all-gather (Thakur et al.) */
		binomial(p, size, s->root, false, piece);
		plan_gather(p, size, 0, false, piece);
	}
}

/* ---- trees and chains ---- */

static void plan_tree(struct coll_plan *p, const struct coll_shape *s)
{
	struct pipeline pipe;
	bool is_rooted = s->op != ORR_ALL_REDUCE;
	uint32_t chunks = coll_chunks(s);
	pipeline_double_tree(&pipe, s->n, is_rooted, s->root, chunks);
	p->pieces = 2 * chunks;
	if (s->op != ORR_BROADCAST)
		pipeline_plan(p, &pipe, true, s->bytes / p->pieces, (struct pipe_ranks){ 1, 1, 0 });
	if (s->op != ORR_REDUCE)
		pipeline_plan(p, &pipe, false, s->bytes / p->pieces, (struct pipe_ranks){ 1, 1, 0 });
	pipeline_free(&pipe);
}

/* Plans the reduction, then the broadcast; the chain or star of each island and the trees over islands form one pipeline. */
static void plan_multi_tree(struct coll_plan *p, const struct coll_shape *s)
{
	struct pipeline pipe;
	uint32_t chunks = coll_chunks(s);
	pipeline_islands(&pipe, s, s->algorithm == ORR_NVLS_TREE, chunks);
	p->pieces = 2 * coll_rings(s) * chunks;
	pipeline_plan(p, &pipe, true, s->bytes / p->pieces, (struct pipe_ranks){ 1, 1, 0 });
	pipeline_plan(p, &pipe, false, s->bytes / p->pieces, (struct pipe_ranks){ 1, 1, 0 });
	pipeline_free(&pipe);
}

static void plan_chain(struct coll_plan *p, const struct coll_shape *s)
{
	struct pipeline pipe;
	p->pieces = coll_chunks(s);
	pipeline_chain(&pipe, s->n, s->root, p->pieces);
	pipeline_plan(p, &pipe, s->op == ORR_REDUCE, s->bytes / p->pieces, (struct pipe_ranks){ 1, 1, 0 });
	pipeline_free(&pipe);
}

/* Plans a chain in each island, from or to its first rank. One chunk is `islands` pieces of the plan. */
static void island_chains(struct coll_plan *p, const struct coll_shape *s, bool is_up)
{
	uint32_t first = p->n_sends, islands = s->n / s->inner, chunks = coll_chunks(s);
	struct pipeline pipe;
	if (s->inner < 2)
		return;
	pipeline_chain(&pipe, s->inner, 0, chunks);
	pipeline_plan(p, &pipe, is_up, s->bytes / chunks, (struct pipe_ranks){ 1, islands, s->inner });
	pipeline_free(&pipe);
	for (uint32_t i = first; i < p->n_sends; i++) {
		p->send[i].piece *= islands;
		p->send[i].n_pieces = p->send[i].advance = islands;
		p->send[i].stride = 1;
	}
}

/* Plans a reduce to the leader of each island, a ring among leaders, and a broadcast (Jia et al., arXiv:1807.11205). */
static void plan_leader(struct coll_plan *p, const struct coll_shape *s)
{
	uint32_t islands = s->n / s->inner, chunks = coll_chunks(s);
	struct rings ring = { .size = islands,
		.n = 1,
		.step = s->inner,
		.block_step = chunks,
		.stride = 1,
		.n_pieces = chunks,
		.bytes = s->bytes / islands };
	p->pieces = chunks * islands;
	island_chains(p, s, true);
	ring_stage(p, &ring, true);
	ring_stage(p, &ring, false);
	island_chains(p, s, false);
}

/* ---- direct ---- */

static void everyone(struct coll_plan *p, uint32_t n, double bytes, bool is_scatter)
{
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t k = 1; k < n; k++) {
			uint32_t to = (i + k) % n;
			plan_send(p, (struct coll_send){ .from = i,
					     .to = to,
					     .bytes = bytes / n,
					     .piece = is_scatter ? to : i,
					     .n_pieces = 1,
					     .adds = is_scatter });
		}
	plan_phase(p, 1);
}

/* Plans all messages of an all-to-all at once, or one shift after another. */
static void all_to_all(struct coll_plan *p, const struct coll_shape *s, bool is_shifts)
{
	uint32_t n = s->n;
	p->pieces = n * n;
	for (uint32_t k = 1; k < n; k++) {
		for (uint32_t i = 0; i < n; i++)
			plan_send(p,
				(struct coll_send){
					.from = i, .to = (i + k) % n, .bytes = s->bytes / n, .piece = i * n + (i + k) % n, .n_pieces = 1 });
		if (is_shifts)
			plan_phase(p, 1);
	}
	plan_phase(p, 1);
}

/* Plans unequal messages; those of the same shift are neighbours. */
static void unequal(struct coll_plan *p, const struct coll_messages *m)
{
	uint32_t n = m->n;
	p->pieces = n * n;
	for (uint32_t k = 1; k < n; k++)
		for (uint32_t i = 0; i < n; i++) {
			uint32_t to = (i + k) % n;
			if (m->bytes[(size_t)i * n + to] > 0)
				plan_send(p, (struct coll_send){ .from = i,
						     .to = to,
						     .bytes = m->bytes[(size_t)i * n + to],
						     .piece = i * n + to,
						     .n_pieces = 1 });
		}
	plan_phase(p, 1);
}

static void plan_direct(struct coll_plan *p, const struct coll_shape *s)
{
	if (s->op == ORR_ALL_TO_ALL && s->messages) {
		unequal(p, s->messages);
		return;
	}
	if (s->op == ORR_ALL_TO_ALL) {
		all_to_all(p, s, false);
		return;
	}
	p->pieces = s->n;
	if (s->op == ORR_ALL_REDUCE || s->op == ORR_REDUCE_SCATTER)
		everyone(p, s->n, s->bytes, true);
	if (s->op == ORR_ALL_REDUCE || s->op == ORR_ALL_GATHER)
		everyone(p, s->n, s->bytes, false);
	if (s->op != ORR_BROADCAST && s->op != ORR_REDUCE)
		return;
	for (uint32_t k = 1; k < s->n; k++) {
		uint32_t other = (s->root + k) % s->n;
		bool is_up = s->op == ORR_REDUCE;
		plan_send(p, (struct coll_send){ .from = is_up ? other : s->root,
				     .to = is_up ? s->root : other,
				     .bytes = s->bytes,
				     .n_pieces = s->n,
				     .stride = 1,
				     .adds = is_up });
	}
	plan_phase(p, 1);
}

int coll_plan(const struct coll_shape *shape, struct coll_plan *out, struct orr_error *err)
{
	struct coll_shape s = *shape;
	*out = (struct coll_plan){ .pieces = 1 };
	if (s.algorithm == ORR_ALGORITHM_DEFAULT)
		s.algorithm = coll_usable(s.op, s.algorithm, s.n);
	coll_name_leader(&s);
	int rc = check(&s, s.algorithm, err);
	if (rc || s.n == 1)
		return rc;
	if (s.algorithm == ORR_DIRECT)
		plan_direct(out, &s);
	else if (s.op == ORR_ALL_TO_ALL)
		all_to_all(out, &s, true);
	else if (s.algorithm == ORR_HALVING_DOUBLING)
		plan_halving_doubling(out, &s);
	else if (s.algorithm == ORR_DOUBLE_TREE)
		plan_tree(out, &s);
	else if (s.algorithm == ORR_HIERARCHICAL && s.leader && s.op == ORR_ALL_REDUCE)
		plan_leader(out, &s);
	else if (s.algorithm == ORR_HIERARCHICAL)
		plan_hierarchical(out, &s);
	else if (s.algorithm == ORR_MULTI_RING)
		plan_multi_ring(out, &s);
	else if (s.algorithm == ORR_MULTI_TREE || s.algorithm == ORR_NVLS_TREE)
		plan_multi_tree(out, &s);
	else if (s.op == ORR_BROADCAST || s.op == ORR_REDUCE)
		plan_chain(out, &s);
	else
		plan_ring(out, &s);
	return ORR_OK;
}
