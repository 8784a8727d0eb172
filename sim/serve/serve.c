/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A run of the world: begin, instants, loop, end. */
#include "serve/answers.h"
#include "serve/clients.h"
#include "serve/dispatch.h"
#include "serve/explain.h"
#include "serve/fleet.h"
#include "serve/guard.h"
#include "serve/lane.h"
#include "serve/metrics.h"
#include "serve/quality.h"
#include "serve/remarks.h"
#include "serve/route.h"
#include "serve/router.h"
#include "serve/runs.h"
#include "serve/speculate.h"
#include "serve/tiers.h"

#include "base/mem.h"
#include "results/summary.h"

#include <math.h>

enum { NO_REQUEST = -1 };

/* ---- arrivals: one pending event ---- */

static void on_arrival(struct engine *e, void *ctx, uint64_t subject, uint64_t arg);

static void next_arrival(struct orr_serve *w)
{
	w->has_next = reqcursor_next(w->cursor, &w->next_rec);
	if (w->has_next)
		eng_at(w->host.engine, w->next_rec.arrival_ns, PRIO_ARRIVAL, on_arrival, w, 0, 0);
}

static void on_arrival(struct engine *e, void *ctx, uint64_t subject, uint64_t arg)
{
	(void)e, (void)subject, (void)arg;
	struct orr_serve *w = ctx;
	if (w->is_over)
		return;
	serve_happen(w, (double)w->next_rec.arrival_ns / 1e9);
	serve_arrive(w, &w->next_rec);
	next_arrival(w);
}

/* ---- instants ---- */

bool serve_instant(struct orr_serve *w)
{
	int64_t t;
	if (!w->is_over)
		dispatch_instant(w);
	return !w->is_over && eng_next_time(w->host.engine, &t) && t == eng_now(w->host.engine);
}

bool serve_is_over(const struct orr_serve *w)
{
	return w->is_over || (!w->live && !w->has_next);
}

bool serve_has_failed(const struct orr_serve *w)
{
	return w->error.code != 0;
}

/* ---- the loop of a run that owns its clock ---- */

/* Returns whether no pending event can let a waiting request continue. (In a closed loop, requests are sent only after answers.) */
static bool is_starving(const struct orr_serve *w)
{
	return (!w->has_next || w->clients) && eng_pending(w->host.engine) == serve_background(w);
}

bool serve_starving(struct orr_serve *w)
{
	if (requests_give_up_held(w))
		return true;
	const struct req *oldest = NULL;
	for (uint32_t slot = 0; slot < w->n_req; slot++) {
		const struct req *q = &w->req[slot];
		if (q->state != ORR_REQ_ENDED && (!oldest || q->number < oldest->number))
			oldest = q;
	}
	if (oldest && oldest->silent)
		serve_fail(w, ORR_EFAIL, oldest,
			"%llu requests have not ended, and %u answers to this request never come (serve.loss, or a lost replica): expected "
			"a "
			"policy with a deadline, such as mdp with policy.mdp.deadline_factor",
			(unsigned long long)w->live, oldest->silent);
	if (w->fleet->wants_more)
		serve_fail(w, ORR_EFAIL, oldest,
			"%llu requests have not ended, and no GPUs will become free for replicas: expected more capacity, or --until",
			(unsigned long long)w->live);
	serve_fail(w, ORR_EFAIL, oldest,
		"%llu requests have not ended, nothing runs, no timer is set and no request will arrive: expected the policy to start a "
		"request, or --until before this time (this request is the first%s)",
		(unsigned long long)w->live,
		w->set->preloaded ? "" : "; with serve.preloaded=false a policy loads models by orr_model_load()");
	return false;
}

double serve_part_done(const struct orr_serve *w)
{
	uint64_t n = reqset_count(w->config->requests);
	return serve_is_over(w) ? 1 : n && n != UINT64_MAX ? (double)w->next_rec.number / (double)n : 0;
}

static void report_progress(struct orr_serve *w, uint64_t *steps)
{
	if (w->config->progress && !(++*steps & 4095))
		w->config->progress(w->config->progress_ctx, serve_part_done(w));
}

static void on_until(struct engine *e, void *ctx, uint64_t subject, uint64_t arg)
{
	(void)e, (void)ctx, (void)subject, (void)arg;
}

static void loop(struct orr_serve *w)
{
	int64_t t;
	uint64_t steps = 0;
	while (!serve_is_over(w)) {
		if (is_starving(w) && !serve_starving(w))
			break;
		if (!eng_next_time(w->host.engine, &t))
			break; /* requests wait for nodes that never return */
		if (t > INT64_MAX / 2) {
			serve_fail(w, ORR_EFAIL, NULL,
				"%llu requests have not ended after 146 years, the end of the clock: expected --until",
				(unsigned long long)w->live);
			break;
		}
		if (t > w->config->until_ns) {
			/* Advances the clock to the end of the run; all pending events are later. */
			eng_at(w->host.engine, w->config->until_ns, PRIO_UNTIL, on_until, NULL, 0, 0);
			eng_step(w->host.engine);
			serve_happen(w, (double)w->config->until_ns / 1e9);
			break;
		}
		do {
			int64_t next;
			do
				eng_step(w->host.engine);
			while (!w->is_over && eng_next_time(w->host.engine, &next) && next == t);
		} while (serve_instant(w));
		report_progress(w, &steps);
	}
}

/* ---- begin and end ---- */

static void world_free(struct orr_serve *w)
{
	runs_free(w);
	answers_free(w);
	moves_free(w);
	scale_free(w);
	router_free(w);
	replicas_free(w);
	tiers_free(w->tiers);
	lanes_free_times(w);
	clients_free(w);
	serve_metrics_free(w);
	guard_free(w);
	explain_free(w);
	reqcursor_close(w->cursor);
	for (uint32_t i = 0; i < w->n_observed; i++) {
		mem_free(w->observed[i].name);
		mem_free(w->observed[i].by_request);
	}
	mem_free(w->observed);
	req_free_all(w);
	mem_free(w->free_req);
	mem_free(w->arrived);
	mem_free(w->timed);
	mem_free(w->model_of);
	mem_free(w->dirty);
	mem_free(w->event);
	if (w->set)
		speculation_free(w->set->speculation);
	settings_free(w->set);
	if (w->owns_host) {
		pool_free(w->host.pool);
		eng_free(w->host.engine);
	}
	watch_free(w->watch);
	mem_free(w);
}

static struct orr_serve *world_new(const struct serve_config *c, const struct serve_host *host, const struct orr_policy *policy,
	const char *label, struct run_result *result)
{
	struct rng loss, draft;
	struct orr_serve *w = mem_zalloc(1, sizeof *w);
	w->config = c;
	w->policy = policy;
	w->ops = policy->ops;
	w->hand_off = moves_hand_off;
	w->label = label;
	w->claims = policy->flags & (ORR_WORK_CONSERVING | ORR_SLO_GUARDED);
	w->result = result;
	w->first_ended = w->last_ended = w->ended_told = w->free_answer = NONE;
	w->last_instant = -1;
	w->owns_host = !host;
	if (host)
		w->host = *host;
	else
		w->host = (struct serve_host){ .engine = eng_new(), .pool = pool_new(c->cluster, c->placement) };
	if (!host && c->compare)
		pool_compare(w->host.pool, c->compare);
	w->now_s = serve_clock_s(w);
	w->cursor = reqset_open(c->requests, c->replication);
	rng_init(&w->route_rng, c->seed, "serve-route", c->replication);
	rng_init(&w->policy_rng, c->seed, "serve-policy", c->replication);
	rng_init(&w->service_rng, c->seed, "serve-service", c->replication);
	rng_init(&loss, c->seed, "serve-loss", c->replication);
	w->loss_seed = rng_u64(&loss);
	rng_init(&draft, c->seed, "serve-draft", c->replication);
	w->draft_seed = rng_u64(&draft);
	return w;
}

static void create_policy(struct orr_serve *w, const struct orr_args *policy_args)
{
	struct orr_error err = { 0 };
	uint64_t call = watch_enter(w->watch, "create", eng_now(w->host.engine), (uint64_t)NO_REQUEST);
	w->self = w->ops->create(w, policy_args, &err);
	watch_leave(w->watch, call);
	if (!w->self)
		serve_fail(w, err.code ? err.code : ORR_EINPUT, NULL, "%s",
			err.text[0] ? err.text : "create() returned NULL without an error message: expected an object, or *err filled in");
	guard_begin(w);
}

struct orr_serve *serve_begin(const struct serve_config *c, const struct serve_host *host, const struct orr_policy *policy,
	const struct orr_args *policy_args, const char *label, struct run_result *result, struct orr_error *err)
{
	struct orr_serve *w = world_new(c, host, policy, label, result);
	w->watch = watch_new(label, c->policy_timeout_s);
	watch_noun(w->watch, "request");
	w->set = settings_new(c, &w->error);
	if (w->set && !(w->set->speculation = speculation_new(c, &w->error))) {
		settings_free(w->set);
		w->set = NULL;
	}
	quality_train(c->quality); /* training takes longer than a call of a policy may take */
	if (w->set)
		router_begin(w);
	if (!w->error.code)
		replicas_begin(w);
	if (!w->error.code)
		w->tiers = tiers_new(w);
	if (!w->error.code)
		scale_begin(w);
	if (!w->error.code)
		roles_begin(w);
	if (!w->error.code) {
		serve_metrics_begin(w);
		explain_begin(w);
		runs_begin(w);
		lanes_foresee(w);
		if (!clients_begin(w))
			next_arrival(w);
	}
	if (!w->error.code)
		router_create(w);
	if (!w->error.code)
		create_policy(w, policy_args);
	if (w->error.code) {
		if (err)
			*err = w->error;
		world_free(w);
		return NULL;
	}
	return w;
}

/* Ends all live requests as unfinished, without calls of the policy. */
static void end_requests(struct orr_serve *w)
{
	for (uint32_t slot = 0; slot < w->n_req && w->live; slot++) {
		struct req *q = &w->req[slot];
		if (q->state == ORR_REQ_ENDED) /* free slots are ENDED too */
			continue;
		if (w->config->model[q->model]->kind == SERVED_LLM)
			lane_settle(w, q);
		q->state = ORR_REQ_ENDED;
		q->how = ORR_REQ_UNFINISHED;
		w->live--;
		explain_ended(w, q, w->now_s);
		serve_metrics_request(w, q, w->now_s);
	}
}

static void report_observed(struct orr_serve *w)
{
	for (uint32_t i = 0; i < w->n_observed; i++) {
		const struct observed *o = &w->observed[i];
		const char *name = result_text(w->result, o->name);
		if (o->by_request)
			serve_metrics_mean(w, name, o->by_request);
		else
			result_metric(w->result, name, o->sum / (double)o->n, NAN, NAN);
	}
}

static void measure(struct orr_serve *w)
{
	dispatch_catch_up(w);
	for (uint32_t i = 0; i < w->n_replicas && w->replica && !w->error.code; i++)
		lane_on(w, i); /* counts the iterations that have ended by now */
	if (!w->error.code && w->config->check)
		check_serve_state(w);
	if (!w->error.code) {
		end_requests(w);
		explain_end(w);
		serve_metrics_end(w);
		report_observed(w);
	}
	if (!w->error.code && w->config->check)
		check_serve_end(w);
}

void serve_leave(struct orr_serve *w)
{
	if (w->has_left)
		return;
	measure(w);
	w->has_left = w->is_over = true;
	for (uint32_t i = 0; i < w->n_replicas; i++) {
		replica_stops(w, i, STOP_OVER);
		replica_leave(w, i);
	}
}

int serve_end(struct orr_serve *w, struct orr_error *err)
{
	if (!w->has_left) {
		bool is_served = serve_is_over(w);
		measure(w);
		for (uint32_t i = 0; i < w->n_replicas && is_served && w->fleet; i++)
			if (w->replica[i].has_alloc) { /* the GPUs of the replica are freed together with the world */
				replica_stops(w, i, STOP_OVER);
				serve_metrics_replica(w, i, REPLICA_OFF);
			}
	}
	if (w->config->used)
		atomic_fetch_or(w->config->used, w->used | w->metrics->used | (pool_has_differed(w->host.pool) ? SERVE_USED_PLACEMENT : 0));
	w->result->is_oracle = (w->policy->flags & ORR_NEEDS_ORACLE) || w->saw_truth;
	uint64_t call = watch_enter(w->watch, "destroy", eng_now(w->host.engine), (uint64_t)NO_REQUEST);
	w->ops->destroy(w->self);
	watch_leave(w->watch, call);
	if (!w->error.code)
		serve_remarks(w);
	int rc = w->error.code;
	if (rc && err)
		*err = w->error;
	world_free(w);
	return rc;
}

int serve_run(const struct serve_config *c, const struct orr_policy *policy, const struct orr_args *policy_args, const char *label,
	struct run_result *result, struct orr_error *err)
{
	struct orr_serve *w = serve_begin(c, NULL, policy, policy_args, label, result, err);
	if (!w)
		return err && err->code ? err->code : ORR_EFAIL;
	loop(w);
	return serve_end(w, err);
}
