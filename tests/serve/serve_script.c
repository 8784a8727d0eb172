/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/serve/serve_script.h"

#include <stdio.h>

struct script script;

static void *create(struct orr_serve *w, const struct orr_args *args, struct orr_error *err)
{
	(void)w, (void)args, (void)err;
	return &script;
}

static void destroy(void *self)
{
	(void)self;
}

static void arrive(void *self, struct orr_serve *w, orr_req r)
{
	(void)self;
	script.arrive(w, r);
}

static void finish(void *self, struct orr_serve *w, orr_req r, enum orr_req_end how)
{
	(void)self;
	if (script.finish)
		script.finish(w, r, how);
}

static void run_end(void *self, struct orr_serve *w, orr_run run)
{
	(void)self;
	if (script.run_end)
		script.run_end(w, run);
}

static void schedule(void *self, struct orr_serve *w, uint32_t replica)
{
	(void)self;
	script.schedule(w, replica);
}

static const struct orr_param params[] = { ORR_PARAM_END };
static const struct orr_serve_ops ops = {
	.create = create, .destroy = destroy, .arrive = arrive, .finish = finish, .run_end = run_end, .schedule = schedule
};

void script_set(struct script s)
{
	script = s;
}

static struct run_result *serve(const char *model, const char *requests, const char *options)
{
	const struct orr_policy policy = { ORR_ABI_VERSION, sizeof policy, "script", "of a test", "serve", script.policy_flags, params,
		&ops };
	const char *const models[] = { model, NULL };
	struct serve_case c = { .requests = requests,
		.models = model ? models : script.models,
		.replicas = script.replicas,
		.memory_GiB = script.memory_GiB,
		.policy = &policy,
		.options = options,
		.until_s = script.until_s,
		.seed = 1 };
	script.error = (struct orr_error){ 0 };
	return serve_replay(&c, &script.error);
}

struct run_result *script_run(const char *model, const char *requests, const char *options)
{
	struct run_result *r = serve(model, requests, options);
	if (!r)
		printf("# %s\n", script.error.text);
	return r;
}

const char *script_error(const char *model, const char *requests, const char *options)
{
	struct run_result *r = serve(model, requests, options);
	result_free(r);
	return r ? "no error" : script.error.text;
}

void script_push(struct orr_serve *w, orr_req r)
{
	orr_fifo_push(w, &script.queue, r);
}

orr_run script_start_first(struct orr_serve *w, uint32_t replica)
{
	orr_req r = script.queue.first;
	if (!r)
		return 0;
	orr_fifo_pop(w, &script.queue);
	struct orr_batch b = { .model = orr_req_model(w, r), .req = &r, .n = 1 };
	return orr_run_start(w, replica, &b);
}
