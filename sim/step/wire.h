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
	uint32_t from, to;            /* transfer: positions; collective: its group's positions' hash in from */
	uint32_t plan, size, stride;  /* plan NONE: a transfer */
	uint32_t first_flow;          /* in the quotient, while it is made */
	uint32_t first_phase;         /* in phase_classes[] */
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
	struct going *going;
	uint32_t n_going, cap_going, free_going;
	double *capacity;       /* by link of the topology, now */
	double *nominal;        /* less background flows */
	struct change *change;
	uint32_t n_changes, next_change;
	uint64_t *slowed_for;   /* by endpoint: iteration + 1 whose contention was drawn last */
	double contention_p, contention_f;
	double offered;         /* bytes x links of all flows started */
	uint32_t *users, *lease; /* by link of the topology */
	struct leap *leap;
	uint32_t n_leaps, cap_leaps, free_leap;
	/* Merged. */
	struct quotient *quotient;
	struct pattern *pattern;
	uint32_t n_patterns, cap_patterns;
	struct sent_class *class_list; /* of each phase of each pattern */
	uint32_t n_classes, cap_classes;
	uint32_t *phase_at;     /* offsets into class_list, one more than phases */
	uint32_t n_phase_at, cap_phase_at;
};

/* ---- wire.c ---- */
uint64_t going_add(struct wire *w, struct iteration *k, uint32_t i);
void flow_add(struct orr_step *s, struct iteration *k, uint32_t i, uint32_t from, uint32_t to, double bytes, uint64_t key);
/* The same with so much of it done: latency_s of its latency has passed. */
void flow_add_late(struct orr_step *s, struct iteration *k, uint32_t i, uint32_t from, uint32_t to, double bytes, uint64_t key,
	double latency_s);
const struct coll_plan *phases_of(const struct orr_step *s, const struct iteration *k, const struct op *o);
void phase_start(struct orr_step *s, struct iteration *k, uint32_t i);
void phase_next(struct orr_step *s, struct iteration *k, uint32_t i); /* all flows of this one have ended */
static inline uint64_t send_key(const struct op *o, uint32_t j)
{
	return (uint64_t)o->collective << 32 | j;
}

/* ---- wire_merge.c ---- */
uint32_t merged_phase(struct orr_step *s, struct iteration *k, uint32_t i, uint32_t phase, double bytes);

/* ---- leap.c ---- */
/* Takes all repeats of the phase that the instance is about to start at once; false: it has to go step by step. */
bool leap_start(struct orr_step *s, struct iteration *k, uint32_t i);
/* Something else needs the link, or its capacity changes: what leaps over it goes step by step from here. */
void leap_break(struct orr_step *s, uint32_t link);
void leaps_free(struct wire *w);

#endif
