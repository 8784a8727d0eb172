/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Slots, handles, roles; the life of an instance. */
#include "spot/accounts.h"

#include "base/mem.h"

#include <string.h>

enum { MAX_LIVE = 1 << 20 };
#define MAX_RATE \
	INT64_C(1000000000000000000) /* limit on the total price of all instances, 1e9 USD/h; below it, sums are exact for 146 years */

/* ---- slots ---- */

uint32_t spot_slot_new(struct orr_spot *w)
{
	uint32_t i;
	if (w->n_free) {
		i = w->free_slot[--w->n_free];
	} else {
		MEM_GROW(w->slot, w->n_slots, w->cap_slots);
		i = w->n_slots++;
		w->slot[i].generation = 0;
	}
	uint32_t generation = w->slot[i].generation;
	w->slot[i] = (struct slot){
		.generation = generation, .first_stage = NONE, .prev = NONE, .next = NONE, .goes = ORR_NEVER, .offer_price = -1
	};
	return i;
}

void spot_slot_free(struct orr_spot *w, uint32_t slot)
{
	w->slot[slot].state = SLOT_FREE;
	w->slot[slot].generation++;
	MEM_GROW(w->free_slot, w->n_free, w->cap_free);
	w->free_slot[w->n_free++] = slot;
}

orr_inst slot_handle(const struct orr_spot *w, uint32_t slot)
{
	return (uint64_t)w->slot[slot].generation << 32 | (slot + 1);
}

static bool is_live(const struct slot *s)
{
	return s->state == SLOT_STARTING || s->state == SLOT_READY;
}

/* Returns the slot of a live instance, or of one whose ORR_INST_GONE is being delivered; else NULL. */
static const struct slot *find(const struct orr_spot *w, orr_inst i)
{
	uint32_t slot = orr_inst_slot(i);
	if (slot >= w->n_slots)
		return NULL;
	const struct slot *s = &w->slot[slot];
	return s->generation == (uint32_t)(i >> 32) && (is_live(s) || s->state == SLOT_GONE) ? s : NULL;
}

struct slot *slot_of_handle(struct orr_spot *w, orr_inst i, const char *what)
{
	const struct slot *s = find(w, i);
	if (s && is_live(s))
		return &w->slot[s - w->slot];
	if (!i)
		spot_fail(w, ORR_EFAIL, NULL, "%s: the handle is 0: expected an instance", what);
	else if (s)
		spot_fail(w, ORR_EFAIL, s, "%s: the instance has ended: expected a live instance", what);
	else
		spot_fail(w, ORR_EFAIL, NULL, "%s: the instance has ended or never existed: expected a live instance", what);
	return NULL;
}

/* ---- roles and prices ---- */

void spot_inst_set_role(struct orr_spot *w, struct slot *s, enum role role)
{
	if (s->role == role)
		return;
	w->count[s->role]--;
	w->rate[s->role] -= s->price;
	spot_parts_inst_role(w, (uint32_t)(s - w->slot), role);
	s->role = (uint8_t)role;
	w->count[role]++;
	w->rate[role] += s->price;
}

/* Adds the cost up to now at the current price. */
static void settle(struct orr_spot *w, struct slot *s)
{
	s->paid += (timeline_sum)s->price * (uint64_t)(w->now - s->paid_until);
	s->paid_until = w->now;
}

void spot_inst_set_price(struct orr_spot *w, struct slot *s, int64_t price)
{
	settle(w, s);
	w->rate[s->role] += price - s->price;
	w->rate_all += price - s->price;
	s->price = price;
	if (w->rate_all > MAX_RATE)
		spot_fail(w, ORR_EFAIL, s,
			"the new price of this instance makes the total price too high: expected at most 1e9 USD per hour for all "
			"instances");
}

/* ---- beginning and end ---- */

/* Appends to w->order; removes the gaps when half of the entries are gaps. */
static void join(struct orr_spot *w, uint32_t slot)
{
	if (w->n_order == w->cap_order && w->n_order >= 2 * (w->live[0] + w->live[1])) {
		uint32_t n = 0;
		for (uint32_t i = 0; i < w->n_order; i++)
			if (w->order[i]) {
				live_slot(w, i)->at = n;
				w->order[n++] = w->order[i];
			}
		w->n_order = n;
	}
	MEM_GROW(w->order, w->n_order, w->cap_order);
	w->slot[slot].at = w->n_order;
	w->order[w->n_order++] = slot_handle(w, slot);
}

static void leave(struct orr_spot *w, const struct slot *s)
{
	w->order[s->at] = 0;
	while (w->n_order && !w->order[w->n_order - 1])
		w->n_order--;
}

/* Instances of one kind become ready in the order in which they were taken: one queue for spot, one for on-demand. */
static void enqueue(struct orr_spot *w, bool is_on_demand, uint32_t slot)
{
	struct ready_queue *q = &w->ready[is_on_demand];
	if (q->n == q->cap && q->first > q->n / 2) {
		memmove(q->inst, q->inst + q->first, (q->n - q->first) * sizeof *q->inst);
		q->n -= q->first;
		q->first = 0;
	}
	MEM_GROW(q->inst, q->n, q->cap);
	q->inst[q->n++] = slot_handle(w, slot);
}

/* Returns the ready time of the first instance in the queue; skips instances that have ended. */
static int64_t next_ready(struct orr_spot *w, struct ready_queue *q)
{
	for (; q->first < q->n; q->first++) {
		const struct slot *s = &w->slot[orr_inst_slot(q->inst[q->first])];
		if (s->generation == (uint32_t)(q->inst[q->first] >> 32) && s->state == SLOT_STARTING)
			return s->ready;
	}
	q->first = q->n = 0;
	return ORR_NEVER;
}

static void plan_ready(struct orr_spot *w)
{
	int64_t a = next_ready(w, &w->ready[0]), b = next_ready(w, &w->ready[1]);
	w->ready_at = a < b ? a : b;
}

uint32_t spot_inst_get_ready(struct orr_spot *w)
{
	struct ready_queue *q = &w->ready[next_ready(w, &w->ready[0]) > w->now];
	uint32_t slot = orr_inst_slot(q->inst[q->first++]);
	w->has_happened = true;
	w->quiet = 0;
	w->slot[slot].state = SLOT_READY;
	spot_parts_event(w, slot, ORR_INST_READY);
	plan_ready(w);
	spot_inst_set_role(w, &w->slot[slot], ROLE_IDLE);
	return slot;
}

/* Fails the run at the limits of memory and of sums, and if a policy takes instances endlessly at one instant. */
static void check_limits(struct orr_spot *w, const struct slot *s)
{
	if (w->live[0] + w->live[1] > MAX_LIVE)
		spot_fail(w, ORR_EFAIL, NULL, "too many live instances: expected at most %d", MAX_LIVE);
	else if (w->rate_all > MAX_RATE)
		spot_fail(w, ORR_EFAIL, s,
			"the price of this instance makes the total price too high: expected at most 1e9 USD per hour for all instances");
	else if (++w->taken_now > spot_most_now(w))
		spot_fail(w, ORR_EFAIL, s,
			"instances are released and taken again endlessly at this instant: expected at most spot.max_calls_per_instant "
			"instances taken");
}

void spot_inst_begin(struct orr_spot *w, uint32_t slot)
{
	struct slot *s = &w->slot[slot];
	w->quiet = 0;
	s->state = SLOT_STARTING;
	s->role = ROLE_STARTING;
	s->number = w->n_taken++;
	s->since = s->paid_until = w->now;
	s->ready = w->now + w->startup[s->is_on_demand];
	s->paid = 0;
	s->mark = 0;
	s->held_lo = s->held_hi = 0;
	s->has_notice = false;
	spot_parts_inst_begin(w, slot);
	w->count[ROLE_STARTING]++;
	w->rate[ROLE_STARTING] += s->price;
	w->rate_all += s->price;
	w->live[s->is_on_demand]++;
	if (!s->is_on_demand)
		w->zone[s->zone].live++;
	join(w, slot);
	enqueue(w, s->is_on_demand, slot);
	if (s->ready < w->ready_at)
		w->ready_at = s->ready;
	MEM_GROW(w->added, w->n_added, w->cap_added);
	w->added[w->n_added++] = slot_handle(w, slot);
	check_limits(w, s);
}

void spot_inst_end(struct orr_spot *w, uint32_t slot)
{
	struct slot *s = &w->slot[slot];
	w->quiet = 0;
	settle(w, s);
	accounts_round_up(w, s);
	spot_parts_inst_end(w, slot);
	ledger_add(&w->ended, (uint64_t)(w->now - s->since), s->paid);
	w->count[s->role]--;
	w->rate[s->role] -= s->price;
	w->rate_all -= s->price;
	w->live[s->is_on_demand]--;
	if (!s->is_on_demand)
		w->zone[s->zone].live--;
	leave(w, s);
	bool was_starting = s->state == SLOT_STARTING;
	s->state = SLOT_GONE;
	if (was_starting)
		plan_ready(w);
}

void instances_free(struct orr_spot *w)
{
	mem_free(w->slot);
	mem_free(w->free_slot);
	mem_free(w->added);
	mem_free(w->order);
	mem_free(w->ready[0].inst);
	mem_free(w->ready[1].inst);
}

/* ---- queries of policies ---- */

/* Like find(). A handle that no instance ever had ends the run. */
static const struct slot *asked(const struct orr_spot *w, orr_inst i)
{
	const struct slot *s = find(w, i);
	if (i && !s && orr_inst_slot(i) >= w->n_slots)
		spot_fail((struct orr_spot *)(uintptr_t)w, ORR_EFAIL, NULL,
			"no instance ever had the handle %llx: expected a handle that the world gave", (unsigned long long)i);
	return s;
}

bool orr_inst_get(const struct orr_spot *w, orr_inst i, struct orr_inst_info *out)
{
	const struct slot *s = asked(w, i);
	memset(out, 0, sizeof *out);
	if (!s)
		return false;
	*out = (struct orr_inst_info){ .number = s->number,
		.is_ready = s->state == SLOT_READY,
		.is_on_demand = s->is_on_demand,
		.zone = s->zone,
		.type = s->type,
		.since_ns = s->since,
		.ready_ns = s->ready,
		.goes_ns = s->has_notice ? s->goes : ORR_NEVER,
		.usd_per_hour = (double)s->price / 1e9,
		.stages = s->stages };
	return true;
}

const char *orr_inst_name(const struct orr_spot *w, orr_inst i, char *buf, size_t size)
{
	char text[AVAIL_NAME_MAX];
	const struct slot *s = asked(w, i);
	snprintf(buf, size, "%s", s ? slot_name(w, s, text) : "none");
	return buf;
}

bool orr_inst_is_live(const struct orr_spot *w, orr_inst i)
{
	const struct slot *s = asked(w, i);
	return s && is_live(s);
}

bool orr_inst_is_ready(const struct orr_spot *w, orr_inst i)
{
	const struct slot *s = asked(w, i);
	return s && s->state == SLOT_READY;
}

bool orr_inst_is_noticed(const struct orr_spot *w, orr_inst i)
{
	const struct slot *s = asked(w, i);
	if (s && s->has_notice)
		*w->use |= SPOT_USED_NOTICE;
	return s && s->has_notice;
}

uint32_t orr_inst_zone(const struct orr_spot *w, orr_inst i)
{
	const struct slot *s = asked(w, i);
	return s ? s->zone : 0;
}

uint32_t orr_inst_slots(const struct orr_spot *w)
{
	return w->n_slots;
}

orr_inst orr_inst_first(const struct orr_spot *w)
{
	uint32_t i = live_first(w);
	return i == NONE ? 0 : w->order[i];
}

orr_inst orr_inst_next(const struct orr_spot *w, orr_inst inst)
{
	const struct slot *s = asked(w, inst);
	uint32_t i = s && is_live(s) ? live_next(w, s->at) : NONE;
	return i == NONE ? 0 : w->order[i];
}

uint32_t orr_inst_ready_list(const struct orr_spot *w, orr_inst *out, uint32_t cap)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < w->n_order; i++) {
		orr_inst inst = w->order[i];
		if (!inst || w->slot[orr_inst_slot(inst)].state != SLOT_READY)
			continue;
		if (n < cap)
			out[n] = inst;
		n++;
	}
	return n;
}

uint32_t orr_inst_live(const struct orr_spot *w)
{
	return w->live[0] + w->live[1];
}

uint32_t orr_inst_ready(const struct orr_spot *w)
{
	return w->count[ROLE_IDLE] + w->count[ROLE_OWNER];
}

uint64_t orr_inst_mark(const struct orr_spot *w, orr_inst i)
{
	const struct slot *s = asked(w, i);
	return s ? s->mark : 0;
}

void orr_inst_set_mark(struct orr_spot *w, orr_inst i, uint64_t mark)
{
	const struct slot *s = asked(w, i);
	if (s)
		w->slot[s - w->slot].mark = mark;
}
