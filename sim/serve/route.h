/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * route.h - routing (route.c), copies of prefixes (copy.c) and admission (admit.c); docs/models/serve.md#the-service
 */
#ifndef ORR_SERVE_ROUTE_H
#define ORR_SERVE_ROUTE_H

#include "serve/requests.h"

/* Returns the replica that serve.router, or the policy's route(), chooses; NONE: none now; or ORR_ROUTER_REJECTS. */
uint32_t route_pick(struct orr_serve *w, const struct req *q);
/* Sheds a request that the router rejects. */
void route_reject(struct orr_serve *w, struct req *q);
/* If the router asked for a copy of a prefix, starts it, to the replica of the waiting request. arrive() becomes due when the copy has
 * arrived. Returns whether a copy is under way. */
bool copy_start(struct orr_serve *w, struct req *q);

/* Returns the replica that serve.router chooses; NONE: none now; or ORR_ROUTER_REJECTS. A replica whose KV cache can never hold the request
 * is chosen only if no candidate can hold it. */
uint32_t route_by_rule(struct orr_serve *w, const struct req *q);
/* Returns whether the KV cache of the replica can never hold the request. Deployments may have caches of different sizes. */
bool route_is_too_small(const struct orr_serve *w, const struct req *q, uint32_t replica);

/* Returns the tokens of the request that a replica with this role must have room for. */
uint64_t route_tokens(const struct req *q, enum orr_replica_role role);
/* Returns whether a replica that serves the model now is large enough for the request. */
bool route_fits_now(const struct orr_serve *w, const struct req *q);

/* Handles the arrival of a request: refuses it if it can never be served, sheds it if serve.queue_limit is reached, else routes it. */
void serve_arrive(struct orr_serve *w, const struct request_rec *rec);
/* Routes a waiting request that is on no replica; arrive() follows. The request is held while no replica accepts its model, and
 * while the only replicas that are large enough for it are down. */
void request_place(struct orr_serve *w, struct req *q);
/* Routes held requests in order when a replica comes up. */
void requests_release_held(struct orr_serve *w);
/* No replica will come up: refuses, in an event of this instant, the held requests that are too large for the replicas that are up. Returns
 * whether there are any. */
bool requests_give_up_held(struct orr_serve *w);
/* Returns whether a deployment serves the model, now or later. */
bool model_has_replicas(const struct orr_serve *w, uint32_t model);
/* Returns the reason why a request of this size never fits on a replica that serves its model; REASON_NONE: it fits on one. */
enum req_reason request_refusal(const struct orr_serve *w, const struct req *q);

#endif
