/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cluster/source.h"

#include "base/mem.h"
#include "cluster/ledger.h"

#include <string.h>

struct source_quote {
	uint32_t zone, type;
	int64_t price;
	uint64_t order;
};

/* ---- rows ---- */

uint32_t source_name(struct source *s, enum source_stream k, uint32_t text)
{
	struct source_rows *rows = &s->rows[k];
	if (!text)
		return 0;
	if (text >= rows->cap_name) {
		uint32_t cap = text + 16;
		rows->name = mem_realloc(rows->name, cap, sizeof *rows->name);
		memset(rows->name + rows->cap_name, 0, (cap - rows->cap_name) * sizeof *rows->name);
		rows->cap_name = cap;
	}
	if (!rows->name[text])
		rows->name[text] = strtab_add_z(s->names, strtab_text(availset_strings(rows->from.set), text)) + 1;
	return rows->name[text] - 1;
}

static void name_next(struct source *s, enum source_stream k)
{
	struct avail_rec *next = &s->rows[k].next;
	next->zone = source_name(s, k, next->zone);
	next->type = source_name(s, k, next->type);
}

static inline void fetch(struct source *s, enum source_stream k)
{
	struct source_rows *rows = &s->rows[k];
	if (!capacity_rows_next(&rows->from, &rows->next))
		rows->next.t_ns = ORR_NEVER;
	else if (rows->next.zone | rows->next.type)
		name_next(s, k);
}

void source_pass(struct source *s, enum source_stream k, struct avail_rec *out)
{
	*out = s->rows[k].next;
	fetch(s, k);
}

void source_put_back(struct source *s, enum source_stream k, const struct avail_rec *r)
{
	struct source_rows *rows = &s->rows[k];
	if (rows->first == rows->n || (rows->n == rows->cap && rows->first > rows->n / 2)) {
		rows->n -= rows->first;
		if (rows->n)
			memmove(rows->ahead, rows->ahead + rows->first, rows->n * sizeof *rows->ahead);
		rows->first = 0;
	}
	MEM_GROW(rows->ahead, rows->n, rows->cap);
	rows->ahead[rows->n++] = *r;
}

const struct avail_rec *source_read(struct source *s, enum source_stream k)
{
	struct source_rows *rows = &s->rows[k];
	source_put_back(s, k, &rows->next);
	fetch(s, k);
	return &rows->ahead[rows->n - 1];
}

struct avail_rec source_take(struct source *s, enum source_stream k)
{
	return s->rows[k].ahead[s->rows[k].first++];
}

void source_open(struct source *s, const struct source_config *c)
{
	*s = (struct source){ .names = strtab_new(), .default_price = ledger_price(c->usd_per_hour) };
	capacity_rows_open(&s->rows[SOURCE_INSTANCES].from, c->set, c->repeats, c->replication);
	capacity_rows_open(&s->rows[SOURCE_PRICES].from, c->prices, c->repeats, c->replication);
	fetch(s, SOURCE_INSTANCES);
	fetch(s, SOURCE_PRICES);
}

void source_close(struct source *s)
{
	for (int k = 0; k < SOURCE_STREAMS; k++) {
		capacity_rows_close(&s->rows[k].from);
		mem_free(s->rows[k].ahead);
		mem_free(s->rows[k].name);
	}
	strtab_free(s->names);
	mem_free(s->market);
	mem_free(s->quote);
}

/* ---- prices ---- */

/* Returns whether a price row or quote applies to this market. A zone or type of 0 in the row matches any. */
static bool is_of(uint32_t asked_zone, uint32_t asked_type, uint32_t zone, uint32_t type)
{
	return (!asked_zone || asked_zone == zone) && (!asked_type || asked_type == type);
}

uint32_t source_market(struct source *s, uint32_t zone, uint32_t type, int64_t now)
{
	const struct source_quote *last = NULL;
	for (uint32_t i = 0; i < s->n_markets; i++)
		if (s->market[i].zone == zone && s->market[i].type == type)
			return i;
	for (uint32_t i = 0; i < s->n_quotes; i++) {
		const struct source_quote *q = &s->quote[i];
		if (is_of(q->zone, q->type, zone, type) && (!last || q->order > last->order))
			last = q;
	}
	MEM_GROW(s->market, s->n_markets, s->cap_markets);
	s->market[s->n_markets] =
		(struct source_market){ .zone = zone, .type = type, .price = last ? last->price : s->default_price, .since = now };
	return s->n_markets++;
}

timeline_sum source_reading(const struct source *s, uint32_t market, int64_t now)
{
	const struct source_market *m = &s->market[market];
	return m->before + ledger_product(m->price, now - m->since);
}

void source_price(
	struct source *s, const struct avail_rec *r, int64_t now, void (*changed)(void *ctx, uint32_t market, int64_t more), void *ctx)
{
	int64_t price = ledger_price(r->usd_per_hour);
	uint32_t i = 0;
	while (i < s->n_quotes && (s->quote[i].zone != r->zone || s->quote[i].type != r->type))
		i++;
	if (i == s->n_quotes) {
		MEM_GROW(s->quote, s->n_quotes, s->cap_quotes);
		s->n_quotes++;
	}
	s->quote[i] = (struct source_quote){ r->zone, r->type, price, ++s->quotes };
	for (uint32_t k = 0; k < s->n_markets; k++) {
		struct source_market *m = &s->market[k];
		if (!is_of(r->zone, r->type, m->zone, m->type))
			continue;
		int64_t more = price - m->price;
		m->before = source_reading(s, k, now);
		m->since = now;
		m->price = price;
		if (changed)
			changed(ctx, k, more);
	}
}
