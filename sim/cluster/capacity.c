/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cluster/capacity.h"

#include "base/bitset.h"
#include "base/mem.h"
#include "cluster/capacity_rows.h"
#include "cluster/lent.h"
#include "engine/engine.h"

#include <math.h>
#include <string.h>

enum { NONE = UINT32_MAX };

/* Who pays the same: instances of a zone and type whose rows name no price. Names are numbers in capacity.names. */
struct market {
	uint32_t zone, type;
	int64_t price, since;
	timeline_sum before; /* amount up to `since` of an instance that has been there from 0 on */
	uint32_t taken, starting;
};

/* The last price row of a zone and type. */
struct quote {
	uint32_t zone, type;
	int64_t price;
	uint64_t order;
};

struct place {
	bool is_taken, is_up;
	uint32_t market;
	int64_t own_price; /* -1: the market's */
	int64_t goes_ns;
	struct eng_event start;
};

/* One of the two sources of rows: read one row further than what is known, and what is known and has not happened yet. */
struct rows {
	struct capacity_rows source;
	struct avail_rec next, *ahead;
	size_t first, n, cap;
};

struct capacity {
	const struct capacity_config *config;
	const struct cluster *cluster;
	struct capacity_host host;
	struct rows rows[2]; /* the set's, the prices' */
	uint64_t pending;
	struct strtab *names; /* of zones and types of both */
	struct lent lent;
	struct place *place;
	struct bitset free, *free_of; /* [type] */
	struct market *market;
	uint32_t n_markets, cap_markets;
	struct quote *quote;
	uint32_t n_quotes, cap_quotes;
	uint64_t quotes;
	int64_t default_price;
	/* the bill, up to settled_ns */
	struct capacity_bill bill;
	int64_t settled_ns;
	uint64_t price_of_all, price_of_starting;
	uint32_t starting;
};

static int64_t now_of(const struct capacity *c)
{
	return eng_now(c->host.engine);
}

static void tell(struct capacity *c, uint32_t node, enum capacity_event what)
{
	c->host.tell(c->host.ctx, node, what);
}

static int64_t nano(double usd)
{
	return llrint(usd * 1e9);
}

/* ---- the bill ---- */

static void settle(struct capacity *c)
{
	timeline_sum dt = (timeline_sum)(now_of(c) - c->settled_ns);
	if (!dt)
		return;
	c->bill.node_ns += dt * c->bill.taken;
	c->bill.amount += dt * c->price_of_all;
	c->bill.starting_ns += dt * c->starting;
	c->bill.starting_amount += dt * c->price_of_starting;
	c->settled_ns = now_of(c);
}

static int64_t price_of(const struct capacity *c, const struct place *p)
{
	return p->own_price >= 0 ? p->own_price : c->market[p->market].price;
}

static void count_taken(struct capacity *c, const struct place *p, bool is_more)
{
	uint64_t price = (uint64_t)price_of(c, p);
	settle(c);
	c->bill.taken += is_more ? 1 : NONE;
	c->price_of_all += is_more ? price : -price;
	if (p->own_price < 0)
		c->market[p->market].taken += is_more ? 1 : NONE;
}

static void count_starting(struct capacity *c, const struct place *p, bool is_more)
{
	uint64_t price = (uint64_t)price_of(c, p);
	settle(c);
	c->starting += is_more ? 1 : NONE;
	c->price_of_starting += is_more ? price : -price;
	if (p->own_price < 0)
		c->market[p->market].starting += is_more ? 1 : NONE;
}

/* ---- prices ---- */

static uint32_t market_of(struct capacity *c, uint32_t zone, uint32_t type)
{
	for (uint32_t i = 0; i < c->n_markets; i++)
		if (c->market[i].zone == zone && c->market[i].type == type)
			return i;
	const struct quote *last = NULL;
	for (uint32_t i = 0; i < c->n_quotes; i++) {
		const struct quote *q = &c->quote[i];
		if ((!q->zone || q->zone == zone) && (!q->type || q->type == type) && (!last || q->order > last->order))
			last = q;
	}
	MEM_GROW(c->market, c->n_markets, c->cap_markets);
	c->market[c->n_markets] =
		(struct market){ .zone = zone, .type = type, .price = last ? last->price : c->default_price, .since = now_of(c) };
	return c->n_markets++;
}

static bool reprice(struct capacity *c, struct market *m, int64_t price)
{
	int64_t now = now_of(c);
	uint64_t more = (uint64_t)price - (uint64_t)m->price;
	settle(c);
	m->before += (timeline_sum)(uint64_t)m->price * (uint64_t)(now - m->since);
	m->since = now;
	m->price = price;
	c->price_of_all += more * m->taken;
	c->price_of_starting += more * m->starting;
	return more && m->taken > m->starting;
}

static void on_price(struct capacity *c, const struct avail_rec *r, uint32_t zone, uint32_t type)
{
	bool is_felt = false;
	uint32_t i = 0;
	while (i < c->n_quotes && (c->quote[i].zone != zone || c->quote[i].type != type))
		i++;
	if (i == c->n_quotes) {
		MEM_GROW(c->quote, c->n_quotes, c->cap_quotes);
		c->n_quotes++;
	}
	c->quote[i] = (struct quote){ zone, type, nano(r->usd_per_hour), ++c->quotes };
	for (uint32_t k = 0; k < c->n_markets; k++)
		if ((!zone || c->market[k].zone == zone) && (!type || c->market[k].type == type))
			is_felt |= reprice(c, &c->market[k], c->quote[i].price);
	if (is_felt)
		tell(c, 0, CAPACITY_PRICE);
}

double capacity_usd_per_hour(const struct capacity *c, uint32_t node)
{
	return c->place[node].is_taken ? (double)price_of(c, &c->place[node]) / 1e9 : NAN;
}

timeline_sum capacity_reading(const struct capacity *c, uint32_t node)
{
	const struct place *p = &c->place[node];
	int64_t now = now_of(c);
	if (p->own_price >= 0)
		return (timeline_sum)(uint64_t)p->own_price * (uint64_t)now;
	const struct market *m = &c->market[p->market];
	return m->before + (timeline_sum)(uint64_t)m->price * (uint64_t)(now - m->since);
}

double capacity_usd(timeline_sum amount)
{
	return (double)amount / 3.6e12 / 1e9;
}

/* ---- nodes ---- */

static void notice(struct capacity *c, uint32_t node, int64_t goes_ns)
{
	c->place[node].goes_ns = goes_ns;
	if (!c->place[node].is_up)
		return;
	c->bill.noticed++;
	tell(c, node, CAPACITY_NOTICE);
}

static void up(struct capacity *c, uint32_t node)
{
	struct place *p = &c->place[node];
	p->is_up = true;
	c->bill.up++;
	tell(c, node, CAPACITY_UP);
	if (p->goes_ns != ORR_NEVER)
		notice(c, node, p->goes_ns);
}

static void on_start(struct engine *e, void *ctx, uint64_t subject, uint64_t arg)
{
	(void)e, (void)arg;
	struct capacity *c = ctx;
	c->pending--;
	count_starting(c, &c->place[subject], false);
	up(c, (uint32_t)subject);
}

static uint32_t free_node(const struct capacity *c, uint32_t type)
{
	return bitset_next(type == NONE ? &c->free : &c->free_of[type], 0);
}

static void set_free(struct capacity *c, uint32_t node, bool is_free)
{
	struct bitset *of_type = &c->free_of[c->cluster->node[node].type];
	if (is_free) {
		bitset_add(&c->free, node);
		bitset_add(of_type, node);
	} else {
		bitset_remove(&c->free, node);
		bitset_remove(of_type, node);
	}
}

/* `what` has its node set from here on. */
static void take(struct capacity *c, struct lent_instance *what, uint32_t node)
{
	struct place *p = &c->place[node];
	what->node = node;
	set_free(c, node, false);
	*p = (struct place){
		.is_taken = true, .market = market_of(c, what->zone, what->type), .own_price = what->price, .goes_ns = what->goes_ns
	};
	count_taken(c, p, true);
	if (c->config->startup_ns <= 0) {
		up(c, node);
		return;
	}
	count_starting(c, p, true);
	c->pending++;
	p->start = eng_at(c->host.engine, now_of(c) + c->config->startup_ns, c->host.priority, on_start, c, node, 0);
}

static void leave(struct capacity *c, uint32_t node)
{
	struct place *p = &c->place[node];
	if (p->is_up) {
		c->bill.lost++;
		c->bill.up--;
		tell(c, node, CAPACITY_DOWN);
	} else {
		c->pending -= eng_cancel(c->host.engine, p->start);
		count_starting(c, p, false);
	}
	count_taken(c, p, false);
	*p = (struct place){ .goes_ns = ORR_NEVER };
	set_free(c, node, true);
	struct lent_instance *next = lent_next_waiting(&c->lent, c->cluster->node[node].type);
	if (next) {
		c->bill.unused--;
		take(c, next, node);
	}
}

/* ---- rows: each becomes known `notice` before it happens ---- */

static void on_add(struct capacity *c, const struct avail_rec *r, uint32_t zone, uint32_t type)
{
	const char *name = r->type ? strtab_text(availset_strings(c->config->set), r->type) : "";
	uint32_t gpu_type = *name ? cluster_type(c->cluster, name, strlen(name)) : NONE;
	struct lent_instance *x = lent_get(&c->lent, r->instance);
	*x = (struct lent_instance){ .number = r->instance,
		.is_there = true,
		.node = NONE,
		.zone = zone,
		.type = type,
		.gpu_type = gpu_type,
		.price = r->usd_per_hour >= 0 ? nano(r->usd_per_hour) : -1,
		.goes_ns = x->goes_ns };
	uint32_t node = free_node(c, gpu_type);
	c->bill.offered++;
	if (node != BITSET_END) {
		take(c, x, node);
		return;
	}
	c->bill.unused++;
	lent_wait(&c->lent, x);
}

static void on_remove(struct capacity *c, const struct avail_rec *r)
{
	struct lent_instance *x = lent_get(&c->lent, r->instance);
	uint32_t node = x->node;
	lent_drop(&c->lent, r->instance);
	if (node != NONE)
		leave(c, node);
}

static uint32_t name_of(struct capacity *c, const struct rows *rows, uint32_t text)
{
	return text ? strtab_add_z(c->names, strtab_text(availset_strings(rows->source.set), text)) : 0;
}

static void happen(struct capacity *c, const struct rows *rows, const struct avail_rec *r)
{
	uint32_t zone = name_of(c, rows, r->zone), type = name_of(c, rows, r->type);
	if (r->kind == AVAIL_PRICE)
		on_price(c, r, zone, type);
	else if (rows != &c->rows[0])
		return; /* of a set that is there for its prices */
	else if (r->kind == AVAIL_ADD)
		on_add(c, r, zone, type);
	else
		on_remove(c, r);
}

static void on_row(struct engine *e, void *ctx, uint64_t subject, uint64_t arg)
{
	(void)e, (void)arg;
	struct capacity *c = ctx;
	struct rows *rows = &c->rows[subject];
	struct avail_rec r = rows->ahead[rows->first++];
	c->pending--;
	happen(c, rows, &r);
}

static void warn(struct capacity *c, const struct avail_rec *r)
{
	struct lent_instance *x = lent_get(&c->lent, r->instance);
	x->goes_ns = r->t_ns;
	if (x->node != NONE)
		notice(c, x->node, r->t_ns);
}

static void keep(struct rows *rows)
{
	if (rows->first == rows->n || (rows->n == rows->cap && rows->first > rows->n / 2)) {
		rows->n -= rows->first;
		if (rows->n)
			memmove(rows->ahead, rows->ahead + rows->first, rows->n * sizeof *rows->ahead);
		rows->first = 0;
	}
	MEM_GROW(rows->ahead, rows->n, rows->cap);
	rows->ahead[rows->n++] = rows->next;
}

/* The next row. */
static void know(struct capacity *c, uint64_t source)
{
	struct rows *rows = &c->rows[source];
	if (rows->next.t_ns <= now_of(c)) {
		struct avail_rec r = rows->next;
		happen(c, rows, &r);
		return;
	}
	if (!source && rows->next.kind == AVAIL_REMOVE)
		warn(c, &rows->next);
	keep(rows);
	c->pending++;
	eng_at(c->host.engine, rows->next.t_ns, c->host.priority, on_row, c, source, 0);
}

static void on_known(struct engine *e, void *ctx, uint64_t subject, uint64_t arg);

/* Rows that are known now are seen to; the next one is an event. */
static void read_rows(struct capacity *c, uint64_t source)
{
	struct rows *rows = &c->rows[source];
	while (capacity_rows_next(&rows->source, &rows->next)) {
		int64_t known = rows->next.t_ns - c->config->notice_ns;
		if (known <= now_of(c)) {
			know(c, source);
			continue;
		}
		c->pending++;
		eng_at(c->host.engine, known, c->host.priority, on_known, c, source, 0);
		return;
	}
}

static void on_known(struct engine *e, void *ctx, uint64_t subject, uint64_t arg)
{
	(void)e, (void)arg;
	struct capacity *c = ctx;
	c->pending--;
	know(c, subject);
	read_rows(c, subject);
}

/* ---- all of it ---- */

void capacity_new(
	const struct capacity_config *config, const struct cluster *cluster, const struct capacity_host *host, struct capacity **out)
{
	struct capacity *c = *out = mem_zalloc(1, sizeof *c);
	c->config = config;
	c->cluster = cluster;
	c->host = *host;
	c->default_price = nano(config->usd_per_hour);
	c->place = mem_zalloc(cluster->n_nodes, sizeof *c->place);
	bitset_init(&c->free, cluster->n_nodes);
	c->free_of = mem_zalloc(cluster->n_types, sizeof *c->free_of);
	for (uint32_t t = 0; t < cluster->n_types; t++)
		bitset_init(&c->free_of[t], cluster->n_nodes);
	lent_init(&c->lent, cluster->n_types);
	for (uint32_t i = 0; i < cluster->n_nodes; i++) {
		c->place[i].goes_ns = ORR_NEVER;
		set_free(c, i, true);
	}
	c->names = strtab_new();
	capacity_rows_open(&c->rows[0].source, config->set, config->repeats);
	capacity_rows_open(&c->rows[1].source, config->prices, config->repeats);
	read_rows(c, 1); /* prices first */
	read_rows(c, 0);
}

void capacity_free(struct capacity *c)
{
	if (!c)
		return;
	for (int i = 0; i < 2; i++) {
		capacity_rows_close(&c->rows[i].source);
		mem_free(c->rows[i].ahead);
	}
	strtab_free(c->names);
	for (uint32_t t = 0; t < c->cluster->n_types; t++)
		bitset_free(&c->free_of[t]);
	bitset_free(&c->free);
	lent_free(&c->lent);
	mem_free(c->free_of);
	mem_free(c->place);
	mem_free(c->market);
	mem_free(c->quote);
	mem_free(c);
}

uint64_t capacity_pending(const struct capacity *c)
{
	return c->pending;
}

int64_t capacity_goes_ns(const struct capacity *c, uint32_t node)
{
	return c->place[node].goes_ns;
}

void capacity_bill(struct capacity *c, struct capacity_bill *out)
{
	settle(c);
	*out = c->bill;
	out->waiting = c->lent.waiting;
}

static uint32_t greatest_divisor(uint32_t a, uint32_t b)
{
	while (b) {
		uint32_t r = a % b;
		a = b;
		b = r;
	}
	return a;
}

uint32_t capacity_parts(const struct cluster *cluster, struct orr_error *err)
{
	uint64_t parts = 1;
	for (uint32_t i = 0; i < cluster->n_nodes; i++) {
		uint32_t gpus = cluster->node[i].gpus;
		if (!gpus) {
			orr_fail(err, ORR_EINPUT,
				"capacity: node %s has no GPUs; the nodes that come and go need some, as their time is accounted by GPU",
				cluster->node[i].name);
			return 0;
		}
		parts = parts / greatest_divisor((uint32_t)parts, gpus) * gpus;
		if (parts > 1000000) {
			orr_fail(err, ORR_EINPUT,
				"capacity: the nodes' numbers of GPUs have no common multiple up to a million; expected such as 1, 2, 4 "
				"and 8");
			return 0;
		}
	}
	return (uint32_t)parts;
}
