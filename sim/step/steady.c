/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Detection of the steady state. */
#include "step/checkpoint.h"
#include "step/exec.h"
#include "step/wire.h"

/* Durations within this relative distance are equal. */
static const double same_duration = 1e-9;

static double duration(const struct orr_step *s, size_t k)
{
	return s->row[k].end_s - s->row[k - 1].end_s;
}

/*
 * Equal durations are not sufficient. If workers are not synchronised, a worker that is slightly slower in each iteration may
 * not be the last to end for a long time. So the mean end of all ops must shift by the same time, and the same number of ops must be in
 * flight. Messages that no iteration waits for may fall behind, too, by less than one message in an iteration: so as many ops must have
 * ended since the last row, at the same times relative to it.
 */
static bool has_moved(const struct orr_step *s, size_t k, uint32_t period)
{
	const struct step_iteration *a = &s->row[k - period], *b = &s->row[k];
	const struct row_mark *x = &s->mark[(k - period) % STEP_MARKS], *y = &s->mark[k % STEP_MARKS];
	double shift = b->end_s - a->end_s, limit = same_duration * (fabs(shift) + 1e-12);
	return x->left == y->left && x->ended == y->ended && fabs(y->ended_s - x->ended_s) <= limit * (double)(y->ended + 1) &&
	       fabs(b->start_s - a->start_s - shift) <= limit && fabs(y->mean_s - x->mean_s - shift) <= limit;
}

static bool repeats(const struct orr_step *s, size_t n, uint32_t period)
{
	/* Requires three equal periods. Excludes the first iteration, which includes the start-up, and a warm-up of compression. */
	const struct checkpoint *c = s->checkpoint;
	if (n < 3u * period + 2 + compression_settles(&s->compression) || (c && n < c->since + 3u * period + 2))
		return false;
	double scale = fabs(duration(s, n - 1)) + 1e-12;
	for (size_t j = 0; j < 2u * period; j++)
		if (fabs(duration(s, n - 1 - j) - duration(s, n - 1 - j - period)) > same_duration * scale ||
			!has_moved(s, n - 1 - j, period))
			return false;
	return s->row[n - 1 - 3 * period].end_s >= fmax(wire_calm_s(s), c ? c->changed_s : 0);
}

/* Returns whether the capacity of a link has changed after the first iteration. Then all iterations count, as before a change. */
static bool is_disturbed(const struct orr_step *s)
{
	return !s->checkpoint && s->n_rows && wire_calm_s(s) > s->row[0].end_s;
}

bool steady(struct orr_step *s)
{
	size_t n = s->n_rows;
	if (s->period || (s->used & STEP_USED_STEADY_STATE && !s->checkpoint) || s->is_random || may_react(s) || s->shared_net ||
		s->config->hook || (s->n_counts && s->checkpoint) || n >= s->wanted || is_disturbed(s))
		return false;
	for (size_t i = 0; i < n && i < 3u * STEP_MAX_PERIOD + 2; i++)
		if (isnan(s->row[n - 1 - i].end_s))
			return false; /* a later iteration ended before an earlier one */
	for (uint32_t p = s->graph_period; p && p <= STEP_MAX_PERIOD; p += s->graph_period)
		if (repeats(s, n, p)) {
			if (s->checkpoint) {
				checkpoint_skip(s, p);
				return false;
			}
			s->used |= STEP_USED_STEADY_STATE;
			if (orr_arg_bool(s->config->options, "exact"))
				return false;
			s->period = p;
			s->steady_rows = n;
			s->build_until = s->built;
			return !s->config->check; /* --check requires that every byte arrives */
		}
	return false;
}
