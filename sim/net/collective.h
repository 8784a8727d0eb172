/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * collective.h - collective operations, as flows and in closed form
 *
 * A plan is a list of phases. The sends of a phase start together, and the next phase begins when all have ended (a barrier). A
 * phase may be repeated. Members are ranks 0..n-1 of the group; the caller maps them to endpoints. Invariant: over a plan every
 * rank sends and receives what the operation requires.
 *
 * Closed forms hold on an idle network in which every rank has full-duplex bandwidth B and every message has latency a.
 * collective.c and docs/models/net.md name their sources. On such a network plan and closed form agree up to rounding.
 */
#ifndef ORR_NET_COLLECTIVE_H
#define ORR_NET_COLLECTIVE_H

#include <orrery/api.h>
#include <orrery/step.h>

/*
 * The contents of a send, as piece numbers. In repetition r of its phase it carries the pieces piece + r * advance + i *
 * stride, i < n_pieces, modulo the plan's `pieces`. With n_pieces > 1 and stride 0 the pieces are list[piece + i] + r *
 * advance.
 */
struct coll_send {
	uint32_t from, to; /* ranks */
	double bytes;
	uint32_t piece, n_pieces, stride, advance;
	bool adds;    /* the receiver adds the data (reductions); false: it stores them */
	bool follows; /* the message follows another one of the same pair, so it adds no latency */
};

struct coll_phase {
	uint32_t first, count; /* in send[] */
	uint32_t repeat;       /* >= 1 */
};

struct coll_plan {
	struct coll_send *send;
	uint32_t n_sends, cap_sends;
	struct coll_phase *phase;
	uint32_t n_phases, cap_phases;
	uint32_t pieces; /* equal parts of the buffer; in an all-to-all, piece i * n + j goes from rank i to rank j */
	uint32_t *list;  /* lists of pieces, for sends with stride 0 */
	uint32_t n_list, cap_list;
};

/* Unequal messages of an all-to-all: bytes[from * n + to]. */
struct coll_messages {
	uint32_t n;
	double *bytes;
	double start_s; /* latency of each message in addition to that of its route */
};

struct coll_shape {
	enum orr_collective_op op;
	enum orr_collective_algorithm algorithm;
	uint32_t n;      /* ranks */
	double bytes;    /* bytes per rank of an all-reduce; bytes of the whole result or input of a gather or scatter */
	uint32_t root;   /* broadcast, reduce */
	uint32_t inner;  /* hierarchical, multi-ring, multi-tree, nvls-tree, direct all-to-all: ranks per island (consecutive); divides n */
	uint32_t rings;  /* multi-ring, multi-tree: number of rings or double trees, a divisor of inner; 0: inner. nvls-tree always
			  * has `inner` double trees */
	uint32_t chunks; /* trees and chains: number of pipelined pieces; 0: chosen by coll_chunks() */
	bool leader;     /* hierarchical all-reduce: only one rank per island communicates across islands */
	/* multi-ring, multi-tree, nvls-tree: factor on the bytes of messages inside an island; 0 means 1 */
	double inner_stretch;
	/* multi-tree, nvls-tree: additional time, s, of a first chunk inside an island. Each tree has a share of a GPU's link,
	 * because its copies run on separate multiprocessors. */
	double fill_s;
	/* Measured times: a message has the latency hop_s on any route, and takes `stretch` times its bytes. */
	bool is_measured;
	double hop_s, stretch;
	/* ring, multi-ring: takes the time of a tree, which is shorter. A message that does not follow another has the latency hop_s. */
	bool is_tree_timed;
	const struct coll_messages *messages; /* direct all-to-all: unequal messages; NULL: bytes / n between each two ranks */
};

/* Makes the plan. Returns ORR_EINPUT if the algorithm does not support the operation; the message names those that do. */
int coll_plan(const struct coll_shape *s, struct coll_plan *out, struct orr_error *err);
void coll_plan_free(struct coll_plan *p);

/* Returns the rank that owns a piece in a reduce-scatter or all-gather with this plan. */
uint32_t coll_owner(const struct coll_shape *s, const struct coll_plan *p, uint32_t piece);

/* Returns the algorithm if it supports op on n ranks; else ring (direct for all-to-all). */
enum orr_collective_algorithm coll_usable(enum orr_collective_op op, enum orr_collective_algorithm a, uint32_t n);
/* Replaces ORR_HIERARCHICAL_LEADER by ORR_HIERARCHICAL with `leader`. Functions that take a shape call this function themselves. */
void coll_name_leader(struct coll_shape *s);
/* Returns the number of pipelined pieces of a tree or chain; a default if the shape gives none. */
uint32_t coll_chunks(const struct coll_shape *s);

/* Returns whether the algorithm has separate rings or trees for each NIC of an island. */
static inline bool coll_is_per_nic(enum orr_collective_algorithm a)
{
	return a == ORR_MULTI_RING || a == ORR_MULTI_TREE || a == ORR_NVLS_TREE;
}

/* Returns the time on an idle network, s. Only hierarchical and the per-NIC algorithms use the inner latency and bandwidth. */
double coll_time_s(const struct coll_shape *s, double latency_s, double bandwidth_Bps, double inner_latency_s, double inner_bandwidth_Bps);
/* Parses "ring" etc.; returns false if unknown. */
bool coll_algorithm_named(const char *name, enum orr_collective_algorithm *out);
const char *coll_algorithm_name(enum orr_collective_algorithm a);
const char *coll_op_name(enum orr_collective_op op);

#endif
