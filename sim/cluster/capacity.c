/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cluster/capacity.h"

#include "base/bitset.h"
#include "base/mem.h"
#include "cluster/lent.h"
#include "cluster/source.h"
#include "engine/engine.h"

#include <string.h>

#define NONE UINT32_MAX

/* Nodes of a market (source.h). */
struct tenants {
	uint32_t taken, starting;
};

struct place {
	bool is_taken, is_up;
	uint32_t market;
	int64_t own_price; /* -1: the price is that of the market */
	int64_t goes_ns;
	struct eng_event start;
};

struct capacity {
	const struct capacity_config *config;
	const struct cluster *cluster;
	struct capacity_host host;
	struct source source;
	uint64_t pending;
	struct lent lent;
	struct place *place;
	struct bitset free, *free_of; /* [type] */
	struct tenants *tenants;      /* [market] */
	uint32_t n_tenants, cap_tenants;
	bool is_felt; /* the last change of prices affected a node that is up */
	/* state of the bill at the time settled_ns */
	struct capacity_bill bill;
	int64_t settled_ns;
	int64_t price_of_all, price_of_starting;
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

/* ---- the bill ---- */

static void settle(struct capacity *c)
{
	int64_t dt = now_of(c) - c->settled_ns;
	ledger_hold(&c->bill.all, c->bill.taken, c->price_of_all, dt);
	ledger_hold(&c->bill.starting, c->starting, c->price_of_starting, dt);
	c->settled_ns = now_of(c);
}

static int64_t price_of(const struct capacity *c, const struct place *p)
{
	return p->own_price >= 0 ? p->own_price : c->source.market[p->market].price;
}

static void count_taken(struct capacity *c, const struct place *p, bool is_more)
{
	int64_t price = price_of(c, p);
	settle(c);
	c->bill.taken += is_more ? 1 : NONE;
	c->price_of_all += is_more ? price : -price;
	if (p->own_price < 0)
		c->tenants[p->market].taken += is_more ? 1 : NONE;
}

static void count_starting(struct capacity *c, const struct place *p, bool is_more)
{
	int64_t price = price_of(c, p);
	settle(c);
	c->starting += is_more ? 1 : NONE;
	c->price_of_starting += is_more ? price : -price;
	if (p->own_price < 0)
		c->tenants[p->market].starting += is_more ? 1 : NONE;
}

/* ---- prices ---- */

static uint32_t market_of(struct capacity *c, uint32_t zone, uint32_t type)
{
	uint32_t market = source_market(&c->source, zone, type, now_of(c));
	if (market == c->n_tenants) {
		MEM_GROW(c->tenants, c->n_tenants, c->cap_tenants);
		c->tenants[c->n_tenants++] = (struct tenants){ 0, 0 };
	}
	return market;
}

static void on_price(void *ctx, uint32_t market, int64_t more)
{
	struct capacity *c = ctx;
	const struct tenants *t = &c->tenants[market];
	settle(c);
	c->price_of_all += more * t->taken;
	c->price_of_starting += more * t->starting;
	c->is_felt |= more && t->taken > t->starting;
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
	return source_reading(&c->source, p->market, now);
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

/* Gives the node to the instance. */
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

/* ---- rows: each is known `notice` before its time ---- */

static void on_add(struct capacity *c, const struct avail_rec *r)
{
	const char *name = strtab_text(c->source.names, r->type);
	uint32_t gpu_type = *name ? cluster_type(c->cluster, name, strlen(name)) : NONE;
	struct lent_instance *x = lent_get(&c->lent, r->instance);
	*x = (struct lent_instance){ .number = r->instance,
		.is_there = true,
		.node = NONE,
		.zone = r->zone,
		.type = r->type,
		.gpu_type = gpu_type,
		.price = r->usd_per_hour >= 0 ? ledger_price(r->usd_per_hour) : -1,
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

static void happen(struct capacity *c, enum source_stream k, const struct avail_rec *r)
{
	if (r->kind == AVAIL_PRICE) {
		c->is_felt = false;
		source_price(&c->source, r, now_of(c), on_price, c);
		if (c->is_felt)
			tell(c, 0, CAPACITY_PRICE);
	} else if (k == SOURCE_PRICES) {
		return; /* only the prices of this set are used */
	} else if (r->kind == AVAIL_ADD) {
		on_add(c, r);
	} else {
		on_remove(c, r);
	}
}

static void on_row(struct engine *e, void *ctx, uint64_t subject, uint64_t arg)
{
	(void)e, (void)arg;
	struct capacity *c = ctx;
	struct avail_rec r = source_take(&c->source, (enum source_stream)subject);
	c->pending--;
	happen(c, (enum source_stream)subject, &r);
}

static void warn(struct capacity *c, const struct avail_rec *r)
{
	struct lent_instance *x = lent_get(&c->lent, r->instance);
	x->goes_ns = r->t_ns;
	if (x->node != NONE)
		notice(c, x->node, r->t_ns);
}

/* Handles the next row, which becomes known. */
static void know(struct capacity *c, enum source_stream k)
{
	if (source_next_ns(&c->source, k) <= now_of(c)) {
		struct avail_rec r;
		source_pass(&c->source, k, &r);
		happen(c, k, &r);
		return;
	}
	const struct avail_rec *r = source_read(&c->source, k);
	if (k == SOURCE_INSTANCES && r->kind == AVAIL_REMOVE)
		warn(c, r);
	c->pending++;
	eng_at(c->host.engine, r->t_ns, c->host.priority, on_row, c, k, 0);
}

static void on_known(struct engine *e, void *ctx, uint64_t subject, uint64_t arg);

/* Handles the rows that are known now. The next row is an event. */
static void read_rows(struct capacity *c, enum source_stream k)
{
	int64_t t;
	while ((t = source_next_ns(&c->source, k)) < ORR_NEVER) {
		int64_t known = t - c->config->notice_ns;
		if (known <= now_of(c)) {
			know(c, k);
			continue;
		}
		c->pending++;
		eng_at(c->host.engine, known, c->host.priority, on_known, c, k, 0);
		return;
	}
}

static void on_known(struct engine *e, void *ctx, uint64_t subject, uint64_t arg)
{
	(void)e, (void)arg;
	struct capacity *c = ctx;
	c->pending--;
	know(c, (enum source_stream)subject);
	read_rows(c, (enum source_stream)subject);
}

/* ---- making and freeing ---- */

void capacity_new(
	const struct capacity_config *config, const struct cluster *cluster, const struct capacity_host *host, struct capacity **out)
{
	struct capacity *c = *out = mem_zalloc(1, sizeof *c);
	c->config = config;
	c->cluster = cluster;
	c->host = *host;
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
	source_open(&c->source, &(struct source_config){ .set = config->set,
					.prices = config->prices,
					.repeats = config->repeats,
					.replication = config->replication,
					.usd_per_hour = config->usd_per_hour });
	read_rows(c, SOURCE_PRICES); /* prices first */
	read_rows(c, SOURCE_INSTANCES);
}

void capacity_free(struct capacity *c)
{
	if (!c)
		return;
	source_close(&c->source);
	for (uint32_t t = 0; t < c->cluster->n_types; t++)
		bitset_free(&c->free_of[t]);
	bitset_free(&c->free);
	lent_free(&c->lent);
	mem_free(c->free_of);
	mem_free(c->place);
	mem_free(c->tenants);
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
			orr_fail(err, ORR_EINPUT, "capacity: node %s has no GPUs: expected at least 1 on each lent node",
				cluster->node[i].name);
			return 0;
		}
		parts = parts / greatest_divisor((uint32_t)parts, gpus) * gpus;
		if (parts > 1000000) {
			orr_fail(err, ORR_EINPUT,
				"capacity: the numbers of GPUs per node have no common multiple up to a million: expected numbers such as "
				"1, 2, 4 and 8");
			return 0;
		}
	}
	return (uint32_t)parts;
}
