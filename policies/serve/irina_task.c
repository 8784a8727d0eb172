/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tasks of Irina: queues, slack, start, merge, abort. */
#include "irina_task.h"
#include "queues.h"

/* ---- tasks ---- */

static void set_mark(struct orr_serve *w, orr_req r, struct task *t)
{
	orr_req_set_mark(w, r, (uint64_t)(uintptr_t)t);
}

static void task_free(struct orr_serve *w, struct task *t)
{
	for (uint32_t i = 0; w && t && i < t->n; i++)
		set_mark(w, t->req[i], NULL);
	if (t)
		orr_free(t->req);
	orr_free(t);
}

static void task_add(struct orr_serve *w, struct task *t, orr_req r)
{
	ORR_GROW(t->req, t->n, t->cap);
	t->req[t->n++] = r;
	set_mark(w, r, t);
}

struct task *irina_task(struct irina_gpus *s, struct orr_serve *w, orr_req r)
{
	struct orr_req_info i;
	orr_req_get(w, r, &i);
	irina_forget(s, w, r); /* the replica of the request was lost */
	uint32_t size = i.samples;
	if (isnan(orr_model_latency(w, 0, i.model, size, i.length)))
		size = orr_model_batch_for(w, i.model, size);
	if (!size) {
		orr_refuse(w, r, ORR_REQ_REFUSED);
		return NULL;
	}
	struct task *t = orr_alloc(1, sizeof *t);
	t->model = i.model;
	t->samples = size;
	t->length = i.length;
	t->weight = i.samples;
	t->arrival_s = i.arrival_s;
	t->deadline_s = i.deadline_s;
	t->preemptions = i.preemptions;
	t->gpu = ORR_NO_REPLICA;
	task_add(w, t, r);
	return t;
}

double irina_latency(const struct orr_serve *w, uint32_t gpu, const struct task *t)
{
	struct orr_replica_info i;
	struct orr_batch b = task_batch(t);
	if (!orr_replica_get(w, gpu, &i) || !i.is_up || i.is_draining || (i.model != UINT32_MAX && i.model != t->model) ||
		is_for_another(w, gpu, &b))
		return NAN;
	return orr_model_latency(w, gpu, t->model, t->samples, t->length);
}

uint32_t irina_merged(const struct orr_serve *w, uint32_t gpu, const struct task *a, const struct task *b, bool pads)
{
	double sum = a->weight + b->weight;
	uint32_t samples = sum < UINT32_MAX ? (uint32_t)sum : UINT32_MAX, length = a->length > b->length ? a->length : b->length;
	if (!isnan(orr_model_latency(w, gpu, a->model, samples, length)))
		return samples;
	return pads ? orr_model_batch_for(w, a->model, samples) : 0;
}

double irina_last_end(const struct orr_serve *w, const struct irina_gpu *g)
{
	double end = 0;
	for (uint32_t i = 0; i < g->n_running; i++)
		end = fmax(end, run_ends(w, g->running[i]));
	if (g->next)
		end = fmax(end, fmax(g->next_s - orr_serve_now(w), 0) + g->next->latency_s);
	return end;
}

/* ---- waiting tasks by slack ---- */

/* Returns the slack relative to the end of the last run, which is common to all tasks: deadline - projected time in the queue. */
static double key(const struct task *t)
{
	return t->deadline_s - t->span_to;
}

static void heap_set(struct irina_gpu *g, uint32_t i, struct task *t)
{
	g->heap[i] = t;
	t->heap_at = i + 1;
}

static void heap_move(struct irina_gpu *g, uint32_t i, struct task *t)
{
	for (uint32_t up; i && key(t) < key(g->heap[up = (i - 1) / 2]); i = up)
		heap_set(g, i, g->heap[up]);
	for (uint32_t down; (down = 2 * i + 1) < g->n_heap; i = down) {
		if (down + 1 < g->n_heap && key(g->heap[down + 1]) < key(g->heap[down]))
			down++;
		if (key(t) <= key(g->heap[down]))
			break;
		heap_set(g, i, g->heap[down]);
	}
	heap_set(g, i, t);
}

static void heap_add(struct irina_gpu *g, struct task *t)
{
	ORR_GROW(g->heap, g->n_heap, g->cap_heap);
	g->heap[g->n_heap++] = t;
	heap_move(g, g->n_heap - 1, t);
}

static void heap_remove(struct irina_gpu *g, struct task *t)
{
	if (!t->heap_at)
		return;
	uint32_t i = t->heap_at - 1;
	struct task *last = g->heap[--g->n_heap];
	t->heap_at = 0;
	if (last != t)
		heap_move(g, i, last);
}

/* Removes late tasks from the heap: they stay late, because no waiting task moves forward. */
double irina_spare(const struct orr_serve *w, struct irina_gpu *g)
{
	double from = orr_serve_now(w) + irina_last_end(w, g) - g->span_popped;
	while (g->n_heap && key(g->heap[0]) - from < -1e-9)
		heap_remove(g, g->heap[0]);
	return g->n_heap ? key(g->heap[0]) - from + 1e-9 : INFINITY;
}

/* ---- the queue ---- */

void irina_push_back(struct irina_gpus *s, struct orr_serve *w, uint32_t gpu, struct task *t)
{
	struct irina_gpu *g = &s->gpu[gpu];
	double latency = orr_model_latency(w, gpu, t->model, t->samples, t->length);
	t->gpu = gpu;
	t->latency_s = isnan(latency) ? 0 : latency;
	t->before = g->last;
	t->behind = NULL;
	*(g->last ? &g->last->behind : &g->first) = t;
	g->last = t;
	g->weight += t->weight;
	g->span += t->latency_s;
	t->weight_to = g->weight_pushed += t->weight;
	t->span_to = g->span_pushed += t->latency_s;
	g->open[t->model] = t;
	if (s->keeps_heaps)
		heap_add(g, t);
}

void irina_push_front(struct irina_gpus *s, uint32_t gpu, struct task *t)
{
	struct irina_gpu *g = &s->gpu[gpu];
	t->before = NULL;
	t->behind = g->first;
	*(g->first ? &g->first->before : &g->last) = t;
	g->first = t;
	g->weight += t->weight;
	g->span += t->latency_s;
	t->weight_to = g->weight_popped;
	t->span_to = g->span_popped;
	g->weight_popped -= t->weight;
	g->span_popped -= t->latency_s;
	if (!g->open[t->model])
		g->open[t->model] = t;
	if (s->keeps_heaps)
		heap_add(g, t);
}

static struct task *pop_front(struct irina_gpu *g)
{
	struct task *t = g->first;
	g->first = t->behind;
	*(t->behind ? &t->behind->before : &g->last) = NULL;
	t->behind = NULL;
	g->weight -= t->weight;
	g->span -= t->latency_s;
	g->weight_popped += t->weight;
	g->span_popped += t->latency_s;
	if (g->open[t->model] == t)
		g->open[t->model] = NULL;
	heap_remove(g, t);
	if (!g->first) /* an empty queue resets rounding errors */
		g->weight = g->span = g->weight_pushed = g->span_pushed = g->weight_popped = g->span_popped = 0;
	return t;
}

void irina_merge(struct orr_serve *w, struct task *v, struct task *t, uint32_t gpu, uint32_t samples)
{
	for (uint32_t i = 0; i < t->n; i++)
		task_add(w, v, t->req[i]);
	v->length = v->length > t->length ? v->length : t->length;
	v->weight += t->weight;
	v->samples = samples;
	v->deadline_s = fmin(v->deadline_s, t->deadline_s);
	v->preemptions = v->preemptions > t->preemptions ? v->preemptions : t->preemptions;
	v->latency_s = orr_model_latency(w, gpu, v->model, samples, v->length);
	t->n = 0;
	task_free(w, t);
}

void irina_merge_queued(struct irina_gpus *s, struct orr_serve *w, uint32_t gpu, struct task *t, uint32_t samples)
{
	struct irina_gpu *g = &s->gpu[gpu];
	struct task *v = g->open[t->model];
	double weight = t->weight, latency = v->latency_s;
	irina_merge(w, v, t, gpu, samples);
	double more = v->latency_s - latency, from = v->weight_to;
	for (uint32_t m = 0; m < s->models; m++) {
		struct task *o = g->open[m];
		if (o && (o == v || o->weight_to > from)) {
			o->weight_to += weight;
			o->span_to += more;
		}
	}
	g->weight += weight;
	g->span += more;
	g->weight_pushed += weight;
	g->span_pushed += more;
}

/* ---- running ---- */

void irina_remove_computed(struct orr_serve *w, struct irina_gpu *g)
{
	struct orr_run_info info;
	uint32_t n = 0;
	for (uint32_t i = 0; i < g->n_running; i++)
		if (orr_run_get(w, g->running[i]->run, &info) && info.part_done < 1)
			g->running[n++] = g->running[i];
		else
			task_free(w, g->running[i]);
	g->n_running = n;
}

static void start(struct irina_gpus *s, struct orr_serve *w, uint32_t gpu, struct task *t)
{
	struct irina_gpu *g = &s->gpu[gpu];
	irina_remove_computed(w, g);
	t->gpu = gpu;
	t->latency_s = orr_model_latency(w, gpu, t->model, t->samples, t->length);
	struct orr_batch b = task_batch(t);
	t->run = orr_run_start(w, gpu, &b);
	g->running[g->n_running++] = t;
}

struct task *irina_stop(struct irina_gpus *s, struct orr_serve *w, uint32_t gpu, uint32_t i)
{
	struct irina_gpu *g = &s->gpu[gpu];
	struct task *t = g->running[i];
	memmove(&g->running[i], &g->running[i + 1], (g->n_running - i - 1) * sizeof g->running[0]);
	g->n_running--;
	orr_run_abort(w, t->run, ORR_ABORT_RESTART);
	t->run = 0;
	return t;
}

static bool is_leaving(const struct orr_serve *w, uint32_t gpu)
{
	struct orr_run_info i;
	for (orr_run r = orr_run_first(w, gpu); r; r = orr_run_next(w, r))
		if (orr_run_get(w, r, &i) && i.is_leaving)
			return true;
	return false;
}

/* Returns whether no request of the task is in a run: an aborted run continues to its next exit point. */
static bool all_wait(const struct orr_serve *w, const struct task *t)
{
	struct orr_req_info i;
	uint32_t n = 0;
	while (n < t->n && orr_req_get(w, t->req[n], &i) && i.state == ORR_REQ_WAITING)
		n++;
	return n == t->n;
}

static bool try_next(struct irina_gpus *s, struct orr_serve *w, uint32_t gpu)
{
	struct irina_gpu *g = &s->gpu[gpu];
	struct task *t = g->next;
	struct orr_batch b = task_batch(t);
	irina_remove_computed(w, g);
	if (g->n_running >= IRINA_MOST || is_leaving(w, gpu) || !all_wait(w, t) || !orr_run_fits(w, gpu, &b, 0))
		return false;
	g->next = NULL;
	start(s, w, gpu, t);
	return true;
}

void irina_start_when_possible(struct irina_gpus *s, struct orr_serve *w, uint32_t gpu, struct task *t, double delay_s)
{
	struct irina_gpu *g = &s->gpu[gpu];
	t->gpu = gpu;
	t->latency_s = orr_model_latency(w, gpu, t->model, t->samples, t->length);
	g->next = t;
	g->next_s = orr_serve_now(w) + delay_s;
	if (!try_next(s, w, gpu) && delay_s > 0)
		orr_serve_timer(w, gpu, g->next_s);
}

/* Returns whether the first task of queue g may run on the GPU: not while its aborted run continues to an exit point. */
static bool head_may_run(const struct orr_serve *w, const struct irina_gpu *g, const struct irina_gpu *own, uint32_t gpu)
{
	const struct task *t = g->first;
	/* A draining GPU serves only its own queue. */
	return t && (g == own || !isnan(irina_latency(w, gpu, t))) && all_wait(w, t);
}

/* Returns the GPU's own queue, or the queue whose first task arrived earliest. */
static struct irina_gpu *queue_to_serve(struct irina_gpus *s, const struct orr_serve *w, uint32_t gpu)
{
	struct irina_gpu *best = NULL, *own = &s->gpu[gpu];
	if (own->first)
		return head_may_run(w, own, own, gpu) ? own : NULL;
	for (uint32_t i = 0; i < s->n; i++)
		if (head_may_run(w, &s->gpu[i], own, gpu) && (!best || s->gpu[i].first->arrival_s < best->first->arrival_s))
			best = &s->gpu[i];
	return best;
}

/* Returns whether the model is in memory; if not, loads it. */
static bool is_loaded(struct orr_serve *w, uint32_t gpu, uint32_t model)
{
	if (orr_model_is_loaded(w, gpu, model))
		return true;
	if (!orr_model_load(w, gpu, model))
		orr_serve_give_up(w, 0,
			"the models do not fit into a replica's memory together: expected more memory, or policy clockwork, which swaps "
			"models");
	return false;
}

void irina_go_on(struct irina_gpus *s, struct orr_serve *w, uint32_t gpu)
{
	struct irina_gpu *g = &s->gpu[gpu];
	if (g->next)
		try_next(s, w, gpu);
	while (!g->next && orr_replica_is_idle(w, gpu)) {
		struct irina_gpu *from = queue_to_serve(s, w, gpu);
		if (!from || !is_loaded(w, gpu, from->first->model))
			return;
		struct task *t = pop_front(from);
		struct orr_batch b = task_batch(t);
		if (t->n == 0) {
			task_free(w, t);
		} else if (orr_run_fits(w, gpu, &b, 0)) {
			start(s, w, gpu, t);
		} else {
			while (t->n) {
				orr_req r = t->req[--t->n];
				set_mark(w, r, NULL);
				orr_refuse(w, r, ORR_REQ_REFUSED);
			}
			task_free(w, t);
		}
	}
}

void irina_ended(struct irina_gpus *s, struct orr_serve *w, orr_run run)
{
	struct orr_run_info info;
	if (!orr_run_get(w, run, &info) || info.replica >= s->n)
		return;
	struct irina_gpu *g = &s->gpu[info.replica];
	uint32_t i = 0;
	while (i < g->n_running && g->running[i]->run != run)
		i++;
	if (i < g->n_running) {
		task_free(w, g->running[i]);
		memmove(&g->running[i], &g->running[i + 1], (g->n_running - i - 1) * sizeof g->running[0]);
		g->n_running--;
	} else { /* removed before; or the run was aborted but ended before its next exit point */
		for (size_t k = 0; k < info.n; k++)
			irina_forget(s, w, orr_run_request(w, run, k));
	}
	irina_go_on(s, w, info.replica);
}

void irina_forget(struct irina_gpus *s, struct orr_serve *w, orr_req r)
{
	struct task *t = (struct task *)(uintptr_t)orr_req_mark(w, r);
	if (!t)
		return;
	set_mark(w, r, NULL);
	for (uint32_t i = 0; i < t->n; i++)
		if (t->req[i] == r) {
			memmove(&t->req[i], &t->req[i + 1], (t->n - i - 1) * sizeof *t->req);
			t->n--;
			break;
		}
	/* A waiting task without requests stays in the projection until it is first. */
	if (t->n == 0 && t->gpu < s->n && s->gpu[t->gpu].next == t) {
		s->gpu[t->gpu].next = NULL;
		task_free(w, t);
	}
}

void irina_lost(struct irina_gpus *s, struct orr_serve *w, uint32_t gpu)
{
	struct irina_gpu *g = &s->gpu[gpu];
	for (uint32_t i = 0; i < g->n_running; i++)
		task_free(w, g->running[i]);
	task_free(w, g->next);
	g->next = NULL;
	g->n_running = 0;
	irina_offer(s, w, gpu);
}

void irina_offer(struct irina_gpus *s, struct orr_serve *w, uint32_t gpu)
{
	for (uint32_t i = 0; s->gpu[gpu].first && i < s->n; i++)
		if (orr_replica_is_idle(w, i))
			orr_wake(w, i);
}

/* ---- beginning and end ---- */

void irina_begin(struct irina_gpus *s, struct orr_serve *w)
{
	s->models = orr_models(w);
	s->gpu = orr_alloc((size_t)orr_replicas(w) + 1, sizeof *s->gpu);
	for (; s->n < orr_replicas(w); s->n++)
		s->gpu[s->n].open = orr_alloc((size_t)s->models + 1, sizeof *s->gpu->open);
}

bool irina_all_loaded(const struct irina_gpus *s, const struct orr_serve *w)
{
	struct orr_replica_info i;
	for (uint32_t gpu = 0; gpu < s->n; gpu++)
		for (uint32_t m = 0; m < s->models; m++)
			if (orr_replica_get(w, gpu, &i) && i.is_up && (i.model == UINT32_MAX || i.model == m) &&
				!orr_model_is_loaded(w, gpu, m))
				return false;
	return true;
}

void irina_end(struct irina_gpus *s)
{
	for (uint32_t i = 0; i < s->n; i++) {
		struct irina_gpu *g = &s->gpu[i];
		for (uint32_t k = 0; k < g->n_running; k++)
			task_free(NULL, g->running[k]);
		task_free(NULL, g->next);
		while (g->first)
			task_free(NULL, pop_front(g));
		orr_free(g->open);
		orr_free(g->heap);
	}
	orr_free(s->gpu);
}
