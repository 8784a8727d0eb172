/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "jobs/borrow.h"

#include "base/mem.h"
#include "base/num.h"
#include "jobs/decisions.h"
#include "jobs/group.h"
#include "jobs/life.h"
#include "jobs/quota_set.h"
#include "jobs/quota.h"
#include "jobs/victims.h"
#include "jobs/world.h"

/* ---- borrowers ---- */

bool borrow_has_others(const struct quotas *q, uint32_t but)
{
	for (uint32_t i = 0; i < q->set->n; i++)
		if (i != but && q->part[i].used > q->part[i].quota)
			return true;
	return false;
}

uint32_t borrow_next(const struct orr_jobs *w, uint32_t slot, uint64_t types, int64_t *over)
{
	for (; slot != NONE && *over > 0; slot = w->slots.job[slot].part_prev) {
		const struct job *x = &w->slots.job[slot];
		if (x->alloc.is_beside || x->alloc.type >= CLUSTER_MAX_TYPES || !(types >> x->alloc.type & 1))
			continue;
		*over -= quota_held(x);
		return slot;
	}
	return NONE;
}

struct victim *borrow_victims(const struct orr_jobs *w, uint32_t partition, uint64_t types, uint32_t *n)
{
	const struct quotas *q = w->quotas;
	struct victim *v = NULL;
	uint32_t cap = 0;
	*n = 0;
	for (uint32_t i = 0; i < q->set->n; i++) {
		int64_t over = i == partition ? 0 : q->part[i].used - q->part[i].quota;
		for (uint32_t k = q->part[i].last_running; (k = borrow_next(w, k, types, &over)) != NONE; k = w->slots.job[k].part_prev) {
			MEM_GROW(v, *n, cap);
			v[(*n)++] = (struct victim){ w->slots.job[k].last_start, w->slots.job[k].number, k, false };
		}
	}
	victims_sort(v, *n);
	return v;
}

bool borrow_is_reclaiming(const struct orr_jobs *w)
{
	const struct quotas *q = w->quotas;
	return q && q->borrows && q->reclaim == QUOTA_PREEMPT && w->policy.calls_now <= 1;
}

/* Returns whether borrowers may be stopped for a start with this request. */
static bool may_stop(const struct orr_jobs *w, const struct job *job, const struct pool_request *r, int64_t freed)
{
	const struct quotas *q = w->quotas;
	if (!borrow_is_reclaiming(w) || !r->gpus)
		return false;
	const struct quota_part *p = &q->part[job->partition];
	return p->used - freed + quota_request(r) <= p->quota && borrow_has_others(q, job->partition);
}

bool borrow_must_stop(const struct orr_jobs *w, const struct pool_request *r, int64_t freed)
{
	return w->quotas && w->quotas->borrows && w->quotas->used - freed + quota_request(r) > w->quotas->all;
}

bool borrow_fits(
	struct orr_jobs *w, const struct job *job, const struct pool_request *r, struct pool_alloc *const *given, size_t n, int64_t freed)
{
	if (!quota_allows(w, job, r, freed))
		return false;
	if (n ? pool_fits_without(w->pool, r, given, n) : pool_fits(w->pool, r))
		return true;
	if (w->quotas)
		w->quotas->part[job->partition].is_blocked = true;
	if (!may_stop(w, job, r, freed))
		return false;
	uint32_t n_victims;
	struct victim *v = borrow_victims(w, job->partition, r->types, &n_victims);
	struct pool_alloc **all = mem_alloc((n + n_victims + 1) * sizeof *all);
	for (size_t i = 0; i < n; i++)
		all[i] = given[i];
	for (uint32_t i = 0; i < n_victims; i++)
		all[n + i] = &w->slots.job[v[i].slot].alloc;
	bool fits = pool_fits_without(w->pool, r, all, n + n_victims);
	mem_free(all);
	mem_free(v);
	return fits;
}

/* Stops the job and those on the same GPUs. Their policies are informed after the present call. */
static void stop(struct orr_jobs *w, struct job *job)
{
	struct quotas *q = w->quotas;
	struct job *member[ORR_MOST_SHARING];
	for (uint32_t k = group_of(w, job, member); k-- > 0;) {
		struct job *x = member[k];
		decisions_stop(w, x, 0);
		x->preemptions++;
		w->totals.preemptions++;
		q->reclaimed++;
		life_stop(w, x, w->options.preempt_cost, "stop");
		MEM_GROW(q->lost, q->n_lost, q->cap_lost);
		q->lost[q->n_lost++] = job_handle(w, slot_of(w, x));
	}
}

/* Returns the GPUs of the first n victims that are not spared, 1/1000. */
static int64_t held_by(const struct orr_jobs *w, const struct victim *v, uint32_t n)
{
	int64_t sum = 0;
	for (uint32_t i = 0; i < n; i++)
		sum += v[i].is_spared ? 0 : quota_held(&w->slots.job[v[i].slot]);
	return sum;
}

bool borrow_make_room(struct orr_jobs *w, const struct job *job, const struct pool_request *r)
{
	if (w->quotas)
		w->quotas->part[job->partition].is_blocked = true;
	if (!may_stop(w, job, r, 0))
		return false;
	uint32_t n, from = 0;
	int64_t lacks = w->quotas->used + quota_request(r) - w->quotas->all;
	struct victim *v = borrow_victims(w, job->partition, r->types, &n);
	while (from < n && held_by(w, v, from) < lacks)
		from++;
	n = held_by(w, v, n) < lacks ? 0 : victims_shortest(w, r, v, n, from);
	for (uint32_t i = n; i-- > 0;) {
		victims_spare(w, r, v, n, i);
		v[i].is_spared = v[i].is_spared && held_by(w, v, n) >= lacks;
	}
	for (uint32_t i = 0; i < n; i++)
		if (!v[i].is_spared)
			stop(w, &w->slots.job[v[i].slot]);
	mem_free(v);
	return n > 0;
}

void borrow_clear(
	struct orr_jobs *w, const struct job *job, const struct pool_request *r, const uint32_t *node, const uint32_t *gpus, size_t n)
{
	if (!may_stop(w, job, r, 0))
		return;
	uint32_t n_victims;
	struct victim *v = borrow_victims(w, job->partition, UINT64_MAX, &n_victims);
	for (size_t i = 0; i < n; i++)
		for (uint32_t k = 0; k < n_victims && node[i] < w->config->cluster->n_nodes && w->pool->node[node[i]].free_gpus < gpus[i];
			k++) {
			struct job *x = &w->slots.job[v[k].slot];
			if (x->state == ORR_JOB_RUNNING && life_is_on(x, node[i]))
				stop(w, x);
		}
	for (uint32_t k = 0; k < n_victims && borrow_must_stop(w, r, 0); k++)
		if (w->slots.job[v[k].slot].state == ORR_JOB_RUNNING)
			stop(w, &w->slots.job[v[k].slot]);
	mem_free(v);
}
