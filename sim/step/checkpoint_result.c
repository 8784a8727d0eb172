/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rows and metrics of a run with checkpoints. */
#include "step/checkpoint.h"

#include "base/mem.h"

struct skip checkpoint_offset(const struct checkpoint *c, uint64_t number)
{
	struct skip sum = { 0 };
	for (size_t i = 0; i < c->n_skips && c->skip[i].at <= number; i++) {
		sum.count += c->skip[i].count;
		sum.time_s += c->skip[i].time_s;
	}
	return sum;
}

uint64_t checkpoint_period(const struct orr_step *s)
{
	uint64_t every = s->checkpoint->every, a = every, b = s->graph_period;
	while (b) {
		uint64_t rest = a % b;
		a = b;
		b = rest;
	}
	return s->graph_period ? every / a * s->graph_period : every;
}

static void put_row(struct orr_step *s, size_t *cap, const struct step_iteration *like, double shift_s)
{
	MEM_GROW(s->row, s->n_rows, *cap);
	s->row[s->n_rows] = (struct step_iteration){ s->n_rows, like->start_s + shift_s, like->end_s + shift_s, like->samples };
	s->n_rows++;
}

void checkpoint_rows(struct orr_step *s)
{
	struct checkpoint *c = s->checkpoint;
	struct step_iteration *run = s->row;
	size_t n = c->end && c->end < s->n_rows ? c->end : s->n_rows, cap = 0, at = 0;
	double shift_s = 0;
	s->row = NULL;
	s->n_rows = 0;
	for (size_t k = 0; k < n; k++) {
		for (; at < c->n_skips && c->skip[at].at == k; at++) {
			const struct skip *x = &c->skip[at];
			double period_s = x->time_s * x->period / (double)x->count;
			for (uint64_t j = 0; j < x->count; j++)
				put_row(s, &cap, &run[k - x->period + j % x->period], shift_s + period_s * (double)(j / x->period + 1));
			shift_s += x->time_s;
		}
		put_row(s, &cap, &run[k], shift_s);
	}
	s->cap_rows = cap;
	mem_free(run);
	for (size_t i = 0; i < s->n_spans; i++) {
		struct step_span *x = &s->span[i];
		struct skip by = checkpoint_offset(c, x->iteration);
		x->iteration += by.count;
		x->start_s += by.time_s;
		x->end_s += by.time_s;
	}
	s->lead += checkpoint_offset(c, s->lead - 1).count;
	s->wanted += c->skipped_n;
	s->period = (uint32_t)(c->cycle * c->every);
}

/* Returns the checkpoint of the run that checkpoint i of the result equals. */
static size_t simulated(const struct checkpoint *c, size_t i)
{
	size_t known = c->cycle ? c->mark + c->cycle : c->n;
	return i < known ? i : known - c->cycle + (i - known) % (c->cycle ? c->cycle : 1);
}

void checkpoint_result(const struct orr_step *s, struct step_result *out)
{
	const struct checkpoint *c = s->checkpoint;
	struct step_checkpoints *x = &out->checkpoints;
	*x = (struct step_checkpoints){ .n = s->n_rows / c->every, .period = checkpoint_period(s), .bytes = c->bytes, .iteration_s = NAN };
	size_t written = 0;
	for (size_t i = 0; i < x->n; i++) {
		size_t j = simulated(c, i);
		x->pause_s += c->time[j].pause_s;
		/* Beside the write of the last checkpoint of the cycle no iteration was simulated; it takes the time of the one before
		 * the cycle. */
		if (c->cycle && j + 1 == c->mark + c->cycle)
			j -= c->cycle;
		if (j >= c->n_written)
			continue;
		x->write_s += c->time[j].write_s;
		written++;
	}
	x->write_s /= (double)written;
}
