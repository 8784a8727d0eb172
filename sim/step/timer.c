/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What ends, now or at a known time: a heap of timers by (time, order of making), and the list of instances that end now. */
#include "step/exec.h"

#include "base/mem.h"

static bool timer_before(const struct timer *a, const struct timer *b)
{
	return a->time_s < b->time_s || (a->time_s == b->time_s && a->order < b->order);
}

static void timer_push(struct orr_step *s, struct timer t)
{
	MEM_GROW(s->timer, s->n_timers, s->cap_timers);
	uint32_t at = s->n_timers++;
	t.order = s->order++;
	while (at && timer_before(&t, &s->timer[(at - 1) / 2])) {
		s->timer[at] = s->timer[(at - 1) / 2];
		at = (at - 1) / 2;
	}
	s->timer[at] = t;
}

void timer_add(struct orr_step *s, double time_s, struct iteration *k, uint32_t i)
{
	timer_push(s, (struct timer){ .time_s = time_s, .of = k, .instance = i, .leap = NONE });
}

void timer_add_leap(struct orr_step *s, double time_s, uint32_t leap, uint32_t generation)
{
	timer_push(s, (struct timer){ .time_s = time_s, .leap = leap, .generation = generation });
}

struct timer timer_pop(struct orr_step *s)
{
	struct timer top = s->timer[0], last = s->timer[--s->n_timers];
	uint32_t at = 0;
	for (;;) {
		uint32_t child = 2 * at + 1;
		if (child >= s->n_timers)
			break;
		if (child + 1 < s->n_timers && timer_before(&s->timer[child + 1], &s->timer[child]))
			child++;
		if (!timer_before(&s->timer[child], &last))
			break;
		s->timer[at] = s->timer[child];
		at = child;
	}
	s->timer[at] = last;
	return top;
}

/* Ends now; what follows from it is done by finish(), in turn. */
void instance_end(struct orr_step *s, struct iteration *k, uint32_t i)
{
	MEM_GROW(s->done, s->n_done, s->cap_done);
	s->done[s->n_done++] = (struct going){ .of = k, .instance = i };
}
