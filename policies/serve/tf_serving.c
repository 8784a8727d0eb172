/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * TensorFlow Serving's batching (Olston et al., "TensorFlow-Serving: Flexible, High-Performance ML Serving", 2017, section
 * 2.2.1; its guide to batching configuration): requests wait in a queue per model. A batch starts when it is full, or when its
 * oldest request has waited batch_timeout; `threads` batches run at once on a replica. The model with the oldest request is
 * first.
 *
 * By default a batch waits as long as the SLO allows: until SLO - L(largest batch) (Irina's baseline: Wu, Xu, Wang, APNet
 * 2020, section 4). Without an SLO it does not wait, like TensorFlow Serving's default batch_timeout_micros of 0.
 */
#include "kinds.h"
#include "queues.h"

static const struct orr_param params[] = { ORR_PARAM_LIST("max_batch", "",
						   "samples of a full batch, for all models or one per model; empty: the table's largest"),
	ORR_PARAM_LIST("batch_timeout", "", "longest wait of a batch that is not full; empty: SLO - L(max_batch), or 0 without an SLO"),
	ORR_PARAM_BOOL("full_only", false,
		"run full batches only; requests that do not fill the last batch never start: --until ends the run before"),
	ORR_PARAM_INT("threads", "1", 1, 1e6, "largest number of concurrent batches on a replica"),
	ORR_PARAM_INT("queue_limit", "0", 0, 1e9,
		"largest number of full batches that wait per model and replica; further requests are shed; 0: no limit"),
	ORR_PARAM_END };

struct tf_serving {
	struct queues queues;
	const double *max_batch, *timeout;
	size_t n_max, n_timeout;
	bool is_full_only;
	uint32_t threads;
	uint64_t queue_limit;
};

static uint64_t full_at(const struct tf_serving *s, const struct orr_serve *w, uint32_t model)
{
	double n = per_model(s->max_batch, s->n_max, model, 0);
	return n >= 1 ? (uint64_t)n : orr_model_largest(w, model);
}

/* Returns the time at which a batch that is not full starts. */
static double due_s(const struct tf_serving *s, const struct orr_serve *w, uint32_t replica, uint32_t model, const struct queue *q)
{
	if (s->is_full_only)
		return INFINITY;
	double wait = per_model(s->timeout, s->n_timeout, model, -1), arrival = queue_oldest(w, q);
	if (wait >= 0)
		return arrival + wait;
	uint32_t length = orr_req_length(w, q->q.first);
	double longest = orr_model_latency(w, replica, model, batch_runs_at(w, replica, model, full_at(s, w, model), length), length);
	double deadline = request_deadline(w, q->q.first);
	return isinf(deadline) ? arrival : fmax(arrival, deadline - longest);
}

static void *create(struct orr_serve *w, const struct orr_args *args, struct orr_error *err)
{
	if (!serves_only(w, ORR_MODEL_TABLE, err))
		return NULL;
	struct tf_serving *s = orr_alloc(1, sizeof *s);
	queues_begin(&s->queues, w);
	s->max_batch = orr_arg_list(args, "max_batch", &s->n_max);
	s->timeout = orr_arg_list(args, "batch_timeout", &s->n_timeout);
	s->is_full_only = orr_arg_bool(args, "full_only");
	s->threads = (uint32_t)orr_arg_int(args, "threads");
	s->queue_limit = (uint64_t)orr_arg_int(args, "queue_limit");
	return s;
}

static void destroy(void *self)
{
	queues_end(&((struct tf_serving *)self)->queues);
	orr_free(self);
}

static void arrive(void *self, struct orr_serve *w, orr_req r)
{
	struct tf_serving *s = self;
	uint32_t model = orr_req_model(w, r), replica = settle_replica(w, r);
	uint64_t full = full_at(s, w, model), samples = orr_req_samples(w, r);
	if (samples > full || !batch_runs_at(w, replica, model, samples, orr_req_length(w, r))) {
		orr_refuse_because(w, r, ORR_REQ_REFUSED, "larger than a full batch");
		return;
	}
	struct queue *q = queue_at(&s->queues, replica, model);
	if (s->queue_limit && q->samples + samples > s->queue_limit * full)
		orr_refuse_because(w, r, ORR_REQ_SHED, "the queue contains queue_limit full batches");
	else
		queue_push(w, q, r);
}

static void finish(void *self, struct orr_serve *w, orr_req r, enum orr_req_end how)
{
	(void)how;
	queues_finish(&((struct tf_serving *)self)->queues, w, r);
}

static void replica(void *self, struct orr_serve *w, uint32_t number, enum orr_replica_event event)
{
	(void)w;
	if (event == ORR_REPLICA_DOWN)
		queues_lost(&((struct tf_serving *)self)->queues, number);
}

/* Returns the queue to run now: among the models with a full or overdue batch, the queue with the oldest request. NULL: none; *next_s is
 * the time at which the first is due. */
static struct queue *ripe(struct tf_serving *s, struct orr_serve *w, uint32_t replica, uint32_t *model, double *next_s)
{
	double now = orr_serve_now(w), oldest = INFINITY;
	struct queue *best = NULL;
	*next_s = INFINITY;
	for (uint32_t m = 0; m < s->queues.models; m++) {
		struct queue *q = queue_at(&s->queues, replica, m);
		if (q->q.n == 0 || queue_oldest(w, q) >= oldest)
			continue;
		double due = q->samples >= full_at(s, w, m) ? now : due_s(s, w, replica, m, q);
		if (due > now + EPSILON_S) {
			*next_s = fmin(*next_s, due);
		} else {
			oldest = queue_oldest(w, q);
			*model = m;
			best = q;
		}
	}
	return best;
}

static void schedule(void *self, struct orr_serve *w, uint32_t replica)
{
	struct tf_serving *s = self;
	struct orr_batch b;
	uint32_t model = 0;
	double next_s;
	while (runs_on(w, replica) < s->threads) {
		struct queue *q = ripe(s, w, replica, &model, &next_s);
		if (!q) {
			if (next_s < INFINITY) {
				orr_serve_timer(w, replica, next_s);
				orr_serve_why(w, replica, "the batch waits for more requests");
			}
			return;
		}
		if (!model_is_ready(w, replica, model))
			return;
		if (batch_that_fits(&s->queues, w, q, replica, model, full_at(s, w, model), &b))
			batch_start(w, q, replica, &b);
		else if (orr_replica_is_idle(w, replica))
			queue_refuse(w, q, q->q.first, ORR_REQ_REFUSED);
		else
			return;
	}
}

static const struct orr_serve_ops ops = {
	.create = create, .destroy = destroy, .arrive = arrive, .finish = finish, .schedule = schedule, .replica = replica
};

ORR_POLICY_SERVE(tf_serving, "waits for full batches as long as the SLO allows (TensorFlow Serving)", params, ops);
