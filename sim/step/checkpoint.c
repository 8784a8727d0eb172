/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Pauses for checkpoints, writes in the background, and iterations that are not simulated because they repeat. */
#include "step/checkpoint.h"

#include "step/exec.h"
#include "step/path.h"
#include "step/wire.h"

#include "base/mem.h"

#include <string.h>

enum { TIMER_SNAPSHOT, TIMER_WRITE };

/* ---- setting up ---- */

int checkpoint_new(struct orr_step *s)
{
	const struct orr_args *o = s->config->options;
	uint64_t every = (uint64_t)orr_arg_int(o, "checkpoint_every");
	if (!every || s->is_without_checkpoints)
		return ORR_OK;
	if (s->shared_net)
		return orr_fail(&s->error, ORR_EINPUT, "step.checkpoint_every: expected 0 for jobs that share a network");
	struct checkpoint *c = s->checkpoint = mem_zalloc(1, sizeof *c);
	c->every = every;
	c->bytes = s->facts.params * orr_arg_real(o, "checkpoint_bytes");
	if (storage_begin(s))
		return s->error.code;
	if (every > s->wanted) { /* checked, and without effect */
		checkpoint_free(s);
		return ORR_OK;
	}
	/* In a merged run, training and a write are in the network together only if they share links. */
	c->in_network = !s->is_analytic && (!s->is_merged || (c->is_async && !c->is_dedicated));
	c->alone_s = storage_alone_s(s);
	s->used |= STEP_USED_CHECKPOINT | (c->is_dedicated ? 0 : STEP_USED_MESSAGES | STEP_USED_NETWORK);
	return ORR_OK;
}

void checkpoint_free(struct orr_step *s)
{
	struct checkpoint *c = s->checkpoint;
	if (!c)
		return;
	mem_free(c->time);
	mem_free(c->flow);
	mem_free(c->skip);
	mem_free(c->mark_total);
	mem_free(c->usage);
	mem_free(c);
	s->checkpoint = NULL;
}

void checkpoint_built(struct orr_step *s, struct iteration *k)
{
	struct checkpoint *c = s->checkpoint;
	k->has_checkpoint = false;
	k->gate = 0;
	if (!c)
		return;
	if (c->gate > c->is_over) {
		k->gate = c->gate;
		for (uint32_t i = 0; i < k->n_instances; i++)
			k->instance[i].waits++;
	}
	if ((k->number + c->skipped_n + 1) % c->every)
		return;
	k->has_checkpoint = true;
	c->gate = k->number + 1;
	k->left++;
	k->left_attached++;
	s->left++;
}

/* ---- the write ---- */

static void write_ended(struct orr_step *s)
{
	struct checkpoint *c = s->checkpoint;
	c->is_writing = false;
	c->changed_s = s->now_s;
	c->time[c->n_written++].write_s = s->now_s - c->write_from_s;
}

static void add_timer(struct orr_step *s)
{
	struct checkpoint *c = s->checkpoint;
	if (isfinite(c->write_until_s)) /* else it never ends: exec_stuck() */
		timer_add_checkpoint(s, c->write_until_s, TIMER_WRITE + c->timers);
}

static void write_start(struct orr_step *s)
{
	struct checkpoint *c = s->checkpoint;
	c->is_writing = true;
	c->write_from_s = c->changed_s = s->now_s;
	if (c->in_network) {
		storage_write(s);
		c->flows_left = c->n_flows;
		return;
	}
	c->write_until_s = s->now_s + c->alone_s;
	add_timer(s);
}

void checkpoint_flow_ended(struct orr_step *s, uint32_t flow)
{
	struct checkpoint *c = s->checkpoint;
	c->flow[flow].slot = NONE;
	c->changed_s = s->now_s;
	if (!--c->flows_left)
		write_ended(s);
}

void checkpoint_timer(struct orr_step *s, uint32_t what)
{
	struct checkpoint *c = s->checkpoint;
	if (what == TIMER_SNAPSHOT) {
		write_start(s);
		c->state = PAUSE_OVER;
	} else if (what == TIMER_WRITE + c->timers) {
		write_ended(s);
	}
}

void checkpoint_row(struct orr_step *s)
{
	struct checkpoint *c = s->checkpoint;
	for (uint32_t i = 0; c && c->is_writing && i < c->n_flows; i++)
		if (c->flow[i].slot != NONE)
			c->flow[i].left[(s->n_rows - 1) % (STEP_MAX_PERIOD + 1)] = storage_left(s, c->flow[i].slot);
}

/* Returns the bytes of a flow that one period before row n takes. */
static double taken(const struct writing *x, uint64_t n, uint32_t period)
{
	return x->left[(n - 1 - period) % (STEP_MAX_PERIOD + 1)] - x->left[(n - 1) % (STEP_MAX_PERIOD + 1)];
}

/* Returns the number of periods before the one in which the write, or one of its flows, ends. */
static double periods_of_write(const struct orr_step *s, uint64_t n, uint32_t period, double period_s)
{
	const struct checkpoint *c = s->checkpoint;
	double periods = INFINITY;
	if (!c->is_writing)
		return periods;
	if (!c->in_network)
		return floor((c->write_until_s - s->now_s) / period_s) - 1;
	for (uint32_t i = 0; i < c->n_flows; i++)
		if (c->flow[i].slot != NONE && taken(&c->flow[i], n, period) > 0)
			periods = fmin(periods, floor(storage_left(s, c->flow[i].slot) / taken(&c->flow[i], n, period)) - 1);
	return periods;
}

/* Moves a write on by `times` periods. */
static void write_on(struct orr_step *s, uint64_t n, uint32_t period, double times, double time_s)
{
	struct checkpoint *c = s->checkpoint;
	if (!c->is_writing)
		return;
	c->write_from_s -= time_s;
	if (!c->in_network) {
		c->write_until_s -= time_s;
		c->timers++;
		add_timer(s);
		return;
	}
	for (uint32_t i = 0; i < c->n_flows; i++)
		if (c->flow[i].slot != NONE)
			storage_shorten(s, c->flow[i].slot, taken(&c->flow[i], n, period) * times);
}

/* ---- the pause ---- */

void checkpoint_due(struct orr_step *s, struct iteration *k, uint32_t i)
{
	struct checkpoint *c = s->checkpoint;
	c->of = k;
	c->instance = i;
	c->state = PAUSE_DUE;
}

static bool have_earlier_ended(const struct orr_step *s, uint64_t number)
{
	for (uint64_t i = 0; i < s->n_live && s->live[i]->number < number; i++)
		if (!s->live[i]->has_row)
			return false;
	return true;
}

static void pause_begin(struct orr_step *s)
{
	struct checkpoint *c = s->checkpoint;
	MEM_GROW(c->time, c->n, c->cap);
	c->time[c->n++] = (struct checkpoint_time){ NAN, NAN };
	c->due_s = s->now_s;
	c->state = PAUSE_WAIT;
}

/* The previous write has ended. */
static void pause_continue(struct orr_step *s)
{
	struct checkpoint *c = s->checkpoint;
	c->copy_s = s->now_s;
	c->state = c->is_async ? PAUSE_SNAPSHOT : PAUSE_WRITE;
	if (c->is_async)
		timer_add_checkpoint(s, s->now_s + c->snapshot_s, TIMER_SNAPSHOT);
	else
		write_start(s);
}

bool checkpoint_proceed(struct orr_step *s)
{
	struct checkpoint *c = s->checkpoint;
	if (!c || c->state == PAUSE_NONE)
		return false;
	if (c->state == PAUSE_DUE && have_earlier_ended(s, c->of->number))
		pause_begin(s);
	if (c->state == PAUSE_WAIT && !c->is_writing)
		pause_continue(s);
	else if (c->state == PAUSE_WRITE && !c->is_writing)
		c->state = PAUSE_OVER;
	if (c->state != PAUSE_OVER)
		return false;
	c->state = PAUSE_NONE;
	c->is_over = c->of->number + 1;
	c->since = c->of->number + 1;
	c->time[c->n - 1].pause_s = s->now_s - c->due_s;
	/* The pause is neither exposed communication nor bubble. */
	for (uint32_t d = 0; d < s->endpoints; d++)
		s->device[d].busy_until = s->now_s;
	return true;
}

/* ---- iterations that repeat ---- */

static bool is_exact(const struct orr_step *s)
{
	return orr_arg_bool(s->config->options, "exact");
}

/* Returns the usage of an iteration that has ended. */
static const struct usage *usage_in(const struct orr_step *s, uint64_t number)
{
	const struct iteration *k = iteration_live(s, number);
	return k ? k->usage : s->recent + (number % STEP_MAX_PERIOD) * s->endpoints;
}

/* Adds `times` the usage of the last `period` iterations before row n to the accounts. */
static void add_usage(struct orr_step *s, uint64_t n, uint32_t period, double times)
{
	for (uint32_t j = 1; j <= period; j++) {
		const struct usage *u = usage_in(s, n - j);
		for (uint32_t d = 0; d < s->endpoints; d++)
			usage_add(&s->total[d], &u[d], times);
	}
}

void checkpoint_skip(struct orr_step *s, uint32_t period)
{
	struct checkpoint *c = s->checkpoint;
	uint64_t n = s->n_rows, wanted = s->wanted + c->skipped_n, built = s->built + c->skipped_n;
	uint64_t next = built + (c->every - (built + 1) % c->every) % c->every, target = next < wanted ? next : wanted;
	bool is_before = n < s->lead; /* the accounts begin at the end of a simulated iteration */
	if (is_before && target > s->lead + c->skipped_n)
		target = s->lead + c->skipped_n;
	uint64_t count = target > built ? (target - built) / period * period : 0;
	double period_s = s->row[n - 1].end_s - s->row[n - 1 - period].end_s;
	double times = fmin((double)(count / period), periods_of_write(s, n, period, period_s)), time_s = period_s * times;
	if (!(times >= 1) || c->gate > c->is_over || s->use)
		return;
	s->used |= STEP_USED_STEADY_STATE;
	if (is_exact(s))
		return;
	count = (uint64_t)times * period;
	add_usage(s, n, period, times);
	write_on(s, n, period, times, time_s);
	path_skip(s, n, period, count);
	MEM_GROW(c->skip, c->n_skips, c->cap_skips);
	c->skip[c->n_skips++] = (struct skip){ n, count, period, time_s };
	c->skipped_n += count;
	c->skipped_s += time_s;
	s->wanted -= count;
	s->lead -= is_before ? count : 0;
	s->build_until -= count;
}

/* Returns whether nothing of training is in flight, and nothing will change later on. After a change of a link's capacity all
 * iterations count (steady.c). */
static bool is_at_rest(const struct orr_step *s, uint64_t n)
{
	for (uint64_t i = 0; i < s->n_live && s->live[i]->number < n; i++)
		if (s->live[i]->left)
			return false;
	return !s->is_random && !may_react(s) && !s->config->hook && !s->n_counts && !s->use && s->graph_period &&
	       wire_calm_s(s) <= s->row[0].end_s && n > compression_settles(&s->compression);
}

bool checkpoint_over(struct orr_step *s)
{
	struct checkpoint *c = s->checkpoint;
	size_t size = s->endpoints * sizeof *c->usage;
	uint64_t n = c->since;
	if (c->cycle || n < s->lead || !is_at_rest(s, n))
		return false;
	if (!c->mark) {
		c->mark = c->n;
		c->mark_total = mem_alloc(size);
		memcpy(c->mark_total, s->total, size);
		return false;
	}
	if ((c->n - c->mark) * c->every % s->graph_period)
		return false;
	s->used |= STEP_USED_STEADY_STATE;
	if (is_exact(s))
		return false;
	c->cycle = c->n - c->mark;
	c->end = n;
	c->usage = mem_alloc(size);
	memcpy(c->usage, s->total, size);
	for (uint32_t d = 0; d < s->endpoints; d++)
		usage_add(&c->usage[d], &c->mark_total[d], -1);
	s->build_until = s->built;
	return !s->config->check;
}
