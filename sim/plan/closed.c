/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The closed form: time and memory of a plan (docs/models/plan.md).
 *
 * Stages execute their passes in the order of the schedule (policies/step/schedule.h), each as soon as its input has arrived.
 * This is a recurrence over micro-batches, in the order of time if messages of several cuts share links. If there are many
 * micro-batches, the recurrence is computed for fewer, and each further one takes as long as one does before the pipeline drains. At the
 * end each stage all-reduces its gradients and updates its parameters.
 */
#include "plan/world.h"

#include "base/mem.h"
#include "policies/step/schedule.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MOST_SHARED = 64 }; /* the time of the recurrence with shared links grows with the cube of the number of parts */

/* Values by part of the model (a stage of the draft). */
struct part {
	double forward_s, backward_s; /* times of the slowest group, with recomputation and the all-reduces of shards */
	double params;                /* parameters held by one GPU */
	struct cut ahead, back;       /* messages to the next part of the model, and gradients from it */
};

struct form {
	struct orr_plan *p;
	const struct orr_plan_draft *d;
	uint32_t sets, v, m; /* numbers of sets of GPUs, parts per set, micro-batches */
	struct part *part;
	uint32_t n_shared; /* links that several channels share; links with the same messages count once */
};

/* ---- costs and memory ---- */

static struct orr_plan_terms terms_of(const struct orr_plan_draft *d, const struct orr_plan_stage *x, uint32_t group)
{
	return (struct orr_plan_terms){ .samples = d->micro_batch * stage_share(x, group),
		.shards = stage_shards(x),
		.recompute = d->recompute,
		.sequence_parallel = d->sequence_parallel };
}

/* Returns the largest sum of the bytes that a set keeps between forward and backward passes; stored: of a micro-batch, by part. */
static double most_stored(const struct form *f, uint32_t set, const double *stored)
{
	uint32_t m = f->m;
	if (f->v == 1)
		return fmin(m, f->sets - set) * stored[0];
	/* The passes repeat after `sets` micro-batches; by then the number in flight is that of the steady state. */
	while (m > 6 * f->sets)
		m -= f->sets;
	size_t passes = 2 * (size_t)m * f->v;
	struct pass *order = mem_alloc(passes * sizeof *order);
	double held = 0, most = 0;
	schedule_make(SCHEDULE_INTERLEAVED, order, m, f->sets, f->v, set);
	for (size_t i = 0; i < passes; i++) {
		held += (order[i].is_backward ? -1 : 1) * stored[order[i].chunk];
		most = fmax(most, held);
	}
	mem_free(order);
	return most;
}

/* Fills in times of part i, and adds the bytes that group g of set i % sets holds; stored: see most_stored(). */
static void measure_group(const struct form *f, uint32_t i, uint32_t g, uint32_t type, double *params, double *stored, double *working)
{
	const struct orr_plan_stage *x = &f->d->stage[i];
	struct part *w = &f->part[i];
	struct orr_plan_terms t = terms_of(f->d, x, g);
	struct orr_plan_cost c;
	orr_plan_cost(f->p, type, x->first, x->count, &t, &c);
	double sum_s = t.shards > 1 ? network_shards_s(f->p, x, g, c.sum_bytes) : 0;
	w->forward_s = fmax(w->forward_s, c.forward_s + c.forward_sums * sum_s);
	w->backward_s = fmax(w->backward_s, c.backward_s + c.recompute_s + (c.backward_sums + c.recompute_sums) * sum_s);
	w->params = c.params / t.shards;
	*params += w->params;
	stored[i / f->sets] = c.stored_bytes;
	*working = fmax(*working, c.working_bytes);
}

/* Returns whether group g has the same type, share and place as the previous group, and therefore the same costs. */
static bool is_like_before(const struct form *f, uint32_t set, uint32_t g)
{
	const struct orr_plan_stage *x = &f->d->stage[set];
	uint32_t t = stage_shards(x);
	if (!g || x->share)
		return false;
	for (uint32_t k = 0; k < t; k++)
		if (f->p->type_of[x->gpu[g * t + k]] != f->p->type_of[x->gpu[(g - 1) * t]])
			return false;
	return f->p->type_of[x->gpu[g * t]] == f->p->type_of[x->gpu[(g - 1) * t]];
}

static void say_unfit(struct orr_error *why, uint32_t set, uint32_t gpu, double held, double memory)
{
	orr_fail(why, ORR_EFAIL, "stage %u: GPU %u would hold %.4g GB: expected at most %.4g GB, the memory of the GPU", set, gpu,
		held / 1e9, memory / 1e9);
}

/* Fills in the costs of set i and all its parts. Returns the largest used share of a GPU's memory. */
static double measure_set(const struct form *f, uint32_t set, struct orr_error *why)
{
	const struct orr_plan_stage *x = &f->d->stage[set];
	uint32_t t = stage_shards(x);
	double most = 0, *stored = mem_alloc(f->v * sizeof *stored);
	for (uint32_t g = 0; g < stage_groups(x); g++) {
		if (is_like_before(f, set, g))
			continue;
		for (uint32_t k = 0; k < t; k++) {
			uint32_t gpu = x->gpu[g * t + k], type = f->p->type_of[gpu];
			double params = 0, working = 0, memory = orr_device_memory(f->p->step, gpu);
			if (k && type == f->p->type_of[x->gpu[g * t + k - 1]])
				continue;
			for (uint32_t i = set; i < f->d->stages; i += f->sets)
				measure_group(f, i, g, type, &params, stored, &working);
			double held = params * orr_plan_state_bytes(f->p, f->d->zero ? stage_groups(x) : 1) + most_stored(f, set, stored) +
				      working;
			if (held > memory && most <= 1)
				say_unfit(why, set, gpu, held, memory);
			most = fmax(most, held / memory);
		}
	}
	mem_free(stored);
	return most;
}

/* Measures the gradients that cut i sends back. */
static void measure_back(const struct form *f, uint32_t i, struct cut *out)
{
	const struct orr_plan_draft *d = f->d;
	struct orr_plan_piece last;
	orr_plan_piece(f->p, d->stage[i + 1].first - 1, &last);
	network_cut(f->p, &d->stage[i + 1], &d->stage[i], last.out_bytes * d->micro_batch, out);
}

static void measure_messages(const struct form *f)
{
	const struct orr_plan_draft *d = f->d;
	for (uint32_t i = 0; i + 1 < d->stages && f->sets > 1; i++) {
		struct orr_plan_piece last;
		orr_plan_piece(f->p, d->stage[i + 1].first - 1, &last);
		network_cut(f->p, &d->stage[i], &d->stage[i + 1], last.out_bytes * d->micro_batch, &f->part[i].ahead);
		measure_back(f, i, &f->part[i].back);
	}
}

/*
 * Messages of cut i ahead have kind 2 i, messages back kind 2 i + 1. The messages of a channel, from one set to another in one direction,
 * are sent one after the other, as by the executor. With several parts per set a channel has several kinds.
 */
static uint32_t channel_of(const struct form *f, uint32_t kind)
{
	return kind / 2 % f->sets * 2 + kind % 2;
}

/* Messages on a link: their kinds, hashed with their loads. */
struct link_use {
	uint64_t hash;
	uint32_t channel; /* + 1; 0: no message */
	bool is_shared;   /* by several channels */
	double load_s;    /* of a micro-batch */
};

static void add_use(const struct form *f, struct link_use *use, const struct cut *x, uint32_t kind)
{
	for (uint32_t i = 0; i < x->n; i++) {
		struct link_use *u = &use[x->link[i]];
		uint64_t load;
		memcpy(&load, &x->load_s[i], sizeof load);
		u->hash = (u->hash ^ load ^ (uint64_t)kind << 52) * UINT64_C(1099511628211);
		u->hash ^= u->hash >> 29;
		u->is_shared |= u->channel && u->channel != channel_of(f, kind) + 1;
		u->channel = channel_of(f, kind) + 1;
		u->load_s += x->load_s[i];
	}
}

/* Returns the time of a micro-batch on the slowest set. */
static double longest_s(const struct form *f)
{
	double most = 0;
	for (uint32_t set = 0; set < f->sets; set++) {
		double sum = 0;
		for (uint32_t i = set; i < f->d->stages; i += f->sets)
			sum += f->part[i].forward_s + f->part[i].backward_s;
		most = fmax(most, sum);
	}
	return most;
}

/* Keeps the shared links of x, by number, each number once. */
static void number_links(struct form *f, const struct link_use *use, struct cut *x, uint64_t *hash)
{
	uint32_t kept = 0;
	for (uint32_t i = 0; i < x->n; i++) {
		const struct link_use *u = &use[x->link[i]];
		uint32_t number = 0, k = 0;
		if (!u->is_shared)
			continue;
		while (number < f->n_shared && hash[number] != u->hash)
			number++;
		if (number == f->n_shared)
			hash[f->n_shared++] = u->hash;
		while (k < kept && x->link[k] != number)
			k++;
		x->link[k] = number;
		x->load_s[k] = x->load_s[i];
		kept += k == kept;
	}
	x->n = kept;
}

/* Finds the links that several channels share, such as the NIC of a node that sends activations ahead and gradients back. */
static void find_shared(struct form *f)
{
	uint32_t n = f->p->of->config.topo->n_links, cuts = f->d->stages - 1;
	double longest = longest_s(f);
	struct link_use *use = mem_zalloc(n, sizeof *use);
	uint64_t *hash = mem_alloc(n * sizeof *hash + 1);
	for (uint32_t i = 0; i < cuts; i++) {
		add_use(f, use, &f->part[i].ahead, 2 * i);
		add_use(f, use, &f->part[i].back, 2 * i + 1);
	}
	/* On a link that is in use for less than a tenth of the time, messages hardly wait for those of other cuts. */
	for (uint32_t i = 0; i < n; i++)
		use[i].is_shared &= use[i].load_s >= 0.1 * longest;
	for (uint32_t i = 0; i < cuts; i++) {
		number_links(f, use, &f->part[i].ahead, hash);
		number_links(f, use, &f->part[i].back, hash);
	}
	mem_free(use);
	mem_free(hash);
}

/* ---- the recurrence ---- */

struct pipe {
	const struct form *f;
	uint32_t m;
	struct pass *order;                       /* [set][2 m v] */
	uint32_t *next;                           /* next pass of each set */
	double *free_s;                           /* end of the latest pass of each set */
	double *forward_in, *backward_in;         /* arrival times, [part * m + micro]; NAN: not known yet */
	double *forward_link_s, *backward_link_s; /* time until which the channel of each set is busy */
};

/* Returns the arrival of a message that is ready at ready_s. A channel sends one message at a time. */
static double deliver(double *link_s, double ready_s, double seconds)
{
	*link_s = fmax(*link_s, ready_s) + seconds;
	return *link_s;
}

/* Returns the next pass of a set; NULL: it has ended, or the arrival of its input is unknown. end_s: end of the pass. */
static const struct pass *next_pass(const struct pipe *q, uint32_t set, double *end_s)
{
	const struct form *f = q->f;
	if (q->next[set] == 2 * q->m * f->v)
		return NULL;
	const struct pass *a = &q->order[(size_t)set * 2 * q->m * f->v + q->next[set]];
	uint32_t i = a->chunk * f->sets + set;
	size_t at = (size_t)i * q->m + a->micro;
	double input = a->is_backward ? q->backward_in[at] : q->forward_in[at];
	*end_s = fmax(q->free_s[set], input) + (a->is_backward ? f->part[i].backward_s : f->part[i].forward_s);
	return isnan(input) ? NULL : a;
}

/* Executes the next pass of a set; returns false if there is none. */
static bool step_set(struct pipe *q, uint32_t set)
{
	const struct form *f = q->f;
	double end;
	const struct pass *a = next_pass(q, set, &end);
	if (!a)
		return false;
	uint32_t i = a->chunk * f->sets + set;
	size_t at = (size_t)i * q->m + a->micro;
	q->next[set]++;
	q->free_s[set] = end;
	if (a->is_backward && i)
		q->backward_in[at - q->m] = deliver(&q->backward_link_s[set], end, f->part[i - 1].ahead.s);
	else if (!a->is_backward && i + 1 < f->d->stages)
		q->forward_in[at + q->m] = deliver(&q->forward_link_s[set], end, f->part[i].ahead.s);
	else if (!a->is_backward)
		q->backward_in[at] = end;
	return true;
}

/* ---- the recurrence with shared links ---- */

struct kind {
	const struct cut *links;
	double seconds, left, rate; /* alone; the part of the current message that is left, and sent per s */
	double share;               /* of its scarcest link */
	uint32_t sent;              /* number of micro-batches */
};

struct flight {
	struct kind *kind;
	uint32_t *active, n_active; /* active: kinds with a message in flight, the frozen ones of share_links() last */
	uint32_t *queue, most;      /* [channel * most]: kinds of the messages of a channel, in the order in which they become ready */
	uint32_t *begun, *ready;    /* by channel: numbers of messages */
	bool *is_sending;           /* by channel */
	uint32_t *users;            /* by shared link: kinds in flight that use it */
	double *use;                /* by shared link: used share */
	bool is_changed;
	bool *is_busy, *may_start; /* by set; may_start: its previous pass has ended, or an input has arrived */
};

static void start_message(struct flight *x, uint32_t channel)
{
	if (x->is_sending[channel] || x->begun[channel] == x->ready[channel])
		return;
	uint32_t i = x->queue[channel * x->most + x->begun[channel]++];
	struct kind *k = &x->kind[i];
	x->is_sending[channel] = x->is_changed = true;
	k->left = 1;
	x->active[x->n_active++] = i;
	for (uint32_t j = 0; j < k->links->n; j++)
		x->users[k->links->link[j]]++;
}

/* Returns the largest rate of a kind that shares its links equally; share: the part of its scarcest link, 1 if it needs no part. */
static double equal_rate(const struct flight *x, const struct kind *k, double *share)
{
	double rate = 1 / k->seconds;
	*share = 1;
	for (uint32_t j = 0; j < k->links->n; j++) {
		uint32_t l = k->links->link[j];
		double part = (1 - x->use[l]) / x->users[l];
		if (part < rate * k->links->load_s[j]) {
			rate = (part > 0 ? part : 1e-12) / k->links->load_s[j];
			*share = part;
		}
	}
	return rate;
}

/* Takes the share of a kind from its links. */
static void freeze(struct flight *x, const struct kind *k)
{
	for (uint32_t j = 0; j < k->links->n; j++) {
		x->use[k->links->link[j]] += k->rate * k->links->load_s[j];
		x->users[k->links->link[j]]--;
	}
}

/* Computes the rates of the messages in flight: max-min fair in the shares of each link. */
static void share_links(struct flight *x)
{
	for (uint32_t left = x->n_active; left;) {
		double least = 1;
		for (uint32_t i = 0; i < left; i++) {
			struct kind *k = &x->kind[x->active[i]];
			k->rate = equal_rate(x, k, &k->share);
			least = k->share < least ? k->share : least;
		}
		if (least >= 1) /* all have their speed without other messages */
			break;
		for (uint32_t i = left; i-- > 0;) {
			uint32_t number = x->active[i];
			if (x->kind[number].share > least * (1 + 1e-9))
				continue;
			freeze(x, &x->kind[number]);
			x->active[i] = x->active[--left];
			x->active[left] = number;
		}
	}
	for (uint32_t i = 0; i < x->n_active; i++) {
		const struct cut *links = x->kind[x->active[i]].links;
		for (uint32_t j = 0; j < links->n; j++)
			x->use[links->link[j]] = x->users[links->link[j]] = 0;
	}
	for (uint32_t i = 0; i < x->n_active; i++) {
		const struct cut *links = x->kind[x->active[i]].links;
		for (uint32_t j = 0; j < links->n; j++)
			x->users[links->link[j]]++;
	}
	x->is_changed = false;
}

/* Ends the messages that arrive by `now`; before: time of the previous event. */
static void end_messages(struct pipe *q, struct flight *x, double before, double now)
{
	for (uint32_t a = x->n_active; a-- > 0;) { /* in this order, messages that start now are not counted */
		uint32_t i = x->active[a];
		struct kind *k = &x->kind[i];
		bool has_arrived = before + k->left / k->rate <= now; /* as in advance(), so that each event ends something */
		k->left -= k->rate * (now - before);
		if (!has_arrived && k->left > 1e-9)
			continue;
		double *in = i % 2 ? q->backward_in + (size_t)(i / 2) * q->m : q->forward_in + ((size_t)(i / 2) + 1) * q->m;
		in[k->sent++] = now;
		x->may_start[(i / 2 + (i % 2 ? 0 : 1)) % q->f->sets] = true;
		x->is_sending[channel_of(q->f, i)] = false;
		x->active[a] = x->active[--x->n_active];
		x->is_changed = true;
		for (uint32_t j = 0; j < k->links->n; j++)
			x->users[k->links->link[j]]--;
		start_message(x, channel_of(q->f, i));
	}
}

/* Ends the pass of a set. */
static void end_pass(struct pipe *q, struct flight *x, uint32_t set)
{
	const struct form *f = q->f;
	const struct pass *a = &q->order[(size_t)set * 2 * q->m * f->v + q->next[set]++];
	uint32_t i = a->chunk * f->sets + set;
	if (!a->is_backward && i + 1 == f->d->stages)
		q->backward_in[(size_t)i * q->m + a->micro] = q->free_s[set];
	else if (!a->is_backward || i) {
		uint32_t kind = a->is_backward ? 2 * i - 1 : 2 * i, channel = channel_of(f, kind);
		x->queue[channel * x->most + x->ready[channel]++] = kind;
		start_message(x, channel);
	}
}

static void advance(struct pipe *q, struct flight *x)
{
	const struct form *f = q->f;
	double end;
	for (double now = 0, next;; now = next) {
		next = INFINITY;
		for (uint32_t set = 0; set < f->sets; set++) {
			if (!x->is_busy[set] && x->may_start[set] && next_pass(q, set, &end)) {
				x->is_busy[set] = true;
				q->free_s[set] = end;
			}
			x->may_start[set] = false;
			next = x->is_busy[set] && q->free_s[set] < next ? q->free_s[set] : next;
		}
		if (x->is_changed)
			share_links(x);
		for (uint32_t i = 0; i < x->n_active; i++) {
			const struct kind *k = &x->kind[x->active[i]];
			next = fmin(next, now + k->left / k->rate);
		}
		if (isinf(next))
			return;
		end_messages(q, x, now, next);
		for (uint32_t set = 0; set < f->sets; set++)
			if (x->is_busy[set] && q->free_s[set] <= next) {
				x->is_busy[set] = false;
				x->may_start[set] = true;
				end_pass(q, x, set);
			}
	}
}

/* Executes all passes in the order of time, with messages of different cuts that divide the links they share. */
static void run_shared(struct pipe *q)
{
	const struct form *f = q->f;
	uint32_t kinds = 2 * (f->d->stages - 1), channels = 2 * f->sets;
	struct flight x = { .kind = mem_zalloc(kinds, sizeof *x.kind), .most = q->m * f->v };
	x.queue = mem_alloc((size_t)channels * x.most * sizeof *x.queue);
	x.begun = mem_zalloc(channels, sizeof *x.begun);
	x.ready = mem_zalloc(channels, sizeof *x.ready);
	x.is_sending = mem_zalloc(channels, sizeof *x.is_sending);
	x.is_busy = mem_zalloc(f->sets, sizeof *x.is_busy);
	x.may_start = mem_alloc(f->sets * sizeof *x.may_start);
	for (uint32_t i = 0; i < f->sets; i++)
		x.may_start[i] = true;
	x.active = mem_alloc(kinds * sizeof *x.active);
	x.users = mem_zalloc(f->n_shared, sizeof *x.users);
	x.use = mem_zalloc(f->n_shared, sizeof *x.use);
	for (uint32_t i = 0; i < kinds; i++) {
		x.kind[i].links = i % 2 ? &f->part[i / 2].back : &f->part[i / 2].ahead;
		x.kind[i].seconds = fmax(f->part[i / 2].ahead.s, 1e-15);
	}
	advance(q, &x);
	mem_free(x.kind);
	mem_free(x.active);
	mem_free(x.users);
	mem_free(x.use);
	mem_free(x.is_busy);
	mem_free(x.may_start);
	mem_free(x.queue);
	mem_free(x.begun);
	mem_free(x.ready);
	mem_free(x.is_sending);
}

/* Returns the number of micro-batches whose backward passes are late enough to be affected by the end of the forward passes. */
static uint32_t drain(const struct form *f)
{
	return (f->v > 1 ? 3 : 2) * f->sets;
}

/*
 * Computes the end times of the last backward passes of all sets with m micro-batches. rate_s: seconds per micro-batch before the pipeline
 * drains, by set, or NULL.
 */
static void run_pipe(const struct form *f, uint32_t m, double *end_s, double *rate_s)
{
	size_t passes = 2 * (size_t)m * f->v, inputs = (size_t)m * f->d->stages;
	struct pipe q = { .f = f, .m = m };
	q.order = mem_alloc(passes * f->sets * sizeof *q.order);
	q.next = mem_zalloc(f->sets, sizeof *q.next);
	q.free_s = mem_zalloc(f->sets, sizeof *q.free_s);
	q.forward_in = mem_alloc(inputs * sizeof *q.forward_in);
	q.backward_in = mem_alloc(inputs * sizeof *q.backward_in);
	q.forward_link_s = mem_zalloc(f->sets, sizeof *q.forward_link_s);
	q.backward_link_s = mem_zalloc(f->sets, sizeof *q.backward_link_s);
	for (size_t i = 0; i < inputs; i++) {
		q.forward_in[i] = i < m ? 0 : NAN;
		q.backward_in[i] = NAN;
	}
	for (uint32_t set = 0; set < f->sets; set++)
		schedule_make(f->v > 1 ? SCHEDULE_INTERLEAVED : SCHEDULE_1F1B, q.order + set * passes, m, f->sets, f->v, set);
	if (f->n_shared)
		run_shared(&q);
	for (bool is_going = !f->n_shared; is_going;) {
		is_going = false;
		for (uint32_t set = 0; set < f->sets; set++)
			while (step_set(&q, set))
				is_going = true;
	}
	memcpy(end_s, q.free_s, f->sets * sizeof *end_s);
	for (uint32_t set = 0; set < f->sets && rate_s; set++) {
		const double *in = q.backward_in + (size_t)set * m + m - drain(f);
		rate_s[set] = (in[0] - in[-2 * (ptrdiff_t)f->sets]) / (2 * f->sets);
	}
	mem_free(q.order);
	mem_free(q.next);
	mem_free(q.free_s);
	mem_free(q.forward_in);
	mem_free(q.backward_in);
	mem_free(q.forward_link_s);
	mem_free(q.backward_link_s);
}

/* Computes the end times of the sets after all micro-batches; many micro-batches are extrapolated from fewer. */
static void pipe_ends(const struct form *f, double *end_s)
{
	uint32_t some = f->v > 1 ? 9 * f->sets : 7 * f->sets + 16;
	if (f->m <= some || f->sets == 1) {
		run_pipe(f, f->sets == 1 ? 1 : f->m, end_s, NULL);
		for (uint32_t i = 0; i < f->sets && f->sets == 1; i++)
			end_s[i] *= f->m;
		return;
	}
	double *rate_s = mem_alloc(f->sets * sizeof *rate_s);
	run_pipe(f, some, end_s, rate_s);
	for (uint32_t i = 0; i < f->sets; i++)
		end_s[i] += rate_s[i] * (f->m - some);
	mem_free(rate_s);
}

/* ---- all-reduces and updates ---- */

static double set_params(const struct form *f, uint32_t set)
{
	double params = 0;
	for (uint32_t i = set; i < f->d->stages; i += f->sets)
		params += f->part[i].params;
	return params;
}

/* Adds the all-reduce of a table that the first and the last stage share. It begins after the all-reduces of both stages. */
static void sum_tied(const struct form *f, double *end_s)
{
	const struct orr_plan_stage *a = &f->d->stage[0], *b = &f->d->stage[f->sets - 1];
	if (f->sets < 2 || !(f->p->tied_params > 0))
		return;
	double bytes = f->p->tied_params / stage_shards(a) * f->p->facts.gradient_bytes;
	double both = fmax(end_s[0], end_s[f->sets - 1]) + network_ends_s(f->p, a, b, bytes);
	end_s[0] = end_s[f->sets - 1] = both;
}

static double update_s(const struct form *f, uint32_t set)
{
	const struct orr_plan_stage *x = &f->d->stage[set];
	double params = set_params(f, set) / (f->d->zero ? stage_groups(x) : 1), most = 0;
	uint32_t last = UINT32_MAX;
	for (uint32_t k = 0; k < x->n_gpus; k++) {
		uint32_t type = f->p->type_of[x->gpu[k]];
		most = type == last ? most : fmax(most, orr_plan_update_s(f->p, type, params));
		last = type;
	}
	return most;
}

static double finish(const struct form *f, double *end_s)
{
	double last = 0, *bytes = mem_alloc(f->sets * sizeof *bytes);
	struct last *in = mem_zalloc(f->sets, sizeof *in);
	for (uint32_t i = 0; i < f->sets; i++)
		bytes[i] = set_params(f, i) * f->p->facts.gradient_bytes;
	for (uint32_t i = 0; i + 1 < f->sets; i++) {
		in[i].backward_s = f->part[i].backward_s;
		measure_back(f, i, &in[i].back);
	}
	network_sums(f->p, f->d->stage, f->sets, bytes, in, f->d->zero, end_s);
	for (uint32_t i = 0; i + 1 < f->sets; i++)
		cut_free(&in[i].back);
	mem_free(in);
	mem_free(bytes);
	sum_tied(f, end_s);
	for (uint32_t i = 0; i < f->sets; i++)
		last = fmax(last, end_s[i] + update_s(f, i));
	return last;
}

void closed_form(struct orr_plan *p, const struct orr_plan_draft *d, struct orr_plan_value *out, struct orr_error *why)
{
	struct form f = { .p = p, .d = d, .v = draft_interleave(d), .m = (uint32_t)round(p->facts.global_batch / d->micro_batch) };
	f.sets = d->stages / f.v;
	*out = (struct orr_plan_value){ .iteration_s = INFINITY };
	if (f.v > 1 && (f.m % f.sets || f.sets < 2)) {
		orr_fail(why, ORR_EFAIL, "interleave %u: expected a number of micro-batches that is a multiple of the %u stages, found %u",
			f.v, f.sets, f.m);
		return;
	}
	f.part = mem_zalloc(d->stages, sizeof *f.part);
	for (uint32_t i = 0; i < f.sets; i++)
		out->memory_share = fmax(out->memory_share, measure_set(&f, i, why));
	*p->uses |= out->memory_share > 1 ? STEP_USED_MEMORY_LIMIT : 0;
	out->fits = out->memory_share <= 1 || orr_arg_bool(p->of->config.options, "ignore_memory");
	if (out->fits) {
		double *end_s = mem_alloc(f.sets * sizeof *end_s);
		measure_messages(&f);
		if (f.sets > 1 && d->stages <= MOST_SHARED)
			find_shared(&f);
		pipe_ends(&f, end_s);
		out->iteration_s = finish(&f, end_s);
		mem_free(end_s);
	}
	for (uint32_t i = 0; i < d->stages; i++) {
		cut_free(&f.part[i].ahead);
		cut_free(&f.part[i].back);
	}
	mem_free(f.part);
}
