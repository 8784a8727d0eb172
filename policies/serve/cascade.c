/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A cascade of models: each request runs the first model. If the answer is not confident enough, the request runs the next model, and so
 * on up to the last (Viola and Jones, CVPR 2001; for DNN serving NoScope, Kang et al., VLDB 2017). Confidence is not simulated: each stage
 * answers a given share of its requests, drawn at random.
 *
 * Example of a policy whose requests use several models: runs start with ORR_RUN_KEEP, and run_end() forwards or completes each request. A
 * pipeline of models (detect, then recognise) is a cascade with keeps=0.
 */
#include "kinds.h"
#include "queues.h"

enum { MAX_STAGES = 16, MAX_BATCH = 512 };

struct cascade {
	uint32_t model[MAX_STAGES];
	double keeps[MAX_STAGES];
	uint32_t stages, batch;
	struct orr_fifo queue[MAX_STAGES];
	orr_req chosen[MAX_BATCH];
};

static uint32_t stage_of(const struct cascade *c, uint32_t model)
{
	uint32_t s = 0;
	while (s < c->stages && c->model[s] != model)
		s++;
	return s;
}

/* Returns whether the replica serves the model and has memory for the request. */
static bool serves(const struct orr_serve *w, uint32_t replica, uint32_t model, orr_req r)
{
	struct orr_replica_info i;
	return orr_replica_get(w, replica, &i) && (i.model == UINT32_MAX || i.model == model) && !request_is_for_another(w, replica, r);
}

/* Returns the stage to run, later stages first. A stage whose model is not in memory is skipped until the model is loaded. */
static uint32_t stage_to_run(struct cascade *c, struct orr_serve *w, uint32_t replica)
{
	for (uint32_t s = c->stages; s--;) {
		if (!c->queue[s].first || !serves(w, replica, c->model[s], c->queue[s].first))
			continue;
		if (orr_model_is_loaded(w, replica, c->model[s]))
			return s;
		if (!orr_model_load(w, replica, c->model[s]))
			orr_serve_give_up(w, c->queue[s].first,
				"the models do not fit into a replica's memory together: expected more memory or fewer models");
	}
	return c->stages;
}

/* Makes a batch of the first requests of the queue, limited by table and memory, and padded if the table lacks its size. */
static struct orr_batch first_of(struct cascade *c, struct orr_serve *w, uint32_t replica, uint32_t stage)
{
	uint32_t model = c->model[stage];
	uint64_t samples = 0, most = orr_model_largest(w, model);
	struct orr_batch b = { .model = model, .req = c->chosen, .flags = ORR_RUN_KEEP };
	for (orr_req r = c->queue[stage].first; r && b.n < c->batch; r = orr_fifo_next(w, r)) {
		struct orr_batch larger = b;
		samples += orr_req_samples(w, r);
		c->chosen[larger.n++] = r;
		larger.length = orr_req_length(w, r) > b.length ? orr_req_length(w, r) : b.length;
		larger.samples = samples <= most ? batch_runs_at(w, replica, model, samples, larger.length) : 0;
		if (b.n && (!larger.samples || !orr_run_fits(w, replica, &larger, 0)))
			break;
		b = larger;
	}
	return b;
}

/* Wakes the first idle replica that has the model of the stage and memory for its first request, and those before it that lack the model
 * and load it. */
static void wake_for(struct cascade *c, struct orr_serve *w, uint32_t stage)
{
	bool is_found = false;
	for (uint32_t i = orr_replica_idle_from(w, 0); i != ORR_NO_REPLICA && !is_found; i = orr_replica_idle_from(w, i + 1)) {
		if (!serves(w, i, c->model[stage], c->queue[stage].first))
			continue;
		orr_wake(w, i);
		is_found = orr_model_is_loaded(w, i, c->model[stage]);
	}
}

static void start(struct cascade *c, struct orr_serve *w, uint32_t replica)
{
	uint32_t stage = stage_to_run(c, w, replica);
	if (stage == c->stages)
		return;
	struct orr_batch b = first_of(c, w, replica, stage);
	for (size_t i = 0; i < b.n; i++)
		orr_fifo_remove(w, &c->queue[stage], c->chosen[i]);
	if (!orr_run_fits(w, replica, &b, 0)) { /* the first request alone does not fit */
		orr_refuse_because(w, c->chosen[0], ORR_REQ_REFUSED, "its batch does not fit into memory");
		orr_wake(w, replica);
		return;
	}
	orr_run_start(w, replica, &b);
	for (uint32_t s = 0; s < c->stages; s++)
		if (c->queue[s].first)
			wake_for(c, w, s); /* several requests may have arrived at once */
}

static void wait_for(struct cascade *c, struct orr_serve *w, orr_req r, uint32_t stage)
{
	orr_fifo_push(w, &c->queue[stage], r);
	wake_for(c, w, stage);
}

static void arrive(void *self, struct orr_serve *w, orr_req r)
{
	struct cascade *c = self;
	uint32_t stage = stage_of(c, orr_req_model(w, r));
	if (stage == c->stages)
		orr_refuse_because(w, r, ORR_REQ_REFUSED, "its model is not a stage of the cascade");
	else
		wait_for(c, w, r, stage);
}

static void run_end(void *self, struct orr_serve *w, orr_run run)
{
	struct cascade *c = self;
	struct orr_run_info info;
	if (!orr_run_get(w, run, &info))
		return;
	uint32_t stage = stage_of(c, info.model);
	for (size_t i = 0; i < info.n; i++) {
		orr_req r = orr_run_request(w, run, i);
		if (stage + 1 >= c->stages || orr_serve_uniform(w) < c->keeps[stage]) {
			orr_serve_observe(w, "stages", stage + 1);
			orr_complete(w, r);
			continue;
		}
		if (orr_forward(w, r, c->model[stage + 1]))
			wait_for(c, w, r, stage + 1);
	}
}

static void schedule(void *self, struct orr_serve *w, uint32_t replica)
{
	if (orr_replica_is_idle(w, replica))
		start(self, w, replica);
}

static uint32_t route(void *self, struct orr_serve *w, orr_req r)
{
	(void)self, (void)w, (void)r;
	return ORR_NO_REPLICA; /* one queue for all replicas */
}

/* Reads "small,medium,large"; empty: all models of the scenario. */
static int read_models(struct cascade *c, const struct orr_serve *w, const char *text, struct orr_error *err)
{
	if (!*text)
		for (; c->stages < orr_models(w) && c->stages < MAX_STAGES; c->stages++)
			c->model[c->stages] = c->stages;
	while (*text) {
		char name[128];
		size_t n = strcspn(text, ",");
		if (!n || n >= sizeof name || c->stages == MAX_STAGES)
			return orr_fail(err, ORR_EINPUT, "models: expected 1 to %d names separated by commas", MAX_STAGES);
		memcpy(name, text, n);
		name[n] = 0;
		c->model[c->stages] = orr_model_find(w, name);
		if (c->model[c->stages++] == UINT32_MAX)
			return orr_fail(err, ORR_EINPUT, "models: expected models of this scenario, found \"%s\"", name);
		text += n + (text[n] == ',');
	}
	return ORR_OK;
}

/* Checks that the models to which requests are forwarded have replicas. */
static int check_served(const struct cascade *c, const struct orr_serve *w, struct orr_error *err)
{
	struct orr_replica_info info;
	struct orr_model_info model;
	for (uint32_t s = 1; s < c->stages; s++) {
		uint32_t i = 0, n = orr_replicas(w);
		while (i < n && !(orr_replica_get(w, i, &info) && (info.model == UINT32_MAX || info.model == c->model[s])))
			i++;
		if (i == n && orr_model_get(w, c->model[s], &model))
			return orr_fail(
				err, ORR_EINPUT, "models: stage %u is %.80s: expected a model that a deployment serves", s + 1, model.name);
	}
	return ORR_OK;
}

static int read_params(struct cascade *c, const struct orr_serve *w, const struct orr_args *args, struct orr_error *err)
{
	size_t n;
	const double *keeps = orr_arg_list(args, "keeps", &n);
	int rc = read_models(c, w, orr_arg_text(args, "models"), err);
	if (!rc)
		rc = check_served(c, w, err);
	if (rc)
		return rc;
	for (uint32_t s = 0; s < c->stages; s++) {
		c->keeps[s] = n ? keeps[s < n ? s : n - 1] : 0;
		if (c->keeps[s] < 0 || c->keeps[s] > 1)
			return orr_fail(err, ORR_EINPUT, "keeps: expected shares from 0 to 1");
	}
	c->batch = (uint32_t)orr_arg_int(args, "max_batch");
	return ORR_OK;
}

static void *create(struct orr_serve *w, const struct orr_args *args, struct orr_error *err)
{
	if (!serves_only(w, ORR_MODEL_TABLE, err))
		return NULL;
	struct cascade *c = orr_alloc(1, sizeof *c);
	if (!read_params(c, w, args, err))
		return c;
	orr_free(c);
	return NULL;
}

static const struct orr_param params[] = { ORR_PARAM_TEXT(
						   "models", "", "stages in order, separated by commas; empty: all models of the scenario"),
	ORR_PARAM_LIST(
		"keeps", "0.7", "share of requests that each stage except the last answers; the last number applies to all later stages"),
	ORR_PARAM_INT("max_batch", "8", 1, MAX_BATCH, "largest number of requests in a batch"), ORR_PARAM_END };

static const struct orr_serve_ops ops = {
	.create = create,
	.destroy = orr_free,
	.route = route,
	.arrive = arrive,
	.run_end = run_end,
	.schedule = schedule,
};

ORR_POLICY_SERVE_FLAGS(cascade, "small models first, larger models for requests that they do not answer", ORR_DRAWS, params, ops);
