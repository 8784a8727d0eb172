/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tasks on functions: the queue of each server, invocations, relaunch of stragglers, tuner. */
#include "dorylus.h"

#include <math.h>

/* ---- ops ---- */

void dorylus_on(struct dorylus *d, struct orr_step *s, orr_op op, enum event_kind kind, uint32_t chunk, uint32_t slot)
{
	struct epoch *e = epoch_at(d, epoch_of(op));
	uint32_t i = (uint32_t)op - 1;
	if (!op)
		return;
	if (i >= e->cap) {
		e->cap = i < 512 ? 1024 : 2 * i;
		e->event = orr_realloc(e->event, e->cap, sizeof *e->event);
	}
	e->event[i] = (struct event){ kind, chunk, slot };
	e->watched++;
	orr_detach(s, op);
	orr_watch(s, op);
}

void dorylus_updates(const struct dorylus *d, struct orr_step *s, orr_op op, uint32_t chunk, const struct task *t)
{
	static const enum orr_update_kind kinds[] = {
		[GA] = ORR_GATHER, [AV] = ORR_APPLY_VERTEX, [SC] = ORR_SCATTER, [WU] = ORR_WEIGHT_GRADIENT
	};
	const struct chunk *c = &d->chunk[chunk];
	struct orr_update u = { .kind = kinds[t->kind],
		.worker = c->server,
		.chunk = chunk,
		.chunks = d->n,
		.layer = t->layer,
		.is_backward = t->is_backward,
		.slice = c->weights_at,
		.slices = d->weight_servers,
		.window = d->window[c->weights_at] };
	if (d->g.has_attention && t->kind != GA) /* sim/learn refuses GATs: the gathers of a GAT declare that its updates need a graph */
		return;
	orr_updates(s, op, &u);
	u.is_backward = true;
	if (t->is_fused)
		orr_updates(s, op, &u);
}

/* ---- queues: min-heaps of (epoch, task, chunk) ---- */

static uint64_t key_of(const struct dorylus *d, uint32_t chunk)
{
	return d->chunk[chunk].epoch << 32 | (uint64_t)d->chunk[chunk].task << 24 | chunk % d->chunks_each;
}

static void push(struct dorylus *d, uint32_t server, uint64_t key)
{
	uint64_t *h = d->queue[server];
	uint32_t i = d->n_queue[server]++;
	for (; i && key < h[(i - 1) / 2]; i = (i - 1) / 2)
		h[i] = h[(i - 1) / 2];
	h[i] = key;
}

static uint32_t pop(struct dorylus *d, uint32_t server)
{
	uint64_t *h = d->queue[server], top = h[0];
	uint32_t n = --d->n_queue[server], i = 0, c;
	uint64_t key = h[n];
	for (; (c = 2 * i + 1) < n; i = c) {
		c += c + 1 < n && h[c + 1] < h[c];
		if (key <= h[c])
			break;
		h[i] = h[c];
	}
	h[i] = key;
	return server * d->chunks_each + (uint32_t)(top & 0xffffff);
}

/* Opens the gates of the chunks at the head of the queue, up to the server's limit of concurrent functions. */
static void serve(struct dorylus *d, struct orr_step *s, uint32_t server)
{
	while (d->n_queue[server] && d->active[server] < d->limit && d->n_free[server]) {
		struct chunk *c = &d->chunk[pop(d, server)];
		d->active[server]++;
		orr_open(s, c->turn, 0);
		c->turn = 0;
	}
}

void dorylus_queue(struct dorylus *d, struct orr_step *s, uint32_t chunk)
{
	struct chunk *c = &d->chunk[chunk];
	if (d->active[c->server] < d->limit && d->n_free[c->server] && !d->n_queue[c->server]) {
		d->active[c->server]++;
		dorylus_launch(d, s, chunk);
		return;
	}
	c->turn = orr_gate(s);
	dorylus_on(d, s, c->turn, ON_TURN, chunk, NO_SLOT);
	push(d, c->server, key_of(d, chunk));
}

/* ---- invocations ---- */

/* Draws the additional time of an invocation from a Pareto law. */
static double tail(const struct dorylus *d, struct orr_step *s)
{
	if (!(d->tail_p > 0) || orr_step_uniform(s) >= d->tail_p)
		return 0;
	return d->tail_s * pow(1 - orr_step_uniform(s), -1 / d->tail_exponent);
}

static orr_op send(struct orr_step *s, uint32_t from, uint32_t to, double bytes, orr_op after)
{
	if (!(bytes > 0))
		return 0;
	orr_op op = orr_transfer(s, from, to, bytes);
	orr_after(s, op, after);
	orr_detach(s, op);
	return op;
}

static void invoke(struct dorylus *d, struct orr_step *s, uint32_t chunk)
{
	const struct chunk *c = &d->chunk[chunk];
	const struct task *t = &d->task[c->task];
	uint32_t slot = d->free_slot[c->server * d->slots + --d->n_free[c->server]], at = d->first + slot;
	d->call[slot] = (struct call){ true, chunk, c->task, c->epoch, orr_step_now(s) };
	orr_op begin = orr_invoke(s, at), pull[2] = { 0 }, push_ops[2] = { 0 };
	orr_detach(s, begin);
	pull[0] = send(s, c->server, at, t->in_bytes, begin);
	pull[1] = send(s, c->weights, at, t->weight_bytes, begin);
	orr_op work = orr_compute(s, at, t->is_backward ? ORR_BACKWARD : ORR_FORWARD, t->seconds[c->server] + tail(d, s));
	orr_detach(s, work);
	orr_after(s, work, begin);
	orr_after(s, work, pull[0]);
	orr_after(s, work, pull[1]);
	orr_label(s, work, "%s %u%s chunk %u", t->kind == AE ? "AE" : "AV", t->layer,
		t->is_fused      ? "fb"
		: t->is_backward ? "b"
				 : "f",
		chunk);
	dorylus_updates(d, s, work, chunk, t);
	push_ops[0] = send(s, at, c->server, t->out_bytes, work);
	push_ops[1] = t->has_gradient ? send(s, at, c->weights, t->weight_bytes, work) : 0;
	orr_op end = orr_mark(s);
	orr_after(s, end, work);
	orr_after(s, end, push_ops[0]);
	orr_after(s, end, push_ops[1]);
	orr_returns(s, end, at);
	dorylus_on(d, s, end, ON_RETURN, chunk, slot);
}

static void set_check(struct dorylus *d, struct orr_step *s, uint64_t epoch)
{
	struct epoch *e = epoch_at(d, epoch);
	if (!d->relaunches || e->is_checking)
		return;
	e->is_checking = true;
	dorylus_on(d, s, orr_delay(s, d->check_s), ON_CHECK, 0, NO_SLOT);
}

void dorylus_launch(struct dorylus *d, struct orr_step *s, uint32_t chunk)
{
	invoke(d, s, chunk);
	set_check(d, s, d->chunk[chunk].epoch);
}

bool dorylus_returned(struct dorylus *d, struct orr_step *s, uint32_t slot)
{
	struct call *call = &d->call[slot];
	const struct chunk *c = &d->chunk[call->chunk];
	double *ema = &d->ema[call->task], age = orr_step_now(s) - call->since_s;
	bool is_first = !c->is_waiting && c->epoch == call->epoch && c->task == call->task;
	if (is_first)
		*ema = *ema > 0 ? 0.95 * *ema + 0.05 * age : age;
	d->wasted += !is_first;
	call->is_running = false;
	d->free_slot[c->server * d->slots + d->n_free[c->server]++] = slot;
	d->active[c->server]--;
	serve(d, s, c->server);
	return is_first;
}

/* ---- stragglers ---- */

static bool is_straggler(const struct dorylus *d, const struct call *call, double now_s)
{
	double age = now_s - call->since_s, ema = d->ema[call->task];
	if (d->task[call->task].kind == AE)
		return age > d->edge_age_s;
	return ema > 0 && age > fmax(d->least_age_s, d->ratio * ema);
}

void dorylus_check(struct dorylus *d, struct orr_step *s, uint64_t epoch)
{
	struct epoch *e = epoch_at(d, epoch);
	double now = orr_step_now(s);
	e->is_checking = false;
	if (e->is_over || e->done == d->n)
		return;
	for (uint32_t i = 0; i < d->servers * d->slots; i++) {
		struct call *call = &d->call[i];
		const struct chunk *c = &d->chunk[call->chunk];
		bool is_needed = call->is_running && call->epoch == epoch && !c->is_waiting && c->epoch == epoch && c->task == call->task;
		if (!is_needed || !d->n_free[c->server] || !is_straggler(d, call, now))
			continue;
		call->since_s = now; /* the age counts from the latest start */
		d->active[c->server]++;
		d->relaunched++;
		invoke(d, s, call->chunk);
	}
	set_check(d, s, epoch);
}

/* ---- the tuner (ours) ---- */

/* Maximises the value of an epoch, 1 / (time x cost), by hill climbing. A value below the best reverses the direction and replaces the
 * factor by its square root. Tuning ends at the best number when the factor is below 1.05. */
void dorylus_tune(struct dorylus *d, struct orr_step *s)
{
	double now = orr_step_now(s), usd = orr_step_usd(s), value = 1 / ((now - d->epoch_s) * (usd - d->epoch_usd));
	uint32_t before = d->limit;
	d->epoch_s = now;
	d->epoch_usd = usd;
	if (!d->is_tuning)
		return;
	if (value > d->best_value) {
		d->best_value = value;
		d->best = d->limit;
	} else {
		d->direction = -d->direction;
		d->factor = sqrt(d->factor);
	}
	double next = d->best * (d->direction > 0 ? d->factor : 1 / d->factor);
	d->limit = (uint32_t)fmax(1, fmin(d->lambdas, round(next)));
	if (d->limit == before && d->best == before) { /* clamped or rounded to the best number */
		d->direction = -d->direction;
		d->factor = sqrt(d->factor);
	}
	if (d->factor < 1.05) {
		d->is_tuning = false;
		d->limit = d->best;
	}
	if (d->limit != before && d->n_visited < sizeof d->visited / sizeof *d->visited)
		d->visited[d->n_visited++] = d->limit;
}

/* ---- in create() ---- */

static double most_bytes(const struct dorylus *d)
{
	double most = 0;
	for (uint32_t i = 0; i < d->tasks; i++)
		if (d->task[i].kind == AV || d->task[i].kind == AE)
			most = fmax(most, d->task[i].in_bytes + d->task[i].out_bytes + 2 * d->task[i].weight_bytes);
	return most;
}

int dorylus_functions(struct dorylus *d, struct orr_step *s, struct orr_error *err)
{
	const struct orr_args *a = d->args;
	double memory = orr_arg_real(a, "lambda_memory") * 0x1p20;
	if (most_bytes(d) > memory)
		return orr_fail(err, ORR_EINPUT,
			"dorylus: a task's rows and weights have %.4g MiB, a function %.4g: expected a larger lambda_memory or more chunks",
			most_bytes(d) / 0x1p20, memory / 0x1p20);
	d->relaunches = orr_arg_bool(a, "relaunch");
	d->ratio = orr_arg_real(a, "relaunch_ratio");
	d->least_age_s = orr_arg_real(a, "relaunch_after");
	d->edge_age_s = orr_arg_real(a, "relaunch_edge");
	d->check_s = orr_arg_real(a, "relaunch_check");
	d->tail_p = orr_arg_real(a, "lambda_tail_p");
	d->tail_s = orr_arg_real(a, "lambda_tail");
	d->tail_exponent = orr_arg_real(a, "lambda_tail_exponent");
	d->is_tuning = orr_arg_bool(a, "lambda_autotune");
	d->factor = 2;
	d->direction = -1;
	if (d->is_tuning)
		d->lambdas = d->chunks_each;
	d->limit = d->is_tuning && d->lambdas > 100 ? 100 : d->lambdas;
	d->best = d->limit;
	d->slots = d->relaunches ? 2 * d->lambdas : d->lambdas;
	uint32_t n = d->servers * d->slots;
	struct orr_functions f = { .n = n,
		.bandwidth_Bps = orr_arg_real(a, "lambda_bandwidth") / (1 + orr_arg_real(a, "lambda_bandwidth_loss") * (d->limit - 1.)),
		.start_s = orr_arg_real(a, "lambda_start"),
		.start_spread = orr_arg_real(a, "lambda_start_spread"),
		.memory_bytes = memory,
		.usd_per_GB_s = orr_arg_real(a, "lambda_usd_per_GB_s"),
		.usd_per_request = orr_arg_real(a, "lambda_usd_per_request"),
		.rounding_s = orr_arg_real(a, "lambda_rounding") };
	d->first = orr_functions(s, &f);
	d->call = orr_alloc(n, sizeof *d->call);
	d->free_slot = orr_alloc(n, sizeof *d->free_slot);
	d->n_free = orr_alloc(d->servers, sizeof *d->n_free);
	d->active = orr_alloc(d->servers, sizeof *d->active);
	d->queue = orr_alloc(d->servers, sizeof *d->queue);
	d->n_queue = orr_alloc(d->servers, sizeof *d->n_queue);
	for (uint32_t i = 0; i < d->servers; i++) {
		d->queue[i] = orr_alloc(d->chunks_each + 1, sizeof **d->queue);
		d->n_free[i] = d->slots;
		for (uint32_t j = 0; j < d->slots; j++)
			d->free_slot[i * d->slots + j] = i * d->slots + d->slots - 1 - j;
	}
	return ORR_OK;
}

void dorylus_calls_free(struct dorylus *d)
{
	for (uint32_t i = 0; i < d->servers && d->queue; i++)
		orr_free(d->queue[i]);
	orr_free(d->queue);
	orr_free(d->n_queue);
	orr_free(d->call);
	orr_free(d->free_slot);
	orr_free(d->n_free);
	orr_free(d->active);
}
