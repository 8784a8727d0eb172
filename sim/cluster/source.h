/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * source.h - a capacity source: instances that join and leave, and their prices, read from an availability set
 *
 * A source has two streams of rows: the rows of its set, and the rows of a second set, of which only prices are used. The caller
 * reads a row as early as its notice allows, and takes it at its time. Zones and types of rows are indices in `names`, common
 * to both streams; 0 is "".
 *
 * A market is the set of instances of one zone and type that share a price: the price of the last price row, else the default. An
 * instance whose own row names a price belongs to no market. Prices are in 1e-9 USD/h.
 *
 * Invariant: rows are in order of time. The price of a market does not depend on when the market was created.
 */
#ifndef ORR_CLUSTER_SOURCE_H
#define ORR_CLUSTER_SOURCE_H

#include "cluster/capacity_rows.h"
#include "results/timeline.h"

enum source_stream { SOURCE_INSTANCES, SOURCE_PRICES, SOURCE_STREAMS };

struct source_rows {
	struct capacity_rows from;
	struct avail_rec next;   /* next row to read; its time is ORR_NEVER at the end */
	struct avail_rec *ahead; /* rows from `first` on are read and not yet taken */
	size_t first, n, cap;
	uint32_t *name, cap_name; /* number of the name + 1, by number of the text */
};

struct source_market {
	uint32_t zone, type;
	int64_t price, since;
	timeline_sum before; /* cost so far of a hypothetical instance that has been live since time 0 */
};

struct source {
	struct source_rows rows[SOURCE_STREAMS];
	struct strtab *names;
	struct source_market *market;
	uint32_t n_markets, cap_markets;
	struct source_quote *quote; /* last price row of each (zone, type); 0: any */
	uint32_t n_quotes, cap_quotes;
	uint64_t quotes;
	int64_t default_price;
};

struct source_config {
	const struct availset *set, *prices; /* prices: NULL if there is no second set */
	bool repeats;                        /* both sets start again at their ends (capacity_rows.h) */
	uint64_t replication;
	double usd_per_hour; /* the default */
};

void source_open(struct source *s, const struct source_config *c);
void source_close(struct source *s);
/* Returns the name of a text of the stream's set. */
uint32_t source_name(struct source *s, enum source_stream k, uint32_t text);

/* Returns the time of the first row that is not read yet; ORR_NEVER: none. */
static inline int64_t source_next_ns(const struct source *s, enum source_stream k)
{
	return s->rows[k].next.t_ns;
}
/* Reads and applies the next row. */
void source_pass(struct source *s, enum source_stream k, struct avail_rec *out);
/* Reads the next row, to be taken later. The pointer is valid until the next read. */
const struct avail_rec *source_read(struct source *s, enum source_stream k);
/* Puts the row that source_pass() returned last at the end of the rows to take. */
void source_put_back(struct source *s, enum source_stream k, const struct avail_rec *r);
/* Removes and returns the first of the rows to take. */
struct avail_rec source_take(struct source *s, enum source_stream k);
/* Returns the time of the first row to take; ORR_NEVER: none. */
static inline int64_t source_due_ns(const struct source *s, enum source_stream k)
{
	const struct source_rows *rows = &s->rows[k];
	return rows->first < rows->n ? rows->ahead[rows->first].t_ns : ORR_NEVER;
}

/* Returns the number of a market; creates it if it is new. */
uint32_t source_market(struct source *s, uint32_t zone, uint32_t type, int64_t now);
/* Applies a price row. Calls changed(), unless NULL, for each of its markets, with the difference in price. */
void source_price(
	struct source *s, const struct avail_rec *r, int64_t now, void (*changed)(void *ctx, uint32_t market, int64_t more), void *ctx);
/* Returns the cost of an instance of the market so far, up to a constant: (1e-9 USD/h) x ns. */
timeline_sum source_reading(const struct source *s, uint32_t market, int64_t now);

#endif
