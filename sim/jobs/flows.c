/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "jobs/flows.h"

#include "base/mem.h"
#include "jobs/life.h"
#include "jobs/rates.h"
#include "jobs/world.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static void item_done(struct orr_jobs *w, struct flow_branch *b, uint32_t op);

/* ---- branches ---- */

static const uint32_t *items_of(const struct flow *f, uint32_t scope, uint32_t *n)
{
	*n = scope == FLOW_ROOT ? f->n_items : f->op[scope].n_items;
	return scope == FLOW_ROOT ? f->item : f->op[scope].item;
}

static struct flow_branch *branch_new(struct orr_jobs *w, struct flow_run *run, uint32_t scope)
{
	uint32_t n, n_imports = scope == FLOW_ROOT ? 0 : run->flow->op[scope].n_imports;
	const uint32_t *item = items_of(run->flow, scope, &n);
	struct flow_branch *b = run->spare[scope + 1u];
	if (b) {
		run->spare[scope + 1u] = b->next;
	} else {
		b = mem_zalloc(1, sizeof *b + n * sizeof *b->item + n_imports * sizeof *b->imported);
		b->imported = (uint64_t *)(void *)(b->item + n);
	}
	b->run = run;
	b->scope = scope;
	b->left = n;
	b->id = ++w->flows->next_id;
	b->parent = b->prev = b->next = NULL;
	b->path = b->base = b->index = 0;
	b->is_finished = b->is_kept = b->is_dropped = false;
	memset(b->imported, 0, n_imports * sizeof *b->imported);
	for (uint32_t i = 0; i < n; i++)
		b->item[i] = (struct flow_item){ .before = run->flow->op[item[i]].n_before, .explore = b->item[i].explore };
	return b;
}

static struct flow_explore *explore_new(const struct flow *f, const struct flow_op *o)
{
	uint32_t keep = f->op[o->choose].keep;
	struct flow_explore *e = mem_zalloc(1, sizeof *e);
	e->kept = mem_zalloc(keep + 1u, sizeof(struct flow_branch *));
	e->score = mem_zalloc(o->value.n, sizeof *e->score);
	e->state = mem_zalloc(o->value.n, 1);
	e->top = mem_zalloc(keep + 1u, sizeof *e->top);
	return e;
}

static void explore_free(struct flow_explore *e)
{
	if (!e)
		return;
	mem_free(e->kept);
	mem_free(e->score);
	mem_free(e->state);
	mem_free(e->top);
	mem_free(e);
}

static void branch_free(struct flow_branch *b)
{
	uint32_t n;
	items_of(b->run->flow, b->scope, &n);
	for (uint32_t i = 0; i < n; i++) {
		struct flow_explore *e = b->item[i].explore;
		for (struct flow_branch *x = e ? e->first : NULL, *next; x; x = next) {
			next = x->next;
			branch_free(x);
		}
		explore_free(e);
	}
	mem_free(b);
}

static void run_free(struct flow_run *r)
{
	if (r->root)
		branch_free(r->root);
	for (uint32_t i = 0; i <= r->flow->n_ops; i++)
		for (struct flow_branch *b = r->spare[i], *next; b; b = next) {
			next = b->next;
			branch_free(b);
		}
	mem_free(r->spare);
	mem_free(r);
}

/* ---- arrival ---- */

struct job_rec flow_rec(const struct job_rec *row, const struct flow *f, uint32_t op, uint64_t path)
{
	struct job_rec r = *row;
	const struct flow_op *o = &f->op[op];
	r.gpus = o->gpus;
	r.gpu_milli = 1000;
	r.duration_ns = llrint(flow_value(&o->work_s, path) * 1e9);
	r.limit_ns = o->limit_ns;
	r.deadline_ns = -1;
	return r;
}

static void arrive(struct orr_jobs *w, struct flow_branch *b, uint32_t op)
{
	const struct flow_op *o = &b->run->flow->op[op];
	struct flow_item *x = &b->item[o->local];
	struct job_rec r = flow_rec(&b->run->row, b->run->flow, op, b->path);
	r.number = b->run->base + b->base + o->position;
	r.submit_ns = eng_now(w->engine);
	uint64_t live = w->slots.live;
	life_arrive(w, &r);
	if (w->error.code)
		w->is_over = true;
	if (w->slots.live == live)
		return;
	struct job *job = &w->slots.job[w->slots.last_live];
	job->origin = b->run->row.submit_ns;
	job->branch = b;
	job->stage = op;
	job->is_linear = o->scaling == FLOW_LINEAR && o->gpus;
	if (job->is_linear) {
		struct pool_request q = w->shapes.shape[job->shape].request;
		job->shape = shape_of(w, &q, job->partition, true);
	}
	x->state = FLOW_LIVE;
	x->job = job_handle(w, w->slots.last_live);
	calls_submit(w, job);
}

static void deliver(struct orr_jobs *w)
{
	struct flows *s = w->flows;
	for (uint32_t i = 0; i < s->n_ready && !w->error.code; i++)
		if (s->ready[i].branch)
			arrive(w, s->ready[i].branch, s->ready[i].op);
	s->n_ready = 0;
}

static void on_ready(struct engine *e, void *ctx, uint64_t subject, uint64_t arg)
{
	(void)e, (void)subject, (void)arg;
	struct orr_jobs *w = ctx;
	w->flows->is_event_due = false;
	deliver(w);
}

static void make_ready(struct orr_jobs *w, struct flow_branch *b, uint32_t op)
{
	struct flows *s = w->flows;
	struct flow_item *x = &b->item[b->run->flow->op[op].local];
	x->state = FLOW_QUEUED;
	x->queued = s->n_ready;
	MEM_GROW(s->ready, s->n_ready, s->cap_ready);
	s->ready[s->n_ready++] = (struct flow_ready){ b, op };
	if (!s->is_event_due)
		eng_at(w->engine, eng_now(w->engine), PRIO_ARRIVAL, on_ready, w, 0, 0);
	s->is_event_due = true;
}

static void start_item(struct orr_jobs *w, struct flow_branch *b, uint32_t op);

/* Starts every item of the branch that waits for no other item. */
static void start_branch(struct orr_jobs *w, struct flow_branch *b)
{
	uint32_t n;
	const uint32_t *item = items_of(b->run->flow, b->scope, &n);
	for (uint32_t i = 0; i < n && !b->is_dropped; i++)
		if (!b->run->flow->op[item[i]].n_before)
			start_item(w, b, item[i]);
}

static void link_branch(struct flow_explore *e, struct flow_branch *b)
{
	b->prev = e->last;
	if (e->last)
		e->last->next = b;
	else
		e->first = b;
	e->last = b;
}

static void start_explore(struct orr_jobs *w, struct flow_branch *b, uint32_t op)
{
	const struct flow_op *o = &b->run->flow->op[op];
	struct flow_item *x = &b->item[o->local];
	x->explore = x->explore ? x->explore : explore_new(b->run->flow, o);
	struct flow_explore *e = x->explore;
	*e = (struct flow_explore){ .kept = e->kept, .score = e->score, .state = e->state, .top = e->top };
	memset(e->state, 0, o->value.n);
	x->state = FLOW_LIVE;
	for (uint32_t i = 0; i < o->value.n; i++) {
		struct flow_branch *c = branch_new(w, b->run, op);
		c->parent = b;
		c->index = i;
		c->path = b->path * o->value.n + i;
		c->base = b->base + o->position + i * o->stages;
		link_branch(e, c);
		start_branch(w, c);
	}
}

static void start_item(struct orr_jobs *w, struct flow_branch *b, uint32_t op)
{
	switch (b->run->flow->op[op].kind) {
	case FLOW_WORK:
		make_ready(w, b, op);
		break;
	case FLOW_EXPLORE:
		start_explore(w, b, op);
		break;
	default:
		item_done(w, b, op);
	}
}

/* ---- dropping branches ---- */

static void drop_item(struct orr_jobs *w, struct flow_branch *b, uint32_t op);

/* Kills the live stages of a branch, frees its data sets and counts its remaining reads as completed. The caller unlinks the branch. */
static void drop_branch(struct orr_jobs *w, struct flow_branch *b)
{
	const struct flow *f = b->run->flow;
	uint32_t n;
	const uint32_t *item = items_of(f, b->scope, &n);
	b->is_dropped = true;
	for (uint32_t i = 0; i < n; i++)
		drop_item(w, b, item[i]);
	for (uint32_t i = 0; b->parent && i < f->op[b->scope].n_imports; i++) {
		const struct flow_import *m = &f->op[b->scope].import[i];
		if (b->imported[i] < m->uses)
			flow_use(w, b->parent, m->op, m->up - 1, m->parent, m->uses - b->imported[i]);
	}
}

static void unlink_branch(struct flow_explore *e, struct flow_branch *b)
{
	*(b->prev ? &b->prev->next : &e->first) = b->next;
	*(b->next ? &b->next->prev : &e->last) = b->prev;
}

static void discard(struct orr_jobs *w, struct flow_explore *e, struct flow_branch *b)
{
	drop_branch(w, b);
	unlink_branch(e, b);
	b->next = w->flows->dropped;
	w->flows->dropped = b;
}

static void drop_item(struct orr_jobs *w, struct flow_branch *b, uint32_t op)
{
	struct flow_item *x = &b->item[b->run->flow->op[op].local];
	if (x->state == FLOW_QUEUED)
		w->flows->ready[x->queued].branch = NULL;
	if (b->run->flow->op[op].kind == FLOW_EXPLORE) {
		struct flow_explore *e = x->state != FLOW_WAITS ? x->explore : NULL;
		while (e && e->first)
			discard(w, e, e->first);
		if (e)
			e->is_over = true;
		return;
	}
	struct job *job = x->state == FLOW_LIVE ? job_of(w, x->job) : NULL;
	x->state = x->state == FLOW_DONE ? FLOW_DONE : FLOW_WAITS;
	if (job && job->state != ORR_JOB_ENDED)
		life_end(w, job, ORR_END_PRUNED);
	flow_drop_sets(w, x);
}

/* ---- chooses ---- */

static bool is_better(const struct flow_op *choose, double a, double b)
{
	return choose->is_lower_better ? a < b : a > b;
}

static struct flow_explore *explore_of(const struct flow_branch *b)
{
	return b->parent->item[b->run->flow->op[b->scope].local].explore;
}

/* Inserts a finished branch into the kept branches, ordered by score, then by value index. Returns the branch that is displaced; NULL:
 * none. */
static struct flow_branch *keep_best(struct flow_explore *e, const struct flow_op *choose, struct flow_branch *b)
{
	uint32_t at = e->n_kept;
	while (at && (is_better(choose, b->score, e->kept[at - 1]->score) ||
			     (!is_better(choose, e->kept[at - 1]->score, b->score) && b->index < e->kept[at - 1]->index)))
		at--;
	memmove(e->kept + at + 1, e->kept + at, (e->n_kept - at) * sizeof(struct flow_branch *));
	e->kept[at] = b;
	b->is_kept = true;
	if (e->n_kept < choose->keep) {
		e->n_kept++;
		return NULL;
	}
	struct flow_branch *loser = e->kept[choose->keep];
	loser->is_kept = false;
	return loser;
}

/* Evaluates the known scores in the order of the values. Returns true at the first score that is not among the best `keep` scores so far.
 */
static bool stops_improving(struct flow_explore *e, const struct flow_op *choose, uint32_t n)
{
	for (; e->ahead < n && e->state[e->ahead]; e->ahead++) {
		double score = e->score[e->ahead];
		if (e->state[e->ahead] == 2)
			continue;
		if (e->n_top == choose->keep && !is_better(choose, score, e->top[e->n_top - 1]))
			return true;
		uint32_t at = e->n_top < choose->keep ? e->n_top++ : e->n_top - 1;
		for (; at && is_better(choose, score, e->top[at - 1]); at--)
			e->top[at] = e->top[at - 1];
		e->top[at] = score;
	}
	return false;
}

static bool is_satisfied(struct flow_explore *e, const struct flow_op *choose, double score)
{
	e->n_satisfied += isnan(choose->threshold) || !is_better(choose, choose->threshold, score);
	return e->n_satisfied >= choose->keep;
}

static void fail_flow(struct orr_jobs *w, struct flow_run *run);

/* Ends an explore whose choose has a result, and drops the branches that are not kept. */
static void finish_explore(struct orr_jobs *w, struct flow_branch *parent, uint32_t op, struct flow_explore *e)
{
	e->is_over = true;
	for (struct flow_branch *b = e->first, *next; b; b = next) {
		next = b->next;
		if (b->is_kept)
			continue;
		e->n_pruned += !b->is_finished;
		discard(w, e, b);
	}
	if (e->n_kept)
		item_done(w, parent, op);
	else
		flows_prune(w, parent);
}

static void branch_finished(struct orr_jobs *w, struct flow_branch *b)
{
	const struct flow *f = b->run->flow;
	const struct flow_op *o = &f->op[b->scope], *choose = &f->op[o->choose];
	struct flow_explore *e = explore_of(b);
	const struct flow_op *scorer = &f->op[choose->scorer];
	b->score = scorer->kind == FLOW_WORK ? b->item[scorer->local].score : b->item[f->op[scorer->explore].local].explore->kept[0]->score;
	b->is_finished = true;
	e->n_finished++;
	w->flows->branches_run++;
	e->score[b->index] = b->score;
	e->state[b->index] = 1;
	struct flow_branch *loser = keep_best(e, choose, b), *parent = b->parent;
	uint32_t scope = b->scope;
	bool stops = choose->stop == FLOW_SATISFIED   ? is_satisfied(e, choose, b->score)
		     : choose->stop == FLOW_IMPROVING ? stops_improving(e, choose, o->value.n)
						      : false;
	if (loser && choose->is_incremental)
		discard(w, e, loser);
	if (stops || e->n_finished + e->n_pruned == o->value.n)
		finish_explore(w, parent, scope, e);
}

void flows_prune(struct orr_jobs *w, struct flow_branch *b)
{
	if (!b->parent) {
		fail_flow(w, b->run);
		return;
	}
	const struct flow_op *o = &b->run->flow->op[b->scope], *choose = &b->run->flow->op[o->choose];
	struct flow_explore *e = explore_of(b);
	struct flow_branch *parent = b->parent;
	uint32_t scope = b->scope;
	if (b->is_dropped || b->is_finished || e->is_over)
		return;
	e->n_pruned++;
	e->state[b->index] = 2;
	discard(w, e, b);
	bool stops = choose->stop == FLOW_IMPROVING && stops_improving(e, choose, o->value.n);
	if (stops || e->n_finished + e->n_pruned == o->value.n)
		finish_explore(w, parent, scope, e);
}

/* ---- progress ---- */

/* Returns the best score over all branches of an outermost explore, including dropped branches. */
static double best_of(struct orr_jobs *w, const struct flow_run *run, uint32_t choose)
{
	enum { MOST = 1000000 };
	const struct flow *f = run->flow;
	uint32_t s = f->op[choose].scorer;
	double best = NAN;
	while (f->op[s].kind == FLOW_CHOOSE)
		s = f->op[s].scorer;
	for (uint64_t p = 0; f->op[s].instances <= MOST && p < f->op[s].instances && !w->error.code; p++) {
		double v = flow_score_of(w, run, s, p);
		if (isnan(best) || is_better(&f->op[choose], v, best))
			best = v;
	}
	return best;
}

static void count_regret(struct orr_jobs *w, const struct flow_run *run)
{
	struct flows *s = w->flows;
	for (uint32_t i = 0; i < run->flow->n_ops; i++) {
		const struct flow_op *o = &run->flow->op[i];
		if (o->kind != FLOW_CHOOSE || o->depth)
			continue;
		const struct flow_explore *e = run->root->item[run->flow->op[o->explore].local].explore;
		double kept = e->kept[0]->score;
		s->kept_sum += kept;
		s->branch_kept = e->kept[0]->index;
		s->regret_sum += fabs(best_of(w, run, i) - kept);
		s->regrets++;
	}
}

static void end_run(struct orr_jobs *w, struct flow_run *run, bool is_complete)
{
	struct flows *s = w->flows;
	double t = (double)(eng_now(w->engine) - run->row.submit_ns) / 1e9;
	run->is_over = true;
	if (is_complete) {
		s->completed++;
		s->time_sum += t;
		s->time_most = t > s->time_most ? t : s->time_most;
		count_regret(w, run);
	} else {
		s->failed++;
	}
	drop_branch(w, run->root);
	*(run->prev ? &run->prev->next : &s->first) = run->next;
	if (run->next)
		run->next->prev = run->prev;
	run->next = s->ended;
	s->ended = run;
}

static void fail_flow(struct orr_jobs *w, struct flow_run *run)
{
	if (!run->is_over)
		end_run(w, run, false);
}

static void item_done(struct orr_jobs *w, struct flow_branch *b, uint32_t op)
{
	const struct flow *f = b->run->flow;
	const struct flow_op *o = &f->op[op];
	b->item[o->local].state = FLOW_DONE;
	b->left--;
	for (uint32_t i = 0; i < o->n_after && !b->is_dropped; i++)
		if (!--b->item[f->op[o->after[i]].local].before)
			start_item(w, b, o->after[i]);
	if (b->left || b->is_dropped || b->is_finished || b->run->is_over)
		return;
	if (b->parent)
		branch_finished(w, b);
	else
		end_run(w, b->run, true);
}

void flows_ended(struct orr_jobs *w, struct job *job)
{
	struct flow_branch *b = job->branch;
	const struct flow_op *o = &b->run->flow->op[job->stage];
	struct flow_item *x = &b->item[o->local];
	struct flows *s = w->flows;
	s->work_done += (double)job->work.booked / 1e9 * job->gpus;
	if (job->how == ORR_END_PRUNED)
		return;
	if (job->how != ORR_END_COMPLETED) {
		flow_drop_sets(w, x);
		x->state = FLOW_WAITS;
		flows_prune(w, b);
		return;
	}
	s->stages_run++;
	x->took = job->attained;
	flow_finish_sets(w, job);
	if (o->score.how != FLOW_NO_SCORE)
		job->score = x->score = flow_score_of(w, b->run, job->stage, b->path);
	item_done(w, b, job->stage);
}

void flows_end_instant(struct orr_jobs *w)
{
	struct flows *s = w->flows;
	while (s->dropped) {
		struct flow_branch *b = s->dropped;
		s->dropped = b->next;
		b->next = b->run->spare[b->scope + 1u];
		b->run->spare[b->scope + 1u] = b;
	}
	while (s->ended) {
		struct flow_run *r = s->ended;
		s->ended = r->next;
		run_free(r);
	}
}

void flows_submit(struct orr_jobs *w, const struct job_rec *row)
{
	struct flows *s = w->flows;
	const struct flow *f = s->set->flow[row->flow - 1];
	struct flow_run *run = mem_zalloc(1, sizeof *run);
	*run = (struct flow_run){ .flow = f, .row = *row, .number = s->next_number++, .base = s->next_base, .next = s->first };
	run->spare = mem_zalloc(f->n_ops + 1u, sizeof(struct flow_branch *));
	s->next_base += f->stages;
	if (s->first)
		s->first->prev = run;
	s->first = run;
	s->submitted++;
	s->stages += f->stages;
	s->work_shared += flow_work_shared(f);
	s->work_unshared += flow_work_unshared(f);
	for (uint32_t i = 0; i < f->n_ops; i++)
		s->branches += f->op[i].kind == FLOW_EXPLORE ? f->op[i].instances * f->op[i].value.n : 0;
	run->root = branch_new(w, run, FLOW_ROOT);
	bool was_due = s->is_event_due;
	s->is_event_due = true; /* submissions are arrivals: no event needed */
	start_branch(w, run->root);
	s->is_event_due = was_due;
	if (!was_due)
		deliver(w);
}

void flows_begin(struct orr_jobs *w)
{
	const struct jobs_config *c = w->config;
	if (!c->flows)
		return;
	struct flows *s = w->flows = mem_zalloc(1, sizeof *s);
	s->set = c->flows;
	s->rho = orr_arg_real(c->options, "rho");
	s->disk_Bps = orr_arg_real(c->options, "disk_Bps");
	s->recompute = !strcmp(orr_arg_text(c->options, "amm_recompute"), "code");
	bool has_outputs = false;
	for (uint32_t i = 0; i < s->set->n; i++)
		for (uint32_t k = 0; k < s->set->flow[i]->n_ops; k++)
			has_outputs |= s->set->flow[i]->op[k].bytes.n > 0;
	if (!has_outputs)
		return;
	int64_t *memory = mem_alloc((c->cluster->n_nodes + 1u) * sizeof *memory);
	double own = orr_arg_real(c->options, "memory_bytes");
	for (uint32_t i = 0; i < c->cluster->n_nodes; i++)
		memory[i] = own > 0 ? llrint(own) : c->cluster->node[i].mem_mib * (INT64_C(1) << 20); /* negative: unlimited */
	s->sets = datasets_new(&(struct datasets_config){ .rule = c->memory,
		.n_nodes = c->cluster->n_nodes,
		.memory = memory,
		.disk_Bps = s->disk_Bps,
		.reloads = orr_arg_bool(c->options, "memory_reload"),
		.first_use_free = !strcmp(orr_arg_text(c->options, "amm_first_use"), "code") });
	mem_free(memory);
	timeline_begin(&s->memory, w->arrivals.has_next ? w->arrivals.next.submit_ns : 0);
}

void flows_free(struct orr_jobs *w)
{
	struct flows *s = w->flows;
	if (!s)
		return;
	flows_end_instant(w);
	while (s->first) {
		struct flow_run *r = s->first;
		s->first = r->next;
		run_free(r);
	}
	datasets_free(s->sets);
	mem_free(s->ready);
	mem_free(s);
}
