/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The kinds of updates: a snapshot of the inputs when the op starts, and the effect when the op ends. */
#include "learn/state.h"

#include "base/mem.h"

#include <string.h>

/* Computes v = momentum v + u over the span; u holds only the elements of the span. Creates *v on first use. Returns v's span. */
static const double *add_velocity(struct learn *l, struct vec **v, const double *u, struct span s)
{
	if (!*v)
		*v = vec_ref(l->zero);
	double *out = vec_writable(&l->pool, v, true) + s.first;
	vec_axpy(out, u, l->config.momentum, out, s.n);
	return out;
}

/* Sets x -= step u over the span; u has the length of the span. A shared x is read in place, which avoids a copy. */
static void descend(struct learn *l, struct vec **x, double step, const double *u, struct span s)
{
	struct vec *old = *x;
	bool is_shared = old->refs > 1;
	if (is_shared) {
		*x = vec_new(&l->pool, l->pool.dim);
		if (s.n < l->pool.dim)
			memcpy((*x)->v, old->v, l->pool.dim * sizeof old->v[0]);
	}
	vec_axpy((*x)->v + s.first, old->v + s.first, -step, u, s.n);
	if (is_shared)
		vec_unref(&l->pool, old);
}

/* ---- one device ---- */

static void local_update(struct learn *l, struct replica *r, struct span s)
{
	const double *u = gradient_of(l, r)->v + s.first;
	if (l->config.momentum != 0)
		u = add_velocity(l, &r->velocity, u, s);
	descend(l, &r->x, learn_rate(l), u, s);
}

/* Counts staleness: for each gradient in the inbox, the updates since its push. The staleness of the worker's own gradient is 0. */
static void note_inbox(struct learn *l, struct replica *r)
{
	l->staleness += r->inbox_count * (double)l->pushes - r->inbox_pushes;
	l->n_stale += r->inbox_count + 1;
	r->inbox_count = r->inbox_pushes = 0;
	r->x_pushes = ++l->pushes;
}

static void apply_inbox(struct learn *l, struct replica *r, struct span s)
{
	if (r->inbox == l->zero) {
		local_update(l, r, s);
		return;
	}
	double *inbox = vec_writable(&l->pool, &r->inbox, true) + s.first;
	const double *u = inbox;
	vec_axpy(inbox, inbox, 1, gradient_of(l, r)->v + s.first, s.n);
	if (l->config.momentum != 0)
		u = add_velocity(l, &r->velocity, inbox, s);
	descend(l, &r->x, learn_rate(l), u, s);
	if (s.n < l->pool.dim) {
		memset(inbox, 0, s.n * sizeof *inbox);
		return;
	}
	vec_unref(&l->pool, r->inbox);
	r->inbox = vec_ref(l->zero);
}

static void window_add(struct learn *l, struct replica *r, uint32_t window)
{
	if (r->n_window == r->cap_window) {
		r->cap_window = r->cap_window ? 2 * r->cap_window : 8;
		r->window = mem_realloc(r->window, r->cap_window, sizeof *r->window);
		r->window_pushes = mem_realloc(r->window_pushes, r->cap_window, sizeof *r->window_pushes);
	}
	r->window[r->n_window] = vec_ref(gradient_of(l, r));
	r->window_pushes[r->n_window++] = r->g.now.pushes;
	if (r->n_window <= window)
		return;
	uint32_t gone = r->n_window - window;
	for (uint32_t i = 0; i < gone; i++)
		vec_unref(&l->pool, r->window[i]);
	memmove(r->window, r->window + gone, window * sizeof *r->window);
	memmove(r->window_pushes, r->window_pushes + gone, window * sizeof *r->window_pushes);
	r->n_window = window;
}

static void accumulate(struct learn *l, struct replica *r, const struct effect *e)
{
	window_add(l, r, e->u.window ? e->u.window : 1);
	uint64_t pushes = 0;
	struct vec *sum = vec_ref(r->window[0]);
	if (r->n_window > 1) {
		vec_unref(&l->pool, sum);
		sum = vec_new(&l->pool, l->pool.dim);
		vec_axpy(sum->v, r->window[0]->v, 1, r->window[1]->v, l->pool.dim);
	}
	for (uint32_t i = 2; i < r->n_window; i++)
		vec_axpy(sum->v, sum->v, 1, r->window[i]->v, l->pool.dim);
	for (uint32_t i = 0; i < r->n_window; i++)
		pushes += r->window_pushes[i];
	history_put(l, &r->sum, (struct past){ .v = sum, .iteration = e->iteration, .pushes = pushes, .count = r->n_window });
}

static void take_gradient(struct learn *l, struct replica *r, struct effect *e)
{
	history_put(l, &r->g, (struct past){ .v = e->snapshot, .iteration = e->iteration, .pushes = e->pushes, .count = 1 });
	e->snapshot = NULL;
	l->samples += l->config.batch;
}

/* ---- synchronous model averaging ---- */

static void correct(struct learn *l, struct replica *r, double alpha)
{
	struct base *b = base_of(l, r->device);
	const struct vec *from = r->remembered ? r->remembered : r->x;
	struct vec *c = vec_new(&l->pool, l->pool.dim);
	struct span all = { 0, l->pool.dim };
	for (size_t i = 0; i < l->pool.dim; i++)
		c->v[i] = alpha * (from->v[i] - b->z->v[i]);
	double *sum = vec_writable(&l->pool, &b->corrections, true);
	vec_axpy(sum, sum, 1, c->v, l->pool.dim);
	descend(l, &r->x, 1, c->v, all);
	vec_unref(&l->pool, c);
}

/* Adds the same sum to all members of the group, in the order of the group. */
static void apply_base(struct learn *l, const uint32_t *group, uint32_t n, double momentum)
{
	struct vec *sum = vec_new(&l->pool, l->pool.dim);
	memset(sum->v, 0, l->pool.dim * sizeof sum->v[0]);
	for (uint32_t i = 0; i < n; i++)
		vec_axpy(sum->v, sum->v, 1, base_of(l, group[i])->corrections->v, l->pool.dim);
	for (uint32_t i = 0; i < n; i++) {
		struct base *b = base_of(l, group[i]);
		struct vec *z = vec_new(&l->pool, l->pool.dim);
		for (size_t j = 0; j < l->pool.dim; j++)
			z->v[j] = b->z->v[j] + sum->v[j] + (momentum != 0 ? momentum * (b->z->v[j] - b->previous->v[j]) : 0);
		vec_unref(&l->pool, b->previous);
		vec_unref(&l->pool, b->corrections);
		b->previous = b->z;
		b->z = z;
		b->corrections = vec_ref(l->zero);
	}
	vec_unref(&l->pool, sum);
	l->has_base = true;
}

static void average_models(struct learn *l, const struct effect *e, const uint32_t *group, uint32_t n)
{
	if (e->u.kind == ORR_APPLY_BASE) {
		apply_base(l, group, n, e->u.momentum);
		return;
	}
	for (uint32_t i = 0; i < n; i++) {
		struct replica *r = learner_of(l, group[i], e->u.learner);
		struct vec **to = e->u.kind == ORR_RESTART ? &r->x : &r->remembered;
		struct vec *from = e->u.kind == ORR_RESTART ? base_of(l, group[i])->z : r->x;
		if (e->u.kind == ORR_CORRECT) {
			correct(l, r, e->u.scale);
			continue;
		}
		vec_ref(from);
		vec_unref(&l->pool, *to);
		*to = from;
	}
}

/* ---- groups ---- */

static struct vec **member(struct learn *l, uint32_t device, enum orr_update_kind kind)
{
	struct replica *r = replica_of(l, device);
	if (kind == ORR_AVERAGE_PARAMETERS)
		return &r->x;
	gradient_of(l, r);
	return &r->g.now.v;
}

/* Replaces the vectors of all replicas by their mean; whole vectors are then shared. */
static void average(struct learn *l, enum orr_update_kind kind, struct span s, const uint32_t *group, uint32_t n)
{
	if (n > l->cap_sources) {
		l->cap_sources = n;
		l->sources = mem_realloc(l->sources, n, sizeof *l->sources);
	}
	for (uint32_t i = 0; i < n; i++)
		l->sources[i] = (*member(l, group[i], kind))->v + s.first;
	struct vec *mean = vec_new(&l->pool, s.n);
	vec_sum(mean->v, l->sources, n, 1. / n, s.n);
	for (uint32_t i = 0; i < n; i++) {
		struct vec **v = member(l, group[i], kind);
		if (s.n == l->pool.dim) {
			vec_unref(&l->pool, *v);
			*v = vec_ref(mean);
		} else {
			memcpy(vec_writable(&l->pool, v, true) + s.first, mean->v, s.n * sizeof mean->v[0]);
		}
	}
	vec_unref(&l->pool, mean);
}

/* ---- messages ---- */

/* Keeps the slice in the snapshot, because every push changes the server's copy in place. Other vectors are replaced instead of
 * changed. */
static void keep_server(struct learn *l, struct effect *e)
{
	e->is_slice = e->span.n < l->pool.dim;
	if (!e->is_slice) {
		e->snapshot = vec_ref(l->server);
		return;
	}
	e->snapshot = vec_new(&l->pool, e->span.n);
	memcpy(e->snapshot->v, l->server->v + e->span.first, e->span.n * sizeof l->server->v[0]);
}

static const double *kept(const struct effect *e)
{
	return e->snapshot->v + (e->is_slice ? 0 : e->span.first);
}

/*
 * Returns the vector that a worker sends: its gradient, or with momentum its velocity, to which each gradient is added once, in
 * order. Velocities are linear in gradients, so the pushes of all workers, scaled by 1 / n, sum to the velocity of the mean
 * gradient.
 */
static struct vec *to_push(struct learn *l, struct replica *r, struct past *p)
{
	if (p->v->is_pending)
		gradients_compute(l);
	if (l->config.momentum == 0)
		return p->v;
	for (uint32_t i = 0; i <= r->g.n_old; i++) {
		struct past *q = i < r->g.n_old ? &r->g.old[i] : &r->g.now;
		if (q->number <= r->pushed_at || q->number > p->number)
			continue;
		if (q->v->is_pending)
			gradients_compute(l);
		add_velocity(l, &r->pushed, q->v->v, (struct span){ 0, l->pool.dim });
		q->u = vec_ref(r->pushed);
		r->pushed_at = q->number;
	}
	return p->u ? p->u : p->v;
}

static void push(struct learn *l, const struct effect *e)
{
	descend(l, &l->server, learn_rate(l) * e->u.scale, kept(e), e->span);
	l->has_server = true;
	if (e->u.slice)
		return;
	uint64_t step = e->u.window ? e->u.window : 1; /* pushes */
	l->staleness += (double)((l->pushes - e->pushes) / step);
	l->n_stale++;
	l->pushes++;
}

static void pull(struct learn *l, struct effect *e)
{
	struct replica *r = replica_of(l, e->u.worker);
	struct pulled p = { .v = e->snapshot,
		.span = e->span,
		.is_slice = e->is_slice,
		.from = e->iteration + 1 + e->u.window,
		.pushes = e->pushes,
		.is_first = !e->u.slice };
	e->snapshot = NULL;
	if (!e->iteration || !e->u.window) {
		pulled_apply(l, r, &p);
		return;
	}
	MEM_GROW(r->pulled, r->n_pulled, r->cap_pulled);
	r->pulled[r->n_pulled++] = p;
}

static void receive(struct learn *l, const struct effect *e, uint32_t device)
{
	struct replica *r = replica_of(l, device);
	double *inbox = vec_writable(&l->pool, &r->inbox, true) + e->span.first;
	vec_axpy(inbox, inbox, e->u.scale, kept(e), e->span.n);
	double part = (double)e->span.n / (double)l->pool.dim;
	r->inbox_count += part * e->count;
	r->inbox_pushes += part * (double)e->pushes;
}

/* ---- the two ends of an op ---- */

static void begin_push(struct learn *l, struct effect *e)
{
	struct replica *r = replica_of(l, e->u.worker);
	struct past *p = history_at(&r->g, e->iteration, &l->history_needed);
	e->pushes = p->pushes;
	e->snapshot = vec_ref(to_push(l, r, p));
}

static void begin_send(struct learn *l, struct effect *e, const uint32_t *group)
{
	replica_of(l, group[1]);
	const struct past *p = history_at(&replica_of(l, group[0])->sum, e->iteration, &l->history_needed);
	e->pushes = p->pushes;
	e->count = p->count;
	e->snapshot = vec_ref(p->v);
}

void effect_begin(struct learn *l, struct effect *e, uint64_t op, const uint32_t *group, uint32_t n_group)
{
	if (e->u.kind >= ORR_GATHER) {
		l->wrong = gcn_begin(l, e, op);
		return;
	}
	switch (e->u.kind) {
	case ORR_GRADIENT:
		gradient_begin(l, learner_of(l, group[0], e->u.learner), e);
		break;
	case ORR_PUSH:
		begin_push(l, e);
		break;
	case ORR_PULL:
		replica_of(l, e->u.worker);
		e->pushes = l->pushes;
		keep_server(l, e);
		break;
	case ORR_SEND_SLICE:
		begin_send(l, e, group);
		break;
	case ORR_REMEMBER:
	case ORR_CORRECT:
	case ORR_APPLY_BASE:
	case ORR_RESTART:
		for (uint32_t i = 0; i < n_group; i++)
			base_of(l, group[i]);
		break;
	default:
		for (uint32_t i = 0; i < n_group; i++)
			learner_of(l, group[i], e->u.learner);
	}
}

static void each(struct learn *l, struct effect *e, struct replica *r)
{
	if (e->u.kind == ORR_LOCAL_UPDATE) {
		local_update(l, r, e->span);
	} else if (e->u.kind == ORR_APPLY_INBOX) {
		apply_inbox(l, r, e->span);
		if (!e->u.slice)
			note_inbox(l, r);
	} else {
		accumulate(l, r, e);
	}
}

void effect_end(struct learn *l, struct effect *e, const uint32_t *group, uint32_t n_group)
{
	if (e->u.kind >= ORR_GATHER) {
		gcn_end(l, e, group, n_group);
		return;
	}
	switch (e->u.kind) {
	case ORR_GRADIENT:
		take_gradient(l, learner_of(l, group[0], e->u.learner), e);
		break;
	case ORR_AVERAGE_GRADIENTS:
	case ORR_AVERAGE_PARAMETERS:
		average(l, e->u.kind, e->span, group, n_group);
		break;
	case ORR_PUSH:
		push(l, e);
		break;
	case ORR_PULL:
		pull(l, e);
		break;
	case ORR_SEND_SLICE:
		receive(l, e, group[1]);
		break;
	case ORR_REMEMBER:
	case ORR_CORRECT:
	case ORR_APPLY_BASE:
	case ORR_RESTART:
		average_models(l, e, group, n_group);
		break;
	default:
		for (uint32_t i = 0; i < n_group; i++)
			each(l, e, learner_of(l, group[i], e->u.learner));
	}
	bool is_update = e->u.kind == ORR_LOCAL_UPDATE || e->u.kind == ORR_PUSH || e->u.kind == ORR_APPLY_INBOX;
	if (is_update && !e->u.slice) /* a push counts once, not per slice */
		l->updates += e->u.kind == ORR_PUSH ? 1 : n_group;
	if (is_update || e->u.kind == ORR_GRADIENT)
		series_note(l);
}
