/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * instances.h - offers and instances of the spot world
 *
 * An offer and the instance that it becomes share a slot. A handle (orr_inst) is a slot and its generation, which grows when the
 * instance ends. Prices are in 1e-9 USD/h.
 *
 * Invariant: w->count[] and w->rate[] hold the number and the prices of live instances by role; an instance owns stages if and only
 * if its role is ROLE_OWNER.
 */
#ifndef ORR_SPOT_INSTANCES_H
#define ORR_SPOT_INSTANCES_H

#include "spot/spot.h"
#include "cluster/ledger.h"

#define NONE UINT32_MAX

enum slot_state { SLOT_FREE, SLOT_OFFER, SLOT_STARTING, SLOT_READY, SLOT_GONE /* GONE: while ORR_INST_GONE is delivered */ };
enum role { ROLE_STARTING, ROLE_IDLE, ROLE_OWNER, ROLES };

struct slot {
	uint32_t generation;
	uint8_t state, role;
	bool is_on_demand, has_notice;
	uint32_t zone, type;
	uint32_t instance, node; /* number and name in the trace; on-demand: number among on-demand instances, and 0 */
	uint32_t stages, first_stage;
	uint32_t layout;     /* number of the last layout that gave the instance a stage */
	uint32_t at;         /* index in w->order while live */
	uint32_t prev, next; /* links of the zone's list of offers */
	uint32_t market;     /* number of the market in the source */
	int64_t price;
	int64_t offer_price; /* price stated by the row of the instance; -1: the price of the market */
	uint64_t number, mark;
	int64_t since, ready, goes;
	/* Interval of the job's state, modulo 1, that the instance held when steps last began. */
	double held_lo, held_hi;
	timeline_sum paid; /* amount billed up to paid_until, for the check */
	int64_t paid_until;
};

struct zone {
	const char *name;
	uint32_t first, last;    /* offers that are not taken */
	uint32_t n_offers, live; /* live: spot instances */
	uint32_t want;
	uint32_t market; /* market of the latest instance; before the first instance, the market that the first instance will have */
};

uint32_t spot_slot_new(struct orr_spot *w);
void spot_slot_free(struct orr_spot *w, uint32_t slot);
orr_inst slot_handle(const struct orr_spot *w, uint32_t slot);
/* Returns the slot of a live instance. If the handle is not that of a live instance, fails the run and returns NULL. */
struct slot *slot_of_handle(struct orr_spot *w, orr_inst i, const char *what);
const char *slot_name(const struct orr_spot *w, const struct slot *s, char buf[AVAIL_NAME_MAX]);

/* Makes an accepted offer a live instance, which starts. */
void spot_inst_begin(struct orr_spot *w, uint32_t slot);
/* Ends an instance that owns no stage, and bills it up to now. */
void spot_inst_end(struct orr_spot *w, uint32_t slot);
void spot_inst_set_role(struct orr_spot *w, struct slot *s, enum role role);
void spot_inst_set_price(struct orr_spot *w, struct slot *s, int64_t price);
/* Makes the next instance ready, at w->ready_at; returns its slot. */
uint32_t spot_inst_get_ready(struct orr_spot *w);
void instances_free(struct orr_spot *w);

#endif
