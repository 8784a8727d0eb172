/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * queues.h - what policies for table models share: a queue per replica and model, and batches made from its front
 *
 * Invariant: a request is in at most one queue; its mark is 1 + the replica it was given to as long as it is in one, and samples is the sum
 * over a queue's requests. Batches go in order of arrival and are never split over a request.
 */
#ifndef ORR_POLICIES_QUEUES_H
#define ORR_POLICIES_QUEUES_H

#include <orrery/serve.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Deadlines and timers differ by rounding: what is nearer than this is the same time. */
#define EPSILON_S 1e-9

struct queue {
	struct orr_fifo q;
	uint64_t samples;
	double start_s; /* for the policy: when its last batch started */
};

struct queues {
	struct queue *of; /* [replica * models + model] */
	uint32_t replicas, models;
	orr_req *take; /* of the batch that is being made */
	size_t cap_take;
};

/* All replicas that there can ever be have numbers from the start. */
static inline bool queues_begin(struct queues *s, struct orr_serve *w, struct orr_error *err)
{
	s->models = orr_models(w);
	s->replicas = orr_replicas(w);
	s->of = calloc((size_t)s->replicas * s->models + 1, sizeof *s->of);
	s->cap_take = 64;
	s->take = malloc(s->cap_take * sizeof *s->take);
	if (s->of && s->take)
		return true;
	orr_fail(err, ORR_EFAIL, "out of memory");
	return false;
}

static inline void queues_end(struct queues *s)
{
	free(s->of);
	free(s->take);
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
	orr_refuse(w, r, how);
}

/* For finish(): if the request still waited it was given up, and is in no list any more. (One whose replica was lost is not
 * counted there or elsewhere until it arrives again.) */
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

/* The replica is gone: what waited there is in no list any more, and arrives again. */
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

/* The size at which a batch runs: its own if the model has that, else padded to the next; 0: too large. */
static inline uint32_t batch_runs_at(const struct orr_serve *w, uint32_t replica, uint32_t model, uint64_t samples, uint32_t length)
{
	if (samples > UINT32_MAX)
		return 0;
	uint32_t n = (uint32_t)samples;
	return isnan(orr_model_latency(w, replica, model, n, length)) ? orr_model_batch_for(w, model, n) : n;
}

/* What the front of a queue makes: n requests of b->samples in all (or padded), in s->take, still queued. n 0: the first is
 * larger than limit. */
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
		if (b->n == s->cap_take) {
			orr_req *take = realloc(s->take, 2 * s->cap_take * sizeof *take);
			if (!take)
				break;
			s->take = take;
			s->cap_take *= 2;
		}
		s->take[b->n++] = r;
		samples += more;
		length = its > length ? its : length;
	}
	b->req = s->take;
	b->length = length;
	b->samples = b->n ? batch_runs_at(w, replica, model, samples, length) : 0;
	return b->samples > 0;
}

/* The same, made smaller until it fits into the memory of a replica on which nothing runs; else as it is or not at all. */
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

/* The batch leaves its queue and runs. */
static inline orr_run batch_start(struct orr_serve *w, struct queue *q, uint32_t replica, const struct orr_batch *b)
{
	for (size_t i = 0; i < b->n; i++)
		queue_remove(w, q, b->req[i]);
	q->start_s = orr_serve_now(w);
	return orr_run_start(w, replica, b);
}

/* Is the model in the replica's memory? If not it is on its way; what does not fit there ends the run. */
static inline bool model_is_ready(struct orr_serve *w, uint32_t replica, uint32_t model)
{
	if (orr_model_is_loaded(w, replica, model))
		return true;
	if (!orr_model_load(w, replica, model))
		orr_serve_give_up(w, 0, "the models do not fit into a replica's memory together (clockwork swaps them)");
	return false;
}

/* UINT32_MAX: it is not up. */
static inline uint32_t runs_on(const struct orr_serve *w, uint32_t replica)
{
	struct orr_replica_info i;
	return orr_replica_get(w, replica, &i) && i.is_up ? i.runs : UINT32_MAX;
}

/* May new requests be given to it? */
static inline bool takes_requests(const struct orr_serve *w, uint32_t replica, uint32_t model)
{
	struct orr_replica_info i;
	return orr_replica_get(w, replica, &i) && i.is_up && !i.is_draining && (i.model == UINT32_MAX || i.model == model);
}

/* A list with a number for all models, or one for each; otherwise when it is empty. */
static inline double per_model(const double *v, size_t n, uint32_t model, double otherwise)
{
	return n == 0 ? otherwise : v[n == 1 || model >= n ? 0 : model];
}

#endif
