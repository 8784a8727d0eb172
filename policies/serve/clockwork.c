/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Clockwork (Gujarati et al., "Serving DNNs like Clockwork: Performance Predictability from the Bottom Up", OSDI 2020,
 * section 5.3): one controller decides what each GPU executes and when, one batch at a time, from known latencies.
 *
 * INFER: a strategy is a model and a batch size for which enough requests wait. Its latest start is the deadline of the model's
 * oldest request less the batch's latency. A free GPU runs, among the models in its memory, the strategy with the earliest latest
 * start that has not passed. For one model this is the largest batch that still ends in time. A request is rejected immediately if
 * even the smallest batch would end late on every GPU. Each GPU has latencies of its own.
 *
 * LOAD: model m has demand d_m, the execution time of its waiting requests. A GPU that has m in memory takes the share a_mg = d_m /
 * (number of such GPUs). With l_g = sum of a_mg over its models, the GPU serves a_mg x min(1, slo_m / l_g) of this share within the
 * SLO. The model with the largest unserved demand is loaded next, onto a GPU that is not loading a model. If memory is short, the
 * least recently used models are unloaded first.
 */
#include "kinds.h"
#include "queues.h"

static const struct orr_param params[] = { ORR_PARAM_BOOL("admission", true,
						   "reject requests that cannot meet their deadline; false: run them late"),
	ORR_PARAM_LIST("slo", "", "SLOs used for loading, for all models or one per model; empty: the models' SLOs, or 100 ms"),
	ORR_PARAM_END };

struct model {
	struct queue q;
	uint32_t n_batches;
	const uint32_t *batch;
	double slo_s;
	double demand_s, served_s;
	bool is_listed; /* in clockwork.waiting */
};

struct gpu {
	double *used_s;   /* start of each model's last run on this GPU */
	bool *is_loading; /* [model] */
	double load_s;    /* sum of its models' shares of demand */
	uint32_t loading; /* number of models that are loading */
	double ends_s;    /* end of the last batch in its pipeline; batches leave in order. 0 without later stages */
};

struct clockwork {
	struct queues queues; /* used only for its scratch space */
	struct model *model;
	uint32_t *waiting, n_waiting; /* models with waiting requests */
	struct gpu *gpu;
	uint32_t gpus, models;
	bool admits;
};

static void destroy(void *self)
{
	struct clockwork *s = self;
	for (uint32_t g = 0; g < s->gpus; g++) {
		orr_free(s->gpu[g].used_s);
		orr_free(s->gpu[g].is_loading);
	}
	orr_free(s->gpu);
	orr_free(s->model);
	orr_free(s->waiting);
	queues_end(&s->queues);
	orr_free(s);
}

static void gpus_begin(struct clockwork *s)
{
	s->gpu = orr_alloc((size_t)s->queues.replicas + 1, sizeof *s->gpu);
	for (; s->gpus < s->queues.replicas; s->gpus++) {
		struct gpu *g = &s->gpu[s->gpus];
		g->used_s = orr_alloc(s->models, sizeof *g->used_s);
		g->is_loading = orr_alloc(s->models, sizeof *g->is_loading);
		for (uint32_t m = 0; m < s->models; m++)
			g->used_s[m] = -INFINITY;
	}
}

static void *create(struct orr_serve *w, const struct orr_args *args, struct orr_error *err)
{
	if (!serves_only(w, ORR_MODEL_TABLE, err))
		return NULL;
	struct clockwork *s = orr_alloc(1, sizeof *s);
	queues_begin(&s->queues, w);
	size_t n_slo;
	const double *slo = orr_arg_list(args, "slo", &n_slo);
	s->admits = orr_arg_bool(args, "admission");
	s->models = orr_models(w);
	s->model = orr_alloc(s->models, sizeof *s->model);
	s->waiting = orr_alloc(s->models, sizeof *s->waiting);
	gpus_begin(s);
	for (uint32_t m = 0; m < s->models; m++) {
		struct orr_model_info i;
		orr_model_get(w, m, &i);
		s->model[m].n_batches = i.n_batches;
		s->model[m].batch = i.batch;
		s->model[m].slo_s = per_model(slo, n_slo, m, isinf(i.slo_s) ? 0.1 : i.slo_s);
	}
	return s;
}

/* Leaves the request unassigned: any GPU may take it when it starts. */
static uint32_t route(void *self, struct orr_serve *w, orr_req r)
{
	(void)self;
	(void)w;
	(void)r;
	return ORR_NO_REPLICA;
}

/* ---- requests ---- */

/* Returns the time of the smallest batch of the request, from its start to the receipt of its answer. */
static double least_latency(const struct orr_serve *w, uint32_t gpu, orr_req r)
{
	uint32_t m = orr_req_model(w, r), length = orr_req_length(w, r);
	return orr_model_round_trip(w, gpu, m, batch_runs_at(w, gpu, m, orr_req_samples(w, r), length), length);
}

/* Returns the time to send the answers of a batch to the front; 0 without links. */
static double answer_s(const struct orr_serve *w, uint32_t model, uint32_t samples)
{
	struct orr_model_info m;
	struct orr_front_info f = orr_front_get(w);
	return orr_model_get(w, model, &m) ? m.output_bytes * samples / f.bandwidth_Bps + f.latency_s : 0;
}

/* Returns the receipt of the answer if the GPU starts the request at start_s. Batches leave a pipeline in order: not before end_s. */
static double received_s(const struct orr_serve *w, uint32_t gpu, orr_req r, double start_s, double end_s)
{
	double own_s = start_s + least_latency(w, gpu, r), after_s = end_s + answer_s(w, orr_req_model(w, r), orr_req_samples(w, r));
	return own_s < after_s ? after_s : own_s; /* NaN: its table lacks the size */
}

/* Returns whether the GPU has memory for the request, and can answer it in time if it starts it at arrival. */
static bool suits(const struct clockwork *s, const struct orr_serve *w, uint32_t gpu, orr_req r)
{
	if (request_is_for_another(w, gpu, r))
		return false;
	return !s->admits || orr_req_arrival(w, r) + least_latency(w, gpu, r) <= request_deadline(w, r) + EPSILON_S;
}

/* Returns the end of the computation of a run. While its input is in transit, this is the end without other transfers. */
static double computed_s(const struct orr_serve *w, const struct orr_run_info *run)
{
	struct orr_model_info m;
	struct orr_front_info f = orr_front_get(w);
	if (run->phase != ORR_PHASE_SENDING || !orr_model_get(w, run->model, &m))
		return run->ends_s;
	double arrives_s = run->started_s + m.input_bytes * run->samples / f.bandwidth_Bps + f.latency_s;
	return fmax(arrives_s, orr_serve_now(w)) + orr_model_latency(w, run->replica, run->model, run->samples, run->length);
}

/* Returns the earliest end on any GPU. The start is when its run leaves the GPU or its first pipeline stage, or after loading the
 * model if it is not in memory. Batches leave a pipeline in order. */
static double first_end_s(const struct clockwork *s, const struct orr_serve *w, orr_req r)
{
	struct orr_model_info m;
	uint32_t model = orr_req_model(w, r);
	double best = INFINITY, now = orr_serve_now(w);
	orr_model_get(w, model, &m);
	for (uint32_t g = 0; g < s->gpus; g++) {
		struct orr_run_info i = { 0 };
		if (!takes_requests(w, g, model) || request_is_for_another(w, g, r))
			continue;
		double end_s = orr_run_get(w, orr_run_first(w, g), &i) ? computed_s(w, &i) : now, free_s = end_s - i.later_s;
		if (!orr_model_is_loaded(w, g, model) && !s->gpu[g].is_loading[model])
			free_s = fmax(free_s, now + m.load_s);
		best = fmin(best, received_s(w, g, r, free_s, fmax(end_s, s->gpu[g].ends_s)));
	}
	return best;
}

static void set_listed(struct clockwork *s, uint32_t model)
{
	struct model *m = &s->model[model];
	if (m->q.q.n && !m->is_listed) {
		m->is_listed = true;
		s->waiting[s->n_waiting++] = model;
	}
}

static void wake_idle(const struct clockwork *s, struct orr_serve *w)
{
	for (uint32_t g = 0; g < s->gpus; g++)
		if (orr_replica_is_idle(w, g))
			orr_wake(w, g);
}

/* Returns whether the table of some GPU has the request's size. */
static bool is_known(const struct clockwork *s, const struct orr_serve *w, orr_req r)
{
	uint32_t g = 0;
	while (g < s->gpus && isnan(least_latency(w, g, r)))
		g++;
	return g < s->gpus;
}

static void arrive(void *self, struct orr_serve *w, orr_req r)
{
	struct clockwork *s = self;
	uint32_t model = orr_req_model(w, r);
	if (!is_known(s, w, r)) {
		orr_refuse(w, r, ORR_REQ_REFUSED);
		return;
	}
	if (s->admits && first_end_s(s, w, r) > request_deadline(w, r) + EPSILON_S) {
		orr_refuse_because(w, r, ORR_REQ_SHED, "no replica can meet its deadline");
		return;
	}
	queue_push(w, &s->model[model].q, r);
	set_listed(s, model);
	wake_idle(s, w);
}

static void finish(void *self, struct orr_serve *w, orr_req r, enum orr_req_end how)
{
	(void)how;
	queue_forget(w, &((struct clockwork *)self)->model[orr_req_model(w, r)].q, r);
}

static void replica(void *self, struct orr_serve *w, uint32_t gpu, enum orr_replica_event event)
{
	struct clockwork *s = self;
	if (event == ORR_REPLICA_DOWN) {
		memset(s->gpu[gpu].is_loading, 0, s->models * sizeof *s->gpu[gpu].is_loading);
		s->gpu[gpu].loading = 0;
		s->gpu[gpu].ends_s = 0;
	}
	if (event != ORR_REPLICA_UP)
		wake_idle(s, w); /* requests that only this GPU could answer in time are rejected */
}

/* ---- INFER ---- */

/* Returns whether the request would end late if the GPU started it now. */
static bool is_late(const struct clockwork *s, const struct orr_serve *w, uint32_t gpu, orr_req r)
{
	return received_s(w, gpu, r, orr_serve_now(w), s->gpu[gpu].ends_s) > request_deadline(w, r) + EPSILON_S;
}

/* Returns the latest start of the model's best strategy on the GPU, and its size in samples; INFINITY: no strategy. */
static double best_strategy(
	const struct clockwork *s, const struct orr_serve *w, uint32_t gpu, const struct model *m, uint32_t model, uint64_t *limit)
{
	double deadline = request_deadline(w, m->q.q.first), now = orr_serve_now(w);
	uint32_t length = orr_req_length(w, m->q.q.first), first = orr_req_samples(w, m->q.q.first);
	for (uint32_t i = m->n_batches; i-- > 0;) {
		double latency = orr_model_round_trip(w, gpu, model, m->batch[i], length);
		bool is_least = i == 0 || m->batch[i - 1] < first;
		if (m->batch[i] < first)
			break;
		/* The smallest size may be padded. */
		if (isnan(latency) || (m->q.samples < m->batch[i] && !is_least))
			continue;
		bool ends_in_time = s->gpu[gpu].ends_s + answer_s(w, model, m->batch[i]) <= deadline + EPSILON_S;
		if ((ends_in_time && deadline - latency >= now - EPSILON_S) || (!s->admits && is_least)) {
			*limit = m->batch[i];
			return deadline - latency;
		}
	}
	/* The first request alone, whose size may be between two sizes of the table. */
	*limit = first;
	return is_late(s, w, gpu, m->q.q.first) ? INFINITY : deadline - least_latency(w, gpu, m->q.q.first);
}

/* Rejects requests at the front that can no longer be answered in time, neither by this GPU nor by another. */
static void reject(const struct clockwork *s, struct orr_serve *w, uint32_t gpu, struct model *m)
{
	while (s->admits && m->q.q.n && is_late(s, w, gpu, m->q.q.first)) {
		orr_req r = m->q.q.first;
		for (uint32_t g = 0; g < s->gpus; g++)
			if (takes_requests(w, g, orr_req_model(w, r)) && !is_late(s, w, g, r) && !request_is_for_another(w, g, r))
				return;
		queue_refuse(w, &m->q, r, ORR_REQ_SHED);
	}
}

/* Unloads the least recently used model that is idle, except `kept`. Returns false if there is none. */
static bool unload_least_used(const struct clockwork *s, struct orr_serve *w, uint32_t gpu, uint32_t kept)
{
	const struct gpu *g = &s->gpu[gpu];
	struct orr_run_info i;
	orr_run run = orr_run_first(w, gpu);
	uint32_t victim = UINT32_MAX, busy = run && orr_run_get(w, run, &i) ? i.model : UINT32_MAX;
	for (uint32_t m = 0; m < s->models; m++)
		if (m != busy && m != kept && orr_model_is_loaded(w, gpu, m) && (victim == UINT32_MAX || g->used_s[m] < g->used_s[victim]))
			victim = m;
	if (victim == UINT32_MAX)
		return false;
	orr_model_unload(w, gpu, victim);
	return true;
}

static bool infer(struct clockwork *s, struct orr_serve *w, uint32_t gpu)
{
	double first_s = INFINITY;
	uint64_t limit = 0, its = 0;
	uint32_t model = UINT32_MAX;
	for (uint32_t i = 0; i < s->n_waiting;) {
		uint32_t number = s->waiting[i];
		struct model *m = &s->model[number];
		reject(s, w, gpu, m);
		if (m->q.q.n == 0) {
			m->is_listed = false;
			s->waiting[i] = s->waiting[--s->n_waiting];
			continue;
		}
		i++;
		if (!takes_requests(w, gpu, number) || !orr_model_is_loaded(w, gpu, number) || request_is_for_another(w, gpu, m->q.q.first))
			continue;
		double latest = best_strategy(s, w, gpu, m, number, &its);
		/* Without deadlines all models have the same latest start: the model with the oldest request runs. */
		bool is_first = model == UINT32_MAX || latest < first_s ||
				(latest == first_s && queue_oldest(w, &m->q) < queue_oldest(w, &s->model[model].q));
		if (is_first && (latest < INFINITY || isinf(request_deadline(w, m->q.q.first)))) {
			first_s = latest;
			limit = its;
			model = number;
		}
	}
	struct orr_batch b;
	if (model == UINT32_MAX)
		return false;
	while (!batch_that_fits(&s->queues, w, &s->model[model].q, gpu, model, limit, &b)) {
		if (unload_least_used(s, w, gpu, model))
			continue;
		queue_refuse(w, &s->model[model].q, s->model[model].q.q.first, ORR_REQ_REFUSED);
		return true;
	}
	struct orr_run_info run;
	if (orr_run_get(w, batch_start(w, &s->model[model].q, gpu, &b), &run) && run.later_s > 0)
		s->gpu[gpu].ends_s = fmax(s->gpu[gpu].ends_s, computed_s(w, &run));
	s->gpu[gpu].used_s[model] = orr_serve_now(w);
	return true;
}

/* ---- LOAD ---- */

/* Returns the time of the largest batch on the fastest GPU that takes requests for the model; 0: none takes them. */
static double largest_latency(const struct clockwork *s, const struct orr_serve *w, uint32_t model, uint32_t largest)
{
	const struct queue *q = &s->model[model].q;
	double best = INFINITY;
	for (uint32_t g = 0; g < s->gpus; g++)
		if (takes_requests(w, g, model))
			best = fmin(best, orr_model_latency(w, g, model, largest, q->q.n ? orr_req_length(w, q->q.first) : 0));
	return isinf(best) ? 0 : best;
}

/* Returns whether the GPU is up and has the model, or will have it, and can answer its oldest request in time. */
static bool serves(const struct clockwork *s, const struct orr_serve *w, uint32_t gpu, uint32_t model)
{
	const struct queue *q = &s->model[model].q;
	return takes_requests(w, gpu, model) && (s->gpu[gpu].is_loading[model] || orr_model_is_loaded(w, gpu, model)) &&
	       (!q->q.n || suits(s, w, gpu, q->q.first));
}

/* Sets demand_s and served_s of the models with waiting requests. */
static void find_demands(struct clockwork *s, const struct orr_serve *w)
{
	for (uint32_t g = 0; g < s->gpus; g++)
		s->gpu[g].load_s = 0;
	for (int pass = 0; pass < 2; pass++)
		for (uint32_t i = 0; i < s->n_waiting; i++) {
			uint32_t number = s->waiting[i], n = 0;
			struct model *m = &s->model[number];
			uint32_t largest = m->n_batches ? m->batch[m->n_batches - 1] : 1;
			m->demand_s = (double)m->q.samples / largest * largest_latency(s, w, number, largest);
			m->served_s = 0;
			for (uint32_t g = 0; g < s->gpus; g++)
				n += serves(s, w, g, number);
			for (uint32_t g = 0; g < s->gpus; g++) {
				if (!serves(s, w, g, number))
					continue;
				double part = m->demand_s / n;
				if (pass == 0)
					s->gpu[g].load_s += part;
				else
					m->served_s += part * fmin(1, m->slo_s / fmax(s->gpu[g].load_s, 1e-300));
			}
		}
}

/* Loads the model and unloads idle models, least recently used first. Returns false if there is no room. */
static bool make_room(struct clockwork *s, struct orr_serve *w, uint32_t gpu, uint32_t model)
{
	while (!orr_model_load(w, gpu, model))
		if (!unload_least_used(s, w, gpu, model))
			return false;
	return true;
}

static void load(struct clockwork *s, struct orr_serve *w, uint32_t gpu)
{
	struct gpu *g = &s->gpu[gpu];
	for (uint32_t m = 0; g->loading && m < s->models; m++)
		if (g->is_loading[m] && orr_model_is_loaded(w, gpu, m)) {
			g->is_loading[m] = false;
			g->loading--;
			g->used_s[m] = orr_serve_now(w);
		}
	if (g->loading || s->n_waiting == 0)
		return;
	uint32_t best = UINT32_MAX;
	double most = 1e-12;
	find_demands(s, w);
	for (uint32_t i = 0; i < s->n_waiting; i++) {
		const struct model *m = &s->model[s->waiting[i]];
		if (!takes_requests(w, gpu, s->waiting[i]) || orr_model_is_loaded(w, gpu, s->waiting[i]) ||
			m->demand_s - m->served_s <= most || (m->q.q.n && !suits(s, w, gpu, m->q.q.first)))
			continue;
		most = m->demand_s - m->served_s;
		best = s->waiting[i];
	}
	if (best != UINT32_MAX && make_room(s, w, gpu, best) && !orr_model_is_loaded(w, gpu, best)) {
		g->is_loading[best] = true;
		g->loading++;
	}
}

static void schedule(void *self, struct orr_serve *w, uint32_t gpu)
{
	struct clockwork *s = self;
	load(s, w, gpu);
	while (orr_replica_is_idle(w, gpu) && infer(s, w, gpu))
		;
}

static const struct orr_serve_ops ops = {
	.create = create, .destroy = destroy, .route = route, .arrive = arrive, .finish = finish, .schedule = schedule, .replica = replica
};

ORR_POLICY_SERVE(clockwork, "central controller with known latencies: rejects late requests, swaps models (Clockwork)", params, ops);
