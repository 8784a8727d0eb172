/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Actions on waiting requests. */
#include "serve/answers.h"
#include "serve/due.h"
#include "serve/fleet.h"
#include "serve/lane.h"
#include "serve/metrics.h"
#include "serve/route.h"
#include "serve/router.h"
#include "serve/runs.h"

#include <math.h>

void orr_refuse_because(struct orr_serve *w, orr_req r, enum orr_req_end how, const char *why)
{
	struct req *q = req_actor(w, r, ORR_REQ_WAITING, "orr_refuse()");
	if (!q)
		return;
	if (how != ORR_REQ_REFUSED && how != ORR_REQ_SHED) {
		serve_fail(w, ORR_EFAIL, q, "orr_refuse() with how = %d: expected ORR_REQ_REFUSED or ORR_REQ_SHED", (int)how);
		return;
	}
	serve_metrics_policy_reason(w, how, why);
	req_turn_away(w, q, how, REASON_POLICY, w->now_s);
}

void orr_refuse(struct orr_serve *w, orr_req r, enum orr_req_end how)
{
	orr_refuse_because(w, r, how, NULL);
}

void orr_complete(struct orr_serve *w, orr_req r)
{
	struct req *q = req_of(w, r);
	q = req_actor(w, r, q && q->state == ORR_REQ_RUNNING ? ORR_REQ_RUNNING : ORR_REQ_WAITING, "orr_complete()");
	if (!q)
		return;
	if (!q->answers) {
		serve_fail(w, ORR_EFAIL, q,
			"orr_complete() of a request without an answer: expected a request with a run that was started with ORR_RUN_KEEP "
			"or ORR_RUN_PART and has ended");
		return;
	}
	leave_runs(w, q, ORR_LATE_DETACH);
	w->metrics->completed_partial += q->has_left;
	if (isnan(q->first_token_s))
		q->first_token_s = w->now_s;
	q->last_token_s = w->now_s;
	req_end(w, q, ORR_REQ_COMPLETED, w->now_s);
}

bool orr_forward(struct orr_serve *w, orr_req r, uint32_t model)
{
	struct req *q = req_actor(w, r, ORR_REQ_WAITING, "orr_forward()");
	if (!q)
		return false;
	if (model >= w->config->n_models) {
		serve_fail(w, ORR_EFAIL, q, "orr_forward() to model %u: expected a number below %u", model, w->config->n_models);
		return false;
	}
	if (!model_has_replicas(w, model)) {
		serve_fail(w, ORR_EFAIL, q, "orr_forward() to model %s: expected a model that a deployment serves",
			w->config->model[model]->name);
		return false;
	}
	req_set_replica(w, q, NONE);
	w->fleet->unrouted[q->model]--;
	w->fleet->unrouted[model]++;
	q->model = model;
	answers_forget(w, q);
	req_set_tokens(w, q);
	enum req_reason why = request_refusal(w, q);
	if (why)
		req_turn_away(w, q, ORR_REQ_REFUSED, why, w->now_s);
	return !why;
}

void orr_assign(struct orr_serve *w, orr_req r, uint32_t replica)
{
	struct req *q = req_actor(w, r, ORR_REQ_WAITING, "orr_assign()");
	if (!q)
		return;
	if (replica == ORR_ANY_REPLICA)
		replica = route_by_rule(w, q);
	if (replica == ORR_ROUTER_REJECTS) {
		route_reject(w, q);
		return;
	}
	w->router->copy_to = w->router->copy_from = 0; /* the policy knows the request already */
	if (replica >= w->n_replicas || w->replica[replica].state != REPLICA_UP) {
		serve_fail(w, ORR_EFAIL, q, "orr_assign() to replica %u, which %s: expected a replica that takes requests", replica,
			replica >= w->n_replicas ? "does not exist" : "takes no requests now");
		return;
	}
	uint32_t serves = w->replica[replica].model;
	if (serves != UINT32_MAX && serves != q->model) {
		serve_fail(w, ORR_EFAIL, q, "orr_assign() to replica %u: expected a request of model %s, the only model of this replica",
			replica, w->config->model[serves]->name);
		return;
	}
	if (!kv_must_hold(w, replica, q, "orr_assign()"))
		return;
	req_set_replica(w, q, replica);
	lane_arrival(w, replica);
	replica_dirty(w, replica);
}
