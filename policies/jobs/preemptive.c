/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "preemptive.h"

#include <stdlib.h>
#include <string.h>

/* Layout of a tie: number of the pass; then a bit that orders running jobs with a changed key before arrived jobs; then SUB_BITS
 * bits that number jobs within each group. */
enum { SUB_BITS = 22 };

/* Number of consecutive passes with room for all jobs, after which the running jobs move to the heap. */
enum { QUIET_PASSES = 4 };

static int64_t tie_of(int64_t pass, bool arrived, int64_t sub)
{
	int64_t last = (INT64_C(1) << SUB_BITS) - 1;
	return (pass * 2 + arrived) << SUB_BITS | (sub < last ? sub : last);
}

void *preemptive_new(struct orr_jobs *w, size_t size, bool is_static, int64_t (*key)(void *self, struct orr_jobs *w, orr_job j))
{
	struct preemptive *p = orr_alloc(1, size);
	gpu_budget_init(&p->budget, w);
	p->waiting = orr_queue_new(w);
	p->is_static = is_static;
	p->key = key;
	p->pass = 1;
	p->running = orr_queue_new(w);
	p->used = orr_alloc(p->budget.n_types + 1u, sizeof *p->used);
	return p;
}

void preemptive_free(void *self)
{
	struct preemptive *p = self;
	orr_queue_free(p->waiting);
	orr_queue_free(p->running);
	orr_free(p->list);
	orr_free(p->next);
	orr_free(p->out.job);
	orr_free(p->heap);
	orr_free(p->changed);
	orr_free(p->used);
	gpu_budget_free(&p->budget);
	orr_free(p);
}

void preemptive_arrive(void *self, struct orr_jobs *w, orr_job j)
{
	struct preemptive *p = self;
	gpu_budget_note(&p->budget, w, j);
	int64_t tie = p->is_static ? (int64_t)orr_job_number(w, j) : tie_of(p->pass, true, p->arrivals++);
	orr_queue_add(p->waiting, j, p->key(self, w, j), tie);
}

/* ---- order ---- */

static bool is_before(int64_t key, int64_t tie, const struct preemptive_job *x)
{
	return key < x->key || (key == x->key && tie < x->tie);
}

/* Sorts by insertion, which is linear if the order has hardly changed. */
static void sort(struct preemptive_job *v, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		struct preemptive_job x = v[i];
		size_t k = i;
		for (; k && is_before(x.key, x.tie, &v[k - 1]); k--)
			v[k] = v[k - 1];
		v[k] = x;
	}
}

/* Sorts running jobs by their present keys. A job whose key changed follows the jobs that already had that key; jobs that changed to
 * the same key keep their order. */
static void order(struct preemptive *p, struct orr_jobs *w)
{
	if (p->has_appended)
		sort(p->list, p->n);
	p->has_appended = false;
	if (p->is_static)
		return;
	for (size_t i = 0; i < p->n; i++) {
		struct preemptive_job x = p->list[i];
		size_t k = i;
		int64_t key = p->key(p, w, x.job);
		if (key != x.key)
			x.tie = tie_of(p->pass, false, (int64_t)i);
		x.key = key;
		for (; k && is_before(x.key, x.tie, &p->list[k - 1]); k--)
			p->list[k] = p->list[k - 1];
		p->list[k] = x;
	}
}

static void grow_lists(struct preemptive *p, size_t n)
{
	if (n <= p->cap)
		return;
	while (p->cap < n)
		p->cap = p->cap ? p->cap * 2 : 64;
	p->list = orr_realloc(p->list, p->cap, sizeof *p->list);
	p->next = orr_realloc(p->next, p->cap, sizeof *p->next);
}

static int64_t milli_of(const struct orr_job_info *i)
{
	return (int64_t)i->gpus * i->gpu_milli;
}

/* ---- running jobs in a heap ---- */

static void count(struct preemptive *p, const struct preemptive_job *x, int sign)
{
	if (x->type < p->budget.n_types)
		p->used[x->type] += sign * x->milli;
}

static void count_all(struct preemptive *p)
{
	memset(p->used, 0, p->budget.n_types * sizeof *p->used);
	for (size_t i = 0; i < p->n; i++)
		count(p, &p->list[i], 1);
}

static void enter(struct preemptive *p, const struct preemptive_job *x)
{
	orr_queue_add2(p->running, x->job, x->type, 0, x->milli);
}

static void push(struct preemptive *p, const struct preemptive_due *x)
{
	ORR_GROW(p->heap, p->n_heap, p->cap_heap);
	size_t i = p->n_heap++;
	for (; i && p->heap[(i - 1) / 2].at > x->at; i = (i - 1) / 2)
		p->heap[i] = p->heap[(i - 1) / 2];
	p->heap[i] = *x;
}

static struct preemptive_due pop(struct preemptive *p)
{
	struct preemptive_due top = p->heap[0], last = p->heap[--p->n_heap];
	size_t i = 0;
	for (size_t k; (k = 2 * i + 1) < p->n_heap; i = k) {
		k += k + 1 < p->n_heap && p->heap[k + 1].at < p->heap[k].at;
		if (p->heap[k].at >= last.at)
			break;
		p->heap[i] = p->heap[k];
	}
	p->heap[i] = last;
	return top;
}

static int by_key(const void *a, const void *b)
{
	const struct preemptive_job *x = a, *y = b;
	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return (x->tie > y->tie) - (x->tie < y->tie);
}

static int by_key_of_due(const void *a, const void *b)
{
	return by_key(&((const struct preemptive_due *)a)->job, &((const struct preemptive_due *)b)->job);
}

/* Moves the running jobs to the array, in order. */
static void to_list(struct preemptive *p, struct orr_jobs *w)
{
	if (!p->is_heap)
		return;
	p->is_heap = false;
	grow_lists(p, p->n_heap + 1);
	p->n = 0;
	for (size_t i = 0; i < p->n_heap; i++)
		if (orr_job_is_running(w, p->heap[i].job.job))
			p->list[p->n++] = p->heap[i].job;
	for (orr_job j; (j = orr_queue_first(p->running));)
		orr_queue_remove(p->running, j);
	p->n_heap = p->n_ended = 0;
	if (p->n)
		qsort(p->list, p->n, sizeof *p->list, by_key);
	count_all(p);
}

/* Moves the running jobs to the heap; all of them are due. */
static void to_heap(struct preemptive *p)
{
	p->is_heap = true;
	p->n_heap = p->n_ended = 0;
	for (size_t i = 0; i < p->n; i++) {
		enter(p, &p->list[i]);
		push(p, &(struct preemptive_due){ 0, p->list[i] });
	}
	p->n = 0;
}

static void drop_ended(struct preemptive *p, struct orr_jobs *w)
{
	size_t n = p->n_heap;
	p->n_heap = p->n_ended = 0;
	for (size_t i = 0; i < n; i++) {
		struct preemptive_due x = p->heap[i];
		if (orr_job_is_running(w, x.job.job))
			push(p, &x);
	}
}

/* Computes the keys of the jobs that are due. Jobs whose keys change get ascending ties in their former order. */
static void update_due(struct preemptive *p, struct orr_jobs *w)
{
	int64_t now = orr_now(w);
	p->n_changed = 0;
	while (p->n_heap && p->heap[0].at <= now) {
		ORR_GROW(p->changed, p->n_changed, p->cap_changed);
		p->changed[p->n_changed++] = pop(p);
	}
	if (p->n_changed)
		qsort(p->changed, p->n_changed, sizeof *p->changed, by_key_of_due);
	for (size_t i = 0; i < p->n_changed; i++) {
		struct preemptive_due *x = &p->changed[i];
		if (!orr_job_is_running(w, x->job.job)) {
			p->n_ended -= p->n_ended > 0;
			continue;
		}
		int64_t key = p->key(p, w, x->job.job);
		if (key != x->job.key)
			x->job.tie = tie_of(p->pass, false, (int64_t)i);
		x->job.key = key;
		x->at = p->due(p, w, x->job.job);
		push(p, x);
	}
}

/* Chooses GPU types for all waiting jobs in addition to the running ones, in order, in p->next. Returns false if a job finds no
 * GPUs. */
static bool has_room_for_all(struct preemptive *p, struct orr_jobs *w)
{
	struct orr_walk walk;
	struct orr_job_info info;
	bool has_room = true;
	gpu_budget_begin(&p->budget, w);
	for (uint32_t t = 0; t < p->budget.n_types; t++) {
		p->budget.left[t] -= p->used[t];
		p->budget.spare[t] -= p->used[t];
		has_room &= p->budget.spare[t] >= 0;
	}
	p->n_next = 0;
	orr_walk_begin(p->waiting, &walk);
	for (orr_job j; has_room && (j = orr_walk_next(&walk));) {
		struct preemptive_job x = {
			.job = j, .key = orr_queue_key(p->waiting, j), .tie = orr_queue_tie(p->waiting, j), .type = UINT32_MAX
		};
		if (!orr_job_get(w, j, &info))
			break;
		x.milli = milli_of(&info);
		has_room = gpu_budget_draw(&p->budget, w, j, info.gpu_types, x.milli, &x.type);
		grow_lists(p, p->n_next + 1);
		p->next[p->n_next++] = x;
	}
	orr_walk_end(&walk);
	return has_room;
}

/* Returns whether the pass can be quiet; then the running jobs are in the heap, else in the array. */
static bool is_quiet(struct preemptive *p, struct orr_jobs *w)
{
	bool quiet = p->due && has_room_for_all(p, w);
	p->quiet = quiet ? p->quiet + 1 : 0;
	if (p->quiet < QUIET_PASSES)
		to_list(p, w);
	else if (!p->is_heap)
		to_heap(p);
	if (p->is_heap && p->n_ended > 64 + p->n_heap / 2)
		drop_ended(p, w);
	for (size_t i = 0; p->all_changed && p->is_heap && i < p->n_heap; i++)
		p->heap[i].at = 0;
	p->all_changed = false;
	return p->is_heap;
}

/* ---- one pass ---- */

/* Chooses the jobs that should run, in order, in p->next, and the victims. */
static void choose(struct preemptive *p, struct orr_jobs *w)
{
	struct orr_walk walk;
	struct orr_job_info info;
	size_t i = 0;
	orr_job j = 0; /* the first waiting job that has not been tried */
	int64_t key = 0, tie = 0;
	bool has_more = true;
	orr_walk_begin(p->waiting, &walk);
	for (;;) {
		has_more = has_more && gpu_budget_any_left(&p->budget);
		if (!has_more) {
			j = 0;
		} else if (!j) {
			j = orr_walk_peek(&walk);
			key = orr_queue_key(p->waiting, j);
			tie = orr_queue_tie(p->waiting, j);
			has_more = j;
		}
		if (i < p->n && (!j || !is_before(key, tie, &p->list[i]))) {
			const struct preemptive_job *x = &p->list[i++];
			if (gpu_budget_hold(&p->budget, x->type, x->milli)) {
				p->next[p->n_next++] = *x;
			} else {
				ORR_GROW(p->out.job, p->out.n, p->out.cap);
				p->out.job[p->out.n++] = x->job;
			}
			continue;
		}
		if (!j)
			break;
		orr_walk_next(&walk);
		struct preemptive_job x = { .job = j, .key = key, .tie = tie, .type = UINT32_MAX };
		if (!orr_job_get(w, j, &info))
			break;
		x.milli = milli_of(&info);
		j = 0;
		if (!gpu_budget_draw(&p->budget, w, x.job, info.gpu_types, x.milli, &x.type)) {
			orr_walk_skip_shape(&walk);
			continue;
		}
		grow_lists(p, p->n_next + p->n - i + 1);
		p->next[p->n_next++] = x;
	}
	orr_walk_end(&walk);
	p->out.left = p->out.n;
}

/* Starts the chosen jobs that do not run; returns true if the placement had room for all. */
static bool start(struct preemptive *p, struct orr_jobs *w, int64_t (*stop_cost)(const struct orr_job_info *info))
{
	struct orr_job_info info;
	size_t kept = 0;
	bool all = true;
	uint32_t failed = UINT32_MAX; /* a shape for which no room could be made */
	for (size_t i = 0; i < p->n_next; i++) {
		struct preemptive_job *x = &p->next[i];
		if (!x->is_running) {
			uint32_t type = start_type(&p->budget, x->type), shape = orr_job_shape(w, x->job);
			if (shape == failed ||
				(!try_start_on(w, x->job, type) && !victims_make_room(&p->out, w, x->job, type, stop_cost))) {
				failed = shape;
				all = false;
				continue;
			}
			orr_queue_remove(p->waiting, x->job);
			x->is_running = true;
			x->type = orr_job_get(w, x->job, &info) ? info.gpu_type : UINT32_MAX;
		}
		if (kept < i)
			p->next[kept] = *x;
		kept++;
	}
	p->n_next = kept;
	return all;
}

/* Returns victims that still run to the running list; the others wait. */
static void settle(struct preemptive *p, struct orr_jobs *w)
{
	size_t k = 0; /* victims are in the order of p->list */
	for (size_t i = 0; i < p->out.n; i++) {
		while (p->list[k].job != p->out.job[i])
			k++;
		if (orr_job_is_running(w, p->out.job[i])) {
			grow_lists(p, p->n_next + p->n + 1);
			p->next[p->n_next++] = p->list[k];
			p->has_appended = true;
			continue;
		}
		const struct preemptive_job *x = &p->list[k];
		int64_t key = p->key(p, w, x->job);
		orr_queue_add(p->waiting, x->job, key, key == x->key ? x->tie : tie_of(p->pass, false, (int64_t)k));
	}
}

/* Offers GPUs that the placement left free to all waiting jobs, in order. */
static void refill(struct preemptive *p, struct orr_jobs *w)
{
	struct orr_walk walk;
	struct orr_job_info info;
	orr_walk_begin(p->waiting, &walk);
	for (orr_job j; (orr_free_gpus(w) || p->budget.has_small) && (j = orr_walk_next(&walk));) {
		int64_t key = orr_queue_key(p->waiting, j), tie = orr_queue_tie(p->waiting, j);
		if (!orr_try_start(w, j)) {
			orr_walk_skip_shape(&walk);
			continue;
		}
		orr_queue_remove(p->waiting, j);
		if (!orr_job_get(w, j, &info))
			continue;
		grow_lists(p, p->n + 1);
		p->list[p->n++] = (struct preemptive_job){ j, key, tie, info.gpu_type, milli_of(&info), true };
		p->has_appended = true;
	}
	orr_walk_end(&walk);
}

/* Starts all waiting jobs on the types that has_room_for_all() chose. If the placement refuses one, the others are still tried. */
static void pass_quietly(struct preemptive *p, struct orr_jobs *w)
{
	update_due(p, w);
	p->out.n = p->out.left = p->out.n_stopped = 0;
	bool all = start(p, w, NULL);
	for (size_t i = 0; i < p->n_next; i++) {
		count(p, &p->next[i], 1);
		enter(p, &p->next[i]);
		push(p, &(struct preemptive_due){ p->due(p, w, p->next[i].job), p->next[i] });
	}
	if (!all) {
		to_list(p, w);
		refill(p, w);
		count_all(p);
	}
	p->pass++;
	p->arrivals = 0;
}

void preemptive_pass(void *self, struct orr_jobs *w, bool is_eager, int64_t (*stop_cost)(const struct orr_job_info *info))
{
	struct preemptive *p = self;
	struct orr_job_info info;
	if (is_quiet(p, w)) {
		pass_quietly(p, w);
		return;
	}
	order(p, w);
	gpu_budget_begin(&p->budget, w);
	for (size_t i = 0; i < p->n; i++)
		gpu_budget_is_running(&p->budget, p->list[i].type, p->list[i].milli);
	p->n_next = p->out.n = p->out.n_stopped = 0;
	grow_lists(p, p->n + 1);
	choose(p, w);
	while (is_eager && p->out.left) {
		orr_job j = p->out.job[--p->out.left];
		orr_stop_with_cost(w, j, stop_cost && orr_job_get(w, j, &info) ? stop_cost(&info) : 0);
	}
	bool all = start(p, w, stop_cost);
	settle(p, w);
	struct preemptive_job *swap = p->list;
	p->list = p->next;
	p->n = p->n_next;
	p->next = swap;
	/* Victims that were stopped without making room may run again. */
	if ((!all || p->out.n_stopped) && !is_eager)
		refill(p, w);
	if (p->due)
		count_all(p);
	p->pass++;
	p->arrivals = 0;
}

/* ---- ends ---- */

/* Removes a running job. */
static void forget(struct preemptive *p, orr_job j)
{
	if (p->is_heap) {
		count(p,
			&(struct preemptive_job){
				.type = (uint32_t)orr_queue_key(p->running, j), .milli = orr_queue_second(p->running, j) },
			-1);
		p->n_ended += orr_queue_remove(p->running, j);
		return;
	}
	for (size_t i = 0; i < p->n; i++)
		if (p->list[i].job == j) {
			count(p, &p->list[i], -1);
			memmove(p->list + i, p->list + i + 1, (p->n - i - 1) * sizeof *p->list);
			p->n--;
			return;
		}
}

void preemptive_finish(void *self, struct orr_jobs *w, orr_job j, enum orr_job_end how)
{
	struct preemptive *p = self;
	(void)w, (void)how;
	if (!orr_queue_remove(p->waiting, j))
		forget(p, j);
}

void preemptive_evict(void *self, struct orr_jobs *w, orr_job j)
{
	to_list(self, w);
	forget(self, j);
	preemptive_arrive(self, w, j);
}

void preemptive_schedule(void *self, struct orr_jobs *w)
{
	preemptive_pass(self, w, false, NULL);
}
