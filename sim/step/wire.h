/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * wire.h - messages under way: the inside of wire*.c and leap.c
 *
 * Invariants: a flow that is under way has a slot in going[]; users[link] is the number of such
 * flows on the link; lease[link] is the leap (leap.c) whose flows have the link to themselves,
 * and then users[link] is 0.
 */
#ifndef ORR_STEP_WIRE_H
#define ORR_STEP_WIRE_H

#include "step/world.h"

/* What the flows of an op of merged lanes have in common, whatever the iteration. */
struct pattern {
	uint32_t from, to;           /* transfer: positions; collective: its group's positions' hash in from */
	uint32_t plan, size, stride; /* plan NONE: a transfer */
	uint32_t first_flow;         /* in the quotient, while it is made */
	uint32_t first_phase;        /* in phase_classes[] */
};

/* A class of flows, each of so many bytes (a transfer's bytes are its op's). */
struct sent_class {
	uint32_t flow_class;
	double bytes, more_latency_s;
};

struct change {
	double time_s, capacity_Bps;
	uint32_t link;
};

struct leap;

struct wire {
	struct flownet *net;
	bool is_shared; /* it is another's */
	struct going *going;
	uint32_t n_going, cap_going, free_going;
	double *capacity;   /* by link of the network in use, now */
	double *nominal;    /* less background flows */
	double *background; /* what those take, by link of the topology */
	double *part;       /* of nominal that contention leaves, likewise */
	uint32_t *nic_user; /* by endpoint: the first endpoint that uses the same NIC */
	struct change *change;
	uint32_t n_changes, next_change;
	uint64_t *slowed_for; /* by endpoint: iteration + 1 whose contention was drawn last */
	double contention_p, contention_f;
	double offered;          /* bytes x links of all flows started */
	uint32_t *users, *lease; /* by link of the network in use */
	struct leap *leap;
	uint32_t n_leaps, cap_leaps, free_leap;
	/* Merged. */
	struct quotient *quotient;
	struct pattern *pattern;
	uint32_t n_patterns, cap_patterns;
	struct sent_class *class_list; /* of each phase of each pattern */
	uint32_t n_classes, cap_classes;
	uint32_t *phase_at; /* offsets into class_list, one more than phases */
	uint32_t n_phase_at, cap_phase_at;
};

/* ---- wire.c ---- */
const struct coll_plan *phases_of(const struct orr_step *s, const struct iteration *k, const struct op *o);

/*
 * A flow of the phase that a collective is in: one message, or in a merged run a class of them. Links are those of the
 * network in use: the topology's, or classes of its links.
 */
struct phase_flow {
	uint32_t link[TOPO_MAX_HOPS], n;
	struct flow_hop hop[TOPO_MAX_HOPS];
	double latency_s, more_latency_s, bytes;
	uint32_t from, to; /* merged: NONE, and the class in key */
	uint64_t key;
};
uint32_t phase_flows(const struct orr_step *s, const struct iteration *k, const struct instance *x);
void phase_flow_at(const struct orr_step *s, const struct iteration *k, const struct instance *x, uint32_t j, struct phase_flow *out);
/* Starts it with so many bytes left and passed_s of its latency over. */
void flow_start(struct orr_step *s, struct iteration *k, uint32_t i, const struct phase_flow *f, double bytes, double passed_s);

void phase_start(struct orr_step *s, struct iteration *k, uint32_t i);
void phase_next(struct orr_step *s, struct iteration *k, uint32_t i); /* all flows of this one have ended */

/* What the closed forms know of an op's routes; of a transfer that stays where it is, no latency and no limit. */
struct figures {
	double latency_s, Bps, inner_latency_s, inner_Bps;
};
struct figures routes_idle(const struct orr_step *s, const struct iteration *k, const struct op *o, uint32_t lane);

/* ---- wire_merge.c ---- */
/* In closed form. False, and the run fails: the routes of some lanes are not like those of the first. */
bool merged_same_figures(struct orr_step *s, const struct iteration *k, const struct op *o);
/* False, and the run fails, if the op's pattern of messages was not there when the classes were made. */
bool merged_known(struct orr_step *s, const struct iteration *k, const struct op *o);
/* The classes that an op sends in a phase. */
const struct sent_class *merged_classes(
	const struct orr_step *s, const struct iteration *k, const struct op *o, uint32_t phase, uint32_t *n);
void merged_flow(const struct orr_step *s, const struct sent_class *c, struct phase_flow *out);

/* ---- leap.c ---- */
/* Takes all repeats of the phase that the instance is about to start at once; false: it has to go step by step. */
bool leap_start(struct orr_step *s, struct iteration *k, uint32_t i);
/* Something else needs the link, or its capacity changes: what leaps over it goes step by step from here. */
void leap_break(struct orr_step *s, uint32_t link);
void leaps_free(struct wire *w);

#endif
