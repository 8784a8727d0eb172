/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "jobs/bill.h"

#include "base/mem.h"
#include "results/summary.h"

#include <math.h>
#include <string.h>

enum account { USEFUL, WASTED, RESTART, STARTING, IDLE, ACCOUNTS };
static const char *const account_names[ACCOUNTS] = { "useful", "wasted", "restart", "starting", "idle" };
static const char *const part_names[ACCOUNTS] = { "useful_part", "wasted_part", "restart_part", "starting_part", "idle_part" };
static const char *const usd_names[ACCOUNTS] = { "usd_useful", "usd_wasted", "usd_restart", "usd_starting", "usd_idle" };

/* A live node: its jobs have held `used` parts since `since`, when its meter read `reading`. */
struct meter {
	uint32_t weight; /* number of parts per 1/1000 GPU */
	uint64_t used;
	int64_t since;
	timeline_sum reading;
	uint64_t price; /* price, 1e-9 USD/h, as counted in price_of */
	uint32_t *job;  /* slots of jobs, one entry per piece */
	uint32_t n_jobs, cap_jobs;
};

/* Time and cost accounted to a live job. */
struct tab {
	timeline_sum reading; /* reading of the job's parts at the start of the present run */
	struct ledger kept;   /* work that counts as useful if the job completes */
	timeline_sum amount;  /* cost of the job so far */
	int64_t owed;         /* work added by stops and not yet done */
};

struct bill {
	bool has_begun, is_price_old;
	uint64_t node_parts;
	struct meter *meter; /* [node] */
	struct tab *tab;     /* [job slot] */
	uint32_t n_tabs;
	struct ledger account[ACCOUNTS]; /* accounts, in parts of nodes */
	uint32_t in_use, going_gpus;
	uint32_t without_gpus; /* number of running jobs without GPUs */
	uint64_t *price_of;    /* price by type, of the nodes that are up */
	struct hist *job_usd;
	size_t cap_rows;
	uint64_t n_rows, stride;
	struct node_row last;
};

/* ---- whole numbers ---- */

/* Returns floor(v x part / whole); part <= whole < 2^63. */
static timeline_sum share_of(timeline_sum v, int64_t part, int64_t whole)
{
	timeline_sum p = (timeline_sum)(uint64_t)part, w = (timeline_sum)(uint64_t)whole;
	return v / w * p + v % w * p / w;
}

/* ---- nodes ---- */

static void settle(struct orr_jobs *w, uint32_t node)
{
	struct bill *b = w->bill;
	struct meter *m = &b->meter[node];
	int64_t now = eng_now(w->engine);
	timeline_sum reading = capacity_reading(w->capacity, node), idle = b->node_parts - m->used;
	ledger_add(&b->account[IDLE], idle * (uint64_t)(now - m->since), idle * (timeline_sum)(reading - m->reading));
	m->since = now;
	m->reading = reading;
}

static void price_node(const struct orr_jobs *w, uint32_t node, uint64_t price)
{
	struct meter *m = &w->bill->meter[node];
	w->bill->price_of[w->config->cluster->node[node].type] += price - m->price;
	m->price = price;
}

static uint64_t price_now(const struct orr_jobs *w, uint32_t node)
{
	return (uint64_t)ledger_price(capacity_usd_per_hour(w->capacity, node));
}

static void node_up(struct orr_jobs *w, uint32_t node)
{
	struct meter *m = &w->bill->meter[node];
	m->since = eng_now(w->engine);
	m->reading = capacity_reading(w->capacity, node);
	price_node(w, node, price_now(w, node));
	if (w->bill->has_begun)
		jobs_node(w, node, NULL);
	else
		w->nodes.n_down--; /* no event for the policy: these nodes are up when it starts */
	pool_node_up(w->pool, node);
}

static void node_down(struct orr_jobs *w, uint32_t node)
{
	bool was_noticed = w->pool->node[node].is_closed;
	if (was_noticed)
		w->bill->going_gpus -= w->config->cluster->node[node].gpus;
	jobs_node(w, node, was_noticed ? "notice" : "preempted");
	pool_node_down(w->pool, node);
	settle(w, node);
	price_node(w, node, 0);
}

static void on_capacity(void *ctx, uint32_t node, enum capacity_event what)
{
	struct orr_jobs *w = ctx;
	switch (what) {
	case CAPACITY_UP:
		node_up(w, node);
		break;
	case CAPACITY_DOWN:
		node_down(w, node);
		break;
	case CAPACITY_NOTICE:
		w->bill->going_gpus += w->config->cluster->node[node].gpus;
		pool_node_close(w->pool, node);
		metrics_node_event(w, "node-notice", node);
		jobs_capacity(w);
		break;
	case CAPACITY_PRICE:
		w->bill->is_price_old = true; /* recomputed at the next query */
		jobs_capacity(w);
		break;
	}
}

/* ---- jobs ---- */

static uint64_t parts_of(const struct bill *b, const struct pool_piece *x)
{
	return (uint64_t)b->meter[x->node].weight * (x->slot == POOL_WHOLE ? 1000u * x->gpus : x->milli);
}

static void list_job(struct meter *m, uint32_t slot, bool is_more)
{
	uint32_t i = 0;
	if (is_more) {
		MEM_GROW(m->job, m->n_jobs, m->cap_jobs);
		m->job[m->n_jobs++] = slot;
		return;
	}
	while (m->job[i] != slot)
		i++;
	m->job[i] = m->job[--m->n_jobs];
}

bool bill_jobs_on(const struct orr_jobs *w, uint32_t node, const uint32_t **slot, uint32_t *n)
{
	if (!w->bill || w->bill->without_gpus)
		return false;
	*slot = w->bill->meter[node].job;
	*n = w->bill->meter[node].n_jobs;
	return true;
}

/* Adds or removes the job's parts of its nodes. Returns the sum of their readings, which may wrap; only differences of sums have a
 * meaning. */
static timeline_sum move_parts(struct orr_jobs *w, const struct job *job, bool is_more, uint64_t *parts)
{
	struct bill *b = w->bill;
	const struct pool_piece *x = pool_pieces(&job->alloc);
	timeline_sum reading = 0;
	*parts = 0;
	b->without_gpus += job->held ? 0 : is_more ? 1 : NONE;
	for (uint32_t i = 0; i < job->alloc.n; i++) {
		struct meter *m = &b->meter[x[i].node];
		uint64_t p = parts_of(b, &x[i]), was = m->used;
		settle(w, x[i].node);
		if (job->held)
			list_job(m, slot_of(w, job), is_more);
		m->used = is_more ? was + p : was - p;
		b->in_use += (uint32_t)(m->used != 0) - (uint32_t)(was != 0);
		reading += m->reading * p;
		*parts += p;
	}
	return reading;
}

static struct tab *tab_of(struct orr_jobs *w, const struct job *job)
{
	struct bill *b = w->bill;
	if (slot_of(w, job) >= b->n_tabs) {
		b->tab = mem_realloc(b->tab, w->slots.cap, sizeof *b->tab);
		memset(b->tab + b->n_tabs, 0, (w->slots.cap - b->n_tabs) * sizeof *b->tab);
		b->n_tabs = w->slots.cap;
	}
	return &b->tab[slot_of(w, job)];
}

void bill_start(struct orr_jobs *w, struct job *job)
{
	uint64_t parts;
	if (w->bill)
		tab_of(w, job)->reading = move_parts(w, job, true, &parts);
}

void bill_leave(struct orr_jobs *w, struct job *job, int64_t done, int64_t kept)
{
	struct bill *b = w->bill;
	int64_t ran = eng_now(w->engine) - job->last_start;
	uint64_t parts;
	if (!b)
		return;
	struct tab *t = tab_of(w, job);
	timeline_sum amount = move_parts(w, job, false, &parts) - t->reading;
	if (!ran)
		return;
	int64_t over = ran < job->start_cost ? ran : job->start_cost, progress = ran - over;
	int64_t repaid = t->owed < kept ? t->owed : kept;
	int64_t lost = done > 0 ? (int64_t)share_of((uint64_t)progress, done - kept, done) : progress;
	int64_t restart = over + (done > 0 ? (int64_t)share_of((uint64_t)progress, repaid, done) : 0);
	timeline_sum lost_amount = share_of(amount, lost, ran), restart_amount = share_of(amount, restart, ran);
	t->owed -= repaid;
	t->amount += amount;
	ledger_add(&b->account[WASTED], (timeline_sum)parts * (uint64_t)lost, lost_amount);
	ledger_add(&b->account[RESTART], (timeline_sum)parts * (uint64_t)restart, restart_amount);
	ledger_add(&t->kept, (timeline_sum)parts * (uint64_t)(ran - lost - restart), amount - lost_amount - restart_amount);
}

void bill_owe(struct orr_jobs *w, const struct job *job, int64_t work)
{
	if (w->bill && work > 0)
		tab_of(w, job)->owed += work;
}

static double usd(const struct bill *b, timeline_sum amount)
{
	return ledger_usd((double)amount / (double)b->node_parts);
}

void bill_ended(struct orr_jobs *w, const struct job *job, bool is_good)
{
	struct bill *b = w->bill;
	if (!b)
		return;
	struct tab *t = tab_of(w, job);
	ledger_add(&b->account[is_good ? USEFUL : WASTED], t->kept.ns, t->kept.amount);
	if (is_good)
		hist_add(b->job_usd, usd(b, t->amount));
	*t = (struct tab){ 0 };
}

/* ---- rows of nodes over time ---- */

static bool is_news(const struct node_row *a, const struct node_row *b)
{
	return a->live != b->live || a->ready != b->ready || a->in_use != b->in_use;
}

/* Records every change until there are max_rows rows, then every second, fourth, ..; a row after a gap holds the values at its time. */
static void record(struct orr_jobs *w, const struct node_row *row)
{
	struct bill *b = w->bill;
	struct run_result *r = w->result;
	if (b->n_rows++ % b->stride)
		return;
	if (r->n_nodes >= w->config->max_rows && w->config->max_rows) {
		size_t kept = 0;
		for (size_t i = 0; i < r->n_nodes; i += 2)
			r->nodes[kept++] = r->nodes[i];
		r->n_nodes = kept;
		b->stride *= 2;
		if ((b->n_rows - 1) % b->stride)
			return;
	}
	MEM_GROW(r->nodes, r->n_nodes, b->cap_rows);
	r->nodes[r->n_nodes++] = *row;
}

void bill_instant(struct orr_jobs *w)
{
	struct bill *b = w->bill;
	struct capacity_bill c;
	if (!b || !w->config->record_jobs)
		return;
	capacity_bill(w->capacity, &c);
	struct node_row row = { eng_now(w->engine), c.taken, c.up, b->in_use, ledger_usd((double)c.all.amount) };
	if (b->n_rows && !is_news(&row, &b->last))
		return;
	b->last = row;
	record(w, &row);
}

/* ---- the end ---- */

static void close_accounts(struct orr_jobs *w)
{
	struct bill *b = w->bill;
	struct capacity_bill c;
	capacity_bill(w->capacity, &c);
	for (uint32_t i = 0; i < w->slots.n_running; i++) {
		struct job *job = &w->slots.job[w->slots.running[i]];
		int64_t done = work_done(w, job);
		bill_leave(w, job, done, done);
	}
	for (uint32_t i = w->slots.first_live; i != NONE; i = w->slots.job[i].next)
		if (w->slots.job[i].state != ORR_JOB_ENDED) {
			struct tab *t = tab_of(w, &w->slots.job[i]);
			ledger_add(&b->account[USEFUL], t->kept.ns, t->kept.amount);
		}
	for (uint32_t i = 0; i < w->config->cluster->n_nodes; i++)
		if (w->pool->node[i].is_up)
			settle(w, i);
	b->account[STARTING] = (struct ledger){ c.starting.ns * b->node_parts, c.starting.amount * b->node_parts };
}

static double hours(const struct bill *b, timeline_sum time)
{
	return ledger_hours((double)time / (double)b->node_parts);
}

static void put_accounts(struct orr_jobs *w, const struct capacity_bill *c)
{
	struct bill *b = w->bill;
	struct run_result *r = w->result;
	double all = ledger_hours((double)c->all.ns);
	r->accounts = mem_zalloc(ACCOUNTS, sizeof *r->accounts);
	r->n_accounts = ACCOUNTS;
	for (int i = 0; i < ACCOUNTS; i++) {
		struct account_row row = { account_names[i], hours(b, b->account[i].ns) * 3600, usd(b, b->account[i].amount) };
		r->accounts[i] = row;
		summary_put(r, part_names[i], all > 0 ? row.node_s / 3600 / all : 0);
		summary_put(r, usd_names[i], row.usd);
	}
}

void bill_end(struct orr_jobs *w)
{
	struct bill *b = w->bill;
	struct run_result *r = w->result;
	struct capacity_bill c;
	if (!b)
		return;
	close_accounts(w);
	capacity_bill(w->capacity, &c);
	timeline_sum ready = c.all.ns - c.starting.ns;
	double used = hours(b, b->account[USEFUL].ns + b->account[WASTED].ns + b->account[RESTART].ns);
	summary_put(r, "node_hours", ledger_hours((double)c.all.ns));
	summary_put(r, "capacity_used", ready ? used / (ledger_hours((double)ready)) : 0);
	summary_put(r, "usd", ledger_usd((double)c.all.amount));
	summary_put(r, "usd_per_job", w->totals.completed ? ledger_usd((double)c.all.amount) / (double)w->totals.completed : NAN);
	summary_put(r, "job_usd_mean", hist_count(b->job_usd) ? hist_mean(b->job_usd) : NAN);
	summary_put(r, "job_usd_max", hist_count(b->job_usd) ? hist_max(b->job_usd) : NAN);
	summary_put(r, "instances", (double)c.offered);
	summary_put(r, "instances_unused", (double)c.unused);
	summary_put(r, "nodes_noticed", (double)c.noticed);
	summary_put(r, "nodes_lost", (double)c.lost);
	int64_t end = w->config->capacity->repeats ? ORR_NEVER : availset_end_ns(w->config->capacity->set), now = eng_now(w->engine);
	w->totals.used |= now > availset_end_ns(w->config->capacity->set) ? JOBS_USED_REPEAT : 0;
	summary_put(r, "past_capacity", now > end ? (double)(now - end) / 1e9 : 0);
	put_accounts(w, &c);
	if (w->config->record_jobs && b->last.time_ns < eng_now(w->engine)) {
		b->stride = 1; /* the last row has the time of the end */
		record(w, &(struct node_row){ eng_now(w->engine), c.taken, c.up, b->last.in_use, ledger_usd((double)c.all.amount) });
	}
}

/* ---- the check ---- */

static const char *wrong_parts(const struct orr_jobs *w)
{
	const struct bill *b = w->bill;
	uint32_t n = w->config->cluster->n_nodes, in_use = 0;
	uint64_t *used = mem_zalloc(n, sizeof *used);
	const char *wrong = NULL;
	for (uint32_t i = 0; i < w->slots.n_running; i++) {
		const struct job *job = &w->slots.job[w->slots.running[i]];
		for (uint32_t k = 0; k < job->alloc.n; k++)
			used[pool_pieces(&job->alloc)[k].node] += parts_of(b, &pool_pieces(&job->alloc)[k]);
	}
	for (uint32_t i = 0; i < n && !wrong; i++) {
		in_use += used[i] != 0;
		if (used[i] != b->meter[i].used || used[i] > b->node_parts)
			wrong = "the bill's parts of a node differ from those that jobs hold";
		else if (w->pool->node[i].is_up && isnan(capacity_usd_per_hour(w->capacity, i)))
			wrong = "a node is up without an instance on it";
	}
	mem_free(used);
	return wrong ? wrong : in_use == b->in_use ? NULL : "the bill's nodes in use differ from those that jobs hold";
}

const char *bill_check(struct orr_jobs *w, bool is_end)
{
	const struct bill *b = w->bill;
	struct capacity_bill c;
	if (!b)
		return NULL;
	if (!is_end)
		return wrong_parts(w);
	struct ledger all = ledger_total(b->account, ACCOUNTS);
	capacity_bill(w->capacity, &c);
	if (all.ns != c.all.ns * b->node_parts)
		return "the sum of the accounts differs from the time of the instances";
	return all.amount == c.all.amount * b->node_parts ? NULL : "the sum of the accounts differs from the cost of the instances";
}

/* ---- queries ---- */

uint32_t bill_going_gpus(const struct orr_jobs *w)
{
	return w->bill ? w->bill->going_gpus : 0;
}

double bill_usd_per_gpu_hour(const struct orr_jobs *w, uint32_t type)
{
	if (!w->bill || type >= w->config->cluster->n_types || !w->pool->total[type])
		return NAN;
	for (uint32_t i = 0; w->bill->is_price_old && i < w->config->cluster->n_nodes; i++)
		if (w->pool->node[i].is_up)
			price_node(w, i, price_now(w, i));
	w->bill->is_price_old = false;
	return (double)w->bill->price_of[type] / 1e9 / w->pool->total[type];
}

/* ---- making and freeing ---- */

void bill_begin(struct orr_jobs *w)
{
	const struct cluster *cluster = w->config->cluster;
	struct capacity_host host = { w->engine, PRIO_NODE, on_capacity, w };
	struct bill *b = w->bill = mem_zalloc(1, sizeof *b);
	uint32_t multiple = capacity_parts(cluster, &w->error);
	if (!multiple) {
		mem_free(b);
		w->bill = NULL;
		w->is_over = true;
		return;
	}
	b->node_parts = UINT64_C(1000) * multiple;
	b->meter = mem_zalloc(cluster->n_nodes, sizeof *b->meter);
	b->price_of = mem_zalloc(cluster->n_types + 1, sizeof *b->price_of);
	b->job_usd = hist_new();
	b->stride = 1;
	for (uint32_t i = 0; i < cluster->n_nodes; i++) {
		b->meter[i].weight = multiple / cluster->node[i].gpus;
		pool_node_down(w->pool, i);
	}
	w->nodes.n_down = cluster->n_nodes;
	capacity_new(w->config->capacity, cluster, &host, &w->capacity);
	w->policy.is_due = w->policy.capacity_changed = false;
	b->has_begun = true;
	bill_instant(w);
}

void bill_free(struct orr_jobs *w)
{
	struct bill *b = w->bill;
	capacity_free(w->capacity);
	if (!b)
		return;
	for (uint32_t i = 0; i < w->config->cluster->n_nodes; i++)
		mem_free(b->meter[i].job);
	mem_free(b->meter);
	mem_free(b->tab);
	mem_free(b->price_of);
	hist_free(b->job_usd);
	mem_free(b);
}
