/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "rendezvous.h"

#include <string.h>

/* Tags of the machine's timers exceed all tags of policies. */
#define TAG_BASE (UINT64_C(1) << 62)

void rdv_free(struct rendezvous *r)
{
	orr_free(r->member);
	orr_free(r->ready);
	orr_free(r->seat);
	orr_free(r->holder);
}

/* Reserves n seats; new seats are empty. */
static void room_for_seats(struct rendezvous *r, uint32_t n)
{
	if (n <= r->n_seats)
		return;
	uint32_t more = n > UINT32_MAX / 2 ? n : 2 * n;
	r->seat = orr_realloc(r->seat, more, sizeof *r->seat);
	memset(r->seat + r->n_seats, 0, (more - r->n_seats) * sizeof *r->seat);
	r->n_seats = more;
}

static void room_for(orr_inst **list, uint32_t *cap, uint32_t n)
{
	if (n <= *cap)
		return;
	*cap = n > UINT32_MAX / 2 ? n : 2 * n;
	*list = orr_realloc(*list, *cap, sizeof **list);
}

/* Returns the seat of an instance; clears a seat that belonged to another instance. */
static struct rdv_seat *seat_of(struct rendezvous *r, orr_inst i)
{
	uint32_t slot = orr_inst_slot(i);
	room_for_seats(r, slot + 1);
	struct rdv_seat *s = &r->seat[slot];
	if (s->inst != i)
		*s = (struct rdv_seat){ .inst = i };
	return s;
}

/* Adds a ready instance. Instances mostly become ready in order of creation; otherwise the list is reloaded from the world. */
static void list_ready(struct rendezvous *r, struct orr_spot *w, orr_inst i)
{
	struct orr_inst_info info;
	orr_inst_get(w, i, &info);
	room_for(&r->ready, &r->cap_ready, orr_inst_ready(w));
	if (!r->n_ready || info.number > r->last_number) {
		r->ready[r->n_ready++] = i;
		r->last_number = info.number;
	} else {
		r->n_ready = orr_inst_ready_list(w, r->ready, r->cap_ready);
	}
}

/* Removes the instance from the list; returns false if the list does not contain it. */
static bool take_out(orr_inst *list, uint32_t *n, orr_inst i)
{
	uint32_t k = 0;
	while (k < *n && list[k] != i)
		k++;
	if (k == *n)
		return false;
	--*n;
	memmove(list + k, list + k + 1, (*n - k) * sizeof *list);
	return true;
}

static uint64_t tag_of(enum rdv_kind kind)
{
	return TAG_BASE + (uint64_t)kind;
}

bool rdv_is_timer(uint64_t tag)
{
	return tag - TAG_BASE < RDV_KINDS;
}

void rdv_start(struct rendezvous *r, struct orr_spot *w, enum rdv_kind kind)
{
	r->state = RDV_GATHERING;
	r->kind = kind;
	room_for(&r->member, &r->cap_members, r->n_ready);
	r->n_members = r->n_ready;
	if (r->n_ready)
		memcpy(r->member, r->ready, r->n_ready * sizeof *r->member);
	r->has_lost = false;
	if (r->is_pending && !r->keeps_timers)
		orr_spot_cancel(w, r->timer);
	r->timer = orr_spot_timer(w, orr_spot_now(w) + r->length_ns[kind], (uint32_t)kind, tag_of(kind));
	r->is_pending = true;
}

bool rdv_ready(struct rendezvous *r, struct orr_spot *w, orr_inst i)
{
	list_ready(r, w, i);
	if (r->state == RDV_GATHERING) {
		room_for(&r->member, &r->cap_members, r->n_members + 1);
		r->member[r->n_members++] = i;
	} else if (r->state == RDV_RUNNING) {
		seat_of(r, i)->waits = true;
		r->waiting++;
	}
	return r->state == RDV_STOPPED;
}

bool rdv_gone(struct rendezvous *r, orr_inst i)
{
	struct rdv_seat *seat = seat_of(r, i);
	bool waited = seat->waits;
	/* While members gather, all ready instances are members. */
	if (take_out(r->ready, &r->n_ready, i))
		r->has_lost = r->n_members > 0;
	if (waited && !r->keeps_waiting)
		r->waiting--;
	*seat = (struct rdv_seat){ 0 };
	return waited;
}

bool rdv_fires(struct rendezvous *r, struct orr_spot *w, uint64_t tag)
{
	r->is_pending = false;
	if (r->has_lost) {
		rdv_start(r, w, (enum rdv_kind)(tag - TAG_BASE));
		return false;
	}
	r->version++;
	return true;
}

void rdv_settle(struct rendezvous *r, struct orr_spot *w, bool runs, uint32_t waiting)
{
	room_for_seats(r, orr_inst_slots(w));
	/* With coordinates, rdv_assign() has set the seats of the participating members. */
	for (uint32_t i = r->depth ? r->n_members - waiting : 0; i < r->n_members; i++) {
		struct rdv_seat *seat = &r->seat[orr_inst_slot(r->member[i])];
		seat->inst = r->member[i];
		seat->waits = i >= r->n_members - waiting;
	}
	r->waiting = waiting;
	r->n_members = 0;
	r->state = runs ? RDV_RUNNING : RDV_STOPPED;
}

void rdv_assign(struct rendezvous *r, struct orr_spot *w, uint32_t pipelines)
{
	uint32_t n = pipelines * r->depth;
	r->pipelines = pipelines;
	room_for(&r->holder, &r->cap_holders, n);
	room_for_seats(r, orr_inst_slots(w));
	for (uint32_t i = 0; i < r->n_members; i++)
		r->seat[orr_inst_slot(r->member[i])] = (struct rdv_seat){ .inst = r->member[i], .coordinate = { i }, .n = i < n };
	if (n)
		memcpy(r->holder, r->member, n * sizeof *r->holder);
	if (r->n_members)
		r->shadows = 0; /* only members have coordinates */
}

enum rdv_loss rdv_lose(struct rendezvous *r, struct orr_spot *w, orr_inst i, uint32_t *at, orr_inst *heir)
{
	struct rdv_seat *seat = seat_of(r, i);
	*heir = 0;
	if (!seat->n)
		return RDV_NO_PART;
	if (seat->n == 2) {
		r->shadows--;
		return RDV_FATAL;
	}
	uint32_t lost = seat->coordinate[0], stage = lost % r->depth;
	if (stage == 0 && r->pipelines == 0)
		return RDV_NO_PART; /* as published: if no pipeline exists, the search for the last stage fails */
	orr_inst holder = r->holder[stage ? lost - 1 : lost + r->depth - 1];
	if (holder != i && !orr_inst_is_live(w, holder) && r->ignores_orphans)
		return RDV_NO_PART;
	if (holder == i || !orr_inst_is_live(w, holder))
		return RDV_FATAL;
	struct rdv_seat *before = seat_of(r, holder);
	if (before->n != 1)
		return RDV_FATAL;
	before->coordinate[before->n++] = lost;
	r->holder[lost] = holder;
	r->shadows++;
	*at = lost;
	*heir = holder;
	return RDV_TAKEN_OVER;
}

bool rdv_is_shadow(const struct rendezvous *r, orr_inst i)
{
	uint32_t slot = orr_inst_slot(i);
	return slot < r->n_seats && r->seat[slot].inst == i && r->seat[slot].n == 2;
}
