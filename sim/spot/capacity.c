/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Rows of the trace become offers, offers that are wanted become instances; prices.
 * An offer and the instance that it became share a slot; slot_of[] leads from the trace's number to it.
 */
#include "spot/world.h"

#include "base/mem.h"

#include <math.h>
#include <string.h>

int64_t spot_money(double usd_per_hour)
{
	return llrint(usd_per_hour * 1e9);
}

/* ---- zones and types ---- */

static uint32_t number_of_text(uint32_t **map, uint32_t *cap, uint32_t text, uint32_t *n)
{
	if (text >= *cap) {
		uint32_t more = text + 16;
		*map = mem_realloc(*map, more, sizeof **map);
		memset(*map + *cap, 0, (more - *cap) * sizeof **map);
		*cap = more;
	}
	if (!(*map)[text])
		(*map)[text] = ++*n;
	return (*map)[text] - 1;
}

uint32_t spot_capacity_zone(struct orr_spot *w, uint32_t text)
{
	uint32_t n = w->n_zones, zone = number_of_text(&w->zone_of_text, &w->cap_zone_of_text, text, &n);
	if (n == w->n_zones)
		return zone;
	/* A zone that was not announced: of a price series, or of rows without a zone among others. */
	w->zone = mem_realloc(w->zone, n, sizeof *w->zone);
	w->zone[zone] = (struct zone){
		.name = strtab_text(availset_strings(w->config->capacity), text), .text = text, .first = NONE, .last = NONE
	};
	w->market = mem_realloc(w->market, (size_t)n * w->n_types, sizeof *w->market);
	for (uint32_t t = 0; t < w->n_types; t++)
		w->market[(size_t)zone * w->n_types + t].price = w->default_price;
	w->n_zones = n;
	return zone;
}

static uint32_t capacity_type(struct orr_spot *w, uint32_t text)
{
	uint32_t n = w->n_types, type = number_of_text(&w->type_of_text, &w->cap_type_of_text, text, &n);
	if (n == w->n_types)
		return type;
	struct market *m = mem_alloc((size_t)n * w->n_zones * sizeof *m);
	for (uint32_t z = 0; z < w->n_zones; z++)
		for (uint32_t t = 0; t < n; t++)
			/* The new type costs what was said of all types in its zone: that of type 0. */
			m[(size_t)z * n + t] = w->market[(size_t)z * w->n_types + (t < w->n_types ? t : 0)];
	mem_free(w->market);
	w->market = m;
	w->n_types = n;
	return type;
}

static int64_t price_of(const struct orr_spot *w, const struct slot *s)
{
	return s->offer_price >= 0 ? s->offer_price : w->market[(size_t)s->zone * w->n_types + s->type].price;
}

/* ---- lists of offers ---- */

static void offer(struct orr_spot *w, uint32_t slot)
{
	struct slot *s = &w->slot[slot];
	struct zone *z = &w->zone[s->zone];
	s->state = SLOT_OFFER;
	s->prev = z->last;
	s->next = NONE;
	if (z->last != NONE)
		w->slot[z->last].next = slot;
	else
		z->first = slot;
	z->last = slot;
	z->n_offers++;
}

static void withdraw(struct orr_spot *w, uint32_t slot)
{
	struct slot *s = &w->slot[slot];
	struct zone *z = &w->zone[s->zone];
	if (s->prev != NONE)
		w->slot[s->prev].next = s->next;
	else
		z->first = s->next;
	if (s->next != NONE)
		w->slot[s->next].prev = s->prev;
	else
		z->last = s->prev;
	s->prev = s->next = NONE;
	z->n_offers--;
}

static void take(struct orr_spot *w, uint32_t slot)
{
	struct slot *s = &w->slot[slot];
	withdraw(w, slot);
	s->price = price_of(w, s);
	spot_inst_begin(w, slot);
}

/* ---- what is wanted ---- */

static bool has_quota(const struct orr_spot *w)
{
	return w->live[0] < w->quota[0];
}

static uint32_t take_some(struct orr_spot *w, uint32_t zone, uint32_t n)
{
	uint32_t got = 0;
	while (got < n && w->zone[zone].first != NONE && has_quota(w) && !w->is_over) {
		take(w, w->zone[zone].first);
		got++;
	}
	return got;
}

void spot_capacity_fill(struct orr_spot *w)
{
	for (uint32_t z = 0; z < w->n_zones; z++) {
		const struct zone *x = &w->zone[z];
		if (x->n_offers && x->want > x->live)
			take_some(w, z, x->want - x->live);
		if (x->n_offers && w->want > w->live[0])
			take_some(w, z, w->want - w->live[0]);
	}
}

/* ---- rows ---- */

static uint32_t *slot_at(struct orr_spot *w, uint32_t instance)
{
	if (instance >= w->cap_slot_of) {
		uint32_t more = instance < 32 ? 64 : instance + instance / 2;
		w->slot_of = mem_realloc(w->slot_of, more, sizeof *w->slot_of);
		memset(w->slot_of + w->cap_slot_of, 0, (more - w->cap_slot_of) * sizeof *w->slot_of);
		w->cap_slot_of = more;
	}
	return &w->slot_of[instance];
}

static void notice(struct orr_spot *w, uint32_t slot, int64_t goes)
{
	struct slot *s = &w->slot[slot];
	s->goes = goes;
	if (s->state != SLOT_STARTING && s->state != SLOT_READY)
		return;
	s->is_noticed = true;
	w->has_happened = true;
	tell_instance(w, slot, ORR_INST_NOTICE);
	tell_added(w);
}

static void add_row(struct orr_spot *w, const struct avail_rec *r)
{
	uint32_t type = capacity_type(w, r->type), zone = spot_capacity_zone(w, r->zone), slot = spot_slot_new(w);
	struct slot *s = &w->slot[slot];
	s->zone = zone;
	s->type = w->zone[zone].type = type;
	s->instance = r->instance;
	s->node = r->node;
	s->offer_price = r->usd_per_hour >= 0 ? spot_money(r->usd_per_hour) : -1;
	*slot_at(w, r->instance) = slot + 1;
	offer(w, slot);
	/* Its end may have been read already. */
	for (size_t i = w->ahead_first; w->notice && i < w->ahead_n; i++)
		if (w->ahead[i].kind == AVAIL_REMOVE && w->ahead[i].instance == r->instance)
			s->goes = w->ahead[i].t_ns;
}

static void remove_row(struct orr_spot *w, const struct avail_rec *r)
{
	uint32_t slot = *slot_at(w, r->instance) - 1;
	struct slot *s = &w->slot[slot];
	*slot_at(w, r->instance) = 0;
	if (s->state == SLOT_OFFER) {
		withdraw(w, slot);
	} else {
		w->preemptions++;
		spot_inst_end(w, slot);
		tell_instance(w, slot, ORR_INST_GONE);
	}
	spot_slot_free(w, slot);
	tell_added(w); /* before they may go, at this very instant */
}

static void price_row(struct orr_spot *w, const struct avail_rec *r, const struct strtab *strings)
{
	const struct strtab *own = availset_strings(w->config->capacity);
	int64_t price = spot_money(r->usd_per_hour);
	for (uint32_t z = 0; z < w->n_zones; z++)
		for (uint32_t t = 0; t < w->n_types; t++) {
			uint32_t type_text = 0;
			for (uint32_t i = 0; i < w->cap_type_of_text; i++)
				if (w->type_of_text[i] == t + 1)
					type_text = i;
			if ((!r->zone || !strcmp(strtab_text(strings, r->zone), w->zone[z].name)) &&
				(!r->type || !strcmp(strtab_text(strings, r->type), strtab_text(own, type_text))))
				w->market[(size_t)z * w->n_types + t].price = price;
		}
	for (uint32_t i = live_first(w); i != NONE; i = live_next(w, i)) {
		struct slot *s = live_slot(w, i);
		if (!s->is_on_demand && s->offer_price < 0 && price_of(w, s) != s->price)
			spot_inst_set_price(w, s, price_of(w, s));
		if (w->is_over)
			return;
	}
}

/* Rows whose notice is due have been read; of this instant's, additions come first. */
static void apply(struct orr_spot *w)
{
	size_t from = w->ahead_first, to = from;
	while (to < w->ahead_n && w->ahead[to].t_ns <= w->now)
		to++;
	for (size_t i = from; i < to; i++)
		if (w->ahead[i].kind == AVAIL_PRICE)
			price_row(w, &w->ahead[i], availset_strings(w->config->capacity));
	for (size_t i = from; i < to; i++)
		if (w->ahead[i].kind == AVAIL_ADD)
			add_row(w, &w->ahead[i]);
	w->has_happened |= to > from;
	spot_capacity_fill(w);
	tell_added(w);
	for (size_t i = from; i < to && !w->is_over; i++) {
		if (w->ahead[i].kind == AVAIL_REMOVE)
			remove_row(w, &w->ahead[i]);
		/* Callbacks may not read further rows: the queue stays. */
		w->ahead_first = i + 1;
	}
	if (to == w->ahead_n) {
		to = w->ahead_n = 0;
	} else if (to > 256 && to > w->ahead_n / 2) {
		memmove(w->ahead, w->ahead + to, (w->ahead_n - to) * sizeof *w->ahead);
		w->ahead_n -= to;
		to = 0;
	}
	w->ahead_first = to;
	spot_capacity_fill(w); /* one that went leaves room for another that is offered */
	tell_added(w);
}

/* The commonest case, a row that is alone at its instant, needs no queue. False: there are more, and the queue has the first. */
static bool apply_one(struct orr_spot *w)
{
	struct avail_rec r = w->next_rec;
	w->has_next = availcursor_next(w->cursor, &w->next_rec);
	if (r.kind == AVAIL_PRICE || (w->has_next && w->next_rec.t_ns <= w->now)) {
		MEM_GROW(w->ahead, w->ahead_n, w->ahead_cap);
		w->ahead[w->ahead_n++] = r;
		return false;
	}
	w->has_happened = true;
	if (r.kind == AVAIL_ADD)
		add_row(w, &r);
	else
		remove_row(w, &r);
	spot_capacity_fill(w);
	tell_added(w);
	return true;
}

static int64_t read_time(const struct orr_spot *w, const struct avail_rec *r)
{
	return r->t_ns - w->notice > w->now ? r->t_ns - w->notice : w->now;
}

static void read_rows(struct orr_spot *w)
{
	while (w->has_next && w->next_rec.t_ns - w->notice <= w->now) {
		struct avail_rec r = w->next_rec;
		MEM_GROW(w->ahead, w->ahead_n, w->ahead_cap);
		w->ahead[w->ahead_n++] = r;
		w->has_next = availcursor_next(w->cursor, &w->next_rec);
		uint32_t slot = r.kind == AVAIL_REMOVE && w->notice && r.t_ns > w->now ? *slot_at(w, r.instance) : 0;
		if (slot)
			notice(w, slot - 1, r.t_ns);
	}
}

/* The next instant at which a row is to be read or applied. */
static void plan_rows(struct orr_spot *w)
{
	int64_t t = w->has_next ? read_time(w, &w->next_rec) : ORR_NEVER;
	if (w->ahead_first < w->ahead_n && w->ahead[w->ahead_first].t_ns < t)
		t = w->ahead[w->ahead_first].t_ns;
	w->rows_at = t;
}

/* A price series of its own. */
static void series(struct orr_spot *w)
{
	while (w->has_price && w->next_price.t_ns <= w->now) {
		if (w->next_price.kind == AVAIL_PRICE)
			price_row(w, &w->next_price, availset_strings(w->config->prices));
		w->has_price = availcursor_next(w->price_cursor, &w->next_price);
		w->has_happened = true;
	}
	w->prices_at = w->has_price ? w->next_price.t_ns : ORR_NEVER;
}

void spot_capacity_instant(struct orr_spot *w)
{
	if (w->prices_at <= w->now)
		series(w);
	if (w->rows_at > w->now)
		return;
	if (w->notice || w->ahead_first < w->ahead_n || !apply_one(w)) {
		read_rows(w);
		apply(w);
	}
	plan_rows(w);
}

/* ---- begin and end ---- */

static void announce_zones(struct orr_spot *w)
{
	uint32_t n;
	const uint32_t *text = availset_zones(w->config->capacity, &n);
	w->n_types = 1;
	w->type_of_text = mem_zalloc(16, sizeof *w->type_of_text);
	w->cap_type_of_text = 16;
	w->type_of_text[0] = 1;
	for (uint32_t i = 0; i < n; i++)
		spot_capacity_zone(w, text[i]);
	if (!n)
		spot_capacity_zone(w, 0);
}

/* A price is said of a type before the first instance of that type comes. Generators make none that has a type. */
static void announce_types(struct orr_spot *w)
{
	const struct availset *set = w->config->capacity;
	if (!availset_is_loaded(set) || !(w->config->prices || availset_has_prices(set)))
		return;
	for (uint64_t i = 0; i < availset_count(set); i++) {
		const struct avail_rec *r = availset_at(set, i);
		if (r->kind != AVAIL_ADD || !r->type)
			continue;
		uint32_t type = capacity_type(w, r->type);
		struct zone *z = &w->zone[spot_capacity_zone(w, r->zone)];
		z->type = z->type ? z->type : type;
	}
}

int spot_capacity_begin(struct orr_spot *w)
{
	const struct spot_config *c = w->config;
	announce_zones(w);
	announce_types(w);
	w->cursor = availset_open(c->capacity, c->replication);
	w->has_next = availcursor_next(w->cursor, &w->next_rec);
	plan_rows(w);
	if (c->prices) {
		w->price_cursor = availset_open(c->prices, c->replication);
		w->has_price = availcursor_next(w->price_cursor, &w->next_price);
	}
	w->prices_at = w->has_price ? w->next_price.t_ns : ORR_NEVER;
	return ORR_OK;
}

void spot_capacity_free(struct orr_spot *w)
{
	if (w->cursor)
		availcursor_close(w->cursor);
	if (w->price_cursor)
		availcursor_close(w->price_cursor);
	mem_free(w->ahead);
	mem_free(w->slot_of);
	mem_free(w->zone);
	mem_free(w->zone_of_text);
	mem_free(w->market);
	mem_free(w->type_of_text);
}

/* ---- what policies do and ask ---- */

static bool check_zone(struct orr_spot *w, uint32_t zone, bool any, const char *what)
{
	if (zone < w->n_zones || (any && zone == ORR_ANY_ZONE))
		return true;
	spot_fail(w, ORR_EFAIL, NULL, "%s: no zone %u; there are %u", what, zone, w->n_zones);
	return false;
}

void orr_want(struct orr_spot *w, uint32_t zone, uint32_t n)
{
	if (!spot_may_act(w, "orr_want()") || !check_zone(w, zone, true, "orr_want()"))
		return;
	*(zone == ORR_ANY_ZONE ? &w->want : &w->zone[zone].want) = n;
	spot_capacity_fill(w);
}

uint32_t orr_request(struct orr_spot *w, uint32_t zone, uint32_t n)
{
	uint32_t got = 0;
	if (!spot_may_act(w, "orr_request()") || !check_zone(w, zone, true, "orr_request()"))
		return 0;
	if (zone != ORR_ANY_ZONE)
		got = take_some(w, zone, n);
	else
		for (uint32_t z = 0; z < w->n_zones && got < n; z++)
			got += take_some(w, z, n - got);
	w->refused += n - got;
	return got;
}

uint32_t orr_request_on_demand(struct orr_spot *w, uint32_t zone, uint32_t n)
{
	uint32_t got = 0;
	if (!spot_may_act(w, "orr_request_on_demand()") || !check_zone(w, zone, false, "orr_request_on_demand()"))
		return 0;
	for (; got < n && w->live[1] < w->quota[1] && !w->is_over; got++) {
		uint32_t slot = spot_slot_new(w);
		struct slot *s = &w->slot[slot];
		s->is_on_demand = true;
		s->zone = zone;
		s->instance = (uint32_t)w->n_on_demand++;
		s->price = w->on_demand_price;
		spot_inst_begin(w, slot);
	}
	w->refused += n - got;
	return got;
}

void orr_release(struct orr_spot *w, orr_inst i)
{
	struct slot *s = spot_may_act(w, "orr_release()") ? slot_of_handle(w, i, "orr_release()") : NULL;
	if (!s)
		return;
	uint32_t slot = orr_inst_slot(i);
	spot_inst_end(w, slot);
	w->released++;
	if (s->is_on_demand) {
		spot_slot_free(w, slot);
		return;
	}
	/* The capacity is still there, for whoever asks. */
	s->generation++;
	s->is_noticed = false;
	offer(w, slot);
}

uint32_t orr_offers(const struct orr_spot *w, uint32_t zone)
{
	uint32_t n = 0;
	for (uint32_t z = 0; z < w->n_zones; z++)
		if (zone == ORR_ANY_ZONE || zone == z)
			n += w->zone[z].n_offers;
	return n;
}

uint32_t orr_zones(const struct orr_spot *w)
{
	return w->n_zones;
}

const char *orr_zone_name(const struct orr_spot *w, uint32_t zone)
{
	return zone < w->n_zones ? w->zone[zone].name : "";
}

double orr_spot_price(const struct orr_spot *w, uint32_t zone)
{
	return zone < w->n_zones ? (double)w->market[(size_t)zone * w->n_types + w->zone[zone].type].price / 1e9
				 : (double)w->default_price / 1e9;
}

double orr_on_demand_price(const struct orr_spot *w, uint32_t zone)
{
	(void)zone;
	return (double)w->on_demand_price / 1e9;
}
