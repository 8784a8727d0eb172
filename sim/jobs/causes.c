/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Divides waits and run times by cause; docs/howto/explain.md states the rules. */
#include "jobs/causes.h"

#include "base/mem.h"
#include "jobs/division.h"
#include "jobs/quota_set.h"
#include "jobs/quota.h"
#include "jobs/world.h"

#include <string.h>

/* The state of the job in a slot, for its parts. */
struct account {
	int64_t since;      /* start of the present wait */
	int64_t first_from; /* time from which the job is the first in the order of the policy; -1: not yet */
	uint64_t after;     /* number of the job that was first before it */
	int64_t held_until; /* end of the time in which a limit of its user held it back */
	uint32_t run;       /* last or present run */
	uint32_t taker;     /* run that took the GPUs of a preempted job; NONE: unknown */
	uint32_t lost_node;
	bool is_preempted, is_evicted;
	int64_t owed;       /* work added by stops and not yet done */
	bool is_plain;      /* the job has started at once and only computed so far, so it has no rows */
	int64_t plain_from; /* start of this run */
	int64_t waited, ran;
};

struct place_use {
	uint32_t run;    /* the last run that released GPUs of the node; NONE: none */
	int64_t changed; /* time since which the node is up or down */
	uint32_t users;  /* number of jobs and other users on the node */
	bool is_down;
};

enum { RUN_KINDS = 4 }; /* kinds of the parts of a run, in their order */
static const enum part_kind run_kinds[RUN_KINDS] = { PART_START, PART_RESTORED, PART_COMPUTE, PART_LOST };
enum { RUN_COMPUTE = 2 };
enum { NODE_DOWN, NODE_IDLE, NODE_IN_USE, NODE_KINDS };
static const enum part_kind node_kinds[NODE_KINDS] = { PART_DOWN, PART_IDLE, PART_IN_USE };

struct causes {
	struct partlog *jobs, *nodes;
	/* Indexes of parts of the log of jobs, and of that of nodes. */
	uint32_t in_turn, run_part[RUN_KINDS], node_part[NODE_KINDS];
	int64_t begin;            /* start of the run, at the first arrival */
	struct causes_line *line; /* [shape] */
	uint32_t n_lines;
	uint32_t *active, n_active, cap_active; /* shapes with waiting jobs */
	bool is_new_active;
	uint64_t changes;
	struct causes_run *run;
	uint32_t n_runs, cap_runs;
	uint32_t last_release;   /* the run that released GPUs last in this instant; NONE: none did */
	struct account *account; /* [slot] */
	uint32_t n_accounts;
	struct place_use *node;
	struct stance *stance; /* [partition] */
	uint32_t n_stances;
};

static void add_accounts(struct orr_jobs *w)
{
	struct causes *x = w->causes;
	x->account = mem_realloc(x->account, w->slots.cap, sizeof *x->account);
	memset(x->account + x->n_accounts, 0, (w->slots.cap - x->n_accounts) * sizeof *x->account);
	x->n_accounts = w->slots.cap;
}

static inline struct account *account_of(struct orr_jobs *w, const struct job *job)
{
	uint32_t slot = slot_of(w, job);
	if (slot >= w->causes->n_accounts)
		add_accounts(w);
	return &w->causes->account[slot];
}

/* ---- requests with waiting jobs ---- */

static struct causes_line *line_of(struct orr_jobs *w, uint32_t shape)
{
	struct causes *x = w->causes;
	if (shape >= x->n_lines) {
		x->line = mem_realloc(x->line, w->shapes.cap, sizeof *x->line);
		memset(x->line + x->n_lines, 0, (w->shapes.cap - x->n_lines) * sizeof *x->line);
		x->n_lines = w->shapes.cap;
	}
	return &x->line[shape];
}

static void count_waiting(struct orr_jobs *w, uint32_t shape, bool is_more)
{
	struct causes *x = w->causes;
	struct causes_line *l = line_of(w, shape);
	if (is_more && !l->waiting++) {
		l->active_at = x->n_active;
		l->n = 0;
		MEM_GROW(x->active, x->n_active, x->cap_active);
		x->active[x->n_active++] = shape;
		x->is_new_active = true;
	} else if (!is_more && !--l->waiting) {
		uint32_t last = x->active[--x->n_active];
		x->active[l->active_at] = last;
		x->line[last].active_at = l->active_at;
	}
}

static struct stretch class_of(const struct orr_jobs *w, uint32_t shape)
{
	struct stretch s = { .since = eng_now(w->engine), .turned_by = w->causes->last_release, .part = NONE };
	s.lack = lack_of(w, shape, &s.asked, &s.free);
	return s;
}

void causes_instant(struct orr_jobs *w)
{
	struct causes *x = w->causes;
	if (!x)
		return;
	if (x->changes != w->pool->changes || x->is_new_active) {
		for (uint32_t i = 0; i < x->n_active; i++) {
			struct causes_line *l = &x->line[x->active[i]];
			struct stretch s = class_of(w, x->active[i]);
			struct stretch *last = l->n ? &l->v[l->n - 1] : NULL;
			if (last && last->lack == s.lack) {
				if (last->asked != s.asked || last->free != s.free)
					last->part = NONE;
				last->asked = s.asked;
				last->free = s.free;
				continue;
			}
			MEM_GROW(l->v, l->n, l->cap);
			l->v[l->n++] = s;
		}
	}
	x->changes = w->pool->changes;
	x->is_new_active = false;
	x->last_release = NONE;
}

/* ---- the reasons of the policy ---- */

void orr_why(struct orr_jobs *w, enum orr_why_kind kind, orr_job blamed, const char *text)
{
	const struct job *job = job_of(w, blamed);
	if (!w->causes)
		return;
	struct stance *x = &w->causes->stance[w->policy.at];
	if (kind == ORR_WHY_ORDER) {
		x->is_ordered = true;
		struct account *a = job ? account_of(w, job) : NULL;
		if (a && a->first_from < 0) {
			a->first_from = x->has_first ? eng_now(w->engine) : a->since;
			a->after = x->first;
		}
		const struct job *last = x->has_first && x->first_job != blamed ? job_of(w, x->first_job) : NULL;
		if (last && last->state == ORR_JOB_WAITING)
			account_of(w, last)->first_from = -1; /* another job is first in the order now */
		x->first_job = blamed;
		x->has_first = job != NULL;
		x->first = job ? job->number : 0;
		return;
	}
	struct reason r = { eng_now(w->engine), kind, job ? job->number : PART_ALONE, text, NONE };
	struct reason *last = x->n_reasons ? &x->reason[x->n_reasons - 1] : NULL;
	if (last && last->kind == r.kind && last->number == r.number && last->text == r.text)
		return;
	if (last && last->since == r.since) {
		*last = r;
		return;
	}
	MEM_GROW(x->reason, x->n_reasons, x->cap_reasons);
	x->reason[x->n_reasons++] = r;
}

/* ---- waits ---- */

static const struct part of_nobody = { .number = PART_ALONE };

/* Returns the end of the first stretch of a wait. */
static int64_t first_change(const struct causes_line *l, int64_t since, int64_t now)
{
	uint32_t low = 0, high = l->n;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		if (l->v[middle].since <= since)
			low = middle + 1;
		else
			high = middle;
	}
	return low < l->n ? l->v[low].since : now;
}

static int64_t least(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* Returns the end of the part in which the job waits because it was preempted or evicted. Sets *what to that part. */
static int64_t interruption(const struct orr_jobs *w, const struct account *a, const struct causes_line *l, int64_t now, struct part *what)
{
	const struct causes *x = w->causes;
	int64_t until = first_change(l, a->since, now);
	if (a->held_until > a->since) {
		*what = part_of(PART_LIMITED, "the limit of its user", PART_ALONE);
		return a->held_until;
	}
	if (a->is_preempted && a->taker != NONE) {
		*what = part_of(PART_PREEMPTED, x->run[a->taker].holder, x->run[a->taker].number);
		return least(until, x->run[a->taker].end);
	}
	if (a->is_evicted && a->lost_node != NONE) {
		*what = part_of(PART_EVICTED, "node", a->lost_node);
		return w->pool->node[a->lost_node].is_up ? least(until, x->node[a->lost_node].changed) : until;
	}
	return a->since;
}

/* Divides the wait of a job, which ends now; r: the run whose end ended it. */
static void close_wait(struct orr_jobs *w, const struct job *job, uint32_t r)
{
	struct causes *x = w->causes;
	struct account *a = account_of(w, job);
	const struct stance *policy = &x->stance[job->partition];
	struct division d;
	struct part what = of_nobody;
	int64_t now = eng_now(w->engine), from = a->since, order_until = from;
	a->held_until = job->is_held ? now : a->held_until;
	d.log = x->jobs;
	d.run = x->run;
	d.policy = policy;
	d.quota = w->quotas ? w->quotas->set->of[job->partition].cause : NULL;
	d.in_turn = x->in_turn;
	d.n = 0;
	count_waiting(w, job->shape, false);
	const struct causes_line *l = line_of(w, job->shape);
	if (now <= from)
		return;
	int64_t cut = interruption(w, a, l, now, &what);
	if (policy->is_ordered && !job->is_held) {
		bool was_first = a->first_from >= 0;
		bool knows = was_first ? a->first_from > from : policy->has_first && policy->first != job->number;
		order_until = !knows ? from : was_first ? a->first_from : now;
		order_until = order_until > cut ? order_until : cut;
	}
	from = cut;
	division_put_classes(&d, l, order_until > from ? order_until : from, now, r);
	if (order_until > from) {
		struct part p = part_of(PART_ORDERED, "job", a->first_from >= 0 ? a->after : policy->first);
		division_put_new(&d, from, order_until, &p);
	}
	division_put(&d, a->since, from, &what);
	while (d.n) {
		d.n--;
		partlog_add_known(x->jobs, job->number, d.v[d.n].begin, d.v[d.n].end, d.v[d.n].part);
		a->waited += d.v[d.n].end - d.v[d.n].begin;
	}
}

/* ---- runs ---- */

static uint32_t add_run(struct causes *x, const struct causes_run *r)
{
	MEM_GROW(x->run, x->n_runs, x->cap_runs);
	x->run[x->n_runs] = *r;
	return x->n_runs++;
}

void causes_arrives(struct orr_jobs *w, const struct job *job)
{
	if (!w->causes)
		return;
	*account_of(w, job) = (struct account){ .since = job->submit, .first_from = -1, .run = NONE, .taker = NONE, .lost_node = NONE };
	count_waiting(w, job->shape, true);
}

void causes_admitted(struct orr_jobs *w, const struct job *job)
{
	if (w->causes)
		account_of(w, job)->held_until = eng_now(w->engine);
}

/* Of the runs that last held the nodes of run `mine`, returns the one that ended last. Marks the jobs that were preempted at this instant:
 * they lost their GPUs to `mine`. */
static uint32_t freed_by(struct orr_jobs *w, const struct pool_alloc *alloc, uint32_t mine)
{
	struct causes *x = w->causes;
	const struct pool_piece *piece = pool_pieces(alloc);
	int64_t now = eng_now(w->engine);
	uint32_t latest = NONE;
	for (uint32_t i = 0; i < alloc->n; i++) {
		uint32_t r = x->node[piece[i].node].run;
		if (r == NONE)
			continue;
		const struct causes_run *run = &x->run[r];
		if (latest == NONE || run->end > x->run[latest].end)
			latest = r;
		struct account *loser = run->slot != NONE && run->slot < x->n_accounts ? &x->account[run->slot] : NULL;
		if (loser && run->end == now && loser->run == r && loser->is_preempted && loser->taker == NONE &&
			run->slot != x->run[mine].slot)
			loser->taker = mine;
	}
	return latest;
}

static void note_node(struct orr_jobs *w, uint32_t node, bool is_up)
{
	struct causes *x = w->causes;
	uint32_t part = x->node_part[!is_up ? NODE_DOWN : x->node[node].users ? NODE_IN_USE : NODE_IDLE];
	int64_t now = eng_now(w->engine);
	partlog_change_known(x->nodes, node, now < x->begin ? x->begin : now, part);
}

static void count_on_nodes(struct orr_jobs *w, const struct pool_alloc *alloc, uint32_t change)
{
	struct causes *x = w->causes;
	const struct pool_piece *piece = pool_pieces(alloc);
	for (uint32_t i = 0; i < alloc->n; i++) {
		struct place_use *n = &x->node[piece[i].node];
		bool was_used = n->users != 0;
		n->users += change;
		if (was_used != (n->users != 0) && !n->is_down)
			note_node(w, piece[i].node, true);
	}
}

void causes_starts(struct orr_jobs *w, const struct job *job)
{
	struct causes *x = w->causes;
	if (!x)
		return;
	uint32_t mine = add_run(x, &(struct causes_run){ "job", job->number, eng_now(w->engine), INT64_MAX, NONE, slot_of(w, job), NONE });
	uint32_t before = freed_by(w, &job->alloc, mine);
	close_wait(w, job, before);
	x->run[mine].before = before;
	account_of(w, job)->run = mine;
	count_on_nodes(w, &job->alloc, 1);
}

/* Returns floor(v x part / whole); part <= whole < 2^63. */
static int64_t share_of(int64_t v, int64_t part, int64_t whole)
{
	return whole > 0 ? (int64_t)((timeline_sum)(uint64_t)v * (uint64_t)part / (uint64_t)whole) : 0;
}

/* Adds the row of a run that was not recorded because the job seemed to need none. */
static void put_plain(struct orr_jobs *w, const struct job *job)
{
	struct account *a = account_of(w, job);
	if (a->is_plain)
		partlog_add_known(w->causes->jobs, job->number, a->plain_from, a->plain_from + a->ran, w->causes->run_part[RUN_COMPUTE]);
	a->is_plain = false;
}

static void close_run(struct orr_jobs *w, const struct job *job, int64_t done, int64_t kept)
{
	struct causes *x = w->causes;
	struct account *a = account_of(w, job);
	int64_t now = eng_now(w->engine), ran = now - job->last_start, over = least(ran, job->start_cost), progress = ran - over;
	int64_t repaid = least(a->owed, kept);
	int64_t lost = done > 0 ? share_of(progress, done - kept, done) : 0;
	int64_t at[] = { job->last_start, job->last_start + over, job->last_start + over + share_of(progress, repaid, done), now - lost,
		now };
	a->owed -= repaid;
	if (!a->waited && !a->ran && at[2] == at[0] && !lost) {
		a->is_plain = true;
		a->plain_from = at[0];
		a->ran = ran;
		return;
	}
	put_plain(w, job);
	for (int i = 0; i < RUN_KINDS; i++)
		if (at[i + 1] > at[i])
			partlog_add_known(x->jobs, job->number, at[i], at[i + 1], x->run_part[i]);
	a->ran += ran;
}

static void release(struct orr_jobs *w, const struct pool_alloc *alloc, uint32_t r)
{
	struct causes *x = w->causes;
	const struct pool_piece *piece = pool_pieces(alloc);
	x->run[r].end = eng_now(w->engine);
	for (uint32_t i = 0; i < alloc->n; i++)
		x->node[piece[i].node].run = r;
	x->last_release = r;
	count_on_nodes(w, alloc, UINT32_MAX);
}

/* ---- GPUs of other worlds ---- */

uint32_t jobs_others_take(struct orr_jobs *w, const struct pool_alloc *alloc, const char *holder)
{
	struct causes *x = w->causes;
	if (!x)
		return NONE;
	uint32_t r = add_run(x, &(struct causes_run){ holder, PART_ALONE, eng_now(w->engine), INT64_MAX, NONE, NONE, NONE });
	x->run[r].before = freed_by(w, alloc, r);
	count_on_nodes(w, alloc, 1);
	return r;
}

void jobs_others_give(struct orr_jobs *w, const struct pool_alloc *alloc, uint32_t hold)
{
	if (w->causes && hold != NONE)
		release(w, alloc, hold);
}

void causes_leaves(struct orr_jobs *w, const struct job *job, int64_t done, int64_t kept)
{
	struct causes *x = w->causes;
	if (!x)
		return;
	const struct pool_piece *piece = pool_pieces(&job->alloc);
	close_run(w, job, done, kept);
	struct account *a = account_of(w, job);
	release(w, &job->alloc, a->run);
	a->lost_node = NONE;
	for (uint32_t i = 0; i < job->alloc.n; i++)
		if (piece[i].node == w->nodes.going)
			a->lost_node = piece[i].node;
}

void causes_waits(struct orr_jobs *w, const struct job *job, int64_t work, bool is_evicted)
{
	if (!w->causes)
		return;
	struct account *a = account_of(w, job);
	put_plain(w, job);
	a->since = eng_now(w->engine);
	a->first_from = -1;
	a->taker = NONE;
	a->is_preempted = !is_evicted;
	a->is_evicted = is_evicted;
	a->owed += work;
	count_waiting(w, job->shape, true);
}

void causes_adds_work(struct orr_jobs *w, const struct job *job, int64_t work)
{
	if (w->causes)
		account_of(w, job)->owed += work;
}

static void check_sums(struct orr_jobs *w, const struct job *job, int64_t end, int64_t ran)
{
	const struct account *a = account_of(w, job);
	int64_t waited = end - job->submit - ran;
	if (w->config->check && (a->waited != waited || a->ran != ran))
		world_fail(w, ORR_EFAIL, job,
			"conservation: parts add up to %lld ns of waiting and %lld ns of running: expected %lld and %lld",
			(long long)a->waited, (long long)a->ran, (long long)waited, (long long)ran);
}

void causes_ends(struct orr_jobs *w, const struct job *job, bool was_waiting)
{
	if (!w->causes)
		return;
	if (was_waiting)
		close_wait(w, job, NONE);
	check_sums(w, job, eng_now(w->engine), job->attained);
}

/* ---- nodes ---- */

/* Called after jobs_node() has emptied the node and before the pool marks it. */
void causes_node(struct orr_jobs *w, uint32_t node, bool is_up)
{
	struct causes *x = w->causes;
	if (!x)
		return;
	int64_t now = eng_now(w->engine);
	struct place_use *n = &x->node[node];
	n->is_down = !is_up;
	note_node(w, node, is_up);
	if (is_up) {
		n->run = add_run(x, &(struct causes_run){ "node", node, n->changed, now, n->run, NONE, NONE });
		x->last_release = n->run;
	}
	n->changed = now;
}

/* ---- begin and end ---- */

void causes_begin(struct orr_jobs *w)
{
	uint32_t n = w->config->cluster->n_nodes;
	if (!w->config->explain)
		return;
	struct causes *x = w->causes = mem_zalloc(1, sizeof *x);
	x->jobs = partlog_new("job", (size_t)w->config->max_rows);
	x->nodes = partlog_new("node", (size_t)w->config->max_rows);
	x->in_turn = partlog_index(x->jobs, &(struct part){ .kind = PART_QUEUED, .cause = "earlier jobs", .number = PART_ALONE });
	for (int i = 0; i < RUN_KINDS; i++)
		x->run_part[i] = partlog_index(x->jobs, &(struct part){ .kind = run_kinds[i], .number = PART_ALONE });
	for (int i = 0; i < NODE_KINDS; i++)
		x->node_part[i] = partlog_index(x->nodes, &(struct part){ .kind = node_kinds[i], .number = PART_ALONE });
	x->node = mem_zalloc(n + 1, sizeof *x->node);
	x->n_stances = w->quotas ? w->quotas->set->n : 1;
	x->stance = mem_zalloc(x->n_stances, sizeof *x->stance);
	x->last_release = NONE;
	x->changes = UINT64_MAX;
	for (uint32_t i = 0; i < n; i++)
		x->node[i].run = NONE;
	x->begin = w->arrivals.has_next ? w->arrivals.next.submit_ns : 0;
	w->nodes.going = NONE;
	for (uint32_t i = 0; i < n; i++) {
		x->node[i].changed = x->begin;
		x->node[i].is_down = !w->pool->node[i].is_up;
		note_node(w, i, w->pool->node[i].is_up);
	}
}

void causes_free(struct orr_jobs *w)
{
	struct causes *x = w->causes;
	if (!x)
		return;
	partlog_free(x->jobs);
	partlog_free(x->nodes);
	for (uint32_t i = 0; i < x->n_lines; i++)
		mem_free(x->line[i].v);
	mem_free(x->line);
	mem_free(x->active);
	mem_free(x->run);
	mem_free(x->account);
	mem_free(x->node);
	for (uint32_t i = 0; i < x->n_stances; i++)
		mem_free(x->stance[i].reason);
	mem_free(x->stance);
	mem_free(x);
}

/* Returns the name of a job or a node. */
static const char *name_of(void *ctx, const char *cause, uint64_t number)
{
	const struct orr_jobs *w = ctx;
	if (!strcmp(cause, "node"))
		return w->config->cluster->node[number].name;
	const struct job_row *row = metrics_row(w->result, number);
	return row ? row->job_id : NULL;
}

void causes_end(struct orr_jobs *w)
{
	struct causes *x = w->causes;
	int64_t now = eng_now(w->engine);
	if (!x)
		return;
	for (uint32_t i = w->slots.first_live; i != NONE; i = w->slots.job[i].next) {
		const struct job *job = &w->slots.job[i];
		if (job->state == ORR_JOB_RUNNING)
			close_run(w, job, work_done(w, job), work_done(w, job));
		else if (job->state == ORR_JOB_WAITING)
			close_wait(w, job, NONE);
		if (job->state != ORR_JOB_ENDED)
			check_sums(w, job, now, job->attained + (job->state == ORR_JOB_RUNNING ? now - job->last_start : 0));
	}
	partlog_finish(x->jobs, w->result, now, name_of, w);
	partlog_finish(x->nodes, w->result, now, NULL, w);
	x->jobs = x->nodes = NULL;
}
