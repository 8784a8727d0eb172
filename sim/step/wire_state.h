/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * wire_state.h - messages in flight: private to wire*.c and leap.c
 *
 * Invariants: a flow in flight has a slot in going[]. users[link] is the number of such flows on the link. lease[link] is
 * the leap (leap.c) whose flows are the only ones on the link; users[link] is then 0.
 */
#ifndef ORR_STEP_WIRE_STATE_H
#define ORR_STEP_WIRE_STATE_H

#include "step/wire.h"

/* Identifies the flows of an op of merged lanes in every iteration. */
struct pattern {
	uint32_t from, to;           /* transfer: positions; collective: hash of the group's positions, and the first position */
	uint32_t plan, size, stride; /* plan NONE: a transfer */
	uint32_t first_flow;         /* number in the quotient, until the classes are made */
	uint32_t first_phase;        /* index into phase_at[] */
};

/* A class of flows and the bytes of each (a transfer's bytes are those of its op). */
struct sent_class {
	uint32_t flow_class;
	double bytes, more_latency_s;
	double hop_s; /* latency that replaces that of the route; NAN: none */
};

struct change {
	double time_s, capacity_Bps;
	uint32_t link;
};

struct leap;

/* The part of a checkpoint that leaves a node on one link: one flow. */
struct stored {
	uint32_t up[TOPO_MAX_UP], n; /* that link and those above it; n 0: the node has no NIC */
	double bytes;
	uint32_t flow; /* merged: number in the quotient */
};
/* Value of going.from: the flow is stored[key] of a checkpoint. */
#define FROM_STORED (NONE - 1)

struct wire {
	struct flownet *net;
	bool is_shared; /* net belongs to together.c */
	struct going *going;
	uint32_t n_going, cap_going, free_going;
	double *capacity;   /* present capacity by link of `net` */
	double *nominal;    /* bandwidths without background flows */
	double *background; /* rate of the background flows, by link of the topology */
	bool has_background;
	double *part;       /* factor on the nominal capacity under contention, by link of the topology */
	uint32_t *nic_user; /* first endpoint that uses the same NIC, by endpoint */
	struct change *change;
	uint32_t n_changes, next_change;
	uint64_t *slowed_for; /* iteration + 1 of the last draw of contention, by endpoint */
	double contention_p, contention_f;
	double offered;          /* sum of bytes x links over all flows started */
	uint32_t *users, *lease; /* number of flows by link of `net`; leap by link */
	uint32_t n_links;        /* number of links of the topology and of functions */
	double function_latency_s;
	double function_bytes; /* bytes of messages to and from functions */
	/* Storage of checkpoints (storage.c); its links follow those of functions. */
	struct stored *stored;
	uint32_t n_stored, first_storage; /* first_storage: number of the link on which all writes end; NONE: no storage */
	struct leap *leap;
	uint32_t n_leaps, cap_leaps, free_leap;
	/* Merged. */
	struct quotient *quotient;
	struct pattern *pattern;
	uint32_t n_patterns, cap_patterns;
	struct sent_class *class_list; /* classes of each phase of each pattern */
	uint32_t n_classes, cap_classes;
	uint32_t *phase_at; /* offsets into class_list; one more than phases */
	uint32_t n_phase_at, cap_phase_at;
};

static inline const struct coll_plan *phases_of(const struct orr_step *s, const struct iteration *k, const struct instance *x)
{
	return &plan_of(s, k, &k->coll[k->op[x->op].collective], x->lane)->phases;
}

/* Returns the bytes of a send on the wire: its bytes times `stretch` for a measured shape. With rings or trees per NIC they are
 * divided by nic_efficiency between islands (with several NICs), and multiplied by inner_stretch inside them. */
static inline double sent_bytes(const struct orr_step *s, const struct plan *plan, const struct coll_send *m)
{
	const struct coll_shape *shape = &plan->shape;
	if (shape->is_measured)
		return m->bytes * shape->stretch;
	if (!shape->inner || (!coll_is_per_nic(shape->algorithm) && shape->op != ORR_ALL_TO_ALL))
		return m->bytes;
	if (m->from / shape->inner == m->to / shape->inner)
		return m->bytes * shape->inner_stretch;
	return shape->rings > 1 ? m->bytes / s->nic_efficiency : m->bytes;
}

/* Returns the part of the routes' key that sends messages over the NIC of the receiver's rail: those of an all-to-all (step.pxn), and of a
 * ring per NIC, which enters and leaves each node by the same NIC. */
static inline uint64_t rail_key(const struct orr_step *s, const struct coll_shape *shape)
{
	return (s->has_pxn && shape->op == ORR_ALL_TO_ALL) || shape->algorithm == ORR_MULTI_RING ? TOPO_RAIL : 0;
}

/* Returns the latency of a send that replaces that of its route; NAN: none. */
static inline double send_hop_s(const struct plan *plan, const struct coll_send *m)
{
	const struct coll_shape *shape = &plan->shape;
	return shape->is_measured ? shape->hop_s : m->follows ? 0 : shape->is_tree_timed ? shape->hop_s : NAN;
}

/* Returns the latency of a send in addition to that of its route. */
static inline double send_fill_s(const struct plan *plan, const struct coll_send *m)
{
	const struct coll_shape *shape = &plan->shape;
	bool is_first = shape->fill_s > 0 && !m->follows && m->from / shape->inner == m->to / shape->inner;
	return (is_first ? shape->fill_s : 0) + (shape->messages ? shape->messages->start_s : 0);
}

/* Returns the tag of a flow: the run (together.c) and the slot in going[]. */
static inline uint64_t flow_tag(const struct orr_step *s, uint32_t slot)
{
	return (uint64_t)s->member << 32 | slot;
}

/* ---- storage.c ---- */
/* Returns the route of a flow of a checkpoint. */
uint32_t stored_route(const struct wire *w, uint32_t i, uint32_t out[TOPO_MAX_UP + 1]);
/* Adds the flows of a checkpoint to the quotient of a merged run. */
void storage_merge(struct orr_step *s, uint32_t colour);

/* ---- wire_idle.c ---- */
/* Properties of an op's routes that the closed forms use. A transfer from a device to itself has latency 0 and no bandwidth limit. */
struct idle_route {
	double latency_s, Bps, inner_latency_s, inner_Bps;
};
struct idle_route idle_route(const struct orr_step *s, const struct iteration *k, const struct op *o, uint32_t lane);
double idle_time_s(const struct orr_step *s, const struct iteration *k, const struct instance *x, const struct op *o);

/* ---- wire_merge.c ---- */
/* Closed forms: returns false and fails the run if the routes of some lanes differ from those of the first. */
bool merged_same_routes(struct orr_step *s, const struct iteration *k, const struct op *o);
/* Returns false and fails the run if the op's pattern of messages did not exist when the classes were made. */
bool merged_known(struct orr_step *s, const struct iteration *k, const struct op *o);
/* Returns the classes that an op sends in a phase. */
const struct sent_class *merged_classes(
	const struct orr_step *s, const struct iteration *k, const struct op *o, uint32_t phase, uint32_t *n);

/* ---- wire_phase.c ---- */
/*
 * One flow of a transfer or of the current phase of a collective: a message or, in a merged run, a class of messages. Links are
 * those of wire_net(): links of the topology, or classes of them.
 */
struct phase_flow {
	uint32_t link[TOPO_MAX_HOPS], n;
	struct flow_hop hop[TOPO_MAX_HOPS];
	double latency_s, more_latency_s, bytes;
	uint32_t from, to; /* merged: NONE, and the class is in key */
	uint64_t key;
};
void message_flow(const struct orr_step *s, uint32_t from, uint32_t to, uint64_t key, double bytes, struct phase_flow *out);
void class_flow(const struct orr_step *s, const struct sent_class *c, struct phase_flow *out);
uint32_t phase_flows(const struct orr_step *s, const struct iteration *k, const struct instance *x);
void phase_flow_at(const struct orr_step *s, const struct iteration *k, const struct instance *x, uint32_t j, struct phase_flow *out);

/* ---- wire_alone.c ---- */
/* Returns the time until all flows of the instance's phase have ended, if they start at 0 and no other flow uses their links;
 * INFINITY if a link has zero capacity. left, if not NULL: receives the bytes that each flow has left after until_s; else until_s is
 * INFINITY. */
double phase_alone(const struct orr_step *s, const struct iteration *k, const struct instance *x, double until_s, double *left);

/* ---- leap.c ---- */
/* Records that a message, or a query, uses the link. */
static inline void note_background(const struct orr_step *s, uint32_t link)
{
	if (s->wire->has_background && s->wire->background[link] > 0)
		*s->uses |= STEP_USED_BACKGROUND;
}
/* Starts a flow with this many bytes left, after passed_s of its latency. Breaks the leaps over its links.
 * Returns its slot in going[]. */
uint32_t flow_start(struct orr_step *s, struct iteration *k, uint32_t i, const struct phase_flow *f, double bytes, double passed_s);
/* Starts all remaining repeats of the instance's phase as one leap. Returns false if no leap is possible; the caller then starts the
 * flows one by one. */
bool leap_start(struct orr_step *s, struct iteration *k, uint32_t i);
/* Ends the leap over this link now; its phase continues flow by flow. */
void leap_break(struct orr_step *s, uint32_t link);
/* Handles the timer of a leap. Returns false if the leap was broken before; else *k and *i are its instance. */
bool leap_end(struct orr_step *s, uint32_t leap, uint32_t generation, struct iteration **k, uint32_t *i);

#endif
