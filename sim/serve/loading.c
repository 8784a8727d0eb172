/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Models in the memory of a replica. One model is loaded at a time; its weights occupy memory from the start of loading. */
#include "serve/due.h"
#include "serve/memory.h"
#include "serve/metrics.h"
#include "serve/replica.h"
#include "serve/runs.h"

#include "base/mem.h"

#include <math.h>

/* Returns whether the model is a table model that the replica may run. */
static bool may_run(const struct orr_serve *w, const struct replica *r, uint32_t model)
{
	return w->config->model[model]->kind == SERVED_TABLE && (r->model == UINT32_MAX || r->model == model);
}

void loading_begin(struct orr_serve *w, uint32_t replica)
{
	struct replica *r = &w->replica[replica];
	uint32_t n = w->config->n_models;
	if (!r->loaded_s)
		r->loaded_s = mem_alloc((n + 1) * sizeof *r->loaded_s);
	r->weights = 0;
	for (uint32_t m = 0; m < n; m++) {
		bool is_there = w->set->preloaded && may_run(w, r, m);
		r->loaded_s[m] = is_there ? w->now_s : NAN;
		r->weights += is_there ? w->config->model[m]->weight_bytes : 0;
	}
	if (r->weights > r->memory)
		serve_fail(w, ORR_EINPUT, NULL,
			"the weights of the models of replica %u take %.9g bytes: expected at most %.9g bytes, the memory of the replica, "
			"or serve.preloaded=false",
			replica, r->weights, r->memory);
}

bool loading_is_done(const struct orr_serve *w, uint32_t replica, uint32_t model)
{
	const struct replica *r = &w->replica[replica];
	return !r->loaded_s || r->loaded_s[model] <= w->now_s;
}

bool orr_model_is_loaded(const struct orr_serve *w, uint32_t replica, uint32_t model)
{
	return replica < w->n_replicas && model < w->config->n_models && loading_is_done(w, replica, model);
}

/* Returns whether the replica may load the model; if not, the run fails. */
static bool may_load(struct orr_serve *w, uint32_t replica, uint32_t model, const char *what)
{
	if (!serve_may_act(w, what))
		return false;
	if (replica >= w->n_replicas)
		serve_fail(w, ORR_EFAIL, NULL, "%s on replica %u: expected a number below %u", what, replica, w->n_replicas);
	else if (model >= w->config->n_models)
		serve_fail(w, ORR_EFAIL, NULL, "%s of model %u: expected a number below %u", what, model, w->config->n_models);
	else if (!w->replica[replica].loaded_s || !replica_is_up(&w->replica[replica]))
		serve_fail(w, ORR_EFAIL, NULL, "%s on replica %u: expected a replica that is up", what, replica);
	else if (!may_run(w, &w->replica[replica], model))
		serve_fail(w, ORR_EFAIL, NULL, "%s of model %s on replica %u: expected a replica that runs batches of this model", what,
			w->config->model[model]->name, replica);
	else
		return true;
	return false;
}

static void on_loaded(struct engine *e, void *ctx, uint64_t subject, uint64_t arg)
{
	struct orr_serve *w = ctx;
	const struct replica *r = &w->replica[subject];
	if (w->error.code || !r->loaded_s || isnan(r->loaded_s[arg]) || serve_ns(r->loaded_s[arg]) != eng_now(e))
		return; /* unloaded or reloaded in the meantime */
	serve_happen(w, r->loaded_s[arg]);
	replica_dirty(w, (uint32_t)subject);
}

bool orr_model_load(struct orr_serve *w, uint32_t replica, uint32_t model)
{
	if (!may_load(w, replica, model, "orr_model_load()"))
		return false;
	struct replica *r = &w->replica[replica];
	const struct served *m = w->config->model[model];
	if (!isnan(r->loaded_s[model]))
		return true;
	struct memory_extra x = { .weights = m->weight_bytes };
	if (!memory_fits(w, replica, &x))
		return false;
	double from = w->now_s;
	for (uint32_t i = 0; i < w->config->n_models; i++)
		from = fmax(from, r->loaded_s[i]); /* fmax() ignores NaN */
	r->loaded_s[model] = from + m->load_s;
	serve_metrics_memory(w, replica);
	r->weights += m->weight_bytes;
	eng_at(w->host.engine, serve_ns(r->loaded_s[model]), PRIO_REPLICA, on_loaded, w, replica, model);
	return true;
}

static bool has_run_of(const struct orr_serve *w, const struct run_list *l, uint32_t model)
{
	for (uint32_t i = l->first; i != NONE; i = w->run[i].next)
		if (w->run[i].model == model)
			return true;
	return false;
}

void orr_model_unload(struct orr_serve *w, uint32_t replica, uint32_t model)
{
	if (!may_load(w, replica, model, "orr_model_unload()"))
		return;
	struct replica *r = &w->replica[replica];
	const char *name = w->config->model[model]->name;
	if (has_run_of(w, &r->runs, model) || has_run_of(w, &r->sending, model) || has_run_of(w, &r->waiting, model) ||
		has_run_of(w, &r->later, model)) {
		serve_fail(w, ORR_EFAIL, NULL,
			"orr_model_unload() of model %s on replica %u: expected a model without runs on this replica", name, replica);
		return;
	}
	if (isnan(r->loaded_s[model])) {
		serve_fail(w, ORR_EFAIL, NULL,
			"orr_model_unload() of model %s on replica %u: expected a model that this replica has loaded", name, replica);
		return;
	}
	r->loaded_s[model] = NAN;
	serve_metrics_memory(w, replica);
	r->weights -= w->config->model[model]->weight_bytes;
	run_next(w, replica);
}
