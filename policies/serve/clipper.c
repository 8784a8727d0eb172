/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Clipper (Crankshaw et al., NSDI 2017, section 4.3): each model on each replica has an adaptive largest batch. The limit
 * increases by a fixed amount while batches of that size meet the latency objective, and decreases by a tenth when one misses
 * it (additive increase, multiplicative decrease). A batch takes all waiting requests up to that size; under light load it may
 * wait for more (delayed batching).
 *
 * Only batches that reach the current limit increase it; any batch that takes too long decreases it.
 */
#include "kinds.h"
#include "queues.h"

static const struct orr_param params[] = {
	ORR_PARAM_LIST(
		"objective", "", "latency objective of a batch, for all models or one per model; empty: the smallest SLO of its requests"),
	ORR_PARAM_REAL("increase", "1", 1e-3, 1e6, "additive increase of the batch limit, in samples"),
	ORR_PARAM_REAL("decrease", "0.9", 0.01, 0.999, "multiplicative decrease of the batch limit"),
	ORR_PARAM_REAL("first_batch", "1", 1, 1e6, "initial batch limit"),
	ORR_PARAM_TIME("batch_wait", "0", "longest wait of a request for a batch to fill (delayed batching)"), ORR_PARAM_END
};

struct clipper {
	struct queues queues;
	double *most;   /* samples of the largest batch, [replica * models + model] */
	bool *was_full; /* the last batch reached the limit, [replica * models + model] */
	const double *objective;
	size_t n_objective;
	double increase, decrease, wait_s;
};

static void destroy(void *self)
{
	struct clipper *s = self;
	queues_end(&s->queues);
	orr_free(s->most);
	orr_free(s->was_full);
	orr_free(s);
}

static void *create(struct orr_serve *w, const struct orr_args *args, struct orr_error *err)
{
	if (!serves_only(w, ORR_MODEL_TABLE, err))
		return NULL;
	struct clipper *s = orr_alloc(1, sizeof *s);
	queues_begin(&s->queues, w);
	size_t n = (size_t)s->queues.replicas * s->queues.models;
	s->most = orr_alloc(n + 1, sizeof *s->most);
	s->was_full = orr_alloc(n + 1, sizeof *s->was_full);
	for (size_t i = 0; i < n; i++)
		s->most[i] = orr_arg_real(args, "first_batch");
	s->objective = orr_arg_list(args, "objective", &s->n_objective);
	s->increase = orr_arg_real(args, "increase");
	s->decrease = orr_arg_real(args, "decrease");
	s->wait_s = (double)orr_arg_time_ns(args, "batch_wait") / 1e9;
	return s;
}

static size_t cell(const struct clipper *s, uint32_t replica, uint32_t model)
{
	return (size_t)replica * s->queues.models + model;
}

static void arrive(void *self, struct orr_serve *w, orr_req r)
{
	struct clipper *s = self;
	uint32_t model = orr_req_model(w, r), replica = settle_replica(w, r);
	if (batch_runs_at(w, replica, model, orr_req_samples(w, r), orr_req_length(w, r)))
		queue_push(w, queue_at(&s->queues, replica, model), r);
	else
		orr_refuse(w, r, ORR_REQ_REFUSED);
}

static void finish(void *self, struct orr_serve *w, orr_req r, enum orr_req_end how)
{
	(void)how;
	queues_finish(&((struct clipper *)self)->queues, w, r);
}

static void replica(void *self, struct orr_serve *w, uint32_t number, enum orr_replica_event event)
{
	(void)w;
	if (event == ORR_REPLICA_DOWN)
		queues_lost(&((struct clipper *)self)->queues, number);
}

/* Returns the objective of a batch: by default the smallest SLO of its requests. */
static double objective_of(const struct clipper *s, const struct orr_serve *w, orr_run run, const struct orr_run_info *i)
{
	double least = per_model(s->objective, s->n_objective, i->model, INFINITY);
	for (size_t k = 0; k < i->n && !s->n_objective; k++) {
		orr_req r = orr_run_request(w, run, k);
		least = fmin(least, request_deadline(w, r) - orr_req_arrival(w, r));
	}
	return least;
}

/* Adapts the limit to the time of the batch that ended. */
static void run_end(void *self, struct orr_serve *w, orr_run run)
{
	struct clipper *s = self;
	struct orr_run_info i;
	if (!orr_run_get(w, run, &i))
		return;
	double *most = &s->most[cell(s, i.replica, i.model)], took = orr_serve_now(w) - i.started_s;
	if (took > objective_of(s, w, run, &i) + EPSILON_S)
		*most = fmax(1, fmin(*most, i.samples) * s->decrease);
	else if (s->was_full[cell(s, i.replica, i.model)])
		*most = fmin(orr_model_largest(w, i.model), *most + s->increase);
	orr_serve_observe(w, "largest_batch", *most);
}

/* The limit is at least the size of the first request. */
static uint64_t limit_of(const struct clipper *s, const struct orr_serve *w, uint32_t replica, uint32_t model, const struct queue *q)
{
	uint64_t first = orr_req_samples(w, q->q.first), limit = (uint64_t)s->most[cell(s, replica, model)];
	return limit > first ? limit : first;
}

static void schedule(void *self, struct orr_serve *w, uint32_t replica)
{
	struct clipper *s = self;
	while (orr_replica_is_idle(w, replica)) {
		double now = orr_serve_now(w), oldest = INFINITY, next_s = INFINITY;
		uint32_t model = 0;
		struct queue *q = NULL;
		for (uint32_t m = 0; m < s->queues.models; m++) {
			struct queue *c = queue_at(&s->queues, replica, m);
			double arrival = queue_oldest(w, c);
			if (arrival >= oldest)
				continue;
			if (s->wait_s > 0 && arrival + s->wait_s > now + EPSILON_S && c->samples < limit_of(s, w, replica, m, c)) {
				next_s = fmin(next_s, arrival + s->wait_s);
				continue;
			}
			oldest = arrival;
			model = m;
			q = c;
		}
		struct orr_batch b;
		if (!q && next_s < INFINITY) {
			orr_serve_timer(w, replica, next_s);
			orr_serve_why(w, replica, "the batch waits for more requests");
		}
		if (!q || !model_is_ready(w, replica, model))
			return;
		uint64_t limit = limit_of(s, w, replica, model, q), waiting = q->samples;
		if (batch_that_fits(&s->queues, w, q, replica, model, limit, &b)) {
			s->was_full[cell(s, replica, model)] = waiting >= limit;
			batch_start(w, q, replica, &b);
		} else {
			queue_refuse(w, q, q->q.first, ORR_REQ_REFUSED);
		}
	}
}

static const struct orr_serve_ops ops = { .create = create,
	.destroy = destroy,
	.arrive = arrive,
	.finish = finish,
	.run_end = run_end,
	.schedule = schedule,
	.replica = replica };

ORR_POLICY_SERVE(clipper, "batch size adapts to the latency objective (Clipper)", params, ops);
