/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Nexus (Shen et al., SOSP 2019): models are packed onto GPUs by rate and SLO (squishy bin packing, nexus_plan.h); each runs a
 * batch of its planned size once per duty cycle. Requests are routed in proportion to the planned rates. Early drop (section
 * 6.3): requests at the front of a queue are dropped if they would make the whole batch late. Rates are given, or measured per
 * epoch, with a new plan each time.
 *
 * A batch is due when it is full, when a duty cycle has passed since the last one, or when a longer wait would make its oldest
 * request late. If the plan needs more GPUs than are available, several of its nodes share a GPU. On GPUs of several types the plan
 * uses the latencies of the slowest that runs the smallest batch within the SLO, and requests are dropped by those of their own GPU.
 */
#include "kinds.h"
#include "nexus_plan.h"
#include "queues.h"

static const struct orr_param params[] = {
	ORR_PARAM_LIST("rates", "", "samples/s to plan for, for all models or one per model; empty: as measured in the last epoch"),
	ORR_PARAM_TIME("epoch", "30s", "time between plans for measured rates"),
	ORR_PARAM_LIST("slo", "",
		"SLOs to plan for, for all models or one per model; empty: the smallest SLO of the model's requests so far; without any, "
		"batches do not wait"),
	ORR_PARAM_CHOICE(
		"drop", "early", "early|lazy|none", "requests to drop: each that would make its batch late, late requests only, or none"),
	ORR_PARAM_END
};

/* Planned work of a GPU for a model. */
struct share {
	uint32_t batch;
	double duty_s, rate, credit;
};

struct nexus {
	struct queues queues;
	struct nexus_session *session; /* [model]; latencies of the slowest GPU so far that suits the model */
	double **latency_s;            /* [model] latencies of the session */
	bool *is_met;                  /* [model] some GPU so far runs the smallest batch within the SLO */
	uint32_t *longest;             /* [model] length of the longest input; 0: latencies do not depend on it */
	struct share *share;           /* shares, [gpu * models + model] */
	uint32_t *turn;                /* next model of each GPU */
	uint32_t gpus;
	const double *rates, *slo;
	size_t n_rates, n_slo;
	double epoch_s, epoch_from_s;
	double *seen;       /* samples of each model in this epoch */
	bool *has_seen_slo; /* [model] its SLO is the smallest of the requests so far */
	bool drops_early, drops_late, is_planned;
	uint32_t *next_gpu; /* [model] GPU of the next request without a plan */
};

static void destroy(void *self)
{
	struct nexus *s = self;
	for (uint32_t m = 0; m < s->queues.models; m++)
		orr_free(s->latency_s[m]);
	orr_free(s->latency_s);
	orr_free(s->is_met);
	orr_free(s->longest);
	orr_free(s->session);
	orr_free(s->share);
	orr_free(s->turn);
	orr_free(s->seen);
	orr_free(s->has_seen_slo);
	orr_free(s->next_gpu);
	queues_end(&s->queues);
	orr_free(s);
}

static void session_begin(struct nexus *s, const struct orr_serve *w, uint32_t model)
{
	struct orr_model_info m;
	orr_model_get(w, model, &m);
	s->latency_s[model] = orr_alloc((size_t)m.n_batches + 1, sizeof *s->latency_s[model]);
	s->longest[model] = m.longest;
	s->session[model] = (struct nexus_session){ .slo_s = per_model(s->slo, s->n_slo, model, m.slo_s),
		.rate = per_model(s->rates, s->n_rates, model, 0),
		.batch = m.batch,
		.latency_s = s->latency_s[model],
		.n_batches = m.n_batches };
}

static bool meets_slo(const struct nexus *s, const struct orr_serve *w, uint32_t gpu, uint32_t model)
{
	const struct nexus_session *x = &s->session[model];
	return x->n_batches && orr_model_latency(w, gpu, model, x->batch[0], s->longest[model]) <= x->slo_s;
}

/* Returns whether the GPU takes requests for the model. A GPU that is too slow for the SLO takes them only if every GPU is. */
static bool suits(const struct nexus *s, const struct orr_serve *w, uint32_t gpu, uint32_t model)
{
	return takes_requests(w, gpu, model) && (!s->is_met[model] || meets_slo(s, w, gpu, model));
}

/* Raises the latencies of the sessions to those of the GPU, so that the plan holds on it. */
static void add_latencies(struct nexus *s, const struct orr_serve *w, uint32_t gpu)
{
	for (uint32_t m = 0; m < s->queues.models; m++) {
		bool is_first = !s->is_met[m] && takes_requests(w, gpu, m) && meets_slo(s, w, gpu, m);
		s->is_met[m] = s->is_met[m] || is_first;
		if (!suits(s, w, gpu, m))
			continue;
		for (uint32_t i = 0; i < s->session[m].n_batches; i++)
			s->latency_s[m][i] = fmax(
				is_first ? 0 : s->latency_s[m][i], orr_model_latency(w, gpu, m, s->session[m].batch[i], s->longest[m]));
	}
}

static bool takes_node(const struct nexus *s, const struct orr_serve *w, uint32_t gpu, const struct nexus_node *node)
{
	bool takes = true;
	for (uint32_t k = 0; k < node->n_parts; k++)
		takes = takes && suits(s, w, gpu, node->part[k].session);
	return takes;
}

/* Assigns each node of the plan to the next GPU that takes requests for its models, in round-robin order. */
static void assign(struct nexus *s, struct orr_serve *w, const struct nexus_plan *plan)
{
	uint32_t models = s->queues.models, gpu = 0;
	for (size_t i = 0; i < (size_t)s->gpus * models; i++)
		s->share[i] = (struct share){ 0 };
	for (uint32_t i = 0; i < plan->n; i++) {
		const struct nexus_node *node = &plan->node[i];
		uint32_t tried = 0;
		while (tried < s->gpus && !takes_node(s, w, (gpu + tried) % s->gpus, node))
			tried++;
		if (tried == s->gpus)
			continue;
		gpu = (gpu + tried) % s->gpus;
		for (uint32_t k = 0; k < node->n_parts; k++) {
			struct share *x = &s->share[(size_t)gpu * models + node->part[k].session];
			x->batch = x->batch > node->part[k].batch ? x->batch : node->part[k].batch;
			x->duty_s = x->rate > 0 ? fmin(x->duty_s, node->duty_s) : node->duty_s;
			x->rate += node->part[k].rate;
		}
		gpu = (gpu + 1) % s->gpus;
	}
	orr_serve_observe(w, "gpus_planned", plan->n);
	for (uint32_t g = 0; g < s->gpus; g++)
		if (orr_replica_is_idle(w, g))
			orr_wake(w, g);
}

static void make_plan(struct nexus *s, struct orr_serve *w)
{
	struct nexus_plan plan;
	nexus_plan(s->session, s->queues.models, &plan);
	s->is_planned = plan.n > 0;
	assign(s, w, &plan);
	nexus_plan_free(&plan);
}

static void *create(struct orr_serve *w, const struct orr_args *args, struct orr_error *err)
{
	if (!serves_only(w, ORR_MODEL_TABLE, err))
		return NULL;
	struct nexus *s = orr_alloc(1, sizeof *s);
	queues_begin(&s->queues, w);
	s->rates = orr_arg_list(args, "rates", &s->n_rates);
	s->slo = orr_arg_list(args, "slo", &s->n_slo);
	s->epoch_s = (double)orr_arg_time_ns(args, "epoch") / 1e9;
	s->drops_early = !strcmp(orr_arg_text(args, "drop"), "early");
	s->drops_late = s->drops_early || !strcmp(orr_arg_text(args, "drop"), "lazy");
	s->session = orr_alloc(s->queues.models, sizeof *s->session);
	s->seen = orr_alloc(s->queues.models, sizeof *s->seen);
	s->has_seen_slo = orr_alloc(s->queues.models, sizeof *s->has_seen_slo);
	s->next_gpu = orr_alloc(s->queues.models, sizeof *s->next_gpu);
	s->gpus = s->queues.replicas;
	s->share = orr_alloc((size_t)s->gpus * s->queues.models + 1, sizeof *s->share);
	s->turn = orr_alloc((size_t)s->gpus + 1, sizeof *s->turn);
	s->latency_s = orr_alloc(s->queues.models, sizeof *s->latency_s);
	s->is_met = orr_alloc(s->queues.models, sizeof *s->is_met);
	s->longest = orr_alloc(s->queues.models, sizeof *s->longest);
	for (uint32_t m = 0; m < s->queues.models; m++)
		session_begin(s, w, m);
	for (uint32_t g = 0; g < s->gpus; g++)
		add_latencies(s, w, g);
	return s;
}

static void replica(void *self, struct orr_serve *w, uint32_t gpu, enum orr_replica_event event)
{
	struct nexus *s = self;
	if (event == ORR_REPLICA_DOWN)
		queues_lost(&s->queues, gpu);
	else if (event == ORR_REPLICA_UP)
		add_latencies(s, w, gpu);
	make_plan(s, w);
}

/* ---- requests ---- */

/* Lowers the SLO of a session to that of the request, which the trace may state. Latencies of GPUs that miss it no longer count. */
static void lower_slo(struct nexus *s, struct orr_serve *w, orr_req r)
{
	uint32_t model = orr_req_model(w, r);
	struct nexus_session *x = &s->session[model];
	double slo_s = request_deadline(w, r) - orr_req_arrival(w, r);
	bool is_lower = s->has_seen_slo[model] ? slo_s < x->slo_s - EPSILON_S : fabs(slo_s - x->slo_s) > EPSILON_S;
	s->has_seen_slo[model] = true;
	if (s->n_slo || !is_lower)
		return;
	x->slo_s = slo_s;
	s->is_met[model] = false;
	for (uint32_t i = 0; i < x->n_batches; i++)
		s->latency_s[model][i] = 0;
	for (uint32_t g = 0; g < s->gpus; g++)
		add_latencies(s, w, g);
	if (s->is_planned)
		make_plan(s, w);
}

static void count(struct nexus *s, struct orr_serve *w, orr_req r)
{
	double now = orr_serve_now(w);
	lower_slo(s, w, r);
	if (s->n_rates == 0 && now >= s->epoch_from_s + s->epoch_s && s->epoch_s > 0) {
		for (uint32_t m = 0; m < s->queues.models; m++) {
			s->session[m].rate = s->seen[m] / (now - s->epoch_from_s);
			s->seen[m] = 0;
		}
		s->epoch_from_s = now;
		make_plan(s, w);
	} else if (s->n_rates && !s->is_planned) {
		make_plan(s, w);
	}
	s->seen[orr_req_model(w, r)] += orr_req_samples(w, r);
}

/* Returns the GPU that is furthest behind its planned share; without a plan for the model, uses round robin. */
static uint32_t route(void *self, struct orr_serve *w, orr_req r)
{
	struct nexus *s = self;
	uint32_t model = orr_req_model(w, r), models = s->queues.models, best = ORR_NO_REPLICA;
	double sum = 0;
	count(s, w, r);
	for (uint32_t g = 0; g < s->gpus; g++) {
		struct share *x = &s->share[(size_t)g * models + model];
		if (x->rate <= 0 || !suits(s, w, g, model)) /* the GPU has just been lost; the call of replica() follows */
			continue;
		x->credit += x->rate;
		sum += x->rate;
		if (best == ORR_NO_REPLICA || x->credit > s->share[(size_t)best * models + model].credit)
			best = g;
	}
	if (best != ORR_NO_REPLICA) {
		s->share[(size_t)best * models + model].credit -= sum;
		return best;
	}
	for (uint32_t i = 0; i < s->gpus; i++) {
		uint32_t g = s->next_gpu[model]++ % s->gpus;
		if (suits(s, w, g, model))
			return g;
	}
	return ORR_NO_REPLICA;
}

static void arrive(void *self, struct orr_serve *w, orr_req r)
{
	struct nexus *s = self;
	uint32_t model = orr_req_model(w, r), gpu = orr_req_replica(w, r);
	gpu = gpu == ORR_NO_REPLICA ? gpu : settle_replica(w, r);
	if (gpu == ORR_NO_REPLICA) {
		orr_refuse_because(w, r, ORR_REQ_SHED, "the plan has no replica for its model");
		return;
	}
	if (batch_runs_at(w, gpu, model, orr_req_samples(w, r), orr_req_length(w, r)))
		queue_push(w, queue_at(&s->queues, gpu, model), r);
	else
		orr_refuse(w, r, ORR_REQ_REFUSED);
}

static void finish(void *self, struct orr_serve *w, orr_req r, enum orr_req_end how)
{
	(void)how;
	queues_finish(&((struct nexus *)self)->queues, w, r);
}

/* ---- a GPU's cycle ---- */

static uint32_t planned_batch(const struct nexus *s, uint32_t gpu, uint32_t model)
{
	const struct share *x = &s->share[(size_t)gpu * s->queues.models + model];
	uint32_t b = x->batch ? x->batch : nexus_saturating_batch(&s->session[model]);
	return b ? b : s->session[model].batch[0];
}

/* Returns the latency on the GPU of the table's smallest size that holds the next batch, or of the largest size. */
static double batch_latency(const struct nexus *s, const struct orr_serve *w, uint32_t gpu, uint32_t model, const struct queue *q)
{
	uint32_t b = planned_batch(s, gpu, model), size = orr_model_batch_for(w, model, q->samples < b ? (uint32_t)q->samples : b);
	return orr_model_latency(w, gpu, model, size ? size : orr_model_largest(w, model), s->longest[model]);
}

static void drop(const struct nexus *s, struct orr_serve *w, uint32_t gpu, uint32_t model, struct queue *q)
{
	double now = orr_serve_now(w);
	while (s->drops_late && q->q.n &&
		request_deadline(w, q->q.first) < now + (s->drops_early ? batch_latency(s, w, gpu, model, q) : 0) - EPSILON_S)
		queue_refuse(w, q, q->q.first, ORR_REQ_SHED);
}

/* Returns the time at which the model's next batch is due: at once without an SLO, which is what a batch may wait for. */
static double due_s(const struct nexus *s, const struct orr_serve *w, uint32_t gpu, uint32_t model, const struct queue *q)
{
	const struct share *x = &s->share[(size_t)gpu * s->queues.models + model];
	if (x->batch == 0 || q->samples >= x->batch || isinf(s->session[model].slo_s))
		return 0;
	double by_cycle = fmax(q->start_s + x->duty_s, queue_oldest(w, q));
	return fmin(by_cycle, request_deadline(w, q->q.first) - batch_latency(s, w, gpu, model, q));
}

static void schedule(void *self, struct orr_serve *w, uint32_t gpu)
{
	struct nexus *s = self;
	uint32_t models = s->queues.models;
	while (orr_replica_is_idle(w, gpu)) {
		double next_s = INFINITY;
		uint32_t tried = 0, model = 0;
		struct queue *q = NULL;
		for (; tried < models; tried++) {
			model = (s->turn[gpu] + tried) % models;
			q = queue_at(&s->queues, gpu, model);
			drop(s, w, gpu, model, q);
			double due = q->q.n ? due_s(s, w, gpu, model, q) : INFINITY;
			if (due <= orr_serve_now(w) + EPSILON_S)
				break;
			next_s = fmin(next_s, due);
		}
		struct orr_batch b;
		if (tried == models) {
			if (next_s < INFINITY) {
				orr_serve_timer(w, gpu, next_s);
				orr_serve_why(w, gpu, "batch due later in the duty cycle");
			}
			return;
		}
		if (!model_is_ready(w, gpu, model))
			return;
		uint64_t limit = planned_batch(s, gpu, model), first = orr_req_samples(w, q->q.first);
		if (batch_that_fits(&s->queues, w, q, gpu, model, limit > first ? limit : first, &b))
			batch_start(w, q, gpu, &b);
		else
			queue_refuse(w, q, q->q.first, ORR_REQ_REFUSED);
		s->turn[gpu] = (model + 1) % models;
	}
}

static const struct orr_serve_ops ops = {
	.create = create, .destroy = destroy, .route = route, .arrive = arrive, .finish = finish, .schedule = schedule, .replica = replica
};

ORR_POLICY_SERVE(nexus, "models packed onto GPUs by rate and SLO, one batch per model and duty cycle (Nexus)", params, ops);
