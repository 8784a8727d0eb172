/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * capacity.h - nodes that are there while somebody lends them: instances of an availability set on the nodes of a cluster, and the bill
 *
 * An instance that is offered takes the free node with the least number (of its own type, where its row names a GPU type of the
 * cluster), is paid from then on, is up after the start-up time, may be noticed, and goes. Offers that find no free node wait,
 * unpaid, and take the nodes of those that go, first come first; so min(offers, nodes) nodes are taken at any time. After the set's
 * last row whoever is there stays, unless it is repeated.
 *
 * Prices: what the instance's own row says, for as long as it is there; else the last price row of its zone and type; else the
 * config's. An hour's price counts in 1e-9 USD and time in ns, both whole numbers, so that sums are exact: amounts are
 * (1e-9 USD/h) x ns.
 *
 * Invariant: a node is free, or starting, or up; `taken` counts the last two. Rows at time 0 have happened when capacity_new()
 * returns. No event costs more than O(log) of anything but the number of pairs (zone, type) with a price.
 */
#ifndef ORR_CLUSTER_CAPACITY_H
#define ORR_CLUSTER_CAPACITY_H

#include "cluster/cluster.h"
#include "cluster/ledger.h"
#include "traces/avail.h"

struct engine;
struct capacity;

struct capacity_config {
	const struct availset *set;
	const struct availset *prices; /* rows of prices beside those of the set; may be NULL */
	bool repeats;                  /* they begin again when they end (capacity_rows.h); then each has an end above 0 */
	int64_t startup_ns, notice_ns;
	double usd_per_hour; /* of an instance, where no row says */
};

enum capacity_event {
	CAPACITY_UP,
	CAPACITY_NOTICE, /* it will go at capacity_goes_ns() */
	CAPACITY_DOWN,   /* it was up; its price can still be asked for */
	CAPACITY_PRICE   /* of some nodes that are up; node 0 */
};
/* Whose clock it is. tell() is called from events of that priority, and at time 0 from capacity_new(). */
struct capacity_host {
	struct engine *engine;
	unsigned priority;
	void (*tell)(void *ctx, uint32_t node, enum capacity_event what);
	void *ctx;
};

/* All nodes are free but those that rows at time 0 take. *out is set before tell() is called for the first time. */
void capacity_new(const struct capacity_config *c, const struct cluster *cluster, const struct capacity_host *host, struct capacity **out);
void capacity_free(struct capacity *c);

/* Its pending events: none of them is anybody's progress. */
uint64_t capacity_pending(const struct capacity *c);
int64_t capacity_goes_ns(const struct capacity *c, uint32_t node);     /* ORR_NEVER: not noticed */
double capacity_usd_per_hour(const struct capacity *c, uint32_t node); /* NAN: free */
/* What the node's instance has cost, up to a constant: the difference between two readings, while it is there, is the amount. */
timeline_sum capacity_reading(const struct capacity *c, uint32_t node);

/* Up to now. */
struct capacity_bill {
	struct ledger all, starting; /* instances that took a node; starting: before they were up */
	uint32_t taken, up, waiting; /* now */
	uint64_t offered, unused;    /* so far; unused: never had a node, and is gone or waits */
	uint64_t lost, noticed;      /* nodes that went while up; of those that were up, noticed so far */
};
void capacity_bill(struct capacity *c, struct capacity_bill *out);

/* Parts that every node can be cut into so that each GPU of it is a whole number of them: the least common multiple of the numbers
 * of GPUs. 0 and an error: a node has none, or there is no multiple below a million. */
uint32_t capacity_parts(const struct cluster *cluster, struct orr_error *err);

#endif
