/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * ledger.h - time held and money paid, in whole numbers
 *
 * Time is in ns of a unit (an instance, a GPU, a part of a node), money in (1e-9 USD/h) x ns. Both are 128-bit whole numbers,
 * so sums are exact in any order. Partial sums may wrap below 0.
 */
#ifndef ORR_CLUSTER_LEDGER_H
#define ORR_CLUSTER_LEDGER_H

#include "results/timeline.h"

#include <math.h>

/* One account. */
struct ledger {
	timeline_sum ns, amount;
};

static inline void ledger_add(struct ledger *l, timeline_sum ns, timeline_sum amount)
{
	l->ns += ns;
	l->amount += amount;
}

/* Returns a x b. Both factors are signed, so the product takes one multiplication on a 64-bit CPU; an unsigned factor would take three. */
static inline timeline_sum ledger_product(int64_t a, int64_t b)
{
	__extension__ typedef __int128 wide;
	return (timeline_sum)((wide)a * b);
}

/* Adds `count` units, of total price `price` (1e-9 USD/h), held for dt ns. */
static inline void ledger_hold(struct ledger *l, int64_t count, int64_t price, int64_t dt)
{
	ledger_add(l, ledger_product(count, dt), ledger_product(price, dt));
}

/* Returns the ledger multiplied by n. */
static inline struct ledger ledger_times(const struct ledger *l, uint64_t n)
{
	return (struct ledger){ l->ns * n, l->amount * n };
}

static inline struct ledger ledger_total(const struct ledger *account, int n)
{
	struct ledger total = { 0, 0 };
	for (int i = 0; i < n; i++)
		ledger_add(&total, account[i].ns, account[i].amount);
	return total;
}

/* 1e-9 USD/h */
static inline int64_t ledger_price(double usd_per_hour)
{
	return llrint(usd_per_hour * 1e9);
}

static inline double ledger_hours(double ns)
{
	return ns / 3.6e12;
}

static inline double ledger_usd(double amount)
{
	return ledger_hours(amount) / 1e9;
}

#endif
