/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "preemptive.h"

#include <string.h>

/* Layout of a tie: the number of the pass, then running jobs whose key changed before newly arrived jobs, then SUB_BITS bits that count
 * jobs within each group. */
enum { SUB_BITS = 22 };

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
	return p;
}

void preemptive_free(void *self)
{
	struct preemptive *p = self;
	orr_queue_free(p->waiting);
	orr_free(p->list);
	orr_free(p->next);
	orr_free(p->out.job);
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

/* Removes a job from the running list, keeping the order. */
static void forget(struct preemptive *p, orr_job j)
{
	for (size_t i = 0; i < p->n; i++)
		if (p->list[i].job == j) {
			memmove(p->list + i, p->list + i + 1, (p->n - i - 1) * sizeof *p->list);
			p->n--;
			return;
		}
}

void preemptive_finish(void *self, struct orr_jobs *w, orr_job j, enum orr_job_end how)
{
	struct preemptive *p = self;
	(void)w, (void)how;
	forget(p, j);
	orr_queue_remove(p->waiting, j);
}

void preemptive_evict(void *self, struct orr_jobs *w, orr_job j)
{
	forget(self, j);
	preemptive_arrive(self, w, j);
}

/* ---- order ---- */

static bool is_before(int64_t key, int64_t tie, const struct preemptive_job *x)
{
	return key < x->key || (key == x->key && tie < x->tie);
}

/* Insertion sort: linear if the order has hardly changed. */
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

/* Sorts running jobs by their present keys. A job whose key changed comes after the jobs that already had that key, and keeps its
 * place among those that changed with it. */
static void order(struct preemptive *p, struct orr_jobs *w)
{
	sort(p->list, p->n); /* the last pass may have appended */
	for (size_t i = 0; !p->is_static && i < p->n; i++) {
		int64_t key = p->key(p, w, p->list[i].job);
		if (key != p->list[i].key)
			p->list[i].tie = tie_of(p->pass, false, (int64_t)i);
		p->list[i].key = key;
	}
	sort(p->list, p->n);
}

static void grow_lists(struct preemptive *p, size_t n)
{
	if (n <= p->cap)
		return;
	p->cap = p->cap ? p->cap * 2 : 64;
	p->list = orr_realloc(p->list, p->cap, sizeof *p->list);
	p->next = orr_realloc(p->next, p->cap, sizeof *p->next);
}

static int64_t milli_of(const struct orr_job_info *i)
{
	return (int64_t)i->gpus * i->gpu_milli;
}

/* ---- one pass ---- */

/* Chooses the jobs that should run: p->next in order, and the victims. */
static void choose(struct preemptive *p, struct orr_jobs *w)
{
	struct orr_walk walk;
	struct orr_job_info info;
	size_t i = 0;
	orr_walk_begin(p->waiting, &walk);
	for (;;) {
		bool open = gpu_budget_any_left(&p->budget);
		orr_job j = open ? orr_walk_peek(&walk) : 0;
		int64_t key = j ? orr_queue_key(p->waiting, j) : 0, tie = j ? orr_queue_tie(p->waiting, j) : 0;
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
		if (!gpu_budget_draw(&p->budget, w, j, info.gpu_types, x.milli, &x.type)) {
			orr_walk_skip_shape(&walk);
			continue;
		}
		grow_lists(p, p->n_next + p->n - i + 1);
		p->next[p->n_next++] = x;
	}
	orr_walk_end(&walk);
	p->out.left = p->out.n;
}

/* Starts the chosen jobs that do not run; true if the placement had room for all. */
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
		p->next[kept++] = *x;
	}
	p->n_next = kept;
	return all;
}

/* Victims that still run return to the running list; the others wait. */
static void settle(struct preemptive *p, struct orr_jobs *w)
{
	size_t k = 0; /* victims are in the order of p->list */
	for (size_t i = 0; i < p->out.n; i++) {
		while (p->list[k].job != p->out.job[i])
			k++;
		if (orr_job_is_running(w, p->out.job[i])) {
			grow_lists(p, p->n_next + p->n + 1);
			p->next[p->n_next++] = p->list[k];
			continue;
		}
		const struct preemptive_job *x = &p->list[k];
		int64_t key = p->key(p, w, x->job);
		orr_queue_add(p->waiting, x->job, key, key == x->key ? x->tie : tie_of(p->pass, false, (int64_t)k));
	}
}

/* Offers GPUs that the placement left to all waiting jobs, in order. */
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
	}
	orr_walk_end(&walk);
}

void preemptive_pass(void *self, struct orr_jobs *w, bool is_eager, int64_t (*stop_cost)(const struct orr_job_info *info))
{
	struct preemptive *p = self;
	struct orr_job_info info;
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
	/* Victims that were stopped without making room may run again, too. */
	if ((!all || p->out.n_stopped) && !is_eager)
		refill(p, w);
	p->pass++;
	p->arrivals = 0;
}

void preemptive_schedule(void *self, struct orr_jobs *w)
{
	preemptive_pass(self, w, false, NULL);
}
