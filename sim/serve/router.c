/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "serve/router.h"

#include "base/mem.h"

#include <stdio.h>
#include <string.h>

#define ORR_BUILTIN_POLICY(ident) extern const struct orr_policy orr_policy_##ident;
#include "policies/serve/routers/routers.def"
#undef ORR_BUILTIN_POLICY
#define ORR_BUILTIN_POLICY(ident) &orr_policy_##ident,
static const struct orr_policy *const builtin[] = {
#include "policies/serve/routers/routers.def"
	NULL
};

static const struct world_function functions[] = { WORLD_FUNCTION(orr_router_ops, create), WORLD_FUNCTION(orr_router_ops, destroy),
	WORLD_FUNCTION(orr_router_ops, pick), { NULL, 0 } };

extern const struct embedded_file serve_router_template[];

const struct world_table serve_routers = { .kind = "router",
	.option = "--router",
	.policies = builtin,
	.ops_size = sizeof(struct orr_router_ops),
	.functions = functions,
	.template = serve_router_template,
	.example = "serve poisson:rate=2,n=500,prompt=500,output=100 --model llama2-7b --cluster 1x4:a100 --policy vllm --router" };

/* ---- the choice ---- */

int router_choose(const char *spec, bool is_described, struct router_choice *out, struct orr_error *err)
{
	const char *colon = strchr(spec, ':');
	char *name = mem_strndup(spec, colon ? (size_t)(colon - spec) : strlen(spec)), where[160];
	struct orr_error why = { 0 };
	*out = (struct router_choice){ .is_auto = !strcmp(name, "auto") };
	const char *found = out->is_auto ? "jsq" : name;
	int rc = is_described ? registry_describe_in(found, &serve_routers, &out->entry, &why)
			      : registry_find_in(found, &serve_routers, &out->entry, &why);
	if (rc)
		rc = orr_fail(err, rc, "serve.router: %s", why.text);
	snprintf(where, sizeof where, "router %.120s", out->is_auto ? "auto" : out->entry.name);
	if (!rc && !(out->args = args_new(out->entry.policy->params, where, err)))
		rc = ORR_EINPUT;
	if (!rc && colon)
		rc = args_set_pairs(out->args, colon + 1, ',', err);
	mem_free(name);
	return rc;
}

void router_choice_free(struct router_choice *c)
{
	args_free(c->args);
	c->args = NULL;
}

/* ---- life ---- */

void router_begin(struct orr_serve *w)
{
	struct router *x = w->router = mem_zalloc(1, sizeof *x);
	struct orr_error err = { 0 };
	if (router_choose(orr_arg_text(w->config->options, "router"), false, &x->choice, &err)) {
		serve_fail(w, err.code, NULL, "%s", err.text);
		return;
	}
	x->ops = x->choice.entry.policy->ops;
}

void router_create(struct orr_serve *w)
{
	struct router *x = w->router;
	struct orr_error err = { 0 };
	x->is_creating = true;
	uint64_t call = watch_enter(w->watch, "create", eng_now(w->host.engine), UINT64_MAX);
	x->self = x->ops->create(w, x->choice.args, &err);
	watch_leave(w->watch, call);
	x->is_creating = false;
	if (!x->self)
		serve_fail(w, err.code ? err.code : ORR_EINPUT, NULL, "router %s: %s", x->choice.entry.name,
			err.text[0] ? err.text : "create() returned NULL without an error message: expected an object, or *err filled in");
}

void router_free(struct orr_serve *w)
{
	struct router *x = w->router;
	if (!x)
		return;
	if (x->self)
		x->ops->destroy(x->self);
	router_choice_free(&x->choice);
	mem_free(x);
	w->router = NULL;
}
