/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The future, for policies that declare the oracle: a second pass over the trace, up to the time that the policy requests. */
#include "spot/world.h"

#include "base/mem.h"
#include "cluster/ledger.h"

struct event {
	int64_t t;
	uint32_t zone, instance;
	int32_t change;
};

/* An instance of the trace. */
struct life {
	int64_t end;   /* 0: unknown */
	int64_t price; /* own price; -1: the price of the market */
	uint32_t market;
};

struct future {
	struct availcursor *cursor;
	struct event *event;
	size_t n, cap, passed; /* passed: number of events before the present time */
	bool has_ended;
	int64_t last_price; /* spot.max_price: time of the last price row of the trace */
	struct life *life;  /* by instance */
	uint32_t cap_life;
};

static struct life *life_of(struct future *f, uint32_t instance)
{
	if (instance >= f->cap_life) {
		uint32_t more = instance + instance / 2 + 64;
		f->life = mem_realloc(f->life, more, sizeof *f->life);
		for (uint32_t i = f->cap_life; i < more; i++)
			f->life[i] = (struct life){ .price = -1 };
		f->cap_life = more;
	}
	return &f->life[instance];
}

static void note_row(struct orr_spot *w, const struct avail_rec *r, uint32_t zone)
{
	struct life *l = life_of(w->future, r->instance);
	if (r->kind == AVAIL_REMOVE) {
		l->end = r->t_ns ? r->t_ns : 1;
	} else if (w->max_price < INT64_MAX) {
		l->price = r->usd_per_hour >= 0 ? ledger_price(r->usd_per_hour) : -1;
		l->market = source_market(&w->source, zone, source_name(&w->source, SOURCE_INSTANCES, r->type), w->now);
	}
}

/* Returns the time of the last price row of the trace; -1: none. */
static int64_t last_price(const struct orr_spot *w)
{
	int64_t last = -1;
	struct avail_rec r;
	if (!availset_has_prices(w->config->capacity))
		return last;
	struct availcursor *c = availset_open(w->config->capacity, w->config->replication);
	while (availcursor_next(c, &r))
		if (r.kind == AVAIL_PRICE)
			last = r.t_ns;
	availcursor_close(c);
	return last;
}

/* Reads events up to and including t. Returns false if the policy may not see them. */
static bool read_to(struct orr_spot *w, int64_t t, const char *what)
{
	if (w->error.code)
		return false;
	if (!w->may_see) {
		spot_fail(w, ORR_EFAIL, NULL,
			"%s: this function reads the future: expected a policy that declares ORR_NEEDS_ORACLE or ORR_MAY_ORACLE", what);
		return false;
	}
	if (t > INT64_MAX / 2 && w->until == ORR_NEVER && !availset_has_end(w->config->capacity)) {
		spot_fail(w, ORR_EFAIL, NULL,
			"%s: this function reads the whole future, and the trace has no end: expected length=.. or --until", what);
		return false;
	}
	w->saw_future = true;
	if (!w->future) {
		w->future = mem_zalloc(1, sizeof *w->future);
		w->future->cursor = availset_open(w->config->capacity, w->config->replication);
		w->future->last_price = w->max_price < INT64_MAX ? last_price(w) : -1;
	}
	struct future *f = w->future;
	struct avail_rec r;
	while (!f->has_ended && (!f->n || f->event[f->n - 1].t <= t)) {
		if (!availcursor_next(f->cursor, &r) || r.t_ns >= w->until) {
			f->has_ended = true;
			break;
		}
		if (r.kind == AVAIL_PRICE)
			continue;
		MEM_GROW(f->event, f->n, f->cap);
		uint32_t name = source_name(&w->source, SOURCE_INSTANCES, r.zone);
		f->event[f->n++] = (struct event){ r.t_ns, spot_capacity_zone(w, name), r.instance, r.kind == AVAIL_ADD ? 1 : -1 };
		note_row(w, &r, name);
	}
	while (f->passed < f->n && f->event[f->passed].t <= w->now)
		f->passed++;
	return true;
}

static bool is_affordable(const struct orr_spot *w, uint32_t instance)
{
	const struct life *l = &w->future->life[instance];
	if (w->max_price == INT64_MAX || (l->price >= 0 ? l->price : w->source.market[l->market].price) <= w->max_price)
		return true;
	*w->use |= SPOT_USED_MAX_PRICE;
	return false;
}

/* With spot.max_price, a later price row may change which offers can be taken. */
static bool check_prices(struct orr_spot *w)
{
	if (w->max_price == INT64_MAX ||
		(w->prices_at >= w->until && (w->future->last_price <= w->now || w->future->last_price >= w->until)))
		return true;
	orr_spot_give_up(w, "orr_spot_future(): spot.max_price with prices that change: expected constant prices, or no spot.max_price");
	return false;
}

size_t orr_spot_future(struct orr_spot *w, int64_t until, struct orr_future *out, size_t cap)
{
	size_t n = 0;
	if (!read_to(w, until, "orr_spot_future()") || !check_prices(w))
		return 0;
	const struct future *f = w->future;
	for (size_t i = f->passed; i < f->n && f->event[i].t <= until; i++) {
		if (!is_affordable(w, f->event[i].instance))
			continue;
		if (n < cap)
			out[n] = (struct orr_future){ f->event[i].t, f->event[i].zone, f->event[i].change };
		n++;
	}
	return n;
}

static int64_t end_of(struct orr_spot *w, uint32_t instance)
{
	const struct future *f = w->future;
	/* Lifetimes have no bound, so reading continues until the end of the instance is found. */
	while (!(instance < f->cap_life && f->life[instance].end) && !f->has_ended) {
		int64_t t = f->n ? f->event[f->n - 1].t : 0;
		read_to(w, t, "orr_inst_true_end()");
	}
	return instance < f->cap_life && f->life[instance].end ? f->life[instance].end : ORR_NEVER;
}

int64_t orr_inst_true_end(struct orr_spot *w, orr_inst i)
{
	const struct slot *s = slot_of_handle(w, i, "orr_inst_true_end()");
	if (!s || !read_to(w, w->now, "orr_inst_true_end()"))
		return ORR_NEVER;
	return s->is_on_demand ? ORR_NEVER : end_of(w, s->instance);
}

int64_t orr_offer_true_end(struct orr_spot *w, uint32_t zone)
{
	if (!read_to(w, w->now, "orr_offer_true_end()"))
		return w->now;
	for (uint32_t z = 0; z < w->n_zones; z++) {
		uint32_t slot = zone == ORR_ANY_ZONE || zone == z ? spot_capacity_first(w, z) : NONE;
		if (slot != NONE)
			return end_of(w, w->slot[slot].instance);
	}
	return w->now;
}

void future_free(struct orr_spot *w)
{
	struct future *f = w->future;
	if (!f)
		return;
	availcursor_close(f->cursor);
	mem_free(f->event);
	mem_free(f->life);
	mem_free(f);
}
