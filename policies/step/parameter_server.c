/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Parameter server: workers push gradients to the servers, which hold the parameters, and pull parameters back (Li et al.,
 * "Scaling Distributed Machine Learning with the Parameter Server", OSDI 2014).
 *
 *	mode=bsp  a pull returns the gradients of all workers of this iteration
 *	mode=ssp  stale synchronous (Ho et al., NIPS 2013): gradients of all workers up to `staleness` iterations ago
 *	mode=asp  a pull waits for no other worker
 *
 * A worker's iteration: forward, backward, push, pull. push_overlap pushes chunks during the backward pass. With pull_overlap a
 * layer's forward pass waits only for that layer's parameters, as in TensorFlow's dataflow. With lag=n (asp, ssp) iteration k
 * computes with the parameters that iteration k - 1 - n pulled, so that network and compute work in parallel. Newer parameters
 * that have arrived are not used, so the gradient of one worker is applied exactly n steps late.
 *
 * priority sends one message at a time, that of the earliest layer first (Jayarajan et al., "Priority-based Parameter
 * Propagation for Distributed DNN Training", MLSys 2019; ByteScheduler's parameter-server side).
 *
 * node_sum first sums the gradients of a node's GPUs on its host; only the host communicates with the servers (TensorFlow's
 * distributed_replicated, BytePS).
 */
#include "replicas.h"
#include "servers.h"

#include <stdio.h>

static const struct orr_param params[] = { ORR_PARAM_CHOICE("mode", "bsp", "bsp|ssp|asp", "workers that a pull waits for"),
	ORR_PARAM_INT("staleness", "3", 0, 1000, "ssp: iterations that a worker may be ahead of the slowest"),
	ORR_PARAM_INT("servers", "0", 0, 1000000, "number of servers; 0: one per node (dedicated: one)"),
	ORR_PARAM_CHOICE("placement", "colocated", "colocated|dedicated|cpu-nodes|gpu",
		"location of servers: hosts of the training nodes; hosts of the last nodes, whose GPUs do not train; nodes without GPUs; "
		"GPUs"),
	ORR_PARAM_CHOICE("shard", "bytes", "bytes|tensor",
		"sharding: each message in equal parts; whole tensors, to the server with the fewest bytes"),
	ORR_PARAM_BOOL("push_overlap", true, "push during the backward pass"),
	ORR_PARAM_BOOL("pull_overlap", false, "a layer's forward pass waits for its own parameters only"),
	ORR_PARAM_CHOICE("pull", "message", "message|iteration", "a pull starts once its message, or the whole gradient, is summed"),
	ORR_PARAM_REAL("message_bytes", "4194304", 1, 1e15, "size at which layers are sent together"),
	ORR_PARAM_BOOL("priority", false, "workers push and servers answer one message at a time, early layers first"),
	ORR_PARAM_BOOL("node_sum", false, "sum inside the node first; only the host communicates with the servers"),
	ORR_PARAM_INT("lag", "0", 0, 100, "asp, ssp: age in iterations of the parameters used by the forward pass"),
	ORR_PARAM_REAL("server_Bps", "0", 0, 1e15, "bytes of gradients that a server sums per second; 0: no time"),
	ORR_PARAM_BOOL("compress_pull", false, "step.compression applies to pulls as well"),
	ORR_PARAM_CHOICE("step", "mean", "mean|sum", "weight of a pushed gradient: 1/workers, or 1"), ORR_PARAM_END };

enum mode { BSP, SSP, ASP };

struct parameter_server {
	struct replicas r;
	struct messages m;
	struct servers v;
	enum mode mode;
	bool push_overlap, pull_overlap, pull_at_end, compress_pull, node_sum, has_priority;
	double server_Bps, scale;
	uint32_t staleness, lag;
	uint32_t clients;    /* number of workers, or of nodes under node_sum */
	uint32_t *member;    /* first worker of each client, and one past the last worker */
	uint32_t *client;    /* [client]: endpoint */
	orr_op *whole;       /* [client]: the whole gradient is summed */
	orr_op *arrived;     /* [client]: all parts of a message are pulled */
	orr_op *backward;    /* backward passes, [worker * chunks + chunk] */
	orr_op *push, *pull; /* latest op, because a connection delivers in order, [(message * clients + client) * servers + server] */
	orr_op *summed;      /* all have pushed, [((iteration % (staleness + 1)) * messages + message) * servers + server] */
	orr_op *ready;       /* pulled parameters, [((iteration % (lag + 1)) * workers + worker) * chunks + chunk] */
};

static void destroy(void *self)
{
	struct parameter_server *ps = self;
	replicas_free(&ps->r);
	messages_free(&ps->m);
	servers_free(&ps->v);
	orr_free(ps->member);
	orr_free(ps->client);
	orr_free(ps->whole);
	orr_free(ps->arrived);
	orr_free(ps->backward);
	orr_free(ps->push);
	orr_free(ps->pull);
	orr_free(ps->summed);
	orr_free(ps->ready);
	orr_free(ps);
}

static void options(struct parameter_server *ps, const struct orr_args *args)
{
	const char *mode = orr_arg_text(args, "mode");
	ps->mode = !strcmp(mode, "bsp") ? BSP : !strcmp(mode, "ssp") ? SSP : ASP;
	ps->staleness = ps->mode == SSP ? (uint32_t)orr_arg_int(args, "staleness") : 0;
	ps->lag = ps->mode == BSP ? 0 : (uint32_t)orr_arg_int(args, "lag");
	ps->push_overlap = orr_arg_bool(args, "push_overlap");
	ps->pull_overlap = orr_arg_bool(args, "pull_overlap");
	ps->pull_at_end = !strcmp(orr_arg_text(args, "pull"), "iteration");
	ps->compress_pull = orr_arg_bool(args, "compress_pull");
	ps->has_priority = orr_arg_bool(args, "priority");
	ps->node_sum = orr_arg_bool(args, "node_sum");
	ps->server_Bps = orr_arg_real(args, "server_Bps");
}

/* Finds the clients of the servers. */
static void group_clients(struct parameter_server *ps, const struct orr_step *s)
{
	uint32_t n = ps->r.n;
	ps->member = orr_alloc(n + 1u, sizeof *ps->member);
	ps->client = orr_alloc(n + 1u, sizeof *ps->client);
	for (uint32_t w = 0; w < n; w++) {
		bool is_first = !ps->node_sum || !w || orr_node_of(s, w) != orr_node_of(s, w - 1);
		if (!is_first)
			continue;
		ps->member[ps->clients] = w;
		ps->client[ps->clients++] = ps->node_sum ? ps->r.facts.gpus + orr_node_of(s, w) : w;
	}
	ps->member[ps->clients] = n;
	ps->whole = orr_alloc(ps->clients, sizeof *ps->whole);
	ps->arrived = orr_alloc(ps->clients, sizeof *ps->arrived);
}

static void plan(struct parameter_server *ps, struct orr_step *s, const struct orr_args *args)
{
	struct replicas *r = &ps->r;
	replicas_init(r, s, ps->v.workers, false);
	bool is_cut = ps->push_overlap || ps->pull_overlap;
	double limit = is_cut ? orr_arg_real(args, "message_bytes") / r->facts.gradient_bytes : INFINITY;
	bool by_tensor = !strcmp(orr_arg_text(args, "shard"), "tensor");
	chunks_by_params(&r->chunks, s, limit, limit);
	replicas_costs(r, s);
	messages_by_chunk(&ps->m, &r->chunks);
	servers_deal(&ps->v, &ps->m, s, by_tensor);
	group_clients(ps, s);
	ps->scale = !strcmp(orr_arg_text(args, "step"), "mean") ? 1.0 / r->n : 1;
	size_t work = (size_t)r->n * r->chunks.n + 1;
	ps->backward = orr_alloc(work, sizeof *ps->backward);
	ps->ready = orr_alloc(work * (ps->lag + 1u), sizeof *ps->ready);
	size_t messages = (size_t)ps->m.n * ps->clients * ps->v.n + 1;
	ps->push = orr_alloc(messages, sizeof *ps->push);
	ps->pull = orr_alloc(messages, sizeof *ps->pull);
	ps->summed = orr_alloc((size_t)(ps->staleness + 1u) * ps->m.n * ps->v.n + 1, sizeof *ps->summed);
}

/* Declares the memory of the servers: optimizer state and the master copy of the parameters. */
static void hold(const struct parameter_server *ps, struct orr_step *s)
{
	const struct orr_step_facts *f = &ps->r.facts;
	replicas_hold(&ps->r, s, 1, 1, 0);
	for (uint32_t j = 0; j < ps->v.n; j++) {
		double held = 0;
		for (uint32_t i = 0; i < ps->m.n; i++)
			held += ps->v.params[(size_t)i * ps->v.n + j];
		orr_hold(s, ps->v.endpoint[j], ORR_MEMORY_WEIGHTS, held * f->weight_bytes, "server");
		orr_hold(s, ps->v.endpoint[j], ORR_MEMORY_OPTIMIZER, held * f->optimizer_bytes, "server");
	}
}

static void *create(struct orr_step *s, const struct orr_args *args, struct orr_error *err)
{
	struct parameter_server *ps = orr_alloc(1, sizeof *ps);
	options(ps, args);
	if (servers_place(&ps->v, s, (uint32_t)orr_arg_int(args, "servers"), orr_arg_text(args, "placement"), err)) {
		destroy(ps);
		return NULL;
	}
	plan(ps, s, args);
	hold(ps, s);
	return ps;
}

static orr_op *ready_of(const struct parameter_server *ps, uint64_t iteration, uint32_t worker)
{
	return ps->ready + (iteration % (ps->lag + 1) * ps->r.n + worker) * ps->r.chunks.n;
}

static orr_op *summed_of(const struct parameter_server *ps, uint64_t iteration, uint32_t message)
{
	return ps->summed + (iteration % (ps->staleness + 1) * ps->m.n + message) * ps->v.n;
}

/* Builds forward and backward of one worker, with the parameters pulled by the previous iteration (lag: by an earlier one). */
static void compute(struct parameter_server *ps, struct orr_step *s, uint64_t iteration, uint32_t worker)
{
	struct replicas *r = &ps->r;
	/* The slot that this iteration fills next is the oldest: it holds the parameters pulled lag + 1 iterations ago. */
	const orr_op *ready = ready_of(ps, iteration, worker);
	orr_op forward = 0;
	if (ps->pull_overlap) {
		for (uint32_t c = 0; c < r->chunks.n; c++) {
			orr_op next = replicas_forward(r, s, worker, c);
			orr_after(s, next, c ? forward : r->tail[worker]);
			orr_after(s, next, ready[c]);
			forward = next;
		}
	} else {
		forward = replicas_whole_forward(r, s, worker);
		for (uint32_t c = 0; c < r->chunks.n; c++)
			orr_after(s, forward, ready[c]);
	}
	replicas_whole_backward(r, s, worker, forward, ps->backward + (size_t)worker * r->chunks.n);
	r->tail[worker] = ps->backward[(size_t)worker * r->chunks.n];
}

/* Returns the gradient of message i on the client: the worker's own gradient, or the node's sum on its host. */
static orr_op gradient_of(const struct parameter_server *ps, struct orr_step *s, uint32_t client, uint32_t i)
{
	const struct replicas *r = &ps->r;
	const struct message *m = &ps->m.message[i];
	uint32_t chunk = ps->push_overlap ? m->chunk : 0;
	if (!ps->node_sum)
		return ps->backward[(size_t)client * r->chunks.n + chunk];
	orr_op sum = 0;
	for (uint32_t w = ps->member[client]; w < ps->member[client + 1]; w++) {
		orr_op up = orr_transfer(s, w, ps->client[client], m->params * r->facts.gradient_bytes);
		orr_after(s, up, ps->backward[(size_t)w * r->chunks.n + chunk]);
		sum = and_also(s, sum, up);
	}
	return sum;
}

static void update(
	const struct parameter_server *ps, struct orr_step *s, orr_op op, enum orr_update_kind kind, uint32_t client, uint32_t server)
{
	/* If every pull waits for the pushes of all workers, these pushes are one step of the servers. */
	uint32_t round = ps->mode != ASP && !ps->staleness ? ps->r.n : 1;
	for (uint32_t w = ps->member[client]; w < ps->member[client + 1]; w++)
		orr_updates(s, op,
			&(struct orr_update){ .kind = kind,
				.worker = w,
				.slice = server,
				.slices = ps->v.n,
				.window = kind == ORR_PUSH ? round : ps->lag,
				.scale = kind == ORR_PUSH ? ps->scale : 0 });
}

/* Ops of one priority run in the order in which they were created. */
static void schedule(const struct parameter_server *ps, struct orr_step *s, orr_op op, const struct message *m)
{
	if (!ps->has_priority)
		return;
	orr_on_stream(s, op, 1);
	orr_priority(s, op, (int32_t)m->chunk);
}

static void push(struct parameter_server *ps, struct orr_step *s, uint32_t client, uint32_t i)
{
	const struct message *m = &ps->m.message[i];
	orr_op gradient = gradient_of(ps, s, client, i);
	for (uint32_t turn = 0; turn < ps->v.n; turn++) {
		uint32_t j = (client + turn) % ps->v.n; /* not all clients begin with one server */
		double part = ps->v.params[(size_t)i * ps->v.n + j];
		orr_op *op = &ps->push[((size_t)i * ps->clients + client) * ps->v.n + j], before = *op;
		if (part <= 0)
			continue;
		*op = orr_transfer(s, ps->client[client], ps->v.endpoint[j], part * ps->r.facts.gradient_bytes);
		orr_carries(s, *op, m->first, m->count);
		orr_after(s, *op, gradient);
		orr_after(s, *op, before);
		schedule(ps, s, *op, m);
		orr_label(s, *op, "push layers %u..%u", m->first, m->first + m->count - 1);
		if (i == ps->v.largest[j])
			update(ps, s, *op, ORR_PUSH, client, j);
	}
}

/* Makes each server sum the pushes of all clients of message i. */
static void add_up(struct parameter_server *ps, struct orr_step *s, uint64_t iteration, uint32_t i)
{
	for (uint32_t j = 0; j < ps->v.n; j++) {
		orr_op *sum = summed_of(ps, iteration, i) + j;
		double bytes = ps->v.params[(size_t)i * ps->v.n + j] * ps->r.facts.gradient_bytes * ps->clients;
		*sum = bytes <= 0           ? 0
		       : ps->server_Bps > 0 ? orr_compute(s, ps->v.endpoint[j], ORR_OPTIMIZER, bytes / ps->server_Bps)
					    : orr_mark(s);
		for (uint32_t c = 0; c < ps->clients; c++)
			orr_after(s, *sum, ps->push[((size_t)i * ps->clients + c) * ps->v.n + j]);
	}
}

/* Makes a pull of message i from server j wait for the client's own push and, depending on the mode, for those of others. */
static void wait_for_server(
	const struct parameter_server *ps, struct orr_step *s, uint64_t iteration, uint32_t client, uint32_t i, uint32_t j, orr_op pull)
{
	orr_after(s, pull, ps->push[((size_t)i * ps->clients + client) * ps->v.n + j]);
	if (ps->mode != ASP && iteration >= ps->staleness)
		orr_after(s, pull, summed_of(ps, iteration - ps->staleness, i)[j]);
}

/* pull=iteration: returns a mark after all ops that any pull of this client waits for. */
static orr_op whole_gradient(const struct parameter_server *ps, struct orr_step *s, uint64_t iteration, uint32_t client)
{
	orr_op all = orr_mark(s);
	for (uint32_t i = 0; i < ps->m.n; i++)
		for (uint32_t j = 0; j < ps->v.n; j++)
			wait_for_server(ps, s, iteration, client, i, j, all);
	return all;
}

static void pull_part(
	struct parameter_server *ps, struct orr_step *s, uint64_t iteration, uint32_t client, uint32_t i, uint32_t j, orr_op *arrived)
{
	const struct message *m = &ps->m.message[i];
	double part = ps->v.params[(size_t)i * ps->v.n + j];
	orr_op *last = &ps->pull[((size_t)i * ps->clients + client) * ps->v.n + j], before = *last;
	if (part <= 0)
		return;
	orr_op op = *last = orr_transfer(s, ps->v.endpoint[j], ps->client[client], part * ps->r.facts.weight_bytes);
	if (ps->compress_pull)
		orr_carries(s, op, m->first, m->count);
	orr_after(s, op, before);
	schedule(ps, s, op, m);
	if (ps->pull_at_end)
		orr_after(s, op, ps->whole[client]);
	else
		wait_for_server(ps, s, iteration, client, i, j, op);
	orr_label(s, op, "pull layers %u..%u", m->first, m->first + m->count - 1);
	if (i == ps->v.largest[j])
		update(ps, s, op, ORR_PULL, client, j);
	*arrived = and_also(s, *arrived, op);
}

/* Pulls message i. Server j begins with client j and continues with the next one, so that not all of them send to one client. */
static void pull(struct parameter_server *ps, struct orr_step *s, uint64_t iteration, uint32_t i)
{
	const struct message *m = &ps->m.message[i];
	for (uint32_t c = 0; c < ps->clients; c++)
		ps->arrived[c] = 0;
	for (uint32_t turn = 0; turn < ps->clients; turn++)
		for (uint32_t j = 0; j < ps->v.n; j++) {
			uint32_t client = (j + turn) % ps->clients;
			pull_part(ps, s, iteration, client, i, j, &ps->arrived[client]);
		}
	for (uint32_t c = 0; c < ps->clients; c++)
		for (uint32_t w = ps->member[c]; w < ps->member[c + 1]; w++) {
			orr_op *ready = &ready_of(ps, iteration, w)[m->chunk];
			*ready = ps->arrived[c];
			if (!ps->node_sum)
				continue;
			*ready = orr_transfer(s, ps->client[c], w, m->params * ps->r.facts.weight_bytes);
			orr_after(s, *ready, ps->arrived[c]);
		}
}

static int build(void *self, struct orr_step *s, uint64_t iteration, struct orr_error *err)
{
	struct parameter_server *ps = self;
	(void)err;
	for (uint32_t w = 0; w < ps->r.n; w++)
		compute(ps, s, iteration, w);
	for (uint32_t i = 0; i < ps->m.n; i++) {
		for (uint32_t c = 0; c < ps->clients; c++)
			push(ps, s, c, i);
		add_up(ps, s, iteration, i);
	}
	for (uint32_t c = 0; c < ps->clients && ps->pull_at_end; c++)
		ps->whole[c] = whole_gradient(ps, s, iteration, c);
	/* Early layers first, because the next forward pass needs them first. */
	for (uint32_t i = ps->m.n; i--;)
		pull(ps, s, iteration, i);
	for (uint32_t w = 0; w < ps->r.n && ps->mode != BSP; w++) {
		orr_op done = orr_mark(s);
		for (uint32_t c = 0; c < ps->r.chunks.n; c++)
			orr_after(s, done, ready_of(ps, iteration, w)[c]);
		orr_counts(s, done, ps->r.facts.batch);
	}
	return 0;
}

static void describe(void *self, char *out, size_t size)
{
	const struct parameter_server *ps = self;
	static const char *const modes[] = { "bsp", "ssp", "asp" };
	snprintf(out, size, "%s, %u workers, %u servers, %u messages", modes[ps->mode], ps->r.n, ps->v.n, ps->m.n);
}

static const struct orr_step_ops ops = { .create = create, .destroy = destroy, .build = build, .describe = describe };

ORR_POLICY_STEP(parameter_server, "gradients pushed to servers, parameters pulled: BSP, SSP or ASP", params, ops);
