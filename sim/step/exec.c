/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The executor starts each instance whose dependencies have ended and whose streams are free, then advances time to the
 * next end.
 *
 * A ready instance is in the heap of each stream that it needs, ordered by (priority, order of creation). It starts when it
 * is at the top of all its heaps and all its streams are free. The order is total, so the first of all ready instances is
 * at the top of each of its heaps: no deadlock.
 */
#include "step/exec.h"
#include "step/checkpoint.h"
#include "step/experts.h"
#include "step/functions.h"
#include "step/path.h"
#include "step/wire.h"

#include "base/heap.h"
#include "base/mem.h"

#include <stdio.h>

/* ---- streams ---- */

static inline bool ready_before(const void *none, const struct ready *a, const struct ready *b)
{
	(void)none;
	return a->priority < b->priority || (a->priority == b->priority && a->order < b->order);
}

HEAP(ready, struct ready, const void, ready_before, HEAP_UNTRACKED)

static void stream_push(struct stream *q, struct ready r)
{
	MEM_GROW(q->heap, q->n, q->cap);
	ready_up(NULL, q->heap, q->n++, r);
}

static void stream_pop(struct stream *q)
{
	uint32_t n = --q->n;
	ready_down(NULL, q->heap, n, 0, q->heap[n]);
}

static void make_dirty(struct orr_step *s, uint32_t q)
{
	if (s->stream[q].is_dirty)
		return;
	s->stream[q].is_dirty = true;
	MEM_GROW(s->dirty, s->n_dirty, s->cap_dirty);
	s->dirty[s->n_dirty++] = q;
}

/* Returns the number of streams that the instance needs; stream_at() returns each of them. */
static uint32_t streams_of(const struct orr_step *s, const struct iteration *k, const struct op *o)
{
	if (o->stream == NO_STREAM)
		return 0;
	if (o->type != OP_COLLECTIVE || (s->lanes_run == 1 && k->coll[o->collective].size))
		return 1;
	return k->coll[o->collective].n;
}

static uint32_t stream_at(const struct orr_step *s, const struct iteration *k, const struct instance *x, uint32_t j)
{
	const struct op *o = &k->op[x->op];
	uint32_t device =
		o->type == OP_COLLECTIVE ? rank_device(s, k, &k->coll[o->collective], x->lane, j) : real_device(s, x->lane, o->device);
	return device * STEP_STREAMS + o->stream;
}

/* ---- from WAITING to READY to GOING to ENDED ---- */

static void compute(struct orr_step *s, struct iteration *k, uint32_t i, const struct op *o)
{
	uint32_t device = real_device(s, k->instance[i].lane, o->device);
	double seconds = compute_s(s, o, k->instance[i].lane) * stretch(s, device, k->number, k->instance[i].op);
	if (s->corun)
		corun_start(s, device, k, i, seconds, o->occupancy > 0 ? o->occupancy : 1);
	else
		timer_add(s, s->now_s + seconds, k, i);
}

static void start(struct orr_step *s, struct iteration *k, uint32_t i)
{
	struct instance *x = &k->instance[i];
	const struct op *o = &k->op[x->op];
	x->state = GOING;
	x->start_s = s->now_s;
	if (o->type == OP_MARK || o->is_cancelled) {
		if (!o->is_cancelled)
			account_memory(s, k, i, true);
		instance_end(s, k, i);
		return;
	}
	if (!k->has_begun) {
		k->has_begun = true;
		k->start_s = s->now_s;
		if (k->number + 1 == s->built) {
			s->build_more = true;
			path_builds(s, k, i);
		}
	}
	if (s->functions && o->type != OP_COLLECTIVE)
		functions_op_starts(s, o, o->device, o->peer);
	if (s->error.code || account_start(s, k, i))
		return;
	if (o->type == OP_COMPUTE)
		compute(s, k, i, o);
	else if (o->type == OP_DELAY)
		timer_add(s, s->now_s + (o->is_invoke ? functions_start_s(s) : o->amount), k, i);
	else
		wire_start(s, k, i);
}

static void ready(struct orr_step *s, struct iteration *k, uint32_t i)
{
	struct instance *x = &k->instance[i];
	const struct op *o = &k->op[x->op];
	uint32_t n = streams_of(s, k, o);
	x->state = READY;
	x->ready_s = s->now_s;
	if (!n) {
		start(s, k, i);
		return;
	}
	struct ready r = { o->priority, k->number << 32 | i, k, i };
	for (uint32_t j = 0; j < n; j++) {
		uint32_t q = stream_at(s, k, x, j);
		stream_push(&s->stream[q], r);
		make_dirty(s, q);
	}
}

static bool can_start(const struct orr_step *s, const struct ready *r)
{
	const struct instance *x = &r->of->instance[r->instance];
	uint32_t n = streams_of(s, r->of, &r->of->op[x->op]);
	for (uint32_t j = 0; j < n; j++) {
		const struct stream *q = &s->stream[stream_at(s, r->of, x, j)];
		if (q->is_busy || !q->n || q->heap[0].of != r->of || q->heap[0].instance != r->instance)
			return false;
	}
	return true;
}

static void dispatch(struct orr_step *s)
{
	while (s->n_dirty && !s->error.code) {
		uint32_t at = s->dirty[--s->n_dirty];
		s->stream[at].is_dirty = false;
		if (s->stream[at].is_busy || !s->stream[at].n)
			continue;
		struct ready r = s->stream[at].heap[0];
		if (!can_start(s, &r))
			continue;
		const struct instance *x = &r.of->instance[r.instance];
		uint32_t n = streams_of(s, r.of, &r.of->op[x->op]);
		for (uint32_t j = 0; j < n; j++) {
			struct stream *q = &s->stream[stream_at(s, r.of, x, j)];
			path_waited(s, (uint32_t)(q - s->stream), r.of, r.instance);
			q->is_busy = true;
			stream_pop(q);
		}
		start(s, r.of, r.instance);
	}
}

static void row_add(struct orr_step *s, struct iteration *k)
{
	k->end_s = s->now_s;
	k->has_row = true;
	while (s->n_rows <= k->number) {
		MEM_GROW(s->row, s->n_rows, s->cap_rows);
		s->row[s->n_rows] = (struct step_iteration){ .number = s->n_rows, .end_s = NAN };
		s->n_rows++;
	}
	s->row[k->number] = (struct step_iteration){ k->number, k->start_s, k->end_s, k->samples };
	s->mark[k->number % STEP_MARKS] =
		(struct row_mark){ k->start_s + k->ends_s / k->n_instances, s->left, s->ended, s->ended_s - (double)s->ended * s->now_s };
	s->ended = 0;
	s->ended_s = 0;
	if (k->number + 1 == s->lead && s->wanted > 1)
		account_measure(s);
	s->is_measured |= k->number + 1 == s->wanted;
	s->n_ended += k->number < s->wanted;
}

/* Returns the number of instances that one instance of a merged run represents. */
static uint32_t stands_for(const struct orr_step *s, const struct iteration *k, const struct op *o)
{
	uint32_t size = o->type == OP_COLLECTIVE ? k->coll[o->collective].size : 0;
	return s->lanes_run > 1 ? 1 : s->lanes / (size ? size : 1);
}

/* Notes at instance j of `to`, which becomes ready, that it waited for the end of instance i of k, and whether this end ended a
 * message or a chain of messages. */
static void note_cause(struct iteration *to, uint32_t j, struct iteration *k, uint32_t i)
{
	struct instance *y = &to->instance[j];
	const struct instance *x = &k->instance[i];
	const struct op *o = &k->op[x->op];
	bool is_comm = o->type == OP_TRANSFER || o->type == OP_COLLECTIVE;
	y->has_comm = is_comm || (o->type == OP_MARK && x->has_comm);
	y->comm_start_s = is_comm && !x->has_comm ? x->ready_s : x->comm_start_s;
	path_leads(to, j, k, i);
}

/* Opens the gates that the call of ended() for instance i has opened. */
static void open_gates(struct orr_step *s, struct iteration *of, uint32_t i)
{
	for (uint32_t j = 0; j < s->n_opened && !s->error.code; j++) {
		orr_op gate = s->opened[j].after;
		struct iteration *k = iteration_live(s, op_iteration(gate));
		uint32_t to = k->op[op_index(gate)].first_instance;
		if (!expand_open(s, gate, s->opened[j].before))
			continue;
		note_cause(k, to, of, i);
		ready(s, k, to);
	}
	s->n_opened = 0;
}

static void iteration_over(struct orr_step *s, struct iteration *k, uint32_t i)
{
	const struct instance *x = &k->instance[i];
	bool is_comm = k->op[x->op].type == OP_TRANSFER || k->op[x->op].type == OP_COLLECTIVE;
	row_add(s, k);
	if (k->number + 1 == s->wanted && !s->left && (is_comm || x->has_comm))
		account_last(s, x->has_comm ? x->comm_start_s : x->ready_s);
	path_iteration(s, k, i);
	checkpoint_row(s);
	s->is_stopped = s->is_stopped || (s->is_continued && s->n_ended == s->wanted) ||
			(s->config->stop && s->config->stop(s->config->hook_ctx, s->now_s)) || steady(s);
}

static void finish(struct orr_step *s, struct iteration *k, uint32_t i)
{
	struct instance *x = &k->instance[i];
	const struct op *o = &k->op[x->op];
	x->state = ENDED;
	s->ended++;
	s->ended_s += s->now_s;
	uint32_t n = streams_of(s, k, o);
	for (uint32_t j = 0; j < n; j++) {
		uint32_t q = stream_at(s, k, x, j);
		s->stream[q].is_busy = false;
		path_stream_free(s, q, k, i);
		make_dirty(s, q);
	}
	if (o->type == OP_MARK && !o->is_cancelled)
		account_memory(s, k, i, false);
	else if (!o->is_cancelled)
		account_end(s, k, i);
	if (o->function && !o->is_cancelled)
		functions_op_ended(s, o);
	if (o->counts > 0) {
		MEM_GROW(s->count, s->n_counts, s->cap_counts);
		s->count[s->n_counts++] =
			(struct sample_count){ s->now_s, o->counts * stands_for(s, k, o), k->number, o->counter * s->lanes_run + x->lane };
	}
	for (uint32_t e = x->first_edge; e != NONE; e = k->edge[e].next) {
		struct iteration *to = k->edge[e].of;
		if (--to->instance[k->edge[e].to].waits)
			continue;
		note_cause(to, k->edge[e].to, k, i);
		ready(s, to, k->edge[e].to);
	}
	if (o->is_watched) {
		uint32_t first = policy_ended(s, k, x->op);
		for (uint32_t j = first; j < k->n_instances && !s->error.code; j++)
			if (!k->instance[j].waits) {
				note_cause(k, j, k, i);
				ready(s, k, j);
			}
		open_gates(s, k, i);
		o = &k->op[k->instance[i].op]; /* the arrays may have moved */
	}
	k->left--;
	s->left--;
	k->ends_s += o->is_detached ? 0 : s->now_s - k->start_s;
	if (o->is_detached)
		return;
	k->left_attached--;
	if (!k->left_attached)
		iteration_over(s, k, i);
	else if (k->has_checkpoint && k->left_attached == 1)
		checkpoint_due(s, k, i);
}

/* The pause for a checkpoint is over: the iteration has ended, and later ones may start. */
static void pause_over(struct orr_step *s)
{
	struct iteration *k = s->checkpoint->of;
	uint64_t gate = k->number + 1;
	k->left--;
	k->left_attached--;
	s->left--;
	iteration_over(s, k, s->checkpoint->instance);
	s->is_stopped = checkpoint_over(s) || s->is_stopped;
	for (uint64_t j = 0; j < s->n_live && !s->error.code; j++) {
		struct iteration *to = s->live[j];
		for (uint32_t i = 0; to->gate == gate && i < to->n_instances && !s->error.code; i++)
			if (!--to->instance[i].waits && to->instance[i].state == WAITING)
				ready(s, to, i);
	}
}

static void follow_up(struct orr_step *s)
{
	/* Handles instances in the order of their ends. Marks that end during the loop are appended to the queue. */
	for (uint32_t i = 0; i < s->n_done; i++)
		finish(s, s->done[i].of, s->done[i].instance);
	s->n_done = 0;
	if (checkpoint_proceed(s))
		pause_over(s);
}

void exec_begin(struct orr_step *s, struct iteration *k)
{
	for (uint32_t i = 0; i < k->n_instances && !s->error.code; i++)
		if (!k->instance[i].waits && k->instance[i].state == WAITING)
			ready(s, k, i);
}

/* Retires the oldest iterations first, so an iteration below first_live has ended completely. */
static void retire(struct orr_step *s)
{
	while (s->n_live && !s->live[0]->left) {
		struct iteration *k = s->live[0];
		account_retire(s, k);
		s->n_live--;
		s->first_live++;
		for (uint64_t i = 0; i < s->n_live; i++)
			s->live[i] = s->live[i + 1];
		path_retire(s, k);
	}
}

void exec_stuck(struct orr_step *s)
{
	if (checkpoint_is_writing(s)) {
		step_fail(s, ORR_EFAIL, "at %.9g s: a checkpoint is never written: expected storage and NICs with a capacity above 0",
			s->now_s);
		return;
	}
	for (uint64_t j = 0; j < s->n_live; j++) {
		struct iteration *k = s->live[j];
		for (uint32_t i = 0; i < k->n_instances; i++) {
			const struct instance *x = &k->instance[i];
			if (x->state == ENDED)
				continue;
			static const char *const state[] = { "waits for ops that never end", "waits for a stream that is never free",
				"never ends: its messages make no progress (possible cause: a link of capacity 0)", "" };
			bool is_shut = k->op[x->op].is_gate && !k->op[x->op].is_open && x->waits == 1;
			step_fail(s, ORR_EFAIL, "at %.9g s: op %u of iteration %llu %s", s->now_s, x->op, (unsigned long long)k->number,
				is_shut ? "is a gate for which orr_open() was not called" : state[x->state]);
			return;
		}
	}
	if (s->built < s->build_until && !s->error.code)
		step_fail(s, ORR_EFAIL, "iteration %llu has only marks: expected an op that takes time", (unsigned long long)s->built - 1);
}

/* Returns the tolerance of simultaneous events, so that rounding does not decide which op gets a stream. */
static double tie_s(double now_s)
{
	return 1e-11 * now_s;
}

static double next_event(struct orr_step *s)
{
	double t = wire_next(s);
	return s->n_timers && s->timer[0].time_s < t ? s->timer[0].time_s : t;
}

void exec_timers(struct orr_step *s)
{
	while (s->n_timers && s->timer[0].time_s <= s->now_s) {
		struct timer x = timer_pop(s);
		if (x.leap != NONE)
			wire_leap_over(s, x.leap, x.generation);
		else if (!x.of && x.instance == NONE)
			checkpoint_timer(s, x.generation);
		else if (!x.of)
			corun_timer(s, x.instance, x.generation);
		else
			instance_end(s, x.of, x.instance);
	}
}

static void pass_to(struct orr_step *s, double t)
{
	t = fmax(t, s->now_s);
	use_pass(s, t);
	s->now_s = t;
	wire_advance(s, t);
	exec_timers(s);
	if (s->config->check)
		wire_verify(s);
}

enum { MOST_CONTINUED = 1 << 14, MOST_INSTANCES = 2000000 };

/*
 * Returns whether to build one more iteration than requested: workers that are not synchronised go on until the slowest one has
 * done its iterations, because without their messages its last iterations would be faster. Runs whose iterations have another
 * meaning end with the requested ones, and so do those whose workers are so far apart that the graphs would take too much memory.
 * A run of one iteration has nothing to measure after a start; it ends with its last message.
 */
static bool goes_on(const struct orr_step *s)
{
	const struct iteration *k = s->n_live ? s->live[s->n_live - 1] : NULL;
	return s->has_workers && s->wanted > 1 && k && !s->period && !s->config->hook && !s->config->built && !s->config->stop &&
	       !s->shared_net && !s->checkpoint && !s->is_reacting && s->n_ended < s->wanted && s->n_live < MOST_CONTINUED &&
	       s->n_live * (k->n_instances + UINT64_C(1)) < MOST_INSTANCES;
}

bool exec_settle(struct orr_step *s)
{
	while (!s->error.code && !s->is_stopped) {
		follow_up(s);
		/* A single run may advance time; one of several must wait for the others. */
		double t = s->shared_net ? INFINITY : next_event(s);
		if (t <= s->now_s + tie_s(s->now_s)) {
			pass_to(s, t);
			continue;
		}
		dispatch(s);
		if (s->n_done)
			continue;
		retire(s);
		if (!s->build_more)
			return s->n_live > 0 || checkpoint_is_writing(s);
		s->build_more = false;
		bool is_more = s->built >= s->build_until && goes_on(s);
		s->is_continued |= is_more;
		if ((is_more || s->built < s->build_until) && !policy_build(s))
			exec_begin(s, s->live[s->n_live - 1]);
	}
	return false;
}

int exec_run(struct orr_step *s)
{
	while (exec_settle(s) && !s->is_stopped) {
		double t = next_event(s);
		if (isinf(t))
			break;
		pass_to(s, t);
	}
	if (!s->error.code && !s->is_stopped)
		exec_stuck(s);
	return s->error.code;
}
