/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * capacity.h - lent nodes: the instances of a capacity source on the nodes of a cluster, and their bill
 *
 * An offered instance takes the free node with the lowest number (of its own type, if its row names a GPU type of the cluster). It
 * is paid from then on, is up after the start-up time, may be given notice, and leaves. Offers without a free node wait, unpaid, and
 * take the nodes of leaving instances, first come first served; so min(offers, nodes) nodes are taken at any time. After the last
 * row of the set, present instances remain, unless the set is repeated.
 *
 * Price of an instance: its own row's, for its whole life; else its market's (source.h). Amounts are in (1e-9 USD/h) x ns, whole
 * numbers, so sums are exact.
 *
 * Invariant: a node is free, starting or up; `taken` counts the last two. Rows at time 0 have happened when capacity_new() returns.
 * An event costs O(log n), plus O(markets).
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
	const struct availset *prices; /* a second set, of prices; may be NULL */
	bool repeats;                  /* the sets start again when they end (capacity_rows.h); their ends are above 0 */
	int64_t startup_ns, notice_ns;
	double usd_per_hour;  /* of an instance without a price in any row */
	uint64_t replication; /* index of the random streams of generated sets */
};

enum capacity_event {
	CAPACITY_UP,
	CAPACITY_NOTICE, /* it will leave at capacity_goes_ns() */
	CAPACITY_DOWN,   /* it was up; capacity_usd_per_hour() still works */
	CAPACITY_PRICE   /* the price of some nodes that are up has changed; node 0 */
};
/* The engine and the listener. tell() is called from events of this priority, and from capacity_new() at time 0. */
struct capacity_host {
	struct engine *engine;
	unsigned priority;
	void (*tell)(void *ctx, uint32_t node, enum capacity_event what);
	void *ctx;
};

/* Starts with the nodes that rows at time 0 occupy. *out is set before the first call of tell(). */
void capacity_new(const struct capacity_config *c, const struct cluster *cluster, const struct capacity_host *host, struct capacity **out);
void capacity_free(struct capacity *c);

/* Number of its pending events, which alone make no job or request progress. */
uint64_t capacity_pending(const struct capacity *c);
int64_t capacity_goes_ns(const struct capacity *c, uint32_t node);     /* ORR_NEVER: no notice given */
double capacity_usd_per_hour(const struct capacity *c, uint32_t node); /* NAN: free */
/* Cost of the node's instance so far, up to a constant: the difference of two readings during its life is the amount. */
timeline_sum capacity_reading(const struct capacity *c, uint32_t node);

/* The bill up to now. */
struct capacity_bill {
	struct ledger all, starting; /* instances that took a node; starting: before they were up */
	uint32_t taken, up, waiting; /* now */
	uint64_t offered, unused;    /* so far; unused: of these, never had a node */
	uint64_t lost, noticed;      /* nodes that left while up; nodes given notice while up */
};
void capacity_bill(struct capacity *c, struct capacity_bill *out);

/* Returns the least common multiple of the nodes' numbers of GPUs: a node cut into so many parts has a whole number of parts per
 * GPU. 0 and an error if a node has no GPUs or the multiple exceeds a million. */
uint32_t capacity_parts(const struct cluster *cluster, struct orr_error *err);

#endif
