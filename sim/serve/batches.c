/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Batches of table models: queries, checks, start. */
#include "serve/guard.h"
#include "serve/memory.h"
#include "serve/metrics.h"
#include "serve/replica.h"
#include "serve/requests.h"
#include "serve/runs.h"

#include "base/mem.h"
#include "base/sbuf.h"

#include <math.h>

/* ---- the plan of a batch ---- */

/* Sizes, time and memory of a batch. */
struct plan {
	uint32_t samples, length, asked; /* asked: number of samples of the requests, before padding */
	double latency_s, stage_s, part; /* stage_s: time for which the batch occupies the replica */
	double real;                     /* sum of samples x length over the requests */
	struct memory_extra extra;
};

static double known_latency(const struct served *m, uint32_t samples, uint32_t length)
{
	return samples ? served_latency(m, samples, length) : NAN;
}

/* Returns the plan of a batch. The model must have a table. latency_s is NaN if the table lacks this batch. */
static struct plan plan_of(const struct orr_serve *w, uint32_t replica, const struct orr_batch *b, double delay_s)
{
	uint64_t sum = 0;
	uint32_t longest = 0;
	double real = 0;
	for (size_t i = 0; i < b->n; i++) {
		const struct req *q = req_of(w, b->req[i]);
		if (!q)
			continue;
		sum += q->samples;
		real += (double)q->samples * (q->prompt_asked ? q->prompt_asked : 1);
		if (q->prompt_asked > longest)
			longest = q->prompt_asked;
	}
	const struct served *m = served_at(w, replica, b->model);
	struct plan p = { .part = b->part == 0 ? 1 : b->part, .real = real };
	p.asked = sum < UINT32_MAX ? (uint32_t)sum : UINT32_MAX;
	p.samples = b->samples ? b->samples : p.asked;
	p.length = b->length ? b->length : longest;
	p.latency_s = p.samples < p.asked || p.length < longest ? NAN : known_latency(m, p.samples, p.length) * p.part;
	if (isnan(p.latency_s))
		return p;
	p.stage_s = served_stage(m, p.samples, p.length) * p.part;
	p.extra = (struct memory_extra){ .is_run = true,
		.is_sent = w->front && !(b->flags & ORR_RUN_QUEUE),
		.model = b->model,
		.samples = p.samples,
		.memory = served_memory_of(m, p.samples),
		.alone_s = p.stage_s,
		.delay_s = delay_s };
	return p;
}

/* Returns the samples x length that the device computes. */
static double padded_size(const struct served *m, const struct plan *p)
{
	bool is_up = m->between == SERVED_UP;
	uint32_t samples = is_up ? served_batch_for(m, p->samples) : p->samples;
	uint32_t length = is_up ? served_length_for(m, p->length) : p->length;
	return (double)samples * (length ? length : 1);
}

/* ---- checks ---- */

/* Writes "1, 2, 4, .." */
static void list_batches(const struct served *m, struct sbuf *out)
{
	for (uint32_t i = 0; i < m->n_batches && i < 12; i++)
		sbuf_printf(out, "%s%u", i ? ", " : "", m->batch[i]);
	if (m->n_batches > 12)
		sbuf_printf(out, ", .., %u", m->batch[m->n_batches - 1]);
}

static void fail_latency(struct orr_serve *w, const struct orr_batch *b, const struct plan *p, const struct req *q)
{
	const struct served *m = w->config->model[b->model];
	if (p->samples < p->asked) {
		serve_fail(w, ORR_EFAIL, q,
			"start of a batch of %u samples: expected at least %u, the samples of the requests of the batch", p->samples,
			p->asked);
		return;
	}
	struct sbuf have = { 0 };
	list_batches(m, &have);
	if (m->n_lengths)
		serve_fail(w, ORR_EFAIL, q,
			"start: model %s has no batch of %u samples of length %u: expected batches of %s and lengths from %u to %u",
			m->name, p->samples, p->length, sbuf_text(&have), m->length[0], m->length[m->n_lengths - 1]);
	else
		serve_fail(
			w, ORR_EFAIL, q, "start: model %s has no batch of %u samples: expected %s", m->name, p->samples, sbuf_text(&have));
	sbuf_free(&have);
}

static bool is_batch(struct orr_serve *w, const struct orr_batch *b, const struct req *q)
{
	if (!b->n || b->n >= UINT32_MAX / 2)
		serve_fail(w, ORR_EFAIL, q, "start of a batch of %zu requests: expected 1 to %u", b->n, UINT32_MAX / 2 - 1);
	else if (!(b->part >= 0 && b->part <= 1))
		serve_fail(w, ORR_EFAIL, q, "start of a batch with part = %g: expected a part from 0 to 1", b->part);
	else if (b->flags & ~(unsigned)(ORR_RUN_KEEP | ORR_RUN_PART | ORR_RUN_QUEUE))
		serve_fail(w, ORR_EFAIL, q, "start: unknown flags in 0x%x: expected ORR_RUN_* flags", b->flags);
	else
		return true;
	return false;
}

static bool replica_can(struct orr_serve *w, uint32_t replica, const struct orr_batch *b, const struct req *q)
{
	const struct serve_config *c = w->config;
	if (replica >= w->n_replicas) {
		serve_fail(w, ORR_EFAIL, q, "start on replica %u: expected a number below %u", replica, w->n_replicas);
		return false;
	}
	const struct replica *r = &w->replica[replica];
	if (!replica_is_up(r))
		serve_fail(w, ORR_EFAIL, q, "start on replica %u, which is down: expected a replica that is up", replica);
	else if (b->model >= c->n_models)
		serve_fail(w, ORR_EFAIL, q, "start of model %u: expected a number below %u", b->model, c->n_models);
	else if (c->model[b->model]->kind != SERVED_TABLE)
		serve_fail(w, ORR_EFAIL, q, "start of a batch of %s, a language model: expected orr_iter_run()", c->model[b->model]->name);
	else if (r->model != UINT32_MAX && r->model != b->model)
		serve_fail(w, ORR_EFAIL, q, "start of model %s on replica %u: expected model %s, the only model of this replica",
			c->model[b->model]->name, replica, c->model[r->model]->name);
	else if (!loading_is_done(w, replica, b->model))
		serve_fail(w, ORR_EFAIL, q, "start of model %s on replica %u, which has not loaded it: expected orr_model_load() first%s",
			c->model[b->model]->name, replica, w->set->preloaded ? "" : " (serve.preloaded=false)");
	else
		return true;
	return false;
}

/* Returns whether each request may join a run and occurs only once in the batch; if not, fails the world's run. */
static bool requests_can(struct orr_serve *w, const struct orr_batch *b)
{
	uint64_t stamp = ++w->n_started;
	for (size_t i = 0; i < b->n; i++) {
		struct req *q = req_of(w, b->req[i]);
		if (!q || q->state == ORR_REQ_ENDED)
			serve_fail(w, ORR_EFAIL, q,
				"start with a request that has ended or never existed (handle %llx): expected a live request",
				(unsigned long long)b->req[i]);
		else if (q->state != ORR_REQ_WAITING && q->state != ORR_REQ_RUNNING)
			serve_fail(
				w, ORR_EFAIL, q, "start with a request that is resident or moving: expected a request that waits or runs");
		else if (q->stamp == stamp)
			serve_fail(w, ORR_EFAIL, q, "start with duplicate requests: expected each request once");
		else {
			q->stamp = stamp;
			continue;
		}
		return false;
	}
	return true;
}

/* Returns whether a run fits beside these weights if no other run is on the replica. */
static bool fits_alone(const struct orr_serve *w, uint32_t replica, const struct plan *p, double weights)
{
	static const double rounding = 1e-12;
	const struct served_memory *x = &p->extra.memory;
	return weights + fmax(x->before, x->peak) <= w->replica[replica].memory * (1 + rounding) &&
	       w->config->model[p->extra.model]->utilisation <= w->set->utilisation_limit * (1 + rounding);
}

static bool has_room(struct orr_serve *w, uint32_t replica, const struct orr_batch *b, const struct plan *p, const struct req *q)
{
	uint32_t runs = w->replica[replica].n_runs + w->replica[replica].n_reserved;
	if (b->flags & ORR_RUN_QUEUE ? fits_alone(w, replica, p, w->replica[replica].weights) : memory_fits(w, replica, &p->extra))
		return true;
	if (runs >= w->set->n_curve)
		serve_fail(w, ORR_EFAIL, q,
			"start on replica %u beside %u runs: expected at most %zu runs at a time, the length of serve.slowdown_curve "
			"(orr_run_fits() checks this)",
			replica, runs, w->set->n_curve);
	serve_fail(w, ORR_EFAIL, q,
		"start: no room on replica %u for %u samples of %s beside %u runs: its peak is %.9g bytes, %.9g of %.9g bytes are in use "
		"%s(orr_run_fits() checks this)",
		replica, p->samples, w->config->model[b->model]->name, runs, fmax(p->extra.memory.before, p->extra.memory.peak),
		memory_in_use(w, replica), w->replica[replica].memory,
		w->set->utilisation_limit < INFINITY ? "or serve.utilisation_limit would be exceeded " : "");
	return false;
}

/* ---- start ---- */

static void take_members(struct orr_serve *w, struct run *x, const struct orr_batch *b)
{
	if (x->cap < b->n) {
		uint32_t cap = x->cap ? x->cap : 1;
		while (cap < b->n)
			cap *= 2;
		x->handle = mem_realloc(x->handle, cap, sizeof *x->handle);
		x->next_in = mem_realloc(x->next_in, cap, sizeof *x->next_in);
		x->cap = cap;
	}
	x->n = 0;
	for (size_t i = 0; i < b->n; i++) {
		struct req *q = req_of(w, b->req[i]);
		if (!q->runs && !x->is_part && q->replica != x->replica)
			req_set_replica(w, q, x->replica);
		run_add(w, x, q);
		if (q->state == ORR_REQ_WAITING) {
			q->state = ORR_REQ_RUNNING;
			req_waits_no_more(w, q);
		}
		if (isnan(q->first_start_s) && !x->queues)
			q->first_start_s = w->now_s;
	}
}

/* Returns the time of a run: the time of the table, or a random time whose mean is the time of the table. The peak of memory is reached at
 * the same share of the time. */
static double time_of(struct orr_serve *w, const struct served *m, double latency_s, struct served_memory *memory)
{
	if (m->noise != SERVED_EXPONENTIAL)
		return latency_s;
	double s = rng_exponential(&w->service_rng, latency_s);
	memory->peak_from_s *= s / latency_s;
	return s;
}

orr_run orr_run_start(struct orr_serve *w, uint32_t replica, const struct orr_batch *b)
{
	if (!serve_may_act(w, "orr_run_start()"))
		return 0;
	if (!b || (b->n && !b->req)) {
		serve_fail(w, ORR_EFAIL, NULL, "start of a batch: a pointer is NULL: expected an object");
		return 0;
	}
	const struct req *first = b->n ? req_of(w, b->req[0]) : NULL;
	if (!is_batch(w, b, first) || !replica_can(w, replica, b, first) || !requests_can(w, b))
		return 0;
	w->last_acted = b->req[0];
	watch_job(w->watch, first->number);
	struct plan p = plan_of(w, replica, b, 0);
	if (isnan(p.latency_s))
		fail_latency(w, b, &p, first);
	if (isnan(p.latency_s) || !has_room(w, replica, b, &p, first))
		return 0;
	struct run *x = run_new(w);
	x->keeps = b->flags & (ORR_RUN_KEEP | ORR_RUN_PART);
	x->is_part = b->flags & ORR_RUN_PART;
	x->queues = b->flags & ORR_RUN_QUEUE;
	x->replica = replica;
	x->model = b->model;
	x->samples = p.samples;
	x->asked = p.asked;
	x->length = p.length;
	x->memory = p.extra.memory;
	x->alone_s = x->left_s = time_of(w, served_at(w, replica, b->model), p.stage_s, &x->memory);
	x->later_s = p.latency_s - p.stage_s;
	x->whole_s = x->alone_s / p.part;
	x->started_s = w->now_s;
	x->end_s = INFINITY;
	x->leaving = -1;
	take_members(w, x, b);
	guard_before_beside(w, replica, "orr_run_start()");
	serve_metrics_memory(w, replica);
	run_begin(w, x);
	double sent = served_sent(served_at(w, replica, b->model), p.samples) * p.part;
	w->metrics->group_bytes += sent;
	w->metrics->has_groups |= sent > 0;
	serve_metrics_padding(w, p.real, padded_size(w->config->model[b->model], &p));
	return run_handle(w, run_slot(w, x));
}

/* ---- queries of policies ---- */

static bool can_ask(const struct orr_serve *w, uint32_t replica, const struct orr_batch *b)
{
	if (!b || (b->n && !b->req) || replica >= w->n_replicas || b->model >= w->config->n_models || !(b->part >= 0 && b->part <= 1))
		return false;
	const struct replica *r = &w->replica[replica];
	return w->config->model[b->model]->kind == SERVED_TABLE && replica_is_up(r) && (r->model == UINT32_MAX || r->model == b->model);
}

bool orr_run_fits(const struct orr_serve *w, uint32_t replica, const struct orr_batch *b, double delay_s)
{
	if (!can_ask(w, replica, b))
		return false;
	struct plan p = plan_of(w, replica, b, delay_s > 0 ? delay_s : 0);
	if (isnan(p.latency_s))
		return false;
	return b->flags & ORR_RUN_QUEUE ? fits_alone(w, replica, &p, w->replica[replica].weights) : memory_fits(w, replica, &p.extra);
}

bool orr_run_fits_alone(const struct orr_serve *w, uint32_t replica, const struct orr_batch *b)
{
	if (!can_ask(w, replica, b))
		return false;
	struct plan p = plan_of(w, replica, b, 0);
	return !isnan(p.latency_s) && fits_alone(w, replica, &p, w->config->model[b->model]->weight_bytes);
}

bool orr_run_fits_instead(const struct orr_serve *w, uint32_t replica, const struct orr_batch *b, orr_run instead)
{
	const struct run *gone = run_of(w, instead);
	if (!can_ask(w, replica, b))
		return false;
	struct plan p = plan_of(w, replica, b, 0);
	p.extra.without = gone ? (uint32_t)(gone - w->run) + 1 : 0;
	return !isnan(p.latency_s) && memory_fits(w, replica, &p.extra);
}

double orr_run_fits_after(const struct orr_serve *w, uint32_t replica, const struct orr_batch *b)
{
	if (!can_ask(w, replica, b))
		return INFINITY;
	struct plan p = plan_of(w, replica, b, 0);
	return isnan(p.latency_s) ? INFINITY : memory_fits_after(w, replica, p.extra);
}
