/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * rendezvous.h - the event machine of Bamboo's simulator and of Oobleck's artifact: members of the job and their coordinates
 *
 * STOPPED -> (an instance becomes ready) GATHERING -> (a timer fires) RUNNING or STOPPED; RUNNING -> GATHERING when the policy starts a
 * rendezvous. Members are the ready instances in order of creation; instances that become ready while members gather are appended. If a
 * member was lost when the timer fires, a new list and a new timer of the same kind start. Instances that become ready while the job runs
 * wait, as do members without coordinates (pipeline, stage) after the assignment. The holder of the previous stage takes over a lost
 * instance's coordinate; the loss of an instance with two coordinates is fatal.
 *
 * Two sets of rules exist. By default there is one timer, which a new timer replaces. keeps_timers: timers are never cancelled;
 * a timer that fires after the gathering has an empty list, and the machine stops.
 *
 * Use: instance(READY): if (rdv_ready(..)) rdv_start(.., RDV_GLOBAL). instance(GONE): rdv_lose(), if there are coordinates, then
 * rdv_gone(). timer(): if rdv_is_timer() and rdv_fires(), the list of members is complete: lay the job out, then call rdv_settle().
 *
 * Sources: uclasystem/bamboo (its simulator), SymbioticLab/Oobleck (branch sosp23-artifact).
 */
#ifndef ORR_SPOT_RENDEZVOUS_H
#define ORR_SPOT_RENDEZVOUS_H

#include <orrery/spot.h>

enum rdv_state { RDV_STOPPED, RDV_GATHERING, RDV_RUNNING };
enum rdv_kind { RDV_GLOBAL, RDV_LOCAL, RDV_KINDS }; /* kind of a rendezvous, and rank of its timer */

/* Effect of a loss on the coordinates of the lost instance. */
enum rdv_loss {
	RDV_NO_PART, /* the instance had no coordinate, or rdv_lose() found none */
	RDV_TAKEN_OVER,
	RDV_FATAL
};

struct rdv_seat {
	orr_inst inst;
	uint32_t coordinate[2]; /* pipeline * depth + stage */
	uint8_t n;              /* number of coordinates */
	bool waits;
};

struct rendezvous {
	/* Set by the policy. */
	int64_t length_ns[RDV_KINDS]; /* lengths of the next timers; may change at any time */
	bool keeps_timers;
	bool keeps_waiting;   /* a loss does not lower `waiting` */
	bool ignores_orphans; /* a loss has no effect if the holder of the previous stage has ended; false: it is fatal */
	uint32_t depth;       /* nodes of a pipeline; 0: nodes have no coordinates, so rdv_assign() and rdv_lose() are not called.
			       * Otherwise call rdv_assign() before each rdv_settle() */

	enum rdv_state state;
	enum rdv_kind kind; /* kind of the last rendezvous started */
	uint64_t version;   /* number of rendezvous that have ended */
	uint64_t timer;     /* pending timer, without keeps_timers */
	bool is_pending;
	bool has_lost; /* a member was lost after the list was made */
	orr_inst *member;
	uint32_t n_members, cap_members;
	orr_inst *ready; /* all ready instances, in order of creation */
	uint32_t n_ready, cap_ready;
	uint64_t last_number; /* largest instance number in the list so far */
	uint32_t waiting;     /* W: number of members without coordinates */

	uint32_t pipelines;    /* D: number of pipelines of the last assignment */
	uint32_t shadows;      /* O: number of live instances with two coordinates */
	struct rdv_seat *seat; /* [slot] */
	uint32_t n_seats;
	orr_inst *holder; /* holder of each coordinate; may have ended */
	uint32_t cap_holders;
};

/* Frees the machine. A struct of zeros is empty. */
void rdv_free(struct rendezvous *r);

/* Gathers the ready instances and starts a timer. */
void rdv_start(struct rendezvous *r, struct orr_spot *w, enum rdv_kind kind);
/* Adds an instance that became ready. Returns true if the machine is stopped; the policy may then start a rendezvous. */
bool rdv_ready(struct rendezvous *r, struct orr_spot *w, orr_inst i);
/* Removes an instance that ended or was released. Returns true if it was waiting. */
bool rdv_gone(struct rendezvous *r, orr_inst i);
/* Returns whether the tag belongs to a timer of this state machine. */
bool rdv_is_timer(uint64_t tag);
/* Handles a timer. Returns true if the gathering is over: member[0..n_members) take part (none if the timer was stale), and
 * rdv_settle() must follow. Returns false if the gathering continues. */
bool rdv_fires(struct rendezvous *r, struct orr_spot *w, uint64_t tag);
/* Ends the rendezvous and empties the list; the last `waiting` members do not take part. */
void rdv_settle(struct rendezvous *r, struct orr_spot *w, bool runs, uint32_t waiting);

/* Assigns the coordinates of the pipelines, holder[0 .. pipelines * depth), in the order of the list, pipeline by pipeline. The list
 * must have enough members; the remaining members have no coordinates. If the list is empty, all instances keep their coordinates. */
void rdv_assign(struct rendezvous *r, struct orr_spot *w, uint32_t pipelines);
/* Handles the loss of i while ORR_INST_GONE is delivered. RDV_TAKEN_OVER: *heir takes coordinate *at. */
enum rdv_loss rdv_lose(struct rendezvous *r, struct orr_spot *w, orr_inst i, uint32_t *at, orr_inst *heir);
bool rdv_is_shadow(const struct rendezvous *r, orr_inst i); /* returns whether the instance has two coordinates */

#endif
