/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * router.h - the router of a run: built in or a plugin, named by serve.router (router.c)
 *
 * "auto": the policy's own route(), else jsq. The router object also exists with a policy's own route(), which may ask for it
 * (ORR_ANY_REPLICA).
 */
#ifndef ORR_SERVE_ROUTER_H
#define ORR_SERVE_ROUTER_H

#include <orrery/router.h>

#include "base/param.h"
#include "serve/world.h"
#include "world/registry.h"

extern const struct world_table serve_routers;

/* A router named by "NAME:param=value,..", with its parameters. */
struct router_choice {
	struct registry_entry entry;
	struct orr_args *args;
	bool is_auto;
};

struct router {
	struct router_choice choice;
	const struct orr_router_ops *ops;
	void *self; /* NULL: create() has not returned yet */
	enum orr_load load;
	bool is_creating;
	uint32_t copy_to, copy_from; /* tokens of orr_router_copy() in the current pick(); copy_to 0: no copy */
};

/* Reads serve.router. is_described: a plugin is only described (registry.h). The caller calls router_choice_free(), even after an error. */
int router_choose(const char *spec, bool is_described, struct router_choice *out, struct orr_error *err);
void router_choice_free(struct router_choice *c);
/* Finds the router of the run, before replicas exist; creates its object, once they do. Errors are in w->error. */
void router_begin(struct orr_serve *w);
void router_create(struct orr_serve *w);
void router_free(struct orr_serve *w);

static inline bool router_is_auto(const struct orr_serve *w)
{
	return w->router->choice.is_auto;
}

/* Calls of the router; no-ops if it lacks the function or does not exist yet. */
static inline void router_joined(struct orr_serve *w, orr_req r, uint32_t replica)
{
	if (w->router->self && w->router->ops->joined)
		w->router->ops->joined(w->router->self, w, r, replica);
}
static inline void router_left(struct orr_serve *w, orr_req r, uint32_t replica)
{
	if (w->router->self && w->router->ops->left)
		w->router->ops->left(w->router->self, w, r, replica);
}
static inline void router_prefilled(struct orr_serve *w, orr_req r, uint32_t replica)
{
	if (w->router->self && w->router->ops->prefilled)
		w->router->ops->prefilled(w->router->self, w, r, replica);
}
static inline void router_replica(struct orr_serve *w, uint32_t replica, enum orr_replica_event event)
{
	if (w->router->self && w->router->ops->replica)
		w->router->ops->replica(w->router->self, w, replica, event);
}

#endif
