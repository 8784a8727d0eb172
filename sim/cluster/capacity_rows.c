/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cluster/capacity_rows.h"

#include "base/mem.h"

void capacity_rows_open(struct capacity_rows *r, const struct availset *set, bool repeats, uint64_t replication)
{
	*r = (struct capacity_rows){ .set = set, .repeats = repeats, .round = repeats ? replication << 32 : replication, .is_over = !set };
	if (set)
		r->cursor = availset_open(set, r->round);
}

void capacity_rows_close(struct capacity_rows *r)
{
	if (r->cursor)
		availcursor_close(r->cursor);
	mem_free(r->of_round);
	mem_free(r->ready);
}

/* Records that instance `in_round` of this round is live and has this number. */
static void enter(struct capacity_rows *r, uint32_t in_round, uint32_t number)
{
	while (r->n_of_round <= in_round) {
		MEM_GROW(r->of_round, r->n_of_round, r->cap_of_round);
		r->of_round[r->n_of_round].is_live = false;
		r->of_round[r->n_of_round++].number = 0;
	}
	r->of_round[in_round].number = number;
	r->of_round[in_round].is_live = true;
}

/* Adds the length of the earlier rounds to the row's time, and replaces the number of its instance by its number over all rounds. */
static void translate(struct capacity_rows *r, struct avail_rec *x)
{
	x->t_ns += r->offset_ns;
	if (x->kind == AVAIL_PRICE)
		return;
	if (x->kind == AVAIL_ADD)
		enter(r, x->instance, r->numbers++);
	else
		r->of_round[x->instance].is_live = false;
	x->instance = r->of_round[x->instance].number;
}

static void put_ready(struct capacity_rows *r, const struct avail_rec *x)
{
	MEM_GROW(r->ready, r->n_ready, r->cap_ready);
	r->ready[r->n_ready++] = *x;
}

/* Lists the instances that are live at the end of a round, in order of addition. Returns their number. */
static uint32_t survivors(const struct capacity_rows *r, uint32_t *number)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < r->n_of_round; i++)
		if (r->of_round[i].is_live)
			number[n++] = r->of_round[i].number;
	return n;
}

/* Prepares the rows at time 0 of the next round, without the additions that live instances replace. */
static void begin_round(struct capacity_rows *r)
{
	uint32_t *number = mem_alloc((r->n_of_round + 1) * sizeof *number), n = survivors(r, number), taken = 0;
	struct avail_rec x;
	bool has_next;
	availcursor_close(r->cursor);
	r->cursor = availset_open(r->set, ++r->round);
	r->offset_ns += availset_end_ns(r->set);
	r->n_of_round = 0;
	r->n_ready = r->next_ready = 0;
	while ((has_next = availcursor_next(r->cursor, &x)) && !x.t_ns) {
		if (x.kind == AVAIL_ADD && taken < n) {
			enter(r, x.instance, number[taken++]);
			continue;
		}
		translate(r, &x);
		put_ready(r, &x);
	}
	for (; taken < n; taken++)
		put_ready(r,
			&(struct avail_rec){ .t_ns = r->offset_ns, .kind = AVAIL_REMOVE, .instance = number[taken], .usd_per_hour = -1 });
	if (has_next) {
		translate(r, &x);
		put_ready(r, &x);
	}
	mem_free(number);
}

bool capacity_rows_next_repeated(struct capacity_rows *r, struct avail_rec *out)
{
	enum { MOST_EMPTY = 1000 }; /* after this number of rounds without a change, no later round has one */
	for (int empty = 0; !r->is_over && empty < MOST_EMPTY; empty++) {
		if (r->next_ready < r->n_ready) {
			*out = r->ready[r->next_ready++];
			return true;
		}
		if (availcursor_next(r->cursor, out)) {
			translate(r, out);
			return true;
		}
		begin_round(r);
	}
	r->is_over = true;
	return false;
}
