/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * collective.h - collective operations, as flows and in closed form
 *
 * A plan is a list of phases; in a phase all transfers start together and the next
 * phase begins when the last has ended (a barrier); a phase may be repeated. Members
 * are ranks 0..n-1 of the group; the caller maps them to endpoints. Invariant: over
 * a plan every rank sends and receives what the operation's definition asks for.
 *
 * Closed forms are those of an idle network in which every rank has full-duplex
 * bandwidth B and every message a latency a; each names its source in collective.c
 * and docs/models.md. On such a network plan and closed form agree to rounding.
 */
#ifndef ORR_NET_COLLECTIVE_H
#define ORR_NET_COLLECTIVE_H

#include <orrery/api.h>
#include <orrery/step.h>

/*
 * What a send carries is known by piece: in repetition r of its phase the pieces
 * piece + r * advance + i * stride, i < n_pieces, all modulo the plan's `pieces`.
 */
struct coll_send {
	uint32_t from, to; /* ranks */
	double bytes;
	uint32_t piece, n_pieces, stride, advance;
	bool adds; /* the receiver adds it to what it has (reductions), else keeps it */
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
	uint32_t pieces; /* equal parts of the buffer; of all-to-all: i * n + j is what rank i has for j */
};

struct coll_shape {
	enum orr_collective_op op;
	enum orr_collective_algorithm algorithm;
	uint32_t n;      /* ranks */
	double bytes;    /* the buffer: what each rank holds of an all-reduce; the whole result of a gather or scatter */
	uint32_t root;   /* broadcast, reduce */
	uint32_t inner;  /* hierarchical: ranks per island (consecutive); divides n */
	uint32_t chunks; /* trees and chains: pieces in the pipeline; 0: chosen, and written down in models.md */
	bool leader;     /* hierarchical all-reduce: one rank per island talks for it, instead of all */
};

/* ORR_EINPUT if the shape is impossible (halving-doubling with n not a power of two says what it does instead). */
int coll_plan(const struct coll_shape *s, struct coll_plan *out, struct orr_error *err);
void coll_plan_free(struct coll_plan *p);

/* The algorithm itself if it can do op on n ranks, else what stands in for it: ring (direct for all-to-all). */
enum orr_collective_algorithm coll_usable(enum orr_collective_op op, enum orr_collective_algorithm a, uint32_t n);
/* ORR_HIERARCHICAL_LEADER is ORR_HIERARCHICAL with `leader`: makes the first into the second. The functions that take a
 * shape do so themselves. */
void coll_name_leader(struct coll_shape *s);
/* Pieces in the pipeline of a tree or chain, if the shape leaves it open. */
uint32_t coll_chunks(const struct coll_shape *s);

/* Seconds on an idle network; inner figures are used by hierarchical alone. */
double coll_time_s(const struct coll_shape *s, double latency_s, double bandwidth_Bps, double inner_latency_s, double inner_bandwidth_Bps);
/* "ring", .. to the enum; false if unknown. */
bool coll_algorithm_named(const char *name, enum orr_collective_algorithm *out);
const char *coll_algorithm_name(enum orr_collective_algorithm a);
const char *coll_op_name(enum orr_collective_op op);

#endif
