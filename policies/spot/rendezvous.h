/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * rendezvous.h - the event machine of Bamboo's simulator and of Oobleck's artifact: who takes part, and where
 *
 * STOPPED -> (an instance gets ready) GATHERING -> (a timer fires) RUNNING or STOPPED; RUNNING -> GATHERING when the policy
 * says so. Members are the ready instances, in order of creation, and those that get ready while it gathers, appended. A
 * member that has died when the timer fires makes a new list and a new timer of the same kind. Instances that get ready
 * while it runs wait, as do those that are left over when the coordinates (pipeline, stage) have been handed out.
 * A lost instance's coordinate goes to the one that holds the stage before it, once; a second coordinate is fatal.
 *
 * Two sets of rules. Clean: one timer at most, a new one replaces it. keeps_timers: timers are never cancelled; one that fires
 * when the gathering is over finds an empty list, and the machine stops.
 *
 * Use, for each instance: instance(READY): if (rdv_ready(..)) rdv_start(.., RDV_GLOBAL). instance(GONE): rdv_lose() where there are
 * coordinates, then rdv_gone(). timer(): if it is rdv_is_timer() and rdv_fires(), there is a member list: lay the job out, then
 * rdv_settle().
 *
 * Sources: uclasystem/bamboo (its simulator), SymbioticLab/Oobleck (branch sosp23-artifact).
 */
#ifndef ORR_SPOT_RENDEZVOUS_H
#define ORR_SPOT_RENDEZVOUS_H

#include <orrery/spot.h>

enum rdv_state { RDV_STOPPED, RDV_GATHERING, RDV_RUNNING };
enum rdv_kind { RDV_GLOBAL, RDV_LOCAL, RDV_KINDS }; /* the rank of its timer */

/* What became of a lost instance's coordinates. */
enum rdv_loss {
	RDV_NO_PART, /* it held none; or nobody was found to judge by */
	RDV_TAKEN_OVER,
	RDV_FATAL
};

struct rdv_seat {
	orr_inst inst;
	uint32_t coordinate[2]; /* pipeline * depth + stage */
	uint8_t n;              /* of them */
	bool waits;
};

struct rendezvous {
	/* Set by the policy. */
	int64_t length_ns[RDV_KINDS]; /* may change at any time: of the next timers */
	bool keeps_timers;
	bool keeps_waiting; /* a loss never lowers the number of those that wait */
	uint32_t depth;     /* nodes of a pipeline: rdv_assign() before each rdv_settle(); 0: no coordinates, neither it nor rdv_lose() is
			       called */

	enum rdv_state state;
	enum rdv_kind kind; /* of the last one started */
	uint64_t version;   /* rendezvous that came to an end */
	uint64_t timer;     /* pending, where there is one at most */
	bool is_pending;
	bool has_lost; /* a member died since the list was made */
	orr_inst *member;
	uint32_t n_members, cap_members;
	orr_inst *ready; /* all that are, in order of creation */
	uint32_t n_ready, cap_ready;
	uint64_t last_number; /* the largest number of those that ever were */
	uint32_t waiting;     /* W */

	uint32_t pipelines;    /* D: of the last assignment */
	uint32_t shadows;      /* O: live instances with two coordinates */
	struct rdv_seat *seat; /* by slot */
	uint32_t n_seats;
	orr_inst *holder; /* by coordinate; can be dead */
	uint32_t cap_holders;
};

/* Zeroed memory is an empty one. */
void rdv_free(struct rendezvous *r);

/* Gathers those that are ready and starts a timer. */
void rdv_start(struct rendezvous *r, struct orr_spot *w, enum rdv_kind kind);
/* An instance got ready. True: the machine stands still; the policy may start a rendezvous. */
bool rdv_ready(struct rendezvous *r, struct orr_spot *w, orr_inst i);
/* An instance went (or is given back by the policy): true if it was one that waited. */
bool rdv_gone(struct rendezvous *r, orr_inst i);
/* Is it a timer of ours? */
bool rdv_is_timer(uint64_t tag);
/* It fires. True: the gathering is over, member[0..n_members) take part (none, if the timer was stale), the version is one higher;
 * rdv_settle() must follow. False: it goes on. */
bool rdv_fires(struct rendezvous *r, struct orr_spot *w, uint64_t tag);
/* The list is used up; waiting: how many of it (the last ones) have no part. */
void rdv_settle(struct rendezvous *r, struct orr_spot *w, bool runs, uint32_t waiting);

/* Hands out the coordinates of so many pipelines (of which there are nodes enough) in the order of the list, pipeline by pipeline:
 * holder[0 .. pipelines * depth). Members that are left over have none; after an empty list everybody keeps those that it had. */
void rdv_assign(struct rendezvous *r, struct orr_spot *w, uint32_t pipelines);
/* Judges the loss of i (while GONE is told); taken over: coordinate *at by *heir. */
enum rdv_loss rdv_lose(struct rendezvous *r, struct orr_spot *w, orr_inst i, uint32_t *at, orr_inst *heir);
bool rdv_is_shadow(const struct rendezvous *r, orr_inst i); /* Has it two coordinates? */

#endif
