/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Turns rows of the source into offers and prices, and requested offers into instances. w->slot_of[] maps the instance
 * number of the trace to the slot of its offer or instance.
 */
#include "spot/spot_parts.h"

#include "base/mem.h"

#include <math.h>
#include <string.h>

/* ---- zones and types ---- */

static uint32_t number_of_name(uint32_t **map, uint32_t *cap, uint32_t name, uint32_t *n)
{
	if (name >= *cap) {
		uint32_t more = name + 16;
		*map = mem_realloc(*map, more, sizeof **map);
		memset(*map + *cap, 0, (more - *cap) * sizeof **map);
		*cap = more;
	}
	if (!(*map)[name])
		(*map)[name] = ++*n;
	return (*map)[name] - 1;
}

uint32_t spot_capacity_zone(struct orr_spot *w, uint32_t name)
{
	uint32_t n = w->n_zones, zone = number_of_name(&w->zone_of_name, &w->cap_zone_of_name, name, &n);
	if (n == w->n_zones)
		return zone;
	/* Adds a zone that the source did not declare: some rows have no zone although others have one. */
	w->zone = mem_realloc(w->zone, n, sizeof *w->zone);
	w->zone[zone] = (struct zone){ .name = strtab_text(w->source.names, name),
		.first = NONE,
		.last = NONE,
		.market = source_market(&w->source, name, 0, w->now) };
	w->n_zones = n;
	return zone;
}

static uint32_t capacity_type(struct orr_spot *w, uint32_t name)
{
	uint32_t n = w->n_types, type = number_of_name(&w->type_of_name, &w->cap_type_of_name, name, &w->n_types);
	if (w->n_types > n) {
		double speed = speeds_of(&w->speeds, strtab_text(w->source.names, name));
		w->speed_of_type = mem_realloc(w->speed_of_type, w->n_types, sizeof *w->speed_of_type);
		w->speed_of_type[type] = isnan(speed) ? 1 : speed;
	}
	return type;
}

static int64_t price_of(const struct orr_spot *w, const struct slot *s)
{
	return s->offer_price >= 0 ? s->offer_price : w->source.market[s->market].price;
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
	if (s->offer_price < 0)
		*w->use |= s->price == w->source.default_price ? SPOT_USED_PRICE : SPOT_USED_PRICES;
	spot_inst_begin(w, slot);
}

/* ---- requests ---- */

static bool has_quota(const struct orr_spot *w)
{
	return w->live[0] < w->quota[0];
}

/* Returns the offer, or the next offer after it that spot.max_price allows. */
static uint32_t affordable(const struct orr_spot *w, uint32_t slot)
{
	while (slot != NONE && price_of(w, &w->slot[slot]) > w->max_price) {
		*w->use |= SPOT_USED_MAX_PRICE;
		slot = w->slot[slot].next;
	}
	return slot;
}

uint32_t spot_capacity_first(const struct orr_spot *w, uint32_t zone)
{
	return affordable(w, w->zone[zone].first);
}

static uint32_t take_some(struct orr_spot *w, uint32_t zone, uint32_t n)
{
	uint32_t got = 0, slot = spot_capacity_first(w, zone);
	while (got < n && slot != NONE && has_quota(w) && !w->is_over) {
		uint32_t next = w->slot[slot].next;
		take(w, slot);
		got++;
		slot = affordable(w, next);
	}
	if (got < n && slot != NONE)
		*w->use |= SPOT_USED_QUOTA;
	return got;
}

static void fill(struct orr_spot *w)
{
	for (uint32_t z = 0; z < w->n_zones; z++) {
		const struct zone *x = &w->zone[z];
		if (x->n_offers && x->want > x->live)
			take_some(w, z, x->want - x->live);
		if (x->n_offers && w->want > w->live[0])
			take_some(w, z, w->want - w->live[0]);
		if (x->n_offers && !w->is_own_want && w->want <= w->live[0] && has_quota(w))
			*w->use |= SPOT_USED_TARGET;
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
	s->has_notice = true;
	spot_parts_event(w, slot, ORR_INST_NOTICE);
	w->has_happened = true;
	tell_instance(w, slot, ORR_INST_NOTICE);
	tell_added(w);
}

static void add_row(struct orr_spot *w, const struct avail_rec *r)
{
	uint32_t type = capacity_type(w, r->type), zone = spot_capacity_zone(w, r->zone), slot = spot_slot_new(w);
	struct slot *s = &w->slot[slot];
	s->zone = zone;
	s->type = type;
	s->market = w->zone[zone].market = source_market(&w->source, r->zone, r->type, w->now);
	s->instance = r->instance;
	s->node = r->node;
	s->offer_price = r->usd_per_hour >= 0 ? ledger_price(r->usd_per_hour) : -1;
	*slot_at(w, r->instance) = slot + 1;
	offer(w, slot);
	/* The end of the instance may be known already. */
	const struct source_rows *rows = &w->source.rows[SOURCE_INSTANCES];
	for (size_t i = rows->first; w->notice && i < rows->n; i++)
		if (rows->ahead[i].kind == AVAIL_REMOVE && rows->ahead[i].instance == r->instance)
			s->goes = rows->ahead[i].t_ns;
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
		spot_parts_event(w, slot, ORR_INST_GONE);
		layout_forget(w, slot);
		spot_inst_end(w, slot);
		tell_instance(w, slot, ORR_INST_GONE);
	}
	spot_slot_free(w, slot);
	tell_added(w); /* reports a taken instance before the next removal of this instant is applied */
}

static void price_row(struct orr_spot *w, const struct avail_rec *r)
{
	source_price(&w->source, r, w->now, NULL, NULL);
	for (uint32_t i = live_first(w); i != NONE; i = live_next(w, i)) {
		struct slot *s = live_slot(w, i);
		if (!s->is_on_demand && s->offer_price < 0 && price_of(w, s) != s->price)
			spot_inst_set_price(w, s, price_of(w, s));
		if (w->is_over)
			return;
	}
}

/* Applies the rows read for this instant: prices, then additions, then removals. */
static void apply(struct orr_spot *w)
{
	struct source_rows *rows = &w->source.rows[SOURCE_INSTANCES];
	size_t from = rows->first, to = from;
	while (to < rows->n && rows->ahead[to].t_ns <= w->now)
		to++;
	for (size_t i = from; i < to; i++)
		if (rows->ahead[i].kind == AVAIL_PRICE)
			price_row(w, &rows->ahead[i]);
	for (size_t i = from; i < to; i++)
		if (rows->ahead[i].kind == AVAIL_ADD)
			add_row(w, &rows->ahead[i]);
	w->has_happened |= to > from;
	fill(w);
	tell_added(w);
	for (size_t i = from; i < to && !w->is_over; i++)
		if (rows->ahead[i].kind == AVAIL_REMOVE)
			remove_row(w, &rows->ahead[i]);
	rows->first = to;
	fill(w); /* the removal makes room for another offer */
	tell_added(w);
}

/*
 * Applies the row of an instant with a single row, the most frequent case. Returns false, without applying the row, if the
 * instant has more rows.
 */
static bool apply_one(struct orr_spot *w)
{
	struct avail_rec r;
	source_pass(&w->source, SOURCE_INSTANCES, &r);
	if (r.kind == AVAIL_PRICE || source_next_ns(&w->source, SOURCE_INSTANCES) <= w->now) {
		source_put_back(&w->source, SOURCE_INSTANCES, &r);
		return false;
	}
	w->has_happened = true;
	if (r.kind == AVAIL_ADD)
		add_row(w, &r);
	else
		remove_row(w, &r);
	fill(w);
	tell_added(w);
	return true;
}

static void read_rows(struct orr_spot *w)
{
	int64_t t;
	while ((t = source_next_ns(&w->source, SOURCE_INSTANCES)) < ORR_NEVER && t - w->notice <= w->now) {
		const struct avail_rec *r = source_read(&w->source, SOURCE_INSTANCES);
		uint32_t slot = r->kind == AVAIL_REMOVE && w->notice && t > w->now ? *slot_at(w, r->instance) : 0;
		if (slot)
			notice(w, slot - 1, t);
	}
}

/* Computes the next instant at which a row is to be read or taken. */
static void plan_rows(struct orr_spot *w)
{
	int64_t next = source_next_ns(&w->source, SOURCE_INSTANCES), due = source_due_ns(&w->source, SOURCE_INSTANCES);
	int64_t known = next == ORR_NEVER ? ORR_NEVER : next - w->notice > w->now ? next - w->notice : w->now;
	w->rows_at = due < known ? due : known;
}

/* Adds the rows of the price series. */
static void series(struct orr_spot *w)
{
	while ((w->prices_at = source_next_ns(&w->source, SOURCE_PRICES)) <= w->now) {
		struct avail_rec r;
		source_pass(&w->source, SOURCE_PRICES, &r);
		if (r.kind == AVAIL_PRICE)
			price_row(w, &r);
		w->has_happened = true;
	}
	if (w->max_price < INT64_MAX) { /* an offer may now be below the price limit */
		fill(w);
		tell_added(w);
	}
}

void spot_capacity_instant(struct orr_spot *w)
{
	if (w->prices_at <= w->now)
		series(w);
	if (w->rows_at > w->now)
		return;
	if (w->notice || source_due_ns(&w->source, SOURCE_INSTANCES) < ORR_NEVER || !apply_one(w)) {
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
	capacity_type(w, 0);
	for (uint32_t i = 0; i < n; i++)
		spot_capacity_zone(w, source_name(&w->source, SOURCE_INSTANCES, text[i]));
	if (!n)
		spot_capacity_zone(w, 0);
}

/* Price rows may name a type before its first instance is added. Generators have no types. */
static void announce_types(struct orr_spot *w)
{
	const struct availset *set = w->config->capacity;
	if (!availset_is_loaded(set) || !(w->config->prices || availset_has_prices(set)))
		return;
	for (uint64_t i = 0; i < availset_count(set); i++) {
		const struct avail_rec *r = availset_at(set, i);
		if (r->kind != AVAIL_ADD || !r->type)
			continue;
		uint32_t name = source_name(&w->source, SOURCE_INSTANCES, r->zone),
			 type = source_name(&w->source, SOURCE_INSTANCES, r->type);
		uint32_t zone = spot_capacity_zone(w, name); /* may move w->zone */
		struct zone *z = &w->zone[zone];
		capacity_type(w, type);
		if (!w->source.market[z->market].type)
			z->market = source_market(&w->source, name, type, w->now);
	}
}

void spot_capacity_begin(struct orr_spot *w)
{
	const struct spot_config *c = w->config;
	source_open(&w->source, &(struct source_config){ .set = c->capacity,
					.prices = c->prices,
					.replication = c->replication,
					.usd_per_hour = orr_arg_real(c->options, "price") });
	announce_zones(w);
	announce_types(w);
	plan_rows(w);
	w->prices_at = source_next_ns(&w->source, SOURCE_PRICES);
}

void spot_capacity_free(struct orr_spot *w)
{
	source_close(&w->source);
	mem_free(w->slot_of);
	mem_free(w->zone);
	mem_free(w->zone_of_name);
	mem_free(w->type_of_name);
	mem_free(w->speed_of_type);
}

/* ---- calls of policies ---- */

static bool check_zone(struct orr_spot *w, uint32_t zone, bool any, const char *what)
{
	if (zone < w->n_zones || (any && zone == ORR_ANY_ZONE))
		return true;
	spot_fail(w, ORR_EFAIL, NULL, "%s: zone %u: expected less than %u", what, zone, w->n_zones);
	return false;
}

void orr_want(struct orr_spot *w, uint32_t zone, uint32_t n)
{
	if (!spot_may_act(w, "orr_want()") || !check_zone(w, zone, true, "orr_want()"))
		return;
	w->is_own_want |= zone == ORR_ANY_ZONE;
	*(zone == ORR_ANY_ZONE ? &w->want : &w->zone[zone].want) = n;
	fill(w);
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
	if (n > w->quota[1] - w->live[1])
		*w->use |= SPOT_USED_ON_DEMAND_QUOTA;
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
	layout_forget(w, slot);
	spot_inst_end(w, slot);
	if (s->is_on_demand) {
		spot_slot_free(w, slot);
		return;
	}
	/* The released instance becomes an offer again. */
	s->generation++;
	s->has_notice = false;
	offer(w, slot);
}

uint32_t orr_offers(const struct orr_spot *w, uint32_t zone)
{
	uint32_t n = 0;
	for (uint32_t z = 0; z < w->n_zones; z++) {
		if (zone != ORR_ANY_ZONE && zone != z)
			continue;
		if (w->max_price == INT64_MAX)
			n += w->zone[z].n_offers;
		else
			for (uint32_t i = spot_capacity_first(w, z); i != NONE; i = affordable(w, w->slot[i].next))
				n++;
	}
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
	if (zone >= w->n_zones)
		return (double)w->source.default_price / 1e9;
	const struct zone *z = &w->zone[zone];
	uint32_t slot = spot_capacity_first(w, zone);
	return (double)(slot != NONE ? price_of(w, &w->slot[slot]) : w->source.market[z->market].price) / 1e9;
}

double orr_on_demand_price(const struct orr_spot *w, uint32_t zone)
{
	(void)zone;
	return (double)w->on_demand_price / 1e9;
}
