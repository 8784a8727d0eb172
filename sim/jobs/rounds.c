/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rounds (orrery/jobs.h): leases of GPUs from one decision of a policy to the next, with few moves. */
#include "jobs/actions.h"
#include "jobs/borrow.h"
#include "jobs/group.h"
#include "jobs/quota.h"
#include "jobs/world.h"

#include "base/mem.h"
#include "base/num.h"

#include <stdlib.h>

/* Jobs that run together. */
struct wish {
	uint32_t first, n; /* in orr_round.job */
	uint32_t gpus, type;
	orr_job anchor; /* a job that already runs as listed; 0: none */
	bool lacks;     /* the trial has found no GPUs for it */
	bool is_kept;   /* a job for whose new size there are no GPUs: it keeps its present ones */
	uint32_t listed_gpus;
};

struct orr_round {
	struct orr_jobs *w;
	int64_t period, next, timer_at;
	struct wish *wish;
	orr_job *job;
	uint32_t n, cap, n_jobs, cap_jobs;
	uint32_t *wish_of; /* [slot] wish + 1; 0: none */
	uint32_t n_slots;
	struct wish **order; /* wishes without an anchor, the largest first */
	uint32_t cap_order;
};

struct orr_round *orr_round_new(struct orr_jobs *w, int64_t period_ns)
{
	struct orr_round *r = mem_zalloc(1, sizeof *r);
	r->w = w;
	r->period = period_ns;
	r->timer_at = -1;
	return r;
}

void orr_round_free(struct orr_round *r)
{
	if (!r)
		return;
	mem_free(r->wish);
	mem_free(r->job);
	mem_free(r->wish_of);
	mem_free(r->order);
	mem_free(r);
}

static void call_at(struct orr_round *r, int64_t at)
{
	if (r->timer_at == at || !r->w->slots.live)
		return;
	r->timer_at = at;
	orr_timer(r->w, at);
}

static bool any_runs(const struct orr_jobs *w)
{
	return w->quotas ? w->quotas->part[w->policy.at].last_running != NONE : w->slots.n_running > 0;
}

bool orr_round_is_due(struct orr_round *r)
{
	int64_t now = eng_now(r->w->engine);
	bool is_due = now >= r->next || r->period <= 0 || !any_runs(r->w);
	if (is_due)
		r->next = num_add_sat(now, r->period);
	if (r->period > 0)
		call_at(r, r->next);
	return is_due;
}

void orr_round_begin(struct orr_round *r)
{
	const struct slots *s = &r->w->slots;
	if (s->n > r->n_slots) {
		r->wish_of = mem_realloc(r->wish_of, s->cap, sizeof *r->wish_of);
		for (uint32_t i = r->n_slots; i < s->cap; i++)
			r->wish_of[i] = 0;
		r->n_slots = s->cap;
	}
	for (uint32_t i = 0; i < r->n_jobs; i++)
		r->wish_of[(uint32_t)r->job[i] - 1] = 0;
	r->n = r->n_jobs = 0;
}

void orr_round_add(struct orr_round *r, const orr_job *jobs, size_t n, uint32_t gpus, uint32_t gpu_type)
{
	MEM_GROW(r->wish, r->n, r->cap);
	struct wish *x = &r->wish[r->n++];
	*x = (struct wish){ .first = r->n_jobs, .gpus = gpus, .type = gpu_type };
	for (size_t i = 0; i < n; i++) {
		const struct job *job = job_of(r->w, jobs[i]);
		if (!job || job->state == ORR_JOB_ENDED || slot_of(r->w, job) >= r->n_slots || r->wish_of[slot_of(r->w, job)])
			continue;
		MEM_GROW(r->job, r->n_jobs, r->cap_jobs);
		r->job[r->n_jobs++] = jobs[i];
		r->wish_of[slot_of(r->w, job)] = r->n;
		x->gpus = x->gpus ? x->gpus : job_request(r->w, job)->gpus;
		x->n++;
	}
}

static bool runs_as_listed(const struct wish *x, const struct job *job)
{
	return job->state == ORR_JOB_RUNNING && job->held == x->gpus && (x->type == ORR_ANY_TYPE || job->alloc.type == x->type);
}

/* Finds the running group with the largest number of members of the wish. The others of this group are stopped. */
static void find_anchor(struct orr_round *r, struct wish *x)
{
	uint32_t most = 0;
	x->anchor = 0;
	for (uint32_t i = 0; i < x->n; i++) {
		struct job *job = job_of(r->w, r->job[x->first + i]), *member[ORR_MOST_SHARING];
		if (!runs_as_listed(x, job))
			continue;
		uint32_t n = group_of(r->w, job, member), same = 0;
		bool is_taken = false;
		for (uint32_t k = 0; k < n; k++) {
			uint32_t other = r->wish_of[slot_of(r->w, member[k])];
			same += other && &r->wish[other - 1] == x;
			is_taken |= other && &r->wish[other - 1] < x && r->wish[other - 1].anchor &&
				    job_of(r->w, r->wish[other - 1].anchor) == member[k];
		}
		if (same <= most || is_taken)
			continue;
		most = same;
		x->anchor = r->job[x->first + i];
	}
}

static bool is_with(const struct orr_round *r, struct job *job, orr_job anchor)
{
	struct job *member[ORR_MOST_SHARING], *at = anchor ? job_of(r->w, anchor) : NULL;
	for (uint32_t k = group_of(r->w, job, member); at && k-- > 0;)
		if (member[k] == at)
			return true;
	return false;
}

static bool is_to_stop(const struct orr_round *r, struct job *job)
{
	uint32_t of = r->wish_of[slot_of(r->w, job)];
	return job->partition == r->w->policy.at && (!of || !is_with(r, job, r->wish[of - 1].anchor));
}

static void stop_others(struct orr_round *r)
{
	struct slots *s = &r->w->slots;
	for (uint32_t i = s->n_running; i-- > 0;) { /* a stop moves the last running job to the place of the stopped one */
		struct job *job = &s->job[s->running[i]];
		if (is_to_stop(r, job))
			orr_stop(r->w, job_handle(r->w, slot_of(r->w, job)));
	}
}

/* Starts a job without partners; returns false if it does not fit. */
static bool start_first(struct orr_round *r, const struct wish *x, orr_job j)
{
	const struct job *job = job_of(r->w, j);
	if (x->gpus != job_request(r->w, job)->gpus)
		return orr_try_start_sized(r->w, j, x->gpus);
	return x->type == ORR_ANY_TYPE ? orr_try_start(r->w, j) : orr_try_start_on_type(r->w, j, x->type);
}

/* Starts the jobs of the wish that wait; returns the number of those that do not fit. */
static size_t start(struct orr_round *r, struct wish *x)
{
	size_t waiting = 0;
	for (uint32_t i = 0; i < x->n; i++) {
		orr_job j = r->job[x->first + i];
		if (orr_job_is_running(r->w, j))
			continue;
		if (!x->anchor && start_first(r, x, j))
			x->anchor = j;
		else if (x->anchor && orr_fits_beside(r->w, j, x->anchor))
			orr_start_beside(r->w, j, x->anchor);
		else
			waiting++;
	}
	return waiting;
}

/* Sorts by size, the largest first, then by position in the list. */
static int largest_first(const void *a, const void *b)
{
	const struct wish *x = *(struct wish *const *)a, *y = *(struct wish *const *)b;
	return x->gpus != y->gpus ? (x->gpus < y->gpus ? 1 : -1) : (x > y) - (x < y);
}

/* Lists the wishes without an anchor, the largest first; returns their number. */
static size_t list_order(struct orr_round *r)
{
	size_t n = 0;
	if (r->n > r->cap_order) {
		r->cap_order = r->cap;
		r->order = mem_realloc(r->order, r->cap_order, sizeof *r->order);
	}
	for (uint32_t i = 0; i < r->n; i++)
		if (!r->wish[i].anchor)
			r->order[n++] = &r->wish[i];
	if (n)
		qsort(r->order, n, sizeof *r->order, largest_first);
	return n;
}

/* ---- jobs that change their size ---- */

/* Returns the job of the wish if it runs alone, at another size; NULL: none. */
static struct job *resized(const struct orr_round *r, const struct wish *x)
{
	struct job *job = x->n == 1 && !x->anchor ? job_of(r->w, r->job[x->first]) : NULL;
	return job && job->state == ORR_JOB_RUNNING && job->held != x->gpus && job->sharers == 1 ? job : NULL;
}

static bool any_resized(const struct orr_round *r)
{
	for (uint32_t i = 0; i < r->n; i++)
		if (resized(r, &r->wish[i]))
			return true;
	return false;
}

/* Lifts the allocations of the jobs that stop, except of GPUs that others continue to share; returns their number. */
static size_t lift_stopping(struct orr_round *r, struct pool_alloc **given)
{
	struct slots *s = &r->w->slots;
	size_t n = 0;
	for (uint32_t i = 0; i < s->n_running; i++) {
		struct job *job = &s->job[s->running[i]], *member[ORR_MOST_SHARING];
		bool is_free = is_to_stop(r, job);
		for (uint32_t k = is_free && !job->alloc.is_beside ? group_of(r->w, job, member) : 0; k-- > 0;)
			is_free &= is_to_stop(r, member[k]);
		if (is_free)
			given[n++] = &job->alloc;
	}
	pool_lift(r->w->pool, given, n);
	return n;
}

/* Places the wishes on the GPUs that will be free, without a start, and marks those that lack GPUs. keep: marks those of them whose job
 * could keep its GPUs. Returns the number of GPUs in use then. */
static uint64_t try_wishes(struct orr_round *r, bool keep)
{
	struct orr_jobs *w = r->w;
	size_t n = list_order(r), n_out = 0;
	struct pool_alloc **given = mem_alloc((w->slots.n_running + 1) * sizeof *given), *out = mem_alloc((n + 1) * sizeof *out);
	size_t n_given = lift_stopping(r, given);
	for (size_t i = 0; i < n; i++) {
		struct wish *x = r->order[i];
		x->lacks = !x->n || !action_take(w, job_of(w, r->job[x->first]), x->gpus, x->type, &out[n_out]);
		n_out += !x->lacks;
	}
	uint64_t used = (uint64_t)w->pool->used_milli;
	for (size_t i = 0; keep && i < n; i++) {
		const struct job *job = resized(r, r->order[i]);
		r->order[i]->is_kept = r->order[i]->lacks && job && action_take_held(w, job, &out[n_out]);
		n_out += r->order[i]->is_kept;
	}
	while (n_out)
		pool_give(w->pool, &out[--n_out]);
	pool_put_back(w->pool, given, n_given);
	mem_free(given);
	mem_free(out);
	return used;
}

/* Lists jobs at their present size that find no GPUs for another one and whose GPUs stay free, if this leaves no other wish without. */
static void keep_sizes(struct orr_round *r)
{
	if (!any_resized(r) || borrow_is_reclaiming(r->w)) /* GPUs of other partitions may be free too */
		return;
	uint64_t used = try_wishes(r, true);
	bool any = false;
	for (uint32_t i = 0; i < r->n; i++) {
		struct wish *x = &r->wish[i];
		if (!x->is_kept)
			continue;
		x->listed_gpus = x->gpus;
		x->gpus = job_of(r->w, r->job[x->first])->held;
		x->anchor = r->job[x->first];
		used += 1000 * (uint64_t)x->gpus;
		any = true;
	}
	if (!any || try_wishes(r, false) >= used)
		return;
	for (uint32_t i = 0; i < r->n; i++)
		if (r->wish[i].is_kept) {
			r->wish[i].gpus = r->wish[i].listed_gpus;
			r->wish[i].anchor = 0;
		}
}

size_t orr_round_apply(struct orr_round *r)
{
	size_t waiting = 0;
	for (uint32_t i = 0; i < r->n; i++)
		find_anchor(r, &r->wish[i]);
	keep_sizes(r);
	stop_others(r);
	size_t n = list_order(r);
	for (uint32_t i = 0; i < r->n; i++)
		if (r->wish[i].anchor)
			waiting += start(r, &r->wish[i]);
	for (size_t i = 0; i < n; i++)
		waiting += start(r, r->order[i]);
	return waiting;
}
