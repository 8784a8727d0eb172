/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "jobs/quota_view.h"

#include "base/mem.h"
#include "jobs/borrow.h"
#include "jobs/quota_set.h"
#include "jobs/victims.h"
#include "jobs/world.h"

#include <string.h>

/* Returns whether GPUs of jobs that may be stopped count as free. */
static bool may_reclaim(const struct orr_jobs *w, uint32_t partition, int64_t room)
{
	const struct quotas *q = w->quotas;
	bool is_within = q->part[partition].used + room == q->part[partition].quota; /* no start borrows */
	return borrow_is_reclaiming(w) && is_within && borrow_has_others(q, partition);
}

static uint64_t whole(int64_t room)
{
	return room > 0 ? (uint64_t)room / 1000 : 0;
}

/* Returns a number of 1/1000 GPU in GPUs, rounded up. */
static uint32_t rounded_up(int64_t milli)
{
	return (uint32_t)((milli + 999) / 1000);
}

static int64_t lesser(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static uint32_t at_most(uint64_t n, uint64_t limit)
{
	return (uint32_t)(n < limit ? n : limit);
}

/* ---- sums ---- */

static void add_borrowed(const struct orr_jobs *w, uint32_t partition, uint64_t *free_of, int64_t *milli_of)
{
	const struct quotas *q = w->quotas;
	for (uint32_t i = 0; i < q->set->n; i++) {
		int64_t over = i == partition ? 0 : q->part[i].used - q->part[i].quota;
		for (uint32_t k = q->part[i].last_running; (k = borrow_next(w, k, UINT64_MAX, &over)) != NONE;
			k = w->slots.job[k].part_prev) {
			free_of[w->slots.job[k].alloc.type] += quota_whole(&w->slots.job[k].alloc);
			milli_of[w->slots.job[k].alloc.type] += quota_held(&w->slots.job[k]);
		}
	}
}

static void sum_up(const struct orr_jobs *w, struct quota_view *v, uint32_t partition, int64_t room)
{
	const struct quota_part *p = &w->quotas->part[partition];
	uint64_t free_of[CLUSTER_MAX_TYPES] = { 0 }, limit = whole(room), sum = 0;
	int64_t milli_of[CLUSTER_MAX_TYPES] = { 0 }, usable = room > 0 ? room : 0, all = 0; /* with free parts of GPUs */
	if (may_reclaim(w, partition, room))
		add_borrowed(w, partition, free_of, milli_of);
	v->is_restricted = false;
	for (uint32_t t = 0; t < w->config->cluster->n_types; t++) {
		free_of[t] += w->pool->free[t];
		milli_of[t] = lesser(milli_of[t] + 1000 * (int64_t)w->pool->total[t] - w->pool->used_of[t], usable);
		v->is_restricted |= free_of[t] > limit;
		v->free_of[t] = at_most(free_of[t], limit);
		v->total_of[t] = rounded_up(p->held_of[t] + milli_of[t]);
		sum += v->free_of[t];
		all += milli_of[t];
	}
	v->free_gpus = at_most(sum, limit);
	v->total_gpus = rounded_up(p->used + lesser(all, usable));
}

const struct quota_view *quota_view_sums(struct orr_jobs *w)
{
	struct quota_view *v = &w->quotas->view;
	uint32_t partition = w->policy.at;
	int64_t room = quota_room(w, partition);
	if (v->of == partition && v->changes == w->pool->changes && v->room == room && v->call == w->policy.calls_now)
		return v;
	v->of = partition;
	v->changes = w->pool->changes;
	v->room = room;
	v->call = w->policy.calls_now;
	v->has_nodes = false;
	sum_up(w, v, partition, room);
	return v;
}

/* ---- nodes ---- */

/* Adds the whole GPUs of a job by node. With `is_counted`, by number of the GPU, also adds each GPU of which a job holds a part, once. */
static void add_pieces(const struct orr_jobs *w, const struct job *job, uint32_t *gpus, bool *is_counted)
{
	const struct pool_piece *x = pool_pieces(&job->alloc);
	for (uint32_t i = 0; i < job->alloc.n && !job->alloc.is_beside; i++) {
		if (w->pool->node[x[i].node].is_closed)
			continue;
		if (x[i].slot == POOL_WHOLE) {
			gpus[x[i].node] += x[i].gpus;
		} else if (is_counted && !is_counted[w->pool->slot_base[x[i].node] + x[i].slot]) {
			is_counted[w->pool->slot_base[x[i].node] + x[i].slot] = true;
			gpus[x[i].node]++;
		}
	}
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
	uint32_t sum[CLUSTER_MAX_TYPES] = { 0 };
	for (int pass = 0; pass < PASSES; pass++)
		for (uint32_t i = 0; i < c->n_nodes; i++) {
			if (c->node[i].type >= CLUSTER_MAX_TYPES || !is_in_pass(w, v, i, (enum pass)pass))
				continue;
			v->free[i] = at_most(v->free[i], room - sum[c->node[i].type]);
			sum[c->node[i].type] += v->free[i];
		}
}

static void find_nodes(const struct orr_jobs *w, struct quota_view *v, uint32_t partition, int64_t room)
{
	const struct cluster *c = w->config->cluster;
	bool *is_counted = mem_zalloc(c->gpus + 1u, sizeof *is_counted);
	memset(v->held, 0, c->n_nodes * sizeof *v->held);
	for (uint32_t k = w->quotas->part[partition].last_running; k != NONE; k = w->slots.job[k].part_prev)
		add_pieces(w, &w->slots.job[k], v->held, is_counted);
	mem_free(is_counted);
	for (uint32_t i = 0; i < c->n_nodes; i++)
		v->free[i] = w->pool->node[i].is_up && !w->pool->node[i].is_closed ? w->pool->node[i].free_gpus : 0;
	uint32_t n = 0;
	struct victim *x = may_reclaim(w, partition, room) ? borrow_victims(w, partition, UINT64_MAX, &n) : NULL;
	for (uint32_t i = 0; i < n; i++)
		add_pieces(w, &w->slots.job[x[i].slot], v->free, NULL);
	mem_free(x);
	if (v->is_restricted)
		restrict_free(w, v, whole(room));
}

const struct quota_view *quota_view_nodes(struct orr_jobs *w)
{
	struct quota_view *v = &w->quotas->view;
	quota_view_sums(w);
	if (!v->has_nodes)
		find_nodes(w, v, v->of, v->room);
	v->has_nodes = true;
	return v;
}

/* ---- check ---- */

static bool is_own(const struct job *job, const void *partition)
{
	return job->partition == *(const uint32_t *)partition;
}

/* Finds the jobs that may be stopped among all running jobs, and compares. */
static bool has_right_victims(const struct orr_jobs *w, uint32_t partition)
{
	const struct quotas *q = w->quotas;
	uint32_t n, n_listed, at = 0;
	struct victim *v = victims_of(w, UINT64_MAX, is_own, &partition, &n), *listed = borrow_victims(w, partition, UINT64_MAX, &n_listed);
	int64_t *used = mem_zalloc(q->set->n, sizeof *used);
	bool is_right = true;
	for (uint32_t i = 0; i < q->set->n; i++)
		used[i] = q->part[i].used;
	for (uint32_t i = 0; i < n && is_right; i++) {
		const struct job *x = &w->slots.job[v[i].slot];
		if (used[x->partition] <= q->part[x->partition].quota)
			continue;
		used[x->partition] -= quota_held(x);
		is_right = at < n_listed && listed[at].slot == v[i].slot;
		at++;
	}
	mem_free(used);
	mem_free(listed);
	mem_free(v);
	return is_right && at == n_listed;
}

/* Finds the GPUs of the partition's jobs among all running jobs, and compares. */
static bool has_right_held(const struct orr_jobs *w, const struct quota_view *v, uint32_t partition)
{
	const struct cluster *c = w->config->cluster;
	uint32_t *held = mem_zalloc(c->n_nodes + 1u, sizeof *held);
	bool *is_counted = mem_zalloc(c->gpus + 1u, sizeof *is_counted);
	int64_t held_of[CLUSTER_MAX_TYPES] = { 0 };
	for (uint32_t i = 0; i < w->slots.n_running; i++) {
		const struct job *job = &w->slots.job[w->slots.running[i]];
		if (job->partition != partition)
			continue;
		add_pieces(w, job, held, is_counted);
		if (job->alloc.type < CLUSTER_MAX_TYPES)
			held_of[job->alloc.type] += quota_held(job);
	}
	bool is_right = !memcmp(held, v->held, c->n_nodes * sizeof *held);
	for (uint32_t t = 0; t < c->n_types; t++)
		is_right &= held_of[t] == w->quotas->part[partition].held_of[t];
	mem_free(is_counted);
	mem_free(held);
	return is_right;
}

static bool has_right_sums(const struct orr_jobs *w, const struct quota_view *v, uint32_t partition)
{
	const struct cluster *c = w->config->cluster;
	uint64_t free_of[CLUSTER_MAX_TYPES] = { 0 };
	for (uint32_t i = 0; i < c->n_nodes; i++)
		if (c->node[i].type < CLUSTER_MAX_TYPES)
			free_of[c->node[i].type] += v->free[i];
	bool is_right = true;
	for (uint32_t t = 0; t < c->n_types; t++) {
		int64_t least = w->quotas->part[partition].held_of[t] + 1000 * (int64_t)free_of[t];
		is_right &= v->free_of[t] == free_of[t] && 1000 * (int64_t)v->total_of[t] >= least;
	}
	return is_right;
}

const char *quota_view_check(struct orr_jobs *w)
{
	struct quotas *q = w->quotas;
	if (!q || !w->owns_host)
		return NULL;
	uint32_t partition = q->n_checks++ % q->set->n;
	int64_t room = quota_room(w, partition);
	q->view.of = NONE; /* the arrays of nodes are used below */
	sum_up(w, &q->view, partition, room);
	find_nodes(w, &q->view, partition, room);
	if (!has_right_victims(w, partition))
		return "the jobs that may be stopped for a partition are not those of a search of all running jobs";
	if (!has_right_held(w, &q->view, partition))
		return "the GPUs of a partition on a node are not those of its running jobs";
	return has_right_sums(w, &q->view, partition) ? NULL : "the GPUs that a partition sees are not the sums over its nodes";
}
