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

#include <string.h>

/* ---- borrowers ---- */

static bool is_own(const struct job *job, const void *partition)
{
	return job->partition == *(const uint32_t *)partition;
}

static bool has_borrowers(const struct quotas *q, uint32_t but)
{
	for (uint32_t i = 0; i < q->set->n; i++)
		if (i != but && q->part[i].used > q->part[i].quota)
			return true;
	return false;
}

/* Returns the jobs of other partitions that may be stopped, latest start first. */
static struct victim *borrowers(const struct orr_jobs *w, uint32_t partition, uint64_t types, uint32_t *n)
{
	const struct quotas *q = w->quotas;
	struct victim *v = victims_of(w, types, is_own, &partition, n);
	int64_t *used = mem_zalloc(q->set->n, sizeof *used);
	uint32_t kept = 0;
	for (uint32_t i = 0; i < q->set->n; i++)
		used[i] = q->part[i].used;
	for (uint32_t i = 0; i < *n; i++) {
		const struct job *x = &w->slots.job[v[i].slot];
		if (used[x->partition] <= q->part[x->partition].quota)
			continue;
		used[x->partition] -= quota_held(x);
		v[kept++] = v[i];
	}
	*n = kept;
	mem_free(used);
	return v;
}

/* Returns whether borrowers may be stopped now: in the first call of an instant only, so that partitions do not take turns. */
static bool is_reclaiming(const struct orr_jobs *w)
{
	const struct quotas *q = w->quotas;
	return q && q->borrows && q->reclaim == QUOTA_PREEMPT && w->policy.calls_now <= 1;
}

/* Returns whether borrowers may be stopped for a start with this request. */
static bool may_stop(const struct orr_jobs *w, const struct job *job, const struct pool_request *r, int64_t freed)
{
	const struct quotas *q = w->quotas;
	if (!is_reclaiming(w) || !r->gpus)
		return false;
	const struct quota_part *p = &q->part[job->partition];
	return p->used - freed + quota_request(r) <= p->quota && has_borrowers(q, job->partition);
}

bool borrow_must_stop(const struct orr_jobs *w, const struct pool_request *r)
{
	return w->quotas && w->quotas->borrows && w->quotas->used + quota_request(r) > w->quotas->all;
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
	struct victim *v = borrowers(w, job->partition, r->types, &n_victims);
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

/* Stops the job and those on the same GPUs. Their policies are told after the present call. */
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
	struct victim *v = borrowers(w, job->partition, r->types, &n);
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
	struct victim *v = borrowers(w, job->partition, UINT64_MAX, &n_victims);
	for (size_t i = 0; i < n; i++)
		for (uint32_t k = 0; k < n_victims && node[i] < w->config->cluster->n_nodes && w->pool->node[node[i]].free_gpus < gpus[i];
			k++) {
			struct job *x = &w->slots.job[v[k].slot];
			if (x->state == ORR_JOB_RUNNING && life_is_on(x, node[i]))
				stop(w, x);
		}
	for (uint32_t k = 0; k < n_victims && borrow_must_stop(w, r); k++)
		if (w->slots.job[v[k].slot].state == ORR_JOB_RUNNING)
			stop(w, &w->slots.job[v[k].slot]);
	mem_free(v);
}

/* ---- the nodes of a partition ---- */

static void add_pieces(const struct orr_jobs *w, const struct job *job, uint32_t *gpus)
{
	const struct pool_piece *x = pool_pieces(&job->alloc);
	for (uint32_t i = 0; i < job->alloc.n && !job->alloc.is_beside; i++)
		if (x[i].slot == POOL_WHOLE && !w->pool->node[x[i].node].is_closed)
			gpus[x[i].node] += x[i].gpus;
}

/* Adds the GPUs of jobs that may be stopped. */
static void add_borrowed(struct orr_jobs *w, uint32_t partition, uint32_t *free)
{
	const struct quotas *q = w->quotas;
	uint32_t n;
	bool is_within = q->part[partition].used + q->view.room == q->part[partition].quota; /* no start borrows */
	if (!is_reclaiming(w) || !is_within || !has_borrowers(q, partition))
		return;
	struct victim *v = borrowers(w, partition, UINT64_MAX, &n);
	for (uint32_t i = 0; i < n; i++)
		add_pieces(w, &w->slots.job[v[i].slot], free);
	mem_free(v);
}

enum pass { ON_OWN_NODES, ON_IDLE_NODES, ON_OTHERS, PASSES };

static bool is_in_pass(const struct orr_jobs *w, const struct quota_view *v, uint32_t i, enum pass pass)
{
	bool is_idle = w->pool->node[i].free_gpus == w->config->cluster->node[i].gpus;
	return pass == ON_OWN_NODES ? v->held[i] > 0 : v->held[i] == 0 && is_idle == (pass == ON_IDLE_NODES);
}

/* Restricts the free GPUs of each type to `room`: first on nodes of the partition's jobs, then on idle nodes, then on others. */
static void restrict_free(const struct orr_jobs *w, struct quota_view *v, uint64_t room)
{
	const struct cluster *c = w->config->cluster;
	for (int pass = 0; pass < PASSES; pass++)
		for (uint32_t i = 0; i < c->n_nodes; i++) {
			if (c->node[i].type >= CLUSTER_MAX_TYPES || !is_in_pass(w, v, i, (enum pass)pass))
				continue;
			uint32_t *sum = &v->free_of[c->node[i].type];
			uint64_t left = room - *sum;
			v->free[i] = v->free[i] < left ? v->free[i] : (uint32_t)left;
			*sum += v->free[i];
		}
}

const struct quota_view *borrow_view(struct orr_jobs *w)
{
	struct quotas *q = w->quotas;
	struct quota_view *v = &q->view;
	const struct cluster *c = w->config->cluster;
	uint32_t partition = w->policy.at;
	int64_t room = quota_room(w, partition);
	if (v->of == partition && v->changes == w->pool->changes && v->room == room && v->call == w->policy.calls_now)
		return v;
	v->of = partition;
	v->changes = w->pool->changes;
	v->room = room;
	v->call = w->policy.calls_now;
	memset(v->held, 0, c->n_nodes * sizeof *v->held);
	memset(v->total_of, 0, sizeof v->total_of);
	memset(v->free_of, 0, sizeof v->free_of);
	v->free_gpus = 0;
	for (uint32_t i = 0; i < w->slots.n_running; i++)
		if (w->slots.job[w->slots.running[i]].partition == partition)
			add_pieces(w, &w->slots.job[w->slots.running[i]], v->held);
	for (uint32_t i = 0; i < c->n_nodes; i++)
		v->free[i] = w->pool->node[i].is_up && !w->pool->node[i].is_closed ? w->pool->node[i].free_gpus : 0;
	add_borrowed(w, partition, v->free);
	restrict_free(w, v, room > 0 ? (uint64_t)room / 1000 : 0);
	for (uint32_t i = 0; i < c->n_nodes; i++)
		if (c->node[i].type < CLUSTER_MAX_TYPES) {
			v->total_of[c->node[i].type] += v->held[i] + v->free[i];
			v->free_gpus += v->free[i];
		}
	v->free_gpus = v->free_gpus < room / 1000 ? v->free_gpus : (uint32_t)(room > 0 ? room / 1000 : 0);
	return v;
}
