/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * capacity.h - lent nodes: the instances of a capacity source on the nodes of a cluster, and their bill
 *
 * An offered instance takes the free node with the lowest number (of its own type, if its row names a GPU type of the cluster). It is
 * billed from that time on, is up after the start-up time, may be given notice, and leaves. Offers without a free node wait, unbilled, and
 * take the nodes of leaving instances in FIFO order. So min(offers, nodes) nodes are taken at any time. The instances present after the
 * last row of the set remain, unless the set is repeated.
 *
 * Price of an instance: the price in its row, for its whole life; else the price of its market (source.h). Amounts are in (1e-9 USD/h) x
 * ns, whole numbers, so sums are exact.
 *
 * Invariant: a node is free, starting or up; `taken` counts the last two. capacity_new() handles the rows at time 0. An event
 * costs O(log n), plus O(markets).
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
	const struct availset *prices; /* second set, which gives prices; may be NULL */
	bool repeats;                  /* both sets start again at their ends (capacity_rows.h), which must be above 0 */
	int64_t startup_ns, notice_ns;
	double usd_per_hour;  /* price of an instance for which no row states a price */
	uint64_t replication; /* index of the random streams of generators */
};

enum capacity_event {
	CAPACITY_UP,
	CAPACITY_NOTICE, /* the node was given notice; capacity_goes_ns() is the time at which it leaves */
	CAPACITY_DOWN,   /* the node leaves and was up; capacity_usd_per_hour() is still defined */
	CAPACITY_PRICE   /* the price of some nodes that are up has changed; node is 0 */
};
/* The engine and the listener. tell() is called from events of this priority, and from capacity_new() at time 0. */
struct capacity_host {
	struct engine *engine;
	unsigned priority;
	void (*tell)(void *ctx, uint32_t node, enum capacity_event what);
	void *ctx;
};

/* Creates the state, with the nodes that rows at time 0 occupy. Sets *out before the first call of tell(). */
void capacity_new(const struct capacity_config *c, const struct cluster *cluster, const struct capacity_host *host, struct capacity **out);
void capacity_free(struct capacity *c);

/* Returns the number of pending events. Without other events, no job or request progresses. */
uint64_t capacity_pending(const struct capacity *c);
int64_t capacity_goes_ns(const struct capacity *c, uint32_t node);     /* time at which the node leaves; ORR_NEVER: no notice given */
double capacity_usd_per_hour(const struct capacity *c, uint32_t node); /* NAN: free */
/* Returns the cost of the node's instance so far, up to a constant. The difference of two readings during its life is the amount. */
timeline_sum capacity_reading(const struct capacity *c, uint32_t node);

/* Totals up to now. */
struct capacity_bill {
	struct ledger all, starting; /* all: instances that have taken a node; starting: until they were up */
	uint32_t taken, up, waiting; /* now */
	uint64_t offered, unused;    /* offered: number of offers so far; unused: number of offers that never got a node */
	uint64_t lost, noticed;      /* numbers of nodes that left while up, and that were given notice while up */
};
void capacity_bill(struct capacity *c, struct capacity_bill *out);

/*
 * Returns the least common multiple of the nodes' numbers of GPUs. If each node is divided into this number of parts, each GPU
 * has a whole number of parts. Returns 0 and an error if a node has no GPUs or the multiple exceeds a million.
 */
uint32_t capacity_parts(const struct cluster *cluster, struct orr_error *err);

#endif
