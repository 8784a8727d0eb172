/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cluster/lent.h"

#include <orrery/api.h>

#include "base/mem.h"

#include <string.h>

#define EMPTY (UINT32_MAX - 1)
#define NO_NODE UINT32_MAX
enum { FEWEST = 64 };

static struct lent_instance *slots_new(uint32_t n)
{
	struct lent_instance *slot = mem_zalloc(n, sizeof *slot);
	for (uint32_t i = 0; i < n; i++)
		slot[i].node = EMPTY;
	return slot;
}

void lent_init(struct lent *l, uint32_t n_types)
{
	*l = (struct lent){ .slot = slots_new(FEWEST), .mask = FEWEST - 1, .n_queues = n_types + 1 };
	l->queue = mem_zalloc(l->n_queues, sizeof *l->queue);
}

void lent_free(struct lent *l)
{
	for (uint32_t i = 0; i < l->n_queues; i++)
		mem_free(l->queue[i].number);
	mem_free(l->queue);
	mem_free(l->slot);
	*l = (struct lent){ 0 };
}

/* ---- by number ---- */

static uint32_t home_of(const struct lent *l, uint32_t number)
{
	return number * 2654435761u >> 7 & l->mask;
}

/* Returns the slot of the instance, or the empty slot for it. */
static uint32_t find(const struct lent *l, uint32_t number)
{
	uint32_t i = home_of(l, number);
	while (l->slot[i].node != EMPTY && l->slot[i].number != number)
		i = (i + 1) & l->mask;
	return i;
}

static void grow(struct lent *l)
{
	struct lent_instance *old = l->slot;
	uint32_t n = l->mask + 1;
	l->slot = slots_new(2 * n);
	l->mask = 2 * n - 1;
	for (uint32_t i = 0; i < n; i++)
		if (old[i].node != EMPTY)
			l->slot[find(l, old[i].number)] = old[i];
	mem_free(old);
}

struct lent_instance *lent_get(struct lent *l, uint32_t number)
{
	uint32_t i = find(l, number);
	if (l->slot[i].node != EMPTY)
		return &l->slot[i];
	if (2 * ++l->n > l->mask) {
		grow(l);
		i = find(l, number);
	}
	l->slot[i] = (struct lent_instance){ .number = number, .node = NO_NODE, .goes_ns = ORR_NEVER };
	return &l->slot[i];
}

/* Empties a slot and moves up the entries after it (Knuth, The Art of Computer Programming 3, 6.4, algorithm R). */
static void close_gap(struct lent *l, uint32_t gap)
{
	for (uint32_t i = (gap + 1) & l->mask; l->slot[i].node != EMPTY; i = (i + 1) & l->mask) {
		uint32_t home = home_of(l, l->slot[i].number);
		if (((i - home) & l->mask) < ((i - gap) & l->mask))
			continue;
		l->slot[gap] = l->slot[i];
		gap = i;
	}
	l->slot[gap].node = EMPTY;
}

static bool waits(const struct lent_instance *x)
{
	return x->is_there && x->node == NO_NODE;
}

void lent_drop(struct lent *l, uint32_t number)
{
	uint32_t i = find(l, number);
	if (l->slot[i].node == EMPTY)
		return;
	l->waiting -= waits(&l->slot[i]);
	l->n--;
	close_gap(l, i);
}

/* ---- waiting instances ---- */

/* Returns whether the queued number is still a waiting instance. Numbers are never reused. */
static bool is_in(const struct lent *l, uint32_t number)
{
	const struct lent_instance *x = &l->slot[find(l, number)];
	return x->node == NO_NODE && x->is_there;
}

static void tidy(const struct lent *l, struct lent_queue *q)
{
	size_t kept = 0;
	for (size_t i = q->first; i < q->n; i++)
		if (is_in(l, q->number[i]))
			q->number[kept++] = q->number[i];
	q->first = 0;
	q->n = kept;
}

void lent_wait(struct lent *l, const struct lent_instance *x)
{
	struct lent_queue *q = &l->queue[x->gpu_type < l->n_queues - 1 ? x->gpu_type : l->n_queues - 1];
	uint32_t number = x->number;
	l->waiting++;
	if (q->n == q->cap && q->n > 2 * (size_t)l->waiting)
		tidy(l, q);
	MEM_GROW(q->number, q->n, q->cap);
	q->number[q->n++] = number;
}

static bool has_first(const struct lent *l, struct lent_queue *q)
{
	while (q->first < q->n && !is_in(l, q->number[q->first]))
		q->first++;
	if (q->first == q->n)
		q->first = q->n = 0;
	return q->first < q->n;
}

struct lent_instance *lent_next_waiting(struct lent *l, uint32_t type)
{
	struct lent_queue *q = &l->queue[type], *any = &l->queue[l->n_queues - 1];
	bool has_own = has_first(l, q), has_any = has_first(l, any);
	if (!has_own && !has_any)
		return NULL;
	if (!has_own || (has_any && any->number[any->first] < q->number[q->first]))
		q = any;
	l->waiting--;
	return &l->slot[find(l, q->number[q->first++])];
}
