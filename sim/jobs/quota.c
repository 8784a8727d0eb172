/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "jobs/quota.h"

#include "base/hash.h"
#include "base/mem.h"
#include "jobs/limits.h"
#include "jobs/quota_set.h"
#include "jobs/world.h"
#include "results/summary.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

void quota_begin(struct orr_jobs *w)
{
	const struct quota_set *set = w->config->partitions;
	if (!set)
		return;
	struct quotas *q = w->quotas = mem_zalloc(1, sizeof *q);
	q->set = set;
	q->borrows = !strcmp(orr_arg_text(w->config->options, "borrow"), "on");
	q->reclaim = strcmp(orr_arg_text(w->config->options, "reclaim"), "preempt") ? QUOTA_WAIT : QUOTA_PREEMPT;
	q->part = mem_zalloc(set->n, sizeof *q->part);
	q->order = mem_zalloc(set->n, sizeof *q->order);
	for (uint32_t i = 0; i < set->n; i++) {
		q->part[i].quota = 1000 * (int64_t)set->of[i].gpus;
		q->all += q->part[i].quota;
		q->order[i] = i;
		q->part[i].last_running = NONE;
	}
	q->view.of = NONE;
	q->view.held = mem_zalloc(w->config->cluster->n_nodes + 1u, sizeof *q->view.held);
	q->view.free = mem_zalloc(w->config->cluster->n_nodes + 1u, sizeof *q->view.free);
}

void quota_free(struct orr_jobs *w)
{
	struct quotas *q = w->quotas;
	if (!q)
		return;
	mem_free(q->part);
	mem_free(q->order);
	mem_free(q->of_queue);
	mem_free(q->lost);
	mem_free(q->view.held);
	mem_free(q->view.free);
	mem_free(q);
}

/* ---- jobs and their partitions ---- */

static void refuse(struct orr_jobs *w, const struct job_rec *r)
{
	char line[24] = "";
	if (r->line)
		snprintf(line, sizeof line, "%llu:", (unsigned long long)r->line);
	const char *queue = r->queue ? strtab_text(w->strings, r->queue) : NULL;
	orr_fail(&w->error, ORR_EINPUT,
		"%s:%s job %llu %s%.100s: expected the queue of each job in --partitions, or *=GPUS for all other jobs",
		jobset_source(w->config->jobs), line, (unsigned long long)r->number, queue ? "is in queue " : "names no queue",
		queue ? queue : "");
	w->is_over = true;
}

uint32_t quota_partition(struct orr_jobs *w, const struct job_rec *r)
{
	struct quotas *q = w->quotas;
	if (!q)
		return 0;
	if (r->queue >= q->n_queues) {
		uint32_t n = 2 * r->queue + 16;
		q->of_queue = mem_realloc(q->of_queue, n, sizeof *q->of_queue);
		memset(q->of_queue + q->n_queues, 0, (n - q->n_queues) * sizeof *q->of_queue);
		q->n_queues = n;
	}
	uint32_t *known = &q->of_queue[r->queue];
	if (!*known)
		*known = 1 + quota_set_find(q->set, r->queue ? strtab_text(w->strings, r->queue) : NULL);
	if (*known)
		return *known - 1;
	refuse(w, r);
	return 0;
}

int64_t quota_request(const struct pool_request *r)
{
	return (int64_t)r->gpus * r->gpu_milli;
}

bool quota_excludes(const struct orr_jobs *w, uint32_t partition, const struct pool_request *r)
{
	const struct quotas *q = w->quotas;
	return q && quota_request(r) > (q->borrows ? q->all : q->part[partition].quota);
}

/* ---- accounts ---- */

int64_t quota_held(const struct job *job)
{
	const struct pool_alloc *a = &job->alloc;
	if (a->is_beside)
		return 0;
	return a->n == 1 && job->held == 1 && a->one.slot != POOL_WHOLE ? a->one.milli : 1000 * (int64_t)job->held;
}

static void book(const struct orr_jobs *w, struct quota_part *p)
{
	timeline_sum ns = (timeline_sum)(uint64_t)(eng_now(w->engine) - p->since);
	p->used_ns += ns * (uint64_t)p->used;
	p->borrowed_ns += p->used > p->quota ? ns * (uint64_t)(p->used - p->quota) : 0;
	p->since = eng_now(w->engine);
}

static void change(struct orr_jobs *w, const struct job *job, int64_t used, int64_t waiting)
{
	struct quotas *q = w->quotas;
	struct quota_part *p = &q->part[job->partition];
	if (used)
		book(w, p);
	p->used += used;
	q->used += used;
	p->waiting += waiting;
	int64_t within = p->quota - p->used, requested = p->waiting < within ? p->waiting : within;
	requested = requested > 0 ? requested : 0;
	q->requested += requested - p->requested;
	p->requested = requested;
}

/* Returns what a waiting job requests of its quota: nothing if it can only start with borrowed GPUs. */
static int64_t own_request(const struct orr_jobs *w, const struct job *job)
{
	int64_t n = quota_request(&w->shapes.shape[job->shape].request);
	return n <= w->quotas->part[job->partition].quota ? n : 0;
}

void quota_knows(struct orr_jobs *w, const struct job *job)
{
	if (!w->quotas)
		return;
	w->quotas->part[job->partition].live++;
	w->quotas->part[job->partition].jobs++;
	w->quotas->part[job->partition].is_due = true;
	change(w, job, 0, own_request(w, job));
}

void quota_forgets(struct orr_jobs *w, const struct job *job, bool was_waiting)
{
	if (!w->quotas || job->is_held)
		return;
	w->quotas->part[job->partition].live--;
	if (was_waiting)
		change(w, job, 0, -own_request(w, job));
}

uint32_t quota_whole(const struct pool_alloc *a)
{
	const struct pool_piece *x = pool_pieces(a);
	uint32_t sum = 0;
	for (uint32_t i = 0; i < a->n && !a->is_beside; i++)
		sum += x[i].slot == POOL_WHOLE ? x[i].gpus : 0;
	return sum;
}

static bool is_later(const struct job *a, const struct job *b)
{
	return a->last_start != b->last_start ? a->last_start > b->last_start : a->number > b->number;
}

/* Adds a job to the running jobs of its partition. Jobs that started at this instant may have larger numbers. */
static void link_running(struct orr_jobs *w, struct job *job)
{
	struct quota_part *p = &w->quotas->part[job->partition];
	struct job *of = w->slots.job;
	uint32_t next = NONE, prev = p->last_running;
	for (; prev != NONE && is_later(&of[prev], job); prev = of[prev].part_prev)
		next = prev;
	job->part_prev = prev;
	job->part_next = next;
	if (prev != NONE)
		of[prev].part_next = slot_of(w, job);
	if (next == NONE)
		p->last_running = slot_of(w, job);
	else
		of[next].part_prev = slot_of(w, job);
}

static void unlink_running(struct orr_jobs *w, const struct job *job)
{
	struct job *of = w->slots.job;
	if (job->part_prev != NONE)
		of[job->part_prev].part_next = job->part_next;
	if (job->part_next == NONE)
		w->quotas->part[job->partition].last_running = job->part_prev;
	else
		of[job->part_next].part_prev = job->part_prev;
}

void quota_takes(struct orr_jobs *w, struct job *job)
{
	if (!w->quotas)
		return;
	link_running(w, job);
	if (job->alloc.type < CLUSTER_MAX_TYPES)
		w->quotas->part[job->partition].held_of[job->alloc.type] += quota_held(job);
	change(w, job, quota_held(job), -own_request(w, job));
}

void quota_gives(struct orr_jobs *w, const struct job *job)
{
	if (!w->quotas)
		return;
	struct quota_part *p = &w->quotas->part[job->partition];
	p->given++;
	unlink_running(w, job);
	if (job->sharers != 1)
		return; /* another job continues on the GPUs */
	if (job->alloc.type < CLUSTER_MAX_TYPES)
		p->held_of[job->alloc.type] -= quota_held(job);
	change(w, job, -quota_held(job), 0);
}

void quota_waits(struct orr_jobs *w, const struct job *job)
{
	if (w->quotas)
		change(w, job, 0, own_request(w, job));
}

/* ---- GPUs that a partition may use ---- */

static int64_t allowance(const struct quotas *q, uint32_t partition)
{
	const struct quota_part *p = &q->part[partition];
	if (!q->borrows)
		return p->quota;
	int64_t others = q->used - p->used, requested = q->used ? q->requested - p->requested : 0, idle = q->all - others - requested;
	int64_t least = q->reclaim == QUOTA_PREEMPT && p->quota > p->used ? p->quota : p->used;
	return idle > least ? idle : least;
}

int64_t quota_room(const struct orr_jobs *w, uint32_t partition)
{
	return allowance(w->quotas, partition) - w->quotas->part[partition].used;
}

bool quota_allows(struct orr_jobs *w, const struct job *job, const struct pool_request *r, int64_t freed)
{
	int64_t n = quota_request(r);
	if (!w->quotas || !n || n - freed <= quota_room(w, job->partition))
		return true;
	w->quotas->refused++;
	return false;
}

uint64_t quota_digest(const struct orr_jobs *w, uint32_t partition, const struct quota_view *v)
{
	uint64_t digest = hash_mix((uint64_t)allowance(w->quotas, partition));
	for (uint32_t t = 0; v && t < w->config->cluster->n_types; t++)
		digest = hash_mix(digest ^ v->total_of[t]);
	return digest;
}

static bool is_before(const struct quotas *q, uint32_t a, uint32_t b)
{
	const struct quota_part *x = &q->part[a], *y = &q->part[b];
	if ((x->requested > 0) != (y->requested > 0))
		return x->requested > 0;
	double of_x = (double)x->used * (double)y->quota, of_y = (double)y->used * (double)x->quota;
	return of_x < of_y || (of_x == of_y && a < b);
}

void quota_sort(struct orr_jobs *w)
{
	struct quotas *q = w->quotas;
	for (uint32_t i = 1; i < q->set->n; i++) { /* nearly sorted since the last call */
		uint32_t x = q->order[i], at = i;
		for (; at && is_before(q, x, q->order[at - 1]); at--)
			q->order[at] = q->order[at - 1];
		q->order[at] = x;
	}
}

/* ---- checks and metrics ---- */

const char *quota_check(const struct orr_jobs *w)
{
	const struct quotas *q = w->quotas;
	if (!q)
		return NULL;
	int64_t *used = mem_zalloc(q->set->n, sizeof *used), sum = 0;
	const char *wrong = NULL;
	for (uint32_t i = 0; i < w->slots.n_running; i++)
		used[w->slots.job[w->slots.running[i]].partition] += quota_held(&w->slots.job[w->slots.running[i]]);
	for (uint32_t i = 0; i < q->set->n; i++) {
		sum += used[i];
		if (used[i] != q->part[i].used)
			wrong = "the GPUs of a partition are not the sum over its jobs";
		else if (!q->borrows && used[i] > q->part[i].quota)
			wrong = "a partition uses more GPUs than its quota";
	}
	mem_free(used);
	if (!wrong && sum != q->used)
		wrong = "the GPUs of the partitions do not add up";
	if (!wrong && w->owns_host && sum != w->pool->used_milli)
		wrong = "the GPUs of the partitions are not those in use";
	return wrong || sum <= q->all ? wrong : "the partitions together use more GPUs than the sum of their quotas";
}

void quota_metrics(struct orr_jobs *w)
{
	struct quotas *q = w->quotas;
	double used = 0, borrowed = 0;
	for (uint32_t i = 0; q && i < q->set->n; i++) {
		book(w, &q->part[i]);
		used += (double)q->part[i].used_ns;
		borrowed += (double)q->part[i].borrowed_ns;
	}
	if (q) {
		summary_put(w->result, "borrowed_part", used > 0 ? borrowed / used : NAN);
		summary_put(w->result, "reclaimed", (double)q->reclaimed);
		summary_put(w->result, "quota_refusals", (double)q->refused);
	}
	if (w->limits)
		summary_put(w->result, "jobs_held", (double)w->limits->held);
}
