/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The baseline: first in, first out, one request at a time, without batches.
 *
 * queue=central: one queue; an idle replica takes the oldest request that it can serve. queue=per-replica, or an explicit serve.router:
 * the router assigns each request to a replica at arrival, and the request waits there.
 *
 * A request of a table model is a separate batch, padded to the next size if the table lacks its own; a request of a language model is the
 * only resident until its output is complete. A model that is not in the replica's memory is loaded; other models are unloaded if it does
 * not fit in addition.
 */
#include "queues.h"

static const struct orr_param params[] = { ORR_PARAM_CHOICE("queue", "central", "central|per-replica",
						   "requests wait in one queue, or at the replica that the router chooses"),
	ORR_PARAM_END };

struct fifo {
	bool is_central;
	bool is_tight; /* models may have to be loaded or unloaded */
	uint32_t models, replicas;
	bool *is_llm;          /* [model] */
	uint32_t *serves;      /* model that each replica serves; UINT32_MAX: any */
	struct orr_fifo *at;   /* requests routed to each replica */
	struct orr_fifo *line; /* requests by model that are routed to no replica */
};

static void fifo_free(void *self)
{
	struct fifo *f = self;
	orr_free(f->is_llm);
	orr_free(f->serves);
	orr_free(f->at);
	orr_free(f->line);
	orr_free(f);
}

/* Returns whether all models that the replica may run are loaded. If not, it may idle until a model is loaded. */
static bool is_ready(const struct fifo *f, const struct orr_serve *w, uint32_t replica)
{
	for (uint32_t m = 0; m < f->models; m++)
		if ((f->serves[replica] == UINT32_MAX || f->serves[replica] == m) && !orr_model_is_loaded(w, replica, m))
			return false;
	return true;
}

static void *fifo_create(struct orr_serve *w, const struct orr_args *args, struct orr_error *err)
{
	struct orr_model_info model;
	struct orr_replica_info replica;
	struct fifo *f = orr_alloc(1, sizeof *f);
	(void)err;
	f->is_central = orr_arg_text(args, "queue")[0] == 'c';
	f->models = orr_models(w);
	f->replicas = orr_replicas(w);
	f->is_llm = orr_alloc(f->models + 1, sizeof *f->is_llm);
	f->line = orr_alloc(f->models + 1, sizeof *f->line);
	f->serves = orr_alloc(f->replicas + 1, sizeof *f->serves);
	f->at = orr_alloc(f->replicas + 1, sizeof *f->at);
	for (uint32_t m = 0; m < f->models; m++)
		f->is_llm[m] = orr_model_get(w, m, &model) && model.kind == ORR_MODEL_LLM;
	bool are_ready = true, are_equal = true;
	double memory = NAN;
	for (uint32_t i = 0; i < f->replicas; i++) {
		bool is_known = orr_replica_get(w, i, &replica);
		f->serves[i] = is_known ? replica.model : UINT32_MAX;
		f->is_tight = f->is_tight || !is_known || !replica.is_up || replica.memory_bytes < INFINITY ||
			      !orr_model_is_loaded(w, i, replica.model < f->models ? replica.model : 0);
		are_equal = are_equal && is_known && replica.is_up && (replica.memory_bytes == memory || isnan(memory));
		memory = is_known && replica.is_up ? replica.memory_bytes : memory;
		are_ready = are_ready && (!is_known || !replica.is_up || is_ready(f, w, i));
	}
	if (are_ready && are_equal) /* a smaller replica, now or later, idles while a request waits for a larger one */
		orr_serve_claim(w, ORR_WORK_CONSERVING);
	return f;
}

static uint32_t fifo_route(void *self, struct orr_serve *w, orr_req r)
{
	(void)w, (void)r;
	const struct fifo *f = self;
	return f->is_central ? ORR_NO_REPLICA : ORR_ANY_REPLICA;
}

/* ---- table models ---- */

/* Returns whether the replica has memory for the request. */
static bool can_hold(const struct fifo *f, const struct orr_serve *w, uint32_t replica, orr_req r)
{
	struct orr_batch b = smallest_batch(w, replica, &r);
	return f->is_llm[b.model] ? orr_kv_can_hold(w, replica, r) : !f->is_tight || orr_run_fits_alone(w, replica, &b);
}

/* Returns whether the model is in memory with room for the batch; if not, loads it and unloads other models. */
static bool has_model(struct fifo *f, struct orr_serve *w, uint32_t replica, const struct orr_batch *b)
{
	if (!f->is_tight)
		return true;
	bool is_coming = orr_model_load(w, replica, b->model), has_room = is_coming && orr_run_fits(w, replica, b, 0);
	for (uint32_t m = 0; m < f->models && !has_room; m++) {
		if (m == b->model || !orr_model_is_loaded(w, replica, m))
			continue;
		orr_model_unload(w, replica, m);
		is_coming = is_coming || orr_model_load(w, replica, b->model);
		has_room = is_coming && orr_run_fits(w, replica, b, 0);
	}
	if (!is_coming && !orr_run_fits_alone(w, replica, b)) /* else other models are being loaded, and schedule() follows their loads */
		orr_serve_give_up(w, b->req[0], "its model does not fit into the memory of a replica: expected more memory");
	return has_room && orr_model_is_loaded(w, replica, b->model);
}

static bool start_batch(struct fifo *f, struct orr_serve *w, uint32_t replica, orr_req r)
{
	struct orr_batch b = smallest_batch(w, replica, &r);
	if (!has_model(f, w, replica, &b))
		return false;
	orr_run_start(w, replica, &b);
	return true;
}

/* ---- language models ---- */

static bool start_resident(struct orr_serve *w, uint32_t replica, orr_req r)
{
	if (orr_req_replica(w, r) != replica)
		orr_assign(w, r, replica);
	uint32_t prompt = orr_req_prompt(w, r);
	if (!orr_admit(w, r, prompt, 0)) {
		orr_serve_give_up(w, r, "its prompt does not fit into the KV cache of an empty replica: expected a larger cache");
		return false;
	}
	return true;
}

/* Runs the next iterations of the only resident. */
static void iterate(struct orr_serve *w, uint32_t replica)
{
	orr_req r = orr_resident_first(w, replica);
	uint32_t prompt = orr_req_prompt(w, r), done = orr_req_done(w, r);
	if (done < prompt)
		orr_iter_prefill(w, r, prompt - done);
	orr_iter_run(w, replica, done < prompt ? 1 : 0, 0, ORR_ITER_DECODE | ORR_ITER_THROUGH);
}

/* ---- both ---- */

/* Starts a request; returns false if the replica cannot take it now. */
static bool start(struct fifo *f, struct orr_serve *w, uint32_t replica, orr_req r)
{
	uint32_t model = orr_req_model(w, r);
	if (!f->is_llm[model])
		return start_batch(f, w, replica, r);
	if (!start_resident(w, replica, r))
		return false;
	iterate(w, replica);
	return true;
}

/* Returns the queue whose first request the replica takes next; NULL: none. A request that needs more memory waits for another replica. */
static struct orr_fifo *line_for(struct fifo *f, struct orr_serve *w, uint32_t replica)
{
	struct orr_fifo *best = NULL;
	if (f->at[replica].n)
		return &f->at[replica];
	for (uint32_t m = 0; m < f->models; m++)
		if (f->line[m].n && (f->serves[replica] == m || f->serves[replica] == UINT32_MAX) &&
			(!best || orr_req_number(w, f->line[m].first) < orr_req_number(w, best->first)) &&
			can_hold(f, w, replica, f->line[m].first))
			best = &f->line[m];
	return best;
}

/* Returns the first idle replica that can serve the request and has not taken another one, whose model it loads. */
static uint32_t idle_replica(const struct fifo *f, struct orr_serve *w, uint32_t model, orr_req r)
{
	uint32_t i = orr_replica_idle_from(w, 0);
	while (i != ORR_NO_REPLICA && ((f->serves[i] != UINT32_MAX && f->serves[i] != model) || f->at[i].n || !can_hold(f, w, i, r)))
		i = orr_replica_idle_from(w, i + 1);
	return i;
}

/* Returns whether the replica to which the request is routed, or each that is up and serves its model, lacks memory for it. */
static bool is_too_large(const struct fifo *f, const struct orr_serve *w, orr_req r)
{
	struct orr_replica_info info;
	uint32_t i = orr_req_replica(w, r), model = orr_req_model(w, r);
	bool is_served = false;
	if (i != ORR_NO_REPLICA)
		return !can_hold(f, w, i, r);
	for (i = 0; i < f->replicas && !f->is_llm[model]; i++) {
		if (!orr_replica_get(w, i, &info) || !info.is_up || (info.model != UINT32_MAX && info.model != model))
			continue;
		if (can_hold(f, w, i, r))
			return false;
		is_served = true;
	}
	return is_served;
}

/* Starts the next work of an idle replica. */
static void serve(struct fifo *f, struct orr_serve *w, uint32_t replica)
{
	uint32_t model = f->serves[replica];
	if (model < f->models && f->is_llm[model] && orr_residents(w, replica)) {
		iterate(w, replica);
		return;
	}
	struct orr_fifo *line = line_for(f, w, replica);
	if (!line)
		return;
	orr_req r = orr_fifo_pop(w, line);
	if (!start(f, w, replica, r)) {
		if (orr_req_replica(w, r) != replica)
			orr_assign(w, r, replica); /* it waits there for its model */
		orr_fifo_push_front(w, &f->at[replica], r);
	}
	if (line->first && line != &f->at[replica]) {
		uint32_t next = idle_replica(f, w, orr_req_model(w, line->first), line->first); /* it may have waited behind r */
		if (next != ORR_NO_REPLICA)
			orr_wake(w, next);
	}
}

static void fifo_arrive(void *self, struct orr_serve *w, orr_req r)
{
	struct fifo *f = self;
	uint32_t model = orr_req_model(w, r), replica = orr_req_replica(w, r);
	if (replica != ORR_NO_REPLICA && !f->is_llm[model] && !can_hold(f, w, replica, r))
		replica = settle_replica(w, r);
	if (is_too_large(f, w, r)) {
		orr_refuse_because(w, r, ORR_REQ_REFUSED, "its batch does not fit into memory");
		return;
	}
	if (replica != ORR_NO_REPLICA) {
		orr_fifo_push(w, &f->at[replica], r); /* schedule() for the replica follows */
		return;
	}
	orr_fifo_push(w, &f->line[model], r);
	/* A replica that has just become idle may take an older request for another model. */
	while (f->line[model].first && (replica = idle_replica(f, w, model, f->line[model].first)) != ORR_NO_REPLICA)
		serve(f, w, replica);
}

static void fifo_schedule(void *self, struct orr_serve *w, uint32_t replica)
{
	if (orr_replica_is_idle(w, replica))
		serve(self, w, replica);
}

static const struct orr_serve_ops ops = {
	.create = fifo_create, .destroy = fifo_free, .route = fifo_route, .arrive = fifo_arrive, .schedule = fifo_schedule
};

ORR_POLICY_SERVE(fifo, "in order of arrival, one request at a time", params, ops);
