/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Replicas and their gradients: choice of rows, and parallel computation of all pending gradients. */
#include "learn/state.h"

#include "base/mem.h"

#include <gsl/gsl_randist.h>
#include <string.h>

#ifdef _OPENMP
#include <omp.h>
#endif

static void spread(struct learn *l, struct replica *r)
{
	struct rng own;
	rng_init(&own, l->config.seed, "learn.spread", (uint64_t)r->learner << 32 | r->device);
	double *x = vec_writable(&l->pool, &r->x, true);
	for (size_t i = 0; i < l->pool.dim; i++)
		x[i] += gsl_ran_gaussian_ziggurat(rng_gsl(&own), l->config.init_spread);
}

static struct replica *replica_new(struct learn *l, uint32_t device, uint32_t learner)
{
	struct replica *r = mem_zalloc(1, sizeof *r);
	r->device = device;
	r->learner = learner;
	r->x = vec_new(&l->pool, l->pool.dim);
	problem_start(l->problem, r->x->v);
	r->g.now.v = vec_ref(l->zero);
	r->sum.now.v = vec_ref(l->zero);
	r->inbox = vec_ref(l->zero);
	rng_init(&r->rng, l->config.seed, "learn.batch", (uint64_t)learner << 32 | device);
	if (l->config.init_spread > 0)
		spread(l, r);
	if (l->problem->order) {
		uint32_t first;
		problem_shard(l->problem, device, &first, &r->n_shard);
		r->shard = mem_alloc(r->n_shard * sizeof *r->shard);
		memcpy(r->shard, l->problem->order + first, r->n_shard * sizeof *r->shard);
	}
	return r;
}

/* ---- older values, for messages that start late ---- */

static void past_free(struct learn *l, struct past *p)
{
	vec_unref(&l->pool, p->v);
	vec_unref(&l->pool, p->u);
}

static void history_free(struct learn *l, struct history *h)
{
	past_free(l, &h->now);
	for (uint32_t i = 0; i < h->n_old; i++)
		past_free(l, &h->old[i]);
	mem_free(h->old);
}

void history_put(struct learn *l, struct history *h, struct past p)
{
	p.number = h->now.number + 1;
	if (!h->now.number || (h->is_used && !h->is_read)) {
		past_free(l, &h->now);
		h->now = p;
		return;
	}
	uint32_t most = l->config.history ? l->config.history : 1;
	if (!h->old)
		h->old = mem_alloc(most * sizeof *h->old);
	if (h->n_old == most) {
		past_free(l, &h->old[0]);
		memmove(h->old, h->old + 1, (most - 1) * sizeof *h->old);
		h->n_old--;
	}
	h->old[h->n_old++] = h->now;
	h->now = p;
}

struct past *history_at(struct history *h, uint64_t iteration, uint64_t *needed)
{
	h->is_read = true;
	if (!iteration || h->now.iteration <= iteration)
		return &h->now;
	for (uint32_t i = h->n_old; i--;)
		if (h->old[i].iteration <= iteration)
			return &h->old[i];
	/* The average number of values per iteration is number / iteration. */
	uint64_t newer = ((h->now.iteration - iteration) * h->now.number + h->now.iteration - 1) / h->now.iteration;
	*needed = newer > *needed ? newer : *needed;
	return h->n_old ? &h->old[0] : &h->now;
}

void replica_free(struct learn *l, struct replica *r)
{
	history_free(l, &r->g);
	history_free(l, &r->sum);
	struct vec *own[] = { r->x, r->inbox, r->velocity, r->pushed, r->remembered };
	for (size_t i = 0; i < sizeof own / sizeof *own; i++)
		vec_unref(&l->pool, own[i]);
	for (uint32_t i = 0; i < r->n_window; i++)
		vec_unref(&l->pool, r->window[i]);
	for (uint32_t i = 0; i < r->n_pulled; i++)
		vec_unref(&l->pool, r->pulled[i].v);
	mem_free(r->pulled);
	mem_free(r->window);
	mem_free(r->window_pushes);
	mem_free(r->shard);
	mem_free(r);
}

struct replica *learner_of(struct learn *l, uint32_t device, uint32_t learner)
{
	size_t at = (size_t)device * LEARNERS + learner;
	if (device >= l->n_devices) {
		uint32_t n = device + 1 > 2 * l->n_devices ? device + 1 : 2 * l->n_devices;
		l->at_device = mem_realloc(l->at_device, n, LEARNERS * sizeof *l->at_device);
		memset(l->at_device + (size_t)l->n_devices * LEARNERS, 0, (size_t)(n - l->n_devices) * LEARNERS * sizeof *l->at_device);
		l->n_devices = n;
	}
	if (!l->at_device[at]) {
		MEM_GROW(l->replica, l->n_replicas, l->cap_replicas);
		l->replica[l->n_replicas++] = replica_new(l, device, learner);
		l->at_device[at] = l->n_replicas;
	}
	return l->replica[l->at_device[at] - 1];
}

struct replica *replica_of(struct learn *l, uint32_t device)
{
	return learner_of(l, device, 0);
}

struct base *base_of(struct learn *l, uint32_t device)
{
	for (uint32_t i = 0; i < l->n_bases; i++)
		if (l->base[i].device == device)
			return &l->base[i];
	MEM_GROW(l->base, l->n_bases, l->cap_bases);
	struct base *b = &l->base[l->n_bases++];
	*b = (struct base){ .device = device, .z = vec_new(&l->pool, l->pool.dim), .corrections = vec_ref(l->zero) };
	problem_start(l->problem, b->z->v);
	b->previous = vec_ref(b->z);
	return b;
}

/* ---- mini-batches ---- */

static uint32_t next_row(struct learn *l, struct replica *r)
{
	if (l->config.sampling == LEARN_REPLACE)
		return r->shard[rng_below(&r->rng, r->n_shard)];
	if (l->config.sampling == LEARN_SHUFFLE) { /* one step of Fisher and Yates per row */
		uint32_t i = r->next_row, j = i + (uint32_t)rng_below(&r->rng, r->n_shard - i);
		uint32_t row = r->shard[j];
		r->shard[j] = r->shard[i];
		r->shard[i] = row;
	}
	uint32_t row = r->shard[r->next_row++];
	if (r->next_row == r->n_shard)
		r->next_row = 0;
	return row;
}

static void draw_rows(struct learn *l, struct replica *r)
{
	uint32_t n = l->config.batch;
	if (l->n_rows + n > l->cap_rows) {
		l->cap_rows = 2 * (l->n_rows + n);
		l->row = mem_realloc(l->row, l->cap_rows, sizeof *l->row);
	}
	for (uint32_t i = 0; i < n; i++)
		l->row[l->n_rows++] = next_row(l, r);
}

/* ---- gradients ---- */

/* Takes ownership of the reference p->v. */
void pulled_apply(struct learn *l, struct replica *r, const struct pulled *p)
{
	if (p->is_first)
		r->x_pushes = p->pushes;
	if (p->is_slice) {
		memcpy(vec_writable(&l->pool, &r->x, true) + p->span.first, p->v->v, p->span.n * sizeof r->x->v[0]);
		vec_unref(&l->pool, p->v);
		return;
	}
	vec_unref(&l->pool, r->x);
	r->x = p->v;
}

/* Applies the pulled parameters that a gradient of the iteration uses. */
static void apply_due(struct learn *l, struct replica *r, uint64_t iteration)
{
	uint32_t left = 0;
	for (uint32_t i = 0; i < r->n_pulled; i++) {
		struct pulled p = r->pulled[i];
		if (p.from <= iteration)
			pulled_apply(l, r, &p);
		else
			r->pulled[left++] = p;
	}
	r->n_pulled = left;
}

void gradient_begin(struct learn *l, struct replica *r, struct effect *e)
{
	apply_due(l, r, e->iteration ? e->iteration : UINT64_MAX);
	e->pushes = r->x_pushes;
	enum { MOST_TASKS = 1024 }; /* limits the memory of a worker whose gradients are never read */
	if (l->n_tasks == MOST_TASKS)
		gradients_compute(l);
	struct vec *g = vec_new(&l->pool, l->pool.dim);
	g->is_pending = true;
	e->snapshot = g;
	MEM_GROW(l->task, l->n_tasks, l->cap_tasks);
	struct task *t = &l->task[l->n_tasks++];
	*t = (struct task){ .x = vec_ref(r->x), .g = vec_ref(g), .first_row = l->n_rows };
	if (l->config.problem == LEARN_NOISE)
		t->noise_seed = rng_u64(&r->rng);
	else if (r->shard)
		draw_rows(l, r);
}

static void need_scratch(struct learn *l, int threads)
{
	if (threads <= l->n_scratch)
		return;
	l->scratch = mem_realloc(l->scratch, (size_t)threads, sizeof *l->scratch);
	for (; l->n_scratch < threads; l->n_scratch++)
		l->scratch[l->n_scratch] = mem_alloc(l->problem->scratch * sizeof **l->scratch);
}

static void compute(struct learn *l, struct task *t, double *scratch)
{
	if (t->g->refs > 1) /* a gradient that only its task refers to is never read */
		problem_gradient(l->problem, t->x->v, l->row + t->first_row, l->config.batch, t->noise_seed, t->g->v, scratch);
}

void gradients_compute(struct learn *l)
{
	int threads = 1;
#ifdef _OPENMP
	const double worth_it = 20000; /* number of operations above which threads are faster */
	if (l->n_tasks > 1 && (double)l->n_tasks * (double)l->problem->dim * l->config.batch > worth_it)
		threads = l->config.threads > 0 ? l->config.threads : omp_get_max_threads();
	need_scratch(l, threads);
	if (threads > 1) {
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
		for (size_t i = 0; i < l->n_tasks; i++)
			compute(l, &l->task[i], l->scratch[omp_get_thread_num()]);
	}
#endif
	need_scratch(l, 1);
	for (size_t i = 0; i < l->n_tasks; i++) {
		struct task *t = &l->task[i];
		if (threads == 1)
			compute(l, t, l->scratch[0]);
		t->g->is_pending = false;
		vec_unref(&l->pool, t->x);
		vec_unref(&l->pool, t->g);
	}
	l->n_tasks = l->n_rows = 0;
}
