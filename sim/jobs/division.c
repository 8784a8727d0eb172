/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "jobs/division.h"

static const char others[] = "other jobs";

/* Returns the reason that held just before t, or NULL. Waits end now, so the search goes back from the end. */
static struct reason *reason_before(const struct stance *x, int64_t t)
{
	uint32_t high = x->n_reasons, step = 1;
	for (; step <= high && x->reason[high - step].since >= t; step *= 2)
		high -= step;
	for (uint32_t low = step <= high ? high - step : 0; low < high;) {
		uint32_t middle = low + (high - low) / 2;
		bool is_before = x->reason[middle].since < t;
		low = is_before ? middle + 1 : low;
		high = is_before ? high : middle;
	}
	return high ? &x->reason[high - 1] : NULL;
}

static void put_known(struct division *d, int64_t begin, int64_t end, uint32_t part)
{
	if (end <= begin)
		return;
	d->v[d->n].begin = begin;
	d->v[d->n].end = end;
	d->v[d->n++].part = part;
}

void division_put(struct division *d, int64_t begin, int64_t end, const struct part *what)
{
	if (end > begin)
		put_known(d, begin, end, partlog_index(d->log, what));
}

void division_put_new(struct division *d, int64_t begin, int64_t end, const struct part *what)
{
	if (end > begin)
		put_known(d, begin, end, partlog_new_index(d->log, what));
}

static void add_numbers(struct part *p, const struct stretch *s)
{
	static const char *const details[][2] = { { "% GPUs asked, % free", "% GPU asked, % free" },
		{ "% cores asked, % free", "% core asked, % free" }, { "% GiB asked, % free", "% GiB asked, % free" },
		{ "% GPUs asked, % free", "% GPU asked, % free" }, { "% GPUs asked, % left", "% GPU asked, % left" } };
	p->detail = details[s->lack][s->asked == 1];
	p->value[0] = s->asked;
	p->value[1] = s->free;
}

/* Returns the part that blames run r for the end of the stretch. */
static uint32_t part_of_end(struct division *d, struct stretch *s, uint32_t r)
{
	if (s->part == NONE || s->blamed != r) {
		const struct causes_run *run = r == NONE ? NULL : &d->run[r];
		struct part p = part_of(PART_QUEUED, run ? run->holder : others, run ? run->number : PART_ALONE);
		add_numbers(&p, s);
		s->blamed = r;
		s->part = partlog_new_index(d->log, &p);
	}
	return s->part;
}

/* Returns the part that blames a run which held the GPUs earlier. */
static uint32_t part_of_run(struct division *d, struct causes_run *run)
{
	if (run->part == NONE) {
		struct part p = part_of(PART_QUEUED, run->holder, run->number);
		run->part = partlog_new_index(d->log, &p);
	}
	return run->part;
}

/* Divides [from, to) among the runs that held the GPUs in turn; r: the one whose end ended it. */
static void put_holders(struct division *d, struct stretch *s, int64_t from, int64_t to, uint32_t r)
{
	for (int k = 0; to > from; k++) {
		bool is_over = r == NONE || k == MOST_IN_TURN || d->n >= MOST_STRETCHES;
		struct causes_run *run = is_over ? NULL : &d->run[r];
		/* If the GPUs were free for some time before, other jobs held what the job lacked. */
		if (run && run->end < to) {
			struct part gap = part_of(PART_QUEUED, others, PART_ALONE);
			int64_t at = run->end > from ? run->end : from;
			if (!k)
				add_numbers(&gap, s);
			division_put(d, at, to, &gap);
			to = at;
		}
		int64_t begin = run && run->start > from ? run->start : from;
		if (begin < to) {
			put_known(d, begin, to, !k ? part_of_end(d, s, run ? r : NONE) : run ? part_of_run(d, run) : d->in_turn);
			to = begin;
		}
		r = run ? run->before : NONE;
	}
}

static void put_reason(struct division *d, int64_t from, int64_t to)
{
	struct reason *r = reason_before(d->policy, to);
	struct part p = part_of(PART_UNNAMED, NULL, PART_ALONE);
	if (r && r->part != NONE) {
		put_known(d, from, to, r->part);
		return;
	}
	if (r && r->kind == ORR_WHY_RESERVED && r->number != PART_ALONE)
		p = part_of(PART_RESERVED, "job", r->number);
	else if (r && r->kind != ORR_WHY_NONE && r->text)
		p = part_of(PART_HELD, r->text, PART_ALONE);
	uint32_t part = partlog_index(d->log, &p);
	put_known(d, from, to, part);
	if (r)
		r->part = part;
}

void division_put_classes(struct division *d, const struct causes_line *l, int64_t from, int64_t to, uint32_t r)
{
	for (uint32_t i = l->n; to > from && i-- > 0 && d->n < MOST_STRETCHES;) {
		struct stretch *s = &l->v[i];
		int64_t begin = s->since > from ? s->since : from;
		if (begin >= to)
			continue;
		if (s->lack == FITS) {
			put_reason(d, begin, to);
		} else if (s->lack == LACKS_QUOTA) {
			struct part p = part_of(PART_LIMITED, d->quota, PART_ALONE);
			add_numbers(&p, s);
			division_put(d, begin, to, &p);
		} else if (s->lack == IS_FRAGMENTED) {
			struct part p = part_of(PART_FRAGMENTED, NULL, PART_ALONE);
			add_numbers(&p, s);
			division_put(d, begin, to, &p);
		} else {
			put_holders(d, s, begin, to, r);
		}
		to = begin;
		r = s->turned_by;
	}
	put_known(d, from, to, d->in_turn);
}
