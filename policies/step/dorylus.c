/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Dorylus: training of graph neural networks on graph servers, functions and weight servers (J. Thorpe, Y. Qiao, J. Eyolfson and others,
 * "Dorylus: affordable, scalable, and accurate GNN training with distributed CPU servers and serverless threads", OSDI 2021; rules of
 * schedule, staleness and stragglers: its public code, uclasystem/dorylus bdd672f).
 *
 * Each graph server partitions its vertices into chunks. An iteration is an epoch. In an epoch every chunk runs a list of tasks: gather
 * (GA) on the server, apply vertex (AV) and apply edge (AE) on functions, scatter (SC) to the ghosts on other servers. The backward pass
 * runs these tasks in reverse. Weight gradients are sent to a weight server (WU). With variant=async, a chunk begins epoch e when all
 * chunks have ended epoch e - staleness - 1. It gathers the ghosts that have arrived by then.
 *
 * All ops are detached (orr_detach()), and a gate ends each epoch. So the late duplicate of a relaunched task does not delay an epoch.
 */
#include "dorylus.h"

#include <stdio.h>

enum { SHOWN = 4 }; /* number of graph and of weight servers in timelines */

/* ---- tasks ---- */

static int32_t priority_of(const struct chunk *c)
{
	return (int32_t)(c->epoch % 20000000 * MOST_TASKS + c->task);
}

static void run_on_server(struct dorylus *d, struct orr_step *s, uint32_t chunk)
{
	static const char *const names[] = { "GA", "AV", "SC", "AE", "WU" };
	const struct chunk *c = &d->chunk[chunk];
	const struct task *t = &d->task[c->task];
	orr_op op = orr_compute(s, c->server, t->is_backward ? ORR_BACKWARD : ORR_FORWARD, t->seconds[c->server]);
	orr_priority(s, op, priority_of(c));
	orr_label(s, op, "%s %u%s chunk %u", names[t->kind], t->layer, t->is_fused ? "fb" : t->is_backward ? "b" : "f", chunk);
	dorylus_updates(d, s, op, chunk, t);
	if (!t->has_gradient || !(t->weight_bytes > 0)) {
		dorylus_on(d, s, op, ON_TASK, chunk, NO_SLOT);
		return;
	}
	orr_op push = orr_transfer(s, c->server, c->weights, t->weight_bytes);
	orr_detach(s, op);
	orr_after(s, push, op);
	dorylus_on(d, s, push, ON_TASK, chunk, NO_SLOT);
}

/* Sends the ghosts of a chunk, in one message to each of `peers` servers. Successive chunks use different receivers. A server sends
 * one message at a time. */
static void scatter(struct dorylus *d, struct orr_step *s, uint32_t chunk)
{
	const struct chunk *c = &d->chunk[chunk];
	const struct task *t = &d->task[c->task];
	uint32_t n = d->given_s ? 0 : d->peers, others = d->servers - 1;
	orr_op *sent = orr_alloc(n + 1, sizeof *sent);
	for (uint32_t i = 0; i < n; i++) {
		uint32_t to = (c->server + 1 + ((chunk % d->chunks_each) * d->peers + i) % others) % d->servers;
		sent[i] = orr_transfer(s, c->server, to, t->out_bytes / n);
		orr_on_stream(s, sent[i], 1);
		orr_priority(s, sent[i], priority_of(c));
		orr_label(s, sent[i], "SC %u%s chunk %u", t->layer, t->is_backward ? "b" : "f", chunk);
		dorylus_updates(d, s, sent[i], chunk, t);
		orr_detach(s, sent[i]);
	}
	orr_op all = d->given_s ? orr_delay(s, t->seconds[c->server]) : orr_mark(s);
	for (uint32_t i = 0; i < n; i++)
		orr_after(s, all, sent[i]);
	orr_free(sent);
	dorylus_on(d, s, all, ON_TASK, chunk, NO_SLOT);
}

static void begin(struct dorylus *d, struct orr_step *s, uint32_t chunk)
{
	enum task_kind kind = d->task[d->chunk[chunk].task].kind;
	if (kind == SC)
		scatter(d, s, chunk);
	else if (kind != GA && d->mode == BY_LAMBDA)
		dorylus_queue(d, s, chunk);
	else
		run_on_server(d, s, chunk);
}

/* ---- epochs ---- */

static void start(struct dorylus *d, struct orr_step *s, uint32_t chunk)
{
	struct chunk *c = &d->chunk[chunk];
	if (c->is_waiting && c->epoch < d->built && c->epoch <= d->least + d->staleness) {
		c->is_waiting = false;
		orr_open(s, epoch_at(d, c->epoch)->start[chunk], 0);
	}
}

static void end_epoch(struct dorylus *d, struct orr_step *s, uint64_t epoch)
{
	struct epoch *e = epoch_at(d, epoch);
	if (e->is_over || e->done < d->n || e->pending)
		return;
	e->is_over = true;
	orr_open(s, e->end, 0);
	dorylus_tune(d, s);
}

/* Advances `least` when all chunks have ended this epoch, and starts the chunks that wait for it. With barriers, the weight updates
 * must have ended too. */
static void move_on(struct dorylus *d, struct orr_step *s)
{
	const struct epoch *e = epoch_at(d, d->least);
	if (e->done < d->n || (d->variant != ASYNC && !e->is_over))
		return;
	d->least++;
	for (uint32_t i = 0; i < d->n; i++)
		start(d, s, i);
}

static void finish_tasks(struct dorylus *d, struct orr_step *s, uint32_t chunk)
{
	struct chunk *c = &d->chunk[chunk];
	uint64_t epoch = c->epoch++;
	c->task = 0;
	c->is_waiting = true;
	epoch_at(d, epoch)->done++;
	end_epoch(d, s, epoch);
	if (epoch == d->least)
		move_on(d, s);
	start(d, s, chunk);
}

static void advance(struct dorylus *d, struct orr_step *s, uint32_t chunk)
{
	struct chunk *c = &d->chunk[chunk];
	const struct task *t = &d->task[c->task];
	struct epoch *e = epoch_at(d, c->epoch);
	bool has_barrier = t->has_barrier && (d->variant != ASYNC || !c->epoch); /* the first epoch scatters synchronously */
	uint32_t task = c->task;
	if (!has_barrier) {
		if (++c->task == d->tasks)
			finish_tasks(d, s, chunk);
		else
			begin(d, s, chunk);
		return;
	}
	c->task++;
	if (++e->arrived[task] < d->n)
		return;
	for (uint32_t i = 0; i < d->n; i++) {
		if (d->chunk[i].task == d->tasks)
			finish_tasks(d, s, i);
		else
			begin(d, s, i);
	}
}

/* ---- weights ---- */

/* Handles the arrival of a chunk's gradient of a layer at its weight server. */
static void update(struct dorylus *d, struct orr_step *s, uint32_t chunk, uint32_t layer)
{
	const struct chunk *c = &d->chunk[chunk];
	orr_op op = orr_compute(s, c->weights, ORR_OPTIMIZER, d->update_s[c->weights_at]);
	orr_label(s, op, "WU %u chunk %u", layer, chunk);
	dorylus_updates(d, s, op, chunk, &(struct task){ .kind = WU, .layer = layer, .is_backward = true });
	epoch_at(d, epoch_of(op))->pending++;
	dorylus_on(d, s, op, ON_UPDATE, layer, NO_SLOT);
}

/* Handles the end of a gradient's update. After the gradients of all chunks, the weight servers all-reduce their sums. */
static void updated(struct dorylus *d, struct orr_step *s, uint64_t epoch, uint32_t layer)
{
	if (++d->arrived[layer] < d->n || d->weight_servers < 2 || d->given_s) {
		d->arrived[layer] %= d->n;
		epoch_at(d, epoch)->pending--;
		return;
	}
	d->arrived[layer] = 0;
	uint32_t *server = orr_alloc(d->weight_servers, sizeof *server);
	for (uint32_t i = 0; i < d->weight_servers; i++)
		server[i] = d->f.gpus - d->weight_servers + i;
	struct orr_collective all = { .op = ORR_ALL_REDUCE, .bytes = d->step_bytes[layer] };
	orr_op op = orr_collective(s, &(struct orr_group){ server, d->weight_servers }, &all);
	orr_free(server);
	dorylus_on(d, s, op, ON_SHARED, layer, NO_SLOT);
}

/* ---- the policy ---- */

static void destroy(void *self)
{
	struct dorylus *d = self;
	dorylus_calls_free(d);
	for (uint32_t i = 0; i < d->ring; i++) {
		orr_free(d->epoch[i]->start);
		orr_free(d->epoch[i]->event);
		orr_free(d->epoch[i]);
	}
	orr_free(d->epoch);
	orr_free(d->chunk);
	orr_free(d->window);
	orr_free(d->update_s);
	for (uint32_t i = 0; i < d->tasks; i++)
		orr_free(d->task[i].seconds);
	orr_free(d);
}

static struct epoch *epoch_new(const struct dorylus *d)
{
	struct epoch *e = orr_alloc(1, sizeof *e);
	e->start = orr_alloc(d->n, sizeof *e->start);
	e->is_over = true;
	return e;
}

/* Doubles the ring and keeps the state of its epochs. */
static void grow_ring(struct dorylus *d)
{
	uint32_t before = d->ring, n = before ? 2 * before : 4;
	struct epoch **ring = orr_alloc(n, sizeof *ring);
	for (uint32_t i = 0; i < before; i++)
		ring[d->epoch[i]->number % n] = d->epoch[i];
	for (uint32_t i = 0; i < n; i++)
		if (!ring[i])
			ring[i] = epoch_new(d);
	orr_free(d->epoch);
	d->epoch = ring;
	d->ring = n;
}

/* Names the rows of timelines: the first graph servers, each with its functions, and the first weight servers. */
static void name_rows(const struct dorylus *d, struct orr_step *s)
{
	char name[48];
	uint32_t servers = d->servers < SHOWN ? d->servers : SHOWN, weights = d->f.gpus - d->servers;
	for (uint32_t i = 0; i < servers; i++) {
		snprintf(name, sizeof name, "graph server %u", i);
		orr_endpoint_name(s, i, name);
		snprintf(name, sizeof name, "functions of %u", i);
		for (uint32_t j = 0; j < d->slots; j++)
			orr_endpoint_name(s, d->first + i * d->slots + j, name);
	}
	for (uint32_t i = 0; i < weights && i < SHOWN; i++) {
		snprintf(name, sizeof name, "weight server %u", i);
		orr_endpoint_name(s, d->servers + i, name);
	}
}

static void *create(struct orr_step *s, const struct orr_args *args, struct orr_error *err)
{
	struct dorylus *d = orr_alloc(1, sizeof *d);
	orr_step_money(s);
	if (dorylus_plan(d, s, args, err) || (d->mode == BY_LAMBDA && dorylus_functions(d, s, err))) {
		destroy(d);
		return NULL;
	}
	d->chunk = orr_alloc(d->n, sizeof *d->chunk);
	d->window = orr_alloc(d->weight_servers, sizeof *d->window);
	for (uint32_t i = 0; i < d->n; i++) {
		d->chunk[i].server = i / d->chunks_each;
		bool has_own = d->weight_servers < d->f.gpus; /* false: each graph server keeps the weights */
		d->chunk[i].weights_at = has_own ? i % d->weight_servers : d->chunk[i].server;
		d->chunk[i].weights = has_own ? d->servers + d->chunk[i].weights_at : d->chunk[i].server;
		d->chunk[i].is_waiting = true;
		d->window[d->chunk[i].weights_at]++;
	}
	grow_ring(d);
	name_rows(d, s);
	return d;
}

static int build(void *self, struct orr_step *s, uint64_t epoch, struct orr_error *err)
{
	struct dorylus *d = self;
	(void)err;
	while (epoch_at(d, epoch)->watched || !epoch_at(d, epoch)->is_over)
		grow_ring(d);
	struct epoch *e = epoch_at(d, epoch);
	*e = (struct epoch){ .number = epoch, .start = e->start, .event = e->event, .cap = e->cap };
	d->built = epoch + 1;
	e->end = orr_gate(s);
	for (uint32_t i = 0; i < d->n; i++) {
		struct chunk *c = &d->chunk[i];
		bool starts = c->is_waiting && c->epoch == epoch && epoch <= d->least + d->staleness;
		e->start[i] = starts ? orr_mark(s) : orr_gate(s);
		c->is_waiting = c->is_waiting && !starts;
		dorylus_on(d, s, e->start[i], ON_START, i, NO_SLOT);
	}
	return 0;
}

static void ended(void *self, struct orr_step *s, orr_op op, struct orr_error *err)
{
	struct dorylus *d = self;
	uint64_t epoch = epoch_of(op);
	struct event v = epoch_at(d, epoch)->event[(uint32_t)op - 1];
	(void)err;
	epoch_at(d, epoch)->watched--;
	switch (v.kind) {
	case ON_START:
		if (epoch - d->least > d->ahead)
			d->ahead = epoch - d->least;
		begin(d, s, v.chunk);
		return;
	case ON_TURN:
		dorylus_launch(d, s, v.chunk);
		return;
	case ON_CHECK:
		dorylus_check(d, s, epoch);
		return;
	case ON_RETURN:
		if (!dorylus_returned(d, s, v.slot))
			return;
		break;
	case ON_UPDATE:
		updated(d, s, epoch, v.chunk);
		end_epoch(d, s, epoch);
		if (epoch == d->least)
			move_on(d, s);
		return;
	case ON_SHARED:
		epoch_at(d, epoch)->pending--;
		end_epoch(d, s, epoch);
		if (epoch == d->least)
			move_on(d, s);
		return;
	case ON_TASK:
		break;
	}
	const struct task *t = &d->task[d->chunk[v.chunk].task];
	if (t->has_gradient)
		update(d, s, v.chunk, t->layer);
	advance(d, s, v.chunk);
}

static void describe(void *self, char *out, size_t size)
{
	static const char *const mode[] = { "functions", "CPUs", "GPUs" };
	const struct dorylus *d = self;
	int n = snprintf(out, size, "servers=%u, chunks=%u per server, tensor tasks on %s, ghosts=%.6g per vertex", d->servers,
		d->chunks_each, mode[d->mode], d->ghosts / d->rows);
	if (d->mode != BY_LAMBDA || n < 0 || (size_t)n >= size)
		return;
	n += snprintf(out + n, size - (size_t)n, ", lambdas=%u per server, ahead=%llu, relaunched=%llu, wasted=%llu", d->limit,
		(unsigned long long)d->ahead, (unsigned long long)d->relaunched, (unsigned long long)d->wasted);
	for (uint32_t i = 0; i < d->n_visited && n > 0 && (size_t)n < size; i++)
		n += snprintf(out + n, size - (size_t)n, "%s%u", i ? ", " : " (tuned: ", d->visited[i]);
	if (d->n_visited && n > 0 && (size_t)n < size)
		snprintf(out + n, size - (size_t)n, ")");
}

static const struct orr_step_ops ops = { .create = create, .destroy = destroy, .build = build, .describe = describe, .ended = ended };

ORR_POLICY_STEP_FLAGS(dorylus, "Dorylus: graph networks on CPU servers and functions, bounded asynchrony", ORR_DRAWS, dorylus_params, ops);
