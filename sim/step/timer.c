/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Future ends: a heap of timers by (time, order of creation), and the list of instances that end now. */
#include "step/exec.h"

#include "base/heap.h"
#include "base/mem.h"

static inline bool timer_before(const void *none, const struct timer *a, const struct timer *b)
{
	(void)none;
	return a->time_s < b->time_s || (a->time_s == b->time_s && a->order < b->order);
}

HEAP(timer, struct timer, const void, timer_before, HEAP_UNTRACKED)

static void timer_push(struct orr_step *s, struct timer t)
{
	MEM_GROW(s->timer, s->n_timers, s->cap_timers);
	t.order = s->order++;
	timer_up(NULL, s->timer, s->n_timers++, t);
}

void timer_add(struct orr_step *s, double time_s, struct iteration *k, uint32_t i)
{
	timer_push(s, (struct timer){ .time_s = time_s, .of = k, .instance = i, .leap = NONE });
}

void timer_add_leap(struct orr_step *s, double time_s, uint32_t leap, uint32_t generation)
{
	timer_push(s, (struct timer){ .time_s = time_s, .leap = leap, .generation = generation });
}

void timer_add_corun(struct orr_step *s, double time_s, uint32_t device, uint32_t generation)
{
	timer_push(s, (struct timer){ .time_s = time_s, .instance = device, .leap = NONE, .generation = generation });
}

void timer_add_checkpoint(struct orr_step *s, double time_s, uint32_t what)
{
	timer_push(s, (struct timer){ .time_s = time_s, .instance = NONE, .leap = NONE, .generation = what });
}

struct timer timer_pop(struct orr_step *s)
{
	struct timer top = s->timer[0];
	uint32_t n = --s->n_timers;
	timer_down(NULL, s->timer, n, 0, s->timer[n]);
	return top;
}

void instance_end(struct orr_step *s, struct iteration *k, uint32_t i)
{
	MEM_GROW(s->done, s->n_done, s->cap_done);
	s->done[s->n_done++] = (struct going){ .of = k, .instance = i };
}
