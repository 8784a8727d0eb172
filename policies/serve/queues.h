/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * queues.h - a queue per replica and model, and batches from its front, for policies of table models
 *
 * Invariant: a request is in at most one queue, and its mark is then 1 + its replica; samples is the sum over a queue's
 * requests. Batches are in order of arrival and consist of whole requests.
 */
#ifndef ORR_POLICIES_QUEUES_H
#define ORR_POLICIES_QUEUES_H

#include <orrery/serve.h>

#include <math.h>
#include <string.h>

/* Times within this distance are equal: deadlines and timers differ by rounding. */
#define EPSILON_S 1e-9

struct queue {
	struct orr_fifo q;
	uint64_t samples;
	double start_s; /* start of the queue's last batch, for the policy */
};

struct queues {
	struct queue *of; /* queues, [replica * models + model] */
	uint32_t replicas, models;
	orr_req *take; /* requests of the batch under construction */
	size_t cap_take;
};

static inline void queues_begin(struct queues *s, struct orr_serve *w)
{
	s->models = orr_models(w);
	s->replicas = orr_replicas(w);
	s->of = orr_alloc((size_t)s->replicas * s->models + 1, sizeof *s->of);
}

static inline void queues_end(struct queues *s)
{
	orr_free(s->of);
	orr_free(s->take);
}

static inline struct queue *queue_at(const struct queues *s, uint32_t replica, uint32_t model)
{
	return &s->of[(size_t)replica * s->models + model];
}

static inline void queue_push(struct orr_serve *w, struct queue *q, orr_req r)
{
	orr_fifo_push(w, &q->q, r);
	orr_req_set_mark(w, r, 1 + (uint64_t)orr_req_replica(w, r));
	q->samples += orr_req_samples(w, r);
}

static inline void queue_remove(struct orr_serve *w, struct queue *q, orr_req r)
{
	orr_fifo_remove(w, &q->q, r);
	orr_req_set_mark(w, r, 0);
	q->samples -= orr_req_samples(w, r);
}

static inline void queue_refuse(struct orr_serve *w, struct queue *q, orr_req r, enum orr_req_end how)
{
	queue_remove(w, q, r);
	orr_refuse_because(w, r, how, how == ORR_REQ_SHED ? "cannot meet its deadline any more" : "its batch does not fit into memory");
}

/* Subtracts a request that ended while it waited from the count; for finish(). The request has already left its list. (The mark of a
 * request whose replica was lost names another replica until it arrives again.) */
static inline void queue_forget(struct orr_serve *w, struct queue *q, orr_req r)
{
	if (orr_req_mark(w, r) == 1 + (uint64_t)orr_req_replica(w, r))
		q->samples -= orr_req_samples(w, r);
}

static inline void queues_finish(const struct queues *s, struct orr_serve *w, orr_req r)
{
	if (orr_req_replica(w, r) < s->replicas)
		queue_forget(w, queue_at(s, orr_req_replica(w, r), orr_req_model(w, r)), r);
}

/* Empties the queues of a lost replica: its requests have left their lists and arrive again. */
static inline void queues_lost(const struct queues *s, uint32_t replica)
{
	for (uint32_t m = 0; m < s->models; m++)
		queue_at(s, replica, m)->samples = 0;
}

static inline double queue_oldest(const struct orr_serve *w, const struct queue *q)
{
	return q->q.n ? orr_req_arrival(w, q->q.first) : INFINITY;
}

static inline double request_deadline(const struct orr_serve *w, orr_req r)
{
	struct orr_req_info i;
	return orr_req_get(w, r, &i) ? i.deadline_s : INFINITY;
}

/* Returns the size at which a batch runs: its own size if the table has it, else the next larger size (padded); 0: too large. */
static inline uint32_t batch_runs_at(const struct orr_serve *w, uint32_t replica, uint32_t model, uint64_t samples, uint32_t length)
{
	if (samples > UINT32_MAX)
		return 0;
	uint32_t n = (uint32_t)samples;
	return isnan(orr_model_latency(w, replica, model, n, length)) ? orr_model_batch_for(w, model, n) : n;
}

/* Makes a batch from the front of a queue: at most `limit` samples before padding. The requests stay queued; b->req is valid until
 * the next call. Returns false if the first request is larger than limit or than the table. */
static inline bool batch_of_front(
	struct queues *s, struct orr_serve *w, const struct queue *q, uint32_t replica, uint32_t model, uint64_t limit, struct orr_batch *b)
{
	uint64_t samples = 0;
	uint32_t length = 0;
	*b = (struct orr_batch){ .model = model };
	for (orr_req r = q->q.first; r; r = orr_fifo_next(w, r)) {
		uint32_t more = orr_req_samples(w, r), its = orr_req_length(w, r);
		if (samples + more > limit)
			break;
		ORR_GROW(s->take, b->n, s->cap_take);
		s->take[b->n++] = r;
		samples += more;
		length = its > length ? its : length;
	}
	b->req = s->take;
	b->length = length;
	b->samples = b->n ? batch_runs_at(w, replica, model, samples, length) : 0;
	return b->samples > 0;
}

/* Like batch_of_front(), but on an idle replica the batch is reduced until it fits in memory. Returns false if it does not fit. */
static inline bool batch_that_fits(
	struct queues *s, struct orr_serve *w, const struct queue *q, uint32_t replica, uint32_t model, uint64_t limit, struct orr_batch *b)
{
	while (batch_of_front(s, w, q, replica, model, limit, b)) {
		if (orr_run_fits(w, replica, b, 0))
			return true;
		if (b->n == 1 || !orr_replica_is_idle(w, replica))
			return false;
		limit = 0;
		for (size_t i = 0; i + 1 < b->n; i++)
			limit += orr_req_samples(w, b->req[i]);
	}
	return false;
}

/* Returns whether the batch fits on the replica beside the models in its memory, if no other run is there. A model that is not loaded yet
 * counts alone. */
static inline bool fits_if_idle(const struct orr_serve *w, uint32_t replica, const struct orr_batch *b)
{
	struct orr_batch later = *b;
	later.flags |= ORR_RUN_QUEUE; /* it starts when other runs have ended */
	if (!orr_run_fits_alone(w, replica, b))
		return false;
	return !orr_model_is_loaded(w, replica, b->model) || orr_run_fits(w, replica, &later, 0);
}

/* Returns whether the batch does not fit on the replica, even without other runs, but fits on another one that is up. */
static inline bool is_for_another(const struct orr_serve *w, uint32_t replica, const struct orr_batch *b)
{
	uint32_t i = 0, n = orr_replicas(w);
	if (fits_if_idle(w, replica, b))
		return false;
	while (i < n && !fits_if_idle(w, i, b))
		i++;
	return i < n;
}

/* Returns the smallest batch of a request. */
static inline struct orr_batch smallest_batch(const struct orr_serve *w, uint32_t replica, const orr_req *r)
{
	uint32_t model = orr_req_model(w, *r), samples = batch_runs_at(w, replica, model, orr_req_samples(w, *r), orr_req_length(w, *r));
	return (struct orr_batch){ .model = model, .req = r, .n = 1, .samples = samples };
}

/* Like is_for_another(), for the smallest batch of a request. */
static inline bool request_is_for_another(const struct orr_serve *w, uint32_t replica, orr_req r)
{
	struct orr_batch b = smallest_batch(w, replica, &r);
	return is_for_another(w, replica, &b);
}

/* Removes the batch from its queue and runs it. */
static inline orr_run batch_start(struct orr_serve *w, struct queue *q, uint32_t replica, const struct orr_batch *b)
{
	for (size_t i = 0; i < b->n; i++)
		queue_remove(w, q, b->req[i]);
	q->start_s = orr_serve_now(w);
	return orr_run_start(w, replica, b);
}

/* Returns whether the model is in the replica's memory; if not, loads it. Ends the run if the models do not fit. */
static inline bool model_is_ready(struct orr_serve *w, uint32_t replica, uint32_t model)
{
	if (orr_model_is_loaded(w, replica, model))
		return true;
	if (!orr_model_load(w, replica, model))
		orr_serve_give_up(w, 0,
			"the models do not fit into a replica's memory together: expected more memory, or policy clockwork, which swaps "
			"models");
	return false;
}

/* Returns the number of runs on the replica; UINT32_MAX: the replica is not up. */
static inline uint32_t runs_on(const struct orr_serve *w, uint32_t replica)
{
	struct orr_replica_info i;
	return orr_replica_get(w, replica, &i) && i.is_up ? i.runs : UINT32_MAX;
}

/* Returns whether new requests for the model may go to the replica. */
static inline bool takes_requests(const struct orr_serve *w, uint32_t replica, uint32_t model)
{
	struct orr_replica_info i;
	return orr_replica_get(w, replica, &i) && i.is_up && !i.is_draining && (i.model == UINT32_MAX || i.model == model);
}

/* Assigns a request that never fits on its replica to the one with the fewest requests on which it fits. Returns its replica. */
static inline uint32_t settle_replica(struct orr_serve *w, orr_req r)
{
	uint32_t own = orr_req_replica(w, r), best = ORR_NO_REPLICA;
	struct orr_batch b = smallest_batch(w, own, &r);
	if (fits_if_idle(w, own, &b))
		return own;
	for (uint32_t i = 0; i < orr_replicas(w); i++)
		if (takes_requests(w, i, b.model) && fits_if_idle(w, i, &b) &&
			(best == ORR_NO_REPLICA || orr_replica_routed(w, i) < orr_replica_routed(w, best)))
			best = i;
	if (best == ORR_NO_REPLICA)
		return own;
	orr_assign(w, r, best);
	return best;
}

/* Returns the element of a list that has one number for all models or one for each; `otherwise` if the list is empty. */
static inline double per_model(const double *v, size_t n, uint32_t model, double otherwise)
{
	return n == 0 ? otherwise : v[n == 1 || model >= n ? 0 : model];
}

#endif
